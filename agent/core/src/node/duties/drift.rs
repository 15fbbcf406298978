//! How a machine differs from its configuration, in as many words as fit: those of the machine-config-daemon where it has
//! some, because others look for them, and never any contents.

use serde::{Deserialize, Serialize};

use crate::drift::{Difference, Drift, Subject};

/// Differences that are told one by one; the rest is counted.
const MOST_TOLD: usize = 3;
/// Longest path or name told, in characters.
const MAX_NAME: usize = 256;
/// The kinds of numbers that Go has for special permissions: theirs, ours, and how they are written.
const SPECIAL: [(u32, u32, char); 3] = [(1 << 23, 0o4000, 'u'), (1 << 22, 0o2000, 'g'), (1 << 20, 0o1000, 't')];

/// A summary of drift that is to be reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftSummary {
    /// The configuration that the machine differs from.
    pub config: String,
    /// In how many ways.
    pub count: usize,
    /// In which, without any contents.
    pub words: String,
    /// Since when, in seconds since 1970.
    pub since: u64,
}

impl DriftSummary {
    /// A summary, where there is anything to sum up.
    pub fn new(config: &str, drift: &[Drift], since: u64) -> Option<Self> {
        if drift.is_empty() {
            return None;
        }
        let mut words: Vec<String> = drift.iter().take(MOST_TOLD).map(words).collect();
        if let Some(more) = drift.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
            words.push(format!("and {more} more"));
        }
        Some(Self { config: config.to_owned(), count: drift.len(), words: words.join("; "), since })
    }

    /// The reason that the node is reported as degraded for.
    pub fn report(&self) -> String {
        format!(
            "unexpected on-disk state validating against {}: {}; run \"ostler drift\" on the node for all of it",
            self.config, self.words
        )
    }
}

/// One difference.
fn words(drift: &Drift) -> String {
    let file = quoted(&drift.subject.path());
    match (&drift.subject, &drift.difference) {
        (Subject::Password { user }, _) => format!("password mismatch for user {}", quoted(user)),
        (Subject::SshKeys { user }, Difference::Contents) => format!("SSH keys mismatch for user {}", quoted(user)),
        (Subject::Unit { unit }, Difference::State { expected, found }) => state(unit, expected, found),
        (Subject::OsImage, Difference::State { expected, found }) => {
            format!("expected target osImageURL {}, have {}", quoted(expected), quoted(found))
        }
        (_, difference) => of_file(&file, difference),
    }
}

fn of_file(file: &str, difference: &Difference) -> String {
    match difference {
        Difference::Missing => format!("could not stat file {file}: no such file or directory"),
        Difference::Contents => format!("content mismatch for file {file}"),
        Difference::Kind { found } => format!("type mismatch for file: {file}; expected: file; received: {found}"),
        Difference::Mode { expected, found } => {
            format!("mode mismatch for file: {file}; expected: {}; received: {}", mode(*expected), mode(*found))
        }
        Difference::Owner { expected: (user, group), found: (other_user, other_group) } => {
            format!("owner mismatch for file: {file}; expected: {user}:{group}; received: {other_user}:{other_group}")
        }
        Difference::Label { expected, found } => {
            let found = found.as_deref().map_or_else(|| "none".to_owned(), cut);
            format!("label mismatch for file: {file}; expected: {}; received: {found}", cut(expected))
        }
        Difference::State { expected, found } => {
            format!("state mismatch for file: {file}; expected: {}; received: {}", cut(expected), cut(found))
        }
        Difference::Extra => format!("unexpected file {file}"),
    }
}

fn state(unit: &str, expected: &str, found: &str) -> String {
    let unit = quoted(unit);
    match expected {
        "enabled" | "disabled" => {
            let enabled = expected == "enabled";
            format!("unit {unit} expected enabled={enabled}, but systemd reports {}", quoted(found))
        }
        _ => format!("unit {unit} expected {}, but is {}", cut(expected), cut(found)),
    }
}

/// Permissions as Go writes them: in letters, in decimal and in octal.
fn mode(mode: u32) -> String {
    let mut letters: String =
        SPECIAL.iter().filter(|(_, ours, _)| mode & ours != 0).map(|(_, _, letter)| letter).collect();
    if letters.is_empty() {
        letters.push('-');
    }
    for (index, letter) in "rwxrwxrwx".chars().enumerate() {
        let is_set = mode & (0o400_u32 >> index) != 0;
        letters.push(if is_set { letter } else { '-' });
    }
    let special: u32 = SPECIAL.iter().filter(|(_, ours, _)| mode & ours != 0).map(|(theirs, _, _)| theirs).sum();
    let number = special | (mode & 0o777);
    format!("{letters}/{number}/0{number:o}")
}

