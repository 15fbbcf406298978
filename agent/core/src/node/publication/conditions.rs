//! How words become conditions: what is kept of the observed ones, when something ends, and since when it is so.
//!
//! A condition's time changes with its status and at no other time.

use super::Gates;
use super::known::{self, NOT_YET_OCCURRED, Writer};
use super::words::{self, Statement, Word};
use crate::api::machine_config_node::{ConditionStatus, bounded_message};
use crate::api::{Condition, MachineConfigNode, Time};
use crate::node::situation::Situation;

/// The observed conditions of a node's object, and what is to become of them.
pub(super) struct Ledger<'a> {
    situation: &'a Situation,
    observed: &'a [Condition],
    gates: Gates,
    /// What an update that is over leads to, for conditions that end with it.
    ending: String,
    now: &'a Time,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(situation: &'a Situation, object: &'a MachineConfigNode, gates: Gates, now: &'a Time) -> Self {
        let observed = object.status.as_ref().map(|status| status.conditions.as_slice());
        let ending = format!("Action during update to {}", destination(situation, object, gates));
        Self { situation, observed: observed.unwrap_or_default(), gates, ending, now }
    }

    /// All conditions that only a daemon writes, and whether any of them differs from what was observed. Types that a gate has
    /// taken away are ended, and sent for as long as they are there.
    pub(super) fn own(&self) -> (Vec<Condition>, bool) {
        let said = |type_| (type_, words::own(type_, self.situation));
        let left = known::without(self.gates.image_mode).filter(|type_| self.find(type_).is_some());
        let ended = left.map(|type_| (type_, Word::Ends));
        self.written(known::types(Writer::Daemon, self.gates.image_mode).map(said).chain(ended))
    }

    /// All conditions that the controller writes too, if any of them is to change. Types of others come with them while
    /// nobody else has said anything of them: who makes them has to go on sending them.
    pub(super) fn handover(&self) -> Option<Vec<Condition>> {
        let begins = self.find(known::UPDATED).is_none_or(|updated| !words::is_wanting(updated, self.situation));
        let image_mode = self.gates.image_mode;
        let said = |type_| (type_, words::shared(type_, self.situation, self.gates, self.find(type_), begins));
        let (mut conditions, mut unlike) = self.written(known::types(Writer::Controller, image_mode).map(said));
        let untold = |type_: &&str| match self.find(type_) {
            Some(observed) => observed.reason == NOT_YET_OCCURRED,
            None => self.observed.is_empty(),
        };
        let others = known::types(Writer::Others, image_mode).filter(untold).map(|type_| (type_, Word::Keeps));
        let (others, missing) = self.written(others);
        conditions.extend(others);
        unlike |= missing;
        unlike.then_some(conditions)
    }

    /// All conditions of those who look after pinned images, and whether any of them differs from what was observed.
    pub(super) fn others(&self, word: impl Fn(&'static str) -> Word) -> (Vec<Condition>, bool) {
        self.written(known::types(Writer::Others, self.gates.image_mode).map(|type_| (type_, word(type_))))
    }

    /// Whether a condition was observed to be anything but False.
    pub(super) fn is_open(&self, type_: &str) -> bool {
        self.find(type_).is_some_and(|observed| observed.status != ConditionStatus::False.as_str())
    }

    fn find(&self, type_: &str) -> Option<&'a Condition> {
        self.observed.iter().find(|condition| condition.type_ == type_)
    }

    fn written(&self, words: impl Iterator<Item = (&'static str, Word)>) -> (Vec<Condition>, bool) {
        let mut unlike = false;
        let mut conditions = Vec::new();
        for (type_, word) in words {
            let observed = self.find(type_);
            let condition = self.condition(type_, word, observed);
            unlike |= observed.is_none_or(|observed| !is_same(observed, &condition));
            conditions.push(condition);
        }
        (conditions, unlike)
    }

    fn condition(&self, type_: &str, word: Word, observed: Option<&Condition>) -> Condition {
        let Some(observed) = observed else {
            return match word {
                Word::Says(statement) => self.stated(type_, statement),
                Word::Corrects(_) | Word::Keeps | Word::Ends => self.stated(type_, not_yet(type_)),
            };
        };
        let open = observed.status != ConditionStatus::False.as_str();
        let stated = match word {
            Word::Says(statement) => self.stated(type_, statement),
            Word::Corrects(statement) if open && observed.status != statement.status.as_str() => {
                self.stated(type_, statement)
            }
            Word::Ends if open => self.ended(observed),
            Word::Corrects(_) | Word::Keeps | Word::Ends => return observed.clone(),
        };
        if is_same(observed, &stated) {
            return observed.clone();
        }
        let since = if observed.status == stated.status { &observed.last_transition_time } else { self.now };
        Condition { last_transition_time: since.clone(), ..stated }
    }

    fn stated(&self, type_: &str, statement: Statement) -> Condition {
        Condition {
            last_transition_time: self.now.clone(),
            message: bounded_message(statement.message),
            observed_generation: None,
            reason: statement.reason.to_owned(),
            status: statement.status.as_str().to_owned(),
            type_: type_.to_owned(),
        }
    }

    fn ended(&self, observed: &Condition) -> Condition {
        Condition {
            message: bounded_message(format!("{}: {}", self.ending, observed.message)),
            status: ConditionStatus::False.as_str().to_owned(),
            ..observed.clone()
        }
    }
}

fn not_yet(type_: &str) -> Statement {
    Statement {
        status: ConditionStatus::False,
        reason: NOT_YET_OCCURRED,
        message: format!("This node has not yet entered the {type_} phase"),
    }
}

fn is_same(one: &Condition, other: &Condition) -> bool {
    (&one.status, &one.reason, &one.message) == (&other.status, &other.reason, &other.message)
}

/// Where the update leads: to an image only while the image is what changes.
fn destination(situation: &Situation, object: &MachineConfigNode, gates: Gates) -> String {
    let image = object.spec.config_image.as_ref().map(|image| image.desired_image.as_str());
    let current = object.status.as_ref().and_then(|status| status.config_image.as_ref()?.current_image.as_deref());
    let (image, current) = (image.unwrap_or_default(), current.unwrap_or_default());
    let desired = situation.desired.as_ref().map(|desired| desired.config.as_str());
    let config = desired.unwrap_or(&object.spec.config_version.desired);
    match image {
        _ if !gates.image_mode || image == current => config.to_owned(),
        "" => "disable image mode".to_owned(),
        image => image.to_owned(),
    }
}
