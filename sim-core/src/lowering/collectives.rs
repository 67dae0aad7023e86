//! Collectives of a stage: within the tensor-parallel group, and within the data-parallel group.

use super::builder::{Special, TraceBuilder};
use super::compiled::CompiledStep;
use super::stage::{StageEmitter, UnitRef};
use crate::engine::{Moment, TaskId};
use crate::operators::{Collective, CollectiveKind};
use crate::quantity::signed_bytes as signed;
use crate::trace::Category;

impl StageEmitter<'_> {
    /// Adds a collective of the tensor-parallel group between two compute tasks.
    pub(super) fn tensor_collective(
        &mut self,
        builder: &mut TraceBuilder,
        step: &CompiledStep,
        at: (u32, u32),
    ) -> TaskId {
        let lane = self.lanes.tensor.expect("tensor collectives need tensor parallelism");
        let task = builder.task(lane, step.operation, step.duration, at.0, at.1);
        // A pending wait for gathered parameters stays with the kernels that read them.
        for wait in self.received.take().into_iter().chain(self.last_compute) {
            builder.graph.wait_for(wait);
        }
        self.carried_waits.push(task);
        task
    }

    /// Gathers a unit's parameters when `room` is done: one unit computes, one is on its way.
    pub(super) fn gather(
        &mut self,
        builder: &mut TraceBuilder,
        unit: UnitRef,
        micro_batch: u32,
        room: Option<TaskId>,
    ) -> TaskId {
        let bytes = self.units[unit.unit].gathered_bytes(self.policy.weights);
        let collective = Collective { kind: CollectiveKind::AllGather, bytes };
        let at = (unit.layer, micro_batch);
        let task = self.data_collective(builder, "gather-parameters", collective, at);
        if let Some(room) = room {
            builder.graph.wait_for(room);
        }
        let bytes = signed(bytes);
        builder.change(self.pool, Moment::Start, Category::Transient, "gathered-parameters", bytes);
        task
    }

    /// Adds a collective of the data-parallel group.
    pub(super) fn data_collective(
        &mut self,
        builder: &mut TraceBuilder,
        name: &'static str,
        collective: Collective,
        at: (u32, u32),
    ) -> TaskId {
        let lane = self.lanes.data.expect("data-parallel collectives need replicas");
        let special = Special {
            name,
            phase: collective.kind.phase(),
            bytes: collective.bytes as f64,
            cost: self.cost.data_collective(collective),
        };
        let task = builder.special(lane, special, at.0, at.1);
        self.last_data = Some(task);
        task
    }
}
