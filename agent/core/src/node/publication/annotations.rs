//! What the Node's annotations have to become. The controller counts nodes by these: it compares names and images as
//! text, so an image that is not there any more is deleted, never blanked.
//!
//! `desiredConfig` is the controller's. It is written here in one case only: a node that its cluster does not know yet, whose
//! object says neither what it is in nor what it is to be, is introduced with what it was told when it was installed.

use std::collections::BTreeMap;

use crate::node::keys;
use crate::node::situation::{DrainRequest, Phase, Situation};
use crate::node::view::NodeView;

/// Ends a text that was cut.
const CUT: &str = "… (cut)";
/// Value of a mark that has nothing to say but that it is there.
const MARKED: &str = "true";

/// What an annotation is to be.
enum Wanted {
    Text(String),
    /// Empty if it is there, and not there if it is not.
    Blank,
    Absent,
}

/// What differs from the node as last observed: the new text, or nothing where it is to be deleted.
pub fn annotations(situation: &Situation, view: &NodeView) -> BTreeMap<&'static str, Option<String>> {
    let mut wanted = BTreeMap::new();
    state(situation, &mut wanted);
    place(situation, view, &mut wanted);
    introduce(situation, view, &mut wanted);
    drain(situation, view, &mut wanted);
    certificates(situation, &mut wanted);
    wanted.extend(situation.boot_image.as_deref().map(|version| (keys::BOOT_IMAGE, Wanted::text(version))));
    let change = |(key, wanted): (&'static str, Wanted)| {
        let observed = view.annotations.get(key).map(String::as_str);
        wanted.unlike(observed).map(|change| (key, change))
    };
    wanted.into_iter().filter_map(change).collect()
}

impl Wanted {
    fn unlike(self, observed: Option<&str>) -> Option<Option<String>> {
        match self {
            Self::Text(text) => (observed != Some(&text)).then_some(Some(text)),
            Self::Blank => observed.is_some_and(|observed| !observed.is_empty()).then(|| Some(String::new())),
            Self::Absent => observed.is_some().then_some(None),
        }
    }

    fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

fn state(situation: &Situation, wanted: &mut BTreeMap<&'static str, Wanted>) {
    if let Some(state) = situation.verdict.node_state() {
        let reason = situation.trouble().map(|trouble| bounded(&trouble.reason)).unwrap_or_default();
        wanted.insert(keys::STATE, Wanted::text(state));
        wanted.insert(keys::REASON, Wanted::Text(reason));
    }
    let restarts = situation.phase == Phase::Restarting;
    let failure = situation.finalization_failure.as_deref().filter(|failure| !failure.is_empty());
    wanted.insert(keys::POST_CONFIG_ACTION, if restarts { Wanted::text(keys::REBOOTING) } else { Wanted::Blank });
    wanted.insert(keys::FINALIZE_FAILURE, failure.map_or(Wanted::Blank, |text| Wanted::Text(bounded(text))));
}

/// The node's own record wins over what the annotations say, in every phase.
fn place(situation: &Situation, view: &NodeView, wanted: &mut BTreeMap<&'static str, Wanted>) {
    if let Some(current) = &situation.current {
        wanted.insert(keys::CURRENT_CONFIG, Wanted::text(&current.config));
        wanted.insert(keys::CURRENT_IMAGE, current.image.as_deref().map_or(Wanted::Absent, Wanted::text));
    }
    if situation.phase != Phase::Settled {
        return;
    }
    // Where the controller has moved on to another configuration, the image is that one's.
    let same = |desired: &str| view.annotation(keys::DESIRED_CONFIG).is_none_or(|observed| observed == desired);
    if situation.desired.as_ref().is_some_and(|desired| desired.image.is_none() && same(&desired.config)) {
        wanted.insert(keys::DESIRED_IMAGE, Wanted::Absent);
    }
}

/// What the node was told when it was installed, as far as nobody has said anything since. What it is in now is its own
/// record's to say.
fn introduce(situation: &Situation, view: &NodeView, wanted: &mut BTreeMap<&'static str, Wanted>) {
    let Some(bootstrap) = situation.bootstrap.as_ref().filter(|_| view.current().is_none()) else { return };
    let mut tell = |key: &'static str| {
        if let Some(text) = bootstrap.annotation(key).filter(|_| view.annotation(key).is_none()) {
            wanted.insert(key, Wanted::text(text));
        }
    };
    tell(keys::FIRST_PIVOT_CONFIG);
    if view.annotation(keys::DESIRED_CONFIG).is_none() {
        tell(keys::DESIRED_CONFIG);
        tell(keys::DESIRED_IMAGE);
    }
}

/// Whether somebody else had cordoned the node can be told only before the drain is asked for. It is remembered for as
/// long as they keep it cordoned and the drain is the last request: without it the cordon would be taken for ours.
fn drain(situation: &Situation, view: &NodeView, wanted: &mut BTreeMap<&'static str, Wanted>) {
    let request = situation.drain.as_ref().map(|request| (request, request.text()));
    let asked = view.annotation(keys::DESIRED_DRAIN);
    let new = request.filter(|(_, text)| asked != Some(text));
    let drains = view.drain().asks_to_drain();
    let mark = match &new {
        Some((DrainRequest::Drain { cordoned: true, .. }, _)) => Some(Wanted::text(MARKED)),
        Some((DrainRequest::Drain { cordoned: false, .. } | DrainRequest::Uncordon { .. }, _)) => Some(Wanted::Absent),
        Some((DrainRequest::Withdraw { .. }, _)) | None => (!drains || !view.cordoned).then_some(Wanted::Absent),
    };
    wanted.extend(mark.map(|mark| (keys::CORDONED_BEFORE, mark)));
    wanted.extend(new.map(|(_, text)| (keys::DESIRED_DRAIN, Wanted::Text(text))));
    if let Some(withdrawn @ DrainRequest::Withdraw { .. }) = &situation.drain {
        wanted.insert(keys::LAST_APPLIED_DRAIN, Wanted::Text(withdrawn.text()));
    }
}

/// What was not delivered yet is not spoken of: what was said before stays.
fn certificates(situation: &Situation, wanted: &mut BTreeMap<&'static str, Wanted>) {
    let certificates = &situation.duties.certificates;
    let told =
        [(keys::SYNCED_CONTROLLER_CONFIG, &certificates.synced), (keys::OBSERVED_ROTATION, &certificates.rotation)];
    wanted.extend(told.into_iter().filter_map(|(key, value)| Some((key, Wanted::text(value.as_deref()?)))));
}

fn bounded(text: &str) -> String {
    if text.chars().nth(keys::MAX_REASON).is_none() {
        return text.to_owned();
    }
    text.chars().take(keys::MAX_REASON.saturating_sub(CUT.chars().count())).chain(CUT.chars()).collect()
}

#[cfg(test)]
mod tests;
