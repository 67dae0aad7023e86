//! Looks for fixes after the page has painted, one candidate at a time.

use super::Store;
use super::fixes::{Fix, Search};
use super::verdict::verdict;
use crate::platform::clock::Alarm;
use leptos::prelude::*;
use sim_core::Simulation;
use sim_core::hardware::{Device, Segment, catalog};
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
                    step(next, Arc::new(scenario), search, fixes);
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

fn step(alarm: Alarm, scenario: Arc<Scenario>, mut search: Search, fixes: RwSignal<Fixes>) {
    let before = search.found().len();
    search.step(|edits| needs_after(&scenario, edits));
    let searching = !search.is_done();
    if !searching || search.found().len() > before {
        fixes.set(Fixes { found: search.found().to_vec(), searching });
    }
    if searching {
        let next = alarm.clone();
        alarm.set(0, move || step(next, scenario, search, fixes));
    }
}

/// What the fullest GPU needs after `edits`, when that fits.
fn needs_after(scenario: &Scenario, edits: &[Edit]) -> Option<Bytes> {
    let edited = scenario.edited_all(edits).ok()?;
    let simulation = sim_core::simulate(&edited).ok()?;
    verdict(&simulation.report).filter(|verdict| verdict.fits).map(|verdict| verdict.needs)
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
