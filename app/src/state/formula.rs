//! A formula with numbers in place of its symbols.

/// `expression` with every whole symbol replaced by its value: `12 · Ψ / N_dp` to `12 · 6.74 / 8`.
///
/// The longest symbol wins, and a symbol inside a longer word is left alone.
pub fn substituted(expression: &str, symbols: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(expression.len() * 2);
    let mut before: Option<char> = None;
    let mut rest = expression;
    while let Some(next) = rest.chars().next() {
        let hit = symbols
            .iter()
            .filter(|(symbol, _)| !symbol.is_empty() && rest.starts_with(symbol))
            .filter(|(symbol, _)| {
                let after = rest[symbol.len()..].chars().next();
                !before.is_some_and(is_word) && !after.is_some_and(is_word)
            })
            .max_by_key(|(symbol, _)| symbol.len());
        let taken = match hit {
            Some((symbol, value)) => {
                filled.push_str(value);
                *symbol
            }
            None => {
                filled.push(next);
                &rest[..next.len_utf8()]
            }
        };
        before = taken.chars().next_back();
        rest = &rest[taken.len()..];
    }
    filled
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(expression: &str, symbols: &[(&str, &str)]) -> String {
        let symbols: Vec<_> = symbols.iter().map(|(s, v)| (*s, (*v).to_owned())).collect();
        substituted(expression, &symbols)
    }

    #[test]
    fn symbols_become_numbers() {
        assert_eq!(fill("12 · Ψ / N_dp", &[("Ψ", "6.74"), ("N_dp", "8")]), "12 · 6.74 / 8");
    }

    #[test]
    fn a_symbol_inside_a_word_stays() {
        assert_eq!(fill("max(a, N) · N_dp", &[("a", "1"), ("N", "2")]), "max(1, 2) · N_dp");
    }

    #[test]
    fn a_value_is_not_searched_for_symbols() {
        assert_eq!(fill("b · s", &[("b", "s"), ("s", "b")]), "s · b");
    }
}
