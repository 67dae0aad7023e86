//! The form by hand, and what an estimate may never do.

use super::*;
use crate::hardware::measured::gpu::{A100, FAMILIES, H100};

fn shape(batch: u64, context: u64, heads: u64, kv_heads: u64) -> AttentionShape {
    AttentionShape { batch, context, heads, kv_heads, head_dim: 128, cache_bytes: 2, window: None }
}

#[test]
fn the_form_of_a_decoding_step_by_hand() {
    let form = AttentionForm {
        launch_us: 10.0,
        arithmetic_odds: 1.0,
        memory: 0.9,
        update: 0.1,
        cache: 3.0,
        softness: 1e9,
        head_exponent: 0.0,
        fp8_launch: 1.0,
        fp8_arithmetic: 1.0,
        fp8_update: 1.0,
    };
    // 64 sequences of 4096 tokens, 8 KV heads of 128: 2·64·4096·8·128·2 bytes are read, 64·128·(2·8·4
    // + 4·32) pass into the cache or out.
    let got = form.seconds(&A100, AttentionPhase::Decode, shape(64, 4096, 32, 8));
    let (read, update) = (1_073_741_824.0, 1_572_864.0);
    let by_hand = 10e-6 + update / (0.1 * 2039e9) + read / 2039e9 * (1.0 / 0.9 + 1.0 / 3.0);
    assert!((got / by_hand - 1.0).abs() < 1e-3, "{got} {by_hand}");
}

#[test]
fn a_window_is_found_where_it_shows() {
    let surface = AttentionSurface::of_gpu(&H100, AttentionPhase::Decode).expect("timed");
    let full = shape(32, 65536, 16, 8);
    for window in [None, Some(128), Some(1024)] {
        let shape = AttentionShape { window, ..full };
        let seconds = surface.form.seconds(&H100, AttentionPhase::Decode, shape);
        let found = surface.form.with_window(&H100, AttentionPhase::Decode, full, seconds);
        assert_eq!(found.window, window);
    }
    // One that hides nothing is none.
    let short = shape(32, 128, 16, 8);
    assert_eq!(surface.form.with_window(&H100, AttentionPhase::Decode, short, 1e-3).window, None);
}

#[test]
fn every_shape_takes_some_time_and_a_window_makes_it_no_slower() {
    let sizes = [1, 3, 128, 4097, 1 << 20, 1 << 40];
    for gpu in FAMILIES.into_iter().flatten() {
        for phase in AttentionPhase::ALL {
            let surface = AttentionSurface::of_gpu(gpu, phase).expect("timed");
            for batch in sizes {
                for context in sizes {
                    let full = shape(batch, context, 32, 8);
                    let got = surface.estimate(full).seconds;
                    assert!(got.is_finite() && got > 0.0, "{full:?}");
                }
            }
            let long = shape(8, 1 << 17, 32, 8);
            let windowed = AttentionShape { window: Some(1024), ..long };
            assert!(surface.estimate(windowed).seconds < surface.estimate(long).seconds);
            assert_eq!(surface.estimate(shape(0, 8, 8, 8)).seconds, 0.0);
        }
    }
}
