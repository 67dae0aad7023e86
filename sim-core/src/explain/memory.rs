//! Explanations of a category of memory.

use super::{Explanation, Symbol, Value, count, serving, symbol};
use crate::cost::CostModel;
use crate::formulas::{self, Formula};
use crate::lowering::segment;
use crate::memory::{RESERVED_PER_LIVE_BYTE, reserved_bytes, runtime_memory};
use crate::operators::{ByKind, Parameters, layer_tape};
use crate::plan::Plan;
use crate::program::derive;
use crate::quantity::Bytes;
use crate::scenario::ScheduleName;
use crate::simulation::Simulation;
use crate::trace::Category;

/// The explanation of a category of a rank class's memory.
pub fn explain(
    simulation: &Simulation,
    class: usize,
    category: Category,
    at: Option<f64>,
) -> Explanation {
    let plan = &simulation.plan;
    let shown = simulation.trace.breakdown_at(class, at)[category as usize] as f64;
    let mut explanation = if let Some(job) = &plan.serving {
        serving::memory(simulation, job, class, category, at, shown)
    } else {
        training(simulation, class, category, at, shown)
    };
    explanation.parts = simulation
        .trace
        .live_at(class, category, at)
        .into_iter()
        .map(|(name, bytes)| (name, bytes as f64))
        .collect();
    explanation
}

fn training(
    simulation: &Simulation,
    class: usize,
    category: Category,
    at: Option<f64>,
    shown: f64,
) -> Explanation {
    let parameters = simulation.plan.stage_parameters(class);
    match category {
        Category::Weights | Category::Gradients | Category::Optimizer => {
            model_state(simulation, category, &parameters, shown)
        }
        Category::Activations => activations(simulation, class, shown),
        Category::Logits => logits(simulation, shown),
        Category::Runtime => runtime(simulation),
        Category::Fragmentation => fragmentation(simulation, class, at),
        Category::Recompute | Category::KvCache | Category::Transient => Explanation::new(
            &formulas::LIVE_TENSORS,
            Vec::new(),
            Value::Bytes(shown),
            Value::Bytes(shown),
        ),
    }
}

fn model_state(
    simulation: &Simulation,
    category: Category,
    parameters: &ByKind<Parameters>,
    shown: f64,
) -> Explanation {
    let plan = &simulation.plan;
    let cost = CostModel::new(plan);
    let bytes = cost.state_bytes();
    let held = cost.model_states(parameters);
    let shards = plan.shards();
    // Beside adapters there is one kind of parameters.
    let (common, routed) = (&parameters.common, parameters.routed.trained());
    let (quoted, sharded_from, total): ([&Formula; 3], u64, u64) = match category {
        Category::Weights if common.frozen > 0 => {
            let sharded = &formulas::WEIGHTS_FROZEN_SHARDED;
            ([&formulas::WEIGHTS_FROZEN, sharded, sharded], 3, held.weights)
        }
        Category::Weights => (
            [&formulas::WEIGHTS, &formulas::WEIGHTS_SHARDED, &formulas::WEIGHTS_SHARDED_EXPERTS],
            3,
            held.weights,
        ),
        Category::Gradients if plan.optimizer_in_backward => {
            let sharded = &formulas::GRADIENTS_SHARDED;
            ([&formulas::GRADIENTS_IN_BACKWARD, sharded, sharded], 2, held.gradients)
        }
        Category::Gradients => (
            [
                &formulas::GRADIENTS,
                &formulas::GRADIENTS_SHARDED,
                &formulas::GRADIENTS_SHARDED_EXPERTS,
            ],
            2,
            held.gradients,
        ),
        _ => (
            [
                &formulas::OPTIMIZER,
                &formulas::OPTIMIZER_SHARDED,
                &formulas::OPTIMIZER_SHARDED_EXPERTS,
            ],
            1,
            held.optimizer,
        ),
    };
    let [whole, sharded, sharded_experts] = quoted;
    let mut symbols: Vec<Symbol> = match category {
        Category::Weights => vec![number("s_w", "weight-bytes", bytes.weights)],
        Category::Gradients => vec![number("s_g", "gradient-bytes", bytes.gradients)],
        _ => {
            let moments = held.optimizer - cost.master_bytes(parameters);
            let master = bytes.optimizer.master;
            let shard = match plan.sharding_stage() {
                0 => parameters.trained(),
                _ => parameters.trained_shard(shards),
            };
            let moments = moments as f64 / shard.max(1) as f64;
            vec![
                number("s_master", "master-bytes", master),
                symbol("s_moments", "moment-bytes", Value::Number(moments)),
            ]
        }
    };
    let trained = if common.frozen > 0 { "adapter-parameters" } else { "rank-parameters" };
    let is_sharded =
        plan.sharding_stage() >= sharded_from && (shards.common > 1 || shards.routed > 1);
    let apart = is_sharded && routed > 0;
    let shown_as_one = if apart { common.trained() } else { parameters.trained() };
    if category == Category::Gradients && plan.optimizer_in_backward {
        let largest = common.largest().max(parameters.routed.largest());
        symbols.push(count("Ψ_1", "largest-tensor", largest));
    } else {
        symbols.push(count("Ψ", trained, shown_as_one));
    }
    if category == Category::Weights && common.frozen > 0 {
        let each = common.frozen_bytes as f64 / common.frozen as f64;
        symbols.push(symbol("s_0", "frozen-bytes", Value::Number(each)));
        symbols.push(count("Ψ_0", "frozen-parameters", common.frozen));
    }
    if is_sharded {
        let in_a_node = shards.common < plan.replicas().common;
        let name = if in_a_node { "replicas-in-node" } else { "replicas" };
        symbols.push(count("N_dp", name, shards.common));
    }
    if apart {
        symbols.push(count("Ψ_e", "rank-routed-parameters", routed));
        symbols.push(count("N_edp", "expert-replicas", shards.routed));
    }
    let formula = match (is_sharded, apart) {
        (false, _) => whole,
        (true, false) => sharded,
        (true, true) => sharded_experts,
    };
    Explanation::new(formula, symbols, Value::Bytes(total as f64), Value::Bytes(shown))
}

