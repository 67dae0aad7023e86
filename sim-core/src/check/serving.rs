//! Serving jobs: engine, formats and lengths become a plan, and what has no use is named.

use super::hardware::Machine;
use super::model::ResolvedModel;
use super::strategy::Degrees;
use super::{Checked, has_errors, sorted, strategy};
use crate::formats::{GgufType, KvFormat, WeightFormat};
use crate::issue::{Issue, IssueCode};
use crate::model::{Architecture, Positions, suggest};
use crate::operators::Backend;
use crate::plan::{Plan, split_layers};
use crate::precision::{MathMode, Precision};
use crate::scenario::{
    AttentionKernel, Edit, Framework, OffloadTarget, Optimizer, Recompute, Scenario,
};
use crate::serving::{
    CachePolicy, Engine, EngineVersion, KvPool, Profile, Serving, kv_pool, stage_weights,
};
use serde_json::json;

/// Largest sum of tensors that is computed with, in bytes.
const MAX_BYTES: f64 = 1e16;

/// Choices of a serving job that are not simulated.
pub fn not_supported(scenario: &Scenario) -> Vec<Issue> {
    let (workload, strategy) = (&scenario.workload, &scenario.strategy);
    let quantization = &scenario.quantization;
    let mut issues = Vec::new();
    let mut refuse = |field: &str, value: &str, instead: Vec<serde_json::Value>| {
        let issue = Issue::new(IssueCode::NotSupported, field).with("value", value);
        let ways = instead.into_iter().map(|value| Edit::new(field, value));
        issues.push(ways.fold(issue, Issue::way_out));
    };
    let near = |names: Vec<String>, usual: &str| {
        let mut ways: Vec<serde_json::Value> = names.into_iter().map(Into::into).collect();
        ways.push(json!(usual));
        ways
    };
    if Engine::parse(&workload.engine).is_none() {
        let names = Engine::ALL.map(Engine::name);
        let found = suggest::nearest(&workload.engine, names, 2);
        let found = found.into_iter().map(str::to_owned).collect();
        refuse("workload.engine", &workload.engine, near(found, "vllm"));
    }
    if let Some(version) = &workload.engine_version
        && EngineVersion::parse(version).is_none()
    {
        refuse("workload.engine_version", version, vec![serde_json::Value::Null]);
    }
    if workload.precision == Precision::Fp8Mixed {
        refuse("workload.precision", "fp8-mixed", vec![json!("bf16-mixed")]);
    }
    let weights = WeightFormat::parse(&quantization.weights);
    if weights.is_none() {
        let found = WeightFormat::suggest(&quantization.weights, 3);
        refuse("quantization.weights", &quantization.weights, near(found, "none"));
    }
    if KvFormat::parse(&quantization.kv_cache).is_none() {
        let found = KvFormat::suggest(&quantization.kv_cache, 3);
        let found = found.into_iter().map(str::to_owned).collect();
        refuse("quantization.kv_cache", &quantization.kv_cache, near(found, "fp16"));
    }
    let wanted: &[WeightFormat] = match quantization.activations.as_str() {
        "fp8" => &[WeightFormat::Fp8, WeightFormat::Fp8Block],
        "int8" => &[WeightFormat::Int8],
        _ => &[],
    };
    match quantization.activations.as_str() {
        "fp16" | "bf16" | "fp8" | "int8" => {}
        other => refuse("quantization.activations", other, vec![json!("fp16")]),
    }
    for (field, value) in [("strategy.cp", strategy.cp), ("strategy.ep", strategy.ep)] {
        if value > 1 {
            refuse(field, &value.to_string(), vec![json!(1)]);
        }
    }
    if strategy.offload.parameters != OffloadTarget::None {
        let value = strategy.offload.parameters.name();
        refuse("strategy.offload.parameters", value, vec![json!("none")]);
    }
    if !wanted.is_empty() && weights.is_some_and(|weights| !wanted.contains(&weights)) {
        let same = quantization.activations.as_str();
        issues.push(
            Issue::new(IssueCode::ActivationsNeedWeights, "quantization.activations")
                .with("value", same)
                .with("weights", &quantization.weights)
                .way_out(Edit::new("quantization.weights", same))
                .way_out(Edit::new("quantization.activations", "fp16")),
        );
    }
    issues
}

