//! What share of a device's peaks real kernels reach: one set of constants a device.
//!
//! An operator of F FLOPs and Q bytes takes, on a device of peak P and bandwidth W,
//! t = t₀ + ((F/eP)^q + (Q/mW)^q)^(1/q), and t₀ + max(F/eP, Q/mW) where q is `None`:
//! e is `gemm_fraction_of_peak`, m `memory_fraction_of_bandwidth`, t₀ `kernel_overhead_us`,
//! q `softness`.
//! Elementwise kernels and optimizer steps have F ≈ 0: only the memory term counts.

use super::basis::Basis;
use super::device::{Device, Family, Segment};

/// The constants of one device, never tuned to one operator or one row of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComputeEfficiency {
    /// Share of the dense peak that a large GEMM reaches.
    pub gemm_fraction_of_peak: f64,
    /// Share of the peak memory bandwidth that a streaming kernel reaches.
    pub memory_fraction_of_bandwidth: f64,
    /// Time of a kernel with nothing to do, µs.
    pub kernel_overhead_us: f64,
    /// Exponent q of the soft maximum; `None` is a hard maximum.
    pub softness: Option<f64>,
    pub basis: Basis,
    pub source: &'static str,
}

const GEMM_TABLES: &str =
    "fit to the GEMM timings published by ai-dynamo/aiconfigurator; mean error 11 to 13 %";
const BEST_GEMM: &str = "best bf16 GEMM measured by S. Bekman, ml-engineering, August 2026; \
                         memory share and overhead assumed";

const A100: ComputeEfficiency = ComputeEfficiency {
    gemm_fraction_of_peak: 0.865,
    memory_fraction_of_bandwidth: 0.742,
    kernel_overhead_us: 4.7,
    softness: Some(1.5),
    basis: Basis::Published,
    source: GEMM_TABLES,
};

const H100: ComputeEfficiency = ComputeEfficiency {
    gemm_fraction_of_peak: 0.795,
    memory_fraction_of_bandwidth: 0.827,
    kernel_overhead_us: 2.9,
    softness: None,
    basis: Basis::Published,
    source: GEMM_TABLES,
};

const H200: ComputeEfficiency = ComputeEfficiency {
    gemm_fraction_of_peak: 0.775,
    memory_fraction_of_bandwidth: 0.765,
    kernel_overhead_us: 3.3,
    softness: None,
    basis: Basis::Published,
    source: GEMM_TABLES,
};

/// Blackwell: H100's but for the GEMM share, which was measured at 0.73 to 0.79.
const BLACKWELL: ComputeEfficiency = ComputeEfficiency {
    gemm_fraction_of_peak: 0.775,
    basis: Basis::Assumed,
    source: "taken over from the H100, GEMM share from the B200",
    ..H100
};

/// AMD Instinct reaches far less of its peak than NVIDIA: measured 0.51 to 0.63.
const INSTINCT: ComputeEfficiency = ComputeEfficiency {
    gemm_fraction_of_peak: 0.51,
    memory_fraction_of_bandwidth: 0.70,
    kernel_overhead_us: 6.0,
    softness: Some(1.5),
    basis: Basis::Assumed,
    source: "GEMM share of the MI300X; memory share and overhead assumed",
};

/// GeForce and workstation cards: their tensor rate is cut, so that GEMMs come close to it.
const GRAPHICS_CARD: ComputeEfficiency = ComputeEfficiency {
    gemm_fraction_of_peak: 0.85,
    memory_fraction_of_bandwidth: 0.80,
    kernel_overhead_us: 4.7,
    softness: Some(1.5),
    basis: Basis::Assumed,
    source: "assumed: A100's softness and overhead, GDDR share 0.80",
};

const OTHER: ComputeEfficiency = ComputeEfficiency {
    gemm_fraction_of_peak: 0.70,
    memory_fraction_of_bandwidth: 0.75,
    kernel_overhead_us: 5.0,
    softness: Some(1.5),
    basis: Basis::Assumed,
    source: "assumed",
};

/// Power-capped inference cards (T4, L4: about 70 W) throttle under a steady GEMM load, as Jia et
/// al. 2019 (arXiv 1903.07486) describe for the T4; the share is assumed.
const POWER_CAPPED: ComputeEfficiency = ComputeEfficiency {
    gemm_fraction_of_peak: 0.64,
    source: "assumed: throttles at its power limit",
    ..GRAPHICS_CARD
};

