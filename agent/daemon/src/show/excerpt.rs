//! Long lists, cut in the middle for a person: nobody reads three thousand lines before answering a question.

use super::phrase::{FAINT, styled};

/// Lists up to this long are shown whole.
const WHOLE: usize = 60;
/// What is shown of longer ones.
const FIRST: usize = 40;
const LAST: usize = 10;

/// The lines as one text, each ended; of many only the first and the last.
pub fn lines(lines: &[String]) -> String {
    let whole = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    if lines.len() <= WHOLE {
        return whole(lines);
    }
    let (first, rest) = lines.split_at(FIRST);
    let (hidden, last) = rest.split_at(rest.len() - LAST);
    let note = format!("  ... {} more; \"-o json\" lists all ...", hidden.len());
    format!("{}{}\n{}", whole(first), styled(FAINT, &note), whole(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_lists_are_cut_and_their_ends_stay() {
        let list = |count: usize| (1..=count).map(|number| number.to_string()).collect::<Vec<_>>();
        assert_eq!(lines(&list(WHOLE)).lines().count(), WHOLE);
        let text = lines(&list(3000));
        assert_eq!(text.lines().count(), FIRST + 1 + LAST);
        assert!(text.starts_with("1\n") && text.ends_with("3000\n") && text.contains("2950 more"), "{text}");
    }
}
