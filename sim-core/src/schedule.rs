//! Pipeline schedules: in which order each stage works on its micro-batches.

use crate::scenario::ScheduleName;

/// What a stage does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Forward of a micro-batch.
    Forward(u32),
    /// Backward of a micro-batch.
    Backward(u32),
}

/// The order of a stage's actions over one step.
///
/// GPipe (Huang et al. 2019): all forwards, then all backwards.
/// 1F1B (Narayanan et al. 2021, PipeDream-Flush): `min(m, p − 1 − stage)` forwards, then one
/// forward and one backward in turn, then the remaining backwards.
/// Both take (m + p − 1) slots of forward and backward; 1F1B holds at most `p − stage`
/// micro-batches, GPipe all `m`.
///
/// Returns `None` for a schedule that is not generated.
pub fn stage_actions(
    schedule: ScheduleName,
    stages: u64,
    stage: u64,
    micro_batches: u64,
) -> Option<Vec<Action>> {
    let m = u32::try_from(micro_batches).ok()?;
    let mut actions = Vec::with_capacity(2 * m as usize);
    match schedule {
        ScheduleName::Gpipe => {
            actions.extend((0..m).map(Action::Forward));
            actions.extend((0..m).map(Action::Backward));
        }
        ScheduleName::OneForwardOneBackward => {
            let ahead = micro_batches.min(stages - 1 - stage) as u32;
            actions.extend((0..ahead).map(Action::Forward));
            for i in 0..m - ahead {
                actions.push(Action::Forward(ahead + i));
                actions.push(Action::Backward(i));
            }
            actions.extend((m - ahead..m).map(Action::Backward));
        }
        _ => return None,
    }
    Some(actions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(schedule: ScheduleName, stage: u64) -> String {
        stage_actions(schedule, 4, stage, 6)
            .expect("a generated schedule")
            .iter()
            .map(|action| match action {
                Action::Forward(m) => format!("F{m}"),
                Action::Backward(m) => format!("B{m}"),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn one_forward_one_backward_warms_up_by_the_distance_to_the_last_stage() {
        let schedule = ScheduleName::OneForwardOneBackward;
        assert_eq!(text(schedule, 0), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
        assert_eq!(text(schedule, 3), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
    }

    #[test]
    fn gpipe_does_all_forwards_first() {
        assert_eq!(text(ScheduleName::Gpipe, 0), "F0 F1 F2 F3 F4 F5 B0 B1 B2 B3 B4 B5");
    }

    #[test]
    fn one_forward_one_backward_holds_at_most_the_stages_left() {
        for stage in 0..4 {
            let actions = stage_actions(ScheduleName::OneForwardOneBackward, 4, stage, 32);
            let (mut held, mut most) = (0_i64, 0);
            for action in actions.expect("a generated schedule") {
                held += if matches!(action, Action::Forward(_)) { 1 } else { -1 };
                most = most.max(held);
            }
            assert_eq!(most, 4 - stage as i64);
        }
    }
}
