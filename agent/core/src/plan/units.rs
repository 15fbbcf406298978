//! Steps for units and their drop-ins.

use std::collections::HashSet;

use crate::diff::{Diff, Pair};
use crate::ignition::{Dropin, Unit};
use crate::machine_config::MachineConfig;
use crate::secret::Secret;
use crate::step::Step;

/// All steps for units: written and changed ones first, then those that go.
pub(super) fn steps(diff: &Diff<'_>, target: &MachineConfig) -> Vec<Step> {
    if diff.units.is_empty() {
        return Vec::new();
    }
    let files: HashSet<&str> = target.ignition.files.iter().map(|file| file.path.as_str()).collect();
    let (kept, gone): (Vec<_>, Vec<_>) = diff.units.values().partition(|pair| pair.new.is_some());
    let kept = kept.into_iter().flat_map(|pair| change(pair, &files));
    let gone = gone.into_iter().filter_map(|pair| pair.old).flat_map(|unit| removal(unit, &files));
    kept.chain(gone).collect()
}

fn text(contents: Option<&Secret<String>>) -> Option<&str> {
    contents.map(|contents| contents.expose().as_str()).filter(|text| !text.is_empty())
}

/// Whether a unit brings a text of its own.
pub(super) fn has_text(unit: &Unit) -> bool {
    text(unit.contents.as_ref()).is_some()
}

fn is_masked(unit: &Unit) -> bool {
    unit.mask == Some(true)
}

fn change(pair: &Pair<'_, Unit>, files: &HashSet<&str>) -> Vec<Step> {
    let Some(new) = pair.new else { return Vec::new() };
    let mut steps = dropin_steps(pair.old, new, files);
    steps.extend(text_steps(pair.old, new));
    steps.extend(state_step(pair.old, new));
    steps
}

/// The unit file itself: masked, written, or taken away again.
fn text_steps(old: Option<&Unit>, new: &Unit) -> Vec<Step> {
    let unit = || new.name.clone();
    let was_masked = old.is_some_and(is_masked);
    let before = old.filter(|old| !is_masked(old)).and_then(|old| text(old.contents.as_ref()));
    let after = text(new.contents.as_ref());
    match (is_masked(new), after) {
        (true, _) if was_masked => Vec::new(),
        (true, _) => vec![Step::MaskUnit { unit: unit() }],
        (false, Some(after)) => {
            let unmask = was_masked.then(|| Step::UnmaskUnit { unit: unit() });
            let write = (before != Some(after)).then(|| Step::WriteUnit { unit: unit(), bytes: after.len() as u64 });
            unmask.into_iter().chain(write).collect()
        }
        // An explicit "not masked" also lifts a mask that the config does not know of.
        (false, None) if was_masked || (new.mask == Some(false) && before.is_none()) => {
            vec![Step::UnmaskUnit { unit: unit() }]
        }
        (false, None) if before.is_some() => vec![Step::RemoveUnit { unit: unit() }],
        (false, None) => Vec::new(),
    }
}

/// Whether the unit starts at boot; looked at again only when something that decides it has changed.
fn state_step(old: Option<&Unit>, new: &Unit) -> Option<Step> {
    let same =
        |old: &Unit| old.enabled == new.enabled && is_masked(old) == is_masked(new) && old.contents == new.contents;
    if is_masked(new) || old.is_some_and(same) {
        return None;
    }
    let unit = new.name.clone();
    Some(match new.enabled {
        Some(true) => Step::EnableUnit { unit },
        Some(false) => Step::DisableUnit { unit },
        None => Step::PresetUnit { unit },
    })
}

fn dropin_steps(old: Option<&Unit>, new: &Unit, files: &HashSet<&str>) -> Vec<Step> {
    let before = |name: &str| old.and_then(|old| find(&old.dropins, name)).and_then(|old| text(old.contents.as_ref()));
    let mut steps = Vec::new();
    for dropin in &new.dropins {
        match text(dropin.contents.as_ref()) {
            Some(after) if before(&dropin.name) != Some(after) => steps.push(Step::WriteDropin {
                unit: new.name.clone(),
                dropin: dropin.name.clone(),
                bytes: after.len() as u64,
            }),
            Some(_) => {}
            None => steps.extend(remove_dropin(&new.name, dropin, files)),
        }
    }
    let gone = old.map(|old| old.dropins.as_slice()).unwrap_or_default().iter();
    let gone = gone.filter(|dropin| find(&new.dropins, &dropin.name).is_none());
    steps.extend(gone.filter_map(|dropin| remove_dropin(&new.name, dropin, files)));
    steps
}

fn find<'a>(dropins: &'a [Dropin], name: &str) -> Option<&'a Dropin> {
    dropins.iter().rev().find(|dropin| dropin.name == name)
}

/// A drop-in that has become a plain file at the same path stays: the file has just been written there.
fn remove_dropin(unit: &str, dropin: &Dropin, files: &HashSet<&str>) -> Option<Step> {
    let path = super::files::dropin_path(unit, &dropin.name);
    let removed = Step::RemoveDropin { unit: unit.to_owned(), dropin: dropin.name.clone() };
    (!files.contains(path.as_str())).then_some(removed)
}

