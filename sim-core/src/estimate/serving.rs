//! The report of a served batch.

use super::memory::{allocated, gib_at_peak};
use super::occupancy::measure;
use crate::cost::peak;
use crate::engine::MemoryCurve;
use crate::memory::FRAGMENTATION;
use crate::model::Architecture;
use crate::plan::Plan;
use crate::quantity::{Bytes, FlopsPerSec};
use crate::report::{
    Breakdown, MemoryReport, ModelStateBytes, PhasesReport, RankMemory, ServingPhases, ServingTime,
    TimeReport,
};
use crate::serving::{
    Buffers, CachePolicy, Serving, kv_pool, largest_step_bytes, runtime, stage_weights,
};
use crate::trace::{Category, Trace};

/// The memory part of a report.
pub fn memory(plan: &Plan, serving: &Serving, trace: &Trace) -> MemoryReport {
    let classes = 0..trace.classes().len();
    let host: u64 = classes.clone().map(|class| stage_weights(plan, serving, class).host).sum();
    MemoryReport {
        capacity_gib: plan.device.memory_usable_gib(),
        per_rank: classes.map(|class| rank_memory(plan, serving, trace, class)).collect(),
        host_gib: Bytes::new(host as f64).as_gib(),
        nvme_gib: 0.0,
    }
}

fn rank_memory(plan: &Plan, serving: &Serving, trace: &Trace, class: usize) -> RankMemory {
    let curve = trace.memory(class);
    let rank = &trace.classes()[class];
    let allocated = allocated(curve.peak_bytes());
    let reserved = reserved(plan, serving, class, curve);
    let runtime = runtime(plan, serving).bytes;
    let of = |category| gib_at_peak(trace, class, category);
    RankMemory {
        class: format!("stage-{}", rank.stage),
        ranks: rank.ranks,
        peak_allocated_gib: allocated.as_gib(),
        peak_reserved_gib: reserved.as_gib(),
        driver_total_gib: (reserved + runtime).as_gib(),
        breakdown: Breakdown {
            weights: of(Category::Weights),
            activations: of(Category::Activations),
            logits: of(Category::Logits),
            kv_cache: of(Category::KvCache),
            transient: of(Category::Transient),
            runtime: runtime.as_gib(),
            fragmentation: (reserved - allocated).as_gib(),
            ..Breakdown::default()
        },
        peak_at: curve.peak_time(),
        model_state_bytes: ModelStateBytes {
            weights: stage_weights(plan, serving, class).device,
            gradients: 0,
            optimizer: 0,
        },
        phases: PhasesReport {
            serving: Some(phases(curve, rank.forward_end)),
            ..PhasesReport::default()
        },
    }
}

/// What the process takes of the device for tensors, in use or not: an allocator's fragments; the
/// room that a trial run has reserved; nothing where all is laid out ahead.
pub fn reserved(plan: &Plan, serving: &Serving, class: usize, curve: &MemoryCurve) -> Bytes {
    let allocated = allocated(curve.peak_bytes());
    match serving.profile.buffers {
        Buffers::Allocator => allocated / FRAGMENTATION.value,
        Buffers::Static => allocated,
        Buffers::Profiled => {
            let pool = kv_pool(plan, serving).map_or(0, |pool| pool.bytes[class]);
            let fixed = stage_weights(plan, serving, class).device + pool;
            let room = fixed + largest_step_bytes(plan, serving, class);
            Bytes::new(libm::fmax(room as f64, allocated.get()))
        }
    }
}

