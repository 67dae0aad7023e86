//! Claims of the papers that a trace must reproduce.

#![cfg(not(target_arch = "wasm32"))]

use sim_core::scenario::Scenario;
use sim_core::trace::{LaneKind, Phase, Trace};
use sim_core::{Simulation, presets, simulate};

fn preset(id: &str) -> Scenario {
    presets::find(id).expect("a preset").scenario()
}

fn run(text: &str) -> Simulation {
    simulate(&Scenario::from_json(text).expect("a scenario")).expect("a possible scenario")
}

/// Bytes that collectives of a phase put on the data-parallel lane of the first class.
fn data_bytes(trace: &Trace, phase: Phase) -> f64 {
    let lane = trace.lanes().iter().position(|lane| lane.kind == LaneKind::DataParallel);
    trace
        .spans(lane.expect("replicas"), f64::NEG_INFINITY, f64::INFINITY)
        .filter(|span| span.operation.phase == phase)
        .map(|span| span.operation.bytes)
        .sum()
}

/// A pipeline of equal stages over a link that costs next to nothing; a vocabulary of one makes the
/// embedding and the head small.
fn balanced(schedule: &str, stages: u64, micro_batches: u64) -> Simulation {
    run(&format!(
        r#"{{"model": {{"preset": "llama-2-7b", "vocab": 1}},
        "hardware": {{"device": "h100-sxm5-80", "devices_per_node": {stages},
            "intra": {{"gb_per_s": 100000, "latency_us": 0}}}},
        "workload": {{"sequence": 2048, "gradient_accumulation": {micro_batches},
            "optimizer": "sgd", "framework": "megatron"}},
        "strategy": {{"pp": {stages}, "schedule": "{schedule}"}}}}"#
    ))
}

/// GPipe and 1F1B wait (p − 1) of (m + p − 1) slots (Huang et al. 2019; Narayanan et al. 2021), and
/// take the same time; only memory differs.
#[test]
fn bubbles_are_those_of_the_papers() {
    for (stages, micro_batches) in [(2, 8), (4, 8), (4, 32), (8, 64)] {
        let ideal = (stages - 1) as f64 / (micro_batches + stages - 1) as f64;
        for schedule in ["gpipe", "1f1b"] {
            let got = balanced(schedule, stages, micro_batches).report.time.expect("computed");
            let at = format!("{schedule} p={stages} m={micro_batches}: {got:?} against {ideal}");
            // The ends and the optimizer step are not part of the formula.
            assert!((got.bubble_fraction / ideal - 1.0).abs() < 0.05, "{at}");
        }
    }
}

#[test]
fn one_forward_one_backward_takes_gpipes_time_and_less_memory() {
    let (gpipe, one) = (balanced("gpipe", 4, 32), balanced("1f1b", 4, 32));
    let step = |simulation: &Simulation| simulation.trace.duration();
    assert!((step(&one) / step(&gpipe) - 1.0).abs() < 0.01, "{} {}", step(&one), step(&gpipe));
    let peak = |simulation: &Simulation, class: usize| {
        let (mut fill, mut most) = (0, 0);
        for point in simulation.trace.memory(class).points() {
            if point.category == sim_core::trace::Category::Activations as u8 {
                fill += point.delta;
                most = most.max(fill);
            }
        }
        most as f64
    };
    // In flight: 32 micro-batches against min(32, p − stage).
    for class in 0..4 {
        let ratio = peak(&gpipe, class) / peak(&one, class);
        let expected = 32.0 / (4 - class) as f64;
        assert!((ratio / expected - 1.0).abs() < 0.1, "class {class}: {ratio} for {expected}");
    }
}

