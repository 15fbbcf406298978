//! Configs that are refused, and why.

use serde_json::{Value, json};

use super::super::error::{ConversionError, Flaw, Subject};
use super::super::upgrade;
use super::{config, file, files, hash, invalid, refuses};

#[test]
fn other_versions_of_spec_2_are_refused() {
    for version in ["2.3.0", "2.4.0", "2.2.0-experimental", "2.2", "1.0.0", ""] {
        let error = upgrade(&config(version, json!({}))).unwrap_err();
        assert_eq!(error, ConversionError::UnsupportedVersion { version: version.to_owned() });
    }
    assert!(upgrade(&json!({"ignition": {"version": 2}})).is_err());
    assert!(upgrade(&json!(null)).is_err());
}

#[test]
fn any_user_but_core_is_refused_in_the_daemons_words() {
    for users in [
        json!([{"name": "bob"}]),
        json!([{"name": "bob"}, {"name": "core"}]),
        json!([{"name": "core"}, {"name": "bob"}]),
    ] {
        let error = upgrade(&config("2.2.0", json!({"passwd": {"users": users}}))).unwrap_err();
        assert_eq!(error.to_string(), "unexpected user with name: bob. Only core user is supported");
    }
}

#[test]
fn what_spec_3_cannot_say_is_refused() {
    let name = || "x".to_owned();
    refuses(json!({"networkd": {"units": [{"name": "x"}]}}), ConversionError::NetworkdUnit { name: name() });
    let data = json!([{"name": "x", "path": "/x"}]);
    refuses(json!({"storage": {"filesystems": data}}), ConversionError::UnmappedFilesystem { name: name() });
    let root = json!([{"name": "root", "mount": {"device": "/dev/a", "format": "xfs", "create": {}}}]);
    let unforced = ConversionError::UnforcedCreation { name: "root".into() };
    refuses(json!({"storage": {"filesystems": root}}), unforced);
    for partition in [json!({"number": 1, "size": 2048, "start": 2048}), json!({})] {
        let device = "/dev/a".to_owned();
        let disks = json!([{"device": "/dev/a", "partitions": [partition]}]);
        refuses(json!({"storage": {"disks": disks}}), ConversionError::SectorPartitions { device });
    }
    let dropins = json!([{"name": "b.conf"}, {"name": "b.conf"}]);
    let duplicate = ConversionError::DuplicateDropin { unit: "a.service".into(), dropin: "b.conf".into() };
    refuses(json!({"systemd": {"units": [{"name": "a.service", "dropins": dropins}]}}), duplicate);
}

#[test]
fn only_the_root_filesystem_is_supported() {
    let kinds =
        [("files", Subject::File as fn(String) -> _), ("directories", Subject::Directory), ("links", Subject::Link)];
    for (list, kind) in kinds {
        let sections = json!({"storage": {list: [{"filesystem": "oem", "path": "/a"}]}});
        let (subject, filesystem) = (kind("/a".into()), "oem".into());
        refuses(sections, ConversionError::ForeignFilesystem { subject, filesystem });
    }
}

#[test]
fn one_path_belongs_to_one_entry() {
    let node = |path: &str| json!({"filesystem": "root", "path": path});
    let duplicate = |first, second| ConversionError::DuplicatePath { first, second };
    let a = || "/a".to_owned();
    // Files with the same text are reduced to the last; the same path in other words is an error.
    refuses(files(json!([node("/a"), node("//a")])), duplicate(Subject::File(a()), Subject::File(a())));
    refuses(
        json!({"storage": {"files": [node("/a")], "directories": [node("/a/")]}}),
        duplicate(Subject::File(a()), Subject::Directory(a())),
    );
    refuses(
        json!({"storage": {"directories": [node("/a")], "links": [node("/a")]}}),
        duplicate(Subject::Directory(a()), Subject::Link(a())),
    );
    refuses(json!({"storage": {"links": [node("/a"), node("/a")]}}), duplicate(Subject::Link(a()), Subject::Link(a())));
}

#[test]
fn nothing_is_written_through_a_link_of_the_config() {
    let node = |path: &str| json!({"filesystem": "root", "path": path});
    let behind = |subject| ConversionError::BehindLink { subject, link: "/l".to_owned() };
    let links = json!([node("/z"), node("/l"), node("/b")]);
    for path in ["/l/a", "/l/a/b", "/la", "/x/../l/a"] {
        let clean = path.trim_start_matches("/x/..").to_owned();
        refuses(json!({"storage": {"links": links, "files": [node(path)]}}), behind(Subject::File(clean)));
    }
    refuses(
        json!({"storage": {"links": links, "directories": [node("/l/d")]}}),
        behind(Subject::Directory("/l/d".into())),
    );
    let nested = json!([node("/l/b"), node("/l/a"), node("/l")]);
    refuses(json!({"storage": {"links": nested}}), behind(Subject::Link("/l/b".into())));
    for path in ["/k", "/m", "/", "/a/l/b"] {
        assert!(
            upgrade(&config("2.2.0", json!({"storage": {"links": links, "files": [node(path)]}}))).is_ok(),
            "{path}"
        );
    }
}

