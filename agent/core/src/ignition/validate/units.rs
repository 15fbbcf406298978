//! systemd units and drop-ins: their names, their syntax, and files that would overwrite them.

use std::collections::HashSet;

use ignition_config::v3_6 as spec;

use super::nodes::nodes;
use super::report::{Place, Report, quoted};
use super::{filled, items, unit_text};
use crate::unit_name::is_ignition_type;

/// Where Ignition writes units.
const DIRECTORY: &str = "/etc/systemd/system/";

pub(super) fn check(report: &mut Report, units: &[spec::Unit], storage: Option<&spec::Storage>) {
    let systemd = Place::Root.field("systemd");
    let list = systemd.field("units");
    report.unique(list, units.iter().map(|unit| unit.name.as_str()), "has the name of an earlier unit");
    for (index, unit) in units.iter().enumerate() {
        let at = list.item(index);
        if !is_unit_name(&unit.name) {
            let what = format!("{} does not end in a unit type such as .service", quoted(&unit.name));
            report.add(at.field("name"), what);
        }
        check_text(report, at, unit.contents.as_deref());
        let dropins = items(&unit.dropins);
        let list = at.field("dropins");
        report.unique(list, dropins.iter().map(|dropin| dropin.name.as_str()), "has the name of an earlier drop-in");
        for (index, dropin) in dropins.iter().enumerate() {
            let at = list.item(index);
            if extension(&dropin.name) != Some("conf") {
                report.add(at.field("name"), format!("{} does not end in .conf", quoted(&dropin.name)));
            }
            check_text(report, at, dropin.contents.as_deref());
        }
    }
    if let Some(storage) = storage {
        check_conflicts(report, units, storage);
    }
}

fn is_unit_name(name: &str) -> bool {
    extension(name).is_some_and(is_ignition_type)
}

/// What follows the last dot of the last component.
fn extension(name: &str) -> Option<&str> {
    let file_name = name.rsplit_once('/').map_or(name, |(_, file_name)| file_name);
    file_name.rsplit_once('.').map(|(_, extension)| extension)
}

fn check_text(report: &mut Report, at: Place<'_>, text: Option<&str>) {
    if let Some(fault) = text.and_then(|text| unit_text::check(text).err()) {
        report.add(at.field("contents"), fault.to_string());
    }
}

/// A node of the same path as a unit would be written over by it, or write over it.
fn check_conflicts(report: &mut Report, units: &[spec::Unit], storage: &spec::Storage) {
    let mut suspects = nodes(storage).filter(|node| node.path.starts_with(DIRECTORY)).peekable();
    if suspects.peek().is_none() {
        return;
    }
    let mut written = HashSet::new();
    for unit in units {
        if filled(&unit.contents).is_some() {
            written.insert(format!("{DIRECTORY}{}", unit.name));
        }
        for dropin in items(&unit.dropins).iter().filter(|dropin| filled(&dropin.contents).is_some()) {
            written.insert(format!("{DIRECTORY}{}.d/{}", unit.name, dropin.name));
        }
    }
    let place = Place::Root.field("storage");
    for node in suspects.filter(|node| written.contains(node.path)) {
        let list = place.field(node.list);
        let what = format!("{} is also written by systemd.units", quoted(node.path));
        report.add(list.item(node.index).field("path"), what);
    }
}
