//! How much a constant can be trusted.

use serde::{Deserialize, Serialize};

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Read off a device or a log by somebody who names it.
    Measured,
    /// Printed by the vendor or in a paper.
    Published,
    /// Derived from a sibling, an order of magnitude, or recalled without a source at hand.
    Assumed,
}

impl Basis {
    /// The weaker of two: what a number derived from both can claim.
    ///
    /// ```
    /// use sim_core::hardware::Basis;
    /// assert_eq!(Basis::Measured.weaker(Basis::Assumed), Basis::Assumed);
    /// ```
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        self.max(other)
    }
}
