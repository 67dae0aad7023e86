//! The operations that utilizations count.

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
/// (2 forward, 4 backward) and 12·a·d·s a layer for attention, causal or not, with the window instead of s where it is
/// shorter.
pub fn step_flops(plan: &Plan) -> StepFlops {
    let model = &plan.model;
    let attention = &model.attention;
    let heads_width = (attention.heads * attention.head_dim) as f64;
    let layer_matrices = model.params().layer.matrices() as f64;
    let head = if model.lm_head { (model.vocab * model.hidden) as f64 } else { 0.0 };
    let visible = attention.sliding_window.map_or(plan.sequence, |w| w.min(plan.sequence));
    let attention_forward = 4.0 * heads_width * visible as f64;
    let layer_forward = 2.0 * layer_matrices + attention_forward;
    let layers = model.layers as f64;
    let forward = layers * layer_forward + 2.0 * head;
    let again = match plan.recompute {
        Recompute::None => 0.0,
        Recompute::Selective => layers * attention_forward,
        Recompute::Full => layers * layer_forward,
    };
    let tokens = plan.tokens_per_step() as f64;
    StepFlops { model: 3.0 * forward * tokens, hardware: (3.0 * forward + again) * tokens }
}
