//! Which weights train: all of them, or low-rank adapters beside a frozen model.

use super::Upcast;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Which weights train.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finetune {
    /// All of them.
    #[default]
    Full,
    /// Low-rank adapters beside frozen weights (Hu et al. 2021).
    Lora(LoraChoice),
    /// Adapters beside frozen, quantized weights (Dettmers et al. 2023).
    Qlora(QloraChoice),
}

impl Finetune {
    /// The name in a scenario file.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Lora(_) => "lora",
            Self::Qlora(_) => "qlora",
        }
    }

    /// The adapters' inner width; `None` without adapters.
    pub const fn rank(&self) -> Option<u64> {
        match self {
            Self::Full => None,
            Self::Lora(choice) => Some(choice.rank),
            Self::Qlora(choice) => Some(choice.rank),
        }
    }
}

impl<'de> Deserialize<'de> for Finetune {
    /// `"full"`, `{"lora": {…}}`, `{"qlora": {…}}`, or the name alone with its defaults.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrOptions)
    }
}

struct NameOrOptions;

impl<'de> Visitor<'de> for NameOrOptions {
    type Value = Finetune;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("\"full\", {\"lora\": {…}} or {\"qlora\": {…}}")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Finetune, E> {
        match name {
            "full" => Ok(Finetune::Full),
            "lora" => Ok(Finetune::Lora(LoraChoice::default())),
            "qlora" => Ok(Finetune::Qlora(QloraChoice::default())),
            other => Err(E::unknown_variant(other, &["full", "lora", "qlora"])),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Finetune, A::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Options {
            Lora(LoraChoice),
            Qlora(QloraChoice),
        }
        Ok(match Options::deserialize(MapAccessDeserializer::new(map))? {
            Options::Lora(choice) => Finetune::Lora(choice),
            Options::Qlora(choice) => Finetune::Qlora(choice),
        })
    }
}

/// Options of LoRA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoraChoice {
    /// The adapters' inner width.
    pub rank: u64,
    pub targets: LoraTargets,
    /// Scales the adapters by α / rank; costs the same whatever its value.
    pub alpha: Option<f64>,
    /// Dropout in front of the adapters, 0 to 0.99.
    pub dropout: f64,
    /// Copies of the embedding and the head train beside the adapters (PEFT's `modules_to_save`).
    pub train_embeddings: bool,
}

impl Default for LoraChoice {
    fn default() -> Self {
        Self {
            rank: 16,
            targets: LoraTargets::default(),
            alpha: None,
            dropout: 0.0,
            train_embeddings: false,
        }
    }
}

/// Options of QLoRA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QloraChoice {
    /// The adapters' inner width.
    pub rank: u64,
    pub targets: LoraTargets,
    /// Scales the adapters by α / rank; costs the same whatever its value.
    pub alpha: Option<f64>,
    /// Dropout in front of the adapters, 0 to 0.99.
    pub dropout: f64,
    /// Copies of the embedding and the head train beside the adapters (PEFT's `modules_to_save`).
    pub train_embeddings: bool,
    /// What is made fp32 beside the quantized matrices; derived when missing.
    pub upcast: Option<Upcast>,
    /// Of the frozen weights: nf4, fp4, int8, int4-g128.
    pub format: String,
    /// The scales of 4-bit weights are quantized too.
    pub double_quant: bool,
}

impl Default for QloraChoice {
    fn default() -> Self {
        Self {
            rank: 64,
            targets: LoraTargets::default(),
            alpha: None,
            dropout: 0.0,
            train_embeddings: false,
            upcast: None,
            format: "nf4".to_owned(),
            double_quant: true,
        }
    }
}

impl QloraChoice {
    /// What is made fp32: norms as the script of QLoRA's authors and TRL do, and nothing beside
    /// GPTQ's matrices, which PEFT leaves as they are.
    pub fn upcasts(&self) -> Upcast {
        let default = if self.format == "int4-g128" { Upcast::None } else { Upcast::Norms };
        self.upcast.unwrap_or(default)
    }
}

/// Which projections get adapters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LoraTargets {
    /// `all-linear`, `attention`, `qv`, or names of [`LoraTargets::List`] joined by commas.
    Named(String),
    /// Projections by the names of Llama's modules: `q_proj`, `k_proj`, `v_proj`, `o_proj`,
    /// `gate_proj`, `up_proj`, `down_proj`.
    List(Vec<String>),
}

impl Default for LoraTargets {
    fn default() -> Self {
        Self::Named("all-linear".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_has_the_defaults() {
        let read = |text: &str| serde_json::from_str::<Finetune>(text);
        assert_eq!(read("\"full\"").expect("a name"), Finetune::Full);
        for kind in ["lora", "qlora"] {
            let named = read(&format!("\"{kind}\"")).expect("a name");
            assert_eq!(named, read(&format!("{{\"{kind}\": {{}}}}")).expect("options"));
            assert_eq!(named.name(), kind);
            let written = serde_json::to_string(&named).expect("it has string keys");
            assert_eq!(named, read(&written).expect("what was written"));
        }
        for wrong in
            ["\"lorra\"", "{}", "{\"lora\": {\"rnk\": 1}}", "{\"lora\": {}, \"qlora\": {}}", "3"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
