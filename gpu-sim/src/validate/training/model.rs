//! The model of a row: a catalogue model, a variation of one, or a configuration of its family.

use super::sources::Source;
use crate::validate::fields::{Fields, Reason, incomplete};
use serde_json::{Value, json};
use sim_core::model::catalog::{MODELS, ModelEntry};
use sim_core::model::{Architecture, ModelShape};

/// The numbers that a row gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Numbers {
    layers: Option<u64>,
    hidden: Option<u64>,
    heads: Option<u64>,
    kv_heads: Option<u64>,
    ffn: Option<u64>,
    vocab: Option<u64>,
}

/// How a dense model that is not in the catalogue is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// Numbers replaced in a catalogue model of the same layer.
    Preset(&'static str),
    /// A `config.json` of this `model_type`.
    Config(&'static str),
}

/// Beginnings of names, in lower case without marks, and the family; the first that fits.
const FAMILIES: &[(&str, Family)] = &[
    ("gptoss", Family::Preset("gpt-oss-20b")),
    ("gpt", Family::Preset("megatron-gpt-22b")),
    ("mingpt", Family::Preset("megatron-gpt-22b")),
    ("mtnlg", Family::Preset("megatron-gpt-22b")),
    // llm-foundry's yamls: learned positions and biases, as its NumParams column counts (tested).
    ("mpt", Family::Preset("megatron-gpt-22b")),
    ("llama32", Family::Preset("llama-3.2-1b")),
    ("llama", Family::Preset("llama-2-7b")),
    ("tinyllama", Family::Preset("llama-2-7b")),
    ("mistral", Family::Preset("llama-2-7b")),
    ("yi", Family::Preset("llama-2-7b")),
    ("qwen3", Family::Preset("qwen3-8b")),
    // Qwen 1 has the layer of Qwen 2.5: biases on query, key and value, no sharing of heads.
    ("qwen", Family::Preset("qwen2.5-7b")),
    ("bloom", Family::Preset("bloom-7b1")),
    ("opt", Family::Preset("opt-6.7b")),
    ("bert", Family::Preset("bert-large")),
    ("santacoder", Family::Config("gpt_bigcode")),
    ("starcoder", Family::Config("gpt_bigcode")),
    ("stablelm", Family::Config("gpt_neox")),
    ("pythia", Family::Config("gpt_neox")),
    ("gptneox", Family::Config("gpt_neox")),
    ("falcon", Family::Config("falcon")),
    ("phi", Family::Config("phi")),
    ("gemma", Family::Config("gemma")),
];

/// The `model` of the scenario.
///
/// # Errors
/// When the row does not say which model, or leaves out a number that decides it.
pub fn scenario_model(row: Fields<'_>, source: &Source) -> Result<Value, Reason> {
    let name = row.text("model.name")?.unwrap_or_default();
    let numbers = Numbers {
        layers: row.degree("model.layers")?,
        hidden: row.degree("model.hidden")?,
        heads: row.degree("model.heads")?,
        kv_heads: row.degree("model.kv_heads")?,
        ffn: row.degree("model.ffn")?,
        vocab: row.degree("model.vocab")?.or(source.vocab),
    };
    if let Some(entry) = named(name)
        && numbers.agree(&entry.shape)
    {
        let layers = numbers.layers.ok_or_else(|| incomplete("model.layers"))?;
        return Ok(cut(entry, layers));
    }
    let numbers = numbers.complete()?;
    if let Some(entry) = numbered(&numbers, name) {
        return Ok(json!(entry.id));
    }
    let squeezed = squeezed(name);
    let family = FAMILIES.iter().find(|(beginning, _)| squeezed.starts_with(beginning));
    match family {
        Some((_, Family::Preset(base))) => Ok(preset(base, &numbers)),
        Some((_, Family::Config(kind))) => Ok(config(kind, &numbers)),
        None => Err("incomplete: model family".to_owned()),
    }
}

impl Numbers {
    /// True where nothing that is given contradicts `shape`, the number of layers left out.
    ///
    /// With experts, `ffn` means the dense layers' or an expert's width, by source.
    fn agree(&self, shape: &ModelShape) -> bool {
        let equal = |given: Option<u64>, of: u64| given.is_none_or(|given| given == of);
        let expert = shape.experts.map_or(shape.mlp.ffn, |experts| experts.ffn);
        equal(self.hidden, shape.hidden)
            && equal(self.heads, shape.attention.heads)
            && equal(self.kv_heads, shape.attention.kv_heads)
            && (equal(self.ffn, shape.mlp.ffn) || equal(self.ffn, expert))
            && equal(self.vocab, shape.vocab)
    }

    /// Itself, when all numbers of a dense layer are there.
    fn complete(self) -> Result<Self, Reason> {
        for (given, field) in [
            (self.layers, "model.layers"),
            (self.hidden, "model.hidden"),
            (self.heads, "model.heads"),
            (self.kv_heads, "model.kv_heads"),
            (self.ffn, "model.ffn"),
            (self.vocab, "model.vocab"),
        ] {
            given.ok_or_else(|| incomplete(field))?;
        }
        Ok(self)
    }
}

/// A name in lower case without marks, and without what stands in brackets behind it.
fn squeezed(name: &str) -> String {
    let bare = name.split(" (").next().unwrap_or_default();
    bare.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

/// The catalogue model of a name.
fn named(name: &str) -> Option<&'static ModelEntry> {
    let wanted = squeezed(name);
    MODELS.iter().find(|entry| {
        std::iter::once(&entry.id).chain(entry.aliases).any(|id| squeezed(id) == wanted)
    })
}

/// The dense catalogue model with exactly these numbers, of a family that the name does not deny.
fn numbered(numbers: &Numbers, name: &str) -> Option<&'static ModelEntry> {
    let first = squeezed(name).chars().next()?;
    MODELS.iter().find(|entry| {
        entry.shape.experts.is_none()
            && entry.shape.architecture == Architecture::Decoder
            && numbers.layers == Some(entry.shape.layers)
            && numbers.agree(&entry.shape)
            && (entry.id.starts_with(first) || first == 'g' && entry.family.contains("GPT"))
    })
}

