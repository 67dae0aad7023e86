//! Names of models.

use super::{clean, quoted};
use serde_json::{Value, json};
use sim_core::model::catalog::{ModelEntry, find};

/// The fields of a shape that a table states; a missing one says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    pub layers: Option<u64>,
    pub hidden: Option<u64>,
    pub heads: Option<u64>,
    pub kv_heads: Option<u64>,
    pub ffn: Option<u64>,
    pub vocab: Option<u64>,
}

/// Models under other names than the catalogue's, of the same shape (config.json of each).
const SAME_SHAPE: [(&str, &str); 25] = [
    ("llama-3.3-70b", "llama-3.1-70b"),
    ("vicuna-7b", "llama-7b"),
    ("vicuna-13b", "llama-13b"),
    ("vicuna-33b", "llama-33b"),
    ("mistral-7b", "mistral-7b-v0.1"),
    ("mistral-7b-v0.2", "mistral-7b-v0.1"),
    ("mistral-7b-openorca", "mistral-7b-v0.1"),
    ("qwen2-0.5b", "qwen2.5-0.5b"),
    ("qwen2-1.5b", "qwen2.5-1.5b"),
    ("qwen2-7b", "qwen2.5-7b"),
    ("qwen2-72b", "qwen2.5-72b"),
    ("qwq-32b", "qwen2.5-32b"),
    ("deepseek-r1-distill-qwen-1.5b", "qwen2.5-1.5b"),
    ("deepseek-r1-distill-qwen-7b", "qwen2.5-7b"),
    ("deepseek-r1-distill-qwen-14b", "qwen2.5-14b"),
    ("deepseek-r1-distill-qwen-32b", "qwen2.5-32b"),
    ("deepseek-r1-distill-llama-8b", "llama-3.1-8b"),
    ("deepseek-r1-distill-llama-70b", "llama-3.1-70b"),
    ("deepseek-coder-v2-lite", "deepseek-v2-lite"),
    ("chatglm2-6b", "chatglm3-6b"),
    ("bloomz-7b1", "bloom-7b1"),
    ("gpt-2-small", "gpt2"),
    ("gpt-2-124m", "gpt2"),
    ("gpt-2-345m", "gpt2-medium"),
    ("gpt-2-xl", "gpt2-xl"),
];

/// A model that is another of the catalogue but for these numbers (config.json of each).
struct Variation {
    name: &'static str,
    of: &'static str,
    /// Layers, hidden, heads, key-value heads, ffn, vocabulary.
    shape: [u64; 6],
}

const fn variation(name: &'static str, of: &'static str, shape: [u64; 6]) -> Variation {
    Variation { name, of, shape }
}

const VARIATIONS: [Variation; 16] = [
    variation("qwen-1.8b", "qwen2.5-7b", [24, 2048, 16, 16, 5504, 151_936]),
    variation("qwen-7b", "qwen2.5-7b", [32, 4096, 32, 32, 11008, 151_936]),
    variation("qwen-14b", "qwen2.5-7b", [40, 5120, 40, 40, 13696, 152_064]),
    variation("qwen-72b", "qwen2.5-7b", [80, 8192, 64, 64, 24576, 152_064]),
    variation("qwen1.5-7b", "qwen2.5-7b", [32, 4096, 32, 32, 11008, 151_936]),
    variation("qwen1.5-14b", "qwen2.5-7b", [40, 5120, 40, 40, 13696, 152_064]),
    variation("qwen1.5-32b", "qwen2.5-7b", [64, 5120, 40, 8, 27392, 152_064]),
    variation("qwen1.5-72b", "qwen2.5-7b", [80, 8192, 64, 64, 24576, 152_064]),
    variation("codellama-7b", "llama-2-7b", [32, 4096, 32, 32, 11008, 32016]),
    variation("codellama-13b", "llama-2-13b", [40, 5120, 40, 40, 13824, 32016]),
    variation("codellama-34b", "llama-2-70b", [48, 8192, 64, 8, 22016, 32000]),
    variation("deepseek-coder-7b", "llama-2-7b", [32, 4096, 32, 32, 11008, 32256]),
    variation("deepseek-coder-33b", "llama-2-70b", [62, 7168, 56, 8, 19200, 32256]),
    variation("solar-10.7b", "mistral-7b-v0.1", [48, 4096, 32, 8, 14336, 32000]),
    variation("yi-6b", "yi-34b", [32, 4096, 32, 4, 11008, 64000]),
    variation("bloom-1b7", "bloom-7b1", [24, 2048, 16, 16, 8192, 250_880]),
];

