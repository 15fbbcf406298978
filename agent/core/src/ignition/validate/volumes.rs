//! What is built on disks: arrays, encrypted volumes and filesystems.

use ignition_config::v3_6 as spec;

use super::report::{Place, Report, quoted};
use super::url::Url;
use super::{filled, items, resource};

/// Bytes that fit beside the terminator of a LUKS2 label.
const MOST_LUKS_LABEL: usize = 47;

pub(super) fn check(report: &mut Report, storage: &spec::Storage) {
    let place = Place::Root.field("storage");
    let raid = items(&storage.raid);
    let list = place.field("raid");
    report.unique(list, raid.iter().map(|array| array.name.as_str()), "has the name of an earlier array");
    for (index, array) in raid.iter().enumerate() {
        check_array(report, list.item(index), array);
    }
    let luks = items(&storage.luks);
    let list = place.field("luks");
    report.unique(list, luks.iter().map(|volume| volume.name.as_str()), "has the name of an earlier volume");
    for (index, volume) in luks.iter().enumerate() {
        check_luks(report, list.item(index), volume);
    }
    let filesystems = items(&storage.filesystems);
    let list = place.field("filesystems");
    report.unique(list, filesystems.iter().map(|fs| fs.device.as_str()), "has the device of an earlier filesystem");
    for (index, filesystem) in filesystems.iter().enumerate() {
        check_filesystem(report, list.item(index), filesystem);
    }
}

fn check_array(report: &mut Report, at: Place<'_>, array: &spec::Raid) {
    match array.level.as_deref() {
        Some("linear" | "raid0" | "0" | "stripe") => {
            if array.spares.is_some_and(|spares| spares != 0) {
                report.add(at.field("spares"), "are not possible at a level without redundancy");
            }
        }
        Some("raid1" | "1" | "mirror" | "raid4" | "4" | "raid5" | "5" | "raid6" | "6" | "raid10" | "10") => {}
        _ => report.add(at.field("level"), "is not one of linear, raid0, raid1, raid4, raid5, raid6 and raid10"),
    }
    let devices = items(&array.devices);
    if devices.is_empty() {
        report.add(at.field("devices"), "are missing");
    }
    for (index, device) in devices.iter().enumerate() {
        report.path(at.field("devices").item(index), device);
    }
    report.unique(at.field("devices"), devices.iter().map(String::as_str), "is already listed");
}

fn check_luks(report: &mut Report, at: Place<'_>, volume: &spec::Luks) {
    if volume.name.contains('/') {
        report.add(at.field("name"), "has a slash");
    }
    if volume.label.as_ref().is_some_and(|label| label.len() > MOST_LUKS_LABEL) {
        report.add(at.field("label"), "exceeds 47 bytes");
    }
    report.path(at.field("device"), volume.device.as_deref().unwrap_or_default());
    if let Some(key_file) = &volume.key_file {
        resource::check(report, at.field("keyFile"), key_file);
    }
    report.unique(at.field("openOptions"), items(&volume.open_options).iter().map(String::as_str), "is already listed");
    if let Some(clevis) = &volume.clevis {
        check_clevis(report, at.field("clevis"), clevis);
    }
    if volume.cex.as_ref().is_some_and(|cex| cex.enabled == Some(true)) {
        if volume.clevis.as_ref().is_some_and(|clevis| has_custom_pin(clevis) || has_own_pins(clevis)) {
            report.add(at.field("cex"), "cannot be combined with clevis");
        }
        if volume.key_file.as_ref().is_some_and(|key_file| filled(&key_file.source).is_some()) {
            report.add(at.field("cex"), "cannot be combined with keyFile");
        }
    }
}

fn has_custom_pin(clevis: &spec::Clevis) -> bool {
    clevis.custom.as_ref().is_some_and(|custom| filled(&custom.pin).is_some())
}

fn has_own_pins(clevis: &spec::Clevis) -> bool {
    !items(&clevis.tang).is_empty() || clevis.tpm2 == Some(true) || clevis.threshold.is_some_and(|count| count != 0)
}

fn check_clevis(report: &mut Report, at: Place<'_>, clevis: &spec::Clevis) {
    if has_custom_pin(clevis) && has_own_pins(clevis) {
        report.add(at.field("custom"), "cannot be combined with tang, tpm2 or threshold");
    }
    if let Some(custom) = &clevis.custom {
        check_custom(report, at.field("custom"), custom);
    }
    let servers = items(&clevis.tang);
    let list = at.field("tang");
    let urls = servers.iter().map(|server| server.url.as_deref().unwrap_or_default());
    report.unique(list, urls, "has the url of an earlier server");
    for (index, server) in servers.iter().enumerate() {
        check_tang(report, list.item(index), server);
    }
}

fn check_custom(report: &mut Report, at: Place<'_>, custom: &spec::ClevisCustom) {
    let (pin, config) = (filled(&custom.pin), filled(&custom.config));
    if pin.is_none() && config.is_none() && custom.needs_network != Some(true) {
        return;
    }
    match pin {
        None => report.add(at.field("pin"), "is missing"),
        // Spec 3.6 leaves it to clevis which pins there are.
        Some("tpm2" | "tang" | "sss") => {}
        Some(_) if report.minor >= 6 => {}
        Some(pin) => report.add(at.field("pin"), format!("{} is not one of tpm2, tang and sss", quoted(pin))),
    }
    if config.is_none() {
        report.add(at.field("config"), "is missing");
    }
}

fn check_tang(report: &mut Report, at: Place<'_>, server: &spec::Tang) {
    if !server.url.as_deref().and_then(Url::parse).is_some_and(|url| url.is_any(&["http", "https"])) {
        report.add(at.field("url"), "is not a valid http or https URL");
    }
    if filled(&server.thumbprint).is_none() {
        report.add(at.field("thumbprint"), "is missing");
    }
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if filled(&server.advertisement).is_some_and(|advertisement| !is_json(advertisement)) {
        report.add(at.field("advertisement"), "is not JSON");
    }
}

fn check_filesystem(report: &mut Report, at: Place<'_>, filesystem: &spec::Filesystem) {
    report.path(at.field("device"), &filesystem.device);
    if let Some(path) = filled(&filesystem.path) {
        report.path(at.field("path"), path);
    }
    let most_label = match filled(&filesystem.format) {
        None => {
            let described =
                [&filesystem.path, &filesystem.label, &filesystem.uuid].into_iter().any(|text| filled(text).is_some())
                    || filesystem.wipe_filesystem == Some(true)
                    || !items(&filesystem.mount_options).is_empty()
                    || !items(&filesystem.options).is_empty();
            if described {
                report.add(at.field("format"), "is missing although other fields are set");
            }
            return;
        }
        Some("ext4") => 16,
        Some("btrfs") => 256,
        Some("xfs") => 12,
        Some("swap") => 15,
        Some("vfat") => 11,
        Some("none") if report.minor >= 3 => usize::MAX,
        Some(_) => {
            let what = "is not one of ext4, btrfs, xfs, swap, vfat and, from spec 3.3 on, none";
            return report.add(at.field("format"), what);
        }
    };
    if filesystem.label.as_ref().is_some_and(|label| label.len() > most_label) {
        report.add(at.field("label"), format!("exceeds the {most_label} bytes that the format has for it"));
    }
}
