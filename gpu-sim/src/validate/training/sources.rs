//! What is known of each source beside its rows: the software, its settings, what its columns count.
//!
//! A row decides first; these facts fill what the source says once for all of its rows, in its
//! documents or scripts. Nothing here is chosen by looking at an error.

/// What a memory column counts. "GB as printed" is taken at its word; nvidia-smi counts in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// The highest sum of live tensors.
    Allocated,
    /// What PyTorch's allocator has taken from the driver.
    Reserved,
    /// What `nvidia-smi` shows.
    Driver,
    /// What is left when training has ended: weights, optimizer states, shards of gradients.
    Resident,
}

/// Bytes of a column's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Gb,
    Gib,
}

/// A memory column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub counts: Counts,
    pub unit: Unit,
}

/// The modules that have adapters, and their rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adapters {
    pub rank: u64,
    /// `all-linear`, or names of modules joined by commas, as PEFT takes them.
    pub targets: &'static str,
    /// In front of the adapters.
    pub dropout: f64,
}

/// What `recompute: selective` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selective {
    /// The attention core (Korthikanti et al. 2022): what the scenario format means.
    Attention,
    /// Another choice of what is computed again, which the scenario format does not have.
    Other,
}

/// What `bf16` or `fp16` alone means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    /// An fp32 copy of the weights, in a framework that keeps one, or fp32 weights under autocast.
    Mixed,
    /// No fp32 copy of the weights.
    Pure,
    /// As `Mixed` for all weights; frozen weights stay as they are beside adapters.
    PureUnderAdapters,
}

/// Facts about a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// `source_key` of its rows.
    pub key: &'static str,
    /// Software where neither FSDP nor ZeRO 2 or 3 is in use; empty where it is none that is
    /// simulated.
    pub framework: &'static str,
    /// Whose modules it runs, where not the framework's.
    pub modules: Option<&'static str>,
    pub bare: Bare,
    /// Gradients are summed up in fp32.
    pub fp32_gradients: bool,
    /// Kernel of attention where the row does not say.
    pub attention: Option<&'static str>,
    pub dropout: bool,
    pub optimizer: Option<&'static str>,
    pub optimizer_implementation: &'static str,
    /// Where the row does not say; the second under FSDP.
    pub recompute: [Option<&'static str>; 2],
    pub selective: Selective,
    /// ZeRO stage of rows with replicas that do not say.
    pub zero: Option<u64>,
    pub sequence_parallel: Option<bool>,
    /// Model chunks of a stage where the row does not say.
    pub virtual_stages: Option<u64>,
    /// Micro-batches of a step where the row does not say.
    pub accumulation: Option<u64>,
    pub adapters: Option<Adapters>,
    /// Rows of the token table where the row does not say.
    pub vocab: Option<u64>,
    pub peak: Option<Column>,
    pub allocated: Option<Column>,
    pub reserved: Option<Column>,
    /// Why times are not compared.
    pub time_differs: Option<&'static str>,
    /// A row that ran is a row that fits: its micro-batch was chosen so.
    pub ran_means_fits: bool,
}

const ALLOCATED_GB: Option<Column> = Some(Column { counts: Counts::Allocated, unit: Unit::Gb });
const ALLOCATED_GIB: Option<Column> = Some(Column { counts: Counts::Allocated, unit: Unit::Gib });
const RESERVED_GB: Option<Column> = Some(Column { counts: Counts::Reserved, unit: Unit::Gb });
const RESERVED_GIB: Option<Column> = Some(Column { counts: Counts::Reserved, unit: Unit::Gib });
const DRIVER_GIB: Option<Column> = Some(Column { counts: Counts::Driver, unit: Unit::Gib });

/// A source of which nothing is known beside its rows.
const UNKNOWN: Source = Source {
    key: "",
    framework: "",
    modules: None,
    bare: Bare::Mixed,
    fp32_gradients: false,
    attention: None,
    dropout: false,
    optimizer: None,
    optimizer_implementation: "fused",
    recompute: [None, None],
    selective: Selective::Attention,
    zero: None,
    sequence_parallel: None,
    virtual_stages: None,
    accumulation: None,
    adapters: None,
    vocab: None,
    peak: None,
    allocated: None,
    reserved: None,
    time_differs: None,
    ran_means_fits: false,
};

