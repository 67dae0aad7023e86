//! The machines: which GPUs, how many, and what joins them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareChoice {
    /// Catalogue id of the accelerator.
    pub device: String,
    #[serde(default = "one")]
    pub devices_per_node: u64,
    #[serde(default = "one")]
    pub nodes: u64,
    /// The link between GPUs of a node; the device's usual one when missing.
    #[serde(default)]
    pub intra: Option<LinkChoice>,
    /// The link of each GPU out of its node; the device's usual one when missing.
    #[serde(default)]
    pub inter: Option<LinkChoice>,
    #[serde(default = "host_memory")]
    pub host_memory_gib: f64,
    /// The link between a GPU and its host; the device's slot when missing.
    #[serde(default)]
    pub pcie: Option<LinkChoice>,
    #[serde(default)]
    pub nvme: Option<LinkChoice>,
}

fn one() -> u64 {
    1
}

fn host_memory() -> f64 {
    1024.0
}

/// A link by catalogue id or by its numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LinkChoice {
    Catalogue(String),
    Custom {
        /// One direction, in GB/s (10⁹ bytes per second).
        gb_per_s: f64,
        latency_us: f64,
    },
}

/// A link's numbers as they stand in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkNumbers {
    gb_per_s: f64,
    #[serde(default)]
    latency_us: f64,
}

impl<'de> Deserialize<'de> for LinkChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(id) => Ok(Self::Catalogue(id)),
            value @ serde_json::Value::Object(_) => {
                let LinkNumbers { gb_per_s, latency_us } =
                    serde_json::from_value(value).map_err(D::Error::custom)?;
                Ok(Self::Custom { gb_per_s, latency_us })
            }
            _ => Err(D::Error::custom(
                "expected a link id or {\"gb_per_s\": number, \"latency_us\": number}",
            )),
        }
    }
}
