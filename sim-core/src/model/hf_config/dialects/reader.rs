//! What all dialects share: fields with class defaults, head sizes, activations.

use super::super::error::ImportError;
use super::super::fields::{Object, shortened};
use super::super::note::{ImportNote, NoteKind};
use super::super::refusal::{Inexpressible, unsupported};
use crate::model::limits::{self, CountRange};
use crate::model::module::Module;
use crate::model::shape::{
    Activation, Architecture, Attention, Mlp, ModelShape, NormKind, NormPlacement, Positions,
};

/// A decoder's context at or below this many tokens is usually an edited copy.
const SHORT_CONTEXT: u64 = 512;

/// The object being read, and the notes about it.
pub(super) struct Reader<'a, 'n> {
    pub(super) config: &'a Object<'a>,
    /// The file around a nested part.
    pub(super) outer: Option<&'a Object<'a>>,
    /// A part whose writer leaves out what equals the defaults of its class.
    pub(super) omits_defaults: bool,
    pub(super) notes: &'n mut Vec<ImportNote>,
}

/// The names under which a dialect writes the common sizes; the first is the usual one.
#[derive(Clone, Copy)]
pub(super) struct Names {
    pub(super) layers: &'static [&'static str],
    pub(super) hidden: &'static [&'static str],
    pub(super) heads: &'static [&'static str],
    pub(super) vocab: &'static [&'static str],
}

/// Names of most classes.
pub(super) const USUAL_NAMES: Names = Names {
    layers: &["num_hidden_layers"],
    hidden: &["hidden_size"],
    heads: &["num_attention_heads"],
    vocab: &["vocab_size"],
};

/// The default sizes of a class in `transformers`, which its nested parts leave out.
#[derive(Clone, Copy)]
pub(super) struct ClassSizes {
    pub(super) layers: u64,
    pub(super) hidden: u64,
    pub(super) heads: u64,
    pub(super) ffn: u64,
    pub(super) vocab: u64,
}

/// The width of a head where the file does not write `head_dim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadDim {
    /// The stream over the heads.
    Derived,
    /// This many channels.
    Default(u64),
    /// This many channels, whatever the file writes.
    Fixed(u64),
}

/// The sizes that every dialect has.
pub(super) struct Sizes {
    pub(super) layers: u64,
    pub(super) hidden: u64,
    pub(super) heads: u64,
    pub(super) head_dim: u64,
    pub(super) vocab: u64,
}

/// Where a bias or a norm comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    Never,
    Always,
    /// This field says so; missing means the second value.
    Field(&'static str, bool),
}

impl Reader<'_, '_> {
    pub(super) fn note(&mut self, name: &str, kind: NoteKind) {
        self.notes.push(ImportNote::new(self.config.path_of(name), kind));
    }

    pub(super) fn unsupported(
        &self,
        name: &str,
        value: impl ToString,
        reason: Inexpressible,
    ) -> ImportError {
        unsupported(self.config, name, value.to_string(), reason)
    }

    pub(super) fn inconsistent(
        &self,
        name: &str,
        value: impl ToString,
        rule: &'static str,
    ) -> ImportError {
        ImportError::Inconsistent {
            field: self.config.path_of(name),
            value: value.to_string(),
            rule,
        }
    }

    /// The value, or the class default with a note about it.
    pub(super) fn or_default<T: ToString>(
        &mut self,
        name: &str,
        value: Option<T>,
        default: T,
    ) -> T {
        value.unwrap_or_else(|| {
            self.note(name, NoteKind::ClassDefault { value: default.to_string() });
            default
        })
    }

    pub(super) fn flag_or(&mut self, name: &str, default: bool) -> Result<bool, ImportError> {
        let value = self.config.flag(name)?;
        Ok(self.or_default(name, value, default))
    }

    pub(super) fn count_or(
        &mut self,
        names: &[&'static str],
        accepted: CountRange,
        default: u64,
    ) -> Result<u64, ImportError> {
        let value = self.config.count(names, accepted)?;
        Ok(self.or_default(names[0], value, default))
    }

    /// A flag that files leave out so often that its default needs no note.
    pub(super) fn switch(&self, switch: Switch) -> Result<bool, ImportError> {
        match switch {
            Switch::Never => Ok(false),
            Switch::Always => Ok(true),
            Switch::Field(name, default) => Ok(self.config.flag(name)?.unwrap_or(default)),
        }
    }

    /// Refuses a file whose flag `name` is `value`.
    pub(super) fn refuse_flag(
        &self,
        name: &str,
        value: bool,
        reason: Inexpressible,
    ) -> Result<(), ImportError> {
        match self.config.flag(name)? {
            Some(written) if written == value => Err(self.unsupported(name, value, reason)),
            _ => Ok(()),
        }
    }

    /// One head matrix with the embedding; of a nested part the file around it may say so.
    pub(super) fn tied(&mut self, default: bool) -> Result<bool, ImportError> {
        const NAME: &str = "tie_word_embeddings";
        let around = match self.outer {
            Some(outer) => outer.flag(NAME)?,
            None => None,
        };
        let value = self.config.flag(NAME)?.or(around);
        Ok(self.or_default(NAME, value, default))
    }

    /// A size that must be written, but for parts that omit their `class` default.
    pub(super) fn size(
        &mut self,
        names: &'static [&'static str],
        accepted: CountRange,
        class: Option<u64>,
    ) -> Result<u64, ImportError> {
        match class.filter(|_| self.omits_defaults) {
            Some(default) => self.count_or(names, accepted, default),
            None => self.config.required(names, accepted),
        }
    }

    /// Sizes of a class whose heads are hidden / heads wide unless the file says otherwise.
    pub(super) fn sizes(&mut self, names: &Names) -> Result<Sizes, ImportError> {
        self.sizes_of_class(names, HeadDim::Derived, None)
    }

