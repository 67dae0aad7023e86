//! The dialects of `config.json`: one per class of models, each with its own names and defaults.

mod bert;
mod deepseek;
mod distilbert;
mod experts;
mod glm;
mod gpt;
mod gpt_neo;
mod llama;
mod moe;
mod mpt;
mod reader;
mod rules;
mod t5;
mod window;

use super::error::ImportError;
use super::fields::Object;
use super::note::ImportNote;
use super::refusal::{Inexpressible, class_stem};
use crate::model::shape::ModelShape;
use reader::Reader;

type Read = fn(&mut Reader<'_, '_>) -> Result<ModelShape, ImportError>;

/// How the files of a class are read.
pub struct Dialect {
    /// Its `model_type`s, the usual one first.
    types: &'static [&'static str],
    /// The stems of its class names.
    classes: &'static [&'static str],
    /// Structures that its reader understands, and that are refused in other classes.
    pub(super) reads: &'static [Inexpressible],
    read: Read,
}

/// A dialect of plain layers, all alike.
const fn plain(
    types: &'static [&'static str],
    classes: &'static [&'static str],
    read: Read,
) -> Dialect {
    Dialect { types, classes, reads: &[], read }
}

/// A dialect whose layers may have windows.
const fn windowed(
    types: &'static [&'static str],
    classes: &'static [&'static str],
    read: Read,
) -> Dialect {
    Dialect { types, classes, reads: &[Inexpressible::MixedLayers], read }
}

/// A dialect whose layers may have windows or experts.
const fn expert(
    types: &'static [&'static str],
    classes: &'static [&'static str],
    read: Read,
) -> Dialect {
    let reads = &[Inexpressible::MixedLayers, Inexpressible::MixtureOfExperts];
    Dialect { types, classes, reads, read }
}

/// A dialect with latent attention, and perhaps experts.
const fn latent(
    types: &'static [&'static str],
    classes: &'static [&'static str],
    read: Read,
) -> Dialect {
    let reads = &[Inexpressible::LatentAttention, Inexpressible::MixtureOfExperts];
    Dialect { types, classes, reads, read }
}

