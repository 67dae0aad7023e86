//! Memory that is a framework's own: what Megatron and nanotron keep beside the model.

#![cfg(not(target_arch = "wasm32"))]

use sim_core::model::catalog;
use sim_core::operators::{Context, Kernels, Tied, head_tape, layer_tape};
use sim_core::precision::Precision;
use sim_core::program::derive;
use sim_core::scenario::{Framework, Scenario};
use sim_core::trace::Category;
use sim_core::{Simulation, simulate};

const H: i64 = 4096;
const FFN: i64 = 11_008;
const VOCAB: i64 = 32_000;
/// Parameters of Llama-2-7B.
const PARAMETERS: i64 = 6_738_415_616;

fn run(framework: &str, gradients: &str, dp: u64, tp: u64, zero: u64) -> Simulation {
    let text = format!(
        r#"{{"model": "llama-2-7b",
        "hardware": {{"device": "h100-sxm5-80", "devices_per_node": {}}},
        "workload": {{"sequence": 512, "gradient_accumulation": 2, "framework": "{framework}",
            "gradient_dtype": "{gradients}"}},
        "strategy": {{"dp": {dp}, "tp": {tp}, "zero": {zero}}}}}"#,
        dp * tp
    );
    simulate(&Scenario::from_json(&text).expect("a scenario")).expect("a possible scenario")
}

/// Bytes of a tensor that the first class holds from before the step on.
fn held(simulation: &Simulation, tensor: &str) -> i64 {
    let trace = &simulation.trace;
    let points = trace.memory(0).points().iter();
    let before = points.filter(|p| p.task.is_none() && trace.tensor(p) == tensor);
    before.map(|point| point.delta).sum()
}

/// The most bytes of a tensor that are alive together.
fn most(simulation: &Simulation, tensor: &str) -> i64 {
    let trace = &simulation.trace;
    let (mut fill, mut most) = (0, 0);
    for point in trace.memory(0).points() {
        if trace.tensor(point) == tensor {
            fill += point.delta;
            most = most.max(fill);
        }
    }
    most
}

#[test]
fn megatron_keeps_one_empty_gradient_for_every_shape() {
    for tp in [1, 2] {
        let part = H / i64::try_from(tp).expect("small");
        let ffn = FFN / i64::try_from(tp).expect("small");
        let by_hand = 2 * (3 * part * H + H * part + 2 * ffn * H + H * ffn);
        assert_eq!(
            held(&run("megatron", "fp32", 1, tp, 0), "placeholder-gradients"),
            by_hand,
            "{tp}"
        );
    }
    // Autograd's own gradients elsewhere.
    assert_eq!(held(&run("nanotron", "fp32", 1, 1, 0), "placeholder-gradients"), 0);
}

#[test]
fn nanotron_keeps_what_its_unfused_product_needs() {
    let shape = &catalog::find("llama-2-7b").expect("in the catalogue").shape;
    let saved = |framework| {
        let kernels = Kernels::of(framework, false);
        let context = Context { kernels, ..Context::new(512, Precision::Bf16Mixed) };
        let tape = layer_tape(shape, shape.layer_kind(0), &context);
        let statistics = tape.tensors.iter().filter(|tensor| tensor.name.ends_with("statistics"));
        tape.saved_bytes() - statistics.map(|tensor| tensor.bytes).sum::<u64>()
    };
    let (h, ffn) = (4096, 11_008);
    assert_eq!(saved(Framework::Nanotron), 512 * (16 * h + 8 * ffn));
    assert_eq!(saved(Framework::Megatron), 512 * (16 * h + 6 * ffn));
}

#[test]
fn nanotrons_loss_holds_two_fp32_copies_of_the_logits() {
    let shape = &catalog::find("llama-2-7b").expect("in the catalogue").shape;
    let logits = |framework| {
        let kernels = Kernels::of(framework, false);
        let context = Context { kernels, ..Context::new(512, Precision::Bf16Mixed) };
        let program = derive(&head_tape(shape, &context, Tied::No), &[], false);
        let (mut fill, mut most) = (0, 0);
        for step in program.forward.iter().chain(&program.backward) {
            for moment in [sim_core::engine::Moment::Start, sim_core::engine::Moment::End] {
                let of_moment = step.effects.iter().filter(|effect| effect.moment == moment);
                for effect in of_moment.filter(|effect| effect.category == Category::Logits) {
                    fill += effect.delta;
                    most = most.max(fill);
                }
            }
        }
        assert_eq!(fill, 0, "{framework:?}");
        most
    };
    assert_eq!(logits(Framework::Nanotron), 8 * 512 * VOCAB);
    assert_eq!(logits(Framework::Megatron), 6 * 512 * VOCAB);
}

