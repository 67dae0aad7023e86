//! Ways to make a scenario fit: candidates in order of effort, each believed only when simulated.

use super::controls::has_experts;
use super::serving_fixes;
use sim_core::quantity::Bytes;
use sim_core::scenario::{Edit, Recompute, Scenario, WorkloadKind};
use std::collections::VecDeque;

/// How many fixes are offered.
const WANTED: usize = 3;

/// A change that was simulated and fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    pub edits: Vec<Edit>,
    /// What the fullest GPU needs then.
    pub needs: Bytes,
    /// How many GPUs there are then, where that is more.
    pub more_devices: Option<u64>,
}

/// The same idea in growing strength; the first that fits is enough.
type Family = VecDeque<Vec<Edit>>;

/// A search that simulates one candidate a step, so that the page stays quick meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Search {
    families: VecDeque<Family>,
    /// GPUs in a node, and nodes, before any change.
    devices: (u64, u64),
    found: Vec<Fix>,
}

impl Search {
    /// A search for `scenario`, which runs `replicas` copies of the model; `larger_devices` are ids
    /// of devices with more memory, the smallest first.
    pub fn new(scenario: &Scenario, replicas: u64, larger_devices: &[&str]) -> Self {
        if scenario.workload.kind == WorkloadKind::Infer {
            return Self::over(scenario, serving_fixes::families(scenario, larger_devices));
        }
        let strategy = &scenario.strategy;
        let hardware = &scenario.hardware;
        let mut families: Vec<Vec<Vec<Edit>>> = Vec::new();

        if replicas > 1 && strategy.fsdp.is_none() {
            families.push((strategy.zero + 1..=3).map(|stage| vec![zero(stage)]).collect());
        }
        match strategy.recompute {
            Recompute::None => {
                families.push(vec![vec![recompute("selective")], vec![recompute("full")]]);
            }
            Recompute::Selective => families.push(vec![vec![recompute("full")]]),
            _ => {}
        }
        families.push(
            [2, 4, 8]
                .into_iter()
                .filter(|&ep| ep > strategy.ep && has_experts(scenario))
                .map(|ep| vec![Edit::new("strategy.ep", ep)])
                .collect(),
        );
        families.push(
            halvings(scenario.workload.micro_batch).map(|size| vec![micro_batch(size)]).collect(),
        );
        families.push(
            [2, 4, 8]
                .into_iter()
                .filter(|&tp| tp > strategy.tp && hardware.devices_per_node.is_multiple_of(tp))
                .map(|tp| vec![Edit::new("strategy.tp", tp), derived_replicas()])
                .collect(),
        );
        if replicas > 1 && strategy.fsdp.is_none() {
            families.push(vec![
                vec![zero(3), recompute("full")],
                vec![zero(3), recompute("full"), micro_batch(1)],
            ]);
        }
        families.push(more_devices(scenario));
        families.push(
            larger_devices
                .iter()
                .map(|device| vec![Edit::new("hardware.device", *device)])
                .collect(),
        );
        families.push(
            [2, 4, 8]
                .into_iter()
                .filter(|&count| count > hardware.devices_per_node)
                .flat_map(|count| {
                    let split =
                        [devices(count), derived_replicas(), Edit::new("strategy.tp", count)];
                    [split.to_vec(), [&split[..], &[recompute("full")]].concat()]
                })
                .collect(),
        );
        families.push(
            larger_devices
                .iter()
                .flat_map(|device| {
                    [2, 4, 8].into_iter().filter(|&count| count > hardware.devices_per_node).map(
                        |count| {
                            vec![
                                Edit::new("hardware.device", *device),
                                devices(count),
                                derived_replicas(),
                                zero(3),
                            ]
                        },
                    )
                })
                .collect(),
        );
        let families = families.into_iter().map(|family| {
            family.into_iter().map(|edits| with_whole_batch(scenario, edits)).collect()
        });
        Self::over(scenario, families.collect())
    }

