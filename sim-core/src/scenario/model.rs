//! The model: a catalogue id, a variation of one, or a Hugging Face configuration.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The model of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ModelChoice {
    /// A catalogue id.
    Catalogue(String),
    /// A catalogue model with some numbers replaced.
    Preset(PresetChoice),
    /// The content of a `config.json`.
    HfConfig { hf_config: serde_json::Value },
}

/// A catalogue model with some numbers replaced, or with the head of its pre-training.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetChoice {
    pub preset: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv_heads: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_dim: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ffn: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocab: Option<u64>,
    /// An encoder with the head for masked tokens of its pre-training instead of the pooler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mlm_head: Option<bool>,
}

impl<'de> Deserialize<'de> for ModelChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Config {
            hf_config: serde_json::Value,
        }

        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(id) => Ok(Self::Catalogue(id)),
            value @ serde_json::Value::Object(_) if value.get("hf_config").is_some() => {
                let Config { hf_config } =
                    serde_json::from_value(value).map_err(D::Error::custom)?;
                Ok(Self::HfConfig { hf_config })
            }
            value @ serde_json::Value::Object(_) => serde_path_to_error::deserialize(value)
                .map(Self::Preset)
                .map_err(|error| D::Error::custom(format!("{}: {}", error.path(), error.inner()))),
            _ => Err(D::Error::custom(
                "expected a model id, {\"preset\": id, …} or {\"hf_config\": {…}}",
            )),
        }
    }
}
