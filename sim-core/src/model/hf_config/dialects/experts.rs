//! Which layers have experts, and how many.

use super::super::error::ImportError;
use super::super::fields::Object;
use super::super::refusal::Inexpressible;
use super::reader::{Reader, Switch};
use crate::model::limits::{self, CountRange};
use crate::model::shape::Experts;

/// Where a dialect writes its experts. Widths are of one expert.
pub(super) struct ExpertFields {
    pub(super) count: &'static [&'static str],
    pub(super) active: &'static [&'static str],
    pub(super) ffn: &'static [&'static str],
    /// The number of experts for every token, each as wide as a routed one.
    pub(super) shared_count: &'static [&'static str],
    pub(super) router_bias: Switch,
}

/// Mixtral's.
pub(super) const MIXTRAL: ExpertFields = ExpertFields {
    count: &["num_local_experts"],
    active: &["num_experts_per_tok"],
    ffn: &["intermediate_size"],
    shared_count: &[],
    router_bias: Switch::Never,
};

/// Qwen's.
pub(super) const QWEN: ExpertFields =
    ExpertFields { count: &["num_experts"], ffn: &["moe_intermediate_size"], ..MIXTRAL };

/// DeepSeek's.
pub(super) const DEEPSEEK: ExpertFields = ExpertFields {
    count: &["n_routed_experts"],
    ffn: &["moe_intermediate_size"],
    shared_count: &["n_shared_experts"],
    ..MIXTRAL
};

/// GLM-4.5's and dots': DeepSeek's with a bias on the router's scores.
pub(super) const GLM: ExpertFields = ExpertFields { router_bias: Switch::Always, ..DEEPSEEK };

/// Ling's.
pub(super) const BAILING: ExpertFields = ExpertFields {
    count: &["num_experts"],
    shared_count: &["num_shared_experts"],
    router_bias: Switch::Field("moe_router_enable_expert_bias", false),
    ..QWEN
};

/// ERNIE's.
pub(super) const ERNIE: ExpertFields = ExpertFields {
    count: &["moe_num_experts"],
    active: &["moe_k", "num_experts_per_tok"],
    ffn: &["moe_intermediate_size"],
    shared_count: &["moe_num_shared_experts"],
    router_bias: Switch::Field("moe_use_aux_free", true),
};

/// gpt-oss'.
pub(super) const GPT_OSS: ExpertFields = ExpertFields {
    count: &["num_local_experts", "num_experts"],
    active: &["num_experts_per_tok", "experts_per_token"],
    router_bias: Switch::Always,
    ..MIXTRAL
};

impl Reader<'_, '_> {
    /// Experts in every layer, to be filled in; `None` where the file has none.
    pub(super) fn experts(
        &mut self,
        fields: &ExpertFields,
    ) -> Result<Option<Experts>, ImportError> {
        let none = CountRange { min: 0, max: limits::EXPERTS.max };
        let Some(count) = self.config.count(fields.count, none)?.filter(|&count| count > 0) else {
            return Ok(None);
        };
        let active = self.config.required(fields.active, CountRange { min: 1, max: count })?;
        let ffn = self.config.required(fields.ffn, limits::FFN)?;
        let shared = self.config.count(fields.shared_count, none)?.unwrap_or(0);
        Ok(Some(Experts {
            count,
            active,
            ffn,
            shared_ffn: shared.saturating_mul(ffn),
            shared_gate: false,
            router_bias: self.switch(fields.router_bias)?,
            first_dense: 0,
            every: 1,
        }))
    }

    /// `experts` on the layers that `has_experts` names; `None` where these are none.
    ///
    /// Any pattern but a dense beginning and then the last of every so many is refused at `field`.
    pub(super) fn experts_on(
        &self,
        experts: Experts,
        field: &str,
        has_experts: &[bool],
    ) -> Result<Option<Experts>, ImportError> {
        let with: Vec<usize> = (0..has_experts.len()).filter(|&layer| has_experts[layer]).collect();
        let Some(&first) = with.first() else { return Ok(None) };
        let gap = with.get(1).map_or(first + 1, |second| second - first);
        let candidates = [(0, gap), (first, gap), (first, 1)];
        let fits = |&(first_dense, every): &(usize, usize)| {
            (0..has_experts.len()).all(|layer| {
                has_experts[layer] == (layer >= first_dense && (layer + 1).is_multiple_of(every))
            })
        };
        match candidates.iter().find(|candidate| fits(candidate)) {
            Some(&(first_dense, every)) => {
                let (first_dense, every) = (first_dense as u64, every as u64);
                Ok(Some(Experts { first_dense, every, ..experts }))
            }
            None => {
                let value = format!("{} of {} layers", with.len(), has_experts.len());
                Err(self.unsupported(field, value, Inexpressible::MixedLayers))
            }
        }
    }

    /// DeepSeek's rule: dense up to `first_k_dense_replace`, then every `moe_layer_freq`-th layer
    /// counted from 0, or as a list of flags says.
    pub(super) fn experts_after_dense(
        &mut self,
        experts: Experts,
        layers: u64,
        default_dense: u64,
    ) -> Result<Option<Experts>, ImportError> {
        const FREQUENCY: &str = "moe_layer_freq";
        if self.config.get(FREQUENCY).is_some_and(serde_json::Value::is_array) {
            let flags = flags_of(self.config, FREQUENCY)?;
            if flags.len() as u64 != layers {
                let rule = "items, not one for each layer";
                return Err(self.inconsistent(FREQUENCY, flags.len(), rule));
            }
            return self.experts_on(experts, FREQUENCY, &flags);
        }
        let frequency = self.config.count(&[FREQUENCY], limits::LAYERS)?.unwrap_or(1);
        let all = CountRange { min: 0, max: limits::LAYERS.max };
        let dense = self.count_or(&["first_k_dense_replace"], all, default_dense)?;
        let flags: Vec<bool> =
            (0..layers).map(|layer| layer >= dense && layer.is_multiple_of(frequency)).collect();
        self.experts_on(experts, FREQUENCY, &flags)
    }
}

/// A list of numbers or booleans as flags.
fn flags_of(config: &Object<'_>, name: &'static str) -> Result<Vec<bool>, ImportError> {
    let counts = config.counts(name, CountRange { min: 0, max: 1 })?;
    Ok(counts.unwrap_or_default().into_iter().map(|flag| flag != 0).collect())
}
