//! Shell patterns as preset files use them: `*`, `?` and `[...]`, nothing escaped.

/// Whether the whole text matches.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    // Which prefixes of the text the pattern so far matches; no backtracking, so no pattern is slow.
    let mut reached: Vec<bool> = std::iter::once(true).chain(text.iter().map(|_| false)).collect();
    let mut rest = pattern.as_slice();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == '*' {
            let mut seen = false;
            reached.iter_mut().for_each(|here| {
                seen |= *here;
                *here = seen;
            });
            continue;
        }
        let class = (*first == '[').then(|| class(after)).flatten();
        let fits = |character: char| match (first, &class) {
            ('?', _) => true,
            (_, Some((set, _))) => set.holds(character),
            (literal, None) => *literal == character,
        };
        let stepped = reached.iter().zip(&text).map(|(here, character)| *here && fits(*character));
        reached = std::iter::once(false).chain(stepped).collect();
        if let Some((_, after)) = class {
            rest = after;
        }
    }
    reached.last().copied().unwrap_or(false)
}

struct Set {
    negated: bool,
    ranges: Vec<(char, char)>,
}

impl Set {
    fn holds(&self, character: char) -> bool {
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&character)) != self.negated
    }
}

/// A bracket expression after its `[`, and what follows it; `None` when it does not end.
fn class(pattern: &[char]) -> Option<(Set, &[char])> {
    let (negated, mut rest) = match pattern.split_first() {
        Some(('!' | '^', rest)) => (true, rest),
        _ => (false, pattern),
    };
    let mut ranges = Vec::new();
    loop {
        rest = match rest {
            [']', after @ ..] if !ranges.is_empty() => return Some((Set { negated, ranges }, after)),
            [low, '-', high, after @ ..] if *high != ']' => {
                ranges.push((*low, *high));
                after
            }
            [one, after @ ..] => {
                ranges.push((*one, *one));
                after
            }
            [] => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_the_shell_has_it() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*.service", "abc.service", true),
            ("a*.service", "b.service", false),
            ("?.service", "a.service", true),
            ("?.service", "ab.service", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]", "]", true),
            ("[a", "[a", true),
            ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
