//! The models themselves, newest families first.
//!
//! Columns of `llama`: layers, hidden, heads, key-value heads, ffn, vocab, longest context.
//! Columns of `gpt`: layers, hidden, heads, vocab, longest context; of the rest: layers, hidden, heads.
//! A window of Phi-4-mini is longer than its context and left out.
//! Gemma 3 is the text model. DeepSeek-V3 and R1 are without the layer that predicts a second token.
//! Kimi-K2: the Instruct checkpoint lists 3,416 values more; mlx-community/Kimi-K2.5 this count.

use super::ModelEntry;
use super::StoredExtra::{CausalMasks, RotaryOnce, RotaryPerLayer, SecondHead, VisionTower};
use super::builders::{Family, bert, bloom, gpt, llama, opt, t5};
use crate::model::module::Module;
use crate::model::shape::Activation::GeluTanh;

const fn family(name: &'static str, source: &'static str) -> Family {
    Family { name, source }
}

const LLAMA_3: Family =
    family("Llama 3", "Llama Team 2024, Table 3; config.json of the meta-llama checkpoints");
const LLAMA_2: Family =
    family("Llama 2", "Touvron et al. 2023 (Llama 2); config.json of the meta-llama checkpoints");
const LLAMA: Family =
    family("LLaMA", "Touvron et al. 2023, Table 2; config.json of the huggyllama checkpoints");
const TINY_LLAMA: Family = family("LLaMA", "Zhang et al. 2024; config.json of TinyLlama");
const MISTRAL: Family =
    family("Mistral", "Jiang et al. 2023; config.json of the mistralai checkpoints");
const QWEN_3: Family =
    family("Qwen3", "Qwen Team 2025, Table 1; config.json of the Qwen3 checkpoints");
const QWEN_2_5: Family =
    family("Qwen2.5", "Qwen Team 2024; config.json of the Qwen2.5 checkpoints");
const PHI: Family = family("Phi", "Abdin et al. 2024; config.json of the microsoft checkpoints");
const YI: Family = family("Yi", "01.AI 2024; config.json of Yi-34B and Yi-1.5-34B");
const BAICHUAN: Family =
    family("Baichuan2", "Yang et al. 2023; config.json of the baichuan-inc checkpoints");
const GLM: Family = family("GLM", "GLM Team 2024; config.json of chatglm3-6b and glm-4-9b-chat");
const INTERNLM: Family = family("InternLM", "Cai et al. 2024; config.json of internlm2_5-7b");
const MIXTRAL: Family =
    family("Mixtral", "Jiang et al. 2024; config.json of the mistralai checkpoints");
const QWEN_1_5: Family = family("Qwen1.5", "Qwen Team 2024; config.json of Qwen1.5-MoE-A2.7B");
const GEMMA_2: Family =
    family("Gemma 2", "Gemma Team 2024, Table 1; config.json of the google checkpoints");
const GEMMA_3: Family =
    family("Gemma 3", "Gemma Team 2025; config.json of the google checkpoints, text model");
const DEEPSEEK: Family = family(
    "DeepSeek",
    "DeepSeek-AI 2024 (V2, V3) and 2025 (R1); config.json of the deepseek-ai checkpoints",
);
const KIMI: Family = family("Kimi", "Moonshot AI 2025; config.json of Kimi-K2-Instruct");
const GPT_OSS: Family = family("gpt-oss", "OpenAI 2025; config.json of the openai checkpoints");
const T5: Family =
    family("T5", "Raffel et al. 2020, §3.7; config.json of the google-t5 checkpoints");
const GPT3: Family = family("GPT-3", "Brown et al. 2020, Table 2.1; taken as dense attention");
const GPT2: Family =
    family("GPT-2", "Radford et al. 2019; config.json of the openai-community checkpoints");
const MEGATRON: Family = family(
    "Megatron GPT",
    "Narayanan et al. 2021, Table 1; Korthikanti et al. 2022, Table 3; vocabulary padded to 51200",
);
const OPT: Family =
    family("OPT", "Zhang et al. 2022, Table 1; config.json of the facebook checkpoints");
const BLOOM: Family =
    family("BLOOM", "BigScience 2022, Table 3; config.json of the bigscience checkpoints");
const BERT: Family = family(
    "BERT",
    "Devlin et al. 2018; config.json of bert-base-uncased and bert-large-uncased, with pooler, \
     without the pre-training heads",
);

