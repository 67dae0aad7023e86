//! The native benchmark's evaluations in the browser, timed by its own clock; prints, asserts
//! nothing about speed.

#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// Evaluations that are timed together: the browser's clock has a grain of 0.1 ms.
const BATCH: u32 = 50;

#[wasm_bindgen_test]
fn one_evaluation() {
    for (id, zero) in [("7b-on-8xa100", 0), ("7b-on-8xa100", 3), ("70b-on-64xh100", 1)] {
        let mut scenario = sim_core::presets::find(id).expect("a preset").scenario();
        scenario.strategy.zero = zero;
        let mut batches: Vec<f64> = (0..10)
            .map(|_| {
                let start = js_sys::Date::now();
                for _ in 0..BATCH {
                    assert!(sim_core::simulate(&scenario).is_ok());
                }
                (js_sys::Date::now() - start) / f64::from(BATCH)
            })
            .collect();
        batches.sort_by(f64::total_cmp);
        console_log!("{id} ZeRO-{zero}: median {:.3} ms, least {:.3} ms", batches[5], batches[0]);
    }
}
