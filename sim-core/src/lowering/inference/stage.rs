//! One pipeline stage of a serving job: its lanes, its memory, its part of every step.

use super::units::StepUnits;
use crate::cost::CostModel;
use crate::engine::{Moment, PoolId, ResourceId, TaskId};
use crate::formats::WeightFormat;
use crate::lowering::builder::{ClassSeed, TraceBuilder};
use crate::lowering::compiled::CompiledStep;
use crate::model::{LayerKind, Positions};
use crate::operators::Append;
use crate::plan::Plan;
use crate::quantity::signed_bytes as signed;
use crate::serving::{
    Buffers, CachePolicy, RotaryTables, Serving, StepSpec, kv_pool, largest_step_bytes,
    plain_bytes, stage_weights, step_context,
};
use crate::trace::{Category, LaneKind, TaskInfo};

pub struct StageEmitter<'a> {
    plan: &'a Plan,
    serving: &'a Serving,
    number: usize,
    pub pool: PoolId,
    pub compute: ResourceId,
    tensor: Option<ResourceId>,
    /// Activations to the next stage.
    pub to_next: Option<ResourceId>,
    /// Tokens of every request whose keys and values are in a growing cache.
    cached: u64,
    /// Bytes of a whole old cache, kept until the step ends.
    old: u64,
    newest: Option<TaskId>,
    last_prefill: Option<TaskId>,
}

impl<'a> StageEmitter<'a> {
    pub fn new(
        plan: &'a Plan,
        serving: &'a Serving,
        cost: &CostModel,
        number: usize,
        builder: &mut TraceBuilder,
    ) -> Self {
        let compute = builder.add_lane(number, LaneKind::Compute, None);
        let tensor = (plan.tp > 1)
            .then(|| builder.add_lane(number, LaneKind::TensorParallel, Some(cost.tensor_link())));
        let to_next = (number + 1 < plan.stages.len()).then(|| {
            let link = Some(cost.pipeline_link(number));
            builder.add_lane(number, LaneKind::PipelineForward, link)
        });
        let this = Self {
            plan,
            serving,
            number,
            pool: builder.graph.add_pool(),
            compute,
            tensor,
            to_next,
            cached: 0,
            old: 0,
            newest: None,
            last_prefill: None,
        };
        this.hold_permanent(builder);
        this
    }

    pub fn seed(&self, plan: &Plan) -> ClassSeed {
        ClassSeed {
            stage: self.number as u64,
            ranks: plan.dp * plan.tp,
            pool: self.pool,
            last_forward: self.last_prefill,
            optimizer: None,
        }
    }

    /// Everything so far belongs to the prompts.
    pub fn prefill_done(&mut self) {
        self.last_prefill = self.newest;
    }

    /// False where all activations live in one buffer that is there all the time.
    pub fn counts_activations(&self) -> bool {
        self.serving.profile.buffers != Buffers::Static
    }

    fn layers(&self) -> std::ops::Range<u64> {
        let stage = self.plan.stages[self.number];
        stage.first_layer..stage.first_layer + stage.layers
    }

    /// Bytes of one layer's cache for all running requests.
    fn layer_cache(&self, kind: LayerKind, tokens: u64) -> u64 {
        let layout = self.serving.layout();
        let each = layout.token_bytes(&self.plan.model, kind, self.plan.tp);
        self.serving.running * layout.kept_tokens(kind, tokens) * each
    }

    fn stage_cache(&self, tokens: u64) -> u64 {
        self.layers().map(|layer| self.layer_cache(self.plan.model.layer_kind(layer), tokens)).sum()
    }

    /// What exists before the first request.
    fn hold_permanent(&self, builder: &mut TraceBuilder) {
        let (plan, serving, profile) = (self.plan, self.serving, &self.serving.profile);
        let mut hold = |category, name, bytes| {
            builder.hold(self.pool, category, name, signed(bytes));
        };
        hold(Category::Weights, "weights", stage_weights(plan, serving, self.number).device);
        match profile.cache {
            CachePolicy::Grows { .. } => {}
            CachePolicy::Pool => {
                let bytes = kv_pool(plan, serving).map_or(0, |pool| pool.bytes[self.number]);
                hold(Category::KvCache, "kv-pool", bytes);
            }
            CachePolicy::WholeContext => {
                let cache = self.stage_cache(serving.max_model_len);
                hold(Category::KvCache, "kv-cache", cache);
            }
        }
        if profile.buffers == Buffers::Static {
            let bytes = largest_step_bytes(plan, serving, self.number);
            hold(Category::Transient, "compute-buffer", bytes);
        }
        let shape = &plan.model;
        let every_layer = profile.rotary == RotaryTables::EveryLayer;
        if every_layer && shape.positions == Positions::Rope {
            // Cosine and sine of every position.
            let layer = 2 * shape.max_sequence * shape.attention.head_dim * plain_bytes(plan);
            let layers = plan.stages[self.number].layers;
            hold(Category::Transient, "rotary-tables", layers * layer);
        }
        if profile.dequantizes && matches!(serving.weights, WeightFormat::Int { .. }) {
            // ExLlama's kernels unpack a matrix before a product with many tokens.
            let kind = shape.layer_kind(self.layers().start);
            let matrices = shape.layer_matrices(kind, plan.tp, 1);
            let largest = matrices.iter().map(|matrix| matrix.rows * matrix.columns).max();
            let bytes = largest.unwrap_or(0) * plain_bytes(plan);
            hold(Category::Transient, "dequantized-weights", bytes);
        }
    }

