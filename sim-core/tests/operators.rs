//! What the operator list saves for backward, against published formulas and real traces.

#![cfg(not(target_arch = "wasm32"))]

use sim_core::engine::Moment;
use sim_core::model::{Activation, LayerKind, ModelShape, Stack, catalog};
use sim_core::operators::{
    Adapters, Backend, Context, Engine, Kernels, Tape, Targets, Tied, Work, head_tape, layer_tape,
};
use sim_core::precision::{DType, Precision, Recipe};
use sim_core::program::{StepWork, derive};
use sim_core::scenario::{AttentionKernel, CrossEntropy, Framework};

/// The shape of Korthikanti et al. 2022, Table 3: GPT with 4·h wide MLPs.
fn gpt(hidden: u64, heads: u64) -> ModelShape {
    let mut shape = catalog::find("gpt3-175b").expect("in the catalogue").shape.clone();
    shape.hidden = hidden;
    shape.attention.heads = heads;
    shape.attention.kv_heads = heads;
    shape.attention.head_dim = hidden / heads;
    shape.mlp.ffn = 4 * hidden;
    shape.mlp.activation = Activation::Gelu;
    shape
}

fn megatron(batch: u64, tp: u64, sequence_parallel: bool) -> Context {
    Context {
        batch,
        sequence: 2048,
        tp,
        sequence_parallel,
        attention: AttentionKernel::Eager,
        dropout: true,
        kernels: Kernels::of(Framework::Megatron, false),
        ..Context::new(2048, Precision::Fp16Mixed)
    }
}

/// Saved bytes without the norms' statistics (mean and deviation of each token), which the paper
/// leaves out.
fn without_statistics(tape: &Tape) -> f64 {
    let statistics: u64 = tape
        .tensors
        .iter()
        .filter(|tensor| tensor.name == "norm-statistics")
        .map(|tensor| tensor.bytes)
        .sum();
    (tape.saved_bytes() - statistics) as f64
}

#[test]
fn a_gpt_layer_saves_what_korthikanti_counts() {
    for (hidden, heads) in [(6144, 64), (12_288, 96), (20_480, 128), (25_600, 160)] {
        let (b, s, h, a) = (4.0, 2048.0, hidden as f64, heads as f64);
        let shape = gpt(hidden, heads);
        let saved = |tp, sp| {
            without_statistics(&layer_tape(&shape, shape.layer_kind(0), &megatron(4, tp, sp)))
        };
        // Equations 1, 2 and 4.
        let close =
            |got: f64, formula: f64| assert!((got - formula).abs() < 0.5, "{got} {formula}");
        close(saved(1, false), s * b * h * (34.0 + 5.0 * a * s / h));
        let t = 8.0;
        close(saved(8, false), s * b * h * (10.0 + 24.0 / t + 5.0 * a * s / (h * t)));
        close(saved(8, true), s * b * h / t * (34.0 + 5.0 * a * s / h));
    }
}

/// Per token and layer, as PyTorch allocates it for Hugging Face's modules in bfloat16 with fused
/// attention: 8·f + 24·h and the statistics of attention and of two norms.
#[test]
fn a_llama_2_7b_layer_keeps_186504_bytes_a_token() {
    let shape = &catalog::find("llama-2-7b").expect("in the catalogue").shape;
    let context = Context::new(1024, Precision::Bf16Pure);
    let per_token = layer_tape(shape, shape.layer_kind(0), &context).saved_bytes() / 1024;
    assert_eq!(per_token, 186_504);
    assert_eq!(per_token, 8 * 11_008 + 24 * 4096 + 136);
}

/// Grouped-query attention keeps its keys and values once, not once per query head.
#[test]
fn a_llama_3_8b_layer_keeps_200840_bytes_a_token() {
    let shape = &catalog::find("llama-3-8b").expect("in the catalogue").shape;
    let context = Context::new(1024, Precision::Bf16Pure);
    assert_eq!(layer_tape(shape, shape.layer_kind(0), &context).saved_bytes() / 1024, 200_840);
}

