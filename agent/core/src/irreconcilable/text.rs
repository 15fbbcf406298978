//! An entry as text: whole where it fits, else with long values cut, else with the last differences only counted.

use std::fmt::Write;

use serde_json::Value;
use similar::{ChangeTag, group_diff_ops};

use super::MAX_DIFF;
use super::compare::Kind;
use super::fit::Entry;
use super::path::{self, Step};
use super::value::{self, Clipped, Sight, Window};

/// Lengths of values to try, in characters. The first cuts nothing that would fit into an entry.
const WHOLE: usize = MAX_DIFF;
const SHORTER: [usize; 2] = [1024, 256];
const SHORTEST: usize = 96;

/// Beyond this a text of several lines is shown like any other value: comparing lines may take quadratic time.
const MAX_COMPARED_LINES: usize = 200;
/// Lines of one compared text that are shown once an entry has to be shortened.
const MAX_LINES_SHORTENED: usize = 24;
const CONTEXT: usize = 2;

/// Room for the last line of a shortened entry, whatever numbers are in it.
const CLOSING: usize = 160;
const REMEDY: &str = "compare the two configs with: ostler diff";

/// Writes the text of an entry; never empty, never longer than the API takes.
pub(super) fn render(entry: &Entry<'_>) -> String {
    let whole = std::iter::once(WHOLE).chain(SHORTER).chain([SHORTEST]).find_map(|limit| in_full(entry, limit));
    whole.unwrap_or_else(|| in_part(entry, SHORTEST))
}

/// All differences with values of at most `limit` characters, if that fits.
fn in_full(entry: &Entry<'_>, limit: usize) -> Option<String> {
    let mut page = Page::default();
    let room = if limit < WHOLE { MAX_DIFF - CLOSING } else { MAX_DIFF };
    for place in places(entry, limit) {
        if !page.add(&place.piece(limit), room) {
            return None;
        }
    }
    if limit < WHOLE {
        let _ = writeln!(page.text, "… long values shortened; {REMEDY}");
    }
    Some(page.text)
}

/// As many differences as fit, and a count of the others.
fn in_part(entry: &Entry<'_>, limit: usize) -> String {
    let mut page = Page::default();
    let (mut omitted, mut characters) = (0_usize, 0_usize);
    for place in places(entry, limit) {
        let piece = place.piece(limit);
        if omitted > 0 || !page.add(&piece, MAX_DIFF - CLOSING) {
            omitted += 1;
            characters += piece.full_length();
        }
    }
    let _ = writeln!(page.text, "… {omitted} more differences not shown ({characters} characters); {REMEDY}");
    page.text
}

/// Text of limited length that does not repeat a heading.
#[derive(Default)]
struct Page {
    text: String,
    length: usize,
    heading: String,
}

impl Page {
    /// Adds a piece unless that would make more than `room` characters.
    fn add(&mut self, piece: &Piece, room: usize) -> bool {
        let mut text = String::new();
        if piece.heading != self.heading {
            text.push_str(&piece.heading);
            text.push('\n');
        }
        for line in &piece.lines {
            text.push_str(&line.text);
            text.push('\n');
        }
        let length = self.length + text.chars().count();
        let fits = length <= room;
        if fits {
            self.text.push_str(&text);
            self.length = length;
            self.heading.clone_from(&piece.heading);
        }
        fits
    }
}

/// The lines about one place.
struct Piece {
    heading: String,
    lines: Vec<Line>,
}

impl Piece {
    fn full_length(&self) -> usize {
        let heading = self.heading.chars().count() + 1;
        self.lines.iter().fold(heading, |length, line| length + line.full + 1)
    }
}

/// A line as shown, and its length in characters had nothing been cut.
struct Line {
    text: String,
    full: usize,
}

impl Line {
    fn new(prefix: &str, content: &Clipped) -> Self {
        Self { text: format!("{prefix}{content}"), full: prefix.chars().count() + content.total() }
    }
}

/// Something to tell, and where it is below the entry.
struct Place<'a> {
    below: Vec<Step<'a>>,
    sight: Sight,
    kind: Kind<'a>,
}

/// What an entry tells. A list that only one side has is told item by item where it would have to be cut.
fn places<'a>(entry: &Entry<'a>, limit: usize) -> impl Iterator<Item = Place<'a>> {
    let entry = *entry;
    entry.differences().iter().flat_map(move |difference| {
        let place = Place {
            below: entry.below(difference).to_vec(),
            sight: Sight::of(&difference.path),
            kind: difference.kind,
        };
        match difference.kind {
            Kind::Added(Value::Array(items)) if place.is_cut(limit) => place.split(items, Kind::Added),
            Kind::Removed(Value::Array(items)) if place.is_cut(limit) => place.split(items, Kind::Removed),
            _ => vec![place],
        }
    })
}

