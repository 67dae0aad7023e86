//! Sliding windows: when one that is written counts, and on which layers.

use super::super::error::ImportError;
use super::super::fields::shown;
use super::super::note::NoteKind;
use super::super::refusal::Inexpressible;
use super::reader::Reader;
use crate::model::limits::{self, CountRange};
use crate::model::shape::SlidingWindow;

/// When a `sliding_window` that is written counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowRule {
    /// The class has none.
    Never,
    /// Whenever it is there.
    Written,
    /// As `Written`, and a file without the field means this many tokens.
    Default(u64),
    /// Only with `use_sliding_window: true`, from layer `max_window_layers` on.
    Switched,
    /// A window of so many tokens unless written, and every so many layers one that sees
    /// everything, unless `sliding_window_pattern` or `layer_types` says otherwise.
    Every { tokens: u64, full_every: u64 },
}

const TOKENS: &str = "sliding_window";
const TYPES: &str = "layer_types";
const PATTERNS: [&str; 2] = ["sliding_window_pattern", "_sliding_window_pattern"];

impl Reader<'_, '_> {
    /// The active window of a model of `layers` layers.
    ///
    /// Full layers at other places than the last of every so many are refused.
    pub(super) fn window(
        &mut self,
        rule: WindowRule,
        layers: u64,
        max_sequence: u64,
    ) -> Result<Option<SlidingWindow>, ImportError> {
        let typed = self.windowed_by_type(layers)?;
        if rule == WindowRule::Never {
            return match typed {
                Some(windowed) if windowed.contains(&true) => {
                    Err(self.unsupported(TYPES, "sliding_attention", Inexpressible::MixedLayers))
                }
                _ => Ok(None),
            };
        }
        let written = match rule {
            WindowRule::Default(tokens) | WindowRule::Every { tokens, .. }
                if !self.config.writes(TOKENS) =>
            {
                Some(self.or_default(TOKENS, None, tokens))
            }
            _ => self.config.count(&[TOKENS], limits::MAX_SEQUENCE)?,
        };
        let Some(tokens) = written else { return Ok(None) };
        let is_on = self.config.flag("use_sliding_window")?.unwrap_or(rule != WindowRule::Switched);
        let (windowed, field) = match typed {
            Some(windowed) => (windowed, TYPES),
            None => self.windowed_by_rule(rule, layers)?,
        };
        if !is_on || !windowed.contains(&true) || tokens >= max_sequence {
            self.note(TOKENS, NoteKind::WindowInactive { tokens });
            return Ok(None);
        }
        let full_every = self.period_of_full_layers(&windowed, field)?;
        Ok(Some(SlidingWindow { tokens, full_every }))
    }

    /// Which layers have a window by the class's own rule, and the field that decides.
    fn windowed_by_rule(
        &self,
        rule: WindowRule,
        layers: u64,
    ) -> Result<(Vec<bool>, &'static str), ImportError> {
        Ok(match rule {
            WindowRule::Switched => {
                let name = "max_window_layers";
                let accepted = CountRange { min: 0, max: u64::MAX };
                let skipped = self.config.count(&[name], accepted)?.unwrap_or(0);
                ((0..layers).map(|layer| layer >= skipped).collect(), name)
            }
            WindowRule::Every { full_every, .. } => {
                let written = self.config.count(&PATTERNS, limits::LAYERS)?;
                let period = written.unwrap_or(full_every);
                let windowed = |layer: u64| !(layer + 1).is_multiple_of(period);
                ((0..layers).map(windowed).collect(), PATTERNS[0])
            }
            _ => (vec![true; usize::try_from(layers).unwrap_or(0)], TOKENS),
        })
    }

    /// Which layers have a window by `layer_types`; a list of one kind may have any length.
    fn windowed_by_type(&self, layers: u64) -> Result<Option<Vec<bool>>, ImportError> {
        let Some(types) = self.config.list(TYPES)?.filter(|types| !types.is_empty()) else {
            return Ok(None);
        };
        let mut windowed = Vec::with_capacity(types.len());
        for kind in types {
            windowed.push(match kind.as_str() {
                Some("full_attention") => false,
                Some("sliding_attention" | "chunked_attention") => true,
                _ => return Err(self.unsupported(TYPES, shown(kind), Inexpressible::MixedLayers)),
            });
        }
        let count = usize::try_from(layers).unwrap_or(usize::MAX);
        if windowed.iter().all(|kind| *kind == windowed[0]) {
            return Ok(Some(vec![windowed[0]; count]));
        }
        if windowed.len() != count {
            let rule = "items, not one for each layer";
            return Err(self.inconsistent(TYPES, windowed.len(), rule));
        }
        Ok(Some(windowed))
    }

    /// Every how many layers one is full; `None` where none is.
    ///
    /// Full layers at another place of the same period (GPT-Neo: the first) are taken as the last.
    pub(super) fn period_of_full_layers(
        &mut self,
        windowed: &[bool],
        field: &str,
    ) -> Result<Option<u64>, ImportError> {
        let full: Vec<usize> = (0..windowed.len()).filter(|&layer| !windowed[layer]).collect();
        let Some(&first) = full.first() else { return Ok(None) };
        let period = full.get(1).map_or(first + 1, |second| second - first);
        let is_periodic =
            period > 1 && full.iter().enumerate().all(|(i, &at)| at == first + i * period);
        if !is_periodic || full.len() != windowed.len() / period {
            let value = format!("{} of {} full", full.len(), windowed.len());
            return Err(self.unsupported(field, value, Inexpressible::MixedLayers));
        }
        if first + 1 != period {
            self.note(field, NoteKind::WindowsReordered { full_every: period as u64 });
        }
        Ok(Some(period as u64))
    }
}
