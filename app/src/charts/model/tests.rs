//! The prepared simulation says what the report and the trace say.

use super::*;
use sim_core::{presets, simulate};

fn models() -> Vec<(&'static str, ChartModel)> {
    let model = |preset: &presets::Preset| {
        let simulation = simulate(&preset.scenario()).expect("presets can be computed");
        (preset.id, ChartModel::new(Arc::new(simulation)))
    };
    presets::ALL.iter().map(model).collect()
}

#[test]
fn a_bar_at_the_peak_is_the_driver_total() {
    for (id, model) in models() {
        for (class, peak) in model.classes().iter().enumerate() {
            let sum: f64 = model.amounts(class, None).iter().sum();
            assert!((sum - peak.total).abs() < 1e-6 * peak.total, "{id}: {sum} {}", peak.total);
        }
    }
}

#[test]
fn an_instant_is_what_the_trace_says_and_the_runtime_and_never_above_the_peak() {
    for (id, model) in models() {
        let step = model.trace().duration();
        for class in 0..model.classes().len() {
            let runtime = model.classes()[class].bytes[Category::Runtime as usize];
            for tenth in 0..=10 {
                let time = step * f64::from(tenth) / 10.0;
                let sum: f64 = model.amounts(class, Some(time)).iter().sum();
                let direct: i64 = model.trace().breakdown_at(class, Some(time)).iter().sum();
                assert!((sum - runtime - direct as f64).abs() < 1.0, "{id}");
                assert!(sum <= model.classes()[class].total * (1.0 + 1e-9), "{id}");
            }
        }
    }
}

#[test]
fn an_axis_shows_every_class_and_the_line() {
    for (id, model) in models() {
        for unit in [Unit::Gib, Unit::Gb] {
            let axis = model.memory_axis(unit);
            assert!(axis >= model.capacity() * 1.2, "{id}");
            assert!(model.classes().iter().all(|class| class.total <= axis), "{id}");
        }
    }
}

#[test]
fn passes_cover_every_micro_batch_there_and_back() {
    for (id, model) in models() {
        let compute = model.groups()[0][0];
        let passes = &model.lane(compute).passes;
        let last = passes.iter().map(|pass| pass.micro_batch).max().expect("a step has passes");
        for micro_batch in 0..=last {
            // A served batch goes forward only.
            let directions: &[bool] = if model.serves() { &[false] } else { &[false, true] };
            for &is_backward in directions {
                let of_it = passes
                    .iter()
                    .filter(|p| p.micro_batch == micro_batch && p.is_backward == is_backward);
                assert!(of_it.count() >= 1, "{id}: {micro_batch} {is_backward}");
            }
        }
        assert!(passes.windows(2).all(|pair| pair[0].end <= pair[1].start + 1e-12), "{id}");
    }
}