/// PyTorch 2.13's own list of saved tensors for a GPT-2 layer in bfloat16 (768 wide, 1024 tokens,
/// fused attention, dropout), in bytes a token: two norms' inputs and four products' inputs, two masks,
/// four intermediates of the written-out GELU, then attention.
#[test]
fn dropout_keeps_a_byte_a_number_on_a_gpu_and_its_noise_in_a_trace() {
    let shape = &catalog::find("gpt2").expect("in the catalogue").shape;
    let saved = |backend| {
        let mut context = Context { dropout: true, ..Context::new(1024, Precision::Bf16Pure) };
        context.kernels.backend = backend;
        layer_tape(shape, shape.layer_kind(0), &context).saved_bytes() / 1024
    };
    let (h, a, s) = (768, 12, 1024);
    let linear_and_norms = 5 * 2 * h + 5 * 2 * 4 * h;
    // Queries, keys, values and log-sum-exp; the output is the projection's input.
    assert_eq!(saved(Backend::Gpu), linear_and_norms + 2 * h + 2 * 8 + 3 * 2 * h + 4 * a);
    // The same in fp32, with softmax, noise and what dropout left of all pairs.
    assert_eq!(
        saved(Backend::Traced),
        linear_and_norms + 2 * 2 * h + 2 * 4 + 3 * 4 * h + 3 * 4 * a * s
    );
}

/// Of the written-out GELU autocast keeps its input, the tanh and its sum with one in fp32 on a GPU,
/// whose list of fp32 operations has the power; in bfloat16 on a CPU, whose list has not.
#[test]
fn autocast_runs_the_power_of_gelu_in_fp32_on_a_gpu() {
    let shape = &catalog::find("gpt2").expect("in the catalogue").shape;
    let saved = |backend| {
        let mut context = Context {
            recipe: Recipe::autocast(Precision::Bf16Mixed),
            ..Context::new(1024, Precision::Bf16Mixed)
        };
        context.kernels.backend = backend;
        let tape = layer_tape(shape, shape.layer_kind(0), &context);
        without_statistics(&tape) / 1024.0
    };
    let ffn = 4.0 * 768.0;
    assert_eq!(saved(Backend::Gpu) - saved(Backend::Traced), (14.0 - 8.0) * ffn);
}

/// Matrix products of forward are twice the parameters of the matrices, and attention's two
/// products see half of the square.
#[test]
fn forward_flops_follow_from_the_matrices() {
    let shape = &catalog::find("llama-2-7b").expect("in the catalogue").shape;
    let context = Context::new(2048, Precision::Bf16Mixed);
    let tokens = 2048.0;
    let matrices = 2.0 * tokens * shape.params().first_layer().matrices() as f64;
    let attention = 4.0 * 4096.0 * tokens * tokens / 2.0;
    assert_eq!(
        layer_tape(shape, shape.layer_kind(0), &context).forward_flops(),
        matrices + attention
    );
    let head = head_tape(shape, &context, Tied::No).forward_flops();
    assert_eq!(head, 2.0 * tokens * 4096.0 * 32_000.0);
}

/// Bytes that a tape's forward leaves alive, and the most that is alive at once, its input included.
fn kept_and_peak(tape: &Tape) -> (i64, i64) {
    let program = derive(tape, &[], false);
    let input = tape.input.map_or(0, |input| tape.tensors[input.0].bytes as i64);
    let (mut alive, mut peak, mut kept) = (input, input, 0_i64);
    for (i, step) in program.forward.iter().chain(&program.backward).enumerate() {
        for moment in [Moment::Start, Moment::End] {
            for effect in step.effects.iter().filter(|effect| effect.moment == moment) {
                alive += effect.delta;
                peak = peak.max(alive);
            }
        }
        if i + 1 == program.forward.len() {
            kept = alive;
        }
    }
    (kept, peak)
}

/// A head without a norm, 1024 tokens of 512 channels over 32768 rows, everything in bfloat16.
fn head(framework: Framework, cross_entropy: CrossEntropy) -> Tape {
    let mut shape = gpt(512, 8);
    shape.vocab = 32_768;
    shape.final_norm = false;
    let kernels = Kernels { cross_entropy, ..Kernels::of(framework, false) };
    let context = Context { kernels, ..Context::new(1024, Precision::Bf16Pure) };
    head_tape(&shape, &context, Tied::No)
}

