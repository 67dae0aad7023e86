//! What keys do on the timeline: those of Perfetto, and the arrows.

/// Something to do with the timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Above 1 shows less.
    Zoom(f64),
    /// In shares of what is shown.
    Pan(f64),
    /// The pinned span, or all.
    Fit,
    /// To the beginning or the end.
    ToEdge(Edge),
    /// In shares of what is shown.
    MoveCursor(f64),
    ToSpan(Direction),
    ToLane(Direction),
    Pin,
    Clear,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Back,
    Forth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Start,
    End,
}

/// How much a press of a key zooms.
const ZOOM: f64 = 1.3;
/// How much of what is shown a press of a key pans.
const PAN: f64 = 0.15;
/// How much of what is shown the cursor moves.
const CURSOR: f64 = 0.01;

/// What a key does; `key` as browsers name it.
pub fn action(key: &str, is_shifted: bool) -> Option<Action> {
    let arrow = |direction, share| {
        if is_shifted { Action::ToSpan(direction) } else { Action::MoveCursor(share) }
    };
    Some(match key {
        "w" | "W" | "+" | "=" => Action::Zoom(ZOOM),
        "s" | "S" | "-" | "_" => Action::Zoom(1.0 / ZOOM),
        "a" | "A" => Action::Pan(-PAN),
        "d" | "D" => Action::Pan(PAN),
        "f" | "F" => Action::Fit,
        "Home" => Action::ToEdge(Edge::Start),
        "End" => Action::ToEdge(Edge::End),
        "ArrowLeft" => arrow(Direction::Back, -CURSOR),
        "ArrowRight" => arrow(Direction::Forth, CURSOR),
        "ArrowUp" => Action::ToLane(Direction::Back),
        "ArrowDown" => Action::ToLane(Direction::Forth),
        "Enter" | " " => Action::Pin,
        "Escape" => Action::Clear,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_work_with_caps_lock_on() {
        assert_eq!(action("w", false), action("W", true));
        assert_eq!(action("f", false), Some(Action::Fit));
    }

    #[test]
    fn zooming_in_and_out_returns() {
        let (Some(Action::Zoom(a)), Some(Action::Zoom(b))) =
            (action("+", false), action("-", false))
        else {
            panic!("both keys zoom");
        };
        assert!((a * b - 1.0).abs() < 1e-12);
    }

    #[test]
    fn shift_steps_from_span_to_span() {
        assert_eq!(action("ArrowLeft", true), Some(Action::ToSpan(Direction::Back)));
        assert_eq!(action("ArrowLeft", false), Some(Action::MoveCursor(-0.01)));
    }

    #[test]
    fn other_keys_are_left_to_the_page() {
        assert_eq!(action("Tab", false), None);
        assert_eq!(action("q", false), None);
    }
}
