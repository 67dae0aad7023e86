//! Rates: an amount per second.

use super::{Bytes, Flops, Secs, quantity};
use serde::{Deserialize, Serialize};

quantity!(
    /// Bandwidth, in bytes per second, one direction.
    BytesPerSec
);
quantity!(
    /// Arithmetic rate, in floating-point operations per second.
    FlopsPerSec
);

impl BytesPerSec {
    /// From GB/s (10⁹ bytes per second).
    pub const fn gb(value: f64) -> Self {
        Self::new(value * 1e9)
    }

    /// In GB/s.
    pub fn as_gb(self) -> f64 {
        self.get() / 1e9
    }
}

impl FlopsPerSec {
    /// From TFLOP/s (10¹² per second).
    pub const fn tera(value: f64) -> Self {
        Self::new(value * 1e12)
    }

    /// In TFLOP/s.
    pub fn as_tera(self) -> f64 {
        self.get() / 1e12
    }
}

impl std::ops::Div<BytesPerSec> for Bytes {
    type Output = Secs;
    fn div(self, rate: BytesPerSec) -> Secs {
        Secs::new(self.get() / rate.get())
    }
}

impl std::ops::Div<FlopsPerSec> for Flops {
    type Output = Secs;
    fn div(self, rate: FlopsPerSec) -> Secs {
        Secs::new(self.get() / rate.get())
    }
}

impl std::ops::Div<Secs> for Bytes {
    type Output = BytesPerSec;
    fn div(self, time: Secs) -> BytesPerSec {
        BytesPerSec::new(self.get() / time.get())
    }
}

impl std::ops::Div<Secs> for Flops {
    type Output = FlopsPerSec;
    fn div(self, time: Secs) -> FlopsPerSec {
        FlopsPerSec::new(self.get() / time.get())
    }
}
