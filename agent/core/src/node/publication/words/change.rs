//! What is said of the change of the machine itself: in one pair of conditions, or with image mode in one for files, one
//! for the OS and one for its image.

use super::{Statement, Word, says};
use crate::api::machine_config_node::ConditionStatus::{True, Unknown};
use crate::node::publication::{Gates, known};
use crate::node::situation::{Phase, Situation, Update};

/// Reasons that a daemon gives for `UpdateExecuted`, and nobody else.
pub(super) const REASONS: [&str; 3] = [known::APPLIED_FILES_AND_OS, known::APPLIED_FILES, known::APPLIED_OS_IMAGE];

/// How far the change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Under way.
    Begun,
    /// In place.
    Done,
}

impl Step {
    pub(super) const fn of(phase: Phase) -> Option<Self> {
        match phase {
            Phase::Executing => Some(Self::Begun),
            Phase::Restarting | Phase::Proving | Phase::Completing => Some(Self::Done),
            Phase::Settled | Phase::Considering | Phase::Refused | Phase::Held | Phase::Staging | Phase::Draining => {
                None
            }
        }
    }
}

/// What is said of the execution as a whole.
pub(super) fn parent(step: Step, situation: &Situation, gates: Gates) -> Word {
    let os = situation.update.as_ref().is_some_and(|update| update.os);
    let (reason, what) = match (gates.image_mode, os) {
        (false, _) => (known::APPLIED_FILES_AND_OS, "Files and OS"),
        (true, false) => (known::APPLIED_FILES, "Files"),
        (true, true) => (known::APPLIED_OS_IMAGE, "OS"),
    };
    let message = |verb: &str| format!("{verb} the {what} on disk as a part of the in progress phase");
    match step {
        Step::Begun if gates.image_mode && situation.trouble().is_some() => {
            // The longer form exists for files only.
            says(Unknown, reason, message(if os { "Error" } else { "Error updating" }))
        }
        Step::Begun => says(Unknown, reason, message("Updating")),
        Step::Done if gates.image_mode && situation.update.is_none() => {
            Word::Corrects(Statement { status: True, reason, message: message("Updated") })
        }
        Step::Done => says(True, reason, message("Updated")),
    }
}

/// What is said of a part of the change.
pub(super) fn child(type_: &'static str, step: Step, situation: &Situation) -> Word {
    let Some(update) = &situation.update else { return unknown(type_, step) };
    let failure = situation.trouble().map(|trouble| trouble.reason);
    let failure = failure.as_deref();
    match type_ {
        known::APPLIED_FILES => files(step, update, failure),
        known::APPLIED_OS_IMAGE => os(step, update, failure),
        known::IMAGE_PULLED => image(step, update),
        _ => both(step, update),
    }
}

/// Without the plan it is known only that what was begun is done.
fn unknown(type_: &'static str, step: Step) -> Word {
    let (reason, message) = match type_ {
        known::APPLIED_FILES => ("UpdateExecutedAppliedFiles", "Applied files."),
        known::APPLIED_OS_IMAGE => ("UpdateExecutedAppliedOSImage", "Applied new OS config to node."),
        known::APPLIED_FILES_AND_OS => ("UpdateExecutedAppliedFilesAndOS", "Applied files and new OS config to node."),
        _ => (type_, "Successfully pulled OS image from registry"),
    };
    match step {
        Step::Begun => Word::Keeps,
        Step::Done => Word::Corrects(Statement { status: True, reason, message: message.to_owned() }),
    }
}

/// The word is left out where it is not needed, and the blank before it stays: so it is known.
fn both(step: Step, update: &Update) -> Word {
    let not = |needed: bool| if needed { "" } else { "not" };
    let (os, keys) = (not(update.os), not(update.keys));
    let (status, verb, will) = match step {
        Step::Begun => (Unknown, "Applying", "will"),
        Step::Done => (True, "Applied", "did"),
    };
    let message = format!(
        "{verb} files and new OS config to node. OS {will} {os} need an update. SSH Keys {will} {keys} need an update"
    );
    says(status, "UpdateExecutedAppliedFilesAndOS", message)
}

fn files(step: Step, update: &Update, failure: Option<&str>) -> Word {
    let reason = "UpdateExecutedAppliedFiles";
    let not = if update.keys { "" } else { "not " };
    match (step, failure) {
        (Step::Begun, Some(failure)) if !update.os => {
            says(Unknown, reason, format!("Update failed applying files to node: {failure}"))
        }
        (Step::Begun, _) => says(Unknown, reason, "Applying files to node."),
        (Step::Done, _) => says(True, reason, format!("Applied files. SSH Keys did {not}need an update")),
    }
}

fn os(step: Step, update: &Update, failure: Option<&str>) -> Word {
    let reason = "UpdateExecutedAppliedOSImage";
    match (step, failure) {
        _ if !update.os => Word::Ends,
        (Step::Begun, Some(failure)) => {
            says(Unknown, reason, format!("Update failed applying new OS config to node: {failure}"))
        }
        (Step::Begun, None) => says(Unknown, reason, "Applying new OS config to node."),
        (Step::Done, _) => says(True, reason, "Applied new OS config to node."),
    }
}

/// Whether the image of the update is pulled, or was, before its change begins.
pub(super) fn is_staged_ahead(situation: &Situation) -> bool {
    situation.phase == Phase::Staging || situation.update.as_ref().is_some_and(|update| is_staged(situation, update))
}

fn is_staged(situation: &Situation, update: &Update) -> bool {
    situation.staged_for.as_ref() == Some(&update.to.config)
}

/// What is said of the image of an update that has not begun.
pub(super) fn pulled_ahead(situation: &Situation) -> Word {
    situation
        .update
        .as_ref()
        .map_or(Word::Ends, |update| image(if is_staged(situation, update) { Step::Done } else { Step::Begun }, update))
}

fn image(step: Step, update: &Update) -> Word {
    let Some(image) = update.to.image.as_deref().filter(|_| update.os) else { return Word::Ends };
    match step {
        Step::Begun => says(Unknown, known::IMAGE_PULLED, format!("Pulling OS image {image} from registry")),
        Step::Done => says(True, known::IMAGE_PULLED, format!("Successfully pulled OS image {image} from registry")),
    }
}