/// Peaks before and after the last prompt.
fn phases(curve: &MemoryCurve, first_tokens: f64) -> ServingPhases {
    let mut fill = 0_i64;
    let (mut load, mut prefill, mut decode) = (0_i64, 0_i64, 0_i64);
    for point in curve.points() {
        fill += point.delta;
        // What is freed at that instant was the prompts'.
        let is_early = point.time < first_tokens || point.time == first_tokens && point.delta < 0;
        if point.task.is_none() {
            load = fill;
        }
        if point.task.is_none() || is_early {
            prefill = prefill.max(fill);
            decode = fill;
        } else {
            decode = decode.max(fill);
        }
    }
    let gib = |bytes| allocated(bytes).as_gib();
    ServingPhases { after_load: gib(load), prefill_peak: gib(prefill), decode_peak: gib(decode) }
}

/// Operations of the whole batch on all replicas: two for each parameter of a product and token, and
/// attention over what each token sees.
pub fn flops(plan: &Plan, serving: &Serving) -> f64 {
    let model = &plan.model;
    let tokens = serving.final_tokens() as f64;
    let mut each_token = 0.0;
    let mut pairs = 0.0;
    for group in model.params().groups {
        let layers = group.layers as f64;
        each_token += 2.0 * layers * group.layer.matrices() as f64;
        let attention = &model.attention;
        let width = (attention.heads * (attention.head_dim + attention.value_dim())) as f64;
        let visible = match (model.architecture, group.kind.window) {
            (Architecture::Encoder, _) => tokens * tokens,
            (_, Some(window)) if (window as f64) < tokens => {
                let window = window as f64;
                tokens * window - window * (window - 1.0) / 2.0
            }
            _ => tokens * (tokens + 1.0) / 2.0,
        };
        pairs += 2.0 * layers * width * visible;
    }
    let head = if model.lm_head { 2.0 * (model.vocab * model.hidden) as f64 } else { 0.0 };
    let answers = serving.output_tokens as f64;
    (plan.dp * serving.running) as f64 * (tokens * each_token + pairs + answers * head)
}

/// The dense peak that utilizations are shares of: that of the products with weights.
pub fn matrix_peak(plan: &Plan, serving: &Serving) -> FlopsPerSec {
    peak(&plan.device, serving.math).expect("a checked plan has arithmetic that its device can run")
}

/// The time part of a report.
pub fn time(plan: &Plan, serving: &Serving, trace: &Trace) -> TimeReport {
    let step_s = trace.duration();
    let devices = plan.devices() as f64;
    let running = plan.dp * serving.running;
    let encodes = plan.model.architecture == Architecture::Encoder;
    let tokens = if encodes { serving.input_tokens } else { serving.output_tokens };
    let tokens_per_s = running as f64 * tokens as f64 / step_s;
    let per_device = flops(plan, serving) / step_s / devices;
    let peak = matrix_peak(plan, serving);
    let ttft_s = trace.classes().iter().map(|class| class.forward_end).fold(0.0, libm::fmax);
    let more = serving.output_tokens - 1;
    let occupancy = measure(trace);
    let pool = kv_pool(plan, serving);
    let whole = serving.profile.cache == CachePolicy::WholeContext;
    TimeReport {
        step_s,
        tokens_per_s,
        tokens_per_s_per_device: tokens_per_s / devices,
        tflops_per_device: per_device / 1e12,
        mfu: per_device / peak.get(),
        hfu: per_device / peak.get(),
        bubble_fraction: if plan.pp > 1 { occupancy.bubble_fraction } else { 0.0 },
        exposed_comm_s: occupancy.exposed_comm_s,
        serving: Some(ServingTime {
            ttft_s,
            tpot_s: (more > 0).then(|| (step_s - ttft_s) / more as f64),
            running,
            max_concurrency: match &pool {
                Some(pool) => Some(pool.max_concurrency),
                None if whole => Some(serving.concurrency as f64),
                None => None,
            },
            kv_tokens: match &pool {
                Some(pool) => Some(pool.tokens),
                None if whole => {
                    let rounding = serving.profile.rounding;
                    let each = serving.max_model_len.next_multiple_of(rounding);
                    Some(serving.concurrency * each)
                }
                None => None,
            },
            kv_blocks: pool.map(|pool| pool.blocks),
        }),
    }
}
