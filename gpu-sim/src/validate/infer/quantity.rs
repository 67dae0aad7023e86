//! What the metrics of the tables mean (infer.md §1 and §6 of the collection, in short form in
//! `validation/README.md`).

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    // Memory.
    Weights,
    BitsPerWeight,
    Peak,
    KvCache,
    /// Bytes by which the peak grows with a token of the prompt.
    ContextBytes,
    /// Weights, gradients and optimizer states on a GPU.
    States,
    Host,
    Fits,
    OutOfMemory,
    KvTokens,
    // Speed of inference.
    Generated,
    GeneratedPerGpu,
    /// Tokens of prompts and answers.
    Both,
    PromptTokens,
    FirstToken,
    EachToken,
    Latency,
    // Speed of training.
    Step,
    Samples,
    ModelFlops,
    HardwareFlops,
    Tflops,
}

/// A metric's name, its quantity, and how many of its units are one of ours (seconds, GiB, tokens).
pub struct Metric {
    pub name: &'static str,
    pub quantity: Quantity,
    pub scale: f64,
}

impl Metric {
    /// The name under which comparisons stand: a run out of memory is a verdict as well.
    pub fn reported(&self) -> &'static str {
        if self.quantity == Quantity::OutOfMemory { "fits" } else { self.name }
    }
}

const fn metric(name: &'static str, quantity: Quantity, scale: f64) -> Metric {
    Metric { name, quantity, scale }
}

const METRICS: [Metric; 24] = [
    metric("weights_gb", Quantity::Weights, 1.0),
    metric("bits_per_weight", Quantity::BitsPerWeight, 1.0),
    metric("peak_mem_gb", Quantity::Peak, 1.0),
    metric("kv_cache_gb", Quantity::KvCache, 1.0),
    metric("context_bytes_per_token", Quantity::ContextBytes, 1.0),
    metric("static_mem_gb", Quantity::States, 1.0),
    metric("host_mem_gb", Quantity::Host, 1.0),
    metric("fits", Quantity::Fits, 1.0),
    metric("oom", Quantity::OutOfMemory, 1.0),
    metric("max_kv_slots", Quantity::KvTokens, 1.0),
    metric("tokens_per_s", Quantity::Generated, 1.0),
    metric("tokens_per_s_per_gpu", Quantity::GeneratedPerGpu, 1.0),
    metric("tokens_per_s_incl_prompt", Quantity::Both, 1.0),
    metric("tokens_per_s_total_in_out", Quantity::Both, 1.0),
    metric("prefill_tokens_per_s", Quantity::PromptTokens, 1.0),
    metric("ttft_ms", Quantity::FirstToken, 1e3),
    metric("tpot_ms", Quantity::EachToken, 1e3),
    metric("latency_s", Quantity::Latency, 1.0),
    metric("latency_ms", Quantity::Latency, 1e3),
    metric("step_time_s", Quantity::Step, 1.0),
    metric("samples_per_s", Quantity::Samples, 1.0),
    metric("mfu", Quantity::ModelFlops, 1.0),
    metric("hfu", Quantity::HardwareFlops, 1.0),
    metric("tflops_per_gpu", Quantity::Tflops, 1.0),
];

/// Metrics of a model's quality: they depend on the method and the model and are looked up, not
/// computed from bits.
const QUALITY: [&str; 4] = ["perplexity", "accuracy", "accuracy_loss_pct", "kv_utilisation"];

/// The metric called `name`.
///
/// # Errors
/// The reason why it is not predicted.
pub fn find(name: &str) -> Result<&'static Metric, String> {
    if QUALITY.iter().any(|quality| name.starts_with(quality)) {
        return Err("quality is a lookup, not a prediction".to_owned());
    }
    let known = METRICS.iter().find(|metric| metric.name == name);
    known.ok_or_else(|| format!("metric: {}", super::super::vocabulary::quoted(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_and_unknown_metrics_are_reasons_of_their_own() {
        assert!(find("perplexity").err().is_some_and(|reason| reason.starts_with("quality")));
        assert_eq!(find("speedup_x").err().as_deref(), Some("metric: speedup_x"));
        assert!(find("ttft_ms").is_ok_and(|metric| metric.quantity == Quantity::FirstToken));
    }
}
