//! Operators on the GPU: a roofline with the shares of the peaks that kernels reach.

use super::Cost;
use crate::hardware::{Basis, ComputeEfficiency, Device};
use crate::operators::{Engine, Work};
use crate::quantity::{BytesPerSec, FlopsPerSec, Secs};
use crate::report::Assumption;
use crate::trace::{Bound, Pricing};

/// Share of the dense peak that fused attention reaches.
///
/// FlashAttention-2 reports 50 to 73 % on the A100 by direction, head size and length (Dao 2023,
/// §4.1); one figure stands for all.
const ATTENTION_SHARE: f64 = 0.55;

/// `t = n·t₀ + max(F / (e·P), Q / (m·W))`, with a soft maximum of exponent q where the device has
/// one: F operations at peak P, Q bytes at bandwidth W, n kernels.
///
/// Form and constants: [`ComputeEfficiency`].
pub fn cost(
    work: &Work,
    peak: FlopsPerSec,
    bandwidth: BytesPerSec,
    efficiency: &ComputeEfficiency,
) -> Cost {
    let share = match work.engine {
        Engine::Attention => ATTENTION_SHARE,
        Engine::Gemm | Engine::Vector => efficiency.gemm_fraction_of_peak,
    };
    let arithmetic = work.flops / (peak.get() * share);
    let traffic = work.bytes / (bandwidth.get() * efficiency.memory_fraction_of_bandwidth);
    let launch = work.launches * efficiency.kernel_overhead_us * 1e-6;
    let together = match efficiency.softness {
        Some(q) if arithmetic > 0.0 && traffic > 0.0 => {
            // Scaled by the larger one, so that tiny times don't vanish in the power.
            let (large, small) =
                if arithmetic > traffic { (arithmetic, traffic) } else { (traffic, arithmetic) };
            large * libm::pow(1.0 + libm::pow(small / large, q), 1.0 / q)
        }
        _ => libm::fmax(arithmetic, traffic),
    };
    let bound = if launch > together {
        Bound::Launch
    } else if arithmetic > traffic {
        Bound::Compute
    } else {
        Bound::Memory
    };
    Cost { time: Secs::new(launch + together), bound, pricing: Pricing::Formula }
}

/// The constants behind [`cost`].
pub fn assumptions(
    peak: FlopsPerSec,
    bandwidth: BytesPerSec,
    efficiency: &ComputeEfficiency,
    device: &Device,
) -> Vec<Assumption> {
    let fitted = |id, value, unit| Assumption {
        id,
        of: "",
        value,
        unit,
        basis: efficiency.basis,
        source: efficiency.source,
    };
    let mut list = vec![
        Assumption {
            id: "dense-peak",
            of: "",
            value: peak.as_tera(),
            unit: "TFLOP/s",
            basis: device.basis.peaks,
            source: device.source,
        },
        fitted("gemm-share", efficiency.gemm_fraction_of_peak, "1"),
        Assumption {
            id: "attention-share",
            of: "",
            value: ATTENTION_SHARE,
            unit: "1",
            basis: Basis::Assumed,
            source: "within 0.50 to 0.73 of FlashAttention-2 on the A100 (Dao 2023, §4.1)",
        },
        Assumption {
            id: "memory-bandwidth",
            of: "",
            value: bandwidth.as_gb(),
            unit: "GB/s",
            basis: device.basis.bandwidth,
            source: device.source,
        },
        fitted("memory-share", efficiency.memory_fraction_of_bandwidth, "1"),
        fitted("kernel-overhead", efficiency.kernel_overhead_us, "µs"),
    ];
    if let Some(exponent) = efficiency.softness {
        list.push(fitted("softness", exponent, "1"));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{catalog, efficiency_of};

    #[test]
    fn a_large_product_on_an_h100_runs_at_its_share_of_the_peak() {
        let device = catalog::find("h100-sxm5-80").expect("in the catalogue");
        let work = Work::gemm(8192, 8192, 8192, 2);
        let got =
            cost(&work, FlopsPerSec::tera(989.5), BytesPerSec::gb(3350.0), &efficiency_of(device));
        let by_hand = 2.0 * 8192_f64 * 8192.0 * 8192.0 / (989.5e12 * 0.795) + 2.9e-6;
        assert!((got.time.get() / by_hand - 1.0).abs() < 1e-12);
        assert_eq!(got.bound, Bound::Compute);
    }

    #[test]
    fn an_empty_kernel_is_bound_by_its_launch() {
        let device = catalog::find("h100-sxm5-80").expect("in the catalogue");
        let got = cost(
            &Work::stream(64, 1),
            FlopsPerSec::tera(989.5),
            BytesPerSec::gb(3350.0),
            &efficiency_of(device),
        );
        assert_eq!(got.bound, Bound::Launch);
    }
}
