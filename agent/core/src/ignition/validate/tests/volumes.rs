//! Disks and what is built on them.

use super::{Case, assert_places, places, storage};

fn partitions(text: &str) -> String {
    storage(&format!(r#""disks": [{{"device": "/dev/a", "partitions": [{text}]}}]"#))
}

#[test]
fn disks_have_a_device_of_their_own() {
    let cases: &[Case] = &[
        (r#""disks": [{"device": "/dev/a"}, {"device": "/dev/b"}]"#, &[]),
        (r#""disks": [{"device": ""}]"#, &["storage.disks[0].device"]),
        (r#""disks": [{"device": "sda"}]"#, &["storage.disks[0].device"]),
        (r#""disks": [{"device": "/dev/a"}, {"device": "/dev/a"}]"#, &["storage.disks[1]"]),
    ];
    assert_places(storage, cases);
}

#[test]
fn partitions_are_told_apart_by_number_and_label() {
    let cases: &[Case] = &[
        (r#"{"number": 1}, {"number": 2, "label": "a"}, {"label": "b"}, {"number": 0, "label": "c"}"#, &[]),
        (r#"{"number": 1, "shouldExist": false}, {"number": 2}"#, &[]),
        (r#"{}"#, &["storage.disks[0].partitions[0]"]),
        (r#"{"number": 1}, {"number": 1}"#, &["storage.disks[0].partitions[1].number"]),
        (r#"{"label": "a"}, {"number": 1, "label": "a"}"#, &["storage.disks[0].partitions[1].label"]),
        (r#"{"number": 1, "shouldExist": false}, {"label": "b"}"#, &["storage.disks[0].partitions"]),
        (r#"{"number": 1, "shouldExist": false, "label": "b"}"#, &["storage.disks[0].partitions[0]"]),
        (r#"{"number": 1, "shouldExist": false, "startMiB": 0}"#, &["storage.disks[0].partitions[0]"]),
    ];
    assert_places(partitions, cases);
}

#[test]
fn partition_labels_and_guids_are_well_formed() {
    let cases: &[Case] = &[
        (r#"{"label": "", "guid": "", "typeGuid": "0FC63DAF-8483-4772-8e79-3d69d8477de4"}"#, &[]),
        (r#"{"label": "123456789012345678901234567890123456"}"#, &[]),
        (r#"{"label": "1234567890123456789012345678901234567"}"#, &["storage.disks[0].partitions[0].label"]),
        (r#"{"label": "a:b"}"#, &["storage.disks[0].partitions[0].label"]),
        (r#"{"number": 1, "guid": "x"}"#, &["storage.disks[0].partitions[0].guid"]),
        (
            r#"{"number": 1, "typeGuid": "0FC63DAF-8483-4772-8E79-3D69D8477DE"}"#,
            &["storage.disks[0].partitions[0].typeGuid"],
        ),
        (r#"{"number": 1, "guid": "0FC63DAF-8483-4772-8E79-3D69D8477DEG"}"#, &["storage.disks[0].partitions[0].guid"]),
    ];
    assert_places(partitions, cases);
}

#[test]
fn partitions_do_not_overlap() {
    let spans = |spans: &[(i64, i64)]| {
        let partition = |(number, (start, size)): (usize, &(i64, i64))| {
            format!(r#"{{"number": {}, "startMiB": {start}, "sizeMiB": {size}}}"#, number + 1)
        };
        partitions(&spans.iter().enumerate().map(partition).collect::<Vec<_>>().join(","))
    };
    for apart in [
        &[(1, 10), (11, 10)][..],
        &[(11, 10), (1, 10)],
        &[(0, 10), (0, 10), (1, 5)],
        &[(1, 10), (11, 0)],
        &[(1, 0), (2, 10)],
    ] {
        assert!(places(&spans(apart), "3.5.0").is_empty(), "{apart:?}");
    }
    for (overlapping, index) in [
        (&[(1, 10), (10, 10)][..], 1),
        (&[(10, 10), (1, 10)], 0),
        (&[(1, 100), (200, 1), (50, 2)], 2),
        (&[(5, 0), (5, 0)], 1),
        (&[(1, 10), (5, 0)], 1),
        (&[(i64::MAX, i64::MAX), (i64::MAX, 1)], 1),
    ] {
        let expected = format!("storage.disks[0].partitions[{index}]");
        assert_eq!(places(&spans(overlapping), "3.5.0"), [expected], "{overlapping:?}");
    }
}

#[test]
fn arrays_have_a_level_and_devices() {
    let raid = |text: &str| storage(&format!(r#""raid": [{text}]"#));
    let cases: &[Case] = &[
        (r#"{"name": "a", "level": "raid1", "spares": 1, "devices": ["/dev/a", "/dev/b"]}"#, &[]),
        (r#"{"name": "a", "level": "stripe", "spares": 0, "devices": ["/dev/a"], "options": ["x", "x"]}"#, &[]),
        (r#"{"name": "a", "level": "0", "spares": 1, "devices": ["/dev/a"]}"#, &["storage.raid[0].spares"]),
        (r#"{"name": "a", "devices": ["/dev/a"]}"#, &["storage.raid[0].level"]),
        (r#"{"name": "a", "level": "raid7", "devices": ["/dev/a"]}"#, &["storage.raid[0].level"]),
        (r#"{"name": "a", "level": "1"}"#, &["storage.raid[0].devices"]),
        (r#"{"name": "a", "level": "1", "devices": ["sda"]}"#, &["storage.raid[0].devices[0]"]),
        (r#"{"name": "a", "level": "1", "devices": ["/dev/a", "/dev/a"]}"#, &["storage.raid[0].devices[1]"]),
        (
            r#"{"name": "a", "level": "1", "devices": ["/dev/a"]}, {"name": "a", "level": "1", "devices": ["/dev/b"]}"#,
            &["storage.raid[1]"],
        ),
    ];
    assert_places(raid, cases);
}

#[test]
fn filesystems_have_a_format_and_a_label_that_fits() {
    let filesystems = |text: &str| storage(&format!(r#""filesystems": [{text}]"#));
    let cases: &[Case] = &[
        (r#"{"device": "/dev/a"}"#, &[]),
        (
            r#"{"device": "/dev/a", "format": "xfs", "path": "/var", "options": ["x", "x"], "label": "123456789012"}"#,
            &[],
        ),
        (r#"{"device": "/dev/a", "format": "none"}, {"device": "/dev/b", "format": "swap"}"#, &[]),
        (r#"{"device": "a", "format": "xfs"}"#, &["storage.filesystems[0].device"]),
        (r#"{"device": "/dev/a", "format": "xfs", "path": "var"}"#, &["storage.filesystems[0].path"]),
        (r#"{"device": "/dev/a", "format": "ntfs"}"#, &["storage.filesystems[0].format"]),
        (r#"{"device": "/dev/a", "path": "/var"}"#, &["storage.filesystems[0].format"]),
        (r#"{"device": "/dev/a", "label": "x"}"#, &["storage.filesystems[0].format"]),
        (r#"{"device": "/dev/a", "wipeFilesystem": true}"#, &["storage.filesystems[0].format"]),
        (r#"{"device": "/dev/a", "mountOptions": ["x"]}"#, &["storage.filesystems[0].format"]),
        (r#"{"device": "/dev/a", "format": "xfs", "label": "1234567890123"}"#, &["storage.filesystems[0].label"]),
        (r#"{"device": "/dev/a", "format": "vfat", "label": "123456789012"}"#, &["storage.filesystems[0].label"]),
        (r#"{"device": "/dev/a", "format": "ext4", "label": "12345678901234567"}"#, &["storage.filesystems[0].label"]),
        (r#"{"device": "/dev/a", "format": "swap", "label": "1234567890123456"}"#, &["storage.filesystems[0].label"]),
        (r#"{"device": "/dev/a"}, {"device": "/dev/a"}"#, &["storage.filesystems[1]"]),
    ];
    assert_places(filesystems, cases);
    let none = filesystems(r#"{"device": "/dev/a", "format": "none"}"#);
    assert!(places(&none, "3.3.0").is_empty());
    assert_eq!(places(&none, "3.2.0"), ["storage.filesystems[0].format"]);
}

fn luks(text: &str) -> String {
    storage(&format!(r#""luks": [{{"name": "l", "device": "/dev/a"{text}}}]"#))
}

#[test]
fn volumes_have_a_name_a_device_and_a_key() {
    let cases: &[Case] = &[
        (r#""luks": [{"name": "a", "device": "/dev/a", "options": ["x", "x"], "openOptions": ["x", "y"]}]"#, &[]),
        (r#""luks": [{"name": "a/b", "device": "/dev/a"}]"#, &["storage.luks[0].name"]),
        (r#""luks": [{"name": "a"}]"#, &["storage.luks[0].device"]),
        (r#""luks": [{"name": "a", "device": "sda"}]"#, &["storage.luks[0].device"]),
        (r#""luks": [{"name": "a", "device": "/dev/a"}, {"name": "a", "device": "/dev/b"}]"#, &["storage.luks[1]"]),
    ];
    assert_places(storage, cases);
    let cases: &[Case] = &[
        (r#", "keyFile": {"source": "data:,x"}, "cex": {"enabled": false}"#, &[]),
        (r#", "keyFile": {"source": "x"}"#, &["storage.luks[0].keyFile.source"]),
        (r#", "openOptions": ["x", "x"]"#, &["storage.luks[0].openOptions[1]"]),
        (r#", "label": "123456789012345678901234567890123456789012345678""#, &["storage.luks[0].label"]),
        (r#", "cex": {"enabled": true}"#, &[]),
        (r#", "cex": {"enabled": true}, "clevis": {"tpm2": true}"#, &["storage.luks[0].cex"]),
        (r#", "cex": {"enabled": true}, "keyFile": {"source": "data:,x"}"#, &["storage.luks[0].cex"]),
    ];
    assert_places(luks, cases);
}

#[test]
fn clevis_has_its_own_pins_or_a_custom_one() {
    let clevis = |text: &str| luks(&format!(r#", "clevis": {{{text}}}"#));
    let cases: &[Case] = &[
        (r#""tpm2": true, "threshold": 1, "custom": {}"#, &[]),
        (r#""custom": {"pin": "sss", "config": "{}", "needsNetwork": true}, "tpm2": false, "threshold": 0"#, &[]),
        (r#""custom": {"pin": "sss", "config": "{}"}, "tpm2": true"#, &["storage.luks[0].clevis.custom"]),
        (r#""custom": {"config": "{}"}"#, &["storage.luks[0].clevis.custom.pin"]),
        (r#""custom": {"pin": "tang"}"#, &["storage.luks[0].clevis.custom.config"]),
        (
            r#""custom": {"needsNetwork": true}"#,
            &["storage.luks[0].clevis.custom.pin", "storage.luks[0].clevis.custom.config"],
        ),
        (r#""custom": {"pin": "pkcs11", "config": "{}"}"#, &["storage.luks[0].clevis.custom.pin"]),
        (r#""tang": [{"url": "http://a", "thumbprint": "t", "advertisement": "{\"a\": 1}"}]"#, &[]),
        (r#""tang": [{"thumbprint": "t"}]"#, &["storage.luks[0].clevis.tang[0].url"]),
        (r#""tang": [{"url": "tftp://a", "thumbprint": "t"}]"#, &["storage.luks[0].clevis.tang[0].url"]),
        (r#""tang": [{"url": "http://a"}]"#, &["storage.luks[0].clevis.tang[0].thumbprint"]),
        (
            r#""tang": [{"url": "http://a", "thumbprint": "t", "advertisement": "{"}]"#,
            &["storage.luks[0].clevis.tang[0].advertisement"],
        ),
        (
            r#""tang": [{"url": "http://a", "thumbprint": "t"}, {"url": "http://a", "thumbprint": "u"}]"#,
            &["storage.luks[0].clevis.tang[1]"],
        ),
    ];
    assert_places(clevis, cases);
    let any_pin = clevis(r#""custom": {"pin": "pkcs11", "config": "{}"}"#);
    assert!(places(&any_pin, "3.6.0").is_empty());
}
