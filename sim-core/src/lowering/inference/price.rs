//! How long an operator of a served model takes: weights are read in their stored format, and eager
//! Python may be slower than the GPU.

use crate::cost::{Cost, CostModel};
use crate::model::LayerKind;
use crate::operators::{Engine, Operator, Tape, TensorId, Work};
use crate::plan::Plan;
use crate::quantity::Secs;
use crate::report::Assumption;
use crate::serving::{EAGER_OPERATION, Profile, Serving, bytes_per_weight};
use crate::trace::{Bound, Pricing};

/// Prices the operators of a job's steps.
#[derive(Debug)]
pub struct Pricer<'a> {
    pub plan: &'a Plan,
    pub serving: &'a Serving,
    pub cost: &'a CostModel,
    /// Bytes that a product reads for a weight, by kind of layer and operator.
    per_weight: Vec<(LayerKind, &'static str, f64)>,
}

/// Products with weights, by operator.
const PRODUCTS: [&str; 13] = [
    "query",
    "key",
    "value",
    "qkv",
    "attention-output",
    "gate",
    "up",
    "gate-up",
    "down",
    "expert-gate",
    "expert-up",
    "expert-gate-up",
    "expert-down",
];

impl<'a> Pricer<'a> {
    pub fn new(plan: &'a Plan, serving: &'a Serving, cost: &'a CostModel) -> Self {
        let groups = plan.model.layer_groups();
        let mut per_weight = Vec::new();
        for group in &groups {
            for name in PRODUCTS.into_iter().chain(["vocabulary", ""]) {
                let bytes = bytes_per_weight(plan, serving, group.kind, name);
                per_weight.push((group.kind, name, bytes));
            }
        }
        Self { plan, serving, cost, per_weight }
    }

    /// The operators of `tape` with weights read as they are stored.
    pub fn stored(&self, tape: &Tape, kind: LayerKind) -> Tape {
        let mut tape = tape.clone();
        let recipe = Profile::recipe(self.serving.engine, self.plan.precision);
        let size = recipe.compute.bytes();
        let tensors = tape.tensors.clone();
        for operator in &mut tape.operators {
            let numbers = weights_read(operator, |id| tensors[id.0].bytes) / size as f64;
            if numbers <= 0.0 {
                continue;
            }
            let known = |name: &str| {
                let row = self.per_weight.iter().find(|row| row.0 == kind && row.1 == name);
                row.map(|row| row.2)
            };
            let each = known(operator.name).or_else(|| known("")).unwrap_or(size as f64);
            if let Some(work) = &mut operator.forward {
                work.bytes += numbers * (each - size as f64);
            }
        }
        tape
    }

    /// An operator on the GPU.
    pub fn compute(&self, name: &str, work: &Work) -> Cost {
        let cost = if PRODUCTS.contains(&name) && work.engine == Engine::Gemm {
            self.cost.compute_in(self.serving.math, work)
        } else {
            self.cost.compute(work)
        };
        if !self.serving.profile.eager {
            return cost;
        }
        let launches = work.launches * EAGER_OPERATION.value * 1e-6;
        if launches > cost.time.get() {
            return Cost {
                time: Secs::new(launches),
                bound: Bound::Launch,
                pricing: Pricing::Formula,
            };
        }
        cost
    }
}

/// Bytes of weights that a product reads: its traffic without its inputs and outputs.
fn weights_read(operator: &Operator, bytes: impl Fn(TensorId) -> u64) -> f64 {
    let Some(work) = operator.forward.filter(|work| work.engine == Engine::Gemm) else {
        return 0.0;
    };
    if operator.parameters == 0 {
        return 0.0;
    }
    let mut touched = operator.reads.clone();
    touched.extend(&operator.writes);
    touched.sort_unstable();
    touched.dedup();
    work.bytes - touched.into_iter().map(|id| bytes(id) as f64).sum::<f64>()
}

/// The constants of serving that a report rests on.
pub fn assumptions(serving: &Serving) -> Vec<Assumption> {
    if serving.profile.eager { vec![EAGER_OPERATION] } else { Vec::new() }
}
