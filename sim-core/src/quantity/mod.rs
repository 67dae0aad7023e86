//! Physical quantities: newtypes over f64 with named constructors and only the operators that
//! physics has.
//!
//! ```
//! use sim_core::quantity::{Bytes, BytesPerSec, Secs};
//! let time: Secs = Bytes::gb(32.0) / BytesPerSec::gb(16.0);
//! assert_eq!(time, Secs::new(2.0));
//! ```

mod format;
mod rates;

pub use format::{Locale, ParseLocaleError, Unit, format_bytes, format_count, format_secs};
pub use rates::{BytesPerSec, FlopsPerSec};

use serde::{Deserialize, Serialize};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(f64);

        impl $name {
            pub const ZERO: Self = Self(0.0);

            /// The value in the base unit.
            pub const fn new(value: f64) -> Self {
                Self(value)
            }

            /// The value in the base unit.
            pub const fn get(self) -> f64 {
                self.0
            }

            /// The larger one.
            pub fn max(self, other: Self) -> Self {
                if self.0.total_cmp(&other.0).is_ge() { self } else { other }
            }

            /// The smaller one.
            pub fn min(self, other: Self) -> Self {
                if self.0.total_cmp(&other.0).is_le() { self } else { other }
            }
        }

        impl std::ops::Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl std::ops::Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl std::ops::Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl std::ops::Div<f64> for $name {
            type Output = Self;
            fn div(self, divisor: f64) -> Self {
                Self(self.0 / divisor)
            }
        }

        /// A ratio of two quantities of a kind has no unit.
        impl std::ops::Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, |a, b| a + b)
            }
        }
    };
}
pub(crate) use quantity;

quantity!(
    /// An amount of memory or traffic, in bytes.
    Bytes
);
quantity!(
    /// A span of time, in seconds.
    Secs
);
quantity!(
    /// Floating-point operations; a multiply-add counts as two.
    Flops
);

impl Bytes {
    /// Bytes in a GiB: what `nvidia-smi` and PyTorch count in.
    pub const PER_GIB: f64 = 1_073_741_824.0;
    /// Bytes in a GB: what data sheets count in.
    pub const PER_GB: f64 = 1e9;

    pub const fn gib(value: f64) -> Self {
        Self::new(value * Self::PER_GIB)
    }

    pub const fn mib(value: f64) -> Self {
        Self::new(value * 1_048_576.0)
    }

    pub const fn gb(value: f64) -> Self {
        Self::new(value * Self::PER_GB)
    }

    /// In GiB (2³⁰ bytes).
    pub fn as_gib(self) -> f64 {
        self.get() / Self::PER_GIB
    }

    /// In GB (10⁹ bytes).
    pub fn as_gb(self) -> f64 {
        self.get() / Self::PER_GB
    }
}

impl Secs {
    pub const fn millis(value: f64) -> Self {
        Self::new(value * 1e-3)
    }

    pub const fn micros(value: f64) -> Self {
        Self::new(value * 1e-6)
    }

    pub fn as_millis(self) -> f64 {
        self.get() * 1e3
    }
}

impl Flops {
    /// In units of 10¹² operations.
    pub fn as_tera(self) -> f64 {
        self.get() / 1e12
    }
}

/// A count of bytes as a change of memory.
///
/// # Panics
/// Above 2⁶³: checked scenarios stay far below.
pub fn signed_bytes(bytes: u64) -> i64 {
    i64::try_from(bytes).expect("checked scenarios stay far below 2^63 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gib_and_gb_differ_by_seven_percent() {
        assert_eq!(Bytes::gib(1.0).get(), 1_073_741_824.0);
        assert!((Bytes::gib(80.0).as_gb() - 85.899).abs() < 0.001);
    }

    #[test]
    fn bytes_over_rate_is_time() {
        assert_eq!((Bytes::gb(3.0) / BytesPerSec::gb(1.5)).get(), 2.0);
        assert_eq!((Flops::new(1e12) / FlopsPerSec::tera(2.0)).get(), 0.5);
    }
}
