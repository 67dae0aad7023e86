//! Models: their shape, what it counts up to, the catalogue, and the reader of `config.json` files.

pub mod catalog;
pub mod hf_config;
pub mod limits;
pub mod matrices;
pub mod module;
pub mod params;
pub mod shape;
pub mod suggest;

pub use catalog::ModelEntry;
pub use matrices::{Matrix, MatrixRole};
pub use module::Module;
pub use params::{EmbeddingParams, ExpertParams, GroupParams, LayerParams, ModelParams};
pub use shape::{
    Activation, Architecture, Attention, Experts, LatentAttention, LayerGroup, LayerKind, Mlp,
    ModelShape, NormKind, NormPlacement, Positions, SlidingWindow, Stack,
};