    /// This stage's part of a step, after `start`; gives back its last task.
    pub fn step(
        &mut self,
        builder: &mut TraceBuilder,
        units: &StepUnits,
        step: StepSpec,
        number: u32,
        start: Option<TaskId>,
    ) -> Option<TaskId> {
        let stage = self.plan.stages[self.number];
        let mut after = start;
        if stage.has_embedding {
            after = self.unit(builder, &units.embedding, (TaskInfo::NONE, number), after);
        }
        let holds = self.serving.profile.frames_hold_inputs;
        // The caller's frame holds the embeddings until all layers have run.
        let context = step_context(self.plan, self.serving, step, None);
        let stream =
            signed(context.stream_tokens() * self.plan.model.hidden * context.stream_size());
        for layer in self.layers() {
            let kind = self.plan.model.layer_kind(layer);
            let index = u32::try_from(layer).expect("layers are few");
            let at = (index, number);
            after = self.layer(builder, units.layer(kind), kind, step, at, after);
            let held = holds && self.layers().count() > 1;
            if held && layer == self.layers().start {
                let category = Category::Activations;
                builder.change(self.pool, Moment::End, category, "input-embeddings", stream);
            }
            if stage.has_embedding && layer + 1 == self.layers().end {
                for (name, bytes) in &units.for_all_layers {
                    let freed = -signed(*bytes);
                    builder.change(self.pool, Moment::End, Category::Activations, name, freed);
                }
            }
            if held && layer + 1 == self.layers().end {
                let category = Category::Activations;
                builder.change(self.pool, Moment::End, category, "input-embeddings", -stream);
            }
        }
        if let (true, Some(answer)) = (stage.has_head, &units.answer) {
            after = self.unit(builder, answer, (TaskInfo::NONE, number), after);
        } else if stage.has_head {
            self.drop_stream(builder, stream);
        }
        let old = -signed(std::mem::take(&mut self.old));
        builder.change(self.pool, Moment::End, Category::KvCache, "kv-cache", old);
        self.cached = step.past + step.sequence;
        after
    }

    /// The last layer's output where nobody asks for logits.
    fn drop_stream(&self, builder: &mut TraceBuilder, stream: i64) {
        if self.counts_activations() {
            let category = Category::Activations;
            builder.change(self.pool, Moment::End, category, "layer-input", -stream);
        }
    }

    /// A layer, whose cache grows where new keys and values are appended.
    fn layer(
        &mut self,
        builder: &mut TraceBuilder,
        steps: &[CompiledStep],
        kind: LayerKind,
        step: StepSpec,
        at: (u32, u32),
        start: Option<TaskId>,
    ) -> Option<TaskId> {
        let CachePolicy::Grows { keeps_old } = self.serving.profile.cache else {
            return self.unit(builder, steps, at, start);
        };
        let context = step_context(self.plan, self.serving, step, Some(kind));
        let Some(cache) = context.cache else { return self.unit(builder, steps, at, start) };
        let grown = self.layer_cache(kind, step.past + step.sequence);
        let before = if step.past == 0 { 0 } else { self.layer_cache(kind, step.past) };
        let parts = match cache.append {
            Append::Kept => return self.unit(builder, steps, at, start),
            Append::Concatenated => 2,
            Append::Written => 1,
        };
        let append = builder.tables.label("append-cache");
        let mut after = start;
        for step in steps {
            after = self.task(builder, step, at, after);
            if builder.tables.operations[step.operation as usize].name
                != builder.tables.labels[append as usize]
            {
                continue;
            }
            let mut change = |moment, bytes| {
                builder.change(self.pool, moment, Category::KvCache, "kv-cache", bytes);
            };
            change(Moment::Start, signed(grown / parts));
            if keeps_old {
                self.old += before / parts;
            } else {
                change(Moment::End, -signed(before / parts));
            }
        }
        after
    }

    /// The newest task, which stands for steps that are not shown, grows the cache to `tokens`.
    pub fn grow(&mut self, builder: &mut TraceBuilder, tokens: u64) {
        if !matches!(self.serving.profile.cache, CachePolicy::Grows { .. }) {
            return;
        }
        let delta = signed(self.stage_cache(tokens)) - signed(self.stage_cache(self.cached));
        builder.change(self.pool, Moment::End, Category::KvCache, "kv-cache", delta);
        self.cached = tokens;
    }

    fn unit(
        &mut self,
        builder: &mut TraceBuilder,
        steps: &[CompiledStep],
        at: (u32, u32),
        start: Option<TaskId>,
    ) -> Option<TaskId> {
        let mut after = start;
        for step in steps {
            after = self.task(builder, step, at, after);
        }
        after
    }

    fn task(
        &mut self,
        builder: &mut TraceBuilder,
        step: &CompiledStep,
        at: (u32, u32),
        after: Option<TaskId>,
    ) -> Option<TaskId> {
        let lane = match self.tensor {
            Some(lane) if step.group.is_some() => lane,
            _ => self.compute,
        };
        let task = builder.task(lane, step.operation, step.duration, at.0, at.1);
        if let Some(after) = after {
            builder.graph.wait_for(after);
        }
        builder.apply(self.pool, &step.effects);
        self.newest = Some(task);
        Some(task)
    }
}
