//! Undo and redo, with a drag counted as one change.

/// Changes of one field that follow each other faster than this are one change, in milliseconds.
const MERGE_MS: f64 = 800.0;

/// How many changes can be undone.
const DEPTH: usize = 200;

/// What was before, and what was undone.
#[derive(Clone, Debug)]
pub struct History<T> {
    past: Vec<T>,
    future: Vec<T>,
    /// What was changed last, and when.
    last: Option<(String, f64)>,
}

impl<T> Default for History<T> {
    fn default() -> Self {
        Self { past: Vec::new(), future: Vec::new(), last: None }
    }
}

impl<T> History<T> {
    /// Remembers the state `before` a change of `what` at `now` milliseconds; a change of nothing in
    /// particular stands alone.
    pub fn record(&mut self, before: T, what: Option<&str>, now: f64) {
        let merges = self.last.as_ref().is_some_and(|(last, at)| {
            Some(last.as_str()) == what && now - at < MERGE_MS && !self.past.is_empty()
        });
        if !merges {
            self.past.push(before);
            if self.past.len() > DEPTH {
                self.past.remove(0);
            }
        }
        self.future.clear();
        self.last = what.map(|what| (what.to_owned(), now));
    }

    /// The state before the last change; `current` can be had back with [`History::redo`].
    pub fn undo(&mut self, current: T) -> Option<T> {
        let before = self.past.pop()?;
        self.future.push(current);
        self.last = None;
        Some(before)
    }

    /// The state before the last undo.
    pub fn redo(&mut self, current: T) -> Option<T> {
        let after = self.future.pop()?;
        self.past.push(current);
        self.last = None;
        Some(after)
    }

    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_and_redo_walk_the_same_states() {
        let mut history = History::default();
        history.record(0, Some("zero"), 0.0);
        history.record(1, Some("tp"), 10.0);
        assert_eq!(history.undo(2), Some(1));
        assert_eq!(history.undo(1), Some(0));
        assert_eq!(history.undo(0), None);
        assert_eq!(history.redo(0), Some(1));
        assert_eq!(history.redo(1), Some(2));
        assert_eq!(history.redo(2), None);
    }

    #[test]
    fn a_drag_is_one_change() {
        let mut history = History::default();
        for step in 0..50 {
            history.record(step, Some("sequence"), f64::from(step) * 16.0);
        }
        assert_eq!(history.undo(50), Some(0));
        assert!(!history.can_undo());
    }

    #[test]
    fn a_pause_or_another_field_begins_a_new_change() {
        let mut history = History::default();
        history.record(0, Some("sequence"), 0.0);
        history.record(1, Some("sequence"), 5000.0);
        history.record(2, Some("zero"), 5001.0);
        assert_eq!(
            (history.undo(3), history.undo(2), history.undo(1)),
            (Some(2), Some(1), Some(0))
        );
    }

    #[test]
    fn replacements_stand_alone() {
        let mut history = History::default();
        history.record(0, None, 0.0);
        history.record(1, None, 1.0);
        assert_eq!((history.undo(2), history.undo(1)), (Some(1), Some(0)));
    }

    #[test]
    fn a_change_after_undo_forgets_what_was_undone() {
        let mut history = History::default();
        history.record(0, Some("zero"), 0.0);
        assert_eq!(history.undo(1), Some(0));
        history.record(0, Some("zero"), 1.0);
        assert!(!history.can_redo());
    }
}
