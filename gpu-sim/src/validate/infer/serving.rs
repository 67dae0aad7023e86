//! Predictions for rows of inference: memory by how it was read off, speed by how it was counted.

use super::super::answer::{Answer, Gauge, Scope};
use super::super::vocabulary::engines::Family;
use super::super::{Need, Row as Comparison};
use super::quantity::{Metric, Quantity};
use super::row::{Measured, Reported, Row, scope};
use super::setup::{Needs, Requests, Setup, is_bench};
use std::cell::OnceCell;

/// Sources whose speed is generated tokens over the time of the whole request, prompt included
/// (Qwen2 and Qwen2.5 documentation); elsewhere decoding alone is timed.
const WHOLE_REQUEST: [&str; 2] = ["qwen2-speed", "qwen25-speed"];

/// Sources that print the memory of several GPUs added up (Qwen READMEs, under their tables).
const ADDED_UP: [&str; 4] = ["qwen1-readme", "qwen2-speed", "qwen25-speed", "qwen3-speed"];

/// Prompt lengths of the Qwen tables between which the growth of memory was taken, and their answer.
const SLOPE: (u64, u64, u64) = (14_336, 30_720, 2048);

/// The largest batch that `trtllm-bench` tunes an engine to (its log: `Max Runtime Batch Size`).
const LARGEST_BENCH_BATCH: u64 = 4096;

/// Requests of a `trtllm-bench` run by prompt and answer (TensorRT-LLM's performance overview).
const BENCH_REQUESTS: [(u64, u64, u64); 10] = [
    (128, 128, 30_000),
    (128, 2048, 3000),
    (128, 4096, 1500),
    (500, 2000, 3000),
    (1000, 1000, 3000),
    (1000, 2000, 1500),
    (2048, 128, 3000),
    (2048, 2048, 1500),
    (5000, 500, 1500),
    (20_000, 2000, 1000),
];

/// A row and what was simulated for it so far: some of its values need another scenario.
pub struct Serving<'a> {
    row: Row<'a>,
    id: String,
    mode: &'a str,
    /// Nothing runs: the weights alone.
    resting: OnceCell<Result<(Setup, Answer), String>>,
    /// Tensors while it runs, on whatever device.
    tensors: OnceCell<Result<Run, String>>,
    run: OnceCell<Result<Run, String>>,
}

#[derive(Clone, Debug)]
struct Run {
    setup: Setup,
    requests: Requests,
    answer: Answer,
}

impl<'a> Serving<'a> {
    pub fn new(row: Row<'a>, id: String, mode: &'a str) -> Self {
        let (resting, tensors, run) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { row, id, mode, resting, tensors, run }
    }

