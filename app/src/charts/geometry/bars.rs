//! Stacked bars of memory against the line of what a device offers.

use super::{Rect, pixel};
use sim_core::trace::Category;

/// One bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BarSpec {
    /// Bytes by category, in the order in which they stack.
    pub bytes: [f64; Category::COUNT],
    /// An amount in bytes to outline behind the bar, such as the peak.
    pub ghost: Option<f64>,
}

/// Sizes in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarsOptions {
    pub width: i32,
    /// The column of names left of the bars; without one they stand above the bars.
    pub names: i32,
    /// The column of totals right of the bars.
    pub totals: i32,
    /// The row above the bars that names the line.
    pub head: i32,
    /// The row of the axis' numbers.
    pub axis: i32,
}

/// Below this width names stand above the bars.
const NARROW: i32 = 560;

impl BarsOptions {
    /// For a chart of `width` pixels.
    pub fn new(width: i32) -> Self {
        if width < NARROW {
            Self { width, names: 0, totals: 0, head: 22, axis: 20 }
        } else {
            Self { width, names: 132, totals: 96, head: 22, axis: 20 }
        }
    }

    /// True when names stand above the bars.
    pub fn is_narrow(&self) -> bool {
        self.names == 0
    }

    /// Height of a bar and distance from one to the next, above it its name where there is no
    /// column: many bars get thinner.
    fn row(&self, rows: usize) -> (i32, i32) {
        let (bar, gap) = match rows {
            0..=2 => (36, 14),
            3..=4 => (28, 10),
            5..=8 => (22, 6),
            _ => (16, 4),
        };
        if self.is_narrow() { (bar.min(24), bar.min(24) + 22) } else { (bar, bar + gap) }
    }
}

/// One bar on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarRow {
    /// From zero to the axis' end.
    pub lane: Rect,
    /// Index of a category and its pixels; those thinner than a pixel are left out.
    pub segments: Vec<(usize, Rect)>,
    /// Between what is held and what the device offers.
    pub free: Option<Rect>,
    /// What does not fit.
    pub over: Option<Rect>,
    pub ghost: Option<Rect>,
    /// The end of the bar.
    pub end: i32,
}

/// Where everything lies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarsLayout {
    pub width: i32,
    pub height: i32,
    /// The bars, from the axis' zero to its end.
    pub plot: Rect,
    pub capacity_x: i32,
    pub rows: Vec<BarRow>,
}

impl BarsLayout {
    /// Bars on an axis that ends at `axis_max` bytes.
    pub fn new(bars: &[BarSpec], capacity: f64, axis_max: f64, options: BarsOptions) -> Self {
        let (bar, stride) = options.row(bars.len());
        let above = if options.is_narrow() { stride - bar } else { 0 };
        // A bar at the axis' end keeps a pixel for its outline.
        let right = (options.width - options.totals - 1).max(options.names + 1);
        let last = bars.len().saturating_sub(1) as i32;
        let bottom = options.head + above + last * stride + bar + 8;
        let plot = Rect { left: options.names + 1, top: options.head, right, bottom };
        let x = |bytes: f64| {
            let share = amount(bytes) / axis_max;
            pixel(f64::from(plot.left) + share * f64::from(plot.width()), plot.left, plot.right)
        };
        let rows = bars
            .iter()
            .enumerate()
            .map(|(i, spec)| {
                let top = options.head + above + i as i32 * stride;
                row(spec, capacity, Rect { top, bottom: top + bar, ..plot }, x)
            })
            .collect();
        let height = bottom + options.axis;
        Self { width: options.width, height, plot, capacity_x: x(capacity), rows }
    }

    /// The bar and the index of the category at a pixel.
    pub fn hit(&self, x: f64, y: f64) -> Option<(usize, usize)> {
        self.rows.iter().enumerate().find_map(|(row, bar)| {
            let hit = bar.segments.iter().find(|(_, rect)| rect.contains(x, y));
            hit.map(|(category, _)| (row, *category))
        })
    }
}

fn row(spec: &BarSpec, capacity: f64, lane: Rect, x: impl Fn(f64) -> i32) -> BarRow {
    let between = |from: f64, to: f64| Rect { left: x(from), right: x(to), ..lane };
    let mut segments = Vec::new();
    let mut sum = 0.0;
    for (category, bytes) in spec.bytes.iter().enumerate() {
        let before = sum;
        sum += amount(*bytes);
        let rect = between(before, sum);
        if rect.width() > 0 {
            segments.push((category, rect));
        }
    }
    let some = |rect: Rect| (rect.width() > 0).then_some(rect);
    let held = spec.ghost.map_or(sum, |ghost| amount(ghost).max(sum));
    let mut over = (sum > capacity).then(|| between(capacity, sum));
    // A byte too much is too much: it must be seen.
    if let Some(rect) = &mut over {
        rect.right = rect.right.max((rect.left + 2).min(lane.right));
        rect.left = rect.left.min(rect.right - 2).max(lane.left);
    }
    BarRow {
        lane,
        segments,
        free: some(between(held, capacity.max(held))),
        over,
        ghost: spec.ghost.filter(|ghost| *ghost > sum).and_then(|ghost| some(between(sum, ghost))),
        end: x(sum),
    }
}

