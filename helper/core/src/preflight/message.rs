//! Messages that stay short enough to be read and stored, whatever the size of the cluster.

use std::collections::BTreeMap;

/// Longest message, in characters.
pub const MAX_MESSAGE: usize = 4096;
/// Most objects that are named in one message.
const MOST: usize = 20;
/// Longest note about one object, in characters.
const MAX_NOTE: usize = 240;
/// Most notes about one object.
const MOST_NOTES: usize = 4;

/// Objects that a risk is about, by name, with a note on each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    named: BTreeMap<String, Vec<String>>,
}

impl Objects {
    /// Adds an object with a note; an empty note says nothing.
    pub fn add(&mut self, name: &str, note: &str) {
        let notes = self.named.entry(name.to_owned()).or_default();
        let note = shortened(note, MAX_NOTE);
        if !note.is_empty() && !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// A sentence: the cause, the objects as far as there is room, and the remedy.
    pub fn message(&self, cause: &str, remedy: &str) -> String {
        let room = MAX_MESSAGE.saturating_sub(cause.chars().count() + remedy.chars().count() + 64);
        let mut shown: Vec<String> = Vec::new();
        let mut length = 0;
        for (name, notes) in self.named.iter().take(MOST) {
            let item = item(name, notes);
            length += item.chars().count() + 2;
            if length > room && !shown.is_empty() {
                break;
            }
            shown.push(shortened(&item, room));
        }
        let more = match self.named.len() - shown.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        format!("{cause}: {}{more}. {remedy}", shown.join("; "))
    }
}

/// Checks that could not be made, by what was missing: one cause often keeps many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unknown {
    by_reason: BTreeMap<String, Vec<String>>,
}

impl Unknown {
    /// Longest reason, in characters: with those of all checks and their names the message still fits.
    const MAX_REASON: usize = 80;

    /// Adds a check with what it lacks.
    pub(super) fn add(&mut self, check: &str, reason: &str) {
        self.by_reason.entry(shortened(reason, MAX_NOTE)).or_default().push(check.to_owned());
    }

    /// Whether every check was made.
    pub(super) fn is_empty(&self) -> bool {
        self.by_reason.is_empty()
    }

    /// Every check is named, whatever room that takes: nobody may think that one was made that was not.
    pub(super) fn message(&self) -> String {
        let whole = self.told(MAX_NOTE);
        if whole.chars().count() <= MAX_MESSAGE { whole } else { self.told(Self::MAX_REASON) }
    }

    fn told(&self, most: usize) -> String {
        let group = |(reason, checks): (&String, &Vec<String>)| {
            format!("{} (because {})", checks.join(", "), shortened(reason, most))
        };
        let mut groups: Vec<String> = self.by_reason.iter().map(group).collect();
        groups.sort_unstable();
        format!(
            "Some checks could not be made, so nothing is known of what they would find: {}. Remove what keeps each of \
             them and check again, or look for yourself; an update would go ahead without these checks.",
            groups.join("; ")
        )
    }
}

fn item(name: &str, notes: &[String]) -> String {
    let name = shortened(name, MAX_NOTE);
    if notes.is_empty() {
        return name;
    }
    let shown: Vec<&str> = notes.iter().take(MOST_NOTES).map(String::as_str).collect();
    let more = match notes.len().saturating_sub(MOST_NOTES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{name} ({}{more})", shown.join(", "))
}

/// Text on one line, cut where it is too long.
pub fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
