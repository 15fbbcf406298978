//! What is kept of rendered configurations: a few facts of each, and whether nodes can go from one to another.
//!
//! A configuration may have more than a megabyte, and a cluster hundreds: nothing here holds on to one.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use ostler_core::desired::{Desired, Rules};
use ostler_core::disruption::Policies;
use ostler_core::machine_config::MachineConfig;
use ostler_core::node::keys;
use ostler_core::observed::Observed;
use ostler_core::plan::plan;
use ostler_core::reconcile::Overrides;
use serde_json::Value;

use super::inventory::Inventory;
use crate::objects::{self, ConfigHead, MachineConfigPool, WholeConfig};
use crate::rollout::{Membership, membership};
use crate::streams::{self, Runtime};

/// Most ways between configurations that are tried: a cluster in order has one for each pool that is under way.
const MOST_PASSAGES: usize = 256;

/// Where the machine-config operator notes that somebody else chose the OS image.
const OVERRIDDEN: &str = "machineconfiguration.openshift.io/os-image-url-overridden";

/// What is kept of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigDigest {
    /// Its size as the operator counts it.
    pub bytes: usize,
    /// The OS image.
    pub os_image_url: String,
    /// Whether the operator notes that somebody else chose the OS image.
    pub overridden: bool,
    /// The default runtime of CRI-O, where a drop-in names one.
    pub runtime: Option<Runtime>,
    /// Why the runtime is not certain.
    pub runtime_trouble: Option<String>,
}

/// Whether a node can go from one configuration to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It can.
    Passable,
    /// It cannot.
    Refused {
        /// Why.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// It is not known: a configuration is missing or cannot be read.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// From one configuration to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passage {
    /// The pool.
    pub pool: String,
    /// From here.
    pub from: String,
    /// To here.
    pub to: String,
}

/// What is kept of configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configs {
    /// By name.
    pub digests: BTreeMap<String, ConfigDigest>,
    /// Names that could not be read, and why.
    pub unread: BTreeMap<String, String>,
    /// By pool that chooses its stream: the MachineConfigs with which somebody sets its OS image all the same, or why they
    /// are not known.
    pub setters: BTreeMap<String, Result<Vec<String>, String>>,
    /// Whether nodes can go.
    pub verdicts: BTreeMap<Passage, Verdict>,
    /// How many passages were not tried.
    pub untried: usize,
}

/// Names of the configurations to read: what pools are in and go to.
pub fn wanted_configs(inventory: &Inventory) -> BTreeSet<String> {
    let pools = inventory.pools.needed().map(Vec::as_slice).unwrap_or_default();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for pool in pools {
        names.insert(pool.spec.configuration.name.clone());
        names.insert(pool.status.configuration.name.clone());
    }
    names.remove("");
    names
}

/// The configurations with which somebody sets the OS image of a pool, by name: of those that the pool selects, and of those
/// that it was last rendered from. What the operator writes itself does not count.
pub fn image_setters<'a>(pool: &MachineConfigPool, configs: impl Iterator<Item = &'a ConfigHead>) -> Vec<String> {
    let selector = &pool.spec.machine_config_selector;
    let is_of = |config: &ConfigHead| {
        let is_source = || pool.spec.configuration.source.iter().any(|source| source.name == config.metadata.name);
        (!selector.is_empty() && selector.matches(&config.metadata.labels)) || is_source()
    };
    let sets = |config: &&ConfigHead| !config.spec.os_image_url.is_empty() && !config.is_generated() && is_of(config);
    let names: BTreeSet<String> = configs.filter(sets).map(|config| config.metadata.name.clone()).collect();
    names.into_iter().collect()
}

/// The passages that nodes have before them, and how many more there are than are tried.
pub fn wanted_passages(inventory: &Inventory) -> (Vec<Passage>, usize) {
    let pools = inventory.pools.needed().map(Vec::as_slice).unwrap_or_default();
    let nodes = inventory.nodes.needed().map(Vec::as_slice).unwrap_or_default();
    let mut passages: BTreeSet<Passage> = BTreeSet::new();
    let mut add = |pool: &str, from: &str, to: &str| {
        if !from.is_empty() && !to.is_empty() && from != to {
            passages.insert(Passage { pool: pool.to_owned(), from: from.to_owned(), to: to.to_owned() });
        }
    };
    for pool in pools {
        add(&pool.metadata.name, &pool.status.configuration.name, &pool.spec.configuration.name);
    }
    for node in nodes {
        if let Membership::In(pool) = membership(node, pools) {
            let current = node.annotation(keys::CURRENT_CONFIG).unwrap_or_default();
            add(&pool.metadata.name, current, &pool.spec.configuration.name);
        }
    }
    let untried = passages.len().saturating_sub(MOST_PASSAGES);
    (passages.into_iter().take(MOST_PASSAGES).collect(), untried)
}

/// What is kept of a configuration.
pub fn digest(config: &WholeConfig) -> ConfigDigest {
    let document = config.0.expose();
    let text = |at: &str| document.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let annotation = |key: &str| document.pointer("/metadata/annotations").and_then(|all| all.get(key)?.as_str());
    let (runtime, troubles) = match objects::read::<objects::MachineConfig>(document.clone()) {
        Ok(config) => streams::runtime(&[&config]),
        Err(_) => (None, Vec::new()),
    };
    ConfigDigest {
        runtime,
        runtime_trouble: troubles.first().map(ToString::to_string),
        bytes: size(document),
        os_image_url: text("/spec/osImageURL"),
        overridden: annotation(OVERRIDDEN) == Some("true"),
    }
}

/// Whether the agent's own planner finds a way from one configuration to another.
pub fn passage(from: &WholeConfig, to: &WholeConfig, overrides: Overrides) -> Verdict {
    let read = |config: &WholeConfig| MachineConfig::from_document(config.0.expose().clone());
    let (current, target) = match (read(from), read(to)) {
        (Ok(current), Ok(target)) => (current, target),
        (Err(error), _) | (_, Err(error)) => return Verdict::Unknown { reason: error.to_string() },
    };
    let desired = Desired { target: target.into(), overrides, rules: Rules::Policies(Policies::default()) };
    match plan(&Observed::configured(current), &desired) {
        Ok(_) => Verdict::Passable,
        Err(refusal) => Verdict::Refused { reason: refusal.reason(), remedy: refusal.remedy() },
    }
}

/// Size as Go writes it as JSON: without who wrote which field, which the operator does not have, and with the three
/// characters spelt out that Go does not leave in strings.
fn size(document: &Value) -> usize {
    let mut counter = Counter(0);
    // Writing to a counter cannot fail.
    let _ = serde_json::to_writer(&mut counter, document);
    let managed = document.pointer("/metadata/managedFields").map_or(0, |fields| {
        let mut counter = Counter(0);
        let _ = serde_json::to_writer(&mut counter, fields);
        counter.0 + "\"managedFields\":,".len()
    });
    counter.0.saturating_sub(managed)
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let spelt = bytes.iter().filter(|byte| matches!(byte, b'<' | b'>' | b'&')).count();
        self.0 += bytes.len() + spelt * "u003c".len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
