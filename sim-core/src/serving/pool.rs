//! The memory that an engine gives to the KV cache, and what it holds.

use super::engine::GRAPHS;
use super::{
    Buffers, CachePolicy, Engine, Serving, StepKind, StepSpec, stage_weights, step_context,
};
use crate::engine::Moment;
use crate::memory::{RuntimeMemory, runtime_memory};
use crate::operators::{Answer, Tape, answer_tape, embedding_tape, layer_tape};
use crate::plan::Plan;
use crate::program::derive_forward;
use crate::quantity::Bytes;

/// The KV pool of every rank.
#[derive(Clone, Debug, PartialEq)]
pub struct KvPool {
    /// Bytes that the pool takes, by pipeline stage.
    pub bytes: Vec<u64>,
    /// Blocks of every stage; 0 where there is no room for any.
    pub blocks: u64,
    /// Tokens that they hold.
    pub tokens: u64,
    /// Requests of `max_model_len` that they hold.
    pub max_concurrency: f64,
    /// Requests of the job that they hold at their end.
    pub requests: u64,
}

/// What is in no tensor: context, communicators of a replica, recorded graphs.
pub fn runtime(plan: &Plan, serving: &Serving) -> RuntimeMemory {
    let mut runtime = runtime_memory(plan.tp * plan.pp);
    if serving.profile.graphs {
        runtime.bytes += Bytes::mib(GRAPHS.value);
        runtime.assumptions.push(GRAPHS);
    }
    runtime
}

/// Memory as the driver shows it to a process, bytes.
fn device_bytes(plan: &Plan) -> f64 {
    let gib = plan.device.memory_torch_gib.unwrap_or_else(|| plan.device.memory_usable_gib());
    Bytes::gib(gib).get()
}

/// The pool of blocks of an engine that has one.
///
/// vLLM: M_kv = u·M − M_weights − M_activations − M_runtime, where activations are the peak of a
/// trial run of the largest step; TensorRT-LLM takes the share u of what is left. A block holds
/// `block_size` tokens of all layers of a stage, and every stage has as many as the one with the
/// fewest (vLLM, `determine_available_memory` and `get_kv_cache_config`).
pub fn kv_pool(plan: &Plan, serving: &Serving) -> Option<KvPool> {
    if serving.profile.cache != CachePolicy::Pool {
        return None;
    }
    let (layout, share) = (serving.layout(), serving.memory_utilization);
    let total = device_bytes(plan);
    // Graphs are recorded after the pool has been laid out.
    let own = runtime_memory(plan.tp * plan.pp).bytes.get();
    let mut stages = Vec::new();
    for (number, stage) in plan.stages.iter().enumerate() {
        let layers = stage.first_layer..stage.first_layer + stage.layers;
        let of = |tokens| layout.request_bytes(&plan.model, layers.clone(), plan.tp, tokens);
        let page: u64 = layers
            .clone()
            .map(|layer| {
                let kind = plan.model.layer_kind(layer);
                serving.block_size * layout.token_bytes(&plan.model, kind, plan.tp)
            })
            .sum();
        let fixed =
            stage_weights(plan, serving, number).device + largest_step_bytes(plan, serving, number);
        let free = match serving.engine {
            Engine::TensorRtLlm => share * (total - fixed as f64 - own),
            _ => share * total - fixed as f64 - own,
        };
        let free = libm::fmax(free, 0.0) as u64;
        stages.push((page, free, of(serving.max_model_len), of(serving.final_tokens())));
    }
    // A model that caches nothing needs no pool.
    let blocks = stages.iter().filter(|stage| stage.0 > 0).map(|stage| stage.1 / stage.0).min()?;
    let held = || stages.iter().filter(|stage| stage.0 > 0);
    let max_concurrency = held()
        .map(|(page, _, longest, _)| (blocks * page) as f64 / *longest as f64)
        .fold(f64::INFINITY, libm::fmin);
    let requests = held().map(|(page, _, _, own)| blocks * page / own).min().unwrap_or(0);
    let has_windows = plan.model.layer_groups().iter().any(|group| group.kind.window.is_some());
    let tokens = if has_windows {
        (max_concurrency * serving.max_model_len as f64) as u64
    } else {
        blocks * serving.block_size
    };
    let bytes = stages
        .iter()
        // One request is always given room, so that what it lacks shows.
        .map(|(page, _, _, own)| if requests == 0 { *own } else { blocks * page })
        .collect();
    Some(KvPool { bytes, blocks, tokens, max_concurrency, requests })
}

/// Activations of the largest step that an engine prepares for: `max_num_batched_tokens` tokens, and
/// the choice of as many next tokens as it takes requests (vLLM's `profile_run`).
pub fn largest_step_bytes(plan: &Plan, serving: &Serving, number: usize) -> u64 {
    let profile = &serving.profile;
    let tokens = profile.step_tokens.unwrap_or(serving.input_tokens);
    let is_static = profile.buffers == Buffers::Static;
    let past = if is_static { serving.max_model_len.saturating_sub(tokens) } else { 0 };
    let step = StepSpec {
        kind: StepKind::Prefill,
        batch: 1,
        sequence: tokens,
        past,
        answers: profile.most_requests,
    };
    let (shape, stage) = (&plan.model, plan.stages[number]);
    let ends = step_context(plan, serving, step, None);
    let mut largest = 0;
    for layer in stage.first_layer..stage.first_layer + stage.layers {
        let kind = shape.layer_kind(layer);
        if (stage.first_layer..layer).any(|before| shape.layer_kind(before) == kind) {
            continue;
        }
        let context = step_context(plan, serving, step, Some(kind));
        largest = largest.max(high_water(&layer_tape(shape, kind, &context)));
    }
    if stage.has_embedding {
        largest = largest.max(high_water(&embedding_tape(shape, &ends, plan.tied())));
    }
    if stage.has_head {
        let sorts = serving.engine == Engine::Vllm;
        let answer = Answer { rows: profile.most_requests, widens: true, sorts };
        largest = largest.max(high_water(&answer_tape(shape, &ends, answer)));
    }
    largest
}

/// The highest fill of a tape's forward, in bytes, its input included.
fn high_water(tape: &Tape) -> u64 {
    let mut fill = tape.input.map_or(0, |input| tape.tensors[input.0].bytes as i64);
    let mut highest = fill;
    for step in derive_forward(tape) {
        for moment in [Moment::Start, Moment::End] {
            for effect in step.effects.iter().filter(|effect| effect.moment == moment) {
                fill += effect.delta;
                highest = highest.max(fill);
            }
        }
    }
    highest.unsigned_abs()
}
