//! Verdicts of jobs that are described in part: what is missing matters only where it could change
//! them.

use super::super::Need;
use super::super::answer::Answer;

/// What takes the place of fields that a description does not state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Nothing: they are reasons to skip.
    Nothing,
    /// Whatever needs the least memory: if that does not fit, nothing does.
    Least,
    /// Whatever needs the most memory in practice: if that fits, everything does.
    Most,
}

impl Fill {
    /// A field, or its bound. A field without an upper bound, such as a batch, has no `most`.
    ///
    /// # Errors
    /// The reason that is given where nothing takes the field's place.
    pub fn with<T>(
        self,
        stated: Result<Option<T>, String>,
        least: T,
        most: Option<T>,
        reason: &str,
    ) -> Result<T, String> {
        let bound = match self {
            Self::Nothing => None,
            Self::Least => Some(least),
            Self::Most => most,
        };
        stated?.or(bound).ok_or_else(|| reason.to_owned())
    }
}

/// The verdict of a job that may lack fields: ours where they cannot change it.
///
/// # Errors
/// The reason why it cannot be told.
pub fn verdict(simulate: impl Fn(Fill) -> Result<Answer, String>) -> Result<(bool, Need), String> {
    let reason = match simulate(Fill::Nothing) {
        Ok(answer) => return answer.fits(),
        Err(reason) => reason,
    };
    for (fill, certain) in [(Fill::Least, false), (Fill::Most, true)] {
        if let Ok((fits, need)) = simulate(fill).and_then(|answer| answer.fits())
            && fits == certain
        {
            return Ok((fits, need));
        }
    }
    Err(reason)
}

#[cfg(test)]
mod tests {
    use super::super::recompute;
    use super::*;
    use serde_json::{Value, json};

    /// A 7B model in full on one GPU of 24 GB fits in no way, of 288 GB in every way.
    #[test]
    fn a_verdict_needs_only_what_can_change_it() {
        let on = |device: &'static str| {
            verdict(|fill| {
                let recompute = recompute(&Value::Null, fill)?;
                Answer::of(json!({
                    "model": "llama-2-7b", "hardware": {"device": device},
                    "workload": {"sequence": 4096, "micro_batch": 2},
                    "strategy": {"recompute": recompute},
                }))
            })
            .map(|(fits, _)| fits)
        };
        assert_eq!(on("rtx4090-24"), Ok(false));
        assert_eq!(on("b300-288"), Ok(true));
        // 134 GiB with recomputation, 146 without.
        assert_eq!(on("h200-sxm-141"), Err("what is recomputed is not stated".to_owned()));
    }
}
