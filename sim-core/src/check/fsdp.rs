//! FSDP: which frameworks run it, what it cannot be combined with, and over whom it shards.

use super::strategy::Degrees;
use crate::issue::{Issue, IssueCode};
use crate::plan::Plan;
use crate::scenario::{Edit, Framework, FsdpMode, Scenario};
use serde_json::Value;

/// Whether the choice of FSDP agrees with the framework and with ZeRO.
pub fn check(scenario: &Scenario, issues: &mut Vec<Issue>) {
    let (framework, strategy) = (scenario.workload.framework, &scenario.strategy);
    if strategy.zero > 0 && (strategy.fsdp.is_some() || framework == Framework::Fsdp) {
        issues.push(
            Issue::new(IssueCode::FsdpWithZero, "strategy.zero")
                .with("zero", strategy.zero)
                .way_out(Edit::new("strategy.zero", 0))
                .way_out(Edit::new("strategy.fsdp", Value::Null))
                .way_out(Edit::new("workload.framework", Framework::DeepSpeed.name())),
        );
    } else if strategy.fsdp.is_none() && framework == Framework::Fsdp {
        issues.push(
            Issue::new(IssueCode::FsdpWithoutMode, "strategy.fsdp")
                .way_out(Edit::new("strategy.fsdp", FsdpMode::FullShard.name()))
                .way_out(Edit::new("workload.framework", Framework::Pytorch.name())),
        );
    }
    if strategy.fsdp.is_some() && !matches!(framework, Framework::Fsdp | Framework::Pytorch) {
        issues.push(
            Issue::new(IssueCode::FsdpNotInFramework, "strategy.fsdp")
                .with("framework", framework.name())
                .way_out(Edit::new("workload.framework", Framework::Fsdp.name()))
                .way_out(Edit::new("strategy.fsdp", Value::Null)),
        );
    }
}

/// Ranks that model states are sharded over: all replicas, or those within a node under `hybrid`.
pub fn shards(scenario: &Scenario, degrees: Degrees, issues: &mut Vec<Issue>) -> Option<u64> {
    if scenario.strategy.fsdp != Some(FsdpMode::Hybrid) {
        return Some(degrees.dp * degrees.cp);
    }
    let replicas = degrees.dp * degrees.cp;
    let in_a_node = (scenario.hardware.devices_per_node / degrees.tp).clamp(1, replicas);
    if replicas.is_multiple_of(in_a_node) {
        return Some(in_a_node);
    }
    issues.push(
        Issue::new(IssueCode::FsdpHybridDoesNotDivide, "strategy.fsdp")
            .with("dp", replicas)
            .with("shards", in_a_node)
            .way_out(Edit::new("strategy.fsdp", FsdpMode::FullShard.name())),
    );
    None
}

/// What is worth knowing about FSDP in a plan that can run.
pub fn advise(plan: &Plan, issues: &mut Vec<Issue>) {
    let Some(mode) = plan.fsdp else { return };
    let replicas = plan.replicas().common;
    if replicas == 1 {
        issues.push(Issue::new(IssueCode::FsdpWithoutReplicas, "strategy.fsdp"));
    } else if mode == FsdpMode::Hybrid && plan.shards == replicas {
        issues.push(
            Issue::new(IssueCode::FsdpHybridInOneNode, "strategy.fsdp")
                .way_out(Edit::new("strategy.fsdp", FsdpMode::FullShard.name())),
        );
    }
    if plan.pp > 1 && mode != FsdpMode::ShardGradOp {
        issues.push(
            Issue::new(IssueCode::FsdpWithPipeline, "strategy.fsdp")
                .with("micro_batches", plan.micro_batches)
                .way_out(Edit::new("strategy.fsdp", FsdpMode::ShardGradOp.name())),
        );
    }
}
