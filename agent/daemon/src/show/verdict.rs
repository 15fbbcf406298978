//! The verdict: every reason in a sentence of its own, with its fix.

use anstyle::Style;
use ostler_core::verdict::{Reason, State, Verdict};
use serde::Serialize;

use super::phrase::{BAD, CAUTION, GOOD, styled};

/// The first lines of `ostler status`.
pub fn verdict(verdict: &Verdict, now: u64) -> String {
    let (first, rest) = match verdict.reasons().split_first() {
        Some((first, rest)) => (vec![first], rest),
        None => return format!("{}\n", styled(GOOD, &verdict.headline(Some(now)))),
    };
    // A remark on a node that is up to date is none on one that is not.
    let rest = rest.iter().filter(|reason| reason.state() != State::UpToDate);
    first.into_iter().chain(rest).map(|reason| sentence(reason, now)).collect()
}

fn sentence(reason: &Reason, now: u64) -> String {
    let fix = reason.fix().map(|fix| format!("  Fix: {fix}\n")).unwrap_or_default();
    format!("{}\n{fix}", styled(style(reason.state()), &reason.sentence(Some(now))))
}

const fn style(state: State) -> Style {
    match state {
        State::UpToDate => GOOD,
        State::NeedsAttention => BAD,
        State::Updating | State::Waiting | State::Unknown => CAUTION,
    }
}

/// The verdict as a program reads it.
#[derive(Debug, Serialize)]
pub struct VerdictDocument<'a> {
    state: State,
    summary: String,
    reasons: Vec<ReasonDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct ReasonDocument<'a> {
    #[serde(flatten)]
    reason: &'a Reason,
    state: State,
    message: String,
    fix: Option<&'static str>,
}

impl<'a> VerdictDocument<'a> {
    /// Of this verdict.
    pub fn new(verdict: &'a Verdict, now: u64) -> Self {
        let document = |reason: &'a Reason| ReasonDocument {
            reason,
            state: reason.state(),
            message: reason.message(Some(now)),
            fix: reason.fix(),
        };
        Self {
            state: verdict.state(),
            summary: verdict.headline(Some(now)),
            reasons: verdict.reasons().iter().map(document).collect(),
        }
    }
}
