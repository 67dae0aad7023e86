//! GGUF's block types: so many numbers in so many bytes, scales included.

/// A block of the GGUF file format (ggml, `ggml-common.h` and `ggml.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Block {
    F32,
    F16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Iq1S,
    Iq1M,
    Iq2Xxs,
    Iq2Xs,
    Iq2S,
    Iq3Xxs,
    Iq3S,
    Iq4Nl,
    Iq4Xs,
}

impl Block {
    /// Numbers in a block, and its bytes.
    ///
    /// ```
    /// use sim_core::formats::Block;
    /// // 256 codes of 4 bits, 12 bytes of 6-bit scales and minima, two half-precision factors.
    /// assert_eq!(Block::Q4K.size(), (256, 128 + 12 + 4));
    /// assert_eq!(Block::Q4K.bits(), 4.5);
    /// ```
    pub const fn size(self) -> (u64, u64) {
        match self {
            Self::F32 => (1, 4),
            Self::F16 => (1, 2),
            Self::Q4_0 | Self::Iq4Nl => (32, 18),
            Self::Q4_1 => (32, 20),
            Self::Q5_0 => (32, 22),
            Self::Q5_1 => (32, 24),
            Self::Q8_0 => (32, 34),
            Self::Q2K => (256, 84),
            Self::Q3K | Self::Iq3S => (256, 110),
            Self::Q4K => (256, 144),
            Self::Q5K => (256, 176),
            Self::Q6K => (256, 210),
            Self::Iq1S => (256, 50),
            Self::Iq1M => (256, 56),
            Self::Iq2Xxs => (256, 66),
            Self::Iq2Xs => (256, 74),
            Self::Iq2S => (256, 82),
            Self::Iq3Xxs => (256, 98),
            Self::Iq4Xs => (256, 136),
        }
    }

    /// Bits a number.
    pub fn bits(self) -> f64 {
        let (numbers, bytes) = self.size();
        8.0 * bytes as f64 / numbers as f64
    }

    /// Bytes of `numbers` numbers; a last block that is not full counts whole.
    pub const fn bytes(self, numbers: u64) -> u64 {
        let (block, bytes) = self.size();
        numbers.div_ceil(block) * bytes
    }

    /// The type that llama.cpp's quantizer takes for a matrix whose rows of `columns` numbers are
    /// no whole blocks (`llama_tensor_get_type`, the fallback by `QK_K`).
    pub const fn for_rows_of(self, columns: u64) -> Self {
        if columns.is_multiple_of(self.size().0) {
            return self;
        }
        match self {
            Self::Q4K => Self::Q5_0,
            Self::Q5K => Self::Q5_1,
            Self::Q6K => Self::Q8_0,
            Self::Q2K
            | Self::Q3K
            | Self::Iq1S
            | Self::Iq1M
            | Self::Iq2Xxs
            | Self::Iq2Xs
            | Self::Iq2S
            | Self::Iq3Xxs
            | Self::Iq3S
            | Self::Iq4Xs => Self::Iq4Nl,
            _ => Self::F16,
        }
    }
}