/// The plan of a serving job, or everything that is wrong with it.
pub fn find(
    scenario: &Scenario,
    model: ResolvedModel,
    machine: &Machine,
    degrees: Degrees,
    mut issues: Vec<Issue>,
) -> Result<Checked, Vec<Issue>> {
    let workload = &scenario.workload;
    let (Some(engine), Some(weights), Some(kv)) = (
        Engine::parse(&workload.engine),
        WeightFormat::parse(&scenario.quantization.weights),
        KvFormat::parse(&scenario.quantization.kv_cache),
    ) else {
        return Err(sorted(issues));
    };
    let precision = precision(scenario, engine, machine, &mut issues);
    let math = math(scenario, precision, machine, &mut issues);
    positions_suffice(scenario, &model, &mut issues);
    if has_errors(&issues) {
        return Err(sorted(issues));
    }
    let concurrency = workload.concurrency.div_ceil(degrees.dp);
    // An encoder answers with its last layer: nothing is generated.
    let encodes = model.shape.architecture == Architecture::Encoder;
    let output_tokens = if encodes { 1 } else { workload.output_tokens };
    let version = workload.engine_version.as_deref().and_then(EngineVersion::parse);
    let serving = Serving {
        engine,
        version,
        // llama.cpp's own 16 bits: norms stay in fp32.
        weights: match (engine, weights) {
            (Engine::LlamaCpp, WeightFormat::Plain) => WeightFormat::Gguf(GgufType::F16),
            _ => weights,
        },
        kv,
        math,
        input_tokens: workload.input_tokens,
        output_tokens,
        concurrency,
        running: concurrency,
        max_model_len: workload.max_model_len,
        memory_utilization: workload.memory_utilization,
        block_size: workload.block_size,
        profile: Profile::new(engine, version, workload.block_size, &machine.device),
    };
    let mut resolved = scenario.clone();
    resolved.strategy.dp = Some(degrees.dp);
    let mut plan = Plan {
        scenario: resolved,
        model_name: model.name,
        stages: split_layers(&model.shape, Framework::Pytorch, degrees.pp),
        model: model.shape,
        device: machine.device,
        devices_per_node: scenario.hardware.devices_per_node,
        nodes: scenario.hardware.nodes,
        topology: machine.topology,
        dp: degrees.dp,
        tp: degrees.tp,
        cp: 1,
        ep: 1,
        expert_tp: degrees.tp,
        pp: degrees.pp,
        schedule: scenario.strategy.schedule,
        sequence_parallel: false,
        zero: 0,
        fsdp: None,
        shards: 1,
        recompute: Recompute::None,
        sequence: workload.input_tokens,
        micro_batch: concurrency,
        micro_batches: 1,
        global_batch: workload.concurrency,
        precision,
        recipe: precision.into(),
        model_recipe: precision.into(),
        adapters: None,
        gradient_dtype: precision.compute(),
        optimizer: Optimizer::Sgd,
        optimizer_implementation: workload.optimizer_implementation,
        optimizer_in_backward: false,
        attention: workload.attention,
        cross_entropy: workload.cross_entropy,
        dropout: false,
        framework: workload.framework,
        compile: workload.compile,
        backend: Backend::default(),
        serving: None,
    };
    too_large(&plan, &serving, &mut issues);
    if has_errors(&issues) {
        return Err(sorted(issues));
    }
    let pool = kv_pool(&plan, &serving);
    let running = pool.as_ref().map_or(concurrency, |pool| concurrency.min(pool.requests).max(1));
    let serving = Serving { running, ..serving };
    advise(&plan, &serving, pool.as_ref(), &mut issues);
    plan.serving = Some(serving);
    Ok(Checked { plan, issues: sorted(issues) })
}

/// The 16-bit format: the scenario's; llama.cpp's own is fp16.
fn precision(
    scenario: &Scenario,
    engine: Engine,
    machine: &Machine,
    issues: &mut Vec<Issue>,
) -> Precision {
    let wanted = match engine {
        Engine::LlamaCpp if machine.peak(MathMode::Fp16).is_some() => Precision::Fp16Mixed,
        Engine::LlamaCpp => Precision::Fp32,
        _ => scenario.workload.precision,
    };
    if machine.peak(wanted.math()).is_none() {
        let issue = Issue::new(IssueCode::DtypeNotOnDevice, "workload.precision")
            .with("device", machine.device.name);
        let others = ["bf16-mixed", "fp16-mixed", "tf32", "fp32"];
        let ways = others.map(|other| Edit::new("workload.precision", other));
        issues.push(ways.into_iter().fold(issue, Issue::way_out));
    }
    wanted
}

/// The arithmetic of products with weights: that of quantized activations, else of 16 bits.
fn math(
    scenario: &Scenario,
    precision: Precision,
    machine: &Machine,
    issues: &mut Vec<Issue>,
) -> MathMode {
    let math = match scenario.quantization.activations.as_str() {
        "fp8" => MathMode::Fp8,
        "int8" => MathMode::Int8,
        _ => return precision.math(),
    };
    if machine.peak(math).is_none() {
        issues.push(
            Issue::new(IssueCode::DtypeNotOnDevice, "quantization.activations")
                .with("device", machine.device.name)
                .way_out(Edit::new("quantization.activations", "fp16")),
        );
    }
    math
}

