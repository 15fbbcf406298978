//! Which pool a node is in.

use super::{MASTER, WORKER};
use crate::objects::{MachineConfigPool, Node};

/// Which pool a node is in.
#[derive(Clone, Debug, PartialEq)]
pub enum Membership<'a> {
    /// In this one.
    In(&'a MachineConfigPool),
    /// In none: no pool selects it.
    Nowhere,
    /// In none, as it runs Windows, which is none of the operator's business.
    Windows,
    /// Several pools that somebody made select it, and the controller refuses to choose.
    Ambiguous(Vec<&'a str>),
}

/// The pool of a node. A pool that somebody made comes before `worker`, and `master` before all; an empty selector selects
/// nothing.
pub fn membership<'a>(node: &Node, pools: &'a [MachineConfigPool]) -> Membership<'a> {
    let labels = &node.metadata.labels;
    if labels.get("kubernetes.io/os").is_some_and(|os| os == "windows") {
        return Membership::Windows;
    }
    let selects = |pool: &&MachineConfigPool| {
        let selector = &pool.spec.node_selector;
        !selector.is_empty() && selector.matches(labels)
    };
    let mut master = None;
    let mut worker = None;
    let mut custom = Vec::new();
    for pool in pools.iter().filter(selects) {
        match pool.metadata.name.as_str() {
            MASTER => master = Some(pool),
            WORKER => worker = Some(pool),
            _ => custom.push(pool),
        }
    }
    match (custom.as_slice(), master, worker) {
        ([_, _, ..], _, _) => Membership::Ambiguous(custom.iter().map(|pool| pool.metadata.name.as_str()).collect()),
        (_, Some(master), _) => Membership::In(master),
        ([pool], None, _) => Membership::In(pool),
        ([], None, Some(worker)) => Membership::In(worker),
        ([], None, None) => Membership::Nowhere,
    }
}
