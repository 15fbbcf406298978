//! Whole updates, phase by phase, to be compared with what the machine-config-daemon and the controller say.

use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;

use super::server::{Row, Server, changed};
use super::*;
use crate::api::machine_config_node::SpecConfigImage;
use crate::disruption::Action;
use crate::node::situation::{Phase, TroubleKind, Update};
use crate::node::view::ConfigRef;
use crate::verdict::{Reason, Verdict};

mod courses;
mod pinned;

/// A node that is where it is to be.
pub(super) fn settled(node: &str, config: &str) -> Situation {
    Situation {
        node: node.to_owned(),
        current: Some(ConfigRef::new(config)),
        desired: Some(ConfigRef::new(config)),
        phase: Phase::Settled,
        update: None,
        verdict: Verdict::default(),
        drain: None,
        irreconcilable: Irreconcilable::Untold,
        finalization_failure: None,
        bootstrap: None,
        boot_image: None,
        staged_for: None,
        duties: crate::node::Duties::default(),
    }
}

/// The verdict on a node that is so far and in no trouble.
pub(super) fn at(phase: Phase) -> Verdict {
    let config = "b".to_owned();
    Verdict::from_reasons((phase != Phase::Settled).then_some(Reason::Applying { config }))
}

/// The verdict on a node that cannot go on.
pub(super) fn failing(kind: TroubleKind, reason: &str) -> Verdict {
    let (config, reason) = ("b".to_owned(), reason.to_owned());
    Verdict::from_reasons([Reason::Refused { config, kind, reason }])
}

/// An update with a restart.
pub(super) fn update() -> Update {
    Update {
        from: "a".to_owned(),
        to: ConfigRef::new("b"),
        actions: vec![Action::Reboot],
        drain: true,
        os: true,
        keys: false,
        reboot: true,
    }
}

/// Any phase.
pub(super) fn phase() -> impl Strategy<Value = Phase> {
    let (begin, change) = ([Phase::Settled, Phase::Considering, Phase::Refused], [Phase::Held, Phase::Draining]);
    let rest = [Phase::Executing, Phase::Restarting, Phase::Proving, Phase::Completing];
    select([begin.as_slice(), &change, &rest].concat())
}

fn on_the_way(phase: Phase, update: Option<Update>) -> Situation {
    let desired = Some(ConfigRef::new("b"));
    let arrived = phase == Phase::Completing;
    let verdict = at(phase);
    Situation { phase, update, desired, verdict, ..settled("n", if arrived { "b" } else { "a" }) }
}

fn in_trouble(situation: Situation, kind: TroubleKind, reason: &str) -> Situation {
    Situation { verdict: failing(kind, reason), ..situation }
}

/// A server with a node at rest in `a`, which is to update to `b`.
fn at_rest() -> Server {
    let mut server = Server::new("n", "b");
    server.publish(&settled("n", "a"));
    server
}

fn publishes(server: &mut Server, situation: &Situation, letters: &str, expected: &[&str]) {
    let before = server.conditions();
    server.publish(situation);
    assert_eq!(changed(&before, &server.conditions()), expected, "{:?}", situation.phase);
    assert_eq!(server.letters(), letters, "{:?}", situation.phase);
    let again = server.publish(situation);
    assert!(again.is_empty(), "{:?}: {again:?}", situation.phase);
    assert!(server.deleted.is_empty(), "{:?}", server.deleted);
}

