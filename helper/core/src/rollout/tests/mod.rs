use serde_json::{Value, json};

use super::*;
use crate::objects::read;

mod insight;

const STATE: &str = "machineconfiguration.openshift.io/state";
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";
const DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
const DRAINED: &str = "machineconfiguration.openshift.io/lastAppliedDrain";

fn pool(name: &str, target: &str, more: &Value) -> MachineConfigPool {
    let mut object = json!({
        "metadata": {"name": name},
        "spec": {
            "configuration": {"name": target},
            "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}},
        },
    });
    for (key, value) in more.as_object().unwrap() {
        object["spec"][key] = value.clone();
    }
    read(object).unwrap()
}

/// A node of roles in a zone, the older the smaller `age`, from one configuration to another in a state.
struct Maker {
    object: Value,
}

fn node(name: &str, roles: &[&str], current: &str, desired: &str, state: &str) -> Maker {
    let labels: serde_json::Map<String, Value> =
        roles.iter().map(|role| (format!("node-role.kubernetes.io/{role}"), json!(""))).collect();
    Maker {
        object: json!({
            "metadata": {
                "name": name, "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {CURRENT: current, DESIRED: desired, STATE: state},
            },
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }),
    }
}

impl Maker {
    fn annotated(mut self, key: &str, value: &str) -> Self {
        self.object["metadata"]["annotations"][key] = json!(value);
        self
    }

    fn placed(mut self, zone: &str, day: u8) -> Self {
        if !zone.is_empty() {
            self.object["metadata"]["labels"][order::ZONE] = json!(zone);
        }
        self.object["metadata"]["creationTimestamp"] = json!(format!("2026-01-{day:02}T00:00:00Z"));
        self
    }

    fn cordoned(mut self) -> Self {
        self.object["spec"] = json!({"unschedulable": true});
        self
    }

    fn made(self) -> Node {
        read(self.object).unwrap()
    }
}

fn done(name: &str, config: &str) -> Maker {
    node(name, &["worker"], config, config, "Done")
}

fn workers(max: Value, nodes: Vec<Maker>) -> Fleet {
    Fleet {
        pools: vec![pool("worker", "new", &json!({"maxUnavailable": max}))],
        nodes: nodes.into_iter().map(Maker::made).collect(),
        ..Fleet::default()
    }
}

fn only(fleet: &Fleet) -> PoolStatus {
    let mut rollout = assess(fleet);
    assert_eq!(rollout.pools.len(), 1);
    rollout.pools.remove(0)
}

#[test]
fn a_node_is_in_the_pool_that_the_controller_puts_it_in() {
    let pools: Vec<_> = ["master", "worker", "infra", "gpu", "arbiter"]
        .iter()
        .map(|name| pool(name, "new", &json!({})))
        .chain([read(json!({"metadata": {"name": "all"}, "spec": {"nodeSelector": {}}})).unwrap()])
        .collect();
    for (roles, expected) in [
        (&["worker"][..], "worker"),
        (&["worker", "infra"], "infra"),
        (&["master", "worker"], "master"),
        (&["master", "infra"], "master"),
        (&["arbiter"], "arbiter"),
        (&["infra", "gpu", "worker"], "infra gpu"),
        (&["infra", "gpu", "master"], "infra gpu"),
        (&["infra", "arbiter"], "infra arbiter"),
        (&[], ""),
    ] {
        let found = match membership(&node("n", roles, "a", "a", "Done").made(), &pools) {
            Membership::In(pool) => pool.metadata.name.clone(),
            Membership::Nowhere | Membership::Windows => String::new(),
            Membership::Ambiguous(names) => names.join(" "),
        };
        assert_eq!(found, expected, "{roles:?}");
    }
    let mut windows = node("n", &["worker"], "a", "a", "Done");
    windows.object["metadata"]["labels"]["kubernetes.io/os"] = json!("windows");
    assert_eq!(membership(&windows.made(), &pools), Membership::Windows);
}