/// Families whose members differ in these six numbers only, by how their names begin: a member that
/// the catalogue lacks is simulated when a table states all six.
const FAMILIES: [(&str, &str); 12] = [
    ("llama-", "llama-2-7b"),
    ("codellama-", "llama-2-7b"),
    ("vicuna-", "llama-2-7b"),
    ("openllama-", "llama-2-7b"),
    ("deepseek-coder-", "llama-2-7b"),
    ("yi-", "yi-34b"),
    ("mistral-", "mistral-7b-v0.1"),
    ("qwen-", "qwen2.5-7b"),
    ("qwen1.5-", "qwen2.5-7b"),
    ("opt-", "opt-6.7b"),
    ("bloom-", "bloom-7b1"),
    ("gpt-2-", "gpt2-xl"),
];

/// Parts of names that tell a checkpoint's training or format, not its shape.
const SHAPELESS: [&str; 14] = [
    "-instruct",
    "-chat",
    "-base",
    "-2507",
    "-671b",
    "-16b",
    "-awq",
    "-gptq-4bit",
    "-gptq",
    "-int4",
    "-fp8",
    "-nvfp4",
    "-it",
    "-orig",
];

/// Signs of several models, or of more than a language model.
const SEVERAL: [&str; 7] = ["/", "+", "->", ",", " class", " model", "~"];

/// The `model` of a scenario for what a table calls `name`.
///
/// # Errors
/// The reason why it is none, or not the one that the table describes.
pub fn model(name: &str, stated: &Stated) -> Result<Value, String> {
    let lower = clean(name);
    if lower.is_empty() || SEVERAL.iter().any(|sign| lower.contains(sign)) {
        return Err(format!("no single model is named: {}", quoted(name)));
    }
    let mut key = lower.replace([' ', '_'], "-");
    for part in SHAPELESS {
        key = key.replace(part, "");
    }
    // Another name of the same shape first: what the catalogue takes a short name for may be a later
    // version with another vocabulary.
    let same = SAME_SHAPE.iter().filter(|(other, _)| *other == key).map(|pair| pair.1);
    let mut contradiction = None;
    for entry in same.chain([key.as_str()]).filter_map(find) {
        match stated.contradiction(entry) {
            None => return Ok(json!(entry.id)),
            Some(field) => {
                let reason = || format!("the table's {field} is not that of {}", entry.id);
                contradiction.get_or_insert_with(reason);
            }
        }
    }
    if let Some(reason) = contradiction {
        return Err(reason);
    }
    if let Some(one) = VARIATIONS.iter().find(|one| one.name == key) {
        let [layers, hidden, heads, kv_heads, ffn, vocab] = one.shape.map(Some);
        let shape = Stated { layers, hidden, heads, kv_heads, ffn, vocab };
        return match stated.differs(&shape) {
            Some(field) => Err(format!("the table's {field} is not that of {}", one.name)),
            None => shape.variation(one.of),
        };
    }
    let family = FAMILIES.iter().find(|(begin, _)| key.starts_with(begin));
    match family.map(|(_, base)| stated.variation(base)) {
        Some(Ok(model)) => Ok(model),
        _ => Err(format!("not in the catalogue of models: {}", quoted(name))),
    }
}

impl Stated {
    const fn fields(&self) -> [(&'static str, Option<u64>); 6] {
        [
            ("layers", self.layers),
            ("hidden", self.hidden),
            ("heads", self.heads),
            ("kv_heads", self.kv_heads),
            ("ffn", self.ffn),
            ("vocab", self.vocab),
        ]
    }

    /// A field that both state and that differs.
    fn differs(&self, other: &Self) -> Option<&'static str> {
        let pairs = self.fields().into_iter().zip(other.fields());
        pairs
            .filter(|((_, own), (_, other))| own.is_some() && other.is_some() && own != other)
            .map(|((name, _), _)| name)
            .next()
    }

