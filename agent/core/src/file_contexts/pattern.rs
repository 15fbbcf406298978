//! Paths written as regular expressions: how they begin for certain, and whether a path is one of them.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

/// Memory that one compiled pattern may take, and as much again while it is matched.
const MOST_MEMORY: usize = 1 << 20;
/// Depth of the tree in which libselinux keeps patterns.
const DIRECTORIES: usize = 3;

/// The text that every path meant by a pattern begins with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stem {
    /// The pattern means this one path.
    Whole(String),
    /// It means paths that begin so.
    Prefix(String),
}

impl Stem {
    /// Reads a pattern as far as it is plain text.
    pub(super) fn of(pattern: &str) -> Self {
        match Self::of_first_choice(pattern) {
            Self::Prefix(stem) if has_outer_choice(pattern) => Self::Prefix(directories(&stem)),
            stem => stem,
        }
    }

    fn of_first_choice(pattern: &str) -> Self {
        let mut stem = String::new();
        let mut rest = pattern.chars();
        while let Some(character) = rest.next() {
            match character {
                '.' | '^' | '$' | '|' | '[' | ']' | '(' | ')' | '}' => return Self::Prefix(stem),
                // These may take away the character before them, `+` if it is repeated itself, as in `a+*`.
                '?' | '*' | '+' | '{' => {
                    stem.pop();
                    return Self::Prefix(stem);
                }
                '\\' => match rest.next().filter(char::is_ascii_punctuation) {
                    Some(escaped) => stem.push(escaped),
                    None => return Self::Prefix(stem),
                },
                plain => stem.push(plain),
            }
        }
        Self::Whole(stem)
    }
}

/// The directories that a stem begins with. libselinux files a pattern under at most three, those of its first choice, and
/// does not see its other choices from elsewhere.
fn directories(stem: &str) -> String {
    stem.split_inclusive('/').filter(|element| element.ends_with('/')).take(DIRECTORIES + 1).collect()
}

/// Whether a `|` stands outside all groups, such that the paths need not begin alike. Says so rather too often.
pub(super) fn has_outer_choice(pattern: &str) -> bool {
    let mut groups = 0_usize;
    let mut in_class = false;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            ']' => in_class = false,
            _ if in_class => {}
            '[' => in_class = true,
            '(' => groups += 1,
            ')' => groups = groups.saturating_sub(1),
            '|' if groups == 0 => return true,
            _ => {}
        }
    }
    false
}

/// A pattern that is compiled when a path that begins like it is first seen: most never are.
pub(super) struct Pattern {
    stem: String,
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern and how its paths begin.
    pub(super) fn new(stem: String, text: &str) -> Self {
        Self { stem, text: text.to_owned(), compiled: OnceLock::new() }
    }

    /// Whether a path is meant. One that cannot be compiled means none.
    pub(super) fn matches(&self, path: &str) -> bool {
        path.starts_with(&self.stem)
            && self.compiled.get_or_init(|| compile(&self.text)).as_ref().is_some_and(|it| it.is_match(path.as_bytes()))
    }

    /// Whether it was found impossible to compile.
    pub(super) fn is_unusable(&self) -> bool {
        matches!(self.compiled.get(), Some(None))
    }

    #[cfg(test)]
    pub(super) fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    // The anchors bind tighter than a choice that stands outside all groups, in libselinux too.
    RegexBuilder::new(&format!("^{pattern}$"))
        .unicode(false)
        .dot_matches_new_line(true)
        .size_limit(MOST_MEMORY)
        .dfa_size_limit(MOST_MEMORY)
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stem_is_what_every_match_begins_with() {
        let whole = |text: &str| Stem::Whole(text.to_owned());
        let prefix = |text: &str| Stem::Prefix(text.to_owned());
        for (pattern, expected) in [
            ("/", whole("/")),
            ("/etc/passwd", whole("/etc/passwd")),
            (r"/etc/resolv\.conf", whole("/etc/resolv.conf")),
            (r"/usr/bin/g\+\+", whole("/usr/bin/g++")),
            (r"/etc/resolv\.conf.*", prefix("/etc/resolv.conf")),
            ("/usr/lib(64)?/x", prefix("/usr/lib")),
            ("/etc/ab?c", prefix("/etc/a")),
            ("/etc/ab*c", prefix("/etc/a")),
            ("/etc/ab{0,1}c", prefix("/etc/a")),
            ("/etc/ab+c", prefix("/etc/a")),
            ("/etc/ab+*c", prefix("/etc/a")),
            (r"/etc/a\.?c", prefix("/etc/a")),
            (r"/etc/\d", prefix("/etc/")),
            (r"/etc/a\", prefix("/etc/a")),
            ("/a|/b", prefix("/")),
            ("a|/b", prefix("")),
            ("/srv/a|/srv/b", prefix("/srv/")),
            ("/srv/?|/srv/b", prefix("/")),
            ("/a/b/c/d/e|/x", prefix("/a/b/c/")),
            ("/a(b|c)", prefix("/a")),
            ("/a[|]", prefix("/a")),
            (r"/a\|b", whole("/a|b")),
        ] {
            assert_eq!(Stem::of(pattern), expected, "{pattern}");
        }
    }
}