/// A catalogue model with its first `layers` layers.
fn cut(entry: &ModelEntry, layers: u64) -> Value {
    if layers == entry.shape.layers {
        return json!(entry.id);
    }
    let first_dense = entry.shape.experts.map_or(0, |experts| experts.first_dense);
    match entry.shape.attention.latent {
        // A model cut short for a measurement keeps one dense layer.
        Some(_) if first_dense > 1 => deepseek(&entry.shape, layers),
        _ => json!({"preset": entry.id, "layers": layers}),
    }
}

/// DeepSeek's configuration of a shape, with one dense layer.
fn deepseek(shape: &ModelShape, layers: u64) -> Value {
    let (Some(latent), Some(experts)) = (shape.attention.latent, shape.experts) else {
        return Value::Null;
    };
    json!({"hf_config": {
        "model_type": "deepseek_v3",
        "num_hidden_layers": layers,
        "hidden_size": shape.hidden,
        "num_attention_heads": shape.attention.heads,
        "num_key_value_heads": shape.attention.heads,
        "q_lora_rank": latent.query_rank,
        "kv_lora_rank": latent.kv_rank,
        "qk_nope_head_dim": latent.nope_dim,
        "qk_rope_head_dim": latent.rope_dim,
        "v_head_dim": latent.value_dim,
        "intermediate_size": shape.mlp.ffn,
        "moe_intermediate_size": experts.ffn,
        "n_routed_experts": experts.count,
        "num_experts_per_tok": experts.active,
        "n_shared_experts": experts.shared_ffn / experts.ffn.max(1),
        "first_k_dense_replace": 1,
        "moe_layer_freq": experts.every,
        "scoring_func": "sigmoid",
        "topk_method": "noaux_tc",
        "vocab_size": shape.vocab,
        "max_position_embeddings": shape.max_sequence,
        "tie_word_embeddings": shape.tied_embeddings,
    }})
}

fn preset(base: &str, numbers: &Numbers) -> Value {
    json!({
        "preset": base, "layers": numbers.layers, "hidden": numbers.hidden,
        "heads": numbers.heads, "kv_heads": numbers.kv_heads, "ffn": numbers.ffn,
        "vocab": numbers.vocab,
    })
}

