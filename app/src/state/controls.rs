//! The list of controls: which field each one sets, how, and when it is there.
//!
//! The page and the tests go over this list; a control is added by listing it.

use sim_core::model::catalog;
use sim_core::scenario::{
    AttentionKernel, CrossEntropy, Finetune, Framework, FsdpMode, ModelChoice, Optimizer,
    OptimizerImplementation, Recompute, Scenario, Upcast, WorkloadKind,
};

/// The five sections of the left column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Model,
    Hardware,
    Job,
    Strategy,
    Precision,
}

impl Section {
    pub const ALL: [Self; 5] =
        [Self::Model, Self::Hardware, Self::Job, Self::Strategy, Self::Precision];

    /// The name in the keys of texts: `section.<name>`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Hardware => "hardware",
            Self::Job => "job",
            Self::Strategy => "strategy",
            Self::Precision => "precision",
        }
    }
}

/// How a field is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A slider over these values, with a box for any other.
    Number(&'static [u64]),
    /// As `Number`; an empty box leaves the value to be derived.
    OptionalNumber(&'static [u64]),
    /// A slider with every value named below it.
    Stages(&'static [u64]),
    /// Named values; `null` stands first where the field may be left to be derived.
    Choice(&'static [Option<&'static str>]),
    Toggle,
    /// A number that replaces one of a catalogue model's.
    ModelNumber,
    ModelPicker,
    DevicePicker,
}

/// One control.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// The field it sets, names joined by dots as in the scenario file.
    pub field: &'static str,
    pub section: Section,
    pub kind: Kind,
    /// Shown only when the section's expert part is opened.
    pub expert: bool,
    /// Whether it means anything for a scenario.
    pub applies: fn(&Scenario) -> bool,
}

impl Control {
    /// The last part of the field's path; with the kind of adapters in front.
    pub fn short_name(&self) -> &'static str {
        let last = || self.field.rsplit('.').next().unwrap_or(self.field);
        self.field.strip_prefix("workload.finetune.").unwrap_or_else(last)
    }
}

const fn basic(section: Section, field: &'static str, kind: Kind) -> Control {
    Control { field, section, kind, expert: false, applies: |_| true }
}

const fn expert(section: Section, field: &'static str, kind: Kind) -> Control {
    Control { field, section, kind, expert: true, applies: |_| true }
}

const fn when(control: Control, applies: fn(&Scenario) -> bool) -> Control {
    Control { applies, ..control }
}

/// A model whose numbers can be replaced: one of the catalogue.
fn is_catalogue_model(scenario: &Scenario) -> bool {
    !matches!(scenario.model, ModelChoice::HfConfig { .. })
}

fn trains_lora(scenario: &Scenario) -> bool {
    is_training(scenario) && matches!(scenario.workload.finetune, Finetune::Lora(_))
}

fn trains_qlora(scenario: &Scenario) -> bool {
    is_training(scenario) && matches!(scenario.workload.finetune, Finetune::Qlora(_))
}

/// Projections that get adapters.
const TARGETS: Kind = Kind::Choice(&[Some("all-linear"), Some("attention"), Some("qv")]);

const RANKS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

const fn training(control: Control) -> Control {
    when(control, is_training)
}

const fn serving(control: Control) -> Control {
    when(control, is_serving)
}

fn is_training(scenario: &Scenario) -> bool {
    scenario.workload.kind == WorkloadKind::Train
}

fn is_serving(scenario: &Scenario) -> bool {
    scenario.workload.kind == WorkloadKind::Infer
}

/// A model whose layers have experts.
pub fn has_experts(scenario: &Scenario) -> bool {
    let id = match &scenario.model {
        ModelChoice::Catalogue(id) => id,
        ModelChoice::Preset(preset) => &preset.preset,
        // Its configuration would have to be read for every click.
        ModelChoice::HfConfig { .. } => return true,
    };
    catalog::find(id).is_some_and(|entry| entry.shape.experts.is_some())
}

const POWERS_TO_16: &[u64] = &[1, 2, 4, 8, 16];
const POWERS_TO_64: &[u64] = &[1, 2, 4, 8, 16, 32, 64];
const NODES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const SEQUENCES: &[u64] = &[128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];
const BATCHES: &[u64] = &[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64];
const TOKENS: &[u64] =
    &[1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];
