//! Looks for fixes after the page has painted, one candidate at a time.

use super::Store;
use super::fixes::{Fix, Search};
use super::verdict::verdict;
use crate::platform::clock::Alarm;
use leptos::prelude::*;
use sim_core::Simulation;
use sim_core::hardware::{Device, Segment, catalog};
use sim_core::issue::IssueCode;
use sim_core::quantity::Bytes;
use sim_core::scenario::{Edit, Scenario};
use std::sync::Arc;

/// How long the scenario must stand still before the search begins, in milliseconds.
const PAUSE_MS: u32 = 160;

/// How far the search has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fixes {
    pub found: Vec<Fix>,
    pub searching: bool,
}

/// Fixes for what the page shows, kept up to date.
pub fn watch(store: Store) -> RwSignal<Fixes> {
    let fixes = RwSignal::new(Fixes::default());
    let alarm = Alarm::default();
    Effect::new(move |_| {
        let outcome = store.outcome().get();
        match outcome {
            Ok(simulation) if !simulation.report.fits => {
                fixes.set(Fixes { found: Vec::new(), searching: true });
                let next = alarm.clone();
                alarm.set(PAUSE_MS, move || {
                    let scenario = store.scenario().get_untracked();
                    let larger = larger_devices(&simulation);
                    let search = Search::new(&scenario, simulation.plan.dp, &larger);
                    let known = refused_by_frameworks(&simulation);
                    step(next, Arc::new(scenario), known, search, fixes);
                });
            }
            Ok(_) | Err(_) => {
                // Setting the alarm cancels a search that is under way.
                alarm.set(0, || {});
                fixes.set(Fixes::default());
            }
        }
    });
    fixes
}

fn step(
    alarm: Alarm,
    scenario: Arc<Scenario>,
    known: Vec<IssueCode>,
    mut search: Search,
    fixes: RwSignal<Fixes>,
) {
    let before = search.found().len();
    search.step(|edits| needs_after(&scenario, &known, edits));
    let searching = !search.is_done();
    if !searching || search.found().len() > before {
        fixes.set(Fixes { found: search.found().to_vec(), searching });
    }
    if searching {
        let next = alarm.clone();
        alarm.set(0, move || step(next, scenario, known, search, fixes));
    }
}

/// What the fullest GPU needs after `edits`, when that fits and no framework refuses what it did
/// not refuse before.
fn needs_after(scenario: &Scenario, known: &[IssueCode], edits: &[Edit]) -> Option<Bytes> {
    let edited = scenario.edited_all(edits).ok()?;
    let simulation = sim_core::simulate(&edited).ok()?;
    if refused_by_frameworks(&simulation).iter().any(|code| !known.contains(code)) {
        return None;
    }
    verdict(&simulation.report).filter(|verdict| verdict.fits).map(|verdict| verdict.needs)
}

/// What is computed although a framework refuses it.
fn refused_by_frameworks(simulation: &Simulation) -> Vec<IssueCode> {
    let codes = simulation.report.issues.iter().map(|issue| issue.code);
    codes
        .filter(|code| matches!(code, IssueCode::ZeroNotInFramework | IssueCode::ZeroWithPipeline))
        .collect()
}

/// One data-centre device for every larger size of memory from the same vendor, smallest first.
fn larger_devices(simulation: &Simulation) -> Vec<&'static str> {
    let own = &simulation.plan.device;
    let mut larger: Vec<&Device> = catalog::devices()
        .filter(|device| {
            device.vendor == own.vendor
                && device.segment == Segment::DataCenter
                && device.memory_usable_gib() > own.memory_usable_gib() * 1.05
        })
        .collect();
    larger.sort_by(|a, b| a.memory_usable_gib().total_cmp(&b.memory_usable_gib()));
    larger.dedup_by(|a, b| a.memory_marketing_gb == b.memory_marketing_gb);
    larger.iter().map(|device| device.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_framework_refuses_is_no_fix() {
        let scenario = Scenario::from_json(
            r#"{"model":"llama-2-7b","hardware":{"device":"a100-sxm-80gb","devices_per_node":8},
                "workload":{"framework":"megatron","sequence":512}}"#,
        )
        .expect("the scenario is whole");
        let stage = |zero: u64| [Edit::new("strategy.zero", zero)];
        assert!(needs_after(&scenario, &[], &stage(1)).is_some());
        assert_eq!(needs_after(&scenario, &[], &stage(3)), None);
        assert!(needs_after(&scenario, &[IssueCode::ZeroNotInFramework], &stage(3)).is_some());
    }
}
