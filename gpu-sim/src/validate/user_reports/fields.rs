//! A report, field by field, and its outcomes.

use super::super::fields::Fields;
use super::super::vocabulary::{formats, models, quoted};
use serde_json::Value;

/// A report.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a>(pub &'a Value);

/// One reported outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome<'a> {
    pub metric: &'a str,
    pub verdict: Option<bool>,
    /// A positive number.
    pub number: Option<f64>,
    /// What it means, or under which changes of the configuration it holds.
    pub detail: &'a str,
}

impl<'a> Report<'a> {
    /// A text of the report itself.
    pub fn text(self, name: &str) -> Option<&'a str> {
        self.0[name].as_str().filter(|text| !text.is_empty())
    }

    /// A field of the configuration.
    pub fn config(self, name: &str) -> &'a Value {
        &self.0["config"][name]
    }

    /// A field of the configuration, as far as it is a text.
    pub fn config_text(self, name: &str) -> Option<&'a str> {
        self.config(name).as_str().filter(|text| !text.is_empty())
    }

    /// A field of the configuration that counts something.
    ///
    /// # Errors
    /// When it is there and counts nothing: `"2 and 3 tried"`.
    pub fn count(self, name: &str) -> Result<Option<u64>, String> {
        Fields(self.0).count(&format!("config.{name}"))
    }

    /// The first of these fields that is there.
    ///
    /// # Errors
    /// When it counts nothing.
    pub fn first_count(self, names: &[&str]) -> Result<Option<u64>, String> {
        names.iter().find_map(|name| self.count(name).transpose()).transpose()
    }

    /// GPUs.
    ///
    /// # Errors
    /// When the report does not say how many.
    pub fn gpus(self) -> Result<u64, String> {
        let gpus = Fields(self.0).degree("num_gpus")?;
        gpus.ok_or_else(|| "the number of GPUs is not stated".to_owned())
    }

    /// The `model` of a scenario.
    ///
    /// # Errors
    /// The reason why it is none of the catalogue.
    pub fn model(self) -> Result<Value, String> {
        let name = self.text("model").ok_or("the model is not named")?;
        models::model(name, &models::Stated::default())
    }

    /// The first field of the configuration whose meaning for the scenario is not known: what a
    /// report says is never left out of account.
    pub fn unknown_field(self, known: &[&str]) -> Option<String> {
        let config = self.0["config"].as_object()?;
        let name = config.keys().find(|name| !known.contains(&name.as_str()))?;
        Some(format!("config: {}", quoted(name)))
    }

    /// A job of training or fine-tuning, by the fields that only these have.
    pub fn trains(self) -> bool {
        let only = ["method", "zero", "optimizer", "grad_ckpt", "grad_accum", "fsdp", "seq"];
        matches!(self.text("kind"), Some("train" | "finetune"))
            || only.iter().any(|name| !self.config(name).is_null())
    }

    /// All outcomes.
    pub fn outcomes(self) -> Vec<Outcome<'a>> {
        let all = self.0["outcome"].as_array().map_or(&[][..], Vec::as_slice);
        all.iter()
            .map(|value| Outcome {
                metric: value["metric"].as_str().unwrap_or(""),
                verdict: value["value"].as_bool(),
                number: value["value"]
                    .as_f64()
                    .filter(|number| number.is_finite() && *number > 0.0),
                detail: value["detail"].as_str().unwrap_or(""),
            })
            .collect()
    }
}

impl Outcome<'_> {
    /// Whether this outcome is that of the stated configuration: the only one of its metric, or the
    /// only one without a detail.
    ///
    /// # Errors
    /// The reason why it is not.
    pub fn distinct(&self, all: &[Outcome<'_>]) -> Result<(), String> {
        let alike: Vec<_> = all
            .iter()
            .filter(|other| other.metric == self.metric && other.meaning() == self.meaning())
            .collect();
        let plain = alike.iter().filter(|other| other.detail.is_empty()).count();
        if alike.len() == 1 || (self.detail.is_empty() && plain == 1) {
            self.about_running()
        } else {
            Err("several outcomes under changed configurations".to_owned())
        }
    }

    /// A verdict about the host's memory.
    pub fn about_the_host(&self) -> bool {
        let detail = self.detail.to_lowercase();
        ["host ram", "cpu ram", "cpu out"].iter().any(|sign| detail.contains(sign))
    }

    /// Whether a server or a step runs; loading before it is another question.
    fn about_running(&self) -> Result<(), String> {
        let detail = self.detail.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| detail.contains(word));
        if self.metric != "fits" || self.about_the_host() {
            Ok(())
        } else if has(&["load", "moving the model", "inside fsdp(", "start-up"]) {
            Err("memory while loading, not while running".to_owned())
        } else {
            Ok(())
        }
    }

    /// What tokens a second are counted.
    pub fn meaning(&self) -> Meaning {
        let detail = self.detail.to_lowercase();
        let first = detail.split([' ', ',']).next().unwrap_or("");
        let test = |name: &str| first.strip_prefix(name).and_then(|count| count.parse().ok());
        if let Some(tokens) = test("pp") {
            Meaning::PromptTest(tokens)
        } else if let Some(tokens) = test("tg") {
            Meaning::AnswerTest(tokens)
        } else if detail.contains("prompt+output") {
            Meaning::Both
        } else if first == "prefill" || first == "prompt" {
            Meaning::Prompt
        } else {
            Meaning::Answer
        }
    }
}