/// Communication volume of a step in units of Ψ parameters: 2Ψ under ZeRO-0 to 2 (an all-reduce
/// counts twice), 3Ψ under ZeRO-3 (Rajbhandari et al. 2020, §7), with one micro-batch.
#[test]
fn zero_moves_two_or_three_times_the_parameters() {
    for model in ["llama-2-7b", "gpt2"] {
        for zero in 0..=3 {
            let simulation = run(&format!(
                r#"{{"model": "{model}",
                "hardware": {{"device": "a100-sxm4-80", "devices_per_node": 8}},
                "workload": {{"sequence": 512}}, "strategy": {{"zero": {zero}}}}}"#
            ));
            let psi = 2.0 * simulation.plan.model.total_params() as f64;
            let of = |phase| data_bytes(&simulation.trace, phase) / psi;
            let moved =
                2.0 * of(Phase::AllReduce) + of(Phase::ReduceScatter) + of(Phase::AllGather);
            // The last unit's parameters stay gathered between forward and backward; a tied table
            // is gathered for the embedding and for the head.
            let expected = if zero == 3 { 3.0 } else { 2.0 };
            let slack = if zero == 3 { 0.35 } else { 1e-9 };
            assert!((moved - expected).abs() <= slack, "{model} ZeRO-{zero}: {moved}");
        }
    }
}

/// FSDP2 gathers every parameter for forward and again for backward and reduces its gradient once:
/// 3Ψ; 2Ψ when parameters stay gathered in between. `hybrid` adds an all-reduce of the shards over
/// the network.
#[test]
fn fsdp_moves_two_or_three_times_the_parameters() {
    let job = |mode: &str, nodes: u64| {
        run(&format!(
            r#"{{"model": "llama-2-7b",
            "hardware": {{"device": "a100-sxm4-80", "devices_per_node": 8, "nodes": {nodes}}},
            "workload": {{"sequence": 512, "gradient_dtype": "bf16"}},
            "strategy": {{"fsdp": "{mode}"}}}}"#
        ))
    };
    let psi = 2.0 * 6_738_415_616.0;
    for (mode, gathers) in [("full_shard", 2.0), ("shard_grad_op", 1.0), ("hybrid", 2.0)] {
        let simulation = job(mode, 2);
        assert_eq!(data_bytes(&simulation.trace, Phase::AllGather), gathers * psi, "{mode}");
        assert_eq!(data_bytes(&simulation.trace, Phase::ReduceScatter), psi, "{mode}");
        let lanes = simulation.trace.lanes();
        let between = lanes.iter().position(|lane| lane.kind == LaneKind::Replicas);
        let sent: f64 = between.map_or(0.0, |lane| {
            let spans = simulation.trace.spans(lane, f64::NEG_INFINITY, f64::INFINITY);
            spans.map(|span| span.operation.bytes).sum()
        });
        assert_eq!(sent, if mode == "hybrid" { psi / 8.0 } else { 0.0 }, "{mode}");
    }
}

/// The host issues gathers ahead of their use: most of their time is hidden behind layers.
#[test]
fn fsdp_gathers_overlap_with_compute() {
    let simulation = simulate(&preset("8b-fsdp-8xh100")).expect("computed");
    let trace = &simulation.trace;
    let lane = trace.lanes().iter().position(|lane| lane.kind == LaneKind::DataParallel);
    let spans = trace.spans(lane.expect("replicas"), f64::NEG_INFINITY, f64::INFINITY);
    let communication: f64 = spans.map(|span| span.end - span.start).sum();
    let exposed = simulation.report.time.expect("computed").exposed_comm_s;
    assert!(exposed < 0.3 * communication, "{exposed} of {communication}");
}

/// Under ZeRO-3 at most two layers are gathered: one computes, one is on its way.
#[test]
fn two_layers_are_gathered_at_a_time() {
    let mut scenario = preset("7b-on-8xa100");
    scenario.strategy.zero = 3;
    let simulation = simulate(&scenario).expect("computed");
    let layer = 2.0 * simulation.plan.model.params().first_layer().total() as f64;
    let mut fill = 0.0;
    let mut most = 0.0_f64;
    let labels =
        |time| simulation.trace.live_at(0, sim_core::trace::Category::Transient, Some(time));
    for step in 1..400 {
        let time = simulation.trace.duration() * f64::from(step) / 400.0;
        fill = labels(time)
            .iter()
            .filter(|row| row.0 == "gathered-parameters")
            .map(|row| row.1 as f64)
            .sum();
        most = most.max(fill);
    }
    assert!(fill >= 0.0 && most <= 2.001 * layer && most >= 1.999 * layer, "{}", most / layer);
}

