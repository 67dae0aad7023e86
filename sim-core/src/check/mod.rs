//! From a scenario to a plan, or to everything that is wrong with it.
//!
//! Architecture invariant: nothing is fixed silently; what is not modelled is refused by name.

mod batch;
mod finetune;
mod fsdp;
mod hardware;
mod model;
mod numbers;
mod optimizer;
mod ranges;
mod serving;
mod spread;
mod strategy;
mod supported;

pub use ranges::{RANGES, Range, range_of};

use crate::issue::{Issue, IssueCode, Severity};
use crate::operators::Backend;
use crate::plan::{Plan, split_layers};
use crate::scenario::{Scenario, WorkloadKind};

/// A plan with what is worth knowing about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    pub plan: Plan,
    /// Warnings and notes.
    pub issues: Vec<Issue>,
}

/// Checks a scenario. Every way out has been tried: it removes its issue and makes no new error.
///
/// # Errors
/// All findings, when at least one is an error.
pub fn check(scenario: &Scenario) -> Result<Checked, Vec<Issue>> {
    let mut result = find(scenario);
    let issues = match &mut result {
        Ok(checked) => &mut checked.issues,
        Err(issues) => issues,
    };
    let before: Vec<(IssueCode, String)> =
        issues.iter().map(|issue| (issue.code, issue.field.clone())).collect();
    for issue in issues {
        let (code, field) = (issue.code, issue.field.clone());
        issue.ways_out.retain(|edit| {
            let Ok(edited) = scenario.edited(edit) else { return false };
            let after = match find(&edited) {
                Ok(checked) => checked.issues,
                Err(issues) => issues,
            };
            after.iter().all(|found| {
                let is_same = found.code == code && found.field == field;
                let is_new = !before.contains(&(found.code, found.field.clone()));
                !(is_same || is_new && found.severity == Severity::Error)
            })
        });
    }
    result
}

/// All findings, with ways out that have not been tried.
fn find(scenario: &Scenario) -> Result<Checked, Vec<Issue>> {
    let mut issues = numbers::out_of_range(scenario);
    issues.extend(supported::not_supported(scenario));
    let model = model::resolve(scenario, &mut issues);
    if let Some(model) = &model {
        issues.extend(supported::model_not_supported(scenario.workload.kind, &model.shape));
        issues.extend(supported::loss_not_supported(scenario, &model.shape));
    }
    let machine = hardware::resolve(scenario, &mut issues);
    if issues.iter().any(|issue| issue.code == IssueCode::OutOfRange) {
        // Products of such numbers may not even be numbers.
        return Err(sorted(issues));
    }
    if let (Some(model), Some(machine)) = (&model, &machine) {
        strategy::check(scenario, &model.shape, machine, &mut issues);
    }
    let degrees = strategy::degrees(scenario, &mut issues);
    if scenario.workload.kind == WorkloadKind::Infer {
        return match (model, machine, degrees) {
            (Some(model), Some(machine), Some(degrees)) if !has_errors(&issues) => {
                serving::find(scenario, model, &machine, degrees, issues)
            }
            _ => Err(sorted(issues)),
        };
    }
    let adapters =
        model.as_ref().and_then(|model| finetune::resolve(scenario, &model.shape, &mut issues));
    if let (Some(model), Some(degrees)) = (&model, degrees) {
        spread::check(scenario, &model.shape, degrees, &mut issues);
    }
    let batch = degrees.and_then(|degrees| batch::resolve(scenario, degrees, &mut issues));
    fsdp::check(scenario, &mut issues);
    let shards = degrees.and_then(|degrees| fsdp::shards(scenario, degrees, &mut issues));
    let (Some(model), Some(machine), Some(adapters), Some(degrees), Some(batch), Some(shards)) =
        (model, machine, adapters, degrees, batch, shards)
    else {
        return Err(sorted(issues));
    };
    if has_errors(&issues) {
        return Err(sorted(issues));
    }

    let spread = spread::resolve(scenario, &model.shape, degrees)
        .expect("degrees that do not fit are errors");
    let workload = &scenario.workload;
    let recipe = scenario.recipe();
    let gradient_dtype = workload.gradient_dtype.unwrap_or(recipe.stored);
    let mut resolved = scenario.clone();
    resolved.strategy.dp = Some(degrees.dp);
    resolved.workload.global_batch = Some(batch.global);
    resolved.workload.gradient_accumulation = Some(batch.micro_batches);
    resolved.workload.gradient_dtype = Some(gradient_dtype);
    let plan = Plan {
        scenario: resolved,
        model_name: model.name,
        stages: split_layers(&model.shape, workload.framework, degrees.pp),
        model: model.shape,
        device: machine.device,
        devices_per_node: scenario.hardware.devices_per_node,
        nodes: scenario.hardware.nodes,
        topology: machine.topology,
        dp: degrees.dp,
        tp: degrees.tp,
        pp: degrees.pp,
        cp: degrees.cp,
        ep: spread.ep,
        expert_tp: spread.expert_tp,
        schedule: scenario.strategy.schedule,
        sequence_parallel: scenario.strategy.sequence_parallel && degrees.tp > 1,
        zero: scenario.strategy.zero,
        fsdp: scenario.strategy.fsdp,
        shards,
        recompute: scenario.strategy.recompute,
        sequence: workload.sequence,
        micro_batch: workload.micro_batch,
        micro_batches: batch.micro_batches,
        global_batch: batch.global,
        precision: workload.precision,
        recipe,
        model_recipe: scenario.model_recipe(),
        adapters,
        gradient_dtype,
        optimizer: workload.optimizer,
        optimizer_implementation: workload.optimizer_implementation,
        optimizer_in_backward: workload.optimizer_in_backward,
        attention: workload.attention,
        cross_entropy: workload.cross_entropy,
        dropout: workload.dropout,
        framework: workload.framework,
        compile: workload.compile,
        backend: Backend::default(),
        serving: None,
    };
    strategy::advise(&plan, &mut issues);
    fsdp::advise(&plan, &mut issues);
    optimizer::check(&plan, &mut issues);
    if has_errors(&issues) {
        return Err(sorted(issues));
    }
    Ok(Checked { plan, issues: sorted(issues) })
}

fn has_errors(issues: &[Issue]) -> bool {
    issues.iter().any(|issue| issue.severity == Severity::Error)
}

/// Worst first, else in the order of finding.
fn sorted(mut issues: Vec<Issue>) -> Vec<Issue> {
    issues.sort_by_key(|issue| std::cmp::Reverse(issue.severity));
    issues
}
