//! The formulas that explanations quote: one list for the page, the tests and docs/formulas.md.

use crate::report::Basis;

/// A formula with its source. Its title is the text `formula.<id>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula {
    pub id: &'static str,
    pub expression: &'static str,
    pub source: &'static str,
    pub basis: Basis,
}

macro_rules! formulas {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $expression:literal, $basis:ident, $source:literal;)+) => {
        $(
            $(#[$doc])*
            pub const $name: Formula = Formula {
                id: $id,
                expression: $expression,
                source: $source,
                basis: Basis::$basis,
            };
        )+

        /// All of them, in the order of docs/formulas.md.
        pub const ALL: &[Formula] = &[$($name),+];
    };
}

formulas! {
    /// Weights, whole on every replica.
    WEIGHTS = "weights", "s_w · Ψ", Published,
        "Rajbhandari et al. 2020 (ZeRO), §3.1";
    /// Weights under ZeRO-3.
    WEIGHTS_SHARDED = "weights-sharded", "s_w · ⌈Ψ / N_dp⌉", Published,
        "Rajbhandari et al. 2020 (ZeRO), §5.3";
    /// Weights of adapters and of a frozen model.
    WEIGHTS_FROZEN = "weights-frozen", "s_w · Ψ + s_0 · Ψ_0", Published,
        "Hu et al. 2021 (LoRA), §4; Dettmers et al. 2023 (QLoRA), §3";
    /// Weights of adapters and of a frozen model under ZeRO-3.
    WEIGHTS_FROZEN_SHARDED = "weights-frozen-sharded", "(s_w · Ψ + s_0 · Ψ_0) / N_dp", Published,
        "Hu et al. 2021 (LoRA), §4; Rajbhandari et al. 2020 (ZeRO), §5.3";
    /// Weights under ZeRO-3 where routed experts have fewer replicas.
    WEIGHTS_SHARDED_EXPERTS = "weights-sharded-experts",
        "s_w · (⌈Ψ / N_dp⌉ + ⌈Ψ_e / N_edp⌉)", Published,
        "Rajbhandari et al. 2020 (ZeRO), §5.3; Singh et al. 2023 (DeepSpeed-TED)";
    /// Gradients, whole on every replica.
    GRADIENTS = "gradients", "s_g · Ψ", Published,
        "Rajbhandari et al. 2020 (ZeRO), §3.1";
    /// Gradients under ZeRO-2 and 3.
    GRADIENTS_SHARDED = "gradients-sharded", "s_g · ⌈Ψ / N_dp⌉", Published,
        "Rajbhandari et al. 2020 (ZeRO), §5.2";
    /// Gradients under ZeRO-2 and 3 where routed experts have fewer replicas.
    GRADIENTS_SHARDED_EXPERTS = "gradients-sharded-experts",
        "s_g · (⌈Ψ / N_dp⌉ + ⌈Ψ_e / N_edp⌉)", Published,
        "Rajbhandari et al. 2020 (ZeRO), §5.2; Singh et al. 2023 (DeepSpeed-TED)";
    /// Gradients that are freed one after the other.
    GRADIENTS_IN_BACKWARD = "gradients-in-backward", "s_g · Ψ_1", Published,
        "Lv et al. 2023 (LOMO), §3.2; PyTorch's `register_post_accumulate_grad_hook`";
    /// Optimizer states, whole on every replica.
    OPTIMIZER = "optimizer", "(s_master + s_moments) · Ψ", Published,
        "Rajbhandari et al. 2020 (ZeRO), §3.1; Micikevicius et al. 2018, §3.1";
    /// Optimizer states under ZeRO-1 to 3.
    OPTIMIZER_SHARDED = "optimizer-sharded", "(s_master + s_moments) · ⌈Ψ / N_dp⌉", Published,
        "Rajbhandari et al. 2020 (ZeRO), §5.1";
    /// Optimizer states under ZeRO-1 to 3 where routed experts have fewer replicas.
    OPTIMIZER_SHARDED_EXPERTS = "optimizer-sharded-experts",
        "(s_master + s_moments) · (⌈Ψ / N_dp⌉ + ⌈Ψ_e / N_edp⌉)", Published,
        "Rajbhandari et al. 2020 (ZeRO), §5.1; Singh et al. 2023 (DeepSpeed-TED)";
    /// What forward keeps for backward.
    ACTIVATIONS = "activations", "a · b · s · L", Published,
        "sum over the operator list; for GPT layers Korthikanti et al. 2022, §4";
    /// What forward keeps on a pipeline stage.
    ACTIVATIONS_PIPELINE = "activations-pipeline", "a · b · s · L · m_live", Published,
        "sum over the operator list; Narayanan et al. 2021 (SC21), §2.2";
    /// Logits, their fp32 copy, log-probabilities and gradients.
    LOGITS = "logits", "w · b · s · V", Published,
        "sum over the operator list; PyTorch's cross-entropy works in fp32";
    /// A sum without a shorter form.
    LIVE_TENSORS = "live-tensors", "Σ live tensors", Published,
        "the trace: every allocation that has not been freed at this instant";
    /// Memory of the software itself.
    RUNTIME = "runtime", "M_context + M_NCCL", Assumed,
        "NCCL buffers: ai-dynamo/aiconfigurator; CUDA context: assumed";
    /// Reserved and not allocated.
    FRAGMENTATION = "fragmentation", "(φ − 1) · (M_alloc − M_0)", Published,
        "reserved beside allocated memory of SimuMax 1.2's six dense runs; growth by micro-batch of BigScience's and nanotron's";
    /// What the device offers.
    CAPACITY = "capacity", "M_smi", Published,
        "total memory as nvidia-smi reports it";
    /// The length of the step.
    STEP_TIME = "step-time", "t_compute + t_exposed + t_idle", Assumed,
        "the trace of the first rank; operators priced by a roofline";
    /// Throughput.
    TOKENS_PER_SECOND = "tokens-per-second", "B · s / t_step", Assumed,
        "definition";
    /// Model FLOP utilization.
    MFU = "mfu", "F_model / (t_step · N · P)", Assumed,
        "Chowdhery et al. 2022 (PaLM), Appendix B: attention over the full square, no recomputation";
    /// Share of waiting in a pipeline.
    BUBBLE = "bubble", "(p − 1) / (m + p − 1)", Published,
        "Huang et al. 2019 (GPipe), §2.3; Narayanan et al. 2021 (SC21), §2.2";
    /// Communication that nothing hides.
    EXPOSED_COMMUNICATION = "exposed-communication", "t_busy − t_compute", Assumed,
        "the trace of the first rank: time with communication and without computation";
    /// Weights of a served model.
    WEIGHTS_STORED = "weights-stored", "b · Ψ / 8", Published,
        "sum over the matrices in their file formats: codes, scales, zero points";
    /// A cache that grows, or is there for every request's longest context.
    KV_CACHE = "kv-cache", "n · T · c", Published,
        "Kwon et al. 2023 (PagedAttention), §3; 2·k·d numbers a token and layer";
    /// A cache of blocks that takes what is left.
    KV_POOL = "kv-pool", "⌊M_free / M_block⌋ · M_block", Published,
        "vLLM, determine_available_memory and get_kv_cache_config";
    /// Memory of the software of a serving engine.
    RUNTIME_SERVING = "runtime-serving", "M_context + M_NCCL + M_graphs", Assumed,
        "NCCL buffers: ai-dynamo/aiconfigurator; CUDA context and graphs: assumed";
    /// Room for the largest step beside what is in use.
    RESERVED_ROOM = "reserved-room", "M_reserved − M_alloc", Published,
        "vLLM, profile_run: the allocator keeps what the trial run needed";
    /// The first token of every request.
    TIME_TO_FIRST_TOKEN = "time-to-first-token", "t_prefill", Assumed,
        "the trace: all requests arrive at once, the last of their first tokens";
    /// The tokens after it.
    TIME_PER_OUTPUT_TOKEN = "time-per-output-token", "(t_batch − t_prefill) / (N − 1)", Assumed,
        "the trace: the steps after the prompts";
    /// Generated tokens.
    GENERATED_PER_SECOND = "generated-per-second", "n · N / t_batch", Assumed,
        "definition; prompts are not counted";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_formula_stands_in_the_documentation() {
        let page = include_str!("../../docs/formulas.md");
        for formula in ALL {
            for part in [formula.id, formula.expression, formula.source] {
                assert!(page.contains(part), "docs/formulas.md lacks `{part}`");
            }
        }
    }
}