    /// The comparison of one value.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn compare(
        &self,
        metric: &'static Metric,
        value: &Measured<'_>,
    ) -> Result<Comparison, String> {
        match (metric.quantity, value.value) {
            (Quantity::Fits, Reported::Verdict(fits)) => self.verdict(fits),
            (Quantity::OutOfMemory, Reported::Verdict(oom)) => self.verdict(!oom),
            (Quantity::Fits | Quantity::OutOfMemory, _) | (_, Reported::Verdict(_)) => {
                Err(format!("malformed: {}", metric.name))
            }
            (_, Reported::Malformed) => Err(format!("no positive number: {}", metric.name)),
            (quantity, Reported::Number(measured)) => {
                let (predicted, simplest) = self.predict(quantity, value)?;
                let mut row = Comparison::new(
                    self.id.clone(),
                    metric.name,
                    measured,
                    predicted * metric.scale,
                );
                row.trivial = simplest.map(|simplest| simplest * metric.scale);
                Ok(row)
            }
        }
    }

    fn verdict(&self, measured: bool) -> Result<Comparison, String> {
        let (fits, need): (bool, Need) = if self.mode == "load" {
            // Not even the weights fit: lengths do not matter.
            let setup = Setup::of(self.row, Needs::Run)?;
            Answer::of(setup.scenario(Requests { batch: 1, input: 1, output: 1 }))?.fits()?
        } else {
            self.run()?.answer.fits()?
        };
        Ok(Comparison::fits(self.id.clone(), measured, fits, need))
    }

    /// What we predict, and the simplest estimate.
    fn predict(
        &self,
        quantity: Quantity,
        value: &Measured<'_>,
    ) -> Result<(f64, Option<f64>), String> {
        let memory = |gib: f64| Ok((value.in_own_unit(gib), None));
        match quantity {
            Quantity::Weights => memory(self.weights_gib()?),
            Quantity::BitsPerWeight => {
                let (_, answer) = self.resting()?;
                let params = answer.number(&["params", "total"])?;
                Ok((self.weights_gib()? * 8.0 * 1_073_741_824.0 / params, None))
            }
            Quantity::Peak => memory(self.peak_gib(value)?),
            Quantity::KvCache => memory(self.cache_gib()?),
            Quantity::KvTokens => Ok((self.run()?.answer.number(&["time", "kv_tokens"])?, None)),
            Quantity::ContextBytes => Ok((self.context_bytes()?, None)),
            Quantity::Host => memory(self.run()?.answer.number(&["memory", "host_gib"])?),
            _ => self.run()?.speed(quantity, self.mode, self.counts(value)),
        }
    }

    /// The whole model's weights, those that an engine leaves on the host too.
    fn weights_gib(&self) -> Result<f64, String> {
        if self.row.own_text("note").contains("excludes the embedding") {
            return Err("the weights are counted without the embedding table".to_owned());
        }
        let (setup, answer) = self.resting()?;
        let on_gpus = answer.gib(&["breakdown", "weights"], Scope::Sum)?;
        let host = match setup.engine.family {
            Family::LlamaCpp => answer.number(&["memory", "host_gib"])?,
            _ => 0.0,
        };
        Ok(on_gpus + host)
    }

    /// Keys and values of a batch of prompts and their answers.
    fn cache_gib(&self) -> Result<f64, String> {
        let setup = Setup::of(self.row, Needs::Cache)?;
        let count = |name| self.row.count("config", name);
        let batch = count("batch")?.filter(|batch| *batch > 0).ok_or("the batch is not stated")?;
        let input = count("input_len")?.ok_or("the prompt's length is not stated")?;
        let output = count("output_len")?.unwrap_or(0);
        let answer = Answer::of(setup.scenario(Requests { batch, input, output }))?;
        answer.gib(&["breakdown", "kv_cache"], Scope::Sum)
    }

    fn peak_gib(&self, value: &Measured<'_>) -> Result<f64, String> {
        let notes = format!("{} {}", value.note, self.row.own_text("note")).to_lowercase();
        if notes.contains("rounded") || notes.contains("recommended") {
            return Err("a rounded or recommended amount, not a measured one".to_owned());
        }
        if self.mode == "load" {
            return self.weights_gib();
        }
        if notes.contains("gpu0") {
            return Err("the memory of one GPU of several".to_owned());
        }
        let tensors = self.tensors()?;
        let gauge = gauge(&notes, tensors.setup.engine.family);
        // Context and reserved memory depend on the device.
        let run = if gauge == Gauge::Allocated { tensors } else { self.run()? };
        let scope = scope(value.note, self.row.own_text("note"));
        let source = self.row.own_text("source_group");
        let scope = match scope {
            _ if run.setup.gpus() == 1 => Scope::Fullest,
            Some(scope) => scope,
            None if ADDED_UP.contains(&source) => Scope::Sum,
            None => return Err("memory per GPU or of all together: not stated".to_owned()),
        };
        run.answer.peak_gib(gauge, scope)
    }

    fn context_bytes(&self) -> Result<f64, String> {
        let setup = Setup::of(self.row, Needs::Tensors)?;
        let batch = self.row.count("config", "batch")?.unwrap_or(1);
        let (short, long, output) = SLOPE;
        let peak = |input: u64| {
            let answer = Answer::of(setup.scenario(Requests { batch, input, output }))?;
            answer.peak_gib(Gauge::Allocated, Scope::Fullest)
        };
        Ok((peak(long)? - peak(short)?) * 1_073_741_824.0 / (long - short) as f64)
    }

    /// How the source counts tokens a second.
    fn counts(&self, value: &Measured<'_>) -> Counts {
        let note = value.note.to_lowercase();
        let whole = WHOLE_REQUEST.contains(&self.row.own_text("source_group"));
        Counts {
            whole_request: whole || note.contains("total wall time"),
            prompt_too: note.contains("encoded and generated"),
            per_gpu: note.contains("per-gpu") || note.contains("per gpu"),
            batch_divided: note.contains("divided over batch"),
        }
    }

    fn resting(&self) -> Result<&(Setup, Answer), String> {
        let simulate = || {
            let setup = Setup::of(self.row, Needs::Weights)?;
            let answer = Answer::of(setup.scenario(Requests { batch: 1, input: 1, output: 1 }))?;
            Ok((setup, answer))
        };
        self.resting.get_or_init(simulate).as_ref().map_err(String::clone)
    }

    fn tensors(&self) -> Result<&Run, String> {
        let run = self.tensors.get_or_init(|| Run::of(self.row, self.mode, Needs::Tensors));
        run.as_ref().map_err(String::clone)
    }

    fn run(&self) -> Result<&Run, String> {
        let run = self.run.get_or_init(|| Run::of(self.row, self.mode, Needs::Run));
        run.as_ref().map_err(String::clone)
    }
}

