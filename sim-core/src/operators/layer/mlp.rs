//! The feed-forward block.

use super::Layer;
use crate::model::shape::Activation;
use crate::operators::split::{Projection, autocast_weights};
use crate::operators::{TensorId, Work};
use crate::precision::DType;

impl Layer<'_> {
    pub(super) fn mlp(&mut self, input: TensorId) -> TensorId {
        match self.shape.experts {
            Some(experts) if self.kind.experts => self.experts(input, experts),
            _ => self.feed_forward(input, self.shape.mlp.ffn, self.shape.mlp.bias),
        }
    }

    /// A block with an inner width of `ffn` over all ranks.
    pub(super) fn feed_forward(&mut self, input: TensorId, ffn: u64, bias: bool) -> TensorId {
        let (tokens, size, tp) = (self.context.tokens(), self.context.size(), self.context.tp);
        let inner_size = self.context.inner_size();
        let (gated, activation) = (self.shape.mlp.gated, self.shape.mlp.activation);
        let width = ffn.div_ceil(tp);
        let bytes = tokens * width * inner_size;

        let input = self.enter_split(input);
        let inner = if gated {
            let gate = self.tape.tensor("gate", bytes);
            let up = self.tape.tensor("up", bytes);
            if self.context.kernels.fused_projections || self.shape.module.one_gate_up_product {
                let (name, outputs) = ("gate-up", &[gate, up][..]);
                self.project(input, &[Projection { name, outputs, width: 2 * width, bias }]);
            } else {
                let (name, outputs) = ("gate", &[gate][..]);
                let of_gate = Projection { name, outputs, width, bias };
                let (name, outputs) = ("up", &[up][..]);
                self.project(input, &[of_gate, Projection { name, outputs, width, bias }]);
            }
            self.gate(gate, up, bytes)
        } else {
            let up = self.tape.tensor("up", bytes);
            let (name, outputs) = ("up", &[up][..]);
            self.project(input, &[Projection { name, outputs, width, bias }]);
            self.activate(up, activation, bytes)
        };
        let hidden = self.shape.hidden;
        let partial = self.tape.tensor("mlp-output", tokens * hidden * inner_size);
        let mut kept = vec![inner];
        if self.context.recipe.casts() {
            kept.push(autocast_weights(&mut self.tape, self.context, width * hidden));
        }
        self.tape
            .operator("down", &[inner], &[partial])
            .saves(&kept)
            .linear(tokens, hidden, width, bias, size);
        self.leave_split(partial)
    }

    /// The gated product: `activation(gate) · up`.
    pub(super) fn gate(&mut self, gate: TensorId, up: TensorId, bytes: u64) -> TensorId {
        let inner = self.tape.tensor("mlp-inner", bytes);
        if self.context.kernels.fused_activation {
            self.tape
                .operator("gated-activation", &[gate, up], &[inner])
                .saves(&[gate, up])
                .streams(Work::stream(3 * bytes, 1), Work::stream(5 * bytes, 1));
            return inner;
        }
        let activated = self.tape.tensor("activated", bytes);
        self.tape
            .operator("activation", &[gate], &[activated])
            .saves(&[gate])
            .streams(Work::stream(2 * bytes, 1), Work::stream(3 * bytes, 1));
        self.tape
            .operator("gate-product", &[activated, up], &[inner])
            .saves(&[activated, up])
            .streams(Work::stream(3 * bytes, 1), Work::stream(5 * bytes, 2));
        inner
    }

    pub(super) fn activate(
        &mut self,
        input: TensorId,
        activation: Activation,
        bytes: u64,
    ) -> TensorId {
        let inner = self.tape.tensor("mlp-inner", bytes);
        let mut saved = vec![match activation {
            // ReLU's gradient needs only its output; its square's, ReLU's output instead of the input.
            Activation::Relu => inner,
            _ => input,
        }];
        let written_out =
            activation == Activation::GeluTanh && !self.context.kernels.fused_activation;
        if written_out {
            // Its power is one of the operations that a GPU's autocast runs in fp32, and what follows
            // from it is fp32 too; the product with half of the input is cast back.
            let mut wide = bytes;
            if self.context.autocasts_to_fp32() {
                wide = bytes / self.context.size() * DType::Fp32.bytes();
                saved = vec![self.tape.constant("gelu-fp32-input", wide)];
            }
            saved.push(self.tape.constant("gelu-half", bytes));
            for name in ["gelu-tanh", "gelu-tanh-plus-one"] {
                saved.push(self.tape.constant(name, wide));
            }
        }
        let squared =
            activation == Activation::SquaredRelu && !self.context.kernels.fused_activation;
        let (passes, launches) = if written_out {
            (8, 8)
        } else if squared {
            (2, 2)
        } else {
            (1, 1)
        };
        self.tape.operator("activation", &[input], &[inner]).saves(&saved).streams(
            Work::stream(2 * bytes * passes, launches),
            Work::stream(3 * bytes * passes, launches),
        );
        inner
    }
}
