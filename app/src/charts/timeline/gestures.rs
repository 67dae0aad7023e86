//! What pointers and wheels mean: hovering, clicking, dragging, pinching, zooming.

/// A pointer that is down, in pixels of the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pointer {
    id: i32,
    x: f64,
    y: f64,
}

/// What a movement or a wheel asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gesture {
    /// No button is down.
    Hover {
        x: f64,
        y: f64,
    },
    /// Moves the content by some pixels.
    Pan {
        dx: f64,
    },
    /// Zooms around a pixel; above 1 shows less.
    Zoom {
        x: f64,
        factor: f64,
    },
    Click {
        x: f64,
        y: f64,
    },
}

/// A pointer that moves less than this between down and up has clicked.
const CLICK_PX: f64 = 5.0;

/// Pixels a line and a page of a wheel that counts in them.
const LINE_PX: f64 = 16.0;
const PAGE_PX: f64 = 400.0;

/// How much a pixel of the wheel zooms.
const ZOOM_PER_PX: f64 = 0.002;

/// The pointers that are down, and whether they have moved.
#[derive(Clone, Debug, Default)]
pub struct Gestures {
    down: Vec<Pointer>,
    has_moved: bool,
    /// How far the pointer has moved since it went down and before that counted.
    slack: f64,
}

impl Gestures {
    /// A pointer goes down.
    pub fn press(&mut self, id: i32, x: f64, y: f64) {
        self.down.retain(|pointer| pointer.id != id);
        if self.down.is_empty() {
            (self.has_moved, self.slack) = (false, 0.0);
        } else {
            // Two fingers never click.
            self.has_moved = true;
        }
        self.down.push(Pointer { id, x, y });
    }

    /// True while content is dragged.
    pub fn is_dragging(&self) -> bool {
        self.has_moved && !self.down.is_empty()
    }

    /// A pointer moves, up or down.
    pub fn moved(&mut self, id: i32, x: f64, y: f64) -> Vec<Gesture> {
        let Some(at) = self.down.iter().position(|pointer| pointer.id == id) else {
            return vec![Gesture::Hover { x, y }];
        };
        let before = self.down[at];
        self.down[at] = Pointer { id, x, y };
        if let Some(other) = self.down.iter().find(|pointer| pointer.id != id) {
            let span = |a: &Pointer| (a.x - other.x).abs().max(24.0);
            let factor = span(&self.down[at]) / span(&before);
            let center = (x + other.x) / 2.0;
            let pan = Gesture::Pan { dx: (x - before.x) / 2.0 };
            return vec![pan, Gesture::Zoom { x: center, factor }];
        }
        let dx = x - before.x;
        if !self.has_moved {
            self.slack += dx.abs() + (y - before.y).abs();
            if self.slack < CLICK_PX {
                return Vec::new();
            }
            self.has_moved = true;
        }
        vec![Gesture::Pan { dx }]
    }

    /// A pointer goes up.
    pub fn release(&mut self, id: i32, x: f64, y: f64) -> Option<Gesture> {
        let was_down = self.down.iter().any(|pointer| pointer.id == id);
        self.down.retain(|pointer| pointer.id != id);
        (was_down && !self.has_moved).then_some(Gesture::Click { x, y })
    }

    /// A pointer is taken away, as when the browser scrolls instead.
    pub fn cancel(&mut self, id: i32) {
        self.down.retain(|pointer| pointer.id != id);
    }
}

/// A turn of the wheel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wheel {
    pub x: f64,
    pub delta_x: f64,
    pub delta_y: f64,
    /// 0 pixels, 1 lines, 2 pages, as browsers count.
    pub mode: u32,
    pub is_shifted: bool,
}

impl Wheel {
    /// Zooms, or pans when shifted or turned sideways.
    pub fn gesture(self) -> Gesture {
        let px = match self.mode {
            0 => 1.0,
            1 => LINE_PX,
            _ => PAGE_PX,
        };
        if self.is_shifted || self.delta_x.abs() > self.delta_y.abs() {
            // Some browsers turn a shifted wheel sideways themselves.
            let larger =
                if self.delta_x.abs() > self.delta_y.abs() { self.delta_x } else { self.delta_y };
            return Gesture::Pan { dx: -larger * px };
        }
        let pixels = (self.delta_y * px).clamp(-300.0, 300.0);
        Gesture::Zoom { x: self.x, factor: (-pixels * ZOOM_PER_PX).exp() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_without_movement_is_a_click() {
        let mut gestures = Gestures::default();
        gestures.press(1, 10.0, 20.0);
        assert_eq!(gestures.moved(1, 12.0, 20.0), []);
        assert_eq!(gestures.release(1, 12.0, 20.0), Some(Gesture::Click { x: 12.0, y: 20.0 }));
    }

    #[test]
    fn a_press_with_movement_drags_and_does_not_click() {
        let mut gestures = Gestures::default();
        gestures.press(1, 10.0, 20.0);
        assert_eq!(gestures.moved(1, 30.0, 20.0), [Gesture::Pan { dx: 20.0 }]);
        assert!(gestures.is_dragging());
        assert_eq!(gestures.release(1, 30.0, 20.0), None);
        assert_eq!(gestures.moved(1, 31.0, 20.0), [Gesture::Hover { x: 31.0, y: 20.0 }]);
    }

    #[test]
    fn two_fingers_apart_zoom_in() {
        let mut gestures = Gestures::default();
        gestures.press(1, 100.0, 0.0);
        gestures.press(2, 200.0, 0.0);
        let moved = gestures.moved(2, 300.0, 0.0);
        assert_eq!(moved, [Gesture::Pan { dx: 50.0 }, Gesture::Zoom { x: 200.0, factor: 2.0 }]);
        assert_eq!(gestures.release(2, 300.0, 0.0), None);
        assert_eq!(gestures.release(1, 100.0, 0.0), None);
    }

    #[test]
    fn a_wheel_zooms_and_a_shifted_one_pans() {
        let wheel = Wheel { x: 5.0, delta_x: 0.0, delta_y: -100.0, mode: 0, is_shifted: false };
        assert!(matches!(wheel.gesture(), Gesture::Zoom { factor, .. } if factor > 1.1));
        let shifted = Wheel { is_shifted: true, ..wheel };
        assert_eq!(shifted.gesture(), Gesture::Pan { dx: 100.0 });
        let sideways = Wheel { delta_x: 30.0, delta_y: 1.0, ..wheel };
        assert_eq!(sideways.gesture(), Gesture::Pan { dx: -30.0 });
    }

    #[test]
    fn a_cancelled_pointer_does_nothing_more() {
        let mut gestures = Gestures::default();
        gestures.press(1, 0.0, 0.0);
        gestures.cancel(1);
        assert_eq!(gestures.release(1, 0.0, 0.0), None);
    }
}
