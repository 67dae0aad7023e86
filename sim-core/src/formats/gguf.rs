//! GGUF's mixtures: which tensor gets which block type.
//!
//! The rules are those of llama.cpp's quantizer (`llama_tensor_get_type`), for models with dense
//! feed-forward blocks; sizes agree with its published tables.

use super::Block;
use crate::model::MatrixRole;

/// A file type of llama.cpp's `llama-quantize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GgufType {
    F16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q2KS,
    Q3KS,
    Q3KM,
    Q3KL,
    Q4KS,
    Q4KM,
    Q5KS,
    Q5KM,
    Q6K,
    Iq1S,
    Iq1M,
    Iq2Xxs,
    Iq2Xs,
    Iq2S,
    Iq2M,
    Iq3Xxs,
    Iq3Xs,
    Iq3S,
    Iq3M,
    Iq4Nl,
    Iq4Xs,
}

/// A layer's place in its model, which the mixtures look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub layer: u64,
    pub layers: u64,
    /// Query heads that share a key-value head.
    pub heads_per_kv: u64,
}

impl Place {
    /// The first so many of all layers, in eighths.
    const fn is_in_first_eighth(self) -> bool {
        self.layer < self.layers / 8
    }

    /// Half of the layers that get more bits: the first and last eighth and every third between.
    const fn gets_more_bits(self) -> bool {
        let eighth = self.layers / 8;
        self.layer < eighth || self.layer >= 7 * self.layers / 8 || (self.layer - eighth) % 3 == 2
    }

    const fn shares_heads(self) -> bool {
        self.heads_per_kv >= 4
    }
}

