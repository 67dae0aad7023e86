//! Number formats of stored weights and of the KV cache, to the byte: codes, scales, zero points, and
//! what stays in 16 bits.

mod block;
mod gguf;
mod kv;
mod weight;
mod weights;

pub use block::Block;
pub use gguf::{GgufType, Place};
pub use kv::KvFormat;
pub use weight::WeightFormat;
pub use weights::StoredWeights;