#[test]
fn invalid_files_are_refused() {
    let cases = [
        (json!({"filesystem": ""}), Flaw::NoFilesystem),
        (json!({"mode": 0o10000}), Flaw::Mode),
        (json!({"mode": -1}), Flaw::Mode),
        (json!({"user": {"id": 0, "name": "root"}}), Flaw::IdAndName),
        (json!({"group": {"id": 0, "name": "root"}}), Flaw::IdAndName),
        (json!({"append": true, "overwrite": true}), Flaw::AppendAndOverwrite),
        (json!({"contents": {"compression": "xz"}}), Flaw::Compression),
        (json!({"contents": {"source": "oem:///x"}}), Flaw::Scheme),
        (json!({"contents": {"source": "x"}}), Flaw::Scheme),
        (json!({"contents": {"verification": {"hash": ""}}}), Flaw::Hash),
        (json!({"contents": {"verification": {"hash": "sha512-0"}}}), Flaw::Hash),
        (json!({"contents": {"verification": {"hash": hash().replace("512", "256")}}}), Flaw::Hash),
    ];
    for (fields, flaw) in cases {
        // A later entry for the same path does not hide the flaw.
        invalid(files(json!([file(fields), file(json!({}))])), Subject::File("/a".into()), flaw);
    }
    invalid(files(json!([file(json!({"path": "a"}))])), Subject::File("a".into()), Flaw::RelativePath);
}

#[test]
fn invalid_storage_is_refused() {
    let a = || "a".to_owned();
    let storage = |list: &str, entry: Value| json!({"storage": {list: [entry]}});
    let root = |fields: Value| {
        let mut mount = json!({"device": "/dev/a", "format": "ext4"});
        mount.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({"name": "a", "mount": mount})
    };
    let cases = [
        (
            storage("directories", json!({"filesystem": "root", "path": "a"})),
            Subject::Directory(a()),
            Flaw::RelativePath,
        ),
        (storage("links", json!({"filesystem": "root", "path": "a"})), Subject::Link(a()), Flaw::RelativePath),
        (storage("disks", json!({"device": "a"})), Subject::Disk(a()), Flaw::RelativeDevice),
        (storage("raid", json!({"name": "a", "level": "7"})), Subject::Raid(a()), Flaw::RaidLevel),
        (storage("raid", json!({"name": "a", "level": "0", "spares": 1})), Subject::Raid(a()), Flaw::RaidSpares),
        (
            storage("raid", json!({"name": "a", "level": "1", "devices": ["b"]})),
            Subject::Raid(a()),
            Flaw::RelativeDevice,
        ),
        (storage("filesystems", json!({"name": "a"})), Subject::Filesystem(a()), Flaw::MountOrPath),
        (storage("filesystems", json!({"name": "a", "path": "b"})), Subject::Filesystem(a()), Flaw::RelativePath),
        (storage("filesystems", root(json!({"format": "zfs"}))), Subject::Filesystem(a()), Flaw::Format),
        (storage("filesystems", root(json!({"device": "b"}))), Subject::Filesystem(a()), Flaw::RelativeDevice),
        (storage("filesystems", root(json!({"label": "17 bytes of label"}))), Subject::Filesystem(a()), Flaw::Label),
        (
            storage("filesystems", root(json!({"create": {}, "wipeFilesystem": true}))),
            Subject::Filesystem(a()),
            Flaw::CreateAndMount,
        ),
    ];
    for (sections, subject, flaw) in cases {
        invalid(sections, subject, flaw);
    }
}

#[test]
fn invalid_units_users_and_references_are_refused() {
    let a = || "a".to_owned();
    let cases = [
        (json!({"systemd": {"units": [{"name": "a"}]}}), Subject::Unit(a()), Flaw::UnitExtension),
        (
            json!({"systemd": {"units": [{"name": "b.service/a"}]}}),
            Subject::Unit("b.service/a".into()),
            Flaw::UnitExtension,
        ),
        (
            json!({"systemd": {"units": [{"name": "b.service", "dropins": [{"name": "a"}]}]}}),
            Subject::Dropin("b.service".into(), a()),
            Flaw::DropinExtension,
        ),
        (
            json!({"passwd": {"users": [{"name": "a", "create": {}, "uid": 0}]}}),
            Subject::User(a()),
            Flaw::CreateAndField { field: "uid" },
        ),
        (
            json!({"ignition": {"config": {"append": [{"source": ""}, {"source": "oem:///a"}]}}}),
            Subject::Reference("ignition.config.append[1]".into()),
            Flaw::Scheme,
        ),
        (
            json!({"ignition": {"config": {"replace": {"source": "http://a", "verification": {"hash": "a"}}}}}),
            Subject::Reference("ignition.config.replace".into()),
            Flaw::Hash,
        ),
        (
            json!({"ignition": {"security": {"tls": {"certificateAuthorities": [{"source": "a"}]}}}}),
            Subject::Reference("ignition.security.tls.certificateAuthorities[0]".into()),
            Flaw::Scheme,
        ),
    ];
    for (sections, subject, flaw) in cases {
        invalid(sections, subject, flaw);
    }
}

#[test]
fn a_malformed_entry_is_named_and_not_quoted() {
    let secret = "hunter2";
    let cases = [
        (json!({"storage": secret}), "storage"),
        (json!({"storage": {"files": secret}}), "storage.files"),
        (files(json!([file(json!({})), file(json!({"contents": secret}))])), "storage.files[1]"),
        (files(json!([["root", "/a"]])), "storage.files[0]"),
        (json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": secret}]}}), "passwd.users[0]"),
        (json!({"systemd": {"units": [{"name": "a.service", "enabled": secret}]}}), "systemd.units[0]"),
        (json!({"ignition": {"config": {"replace": secret}}}), "ignition"),
    ];
    for (sections, at) in cases {
        let error = upgrade(&config("2.2.0", sections)).unwrap_err();
        assert_eq!(error, ConversionError::Malformed { at: at.to_owned() });
    }
}
