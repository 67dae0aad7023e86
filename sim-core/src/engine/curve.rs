//! The fill of a memory pool over time, and its peak.

use super::graph::{Effect, Moment, PoolId, ResourceId, Schedule, TaskGraph, TaskId};

/// The largest number of categories that a curve keeps apart.
pub const MAX_CATEGORIES: usize = 16;

/// One change of a pool's fill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryPoint {
    /// Seconds from the beginning.
    pub time: f64,
    /// Bytes; negative frees.
    pub delta: i64,
    /// The caller's name for what was allocated or freed.
    pub label: u32,
    /// The task that did it; none for what was there before the first task.
    pub task: Option<TaskId>,
    pub category: u8,
}

/// Everything that happened to one pool, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryCurve {
    points: Vec<MemoryPoint>,
    peak_bytes: i64,
    /// How many points lead up to the peak, the one that reaches it included.
    peak_points: usize,
}

impl MemoryCurve {
    /// The curves of all pools, by pool number, when `graph` runs as `schedule` says.
    ///
    /// Of two changes at one instant on different resources the freeing end of a task comes before
    /// the allocating start of another, as on a GPU whose allocator sees the free first.
    pub fn of_all_pools(graph: &TaskGraph, schedule: &Schedule) -> Vec<Self> {
        (0_u16..)
            .zip(queues(graph))
            .map(|(pool, queues)| Self::merge(graph, schedule, PoolId(pool), queues))
            .collect()
    }

    fn merge(graph: &TaskGraph, schedule: &Schedule, pool: PoolId, mut queues: Vec<Queue>) -> Self {
        let mut curve = Self::default();
        let mut fill = 0_i64;
        for effect in graph.initial.iter().filter(|effect| effect.pool == pool) {
            fill += effect.delta;
            curve.push(0.0, None, effect, fill);
        }
        for queue in &mut queues {
            queue.set_time(schedule);
        }
        while let Some(next) = earliest(&queues) {
            let queue = &mut queues[next];
            let (task, moment, time) = (queue.tasks[queue.at], queue.moment, queue.time);
            for effect in graph.effects(task.0 as usize) {
                if effect.pool == pool && effect.moment == moment {
                    fill += effect.delta;
                    curve.push(time, Some(task), effect, fill);
                }
            }
            queue.advance();
            queue.set_time(schedule);
        }
        curve
    }

    fn push(&mut self, time: f64, task: Option<TaskId>, effect: &Effect, fill: i64) {
        let Effect { delta, label, category, .. } = *effect;
        self.points.push(MemoryPoint { time, delta, label, task, category });
        if fill > self.peak_bytes {
            self.peak_bytes = fill;
            self.peak_points = self.points.len();
        }
    }

    /// All changes in order.
    pub fn points(&self) -> &[MemoryPoint] {
        &self.points
    }

    /// The highest fill, in bytes.
    pub fn peak_bytes(&self) -> i64 {
        self.peak_bytes
    }

    /// The fill before the first task, in bytes.
    pub fn initial_bytes(&self) -> i64 {
        self.points.iter().take_while(|point| point.task.is_none()).map(|point| point.delta).sum()
    }

    /// When the highest fill is first reached, in seconds; 0 for a pool that stays empty.
    pub fn peak_time(&self) -> f64 {
        self.peak_points.checked_sub(1).map_or(0.0, |last| self.points[last].time)
    }

    /// The changes that lead up to the peak.
    pub fn points_to_peak(&self) -> &[MemoryPoint] {
        &self.points[..self.peak_points]
    }

    /// The changes up to and including `time` seconds.
    pub fn points_until(&self, time: f64) -> &[MemoryPoint] {
        &self.points[..self.points.partition_point(|p| p.time <= time)]
    }

    /// Bytes by category after `points`, a prefix of this curve's points.
    pub fn breakdown(points: &[MemoryPoint]) -> [i64; MAX_CATEGORIES] {
        let mut bytes = [0; MAX_CATEGORIES];
        for point in points {
            bytes[usize::from(point.category)] += point.delta;
        }
        bytes
    }

    /// What is alive after `points`: (category, label, bytes), largest first.
    pub fn live(points: &[MemoryPoint]) -> Vec<(u8, u32, i64)> {
        let mut live: std::collections::BTreeMap<(u8, u32), i64> =
            std::collections::BTreeMap::new();
        for point in points {
            *live.entry((point.category, point.label)).or_default() += point.delta;
        }
        let mut rows: Vec<_> =
            live.into_iter().filter(|row| row.1 != 0).map(|((c, l), b)| (c, l, b)).collect();
        rows.sort_by(|a, b| b.2.cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
        rows
    }
}

/// One resource's tasks that touch a pool, and how far the merge has come.
struct Queue {
    resource: ResourceId,
    tasks: Vec<TaskId>,
    at: usize,
    moment: Moment,
    /// When the next moment is.
    time: f64,
}

impl Queue {
    fn advance(&mut self) {
        match self.moment {
            Moment::Start => self.moment = Moment::End,
            Moment::End => {
                self.moment = Moment::Start;
                self.at += 1;
            }
        }
    }

