//! The structural difference of two MachineConfigs: which parts differ, and which files and units.
//!
//! Owns what counts as a change. Refuses to say whether it may happen or what it causes.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::ignition::{File, Unit};
use crate::machine_config::MachineConfig;

/// Which parts of two MachineConfigs differ, in the machine-config-daemon's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Parts {
    /// `spec.osImageURL`, or an update that was forced.
    pub os_update: bool,
    /// `spec.kernelArguments`; order counts.
    pub kargs: bool,
    /// `spec.fips`.
    pub fips: bool,
    /// Users or groups.
    pub passwd: bool,
    /// Any file. A mere reordering of the list is no change: it leaves the node as it is.
    pub files: bool,
    /// Any unit or drop-in.
    pub units: bool,
    /// `spec.kernelType`.
    pub kernel_type: bool,
    /// `spec.extensions`; order counts.
    pub extensions: bool,
}

impl Parts {
    /// Whether the operating system itself changes, which always takes a reboot.
    pub const fn os(self) -> bool {
        self.os_update || self.kargs || self.fips || self.kernel_type || self.extensions
    }

    /// Whether nothing on the node changes.
    pub const fn is_empty(self) -> bool {
        !(self.os() || self.passwd || self.files || self.units)
    }
}

/// One file or unit that differs: before, after, or both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair<'a, T> {
    /// As it is now; `None` when it is new.
    pub old: Option<&'a T>,
    /// As it shall be; `None` when it goes.
    pub new: Option<&'a T>,
}

/// How a file or unit differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// New in the target.
    Added,
    /// In both, and different.
    Updated,
    /// Not in the target any more.
    Removed,
}

impl<T> Pair<'_, T> {
    /// How it differs.
    pub const fn kind(&self) -> Kind {
        match (self.old, self.new) {
            (None, _) => Kind::Added,
            (Some(_), Some(_)) => Kind::Updated,
            (Some(_), None) => Kind::Removed,
        }
    }
}

/// The difference of two MachineConfigs.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff<'a> {
    /// Which parts differ.
    pub parts: Parts,
    /// Files that differ, by path.
    pub files: BTreeMap<&'a str, Pair<'a, File>>,
    /// Units that differ, by name.
    pub units: BTreeMap<&'a str, Pair<'a, Unit>>,
}

impl<'a> Diff<'a> {
    /// Compares what is with what shall be. Where a list names a path twice, the last one counts.
    pub fn between(old: &'a MachineConfig, new: &'a MachineConfig) -> Self {
        let files = changed(&old.ignition.files, &new.ignition.files, |file| file.path.as_str());
        let units = changed(&old.ignition.units, &new.ignition.units, |unit| unit.name.as_str());
        let parts = Parts {
            os_update: old.os_image != new.os_image,
            kargs: old.kernel_arguments != new.kernel_arguments,
            fips: old.fips != new.fips,
            passwd: old.ignition.users != new.ignition.users || old.ignition.groups != new.ignition.groups,
            files: !files.is_empty(),
            units: !units.is_empty(),
            kernel_type: canonical(&old.kernel_type) != canonical(&new.kernel_type),
            extensions: old.extensions != new.extensions,
        };
        Self { parts, files, units }
    }
}

/// The daemon takes every name it does not know for the default; whether the name may be used is decided elsewhere.
fn canonical(kernel_type: &str) -> &str {
    if matches!(kernel_type, "realtime" | "64k-pages") { kernel_type } else { "default" }
}

fn changed<'a, T: PartialEq>(
    old: &'a [T],
    new: &'a [T],
    key: impl Fn(&'a T) -> &'a str,
) -> BTreeMap<&'a str, Pair<'a, T>> {
    let index = |items: &'a [T]| items.iter().map(|item| (key(item), item)).collect::<HashMap<_, _>>();
    let (before, after) = (index(old), index(new));
    let standing = after.iter().map(|(key, new)| (*key, Pair { old: before.get(key).copied(), new: Some(*new) }));
    let gone = before.iter().filter(|(key, _)| !after.contains_key(*key));
    let gone = gone.map(|(key, old)| (*key, Pair { old: Some(*old), new: None }));
    // Only what differs is sorted.
    standing.filter(|(_, pair)| pair.old != pair.new).chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixture::{files, spec, units};

    #[test]
    fn each_field_of_the_spec_has_its_part() {
        let none = Parts::default();
        let empty = spec(&json!({}));
        for (field, value, expected) in [
            ("osImageURL", json!("registry.example/os"), Parts { os_update: true, ..none }),
            ("kernelArguments", json!(["a"]), Parts { kargs: true, ..none }),
            ("fips", json!(true), Parts { fips: true, ..none }),
            ("kernelType", json!("realtime"), Parts { kernel_type: true, ..none }),
            ("kernelType", json!("default"), none),
            ("kernelType", json!("unheard of"), none),
            ("extensions", json!(["usbguard"]), Parts { extensions: true, ..none }),
            ("baseOSExtensionsContainerImage", json!("registry.example/ext"), none),
        ] {
            let changed = spec(&json!({field: value}));
            assert_eq!(Diff::between(&empty, &changed).parts, expected, "{field} {value}");
            assert_eq!(Diff::between(&changed, &empty).parts, expected, "{field} {value} taken away");
        }
    }

    fn file(rest: &Value) -> Value {
        let mut file = json!({"path": "/etc/a", "mode": 0o644, "contents": {"source": "data:,x"}});
        file.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        file
    }

    #[test]
    fn every_field_of_a_file_counts_as_written() {
        let old = files(&json!([file(&json!({}))]));
        for (rest, same) in [
            (json!({}), true),
            (json!({"user": {}}), true),
            (json!({"append": []}), true),
            (json!({"mode": 0o600}), false),
            (json!({"mode": null}), false),
            (json!({"user": {"id": 0}}), false),
            (json!({"group": {"name": "root"}}), false),
            (json!({"overwrite": false}), false),
            (json!({"contents": {"source": "data:;base64,eA=="}}), false),
            (json!({"contents": {"source": "data:,x", "compression": ""}}), false),
        ] {
            let new = files(&json!([file(&rest)]));
            assert_eq!(Diff::between(&old, &new).files.is_empty(), same, "{rest}");
        }
    }

    #[test]
    fn order_of_files_and_units_does_not_count_and_kinds_are_told() {
        let [a, b, c] = ["a.service", "b.service", "c.service"].map(|name| json!({"name": name}));
        assert!(Diff::between(&units(&json!([a, b])), &units(&json!([b, a]))).parts.is_empty());
        let (old, new) = (units(&json!([a, b])), units(&json!([c, {"name": "b.service", "enabled": true}])));
        let diff = Diff::between(&old, &new);
        let kinds: Vec<_> = diff.units.iter().map(|(name, pair)| (*name, pair.kind())).collect();
        assert_eq!(kinds, [("a.service", Kind::Removed), ("b.service", Kind::Updated), ("c.service", Kind::Added)]);
    }
}