#[test]
fn a_share_rounds_down_and_at_least_one_may_go() {
    for (value, nodes, expected) in [
        (Value::Null, 10, 1),
        (json!(3), 10, 3),
        (json!(0), 10, 1),
        (json!(-2), 10, 0),
        (json!("25%"), 10, 2),
        (json!("5%"), 10, 1),
        (json!("100%"), 7, 7),
        (json!("0%"), 7, 1),
        (json!("3"), 7, 0),
        (json!("lots"), 7, 0),
        (json!("-5%"), 7, 0),
        (json!("99999999999999999999%"), 7, 0),
        (json!([1]), 7, 0),
    ] {
        let of = |name: &str| max_unavailable(&pool(name, "x", &json!({"maxUnavailable": value})), nodes);
        assert_eq!(of("worker"), expected, "{value}");
        assert_eq!(of("arbiter"), 1);
    }
}

#[test]
fn a_node_counts_as_away_while_it_cannot_take_workloads_or_is_on_its_way() {
    let image = "machineconfiguration.openshift.io/currentImage";
    for (node, why) in [
        (done("n", "a"), None),
        (done("n", "a").cordoned(), Some("it is cordoned")),
        (node("n", &[], "a", "b", "Done"), Some("it is not done with its update")),
        (node("n", &[], "a", "b", "Working"), Some("it is not done with its update")),
        (node("n", &[], "a", "b", "Degraded"), None),
        (node("n", &[], "a", "b", "Unreconcilable"), None),
        (node("n", &[], "a", "a", "Degraded"), Some("it is not done with its update")),
        (node("n", &[], "", "", "Done"), Some("it is not done with its update")),
        (done("n", "a").annotated(image, "i"), Some("it is not done with its update")),
    ] {
        let node = node.made();
        assert_eq!(unavailable_because(&node).as_deref(), why, "{:?}", node.metadata.annotations);
    }
    for (type_, status, why) in [
        ("Ready", "Unknown", "it is not ready"),
        ("DiskPressure", "True", "its disk is nearly full"),
        ("NetworkUnavailable", "True", "it has no network"),
    ] {
        let mut object = done("n", "a").object;
        object["status"]["conditions"] = json!([{"type": type_, "status": status}]);
        assert_eq!(unavailable_because(&read(object).unwrap()).as_deref(), Some(why));
    }
}

#[test]
fn nodes_go_by_zone_then_age_then_name_and_without_a_zone_last() {
    let fleet = workers(
        json!(3),
        vec![
            done("z", "old").placed("", 1),
            done("d", "old").placed("b", 1),
            done("c", "old").placed("a", 9),
            done("b", "old").placed("a", 2),
            done("a", "old").placed("a", 2),
        ],
    );
    let pool = only(&fleet);
    let order: Vec<&str> = pool.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(order, ["a", "b", "c", "d", "z"]);
    assert_eq!(pool.next, ["a", "b", "c"]);
    assert_eq!(pool.nodes[4].place, Some(5));
    assert!(pool.waits.is_empty(), "{:?}", pool.waits);
}

#[test]
fn zones_go_by_their_bytes_and_an_empty_name_is_one() {
    let mut nameless = done("nameless", "old").placed("x", 9);
    nameless.object["metadata"]["labels"][order::ZONE] = json!("");
    let mut ageless = done("ageless", "old").placed("b", 1);
    ageless.object["metadata"]["creationTimestamp"] = Value::Null;
    let nodes = vec![
        done("lower", "old").placed("a", 1),
        done("upper", "old").placed("B", 1),
        done("none", "old").placed("", 1),
        done("young", "old").placed("b", 1),
        ageless,
        nameless,
    ];
    let pool = only(&workers(json!("100%"), nodes));
    assert_eq!(pool.next, ["nameless", "upper", "lower", "ageless", "young", "none"]);
}

#[test]
fn a_limit_that_the_controller_cannot_use_stops_the_pool_and_is_told() {
    let pool = only(&workers(json!("3"), vec![done("a", "old")]));
    assert!(pool.next.is_empty());
    assert_eq!(
        pool.waits,
        ["its maxUnavailable is \"3\", neither a number of nodes nor a share such as \"10%\"; correct it"]
    );
}

