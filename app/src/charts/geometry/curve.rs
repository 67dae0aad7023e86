//! The memory of a rank over time, condensed to pixel columns in which no peak is lost.

use super::Viewport;
use sim_core::engine::MemoryPoint;
use sim_core::trace::Category;

/// Points between two stored sums.
const STRIDE: usize = 64;

/// Bytes by category.
pub type Stack = [i64; Category::COUNT];

/// Sums that make it cheap to ask a curve for an instant or for the highest point of a stretch.
#[derive(Clone, Debug, Default)]
pub struct CurveIndex {
    blocks: Vec<Block>,
}

/// What is known of `STRIDE` points.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Before its first point.
    before: Stack,
    /// The highest fill after one of its points, and that point.
    highest: i64,
    highest_at: usize,
}

/// What a curve shows from one pixel column on, up to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    pub left: i32,
    pub stack: Stack,
}

impl CurveIndex {
    /// One pass over the points of a curve, which are in order of time.
    pub fn new(points: &[MemoryPoint]) -> Self {
        let mut stack = Stack::default();
        let blocks = points
            .chunks(STRIDE)
            .enumerate()
            .map(|(block, chunk)| {
                let before = stack;
                let (mut highest, mut highest_at) = (i64::MIN, block * STRIDE);
                for (i, point) in chunk.iter().enumerate() {
                    add(&mut stack, point);
                    let fill = stack.iter().sum();
                    if fill > highest {
                        (highest, highest_at) = (fill, block * STRIDE + i);
                    }
                }
                Block { before, highest, highest_at }
            })
            .collect();
        Self { blocks }
    }

    /// Bytes by category after the first `count` points.
    pub fn after(&self, points: &[MemoryPoint], count: usize) -> Stack {
        let Some(last) = count.min(points.len()).checked_sub(1) else { return Stack::default() };
        let mut stack = self.blocks[last / STRIDE].before;
        for point in &points[last / STRIDE * STRIDE..=last] {
            add(&mut stack, point);
        }
        stack
    }

    /// Bytes by category at an instant, in seconds.
    pub fn at(&self, points: &[MemoryPoint], time: f64) -> Stack {
        self.after(points, points.partition_point(|point| point.time <= time))
    }

    /// The point of `from..to` after which the fill is highest.
    fn highest(&self, points: &[MemoryPoint], from: usize, to: usize) -> usize {
        let (mut best, mut best_at) = (i64::MIN, from);
        let mut at = from;
        while at < to {
            let block = &self.blocks[at / STRIDE];
            let block_end = (at / STRIDE + 1) * STRIDE;
            if at.is_multiple_of(STRIDE) && block_end <= to {
                if block.highest > best {
                    (best, best_at) = (block.highest, block.highest_at);
                }
            } else {
                let mut fill: i64 = self.after(points, at).iter().sum();
                for (i, point) in points.iter().enumerate().take(block_end.min(to)).skip(at) {
                    fill += point.delta;
                    if fill > best {
                        (best, best_at) = (fill, i);
                    }
                }
            }
            at = block_end;
        }
        best_at
    }

    /// What `view` shows on `width` pixel columns: each column shows the highest fill in it.
    pub fn columns(&self, points: &[MemoryPoint], view: Viewport, width: i32) -> Vec<Column> {
        let mut columns = Vec::new();
        let until = |time: f64| points.partition_point(|point| point.time < time);
        let mut seen = until(view.from());
        let mut stack = self.after(points, seen);
        push(&mut columns, 0, stack);
        for left in 0..width.max(0) {
            let end = if left + 1 == width {
                points.partition_point(|point| point.time <= view.to())
            } else {
                until(view.time(f64::from(left + 1), f64::from(width)))
            };
            if end <= seen {
                push(&mut columns, left, stack);
                continue;
            }
            let highest = self.after(points, self.highest(points, seen, end) + 1);
            let is_higher = highest.iter().sum::<i64>() >= stack.iter().sum::<i64>();
            push(&mut columns, left, if is_higher { highest } else { stack });
            stack = self.after(points, end);
            seen = end;
        }
        columns
    }
}

fn add(stack: &mut Stack, point: &MemoryPoint) {
    if let Some(bytes) = stack.get_mut(usize::from(point.category)) {
        *bytes += point.delta;
    }
}

/// Adds a column unless it shows what the one before shows.
fn push(columns: &mut Vec<Column>, left: i32, stack: Stack) {
    match columns.last_mut() {
        Some(last) if last.stack == stack => {}
        Some(last) if last.left == left => last.stack = stack,
        _ => columns.push(Column { left, stack }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sim_core::engine::TaskId;

    fn curve(points: &[(f64, u8, i64)]) -> Vec<MemoryPoint> {
        let point = |&(time, category, delta): &_| MemoryPoint {
            time,
            delta,
            label: 0,
            task: Some(TaskId(0)),
            category,
        };
        points.iter().map(point).collect()
    }

    fn totals(columns: &[Column]) -> Vec<(i32, i64)> {
        columns.iter().map(|c| (c.left, c.stack.iter().sum())).collect()
    }

    #[test]
    fn a_column_shows_its_highest_point_and_the_next_one_what_is_left() {
        let points = curve(&[(0.0, 0, 5), (2.1, 3, 10), (2.2, 3, -8), (7.5, 3, -2)]);
        let columns = CurveIndex::new(&points).columns(&points, Viewport::fit(10.0), 10);
        assert_eq!(totals(&columns), [(0, 5), (2, 15), (3, 7), (8, 5)]);
        assert_eq!(columns[1].stack[3], 10);
    }

    #[test]
    fn an_instant_includes_what_happens_at_it() {
        let points = curve(&[(0.0, 0, 5), (1.0, 1, 2)]);
        let index = CurveIndex::new(&points);
        assert_eq!(index.at(&points, 0.5)[..2], [5, 0]);
        assert_eq!(index.at(&points, 1.0)[..2], [5, 2]);
        assert_eq!(index.at(&points, -1.0)[..2], [0, 0]);
    }

    #[test]
    fn an_empty_curve_and_a_chart_without_width_are_fine() {
        let index = CurveIndex::new(&[]);
        assert_eq!(totals(&index.columns(&[], Viewport::fit(1.0), 10)), [(0, 0)]);
        let points = curve(&[(0.0, 200, 5)]);
        assert_eq!(CurveIndex::new(&points).columns(&points, Viewport::fit(1.0), 0).len(), 1);
    }

    proptest! {
        #[test]
        fn no_peak_is_lost(
            deltas in prop::collection::vec((0.0_f64..1.0, 0_u8..10, -50_i64..60), 1..400),
            width in 1_i32..100,
        ) {
            let mut time = 0.0;
            let raw: Vec<_> = deltas.into_iter().map(|(gap, c, d)| { time += gap * gap * gap; (time, c, d) }).collect();
            let points = curve(&raw);
            let index = CurveIndex::new(&points);
            let mut fill = 0;
            let mut peak = 0;
            for (count, point) in points.iter().enumerate() {
                fill += point.delta;
                peak = peak.max(fill);
                prop_assert_eq!(index.after(&points, count + 1).iter().sum::<i64>(), fill);
            }
            let columns = index.columns(&points, Viewport::fit(time), width);
            let shown = columns.iter().map(|c| c.stack.iter().sum::<i64>()).max().unwrap_or(0);
            prop_assert_eq!(shown, peak);
            prop_assert!(columns.windows(2).all(|w| w[0].left < w[1].left));
            prop_assert!(columns.iter().all(|c| 0 <= c.left && c.left < width));
        }
    }
}
