//! The answer in a few numbers, read off a report.

use sim_core::Simulation;
use sim_core::explain::Question;
use sim_core::quantity::Bytes;
use sim_core::report::{Basis, Report};
use sim_core::trace::Category;

/// Whether it fits, and by how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    pub fits: bool,
    /// What the fullest GPU needs.
    pub needs: Bytes,
    /// What a GPU has.
    pub capacity: Bytes,
}

impl Verdict {
    /// Free memory; negative when it does not fit.
    pub fn free(self) -> Bytes {
        self.capacity - self.needs
    }
}

/// The verdict of a report; nothing when its scenario has errors.
pub fn verdict(report: &Report) -> Option<Verdict> {
    let memory = report.memory.as_ref()?;
    let fullest = memory.per_rank.get(fullest_class(report)?)?;
    Some(Verdict {
        fits: report.fits,
        needs: Bytes::gib(fullest.driver_total_gib),
        capacity: Bytes::gib(memory.capacity_gib),
    })
}

/// Index of the rank class that needs the most; the first of equals.
pub fn fullest_class(report: &Report) -> Option<usize> {
    let classes = &report.memory.as_ref()?.per_rank;
    let mut fullest: Option<usize> = None;
    for (i, class) in classes.iter().enumerate() {
        if fullest.is_none_or(|j| class.driver_total_gib > classes[j].driver_total_gib) {
            fullest = Some(i);
        }
    }
    fullest
}

/// What to explain before anything is asked: the biggest category of the fullest class.
pub fn first_question(simulation: &Simulation) -> Option<Question> {
    let class = fullest_class(&simulation.report)?;
    let bytes = simulation.trace.breakdown_at(class, None);
    let category = Category::ALL.into_iter().max_by_key(|category| bytes[*category as usize])?;
    Some(Question::Memory { class, category })
}

/// The weakest basis that a report rests on.
pub fn weakest_basis(report: &Report) -> Option<Basis> {
    report.assumptions.iter().map(|assumption| assumption.basis).max()
}
