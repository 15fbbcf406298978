//! How far a machine is with the images that it is to keep.
//!
//! Owns what is said of each set within the rules of the API server: generations never become less, and none is above the
//! desired one.

use crate::api::PinnedImageSet;
use crate::api::machine_config_node::{MAX_PINNED_IMAGE_SETS, PinnedImageSetProgress, bounded_message};
use crate::pinned::{Order, Report, SetOrder};

/// What there is to say of pinned images; nothing until they were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pinned {
    /// How far all of them are.
    pub course: Course,
    /// How far each set is.
    pub sets: Vec<SetStanding>,
}

/// How far all images are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Course {
    /// That is not known yet.
    #[default]
    Untold,
    /// Some are pulled.
    Pulling,
    /// All are there and kept.
    Complete,
    /// Some cannot be had.
    Failed,
}

/// How far a set is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetStanding {
    /// Its name.
    pub name: String,
    /// Its generation.
    pub generation: i64,
    /// What became of it.
    pub outcome: SetOutcome,
}

/// What became of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetOutcome {
    /// It is being looked after.
    Pending,
    /// Its images are there and kept.
    Complete,
    /// Some of its images cannot be had, and why.
    Failed(String),
}

impl Pinned {
    /// Images are pulled.
    pub fn pulling(sets: &[PinnedImageSet]) -> Self {
        Self { course: Course::Pulling, sets: standings(sets, |_| SetOutcome::Pending) }
    }

    /// What became of the images.
    pub fn reported(sets: &[PinnedImageSet], report: &Report) -> Self {
        let outcome = |name: &str| match report.failures.iter().find(|failure| failure.set == name) {
            Some(failure) => SetOutcome::Failed(failure.reason.clone()),
            None => SetOutcome::Complete,
        };
        let course = if report.failures.is_empty() { Course::Complete } else { Course::Failed };
        Self { course, sets: standings(sets, outcome) }
    }

    /// Nothing came of any set, for the same reason.
    pub fn failed(sets: &[PinnedImageSet], reason: &str) -> Self {
        Self { course: Course::Failed, sets: standings(sets, |_| SetOutcome::Failed(reason.to_owned())) }
    }

    /// What the status says of each set, after what it was last seen to say. In the order of names, as many as fit.
    pub fn progress(&self, observed: &[PinnedImageSetProgress]) -> Vec<PinnedImageSetProgress> {
        let before = |name: &str| observed.iter().find(|set| set.name == name);
        let mut sets: Vec<_> = self.sets.iter().map(|set| set.progress(before(&set.name))).collect();
        sets.sort_by(|one, other| one.name.cmp(&other.name));
        sets.dedup_by(|one, other| one.name == other.name);
        sets.truncate(MAX_PINNED_IMAGE_SETS);
        sets
    }
}

/// What is asked of the root half for these sets.
pub fn order(sets: &[PinnedImageSet], gently: bool) -> Order {
    let images = |set: &PinnedImageSet| set.spec.pinned_images.iter().map(|image| image.name.clone()).collect();
    let set = |set: &PinnedImageSet| SetOrder { name: name(set), images: images(set) };
    Order { sets: sets.iter().map(set).collect(), gently }
}

fn standings(sets: &[PinnedImageSet], outcome: impl Fn(&str) -> SetOutcome) -> Vec<SetStanding> {
    let standing = |set: &PinnedImageSet| {
        let (name, generation) = (name(set), set.metadata.generation.unwrap_or(1));
        SetStanding { outcome: outcome(&name), name, generation }
    };
    sets.iter().map(standing).collect()
}

fn name(set: &PinnedImageSet) -> String {
    set.metadata.name.clone().unwrap_or_default()
}

impl SetStanding {
    /// A set that was deleted and made anew begins at 1 again, and the status may not follow it there: what was said last
    /// then stands for it.
    fn progress(&self, before: Option<&PinnedImageSetProgress>) -> PinnedImageSetProgress {
        let nothing = PinnedImageSetProgress::default();
        let before = before.unwrap_or(&nothing);
        let said = [before.current_generation, before.desired_generation, before.last_failed_generation];
        let own = i32::try_from(self.generation).unwrap_or(i32::MAX).max(1);
        let desired = said.into_iter().flatten().fold(own, i32::max);
        let sound = |generation: &i32| *generation >= 1;
        let current = before.current_generation.filter(sound);
        let mut progress = PinnedImageSetProgress {
            name: self.name.clone(),
            desired_generation: Some(desired),
            current_generation: current,
            ..PinnedImageSetProgress::default()
        };
        match &self.outcome {
            SetOutcome::Complete => progress.current_generation = Some(desired),
            SetOutcome::Failed(reason) => {
                progress.last_failed_generation = Some(desired);
                progress.last_failed_generation_error = Some(bounded_message(reason.clone()));
            }
            SetOutcome::Pending => {
                progress.last_failed_generation = before.last_failed_generation.filter(sound);
                let error = before.last_failed_generation_error.clone().unwrap_or_default();
                progress.last_failed_generation_error = progress.last_failed_generation.map(|_| bounded_message(error));
            }
        }
        progress
    }
}