const BLOCKS: &[u64] = &[1, 8, 16, 32, 64, 128, 256];
const REQUESTS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const GLOBAL_BATCHES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// All controls, in the order of the page.
pub const CONTROLS: &[Control] = &[
    basic(Section::Model, "model", Kind::ModelPicker),
    when(expert(Section::Model, "model.layers", Kind::ModelNumber), is_catalogue_model),
    when(expert(Section::Model, "model.hidden", Kind::ModelNumber), is_catalogue_model),
    when(expert(Section::Model, "model.heads", Kind::ModelNumber), is_catalogue_model),
    when(expert(Section::Model, "model.kv_heads", Kind::ModelNumber), is_catalogue_model),
    when(expert(Section::Model, "model.ffn", Kind::ModelNumber), is_catalogue_model),
    when(expert(Section::Model, "model.vocab", Kind::ModelNumber), is_catalogue_model),
    basic(Section::Hardware, "hardware.device", Kind::DevicePicker),
    basic(Section::Hardware, "hardware.devices_per_node", Kind::Number(POWERS_TO_16)),
    basic(Section::Hardware, "hardware.nodes", Kind::Number(NODES)),
    basic(
        Section::Job,
        "workload.kind",
        Kind::Choice(&[Some(WorkloadKind::Train.name()), Some(WorkloadKind::Infer.name())]),
    ),
    training(basic(Section::Job, "workload.sequence", Kind::Number(SEQUENCES))),
    training(basic(Section::Job, "workload.micro_batch", Kind::Number(BATCHES))),
    training(basic(Section::Job, "workload.global_batch", Kind::OptionalNumber(GLOBAL_BATCHES))),
    training(basic(
        Section::Job,
        "workload.finetune",
        Kind::Choice(&[Some("full"), Some("lora"), Some("qlora")]),
    )),
    when(basic(Section::Job, "workload.finetune.lora.rank", Kind::Number(RANKS)), trains_lora),
    when(basic(Section::Job, "workload.finetune.qlora.rank", Kind::Number(RANKS)), trains_qlora),
    when(
        basic(
            Section::Job,
            "workload.finetune.qlora.format",
            Kind::Choice(&[Some("nf4"), Some("int8"), Some("int4-g128")]),
        ),
        trains_qlora,
    ),
    when(expert(Section::Job, "workload.finetune.lora.targets", TARGETS), trains_lora),
    when(expert(Section::Job, "workload.finetune.qlora.targets", TARGETS), trains_qlora),
    when(expert(Section::Job, "workload.finetune.qlora.double_quant", Kind::Toggle), trains_qlora),
    when(
        expert(Section::Job, "workload.finetune.lora.train_embeddings", Kind::Toggle),
        trains_lora,
    ),
    when(
        expert(Section::Job, "workload.finetune.qlora.train_embeddings", Kind::Toggle),
        trains_qlora,
    ),
    when(
        expert(
            Section::Job,
            "workload.finetune.qlora.upcast",
            Kind::Choice(&[
                None,
                Some(Upcast::None.name()),
                Some(Upcast::Norms.name()),
                Some(Upcast::All.name()),
            ]),
        ),
        trains_qlora,
    ),
    training(basic(
        Section::Job,
        "workload.optimizer",
        Kind::Choice(&[
            Some(Optimizer::AdamW.name()),
            Some(Optimizer::AdamW8bit.name()),
            Some(Optimizer::Adafactor.name()),
            Some(Optimizer::Lion.name()),
            Some(Optimizer::SgdMomentum.name()),
            Some(Optimizer::Sgd.name()),
            Some(Optimizer::Muon.name()),
        ]),
    )),
    serving(basic(
        Section::Job,
        "workload.engine",
        Kind::Choice(&[Some("vllm"), Some("hf"), Some("llama.cpp"), Some("tensorrt-llm")]),
    )),
    serving(basic(Section::Job, "workload.input_tokens", Kind::Number(TOKENS))),
    serving(basic(Section::Job, "workload.output_tokens", Kind::Number(TOKENS))),
    serving(basic(Section::Job, "workload.concurrency", Kind::Number(REQUESTS))),
    when(basic(Section::Job, "workload.max_model_len", Kind::Number(TOKENS)), |scenario| {
        is_serving(scenario) && scenario.workload.engine != "hf"
    }),
    basic(
        Section::Job,
        "workload.attention",
        Kind::Choice(&[Some(AttentionKernel::Flash.name()), Some(AttentionKernel::Eager.name())]),
    ),
    training(expert(
        Section::Job,
        "workload.cross_entropy",
        Kind::Choice(&[
            Some(CrossEntropy::Default.name()),
            Some(CrossEntropy::Fused.name()),
            Some(CrossEntropy::FusedFp32.name()),
            Some(CrossEntropy::Native.name()),
            Some(CrossEntropy::Chunked.name()),
        ]),
    )),
    training(expert(
        Section::Job,
        "workload.gradient_accumulation",
        Kind::OptionalNumber(GLOBAL_BATCHES),
    )),
    training(expert(Section::Job, "workload.dropout", Kind::Toggle)),
    training(expert(
        Section::Job,
        "workload.optimizer_implementation",
        Kind::Choice(&[
            Some(OptimizerImplementation::Fused.name()),
            Some(OptimizerImplementation::Foreach.name()),
            Some(OptimizerImplementation::Loop.name()),
        ]),
    )),
    training(expert(Section::Job, "workload.optimizer_in_backward", Kind::Toggle)),
    training(expert(
        Section::Job,
        "workload.framework",
        Kind::Choice(&[
            Some(Framework::DeepSpeed.name()),
            Some(Framework::Pytorch.name()),
            Some(Framework::Fsdp.name()),
            Some(Framework::Megatron.name()),
        ]),
    )),
    training(expert(Section::Job, "workload.compile", Kind::Toggle)),
    when(expert(Section::Job, "workload.block_size", Kind::Number(BLOCKS)), |scenario| {
        is_serving(scenario) && matches!(scenario.workload.engine.as_str(), "vllm" | "tensorrt-llm")
    }),
    training(basic(Section::Strategy, "strategy.zero", Kind::Stages(&[0, 1, 2, 3]))),
    when(
        basic(
            Section::Strategy,
            "strategy.fsdp",
            Kind::Choice(&[
                Some(FsdpMode::FullShard.name()),
                Some(FsdpMode::ShardGradOp.name()),
                Some(FsdpMode::Hybrid.name()),
            ]),
        ),
        |scenario| {
            is_training(scenario)
                && (scenario.strategy.fsdp.is_some()
                    || scenario.workload.framework == Framework::Fsdp)
        },
    ),
    basic(Section::Strategy, "strategy.tp", Kind::Number(POWERS_TO_64)),
    when(basic(Section::Strategy, "strategy.sequence_parallel", Kind::Toggle), |scenario| {
        is_training(scenario) && (scenario.strategy.tp > 1 || scenario.strategy.sequence_parallel)
    }),
    basic(Section::Strategy, "strategy.pp", Kind::Number(POWERS_TO_64)),
    when(
        basic(Section::Strategy, "strategy.schedule", Kind::Choice(&[Some("1f1b"), Some("gpipe")])),
        |scenario| is_training(scenario) && scenario.strategy.pp > 1,
    ),
    when(expert(Section::Strategy, "strategy.ep", Kind::Number(POWERS_TO_64)), |scenario| {
        is_training(scenario) && (has_experts(scenario) || scenario.strategy.ep > 1)
    }),
    training(expert(Section::Strategy, "strategy.cp", Kind::Number(POWERS_TO_64))),
    training(basic(
        Section::Strategy,
        "strategy.recompute",
        Kind::Choice(&[
            Some(Recompute::None.name()),
            Some(Recompute::Selective.name()),
            Some(Recompute::Full.name()),
        ]),
    )),
    serving(basic(
        Section::Precision,
        "quantization.weights",
        Kind::Choice(&[
            Some("none"),
            Some("int8"),
            Some("fp8"),
            Some("int4-g128"),
            Some("int3-g128"),
            Some("nf4"),
            Some("nf4-dq"),
            Some("mxfp4"),
            Some("nvfp4"),
            Some("gguf:q8_0"),
            Some("gguf:q6_k"),
            Some("gguf:q5_k_m"),
            Some("gguf:q4_k_m"),
            Some("gguf:q4_0"),
            Some("gguf:q3_k_m"),
            Some("gguf:q2_k"),
        ]),
    )),
    serving(basic(
        Section::Precision,
        "quantization.kv_cache",
        Kind::Choice(&[
            Some("fp16"),
            Some("fp8"),
            Some("int8"),
            Some("int4"),
            Some("q8_0"),
            Some("q4_0"),
        ]),
    )),
    serving(basic(
        Section::Precision,
        "quantization.activations",
        Kind::Choice(&[Some("fp16"), Some("fp8"), Some("int8")]),
    )),
    basic(
        Section::Precision,
        "workload.precision",
        Kind::Choice(&[
            Some("bf16-mixed"),
            Some("fp16-mixed"),
            Some("bf16-pure"),
            Some("tf32"),
            Some("fp32"),
        ]),
    ),
    training(basic(
        Section::Precision,
        "workload.gradient_dtype",
        Kind::Choice(&[None, Some("fp32")]),
    )),
];