/// A unit that goes falls back to its preset first, while its text can still be read.
fn removal(unit: &Unit, files: &HashSet<&str>) -> Vec<Step> {
    let name = || unit.name.clone();
    let mut steps = Vec::new();
    if is_masked(unit) {
        steps.push(Step::UnmaskUnit { unit: name() });
    } else {
        steps.push(Step::PresetUnit { unit: name() });
    }
    steps.extend(unit.dropins.iter().filter_map(|dropin| remove_dropin(&unit.name, dropin, files)));
    // One that has become a plain file at the same path stays, like a drop-in.
    if !is_masked(unit) && has_text(unit) && !files.contains(super::files::unit_path(&unit.name).as_str()) {
        steps.push(Step::RemoveUnit { unit: name() });
    }
    steps
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixture::{ignition, units};

    /// The steps from one entry of `u.service` to another, in short.
    fn between(old: Option<Value>, new: Option<Value>) -> Vec<String> {
        let config = |unit: Option<Value>| {
            let mut unit = unit.unwrap_or(Value::Null);
            if unit.is_null() {
                return units(&json!([]));
            }
            unit["name"] = json!("u.service");
            units(&json!([unit]))
        };
        let (old, new) = (config(old), config(new));
        short(&steps(&Diff::between(&old, &new), &new))
    }

    fn short(steps: &[Step]) -> Vec<String> {
        let name = |step: &Step| match step {
            Step::WriteUnit { .. } => "write".to_owned(),
            Step::RemoveUnit { .. } => "remove".to_owned(),
            Step::WriteDropin { dropin, .. } => format!("write {dropin}"),
            Step::RemoveDropin { dropin, .. } => format!("remove {dropin}"),
            Step::MaskUnit { .. } => "mask".to_owned(),
            Step::UnmaskUnit { .. } => "unmask".to_owned(),
            Step::EnableUnit { .. } => "enable".to_owned(),
            Step::DisableUnit { .. } => "disable".to_owned(),
            Step::PresetUnit { .. } => "preset".to_owned(),
            other => format!("{other:?}"),
        };
        steps.iter().map(name).collect()
    }

    #[test]
    fn an_entry_becomes_the_steps_between_its_two_states() {
        let text = || json!({"contents": "a"});
        let masked = || json!({"mask": true});
        for (old, new, expected) in [
            (json!(null), text(), &["write", "preset"][..]),
            (json!(null), json!({"contents": "a", "enabled": false}), &["write", "disable"]),
            (json!(null), json!({"enabled": true}), &["enable"]),
            (json!(null), masked(), &["mask"]),
            (json!(null), json!({"mask": true, "enabled": true, "contents": "a"}), &["mask"]),
            (json!(null), json!({"mask": false}), &["unmask", "preset"]),
            (text(), json!({"contents": "b"}), &["write", "preset"]),
            (text(), json!({"contents": "a", "enabled": true}), &["enable"]),
            (text(), json!({"contents": "", "enabled": true}), &["remove", "enable"]),
            (text(), masked(), &["mask"]),
            (masked(), text(), &["unmask", "write", "preset"]),
            (masked(), json!({"mask": false}), &["unmask", "preset"]),
            (masked(), json!({"mask": true, "contents": "a", "enabled": true}), &[]),
            (text(), json!(null), &["preset", "remove"]),
            (json!({"enabled": true}), json!(null), &["preset"]),
            (masked(), json!(null), &["unmask"]),
        ] {
            assert_eq!(between(Some(old.clone()), Some(new.clone())), expected, "{old} -> {new}");
        }
    }

    #[test]
    fn dropins_are_written_and_removed_one_by_one() {
        let dropins = |dropins: Value| Some(json!({"dropins": dropins}));
        let [a, b, empty] = ["a", "b", ""].map(|text| json!({"name": "x.conf", "contents": text}));
        for (old, new, expected) in [
            (dropins(json!([a])), dropins(json!([b])), &["write x.conf"][..]),
            (dropins(json!([a])), dropins(json!([])), &["remove x.conf"]),
            (dropins(json!([a])), dropins(json!([empty])), &["remove x.conf"]),
            (dropins(json!([a])), None, &["preset", "remove x.conf"]),
            (dropins(json!([a, {"name": "y.conf", "contents": "y"}])), dropins(json!([a])), &["remove y.conf"]),
        ] {
            assert_eq!(between(old.clone(), new.clone()), expected, "{old:?} -> {new:?}");
        }
    }

    #[test]
    fn a_dropin_that_is_now_a_plain_file_is_not_removed_after_it_was_written() {
        let old = units(&json!([{"name": "u.service", "dropins": [{"name": "x.conf", "contents": "a"}]}]));
        let new = ignition(json!({"storage": {"files": [{"path": "/etc/systemd/system/u.service.d/x.conf"}]}}));
        assert_eq!(short(&steps(&Diff::between(&old, &new), &new)), ["preset"]);
    }

    #[test]
    fn a_unit_that_is_now_a_plain_file_is_not_removed_after_it_was_written() {
        let old = units(&json!([{"name": "u.service", "contents": "a"}]));
        let new = ignition(json!({"storage": {"files": [{"path": "/etc/systemd/system/u.service"}]}}));
        assert_eq!(short(&steps(&Diff::between(&old, &new), &new)), ["preset"]);
    }
}
