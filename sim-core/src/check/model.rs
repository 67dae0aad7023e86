//! Which model a scenario means.

use crate::issue::{Issue, IssueCode};
use crate::model::{Architecture, ModelShape, catalog, hf_config, limits};
use crate::scenario::{Edit, ModelChoice, PresetChoice, Scenario};

/// The value of `quantization.weights` for weights as trained.
const UNQUANTIZED: &str = "none";

/// A model with the name to show.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedModel {
    pub name: String,
    pub shape: ModelShape,
}

/// The model of a scenario, when there is one.
pub fn resolve(scenario: &Scenario, issues: &mut Vec<Issue>) -> Option<ResolvedModel> {
    match &scenario.model {
        ModelChoice::Catalogue(id) => from_catalogue(id, "model", issues),
        ModelChoice::Preset(preset) => {
            let mut model = from_catalogue(&preset.preset, "model.preset", issues)?;
            if issues.iter().any(|issue| issue.field.starts_with("model.")) {
                // Numbers out of their range are reported; nothing is computed from them.
                return None;
            }
            change(&mut model.shape, preset);
            if preset.mlm_head == Some(true) && !add_mlm_head(&mut model.shape, issues) {
                return None;
            }
            consistent(&model.shape, issues).then_some(model)
        }
        ModelChoice::HfConfig { hf_config } => match hf_config::from_value(hf_config) {
            Ok(import) => {
                issues.extend(remarks(&import));
                issues.extend(stored_otherwise(scenario, &import));
                let name = hf_config
                    .get("_name_or_path")
                    .and_then(serde_json::Value::as_str)
                    .filter(|name| !name.is_empty())
                    .unwrap_or("config.json");
                Some(ResolvedModel { name: name.to_owned(), shape: import.shape })
            }
            Err(error) => {
                let field = match error.field() {
                    Some(inner) => format!("model.hf_config.{inner}"),
                    None => "model.hf_config".to_owned(),
                };
                issues.push(
                    Issue::new(IssueCode::BadModelConfig, field)
                        .with("kind", error.code())
                        .with("reason", error.to_string()),
                );
                None
            }
        },
    }
}

/// One note for everything that an import did not find spelled out.
fn remarks(import: &hf_config::Import) -> impl Iterator<Item = Issue> + '_ {
    import.notes.iter().map(|note| {
        Issue::new(IssueCode::ModelConfigNote, format!("model.hf_config.{}", note.field))
            .with("kind", note.kind.code())
            .with("note", note)
    })
}

/// A note where the file names the format of its weights and the scenario names none: it is never
/// applied by itself.
fn stored_otherwise(scenario: &Scenario, import: &hf_config::Import) -> Option<Issue> {
    const FIELD: &str = "quantization.weights";
    let found = import.quantization.as_ref()?;
    let format = found.format.as_deref()?;
    (scenario.quantization.weights == UNQUANTIZED).then(|| {
        Issue::new(IssueCode::ModelQuantized, FIELD)
            .with("format", format)
            .with("method", &found.method)
            .with("source", format!("model.hf_config.{}", found.field))
            .way_out(Edit::new(FIELD, format))
    })
}

fn from_catalogue(id: &str, field: &str, issues: &mut Vec<Issue>) -> Option<ResolvedModel> {
    if let Some(entry) = catalog::find(id) {
        return Some(ResolvedModel { name: entry.name.to_owned(), shape: entry.shape.clone() });
    }
    let mut issue = Issue::new(IssueCode::UnknownModel, field).with("value", id);
    for near in catalog::suggest(id, 3) {
        issue = issue.way_out(Edit::new(field, near));
    }
    issues.push(issue);
    None
}

/// Replaces what the user has changed; heads and widths that follow from each other move along
/// where they are not set.
fn change(shape: &mut ModelShape, preset: &PresetChoice) {
    let attention = &mut shape.attention;
    let was_mha = attention.heads == attention.kv_heads;
    shape.layers = preset.layers.unwrap_or(shape.layers);
    shape.hidden = preset.hidden.unwrap_or(shape.hidden);
    attention.heads = preset.heads.unwrap_or(attention.heads);
    attention.kv_heads = preset.kv_heads.unwrap_or(if was_mha {
        attention.heads
    } else {
        attention.kv_heads.min(attention.heads)
    });
    let derived = (preset.hidden.is_some() || preset.heads.is_some())
        .then(|| (shape.hidden / attention.heads.max(1)).max(1));
    attention.head_dim = preset.head_dim.or(derived).unwrap_or(attention.head_dim);
    shape.mlp.ffn = preset.ffn.unwrap_or(shape.mlp.ffn);
    shape.vocab = preset.vocab.unwrap_or(shape.vocab);
}

