//! Ostler's own checks accept a node's status exactly when the cluster does.

use super::{NODES, crd, machine_config_node};
use ostler_core::api::machine_config_node::{self as node, PinnedImageSetProgress, StatusConfigVersion};
use ostler_core::api::{Condition, IrreconcilableChange, MachineConfigNode, MachineConfigNodeStatus, Time};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use regex::Regex;
use serde_json::to_value;

/// Mostly `good`, now and then `odd`, so that whole statuses are accepted about as often as refused.
fn mostly(good: &'static str, odd: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    prop_oneof![30 => good, 1 => odd].boxed()
}

/// Text just within and just beyond a limit, of letters that take more than a byte or one.
fn around(start: &'static str, letter: &'static str, limit: usize) -> impl Strategy<Value = String> {
    select(vec![limit, limit + 1]).prop_map(move |length| start.to_owned() + &letter.repeat(length - start.len()))
}

/// Names just within and just beyond the limit; of short labels, since the evaluator of rules is too strict with long ones.
fn long_name() -> impl Strategy<Value = String> {
    let labels = node::MAX_NAME.div_euclid(2);
    select(vec!["a", "aa"]).prop_map(move |start| start.to_owned() + &".a".repeat(labels))
}

fn odd(pattern: &'static str, long: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    prop_oneof![pattern, long].boxed()
}

fn conditions() -> impl Strategy<Value = Vec<Condition>> {
    let type_ = mostly(
        "([a-z]{1,2}(\\.[a-z]{1,2})?/)?[A-Z][a-zA-Z0-9_.-]{0,9}[a-z]",
        odd("[aA9./_-]{0,4}", around("A", "a", node::MAX_CONDITION_TYPE)),
    );
    let reason = mostly("[A-Z][a-z]{1,5}", odd("[aA9_,: é]{0,4}", around("A", "a", node::MAX_CONDITION_REASON)));
    let message = mostly("[ -~]{0,9}", around("", "é", node::MAX_CONDITION_MESSAGE));
    let status = mostly("(True|False|Unknown)", "true|");
    let generation = prop_oneof![30 => option::of(0..9_i64), 1 => Just(Some(-1))];
    let condition = (type_, reason, message, status, generation).prop_map(
        |(type_, reason, message, status, observed_generation)| {
            let last_transition_time = Time("2026-01-02T03:04:05Z".parse().unwrap());
            Condition { last_transition_time, message, observed_generation, reason, status, type_ }
        },
    );
    prop_oneof![9 => vec(condition.clone(), 0..4), 1 => vec(condition, node::MAX_CONDITIONS..=node::MAX_CONDITIONS + 1)]
}

fn changes() -> impl Strategy<Value = Vec<IrreconcilableChange>> {
    let path = mostly(
        "spec\\.[a-zA-Z0-9.\\[\\]]{6,12}",
        odd("(spec)?\\.?[aé/ -]{0,2}", around("spec.", "a", node::MAX_FIELD_PATH)),
    );
    let diff = mostly("[ -~é]{1,9}", odd("", around("", "é", node::MAX_DIFF)));
    let change = (path, diff).prop_map(|(field_path, diff)| IrreconcilableChange { diff, field_path });
    prop_oneof![9 => vec(change.clone(), 0..4), 1 => vec(change, node::MAX_CHANGES..=node::MAX_CHANGES + 1)]
}

fn pinned_image_sets() -> impl Strategy<Value = Vec<PinnedImageSetProgress>> {
    let name = mostly("[a-z]{4,8}(\\.[a-z0-9-]{0,2}[a-z])?", odd("[a9A.-]{0,4}", long_name()));
    let low = prop_oneof![30 => option::of(1..3), 1 => Just(Some(0))];
    let high = prop_oneof![30 => option::of(2..5), 1 => Just(Some(0))];
    let error = mostly("[ -~]{0,9}", around("", "é", node::MAX_PINNED_IMAGE_SET_ERROR));
    let error = prop_oneof![9 => error.prop_map(Some), 1 => Just(None)];
    let set = (low.clone(), high, low, error, name).prop_map(|(current, desired, failed, error, name)| {
        PinnedImageSetProgress {
            current_generation: current,
            desired_generation: desired,
            last_failed_generation: failed,
            last_failed_generation_error: error,
            name,
        }
    });
    vec(set, 0..3)
}

fn statuses() -> impl Strategy<Value = MachineConfigNodeStatus> {
    let name = || mostly("[a-z]{1,4}(-[0-9a-f]{2})?", odd("[a9A.-]{0,4}", long_name()));
    let version = (option::of(name()), name()).prop_map(|(current, desired)| StatusConfigVersion { current, desired });
    let generation = prop_oneof![30 => option::of(1..9_i64), 1 => Just(Some(0))];
    (conditions(), changes(), pinned_image_sets(), option::of(version), generation).prop_map(
        |(conditions, irreconcilable_changes, pinned_image_sets, config_version, observed_generation)| {
            MachineConfigNodeStatus {
                conditions,
                config_version,
                irreconcilable_changes,
                observed_generation,
                pinned_image_sets,
                ..Default::default()
            }
        },
    )
}

#[test]
fn our_checks_accept_a_status_exactly_when_the_cluster_does() {
    let Some(crd) = crd(NODES) else { return };
    let bare = MachineConfigNode { status: None, ..machine_config_node(0) };
    let (mut accepted, mut refused) = (0, 0);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let counts = std::cell::RefCell::new((&mut accepted, &mut refused));
    runner
        .run(&statuses(), |status| {
            let ours = status.check();
            let object = MachineConfigNode { status: Some(status), ..bare.clone() };
            let theirs = crd.violations(&to_value(object).unwrap());
            prop_assert_eq!(ours.is_ok(), theirs.is_empty(), "ours: {:?}, theirs: {:?}", ours, theirs);
            let mut counts = counts.borrow_mut();
            *(if ours.is_ok() { &mut *counts.0 } else { &mut *counts.1 }) += 1;
            Ok(())
        })
        .unwrap();
    assert!(accepted > 20 && refused > 20, "one-sided: {accepted} accepted, {refused} refused");
}

/// Every word up to a length, the empty one included.
fn words(alphabet: &str, longest: usize) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut start = 0;
    for _ in 0..longest {
        let end = words.len();
        for index in start..end {
            words.extend(alphabet.chars().map(|letter| format!("{}{letter}", words[index])).collect::<Vec<_>>());
        }
        start = end;
    }
    words
}

#[test]
fn our_patterns_accept_a_short_word_exactly_when_those_of_the_cluster_do() {
    let Some(crd) = crd(NODES) else { return };
    let pattern = |field: &str| {
        let path = format!("/properties/status/properties/conditions/items/properties/{field}/pattern");
        Regex::new(crd.schema.pointer(&path).unwrap().as_str().unwrap()).unwrap()
    };
    let made = |type_: &str, reason: &str| {
        let since = Time("2026-01-02T03:04:05Z".parse().unwrap());
        node::condition(type_, node::ConditionStatus::True, reason, "", since).is_ok()
    };
    let (type_, reason) = (pattern("type"), pattern("reason"));
    for word in words("aA9-_./é", 5) {
        assert_eq!(made(&word, "Reason"), type_.is_match(&word), "type {word:?}");
    }
    for word in words("aA9_,: é", 4) {
        assert_eq!(made("Type", &word), reason.is_match(&word), "reason {word:?}");
    }
}
