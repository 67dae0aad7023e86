//! A scenario's report, read by name: a number that this build does not report is a reason to skip.

use super::Need;
use serde_json::Value;
use sim_core::issue::{IssueCode, Severity};
use sim_core::scenario::Scenario;

/// The report of a scenario that was simulated.
#[derive(Clone, Debug)]
pub struct Answer(Value);

/// How memory was read off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauge {
    /// Tensors alive (`torch.cuda.max_memory_allocated`).
    Allocated,
    /// What the allocator took (`max_memory_reserved`).
    Reserved,
    /// What the driver shows for the process (nvidia-smi).
    Driver,
}

/// Over which GPUs a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The fullest GPU.
    Fullest,
    /// All GPUs together.
    Sum,
}

impl Answer {
    /// Simulates.
    ///
    /// # Errors
    /// The first error of the scenario, with the field and the value that are not simulated.
    pub fn of(scenario: Value) -> Result<Self, String> {
        let scenario = Scenario::from_value(scenario)
            .map_err(|error| format!("no scenario: {}", error.field().unwrap_or("malformed")))?;
        let report = sim_core::report(&scenario);
        let error = report.issues.iter().find(|issue| issue.severity == Severity::Error);
        if let Some(issue) = error {
            let value = issue.values.get("value").map_or("", String::as_str);
            return Err(match issue.code {
                IssueCode::NotSupported => format!("not simulated: {}={value}", issue.field),
                code => format!("not simulated: {} ({})", issue.field, code.name()),
            });
        }
        let report = serde_json::to_value(&report).expect("a report has string keys only");
        Ok(Self(report))
    }

    /// A number of the report by its path.
    ///
    /// # Errors
    /// When the report has no such number.
    pub fn number(&self, path: &[&str]) -> Result<f64, String> {
        let value = path.iter().fold(&self.0, |value, name| &value[*name]);
        value.as_f64().filter(|number| number.is_finite()).ok_or_else(|| missing(&path.join(".")))
    }

    /// GiB of a field of every class of GPUs.
    ///
    /// # Errors
    /// When the report has no such field.
    pub fn gib(&self, path: &[&str], scope: Scope) -> Result<f64, String> {
        let name = || missing(&format!("memory.{}", path.join(".")));
        let classes = self.0["memory"]["per_rank"].as_array().ok_or_else(name)?;
        let mut total = 0.0_f64;
        for class in classes {
            let value = path.iter().fold(class, |value, name| &value[*name]);
            let gib = value.as_f64().ok_or_else(name)?;
            match scope {
                Scope::Fullest => total = total.max(gib),
                Scope::Sum => total += gib * class["ranks"].as_f64().ok_or_else(name)?,
            }
        }
        Ok(total)
    }

    /// Peak memory in GiB.
    ///
    /// # Errors
    /// When the report has none.
    pub fn peak_gib(&self, gauge: Gauge, scope: Scope) -> Result<f64, String> {
        let field = match gauge {
            Gauge::Allocated => "peak_allocated_gib",
            Gauge::Reserved => "peak_reserved_gib",
            Gauge::Driver => "driver_total_gib",
        };
        self.gib(&[field], scope)
    }

    /// The verdict and what it rests on.
    ///
    /// # Errors
    /// When the report has no memory.
    pub fn fits(&self) -> Result<(bool, Need), String> {
        let fits = self.0["fits"].as_bool().ok_or_else(|| missing("fits"))?;
        let need = Need {
            need_gib: self.peak_gib(Gauge::Driver, Scope::Fullest)?,
            capacity_gib: self.number(&["memory", "capacity_gib"])?,
        };
        Ok((fits, need))
    }

    /// Parameters that a token passes through.
    ///
    /// # Errors
    /// When the report has no count.
    pub fn active_params(&self) -> Result<f64, String> {
        self.number(&["params", "active"])
    }
}

fn missing(path: &str) -> String {
    format!("the report has no {path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Answer {
        Answer(json!({"fits": true, "memory": {"capacity_gib": 24.0, "per_rank": [
            {"ranks": 1, "driver_total_gib": 20.0, "breakdown": {"weights": 3.0}},
            {"ranks": 3, "driver_total_gib": 10.0, "breakdown": {"weights": 5.0}},
        ]}}))
    }

    #[test]
    fn the_fullest_gpu_and_the_sum_of_all() {
        let answer = report();
        assert_eq!(answer.gib(&["breakdown", "weights"], Scope::Fullest), Ok(5.0));
        assert_eq!(answer.gib(&["breakdown", "weights"], Scope::Sum), Ok(18.0));
        assert_eq!(answer.peak_gib(Gauge::Driver, Scope::Sum), Ok(50.0));
        assert_eq!(answer.fits().map(|(_, need)| need.need_gib), Ok(20.0));
    }

    #[test]
    fn a_number_that_is_not_reported_is_a_reason() {
        let answer = report();
        assert_eq!(
            answer.number(&["time", "ttft_s"]),
            Err("the report has no time.ttft_s".to_owned())
        );
        assert!(answer.gib(&["breakdown", "logits"], Scope::Sum).is_err());
    }

    #[test]
    fn what_is_not_simulated_is_named() {
        let scenario = json!({
            "model": "llama-2-7b", "hardware": {"device": "h100"},
            "strategy": {"schedule": "pipedream"},
        });
        assert_eq!(
            Answer::of(scenario).map(|_| ()),
            Err("not simulated: strategy.schedule=pipedream".to_owned())
        );
        let broken = json!({"model": "llama-2-7b", "hardware": {"devise": 1}});
        assert_eq!(Answer::of(broken).map(|_| ()), Err("no scenario: hardware.devise".to_owned()));
    }
}
