//! A mixture of experts: router, tokens on their way to experts and back, the experts themselves.
//!
//! Routing is taken as balanced: every expert gets the same number of rows and none is dropped.
//! With T tokens on a rank and k experts a token, T·k rows leave it and as many arrive.
//! Shazeer et al. 2017, §2; Lepikhin et al. 2020 (GShard), §3.

use super::Layer;
use crate::model::shape::Experts;
use crate::operators::split::autocast_weights;
use crate::operators::{
    Collective, CollectiveKind, Engine, GradientRule, Operator, ParameterKind, ParameterTensor,
    Product, TensorId, Work,
};

/// Where a token goes.
#[derive(Clone, Copy)]
struct Routing {
    /// The weights of the experts' outputs.
    weights: TensorId,
    /// Which rows belong to which token.
    indices: TensorId,
}

/// The experts that one rank computes.
#[derive(Clone, Copy)]
struct Local {
    /// Rows that all of them get.
    rows: u64,
    /// How many they are.
    count: u64,
    /// Inner width of each, on this rank.
    width: u64,
    /// Parts that run one after another: 1 where all are one grouped product.
    parts: u64,
}

/// A product that every expert does with a matrix of its own.
struct ExpertProduct<'a> {
    name: &'static str,
    outputs: &'a [TensorId],
    /// Columns and rows of an expert's matrix.
    columns: u64,
    inner: u64,
    /// Autocast makes a copy of the input.
    copies_input: bool,
}