/// What tokens a second are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Answer,
    Prompt,
    Both,
    /// llama-bench's `pp`: a prompt of so many tokens.
    PromptTest(u64),
    /// llama-bench's `tg`: an answer of so many tokens to an empty prompt.
    AnswerTest(u64),
}

/// The `quantization.weights` for what a user calls a format; `None` says nothing.
///
/// # Errors
/// The reason why it is none that the scenario format can say.
pub fn weights(text: Option<&str>) -> Result<String, String> {
    let Some(text) = text else { return Ok("none".to_owned()) };
    let lower = text.to_lowercase();
    let unknown = || format!("weight format: {}", quoted(text));
    if ["default", " and ", "about", "probably", "/"].iter().any(|sign| lower.contains(sign)) {
        return Err(unknown());
    }
    let words: Vec<&str> = lower.split([' ', '-', ',']).collect();
    let first = words.first().copied().unwrap_or("");
    // A file type of llama.cpp: `Q4_K_M`, `IQ3_M`, but not a bare `Q4`.
    let typed = first.strip_prefix("iq").or_else(|| first.strip_prefix('q'));
    if typed.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return if first.contains('_') {
            formats::weights(&format!("gguf {first}"), None, None)
        } else {
            Err(unknown())
        };
    }
    let bits = words
        .windows(2)
        .find_map(|pair| if pair[1] == "bit" { pair[0].parse::<f64>().ok() } else { None });
    let group = words
        .iter()
        .find_map(|word| word.strip_prefix('g').filter(|size| size.parse::<u32>().is_ok()));
    match (first, bits) {
        ("bnb", Some(8.0)) => Ok("int8".to_owned()),
        _ => formats::weights(&lower, bits, group),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_users_call_formats() {
        for (text, format) in [
            ("Q4_K_M", "gguf:q4_k_m"),
            ("Q4_0 (ggjt v3)", "gguf:q4_0"),
            ("IQ3_M", "gguf:iq3_m"),
            ("AWQ 4-bit g128", "int4-g128"),
            ("AWQ 4-bit, fp16", "int4-g128"),
            ("GPTQ 4-bit", "int4-g128"),
            ("GPTQ int4", "int4-g128"),
            ("bnb 4-bit", "nf4"),
            ("bnb 8-bit", "int8"),
            ("LLM.int8", "int8"),
            ("nf4", "nf4"),
            ("FP8", "fp8"),
            ("MXFP4", "mxfp4"),
            ("NVFP4 (modelopt)", "nvfp4"),
        ] {
            assert_eq!(weights(Some(text)).as_deref(), Ok(format), "{text}");
        }
        assert_eq!(weights(None).as_deref(), Ok("none"));
        for text in
            ["Q4", "Q5", "Q4 and Q2_K", "4-bit", "Q4_K_M (ollama default; Q4_0 for llama2)", ""]
        {
            assert!(weights(Some(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn details_tell_which_tokens_are_counted() {
        let value = json!({"outcome": [
            {"metric": "tokens_per_s", "value": 1, "detail": "tg128"},
            {"metric": "tokens_per_s", "value": 1, "detail": "pp4096"},
            {"metric": "tokens_per_s", "value": 1, "detail": "prompt, 72.4 ms per token"},
            {"metric": "tokens_per_s", "value": 1, "detail": "prompt+output, 0.27 req/s"},
            {"metric": "tokens_per_s", "value": 1, "detail": "decode, warmed"},
        ]});
        let meanings: Vec<_> = Report(&value).outcomes().iter().map(Outcome::meaning).collect();
        assert_eq!(
            meanings,
            [
                Meaning::AnswerTest(128),
                Meaning::PromptTest(4096),
                Meaning::Prompt,
                Meaning::Both,
                Meaning::Answer
            ]
        );
    }
}
