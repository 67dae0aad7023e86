//! What all dialects share: fields with class defaults, head sizes, windows, activations.

use super::super::error::ImportError;
use super::super::fields::{Object, shortened};
use super::super::note::{ImportNote, NoteKind};
use super::super::refusal::{Inexpressible, unsupported};
use crate::model::limits::{self, CountRange};
use crate::model::module::Module;
use crate::model::shape::{
    Activation, Architecture, Attention, Mlp, ModelShape, NormKind, NormPlacement, Positions,
    SlidingWindow,
};

/// A decoder's context at or below this many tokens is usually an edited copy.
const SHORT_CONTEXT: u64 = 512;

/// The object being read, and the notes about it.
pub(super) struct Reader<'a, 'n> {
    pub(super) config: &'a Object<'a>,
    pub(super) notes: &'n mut Vec<ImportNote>,
}

/// The names under which a dialect writes the common sizes; the first is the usual one.
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

/// The sizes that every dialect has.
pub(super) struct Sizes {
    pub(super) layers: u64,
    pub(super) hidden: u64,
    pub(super) heads: u64,
    pub(super) head_dim: u64,
    pub(super) vocab: u64,
}

/// When a `sliding_window` that is written counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowRule {
    /// The class has none.
    Never,
    /// Whenever it is there.
    Written,
    /// As `Written`, and a file without the field means this many tokens.
    Default(u64),
    /// Only with `use_sliding_window: true`, from layer `max_window_layers` on.
    Switched,
}

/// Where a bias comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bias {
    Never,
    Always,
    /// This field says so; missing means the second value.
    Field(&'static str, bool),
}

impl Reader<'_, '_> {
    pub(super) fn note(&mut self, name: &str, kind: NoteKind) {
        self.notes.push(ImportNote::new(self.config.path_of(name), kind));
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

    /// A flag that files leave out so often that its default needs no note.
    pub(super) fn bias(&mut self, bias: Bias) -> Result<bool, ImportError> {
        match bias {
            Bias::Never => Ok(false),
            Bias::Always => Ok(true),
            Bias::Field(name, default) => Ok(self.config.flag(name)?.unwrap_or(default)),
        }
    }

    /// Sizes of a class whose heads are hidden / heads wide unless the file says otherwise.
    pub(super) fn sizes(&mut self, names: &Names) -> Result<Sizes, ImportError> {
        self.sizes_with_head_dim(names, None)
    }

    /// As [`Reader::sizes`]; a file without a head width means `default`, where there is one.
    pub(super) fn sizes_with_head_dim(
        &mut self,
        names: &Names,
        default: Option<u64>,
    ) -> Result<Sizes, ImportError> {
        let layers = self.config.required(names.layers, limits::LAYERS)?;
        let hidden = self.config.required(names.hidden, limits::HIDDEN)?;
        let heads = self.config.required(names.heads, limits::HEADS)?;
        let vocab = self.config.required(names.vocab, limits::VOCAB)?;
        let written = self.config.count(&["head_dim", "kv_channels"], limits::HEAD_DIM)?;
        let head_dim = match written.or(default) {
            Some(head_dim) => self.or_default("head_dim", written, head_dim),
            None if hidden.is_multiple_of(heads) => hidden / heads,
            None => {
                return Err(ImportError::Inconsistent {
                    field: self.config.path_of(names.heads[0]),
                    value: heads.to_string(),
                    rule: "does not divide the hidden size, and `head_dim` is missing",
                });
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
        let accepted = CountRange { min: 1, max: heads };
        let written = self.config.count(names, accepted)?;
        let kv_heads = self.or_default(names[0], written, heads);
        if !heads.is_multiple_of(kv_heads) {
            return Err(ImportError::Inconsistent {
                field: self.config.path_of(names[0]),
                value: kv_heads.to_string(),
                rule: "does not divide the number of attention heads",
            });
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

    /// The active window, in tokens.
    ///
    /// Windows on some layers only are refused: one shape describes every layer.
    pub(super) fn window(
        &mut self,
        rule: WindowRule,
        layers: u64,
        max_sequence: u64,
    ) -> Result<Option<SlidingWindow>, ImportError> {
        const NAME: &str = "sliding_window";
        if rule == WindowRule::Never {
            return Ok(None);
        }
        let written = match rule {
            WindowRule::Default(tokens) if !self.config.writes(NAME) => {
                Some(self.or_default(NAME, None, tokens))
            }
            _ => self.config.count(&[NAME], limits::MAX_SEQUENCE)?,
        };
        let Some(tokens) = written else { return Ok(None) };
        let first_type = self.config.first_text("layer_types")?;
        let switched_on = match rule {
            WindowRule::Switched => self.config.flag("use_sliding_window")?.unwrap_or(false),
            _ => self.config.flag("use_sliding_window")?.unwrap_or(true),
        };
        let skipped = match rule {
            WindowRule::Switched if first_type.is_none() => {
                self.config.count(&["max_window_layers"], CountRange { min: 0, max: u64::MAX })?
            }
            _ => None,
        };
        let no_layer = first_type == Some("full_attention")
            || skipped.is_some_and(|skipped| skipped >= layers);
        if !switched_on || no_layer || tokens >= max_sequence {
            self.note(NAME, NoteKind::WindowInactive { tokens });
            return Ok(None);
        }
        if let Some(skipped) = skipped.filter(|&skipped| skipped > 0) {
            let reason = Inexpressible::MixedLayers;
            let value = skipped.to_string();
            return Err(unsupported(self.config, "max_window_layers", value, reason));
        }
        Ok(Some(SlidingWindow { tokens, full_every: None }))
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
        match text {
            "silu" | "swish" | "swiglu" => Ok(Activation::Silu),
            // `gelu_pytorch_tanh` is the tanh form in one fused kernel: it costs what GELU costs.
            "gelu" | "gelu_pytorch_tanh" | "gelu_python" => Ok(Activation::Gelu),
            "gelu_new" | "gelu_fast" => Ok(Activation::GeluTanh),
            "relu" => Ok(Activation::Relu),
            _ => {
                let reason = Inexpressible::UnknownActivation;
                Err(unsupported(self.config, name, shortened(text), reason))
            }
        }
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
