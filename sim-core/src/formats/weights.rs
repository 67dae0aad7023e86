//! Bytes of a whole model's weights in a format, part by part, on one rank.

use super::{Place, WeightFormat};
use crate::model::{EmbeddingParams, LayerParams, Matrix, ModelShape};

/// The stored weights of a model on one of `tp` tensor-parallel ranks.
#[derive(Clone, Copy, Debug)]
pub struct StoredWeights<'a> {
    pub shape: &'a ModelShape,
    pub format: WeightFormat,
    /// Bytes of a number that is not quantized.
    pub plain: u64,
    pub tp: u64,
}

impl StoredWeights<'_> {
    /// A layer's place in the model.
    pub fn place(&self, layer: u64) -> Place {
        let attention = &self.shape.attention;
        Place {
            layer,
            layers: self.shape.depth(),
            heads_per_kv: attention.heads / attention.kv_heads.max(1),
        }
    }

    /// Bytes of one of a layer's matrices.
    pub fn matrix(&self, layer: u64, matrix: &Matrix) -> u64 {
        self.format.matrix_bytes(matrix, self.place(layer), self.plain)
    }

    /// Bytes of a layer.
    pub fn layer(&self, layer: u64) -> u64 {
        let kind = self.shape.layer_kind(layer);
        let params: LayerParams = self.shape.layer_params_per_rank(kind, self.tp, 1);
        let matrices = self.shape.layer_matrices(kind, self.tp, 1);
        let packed: u64 = matrices.iter().map(|matrix| self.matrix(layer, matrix)).sum();
        packed + self.format.vector_bytes(params.vectors(), self.plain)
    }

    /// Bytes of the token table alone; that of a tied model is stored as the head.
    pub fn token_table(&self) -> u64 {
        let numbers = self.embedding_params().token;
        if self.shape.tied_embeddings && self.shape.lm_head {
            return self.format.head_bytes(numbers, self.shape.hidden, self.plain);
        }
        self.format.table_bytes(numbers, self.shape.hidden, self.plain)
    }

    /// Bytes of everything before the first layer.
    pub fn embedding(&self) -> u64 {
        let params = self.embedding_params();
        let rest = params.total() - params.token;
        self.token_table() + self.format.vector_bytes(rest, self.plain)
    }

    /// Bytes of the projection to the vocabulary, a tied one too; 0 without one.
    pub fn vocabulary(&self) -> u64 {
        if !self.shape.lm_head {
            return 0;
        }
        let numbers = self.embedding_params().token;
        self.format.head_bytes(numbers, self.shape.hidden, self.plain)
    }

    /// Bytes of everything after the last layer: norm, pooler, and the projection where it is a
    /// matrix of its own.
    pub fn head(&self) -> u64 {
        let params = self.shape.params_per_rank(self.tp, 1);
        let rest = params.final_norm + params.encoder_norm + params.pooler + params.relative_bias;
        let own = if params.lm_head > 0 { self.vocabulary() } else { 0 };
        own + self.format.vector_bytes(rest, self.plain)
    }

    /// Bytes of the whole model: a checkpoint's, without its header.
    ///
    /// ```
    /// use sim_core::formats::{StoredWeights, WeightFormat};
    /// let shape = &sim_core::model::catalog::find("llama-2-7b").unwrap().shape;
    /// let stored = |name| StoredWeights {
    ///     shape, format: WeightFormat::parse(name).unwrap(), plain: 2, tp: 1,
    /// };
    /// assert_eq!(stored("none").total(), 2 * shape.total_params());
    /// // AWQ's file of Llama-2-7B has 3.89 GB.
    /// assert!((stored("awq").total() as f64 / 1e9 - 3.89).abs() < 0.01);
    /// ```
    pub fn total(&self) -> u64 {
        let layers: u64 = (0..self.shape.depth()).map(|layer| self.layer(layer)).sum();
        self.embedding() + layers + self.head()
    }

    fn embedding_params(&self) -> EmbeddingParams {
        self.shape.embedding_params_per_rank(self.tp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalog;

    fn stored(model: &str, format: &str) -> (f64, f64) {
        let shape = &catalog::find(model).expect(model).shape;
        let format = WeightFormat::parse(format).expect(format);
        let bytes = StoredWeights { shape, format, plain: 2, tp: 1 }.total() as f64;
        (bytes / f64::from(1 << 30), 8.0 * bytes / shape.total_params() as f64)
    }

    /// Bits a weight of Llama-3.1-8B, to the four digits of llama.cpp's table
    /// (`tools/quantize/README.md`).
    #[test]
    fn gguf_mixtures_of_llama_3_1_8b() {
        let table = [
            ("iq1_s", 2.0042),
            ("iq1_m", 2.1460),
            ("iq2_s", 2.7403),
            ("iq2_m", 2.9294),
            ("iq3_s", 3.6606),
            ("iq4_nl", 4.6818),
            ("q2_k_s", 2.9697),
            ("q2_k", 3.1593),
            ("q5_k_s", 5.5704),
            ("q6_k", 6.5633),
            ("q8_0", 8.5008),
            ("f16", 16.0005),
        ];
        for (name, published) in table {
            let (_, bits) = stored("llama-3.1-8b", &format!("gguf:{name}"));
            assert!((bits - published).abs() < 6e-5, "{name}: {bits} for {published}");
        }
    }

    /// Sizes in GiB and bits a weight of the Llama-2 family, as its tables print them.
    #[test]
    fn gguf_mixtures_of_llama_2() {
        let sizes = [
            ("llama-2-70b", "q3_k_s", 27.86),
            ("llama-2-70b", "q4_k_m", 38.54),
            ("llama-2-70b", "q4_0", 36.2),
            ("llama-2-70b", "q5_0", 44.2),
            ("llama-2-70b", "f16", 128.5),
            ("llama-2-7b", "q8_0", 6.7),
        ];
        for (model, name, published) in sizes {
            let (size, _) = stored(model, &format!("gguf:{name}"));
            assert!((size / published - 1.0).abs() < 5e-3, "{model} {name}: {size}");
        }
        let bits = [
            ("llama-2-7b", "q4_k_m", 4.84),
            ("llama-2-7b", "q6_k", 6.56),
            ("llama-2-13b", "q3_k_m", 3.89),
            ("llama-2-13b", "q4_k_s", 4.56),
            ("llama-2-70b", "q3_k_l", 4.19),
            ("llama-2-70b", "q4_k_s", 4.53),
            ("llama-2-70b", "q5_k_m", 5.65),
        ];
        for (model, name, published) in bits {
            let (_, found) = stored(model, &format!("gguf:{name}"));
            assert!((found / published - 1.0).abs() < 5e-3, "{model} {name}: {found}");
        }
    }

    /// A hidden width of 896 is no whole number of blocks of 256.
    #[test]
    fn rows_that_are_no_whole_blocks_take_another_type() {
        let (_, bits) = stored("qwen2.5-0.5b", "gguf:q4_k_m");
        assert!(bits > 5.5, "{bits}");
    }

    /// GPTQ-for-LLaMa's checkpoints, in GiB: one group a row, and groups of 128.
    #[test]
    fn packed_integer_checkpoints() {
        let table = [
            ("llama-7b", "int4-channel", 3.5),
            ("llama-33b", "int4-channel", 15.7),
            ("llama-65b", "int4-channel", 31.1),
            ("llama-65b", "int4-g128", 32.3),
            ("llama-33b", "int3-channel", 12.0),
        ];
        for (model, name, published) in table {
            let (size, _) = stored(model, name);
            assert!((size / published - 1.0).abs() < 0.01, "{model} {name}: {size}");
        }
    }

    #[test]
    fn a_smaller_format_never_takes_more_and_more_ranks_never_take_more_each() {
        let order = ["none", "int8-g128", "int8", "nf4", "int4-g128", "nf4-dq", "int4-channel"];
        for entry in catalog::MODELS {
            let bytes = |name: &str, tp| {
                let format = WeightFormat::parse(name).expect(name);
                StoredWeights { shape: &entry.shape, format, plain: 2, tp }.total()
            };
            let sizes: Vec<u64> = order.iter().map(|name| bytes(name, 1)).collect();
            assert!(sizes.is_sorted_by(|a, b| a >= b), "{}: {sizes:?}", entry.id);
            for name in ["none", "int4-g128", "gguf:q4_k_m"] {
                let ranks: Vec<u64> = [1, 2, 4, 8, 16].map(|tp| bytes(name, tp)).to_vec();
                assert!(ranks.is_sorted_by(|a, b| a >= b), "{} {name}: {ranks:?}", entry.id);
            }
        }
    }
}
