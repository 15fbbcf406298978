//! What is said about pinned images, in the words of the machine-config-daemon; but what has failed is not called under
//! way any more.

use super::conditions::Ledger;
use super::known;
use super::words::{Statement, Word};
use crate::api::machine_config_node::{ConditionStatus, PinnedImageSetProgress};
use crate::api::{Condition, MachineConfigNode};
use crate::node::duties::{Course, Pinned};
use crate::node::situation::Situation;

const AS_EXPECTED: &str = "AsExpected";
const PREFETCH_FAILED: &str = "PrefetchFailed";

/// What is to be sent about pinned images.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinnedWrite {
    /// Both conditions, to be applied.
    pub conditions: Option<Vec<Condition>>,
    /// All sets, to replace those that are there.
    pub sets: Option<Vec<PinnedImageSetProgress>>,
}

/// Compares what there is to say with what was observed.
pub(super) fn write(situation: &Situation, object: &MachineConfigNode, ledger: &Ledger<'_>) -> PinnedWrite {
    let pinned = &situation.duties.pinned;
    if pinned.course == Course::Untold {
        return PinnedWrite::default();
    }
    let observed = object.status.as_ref().map(|status| status.pinned_image_sets.as_slice());
    let observed = observed.unwrap_or_default();
    let sets = pinned.progress(observed);
    let is_told = by_name(observed).eq(by_name(&sets));
    let conditions = if has_nothing_to_say(pinned, ledger) { None } else { conditions(situation, ledger) };
    PinnedWrite { conditions, sets: (!is_told).then_some(sets) }
}

/// A node that keeps no images is not spoken of, unless something is left to be put right.
fn has_nothing_to_say(pinned: &Pinned, ledger: &Ledger<'_>) -> bool {
    let types = [known::PINNED_DEGRADED, known::PINNED_PROGRESSING];
    pinned.course == Course::Complete && pinned.sets.is_empty() && !types.into_iter().any(|type_| ledger.is_open(type_))
}

fn conditions(situation: &Situation, ledger: &Ledger<'_>) -> Option<Vec<Condition>> {
    let course = situation.duties.pinned.course;
    let (conditions, unlike) =
        ledger.others(|type_| if type_ == known::PINNED_DEGRADED { degraded(course) } else { progressing(situation) });
    unlike.then_some(conditions)
}

/// What failed before stays failed while it is tried with other sets.
fn degraded(course: Course) -> Word {
    match course {
        Course::Untold | Course::Pulling => Word::Keeps,
        Course::Complete => says(ConditionStatus::False, AS_EXPECTED, "All is good".to_owned()),
        Course::Failed => says(
            ConditionStatus::True,
            PREFETCH_FAILED,
            "One or more PinnedImageSet is experiencing an error. See PinnedImageSet list for more details.".to_owned(),
        ),
    }
}

fn progressing(situation: &Situation) -> Word {
    let node = &situation.node;
    match situation.duties.pinned.course {
        Course::Untold => Word::Keeps,
        Course::Pulling => says(ConditionStatus::True, "ImagePrefetch", format!("node is prefetching images: {node}")),
        Course::Complete => says(ConditionStatus::False, AS_EXPECTED, "All pinned image sets complete".to_owned()),
        Course::Failed => {
            let message = format!("prefetching images failed and is tried again from time to time: {node}");
            says(ConditionStatus::False, PREFETCH_FAILED, message)
        }
    }
}

const fn says(status: ConditionStatus, reason: &'static str, message: String) -> Word {
    Word::Says(Statement { status, reason, message })
}

/// The API server keeps the list by name, in an order of its own.
fn by_name(sets: &[PinnedImageSetProgress]) -> impl Iterator<Item = &PinnedImageSetProgress> {
    let mut sets: Vec<&PinnedImageSetProgress> = sets.iter().collect();
    sets.sort_by(|one, other| one.name.cmp(&other.name));
    sets.into_iter()
}