#[cfg(test)]
mod tests {
    use proptest::option::of;
    use proptest::prelude::*;

    use super::*;
    use crate::api::{MachineConfigNodeStatus, NameRef, PinnedImageSetSpec};
    use crate::pinned::SetFailure;

    fn set(name: &str, generation: i64) -> PinnedImageSet {
        let spec = PinnedImageSetSpec { pinned_images: vec![NameRef::new("r.example/a@sha256:0")] };
        let mut set = PinnedImageSet::new(name, spec);
        set.metadata.generation = Some(generation);
        set
    }

    /// Desired, current and failed generation.
    fn generations(progress: &PinnedImageSetProgress) -> [i32; 3] {
        [progress.desired_generation, progress.current_generation, progress.last_failed_generation]
            .map(Option::unwrap_or_default)
    }

    #[test]
    fn a_set_is_followed_through_failure_and_success() {
        let failures = vec![SetFailure { set: "s".to_owned(), reason: "why".to_owned() }];
        let report = Report { failures, ..Report::default() };
        let mut said = Vec::new();
        for (standing, expected) in [
            (Pinned::pulling(&[set("s", 1)]), [1, 0, 0]),
            (Pinned::reported(&[set("s", 1)], &report), [1, 0, 1]),
            (Pinned::pulling(&[set("s", 2)]), [2, 0, 1]),
            (Pinned::reported(&[set("s", 2)], &Report::default()), [2, 2, 0]),
            (Pinned::pulling(&[set("s", 3)]), [3, 2, 0]),
            (Pinned::failed(&[set("s", 3)], "why"), [3, 2, 3]),
            // Deleted and made anew.
            (Pinned::reported(&[set("s", 1)], &Report::default()), [3, 3, 0]),
            (Pinned::reported(&[set("s", 1)], &report), [3, 3, 3]),
        ] {
            said = standing.progress(&said);
            assert_eq!(generations(&said[0]), expected);
        }
        assert_eq!(said[0].last_failed_generation_error.as_deref(), Some("why"));
    }

    #[test]
    fn an_error_is_only_told_of_the_set_that_has_it() {
        let failures = vec![SetFailure { set: "b".to_owned(), reason: "why".to_owned() }];
        let standing = Pinned::reported(&[set("b", 1), set("a", 1)], &Report { failures, ..Report::default() });
        assert_eq!(standing.course, Course::Failed);
        let said = standing.progress(&[]);
        assert_eq!((generations(&said[0]), generations(&said[1])), ([1, 1, 0], [1, 0, 1]));
    }

    #[test]
    fn what_is_said_fits_into_the_status() {
        let sets: Vec<_> = (0..MAX_PINNED_IMAGE_SETS + 5).map(|index| set(&format!("s{index}"), i64::MAX)).collect();
        let standing = Pinned::failed(&sets, &"é".repeat(100_000));
        let status = MachineConfigNodeStatus { pinned_image_sets: standing.progress(&[]), ..Default::default() };
        assert_eq!((status.check(), status.pinned_image_sets.len()), (Ok(()), MAX_PINNED_IMAGE_SETS));
    }

    fn observed() -> impl Strategy<Value = PinnedImageSetProgress> {
        let generation = || of(1..6_i32);
        (generation(), generation(), of((1..6_i32, "[a-z]{0,3}"))).prop_map(|(desired, current, failed)| {
            PinnedImageSetProgress {
                name: "s".to_owned(),
                desired_generation: desired,
                current_generation: current,
                last_failed_generation: failed.as_ref().map(|(generation, _)| *generation),
                last_failed_generation_error: failed.map(|(_, error)| error),
            }
        })
    }

    fn standing() -> impl Strategy<Value = SetStanding> {
        let outcome = prop_oneof![
            Just(SetOutcome::Pending),
            Just(SetOutcome::Complete),
            Just(SetOutcome::Failed("why".to_owned()))
        ];
        (-2..8_i64, outcome).prop_map(|(generation, outcome)| SetStanding { name: "s".to_owned(), generation, outcome })
    }

    proptest! {
        #[test]
        fn generations_never_become_less_whatever_was_said(
            observed in of(observed()), standings in prop::collection::vec(standing(), 1..6)
        ) {
            let mut said: Vec<_> = observed.into_iter().collect();
            for standing in standings {
                let pinned = Pinned { course: Course::Pulling, sets: vec![standing] };
                let next = pinned.progress(&said);
                let status = MachineConfigNodeStatus { pinned_image_sets: next.clone(), ..Default::default() };
                prop_assert_eq!(status.check(), Ok(()));
                if let Some(before) = said.first() {
                    let pairs = [
                        (before.desired_generation, next[0].desired_generation),
                        (before.current_generation, next[0].current_generation),
                        (before.last_failed_generation, next[0].last_failed_generation),
                    ];
                    for (old, new) in pairs {
                        prop_assert!(old.zip(new).is_none_or(|(old, new)| new >= old));
                    }
                }
                prop_assert_eq!(pinned.progress(&next), next.clone(), "saying it again changes nothing");
                said = next;
            }
        }
    }
}
