//! The catalogue of models: ids, published counts, lookup by name.

mod builders;
mod table;

use super::shape::ModelShape;
use super::suggest;

pub use table::MODELS;

/// What a stored checkpoint holds beside its parameters, where its total is larger than the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredExtra {
    /// One causal mask of `max_sequence · max_sequence` entries per layer (GPT-2).
    CausalMasks,
    /// `head_dim / 2` rotary frequencies per layer (early Llama uploads).
    RotaryPerLayer,
    /// `head_dim / 4` rotary frequencies once: half of the channels rotate (GLM).
    RotaryOnce,
    /// The tied head written a second time, `vocab · hidden`.
    SecondHead,
    /// SigLIP's 416,866,032 parameters and a projector of 1152·H + 1152 (Gemma 3).
    VisionTower,
}

impl StoredExtra {
    /// The stored numbers that are not parameters of their own.
    ///
    /// ```
    /// use sim_core::model::catalog::{StoredExtra, find};
    /// let gpt2 = &find("gpt2").expect("listed").shape;
    /// assert_eq!(StoredExtra::CausalMasks.count(gpt2), 12 * 1024 * 1024);
    /// ```
    pub const fn count(self, shape: &ModelShape) -> u64 {
        match self {
            Self::CausalMasks => shape.layers * shape.max_sequence * shape.max_sequence,
            Self::RotaryPerLayer => shape.layers * (shape.attention.head_dim / 2),
            Self::RotaryOnce => shape.attention.head_dim / 4,
            Self::SecondHead => shape.vocab * shape.hidden,
            Self::VisionTower => 416_866_032 + 1152 * shape.hidden + 1152,
        }
    }
}

/// The number of values in a model's usual public checkpoint, where it is not the parameter count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredCount {
    pub values: u64,
    /// Why it is larger than the parameter count.
    pub extra: StoredExtra,
}

/// One model of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEntry {
    /// Stable id, lower case.
    pub id: &'static str,
    /// Other names that [`find`] accepts.
    pub aliases: &'static [&'static str],
    /// Name of the family, for grouping.
    pub family: &'static str,
    /// Name to show.
    pub name: &'static str,
    pub shape: ModelShape,
    /// Exact parameter count; a test holds [`ModelShape::total_params`] equal to it.
    pub params: u64,
    /// The exact count that its publisher's checkpoint confirms (buffers and copies taken out);
    /// `None` where only a rounded figure is public.
    pub published_params: Option<u64>,
    /// The raw total of the usual checkpoint, where it differs from the count.
    pub stored: Option<StoredCount>,
    /// Where the fields come from.
    pub source: &'static str,
}

/// Endings of checkpoint names that do not change the shape.
const SHAPELESS_ENDINGS: [&str; 6] = ["-hf", "-instruct", "-chat", "-base", "-it", "-uncased"];

/// The model called `name`, or `None`.
///
/// Case, an owner before `/`, and `_` or blanks for `-` make no difference; a hub name may keep its
/// `-hf`, `-Instruct`, `-Chat` or `-Base` and its `Meta-`.
///
/// ```
/// use sim_core::model::catalog::find;
/// assert_eq!(find("meta-llama/Llama-2-7b-hf").expect("listed").id, "llama-2-7b");
/// assert_eq!(find("Meta-Llama-3-8B-Instruct").expect("listed").id, "llama-3-8b");
/// assert!(find("llama-2-8b").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static ModelEntry> {
    let mut key = normalized(name)?;
    loop {
        let found = MODELS
            .iter()
            .find(|entry| entry.id == key || entry.aliases.iter().any(|alias| *alias == key));
        if found.is_some() {
            return found;
        }
        let shorter = SHAPELESS_ENDINGS
            .iter()
            .find_map(|ending| key.strip_suffix(ending))
            .or_else(|| key.strip_prefix("meta-"))?;
        key = shorter.to_owned();
    }
}