/// Gives an encoder the head for masked tokens; other models have none.
fn add_mlm_head(shape: &mut ModelShape, issues: &mut Vec<Issue>) -> bool {
    let fits = shape.architecture == Architecture::Encoder;
    if fits {
        shape.add_mlm_head();
    } else {
        issues.push(
            Issue::new(IssueCode::NotSupported, "model.mlm_head")
                .with("value", true)
                .way_out(Edit::new("model.mlm_head", false)),
        );
    }
    fits
}

fn consistent(shape: &ModelShape, issues: &mut Vec<Issue>) -> bool {
    let (hidden, heads, kv_heads) = (shape.hidden, shape.attention.heads, shape.attention.kv_heads);
    let divides = kv_heads != 0 && heads.is_multiple_of(kv_heads);
    if !divides {
        issues.push(
            Issue::new(IssueCode::KvHeadsDoNotDivideHeads, "model.kv_heads")
                .with("heads", heads)
                .with("kv_heads", kv_heads)
                .way_out(Edit::new("model.kv_heads", nearest_divisor(heads, kv_heads)))
                .way_out(Edit::new("model.kv_heads", heads)),
        );
    }
    // With heads of another width than hidden / heads there is nothing to divide.
    if heads != 0 && shape.attention.head_dim == hidden / heads && !hidden.is_multiple_of(heads) {
        issues.push(
            Issue::new(IssueCode::HeadsDoNotDivideHidden, "model.heads")
                .with("heads", heads)
                .with("hidden", hidden)
                .way_out(Edit::new("model.heads", nearest_divisor(hidden, heads)))
                .way_out(Edit::new("model.hidden", hidden.div_ceil(heads) * heads)),
        );
    }
    let violations = limits::violations(shape);
    for violation in &violations {
        let name = violation.field.rsplit('.').next().unwrap_or(violation.field);
        let field = match name {
            // Reported above.
            "kv_heads" => continue,
            "heads × head_dim" => "model.head_dim".to_owned(),
            other => format!("model.{other}"),
        };
        issues.push(
            Issue::new(IssueCode::OutOfRange, field)
                .with("value", violation.value)
                .with("min", violation.accepted.min)
                .with("max", violation.accepted.max),
        );
    }
    divides && violations.is_empty()
}

/// How far from the wanted number a divisor is looked for.
const DIVISOR_SEARCH: u64 = 1 << 16;

/// The divisor of `number` nearest to `wanted`, the smaller of two; 1 where none is near.
pub(super) fn nearest_divisor(number: u64, wanted: u64) -> u64 {
    let divides = |candidate: u64| candidate > 0 && number.is_multiple_of(candidate);
    (0..DIVISOR_SEARCH)
        .find_map(|distance| {
            let below = wanted.checked_sub(distance).filter(|n| divides(*n));
            below.or_else(|| wanted.checked_add(distance).filter(|n| divides(*n)))
        })
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::{nearest_divisor, stored_otherwise};
    use crate::model::hf_config;
    use crate::scenario::{Edit, Scenario};
    use serde_json::json;

    #[test]
    fn the_format_that_a_file_names_is_one_edit_away() {
        let config = json!({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4,
            "n_positions": 1024, "vocab_size": 100, "quantization_config": {"quant_method": "fp8"}});
        let scenario = json!({"model": {"hf_config": config}, "hardware": {"device": "h100-sxm"}});
        let scenario = Scenario::from_json(&scenario.to_string()).expect("a scenario");
        let import = hf_config::from_value(&config).expect("read");
        let issue = stored_otherwise(&scenario, &import).expect("a format with a name");
        let edit = Edit::new("quantization.weights", "fp8");
        assert_eq!(issue.ways_out, std::slice::from_ref(&edit));
        let edited = scenario.edited(&edit).expect("a field of the format");
        assert_eq!(stored_otherwise(&edited, &import), None);
    }

    #[test]
    fn the_nearest_divisor_is_found_on_either_side() {
        assert_eq!(nearest_divisor(32, 6), 4);
        assert_eq!(nearest_divisor(32, 7), 8);
        assert_eq!(nearest_divisor(14, 4), 2);
        assert_eq!(nearest_divisor(56, 16), 14);
        assert_eq!(nearest_divisor(u64::MAX, u64::MAX - 1), u64::MAX);
    }
}