    fn over(scenario: &Scenario, families: Vec<Vec<Vec<Edit>>>) -> Self {
        let hardware = &scenario.hardware;
        Self {
            families: families.into_iter().map(Family::from).collect(),
            devices: (hardware.devices_per_node, hardware.nodes),
            found: Vec::new(),
        }
    }

    /// What fits so far, the least effort first.
    pub fn found(&self) -> &[Fix] {
        &self.found
    }

    /// True when another step cannot change the answer.
    pub fn is_done(&self) -> bool {
        self.found.len() >= WANTED || self.families.is_empty()
    }

    /// Tries one candidate. `needs` says what the fullest GPU then needs, when that fits.
    pub fn step(&mut self, needs: impl FnOnce(&[Edit]) -> Option<Bytes>) {
        let Some(family) = self.families.front_mut() else { return };
        let Some(edits) = family.pop_front() else {
            self.families.pop_front();
            return;
        };
        if let Some(needs) = needs(&edits) {
            self.families.pop_front();
            let more_devices = self.more_devices(&edits);
            self.found.push(Fix { edits, needs, more_devices });
        }
    }

    fn more_devices(&self, edits: &[Edit]) -> Option<u64> {
        let (per_node, nodes) = self.devices;
        let after = |field: &str, before: u64| {
            let set = edits.iter().rev().find(|edit| edit.field == field);
            set.and_then(|edit| edit.value.as_u64()).unwrap_or(before)
        };
        let all = after("hardware.devices_per_node", per_node)
            .saturating_mul(after("hardware.nodes", nodes));
        (all > per_node.saturating_mul(nodes)).then_some(all)
    }
}

/// `edits`, with the global batch raised to what the new number of replicas divides.
fn with_whole_batch(scenario: &Scenario, mut edits: Vec<Edit>) -> Vec<Edit> {
    let Ok(edited) = scenario.edited_all(&edits) else { return edits };
    let Some(batch) = edited.workload.global_batch else { return edits };
    let (hardware, strategy) = (&edited.hardware, &edited.strategy);
    let devices = hardware.devices_per_node.saturating_mul(hardware.nodes);
    let split = strategy.tp.saturating_mul(strategy.pp).saturating_mul(strategy.cp).max(1);
    let replicas = strategy.dp.unwrap_or(devices / split).max(1);
    let slice = edited.workload.micro_batch.saturating_mul(replicas).max(1);
    if !batch.is_multiple_of(slice) {
        edits.push(Edit::new("workload.global_batch", batch.div_ceil(slice).saturating_mul(slice)));
    }
    edits
}

fn zero(stage: u64) -> Edit {
    Edit::new("strategy.zero", stage)
}

fn recompute(name: &str) -> Edit {
    Edit::new("strategy.recompute", name)
}

fn micro_batch(size: u64) -> Edit {
    Edit::new("workload.micro_batch", size)
}

pub(super) fn devices(count: u64) -> Edit {
    Edit::new("hardware.devices_per_node", count)
}

/// Replicas follow from the number of GPUs.
pub(super) fn derived_replicas() -> Edit {
    Edit::new("strategy.dp", serde_json::Value::Null)
}

pub(super) fn halvings(from: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(from / 2), |size| Some(size / 2)).take_while(|&size| size > 0)
}

