//! The dialects of `config.json`: one per class of models, each with its own names and defaults.

mod bert;
mod glm;
mod gpt;
mod llama;
mod reader;

use super::error::ImportError;
use super::fields::Object;
use super::note::ImportNote;
use super::refusal::class_stem;
use crate::model::shape::ModelShape;
use reader::Reader;

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Llama,
    Mistral,
    QwenV1,
    Qwen2,
    Qwen3,
    Phi3,
    Gemma,
    SmolLm3,
    Baichuan,
    InternLm,
    InternLm2,
    ChatGlm,
    Glm,
    Gpt2,
    GptBigCode,
    GptNeoX,
    StarCoder2,
    Falcon,
    Opt,
    Bloom,
    Bert,
    Roberta,
}

/// Dialect, its `model_type`s (the first is the usual one) and the stems of its class names.
type Row = (Dialect, &'static [&'static str], &'static [&'static str]);

static DIALECTS: [Row; 22] = [
    (Dialect::Llama, &["llama", "Yi", "yi"], &["Llama", "LLaMA", "Yi"]),
    (Dialect::Mistral, &["mistral"], &["Mistral"]),
    (Dialect::QwenV1, &["qwen"], &["QWen"]),
    (
        Dialect::Qwen2,
        &["qwen2", "qwen2_vl", "qwen2_5_vl", "qwen2_vl_text", "qwen2_5_vl_text"],
        &["Qwen2", "Qwen2VL", "Qwen2_5_VL"],
    ),
    (Dialect::Qwen3, &["qwen3", "qwen3_vl_text"], &["Qwen3"]),
    (Dialect::Phi3, &["phi3"], &["Phi3"]),
    (Dialect::Gemma, &["gemma"], &["Gemma"]),
    (Dialect::SmolLm3, &["smollm3"], &["SmolLM3"]),
    (Dialect::Baichuan, &["baichuan"], &["Baichuan", "BaiChuan"]),
    (Dialect::InternLm, &["internlm"], &["InternLM"]),
    (Dialect::InternLm2, &["internlm2"], &["InternLM2"]),
    (Dialect::ChatGlm, &["chatglm"], &["ChatGLM"]),
    (Dialect::Glm, &["glm"], &["Glm"]),
    (Dialect::Gpt2, &["gpt2"], &["GPT2"]),
    (Dialect::GptBigCode, &["gpt_bigcode"], &["GPTBigCode"]),
    (Dialect::GptNeoX, &["gpt_neox"], &["GPTNeoX"]),
    (Dialect::StarCoder2, &["starcoder2"], &["Starcoder2"]),
    (Dialect::Falcon, &["falcon", "RefinedWeb"], &["Falcon", "RW"]),
    (Dialect::Opt, &["opt"], &["OPT"]),
    (Dialect::Bloom, &["bloom"], &["Bloom"]),
    (Dialect::Bert, &["bert"], &["Bert"]),
    (Dialect::Roberta, &["roberta", "xlm-roberta", "camembert"], &["Roberta", "XLMRoberta"]),
];

impl Dialect {
    /// The dialect of a file's `model_type`.
    pub fn of_model_type(model_type: &str) -> Option<Self> {
        let row = DIALECTS.iter().find(|(_, types, _)| types.contains(&model_type))?;
        Some(row.0)
    }

    /// The dialect of a class name such as `LlamaForCausalLM`, with its usual `model_type`.
    pub fn of_class(class: &str) -> Option<(Self, &'static str)> {
        let stem = class_stem(class);
        let row = DIALECTS.iter().find(|(_, _, classes)| classes.contains(&stem))?;
        Some((row.0, row.1[0]))
    }
}

/// Every `model_type` that is read, in the table's order.
pub fn known_model_types() -> impl Iterator<Item = &'static str> {
    DIALECTS.iter().flat_map(|(_, types, _)| types.iter().copied())
}

pub(super) fn read(
    dialect: Dialect,
    config: &Object<'_>,
    notes: &mut Vec<ImportNote>,
) -> Result<ModelShape, ImportError> {
    let mut reader = Reader { config, notes };
    match dialect {
        Dialect::Llama => llama::read(&mut reader, &llama::LLAMA),
        Dialect::Mistral => llama::read(&mut reader, &llama::MISTRAL),
        Dialect::QwenV1 => llama::read_qwen_v1(&mut reader),
        Dialect::Qwen2 => llama::read(&mut reader, &llama::QWEN2),
        Dialect::Qwen3 => llama::read(&mut reader, &llama::QWEN3),
        Dialect::Phi3 => llama::read(&mut reader, &llama::PHI3),
        Dialect::Gemma => llama::read(&mut reader, &llama::GEMMA),
        Dialect::SmolLm3 => llama::read(&mut reader, &llama::SMOLLM3),
        Dialect::Baichuan => llama::read_baichuan(&mut reader),
        Dialect::InternLm => llama::read(&mut reader, &llama::INTERNLM),
        Dialect::InternLm2 => llama::read(&mut reader, &llama::INTERNLM2),
        Dialect::ChatGlm => glm::read_chatglm(&mut reader),
        Dialect::Glm => llama::read(&mut reader, &llama::GLM),
        Dialect::Gpt2 => gpt::read_gpt2(&mut reader),
        Dialect::GptBigCode => gpt::read_gpt_bigcode(&mut reader),
        Dialect::GptNeoX => gpt::read_gpt_neox(&mut reader),
        Dialect::StarCoder2 => gpt::read_starcoder2(&mut reader),
        Dialect::Falcon => gpt::read_falcon(&mut reader),
        Dialect::Opt => gpt::read_opt(&mut reader),
        Dialect::Bloom => gpt::read_bloom(&mut reader),
        Dialect::Bert => bert::read(&mut reader, bert::Rows::Context),
        Dialect::Roberta => bert::read(&mut reader, bert::Rows::ContextAndTwo),
    }
}
