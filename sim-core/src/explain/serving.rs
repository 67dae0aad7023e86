//! Explanations of a served batch.

use super::{Explanation, Question, Value, count, symbol};
use crate::estimate::reserved_for_serving;
use crate::formulas;
use crate::quantity::Bytes;
use crate::report::ServingTime;
use crate::serving::{CachePolicy, Serving, kv_pool, runtime, stage_weights, stored_parameters};
use crate::simulation::Simulation;
use crate::trace::Category;

/// The explanation of a category of a rank class's memory, of which `shown` bytes are alive.
pub fn memory(
    simulation: &Simulation,
    serving: &Serving,
    class: usize,
    category: Category,
    at: Option<f64>,
    shown: f64,
) -> Explanation {
    match category {
        Category::Weights => weights(simulation, serving, class, shown),
        Category::KvCache => cache(simulation, serving, class, shown),
        Category::Runtime => software(simulation, serving),
        Category::Fragmentation => room(simulation, serving, class, at),
        _ => {
            let shown = Value::Bytes(shown);
            Explanation::new(&formulas::LIVE_TENSORS, Vec::new(), shown, shown)
        }
    }
}

fn weights(simulation: &Simulation, serving: &Serving, class: usize, shown: f64) -> Explanation {
    let plan = &simulation.plan;
    let bytes = stage_weights(plan, serving, class).device as f64;
    let parameters = stored_parameters(plan, serving, class);
    let symbols = vec![
        symbol("b", "bits-per-weight", Value::Number(8.0 * bytes / parameters as f64)),
        count("Ψ", "rank-parameters", parameters),
    ];
    let (result, shown) = (Value::Bytes(bytes), Value::Bytes(shown));
    Explanation::new(&formulas::WEIGHTS_STORED, symbols, result, shown)
}

fn cache(simulation: &Simulation, serving: &Serving, class: usize, shown: f64) -> Explanation {
    let plan = &simulation.plan;
    let stage = plan.stages[class];
    let layers = stage.first_layer..stage.first_layer + stage.layers;
    let layout = serving.layout();
    let block: u64 = layers
        .clone()
        .map(|layer| layout.token_bytes(&plan.model, plan.model.layer_kind(layer), plan.tp))
        .sum();
    if let Some(pool) = kv_pool(plan, serving) {
        let bytes = pool.bytes[class] as f64;
        let block = serving.block_size * block;
        let symbols = vec![
            symbol("M_free", "pool-memory", Value::Bytes(bytes)),
            symbol("M_block", "block-bytes", Value::Bytes(block as f64)),
        ];
        let (result, shown) = (Value::Bytes(bytes), Value::Bytes(shown));
        return Explanation::new(&formulas::KV_POOL, symbols, result, shown);
    }
    let tokens = match serving.profile.cache {
        CachePolicy::WholeContext => serving.max_model_len,
        _ => serving.final_tokens(),
    };
    let request = layout.request_bytes(&plan.model, layers, plan.tp, tokens);
    let each = request as f64 / tokens as f64;
    let symbols = vec![
        count("n", "running-requests", serving.running),
        count("T", "cached-tokens", tokens),
        symbol("c", "cache-per-token", Value::Bytes(each)),
    ];
    let result = Value::Bytes(serving.running as f64 * request as f64);
    Explanation::new(&formulas::KV_CACHE, symbols, result, Value::Bytes(shown))
}

fn software(simulation: &Simulation, serving: &Serving) -> Explanation {
    let runtime = runtime(&simulation.plan, serving);
    let mebibytes = |id: &str| {
        let found = runtime.assumptions.iter().find(|assumption| assumption.id == id);
        Value::Bytes(found.map_or(0.0, |assumption| Bytes::mib(assumption.value).get()))
    };
    let symbols = vec![
        symbol("M_context", "context", mebibytes("cuda-context")),
        symbol("M_NCCL", "communicators", mebibytes("nccl-buffers")),
        symbol("M_graphs", "graphs", mebibytes("cuda-graphs")),
    ];
    let bytes = Value::Bytes(runtime.bytes.get());
    Explanation::new(&formulas::RUNTIME_SERVING, symbols, bytes, bytes)
}

/// What is reserved and not in use at the peak.
fn room(simulation: &Simulation, serving: &Serving, class: usize, at: Option<f64>) -> Explanation {
    let curve = simulation.trace.memory(class);
    let reserved = reserved_for_serving(&simulation.plan, serving, class, curve).get();
    let allocated = curve.peak_bytes() as f64;
    let symbols = vec![
        symbol("M_reserved", "reserved", Value::Bytes(reserved)),
        symbol("M_alloc", "allocated-peak", Value::Bytes(allocated)),
    ];
    let result = Value::Bytes(reserved - allocated);
    let shown = if at.is_some() { Value::Bytes(0.0) } else { result };
    Explanation::new(&formulas::RESERVED_ROOM, symbols, result, shown)
}

/// Times and rates of a batch.
pub fn time(simulation: &Simulation, serving: &Serving, question: Question) -> Option<Explanation> {
    let report = simulation.report.time?;
    let ServingTime { ttft_s, tpot_s, running, .. } = report.serving?;
    let seconds = |text, name, value| symbol(text, name, Value::Seconds(value));
    let prefill = seconds("t_prefill", "prefill-time", ttft_s);
    let batch = seconds("t_batch", "batch-time", report.step_s);
    let (formula, symbols, result) = match question {
        Question::TimeToFirstToken => {
            (&formulas::TIME_TO_FIRST_TOKEN, vec![prefill], Value::Seconds(ttft_s))
        }
        Question::TimePerOutputToken => {
            let tokens = count("N", "generated-tokens", serving.output_tokens);
            let symbols = vec![batch, prefill, tokens];
            (&formulas::TIME_PER_OUTPUT_TOKEN, symbols, Value::Seconds(tpot_s.unwrap_or(0.0)))
        }
        Question::TokensPerSecond => {
            let symbols = vec![
                count("n", "running-requests", running),
                count("N", "generated-tokens", serving.output_tokens),
                batch,
            ];
            (&formulas::GENERATED_PER_SECOND, symbols, Value::Number(report.tokens_per_s))
        }
        _ => return None,
    };
    Some(Explanation::new(formula, symbols, result, result))
}