    /// A field that differs from the catalogue's. A model of experts has several widths, one with
    /// latent attention no key-value heads: these are not compared.
    fn contradiction(&self, entry: &ModelEntry) -> Option<&'static str> {
        let shape = &entry.shape;
        let dense = shape.experts.is_none();
        self.differs(&Self {
            layers: Some(shape.layers),
            hidden: Some(shape.hidden),
            heads: Some(shape.attention.heads),
            kv_heads: shape.attention.latent.is_none().then_some(shape.attention.kv_heads),
            ffn: dense.then_some(shape.mlp.ffn),
            vocab: Some(shape.vocab),
        })
    }

    /// A model of the catalogue with all these numbers replaced.
    fn variation(&self, base: &str) -> Result<Value, String> {
        let fields = self.fields();
        let missing = fields.iter().find(|(_, value)| value.is_none_or(|value| value == 0));
        if let Some((name, _)) = missing {
            return Err(format!("the table does not state {name}"));
        }
        let mut model = json!({"preset": base});
        for (name, value) in fields {
            model[name] = json!(value);
        }
        let (hidden, heads) = (self.hidden.unwrap_or(0), self.heads.unwrap_or(1));
        model["head_dim"] = json!(hidden / heads);
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Stated =
        Stated { layers: None, hidden: None, heads: None, kv_heads: None, ffn: None, vocab: None };

    #[test]
    fn usual_names_are_known() {
        for (name, id) in [
            ("Llama-2-7B", "llama-2-7b"),
            ("Llama-2-7B-chat", "llama-2-7b"),
            ("Meta-Llama-3-8B", "llama-3-8b"),
            ("Llama-3.1-405B-Instruct-FP8", "llama-3.1-405b"),
            ("LLaMA-30B (60 layers, n_embd 6656)", "llama-33b"),
            ("Mistral-7B-Instruct-v0.1", "mistral-7b-v0.1"),
            ("Qwen2-72B-Instruct", "qwen2.5-72b"),
            ("Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"),
            ("DeepSeek-R1 671B", "deepseek-r1"),
            ("DeepSeek-R1-Distill-Qwen-14B", "qwen2.5-14b"),
            ("GPT-2 124M", "gpt2"),
            ("BLOOM-176B", "bloom-176b"),
        ] {
            assert_eq!(model(name, &NOTHING), Ok(json!(id)), "{name}");
        }
    }

    #[test]
    fn every_table_names_models_of_the_catalogue() {
        let bases = SAME_SHAPE.iter().chain(&FAMILIES).map(|pair| pair.1);
        for base in bases.chain(VARIATIONS.iter().map(|one| one.of)) {
            assert_eq!(find(base).map(|entry| entry.id), Some(base));
        }
        for (name, same) in SAME_SHAPE {
            assert!(find(name).is_none_or(|entry| entry.id != same), "{name} is known already");
            assert_eq!(model(name, &NOTHING), Ok(json!(same)), "{name}");
        }
        for one in &VARIATIONS {
            assert!(model(one.name, &NOTHING).is_ok_and(|model| model["preset"] == one.of));
        }
    }

    #[test]
    fn a_variation_has_the_published_number_of_parameters() {
        // Bai et al. 2023 (Qwen), Table 1; Rozière et al. 2023 (Code Llama).
        for (name, params) in [("Qwen-7B", 7_721_324_544), ("CodeLlama-34B", 33_743_970_304)] {
            let scenario = json!({
                "model": model(name, &NOTHING).expect(name), "hardware": {"device": "b300-288"},
            });
            let scenario = sim_core::scenario::Scenario::from_value(scenario).expect(name);
            let report = sim_core::report(&scenario);
            assert_eq!(report.params.map(|params| params.total), Some(params), "{name}");
        }
    }

    #[test]
    fn a_member_of_a_family_needs_its_whole_shape() {
        let mut stated = Stated {
            layers: Some(12),
            hidden: Some(768),
            heads: Some(12),
            kv_heads: Some(4),
            ffn: Some(2048),
            vocab: Some(32000),
        };
        let got = model("OpenLLaMA-160M", &stated).expect("all six are stated");
        assert_eq!((&got["preset"], &got["head_dim"]), (&json!("llama-2-7b"), &json!(64)));
        stated.ffn = None;
        assert!(model("OpenLLaMA-160M", &stated).is_err());
    }

    #[test]
    fn the_vocabulary_tells_versions_of_one_name_apart() {
        for (vocab, id) in [(32000, "mistral-7b-v0.1"), (32768, "mistral-7b-v0.3")] {
            let stated = Stated { vocab: Some(vocab), ..NOTHING };
            assert_eq!(model("Mistral-7B", &stated), Ok(json!(id)));
        }
    }

    #[test]
    fn a_shape_that_contradicts_the_name_is_a_reason() {
        let wrong = Stated { ffn: Some(11009), ..NOTHING };
        assert_eq!(
            model("Llama-2-7B", &wrong),
            Err("the table's ffn is not that of llama-2-7b".to_owned())
        );
        let wrong = Stated { layers: Some(1), ..NOTHING };
        assert!(model("Yi-6B", &wrong).is_err());
    }

    #[test]
    fn what_is_no_single_model_of_the_catalogue_is_a_reason() {
        for name in [
            "Llama-2/3-70B",
            "LLaMA-7B + LLaMA-13B",
            "13B class model",
            "~3B GPT",
            "32B model",
            "",
            "Falcon-7B",
            "Hal-9000",
            "Qwen-14B-Chat -> Qwen-7B-Chat",
            "any (double quantization)",
        ] {
            assert!(model(name, &NOTHING).is_err(), "{name}");
        }
    }
}
