//! Reading a scenario from text: strict, and with the field named when something is wrong.

use super::hardware::LinkNumbers;
use super::{Framework, FsdpMode, PresetChoice, SCENARIO_VERSION, Scenario};
use crate::check::range_of;
use serde::Deserialize;

/// The longest scenario text that is read, in bytes: far above any real one.
pub const MAX_SCENARIO_BYTES: usize = 4 << 20;

/// A text that is not a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    #[error("the text has {bytes} bytes, a scenario at most {MAX_SCENARIO_BYTES}")]
    TooLong { bytes: usize },
    #[error("not JSON: {message}")]
    NotJson { message: String },
    #[error("{field}: {message}")]
    Field {
        /// Names joined by dots; `.` for the whole.
        field: String,
        message: String,
    },
    #[error("version: {found} is not known, this build reads version {SCENARIO_VERSION}")]
    Version { found: u32 },
}

impl ScenarioError {
    pub(super) fn unknown_field(field: &str) -> Self {
        Self::Field { field: field.to_owned(), message: "there is no such field".to_owned() }
    }

    /// The field at fault, where it is one field.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Field { field, .. } => Some(field),
            Self::Version { .. } => Some("version"),
            Self::TooLong { .. } | Self::NotJson { .. } => None,
        }
    }
}

/// The field at fault within a choice that is read as a whole: a varied preset, a link's numbers.
fn innermost(value: &serde_json::Value, path: &str) -> Option<(String, String)> {
    let choice = path.split('.').try_fold(value, |place, name| place.get(name))?;
    if !choice.is_object() || choice.get("hf_config").is_some() {
        return None;
    }
    let found = match path {
        "model" => serde_path_to_error::deserialize::<_, PresetChoice>(choice)
            .err()
            .map(|error| (error.path().to_string(), error.into_inner().to_string())),
        "hardware.intra" | "hardware.inter" | "hardware.pcie" | "hardware.nvme" => {
            serde_path_to_error::deserialize::<_, LinkNumbers>(choice)
                .err()
                .map(|error| (error.path().to_string(), error.into_inner().to_string()))
        }
        _ => None,
    };
    found.map(|(inner, message)| {
        let field = if inner == "." { path.to_owned() } else { format!("{path}.{inner}") };
        (field, message)
    })
}

/// Fills in the defaults that follow from other fields, where `text` leaves them out: the framework
/// of a scenario that shards by FSDP, and the sharding of one that runs it.
fn with_dependent_defaults(mut scenario: Scenario, text: &serde_json::Value) -> Scenario {
    let says = |path: &str| text.pointer(path).is_some();
    if scenario.strategy.fsdp.is_some() && !says("/workload/framework") {
        scenario.workload.framework = Framework::Fsdp;
    }
    if scenario.workload.framework == Framework::Fsdp
        && !says("/strategy/fsdp")
        && scenario.strategy.zero == 0
    {
        scenario.strategy.fsdp = Some(FsdpMode::FullShard);
    }
    scenario
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// When the text is too long, no JSON, of another version, or has a field that is unknown,
    /// missing or of another type. Values that can be read and make no sense are for
    /// [`crate::check`].
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        if text.len() > MAX_SCENARIO_BYTES {
            return Err(ScenarioError::TooLong { bytes: text.len() });
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value: serde_json::Value = serde_json::from_str(text)
            .map_err(|error| ScenarioError::NotJson { message: error.to_string() })?;
        Self::from_value(value)
    }

    /// Reads a scenario from parsed JSON.
    ///
    /// # Errors
    /// As [`Scenario::from_json`].
    pub fn from_value(value: serde_json::Value) -> Result<Self, ScenarioError> {
        #[derive(Deserialize)]
        struct Version {
            version: Option<u32>,
        }

        if let Ok(Version { version: Some(found) }) = Version::deserialize(&value)
            && found != SCENARIO_VERSION
        {
            return Err(ScenarioError::Version { found });
        }
        for section in
            ["", "/hardware", "/workload", "/quantization", "/strategy", "/strategy/offload"]
        {
            // Lists would be read as the fields in order.
            if value.pointer(section).is_some_and(serde_json::Value::is_array) {
                let field = section.trim_start_matches('/').replace('/', ".");
                let message = "expected an object, found a list".to_owned();
                return Err(ScenarioError::Field { field, message });
            }
        }
        let scenario = serde_path_to_error::deserialize(&value).map_err(|error| {
            let path = error.path().to_string();
            let inner = innermost(&value, &path);
            let (field, mut message) = inner.unwrap_or((path, error.into_inner().to_string()));
            if let Some(range) = range_of(&field) {
                message.push_str(&format!(" (accepted: {} to {})", range.min, range.max));
            }
            ScenarioError::Field { field, message }
        })?;
        Ok(with_dependent_defaults(scenario, &value))
    }

    /// The scenario as a file, with every default written out.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a scenario has string keys only")
    }
}