/// Every model, grouped by family.
#[rustfmt::skip] // one model a line is what makes the table readable
pub static MODELS: &[ModelEntry] = &[
    // Llama 3.2
    LLAMA_3.model("llama-3.2-1b", "Llama 3.2 1B", 1_235_814_400, llama(16, 2048, 32, 8, 8192, 128256, 131072).tied()),
    LLAMA_3.model("llama-3.2-3b", "Llama 3.2 3B", 3_212_749_824, llama(28, 3072, 24, 8, 8192, 128256, 131072).tied()),
    // Llama 3.1
    LLAMA_3.model("llama-3.1-8b", "Llama 3.1 8B", 8_030_261_248, llama(32, 4096, 32, 8, 14336, 128256, 131072)),
    LLAMA_3.model("llama-3.1-70b", "Llama 3.1 70B", 70_553_706_496, llama(80, 8192, 64, 8, 28672, 128256, 131072)),
    LLAMA_3.model("llama-3.1-405b", "Llama 3.1 405B", 405_853_388_800, llama(126, 16384, 128, 8, 53248, 128256, 131072)),
    // Llama 3
    LLAMA_3.model("llama-3-8b", "Llama 3 8B", 8_030_261_248, llama(32, 4096, 32, 8, 14336, 128256, 8192)),
    LLAMA_3.model("llama-3-70b", "Llama 3 70B", 70_553_706_496, llama(80, 8192, 64, 8, 28672, 128256, 8192)),
    // Llama 2
    LLAMA_2.model("llama-2-7b", "Llama 2 7B", 6_738_415_616, llama(32, 4096, 32, 32, 11008, 32000, 4096)).stored(6_738_417_664, RotaryPerLayer),
    LLAMA_2.model("llama-2-13b", "Llama 2 13B", 13_015_864_320, llama(40, 5120, 40, 40, 13824, 32000, 4096)).stored(13_015_866_880, RotaryPerLayer),
    LLAMA_2.model("llama-2-70b", "Llama 2 70B", 68_976_648_192, llama(80, 8192, 64, 8, 28672, 32000, 4096)).stored(68_976_653_312, RotaryPerLayer),
    // LLaMA
    LLAMA.model("llama-7b", "LLaMA 7B", 6_738_415_616, llama(32, 4096, 32, 32, 11008, 32000, 2048)).stored(6_738_417_664, RotaryPerLayer),
    LLAMA.model("llama-13b", "LLaMA 13B", 13_015_864_320, llama(40, 5120, 40, 40, 13824, 32000, 2048)).stored(13_015_866_880, RotaryPerLayer),
    LLAMA.model("llama-33b", "LLaMA 33B", 32_528_943_616, llama(60, 6656, 52, 52, 17920, 32000, 2048)).stored(32_528_947_456, RotaryPerLayer).aliases(&["llama-30b"]),
    LLAMA.model("llama-65b", "LLaMA 65B", 65_285_660_672, llama(80, 8192, 64, 64, 22016, 32000, 2048)).stored(65_285_665_792, RotaryPerLayer),
    TINY_LLAMA.model("tinyllama-1.1b", "TinyLlama 1.1B", 1_100_048_384, llama(22, 2048, 32, 4, 5632, 32000, 2048)).aliases(&["tinyllama", "tinyllama-1.1b-chat-v1.0"]),
    // Mistral
    MISTRAL.model("mistral-7b-v0.1", "Mistral 7B v0.1", 7_241_732_096, llama(32, 4096, 32, 8, 14336, 32000, 32768).window(4096)).aliases(&["mistral-7b-instruct-v0.1"]),
    MISTRAL.model("mistral-7b-v0.3", "Mistral 7B v0.3", 7_248_023_552, llama(32, 4096, 32, 8, 14336, 32768, 32768)).aliases(&["mistral-7b", "mistral-7b-instruct-v0.3"]),
    // Mixtral
    MIXTRAL.model("mixtral-8x7b", "Mixtral 8x7B v0.1", 46_702_792_704, llama(32, 4096, 32, 8, 14336, 32000, 32768).experts(8, 2, 14336)).aliases(&["mixtral-8x7b-v0.1", "mixtral-8x7b-instruct-v0.1"]),
    MIXTRAL.model("mixtral-8x22b", "Mixtral 8x22B v0.1", 140_620_634_112, llama(56, 6144, 48, 8, 16384, 32000, 65536).experts(8, 2, 16384)).aliases(&["mixtral-8x22b-v0.1"]),
    // Qwen3
    QWEN_3.model("qwen3-0.6b", "Qwen3 0.6B", 596_049_920, llama(28, 1024, 16, 8, 3072, 151936, 40960).head_dim(128).qk_norm().tied()).stored(751_632_384, SecondHead),
    QWEN_3.model("qwen3-1.7b", "Qwen3 1.7B", 1_720_574_976, llama(28, 2048, 16, 8, 6144, 151936, 40960).qk_norm().tied()).stored(2_031_739_904, SecondHead),
    QWEN_3.model("qwen3-4b", "Qwen3 4B", 4_022_468_096, llama(36, 2560, 32, 8, 9728, 151936, 40960).head_dim(128).qk_norm().tied()),
    QWEN_3.model("qwen3-8b", "Qwen3 8B", 8_190_735_360, llama(36, 4096, 32, 8, 12288, 151936, 40960).qk_norm()),
    QWEN_3.model("qwen3-14b", "Qwen3 14B", 14_768_307_200, llama(40, 5120, 40, 8, 17408, 151936, 40960).qk_norm()),
    QWEN_3.model("qwen3-32b", "Qwen3 32B", 32_762_123_264, llama(64, 5120, 64, 8, 25600, 151936, 40960).head_dim(128).qk_norm()),
    QWEN_3.model("qwen3-30b-a3b", "Qwen3 30B-A3B", 30_532_122_624, llama(48, 2048, 32, 4, 6144, 151936, 40960).head_dim(128).qk_norm().experts(128, 8, 768)),
    QWEN_3.model("qwen3-235b-a22b", "Qwen3 235B-A22B", 235_093_634_560, llama(94, 4096, 64, 4, 12288, 151936, 40960).head_dim(128).qk_norm().experts(128, 8, 1536)),
    // Qwen2.5
    QWEN_2_5.model("qwen2.5-0.5b", "Qwen2.5 0.5B", 494_032_768, llama(24, 896, 14, 2, 4864, 151936, 32768).qkv_bias().tied()),
    QWEN_2_5.model("qwen2.5-1.5b", "Qwen2.5 1.5B", 1_543_714_304, llama(28, 1536, 12, 2, 8960, 151936, 131072).qkv_bias().tied()),
    QWEN_2_5.model("qwen2.5-3b", "Qwen2.5 3B", 3_085_938_688, llama(36, 2048, 16, 2, 11008, 151936, 32768).qkv_bias().tied()),
    QWEN_2_5.model("qwen2.5-7b", "Qwen2.5 7B", 7_615_616_512, llama(28, 3584, 28, 4, 18944, 152064, 131072).qkv_bias()),
    QWEN_2_5.model("qwen2.5-14b", "Qwen2.5 14B", 14_770_033_664, llama(48, 5120, 40, 8, 13824, 152064, 131072).qkv_bias()),
    QWEN_2_5.model("qwen2.5-32b", "Qwen2.5 32B", 32_763_876_352, llama(64, 5120, 40, 8, 27648, 152064, 131072).qkv_bias()),
    QWEN_2_5.model("qwen2.5-72b", "Qwen2.5 72B", 72_706_203_648, llama(80, 8192, 64, 8, 29568, 152064, 131072).qkv_bias()),
    // Qwen1.5
    QWEN_1_5.model("qwen1.5-moe-a2.7b", "Qwen1.5-MoE-A2.7B", 14_315_784_192, llama(24, 2048, 16, 16, 5632, 151936, 8192).qkv_bias().experts(60, 4, 1408).shared(5632, 0).shared_gate()),
    // Gemma 3
    GEMMA_3.model("gemma-3-1b", "Gemma 3 1B", 999_885_952, llama(26, 1152, 4, 1, 6912, 262144, 32768).gemma().head_dim(256).qk_norm().window_except(512, 6)),
    GEMMA_3.model("gemma-3-4b", "Gemma 3 4B", 3_880_263_168, llama(34, 2560, 8, 4, 10240, 262208, 131072).gemma().head_dim(256).qk_norm().window_except(1024, 6)).stored(4_300_079_472, VisionTower),
    GEMMA_3.model("gemma-3-12b", "Gemma 3 12B", 11_766_034_176, llama(48, 3840, 16, 8, 15360, 262208, 131072).gemma().head_dim(256).qk_norm().window_except(1024, 6)).stored(12_187_325_040, VisionTower),
    GEMMA_3.model("gemma-3-27b", "Gemma 3 27B", 27_009_346_304, llama(62, 5376, 32, 16, 21504, 262208, 131072).gemma().head_dim(128).qk_norm().window_except(1024, 6)).stored(27_432_406_640, VisionTower),
    // Gemma 2
    GEMMA_2.model("gemma-2-2b", "Gemma 2 2B", 2_614_341_888, llama(26, 2304, 8, 4, 9216, 256000, 8192).gemma().module(Module::GEMMA2).head_dim(256).window_except(4096, 2)),
    GEMMA_2.model("gemma-2-9b", "Gemma 2 9B", 9_241_705_984, llama(42, 3584, 16, 8, 14336, 256000, 8192).gemma().module(Module::GEMMA2).head_dim(256).window_except(4096, 2)),
    GEMMA_2.model("gemma-2-27b", "Gemma 2 27B", 27_227_128_320, llama(46, 4608, 32, 16, 36864, 256000, 8192).gemma().module(Module::GEMMA2).head_dim(128).window_except(4096, 2)),
    // DeepSeek
    DEEPSEEK.model("deepseek-v2-lite", "DeepSeek-V2-Lite", 15_706_484_224, llama(27, 2048, 16, 16, 10944, 102400, 163840).latent(None).experts(64, 6, 1408).shared(2816, 1)),
    DEEPSEEK.model("deepseek-v2", "DeepSeek-V2", 235_741_434_880, llama(60, 5120, 128, 128, 12288, 102400, 163840).latent(Some(1536)).experts(160, 6, 1536).shared(3072, 1)),
    DEEPSEEK.model("deepseek-v3", "DeepSeek-V3", 671_026_419_200, llama(61, 7168, 128, 128, 18432, 129280, 163840).latent(Some(1536)).experts(256, 8, 2048).shared(2048, 3).router_bias()).aliases(&["deepseek-v3.1"]),
    DEEPSEEK.model("deepseek-r1", "DeepSeek-R1", 671_026_419_200, llama(61, 7168, 128, 128, 18432, 129280, 163840).latent(Some(1536)).experts(256, 8, 2048).shared(2048, 3).router_bias()),
    // Kimi
    KIMI.model("kimi-k2", "Kimi-K2", 1_026_408_232_448, llama(61, 7168, 64, 64, 18432, 163840, 131072).latent(Some(1536)).experts(384, 8, 2048).shared(2048, 1).router_bias()),
    // gpt-oss
    GPT_OSS.model("gpt-oss-20b", "gpt-oss-20b", 20_914_757_184, llama(24, 2880, 64, 8, 2880, 201088, 131072).experts(32, 4, 2880).oss()),
    GPT_OSS.model("gpt-oss-120b", "gpt-oss-120b", 116_829_156_672, llama(36, 2880, 64, 8, 2880, 201088, 131072).experts(128, 4, 2880).oss()),
    // Phi-4
    PHI.model("phi-4", "Phi-4 (14B)", 14_659_507_200, llama(40, 5120, 40, 10, 17920, 100352, 16384).module(Module::PHI3)),
    PHI.model("phi-4-mini", "Phi-4-mini (3.8B)", 3_836_021_760, llama(32, 3072, 24, 8, 8192, 200064, 131072).module(Module::PHI3).tied()),
    // Phi-3
    PHI.model("phi-3-mini", "Phi-3-mini 4k (3.8B)", 3_821_079_552, llama(32, 3072, 32, 32, 8192, 32064, 4096).module(Module::PHI3).window(2047)).aliases(&["phi-3-mini-4k"]),
    PHI.model("phi-3-medium", "Phi-3-medium 4k (14B)", 13_960_238_080, llama(40, 5120, 40, 10, 17920, 32064, 4096).module(Module::PHI3).window(2047)).aliases(&["phi-3-medium-4k"]),
    // Yi
    YI.model("yi-34b", "Yi-34B", 34_388_917_248, llama(60, 7168, 56, 8, 20480, 64000, 4096)).aliases(&["yi-1.5-34b"]),
    // Baichuan2
    BAICHUAN.model("baichuan2-7b", "Baichuan2-7B", 7_505_973_248, llama(32, 4096, 32, 32, 11008, 125696, 4096)).unpublished(),
    BAICHUAN.model("baichuan2-13b", "Baichuan2-13B", 13_896_668_160, llama(40, 5120, 40, 40, 13696, 125696, 4096).alibi()).unpublished(),
    // GLM-4
    GLM.model("glm-4-9b", "GLM-4-9B-Chat", 9_399_951_360, llama(40, 4096, 32, 2, 13696, 151552, 131072).module(Module::GLM).qkv_bias()).stored(9_399_951_392, RotaryOnce).aliases(&["glm4-9b"]),
    // ChatGLM
    GLM.model("chatglm3-6b", "ChatGLM3-6B", 6_243_584_000, llama(28, 4096, 32, 2, 13696, 65024, 8192).module(Module::PHI3).qkv_bias()).stored(6_243_584_032, RotaryOnce).aliases(&["chatglm3"]),
    // InternLM
    INTERNLM.model("internlm2.5-7b", "InternLM2.5-7B", 7_737_708_544, llama(32, 4096, 32, 8, 14336, 92544, 32768)).aliases(&["internlm2-5-7b"]),
    // GPT-3
    GPT3.model("gpt3-175b", "GPT-3 175B", 174_604_259_328, gpt(96, 12288, 96, 50257, 2048)).unpublished().aliases(&["gpt3", "gpt-3", "gpt-3-175b"]),
    // GPT-2
    GPT2.model("gpt2", "GPT-2 small", 124_439_808, gpt(12, 768, 12, 50257, 1024).activation(GeluTanh)).stored(137_022_720, CausalMasks).aliases(&["gpt2-small", "gpt2-124m"]),
    GPT2.model("gpt2-medium", "GPT-2 medium", 354_823_168, gpt(24, 1024, 16, 50257, 1024).activation(GeluTanh)).stored(379_988_992, CausalMasks).aliases(&["gpt2-355m"]),
    GPT2.model("gpt2-large", "GPT-2 large", 774_030_080, gpt(36, 1280, 20, 50257, 1024).activation(GeluTanh)).stored(811_778_816, CausalMasks).aliases(&["gpt2-774m"]),
    GPT2.model("gpt2-xl", "GPT-2 XL", 1_557_611_200, gpt(48, 1600, 25, 50257, 1024).activation(GeluTanh)).stored(1_607_942_848, CausalMasks).aliases(&["gpt2-1.5b"]),
    // Megatron GPT
    MEGATRON.model("megatron-gpt-18b", "Megatron GPT 18.4B", 18_449_756_160, gpt(40, 6144, 48, 51200, 2048)).unpublished(),
    MEGATRON.model("megatron-gpt-22b", "Megatron GPT 22B", 22_074_273_792, gpt(48, 6144, 64, 51200, 2048)).unpublished(),
    MEGATRON.model("megatron-gpt-145b", "Megatron GPT 145.6B", 145_622_261_760, gpt(80, 12288, 96, 51200, 2048)).unpublished(),
    MEGATRON.model("megatron-gpt-530b", "Megatron GPT 530B (MT-NLG)", 529_600_819_200, gpt(105, 20480, 128, 51200, 2048)).unpublished().aliases(&["mt-nlg", "mt-nlg-530b"]),
    MEGATRON.model("megatron-gpt-1t", "Megatron GPT 1T", 1_008_038_758_400, gpt(128, 25600, 160, 51200, 2048)).unpublished(),
    // OPT
    OPT.model("opt-1.3b", "OPT-1.3B", 1_315_758_080, opt(24, 2048, 32)),
    OPT.model("opt-6.7b", "OPT-6.7B", 6_658_473_984, opt(32, 4096, 32)),
    OPT.model("opt-13b", "OPT-13B", 12_853_473_280, opt(40, 5120, 40)).unpublished(),
    OPT.model("opt-30b", "OPT-30B", 29_974_540_288, opt(48, 7168, 56)).unpublished(),
    OPT.model("opt-66b", "OPT-66B", 65_719_701_504, opt(64, 9216, 72)).unpublished(),
    OPT.model("opt-175b", "OPT-175B", 174_604_468_224, opt(96, 12288, 96)).unpublished(),
    // BLOOM
    BLOOM.model("bloom-7b1", "BLOOM-7B1", 7_069_016_064, bloom(30, 4096, 32)),
    BLOOM.model("bloom-176b", "BLOOM 176B", 176_247_271_424, bloom(70, 14336, 112)).aliases(&["bloom"]),
    // T5
    T5.model("t5-small", "T5 small", 60_506_624, t5(6, 512, 8, 64, 2048)),
    T5.model("t5-base", "T5 base", 222_903_552, t5(12, 768, 12, 64, 3072)),
    T5.model("t5-3b", "T5-3B", 2_851_598_336, t5(24, 1024, 32, 128, 16384)).unpublished(),
    T5.model("t5-11b", "T5-11B", 11_307_321_344, t5(24, 1024, 128, 128, 65536)).unpublished(),
    // BERT
    BERT.model("bert-base", "BERT base uncased", 109_482_240, bert(12, 768, 12)).aliases(&["bert-base-uncased"]),
    BERT.model("bert-large", "BERT large uncased", 335_141_888, bert(24, 1024, 16)).aliases(&["bert-large-uncased"]),
];