/// Bytes of a bar: never negative, never infinite.
fn amount(bytes: f64) -> f64 {
    if bytes.is_finite() { bytes.max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bar(bytes: &[f64]) -> BarSpec {
        let mut spec = BarSpec::default();
        spec.bytes[..bytes.len()].copy_from_slice(bytes);
        spec
    }

    /// A chart whose bars are 1000 pixels long.
    fn options() -> BarsOptions {
        BarsOptions { width: 1231, names: 132, totals: 97, head: 20, axis: 20 }
    }

    #[test]
    fn segments_follow_each_other_on_the_scale() {
        let layout = BarsLayout::new(&[bar(&[20.0, 0.0, 30.0])], 80.0, 100.0, options());
        assert_eq!(layout.plot.width(), 1000);
        let pixels: Vec<_> = layout.rows[0]
            .segments
            .iter()
            .map(|(c, r)| (*c, r.left - 133, r.right - 133))
            .collect();
        assert_eq!(pixels, [(0, 0, 200), (2, 200, 500)]);
        assert_eq!(layout.capacity_x - 133, 800);
        assert_eq!(layout.rows[0].free.map(Rect::width), Some(300));
        assert_eq!(layout.rows[0].over, None);
    }

    #[test]
    fn what_does_not_fit_lies_beyond_the_line() {
        let layout = BarsLayout::new(&[bar(&[90.0])], 80.0, 100.0, options());
        let over = layout.rows[0].over.expect("ninety do not fit in eighty");
        assert_eq!((over.left, over.width()), (layout.capacity_x, 100));
        assert_eq!(layout.rows[0].free, None);
        let barely = BarsLayout::new(&[bar(&[80.0 + 1e-6])], 80.0, 100.0, options());
        assert_eq!(barely.rows[0].over.map(Rect::width), Some(2));
    }

    #[test]
    fn the_ghost_reaches_from_the_bar_to_the_peak() {
        let spec = BarSpec { ghost: Some(70.0), ..bar(&[50.0]) };
        let layout = BarsLayout::new(&[spec], 80.0, 100.0, options());
        assert_eq!(layout.rows[0].ghost.map(Rect::width), Some(200));
        assert_eq!(layout.rows[0].free.map(Rect::width), Some(100));
    }

    #[test]
    fn a_pointer_finds_the_segment() {
        let layout = BarsLayout::new(&[bar(&[20.0]), bar(&[20.0, 30.0])], 80.0, 100.0, options());
        let second = layout.rows[1].lane;
        let y = f64::from(second.top + 2);
        assert_eq!(layout.hit(140.0, y), Some((1, 0)));
        assert_eq!(layout.hit(340.0, y), Some((1, 1)));
        assert_eq!(layout.hit(900.0, y), None);
        assert_eq!(layout.hit(140.0, 1.0), None);
    }

    proptest! {
        #[test]
        fn nothing_lies_outside_and_nothing_panics(
            rows in prop::collection::vec(prop::array::uniform10(prop::num::f64::ANY), 0..20),
            capacity in prop::num::f64::ANY, axis in prop::num::f64::ANY, width in -10_i32..2000,
        ) {
            let bars: Vec<_> = rows.into_iter().map(|bytes| BarSpec { bytes, ghost: Some(capacity) }).collect();
            let layout = BarsLayout::new(&bars, capacity, axis, BarsOptions::new(width));
            for row in &layout.rows {
                let boxes = row.segments.iter().map(|s| s.1).chain(row.free).chain(row.over).chain(row.ghost);
                for rect in boxes {
                    prop_assert!(rect.left >= layout.plot.left && rect.right <= layout.plot.right);
                    prop_assert!(rect.top >= layout.plot.top && rect.bottom <= layout.plot.bottom);
                }
            }
        }

        #[test]
        fn segments_add_up_to_the_bar(bytes in prop::array::uniform10(0.0_f64..10.0)) {
            let layout = BarsLayout::new(&[BarSpec { bytes, ghost: None }], 80.0, 100.0, options());
            let row = &layout.rows[0];
            let width: i32 = row.segments.iter().map(|s| s.1.width()).sum();
            prop_assert_eq!(width, row.end - layout.plot.left);
        }
    }
}