impl<'a> Place<'a> {
    fn is_cut(&self, limit: usize) -> bool {
        let shown = |value| value::json(value, self.sight, Window { skip: 0, limit: 0 });
        match self.kind {
            Kind::Added(value) | Kind::Removed(value) => limit < WHOLE && shown(value).total() > limit,
            Kind::Replaced(..) | Kind::Moved => false,
        }
    }

    fn split(&self, items: &'a [Value], kind: impl Fn(&'a Value) -> Kind<'a>) -> Vec<Self> {
        let item = |(index, item)| {
            let below = self.below.iter().copied().chain([Step::Item(index)]).collect();
            Self { below, sight: self.sight, kind: kind(item) }
        };
        items.iter().enumerate().map(item).collect()
    }

    fn piece(&self, limit: usize) -> Piece {
        let heading = if self.below.is_empty() { String::new() } else { format!("@ {}", path::relative(&self.below)) };
        Piece { heading, lines: self.lines(limit) }
    }

    fn lines(&self, limit: usize) -> Vec<Line> {
        let line = |prefix, value, skip| Line::new(prefix, &value::json(value, self.sight, Window { skip, limit }));
        match self.kind {
            Kind::Added(value) => vec![line("+ ", value, 0)],
            Kind::Removed(value) => vec![line("- ", value, 0)],
            Kind::Moved => vec![Line { text: "~ moved".to_owned(), full: 7 }],
            Kind::Replaced(old, new) => self.compared_lines(old, new, limit).unwrap_or_else(|| {
                let skip = self.common_front(old, new, limit);
                vec![line("- ", old, skip), line("+ ", new, skip)]
            }),
        }
    }

    /// Two long texts may differ behind the point where they are cut: what may be left out at their front.
    fn common_front(&self, old: &Value, new: &Value, limit: usize) -> usize {
        let hidden = self.sight.hides(old) || self.sight.hides(new);
        if limit >= WHOLE || hidden || !old.is_string() || !new.is_string() {
            return 0;
        }
        let (old, new) = (old.to_string(), new.to_string());
        if old.chars().count().max(new.chars().count()) <= limit {
            return 0;
        }
        let common = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
        if common < limit / 2 { 0 } else { common - limit / 4 }
    }

    /// Texts of several lines, line by line; none where one line each says it as well, or a secret is among them.
    fn compared_lines(&self, old: &Value, new: &Value, limit: usize) -> Option<Vec<Line>> {
        if self.sight.hides(old) || self.sight.hides(new) {
            return None;
        }
        let (old, new) = (old.as_str()?, new.as_str()?);
        let old: Vec<&str> = old.split_inclusive('\n').take(MAX_COMPARED_LINES + 1).collect();
        let new: Vec<&str> = new.split_inclusive('\n').take(MAX_COMPARED_LINES + 1).collect();
        let most = old.len().max(new.len());
        if !(2..=MAX_COMPARED_LINES).contains(&most) {
            return None;
        }
        let mut lines = compare_lines(&old, &new, limit);
        if limit < WHOLE && lines.len() > MAX_LINES_SHORTENED {
            let rest = lines.split_off(MAX_LINES_SHORTENED);
            let full = rest.iter().map(|line| line.full + 1).sum();
            lines.push(Line { text: format!("  … {} more lines", rest.len()), full });
        }
        Some(lines)
    }
}

fn compare_lines(old: &[&str], new: &[&str], limit: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for group in group_diff_ops(crate::lines::compare(old, new), CONTEXT) {
        if !lines.is_empty() {
            lines.push(Line { text: "  …".to_owned(), full: 3 });
        }
        for change in group.iter().flat_map(|op| op.iter_changes(old, new)) {
            let prefix = match change.tag() {
                ChangeTag::Delete => "- ",
                ChangeTag::Insert => "+ ",
                ChangeTag::Equal => "  ",
            };
            lines.push(Line::new(prefix, &printable(change.value(), limit)));
            if change.tag() != ChangeTag::Equal && !change.value().ends_with('\n') {
                lines.push(Line { text: "\\ no newline at the end".to_owned(), full: 23 });
            }
        }
    }
    lines
}

/// A line of text without its end, control characters escaped so that no line looks like two.
fn printable(line: &str, limit: usize) -> Clipped {
    let mut out = Clipped::new(Window { skip: 0, limit });
    for character in line.strip_suffix('\n').unwrap_or(line).chars() {
        // Writing to a `Clipped` cannot fail.
        let _ = if character.is_control() && character != '\t' {
            write!(out, "{}", character.escape_default())
        } else {
            out.write_char(character)
        };
    }
    out
}
