//! How contents change, for a person who asked to see them. Secrets stay masked even then.

use std::fmt::Write as _;

use ostler_core::diff::Diff;
use ostler_core::ignition::{File, Limits, Unit};
use ostler_core::lines;
use ostler_core::machine_config::MachineConfig;
use ostler_core::sensitivity::{is_secret_line, is_secret_path, is_secret_text};
use similar::ChangeTag;

use super::phrase::{BAD, FAINT, GOOD, HEADING, printable, styled};

/// Longest text that is compared line by line.
const MAX_BYTES: usize = 1024 * 1024;
/// Most lines shown of one file.
const MAX_LINES: usize = 200;

/// Every changed file, unit and drop-in with its changed lines.
pub fn changes(current: &MachineConfig, target: &MachineConfig) -> String {
    let diff = Diff::between(current, target);
    let mut text = String::new();
    for (path, pair) in &diff.files {
        let body = if is_secret_path(path) { hidden() } else { compare(&file(pair.old), &file(pair.new)) };
        section(&mut text, path, &body);
    }
    for (name, pair) in &diff.units {
        section(&mut text, name, &compare(&unit(pair.old), &unit(pair.new)));
    }
    text
}

fn section(text: &mut String, name: &str, body: &str) {
    let _ = write!(text, "\n{}\n{body}", styled(HEADING, &printable(name)));
}

fn hidden() -> String {
    format!("  {}\n", styled(FAINT, "(masked: this path holds secrets)"))
}

fn note(text: &str) -> String {
    format!("  {}\n", styled(FAINT, &format!("({text})")))
}

/// What a file holds, as far as it can be shown.
enum Shown {
    Text(String),
    Not(&'static str),
}

fn file(file: Option<&File>) -> Shown {
    let Some(file) = file else { return Shown::Text(String::new()) };
    match file.contents.decode(Limits::default()) {
        Err(_) => Shown::Not("the contents cannot be decoded"),
        Ok(contents) => readable(contents.into_exposed()),
    }
}

fn readable(bytes: Vec<u8>) -> Shown {
    if bytes.len() > MAX_BYTES {
        return Shown::Not("the contents are too long to be shown");
    }
    match String::from_utf8(bytes) {
        Err(_) => Shown::Not("the contents are not text"),
        Ok(text) if is_secret_text(&text) => Shown::Not("masked: the contents hold secrets"),
        Ok(text) => Shown::Text(text),
    }
}

/// The unit's text, then each drop-in under its name.
fn unit(unit: Option<&Unit>) -> Shown {
    let Some(unit) = unit else { return Shown::Text(String::new()) };
    let mut text = String::new();
    if let Some(contents) = &unit.contents {
        text.push_str(contents.expose());
    }
    for dropin in &unit.dropins {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = writeln!(text, "# drop-in {}", dropin.name);
        if let Some(contents) = &dropin.contents {
            text.push_str(contents.expose());
        }
    }
    readable(text.into_bytes())
}

fn compare(old: &Shown, new: &Shown) -> String {
    let (old, new) = match (old, new) {
        (Shown::Text(old), Shown::Text(new)) => (old, new),
        (Shown::Not(why), _) | (_, Shown::Not(why)) => return note(why),
    };
    if old == new {
        return note("same contents; mode, owner or another property changes");
    }
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let compared = lines::compare(&old, &new);
    let changes = compared.iter().flat_map(|op| op.iter_changes(old.as_slice(), new.as_slice()));
    let changed = changes.filter(|change| change.tag() != ChangeTag::Equal);
    let mut text = String::new();
    let mut left_out = 0;
    for (number, change) in changed.enumerate() {
        if number >= MAX_LINES {
            left_out += 1;
            continue;
        }
        let (sign, style) = if change.tag() == ChangeTag::Insert { ('+', GOOD) } else { ('-', BAD) };
        let line = change.value().trim_end_matches(['\r', '\n']);
        let line = if is_secret_line(line) { "(masked)".to_owned() } else { printable(line) };
        let _ = writeln!(text, "  {}", styled(style, &format!("{sign} {line}")));
    }
    if left_out > 0 {
        text.push_str(&note(&format!("{left_out} more lines")));
    }
    text
}
