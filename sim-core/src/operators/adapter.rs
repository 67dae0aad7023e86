//! Low-rank adapters beside frozen weights (Hu et al. 2021; Dettmers et al. 2023).
//!
//! A pass over a finished tape: what trained is frozen, and each chosen product gets the products
//! with A `[r, k]` and B `[n, r]`, in the order of Hugging Face's PEFT:
//! `y = x·Wᵀ + (dropout(x)·Aᵀ·Bᵀ)·α/r`.
//!
//! A frozen product needs no input for backward, only its weight; a frozen norm written out in
//! tensor operations no normalized stream. Gradients flow through all layers down to the embeddings'
//! output, as they do with PEFT's `enable_input_require_grads`.

use super::{
    BaseFormat, Collective, CollectiveKind, Context, GradientRule, Operator, ParameterTensor,
    Product, Tape, TensorId, Work,
};
use crate::precision::DType;

/// The projections of a layer that get adapters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    pub query: bool,
    pub key: bool,
    pub value: bool,
    pub output: bool,
    pub gate: bool,
    pub up: bool,
    pub down: bool,
}

impl Targets {
    /// True for the product called `name`; a fused one has one adapter when a part is chosen.
    fn contain(self, name: &str) -> bool {
        match name {
            "query" => self.query,
            "key" => self.key,
            "value" => self.value,
            "qkv" => self.query || self.key || self.value,
            "attention-output" => self.output,
            "gate" => self.gate,
            "up" => self.up,
            "gate-up" => self.gate || self.up,
            "down" => self.down,
            _ => false,
        }
    }
}

/// What is added to a frozen model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapters {
    /// The inner width r.
    pub rank: u64,
    pub targets: Targets,
    /// Dropout in front of A.
    pub dropout: bool,
    /// Format of A and B.
    pub weights: DType,
    /// Format of the frozen matrices of layers, where they are quantized.
    pub base: Option<BaseFormat>,
    /// Format of the frozen embedding and head.
    pub tables: DType,
    /// Copies of the embedding and the head train.
    pub trains_tables: bool,
}

/// The tape of which part of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Its products may be quantized and adapted.
    Layer,
    /// Embedding or head, with its table `[vocabulary, hidden]`: frozen as it is, or trained in a
    /// copy.
    Ends(ParameterTensor),
}

/// The names of products with split columns, whose input is whole on every rank.
const SPLIT_COLUMNS: [&str; 7] = ["query", "key", "value", "qkv", "gate", "up", "gate-up"];

/// The operators of the token table and of the head.
const TABLES: [&str; 2] = ["embedding", "vocabulary"];

/// Freezes a tape and adds the context's adapters, where it has some.
pub(super) fn adapt(tape: &mut Tape, context: &Context, part: Part) {
    let Some(adapters) = context.adapters else { return };
    let operators = std::mem::take(&mut tape.operators);
    let core = tape.attention_core.clone();
    let (mut first, mut end) = (core.start, core.end);
    let mut pass = Pass { context, adapters, tape, gathers_again: None };
    for (index, operator) in operators.into_iter().enumerate() {
        if index == core.start {
            first = pass.tape.operators.len();
        }
        if index == core.end {
            end = pass.tape.operators.len();
        }
        pass.operator(operator, part);
    }
    tape.attention_core = first..end;
}

struct Pass<'a> {
    context: &'a Context,
    adapters: Adapters,
    tape: &'a mut Tape,
    /// With sequence parallelism, the way into the products that follow, whose input adapters need
    /// again in backward.
    gathers_again: Option<usize>,
}

