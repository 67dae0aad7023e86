//! Formats of weight matrices.

use super::{Block, GgufType, Place};
use crate::model::suggest;
use crate::model::{Matrix, MatrixRole};

/// How the matrices of a model are stored. Tables, the projection to the vocabulary, norms, biases
/// and routers stay in 16 bits, but for GGUF, which packs the first two as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightFormat {
    /// Not quantized.
    Plain,
    /// 8-bit codes with an fp32 scale an output (LLM.int8(), Dettmers et al. 2022, §2; W8A8).
    Int8,
    /// fp8 with one fp32 scale a matrix.
    Fp8,
    /// fp8 with an fp32 scale for blocks of 128 × 128 (DeepSeek-AI 2024, V3, §3.3).
    Fp8Block,
    /// GPTQ's and AWQ's layout: codes packed in 32-bit words along the inputs; a half-precision scale
    /// and a packed zero point for each output and group of inputs, one group without a size.
    Int {
        bits: u64,
        group: Option<u64>,
    },
    /// 4-bit codes with an fp32 maximum every 64 (QLoRA, Dettmers et al. 2023, §3); NF4 or FP4 codes.
    Blockwise4,
    /// As `Blockwise4`, the maxima in 8 bits with an fp32 scale for 256 of them and one fp32 offset.
    Blockwise4DoubleQuant,
    /// 4-bit floats with a power of two in 8 bits for 32 inputs (OCP microscaling formats 1.0).
    Mxfp4,
    /// 4-bit floats with an fp8 scale for 16 inputs and an fp32 scale a matrix.
    Nvfp4,
    Gguf(GgufType),
}

/// Inputs that share a scale.
const GROUPS: [u64; 7] = [16, 32, 64, 128, 256, 512, 1024];
/// Bits of a code of the group-wise integer formats.
const CODE_BITS: [u64; 4] = [2, 3, 4, 8];

const NAMES: &[(&str, WeightFormat)] = &[
    ("none", WeightFormat::Plain),
    ("int8", WeightFormat::Int8),
    ("fp8", WeightFormat::Fp8),
    ("fp8-block", WeightFormat::Fp8Block),
    ("int4-g128", WeightFormat::Int { bits: 4, group: Some(128) }),
    ("int4-g64", WeightFormat::Int { bits: 4, group: Some(64) }),
    ("int4-g32", WeightFormat::Int { bits: 4, group: Some(32) }),
    ("int4-channel", WeightFormat::Int { bits: 4, group: None }),
    ("int3-g128", WeightFormat::Int { bits: 3, group: Some(128) }),
    ("int3-channel", WeightFormat::Int { bits: 3, group: None }),
    ("int2-g64", WeightFormat::Int { bits: 2, group: Some(64) }),
    ("int8-g128", WeightFormat::Int { bits: 8, group: Some(128) }),
    ("nf4", WeightFormat::Blockwise4),
    ("nf4-dq", WeightFormat::Blockwise4DoubleQuant),
    ("fp4", WeightFormat::Blockwise4),
    ("mxfp4", WeightFormat::Mxfp4),
    ("nvfp4", WeightFormat::Nvfp4),
];

/// Other names of the same.
const ALIASES: &[(&str, &str)] = &[
    ("fp16", "none"),
    ("bf16", "none"),
    ("llm.int8", "int8"),
    ("int4", "int4-g128"),
    ("gptq", "int4-g128"),
    ("awq", "int4-g128"),
    ("int3", "int3-g128"),
];