/// A name in quotes, with nothing in it that a terminal would act on.
fn quoted(name: &str) -> String {
    format!("{:?}", cut(name))
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(difference: Difference) -> Drift {
        Drift { subject: Subject::File { path: "/etc/p".to_owned() }, difference }
    }

    fn unit(difference: Difference) -> Drift {
        Drift { subject: Subject::Unit { unit: "n.service".to_owned() }, difference }
    }

    fn state(expected: &str, found: &str) -> Difference {
        Difference::State { expected: expected.to_owned(), found: found.to_owned() }
    }

    #[test]
    fn drift_is_told_in_the_words_that_others_look_for() {
        let core = || "core".to_owned();
        let keys = |difference| Drift { subject: Subject::SshKeys { user: core() }, difference };
        let dropin = Subject::Dropin { unit: "n.service".to_owned(), dropin: "x.conf".to_owned() };
        let extra = Drift { subject: dropin, difference: Difference::Extra };
        let password = Drift { subject: Subject::Password { user: core() }, difference: Difference::Contents };
        let link = Difference::Kind { found: "link".to_owned() };
        let owner = Difference::Owner { expected: (0, 0), found: (1000, 993) };
        let label = Difference::Label { expected: "etc_t".to_owned(), found: None };
        let keys_path = "\"/home/core/.ssh/authorized_keys.d/ignition\"";
        for (drift, expected) in [
            (file(Difference::Missing), "could not stat file \"/etc/p\": no such file or directory".to_owned()),
            (file(Difference::Contents), "content mismatch for file \"/etc/p\"".to_owned()),
            (
                file(Difference::Mode { expected: 0o644, found: 0o600 }),
                "mode mismatch for file: \"/etc/p\"; expected: -rw-r--r--/420/0644; received: -rw-------/384/0600"
                    .to_owned(),
            ),
            (file(link), "type mismatch for file: \"/etc/p\"; expected: file; received: link".to_owned()),
            (file(owner), "owner mismatch for file: \"/etc/p\"; expected: 0:0; received: 1000:993".to_owned()),
            (file(label), "label mismatch for file: \"/etc/p\"; expected: etc_t; received: none".to_owned()),
            (
                unit(state("enabled", "disabled")),
                "unit \"n.service\" expected enabled=true, but systemd reports \"disabled\"".to_owned(),
            ),
            (unit(state("masked", "not masked")), "unit \"n.service\" expected masked, but is not masked".to_owned()),
            (unit(Difference::Contents), "content mismatch for file \"/etc/systemd/system/n.service\"".to_owned()),
            (extra, "unexpected file \"/etc/systemd/system/n.service.d/x.conf\"".to_owned()),
            (keys(Difference::Contents), "SSH keys mismatch for user \"core\"".to_owned()),
            (keys(Difference::Missing), format!("could not stat file {keys_path}: no such file or directory")),
            (password, "password mismatch for user \"core\"".to_owned()),
        ] {
            let summary = DriftSummary::new("rendered-1", &[drift], 7).unwrap();
            assert_eq!((summary.words, summary.count, summary.since), (expected, 1, 7));
        }
    }

    #[test]
    fn permissions_are_written_as_go_writes_them() {
        for (ours, expected) in [
            (0o644, "-rw-r--r--/420/0644"),
            (0o7, "-------rwx/7/07"),
            (0o4755, "urwxr-xr-x/8389101/040000755"),
            (0o1777, "trwxrwxrwx/1049087/04000777"),
        ] {
            assert_eq!(mode(ours), expected);
        }
    }

    #[test]
    fn a_summary_is_short_however_much_differs() {
        let long = Subject::File { path: format!("/{}\n\u{1b}[31m", "x/".repeat(2000)) };
        let drift: Vec<Drift> =
            (0..5000).map(|_| Drift { subject: long.clone(), difference: Difference::Contents }).collect();
        let summary = DriftSummary::new("rendered-1", &drift, 7).unwrap();
        assert!(summary.words.ends_with("; and 4997 more"), "{}", summary.words);
        let reason = summary.report();
        assert!(reason.len() < 1500 && !reason.contains(['\n', '\u{1b}']), "{reason}");
        assert!(reason.starts_with("unexpected on-disk state validating against rendered-1: content mismatch"));
        assert_eq!(DriftSummary::new("rendered-1", &[], 7), None);
        let three = DriftSummary::new("rendered-1", &drift[..3], 7).unwrap();
        assert!(!three.words.contains("more"));
    }
}
