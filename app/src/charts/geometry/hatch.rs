//! Patterns: a second channel beside colour.

use super::Rect;

/// The direction of a pattern's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hatch {
    /// From bottom left to top right.
    Rising,
    /// From top left to bottom right.
    Falling,
    Horizontal,
}

/// A line from one pixel to another.
pub type Line = ((i32, i32), (i32, i32));

impl Hatch {
    /// The lines that fill `area`, `step` pixels apart, at places that do not depend on the area: the
    /// pattern of two areas side by side is one.
    pub fn lines(self, area: Rect, step: i32) -> Vec<Line> {
        let step = step.max(1);
        if area.width() == 0 || area.height() == 0 {
            return Vec::new();
        }
        let Rect { left, top, right, bottom } = area;
        let (low, high) = match self {
            Self::Rising => (left + top, right + bottom),
            Self::Falling => (left - bottom, right - top),
            Self::Horizontal => (top, bottom),
        };
        let mut lines = Vec::new();
        let mut at = (low.div_euclid(step) + 1) * step;
        while at < high {
            let line = match self {
                Self::Rising => {
                    let (from, to) = (left.max(at - bottom), right.min(at - top));
                    ((from, at - from), (to, at - to))
                }
                Self::Falling => {
                    let (from, to) = (left.max(at + top), right.min(at + bottom));
                    ((from, from - at), (to, to - at))
                }
                Self::Horizontal => ((left, at), (right, at)),
            };
            if line.0 != line.1 {
                lines.push(line);
            }
            at += step;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_rise_across_the_area() {
        let area = Rect { left: 0, top: 0, right: 10, bottom: 4 };
        assert_eq!(Hatch::Rising.lines(area, 5), [((1, 4), (5, 0)), ((6, 4), (10, 0))]);
        assert_eq!(Hatch::Horizontal.lines(area, 3), [((0, 3), (10, 3))]);
    }

    proptest! {
        #[test]
        fn lines_stay_inside(
            left in -50_i32..50, top in -50_i32..50, width in 0_i32..80, height in 0_i32..80, step in -1_i32..9,
        ) {
            let area = Rect { left, top, right: left + width, bottom: top + height };
            for hatch in [Hatch::Rising, Hatch::Falling, Hatch::Horizontal] {
                for (from, to) in hatch.lines(area, step) {
                    for (x, y) in [from, to] {
                        prop_assert!((area.left..=area.right).contains(&x));
                        prop_assert!((area.top..=area.bottom).contains(&y));
                    }
                }
            }
        }
    }
}