#[test]
fn a_fused_loss_has_its_logits_once() {
    let (stream, logits) = (2 * 1024 * 512, 2 * 1024 * 32_768);
    // The gradient of the stream is made while the logits' own is still there.
    let (kept, peak) = kept_and_peak(&head(Framework::Megatron, CrossEntropy::Fused));
    assert_eq!((kept, peak), (stream + logits, 2 * stream + logits));
    // The same where the model's output object holds the logits: they are the gradient.
    let (kept, peak) = kept_and_peak(&head(Framework::Pytorch, CrossEntropy::Fused));
    assert_eq!((kept, peak), (stream + logits, 2 * stream + logits));
    // Written out: logits, an fp32 copy in passing, log-probabilities and two fp32 gradients.
    let (kept, peak) = kept_and_peak(&head(Framework::Pytorch, CrossEntropy::Default));
    assert_eq!((kept, peak), (stream + 3 * logits, stream + 7 * logits));
    let (kept, peak) = kept_and_peak(&head(Framework::Megatron, CrossEntropy::Default));
    assert_eq!((kept, peak), (stream + 2 * logits, stream + 3 * logits));
    // In the logits' own format: log-probabilities and two gradients beside them.
    let (kept, peak) = kept_and_peak(&head(Framework::Pytorch, CrossEntropy::Native));
    assert_eq!((kept, peak), (stream + 2 * logits, stream + 4 * logits));
    // In place over the fp32 copy, which is cast back for the product's gradients.
    let (kept, peak) = kept_and_peak(&head(Framework::Pytorch, CrossEntropy::FusedFp32));
    assert_eq!((kept, peak), (stream + 3 * logits, stream + 4 * logits));
}

#[test]
fn a_loss_in_chunks_keeps_gradients_instead_of_logits() {
    let tape = head(Framework::Pytorch, CrossEntropy::Chunked);
    // ⌈1024 / ⌈32768 / 512⌉⌉ = 16 tokens at a time.
    let (stream, matrix, chunk) = (2 * 1024 * 512, 2 * 512 * 32_768, 2 * 16 * 32_768);
    let kept = stream + matrix;
    let (losses, part) = (4 * 1024, 2 * 16 * 512);
    assert_eq!(kept_and_peak(&tape), (kept, stream + kept + chunk + losses + part));
    // Three products forward, none backward; the matrix's gradient is made once.
    let product = 2.0 * 1024.0 * 512.0 * 32_768.0;
    assert_eq!(tape.forward_flops(), 3.0 * product);
    let program = derive(&tape, &[], false);
    assert!(
        program.backward.iter().all(|step| matches!(
            step.work,
            StepWork::Compute(Work { engine: Engine::Vector, .. })
        ))
    );
    let made: u64 = program.backward.iter().map(|step| step.parameters).sum();
    assert_eq!(made, 512 * 32_768);
    assert!(program.forward.iter().all(|step| step.parameters == 0));
    // The step that hands the gradient on frees the kept one before: both never exist.
    let step = program.backward.iter().find(|step| step.parameters > 0).expect("the head's");
    let starts = step.effects.iter().filter(|effect| effect.moment == Moment::Start);
    assert_eq!(starts.map(|effect| effect.delta).sum::<i64>(), -matrix);
}

#[test]
fn a_frozen_head_in_chunks_keeps_no_gradient_of_its_matrix() {
    let mut shape = gpt(512, 8);
    shape.vocab = 32_768;
    shape.final_norm = false;
    let kernels =
        Kernels { cross_entropy: CrossEntropy::Chunked, ..Kernels::of(Framework::Pytorch, false) };
    let adapters = Adapters {
        rank: 8,
        targets: Targets { query: true, ..Targets::default() },
        dropout: false,
        weights: DType::Bf16,
        base: None,
        tables: DType::Bf16,
        trains_tables: false,
    };
    let context =
        Context { kernels, adapters: Some(adapters), ..Context::new(1024, Precision::Bf16Pure) };
    let tape = head_tape(&shape, &context, Tied::No);
    assert_eq!(kept_and_peak(&tape).0, 2 * 1024 * 512);
    assert_eq!(tape.forward_flops(), 2.0 * 2.0 * 1024.0 * 512.0 * 32_768.0);
    assert_eq!(tape.parameters().together().frozen, 512 * 32_768);
    // A copy that trains has a gradient, made forward like the stream's.
    let adapters = Some(Adapters { trains_tables: true, ..adapters });
    let tape = head_tape(&shape, &Context { adapters, ..context }, Tied::No);
    assert_eq!(kept_and_peak(&tape).0, 2 * 1024 * 512 + 2 * 512 * 32_768);
    assert_eq!(tape.parameters().trained(), 512 * 32_768);
}

