//! What holds for every situation and for every order in which we and the controller write.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::server::{Row, Server};
use super::tests::{at, failing, phase, settled};
use super::*;
use crate::api::machine_config_node::{MAX_CONDITION_MESSAGE, MAX_CONDITIONS};
use crate::disruption::Action;
use crate::ignition::{Config, Section};
use crate::node::duties::{Course, Duties, Pinned, SetOutcome, SetStanding};
use crate::node::situation::{Phase, TroubleKind, Update};
use crate::node::view::ConfigRef;
use crate::verdict::State;
use known::Writer;

/// What the controller writes.
const ROWS: [Row<'static>; 7] = [
    ("UpdateExecuted", "Unknown", "Cordoned", "Cordoned Node as part of update executed phase"),
    ("Cordoned", "True", "UpdateExecutedCordoned", "Cordoned node."),
    ("Drained", "Unknown", "UpdateExecutedDrained", "Draining node."),
    ("Drained", "True", "UpdateExecutedDrained", "Drained node."),
    ("UpdateComplete", "True", "Uncordoned", "Uncordoned Node as part of completing upgrade phase"),
    ("Uncordoned", "True", "UpdateCompleteUncordoned", "UnCordoned node."),
    ("PinnedImageSetsDegraded", "True", "PrefetchFailed", "One or more PinnedImageSet is experiencing an error."),
];

fn text() -> impl Strategy<Value = String> {
    let long = (MAX_CONDITION_MESSAGE - 50..MAX_CONDITION_MESSAGE + 50).prop_map(|length| "é".repeat(length));
    prop_oneof![9 => "[a-z0-9 .-]{0,12}", 3 => ".{0,20}", 1 => long]
}

fn config() -> impl Strategy<Value = ConfigRef> {
    (prop_oneof![Just("a".to_owned()), Just("b".to_owned()), text()], of(text()))
        .prop_map(|(config, image)| ConfigRef { config, image })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        select(vec![Action::None, Action::Drain, Action::DaemonReload, Action::Special, Action::Reboot]),
        text().prop_map(Action::Reload),
        text().prop_map(Action::Restart),
    ]
}

fn update() -> impl Strategy<Value = Update> {
    (text(), config(), vec(action(), 0..4), any::<[bool; 4]>()).prop_map(|(from, to, actions, flags)| {
        let [drain, os, keys, reboot] = flags;
        Update { from, to, actions, drain, os, keys, reboot }
    })
}

fn pinned() -> impl Strategy<Value = Pinned> {
    let outcome =
        prop_oneof![Just(SetOutcome::Pending), Just(SetOutcome::Complete), text().prop_map(SetOutcome::Failed)];
    let set = (select(vec!["s", "t"]), 0..4_i64, outcome).prop_map(|(name, generation, outcome)| SetStanding {
        name: name.to_owned(),
        generation,
        outcome,
    });
    let course = select(vec![Course::Untold, Course::Pulling, Course::Complete, Course::Failed]);
    (course, vec(set, 0..3)).prop_map(|(course, sets)| Pinned { course, sets })
}

fn situation() -> impl Strategy<Value = Situation> {
    let kind = select(vec![TroubleKind::Degraded, TroubleKind::Unreconcilable]);
    let trouble = (kind, text()).prop_map(|(kind, reason)| failing(kind, &reason));
    (phase(), of(config()), of(config()), of(update()), of(trouble), pinned()).prop_map(
        |(phase, current, desired, update, trouble, pinned)| Situation {
            phase,
            current,
            desired,
            update,
            verdict: trouble.unwrap_or_else(|| at(phase)),
            duties: Duties { pinned, ..Duties::default() },
            ..settled("n", "a")
        },
    )
}

/// What happens next.
#[derive(Clone, Debug)]
enum Next {
    Publish(Box<Situation>),
    /// The controller reads what it will send later.
    Reads,
    /// The controller sends what it has read last, with a row of its own.
    Sends(usize),
}

fn next() -> impl Strategy<Value = Next> {
    prop_oneof![
        3 => situation().prop_map(|situation| Next::Publish(Box::new(situation))),
        1 => Just(Next::Reads),
        2 => (0..ROWS.len()).prop_map(Next::Sends),
    ]
}

