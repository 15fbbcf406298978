use super::*;
use crate::node::publication::tests::{at, failing, settled, update};
use crate::node::situation::TroubleKind;
use crate::node::view::ConfigRef;
use proptest::prelude::*;

fn view(pairs: &[(&str, &str)]) -> NodeView {
    let annotations = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    NodeView::new("worker-0", "uid", false, &annotations)
}

fn at_rest() -> NodeView {
    let names = [(keys::CURRENT_CONFIG, "a"), (keys::DESIRED_CONFIG, "a")];
    view(&[names.as_slice(), &[(keys::STATE, "Done"), (keys::REASON, "")]].concat())
}

fn with(mut view: NodeView, pairs: &[(&str, &str)]) -> NodeView {
    view.annotations.extend(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    view
}

fn lines(situation: &Situation, view: &NodeView) -> Vec<String> {
    let short = |key: &str| key.rsplit('/').next().unwrap().to_owned();
    let line = |(key, value): (&str, Option<String>)| match value {
        Some(text) => format!("{}={text}", short(key)),
        None => format!("-{}", short(key)),
    };
    annotations(situation, view).into_iter().map(line).collect()
}

#[test]
fn a_node_without_annotations_gets_everything_that_is_known_but_what_it_is_to_reach() {
    let mut situation = settled("worker-0", "a");
    assert_eq!(lines(&situation, &view(&[])), ["currentConfig=a", "reason=", "state=Done"]);
    situation.current = ConfigRef::from_texts(Some("a"), Some("i"));
    situation.finalization_failure = Some("error: no space".into());
    let expected = [
        "currentConfig=a",
        "currentImage=i",
        "ostree-finalize-staged-failure=error: no space",
        "reason=",
        "state=Done",
    ];
    assert_eq!(lines(&situation, &view(&[])), expected);
}

#[test]
fn what_the_machine_was_installed_from_is_told_once_and_never_taken_back() {
    let told = with(at_rest(), &[(keys::BOOT_IMAGE, "9.6.20250930-0")]);
    let mut situation = settled("worker-0", "a");
    assert_eq!(lines(&situation, &told), [""; 0], "a machine that does not say it takes nothing back");
    situation.boot_image = Some("9.6.20250930-0".into());
    assert_eq!(lines(&situation, &at_rest()), ["boot-image-version=9.6.20250930-0"]);
    assert_eq!(lines(&situation, &told), [""; 0]);
}

#[test]
fn only_what_differs_is_sent_and_what_is_over_is_blanked_or_deleted() {
    let situation = settled("worker-0", "a");
    for (pairs, expected) in [
        (vec![], vec![]),
        (vec![(keys::STATE, "Working"), (keys::REASON, "r")], vec!["reason=", "state=Done"]),
        (vec![(keys::CURRENT_CONFIG, "z")], vec!["currentConfig=a"]),
        (vec![(keys::CURRENT_IMAGE, "i")], vec!["-currentImage"]),
        (vec![(keys::CURRENT_IMAGE, "")], vec!["-currentImage"]),
        (vec![(keys::DESIRED_IMAGE, "i")], vec!["-desiredImage"]),
        (vec![(keys::DESIRED_IMAGE, "i"), (keys::DESIRED_CONFIG, "b")], vec![]),
        (vec![(keys::POST_CONFIG_ACTION, "Rebooting")], vec!["post-config-action="]),
        (vec![(keys::POST_CONFIG_ACTION, "")], vec![]),
        (vec![(keys::FINALIZE_FAILURE, "error: x")], vec!["ostree-finalize-staged-failure="]),
        (vec![(keys::FINALIZE_FAILURE, "")], vec![]),
        (vec![(keys::CORDONED_BEFORE, "true")], vec!["-cordoned-before-drain"]),
        (vec![(keys::HOLD, "r"), (keys::DESIRED_DRAIN, "uncordon-a")], vec![]),
    ] {
        assert_eq!(lines(&situation, &with(at_rest(), &pairs)), expected, "{pairs:?}");
    }
}

#[test]
fn every_phase_has_a_state_and_trouble_wins_over_it() {
    for (phase, expected) in [
        (Phase::Settled, vec![]),
        (Phase::Considering, vec!["state=Working"]),
        (Phase::Refused, vec!["state=Working"]),
        (Phase::Held, vec!["state=Working"]),
        (Phase::Draining, vec!["state=Working"]),
        (Phase::Executing, vec!["state=Working"]),
        (Phase::Restarting, vec!["post-config-action=Rebooting", "state=Working"]),
        (Phase::Proving, vec!["state=Working"]),
        (Phase::Completing, vec!["state=Working"]),
    ] {
        let mut situation = Situation { phase, update: Some(update()), verdict: at(phase), ..settled("worker-0", "a") };
        assert_eq!(lines(&situation, &at_rest()), expected, "{phase:?}");
        for (kind, state) in [(TroubleKind::Degraded, "Degraded"), (TroubleKind::Unreconcilable, "Unreconcilable")] {
            situation.verdict = failing(kind, "why");
            let sent = annotations(&situation, &at_rest());
            assert_eq!((sent[keys::STATE].as_deref(), sent[keys::REASON].as_deref()), (Some(state), Some("why")));
        }
    }
}

#[test]
fn the_record_wins_on_the_way_too_and_a_desired_image_waits_for_the_end() {
    let situation = Situation { phase: Phase::Executing, verdict: at(Phase::Executing), ..settled("worker-0", "a") };
    let observed = with(
        at_rest(),
        &[(keys::STATE, "Working"), (keys::CURRENT_CONFIG, "z"), (keys::CURRENT_IMAGE, "i"), (keys::DESIRED_IMAGE, "")],
    );
    assert_eq!(lines(&situation, &observed), ["currentConfig=a", "-currentImage"]);
    let unknown = Situation { current: None, ..situation };
    assert!(lines(&unknown, &observed).is_empty());
}

#[test]
fn a_drain_is_asked_for_once_and_who_cordoned_is_told_only_then() {
    let ask = |cordoned| Some(DrainRequest::Drain { config: "b".into(), cordoned });
    let uncordon = || Some(DrainRequest::Uncordon { request: "uncordon-b".into() });
    let withdraw = || Some(DrainRequest::Withdraw { request: "drain-b/withdrawn".into() });
    let withdrawn = ["desiredDrain=drain-b/withdrawn", "lastAppliedDrain=drain-b/withdrawn"];
    let (mark, asked) = ((keys::CORDONED_BEFORE, "true"), (keys::DESIRED_DRAIN, "drain-b"));
    let drained = (keys::LAST_APPLIED_DRAIN, "drain-b");
    for (request, pairs, expected) in [
        (None, vec![mark], vec!["-cordoned-before-drain"]),
        (None, vec![mark, asked], vec![]),
        (None, vec![mark, asked, drained], vec![]),
        (ask(true), vec![], vec!["desiredDrain=drain-b", "cordoned-before-drain=true"]),
        (ask(true), vec![mark], vec!["desiredDrain=drain-b"]),
        (ask(false), vec![mark], vec!["desiredDrain=drain-b", "-cordoned-before-drain"]),
        (ask(false), vec![], vec!["desiredDrain=drain-b"]),
        (ask(true), vec![asked], vec![]),
        (ask(false), vec![asked, mark], vec![]),
        (ask(false), vec![asked, mark, drained], vec![]),
        (withdraw(), vec![asked, mark], vec![withdrawn[0], withdrawn[1]]),
        (withdraw(), vec![(keys::DESIRED_DRAIN, "drain-b/withdrawn"), mark, drained], vec![withdrawn[1]]),
        (uncordon(), vec![asked, mark], vec!["desiredDrain=uncordon-b", "-cordoned-before-drain"]),
    ] {
        let verdict = at(Phase::Draining);
        let situation =
            Situation { phase: Phase::Draining, drain: request.clone(), verdict, ..settled("worker-0", "a") };
        let observed = with(with(at_rest(), &[(keys::STATE, "Working")]), &pairs);
        assert_eq!(lines(&situation, &NodeView { cordoned: true, ..observed }), expected, "{request:?} {pairs:?}");
    }
    // Somebody has uncordoned the node: a cordon from now on is not theirs.
    let observed = with(at_rest(), &[mark, asked, drained]);
    assert_eq!(lines(&settled("worker-0", "a"), &observed), ["-cordoned-before-drain"]);
}

#[test]
fn a_long_reason_is_cut_at_a_character_and_says_so() {
    for (length, cut) in [(keys::MAX_REASON - 1, false), (keys::MAX_REASON, false), (keys::MAX_REASON + 1, true)] {
        let text = bounded(&"é".repeat(length));
        assert_eq!((text.chars().count(), text.ends_with(CUT)), (length.min(keys::MAX_REASON), cut), "{length}");
    }
}

#[test]
fn a_node_that_its_cluster_does_not_know_is_introduced_once_and_only_where_nobody_has_spoken() {
    let told = serde_json::json!({
        keys::CURRENT_CONFIG: "installed", keys::DESIRED_CONFIG: "b", keys::FIRST_PIVOT_CONFIG: "installed",
        keys::DESIRED_IMAGE: "i", keys::STATE: "Done",
    });
    let bootstrap = crate::bootstrap::Bootstrap::parse(told.to_string().as_bytes());
    let situation = Situation { bootstrap: Some(bootstrap), desired: None, ..settled("worker-0", "a") };
    let own = ["currentConfig=a", "reason=", "state=Done"];
    for (observed, expected) in [
        (view(&[]), vec![own[0], "desiredConfig=b", "desiredImage=i", "firstPivotConfig=installed", own[1], own[2]]),
        (view(&[(keys::DESIRED_CONFIG, "c")]), vec![own[0], "firstPivotConfig=installed", own[1], own[2]]),
        (view(&[(keys::CURRENT_CONFIG, "z")]), own.to_vec()),
    ] {
        assert_eq!(lines(&situation, &observed), expected, "{observed:?}");
    }
}

proptest! {
    #[test]
    fn nothing_is_left_to_send_once_it_is_there(
        phase in crate::node::publication::tests::phase(),
        reason in proptest::option::of(".{0,40}"),
        failure in proptest::option::of(".{0,40}"),
        drain in proptest::option::of(any::<Option<bool>>()),
        unschedulable in any::<bool>(),
        observed in proptest::collection::btree_map(
            proptest::sample::select(vec![
                keys::STATE, keys::REASON, keys::CURRENT_CONFIG, keys::CURRENT_IMAGE, keys::DESIRED_CONFIG,
                keys::DESIRED_IMAGE, keys::POST_CONFIG_ACTION, keys::FINALIZE_FAILURE, keys::DESIRED_DRAIN,
                keys::CORDONED_BEFORE,
            ]).prop_map(str::to_owned),
            "(|a|b|true|drain-b|Done)",
            0..10,
        ),
    ) {
        let situation = Situation {
            phase,
            verdict: reason.map_or_else(|| at(phase), |reason| failing(TroubleKind::Degraded, &reason)),
            finalization_failure: failure,
            drain: drain.map(|cordoned| match cordoned {
                Some(cordoned) => DrainRequest::Drain { config: "b".into(), cordoned: cordoned && unschedulable },
                None => DrainRequest::Uncordon { request: "uncordon-b".into() },
            }),
            ..settled("worker-0", "a")
        };
        let mut view = NodeView::new("worker-0", "uid", unschedulable, &observed);
        let sent = annotations(&situation, &view);
        prop_assert!(!sent.contains_key(keys::DESIRED_CONFIG));
        for (key, value) in sent {
            match value {
                Some(text) => view.annotations.insert(key.to_owned(), text),
                None => view.annotations.remove(key),
            };
        }
        prop_assert!(annotations(&situation, &view).is_empty());
    }
}
