//! What keeps nodes, how long they take, and how that is told.

use serde_json::{Value, json};

use super::*;

fn pod(name: &str, more: Value) -> Pod {
    let mut object = json!({
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "db"}},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    for (at, value) in more.as_object().unwrap() {
        *object.pointer_mut(at).unwrap() = value.clone();
    }
    read(object).unwrap()
}

fn budget(name: &str, allowed: i64, more: Value) -> PodDisruptionBudget {
    let mut object = json!({
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "db"}}, "unhealthyPodEvictionPolicy": null},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2},
    });
    for (at, value) in more.as_object().unwrap() {
        *object.pointer_mut(at).unwrap() = value.clone();
    }
    read(object).unwrap()
}

#[test]
fn the_pod_and_the_budget_that_keep_a_drain_are_named() {
    let none = json!({});
    let kept = "pod shop/db-0 is kept by PodDisruptionBudget tight: 2 healthy, 2 needed, none to spare";
    let ready = "/status/conditions";
    for (pod, budgets, expected) in [
        (pod("db-0", none.clone()), vec![budget("tight", 0, none.clone())], Some(kept)),
        (pod("db-0", none.clone()), vec![budget("loose", 1, none.clone())], None),
        (pod("db-0", none.clone()), vec![], None),
        (pod("db-0", json!({"/metadata/namespace": "other"})), vec![budget("tight", 0, none.clone())], None),
        (pod("db-0", none.clone()), vec![budget("tight", 0, json!({"/spec/selector": null}))], None),
        (pod("db-0", none.clone()), vec![budget("tight", 0, json!({"/spec/selector": {}}))], Some(kept)),
        (pod("db-0", json!({"/spec/nodeName": "m"})), vec![budget("tight", 0, none.clone())], None),
        (pod("db-0", json!({"/status/phase": "Succeeded"})), vec![budget("tight", 0, none.clone())], None),
        (pod("db-0", json!({"/status/phase": "Pending"})), vec![budget("tight", 0, none.clone())], None),
        // A pod that does not serve may go while enough others do.
        (pod("db-0", json!({ready: []})), vec![budget("tight", 0, none.clone())], None),
        (
            pod("db-0", json!({ready: []})),
            vec![budget("tight", 0, json!({"/status/currentHealthy": 1}))],
            Some("pod shop/db-0 is kept by PodDisruptionBudget tight: 1 healthy, 2 needed, none to spare"),
        ),
        (
            pod("db-0", json!({ready: []})),
            vec![budget(
                "tight",
                0,
                json!({"/status/currentHealthy": 1, "/spec/unhealthyPodEvictionPolicy": "AlwaysAllow"}),
            )],
            None,
        ),
        (
            pod("db-0", none.clone()),
            vec![budget("one", 1, none.clone()), budget("two", 1, none.clone())],
            Some(
                "pod shop/db-0 has several PodDisruptionBudgets (one, two), and no pod with more than one can be evicted",
            ),
        ),
    ] {
        let found: Vec<String> = blockers("n", &[pod], &budgets).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn pods_of_the_node_itself_do_not_keep_it_and_many_pods_are_counted() {
    let tight = [budget("tight", 0, json!({}))];
    let mut daemon = pod("d", json!({}));
    daemon.metadata.owner_references =
        serde_json::from_value(json!([{"kind": "DaemonSet", "name": "x", "controller": true}])).unwrap();
    let mut mirror = pod("m", json!({}));
    mirror.metadata.annotations.insert("kubernetes.io/config.mirror".to_owned(), String::new());
    assert!(blockers("n", &[daemon, mirror], &tight).is_empty());
    let many: Vec<Pod> = (0..30).map(|number| pod(&format!("db-{number}"), json!({}))).collect();
    let found = blockers("n", &many, &tight);
    assert_eq!((found.len(), found.last()), (21, Some(&Blocker::More { count: 10 })));
    let mut ending = pod("e", json!({}));
    ending.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".parse().unwrap());
    assert_eq!(blockers("n", &[ending], &[]), [Blocker::Ending { pod: "shop/e".to_owned() }]);
}

fn progress(name: &str, conditions: &[(&str, &str, &str)]) -> MachineConfigNode {
    let condition = |(type_, status, at): &(&str, &str, &str)| json!({"type": type_, "status": status, "lastTransitionTime": format!("2026-01-01T{at}Z")});
    let conditions: Vec<Value> = conditions.iter().map(condition).collect();
    read(json!({"metadata": {"name": name}, "status": {"conditions": conditions}})).unwrap()
}

fn seconds(fleet: &Fleet, rates: Rates) -> (i64, Basis, Option<i64>, i64) {
    let now = "2026-01-01T10:20:00Z".parse().unwrap();
    let found = estimate(&assess(fleet), fleet, rates, now);
    let pool = &found.pools[0];
    (pool.node_seconds, pool.basis, pool.left_seconds, found.whole_seconds)
}

#[test]
fn an_estimate_counts_rounds_and_takes_the_time_of_a_node_from_those_that_are_done() {
    // The documentation's own examples: six nodes, five minutes each, one or two at a time, after an hour.
    let six = || (0..6).map(|number| done(&format!("n{number}"), "old")).collect::<Vec<_>>();
    let usual = Rates { node: None, payload: USUAL_PAYLOAD };
    assert_eq!(seconds(&workers(json!(1), six()), usual), (300, Basis::Usual, Some(1800), 90 * 60));
    assert_eq!(seconds(&workers(json!(2), six()), usual), (300, Basis::Usual, Some(900), 75 * 60));
    let given = Rates { node: Some(60), payload: 0 };
    assert_eq!(seconds(&workers(json!(4), six()), given), (60, Basis::Given, Some(120), 120));

    let mut under_way = workers(json!(1), vec![done("a", "new"), done("b", "new"), done("c", "new"), done("d", "old")]);
    under_way.nodes.push(node("e", &["worker"], "old", "new", "Working").made());
    under_way.progress = vec![
        progress("a", &[("Updated", "True", "10:00:00")]),
        progress("b", &[("Updated", "True", "10:08:00")]),
        progress("c", &[("Updated", "True", "10:18:00")]),
        progress("e", &[("Updated", "False", "10:18:00")]),
    ];
    // Ten minutes each; `e` began two minutes ago, `d` comes after it.
    assert_eq!(seconds(&under_way, usual).1, Basis::Measured);
    assert_eq!(seconds(&under_way, usual).2, Some(8 * 60 + 10 * 60));
    under_way.pools[0].spec.paused = true;
    assert_eq!(seconds(&under_way, usual).2, None);
}

#[test]
fn nodes_that_finish_side_by_side_do_not_make_a_node_seem_quick() {
    let times = ["10:00:00", "10:00:05", "10:00:09", "10:10:00", "10:10:03", "10:10:10"];
    let nodes = (0..6).map(|number| done(&format!("n{number}"), "new")).chain([done("left", "old")]).collect();
    let mut fleet = workers(json!(3), nodes);
    let made = times.iter().enumerate().map(|(at, time)| progress(&format!("n{at}"), &[("Updated", "True", time)]));
    fleet.progress = made.collect();
    let usual = Rates { node: None, payload: 0 };
    assert_eq!(seconds(&fleet, usual), (600, Basis::Measured, Some(600), 3 * 600));
    // Three at a time that have all finished once say nothing of how long they took.
    fleet.progress.truncate(3);
    assert_eq!(seconds(&fleet, usual).1, Basis::Usual);
}

#[test]
fn an_explanation_tells_pool_phase_reason_and_how_long_each_part_took() {
    let mut fleet = workers(
        json!(1),
        vec![node("n", &["worker"], "old", "new", "Working").annotated(DRAIN, "drain-new"), done("m", "old")],
    );
    fleet.progress = vec![progress(
        "n",
        &[("Updated", "False", "10:00:00"), ("Cordoned", "True", "10:02:00"), ("UpdatePrepared", "True", "10:01:00")],
    )];
    fleet.pods = vec![pod("db-0", json!({}))];
    fleet.budgets = vec![budget("tight", 0, json!({}))];
    let rollout = assess(&fleet);
    let explained = |name: &str| {
        let (pool, node) = rollout.node(name).unwrap();
        explain(pool, node, &fleet).join("\n")
    };
    let told = explained("n");
    for part in ["it is draining", "kept by PodDisruptionBudget tight", "Cordoned at 2026-01-01T10:02:00Z, 60 s after"]
    {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    let waits = explained("m");
    assert!(
        waits.contains("it is number 1 by zone and age") && waits.contains("the pool waits: 1 of at most 1"),
        "{waits}"
    );
    assert_eq!(rollout.node("n").unwrap().1.since.unwrap().to_string(), "2026-01-01T10:02:00Z");
}