/// The statuses that are ours alone.
fn daemon(server: &Server) -> Vec<(String, String)> {
    let ours = |type_: &str| known::types(Writer::Daemon, server.gates.image_mode).any(|known| known == type_);
    server.conditions().into_iter().filter(|condition| ours(&condition.type_)).map(|c| (c.type_, c.status)).collect()
}

proptest! {
    #[test]
    fn nothing_is_deleted_limits_hold_and_what_is_published_needs_no_second_time(
        course in vec(next(), 1..12),
        image_mode in any::<bool>(),
    ) {
        let mut server = Server::new("n", "b");
        server.gates.image_mode = image_mode;
        let mut read = Vec::new();
        for next in course {
            match next {
                Next::Reads => read = server.conditions(),
                Next::Sends(row) => server.controller(read.clone(), &ROWS[row..=row]),
                Next::Publish(situation) => {
                    server.publish(&situation);
                    let again = server.publish(&situation);
                    prop_assert!(again.is_empty(), "{situation:?} {again:?}");
                    let rests = situation.verdict.state() == State::UpToDate;
                    let open: Vec<String> = server.open().into_iter().filter(|type_| !type_.starts_with("Pin")).collect();
                    prop_assert!(!rests || open == ["Updated"], "{open:?}");
                }
            }
            prop_assert!(server.deleted.is_empty(), "{:?}", server.deleted);
        }
    }

    #[test]
    fn a_stale_write_of_the_controller_is_repaired_and_its_own_words_stay(
        before in situation(),
        after in situation(),
        row in 0..ROWS.len(),
    ) {
        let planned = |situation: Situation| Situation {
            update: Some(super::tests::update()), verdict: at(situation.phase), ..situation
        };
        let (before, after) = (planned(before), planned(after));
        let mut server = Server::new("n", "b");
        server.publish(&before);
        let read = server.conditions();
        server.publish(&after);
        let ours = daemon(&server);
        server.controller(read, &ROWS[row..=row]);
        server.publish(&after);
        prop_assert_eq!(daemon(&server), ours);
        let (type_, status, ..) = ROWS[row];
        let spoken = matches!(after.phase, Phase::Executing | Phase::Restarting | Phase::Proving | Phase::Completing)
            && type_ == known::UPDATE_EXECUTED;
        let ours = type_ == known::PINNED_DEGRADED && after.duties.pinned.course != Course::Untold;
        if !ours && (after.phase == Phase::Draining || (after.phase == Phase::Completing && !spoken)) {
            let stays = server.conditions().iter().any(|stored| stored.type_ == type_ && stored.status == status);
            prop_assert!(stays, "{:?}", server.conditions());
        }
    }

    #[test]
    fn the_order_of_parts_does_not_matter_to_the_result(situation in situation()) {
        let mut server = Server::new("n", "b");
        let change = server.publish(&situation);
        let whole = change.applied_to(&MachineConfigNodeStatus::default());
        prop_assert_eq!(whole.check(), Ok(()));
        let mut stored = server.object.status.clone().unwrap();
        stored.conditions.sort_by_key(|condition| known::position(&condition.type_));
        prop_assert_eq!(whole, stored);
    }
}

#[test]
fn every_known_condition_and_those_of_others_fit_into_the_list() {
    for image_mode in [false, true] {
        let writers = [Writer::Daemon, Writer::Controller, Writer::Others];
        let count: usize = writers.iter().map(|writer| known::types(*writer, image_mode).count()).sum();
        // Up to three of the other gate's may still be there, and those who serve release images have one.
        assert!(count + 4 <= MAX_CONDITIONS, "{count}");
    }
}

#[test]
fn reports_of_irreconcilable_changes_are_within_the_limits() {
    let config = |disks: usize| {
        let disk = |index| json!({"device": format!("/dev/disk/by-id/{index}"), "wipeTable": index % 2 == 0});
        let disks: Vec<_> = (0..disks).map(disk).collect();
        Config { disks: Section::from(Value::from(disks)), ..Config::default() }
    };
    let irreconcilable_changes = crate::irreconcilable::report(&config(100), &config(3));
    assert!(!irreconcilable_changes.is_empty());
    assert_eq!(MachineConfigNodeStatus { irreconcilable_changes, ..Default::default() }.check(), Ok(()));
}