impl WeightFormat {
    /// The format called `name` in a scenario: a listed name, `int<bits>-g<inputs>`,
    /// `int<bits>-channel`, or `gguf:<type>`.
    ///
    /// ```
    /// use sim_core::formats::WeightFormat;
    /// let four = WeightFormat::Int { bits: 4, group: Some(128) };
    /// assert_eq!(WeightFormat::parse("awq"), Some(four));
    /// assert_eq!(WeightFormat::parse("int4-g100"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(&*name, |(_, to)| to);
        if let Some(kind) = name.strip_prefix("gguf:") {
            return GgufType::ALL
                .iter()
                .find(|(known, _)| *known == kind)
                .map(|(_, kind)| Self::Gguf(*kind));
        }
        if let Some((_, format)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Some(*format);
        }
        let (bits, group) = name.strip_prefix("int")?.split_once('-')?;
        let bits = bits.parse().ok().filter(|bits| CODE_BITS.contains(bits))?;
        if group == "channel" {
            return Some(Self::Int { bits, group: None });
        }
        let group = group.strip_prefix('g')?.parse().ok().filter(|n| GROUPS.contains(n))?;
        Some(Self::Int { bits, group: Some(group) })
    }

    /// The listed names, in the order of the documentation.
    pub fn names() -> Vec<String> {
        let plain = NAMES.iter().map(|(name, _)| (*name).to_owned());
        plain.chain(GgufType::ALL.iter().map(|(name, _)| format!("gguf:{name}"))).collect()
    }

    /// The `count` names nearest to `name`.
    pub fn suggest(name: &str, count: usize) -> Vec<String> {
        let names = Self::names();
        let name = name.trim().to_ascii_lowercase();
        // llama.cpp's types are often written alone.
        let bare = name.starts_with('q') || name.starts_with("iq");
        let name = if bare { format!("gguf:{name}") } else { name };
        let near = suggest::nearest(&name, names.iter().map(String::as_str), count);
        near.into_iter().map(str::to_owned).collect()
    }

    /// True for formats whose codes are multiplied in 8 bits when activations are in 8 bits too.
    pub const fn is_eight_bit(self) -> bool {
        matches!(self, Self::Int8 | Self::Fp8 | Self::Fp8Block)
    }

    /// Bytes of a matrix of a layer, scales and zero points included; `plain` are the bytes of a
    /// number that is not quantized.
    ///
    /// ```
    /// use sim_core::formats::{Place, WeightFormat};
    /// use sim_core::model::{Matrix, MatrixRole};
    /// let matrix = Matrix { role: MatrixRole::Up, rows: 11008, columns: 4096, whole_columns: 4096, count: 1 };
    /// let place = Place { layer: 0, layers: 32, heads_per_kv: 1 };
    /// let bits = |name| {
    ///     let bytes = WeightFormat::parse(name).unwrap().matrix_bytes(&matrix, place, 2);
    ///     8.0 * bytes as f64 / matrix.parameters() as f64
    /// };
    /// assert_eq!(bits("none"), 16.0);
    /// assert_eq!(bits("int4-g128"), 4.0 + 16.0 / 128.0 + 4.0 / 128.0);
    /// assert_eq!(bits("nf4"), 4.0 + 32.0 / 64.0);
    /// assert_eq!(bits("mxfp4"), 4.25);
    /// assert_eq!(bits("gguf:q4_k_m"), 4.5);
    /// ```
    pub fn matrix_bytes(self, matrix: &Matrix, place: Place, plain: u64) -> u64 {
        if let Self::Gguf(kind) = self {
            let block = kind.matrix(matrix.role, place).for_rows_of(matrix.whole_columns);
            return matrix.count * block.bytes(matrix.rows * matrix.columns);
        }
        if matrix.role == MatrixRole::Router {
            return plain * matrix.parameters();
        }
        let quantized = self.quantized_bytes(matrix.rows, matrix.columns);
        matrix.count * quantized.unwrap_or(plain * matrix.rows * matrix.columns)
    }

    /// Bytes of one quantized matrix `[rows, columns]` with its scales and zero points; `None` for
    /// one that is not quantized, and for GGUF, where they depend on the matrix's place.
    pub(crate) fn quantized_bytes(self, rows: u64, columns: u64) -> Option<u64> {
        let numbers = rows * columns;
        let nibbles = numbers.div_ceil(2);
        Some(match self {
            Self::Plain | Self::Gguf(_) => return None,
            Self::Int8 => numbers + 4 * rows,
            Self::Fp8 => numbers + 4,
            Self::Fp8Block => numbers + 4 * rows.div_ceil(128) * columns.div_ceil(128),
            Self::Int { bits, group } => {
                let groups = group.map_or(1, |group| columns.div_ceil(group));
                let words = |codes: u64| 4 * (codes * bits).div_ceil(32);
                rows * words(columns) + groups * (2 * rows + words(rows))
            }
            Self::Blockwise4 => nibbles + 4 * numbers.div_ceil(64),
            Self::Blockwise4DoubleQuant => {
                let maxima = numbers.div_ceil(64);
                nibbles + maxima + 4 * maxima.div_ceil(256) + 4
            }
            Self::Mxfp4 => nibbles + rows * columns.div_ceil(32),
            Self::Nvfp4 => nibbles + rows * columns.div_ceil(16) + 4,
        })
    }

    /// Bytes of the token table.
    pub fn table_bytes(self, numbers: u64, columns: u64, plain: u64) -> u64 {
        match self {
            Self::Gguf(kind) => kind.embedding().for_rows_of(columns).bytes(numbers),
            _ => plain * numbers,
        }
    }

    /// Bytes of the projection to the vocabulary, or of the one table of a tied model.
    pub fn head_bytes(self, numbers: u64, columns: u64, plain: u64) -> u64 {
        match self {
            Self::Gguf(kind) => kind.head().for_rows_of(columns).bytes(numbers),
            _ => plain * numbers,
        }
    }

    /// Bytes of norms, biases and tables of positions.
    pub const fn vector_bytes(self, numbers: u64, plain: u64) -> u64 {
        match self {
            Self::Gguf(_) => Block::F32.bytes(numbers),
            _ => plain * numbers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_can_be_read_and_stands_once() {
        let names = WeightFormat::names();
        for (i, name) in names.iter().enumerate() {
            assert!(WeightFormat::parse(name).is_some(), "{name}");
            assert!(!names[..i].contains(name), "{name}");
        }
        for (_, target) in ALIASES {
            assert!(NAMES.iter().any(|(name, _)| name == target), "{target}");
        }
    }

    #[test]
    fn an_unknown_name_finds_its_neighbours() {
        assert_eq!(WeightFormat::parse("gguf:q4_k_x"), None);
        assert!(WeightFormat::suggest("q4km", 3).contains(&"gguf:q4_k_m".to_owned()));
        assert!(WeightFormat::suggest("int4-128", 3).contains(&"int4-g128".to_owned()));
    }

    /// 4096 × 4096 by hand.
    #[test]
    fn bits_a_weight() {
        let matrix = Matrix {
            role: MatrixRole::Query,
            rows: 4096,
            columns: 4096,
            whole_columns: 4096,
            count: 1,
        };
        let place = Place { layer: 10, layers: 32, heads_per_kv: 1 };
        let table = [
            ("int8", 8.0 + 32.0 / 4096.0),
            ("fp8-block", 8.0 + 32.0 / 16384.0),
            ("int4-g64", 4.0 + 20.0 / 64.0),
            ("int3-g128", 3.0 + 19.0 / 128.0),
            ("int4-channel", 4.0 + 20.0 / 4096.0),
            ("int8-g128", 8.0 + 24.0 / 128.0),
            ("nf4-dq", 4.0 + 8.0 / 64.0 + 32.0 / 16384.0 + 32.0 / 16_777_216.0),
            ("nvfp4", 4.5 + 32.0 / 16_777_216.0),
            ("gguf:q6_k", 6.5625),
            ("gguf:q8_0", 8.5),
        ];
        for (name, bits) in table {
            let format = WeightFormat::parse(name).expect(name);
            let bytes = format.matrix_bytes(&matrix, place, 2);
            assert_eq!(8.0 * bytes as f64 / matrix.parameters() as f64, bits, "{name}");
        }
    }
}