/// Every parameter of a layer belongs to an operator, on every rank of any split.
#[test]
fn operators_have_the_parameters_of_their_layer() {
    for entry in catalog::MODELS {
        let shape = &entry.shape;
        for (tp, ep) in [(1, 1), (2, 1), (1, 2), (4, 4), (8, 2)] {
            for framework in [Framework::Pytorch, Framework::Megatron] {
                let kernels = Kernels::of(framework, false);
                for attention in [AttentionKernel::Flash, AttentionKernel::Eager] {
                    let context = Context {
                        tp,
                        ep,
                        expert_tp: tp,
                        kernels,
                        attention,
                        ..Context::new(64, Precision::Bf16Mixed)
                    };
                    for group in shape.layer_groups() {
                        if group.kind.stack == Stack::CrossDecoder {
                            continue;
                        }
                        let tape = layer_tape(shape, group.kind, &context);
                        let layer = shape.layer_params_per_rank(group.kind, tp, ep);
                        let at = format!("{} tp {tp} ep {ep} {:?}", entry.id, group.kind);
                        assert_eq!(tape.parameters().trained(), layer.total(), "{at}");
                        let routed = tape.parameters().routed.trained();
                        assert_eq!(routed, layer.experts.routed(), "{at}");
                        assert_eq!(routed, routed_of(shape, group.kind, ep, tp), "{at}");
                    }
                }
            }
        }
    }
}

fn routed_of(shape: &ModelShape, kind: LayerKind, ep: u64, expert_tp: u64) -> u64 {
    if kind.experts { shape.routed_params_per_rank(ep, expert_tp) } else { 0 }
}

/// A layer of DeepSeek-V2 with latent attention under Megatron's kernels, by hand, in numbers of two
/// bytes a token: H = 5120, a = 128 heads of 192 and 128 channels, ranks 1536 and 512 + 64.
#[test]
fn a_latent_layer_keeps_what_its_projections_and_attention_need() {
    let shape = &catalog::find("deepseek-v2").expect("in the catalogue").shape;
    let kernels = Kernels::of(Framework::Megatron, false);
    let context = Context { kernels, ..Context::new(1024, Precision::Bf16Mixed) };
    let tape = layer_tape(shape, shape.layer_kind(0), &context);
    let (stream, heads) = (5120, 128);
    // The norm's input and output, which both projections down share.
    let around = 2 * stream;
    // Each latent before and after its norm; the key's rotated part is kept with its own.
    let latents = 2 * 1536 + (512 + 64) + 512;
    // Queries and keys, values and results.
    let attention = heads * (2 * 192 + 2 * 128);
    // Norm's input and output, gate, up and their product.
    let mlp = 2 * stream + 3 * 12_288;
    // fp32: log-sum-exp of each head, one statistic of each of four norms.
    let statistics = 4 * heads + 4 * 4;
    let bytes = 2 * (around + latents + attention + mlp) + statistics;
    assert_eq!(tape.saved_bytes() / 1024, bytes);
}

/// The same under Hugging Face's modules with FlashAttention-2, which pad values to the queries'
/// width and cut the result in a copy.
#[test]
fn padded_values_are_kept_as_wide_as_queries() {
    let shape = &catalog::find("deepseek-v2").expect("in the catalogue").shape;
    let saved = |pads_values| {
        let kernels = Kernels { pads_values, ..Kernels::of(Framework::Megatron, false) };
        let context = Context { kernels, ..Context::new(1024, Precision::Bf16Mixed) };
        layer_tape(shape, shape.layer_kind(0), &context).saved_bytes() / 1024
    };
    // Values and results grow by 64 channels a head, and the cut result is kept beside them.
    assert_eq!(saved(true) - saved(false), 2 * 128 * (64 + 64 + 128));
}