/// A `config.json` of a family that the catalogue does not have.
fn config(kind: &str, numbers: &Numbers) -> Value {
    let mut config = json!({
        "model_type": kind,
        "num_hidden_layers": numbers.layers, "hidden_size": numbers.hidden,
        "num_attention_heads": numbers.heads, "num_key_value_heads": numbers.kv_heads,
        "intermediate_size": numbers.ffn, "vocab_size": numbers.vocab,
        "max_position_embeddings": 2048,
    });
    let more = match kind {
        "gpt_bigcode" => json!({
            "n_layer": numbers.layers, "n_embd": numbers.hidden, "n_head": numbers.heads,
            "n_inner": numbers.ffn, "n_positions": 2048,
            "multi_query": numbers.kv_heads == Some(1),
        }),
        "falcon" => json!({
            "new_decoder_architecture": numbers.kv_heads != Some(1),
            "multi_query": numbers.kv_heads == Some(1), "num_kv_heads": numbers.kv_heads,
            "ffn_hidden_size": numbers.ffn,
        }),
        "gemma" => json!({"head_dim": 256, "max_position_embeddings": 8192}),
        _ => json!({}),
    };
    if let (Some(config), Some(more)) = (config.as_object_mut(), more.as_object()) {
        config.extend(more.clone());
    }
    json!({"hf_config": config})
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::scenario::Scenario;

    fn model(value: Value) -> Result<Value, Reason> {
        let row = json!({ "model": value });
        scenario_model(Fields(&row), Source::find("simumax").expect("listed"))
    }

    fn gpt(layers: u64, hidden: u64, heads: u64, vocab: u64) -> Value {
        json!({"name": "GPT", "layers": layers, "hidden": hidden, "heads": heads,
               "kv_heads": heads, "ffn": 4 * hidden, "vocab": vocab})
    }

    #[test]
    fn names_and_numbers_find_catalogue_models() {
        let llama = json!({"name": "llama3-70b (12 layers)", "layers": 12, "hidden": 8192,
            "heads": 64, "kv_heads": 8, "ffn": 28672, "vocab": 128256});
        assert_eq!(model(llama), Ok(json!({"preset": "llama-3-70b", "layers": 12})));
        let mistral = json!({"name": "Mistral-7B", "layers": 32, "hidden": 4096, "heads": 32,
            "kv_heads": 8, "ffn": 14336, "vocab": 32000});
        assert_eq!(model(mistral), Ok(json!("mistral-7b-v0.1")));
        assert_eq!(model(gpt(48, 6144, 64, 51200)), Ok(json!("megatron-gpt-22b")));
        let experts = json!({"name": "Qwen3_30B_a3B", "layers": 48, "hidden": 2048, "heads": 32,
            "kv_heads": 4, "ffn": 768, "vocab": 151936});
        assert_eq!(model(experts), Ok(json!("qwen3-30b-a3b")));
    }

    #[test]
    fn a_cut_deepseek_has_one_dense_layer() {
        let cut = json!({"name": "deepseekv2 (4 layers)", "layers": 4, "hidden": 5120,
            "heads": 128, "kv_heads": 128, "ffn": null, "vocab": null});
        assert_eq!(model(cut), Ok(json!({"preset": "deepseek-v2", "layers": 4})));
        let cut = json!({"name": "deepseekv3 (4 layers)", "layers": 4, "hidden": 7168,
            "heads": 128, "kv_heads": 128, "ffn": null, "vocab": null});
        let got = model(cut).expect("a model of the catalogue");
        assert_eq!(got["hf_config"]["first_k_dense_replace"], 1);
        assert_eq!(got["hf_config"]["n_routed_experts"], 256);
    }

    #[test]
    fn other_vocabularies_and_families_are_varied() {
        let got = model(gpt(8, 14400, 32, 250_000)).expect("a GPT");
        assert_eq!(got["preset"], "megatron-gpt-22b");
        assert_eq!(got["vocab"], 250_000);
        let coder = json!({"name": "SantaCoder-1.1B", "layers": 24, "hidden": 2048, "heads": 16,
            "kv_heads": 1, "ffn": 8192, "vocab": 49280});
        assert_eq!(model(coder).expect("a config")["hf_config"]["multi_query"], true);
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut row = gpt(8, 14400, 32, 250_000);
        row["heads"] = Value::Null;
        assert_eq!(model(row), Err("incomplete: model.heads".to_owned()));
        let unknown = json!({"name": "Zeppelin", "layers": 1, "hidden": 64, "heads": 1,
            "kv_heads": 1, "ffn": 64, "vocab": 64});
        assert_eq!(model(unknown), Err("incomplete: model family".to_owned()));
    }

    /// llm-foundry prints exact parameter counts: GPT's layer with biases and one position table row
    /// for each token of the sequence gives them all but for the rows.
    #[test]
    fn mpt_has_the_parameters_that_its_source_prints() {
        let row = json!({"name": "MPT-70b", "layers": 80, "hidden": 8192, "heads": 64,
            "kv_heads": 64, "ffn": 32768, "vocab": 50368});
        let scenario = json!({"model": model(row).expect("an MPT"),
            "hardware": {"device": "h100-sxm5-80"}, "workload": {"sequence": 2048}});
        let scenario = Scenario::from_value(scenario).expect("a scenario");
        let checked = sim_core::check::check(&scenario).expect("a plan");
        let billions = checked.plan.model.total_params() as f64 / 1e9;
        assert!((billions - 64.8624).abs() < 5e-5, "{billions}");
    }
}