fn positions_suffice(scenario: &Scenario, model: &ResolvedModel, issues: &mut Vec<Issue>) {
    let workload = &scenario.workload;
    let tokens = workload.input_tokens + workload.output_tokens;
    if let Positions::Learned { rows } = model.shape.positions
        && tokens > rows
    {
        let shorter = model.shape.max_sequence.saturating_sub(workload.output_tokens);
        let mut issue = Issue::new(IssueCode::SequenceAbovePositions, "workload.input_tokens")
            .with("sequence", tokens)
            .with("rows", rows);
        if shorter > 0 {
            issue = issue.way_out(Edit::new("workload.input_tokens", shorter));
        }
        issues.push(issue);
    }
}

/// Refuses what would not fit into 64-bit counts of bytes.
fn too_large(plan: &Plan, serving: &Serving, issues: &mut Vec<Issue>) {
    let (model, attention) = (&plan.model, &plan.model.attention);
    let prompts = serving.concurrency as f64 * serving.input_tokens as f64;
    let step = match serving.profile.step_tokens {
        Some(tokens) => libm::fmax(tokens as f64, serving.input_tokens.min(tokens) as f64),
        None => prompts,
    };
    let widths = 16 * model.hidden + 8 * model.mlp.ffn + 8 * attention.heads * attention.head_dim;
    let longest = serving.max_model_len.max(serving.input_tokens + serving.output_tokens) as f64;
    let scores = match plan.attention {
        AttentionKernel::Eager => 4.0 * attention.heads as f64 * longest,
        AttentionKernel::Flash => 0.0,
    };
    let rows = libm::fmax(step, serving.concurrency as f64);
    let activations = 8.0 * rows * (widths as f64 + 4.0 * model.vocab as f64 + scores);
    let cached = serving.layout().format.vector_bytes(attention.cached_per_token()) as f64;
    let cache = serving.concurrency as f64 * longest * cached * model.depth() as f64;
    if activations > MAX_BYTES || cache > MAX_BYTES {
        issues.push(
            Issue::new(IssueCode::TensorsTooLarge, "workload.concurrency")
                .with("sequence", serving.input_tokens)
                .with("micro_batch", serving.concurrency)
                .with("max_tb", MAX_BYTES / 1e12)
                .way_out(Edit::new("workload.concurrency", 1))
                .way_out(Edit::new("workload.input_tokens", 1024)),
        );
    }
}

/// What is worth knowing about a serving job that can run.
fn advise(plan: &Plan, serving: &Serving, pool: Option<&KvPool>, issues: &mut Vec<Issue>) {
    strategy::advise_layout(plan, issues);
    lengths(plan, serving, issues);
    if let Some(pool) = pool {
        pool_suffices(serving, pool, issues);
    }
    engine_takes(plan, serving, issues);
    pointless(plan, issues);
    cache_dominates(plan, serving, issues);
}

fn lengths(plan: &Plan, serving: &Serving, issues: &mut Vec<Issue>) {
    let tokens = serving.input_tokens + serving.output_tokens;
    let has_limit = !matches!(serving.profile.cache, CachePolicy::Grows { .. });
    let encodes = plan.model.architecture == Architecture::Encoder;
    if has_limit && !encodes && tokens > serving.max_model_len {
        issues.push(
            Issue::new(IssueCode::RequestAboveMaxModelLen, "workload.max_model_len")
                .with("tokens", tokens)
                .with("max", serving.max_model_len)
                .way_out(Edit::new("workload.max_model_len", tokens)),
        );
    }
    let longest = if has_limit { serving.max_model_len } else { tokens };
    let has_table = matches!(plan.model.positions, Positions::Learned { .. });
    if longest > plan.model.max_sequence && !has_table && !encodes {
        let (field, ways) = if has_limit {
            ("workload.max_model_len", plan.model.max_sequence)
        } else {
            let room = plan.model.max_sequence.saturating_sub(serving.output_tokens);
            ("workload.input_tokens", room.max(1))
        };
        issues.push(
            Issue::new(IssueCode::SequenceAboveModel, field)
                .with("sequence", longest)
                .with("max", plan.model.max_sequence)
                .way_out(Edit::new(field, ways)),
        );
    }
}

