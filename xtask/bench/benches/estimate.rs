//! Benchmarks of one whole evaluation: check, trace and report.
//! `cargo bench -p bench`; in the browser: `cargo test -p bench --target wasm32-unknown-unknown`.

use sim_core::scenario::Scenario;

fn main() {
    divan::main();
}

/// Llama-2-7B on 8×A100 with 4 micro-batches at ZeRO-0 to 3.
#[divan::bench(args = [0, 1, 2, 3])]
fn llama_7b_on_8_gpus(bencher: divan::Bencher<'_, '_>, zero: u64) {
    let mut scenario = preset("7b-on-8xa100");
    scenario.strategy.zero = zero;
    bencher.bench(|| sim_core::simulate(&scenario));
}

/// The largest preset: 205,000 operations.
#[divan::bench]
fn gpt3_on_16_stages(bencher: divan::Bencher<'_, '_>) {
    let scenario = preset("gpt3-pipeline");
    bencher.bench(|| sim_core::simulate(&scenario));
}

/// What a slider adds to a simulation: the edit of a field and the check.
#[divan::bench]
fn edit_and_check(bencher: divan::Bencher<'_, '_>) {
    let scenario = preset("7b-on-8xa100");
    let edit = sim_core::scenario::Edit::new("strategy.zero", 2);
    bencher.bench(|| scenario.edited(&edit).map(|edited| sim_core::check::check(&edited)));
}

fn preset(id: &str) -> Scenario {
    sim_core::presets::find(id).expect("a preset").scenario()
}
