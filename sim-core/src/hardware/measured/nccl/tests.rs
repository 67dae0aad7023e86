//! Forms by hand, and what an estimate may never do.

use super::*;
use crate::hardware::measured::gpu::{FAMILIES, H100};

#[test]
fn the_form_of_a_large_and_a_small_message_by_hand() {
    let form = NcclForm { ranks: 8, latency_us: 20.0, gb_per_s: 400.0, softness: 2.0 };
    // 2·7/8·1 GB at 400 GB/s: 4.375 ms; √(4.375² + 0.02²).
    let got = form.seconds(NcclOperation::AllReduce, 1e9);
    assert!((got - 4.375_045_7e-3).abs() < 1e-9, "{got}");
    let got = form.seconds(NcclOperation::AllGather, 1.0);
    assert!((got - 20e-6).abs() < 1e-12, "{got}");
}

#[test]
fn messages_of_every_size_take_some_time_and_more_bytes_not_much_less() {
    for gpu in FAMILIES.into_iter().flatten() {
        for operation in NcclOperation::ALL {
            let surface = NcclSurface::of_gpu(gpu, operation).expect("timed");
            for ranks in 2..=8 {
                let time = |log: i32| {
                    let bytes = libm::exp2(f64::from(log));
                    surface.estimate(NcclShape { bytes, ranks, number_bytes: 2.0 })
                };
                for log in 0..60 {
                    let (Some(once), Some(twice)) = (time(log), time(log + 1)) else {
                        // Only groups of two or four were timed.
                        assert!(!surface.covers(ranks), "{} {ranks}", gpu.name);
                        continue;
                    };
                    assert!(once.seconds.is_finite() && once.seconds > 0.0);
                    let what = (gpu.name, operation, ranks, log);
                    // NCCL changes its protocol with the size, and the smallest timings scatter.
                    assert!(twice.seconds > 0.7 * once.seconds, "{what:?} {once:?} {twice:?}");
                }
            }
            let sixteen = NcclShape { bytes: 1e6, ranks: 16, number_bytes: 2.0 };
            assert_eq!(surface.estimate(sixteen), None);
        }
    }
}

#[test]
fn six_ranks_lie_between_four_and_eight() {
    let surface = NcclSurface::of_gpu(&H100, NcclOperation::AllReduce).expect("timed");
    let time = |ranks| {
        let shape = NcclShape { bytes: 64e6, ranks, number_bytes: 2.0 };
        surface.estimate(shape).expect("covered")
    };
    let (four, six, eight) = (time(4), time(6), time(8));
    let (low, high) = if four.seconds < eight.seconds { (four, eight) } else { (eight, four) };
    assert!(low.seconds <= six.seconds && six.seconds <= high.seconds);
    assert_eq!(six.coverage, Coverage::Beyond);
    assert_eq!(eight.coverage, Coverage::Inside);
}
