//! Which differences share an entry: as few as the limits of the API ask for, deepest neighbours first.
//!
//! Differences come in the order of their paths, so those under one path are neighbours and an entry is a slice.

use super::compare::Difference;
use super::path::{self, Step};
use super::{MAX_CHANGES, MAX_FIELD_PATH};

/// Differences that are reported under one path.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    /// Steps of the path that the differences have in common.
    depth: usize,
    /// Never empty.
    differences: &'a [Difference<'a>],
}

impl<'a> Entry<'a> {
    /// The differences, in order.
    pub(super) const fn differences(&self) -> &'a [Difference<'a>] {
        self.differences
    }

    /// The path for the API.
    pub(super) fn field_path(&self) -> String {
        path::absolute(self.steps(self.depth))
    }

    /// The rest of a difference's path, below the entry's own.
    pub(super) fn below(&self, difference: &'a Difference<'a>) -> &'a [Step<'a>] {
        difference.path.get(self.depth..).unwrap_or_default()
    }

    fn steps(&self, depth: usize) -> &'a [Step<'a>] {
        self.differences.first().and_then(|first| first.path.get(..depth)).unwrap_or_default()
    }

    fn is_under(&self, other: &Self) -> bool {
        self.depth >= other.depth && self.steps(other.depth) == other.steps(other.depth)
    }
}

/// Groups all differences so that there are at most `MAX_CHANGES` entries, each with an acceptable path, and no path
/// contains another. The sections themselves are fewer than that and their paths are short, so it always succeeds.
pub(super) fn entries<'a>(differences: &'a [Difference<'a>]) -> Vec<Entry<'a>> {
    let mut spans: Vec<Span> = Vec::new();
    for (start, difference) in differences.iter().enumerate() {
        let depth = path::plain_depth(&difference.path, MAX_FIELD_PATH).min(difference.anchor);
        push(&mut spans, Span { depth, start, end: start + 1 }, differences);
    }
    let deepest = spans.iter().map(|span| span.depth).max().unwrap_or(0);
    for depth in (1..deepest).rev() {
        let excess = spans.len().saturating_sub(MAX_CHANGES);
        if excess == 0 {
            break;
        }
        spans = merge(&spans, depth, excess, differences);
    }
    spans.iter().map(|span| span.entry(differences)).collect()
}

/// An entry by position, so that neighbours can be joined.
#[derive(Clone, Copy, Debug)]
struct Span {
    depth: usize,
    start: usize,
    end: usize,
}

impl Span {
    fn entry<'a>(self, all: &'a [Difference<'a>]) -> Entry<'a> {
        Entry { depth: self.depth, differences: all.get(self.start..self.end).unwrap_or_default() }
    }
}

/// Adds a span behind all others, joining those that are under it or that it is under.
fn push(spans: &mut Vec<Span>, mut next: Span, all: &[Difference<'_>]) {
    while let Some(last) = spans.last_mut() {
        if next.entry(all).is_under(&last.entry(all)) {
            last.end = next.end;
            return;
        }
        if !last.entry(all).is_under(&next.entry(all)) {
            break;
        }
        next.start = last.start;
        spans.pop();
    }
    spans.push(next);
}

/// Joins neighbours with a common parent at `depth`: as few groups as needed to lose `excess` entries, or all.
fn merge(spans: &[Span], depth: usize, excess: usize, all: &[Difference<'_>]) -> Vec<Span> {
    let siblings = |a: &Span, b: &Span| {
        let (a, b) = (a.entry(all), b.entry(all));
        a.depth > depth && b.depth > depth && a.steps(depth) == b.steps(depth)
    };
    let groups: Vec<&[Span]> = spans.chunk_by(siblings).collect();
    let chosen = choose(&groups, excess);
    let mut merged = Vec::with_capacity(spans.len());
    for (group, chosen) in groups.into_iter().zip(chosen) {
        match (chosen, group) {
            (true, [first, .., last]) => merged.push(Span { depth, start: first.start, end: last.end }),
            _ => merged.extend_from_slice(group),
        }
    }
    merged
}

/// Marks the groups to join: the smallest that suffices, or else the largest and then again.
fn choose(groups: &[&[Span]], excess: usize) -> Vec<bool> {
    let mut chosen = vec![false; groups.len()];
    let mut candidates: Vec<(usize, usize)> =
        groups.iter().enumerate().map(|(position, group)| (group.len().saturating_sub(1), position)).collect();
    candidates.sort_unstable();
    let mut excess = excess;
    while excess > 0 {
        let enough = candidates.partition_point(|(saved, _)| *saved < excess);
        let Some((saved, position)) = candidates.get(enough).copied().or_else(|| candidates.pop()) else { break };
        if saved == 0 {
            break;
        }
        chosen.get_mut(position).into_iter().for_each(|chosen| *chosen = true);
        excess = excess.saturating_sub(saved);
    }
    chosen
}