/// How tokens a second are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    /// Over the time of the whole request, not of decoding alone.
    whole_request: bool,
    /// Tokens of the prompt count as well.
    prompt_too: bool,
    per_gpu: bool,
    /// Time is divided by the batch.
    batch_divided: bool,
}

impl Run {
    fn of(row: Row<'_>, mode: &str, needs: Needs) -> Result<Self, String> {
        let setup = Setup::of(row, needs)?;
        let (input, output) = lengths(row, mode)?;
        if !row.0["config"]["request_rate"].is_null() {
            return Err("requests that arrive at a rate".to_owned());
        }
        let batch = match row.count("config", "batch")? {
            Some(0) => return Err("malformed: config.batch".to_owned()),
            Some(batch) => batch,
            None if is_bench(row) => as_many_as_fit(&setup, input, output)?,
            None => return Err("the batch is not stated".to_owned()),
        };
        let requests = Requests { batch, input, output };
        let answer = Answer::of(setup.scenario(requests))?;
        Ok(Self { setup, requests, answer })
    }

    fn ttft_s(&self) -> Result<f64, String> {
        self.answer.number(&["time", "ttft_s"])
    }

    fn tpot_s(&self) -> Result<f64, String> {
        self.answer.number(&["time", "tpot_s"])
    }

    /// Seconds from a request to the last token of its answer.
    fn latency_s(&self) -> Result<f64, String> {
        let further = self.requests.output.saturating_sub(1) as f64;
        Ok(self.ttft_s()? + further * self.tpot_s()?)
    }