/// Every stage waits for its neighbour's data: sequence parallelism opens backward with a
/// collective, which must not run before the gradient has arrived.
#[test]
fn nothing_runs_before_its_input_has_arrived() {
    let simulation = run(r#"{"model": {"preset": "llama-2-7b", "layers": 4},
        "hardware": {"device": "a100-sxm4-80", "devices_per_node": 4,
            "intra": {"gb_per_s": 1, "latency_us": 10}},
        "workload": {"sequence": 512, "gradient_accumulation": 1, "framework": "megatron"},
        "strategy": {"tp": 2, "pp": 2, "sequence_parallel": true}}"#);
    let trace = &simulation.trace;
    let sent = |kind| {
        let lane = trace.lanes().iter().position(|lane| lane.kind == kind).expect("a lane");
        trace.spans(lane, f64::NEG_INFINITY, f64::INFINITY).next().expect("a message").end
    };
    let first = |class: usize, after: f64| {
        trace
            .lanes()
            .iter()
            .enumerate()
            .filter(|(_, lane)| {
                lane.class == class
                    && matches!(lane.kind, LaneKind::Compute | LaneKind::TensorParallel)
            })
            .flat_map(|(lane, _)| trace.spans(lane, after, f64::INFINITY))
            .map(|span| span.start)
            .fold(f64::INFINITY, f64::min)
    };
    assert!(first(1, f64::NEG_INFINITY) >= sent(LaneKind::PipelineForward));
    let forward_end = trace.classes()[0].forward_end;
    assert!(first(0, forward_end) >= sent(LaneKind::PipelineBackward));
}

/// A message over a node's boundary has one port, one inside the node its NVLink.
#[test]
fn pipeline_sends_cost_what_their_boundary_costs() {
    let simulation = run(r#"{"model": "llama-2-7b",
        "hardware": {"device": "a100-sxm4-80", "devices_per_node": 8, "nodes": 2},
        "workload": {"sequence": 2048, "gradient_accumulation": 1, "framework": "megatron"},
        "strategy": {"tp": 4, "pp": 4}}"#);
    let trace = &simulation.trace;
    let times: Vec<f64> = trace
        .lanes()
        .iter()
        .enumerate()
        .filter(|(_, lane)| lane.kind == LaneKind::PipelineForward)
        .map(|(lane, _)| {
            let span = trace.spans(lane, f64::NEG_INFINITY, f64::INFINITY).next();
            span.map_or(0.0, |span| span.end - span.start)
        })
        .collect();
    assert_eq!(times.len(), 3);
    assert!((times[0] / times[2] - 1.0).abs() < 1e-9, "{times:?}");
    assert!(times[1] > 5.0 * times[0], "{times:?}");
    let bytes = 2048.0 * 4096.0 * 2.0;
    assert!(bytes / times[1] < 25e9, "one HDR port");
}

/// What exists before the step is there on every stage from the beginning.
#[test]
fn weights_are_there_before_a_stage_has_work() {
    let simulation = simulate(&preset("gpt3-pipeline")).expect("computed");
    for class in 0..16 {
        let at_start = simulation.trace.breakdown_at(class, Some(0.0));
        assert!(at_start[sim_core::trace::Category::Weights as usize] > 0, "class {class}");
    }
}

/// Two flat buffers and no more: a reduction that lags behind holds up the next micro-batch, it does
/// not get buffers of its own.
#[test]
fn buckets_do_not_pile_up_behind_a_slow_link() {
    let peak = |zero, accumulation| {
        let simulation = run(&format!(
            r#"{{"model": "gpt2", "hardware": {{"device": "rtx5090-32", "devices_per_node": 8}},
            "workload": {{"sequence": 128, "gradient_accumulation": {accumulation}}},
            "strategy": {{"zero": {zero}}}}}"#
        ));
        simulation.report.memory.as_ref().expect("computed").per_rank[0].peak_allocated_gib
    };
    assert_eq!(peak(2, 64), peak(2, 8));
    assert!(peak(2, 64) <= peak(1, 64));
}