/// The position of `value` on a slider over `stops`: its own, or that of the nearest below.
pub fn position(stops: &[u64], value: u64) -> usize {
    stops.partition_point(|&stop| stop <= value).saturating_sub(1)
}

/// The stop after (or before) `value`, which need not be a stop itself.
pub fn neighbour(stops: &[u64], value: u64, upwards: bool) -> Option<u64> {
    if upwards {
        stops.iter().copied().find(|&stop| stop > value)
    } else {
        stops.iter().copied().rev().find(|&stop| stop < value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::find;
    use sim_core::issue::IssueCode;
    use sim_core::quantity::Locale;
    use sim_core::scenario::Edit;

    /// A scenario that has the field.
    fn scenario(field: &str) -> Scenario {
        let kind = field.strip_prefix("workload.finetune.").and_then(|rest| rest.split_once('.'));
        let text = format!(
            r#"{{"model":{{"preset":"gpt2"}},"hardware":{{"device":"t4"}},
            "workload":{{"finetune":"{}"}}}}"#,
            kind.map_or("full", |(kind, _)| kind)
        );
        Scenario::from_json(&text).expect("the scenario is whole")
    }

    #[test]
    fn every_control_sets_an_existing_field() {
        for control in CONTROLS {
            let value = match control.kind {
                Kind::Number(stops) | Kind::OptionalNumber(stops) | Kind::Stages(stops) => {
                    assert!(stops.is_sorted() && !stops.is_empty(), "{}", control.field);
                    stops.iter().map(|&stop| serde_json::Value::from(stop)).collect()
                }
                Kind::Choice(names) => names.iter().map(|&name| name.into()).collect(),
                Kind::Toggle => vec![true.into(), false.into()],
                Kind::ModelNumber => vec![8.into()],
                Kind::ModelPicker | Kind::DevicePicker => vec!["a".into()],
            };
            for value in value {
                let edit = Edit::new(control.field, value);
                assert!(scenario(control.field).edited(&edit).is_ok(), "{edit:?}");
            }
        }
    }

    #[test]
    fn no_control_offers_what_is_refused() {
        for control in CONTROLS {
            let Kind::Choice(names) = control.kind else { continue };
            let mut start = scenario(control.field);
            if !(control.applies)(&start) {
                start.workload.kind = WorkloadKind::Infer;
            }
            for &name in names {
                let edited = start.edited(&Edit::new(control.field, name)).expect("it is listed");
                let refused = sim_core::simulate(&edited).err().unwrap_or_default();
                assert!(
                    refused.iter().all(|issue| issue.code != IssueCode::NotSupported),
                    "{} {name:?}",
                    control.field
                );
            }
        }
    }

    #[test]
    fn every_control_and_choice_has_its_words() {
        for locale in [Locale::En, Locale::ZhCn] {
            for section in Section::ALL {
                assert!(find(locale, &format!("section.{}", section.name())).is_some());
            }
            for control in CONTROLS {
                let field = control.field;
                assert!(find(locale, &format!("field.{field}")).is_some(), "field.{field}");
                assert!(
                    find(locale, &format!("field.{field}.help")).is_some(),
                    "field.{field}.help"
                );
                if let Kind::Choice(names) = control.kind {
                    for name in names.iter().flatten() {
                        let key = format!("choice.{field}.{name}");
                        assert!(find(locale, &key).is_some(), "{key}");
                    }
                }
            }
        }
    }

    #[test]
    fn short_names_are_unique() {
        let mut names: Vec<_> = CONTROLS.iter().map(Control::short_name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_slider_stands_at_its_value_or_below() {
        assert_eq!(position(&[1, 2, 4], 4), 2);
        assert_eq!(position(&[1, 2, 4], 3), 1);
        assert_eq!(position(&[128, 256], 1), 0);
        assert_eq!(neighbour(&[1, 2, 4], 3, true), Some(4));
        assert_eq!(neighbour(&[1, 2, 4], 3, false), Some(2));
        assert_eq!(neighbour(&[1, 2, 4], 4, true), None);
    }
}
