//! The steps of a batch of equal requests: prompts, then one token of every request at a time.

use super::Serving;

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    Prefill,
    Decode,
}

/// One run of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepSpec {
    pub kind: StepKind,
    /// Requests.
    pub batch: u64,
    /// New tokens of each.
    pub sequence: u64,
    /// Tokens of each that are cached already.
    pub past: u64,
    /// Requests that get their next token.
    pub answers: u64,
}

/// The steps of one kind, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    kind: StepKind,
    batch: u64,
    tokens: u64,
    /// Most tokens of a step.
    limit: u64,
}

impl Steps {
    /// The prompts of all running requests: several in a step where they are short, in pieces where
    /// they are longer than a step.
    pub fn prefill(serving: &Serving) -> Self {
        let (batch, tokens) = (serving.running, serving.input_tokens);
        let limit = serving.profile.step_tokens.unwrap_or(batch * tokens);
        Self { kind: StepKind::Prefill, batch, tokens, limit }
    }

    /// All tokens after the first; `tokens` of them follow a prompt of `limit`.
    pub fn decode(serving: &Serving) -> Self {
        let (batch, tokens) = (serving.running, serving.output_tokens - 1);
        Self { kind: StepKind::Decode, batch, tokens, limit: serving.input_tokens }
    }

    fn requests_per_step(&self) -> u64 {
        (self.limit / self.tokens.max(1)).max(1)
    }

    fn pieces(&self) -> u64 {
        self.tokens.div_ceil(self.limit)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        match self.kind {
            StepKind::Decode => self.tokens,
            StepKind::Prefill if self.tokens <= self.limit => {
                self.batch.div_ceil(self.requests_per_step())
            }
            StepKind::Prefill => self.batch * self.pieces(),
        }
    }

    /// Step `index`.
    pub fn at(&self, index: u64) -> StepSpec {
        let kind = self.kind;
        match kind {
            StepKind::Decode => StepSpec {
                kind,
                batch: self.batch,
                sequence: 1,
                past: self.limit + index,
                answers: self.batch,
            },
            StepKind::Prefill if self.tokens <= self.limit => {
                let each = self.requests_per_step();
                let batch = each.min(self.batch - index * each);
                StepSpec { kind, batch, sequence: self.tokens, past: 0, answers: batch }
            }
            StepKind::Prefill => {
                let past = index % self.pieces() * self.limit;
                let sequence = self.limit.min(self.tokens - past);
                let answers = u64::from(past + sequence == self.tokens);
                StepSpec { kind, batch: 1, sequence, past, answers }
            }
        }
    }

    /// The sum of `cost` over all steps. It is evaluated at some of them; between these it is taken
    /// as linear in the context, which it is but for the soft maximum of some devices. `bends` are
    /// contexts from which it changes its slope: windows.
    pub fn sum(&self, bends: &[u64], mut cost: impl FnMut(StepSpec) -> f64) -> f64 {
        let count = self.count();
        if count == 0 {
            return 0.0;
        }
        let one_piece = self.kind == StepKind::Prefill && self.tokens <= self.limit;
        if one_piece {
            // All alike, the last may be smaller.
            return (count - 1) as f64 * cost(self.at(0)) + cost(self.at(count - 1));
        }
        let (cycle, times) = match self.kind {
            StepKind::Decode => (count, 1),
            StepKind::Prefill => (self.pieces(), self.batch),
        };
        // The last of a cycle differs: a smaller piece, and an answer.
        let last = cost(self.at(cycle - 1));
        times as f64 * (last + self.sum_between(cycle - 1, bends, &mut cost))
    }

    /// The sum over the first `count` steps.
    fn sum_between(
        &self,
        count: u64,
        bends: &[u64],
        cost: &mut impl FnMut(StepSpec) -> f64,
    ) -> f64 {
        if count == 0 {
            return 0.0;
        }
        let mut knots: Vec<u64> = (0..=KNOTS).map(|knot| (count - 1) * knot / KNOTS).collect();
        for bend in bends {
            let first = first_step(count, |step| self.at(step).past >= *bend);
            knots.extend([first.saturating_sub(1), first].map(|step| step.min(count - 1)));
        }
        knots.sort_unstable();
        knots.dedup();
        let mut left = cost(self.at(knots[0]));
        let mut sum = left;
        for pair in knots.windows(2) {
            let (steps, right) = ((pair[1] - pair[0]) as f64, cost(self.at(pair[1])));
            // Steps after the left knot up to the right one.
            sum += steps * left + (right - left) * (steps + 1.0) / 2.0;
            left = right;
        }
        sum
    }
}

/// Contexts at which a step's cost is evaluated.
const KNOTS: u64 = 16;

/// The first of `count` steps for which `reached` holds, or `count`; it holds for all after it.
fn first_step(count: u64, reached: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if reached(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(kind: StepKind, batch: u64, tokens: u64, limit: u64) -> Steps {
        Steps { kind, batch, tokens, limit }
    }

    #[test]
    fn short_prompts_share_a_step_and_long_ones_take_several() {
        let short = steps(StepKind::Prefill, 5, 900, 2048);
        let batches: Vec<u64> = (0..short.count()).map(|i| short.at(i).batch).collect();
        assert_eq!(batches, [2, 2, 1]);
        let long = steps(StepKind::Prefill, 2, 5000, 2048);
        let parts: Vec<_> = (0..long.count()).map(|i| long.at(i)).collect();
        let of = |i: usize| (parts[i].past, parts[i].sequence, parts[i].answers);
        assert_eq!(parts.len(), 6);
        assert_eq!([of(0), of(1), of(2)], [(0, 2048, 0), (2048, 2048, 0), (4096, 904, 1)]);
        assert_eq!(of(3), of(0));
    }

    #[test]
    fn the_sum_is_exact_for_costs_that_are_linear_between_bends() {
        let linear = |step: StepSpec| 3.0 + 0.25 * step.past as f64 + step.answers as f64;
        let bent = |step: StepSpec| 1.0 + step.past.min(700) as f64;
        for steps in [
            steps(StepKind::Decode, 4, 999, 128),
            steps(StepKind::Decode, 4, 1, 128),
            steps(StepKind::Prefill, 3, 5000, 128),
            steps(StepKind::Prefill, 7, 50, 128),
        ] {
            let all = |cost: &dyn Fn(StepSpec) -> f64| -> f64 {
                (0..steps.count()).map(|i| cost(steps.at(i))).sum()
            };
            assert!((steps.sum(&[], linear) / all(&linear) - 1.0).abs() < 1e-12, "{steps:?}");
            assert!((steps.sum(&[700], bent) / all(&bent) - 1.0).abs() < 1e-12, "{steps:?}");
        }
    }
}
