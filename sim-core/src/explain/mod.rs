//! Why a number is what it is: the formula, its symbols with their values, and the source.

mod memory;
mod serving;
mod time;

use crate::formulas::Formula;
use crate::report::Basis;
use crate::simulation::Simulation;
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
    /// What is shown. It differs from the result where the formula counts what is kept and the
    /// instant has more or less than that: the parts say what.
    pub shown: Value,
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
    Memory {
        class: usize,
        category: Category,
    },
    StepTime,
    TokensPerSecond,
    Mfu,
    Bubble,
    ExposedCommunication,
    /// Of a served batch; of training the time of a step.
    TimeToFirstToken,
    /// Of a served batch; of training the time of a step.
    TimePerOutputToken,
    /// What a device offers.
    Capacity,
}

impl Simulation {
    /// Why a number is what it is; for memory at an instant, in seconds, or at the peak of the rank
    /// class without one.
    ///
    /// A rank class that does not exist gives the explanation of the last one.
    pub fn explain(&self, question: Question, at: Option<f64>) -> Explanation {
        let served = self.plan.serving.as_ref();
        if let Some(explanation) = served.and_then(|job| serving::time(self, job, question)) {
            return explanation;
        }
        match question {
            Question::Memory { class, category } => {
                let last = self.trace.classes().len() - 1;
                memory::explain(self, class.min(last), category, at)
            }
            Question::StepTime | Question::TimeToFirstToken | Question::TimePerOutputToken => {
                time::step_time(self)
            }
            Question::TokensPerSecond => time::tokens_per_second(self),
            Question::Mfu => time::mfu(self),
            Question::Bubble => time::bubble(self),
            Question::ExposedCommunication => time::exposed_communication(self),
            Question::Capacity => time::capacity(self),
        }
    }
}

impl Explanation {
    fn new(formula: &Formula, symbols: Vec<Symbol>, result: Value, shown: Value) -> Self {
        Self {
            formula: formula.id,
            expression: formula.expression,
            symbols,
            result,
            shown,
            source: formula.source,
            basis: formula.basis,
            parts: Vec::new(),
        }
    }
}

/// A symbol with its value.
fn symbol(symbol: &'static str, name: &'static str, value: Value) -> Symbol {
    Symbol { symbol, name, value }
}

/// A counted symbol.
fn count(text: &'static str, name: &'static str, value: u64) -> Symbol {
    symbol(text, name, Value::Count(value as f64))
}
