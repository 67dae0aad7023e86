//! Stored weights of a pipeline stage, and what an operator reads of them.

use super::Serving;
use crate::formats::StoredWeights;
use crate::model::{LayerKind, MatrixRole};
use crate::plan::Plan;

/// Bytes of a stage's weights on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageWeights {
    pub device: u64,
    /// What stays in host memory.
    pub host: u64,
}

fn stored<'a>(plan: &'a Plan, serving: &Serving) -> StoredWeights<'a> {
    StoredWeights {
        shape: &plan.model,
        format: serving.weights,
        plain: plain_bytes(plan),
        tp: plan.tp,
    }
}

/// Bytes of a number that is not quantized.
pub fn plain_bytes(plan: &Plan) -> u64 {
    plan.precision.compute().bytes()
}

/// The weights of stage `number`.
pub fn stage_weights(plan: &Plan, serving: &Serving, number: usize) -> StageWeights {
    let (stored, stage) = (stored(plan, serving), plan.stages[number]);
    let layers = stage.first_layer..stage.first_layer + stage.layers;
    let mut weights =
        StageWeights { device: layers.map(|layer| stored.layer(layer)).sum(), host: 0 };
    let on_host = serving.profile.table_on_host;
    if stage.has_embedding {
        let table = if on_host { stored.token_table() } else { 0 };
        weights.host += table;
        weights.device += stored.embedding() - table;
    }
    if stage.has_head {
        weights.device += stored.head();
        if plan.ties_head() && (plan.pp > 1 || on_host) {
            // A copy of the table, for the product.
            weights.device += stored.vocabulary();
        }
    }
    weights
}

/// Parameters behind the bytes of [`stage_weights`] on the device.
pub fn stored_parameters(plan: &Plan, serving: &Serving, number: usize) -> u64 {
    let params = plan.model.params_per_rank(plan.tp, 1);
    let stage = plan.stages[number];
    let mut count: u64 = (stage.first_layer..stage.first_layer + stage.layers)
        .map(|layer| {
            let kind = plan.model.layer_kind(layer);
            plan.model.layer_params_per_rank(kind, plan.tp, 1).total()
        })
        .sum();
    let on_host = serving.profile.table_on_host;
    if stage.has_embedding {
        let host = if on_host { params.embedding.token } else { 0 };
        count += params.embedding.total() - host;
    }
    if stage.has_head {
        count += params.final_norm
            + params.encoder_norm
            + params.pooler
            + params.relative_bias
            + params.lm_head;
        if plan.ties_head() && (plan.pp > 1 || on_host) {
            count += params.embedding.token;
        }
    }
    count
}

/// Bytes that a product with weights reads for each of them: `name` is the operator's, the average
/// is over all layers of `kind`, which mixtures treat differently.
pub fn bytes_per_weight(plan: &Plan, serving: &Serving, kind: LayerKind, name: &str) -> f64 {
    let stored = stored(plan, serving);
    let roles: &[MatrixRole] = match name {
        "vocabulary" => {
            let numbers = plan.model.embedding_params_per_rank(plan.tp).token;
            return stored.vocabulary() as f64 / numbers as f64;
        }
        "query" => &[MatrixRole::Query],
        "key" => &[MatrixRole::Key],
        "value" => &[MatrixRole::Value],
        "qkv" => &[MatrixRole::Query, MatrixRole::Key, MatrixRole::Value],
        "attention-output" => &[MatrixRole::AttentionOutput],
        "gate" | "expert-gate" => &[MatrixRole::Gate],
        "up" | "expert-up" => &[MatrixRole::Up],
        "gate-up" | "expert-gate-up" => &[MatrixRole::Gate, MatrixRole::Up],
        "down" | "expert-down" => &[MatrixRole::Down],
        _ => &[],
    };
    let matrices = plan.model.layer_matrices(kind, plan.tp, 1);
    let chosen = || {
        let of_role = |role| roles.is_empty() || roles.contains(&role);
        matrices.iter().filter(move |matrix| of_role(matrix.role))
    };
    let numbers: u64 = chosen().map(|matrix| matrix.parameters()).sum();
    let layers = (0..plan.model.depth()).filter(|layer| plan.model.layer_kind(*layer) == kind);
    let (mut bytes, mut count) = (0.0, 0_u64);
    for layer in layers {
        bytes += chosen().map(|matrix| stored.matrix(layer, matrix)).sum::<u64>() as f64;
        count += 1;
    }
    bytes / (numbers * count) as f64
}