fn activations(simulation: &Simulation, class: usize, shown: f64) -> Explanation {
    let plan = &simulation.plan;
    let context = plan.context();
    let stage = plan.stages[class];
    let layers = stage.layers;
    let kept: i64 = plan
        .model
        .layer_groups()
        .iter()
        .map(|group| {
            let tape = layer_tape(&plan.model, group.kind, &context);
            let kept = derive(&tape, segment(plan, &tape).as_slice(), false).kept_bytes();
            let of_kind = |layer: &u64| plan.model.layer_kind(*layer) == group.kind;
            let count = (stage.first_layer..stage.first_layer + layers).filter(of_kind).count();
            kept * count as i64
        })
        .sum();
    let per_token = kept as f64 / (layers * context.tokens()) as f64;
    let in_flight = match plan.schedule {
        ScheduleName::Gpipe => plan.micro_batches,
        _ => plan.micro_batches.min(plan.pp - class as u64),
    };
    let kept = per_token * context.tokens() as f64 * layers as f64 * in_flight as f64;
    let mut symbols = vec![
        symbol("a", "saved-per-token-and-layer", Value::Bytes(per_token)),
        count("b", "micro-batch", plan.micro_batch),
        own_sequence(plan),
        count("L", "stage-layers", layers),
    ];
    let formula = if plan.pp > 1 {
        symbols.push(count("m_live", "micro-batches-in-flight", in_flight));
        &formulas::ACTIVATIONS_PIPELINE
    } else {
        &formulas::ACTIVATIONS
    };
    Explanation::new(formula, symbols, Value::Bytes(kept), Value::Bytes(shown))
}

fn logits(simulation: &Simulation, shown: f64) -> Explanation {
    let plan = &simulation.plan;
    let vocabulary = plan.model.vocab.div_ceil(plan.tp);
    let elements = (plan.context().tokens() * vocabulary) as f64;
    let symbols = vec![
        symbol("w", "live-bytes-per-logit", Value::Number(shown / elements)),
        count("b", "micro-batch", plan.micro_batch),
        own_sequence(plan),
        count("V", "rank-vocabulary", vocabulary),
    ];
    Explanation::new(&formulas::LOGITS, symbols, Value::Bytes(shown), Value::Bytes(shown))
}

/// Tokens of a sample on one GPU.
fn own_sequence(plan: &Plan) -> Symbol {
    let name = if plan.cp > 1 { "rank-sequence" } else { "sequence" };
    count("s", name, plan.sequence.div_ceil(plan.cp))
}

fn runtime(simulation: &Simulation) -> Explanation {
    let runtime = runtime_memory(simulation.plan.devices());
    let mebibytes = |id: &str| {
        let found = runtime.assumptions.iter().find(|assumption| assumption.id == id);
        Value::Bytes(found.map_or(0.0, |assumption| Bytes::mib(assumption.value).get()))
    };
    let symbols = vec![
        symbol("M_context", "context", mebibytes("cuda-context")),
        symbol("M_NCCL", "communicators", mebibytes("nccl-buffers")),
    ];
    let bytes = Value::Bytes(runtime.bytes.get());
    Explanation::new(&formulas::RUNTIME, symbols, bytes, bytes)
}

/// What the allocator reserves beyond the peak; of a single instant only what is allocated is shown.
fn fragmentation(simulation: &Simulation, class: usize, at: Option<f64>) -> Explanation {
    let curve = simulation.trace.memory(class);
    let allocated = Bytes::new(curve.peak_bytes() as f64);
    let permanent = Bytes::new(curve.initial_bytes() as f64);
    let result = Value::Bytes((reserved_bytes(allocated, permanent) - allocated).get());
    let symbols = vec![
        symbol("φ", "reserved-per-live-byte", Value::Number(RESERVED_PER_LIVE_BYTE.value)),
        symbol("M_alloc", "allocated-peak", Value::Bytes(allocated.get())),
        symbol("M_0", "permanent", Value::Bytes(permanent.get())),
    ];
    let shown = if at.is_some() { Value::Bytes(0.0) } else { result };
    Explanation::new(&formulas::FRAGMENTATION, symbols, result, shown)
}

fn number(text: &'static str, name: &'static str, value: u64) -> Symbol {
    symbol(text, name, Value::Number(value as f64))
}
