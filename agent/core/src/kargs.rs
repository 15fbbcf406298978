//! Kernel arguments: how a MachineConfig's entries become arguments, and how an owned set of them changes a line.
//!
//! Owns the order and the duplicates of what the configuration put on the line. Refuses to touch anything that the
//! image, the installer or a person put there.

use serde::{Deserialize, Serialize};

/// Splits an entry, or a whole command line, on white space outside double quotes.
pub fn split(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut argument = String::new();
    let mut quoted = false;
    for character in text.chars() {
        if character.is_whitespace() && !quoted {
            if !argument.is_empty() {
                arguments.push(std::mem::take(&mut argument));
            }
            continue;
        }
        quoted ^= character == '"';
        argument.push(character);
    }
    if !argument.is_empty() {
        arguments.push(argument);
    }
    arguments
}

/// What happens to the arguments that the configuration owns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Owned until now, in order; each names one occurrence on the line.
    pub remove: Vec<String>,
    /// Owned from now on, in order, at the end of the line.
    pub append: Vec<String>,
}

impl Change {
    /// The change from one list of entries to another. Unequal lists replace each other as a whole, because the order
    /// of arguments has a meaning to the kernel.
    pub fn between(old: &[String], new: &[String]) -> Self {
        let [remove, append] = [old, new].map(|entries| entries.iter().flat_map(|entry| split(entry)).collect());
        if remove == append { Self::default() } else { Self { remove, append } }
    }

    /// Whether the line stays as it is.
    pub const fn is_empty(&self) -> bool {
        self.remove.is_empty() && self.append.is_empty()
    }

    /// The line after the change. An owned argument that also stands on the line for another reason is removed at its
    /// last occurrence, where the configuration appended it; one that is missing is no error.
    pub fn apply(&self, line: &str) -> String {
        self.apply_to(&split(line)).join(" ")
    }

    /// The arguments after the change, as [`Self::apply`].
    pub fn apply_to(&self, line: &[String]) -> Vec<String> {
        let mut arguments = line.to_vec();
        for owned in self.remove.iter().rev() {
            if let Some(at) = arguments.iter().rposition(|argument| argument == owned) {
                arguments.remove(at);
            }
        }
        arguments.extend(self.append.iter().cloned());
        arguments
    }
}

/// The arguments of one list that another has not, as often as it has them less often, in order.
pub fn without(these: &[String], those: &[String]) -> Vec<String> {
    let mut rest = those.to_vec();
    let mut kept = these.to_vec();
    kept.retain(|argument| match rest.iter().position(|other| other == argument) {
        Some(at) => {
            rest.remove(at);
            false
        }
        None => true,
    });
    kept
}

/// The arguments that both lists have, as often as both have them, in the order of the first.
pub fn common(these: &[String], those: &[String]) -> Vec<String> {
    without(these, &without(these, those))
}

/// The first argument with blanks in quotes, if there is one.
pub fn quoted(line: &[String]) -> Option<&str> {
    line.iter().find(|argument| argument.contains(char::is_whitespace)).map(String::as_str)
}

/// The line of a deployment that was to have `goal`, when its image has brought arguments of its own to the line it was
/// made from.
pub fn with_additions(goal: &[String], made_from: &[String], has: &[String]) -> Vec<String> {
    let additions = without(&without(has, made_from), goal);
    goal.iter().cloned().chain(additions).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn owned(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|&entry| entry.to_owned()).collect()
    }

    #[test]
    fn entries_split_on_white_space_outside_quotes() {
        for (text, expected) in [
            ("", &[][..]),
            ("  \t\n ", &[]),
            ("nosmt", &["nosmt"]),
            (" a=1  b=2\t", &["a=1", "b=2"]),
            (r#"dyndbg="file a.c +p" quiet"#, &[r#"dyndbg="file a.c +p""#, "quiet"]),
            (r#""a b"c d"#, &[r#""a b"c"#, "d"]),
            (r#"open="no end"#, &[r#"open="no end"#]),
        ] {
            assert_eq!(split(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_change_replaces_the_owned_arguments_and_leaves_the_rest() {
        for (line, old, new, expected) in [
            ("root=x ro", &[][..], &["nosmt"][..], "root=x ro nosmt"),
            ("root=x nosmt", &["nosmt"], &[], "root=x"),
            ("root=x a=1 b=2", &["a=1", "b=2"], &["b=2", "a=1"], "root=x b=2 a=1"),
            ("root=x a=1", &["a=1"], &["a=1"], "root=x a=1"),
            ("root=x", &["gone"], &["new"], "root=x new"),
            ("console=tty0 ro console=tty0", &["console=tty0"], &[], "console=tty0 ro"),
            ("ro a a", &["a", "a"], &["a"], "ro a"),
            ("ro", &[], &["a=1 b=2", "c"], "ro a=1 b=2 c"),
            (r#"ro d="x y""#, &[r#"d="x y""#], &[r#"d="x z""#], r#"ro d="x z""#),
        ] {
            let change = Change::between(&owned(old), &owned(new));
            assert_eq!(change.apply(line), expected, "{line:?} {old:?} {new:?}");
        }
    }

    #[test]
    fn lists_are_compared_by_count() {
        for (these, those, rest, shared) in
            [("a b a", "a", "b a", "a"), ("a", "a a", "", "a"), ("", "a", "", ""), ("x y", "y x", "", "x y")]
        {
            assert_eq!(without(&split(these), &split(those)), split(rest), "{these} without {those}");
            assert_eq!(common(&split(these), &split(those)), split(shared), "{these} and {those}");
        }
    }

    #[test]
    fn an_images_own_arguments_are_kept_behind_ours() {
        let line = with_additions(&split("root=x new"), &split("root=x old"), &split("root=x old from.image"));
        assert_eq!(line, split("root=x new from.image"));
    }

    #[test]
    fn the_same_arguments_in_other_entries_are_no_change() {
        assert!(Change::between(&owned(&["a b"]), &owned(&["a", "b"])).is_empty());
        assert!(!Change::between(&owned(&["a", "b"]), &owned(&["b", "a"])).is_empty());
    }

    proptest! {
        #[test]
        fn there_and_back_restores_the_line(
            base in proptest::collection::vec("[a-c]{1,2}", 0..6),
            old in proptest::collection::vec("[a-c]{1,2}", 0..4),
            new in proptest::collection::vec("[a-c]{1,2}", 0..4),
        ) {
            let line = [base, old.clone()].concat().join(" ");
            let there = Change::between(&old, &new).apply(&line);
            prop_assert_eq!(Change::between(&new, &old).apply(&there), line);
        }

        #[test]
        fn splitting_loses_no_visible_character(text in "\\PC{0,64}") {
            let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(visible(&split(&text).concat()), visible(&text));
        }
    }
}
