//! Why a number is what it is: the formula, its symbols with their values, and the source.

use crate::report::Basis;
use crate::trace::Category;

/// A value in an explanation, with what is needed to print it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Bytes(f64),
    Seconds(f64),
    /// Floating-point operations per second.
    FlopsPerSecond(f64),
    Flops(f64),
    BytesPerSecond(f64),
    Count(f64),
    /// 0 to 1, printed in percent.
    Share(f64),
    /// A pure number such as bytes per parameter.
    Number(f64),
}

/// A symbol of a formula with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// As it stands in the formula: `Ψ`, `N_dp`.
    pub symbol: &'static str,
    /// Key of its meaning: `symbol.<name>`.
    pub name: &'static str,
    pub value: Value,
}

/// A number taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Key of the formula in [`crate::formulas`]; its title is the text `formula.<id>`.
    pub formula: &'static str,
    /// The formula in symbols: `12 · Ψ / N_dp`.
    pub expression: &'static str,
    pub symbols: Vec<Symbol>,
    /// What the formula gives.
    pub result: Value,
    /// The paper or page, with the section.
    pub source: &'static str,
    pub basis: Basis,
    /// What the number is made of, largest first: key of the text `tensor.<name>`, and bytes.
    pub parts: Vec<(&'static str, f64)>,
}

/// A number on the page that can be asked for its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// A category of a rank class's memory, at the instant that is shown.
    Memory { class: usize, category: Category },
    StepTime,
    TokensPerSecond,
    Mfu,
    Bubble,
    ExposedCommunication,
    /// What a device offers.
    Capacity,
}
