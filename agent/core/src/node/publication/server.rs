//! An API server in small: server-side apply of conditions with its ownership, and a controller that writes as the
//! machine-config-controller does, whole lists that may be stale.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;

use super::known::{NOT_YET_OCCURRED, Writer};
use super::{Gates, HANDOVER_MANAGER, MANAGER, PINNED_MANAGER, StatusChange, known, status};
use crate::api::machine_config_node::{PinnedImageSetProgress, SpecConfigVersion};
use crate::api::{Condition, MachineConfigNode, MachineConfigNodeSpec, MachineConfigNodeStatus, NameRef, Time};
use crate::node::situation::Situation;

const CONTROLLER: &str = "machine-config-operator";

/// A type, a status, a reason and a message.
pub(super) type Row<'a> = (&'a str, &'a str, &'a str, &'a str);

/// The server, with one object.
pub(super) struct Server {
    pub(super) object: MachineConfigNode,
    pub(super) deleted: Vec<String>,
    pub(super) gates: Gates,
    owned: BTreeMap<&'static str, BTreeSet<String>>,
    /// Who owns the time of each type: a condition is refused without one.
    times: BTreeMap<String, BTreeSet<&'static str>>,
    clock: i64,
}

impl Server {
    pub(super) fn new(node: &str, desired: &str) -> Self {
        let spec = MachineConfigNodeSpec {
            config_version: SpecConfigVersion { desired: desired.to_owned() },
            node: NameRef::new(node),
            pool: NameRef::new("worker"),
            ..Default::default()
        };
        let mut object = MachineConfigNode::new(node, spec);
        object.metadata.generation = Some(1);
        Self {
            object,
            deleted: Vec::new(),
            gates: Gates::default(),
            owned: BTreeMap::new(),
            times: BTreeMap::new(),
            clock: 0,
        }
    }

    pub(super) fn conditions(&self) -> Vec<Condition> {
        self.object.status.clone().unwrap_or_default().conditions
    }

    pub(super) fn now(&mut self) -> Time {
        self.clock += 1;
        Time(Timestamp::from_second(self.clock).unwrap())
    }

    /// Computes what is to be sent, checks it against the limits, and sends it.
    pub(super) fn publish(&mut self, situation: &Situation) -> StatusChange {
        let now = self.now();
        let change = status(situation, &self.object, self.gates, &now);
        if let Some(handover) = &change.handover {
            self.apply(HANDOVER_MANAGER, handover);
        }
        if let Some(own) = &change.own {
            own.check().unwrap();
            self.apply(MANAGER, &own.conditions);
        }
        if let Some(conditions) = &change.pinned.conditions {
            self.apply(PINNED_MANAGER, conditions);
        }
        let before = self.object.status.clone().unwrap_or_default().pinned_image_sets;
        assert_rising(&before, change.pinned.sets.as_deref().unwrap_or_default());
        let merged = change.applied_to(&self.object.status.clone().unwrap_or_default());
        let conditions = self.conditions();
        self.object.status = Some(MachineConfigNodeStatus { conditions, ..merged });
        change
    }

    /// The controller changes rows of a list that it has read, perhaps some time ago, and sends all of it. Where there
    /// was none it makes one with every known type.
    pub(super) fn controller(&mut self, mut read: Vec<Condition>, rows: &[Row<'_>]) {
        let now = self.now();
        if read.is_empty() {
            let writers = [Writer::Daemon, Writer::Controller, Writer::Others];
            let types = writers.into_iter().flat_map(|writer| known::types(writer, self.gates.image_mode));
            read = types.map(|type_| made((type_, "False", NOT_YET_OCCURRED, ""), &now)).collect();
        }
        for row in rows {
            let condition = made(*row, &now);
            match read.iter_mut().find(|read| read.type_ == condition.type_) {
                Some(read) => *read = condition,
                None => read.push(condition),
            }
        }
        self.apply(CONTROLLER, &read);
    }

    fn apply(&mut self, manager: &'static str, sent: &[Condition]) {
        let names: BTreeSet<String> = sent.iter().map(|condition| condition.type_.clone()).collect();
        assert_eq!(names.len(), sent.len(), "{manager} sends a type twice");
        let before = self.owned.insert(manager, names.clone()).unwrap_or_default();
        let orphans: Vec<String> =
            before.difference(&names).filter(|name| !self.owned.values().any(|o| o.contains(*name))).cloned().collect();
        let stored = &mut self.object.status.get_or_insert_default().conditions;
        stored.retain(|condition| !orphans.contains(&condition.type_));
        for left in before.difference(&names).filter(|name| !orphans.contains(name)) {
            let owners = self.times.get_mut(left).unwrap();
            owners.remove(manager);
            assert!(!owners.is_empty(), "{left}: lastTransitionTime: Required value");
        }
        self.deleted.extend(orphans);
        for condition in sent {
            let stored_before = stored.iter_mut().find(|stored| stored.type_ == condition.type_);
            let owners = self.times.entry(condition.type_.clone()).or_default();
            if stored_before.as_ref().is_none_or(|old| old.last_transition_time != condition.last_transition_time) {
                owners.clear();
            }
            owners.insert(manager);
            match stored_before {
                Some(stored) => *stored = condition.clone(),
                None => stored.push(condition.clone()),
            }
        }
        self.object.status.as_ref().unwrap().check().unwrap();
    }

    /// One letter for each condition, in the order of the known ones.
    pub(super) fn letters(&self) -> String {
        let mut conditions = self.conditions();
        conditions.sort_by_key(|condition| known::position(&condition.type_));
        conditions.iter().map(|condition| condition.status.chars().next().unwrap()).collect()
    }

    /// Types that are not False.
    pub(super) fn open(&self) -> Vec<String> {
        self.conditions().into_iter().filter(|condition| condition.status != "False").map(|c| c.type_).collect()
    }
}

/// What the API server refuses: a generation that becomes less.
fn assert_rising(before: &[PinnedImageSetProgress], after: &[PinnedImageSetProgress]) {
    for set in after {
        let Some(old) = before.iter().find(|old| old.name == set.name) else { continue };
        let pairs = [
            (old.desired_generation, set.desired_generation),
            (old.current_generation, set.current_generation),
            (old.last_failed_generation, set.last_failed_generation),
        ];
        assert!(
            pairs.into_iter().all(|(old, new)| old.zip(new).is_none_or(|(old, new)| new >= old)),
            "{old:?} {set:?}"
        );
    }
}

fn made((type_, status, reason, message): Row<'_>, now: &Time) -> Condition {
    Condition {
        last_transition_time: now.clone(),
        message: message.to_owned(),
        observed_generation: None,
        reason: reason.to_owned(),
        status: status.to_owned(),
        type_: type_.to_owned(),
    }
}

/// Conditions that are not as before, in the order of the known ones: `Type Status Reason: message`.
pub(super) fn changed(before: &[Condition], after: &[Condition]) -> Vec<String> {
    let text = |c: &Condition| format!("{} {} {}: {}", c.type_, c.status, c.reason, c.message);
    let known: BTreeSet<String> = before.iter().map(text).collect();
    let mut after: Vec<&Condition> = after.iter().filter(|condition| !known.contains(&text(condition))).collect();
    after.sort_by_key(|condition| known::position(&condition.type_));
    after.into_iter().map(text).collect()
}
