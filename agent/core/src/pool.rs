//! The pool that a node belongs to, by the operator's rules.

use std::collections::BTreeMap;

use kube::core::{Selector, SelectorExt};

use crate::api::MachineConfigPool;

pub const WORKER: &str = "worker";
pub const MASTER: &str = "master";
pub const ARBITER: &str = "arbiter";

/// Why a node belongs to no pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The operator does not update such a node either.
    #[error("{} custom pools select it: {}", names.len(), names.join(", "))]
    Ambiguous { names: Vec<String> },
    #[error("no MachineConfigPool selects it")]
    Unselected,
}

/// The pool whose configuration a node with these labels gets: the control plane's before a custom one, and that before
/// `worker`.
pub fn primary(pools: &[MachineConfigPool], labels: &BTreeMap<String, String>) -> Result<String, PoolError> {
    let mut names: Vec<String> =
        pools.iter().filter(|pool| selects(pool, labels)).filter_map(|pool| pool.metadata.name.clone()).collect();
    names.sort();
    let built_in = |name: &&String| [WORKER, MASTER, ARBITER].contains(&name.as_str());
    let custom: Vec<&String> = names.iter().filter(|name| !built_in(name)).collect();
    if custom.len() > 1 {
        return Err(PoolError::Ambiguous { names: custom.into_iter().cloned().collect() });
    }
    let named = |wanted: &str| names.iter().find(|name| *name == wanted);
    let pool = named(MASTER).or_else(|| named(ARBITER)).or_else(|| custom.first().copied()).or_else(|| named(WORKER));
    pool.cloned().ok_or(PoolError::Unselected)
}

/// A selector that is empty, or that makes no sense, selects nothing.
fn selects(pool: &MachineConfigPool, labels: &BTreeMap<String, String>) -> bool {
    let selector = pool.spec.node_selector.clone().and_then(|selector| Selector::try_from(selector).ok());
    selector.is_some_and(|selector| !selector.selects_all() && selector.matches(labels))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pool(name: &str, selector: Value) -> MachineConfigPool {
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"nodeSelector": selector}})).unwrap()
    }

    fn role(name: &str) -> String {
        format!("node-role.kubernetes.io/{name}")
    }

    fn by_role(name: &str) -> MachineConfigPool {
        pool(name, json!({"matchLabels": {role(name): ""}}))
    }

    #[test]
    fn a_node_belongs_to_the_pool_that_the_operator_puts_it_into() {
        let expression = json!([{"key": "zone", "operator": "In", "values": ["edge"]}]);
        let mut pools: Vec<_> = ["worker", "master", "arbiter", "infra", "gpu"].map(by_role).into();
        pools.push(pool("edge", json!({ "matchExpressions": expression })));
        pools.push(pool("all", json!({})));
        let ambiguous =
            |names: &[&str]| Err(PoolError::Ambiguous { names: names.iter().map(|name| (*name).to_owned()).collect() });
        for (roles, zone, expected) in [
            (&["worker"][..], "", Ok("worker")),
            (&["master"], "", Ok("master")),
            (&["master", "worker"], "", Ok("master")),
            (&["arbiter"], "", Ok("arbiter")),
            (&["worker", "infra"], "", Ok("infra")),
            (&["infra"], "", Ok("infra")),
            (&["master", "infra"], "", Ok("master")),
            (&["worker"], "edge", Ok("edge")),
            (&["worker", "infra", "gpu"], "", ambiguous(&["gpu", "infra"])),
            (&["other"], "", Err(PoolError::Unselected)),
        ] {
            let mut labels: BTreeMap<_, _> = roles.iter().map(|name| (role(name), String::new())).collect();
            labels.insert("zone".to_owned(), zone.to_owned());
            assert_eq!(primary(&pools, &labels), expected.map(str::to_owned), "{roles:?} {zone}");
        }
    }
}
