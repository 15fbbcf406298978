//! Differences between two documents as values, in the order of their paths: fields by name, items by index.
//!
//! Owns what counts as one difference. Refuses to know how differences are written or how many may be reported.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::align::{self, Shift};
use super::path::Step;
use crate::ignition::Config;

/// Lists inside lists that are aligned; below that, and in anything deeper than `MAX_DEPTH`, index by index or whole.
/// Storage sections have two levels. The bound keeps the work linear on any input: a level may be compared twice.
const ALIGNED_LISTS: usize = 3;
const MAX_DEPTH: usize = 128;

/// One thing that differs.
pub(super) struct Difference<'a> {
    /// Where, below the storage section.
    pub(super) path: Vec<Step<'a>>,
    /// How many steps of the path mean the same place in both documents: it is reported there, or above.
    pub(super) anchor: usize,
    /// What differs there.
    pub(super) kind: Kind<'a>,
}

/// How the two documents differ in one place.
#[derive(Clone, Copy)]
pub(super) enum Kind<'a> {
    /// Only the target has it.
    Added(&'a Value),
    /// Only the install-time config has it.
    Removed(&'a Value),
    /// Both have it, and at least one of the two is a scalar or they are of different types.
    Replaced(&'a Value, &'a Value),
    /// An item is elsewhere in its list.
    Moved,
}

/// Compares the sections that only a newly installed node can take over.
pub(super) fn differences<'a>(install: &'a Config, target: &'a Config) -> Vec<Difference<'a>> {
    let mut comparison = Comparison::default();
    for (name, old, new) in [
        ("disks", &install.disks, &target.disks),
        ("filesystems", &install.filesystems, &target.filesystems),
        ("luks", &install.luks, &target.luks),
        ("raid", &install.raid, &target.raid),
    ] {
        let some = |value: &'a Value| (!value.is_null()).then_some(value);
        comparison.at(Step::Field(name), |inner| inner.either(some(old.value()), some(new.value())));
    }
    comparison.found
}

#[derive(Default)]
struct Comparison<'a> {
    path: Vec<Step<'a>>,
    /// Length of the path of the outermost list whose items shifted.
    anchor: Option<usize>,
    lists: usize,
    found: Vec<Difference<'a>>,
}

impl<'a> Comparison<'a> {
    fn at(&mut self, step: Step<'a>, compare: impl FnOnce(&mut Self)) {
        self.path.push(step);
        compare(self);
        self.path.pop();
    }

    fn note(&mut self, kind: Kind<'a>) {
        let anchor = self.anchor.unwrap_or(self.path.len());
        self.found.push(Difference { path: self.path.clone(), anchor, kind });
    }

    fn either(&mut self, old: Option<&'a Value>, new: Option<&'a Value>) {
        match (old, new) {
            (Some(old), Some(new)) => self.both(old, new),
            (Some(old), None) => self.note(Kind::Removed(old)),
            (None, Some(new)) => self.note(Kind::Added(new)),
            (None, None) => {}
        }
    }

    fn both(&mut self, old: &'a Value, new: &'a Value) {
        if old == new {
            return;
        }
        match (old, new) {
            _ if self.path.len() >= MAX_DEPTH => self.note(Kind::Replaced(old, new)),
            (Value::Object(old), Value::Object(new)) => self.fields(old, new),
            (Value::Array(old), Value::Array(new)) => self.items(old, new),
            _ => self.note(Kind::Replaced(old, new)),
        }
    }

    fn fields(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>) {
        for name in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
            self.at(Step::Field(name), |inner| inner.either(old.get(name), new.get(name)));
        }
    }

    fn items(&mut self, old: &'a [Value], new: &'a [Value]) {
        self.lists += 1;
        if !self.aligned(old, new) {
            self.by_index(old, new);
        }
        self.lists -= 1;
    }

    fn by_index(&mut self, old: &'a [Value], new: &'a [Value]) {
        for index in 0..old.len().max(new.len()) {
            self.at(Step::Item(index), |inner| inner.either(old.get(index), new.get(index)));
        }
    }

    /// Notes what happened to the items of a list, unless nothing shifted or going by index is no longer to tell.
    fn aligned(&mut self, old: &'a [Value], new: &'a [Value]) -> bool {
        if self.lists > ALIGNED_LISTS {
            return false;
        }
        let Some(shift) = align::shift(self.list_name(), old, new) else {
            return false;
        };
        let before = self.found.len();
        let anchor = self.anchor;
        self.anchor = anchor.or(Some(self.path.len()));
        self.shifted(&shift, old, new);
        self.anchor = anchor;
        let told = self.found.len() - before;
        let shorter = count_by_index(old, new, told + 1) > told;
        if !shorter {
            self.found.truncate(before);
        }
        shorter
    }

    fn list_name(&self) -> &'a str {
        match self.path.last() {
            Some(Step::Field(name)) => name,
            _ => "",
        }
    }

    fn shifted(&mut self, shift: &Shift, old: &'a [Value], new: &'a [Value]) {
        let mut removed = shift.removed.iter().copied().peekable();
        let mut inserted = shift.inserted.iter().copied().peekable();
        let mut pairs = shift.pairs.iter().peekable();
        for index in 0..old.len().max(new.len()) {
            if let Some(item) = removed.next_if_eq(&index).and_then(|index| old.get(index)) {
                self.at(Step::Item(index), |inner| inner.note(Kind::Removed(item)));
            }
            if let Some(item) = inserted.next_if_eq(&index).and_then(|index| new.get(index)) {
                self.at(Step::Item(index), |inner| inner.note(Kind::Added(item)));
            }
            let Some(pair) = pairs.next_if(|pair| pair.to == index) else { continue };
            let (from, to) = (pair.from, pair.to);
            let step = if from == to { Step::Item(to) } else { Step::Moved { from, to } };
            self.at(step, |inner| {
                if pair.moved {
                    inner.note(Kind::Moved);
                }
                inner.either(old.get(from), new.get(to));
            });
        }
    }
}

/// How many differences going by index would tell, counted no further than `limit`.
fn count_by_index(old: &[Value], new: &[Value], limit: usize) -> usize {
    let common = old.iter().zip(new);
    let mut count = old.len().abs_diff(new.len());
    for (old, new) in common {
        if count >= limit {
            break;
        }
        count += count_both(old, new, limit - count);
    }
    count
}

fn count_both(old: &Value, new: &Value, limit: usize) -> usize {
    match (old, new) {
        _ if old == new => 0,
        (Value::Array(old), Value::Array(new)) => count_by_index(old, new, limit),
        (Value::Object(old), Value::Object(new)) => {
            let mut count = new.keys().filter(|name| !old.contains_key(*name)).count();
            for (name, value) in old {
                if count >= limit {
                    break;
                }
                count += new.get(name).map_or(1, |new| count_both(value, new, limit - count));
            }
            count
        }
        _ => 1,
    }
}
