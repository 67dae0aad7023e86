//! Number formats of frozen matrices beneath adapters.

use crate::formats::WeightFormat;

/// How a frozen matrix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseFormat {
    /// 4-bit NormalFloat or FP4 with an fp32 scale for each block (bitsandbytes).
    FourBit {
        /// The scales are quantized too.
        double_quant: bool,
    },
    /// LLM.int8(): 8-bit integers with an fp32 scale for each output channel (bitsandbytes).
    Int8,
    /// GPTQ: 4-bit integers with a 16-bit scale and a 4-bit zero for each group of 128, and the
    /// group of every input channel as a 32-bit integer (AutoGPTQ).
    Int4Group128,
}

/// Bytes of the group number that GPTQ files keep for each input channel.
const GROUP_NUMBER: u64 = 4;

impl BaseFormat {
    /// Bytes of a matrix `[rows, columns]`, with its scales.
    ///
    /// ```
    /// use sim_core::operators::BaseFormat;
    ///
    /// let bits = |format: BaseFormat| format.bytes(4096, 4096) as f64 * 8.0 / 4096.0 / 4096.0;
    /// // 32/64 = 0.5 bits for the scales, or 8/64 + 32/(64·256) = 0.127 quantized (Dettmers et al.
    /// // 2023, §3).
    /// assert_eq!(bits(BaseFormat::FourBit { double_quant: false }), 4.5);
    /// assert!((bits(BaseFormat::FourBit { double_quant: true }) - 4.127).abs() < 1e-3);
    /// ```
    pub fn bytes(self, rows: u64, columns: u64) -> u64 {
        let (format, beside) = match self {
            Self::FourBit { double_quant: false } => (WeightFormat::Blockwise4, 0),
            Self::FourBit { double_quant: true } => (WeightFormat::Blockwise4DoubleQuant, 0),
            Self::Int8 => (WeightFormat::Int8, 0),
            Self::Int4Group128 => {
                (WeightFormat::Int { bits: 4, group: Some(128) }, GROUP_NUMBER * columns)
            }
        };
        format.quantized_bytes(rows, columns).expect("a quantized format") + beside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bits_have_a_scale_a_row_and_four_a_scale_a_group() {
        assert_eq!(BaseFormat::Int8.bytes(4096, 1024), 4096 * 1024 + 4 * 4096);
        let gptq = BaseFormat::Int4Group128.bytes(4096, 1024);
        assert_eq!(gptq, 4096 * 512 + 4096 * 8 * 2 + 4096 * 4 + 4 * 1024);
    }
}