fn controls(server: &mut Server, rows: &[Row<'_>]) {
    let read = server.conditions();
    server.controller(read, rows);
}

#[test]
fn the_first_write_makes_every_known_condition_and_a_later_one_leaves_those_of_others() {
    let mut server = Server::new("n", "a");
    publishes(
        &mut server,
        &settled("n", "a"),
        "FFFFFFFFFTFFFF",
        &[
            "UpdatePrepared False NotYetOccurred: This node has not yet entered the UpdatePrepared phase",
            "UpdateExecuted False NotYetOccurred: This node has not yet entered the UpdateExecuted phase",
            "UpdatePostActionComplete False NotYetOccurred: \
             This node has not yet entered the UpdatePostActionComplete phase",
            "UpdateComplete False NotYetOccurred: This node has not yet entered the UpdateComplete phase",
            "Resumed False NotYetOccurred: This node has not yet entered the Resumed phase",
            "Drained False NotYetOccurred: This node has not yet entered the Drained phase",
            "AppliedFilesAndOS False NotYetOccurred: This node has not yet entered the AppliedFilesAndOS phase",
            "Cordoned False NotYetOccurred: This node has not yet entered the Cordoned phase",
            "RebootedNode False NotYetOccurred: This node has not yet entered the RebootedNode phase",
            "Updated True Updated: Node n Updated",
            "Uncordoned False NotYetOccurred: This node has not yet entered the Uncordoned phase",
            "NodeDegraded False NotYetOccurred: This node has not yet entered the NodeDegraded phase",
            "PinnedImageSetsDegraded False NotYetOccurred: \
             This node has not yet entered the PinnedImageSetsDegraded phase",
            "PinnedImageSetsProgressing False NotYetOccurred: \
             This node has not yet entered the PinnedImageSetsProgressing phase",
        ],
    );
    controls(&mut server, &[("PinnedImageSetsDegraded", "True", "PrefetchFailed", "One or more")]);
    assert!(server.publish(&settled("n", "a")).is_empty());
    server.publish(&on_the_way(Phase::Considering, None));
    assert_eq!(server.open(), ["PinnedImageSetsDegraded"]);
    assert!(server.deleted.is_empty());
}

#[test]
fn an_object_with_conditions_gets_ours_and_none_of_others() {
    let mut server = Server::new("n", "a");
    server.publish(&settled("n", "a"));
    let mut read = server.conditions();
    read.retain(|condition| condition.type_ == "Updated");
    let mut server = Server::new("n", "a");
    server.controller(read, &[("InternalReleaseImageDegraded", "True", "RegistryUnreachable", "m")]);
    server.publish(&settled("n", "a"));
    assert_eq!(server.open(), ["Updated", "InternalReleaseImageDegraded"]);
    assert_eq!(server.conditions().len(), 13);
}

#[test]
fn a_gate_that_is_switched_changes_only_the_types_that_it_is_about() {
    let mut server = at_rest();
    let read = server.conditions();
    server.gates.image_mode = true;
    server.publish(&settled("n", "a"));
    assert_eq!(server.conditions().len(), read.len() + 3);
    server.controller(read, &[]);
    assert!(server.publish(&settled("n", "a")).is_empty());
    server.gates.image_mode = false;
    server.publish(&on_the_way(Phase::Considering, None));
    assert!(server.deleted.is_empty(), "{:?}", server.deleted);
}

#[test]
fn a_gate_that_is_switched_in_the_middle_of_an_update_ends_conditions_that_others_own_too() {
    for image_mode in [false, true] {
        let mut server = at_rest();
        server.gates.image_mode = image_mode;
        server.publish(&on_the_way(Phase::Considering, None));
        // The controller owns every field, and then we take the times.
        controls(&mut server, &[]);
        server.publish(&on_the_way(Phase::Executing, Some(update())));
        server.gates.image_mode = !image_mode;
        let executing = on_the_way(Phase::Executing, Some(update()));
        server.publish(&executing);
        assert!(server.publish(&executing).is_empty());
        let left: Vec<&str> = known::without(!image_mode).collect();
        assert!(server.open().iter().all(|open| !left.contains(&open.as_str())), "{:?}", server.open());
        assert!(server.deleted.is_empty(), "{:?}", server.deleted);
    }
}

#[test]
fn times_change_with_the_status_and_with_nothing_else() {
    let mut server = at_rest();
    let time = |server: &Server, type_: &str| {
        server.conditions().into_iter().find(|c| c.type_ == type_).unwrap().last_transition_time
    };
    let (at_first, degraded) = (time(&server, "Updated"), time(&server, "NodeDegraded"));
    server.publish(&on_the_way(Phase::Considering, None));
    let considered = time(&server, "Updated");
    assert!(considered > at_first);
    let completing = on_the_way(Phase::Completing, Some(update()));
    server.publish(&completing);
    assert_eq!((time(&server, "Updated"), time(&server, "NodeDegraded")), (considered, degraded));
}

#[test]
fn the_generation_is_followed_and_never_goes_back() {
    let mut server = at_rest();
    let observed = |server: &Server| server.object.status.as_ref().unwrap().observed_generation;
    assert_eq!(observed(&server), Some(2));
    server.object.metadata.generation = Some(5);
    assert!(server.publish(&settled("n", "a")).own.is_some());
    assert_eq!(observed(&server), Some(6));
    server.object.metadata.generation = Some(3);
    assert!(server.publish(&settled("n", "a")).is_empty());
    server.object.metadata.generation = Some(i64::MAX);
    server.publish(&settled("n", "a"));
    assert_eq!(observed(&server), Some(i64::MAX));
}

#[test]
fn irreconcilable_changes_are_told_once_and_kept_where_nothing_is_told() {
    let change = |path: &str| IrreconcilableChange::new(path, "d").unwrap();
    let (one, other) = (change("spec.a"), change("spec.b"));
    let both = vec![one.clone(), other.clone()];
    let told = |changes: &[IrreconcilableChange]| Irreconcilable::Changes(changes.to_vec());
    for (open, observed, said, expected) in [
        (true, vec![], Irreconcilable::Untold, IrreconcilableWrite::Keep),
        (true, both.clone(), Irreconcilable::Untold, IrreconcilableWrite::Keep),
        (true, vec![], told(&[]), IrreconcilableWrite::Keep),
        (true, both.clone(), told(&[]), IrreconcilableWrite::Clear),
        (true, both.clone(), told(&[other, one.clone()]), IrreconcilableWrite::Keep),
        (true, both.clone(), told(std::slice::from_ref(&one)), IrreconcilableWrite::Set(vec![one.clone()])),
        (true, vec![], told(std::slice::from_ref(&one)), IrreconcilableWrite::Set(vec![one.clone()])),
        (false, vec![], told(&[one]), IrreconcilableWrite::Keep),
        (false, both, told(&[]), IrreconcilableWrite::Keep),
    ] {
        let mut server = at_rest();
        server.gates.irreconcilable = open;
        server.object.status.as_mut().unwrap().irreconcilable_changes = observed;
        let situation = Situation { irreconcilable: said, ..settled("n", "a") };
        let change = server.publish(&situation);
        assert_eq!((change.irreconcilable, change.own), (expected, None), "{situation:?}");
        assert!(server.publish(&situation).is_empty());
    }
}

#[test]
fn a_node_without_an_object_says_everything_at_once() {
    let now = Time(Timestamp::UNIX_EPOCH);
    let change = status(&settled("n", "a"), &MachineConfigNode::new("n", Default::default()), Gates::default(), &now);
    let whole = change.applied_to(&MachineConfigNodeStatus::default());
    let types: Vec<&str> = whole.conditions.iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(types.len(), 14);
    assert!(types.is_sorted_by_key(|type_| known::position(type_)));
    assert_eq!(whole.observed_generation, Some(1));
    assert_eq!(whole.config_version.unwrap().desired, "a");
}

#[test]
fn what_ends_says_which_update_it_belonged_to() {
    let image = format!("r.example.com/os@sha256:{}", "0".repeat(64));
    for (gate, wanted, current, expected) in [
        (false, Some(&image), None, "b".to_owned()),
        (true, None, None, "b".to_owned()),
        (true, Some(&image), Some(&image), "b".to_owned()),
        (true, Some(&image), None, image.clone()),
        (true, None, Some(&image), "disable image mode".to_owned()),
    ] {
        let mut server = at_rest();
        server.gates.image_mode = gate;
        server.object.spec.config_image = wanted.map(|image| SpecConfigImage { desired_image: image.clone() });
        server.object.status.as_mut().unwrap().config_image =
            current.map(|image| crate::api::machine_config_node::StatusConfigImage {
                current_image: Some(image.clone()),
                desired_image: None,
            });
        controls(&mut server, &[("Uncordoned", "True", "UpdateCompleteUncordoned", "old")]);
        server.publish(&on_the_way(Phase::Considering, None));
        let conditions = server.conditions();
        let uncordoned = conditions.iter().find(|condition| condition.type_ == "Uncordoned").unwrap();
        assert_eq!(uncordoned.message, format!("Action during update to {expected}: old"));
        assert_eq!((uncordoned.status.as_str(), uncordoned.reason.as_str()), ("False", "UpdateCompleteUncordoned"));
    }
}

#[test]
fn post_config_actions_are_reported_by_service() {
    let (reload, restart) =
        (|unit: &str| Action::Reload(unit.to_owned()), |unit: &str| Action::Restart(unit.to_owned()));
    let update = |actions: &[Action]| Update { actions: actions.to_vec(), drain: false, reboot: false, ..update() };
    for (actions, expected) in [
        (vec![], "None: Changes do not require a reboot"),
        (vec![Action::None], "None: Changes do not require a reboot"),
        (vec![Action::None, Action::Drain], "None: Changes do not require a reboot"),
        (vec![reload("crio.service")], "UpdatePostActionComplete: Node has reloaded service crio.service"),
        (vec![Action::Special], "UpdatePostActionComplete: Node has reloaded service crio"),
        (vec![Action::DaemonReload], "UpdatePostActionComplete: Node has reloaded service daemon-reload"),
        (
            vec![reload("a.service"), restart("b.service")],
            "UpdatePostActionComplete: Node has reloaded service a.service; Node has restarted service b.service",
        ),
    ] {
        let mut server = at_rest();
        server.publish(&on_the_way(Phase::Completing, Some(update(&actions))));
        let conditions = server.conditions();
        let told = conditions.iter().find(|condition| condition.type_ == "UpdatePostActionComplete").unwrap();
        assert_eq!(format!("{}: {}", told.reason, told.message), expected);
    }
}

#[test]
fn an_update_that_waits_for_merged_policies_says_so_until_it_goes_on() {
    let mut server = at_rest();
    let verdict = Verdict::from_reasons([Reason::PoliciesUnmerged { config: "b".to_owned() }]);
    server.publish(&Situation { verdict, ..on_the_way(Phase::Considering, None) });
    let prepared = |server: &Server| server.conditions().into_iter().find(|c| c.type_ == "UpdatePrepared").unwrap();
    let waiting = prepared(&server);
    assert_eq!((waiting.status.as_str(), waiting.reason.as_str()), ("False", "WaitingForPolicies"));
    assert!(waiting.message.contains("the machine-config-operator to merge"), "{}", waiting.message);
    server.publish(&on_the_way(Phase::Draining, Some(update())));
    assert_eq!(prepared(&server).status, "True");
}

#[test]
fn an_update_that_was_taken_back_is_not_said_to_have_changed_anything() {
    for image_mode in [false, true] {
        let mut server = at_rest();
        server.gates.image_mode = image_mode;
        for phase in [Phase::Considering, Phase::Draining, Phase::Executing, Phase::Restarting, Phase::Executing] {
            server.publish(&on_the_way(phase, Some(update())));
        }
        let uncordoned = Situation { phase: Phase::Completing, update: Some(update()), ..settled("n", "a") };
        server.publish(&Situation { verdict: at(Phase::Completing), ..uncordoned });
        let told = ["UpdatePrepared", "Resumed"];
        let open: Vec<String> = server.open().into_iter().filter(|type_| !told.contains(&type_.as_str())).collect();
        assert!(open.is_empty(), "{open:?}");
    }
}