    fn set_time(&mut self, schedule: &Schedule) {
        if let Some(&task) = self.tasks.get(self.at) {
            self.time = match self.moment {
                Moment::Start => schedule.start(task),
                Moment::End => schedule.end(task),
            };
        }
    }
}

/// The queues of every pool.
fn queues(graph: &TaskGraph) -> Vec<Vec<Queue>> {
    let mut pools: Vec<Vec<Queue>> = (0..graph.pool_count()).map(|_| Vec::new()).collect();
    for i in 0..graph.len() {
        let task = TaskId(u32::try_from(i).expect("a task graph has fewer than 2^32 entries"));
        let resource = graph.resource(task);
        for effect in graph.effects(i) {
            let queues = &mut pools[usize::from(effect.pool.0)];
            match queues.iter_mut().find(|queue| queue.resource == resource) {
                Some(queue) if queue.tasks.last() == Some(&task) => {}
                Some(queue) => queue.tasks.push(task),
                None => queues.push(Queue {
                    resource,
                    tasks: vec![task],
                    at: 0,
                    moment: Moment::Start,
                    time: 0.0,
                }),
            }
        }
    }
    pools
}

/// The queue whose next moment is first: by time, then ends before starts, then by task.
fn earliest(queues: &[Queue]) -> Option<usize> {
    let mut best: Option<(f64, bool, TaskId, usize)> = None;
    for (i, queue) in queues.iter().enumerate() {
        let Some(&task) = queue.tasks.get(queue.at) else { continue };
        let key = (queue.time, queue.moment == Moment::Start, task, i);
        let sooner = best.is_none_or(|b| {
            key.0.total_cmp(&b.0).then(key.1.cmp(&b.1)).then(key.2.cmp(&b.2)).is_lt()
        });
        if sooner {
            best = Some(key);
        }
    }
    best.map(|key| key.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_highest_fill_and_its_first_instant() {
        let mut graph = TaskGraph::default();
        let (gpu, pool) = (graph.add_resource(), graph.add_pool());
        for (keep, scratch) in [(10, 5), (10, 30), (-20, 0)] {
            graph.add_task(gpu, 1.0);
            graph.change(pool, Moment::Start, 0, 0, keep);
            graph.change(pool, Moment::Start, 1, 1, scratch);
            graph.change(pool, Moment::End, 1, 1, -scratch);
        }
        let curve =
            MemoryCurve::of_all_pools(&graph, &graph.schedule()).remove(usize::from(pool.0));
        assert_eq!(curve.peak_bytes(), 50);
        assert_eq!(curve.peak_time(), 1.0);
        assert_eq!(MemoryCurve::breakdown(curve.points_to_peak())[..2], [20, 30]);
        assert_eq!(MemoryCurve::live(curve.points_to_peak()), vec![(1, 1, 30), (0, 0, 20)]);
        assert_eq!(MemoryCurve::breakdown(curve.points_until(3.0))[..2], [0, 0]);
    }

    #[test]
    fn a_free_comes_before_an_allocation_at_the_same_instant() {
        let mut graph = TaskGraph::default();
        let (gpu, link, pool) = (graph.add_resource(), graph.add_resource(), graph.add_pool());
        // The link's task comes first in the graph, and its start coincides with the GPU's end.
        let first = graph.add_task(gpu, 1.0);
        graph.change(pool, Moment::Start, 0, 0, 8);
        graph.change(pool, Moment::End, 0, 0, -8);
        graph.add_task(link, 1.0);
        graph.wait_for(first);
        graph.change(pool, Moment::Start, 0, 1, 8);
        let curve =
            MemoryCurve::of_all_pools(&graph, &graph.schedule()).remove(usize::from(pool.0));
        assert_eq!(curve.peak_bytes(), 8);
    }

    #[test]
    fn a_task_without_duration_allocates_before_it_frees() {
        let mut graph = TaskGraph::default();
        let (gpu, pool) = (graph.add_resource(), graph.add_pool());
        graph.add_task(gpu, 0.0);
        graph.change(pool, Moment::End, 0, 0, -3);
        graph.change(pool, Moment::Start, 0, 0, 3);
        let curve =
            MemoryCurve::of_all_pools(&graph, &graph.schedule()).remove(usize::from(pool.0));
        assert_eq!(curve.peak_bytes(), 3);
        assert_eq!(curve.points().iter().map(|p| p.delta).collect::<Vec<_>>(), [3, -3]);
    }
}
