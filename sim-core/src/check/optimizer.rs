//! Where an optimizer can step in backward.

use crate::issue::{Issue, IssueCode};
use crate::plan::Plan;
use crate::precision::Precision;
use crate::scenario::{Edit, Framework};

/// Stepping in backward needs gradients that are final when they are made: one micro-batch on one
/// replica and stage, no scaled loss whose gradients are looked through before the step, and a
/// framework with hooks on each parameter (PyTorch's `register_post_accumulate_grad_hook`).
pub fn check(plan: &Plan, issues: &mut Vec<Issue>) {
    if !plan.optimizer_in_backward {
        return;
    }
    let field = "workload.optimizer_in_backward";
    let (framework, precision) = (plan.framework, plan.scenario.workload.precision);
    let accumulation = plan.micro_batches.to_string();
    let (dp, pp) = (plan.dp.to_string(), plan.pp.to_string());
    for (reason, value, found) in [
        ("workload.framework", framework.name(), framework != Framework::Pytorch),
        ("workload.gradient_accumulation", accumulation.as_str(), plan.micro_batches > 1),
        ("strategy.dp", dp.as_str(), plan.dp > 1),
        ("strategy.pp", pp.as_str(), plan.pp > 1),
        ("workload.precision", "fp16-mixed", precision == Precision::Fp16Mixed),
    ] {
        if found {
            issues.push(
                Issue::new(IssueCode::OptimizerNotInBackward, field)
                    .with("reason", reason)
                    .with("value", value)
                    .way_out(Edit::new(field, false)),
            );
        }
    }
}
