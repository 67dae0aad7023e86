//! The operators of a transformer: what each computes, reads, writes and saves for backward.
//!
//! A [`Tape`] is a straight list of operators over named tensors, forward order.
//! Memory and time both follow from it: [`crate::program`] derives when every tensor lives,
//! [`crate::cost`] how long every operator takes.
//!
//! Architecture invariant: sizes are those of one rank; tensor parallelism has been applied here
//! and nowhere else.

mod adapter;
mod base_format;
mod context;
mod dropout;
mod ends;
mod layer;
mod loss;
mod norm;
mod parameters;
mod serving;
mod soft_cap;
mod split;

pub use adapter::{Adapters, Targets};
pub use base_format::BaseFormat;
pub use context::{Append, Backend, CacheAccess, Context, Kernels};
pub use ends::{Tied, embedding_tape, head_tape};
pub use layer::layer_tape;
pub use parameters::{ByKind, ParameterKind, ParameterRole, ParameterTensor, Parameters};
pub use serving::{Answer, answer_tape};

use crate::hardware::measured::{AttentionPhase, AttentionShape, GemmShape};
use crate::trace::{Category, Phase};
use std::ops::Range;

/// A tensor of a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TensorId(pub usize);

/// A tensor on one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Key of its text: `tensor.<name>`.
    pub name: &'static str,
    pub bytes: u64,
    /// [`Category::Activations`] or [`Category::Logits`].
    pub category: Category,
    /// False for masks, statistics and indices: no gradient flows into them.
    pub differentiable: bool,
}

/// The unit of the device that does the arithmetic of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Matrix multiplication.
    Gemm,
    /// Fused attention.
    Attention,
    /// Everything bound by memory traffic.
    Vector,
}

/// Equal matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gemm {
    pub shape: GemmShape,
    /// How many of them.
    pub count: u64,
}

/// What an operator costs on one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    pub engine: Engine,
    /// Floating-point operations; a multiply-add counts as two.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
    /// Kernels launched.
    pub launches: f64,
    /// Its shape, where it is a product and nothing else.
    pub gemm: Option<Gemm>,
    /// Its shape, where it is attention over a paged cache.
    pub attention: Option<(AttentionPhase, AttentionShape)>,
}

impl Work {
    /// A product `[m, k] · [k, n]` of numbers of `size` bytes.
    pub fn gemm(m: u64, n: u64, k: u64, size: u64) -> Self {
        let shape = GemmShape { m, n, k };
        let (m, n, k) = (m as f64, n as f64, k as f64);
        Self {
            engine: Engine::Gemm,
            flops: 2.0 * m * n * k,
            bytes: (m * k + k * n + m * n) * size as f64,
            launches: 1.0,
            gemm: Some(Gemm { shape, count: 1 }),
            attention: None,
        }
    }

    /// An operation that is no plain product.
    pub const fn of(engine: Engine, flops: f64, bytes: f64, launches: f64) -> Self {
        Self { engine, flops, bytes, launches, gemm: None, attention: None }
    }

    /// An operation that streams `bytes` through `launches` kernels.
    pub fn stream(bytes: u64, launches: u64) -> Self {
        Self::of(Engine::Vector, 0.0, bytes as f64, launches as f64)
    }
}

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveKind {
    AllReduce,
    ReduceScatter,
    AllGather,
    /// Every rank of the expert-parallel group sends each other one a part of its rows.
    AllToAll,
    /// Every rank of the context-parallel group passes what it has on to the next, until all have
    /// seen everything.
    RingPass,
}

/// The ranks that a collective of a tape joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankGroup {
    /// Ranks that split each matrix.
    Tensor,
    /// Ranks that split the experts of a layer.
    Expert,
    /// Ranks that split each sequence.
    Context,
}

impl CollectiveKind {
    /// The phase that its spans belong to.
    pub const fn phase(self) -> Phase {
        match self {
            Self::AllReduce => Phase::AllReduce,
            Self::ReduceScatter => Phase::ReduceScatter,
            Self::AllGather => Phase::AllGather,
            Self::AllToAll => Phase::AllToAll,
            Self::RingPass => Phase::SendReceive,
        }
    }

