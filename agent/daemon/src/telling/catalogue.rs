//! Whether the message catalogue beside the units explains every notice, and whether systemd can read it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ostler_core::node::Notice;
use ostler_core::protocol::audit;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../units/usr/lib/systemd/catalog/ostler.catalog")
}

/// Entries in their order: identifier, header, body.
fn entries(text: &str) -> Vec<(&str, BTreeMap<&str, &str>, &str)> {
    let entry = |text| {
        let (id, rest): (&str, &str) = str::split_once(text, '\n').unwrap();
        let (header, body) = rest.split_once("\n\n").unwrap();
        (id, header.lines().map(|line| line.split_once(": ").unwrap()).collect(), body.trim())
    };
    text.split("\n-- ").skip(1).map(entry).collect()
}

/// Of both halves, in the catalogue's order.
fn ids() -> Vec<&'static str> {
    Notice::IDS.iter().chain(&audit::IDS).map(|(_, id)| *id).collect()
}

#[test]
fn every_notice_is_explained_once_and_nothing_else_is() {
    let text = std::fs::read_to_string(path()).unwrap();
    let entries = entries(&text);
    let explained: Vec<_> = entries.iter().map(|(id, ..)| *id).collect();
    assert_eq!(explained, ids());
    for (id, header, body) in entries {
        assert_eq!(header["Defined-By"], "Ostler", "{id}");
        assert!(!header["Subject"].is_empty() && body.len() > 80, "{id} is not explained");
    }
}

#[test]
fn only_fields_that_a_notice_has_are_put_into_an_explanation() {
    let text = std::fs::read_to_string(path()).unwrap();
    for (index, part) in text.split('@').enumerate().filter(|(index, _)| index % 2 == 1) {
        assert!(["OSTLER_NODE", "OSTLER_CONFIG"].contains(&part), "{index}: {part}");
    }
    let about_a_config = |name: &str| {
        ["UpdateWanted", "Superseded", "Refused", "Held", "UpdateBegun", "Applied", "Timed", "Restarted", "Proven"]
            .into_iter()
            .chain(["GivenUp", "Failed", "ServiceFailed", "Recovered", "Done", "BaseKept"])
            .chain([
                "DriftWatched",
                "DriftFound",
                "DriftRepaired",
                "DriftFought",
                "DriftGone",
                "TakenOver",
                "ConfigDoubtful",
                "PoliciesUnmerged",
            ])
            .any(|other| other == name)
    };
    for ((name, _), (_, header, body)) in Notice::IDS.iter().zip(entries(&text)) {
        let named = header["Subject"].contains("@OSTLER_CONFIG@") || body.contains("@OSTLER_CONFIG@");
        assert!(!named || about_a_config(name), "{name} is about no configuration");
    }
}

#[test]
fn systemd_can_read_the_catalogue() {
    let root = tempfile::tempdir().unwrap();
    let journalctl =
        |option: &str| Command::new("journalctl").arg(option).arg(format!("--root={}", root.path().display())).output();
    if !journalctl("--version").is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: there is no journalctl here that could read the catalogue");
        return;
    }
    let at = root.path().join("usr/lib/systemd/catalog");
    std::fs::create_dir_all(&at).unwrap();
    std::fs::create_dir_all(root.path().join("var/lib/systemd/catalog")).unwrap();
    std::fs::copy(path(), at.join("ostler.catalog")).unwrap();
    let updated = journalctl("--update-catalog").unwrap();
    assert!(updated.status.success() && updated.stderr.is_empty(), "{updated:?}");
    let listed = String::from_utf8(journalctl("--list-catalog").unwrap().stdout).unwrap();
    let mut found: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let mut wanted = ids();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}