/// The pool against what the job asks of it.
fn pool_suffices(serving: &Serving, pool: &KvPool, issues: &mut Vec<Issue>) {
    let smaller_cache = Edit::new("quantization.kv_cache", "fp8");
    if pool.requests == 0 {
        issues.push(
            Issue::new(IssueCode::KvPoolTooSmall, "workload.memory_utilization")
                .with("tokens", serving.final_tokens())
                .with("room", pool.tokens)
                .way_out(Edit::new("workload.memory_utilization", 0.95))
                .way_out(smaller_cache),
        );
        return;
    }
    if serving.engine == Engine::Vllm && pool.max_concurrency < 1.0 {
        let tokens = serving.input_tokens + serving.output_tokens;
        issues.push(
            Issue::new(IssueCode::KvPoolBelowMaxModelLen, "workload.max_model_len")
                .with("max", serving.max_model_len)
                .with("room", pool.tokens)
                .way_out(Edit::new("workload.max_model_len", pool.tokens.max(tokens)))
                .way_out(smaller_cache.clone()),
        );
    }
    if serving.concurrency > pool.requests {
        issues.push(
            Issue::new(IssueCode::KvPoolOverflow, "workload.concurrency")
                .with("concurrency", serving.concurrency)
                .with("running", pool.requests)
                .with("needed", serving.concurrency.saturating_mul(serving.final_tokens()))
                .with("room", pool.tokens)
                .way_out(smaller_cache),
        );
    }
}

fn engine_takes(plan: &Plan, serving: &Serving, issues: &mut Vec<Issue>) {
    let quantization = &plan.scenario.quantization;
    let mut refused = |field: &'static str, format: &str, takes: &dyn Fn(Engine) -> bool| {
        if takes(serving.engine) {
            return;
        }
        let issue = Issue::new(IssueCode::FormatNotInEngine, field)
            .with("format", format)
            .with("engine", serving.engine.name());
        let others = Engine::ALL.into_iter().filter(|engine| takes(*engine));
        let ways = others.map(|engine| Edit::new("workload.engine", engine.name()));
        issues.push(ways.fold(issue, Issue::way_out));
    };
    let weights = serving.weights;
    refused("quantization.weights", &quantization.weights, &|engine| engine.runs(weights));
    let kv = serving.kv;
    refused("quantization.kv_cache", &quantization.kv_cache, &|engine| engine.caches(kv));
}

/// Choices that are for training.
fn pointless(plan: &Plan, issues: &mut Vec<Issue>) {
    let strategy = &plan.scenario.strategy;
    let null = serde_json::Value::Null;
    let choices = [
        ("strategy.zero", strategy.zero.to_string(), strategy.zero > 0, json!(0)),
        (
            "strategy.fsdp",
            strategy.fsdp.map_or("", |mode| mode.name()).to_owned(),
            strategy.fsdp.is_some(),
            null,
        ),
        (
            "strategy.recompute",
            strategy.recompute.name().to_owned(),
            strategy.recompute != Recompute::None,
            json!("none"),
        ),
        (
            "strategy.offload.optimizer",
            strategy.offload.optimizer.name().to_owned(),
            strategy.offload.optimizer != OffloadTarget::None,
            json!("none"),
        ),
        (
            "strategy.offload.activations",
            strategy.offload.activations.name().to_owned(),
            strategy.offload.activations != OffloadTarget::None,
            json!("none"),
        ),
    ];
    for (field, value, is_set, instead) in choices {
        if is_set {
            issues.push(
                Issue::new(IssueCode::PointlessWhileServing, field)
                    .with("value", value)
                    .way_out(Edit::new(field, instead)),
            );
        }
    }
}

/// Quantized weights beside a cache that is larger: the weights are not what fills the GPU.
fn cache_dominates(plan: &Plan, serving: &Serving, issues: &mut Vec<Issue>) {
    let is_packed =
        !matches!(serving.weights, WeightFormat::Plain | WeightFormat::Gguf(GgufType::F16));
    if !is_packed || serving.kv.is_quantized() {
        return;
    }
    let layers = 0..plan.stages[0].layers;
    let request = serving.layout().request_bytes(
        &plan.model,
        layers,
        plan.tp,
        serving.input_tokens + serving.output_tokens,
    );
    let cache = request as f64 * serving.concurrency as f64;
    let weights = stage_weights(plan, serving, 0).device as f64;
    if cache > weights {
        let gib = |bytes: f64| format!("{:.1}", bytes / f64::from(1 << 30));
        let format = match serving.engine {
            Engine::Vllm | Engine::TensorRtLlm => "fp8",
            Engine::HuggingFace => "int8",
            Engine::LlamaCpp => "q8_0",
        };
        issues.push(
            Issue::new(IssueCode::KvCacheDominates, "quantization.weights")
                .with("weights", gib(weights))
                .with("cache", gib(cache))
                .way_out(Edit::new("quantization.kv_cache", format)),
        );
    }
}
