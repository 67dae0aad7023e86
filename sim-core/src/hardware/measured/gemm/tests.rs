//! Forms by hand, and what an estimate may never do.

use super::*;
use crate::hardware::measured::gpu::{FAMILIES, H100};

fn surfaces() -> impl Iterator<Item = GemmSurface> {
    FAMILIES.into_iter().flatten().flat_map(|gpu| {
        GemmFormat::ALL.into_iter().filter_map(|format| GemmSurface::of_gpu(gpu, format))
    })
}

fn shape(m: u64, n: u64, k: u64) -> GemmShape {
    GemmShape { m, n, k }
}

#[test]
fn the_form_of_a_large_product_by_hand() {
    let form = GemmForm {
        launch_us: 3.0,
        arithmetic: 0.8,
        memory: 0.9,
        cache: 5.0,
        softness: 1e9,
        capacity: 0.1,
    };
    // 8192³ in bf16: 2·2³⁹ operations at 0.8 of 989.5 TFLOP/s take 1.389 ms, far more than memory.
    let got = form.seconds(&H100, GemmFormat::Bf16, shape(8192, 8192, 8192), Weights::Cold);
    assert!((got - (3e-6 + 1_099_511_627_776.0 / (0.8 * 989.5e12))).abs() < 1e-12, "{got}");
    // One row: 2·8192² bytes of weights at 0.9 of 3.35 TB/s and through the cache at 5 times that;
    // 2·8192·2 bytes of activations fit into the cache.
    let got = form.seconds(&H100, GemmFormat::Bf16, shape(1, 8192, 8192), Weights::Cold);
    let (weights, rows) = (2.0 * 8192.0 * 8192.0, 4.0 * 8192.0);
    let by_hand = 3e-6 + weights / (0.9 * 3.35e12) + (weights + rows) / (5.0 * 3.35e12);
    assert!((got / by_hand - 1.0).abs() < 1e-6, "{got} {by_hand}");
}

#[test]
fn a_timed_shape_of_the_h100_comes_close_to_its_timing() {
    let surface = GemmSurface::of_gpu(&H100, GemmFormat::Bf16).expect("timed");
    // validation/ops/gemm.jsonl: 769 × 10240 × 12288 and 6 × 51200 × 3584.
    let big = surface.estimate(shape(32768, 10240, 10240), Weights::TakeTurns);
    assert!((big.seconds / 8032.3e-6 - 1.0).abs() < 0.1, "{big:?}");
    let thin = surface.estimate(shape(6, 51200, 3584), Weights::TakeTurns);
    assert!((thin.seconds / 126.4e-6 - 1.0).abs() < 0.1, "{thin:?}");
    assert_eq!(big.coverage, Coverage::Inside);
    assert!(surface.has(shape(6, 51200, 3584)) && !surface.has(shape(7, 51200, 3584)));
}

#[test]
fn no_shape_gives_a_time_that_is_none() {
    let sizes = [1, 2, 3, 31, 4096, 65_537, 1 << 24, 1 << 40, 1 << 53];
    for surface in surfaces() {
        for m in sizes {
            for n in sizes {
                for k in sizes {
                    for from in [Weights::Cold, Weights::TakeTurns] {
                        let got = surface.estimate(shape(m, n, k), from).seconds;
                        assert!(got.is_finite() && got > 0.0, "{m} {n} {k}: {got}");
                    }
                }
            }
        }
        assert_eq!(surface.estimate(shape(0, 8, 8), Weights::Cold).seconds, 0.0);
    }
}

#[test]
fn twice_the_rows_never_take_much_less() {
    for surface in surfaces() {
        for n in [512, 4096, 14336, 65536] {
            for k in [512, 4096, 16384] {
                let time = |m| surface.estimate(shape(m, n, k), Weights::Cold).seconds;
                for power in 0..16 {
                    let (once, twice) = (time(1 << power), time(2 << power));
                    let what = (surface.gpu.name, surface.format, 1 << power, n, k);
                    // Kernels change with the shape, so that more work is at times a little faster.
                    assert!(twice > 0.75 * once, "{what:?}: {once} {twice}");
                }
            }
        }
    }
}

#[test]
fn beyond_the_timings_the_correction_fades_without_a_jump() {
    let surface = GemmSurface::of_gpu(&H100, GemmFormat::Bf16).expect("timed");
    let at = |m| surface.estimate(shape(m, 4096, 4096), Weights::Cold);
    let (last, next) = (at(32768), at(32769));
    assert_eq!((last.coverage, next.coverage), (Coverage::Inside, Coverage::Beyond));
    assert!((next.seconds / last.seconds - 1.0).abs() < 0.02, "{last:?} {next:?}");
    // Seven octaves out the form is alone to 2 %.
    let far = shape(1 << 22, 4096, 4096);
    let form = surface.form.seconds(&H100, GemmFormat::Bf16, far, Weights::Cold);
    assert!((surface.estimate(far, Weights::Cold).seconds / form - 1.0).abs() < 0.02);
}

#[test]
fn errors_of_left_out_shapes_are_what_the_tables_claim() {
    let error =
        |gpu: &'static Gpu, format| GemmSurface::of_gpu(gpu, format).expect("timed").left_out_error;
    use crate::hardware::measured::gpu::{A100, B300, GB300, H200};
    for (gpu, limit) in
        [(&H100, 0.06), (&H200, 0.06), (&B300, 0.065), (&GB300, 0.065), (&A100, 0.07)]
    {
        let got = error(gpu, GemmFormat::Bf16);
        assert!(got < limit, "{}: {got}", gpu.name);
    }
    assert!(error(&H100, GemmFormat::Fp8) < 0.10);
}