impl Pass<'_> {
    fn operator(&mut self, mut operator: Operator, part: Part) {
        if operator.name == "enter-split" {
            // Kept for adapters only.
            operator.saves.clear();
            self.gathers_again = Some(self.tape.operators.len());
            self.tape.operators.push(operator);
            return;
        }
        if let Part::Ends(table) = part
            && self.adapters.trains_tables
            && TABLES.contains(&operator.name)
        {
            self.copy_table(&mut operator, table);
            self.tape.operators.push(operator);
            return;
        }
        let format = if part == Part::Layer { self.adapters.base } else { None };
        let again = (operator.backward_workspace, operator.backward_collective);
        self.freeze(&mut operator, format);
        let is_adapted = operator.product.is_some() && self.adapters.targets.contain(operator.name);
        if is_adapted && part == Part::Layer {
            self.add_adapter(operator, again);
        } else {
            self.tape.operators.push(operator);
        }
    }

    /// Takes away the gradient of the parameters and what only it needs.
    fn freeze(&self, operator: &mut Operator, format: Option<BaseFormat>) {
        let is_table = TABLES.contains(&operator.name);
        let of_tables = self.adapters.tables;
        let size = if is_table { of_tables } else { self.context.recipe.weights }.bytes();
        let parameters = operator.parameters;
        operator.frozen = parameters;
        operator.frozen_bytes = parameters * size;
        operator.frozen_shared_bytes = operator.shared_parameters * size;
        operator.parameters = 0;
        operator.shared_parameters = 0;
        operator.reduced_parameters = 0;
        operator.trainable.clear();
        operator.backward_weight = None;
        let dropped = std::mem::take(&mut operator.saves);
        let Some(product) = operator.product else {
            let unneeded = |id: &TensorId| self.tape.tensors[id.0].name == "normalized";
            let keeps_tokens = operator.backward_input.is_some();
            operator.saves =
                dropped.into_iter().filter(|id| keeps_tokens && !unneeded(id)).collect();
            return;
        };
        for id in dropped {
            let name = self.tape.tensors[id.0].name;
            let is_cast = !is_table || of_tables != self.context.recipe.compute;
            let is_weight = name == "autocast-weights" && format.is_none() && is_cast;
            if is_weight || operator.writes.contains(&id) {
                operator.saves.push(id);
            } else if name == "autocast-input" {
                // The copy is made all the same and dropped after the product.
                operator.forward_workspace += self.tape.tensors[id.0].bytes;
            }
        }
        if SPLIT_COLUMNS.contains(&operator.name) {
            // Nothing to gather again for.
            operator.backward_workspace = 0;
            operator.backward_collective = None;
        }
        if let Some(format) = format {
            let Product { n, k, matrices, .. } = product;
            let packed = matrices * format.bytes(n, k);
            operator.frozen_bytes = packed + (parameters - matrices * n * k) * size;
            self.dequantize(operator, format, product);
        }
    }

    /// Freezes the operator's parameters and trains a copy of its table (PEFT's
    /// `ModulesToSaveWrapper`, which keeps the original).
    fn copy_table(&self, operator: &mut Operator, table: ParameterTensor) {
        let size = self.context.recipe.weights.bytes();
        operator.frozen = operator.parameters;
        operator.frozen_bytes = operator.parameters * size;
        operator.frozen_shared_bytes = operator.shared_parameters * size;
        operator.shared_parameters = 0;
        operator.trains(&[table], size);
    }

    /// What a product with a quantized weight `[n, k]` needs beside a plain one.
    ///
    /// Of several matrices one after another is made ready.
    fn dequantize(&self, operator: &mut Operator, format: BaseFormat, product: Product) {
        let size = self.context.size();
        let Product { m, n, k, matrices } = product;
        let (stored, whole) = (matrices * format.bytes(n, k), matrices * n * k * size);
        let at_once = whole / operator.parts.min(matrices);
        let m = m / operator.parts.min(matrices);
        match format {
            // The whole matrix in the products' format, forward and again backward (bitsandbytes'
            // `MatMul4Bit`).
            BaseFormat::FourBit { double_quant } => {
                let launches = matrices * if double_quant { 2 } else { 1 };
                operator.preparation = Some(Work::stream(stored + whole, launches));
                operator.forward_workspace += at_once;
                operator.backward_workspace += at_once;
            }
            // Integer products of quantized inputs forward, the whole matrix backward, and the input
            // is kept (bitsandbytes' `MatMul8bitLt`).
            BaseFormat::Int8 => {
                operator.preparation = Some(Work::stream(stored + whole, matrices));
                operator.forward_workspace += m * k + 4 * m * n;
                operator.backward_workspace += at_once;
                let input = operator.reads[0];
                operator.saves.push(input);
            }
            // Kernels that dequantize in registers (AutoGPTQ's Triton kernels).
            BaseFormat::Int4Group128 => {
                let products = [&mut operator.forward, &mut operator.backward_input];
                for work in products.into_iter().flatten() {
                    work.bytes += stored as f64 - whole as f64;
                }
            }
        }
    }

    /// Appends a frozen product and the adapter beside it; `again` is what it did to have its input
    /// once more in backward.
    fn add_adapter(&mut self, mut operator: Operator, again: (u64, Option<Collective>)) {
        let product = operator.product.expect("an adapted operator is a product");
        let (m, n, k, rank) = (product.m, product.n, product.k, self.adapters.rank);
        let size = self.context.size();
        let splits_columns = SPLIT_COLUMNS.contains(&operator.name);
        let outputs = std::mem::take(&mut operator.writes);
        let input = operator.reads[0];
        let output_bytes = m * n * size;
        let sum_bytes = outputs.iter().map(|id| self.tape.tensors[id.0].bytes).sum();
        let base = self.tape.tensor("base-output", sum_bytes);
        operator.writes = vec![base];
        self.tape.operators.push(operator);

        let (input, kept, workspace) = self.adapter_input(input, m * k);
        let inner = self.tape.tensor("adapter-inner", m * rank * size);
        let product = self.tape.tensor("adapter-output", output_bytes);
        let scaled = self.tape.tensor("adapter-scaled", output_bytes);
        let sums = self.context.tp > 1;
        let reduction =
            sums.then_some(Collective { kind: CollectiveKind::AllReduce, bytes: m * rank * size });
        let (again_bytes, again_collective) = again;
        let regathers = splits_columns && self.context.sequence_parallel && sums;

        let mut kept_a = self.weight_copy(rank * k);
        kept_a.extend((!regathers).then_some(kept));
        let operator = self.tape.operator("adapter-a", &[input], &[inner]);
        operator.saves(&kept_a).linear(m, rank, k, false, size);
        operator.forward_workspace = workspace;
        operator.backward_workspace = workspace + if regathers { again_bytes } else { 0 };
        // PEFT's split: A whole and B by rows beside split columns, A by columns and B whole beside
        // split rows (`tuners/lora/tp_layer.py`). The inner product's gradient, or the inner product,
        // is then a sum over ranks.
        if splits_columns {
            operator.backward_collective = reduction;
        } else {
            operator.forward_collective = reduction;
        }
        let mut kept_b = self.weight_copy(n * rank);
        kept_b.push(inner);
        let operator = self.tape.operator("adapter-b", &[inner], &[product]);
        operator.saves(&kept_b).linear(m, n, rank, false, size);
        if regathers {
            operator.backward_collective = again_collective;
            let way_in = self.gathers_again.expect("split columns come after the way in");
            let operator = &mut self.tape.operators[way_in];
            operator.saves = operator.reads.clone();
        }
        let scale = Work::stream(2 * output_bytes, 1);
        self.tape.operator("adapter-scale", &[product], &[scaled]).streams(scale, scale);
        let copies = matches!(self.adapters.base, Some(BaseFormat::FourBit { .. }));
        // bitsandbytes' 4-bit layers copy their output before PEFT adds to it.
        let (passes, launches) = if copies { (5, 2) } else { (3, 1) };
        let operator = self.tape.operator("adapter-sum", &[base, scaled], &outputs);
        operator.forward = Some(Work::stream(passes * output_bytes, launches));
        operator.gradient = GradientRule::Alias;
    }

    /// What A multiplies, the tensor that is kept for its gradient, and bytes of a copy on the way.
    fn adapter_input(&mut self, input: TensorId, elements: u64) -> (TensorId, TensorId, u64) {
        let compute = self.context.size();
        let mut size = self.tape.tensors[input.0].bytes / elements.max(1);
        let adapter = self.adapters.weights.bytes();
        // PEFT casts the input of a layer that is not quantized to the adapter's format; autocast
        // then makes a copy in the products' format for each adapter.
        let widens = adapter > size && self.adapters.base.is_none();
        let wide = if widens { adapter * elements } else { 0 };
        size = size.max(if widens { adapter } else { 0 });
        let mut input = input;
        if self.adapters.dropout {
            let dropped = self.tape.tensor("adapter-dropped", elements * size);
            let mask = self.tape.constant("dropout-mask", elements);
            let work = Work::stream(elements * (2 * size + 1), 1);
            let operator = self.tape.operator("adapter-dropout", &[input], &[dropped]);
            operator.saves(&[mask]).streams(work, work);
            operator.forward_workspace = wide;
            input = dropped;
        }
        let kept = if size > compute {
            self.tape.constant("autocast-input", elements * compute)
        } else {
            input
        };
        (input, kept, if self.adapters.dropout { 0 } else { wide })
    }

    /// Autocast's copy of an adapter's weight, where it makes one.
    fn weight_copy(&mut self, parameters: u64) -> Vec<TensorId> {
        if self.adapters.weights == self.context.recipe.compute {
            return Vec::new();
        }
        vec![self.tape.constant("autocast-weights", parameters * self.context.size())]
    }
}