#[rustfmt::skip] // one class a line or two is what makes the table readable
static DIALECTS: &[Dialect] = &[
    windowed(&["llama", "Yi", "yi", "aquila", "llava_llama"], &["Llama", "LLaMA", "Yi", "Aquila", "LlavaLlama"],
        |reader| llama::read(reader, &rules::LLAMA)),
    windowed(&["mistral", "llava_mistral"], &["Mistral", "LlavaMistral"], |reader| llama::read(reader, &rules::MISTRAL)),
    windowed(&["ministral3", "ministral"], &["Ministral3", "Ministral"], |reader| llama::read(reader, &rules::MINISTRAL)),
    expert(&["mixtral"], &["Mixtral"], |reader| moe::read_everywhere(reader, &rules::MIXTRAL, &experts::MIXTRAL)),
    plain(&["qwen"], &["QWen"], llama::read_qwen_v1),
    windowed(
        &["qwen2", "qwen2_vl", "qwen2_5_vl", "qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text", "llava_qwen", "llava_qwen2"],
        &["Qwen2", "Qwen2VL", "Qwen2_5_VL", "LlavaQwen", "LlavaQwen2"],
        |reader| llama::read(reader, &rules::QWEN2)),
    expert(&["qwen2_moe"], &["Qwen2Moe"], |reader| moe::read_qwen(reader, &rules::QWEN2_MOE)),
    windowed(&["qwen3", "qwen3_vl_text"], &["Qwen3"], |reader| llama::read(reader, &rules::QWEN3)),
    expert(&["qwen3_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text"], &["Qwen3Moe"],
        |reader| moe::read_qwen(reader, &rules::QWEN3_MOE)),
    windowed(&["mimo"], &["MiMo"], llama::read_mimo),
    windowed(&["phi3", "phi3_v", "phi4mm"], &["Phi3", "Phi3V", "Phi4MM"], |reader| llama::read(reader, &rules::PHI3)),
    windowed(&["gemma"], &["Gemma"], |reader| llama::read(reader, &rules::GEMMA)),
    windowed(&["gemma2"], &["Gemma2"], |reader| llama::read(reader, &rules::GEMMA2)),
    windowed(&["gemma3_text", "gemma3"], &["Gemma3"], |reader| llama::read(reader, &rules::GEMMA3)),
    windowed(&["smollm3"], &["SmolLM3"], |reader| llama::read(reader, &rules::SMOLLM3)),
    plain(&["baichuan"], &["Baichuan", "BaiChuan"], llama::read_baichuan),
    windowed(&["internlm"], &["InternLM"], |reader| llama::read(reader, &rules::INTERNLM)),
    windowed(&["internlm2"], &["InternLM2"], |reader| llama::read(reader, &rules::INTERNLM2)),
    windowed(&["internlm3"], &["InternLM3"], |reader| llama::read(reader, &rules::INTERNLM3)),
    plain(&["chatglm"], &["ChatGLM"], glm::read_chatglm),
    windowed(&["glm"], &["Glm"], |reader| llama::read(reader, &rules::GLM)),
    windowed(&["glm4"], &["Glm4"], |reader| llama::read(reader, &rules::GLM4)),
    expert(&["glm4_moe", "glm4v_moe_text"], &["Glm4Moe"],
        |reader| moe::read_after_dense(reader, &rules::GLM4_MOE, &experts::GLM, 1)),
    expert(&["deepseek"], &["Deepseek"], deepseek::read_v1),
    latent(&["deepseek_v2"], &["DeepseekV2"], deepseek::read_v2),
    latent(&["deepseek_v3", "kimi_k2", "glm4_moe_lite"], &["DeepseekV3", "Glm4MoeLite"], deepseek::read_v3),
    latent(&["minicpm3"], &["MiniCPM3"], deepseek::read_minicpm3),
    windowed(&["minicpm"], &["MiniCPM"], |reader| llama::read(reader, &rules::MINICPM)),
    expert(&["dots1"], &["Dots1"], |reader| moe::read_after_dense(reader, &rules::DOTS, &experts::GLM, 0)),
    expert(&["bailing_moe", "bailing_moe_v2"], &["BailingMoe", "BailingMoeV2"], moe::read_bailing),
    windowed(&["ernie4_5"], &["Ernie4_5"], |reader| llama::read(reader, &rules::ERNIE)),
    expert(&["ernie4_5_moe"], &["Ernie4_5_Moe"], moe::read_ernie),
    windowed(&["exaone"], &["Exaone"], |reader| llama::read(reader, &rules::EXAONE)),
    windowed(&["seed_oss"], &["SeedOss"], |reader| llama::read(reader, &rules::SEED_OSS)),
    windowed(&["hunyuan_v1_dense"], &["HunYuanDenseV1"], |reader| llama::read(reader, &rules::HUNYUAN)),
    windowed(&["granite"], &["Granite"], |reader| llama::read(reader, &rules::LLAMA)),
    expert(&["granitemoe", "granitemoeshared"], &["GraniteMoe", "GraniteMoeShared"], moe::read_granite),
    windowed(&["stablelm", "stablelm_epoch"], &["StableLm", "StableLMEpoch"], llama::read_stablelm),
    windowed(&["orion"], &["Orion"], |reader| llama::read(reader, &rules::ORION)),
    windowed(&["arcee"], &["Arcee"], |reader| llama::read(reader, &rules::ARCEE)),
    windowed(&["nemotron"], &["Nemotron"], |reader| llama::read(reader, &rules::NEMOTRON)),
    expert(&["llama4_text", "llama4"], &["Llama4"], moe::read_llama4),
    expert(&["gpt_oss"], &["GptOss"], moe::read_gpt_oss),
    Dialect {
        types: &["mllama_text_model", "mllama"],
        classes: &["Mllama"],
        reads: &[Inexpressible::CrossAttention],
        read: llama::read_mllama,
    },
    plain(&["gpt2"], &["GPT2"], gpt::read_gpt2),
    plain(&["gpt_bigcode"], &["GPTBigCode"], gpt::read_gpt_bigcode),
    plain(&["gpt_neo"], &["GPTNeo"], gpt_neo::read),
    plain(&["gpt_neox"], &["GPTNeoX"], gpt::read_gpt_neox),
    windowed(&["starcoder2"], &["Starcoder2"], gpt::read_starcoder2),
    plain(&["falcon", "RefinedWeb", "RefinedWebModel"], &["Falcon", "RW"], gpt::read_falcon),
    plain(&["opt"], &["OPT"], gpt::read_opt),
    plain(&["bloom"], &["Bloom"], gpt::read_bloom),
    plain(&["mpt"], &["MPT", "Mpt"], mpt::read_mpt),
    expert(&["dbrx"], &["Dbrx", "DBRX"], mpt::read_dbrx),
    Dialect {
        types: &["t5", "mt5"],
        classes: &["T5", "MT5", "T5Encoder", "MT5Encoder"],
        reads: &[Inexpressible::EncoderDecoder, Inexpressible::RelativePositions],
        read: t5::read,
    },
    plain(&["bert"], &["Bert"], |reader| bert::read(reader, bert::Rows::Context)),
    plain(&["roberta", "xlm-roberta", "camembert"], &["Roberta", "XLMRoberta", "Camembert"],
        |reader| bert::read(reader, bert::Rows::ContextAndTwo)),
    plain(&["distilbert"], &["DistilBert"], distilbert::read),
    plain(&["electra"], &["Electra"], distilbert::read_electra),
];

impl Dialect {
    /// The dialect of a file's `model_type`.
    pub fn of_model_type(model_type: &str) -> Option<&'static Self> {
        DIALECTS.iter().find(|dialect| dialect.types.contains(&model_type))
    }

    /// The dialect of a class name such as `LlamaForCausalLM`.
    pub fn of_class(class: &str) -> Option<&'static Self> {
        let stem = class_stem(class);
        DIALECTS.iter().find(|dialect| dialect.classes.contains(&stem))
    }

    /// Its usual `model_type`.
    pub const fn model_type(&self) -> &'static str {
        self.types[0]
    }

    /// Reads `config`, which `outer` may contain.
    pub(super) fn read(
        &self,
        config: &Object<'_>,
        outer: Option<&Object<'_>>,
        notes: &mut Vec<ImportNote>,
    ) -> Result<ModelShape, ImportError> {
        // Only parts that `transformers` nests leave out what equals their class's defaults.
        let is_part = config.text("model_type")?.is_some_and(|kind| kind.ends_with("_text"));
        let omits_defaults = outer.is_some() || is_part;
        (self.read)(&mut Reader { config, outer, omits_defaults, notes })
    }
}

/// Every `model_type` that is read, in the table's order.
pub fn known_model_types() -> impl Iterator<Item = &'static str> {
    DIALECTS.iter().flat_map(|dialect| dialect.types.iter().copied())
}