/// Bytes of the first class's spans of an operation, and how many there are.
fn moved(simulation: &Simulation, kind: LaneKind) -> (f64, usize) {
    let lane = simulation.trace.lanes().iter().position(|lane| lane.kind == kind);
    let spans = simulation.trace.spans(lane.expect("a lane"), f64::NEG_INFINITY, f64::INFINITY);
    spans.fold((0.0, 0), |(bytes, count), span| (bytes + span.operation.bytes, count + 1))
}

/// Every token travels to its experts and back, forward and backward: four exchanges of T·k·H
/// numbers in a layer, six when forward runs again.
#[test]
fn tokens_travel_to_their_experts_and_back() {
    for (recompute, exchanges) in [("none", 4.0), ("full", 6.0)] {
        let simulation = run(&format!(
            r#"{{"model": {{"preset": "mixtral-8x7b", "layers": 3}},
            "hardware": {{"device": "h100-sxm5-80", "devices_per_node": 8}},
            "workload": {{"sequence": 1024, "framework": "megatron"}},
            "strategy": {{"ep": 8, "recompute": "{recompute}"}}}}"#
        ));
        let (bytes, _) = moved(&simulation, LaneKind::ExpertParallel);
        assert_eq!(bytes, exchanges * 3.0 * 1024.0 * 2.0 * 4096.0 * 2.0, "{recompute}");
    }
}

/// The gradients of experts are reduced over the ranks that have them, and only there.
#[test]
fn gradients_of_experts_stay_among_those_that_have_them() {
    let reduced = |ep| {
        let simulation = run(&format!(
            r#"{{"model": {{"preset": "mixtral-8x7b", "layers": 2}},
            "hardware": {{"device": "h100-sxm5-80", "devices_per_node": 8}},
            "workload": {{"sequence": 1024, "framework": "megatron"}},
            "strategy": {{"ep": {ep}}}}}"#
        ));
        data_bytes(&simulation.trace, Phase::AllReduce)
    };
    let experts = 2.0 * 2.0 * 8.0 * 3.0 * 4096.0 * 14_336.0;
    assert_eq!(reduced(1) - reduced(2), experts / 2.0);
    // With as many ranks as replicas every expert is on one rank alone.
    assert_eq!(reduced(1) - reduced(8), experts);
}

/// Keys and values pass by while attention runs, and hold up the kernel after it where the link is
/// slower.
#[test]
fn keys_and_values_pass_beside_attention() {
    let simulation = run(r#"{"model": {"preset": "llama-2-7b", "layers": 2},
        "hardware": {"device": "h100-sxm5-80", "devices_per_node": 4,
            "intra": {"gb_per_s": 20, "latency_us": 0}},
        "workload": {"sequence": 16384, "framework": "megatron", "optimizer": "sgd"},
        "strategy": {"cp": 4}}"#);
    let (bytes, messages) = moved(&simulation, LaneKind::ContextParallel);
    assert_eq!(messages, 4);
    // Keys and values of all ranks forward, with their gradients backward.
    assert_eq!(bytes, 2.0 * (1.0 + 2.0) * 2.0 * 16_384.0 * 4096.0 * 2.0);
    let trace = &simulation.trace;
    let lane = |kind| trace.lanes().iter().position(|lane| lane.kind == kind).expect("a lane");
    let spans = |kind| trace.spans(lane(kind), f64::NEG_INFINITY, f64::INFINITY);
    for message in spans(LaneKind::ContextParallel) {
        let mut kernels = spans(LaneKind::Compute).skip_while(|span| span.start < message.start);
        let attention = kernels.next().expect("a kernel beside it");
        assert_eq!((attention.operation.name, attention.start), ("attention", message.start));
        assert!(message.end > attention.end, "three quarters of 512 MiB at 20 GB/s");
        assert_eq!(kernels.next().expect("a kernel after it").start, message.end);
    }
}
