//! What trains: everything, or adapters whose targets and formats are known.

use crate::issue::{Issue, IssueCode};
use crate::model::ModelShape;
use crate::operators::{Adapters, BaseFormat, Targets};
use crate::scenario::{Edit, Finetune, Framework, LoraTargets, QloraChoice, Scenario};

/// The adapters of a scenario; `Some(None)` where all weights train.
#[expect(clippy::option_option, reason = "no adapters and wrong ones are different")]
pub fn resolve(
    scenario: &Scenario,
    shape: &ModelShape,
    issues: &mut Vec<Issue>,
) -> Option<Option<Adapters>> {
    let workload = &scenario.workload;
    let (path, rank, dropout, chosen, trains_tables, base) = match &workload.finetune {
        Finetune::Full => return Some(None),
        Finetune::Lora(choice) => {
            let path = "workload.finetune.lora";
            (
                path,
                choice.rank,
                choice.dropout,
                &choice.targets,
                choice.train_embeddings,
                Some(None),
            )
        }
        Finetune::Qlora(choice) => {
            let path = "workload.finetune.qlora";
            not_in_framework(workload.framework, issues);
            (
                path,
                choice.rank,
                choice.dropout,
                &choice.targets,
                choice.train_embeddings,
                base_format(choice, issues).map(Some),
            )
        }
    };
    let field = format!("{path}.targets");
    let mut targets = targets(chosen, &field, issues)?;
    targets.gate &= shape.mlp.gated;
    if refuses(scenario, shape, targets, &field, issues) {
        return None;
    }
    if targets == Targets::default() {
        issues.push(
            Issue::new(IssueCode::NoAdapters, &field).way_out(Edit::new(&field, "all-linear")),
        );
        return None;
    }
    let weights = scenario.recipe().weights;
    if trains_tables {
        tables_not_trained(scenario, &format!("{path}.train_embeddings"), issues);
    }
    Some(Some(Adapters {
        rank,
        targets,
        dropout: dropout > 0.0,
        weights,
        base: base?,
        tables: scenario.table_format(),
        trains_tables,
    }))
}

/// Copies of embedding and head have the format of the originals and the optimizer of the adapters:
/// both formats have to be one. ZeRO-3 and FSDP would shard originals that nothing gathers.
fn tables_not_trained(scenario: &Scenario, field: &str, issues: &mut Vec<Issue>) {
    let mut refuse = |value: &str, instead: Edit| {
        issues.push(
            Issue::new(IssueCode::NotSupported, field)
                .with("value", value)
                .way_out(Edit::new(field, false))
                .way_out(instead),
        );
    };
    let model = scenario.model_recipe().weights;
    if model != scenario.recipe().weights || scenario.table_format() != model {
        refuse("fp32 adapters", Edit::new("workload.precision", "bf16-pure"));
    }
    if scenario.strategy.zero >= 3 {
        refuse("ZeRO-3", Edit::new("strategy.zero", 2));
    }
    if scenario.strategy.fsdp.is_some() {
        refuse("FSDP", Edit::new("strategy.fsdp", serde_json::Value::Null));
    }
}

/// Adapters in places where their products are not written.
fn refuses(
    scenario: &Scenario,
    shape: &ModelShape,
    targets: Targets,
    field: &str,
    issues: &mut Vec<Issue>,
) -> bool {
    let on_mlp = targets.gate || targets.up || targets.down;
    let refused = [
        (
            shape.attention.latent.is_some(),
            field,
            "adapters beside latent attention",
            Edit::new("workload.finetune", "full"),
        ),
        (
            shape.experts.is_some() && on_mlp,
            field,
            "adapters beside experts",
            Edit::new(field, "attention"),
        ),
        (
            shape.experts.is_some() && scenario.strategy.ep > 1,
            "strategy.ep",
            "adapters with expert parallelism",
            Edit::new("strategy.ep", 1),
        ),
    ];
    let mut any = false;
    for (applies, field, value, way_out) in refused {
        if applies {
            any = true;
            issues.push(
                Issue::new(IssueCode::NotSupported, field).with("value", value).way_out(way_out),
            );
        }
    }
    any
}

/// Megatron and nanotron have no quantized weights for adapters.
fn not_in_framework(framework: Framework, issues: &mut Vec<Issue>) {
    if matches!(framework, Framework::Megatron | Framework::Nanotron) {
        issues.push(
            Issue::new(IssueCode::QloraNotInFramework, "workload.framework")
                .with("framework", framework.name())
                .way_out(Edit::new("workload.framework", "pytorch")),
        );
    }
}

fn base_format(choice: &QloraChoice, issues: &mut Vec<Issue>) -> Option<BaseFormat> {
    let format = match choice.format.as_str() {
        "nf4" | "fp4" => BaseFormat::FourBit { double_quant: choice.double_quant },
        "int8" => BaseFormat::Int8,
        "int4-g128" => BaseFormat::Int4Group128,
        other => {
            let field = "workload.finetune.qlora.format";
            issues.push(
                Issue::new(IssueCode::NotSupported, field)
                    .with("value", other)
                    .way_out(Edit::new(field, "nf4")),
            );
            return None;
        }
    };
    Some(format)
}

fn targets(chosen: &LoraTargets, field: &str, issues: &mut Vec<Issue>) -> Option<Targets> {
    let attention =
        Targets { query: true, key: true, value: true, output: true, ..Targets::default() };
    let names: Vec<&str> = match chosen {
        LoraTargets::Named(name) => match name.as_str() {
            "all-linear" => return Some(Targets { gate: true, up: true, down: true, ..attention }),
            "attention" => return Some(attention),
            "qv" => return Some(Targets { query: true, value: true, ..Targets::default() }),
            names => names.split(',').map(str::trim).collect(),
        },
        LoraTargets::List(names) => names.iter().map(String::as_str).collect(),
    };
    let mut targets = Targets::default();
    for name in names {
        let part = match name {
            "q_proj" => &mut targets.query,
            "k_proj" => &mut targets.key,
            "v_proj" => &mut targets.value,
            "o_proj" => &mut targets.output,
            "gate_proj" => &mut targets.gate,
            "up_proj" => &mut targets.up,
            "down_proj" => &mut targets.down,
            unknown => {
                issues.push(
                    Issue::new(IssueCode::NotSupported, field)
                        .with("value", unknown)
                        .way_out(Edit::new(field, "all-linear")),
                );
                return None;
            }
        };
        *part = true;
    }
    Some(targets)
}
