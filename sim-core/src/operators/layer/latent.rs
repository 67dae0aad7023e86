//! Multi-head latent attention: queries, keys and values through low-rank projections.
//!
//! Shapes and names: DeepSeek-AI 2024 (DeepSeek-V2), §2.1. The projections down are whole on every
//! tensor-parallel rank and work on its part of the stream; the projections up split by heads.

use super::Layer;
use crate::model::shape::LatentAttention;
use crate::operators::split::{Projection, autocast_weights, enter_split, project};
use crate::operators::{TensorId, Work};
use crate::scenario::AttentionKernel;

impl Layer<'_> {
    /// Queries, keys and values of the heads on this rank, rotated where they rotate.
    pub(super) fn latent(
        &mut self,
        input: TensorId,
        latent: LatentAttention,
    ) -> (TensorId, TensorId, TensorId) {
        let (tokens, size) = (self.context.tokens(), self.context.size());
        let heads = self.shape.attention.heads.div_ceil(self.context.tp);
        let query_width = heads * self.shape.attention.head_dim;
        let up_width = heads * (latent.nope_dim + latent.value_dim);

        let query = self.tape.tensor("query", tokens * query_width * size);
        let (name, outputs, width) = ("query", &[query][..], query_width);
        let of_query = Projection { name, outputs, width, bias: false };
        match latent.query_rank {
            Some(rank) => {
                let low = self.project_down("query-down", "query-latent", input, rank);
                let normed = self.latent_norm(low, rank);
                let whole = enter_split(&mut self.tape, self.context, rank, normed);
                project(&mut self.tape, self.context, rank, whole, &[of_query]);
            }
            None => {
                let whole = self.enter_split(input);
                self.project(whole, &[of_query]);
            }
        }

        let (rank, rotated) = (latent.kv_rank, latent.rope_dim);
        let low = self.project_down("key-value-down", "key-value-latent", input, rank + rotated);
        let normed = self.latent_norm(low, rank);
        let whole = enter_split(&mut self.tape, self.context, rank, normed);
        let up = self.tape.tensor("key-value-up", tokens * up_width * size);
        let (name, outputs, width) = ("key-value-up", &[up][..], up_width);
        let of_both = Projection { name, outputs, width, bias: false };
        project(&mut self.tape, self.context, rank, whole, &[of_both]);
        // The rotated part of the key is one for all heads.
        let position = enter_split(&mut self.tape, self.context, rotated, low);
        self.assemble(query, up, position, latent)
    }

    /// Rotates, and puts queries and keys together from their two parts in new tensors.
    ///
    /// Megatron copies the values out of the projection that holds keys and values. Hugging Face's
    /// modules leave them a view of it, or copy them where they are padded.
    fn assemble(
        &mut self,
        query: TensorId,
        up: TensorId,
        position: TensorId,
        latent: LatentAttention,
    ) -> (TensorId, TensorId, TensorId) {
        let (tokens, size) = (self.context.tokens(), self.context.size());
        let kernels = self.context.kernels;
        let heads = self.shape.attention.heads.div_ceil(self.context.tp);
        let bytes = tokens * heads * self.shape.attention.head_dim * size;
        let whole_query = self.tape.tensor("rotated-query", bytes);
        let whole_key = self.tape.tensor("rotated-key", bytes);
        let mut written = vec![whole_query, whole_key];
        let fused = self.context.attention == AttentionKernel::Flash && !self.writes_out_dropout();
        let pads = kernels.pads_values && fused;
        let value = if pads || kernels.fused_projections {
            let width = if pads { self.shape.attention.head_dim } else { latent.value_dim };
            let value = self.tape.tensor("value", tokens * heads * width * size);
            written.push(value);
            value
        } else {
            up
        };
        let moved: u64 = [query, up].iter().chain(&written).map(|id| self.bytes(*id)).sum();
        let rotated = tokens * (heads + 1) * latent.rope_dim * size;
        // Written out: two products, a rotation by halves and a sum, before parts are joined.
        let (passes, launches) = if kernels.fused_projections { (0, 2) } else { (10, 14) };
        let work = Work::stream(moved + passes * rotated, launches);
        self.tape.operator("rotary", &[query, up, position], &written).streams(work, work);
        (whole_query, whole_key, value)
    }

    /// A product of this rank's part of the stream with a matrix that every rank has whole.
    fn project_down(
        &mut self,
        name: &'static str,
        output: &'static str,
        input: TensorId,
        width: u64,
    ) -> TensorId {
        let (rows, size) = (self.context.stream_tokens(), self.context.size());
        let hidden = self.shape.hidden;
        let output = self.tape.tensor(output, rows * width * size);
        let mut kept = vec![input];
        if self.context.recipe.casts() {
            kept = vec![self.tape.constant("autocast-input", rows * hidden * size)];
            kept.push(autocast_weights(&mut self.tape, self.context, width * hidden));
        }
        self.tape
            .operator(name, &[input], &[output])
            .saves(&kept)
            .linear(rows, width, hidden, false, size);
        output
    }

    /// RMS norm over the first `rank` channels of a latent.
    fn latent_norm(&mut self, input: TensorId, rank: u64) -> TensorId {
        let elements = self.context.stream_tokens() * rank;
        let output = self.tape.tensor("latent-normed", elements * self.context.stream_size());
        self.narrow_norm("latent-norm", input, output, elements, rank);
        output
    }
}