impl Layer<'_> {
    /// Router, routed experts and shared experts.
    pub(super) fn experts(&mut self, input: TensorId, experts: Experts) -> TensorId {
        let routing = self.route(input, &experts);
        let routed = self.routed(input, routing, &experts);
        if experts.shared_ffn == 0 {
            return routed;
        }
        let mut shared = self.feed_forward(input, experts.shared_ffn, false);
        if experts.shared_gate {
            shared = self.gate_shared(input, shared);
        }
        let bytes = self.stream_bytes();
        let sum = self.stream("block-output");
        let operator = self.tape.operator("sum-experts", &[routed, shared], &[sum]);
        operator.forward = Some(Work::stream(3 * bytes, 1));
        operator.gradient = GradientRule::Alias;
        sum
    }

    /// Scores of all experts, their softmax or sigmoid in fp32, and the choice of the best.
    fn route(&mut self, input: TensorId, experts: &Experts) -> Routing {
        let (tokens, size) = (self.context.stream_tokens(), self.context.size());
        let hidden = self.shape.hidden;
        let scores = tokens * experts.count;
        let logits = self.tape.tensor("router-logits", scores * size);
        let mut kept = vec![input];
        if self.context.recipe.casts() {
            kept = vec![self.tape.constant("autocast-input", tokens * hidden * size)];
            kept.push(autocast_weights(&mut self.tape, self.context, experts.count * hidden));
        }
        self.tape.operator("router", &[input], &[logits]).saves(&kept).linear(
            tokens,
            experts.count,
            hidden,
            experts.router_bias,
            size,
        );
        let rows = tokens * experts.active;
        let probabilities = self.tape.constant("router-probabilities", 4 * scores);
        let indices = self.tape.constant("routing-indices", 8 * rows);
        let weights = self.tape.tensor("routing-weights", 4 * rows);
        // Softmax, the choice, and the weights' sum to one.
        let work = Work::stream(scores * (size + 12), 6);
        self.tape
            .operator("route", &[logits], &[weights])
            .saves(&[probabilities, indices])
            .streams(work, work);
        Routing { weights, indices }
    }

    fn routed(&mut self, input: TensorId, routing: Routing, experts: &Experts) -> TensorId {
        let kernels = self.context.kernels;
        let hidden = self.shape.hidden;
        // With sequence parallelism each tensor-parallel rank has rows of its own; where experts are
        // split over them too, all of these meet before the experts.
        let gathers = self.context.sequence_parallel && self.context.expert_tp > 1;
        let sent = self.context.stream_tokens() * experts.active;
        let rows = if gathers { self.context.tokens() * experts.active } else { sent };
        let count = experts.count.div_ceil(self.context.ep);
        let parts = if kernels.grouped_experts { 1 } else { count };
        let width = experts.ffn.div_ceil(self.context.expert_tp);
        let local = Local { rows, count, width, parts };

        let input =
            if gathers || self.context.expert_tp == 1 { input } else { self.enter_split(input) };
        // What travels, travels as a whole.
        let apart = if self.context.ep > 1 { 1 } else { parts };
        let mut tokens = self.dispatch(input, routing, sent * hidden, apart);
        tokens = self.exchange(tokens, "received-tokens");
        if gathers {
            let kinds = (CollectiveKind::AllGather, CollectiveKind::ReduceScatter);
            let whole = rows * hidden * self.context.stream_size();
            tokens =
                self.tensor_rows("enter-split", tokens, "gathered-tokens", (whole, whole), kinds);
        }
        if kernels.grouped_experts && count > 1 {
            tokens = self.sort(tokens, "sorted-tokens");
        }
        let mut output = self.expert_layers(tokens, routing, local);
        if kernels.grouped_experts && count > 1 {
            output = self.sort(output, "expert-output");
        }
        if gathers {
            let kinds = (CollectiveKind::ReduceScatter, CollectiveKind::AllGather);
            let size = self.context.size();
            let bytes = (sent * hidden * size, rows * hidden * size);
            output = self.tensor_rows("leave-split", output, "returned-tokens", bytes, kinds);
        }
        output = self.exchange(output, "returned-tokens");
        let combined = self.combine(output, routing, sent * hidden, apart);
        if gathers || self.context.expert_tp == 1 { combined } else { self.leave_split(combined) }
    }

    /// A copy of each token for every expert that it goes to.
    fn dispatch(
        &mut self,
        input: TensorId,
        routing: Routing,
        elements: u64,
        parts: u64,
    ) -> TensorId {
        let bytes = elements * self.context.stream_size();
        let output = self.tape.tensor("dispatched-tokens", bytes);
        let whole = self.bytes(input);
        let operator = self.tape.operator("dispatch-tokens", &[input], &[output]);
        operator.saves(&[routing.indices]);
        let work = Work::stream(2 * bytes, 2 * parts);
        operator.streams(work, work);
        // In a loop each expert's gradient is spread over a stream of zeros and added.
        operator.backward_workspace = if parts > 1 { whole } else { 0 };
        output
    }

    /// Rows to the ranks of their experts, or back.
    fn exchange(&mut self, input: TensorId, name: &'static str) -> TensorId {
        if self.context.ep == 1 {
            return input;
        }
        let bytes = self.bytes(input);
        let output = self.tape.tensor(name, bytes);
        let operator = self.tape.operator("exchange-tokens", &[input], &[output]);
        let collective = Some(Collective { kind: CollectiveKind::AllToAll, bytes });
        operator.forward_collective = collective;
        operator.backward_collective = collective;
        output
    }

    /// Gathers rows over the tensor-parallel ranks, or sums and scatters them; `bytes` are those of
    /// the output and of the whole.
    fn tensor_rows(
        &mut self,
        name: &'static str,
        input: TensorId,
        output: &'static str,
        bytes: (u64, u64),
        kinds: (CollectiveKind, CollectiveKind),
    ) -> TensorId {
        let (output, whole) = (self.tape.tensor(output, bytes.0), bytes.1);
        let operator = self.tape.operator(name, &[input], &[output]);
        operator.forward_collective = Some(Collective { kind: kinds.0, bytes: whole });
        operator.backward_collective = Some(Collective { kind: kinds.1, bytes: whole });
        output
    }

    /// Rows in the order of the experts, or back in the order of their senders.
    fn sort(&mut self, input: TensorId, name: &'static str) -> TensorId {
        let bytes = self.bytes(input);
        let output = self.tape.tensor(name, bytes);
        let work = Work::stream(2 * bytes, 1);
        self.tape.operator("sort-tokens", &[input], &[output]).streams(work, work);
        output
    }

    /// The feed-forward blocks of the experts on this rank.
    fn expert_layers(&mut self, input: TensorId, routing: Routing, local: Local) -> TensorId {
        let (size, hidden) = (self.context.size(), self.shape.hidden);
        let kernels = self.context.kernels;
        let (gated, activation) = (self.shape.mlp.gated, self.shape.mlp.activation);
        let bytes = local.rows * local.width * size;
        let (inner, columns, copies_input) = (hidden, local.width, true);
        let up = self.tape.tensor("up", bytes);
        let gate = gated.then(|| self.tape.tensor("gate", bytes));
        match gate {
            Some(gate) if kernels.fused_projections || self.shape.module.one_gate_up_product => {
                let (name, outputs) = ("expert-gate-up", &[gate, up][..]);
                let columns = 2 * columns;
                let product = ExpertProduct { name, outputs, columns, inner, copies_input };
                self.expert_product(input, &product, local);
            }
            gate => {
                if let Some(gate) = gate {
                    let (name, outputs) = ("expert-gate", &[gate][..]);
                    let product = ExpertProduct { name, outputs, columns, inner, copies_input };
                    self.expert_product(input, &product, local);
                }
                let (name, outputs) = ("expert-up", &[up][..]);
                let product = ExpertProduct { name, outputs, columns, inner, copies_input };
                self.expert_product(input, &product, local);
            }
        }
        let first = self.tape.operators.len();
        let activated = match gate {
            Some(gate) => self.gate(gate, up, bytes),
            None => self.activate(up, activation, bytes),
        };
        for operator in &mut self.tape.operators[first..] {
            one_after_another(operator, local.parts);
        }
        if kernels.weighs_inside {
            let last = self.tape.operators.last_mut().expect("an activation was just added");
            last.reads.push(routing.weights);
            last.saves.push(routing.weights);
        }
        let output = self.tape.tensor("expert-output", local.rows * hidden * size);
        let (name, outputs) = ("expert-down", &[output][..]);
        let (inner, columns, copies_input) = (local.width, hidden, false);
        let product = ExpertProduct { name, outputs, columns, inner, copies_input };
        self.expert_product(activated, &product, local);
        output
    }

    /// `rows` rows times the matrices of all experts of this rank.
    fn expert_product(&mut self, input: TensorId, product: &ExpertProduct<'_>, local: Local) {
        let (size, rows, count) = (self.context.size(), local.rows, local.count);
        let (columns, inner) = (product.columns, product.inner);
        let mut kept = vec![input];
        if self.context.recipe.casts() {
            if product.copies_input {
                kept = vec![self.tape.constant("autocast-input", rows * inner * size)];
            }
            kept.push(autocast_weights(&mut self.tape, self.context, count * columns * inner));
        }
        let bias = self.shape.mlp.bias.then(|| ParameterTensor::vector(columns));
        let one = [Some(ParameterTensor::matrix(columns, inner)), bias];
        let tensors: Vec<_> = (0..count).flat_map(|_| one.into_iter().flatten()).collect();
        // Fewer rows than experts leave some without.
        let busy = count.min(rows);
        // Three operands of one size, whichever product it is.
        let work = Work::of(
            Engine::Gemm,
            2.0 * rows as f64 * columns as f64 * inner as f64,
            ((rows * (inner + columns) + busy * inner * columns) * size) as f64,
            local.parts.min(rows) as f64,
        );
        let operator = self.tape.operator(product.name, &[input], product.outputs);
        operator.saves(&kept).trains(&tensors, size);
        operator.product = Some(Product { m: rows, n: columns, k: inner, matrices: count });
        operator.parameter_kind = ParameterKind::Routed;
        operator.parts = local.parts;
        operator.forward = Some(work);
        operator.backward_input = Some(work);
        operator.backward_weight = Some(work);
    }

    /// The weighted sum of what a token's experts have made of it.
    ///
    /// Without the weights inside the experts, their gradient needs every expert's output.
    fn combine(
        &mut self,
        returned: TensorId,
        routing: Routing,
        elements: u64,
        parts: u64,
    ) -> TensorId {
        let bytes = self.context.stream_tokens() * self.shape.hidden * self.context.stream_size();
        let combined = self.tape.tensor("combined-tokens", bytes);
        let moved = elements * self.context.size();
        let inside = self.context.kernels.weighs_inside;
        let reads = [returned, routing.weights];
        let reads = if inside { &reads[..1] } else { &reads[..] };
        let operator = self.tape.operator("combine-tokens", reads, &[combined]);
        operator.saves(&[routing.indices]);
        if inside {
            let work = Work::stream(moved + bytes, 1);
            operator.streams(work, work);
        } else {
            operator.saves.extend(reads);
            // A product with the weights and a sum into the stream.
            let (forward, backward) = (Work::stream(5 * moved, 2), Work::stream(6 * moved, 4));
            operator.streams(forward, backward);
            one_after_another(operator, parts);
        }
        combined
    }

    /// The sigmoid of a product with one column, times what the shared experts give.
    fn gate_shared(&mut self, input: TensorId, shared: TensorId) -> TensorId {
        let (tokens, size) = (self.context.stream_tokens(), self.context.size());
        let hidden = self.shape.hidden;
        let logits = self.tape.tensor("shared-gate", tokens * size);
        let mut kept = vec![input];
        if self.context.recipe.casts() {
            kept = vec![self.tape.constant("autocast-input", tokens * hidden * size)];
            kept.push(autocast_weights(&mut self.tape, self.context, hidden));
        }
        self.tape
            .operator("shared-gate", &[input], &[logits])
            .saves(&kept)
            .linear(tokens, 1, hidden, false, size);
        let bytes = self.stream_bytes();
        let gated = self.stream("block-output");
        self.tape
            .operator("gate-shared", &[shared, logits], &[gated])
            .saves(&[shared, logits])
            .streams(Work::stream(2 * bytes, 2), Work::stream(4 * bytes, 4));
        gated
    }
}

/// The operator runs for one expert after another.
fn one_after_another(operator: &mut Operator, parts: u64) {
    operator.parts = parts;
    for work in [&mut operator.forward, &mut operator.backward_input].into_iter().flatten() {
        work.launches *= parts as f64;
    }
}
