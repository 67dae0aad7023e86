//! Reports of all presets: a change of a number is seen and explained in its commit.
//! `UPDATE_EXPECT=1 cargo test -p sim-core --test golden` rewrites them.

#![cfg(not(target_arch = "wasm32"))]

use expect_test::expect_file;
use sim_core::report;

#[test]
fn reports_of_all_presets() {
    for preset in sim_core::presets::ALL {
        let report = report(&preset.scenario());
        let text = serde_json::to_string_pretty(&report).expect("a report has string keys only");
        expect_file![format!("{}/tests/golden/{}.json", env!("CARGO_MANIFEST_DIR"), preset.id)]
            .assert_eq(&(text + "\n"));
    }
}