/// A layer of Mixtral, by hand, in bytes a token: H = 4096, 8 KV heads of 128, two experts of
/// f = 14336 of eight.
#[test]
fn a_mixtral_layer_keeps_its_rows_for_both_experts() {
    let shape = &catalog::find("mixtral-8x7b").expect("in the catalogue").shape;
    let saved = |framework| {
        let kernels = Kernels::of(framework, false);
        let context = Context { kernels, ..Context::new(1024, Precision::Bf16Pure) };
        layer_tape(shape, shape.layer_kind(0), &context).saved_bytes() / 1024
    };
    let (h, f, kv, k, e) = (4096, 14_336, 1024, 2, 8);
    let attention = 2 * (2 * h + 2 * kv) + 4 * 32;
    // fp32 probabilities of all experts; index and fp32 weight of each row.
    let routing = 4 * e + k * (8 + 4);
    // Megatron: norm's input and output twice; of each row its input, gate, up and their product.
    let megatron = 2 * 4 * h + attention + routing + k * 2 * (h + 3 * f) + 2 * 4;
    assert_eq!(saved(Framework::Megatron), megatron);
    // Hugging Face: norms keep an fp32 copy, the normalized stream and the output; of each row the
    // activated gate and the expert's output as well.
    let modules = 2 * (4 + 2 + 2) * h + attention + routing + k * 2 * (2 * h + 4 * f) + 2 * 4;
    assert_eq!(saved(Framework::Pytorch), modules);
}

/// Forward products of a token are those of the matrices that it passes through.
#[test]
fn a_token_costs_its_active_experts() {
    for id in ["mixtral-8x7b", "deepseek-v3", "qwen1.5-moe-a2.7b", "gpt-oss-20b"] {
        let shape = &catalog::find(id).expect("in the catalogue").shape;
        let kernels = Kernels::of(Framework::Megatron, false);
        let attention = AttentionKernel::Flash;
        let context = Context { kernels, attention, ..Context::new(1024, Precision::Bf16Mixed) };
        for group in shape.layer_groups() {
            let layer = shape.layer_params_per_rank(group.kind, 1, 1);
            let experts = shape.experts.expect("a mixture");
            let idle = if group.kind.experts { experts.count - experts.active } else { 0 };
            let matrices = layer.matrices() - idle * layer.experts.one_matrices;
            let heads = &shape.attention;
            let (s, w) = (1024.0, group.kind.window.unwrap_or(1024).min(1024) as f64);
            let widths = (heads.heads * (heads.head_dim + heads.value_dim())) as f64;
            let attention = 2.0 * widths * (s * w - w * w / 2.0);
            let flops = layer_tape(shape, group.kind, &context).forward_flops();
            assert_eq!(flops, 2.0 * s * matrices as f64 + attention, "{id} {:?}", group.kind);
        }
    }
}

/// Ranks that split a sequence keep a share of the layer each.
#[test]
fn context_parallelism_divides_what_a_layer_keeps() {
    for id in ["llama-2-7b", "deepseek-v2", "mixtral-8x7b"] {
        let shape = &catalog::find(id).expect("in the catalogue").shape;
        let tape = |cp| {
            let context = Context { cp, ..Context::new(1024, Precision::Bf16Mixed) };
            layer_tape(shape, shape.layer_kind(0), &context)
        };
        let whole = tape(1);
        for cp in [2, 4, 8] {
            let part = tape(cp);
            assert_eq!(part.saved_bytes() * cp, whole.saved_bytes(), "{id}");
            assert_eq!(part.forward_flops() * cp as f64, whole.forward_flops(), "{id}");
            assert_eq!(part.parameters(), whole.parameters(), "{id}");
        }
    }
}

/// Of one token's rows no more experts are busy than it has: only their matrices are read.
#[test]
fn few_rows_read_few_experts() {
    let shape = &catalog::find("mixtral-8x7b").expect("in the catalogue").shape;
    let kernels = Kernels::of(Framework::Megatron, false);
    let read = |tokens| {
        let context = Context { kernels, ..Context::new(tokens, Precision::Bf16Pure) };
        let tape = layer_tape(shape, shape.layer_kind(0), &context);
        let down = tape.operators.iter().find(|operator| operator.name == "expert-down");
        down.and_then(|operator| operator.forward).expect("a product").bytes
    };
    let matrix = 2.0 * 4096.0 * 14_336.0;
    let rows = |tokens: f64| 2.0 * 2.0 * tokens * (4096.0 + 14_336.0);
    assert_eq!(read(1), 2.0 * matrix + rows(1.0));
    assert_eq!(read(4), 8.0 * matrix + rows(4.0));
    assert_eq!(read(64), 8.0 * matrix + rows(64.0));
}
