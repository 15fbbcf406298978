//! Disks and their partitions.

use std::collections::HashSet;

use ignition_config::v3_6 as spec;

use super::items;
use super::report::{Place, Report};

/// Characters of a GPT partition name.
const MOST_LABEL: usize = 36;

pub(super) fn check(report: &mut Report, disks: &[spec::Disk]) {
    let storage = Place::Root.field("storage");
    let list = storage.field("disks");
    report.unique(list, disks.iter().map(|disk| disk.device.as_str()), "has the device of an earlier disk");
    for (index, disk) in disks.iter().enumerate() {
        let at = list.item(index);
        report.path(at.field("device"), &disk.device);
        let partitions = items(&disk.partitions);
        check_together(report, at.field("partitions"), partitions);
        for (index, partition) in partitions.iter().enumerate() {
            check_partition(report, at.field("partitions").item(index), partition);
        }
    }
}

fn check_together(report: &mut Report, list: Place<'_>, partitions: &[spec::Partition]) {
    let (mut numbers, mut labels) = (HashSet::new(), HashSet::new());
    for (index, partition) in partitions.iter().enumerate() {
        if number(partition) != 0 && !numbers.insert(number(partition)) {
            report.add(list.item(index).field("number"), "is the number of an earlier partition");
        }
        if partition.label.as_deref().is_some_and(|label| !labels.insert(label)) {
            report.add(list.item(index).field("label"), "is the label of an earlier partition");
        }
    }
    if let Some(index) = overlapping(partitions) {
        report.add(list.item(index), "overlaps another partition");
    }
    let any_unnumbered = partitions.iter().any(|partition| number(partition) == 0);
    if any_unnumbered && partitions.iter().any(|partition| partition.should_exist == Some(false)) {
        report.add(list, "have one without a number beside one with shouldExist: false; number all of them");
    }
}

/// Zero asks for the next free number.
fn number(partition: &spec::Partition) -> i64 {
    partition.number.unwrap_or_default()
}

/// A partition that begins inside another one. Those with a start of zero are placed by the partitioner; a size of
/// zero, which fills the gap, counts as one MiB. Ignition also compares negative sizes, which mean nothing; not so here.
fn overlapping(partitions: &[spec::Partition]) -> Option<usize> {
    let mut spans: Vec<(i64, i64, usize)> = partitions
        .iter()
        .enumerate()
        .filter_map(|(index, partition)| {
            let start = partition.start_mib.filter(|start| *start != 0)?;
            let size = partition.size_mib.filter(|size| *size >= 0)?;
            Some((start, start.saturating_add(size.max(1) - 1), index))
        })
        .collect();
    spans.sort_unstable();
    spans.windows(2).find_map(|pair| match pair {
        [(_, end, _), (start, _, index)] if start <= end => Some(*index),
        _ => None,
    })
}

fn check_partition(report: &mut Report, at: Place<'_>, partition: &spec::Partition) {
    let has_guid = |guid: &Option<String>| guid.as_ref().is_some_and(|guid| !guid.is_empty());
    let described = partition.label.is_some()
        || has_guid(&partition.type_guid)
        || has_guid(&partition.guid)
        || partition.start_mib.is_some()
        || partition.size_mib.is_some();
    if partition.should_exist == Some(false) && described {
        report.add(at, "has shouldExist: false and more than a number");
    }
    match &partition.label {
        None if number(partition) == 0 => report.add(at, "has neither a number nor a label"),
        Some(label) if label.len() > MOST_LABEL => report.add(at.field("label"), "exceeds 36 bytes"),
        Some(label) if label.contains(':') => report.add(at.field("label"), "has a colon"),
        _ => {}
    }
    for (field, guid) in [("guid", &partition.guid), ("typeGuid", &partition.type_guid)] {
        if guid.as_deref().is_some_and(|guid| !guid.is_empty() && !is_guid(guid)) {
            report.add(at.field(field), "is not of the form 01234567-89ab-cdef-0123-456789abcdef");
        }
    }
}

fn is_guid(guid: &str) -> bool {
    guid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && guid.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}
