//! How experts and sequences spread over ranks.

use super::model::nearest_divisor;
use super::strategy::Degrees;
use crate::issue::{Issue, IssueCode};
use crate::model::ModelShape;
use crate::scenario::{AttentionKernel, Edit, Scenario};

/// How the experts of a layer are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    pub ep: u64,
    /// Ranks that split each expert's matrices.
    pub expert_tp: u64,
}

/// The experts' division; `None` where there is no such one.
///
/// Experts split over tensor-parallel ranks as everything else does and over `ep` of the replicas.
/// A larger `ep` takes in the tensor-parallel ranks, each of which then has whole experts
/// (Megatron's expert tensor parallelism of one): with sequence parallelism their tokens differ.
pub fn resolve(scenario: &Scenario, shape: &ModelShape, degrees: Degrees) -> Option<Spread> {
    let Degrees { dp, tp, cp, .. } = degrees;
    let ep = scenario.strategy.ep;
    let Some(experts) = shape.experts else { return Some(Spread { ep: 1, expert_tp: tp }) };
    if !experts.count.is_multiple_of(ep) {
        return None;
    }
    if (dp * cp).is_multiple_of(ep) {
        return Some(Spread { ep, expert_tp: tp });
    }
    let whole = scenario.strategy.sequence_parallel && (dp * cp * tp).is_multiple_of(ep);
    whole.then_some(Spread { ep, expert_tp: 1 })
}

/// What is wrong with the degrees of expert and context parallelism.
pub fn check(scenario: &Scenario, shape: &ModelShape, degrees: Degrees, issues: &mut Vec<Issue>) {
    experts(scenario, shape, degrees, issues);
    context(scenario, issues);
}

fn experts(scenario: &Scenario, shape: &ModelShape, degrees: Degrees, issues: &mut Vec<Issue>) {
    let Degrees { dp, tp, cp, .. } = degrees;
    let ep = scenario.strategy.ep;
    let Some(experts) = shape.experts else {
        if ep > 1 {
            issues.push(
                Issue::new(IssueCode::EpWithoutExperts, "strategy.ep")
                    .with("ep", ep)
                    .way_out(Edit::new("strategy.ep", 1)),
            );
        }
        return;
    };
    if !experts.count.is_multiple_of(ep) {
        issues.push(
            Issue::new(IssueCode::EpDoesNotDivideExperts, "strategy.ep")
                .with("ep", ep)
                .with("experts", experts.count)
                .way_out(Edit::new("strategy.ep", nearest_divisor(experts.count, ep)))
                .way_out(Edit::new("strategy.ep", 1)),
        );
        return;
    }
    match resolve(scenario, shape, degrees) {
        None => {
            let shared = greatest_common_divisor(experts.count, dp * cp);
            let mut issue = Issue::new(IssueCode::EpDoesNotDivideRanks, "strategy.ep")
                .with("ep", ep)
                .with("ranks", dp * cp);
            if tp > 1 {
                issue = issue.way_out(Edit::new("strategy.sequence_parallel", true));
            }
            issues.push(
                issue
                    .way_out(Edit::new("strategy.ep", nearest_divisor(shared, ep)))
                    .way_out(Edit::new("strategy.ep", 1)),
            );
        }
        Some(spread) if !experts.ffn.is_multiple_of(spread.expert_tp) => issues.push(
            Issue::new(IssueCode::TpDoesNotDivide, "strategy.tp")
                .with("tp", tp)
                .with("part", "expert-ffn")
                .with("size", experts.ffn)
                .way_out(Edit::new("strategy.tp", nearest_divisor(experts.ffn, tp))),
        ),
        Some(_) => {}
    }
}

fn context(scenario: &Scenario, issues: &mut Vec<Issue>) {
    let (workload, strategy) = (&scenario.workload, &scenario.strategy);
    let (cp, sequence) = (strategy.cp, workload.sequence);
    if cp == 1 {
        return;
    }
    // Each rank has a piece from either end, so that all have as many pairs to attend to.
    let pieces = 2 * cp;
    if !sequence.is_multiple_of(pieces) {
        issues.push(
            Issue::new(IssueCode::SequenceNotDivisibleByCp, "strategy.cp")
                .with("cp", cp)
                .with("sequence", sequence)
                .with("pieces", pieces)
                .way_out(Edit::new("workload.sequence", sequence.div_ceil(pieces) * pieces))
                .way_out(Edit::new("strategy.cp", 1)),
        );
    }
    if workload.attention == AttentionKernel::Eager {
        issues.push(
            Issue::new(IssueCode::CpNeedsFusedAttention, "workload.attention")
                .way_out(Edit::new("workload.attention", "flash"))
                .way_out(Edit::new("strategy.cp", 1)),
        );
    }
    if workload.micro_batch > 1 {
        issues.push(
            Issue::new(IssueCode::CpWithoutBenefit, "strategy.cp")
                .with("cp", cp)
                .with("micro_batch", workload.micro_batch)
                .way_out(Edit::new("workload.micro_batch", 1))
                .way_out(Edit::new("strategy.cp", 1)),
        );
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
