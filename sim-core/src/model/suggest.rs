//! "Did you mean": the catalogue ids nearest to what was typed.

/// Longest part of a query that is compared, in characters: names are short, and the comparison is
/// quadratic.
const LONGEST_QUERY: usize = 64;

/// The `count` names nearest to `query`, nearest first, ties in the given order.
///
/// Nearness is the optimal-string-alignment distance of the lower-case names (insertions,
/// deletions, substitutions, swaps of neighbours); a name that contains the query, or makes up at
/// least half of it, counts as one edit away.
/// Names more than half the query's length away are left out.
///
/// ```
/// let ids = ["llama-2-7b", "llama-2-70b", "gpt2"];
/// assert_eq!(sim_core::model::suggest::nearest("lama-2-7b", ids, 1), ["llama-2-7b"]);
/// assert!(sim_core::model::suggest::nearest("whatever", ids, 3).is_empty());
/// ```
pub fn nearest<'a>(
    query: &str,
    names: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let query = lower_case(query);
    if query.is_empty() {
        return Vec::new();
    }
    let farthest = (query.len() / 2).max(1);
    let mut scored: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (distance_between(&query, &lower_case(name)), name))
        .filter(|&(distance, _)| distance <= farthest)
        .collect();
    scored.sort_by_key(|&(distance, _)| distance);
    scored.dedup_by_key(|&mut (_, name)| name);
    scored.into_iter().take(count).map(|(_, name)| name).collect()
}

fn lower_case(text: &str) -> Vec<char> {
    text.trim().chars().take(LONGEST_QUERY).flat_map(char::to_lowercase).collect()
}

fn distance_between(query: &[char], name: &[char]) -> usize {
    let edits = edit_distance(query, name);
    let is_part = |part: &[char], whole: &[char]| {
        part.len() >= 3 && whole.windows(part.len()).any(|window| window == part)
    };
    let contained = is_part(query, name) || (2 * name.len() >= query.len() && is_part(name, query));
    if contained { edits.min(1) } else { edits }
}

/// Optimal string alignment with three rows of the dynamic programme.
fn edit_distance(left: &[char], right: &[char]) -> usize {
    let mut before_last: Vec<usize> = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, &from) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, &to) in right.iter().enumerate() {
            let substituted = last[column] + usize::from(from != to);
            let mut best = substituted.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && from == right[column - 1] && to == left[row - 1];
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = last;
        last = current;
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::{edit_distance, nearest};

    fn distance(left: &str, right: &str) -> usize {
        let left: Vec<char> = left.chars().collect();
        let right: Vec<char> = right.chars().collect();
        edit_distance(&left, &right)
    }

    #[test]
    fn edits_are_counted_one_by_one() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("h100", "h010"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn a_very_long_query_is_cut_and_finds_nothing() {
        let long = "x".repeat(10_000_000);
        assert!(nearest(&long, ["a100", "h100"], 3).is_empty());
    }
}
