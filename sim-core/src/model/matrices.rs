//! The weight matrices of a layer on one rank, one by one: what quantization formats pack.

use super::params::LayerParams;
use super::shape::{Attention, LayerKind, ModelShape, Stack};

/// What a matrix does; formats treat some of them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatrixRole {
    Query,
    Key,
    Value,
    AttentionOutput,
    /// Queries to their low rank.
    QueryDown,
    /// Keys and values to the latent.
    KvDown,
    Gate,
    Up,
    Down,
    /// Scores of experts, and the gate of shared ones: never quantized.
    Router,
}

/// `count` matrices `[columns, rows]` that map `columns` inputs to `rows` outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    pub role: MatrixRole,
    /// Outputs on this rank.
    pub rows: u64,
    /// Inputs on this rank.
    pub columns: u64,
    /// Inputs before tensor parallelism.
    pub whole_columns: u64,
    pub count: u64,
}

impl Matrix {
    /// Parameters of all `count` of them on this rank.
    pub const fn parameters(&self) -> u64 {
        self.count * self.rows * self.columns
    }

    /// One matrix whose inputs are not split.
    const fn whole(role: MatrixRole, rows: u64, columns: u64) -> Self {
        Self { role, rows, columns, whole_columns: columns, count: 1 }
    }
}

impl ModelShape {
    /// The matrices of a layer of `kind` on one of `tp` tensor-parallel and `ep` expert-parallel
    /// ranks; together [`LayerParams::matrices`].
    ///
    /// ```
    /// let llama = &sim_core::model::catalog::find("llama-3-8b").expect("listed").shape;
    /// let matrices = llama.layer_matrices(llama.layer_kind(0), 2, 1);
    /// // Value: 4 of 8 heads of 128 channels from 4096; down: half of the 14336 inputs.
    /// assert_eq!((matrices[2].rows, matrices[2].columns), (512, 4096));
    /// assert_eq!((matrices[6].rows, matrices[6].columns), (4096, 7168));
    /// ```
    pub fn layer_matrices(&self, kind: LayerKind, tp: u64, ep: u64) -> Vec<Matrix> {
        let tp = tp.max(1);
        let mut list = self.attention_matrices(tp);
        if kind.stack == Stack::CrossDecoder {
            list.extend(self.attention_matrices(tp));
        }
        match self.experts.filter(|_| kind.experts) {
            None => list.extend(self.mlp_matrices(self.mlp.ffn, tp, 1)),
            Some(experts) => {
                list.push(Matrix::whole(MatrixRole::Router, experts.count, self.hidden));
                list.extend(self.mlp_matrices(experts.ffn, tp, experts.count.div_ceil(ep.max(1))));
                if experts.shared_ffn > 0 {
                    list.extend(self.mlp_matrices(experts.shared_ffn, tp, 1));
                }
                if experts.shared_gate {
                    list.push(Matrix::whole(MatrixRole::Router, 1, self.hidden));
                }
            }
        }
        list
    }

    fn attention_matrices(&self, tp: u64) -> Vec<Matrix> {
        let (hidden, attention) = (self.hidden, &self.attention);
        let Attention { heads, kv_heads, head_dim, .. } = *attention;
        let rank_heads = heads.div_ceil(tp);
        let query_width = rank_heads * head_dim;
        let output = Matrix {
            role: MatrixRole::AttentionOutput,
            rows: hidden,
            columns: rank_heads * attention.value_dim(),
            whole_columns: heads * attention.value_dim(),
            count: 1,
        };
        let Some(latent) = attention.latent else {
            let kv_width = kv_heads.div_ceil(tp) * head_dim;
            return vec![
                Matrix::whole(MatrixRole::Query, query_width, hidden),
                Matrix::whole(MatrixRole::Key, kv_width, hidden),
                Matrix::whole(MatrixRole::Value, kv_width, hidden),
                output,
            ];
        };
        let mut list = vec![Matrix::whole(
            MatrixRole::Query,
            query_width,
            latent.query_rank.unwrap_or(hidden),
        )];
        let key = Matrix::whole(MatrixRole::Key, rank_heads * latent.nope_dim, latent.kv_rank);
        let value = Matrix::whole(MatrixRole::Value, rank_heads * latent.value_dim, latent.kv_rank);
        list.extend([key, value, output]);
        if let Some(rank) = latent.query_rank {
            list.push(Matrix::whole(MatrixRole::QueryDown, rank, hidden));
        }
        list.push(Matrix::whole(MatrixRole::KvDown, latent.kv_rank + latent.rope_dim, hidden));
        list
    }

    fn mlp_matrices(&self, ffn: u64, tp: u64, count: u64) -> Vec<Matrix> {
        let (hidden, width) = (self.hidden, ffn.div_ceil(tp));
        let into = |role| Matrix { count, ..Matrix::whole(role, width, hidden) };
        let mut list = Vec::new();
        if self.mlp.gated {
            list.push(into(MatrixRole::Gate));
        }
        list.push(into(MatrixRole::Up));
        list.push(Matrix {
            role: MatrixRole::Down,
            rows: hidden,
            columns: width,
            whole_columns: ffn,
            count,
        });
        list
    }
}

impl LayerParams {
    /// What is in no matrix: biases, norms, sinks.
    pub const fn vectors(&self) -> u64 {
        self.total() - self.matrices()
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalog;
    use super::Matrix;

    #[test]
    fn matrices_add_up_to_the_parameters_of_every_model_of_the_catalogue() {
        for entry in catalog::MODELS {
            for group in entry.shape.layer_groups() {
                for (tp, ep) in [(1, 1), (2, 1), (4, 2), (8, 8)] {
                    let sum: u64 = entry
                        .shape
                        .layer_matrices(group.kind, tp, ep)
                        .iter()
                        .map(Matrix::parameters)
                        .sum();
                    let layer = entry.shape.layer_params_per_rank(group.kind, tp, ep);
                    assert_eq!(sum, layer.matrices(), "{} tp {tp} ep {ep}", entry.id);
                }
            }
        }
    }
}