/// Boards at or below this power throttle under a steady GEMM load, W.
const POWER_CAP_W: f64 = 75.0;

/// The constants of `device`.
///
/// Fitted for A100, H100 and H200; from the best measured GEMM where there is one; taken over from
/// the nearest generation otherwise, and then marked assumed.
///
/// ```
/// use sim_core::hardware::{Basis, catalog::find, efficiency_of};
/// let of = |id| efficiency_of(find(id).expect(id));
/// assert_eq!(of("h100").gemm_fraction_of_peak, 0.795);
/// assert_eq!(of("a100-sxm-40gb").basis, Basis::Published);
/// assert_eq!(of("v100").basis, Basis::Assumed);
/// ```
pub fn efficiency_of(device: &Device) -> ComputeEfficiency {
    match device.id {
        "a100-sxm4-40" | "a100-sxm4-80" => A100,
        "h100-sxm5-80" => H100,
        "h200-sxm-141" => H200,
        _ => usual_efficiency(device),
    }
}

fn usual_efficiency(device: &Device) -> ComputeEfficiency {
    let nearest = match (device.family, device.segment) {
        (_, Segment::Consumer | Segment::Workstation) => GRAPHICS_CARD,
        (Family::Turing | Family::Ada, _) if device.tdp_w.is_some_and(|w| w <= POWER_CAP_W) => {
            POWER_CAPPED
        }
        (Family::Pascal | Family::Volta | Family::Turing | Family::Ampere | Family::Ada, _) => {
            ComputeEfficiency { basis: Basis::Assumed, source: "taken over from the A100", ..A100 }
        }
        (Family::Hopper, _) => {
            ComputeEfficiency { basis: Basis::Assumed, source: "taken over from the H100", ..H100 }
        }
        (Family::Blackwell | Family::BlackwellUltra, _) => BLACKWELL,
        (Family::Cdna2 | Family::Cdna3 | Family::Cdna4, _) => INSTINCT,
        (Family::Gaudi | Family::DaVinci | Family::Tpu | Family::AppleGpu, _) => OTHER,
    };
    match (device.measured_bf16_tflops, device.peaks.bf16_tflops) {
        (Some(best), Some(peak)) => {
            ComputeEfficiency { gemm_fraction_of_peak: best / peak, source: BEST_GEMM, ..nearest }
        }
        _ => nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::efficiency_of;
    use crate::hardware::Basis;
    use crate::hardware::catalog::{devices, find};

    #[test]
    fn every_device_has_shares_between_a_quarter_and_one() {
        for device in devices() {
            let efficiency = efficiency_of(device);
            for share in [efficiency.gemm_fraction_of_peak, efficiency.memory_fraction_of_bandwidth]
            {
                assert!((0.25..=1.0).contains(&share), "{}", device.id);
            }
            assert!(efficiency.kernel_overhead_us > 0.0 && !efficiency.source.is_empty());
            assert!(efficiency.softness.is_none_or(|exponent| exponent >= 1.0));
        }
    }

    #[test]
    fn fitted_shares_do_not_exceed_the_best_measured_gemm_by_much() {
        for device in devices() {
            let efficiency = efficiency_of(device);
            if let (Some(best), Some(peak)) =
                (device.measured_bf16_tflops, device.peaks.bf16_tflops)
            {
                assert!(efficiency.gemm_fraction_of_peak <= 1.01 * best / peak, "{}", device.id);
            }
        }
    }

    #[test]
    fn amd_reaches_a_smaller_share_than_nvidia() {
        let mi300x = efficiency_of(find("mi300x").expect("listed"));
        let h100 = efficiency_of(find("h100").expect("listed"));
        // 668 of 1307.4 TFLOP/s.
        assert!((mi300x.gemm_fraction_of_peak - 0.511).abs() < 0.001);
        assert!(mi300x.gemm_fraction_of_peak < h100.gemm_fraction_of_peak);
    }

    #[test]
    fn only_the_fitted_devices_claim_more_than_an_assumption() {
        let claimed: Vec<&str> = devices()
            .filter(|device| efficiency_of(device).basis != Basis::Assumed)
            .map(|device| device.id)
            .collect();
        assert_eq!(claimed, ["h100-sxm5-80", "h200-sxm-141", "a100-sxm4-40", "a100-sxm4-80"]);
    }
}