#[test]
fn what_is_away_and_what_has_failed_takes_up_room() {
    let others = |more: Vec<Maker>| workers(json!(2), [vec![done("w", "old"), done("x", "old")], more].concat_all());
    let away = only(&others(vec![done("y", "old").cordoned()]));
    assert_eq!((away.next.len(), away.capacity.unavailable), (1, 1));
    assert!(away.nodes.iter().any(|node| node.waits == ["it is not told while it is cordoned"]));
    let failed = only(&others(vec![node("y", &["worker"], "old", "new", "Degraded")]));
    assert_eq!((failed.next.len(), failed.capacity.failing), (1, 1));
    let both = only(&others(vec![done("y", "old").cordoned(), node("z", &["worker"], "old", "new", "Degraded")]));
    assert!(both.next.is_empty());
    assert_eq!(
        both.waits,
        ["1 of at most 2 nodes are unavailable (y); 1 failed on the way to the target, which counts too"]
    );
    // A failure on the way to another target takes up none: the node gets a new chance.
    let other = only(&others(vec![node("y", &["worker"], "old", "other", "Degraded")]));
    assert_eq!((other.capacity.failing, other.next.len()), (0, 2));
}

trait Concat<T> {
    fn concat_all(self) -> Vec<T>;
}

impl<T> Concat<T> for [Vec<T>; 2] {
    fn concat_all(self) -> Vec<T> {
        self.into_iter().flatten().collect()
    }
}

#[test]
fn a_paused_pool_tells_nobody_and_says_so_only_while_somebody_is_left() {
    let mut fleet = workers(json!(1), vec![done("a", "old"), done("b", "new")]);
    fleet.pools[0].spec.paused = true;
    let pool = only(&fleet);
    assert!(pool.next.is_empty());
    assert_eq!(pool.waits, ["it is paused: no node is told of a new target"]);
    fleet.nodes.remove(0);
    assert!(only(&fleet).waits.is_empty());
}

#[test]
fn every_phase_is_told_by_what_is_written_on_the_node() {
    let hold = "ostler.dev/hold";
    let action = "machineconfiguration.openshift.io/post-config-action";
    let going = || node("n", &["worker"], "old", "new", "Working");
    for (maker, expected) in [
        (done("n", "new"), Phase::Updated),
        (done("n", "old"), Phase::Waiting),
        (node("n", &["worker"], "old", "new", "Done"), Phase::Told),
        (going().annotated(hold, "over the holidays"), Phase::Held),
        (going().annotated(DRAIN, "drain-new"), Phase::Draining),
        // Once workloads were asked to leave, it is too late to hold.
        (going().annotated(DRAIN, "drain-new").annotated(hold, ""), Phase::Draining),
        (going().annotated(DRAIN, "drain-new").annotated(DRAINED, "drain-new"), Phase::Changing),
        (going(), Phase::Changing),
        (going().annotated(action, "Rebooting"), Phase::Rebooting),
        (going().annotated(DRAIN, "uncordon-new").annotated(DRAINED, "drain-new"), Phase::Uncordoning),
        (node("n", &["worker"], "old", "new", "Degraded"), Phase::Failed),
        (node("n", &["worker"], "new", "new", "Unreconcilable"), Phase::Failed),
        (node("n", &["worker"], "", "", ""), Phase::Silent),
    ] {
        let pool = only(&workers(json!(1), vec![maker]));
        assert_eq!(pool.nodes[0].phase, expected);
    }
}

#[test]
fn a_hold_and_a_failed_target_are_told_in_the_words_of_who_wrote_them() {
    let held = node("n", &["worker"], "old", "new", "Done").annotated("ostler.dev/hold", "release week");
    let waits = &only(&workers(json!(1), vec![held])).nodes[0].waits;
    assert!(waits[0].contains("(release week)") && waits[0].contains("remove the annotation"), "{waits:?}");
    let reason = "new was tried on this node and given up: the kubelet did not come back";
    let failed =
        node("n", &["worker"], "old", "new", "Degraded").annotated("machineconfiguration.openshift.io/reason", reason);
    assert_eq!(only(&workers(json!(1), vec![failed])).nodes[0].waits, [format!("Degraded: {reason}")]);
    let soon = done("n", "old").annotated("ostler.dev/hold", "");
    assert!(only(&workers(json!(1), vec![soon])).nodes[0].waits[1].contains("once told, it will be held"));
}