    /// The ranks that it joins when a tape has it.
    pub const fn group(self) -> RankGroup {
        match self {
            Self::AllReduce | Self::ReduceScatter | Self::AllGather => RankGroup::Tensor,
            Self::AllToAll => RankGroup::Expert,
            Self::RingPass => RankGroup::Context,
        }
    }

    /// True for one that runs beside the kernel of its operator instead of before or after it.
    pub const fn runs_beside(self) -> bool {
        matches!(self, Self::RingPass)
    }
}

/// A collective with the size of the whole (gathered, unreduced) tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    pub kind: CollectiveKind,
    pub bytes: u64,
}

/// How gradients pass through an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradientRule {
    /// A new gradient for every differentiable input.
    Fresh,
    /// The output's gradient is the inputs' (a sum, a view): nothing is allocated.
    Alias,
    /// Written over the saved tensor (Megatron's cross-entropy).
    InPlaceOfSaved,
    /// Forward made the gradients of inputs and parameters: they are what is saved.
    MadeForward,
}

/// The sizes of a product `[m, k] · [k, n]` with a weight `[n, k]` on this rank, or of several with a
/// matrix for a part of the rows each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    pub m: u64,
    pub n: u64,
    pub k: u64,
    /// Matrices that share out the rows.
    pub matrices: u64,
}

/// One operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// Key of its text: `operation.<name>`.
    pub name: &'static str,
    pub reads: Vec<TensorId>,
    pub writes: Vec<TensorId>,
    /// What backward needs: some of `reads`, `writes`, or tensors that exist for backward alone.
    pub saves: Vec<TensorId>,
    /// Trainable parameters of this operator on this rank.
    pub parameters: u64,
    /// The tensors that they are in; those of a tied table are where its gradient is made.
    pub trainable: Vec<ParameterTensor>,
    /// Parameters that do not train.
    pub frozen: u64,
    /// Bytes of those as they are stored.
    pub frozen_bytes: u64,
    /// Bytes of a frozen table that an operator later in the model holds.
    pub frozen_shared_bytes: u64,
    /// Parameters whose gradient adds to one that an operator later in the model has made: an
    /// input embedding tied to the head.
    pub shared_parameters: u64,
    /// Parameters whose gradient is final after this operator: what data parallelism reduces.
    pub reduced_parameters: u64,
    /// Bytes of a number of the parameters' gradient as the kernel makes it.
    pub gradient_size: u64,
    /// The sizes, where it is one product with a weight.
    pub product: Option<Product>,
    /// Work ahead of the forward and of the backward kernels: weights made ready for them.
    pub preparation: Option<Work>,
    pub parameter_kind: ParameterKind,
    /// Equal parts that run one after another, as experts do in a loop: of the gradients that
    /// backward makes, one part exists at a time.
    pub parts: u64,
    pub forward: Option<Work>,
    /// The gradient of the inputs.
    pub backward_input: Option<Work>,
    /// The gradient of the parameters, where it is a kernel of its own.
    pub backward_weight: Option<Work>,
    /// Bytes needed only while the forward kernels run.
    pub forward_workspace: u64,
    /// Bytes needed only while the backward kernels run.
    pub backward_workspace: u64,
    pub forward_collective: Option<Collective>,
    pub backward_collective: Option<Collective>,
    pub gradient: GradientRule,
}

/// A straight list of operators, forward order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape {
    pub tensors: Vec<Tensor>,
    pub operators: Vec<Operator>,
    /// Comes from the previous tape, which allocated it; this tape frees it.
    pub input: Option<TensorId>,
    /// Goes to the next tape, which frees it.
    pub output: Option<TensorId>,
    /// Operators that are run again in backward under selective recomputation.
    pub attention_core: Range<usize>,
    /// Kept until the micro-batch's backward has ended, whoever saves it.
    pub retained: Vec<TensorId>,
}

impl Tape {
    /// A new tensor that carries a gradient.
    pub fn tensor(&mut self, name: &'static str, bytes: u64) -> TensorId {
        self.add(name, bytes, Category::Activations, true)
    }

    /// A new tensor without gradient: a mask, statistics, indices.
    pub fn constant(&mut self, name: &'static str, bytes: u64) -> TensorId {
        self.add(name, bytes, Category::Activations, false)
    }