/// Autograd's 16-bit gradients of all parameters are there when a micro-batch's backward ends, and
/// gone before the next; the buckets of DistributedDataParallel stay where there is no ZeRO.
#[test]
fn nanotron_adds_gradients_after_backward() {
    let plain = run("nanotron", "fp32", 2, 1, 0);
    assert_eq!(most(&plain, "micro-batch-gradients"), 2 * PARAMETERS);
    assert_eq!(held(&plain, "gradients"), 4 * PARAMETERS);
    assert_eq!(held(&plain, "gradient-buckets"), 2 * PARAMETERS);
    let sharded = run("nanotron", "fp32", 2, 1, 1);
    assert_eq!(held(&sharded, "gradient-buckets"), 0);
    assert_eq!(held(&sharded, "weights"), 2 * PARAMETERS);
    assert_eq!(held(&sharded, "master-weights"), 4 * PARAMETERS / 2);
    assert_eq!(held(&sharded, "moments"), 8 * PARAMETERS / 2);
    let trace = &sharded.trace;
    let left: i64 = trace
        .memory(0)
        .points()
        .iter()
        .filter(|point| trace.tensor(point) == "micro-batch-gradients")
        .map(|point| point.delta)
        .sum();
    assert_eq!(left, 0);
}

fn deepspeed(workload: &str, dp: u64, pp: u64, zero: u64) -> Simulation {
    let text = format!(
        r#"{{"model": "llama-2-7b",
        "hardware": {{"device": "h100-sxm5-80", "devices_per_node": {}}},
        "workload": {{"sequence": 512, "gradient_accumulation": 4, "framework": "deepspeed",
            {workload}}},
        "strategy": {{"dp": {dp}, "pp": {pp}, "zero": {zero}}}}}"#,
        dp * pp
    );
    simulate(&Scenario::from_json(&text).expect("a scenario")).expect("a possible scenario")
}

/// ZeRO copies the shard's 16-bit gradients into one tensor and casts that to fp32.
#[test]
fn deepspeed_flattens_gradients_before_the_cast() {
    for zero in [1, 2] {
        let simulation = deepspeed(r#""gradient_dtype": null"#, 2, 1, zero);
        assert_eq!(most(&simulation, "flat-gradients"), 2 * PARAMETERS / 2);
        assert_eq!(most(&simulation, "fp32-gradients"), 4 * PARAMETERS / 2);
    }
    assert_eq!(most(&deepspeed(r#""gradient_dtype": null"#, 2, 1, 3), "flat-gradients"), 0);
}

#[test]
fn deepspeeds_bf16_optimizer_keeps_two_gradients() {
    let simulation = deepspeed(r#""gradient_dtype": "fp32""#, 2, 1, 1);
    assert_eq!(held(&simulation, "micro-batch-gradients"), 2 * PARAMETERS);
    assert_eq!(held(&simulation, "gradients"), 4 * PARAMETERS);
    assert_eq!(most(&simulation, "fp32-gradients") + most(&simulation, "flat-gradients"), 0);
}

/// Four micro-batches over two stages: the first has two in flight and keeps what it sent, the second
/// one and a copy of what it received.
#[test]
fn deepspeeds_pipeline_keeps_both_ends() {
    let simulation = deepspeed(r#""gradient_dtype": null"#, 1, 2, 0);
    let boundary = 512 * H * 2;
    let trace = &simulation.trace;
    let most_of = |class: usize, tensor: &str| {
        let (mut fill, mut most) = (0, 0);
        for point in trace.memory(class).points() {
            if trace.tensor(point) == tensor {
                fill += point.delta;
                most = most.max(fill);
            }
        }
        assert_eq!(fill, 0, "{tensor} of stage {class}");
        most
    };
    assert_eq!(most_of(0, "received-copy"), 0);
    assert_eq!(most_of(1, "received-copy"), boundary);
    assert_eq!(most_of(0, "layer-input"), 2 * boundary);
}

/// Megatron-DeepSpeed: Megatron's layers, DeepSpeed's buffers.
#[test]
fn deepspeed_can_run_megatrons_modules() {
    let own = deepspeed(r#""modules": "hf""#, 2, 1, 1);
    let megatron = deepspeed(r#""modules": "megatron""#, 2, 1, 1);
    // The gated product's intermediate is a tensor only where it is written out.
    assert!(most(&own, "activated") > 0);
    assert_eq!(most(&megatron, "activated"), 0);
    assert!(most(&megatron, "gradient-buckets") > 0);
}