/// Megatron-LM: apex's fused Adam, dropout of 0.1 on by default in GPT's time.
const MEGATRON: Source =
    Source { framework: "megatron", optimizer: Some("adamw"), dropout: true, ..UNKNOWN };

/// DeepSpeed: fused Adam, Hugging Face's or its own modules without dropout.
const DEEPSPEED: Source = Source { framework: "deepspeed", ..UNKNOWN };

/// PyTorch and Hugging Face's modules; `foreach` is what `torch.optim.AdamW` chooses on a GPU.
const PYTORCH: Source =
    Source { framework: "pytorch", optimizer_implementation: "foreach", ..UNKNOWN };

/// All sources that are read.
const SOURCES: &[Source] = &[
    // defaults.yaml and scenarios*.yaml of its benchmark: gradient_accumulation_steps 1, LoRA r 16 on
    // the four projections of attention with dropout 0.1. peak and alloc are torch's bytes, alloc at the end of
    // training, reserved is nvidia-smi's.
    Source {
        key: "fmsacc",
        bare: Bare::Pure,
        attention: Some("flash"),
        optimizer: Some("adamw"),
        accumulation: Some(1),
        adapters: Some(Adapters { rank: 16, targets: "q_proj,k_proj,v_proj,o_proj", dropout: 0.1 }),
        peak: ALLOCATED_GB,
        allocated: Some(Column { counts: Counts::Resident, unit: Unit::Gb }),
        reserved: DRIVER_GIB,
        ..PYTORCH
    },
    // Recipes hold recomputation and offload; the tables do not.
    Source { key: "mbridge", dropout: false, fp32_gradients: true, ..MEGATRON },
    Source { key: "nemo", dropout: false, fp32_gradients: true, ..MEGATRON },
    // Megatron-DeepSpeed: Megatron's layers, ZeRO-1. Memory is read off nvidia-smi: on a V100 of 16 GiB
    // "16GB" is borderline, which it is not in units of 10⁹.
    Source {
        key: "bigscience",
        framework: "deepspeed",
        modules: Some("megatron"),
        zero: Some(1),
        peak: DRIVER_GIB,
        ..MEGATRON
    },
    // Composer over FSDP. Decoupled AdamW is a Python loop over parameters. Micro-batches are the
    // largest that fit.
    Source {
        key: "llmfoundry",
        framework: "fsdp",
        optimizer_implementation: "loop",
        ran_means_fits: true,
        ..UNKNOWN
    },
    // finetune/lora.py: r 8 and dropout 0.05 on query and value; FSDP checkpoints every block. `seq` is the longest
    // sample, which decides the peak; times are of samples of mean length.
    Source {
        key: "litgpt",
        bare: Bare::Pure,
        attention: Some("flash"),
        recompute: [None, Some("full")],
        adapters: Some(Adapters { rank: 8, targets: "q_proj,v_proj", dropout: 0.05 }),
        peak: ALLOCATED_GB,
        time_differs: Some("time is of samples of a mean length that is not given"),
        ..PYTORCH
    },
    // finetune.py: lora_r 64 and dropout 0.05 on all four linear modules, DeepSpeed ZeRO-2 but for LoRA on one GPU. Its
    // "162.0G" on two GPUs of 80 GiB cannot be GiB.
    Source {
        key: "qwen",
        bare: Bare::PureUnderAdapters,
        attention: Some("flash"),
        zero: Some(2),
        adapters: Some(Adapters { rank: 64, targets: "all-linear", dropout: 0.05 }),
        peak: RESERVED_GB,
        ..PYTORCH
    },
    Source { key: "dsmisc", peak: ALLOCATED_GIB, ..DEEPSPEED },
    Source { key: "dsazure", optimizer: Some("adamw"), ..DEEPSPEED },
    Source { key: "dsoffload", optimizer: Some("adamw"), ..DEEPSPEED },
    // perf_train_gpu_one: Trainer's default was transformers' own AdamW, a loop; BERT's dropout is 0.1.
    // The ladder's memory is nvidia-smi's; what the other tables count is not said. The 4-bit blog's
    // adapters: PEFT's defaults. Its modules of 2022 and 2023 write attention out.
    Source {
        key: "hf",
        attention: Some("eager"),
        optimizer_implementation: "loop",
        adapters: Some(Adapters { rank: 8, targets: "q_proj,v_proj", dropout: 0.05 }),
        peak: DRIVER_GIB,
        ..PYTORCH
    },
    // Benchmarks of 2024-12 on: fused AdamW; memory is torch's max_memory_reserved. Selective
    // checkpointing keeps every other matrix product.
    Source {
        key: "torchtitan",
        framework: "fsdp",
        attention: Some("flash"),
        selective: Selective::Other,
        peak: RESERVED_GIB,
        ..UNKNOWN
    },
    // examples/pretrain_zero_bubble.sh of November 2023: --fp16 without flash attention and with
    // default dropout, one layer a chunk when interleaved, a SentencePiece vocabulary: a tied table of
    // 32,000 rows gives all four printed sizes (1.5, 6.2, 14.6, 28.3), one of 50,257 does not.
    Source {
        key: "zerobubble",
        attention: Some("eager"),
        vocab: Some(32_000),
        peak: ALLOCATED_GB,
        ..MEGATRON
    },
    // Megatron-LM 23e00ed with TE 2.11, fused cross-entropy; Llama and DeepSeek have no dropout.
    Source {
        key: "simumax",
        dropout: false,
        peak: ALLOCATED_GIB,
        allocated: ALLOCATED_GIB,
        reserved: RESERVED_GIB,
        ..MEGATRON
    },
    // Figure 1 counts 18 bytes a parameter: fp32 gradients.
    Source { key: "korth", fp32_gradients: true, ..MEGATRON },
    Source { key: "sc21", ..MEGATRON },
    Source { key: "mlm", ..MEGATRON },
    Source { key: "megascale", dropout: false, ..MEGATRON },
    // MT-NLG ran DeepSpeed's pipeline engine, which has no virtual stages.
    Source { key: "bigruns", virtual_stages: Some(1), zero: Some(0), ..MEGATRON },
    // minGPT writes attention out. Alpa and BMTrain are not simulated.
    Source { key: "papers", attention: Some("eager"), ..UNKNOWN },
    // Recipes compile, pack, take chunked cross-entropy and fused AdamW; adapters on all modules of a
    // layer but the key. tokens/s on several GPUs: a GPU's or all together is not said.
    Source {
        key: "torchtune",
        framework: "pytorch",
        bare: Bare::Pure,
        attention: Some("flash"),
        optimizer: Some("adamw"),
        adapters: Some(Adapters {
            rank: 8,
            targets: "q_proj,v_proj,o_proj,gate_proj,up_proj,down_proj",
            dropout: 0.0,
        }),
        peak: ALLOCATED_GIB,
        ..UNKNOWN
    },
    // scaling_benchmarks.py and config_tiny_llama_bench.yaml of nanotron; its logs count in 1024³.
    Source {
        key: "playbook",
        framework: "nanotron",
        fp32_gradients: true,
        attention: Some("flash"),
        optimizer: Some("adamw"),
        recompute: [Some("none"), None],
        sequence_parallel: Some(true),
        vocab: Some(131_072),
        peak: RESERVED_GIB,
        ..UNKNOWN
    },
    Source { key: "xtuner", optimizer: Some("adamw"), zero: Some(3), ..DEEPSPEED },
    // "norm, act": fine-grained modules, not the attention core.
    Source { key: "moezoo", dropout: false, selective: Selective::Other, ..MEGATRON },
    // ColossalAI's evaluator prints max_memory_allocated; its ZeRO-2 keeps DeepSpeed's states.
    Source { key: "colossal", optimizer: Some("adamw"), peak: ALLOCATED_GIB, ..DEEPSPEED },
    Source { key: "zero", ..DEEPSPEED },
    Source { key: "maxtext", ..UNKNOWN },
    Source { key: "gpipe", ..UNKNOWN },
    Source { key: "estimates", ..UNKNOWN },
];

impl Source {
    /// The source that a row names.
    pub fn find(key: &str) -> Option<&'static Self> {
        SOURCES.iter().find(|source| source.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_of_the_file_is_known_once() {
        let file = include_str!("../../../../validation/train.jsonl");
        for line in file.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("a line of the file");
            let key = row["source_key"].as_str().expect("a key");
            assert!(Source::find(key).is_some(), "{key}");
        }
        for (i, source) in SOURCES.iter().enumerate() {
            assert!(SOURCES[..i].iter().all(|other| other.key != source.key), "{}", source.key);
        }
    }
}
