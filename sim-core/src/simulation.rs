//! The façade: one call from a scenario to everything that the page and the command line show.

use crate::check::check;
use crate::cost::CostModel;
use crate::estimate;
use crate::issue::Issue;
use crate::lowering::lower;
use crate::operators::Backend;
use crate::plan::Plan;
use crate::report::Report;
use crate::scenario::Scenario;
use crate::trace::Trace;

/// A scenario that could be computed, with its answer.
#[derive(Clone, Debug)]
pub struct Simulation {
    pub plan: Plan,
    pub trace: Trace,
    pub report: Report,
}

/// Computes a scenario.
///
/// # Errors
/// All findings of [`check`], when at least one of them is an error.
pub fn simulate(scenario: &Scenario) -> Result<Simulation, Vec<Issue>> {
    simulate_on(scenario, Backend::Gpu)
}

/// Computes a scenario as it runs with the kernels of `backend`: traces recorded without a GPU are
/// compared with those of [`Backend::Traced`].
///
/// # Errors
/// As [`simulate`].
pub fn simulate_on(scenario: &Scenario, backend: Backend) -> Result<Simulation, Vec<Issue>> {
    let mut checked = check(scenario)?;
    checked.plan.backend = backend;
    let cost = CostModel::new(&checked.plan);
    let trace = lower(&checked.plan, &cost);
    let report = estimate::report(&checked.plan, &cost, &trace, checked.issues);
    Ok(Simulation { plan: checked.plan, trace, report })
}

/// The report of a scenario, with its errors where it cannot be computed.
pub fn report(scenario: &Scenario) -> Report {
    match simulate(scenario) {
        Ok(simulation) => simulation.report,
        Err(issues) => Report::failed(Some(scenario), issues),
    }
}
