//! Tasks, what they wait for, and when they run.

/// A thing that does one task at a time: a compute stream, a link, a host thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceId(pub u32);

/// A task, numbered in the order of adding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub u32);

/// A memory whose fill is followed over time: one GPU's, the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolId(pub u16);

/// When in a task's life a memory effect takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Start,
    End,
}

/// One change of one pool's fill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Effect {
    /// Bytes; negative frees.
    pub delta: i64,
    /// The caller's name for what is allocated or freed.
    pub label: u32,
    pub pool: PoolId,
    pub moment: Moment,
    /// The caller's category of memory.
    pub category: u8,
}

/// One task. Dependencies and effects lie in the graph's flat lists, from `*_from` to the next
/// task's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub duration: f64,
    pub resource: ResourceId,
    pub dependencies_from: u32,
    pub effects_from: u32,
}

/// A program of tasks, in an order in which each comes after all it waits for.
#[derive(Clone, Debug, Default)]
pub struct TaskGraph {
    pub(super) tasks: Vec<Task>,
    pub(super) dependencies: Vec<TaskId>,
    pub(super) effects: Vec<Effect>,
    pub(super) initial: Vec<Effect>,
    resources: u32,
    pools: u16,
}

impl TaskGraph {
    /// A graph without tasks, with room for `tasks` of them.
    pub fn with_capacity(tasks: usize) -> Self {
        Self {
            tasks: Vec::with_capacity(tasks),
            dependencies: Vec::with_capacity(tasks),
            effects: Vec::with_capacity(tasks * 3),
            initial: Vec::new(),
            resources: 0,
            pools: 0,
        }
    }

    /// A new resource.
    pub fn add_resource(&mut self) -> ResourceId {
        self.resources += 1;
        ResourceId(self.resources - 1)
    }

    /// A new memory pool, empty at time zero.
    pub fn add_pool(&mut self) -> PoolId {
        self.pools += 1;
        PoolId(self.pools - 1)
    }

    /// Adds a task of `duration` seconds at the end of `resource`'s queue.
    ///
    /// Dependencies and effects that are added before the next task belong to it.
    pub fn add_task(&mut self, resource: ResourceId, duration: f64) -> TaskId {
        debug_assert!(resource.0 < self.resources, "the resource belongs to this graph");
        debug_assert!(duration >= 0.0 && duration.is_finite(), "a duration is a finite time");
        self.tasks.push(Task {
            duration,
            resource,
            dependencies_from: index(self.dependencies.len()),
            effects_from: index(self.effects.len()),
        });
        TaskId(index(self.tasks.len() - 1))
    }

    /// The newest task starts after `task` has ended.
    ///
    /// # Panics
    /// When `task` is not older than the newest task: a graph that could deadlock is a bug of the
    /// caller.
    pub fn wait_for(&mut self, task: TaskId) {
        assert!((task.0 as usize) + 1 < self.tasks.len(), "a task waits for older tasks only");
        self.dependencies.push(task);
    }

    /// `pool` holds `bytes` from before the first task on.
    pub fn hold(&mut self, pool: PoolId, category: u8, label: u32, bytes: i64) {
        if bytes != 0 {
            let moment = Moment::Start;
            self.initial.push(Effect { delta: bytes, label, pool, moment, category });
        }
    }