/// Up to `count` ids like `name`, nearest first: for a "did you mean".
///
/// ```
/// use sim_core::model::catalog::suggest;
/// assert_eq!(suggest("lama-2-7b", 1), ["llama-2-7b"]);
/// ```
pub fn suggest(name: &str, count: usize) -> Vec<&'static str> {
    let last_segment = name.rsplit('/').next().unwrap_or(name);
    suggest::nearest(last_segment, MODELS.iter().map(|entry| entry.id), count)
}

/// Longest name that is looked at, in bytes; no catalogue name comes near it.
const LONGEST_NAME: usize = 128;

fn normalized(name: &str) -> Option<String> {
    let last_segment = name.trim().rsplit('/').next()?;
    if last_segment.len() > LONGEST_NAME {
        return None;
    }
    Some(last_segment.to_lowercase().replace(['_', ' '], "-"))
}

#[cfg(test)]
mod tests {
    use super::{MODELS, find, suggest};

    #[test]
    fn every_shape_adds_up_to_its_count_and_to_the_published_one() {
        for entry in MODELS {
            let total = entry.shape.total_params();
            assert_eq!(total, entry.params, "{}", entry.id);
            assert_eq!(entry.published_params.unwrap_or(total), total, "{}", entry.id);
        }
    }

    #[test]
    fn every_stored_total_is_the_count_and_its_named_extra() {
        for entry in MODELS {
            if let Some(stored) = entry.stored {
                let extra = stored.extra.count(&entry.shape);
                assert_eq!(stored.values, entry.params + extra, "{}", entry.id);
            }
        }
    }

    #[test]
    fn megatron_shapes_give_the_papers_rounded_counts() {
        // Narayanan et al. 2021, Table 1, billions.
        for (id, billions) in [
            ("megatron-gpt-18b", 18.4),
            ("megatron-gpt-145b", 145.6),
            ("megatron-gpt-530b", 529.6),
            ("megatron-gpt-1t", 1008.0),
        ] {
            let params = find(id).expect("listed").params;
            assert!((params as f64 / 1e9 - billions).abs() < 0.06, "{id}: {params}");
        }
    }

    #[test]
    fn names_are_unique_and_find_their_own_entry() {
        let mut seen = Vec::new();
        for entry in MODELS {
            for name in std::iter::once(&entry.id).chain(entry.aliases) {
                assert!(!seen.contains(name), "{name} twice");
                assert_eq!(*name, name.to_lowercase());
                assert_eq!(find(name).map(|found| found.id), Some(entry.id));
                seen.push(name);
            }
            assert!(!entry.source.is_empty() && !entry.family.is_empty());
        }
    }

    #[test]
    fn hub_names_are_understood() {
        for (name, id) in [
            ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"),
            ("huggyllama/llama-30b", "llama-33b"),
            ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
            ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
            ("google-bert/bert-base-uncased", "bert-base"),
            ("bigscience/bloom", "bloom-176b"),
            ("facebook/opt-6.7b", "opt-6.7b"),
            ("microsoft/Phi-3-mini-4k-instruct", "phi-3-mini"),
            ("internlm/internlm2_5-7b-chat", "internlm2.5-7b"),
            ("THUDM/glm-4-9b-chat-hf", "glm-4-9b"),
            ("01-ai/Yi-1.5-34B-Chat", "yi-34b"),
            ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", "tinyllama-1.1b"),
            (" GPT 3 ", "gpt3-175b"),
        ] {
            assert_eq!(find(name).map(|entry| entry.id), Some(id), "{name}");
        }
    }

    #[test]
    fn no_query_panics_and_nonsense_finds_nothing() {
        for name in ["", "/", "-", "-hf", "meta-", "llama-2-7b-hf-", "模型", "\u{0}"] {
            assert!(find(name).is_none(), "{name:?}");
        }
        assert!(find(&"-hf".repeat(1_000_000)).is_none());
        assert_eq!(suggest("qwen2.5-7", 1), ["qwen2.5-7b"]);
        assert!(suggest("zzzzzz", 3).is_empty());
    }
}
