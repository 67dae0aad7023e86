//! Names of inference engines.

use super::{clean, quoted};
use serde_json::{Map, Value, json};

/// An engine of the scenario format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Vllm,
    /// PyTorch with Hugging Face Transformers' own `generate`.
    Transformers,
    LlamaCpp,
    TensorRtLlm,
}

impl Family {
    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Transformers => "hf",
            Self::LlamaCpp => "llama.cpp",
            Self::TensorRtLlm => "tensorrt-llm",
        }
    }

    /// Several GPUs hold layers one after another (`device_map`, llama.cpp's split by layer) instead
    /// of parts of every matrix.
    pub const fn splits_layers(self) -> bool {
        matches!(self, Self::Transformers | Self::LlamaCpp)
    }
}

/// An engine as a table names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    pub family: Family,
    /// Major and minor version: what Transformers keeps of a prompt depends on it (4.38 logits of
    /// every token, 4.45 and later the last one's).
    pub version: Option<(u32, u32)>,
    /// Weights are streamed from the host or a disk (DeepSpeed ZeRO-Inference).
    pub streams_weights: bool,
}

/// Words that name an engine, the more specific first.
const NAMES: [(&str, Family); 16] = [
    ("tensorrt-llm", Family::TensorRtLlm),
    ("trt-llm", Family::TensorRtLlm),
    ("trtllm-bench", Family::TensorRtLlm),
    ("llama.cpp", Family::LlamaCpp),
    ("llama-bench", Family::LlamaCpp),
    ("ollama", Family::LlamaCpp),
    ("vllm", Family::Vllm),
    ("zero-inference", Family::Transformers),
    ("transformers", Family::Transformers),
    ("accelerate", Family::Transformers),
    ("autogptq", Family::Transformers),
    ("hf generate", Family::Transformers),
    ("hf/pytorch", Family::Transformers),
    ("hf", Family::Transformers),
    ("peft", Family::Transformers),
    ("web_demo", Family::Transformers),
];

/// Engines of their own whose names contain one of the words above.
const OTHERS: [&str; 14] = [
    "exllama",
    "gptq-for-llama",
    "autoawq",
    "mlc",
    "litgpt",
    "lit-gpt",
    "ktransformers",
    "tgi",
    "aphrodite",
    "lmdeploy",
    "sglang",
    "powerinfer",
    "fastertransformer",
    "uvm",
];

/// Signs of two engines at once, or of other kernels within one.
const MIXED: [&str; 3] = [" vs ", "trt/ft", "kernels"];

/// The engine that a table calls `name`.
///
/// # Errors
/// The reason why it is none of the scenario format.
pub fn engine(name: &str) -> Result<Engine, String> {
    let lower = clean(name);
    // What runs stands first, libraries behind it.
    let whole = name.to_lowercase();
    let first = whole.split('+').next().unwrap_or("");
    let unknown = || {
        // Without versions and options, so that reasons stay few.
        let short = lower.split([',', '+']).next().unwrap_or("").trim();
        let end = short.find(|c: char| c.is_ascii_digit()).unwrap_or(short.len());
        format!("engine: {}", quoted(short[..end].trim()))
    };
    let other = OTHERS.iter().any(|other| first.contains(other));
    if other || MIXED.iter().any(|sign| whole.contains(sign)) {
        return Err(unknown());
    }
    let named = |text: &str| NAMES.iter().find(|(word, _)| contains_word(text, word));
    let (word, family) = named(first).or_else(|| named(&whole)).ok_or_else(unknown)?;
    Ok(Engine {
        family: *family,
        version: version_after(&whole, word),
        streams_weights: *word == "zero-inference",
    })
}

fn contains_word(text: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        let (before, after) =
            (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        !inside(before) && !inside(after)
    })
}

/// `4.46.0` behind the word as (4, 46).
fn version_after(text: &str, word: &str) -> Option<(u32, u32)> {
    let behind = text.split_once(word)?.1.trim_start();
    let mut parts = behind.split(|c: char| !c.is_ascii_digit());
    let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    behind[..].starts_with(|c: char| c.is_ascii_digit()).then_some((major, minor))
}

impl Engine {
    /// The engine's fields in `workload`; the version where it makes a difference.
    pub fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("engine".to_owned(), json!(self.family.name()));
        if let (Family::Transformers, Some((major, minor))) = (self.family, self.version) {
            fields.insert("engine_version".to_owned(), json!(format!("{major}.{minor}")));
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_known() {
        for (name, family, version) in [
            ("Transformers 4.46.0 + FA2 2.5.8", Family::Transformers, Some((4, 46))),
            ("Transformers (PyTorch 2.0.1)", Family::Transformers, None),
            ("HF Transformers + accelerate (+bitsandbytes)", Family::Transformers, None),
            ("AutoGPTQ / HF generate", Family::Transformers, None),
            ("HF", Family::Transformers, None),
            ("Transformers 4.51 + AutoAWQ", Family::Transformers, Some((4, 51))),
            ("vLLM 0.6.3", Family::Vllm, Some((0, 6))),
            ("vLLM V0 (2025-02)", Family::Vllm, None),
            ("llama.cpp llama-bench (May 2024)", Family::LlamaCpp, None),
            ("ollama 0.5 (2024-12)", Family::LlamaCpp, Some((0, 5))),
            ("TensorRT-LLM 0.17 (trtllm-bench)", Family::TensorRtLlm, Some((0, 17))),
            ("TensorRT-LLM 0.14 + Triton", Family::TensorRtLlm, Some((0, 14))),
        ] {
            let got = engine(name).expect(name);
            assert_eq!((got.family, got.version), (family, version), "{name}");
        }
        assert!(engine("DeepSpeed ZeRO-Inference 0.7").is_ok_and(|engine| engine.streams_weights));
    }

    #[test]
    fn other_engines_are_a_reason_without_a_version() {
        for (name, reason) in [
            ("exllama v1", "engine: exllama v"),
            ("FasterTransformer", "engine: fastertransformer"),
            ("SGLang 0.4.6.post1", "engine: sglang"),
            ("KTransformers 0.2.1", "engine: ktransformers"),
            ("GPTQ-for-LLaMa / bitsandbytes", "engine: gptq-for-llama / bitsandbytes"),
            ("SGLang vs vLLM (2025-02)", "engine: sglang vs vllm"),
            ("Triton TRT/FT", "engine: triton trt/ft"),
            ("AutoAWQ + IPEX", "engine: autoawq"),
            ("HF + GPTQ kernels", "engine: hf"),
            ("", "engine: "),
        ] {
            assert_eq!(engine(name), Err(reason.to_owned()));
        }
    }
}
