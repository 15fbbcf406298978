//! What a node says of its pinned images, from the first pull to the last set that goes.

use super::*;
use crate::api::machine_config_node::PinnedImageSetProgress;
use crate::node::duties::{Course, Pinned, SetOutcome, SetStanding};

fn keeping(course: Course, sets: &[(&str, SetOutcome)]) -> Situation {
    let standing = |(name, outcome): &(&str, SetOutcome)| SetStanding {
        name: (*name).to_owned(),
        generation: 2,
        outcome: outcome.clone(),
    };
    let pinned = Pinned { course, sets: sets.iter().map(standing).collect() };
    Situation { duties: crate::node::Duties { pinned, ..Default::default() }, ..settled("n", "a") }
}

fn failed() -> SetOutcome {
    SetOutcome::Failed("manifest unknown".to_owned())
}

#[test]
fn the_course_is_told_in_the_words_of_the_machine_config_daemon() {
    let mut server = Server::new("n", "a");
    server.publish(&settled("n", "a"));
    for (situation, expected) in [
        (
            keeping(Course::Pulling, &[("s", SetOutcome::Pending)]),
            &["PinnedImageSetsProgressing True ImagePrefetch: node is prefetching images: n"][..],
        ),
        (
            keeping(Course::Failed, &[("s", failed())]),
            &[
                "PinnedImageSetsDegraded True PrefetchFailed: One or more PinnedImageSet is experiencing an error. See \
                 PinnedImageSet list for more details.",
                "PinnedImageSetsProgressing False PrefetchFailed: prefetching images failed and is tried again from time \
                 to time: n",
            ],
        ),
        (
            keeping(Course::Complete, &[("s", SetOutcome::Complete)]),
            &[
                "PinnedImageSetsDegraded False AsExpected: All is good",
                "PinnedImageSetsProgressing False AsExpected: All pinned image sets complete",
            ],
        ),
        (keeping(Course::Untold, &[]), &[]),
        (settled("n", "a"), &[]),
    ] {
        let before = server.conditions();
        server.publish(&situation);
        assert_eq!(changed(&before, &server.conditions()), expected);
        assert!(server.publish(&situation).is_empty());
    }
    assert!(server.deleted.is_empty());
    let sets = server.object.status.unwrap().pinned_image_sets;
    let expected = PinnedImageSetProgress {
        name: "s".to_owned(),
        current_generation: Some(2),
        desired_generation: Some(2),
        ..PinnedImageSetProgress::default()
    };
    assert_eq!(sets, [expected]);
}

#[test]
fn a_node_that_never_kept_images_is_not_spoken_of() {
    let mut server = Server::new("n", "a");
    server.publish(&settled("n", "a"));
    assert!(server.publish(&keeping(Course::Complete, &[])).is_empty());
}

#[test]
fn the_last_set_that_goes_leaves_nothing_behind() {
    let mut server = Server::new("n", "a");
    server.publish(&keeping(Course::Failed, &[("s", failed()), ("t", SetOutcome::Complete)]));
    // The controller has read everything and owns it from then on.
    server.controller(server.conditions(), &[("Cordoned", "True", "R", "")]);
    server.publish(&keeping(Course::Complete, &[]));
    assert_eq!(server.open(), ["Updated"]);
    assert!(server.object.status.unwrap().pinned_image_sets.is_empty());
}

#[test]
fn what_the_end_of_an_update_blanks_is_said_again() {
    let mut server = Server::new("n", "a");
    let pulling = keeping(Course::Pulling, &[("s", SetOutcome::Pending)]);
    server.publish(&pulling);
    let rows = [("PinnedImageSetsProgressing", "False", "ImagePrefetch", "Action during update to a: x")];
    server.controller(server.conditions(), &rows);
    server.publish(&pulling);
    assert!(server.open().contains(&"PinnedImageSetsProgressing".to_owned()));
}
