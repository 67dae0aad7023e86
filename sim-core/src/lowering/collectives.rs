//! Collectives of a stage: those of a tape, and those of ranks that hold the same parameters.

use super::builder::{Special, TraceBuilder};
use super::compiled::CompiledStep;
use super::stage::{StageEmitter, UnitRef};
use crate::engine::{Moment, TaskId};
use crate::operators::{Collective, CollectiveKind, ParameterKind, RankGroup};
use crate::quantity::signed_bytes as signed;
use crate::trace::Category;

impl StageEmitter<'_> {
    /// Adds a collective of a tape between two compute tasks.
    pub(super) fn collective(
        &mut self,
        builder: &mut TraceBuilder,
        step: &CompiledStep,
        group: RankGroup,
        at: (u32, u32),
    ) -> TaskId {
        let lane = match group {
            RankGroup::Tensor => self.lanes.tensor,
            RankGroup::Expert => self.lanes.expert,
            RankGroup::Context => self.lanes.context,
        };
        let lane = lane.expect("a tape has collectives of groups of more than one rank");
        let task = builder.task(lane, step.operation, step.duration, at.0, at.1);
        // A pending wait for gathered parameters stays with the kernels that read them.
        for wait in self.received.take().into_iter().chain(self.last_compute) {
            builder.graph.wait_for(wait);
        }
        if group == RankGroup::Context {
            // It runs beside the kernel that comes now, and holds up the one after.
            self.beside = Some(task);
        } else {
            self.carried_waits.push(task);
        }
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
        let program = &self.units[unit.unit];
        let at = (unit.layer, micro_batch);
        let mut last = None;
        for kind in ParameterKind::ALL {
            let bytes = program.gathered_bytes_of(kind, self.policy.weights);
            if bytes == 0 && kind == ParameterKind::Routed {
                continue;
            }
            let collective = Collective { kind: CollectiveKind::AllGather, bytes };
            last = Some(self.data_collective(builder, "gather-parameters", kind, collective, at));
            if let Some(room) = room {
                builder.graph.wait_for(room);
            }
            let name = "gathered-parameters";
            builder.change(self.pool, Moment::Start, Category::Transient, name, signed(bytes));
        }
        last.expect("the common parameters have a gather of their own")
    }

    /// Adds a collective of the ranks that hold the same parameters of a kind.
    pub(super) fn data_collective(
        &mut self,
        builder: &mut TraceBuilder,
        name: &'static str,
        kind: ParameterKind,
        collective: Collective,
        at: (u32, u32),
    ) -> TaskId {
        let lane = self.lanes.data.expect("data-parallel collectives need replicas");
        let special = Special {
            name,
            phase: collective.kind.phase(),
            bytes: collective.bytes as f64,
            cost: self.cost.data_collective(kind, collective),
        };
        let task = builder.special(lane, special, at.0, at.1);
        self.last_data = Some(task);
        task
    }
}