    /// As [`Reader::sizes`], with what the class says of heads and of missing sizes.
    pub(super) fn sizes_of_class(
        &mut self,
        names: &Names,
        head_dim: HeadDim,
        class: Option<ClassSizes>,
    ) -> Result<Sizes, ImportError> {
        let of = |pick: fn(ClassSizes) -> u64| class.map(pick);
        let layers = self.size(names.layers, limits::LAYERS, of(|class| class.layers))?;
        let hidden = self.size(names.hidden, limits::HIDDEN, of(|class| class.hidden))?;
        let heads = self.size(names.heads, limits::HEADS, of(|class| class.heads))?;
        let vocab = self.size(names.vocab, limits::VOCAB, of(|class| class.vocab))?;
        let written = self.config.count(&["head_dim", "kv_channels"], limits::HEAD_DIM)?;
        let head_dim = match (head_dim, written) {
            (HeadDim::Fixed(width), _) => width,
            (_, Some(width)) => width,
            (HeadDim::Default(width), None) => self.or_default("head_dim", None, width),
            (HeadDim::Derived, None) if hidden.is_multiple_of(heads) => hidden / heads,
            (HeadDim::Derived, None) => {
                let rule = "does not divide the hidden size, and `head_dim` is missing";
                return Err(self.inconsistent(names.heads[0], heads, rule));
            }
        };
        Ok(Sizes { layers, hidden, heads, head_dim, vocab })
    }

    /// Key-value heads under the first of `names`; missing means as many as query heads.
    pub(super) fn kv_heads(
        &mut self,
        names: &[&'static str],
        heads: u64,
    ) -> Result<u64, ImportError> {
        self.kv_heads_of_class(names, heads, heads)
    }

    /// As [`Reader::kv_heads`] in a class with a `default` of its own.
    pub(super) fn kv_heads_of_class(
        &mut self,
        names: &[&'static str],
        heads: u64,
        default: u64,
    ) -> Result<u64, ImportError> {
        let kv_heads = self.count_or(names, CountRange { min: 1, max: heads }, default)?;
        if !heads.is_multiple_of(kv_heads) {
            let rule = "does not divide the number of attention heads";
            return Err(self.inconsistent(names[0], kv_heads, rule));
        }
        Ok(kv_heads)
    }

    pub(super) fn max_sequence(
        &mut self,
        names: &[&'static str],
        default: u64,
    ) -> Result<u64, ImportError> {
        let written = self.config.count(names, limits::MAX_SEQUENCE)?;
        if let Some(tokens) = written.filter(|&tokens| tokens <= SHORT_CONTEXT) {
            let name = names.iter().find(|name| self.config.has(name)).unwrap_or(&names[0]);
            self.note(name, NoteKind::ContextLooksEdited { tokens });
        }
        Ok(self.or_default(names[0], written, default))
    }

    /// Layers beside the model that predict further tokens: in the file, not in the count.
    pub(super) fn note_next_token_layers(&mut self) -> Result<(), ImportError> {
        const NAME: &str = "num_nextn_predict_layers";
        let accepted = CountRange { min: 0, max: limits::LAYERS.max };
        if let Some(layers) = self.config.count(&[NAME], accepted)?.filter(|&layers| layers > 0) {
            self.note(NAME, NoteKind::NextTokenLayersNotCounted { layers });
        }
        Ok(())
    }

    /// The activation under the first of `names` that is present.
    pub(super) fn activation(
        &mut self,
        names: &[&'static str],
        default: &'static str,
    ) -> Result<Activation, ImportError> {
        let mut found = None;
        for &name in names {
            if let Some(text) = self.config.text(name)? {
                found = Some((name, text));
                break;
            }
        }
        let (name, text) = match found {
            Some(found) => found,
            None => {
                self.note(names[0], NoteKind::ClassDefault { value: default.to_owned() });
                (names[0], default)
            }
        };
        activation_called(text).ok_or_else(|| {
            self.unsupported(name, shortened(text), Inexpressible::UnknownActivation)
        })
    }
}

/// The activation of a name in `transformers`' table.
pub(super) fn activation_called(text: &str) -> Option<Activation> {
    match text {
        "silu" | "swish" | "swiglu" => Some(Activation::Silu),
        // `gelu_pytorch_tanh` is the tanh form in one fused kernel: it costs what GELU costs.
        "gelu" | "gelu_pytorch_tanh" | "gelu_python" => Some(Activation::Gelu),
        "gelu_new" | "gelu_fast" => Some(Activation::GeluTanh),
        "relu" => Some(Activation::Relu),
        "relu2" | "squared_relu" => Some(Activation::SquaredRelu),
        _ => None,
    }
}

/// A pre-norm decoder with full multi-head attention and without biases, to be filled in.
pub(super) fn plain_decoder(sizes: &Sizes, mlp: Mlp, max_sequence: u64) -> ModelShape {
    ModelShape {
        architecture: Architecture::Decoder,
        layers: sizes.layers,
        encoder_layers: 0,
        hidden: sizes.hidden,
        attention: Attention {
            heads: sizes.heads,
            kv_heads: sizes.heads,
            head_dim: sizes.head_dim,
            qkv_bias: false,
            output_bias: false,
            qk_norm: false,
            sinks: false,
            sliding_window: None,
            latent: None,
        },
        mlp,
        experts: None,
        vocab: sizes.vocab,
        norm: NormKind::Rms,
        norm_placement: NormPlacement::Pre,
        positions: Positions::Rope,
        token_types: 0,
        embedding_norm: false,
        final_norm: true,
        tied_embeddings: false,
        lm_head: true,
        pooler: false,
        mlm_head: false,
        module: Module::LLAMA,
        max_sequence,
    }
}