/// ZeRO-3 over more and more GPUs, with and without recomputation.
fn more_devices(scenario: &Scenario) -> Vec<Vec<Edit>> {
    let hardware = &scenario.hardware;
    let mut steps: Vec<Vec<Edit>> = Vec::new();
    let mut add = |grown: Vec<Edit>| {
        let sharded = [grown, vec![derived_replicas(), zero(3)]].concat();
        steps.push(sharded.clone());
        if scenario.strategy.recompute != Recompute::Full {
            steps.push([sharded, vec![recompute("full")]].concat());
        }
    };
    for count in [2, 4, 8].into_iter().filter(|&count| count > hardware.devices_per_node) {
        add(vec![devices(count)]);
    }
    for count in [2, 4, 8, 16, 32, 64].into_iter().filter(|&count| count > hardware.nodes) {
        let mut grown = vec![Edit::new("hardware.nodes", count)];
        if hardware.devices_per_node < 8 {
            grown.insert(0, devices(8));
        }
        add(grown);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(strategy: serde_json::Value, devices: u64) -> Scenario {
        Scenario::from_value(serde_json::json!({
            "model": "llama-2-7b",
            "hardware": { "device": "rtx-3090", "devices_per_node": devices },
            "workload": { "micro_batch": 4 },
            "strategy": strategy,
        }))
        .expect("the scenario is whole")
    }

    fn run(mut search: Search, mut fits: impl FnMut(&[Edit]) -> bool) -> Vec<Vec<Edit>> {
        for _ in 0..10_000 {
            if search.is_done() {
                return search.found().iter().map(|fix| fix.edits.clone()).collect();
            }
            search.step(|edits| fits(edits).then_some(Bytes::ZERO));
        }
        panic!("the search does not end");
    }

    #[test]
    fn the_gentlest_stage_that_fits_is_offered_first() {
        let search = Search::new(&scenario(serde_json::json!({}), 8), 8, &[]);
        let found = run(search, |edits| edits == [zero(2)]);
        assert_eq!(found, vec![vec![zero(2)]]);
    }

    #[test]
    fn three_ideas_are_enough() {
        let search = Search::new(&scenario(serde_json::json!({}), 8), 8, &["h100-sxm"]);
        assert_eq!(
            run(search, |_| true),
            vec![vec![zero(1)], vec![recompute("selective")], vec![micro_batch(2)]]
        );
    }

    #[test]
    fn a_search_without_success_ends() {
        let search = Search::new(
            &scenario(serde_json::json!({ "zero": 3, "recompute": "full" }), 1),
            1,
            &["h100-sxm"],
        );
        assert_eq!(run(search, |_| false), Vec::<Vec<Edit>>::new());
    }

    #[test]
    fn one_gpu_is_not_offered_sharding_without_more_gpus() {
        let search = Search::new(&scenario(serde_json::json!({}), 1), 1, &[]);
        run(search, |edits| {
            let shards = edits.iter().any(|edit| edit.field == "strategy.zero");
            assert!(!shards || edits.iter().any(|edit| edit.field.starts_with("hardware.")));
            false
        });
    }

    #[test]
    fn more_replicas_get_a_batch_that_they_divide() {
        let mut start = scenario(serde_json::json!({}), 1);
        start.workload.micro_batch = 1;
        start.workload.global_batch = Some(4);
        let found = run(Search::new(&start, 1, &[]), |edits| edits.contains(&devices(8)));
        assert!(found[0].contains(&Edit::new("workload.global_batch", 8)), "{found:?}");
    }

    #[test]
    fn selective_recomputation_can_become_full() {
        let start = scenario(serde_json::json!({ "recompute": "selective" }), 8);
        let found = run(Search::new(&start, 8, &[]), |edits| edits == [recompute("full")]);
        assert_eq!(found, vec![vec![recompute("full")]]);
    }

    #[test]
    fn a_fix_says_how_many_gpus_it_takes_when_these_are_more() {
        let mut search = Search::new(&scenario(serde_json::json!({}), 1), 1, &[]);
        while !search.is_done() {
            search.step(|_| Some(Bytes::ZERO));
        }
        for fix in search.found() {
            let adds = fix
                .edits
                .iter()
                .any(|edit| edit.field.starts_with("hardware.d") && edit.value.as_u64() > Some(1));
            assert_eq!(fix.more_devices.is_some(), adds, "{fix:?}");
        }
    }

    #[test]
    fn every_candidate_can_be_applied() {
        let start = scenario(serde_json::json!({ "dp": 2 }), 2);
        run(Search::new(&start, 2, &["h100-sxm"]), |edits| {
            start.edited_all(edits).expect("candidates set existing fields");
            false
        });
    }
}