    /// The newest task changes the fill of `pool` by `delta` bytes.
    ///
    /// Effects of one moment happen in the order of adding.
    pub fn change(&mut self, pool: PoolId, moment: Moment, category: u8, label: u32, delta: i64) {
        debug_assert!(!self.tasks.is_empty(), "an effect belongs to a task");
        if delta != 0 {
            self.effects.push(Effect { delta, label, pool, moment, category });
        }
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True without tasks.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Number of resources.
    pub fn resource_count(&self) -> usize {
        self.resources as usize
    }

    /// Number of memory pools.
    pub fn pool_count(&self) -> usize {
        usize::from(self.pools)
    }

    /// The resource that runs `task`.
    pub fn resource(&self, task: TaskId) -> ResourceId {
        self.tasks[task.0 as usize].resource
    }

    /// What `task` waits for beside its own resource.
    pub fn dependencies(&self, task: TaskId) -> &[TaskId] {
        let index = task.0 as usize;
        let to = self
            .tasks
            .get(index + 1)
            .map_or(self.dependencies.len(), |next| next.dependencies_from as usize);
        &self.dependencies[self.tasks[index].dependencies_from as usize..to]
    }

    pub(super) fn effects(&self, task: usize) -> &[Effect] {
        let to =
            self.tasks.get(task + 1).map_or(self.effects.len(), |next| next.effects_from as usize);
        &self.effects[self.tasks[task].effects_from as usize..to]
    }

    /// When every task runs: as soon as its resource is free and all it waits for has ended.
    ///
    /// One sweep over the tasks; the same graph always gives the same bits.
    pub fn schedule(&self) -> Schedule {
        let mut free = vec![0.0_f64; self.resource_count()];
        let mut start = Vec::with_capacity(self.tasks.len());
        let mut end: Vec<f64> = Vec::with_capacity(self.tasks.len());
        let mut makespan = 0.0_f64;
        for (i, task) in self.tasks.iter().enumerate() {
            let resource = task.resource.0 as usize;
            let mut begin = free[resource];
            for dependency in self.dependencies(TaskId(index(i))) {
                begin = later(begin, end[dependency.0 as usize]);
            }
            let finish = begin + task.duration;
            free[resource] = finish;
            makespan = later(makespan, finish);
            start.push(begin);
            end.push(finish);
        }
        Schedule { start, end, makespan }
    }
}

/// Start and end of every task, in seconds from the beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    start: Vec<f64>,
    end: Vec<f64>,
    makespan: f64,
}

impl Schedule {
    /// When `task` starts, in seconds.
    pub fn start(&self, task: TaskId) -> f64 {
        self.start[task.0 as usize]
    }

    /// When `task` ends, in seconds.
    pub fn end(&self, task: TaskId) -> f64 {
        self.end[task.0 as usize]
    }

    /// When the last task ends, in seconds.
    pub fn makespan(&self) -> f64 {
        self.makespan
    }
}

/// The later of two finite instants.
fn later(a: f64, b: f64) -> f64 {
    if a < b { b } else { a }
}

/// A position in a list; a graph has fewer than 2³² entries.
fn index(position: usize) -> u32 {
    u32::try_from(position).expect("a task graph has fewer than 2^32 entries")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_runs_one_task_at_a_time() {
        let mut graph = TaskGraph::default();
        let gpu = graph.add_resource();
        let a = graph.add_task(gpu, 2.0);
        let b = graph.add_task(gpu, 3.0);
        let schedule = graph.schedule();
        assert_eq!((schedule.start(a), schedule.end(a)), (0.0, 2.0));
        assert_eq!((schedule.start(b), schedule.end(b)), (2.0, 5.0));
    }

    #[test]
    fn a_task_waits_for_the_last_of_its_dependencies() {
        let mut graph = TaskGraph::default();
        let (gpu, link) = (graph.add_resource(), graph.add_resource());
        let compute = graph.add_task(gpu, 2.0);
        let copy = graph.add_task(link, 5.0);
        let after = graph.add_task(gpu, 1.0);
        graph.wait_for(compute);
        graph.wait_for(copy);
        let schedule = graph.schedule();
        assert_eq!(schedule.start(after), 5.0);
        assert_eq!(schedule.makespan(), 6.0);
    }

    #[test]
    #[should_panic(expected = "older tasks only")]
    fn a_task_cannot_wait_for_itself() {
        let mut graph = TaskGraph::default();
        let gpu = graph.add_resource();
        let task = graph.add_task(gpu, 1.0);
        graph.wait_for(task);
    }
}