#[test]
fn the_operators_own_node_goes_last_in_the_control_plane_unless_it_is_the_only_one_left() {
    let master = |name: &str, config: &str| node(name, &["master"], config, config, "Done").made();
    let operator = read(json!({
        "metadata": {"name": "mco", "labels": {"k8s-app": "machine-config-operator"}}, "spec": {"nodeName": "a"},
    }))
    .unwrap();
    let mut fleet = Fleet {
        pools: vec![pool("master", "new", &json!({}))],
        nodes: vec![master("a", "old"), master("b", "old"), master("c", "new")],
        pods: vec![operator],
        ..Fleet::default()
    };
    let pool = only(&fleet);
    assert_eq!(pool.next, ["b"]);
    let places: Vec<(&str, Option<usize>)> = pool.nodes.iter().map(|node| (node.name.as_str(), node.place)).collect();
    assert_eq!(places, [("b", Some(1)), ("a", Some(2)), ("c", None)]);
    assert_eq!(pool.nodes[1].waits[0], "the machine-config operator runs on it, so it goes last");
    fleet.nodes[1] = master("b", "new");
    let pool = only(&fleet);
    assert_eq!((pool.next, pool.nodes[0].waits.len()), (vec!["a".to_owned()], 1));
}

#[test]
fn control_plane_and_arbiter_wait_for_each_other() {
    let pools = || vec![pool("arbiter", "new", &json!({})), pool("master", "new", &json!({}))];
    let fleet = |nodes: [Maker; 2]| Fleet {
        pools: pools(),
        nodes: nodes.into_iter().map(Maker::made).collect(),
        ..Fleet::default()
    };
    let at = |name: &'static str, config| node(name, &[name], config, config, "Done");
    let next = |fleet: &Fleet| assess(fleet).pools.iter().flat_map(|pool| pool.next.clone()).collect::<Vec<_>>();
    let first = fleet([at("arbiter", "old"), at("master", "old")]);
    assert_eq!(next(&first), ["master"]);
    assert!(assess(&first).pools[0].waits[0].contains("1 nodes are not updated yet"));
    assert_eq!(next(&fleet([at("arbiter", "old"), at("master", "new")])), ["arbiter"]);
    assert!(next(&fleet([at("arbiter", "old").cordoned(), at("master", "old")])).is_empty());
    assert!(next(&fleet([at("arbiter", "old"), at("master", "new").cordoned()])).is_empty());
}

#[test]
fn a_pool_that_builds_its_image_waits_for_it_and_moves_nodes_by_it() {
    let desired_image = "machineconfiguration.openshift.io/desiredImage";
    let current_image = "machineconfiguration.openshift.io/currentImage";
    let built = |image: &str| {
        let object = json!({"metadata": {"name": "x"}, "spec": {"machineConfigPool": {"name": "worker"}},
            "status": {"currentImagePullSpec": image}});
        vec![read(object).unwrap()]
    };
    let mut fleet = workers(json!(1), vec![done("a", "new")]);
    // A leftover image in a pool that builds none has to go.
    let leftover = done("b", "new").annotated(desired_image, "i").annotated(current_image, "i");
    fleet.nodes.push(leftover.made());
    assert_eq!(only(&fleet).next, ["b"]);
    fleet.built = built("i");
    assert_eq!(only(&fleet).next, ["a"]);
    fleet.built = built("");
    let pool = only(&fleet);
    assert!(pool.next.is_empty() && pool.waits.contains(&"its image is not built yet".to_owned()), "{:?}", pool.waits);
}

#[test]
fn nodes_of_no_pool_and_of_several_are_told() {
    let fleet = Fleet {
        pools: vec![pool("a", "new", &json!({})), pool("b", "new", &json!({}))],
        nodes: vec![node("lost", &["x"], "", "", "").made(), node("torn", &["a", "b"], "", "", "").made()],
        ..Fleet::default()
    };
    let rollout = assess(&fleet);
    assert_eq!(rollout.strays["lost"], "no pool selects it");
    assert!(rollout.strays["torn"].contains("pools a, b select it"));
    assert!(rollout.node("lost").is_none());
}
