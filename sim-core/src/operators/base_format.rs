//! Number formats of frozen matrices beneath adapters.

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

/// Weights that share a scale (bitsandbytes' `blocksize`; Dettmers et al. 2023, §3).
const BLOCK: u64 = 64;

/// Scales that share a scale under double quantization (Dettmers et al. 2023, §3).
const SCALE_BLOCK: u64 = 256;

/// Weights that share a scale and a zero in GPTQ files (AutoGPTQ's usual `group_size`).
const GROUP: u64 = 128;

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
        let elements = rows * columns;
        match self {
            Self::FourBit { double_quant } => {
                let scales = elements.div_ceil(BLOCK);
                let scale_bytes = if double_quant {
                    scales + 4 * scales.div_ceil(SCALE_BLOCK)
                } else {
                    4 * scales
                };
                elements.div_ceil(2) + scale_bytes
            }
            Self::Int8 => elements + 4 * rows,
            Self::Int4Group128 => {
                let groups = columns.div_ceil(GROUP) * rows;
                elements.div_ceil(2) + 2 * groups + groups.div_ceil(2) + 4 * columns
            }
        }
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