    /// A new tensor over the vocabulary.
    pub fn logits(&mut self, name: &'static str, bytes: u64) -> TensorId {
        self.add(name, bytes, Category::Logits, true)
    }

    fn add(
        &mut self,
        name: &'static str,
        bytes: u64,
        category: Category,
        differentiable: bool,
    ) -> TensorId {
        self.tensors.push(Tensor { name, bytes, category, differentiable });
        TensorId(self.tensors.len() - 1)
    }

    /// Appends an operator and gives it back to be filled in.
    pub fn operator(
        &mut self,
        name: &'static str,
        reads: &[TensorId],
        writes: &[TensorId],
    ) -> &mut Operator {
        self.operators.push(Operator::new(name, reads, writes));
        self.operators.last_mut().expect("an operator was just added")
    }

    /// The parameters of all operators by kind, tied ones once.
    pub fn parameters(&self) -> ByKind<Parameters> {
        let mut all: ByKind<Parameters> = ByKind::default();
        for operator in &self.operators {
            let of_kind = all.of_mut(operator.parameter_kind);
            for tensor in &operator.trainable {
                of_kind.add_tensors(*tensor, 1);
            }
            of_kind.frozen += operator.frozen;
            of_kind.frozen_bytes += operator.frozen_bytes;
        }
        all
    }

    /// Bytes that forward leaves for backward: every saved tensor once, the tape's input included
    /// where an operator saves it.
    pub fn saved_bytes(&self) -> u64 {
        let mut saved: Vec<TensorId> =
            self.operators.iter().flat_map(|op| op.saves.iter().copied()).collect();
        saved.sort_unstable();
        saved.dedup();
        saved.iter().map(|id| self.tensors[id.0].bytes).sum()
    }

    /// Floating-point operations of forward.
    pub fn forward_flops(&self) -> f64 {
        self.operators.iter().filter_map(|op| op.forward).map(|work| work.flops).sum()
    }
}

impl Operator {
    /// An operator that is to be filled in.
    pub fn new(name: &'static str, reads: &[TensorId], writes: &[TensorId]) -> Self {
        Self {
            name,
            reads: reads.to_vec(),
            writes: writes.to_vec(),
            saves: Vec::new(),
            parameters: 0,
            trainable: Vec::new(),
            frozen: 0,
            frozen_bytes: 0,
            frozen_shared_bytes: 0,
            shared_parameters: 0,
            reduced_parameters: 0,
            gradient_size: 0,
            parameter_kind: ParameterKind::Common,
            parts: 1,
            product: None,
            preparation: None,
            forward: None,
            backward_input: None,
            backward_weight: None,
            forward_workspace: 0,
            backward_workspace: 0,
            forward_collective: None,
            backward_collective: None,
            gradient: GradientRule::Fresh,
        }
    }

    /// Sets what is saved for backward.
    pub fn saves(&mut self, tensors: &[TensorId]) -> &mut Self {
        self.saves = tensors.to_vec();
        self
    }

    /// Gives it parameters of its own, whose gradient comes in numbers of `size` bytes.
    pub fn trains(&mut self, tensors: &[ParameterTensor], size: u64) -> &mut Self {
        self.gradient_size = size;
        self.trainable = tensors.to_vec();
        self.parameters = tensors.iter().map(ParameterTensor::elements).sum();
        self.reduced_parameters = self.parameters;
        self
    }

    /// Makes it a matrix product `[m, k] · [k, n]` with a weight `[k, n]` on this rank: forward,
    /// input gradient and weight gradient are one product each.
    pub fn linear(&mut self, m: u64, n: u64, k: u64, bias: bool, size: u64) -> &mut Self {
        let tensors = [ParameterTensor::matrix(n, k), ParameterTensor::vector(n)];
        self.trains(&tensors[..if bias { 2 } else { 1 }], size);
        self.product = Some(Product { m, n, k, matrices: 1 });
        self.forward = Some(Work::gemm(m, n, k, size));
        self.backward_input = Some(Work::gemm(m, k, n, size));
        self.backward_weight = Some(Work::gemm(k, n, m, size));
        self
    }

    /// Makes it a memory-bound operation.
    pub fn streams(&mut self, forward: Work, backward: Work) -> &mut Self {
        self.forward = Some(forward);
        self.backward_input = Some(backward);
        self
    }
}