    fn speed(
        &self,
        quantity: Quantity,
        mode: &str,
        counts: Counts,
    ) -> Result<(f64, Option<f64>), String> {
        let batch = self.requests.batch as f64;
        let (input, output) = (self.requests.input as f64, self.requests.output as f64);
        let gpus = self.setup.gpus() as f64;
        // Seconds for a token of every request when reading the weights once is all there is.
        let reading = self.reading_s().ok();
        let computing = self.computing_s(batch * input).ok();
        let prompts = || Ok((batch * input / self.ttft_s()?, computing.map(|s| batch * input / s)));
        let generated = || -> Result<(f64, Option<f64>), String> {
            match mode {
                "prefill" => prompts(),
                "serve" => Ok((self.answer.number(&["time", "tokens_per_s"])?, None)),
                _ if counts.prompt_too => Ok((batch * (input + output) / self.latency_s()?, None)),
                _ if counts.whole_request => {
                    Ok((batch * output / self.latency_s()?, reading.map(|s| batch / s)))
                }
                _ => Ok((batch / self.tpot_s()?, reading.map(|s| batch / s))),
            }
        };
        let divided = |(value, simplest): (f64, Option<f64>), by: f64| {
            (value / by, simplest.map(|simplest| simplest / by))
        };
        Ok(match quantity {
            Quantity::Generated if counts.per_gpu => divided(generated()?, gpus),
            Quantity::Generated => generated()?,
            Quantity::GeneratedPerGpu => divided(generated()?, gpus),
            Quantity::Both => (batch * (input + output) / self.latency_s()?, None),
            Quantity::PromptTokens => prompts()?,
            Quantity::FirstToken => (self.ttft_s()?, computing),
            Quantity::EachToken if counts.batch_divided => {
                divided((self.tpot_s()?, reading), batch)
            }
            Quantity::EachToken => (self.tpot_s()?, reading),
            Quantity::Latency => (self.latency_s()?, None),
            _ => return Err("a quantity of training in a row of inference".to_owned()),
        })
    }

    /// The weights of a GPU over its bandwidth; stages read one after another.
    fn reading_s(&self) -> Result<f64, String> {
        let gib = self.answer.gib(&["breakdown", "weights"], Scope::Sum)?;
        let bytes = gib * 1_073_741_824.0 / self.setup.at_a_time() as f64;
        Ok(bytes / (self.setup.device.memory_bandwidth_gb_per_s * 1e9))
    }

    /// Two FLOPs a parameter and token at half of the dense peak.
    fn computing_s(&self, tokens: f64) -> Result<f64, String> {
        let peaks = &self.setup.device.peaks;
        let tflops =
            peaks.bf16_tflops.or(peaks.fp16_tflops).ok_or("the device has no peak rate")?;
        let flops = 2.0 * self.answer.active_params()? * tokens;
        Ok(flops / (0.5 * tflops * 1e12 * self.setup.at_a_time() as f64))
    }
}

/// Prompt and answer of a request.
fn lengths(row: Row<'_>, mode: &str) -> Result<(u64, u64), String> {
    let input = row.count("config", "input_len")?.ok_or("the prompt's length is not stated")?;
    let output = match (row.count("config", "output_len")?, mode) {
        (Some(output), _) => output,
        // A prompt is answered with its first token.
        (None, "prefill" | "load") => 1,
        (None, _) => return Err("the answer's length is not stated".to_owned()),
    };
    Ok((input, output))
}

/// Requests at a time of a benchmark that queues all of them at once.
fn as_many_as_fit(setup: &Setup, input: u64, output: u64) -> Result<u64, String> {
    let all = BENCH_REQUESTS.iter().find(|run| (run.0, run.1) == (input, output));
    let all = all.map_or(LARGEST_BENCH_BATCH, |run| run.2);
    let one = Answer::of(setup.scenario(Requests { batch: 1, input, output }))?;
    let fit = one.number(&["time", "max_concurrency"])?;
    Ok((fit as u64).min(all).clamp(1, LARGEST_BENCH_BATCH))
}

/// What a row's notes say about how memory was read off; PyTorch's own count where its engine is
/// PyTorch, what the driver shows elsewhere.
fn gauge(notes: &str, family: Family) -> Gauge {
    if notes.contains("nvidia-smi") {
        Gauge::Driver
    } else if notes.contains("reserved") {
        Gauge::Reserved
    } else if family == Family::Transformers {
        Gauge::Allocated
    } else {
        Gauge::Driver
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_tell_how_memory_was_read_off() {
        assert_eq!(gauge("", Family::Transformers), Gauge::Allocated);
        assert_eq!(gauge("", Family::Vllm), Gauge::Driver);
        assert_eq!(gauge("per gpu, reserved", Family::Transformers), Gauge::Reserved);
        assert_eq!(gauge("nvidia-smi", Family::Transformers), Gauge::Driver);
    }
}
