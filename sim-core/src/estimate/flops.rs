//! The operations that utilizations count.

use crate::model::Stack;
use crate::plan::Plan;
use crate::scenario::Recompute;

/// Floating-point operations of one step over all GPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepFlops {
    /// Matrix products of forward and backward, attention counted over the full square of the
    /// sequence, nothing counted twice.
    pub model: f64,
    /// With the products that recomputation runs again.
    pub hardware: f64,
}

/// Counts the operations of a step by the convention of PaLM (Chowdhery et al. 2022, Appendix B)
/// and Korthikanti et al. 2022 (Appendix A): per token 6 for each parameter of a matrix product
/// (2 forward, 4 backward) and 12·a·d·s a layer for attention, causal or not, with the window instead
/// of s where it is shorter. Of experts those count that a token is sent to. Beside adapters a frozen
/// parameter counts 4 (NeMo's LoRA tables).
pub fn step_flops(plan: &Plan) -> StepFlops {
    let model = &plan.model;
    let attention = &model.attention;
    let widths = (attention.heads * (attention.head_dim + attention.value_dim())) as f64;
    let mut head = if model.lm_head { (model.vocab * model.hidden) as f64 } else { 0.0 };
    if model.mlm_head {
        head += (model.hidden * model.hidden) as f64;
    }
    let idle = model.experts.map_or(0, |experts| experts.count - experts.active);
    let (mut all_layers, mut all_attention) = (0.0, 0.0);
    for group in model.params().groups {
        let layers = group.layers as f64;
        let visible = group.kind.window.map_or(plan.sequence, |window| window.min(plan.sequence));
        let cross = if group.kind.stack == Stack::CrossDecoder { plan.sequence } else { 0 };
        let attention_forward = 2.0 * widths * (visible + cross) as f64;
        let idle = if group.kind.experts { idle * group.layer.experts.one_matrices } else { 0 };
        let matrices = (group.layer.matrices() - idle) as f64;
        all_attention += layers * attention_forward;
        all_layers += layers * (2.0 * matrices + attention_forward);
    }
    let forward = all_layers + 2.0 * head;
    let again = match plan.recompute {
        Recompute::None => 0.0,
        Recompute::Selective => all_attention,
        Recompute::Full => all_layers,
    };
    let tokens = plan.tokens_per_step() as f64;
    if plan.adapters.is_none() {
        let model = 3.0 * forward;
        return StepFlops { model: model * tokens, hardware: (model + again) * tokens };
    }
    // A frozen matrix has no gradient of its own: 2 forward, 2 for its input's.
    let matrices = all_layers - all_attention + 2.0 * head;
    let adapters = 2.0 * plan.all_parameters().trained() as f64;
    let again = if plan.recompute == Recompute::Full { again + adapters } else { again };
    let model = 2.0 * matrices + 3.0 * (all_attention + adapters);
    StepFlops { model: model * tokens, hardware: (model + again) * tokens }
}