impl GgufType {
    /// All of them, with the names after `gguf:`.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("f16", Self::F16),
        ("q8_0", Self::Q8_0),
        ("q6_k", Self::Q6K),
        ("q5_k_m", Self::Q5KM),
        ("q5_k_s", Self::Q5KS),
        ("q5_1", Self::Q5_1),
        ("q5_0", Self::Q5_0),
        ("q4_k_m", Self::Q4KM),
        ("q4_k_s", Self::Q4KS),
        ("q4_1", Self::Q4_1),
        ("q4_0", Self::Q4_0),
        ("iq4_nl", Self::Iq4Nl),
        ("iq4_xs", Self::Iq4Xs),
        ("q3_k_l", Self::Q3KL),
        ("q3_k_m", Self::Q3KM),
        ("q3_k_s", Self::Q3KS),
        ("iq3_m", Self::Iq3M),
        ("iq3_s", Self::Iq3S),
        ("iq3_xs", Self::Iq3Xs),
        ("iq3_xxs", Self::Iq3Xxs),
        ("q2_k", Self::Q2K),
        ("q2_k_s", Self::Q2KS),
        ("iq2_m", Self::Iq2M),
        ("iq2_s", Self::Iq2S),
        ("iq2_xs", Self::Iq2Xs),
        ("iq2_xxs", Self::Iq2Xxs),
        ("iq1_m", Self::Iq1M),
        ("iq1_s", Self::Iq1S),
    ];

    /// The type of most matrices.
    const fn base(self) -> Block {
        match self {
            Self::F16 => Block::F16,
            Self::Q4_0 => Block::Q4_0,
            Self::Q4_1 => Block::Q4_1,
            Self::Q5_0 => Block::Q5_0,
            Self::Q5_1 => Block::Q5_1,
            Self::Q8_0 => Block::Q8_0,
            Self::Q2K | Self::Q2KS => Block::Q2K,
            Self::Q3KS | Self::Q3KM | Self::Q3KL => Block::Q3K,
            Self::Q4KS | Self::Q4KM => Block::Q4K,
            Self::Q5KS | Self::Q5KM => Block::Q5K,
            Self::Q6K => Block::Q6K,
            Self::Iq1S => Block::Iq1S,
            Self::Iq1M => Block::Iq1M,
            Self::Iq2Xxs => Block::Iq2Xxs,
            Self::Iq2Xs | Self::Iq2S => Block::Iq2Xs,
            Self::Iq2M => Block::Iq2S,
            Self::Iq3Xxs => Block::Iq3Xxs,
            Self::Iq3Xs | Self::Iq3S | Self::Iq3M => Block::Iq3S,
            Self::Iq4Nl => Block::Iq4Nl,
            Self::Iq4Xs => Block::Iq4Xs,
        }
    }

    /// Below three bits: the mixtures that protect other tensors more.
    const fn is_very_low(self) -> bool {
        matches!(
            self,
            Self::Iq1S | Self::Iq1M | Self::Iq2Xxs | Self::Iq2Xs | Self::Iq2S | Self::Iq2M
        )
    }

    /// The projection to the vocabulary; the only table of a model with tied embeddings.
    pub const fn head(self) -> Block {
        match self {
            Self::F16 => Block::F16,
            Self::Q8_0 => Block::Q8_0,
            _ if self.is_very_low() => Block::Q5K,
            _ => Block::Q6K,
        }
    }

    /// The token table.
    pub const fn embedding(self) -> Block {
        match self {
            Self::Iq1S | Self::Iq1M | Self::Iq2Xxs | Self::Iq2Xs => Block::Q2K,
            Self::Iq2S | Self::Iq2M | Self::Iq3Xxs => Block::Iq3S,
            _ => self.base(),
        }
    }

    /// A matrix of a layer.
    pub const fn matrix(self, role: MatrixRole, place: Place) -> Block {
        match role {
            MatrixRole::Value => self.value(place),
            MatrixRole::Down => self.down(place),
            MatrixRole::AttentionOutput => self.attention_output(),
            MatrixRole::Query | MatrixRole::Key => match self {
                Self::Iq3Xs => Block::Iq3Xxs,
                _ => self.base(),
            },
            MatrixRole::Gate | MatrixRole::Up => match self {
                Self::Iq3Xs
                    if place.layer >= place.layers / 8 && place.layer < 7 * place.layers / 8 =>
                {
                    Block::Iq3Xxs
                }
                _ => self.base(),
            },
            MatrixRole::QueryDown | MatrixRole::KvDown => self.base(),
            MatrixRole::Router => Block::F32,
        }
    }

    const fn value(self, place: Place) -> Block {
        let chosen = match self {
            Self::Q2K if place.shares_heads() => Block::Q4K,
            Self::Q2K => Block::Q3K,
            Self::Q3KM if place.layer < 2 => Block::Q5K,
            Self::Q3KM => Block::Q4K,
            Self::Q3KL => Block::Q5K,
            Self::Q4KS if place.layer < 4 => Block::Q5K,
            Self::Q4KM | Self::Q5KM if place.gets_more_bits() => Block::Q6K,
            Self::Iq4Nl | Self::Iq4Xs if place.shares_heads() => Block::Q5K,
            Self::Iq3M => Block::Q4K,
            Self::Iq2S | Self::Iq2M if !place.shares_heads() => Block::Iq3S,
            Self::Iq1S | Self::Iq1M | Self::Iq2Xxs | Self::Iq2Xs if !place.shares_heads() => {
                Block::Q2K
            }
            Self::Q2KS | Self::Iq3S | Self::Iq3Xs | Self::Iq3Xxs if place.shares_heads() => {
                Block::Q4K
            }
            Self::Iq3Xxs => Block::Iq3S,
            _ if self.is_very_low() => Block::Q4K,
            _ => self.base(),
        };
        // Of a model with 80 layers the value matrices are few beside the rest.
        match chosen {
            Block::Q3K | Block::Q4K if place.layers == 80 && !self.is_very_low() => Block::Q5K,
            _ => chosen,
        }
    }

    const fn down(self, place: Place) -> Block {
        match self {
            Self::Q2K => Block::Q3K,
            Self::Q3KM if place.layer < place.layers / 16 => Block::Q5K,
            Self::Q3KM => Block::Q4K,
            Self::Q3KL => Block::Q5K,
            Self::Q4KM | Self::Q5KM if place.gets_more_bits() => Block::Q6K,
            Self::Q4KS | Self::Iq4Nl | Self::Iq4Xs if place.is_in_first_eighth() => Block::Q5K,
            Self::Q2KS | Self::Iq3M | Self::Iq3Xxs if place.is_in_first_eighth() => Block::Q4K,
            Self::Iq3Xxs => Block::Q3K,
            Self::Iq2S | Self::Iq2M if place.is_in_first_eighth() => Block::Iq3S,
            Self::Iq1S | Self::Iq1M | Self::Iq2Xxs | Self::Iq2Xs if place.is_in_first_eighth() => {
                Block::Q2K
            }
            _ => self.base(),
        }
    }

    const fn attention_output(self) -> Block {
        match self {
            Self::Q2K => Block::Q3K,
            Self::Q3KM | Self::Iq3M => Block::Q4K,
            Self::Q3KL => Block::Q5K,
            Self::Iq2S | Self::Iq2M | Self::Iq3Xxs => Block::Iq3S,
            Self::Iq1S | Self::Iq1M => Block::Iq2Xxs,
            _ => self.base(),
        }
    }
}
