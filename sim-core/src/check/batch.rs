//! Batch sizes: what is missing is derived, what contradicts is reported.

use super::ranges::range_of;
use super::strategy::Degrees;
use crate::issue::{Issue, IssueCode};
use crate::scenario::{Edit, Scenario};

/// The batch of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Samples of all replicas.
    pub global: u64,
    /// Micro-batches of a replica.
    pub micro_batches: u64,
}

/// `global_batch = micro_batch · dp · gradient_accumulation`: derives what is missing.
pub fn resolve(scenario: &Scenario, degrees: Degrees, issues: &mut Vec<Issue>) -> Option<Batch> {
    let workload = &scenario.workload;
    let slice = workload.micro_batch * degrees.dp;
    let global = match (workload.global_batch, workload.gradient_accumulation) {
        (Some(global), Some(accumulation)) if global != slice * accumulation => {
            issues.push(
                Issue::new(IssueCode::BatchesDisagree, "workload.global_batch")
                    .with("global", global)
                    .with("micro", workload.micro_batch)
                    .with("dp", degrees.dp)
                    .with("accumulation", accumulation)
                    .way_out(Edit::new("workload.global_batch", slice * accumulation))
                    .way_out(Edit::new("workload.gradient_accumulation", serde_json::Value::Null)),
            );
            return None;
        }
        (Some(global), _) => global,
        (None, accumulation) => slice * accumulation.unwrap_or(1),
    };
    if global % slice != 0 {
        let below = global / slice * slice;
        let mut issue = Issue::new(IssueCode::BatchDoesNotDivide, "workload.global_batch")
            .with("global", global)
            .with("micro", workload.micro_batch)
            .with("dp", degrees.dp)
            .with("slice", slice);
        if below > 0 {
            issue = issue.way_out(Edit::new("workload.global_batch", below));
        }
        issue = issue.way_out(Edit::new("workload.global_batch", below + slice));
        if workload.micro_batch > 1 {
            issue = issue.way_out(Edit::new("workload.micro_batch", 1));
        }
        issues.push(issue);
        return None;
    }
    let range = range_of("workload.global_batch").expect("the table has the field");
    if global as f64 > range.max {
        issues.push(
            Issue::new(IssueCode::OutOfRange, "workload.global_batch")
                .with("value", global)
                .with("min", range.min)
                .with("max", range.max)
                .way_out(Edit::new("workload.gradient_accumulation", 1))
                .way_out(Edit::new("workload.micro_batch", 1)),
        );
        return None;
    }
    let micro_batches = global / slice;
    Some(Batch { global, micro_batches })
}
