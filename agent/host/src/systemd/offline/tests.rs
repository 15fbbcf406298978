//! The same roots given to us and to `systemctl --root`: the links must be the same afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::disk::RootDisk;

const ETC: &str = "etc/systemd/system";
const LIB: &str = "usr/lib/systemd/system";

/// What is expected of systemctl on the same root.
#[derive(Clone, Copy, PartialEq)]
enum Oracle {
    Same,
    /// Both refuse.
    Refuses,
    /// We differ: why, and the links that are left.
    Differs(&'static str, &'static [&'static str]),
}
use Oracle::{Differs, Refuses, Same};
use Wish::{Disable, Enable, Preset};

/// Name, files as `path|text after the service section`, links as `path|target`, wish, unit, oracle.
type Row = (&'static str, &'static [&'static str], &'static [&'static str], Wish, &'static str, Oracle);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("plain", &["E/a.service|WantedBy=multi-user.target"], &[], Enable, "a.service", Same),
    ("vendor", &["L/a.service|WantedBy=multi-user.target"], &[], Enable, "a.service", Same),
    ("local", &["usr/local/lib/systemd/system/a.service|WantedBy=multi-user.target"], &[], Enable, "a.service", Same),
    ("etc hides vendor", &["E/a.service|WantedBy=a.target", "L/a.service|WantedBy=b.target"], &[], Enable, "a.service", Same),
    ("two targets", &["E/a.service|WantedBy=a.target b.target"], &[], Enable, "a.service", Same),
    ("reset", &["E/a.service|WantedBy=a.target\nWantedBy=\nWantedBy=b.target"], &[], Enable, "a.service", Same),
    ("continued", &["E/a.service|WantedBy=a.target \\\n b.target"], &[], Enable, "a.service", Same),
    ("required", &["E/a.service|RequiredBy=a.target"], &[], Enable, "a.service", Same),
    ("alias", &["E/a.service|Alias=b.service"], &[], Enable, "a.service", Same),
    ("alias of itself", &["E/a.service|Alias=a.service\nWantedBy=x.target"], &[], Enable, "a.service", Same),
    ("alias of another type", &["E/a.service|Alias=b.socket"], &[], Enable, "a.service", Refuses),
    ("alias taken by a file", &["E/a.service|Alias=b.service", "E/b.service|"], &[], Enable, "a.service", Refuses),
    ("alias taken by a link", &["E/a.service|Alias=b.service", "E/c.service|"], &["E/b.service|/etc/systemd/system/c.service"], Enable, "a.service", Refuses),
    ("also", &["E/a.service|WantedBy=x.target\nAlso=a.socket", "E/a.socket|WantedBy=sockets.target"], &[], Enable, "a.service", Same),
    ("also in a ring", &["E/a.service|WantedBy=x.target\nAlso=b.service", "E/b.service|WantedBy=y.target\nAlso=a.service"], &[], Enable, "a.service", Same),
    ("static", &["E/a.service|"], &[], Enable, "a.service", Same),
    ("instance", &["L/t@.service|WantedBy=x.target"], &[], Enable, "t@one.service", Same),
    ("template without default", &["L/t@.service|WantedBy=x.target"], &[], Enable, "t@.service", Differs("systemctl fails; there are no links to make", &[])),
    ("template wanted by a template", &["L/t@.service|WantedBy=x@.target"], &[], Enable, "t@.service", Same),
    ("template with default", &["L/t@.service|WantedBy=x.target\nDefaultInstance=d"], &[], Enable, "t@.service", Same),
    ("template alias", &["L/t@.service|Alias=u@.service"], &[], Enable, "t@.service", Same),
    ("instance alias", &["L/t@.service|Alias=u@.service\nWantedBy=x.target"], &[], Enable, "t@one.service", Same),
    ("plain alias of an instance", &["L/t@.service|Alias=u.service"], &[], Enable, "t@one.service", Refuses),
    ("specifiers", &["L/p-q@.service|WantedBy=%p.target %i.target %j.target x@%i.target\nRequiredBy=%N.target"], &[], Enable, "p-q@one.service", Same),
    ("specifier of a default", &["L/t@.service|WantedBy=x-%i.target\nDefaultInstance=d"], &[], Enable, "t@.service", Same),
    ("bad name", &["E/a.service|WantedBy=nonsense"], &[], Enable, "a.service", Refuses),
    ("stale links go", &["E/a.service|WantedBy=x.target"], &["E/old.target.wants/a.service|/etc/systemd/system/a.service", "E/old.service|/etc/systemd/system/a.service"], Enable, "a.service", Same),
    ("wrong target is put right", &["E/a.service|WantedBy=x.target"], &["E/x.target.wants/a.service|/usr/lib/systemd/system/a.service"], Enable, "a.service", Same),
    ("others stay", &["E/a.service|WantedBy=x.target", "E/b.service|"], &["E/x.target.wants/b.service|/etc/systemd/system/b.service"], Enable, "a.service", Same),
    ("masked", &["L/a.service|WantedBy=x.target"], &["E/a.service|/dev/null"], Enable, "a.service", Differs("systemctl fails; neither does anything", &["E/a.service"])),
    ("absent", &[], &["E/x.target.wants/a.service|/etc/systemd/system/a.service"], Enable, "a.service", Differs("systemctl fails after removing the links", &[])),
    ("disable", &["E/a.service|WantedBy=x.target\nAlias=b.service"], &["E/x.target.wants/a.service|/etc/systemd/system/a.service", "E/b.service|/etc/systemd/system/a.service"], Disable, "a.service", Same),
    ("disable through an alias", &["E/a.service|Alias=b.service"], &["E/x.target.wants/b.service|/etc/systemd/system/a.service", "E/b.service|/etc/systemd/system/a.service"], Disable, "a.service", Same),
    ("enable an alias", &["E/a.service|WantedBy=x.target"], &["E/b.service|/etc/systemd/system/a.service"], Enable, "b.service", Same),
    ("enable a dangling alias", &[], &["E/b.service|/etc/systemd/system/a.service"], Enable, "b.service", Differs("systemctl fails after removing the link", &[])),
    ("disable an alias", &["E/a.service|WantedBy=x.target"], &["E/b.service|/etc/systemd/system/a.service", "E/x.target.wants/a.service|/etc/systemd/system/a.service"], Disable, "b.service", Same),
    ("disable masked", &["L/a.service|WantedBy=x.target"], &["E/a.service|/dev/null", "E/x.target.wants/a.service|/usr/lib/systemd/system/a.service"], Disable, "a.service", Differs("systemctl leaves links of what is masked", &["E/a.service"])),
    ("preset masked", &["L/a.service|WantedBy=x.target"], &["E/a.service|/dev/null", "E/x.target.wants/a.service|/usr/lib/systemd/system/a.service"], Preset, "a.service", Differs("systemctl leaves links of what is masked", &["E/a.service"])),
    ("disable absent", &[], &["E/x.target.wants/a.service|/etc/systemd/system/a.service"], Disable, "a.service", Differs("systemctl 262 fails after removing the link", &[])),
    ("disable an instance", &["L/t@.service|WantedBy=x.target"], &["E/x.target.wants/t@1.service|/usr/lib/systemd/system/t@.service", "E/x.target.wants/t@2.service|/usr/lib/systemd/system/t@.service"], Disable, "t@1.service", Same),
    ("disable a template", &["L/t@.service|WantedBy=x.target"], &["E/x.target.wants/t@1.service|/usr/lib/systemd/system/t@.service", "E/x.requires/t@2.service|/usr/lib/systemd/system/t@.service"], Disable, "t@.service", Same),
    ("disable also", &["E/a.service|WantedBy=x.target\nAlso=b.service", "E/b.service|WantedBy=x.target"], &["E/x.target.wants/b.service|/etc/systemd/system/b.service"], Disable, "a.service", Same),
    ("preset without files", &["L/a.service|WantedBy=x.target"], &[], Preset, "a.service", Same),
    ("preset enable", &["L/a.service|WantedBy=x.target", "P/50-a.preset|enable a*.service\ndisable *"], &[], Preset, "a.service", Same),
    ("preset disable", &["L/a.service|WantedBy=x.target", "P/50-a.preset|# enable a.service\ndisable *"], &["E/x.target.wants/a.service|/usr/lib/systemd/system/a.service"], Preset, "a.service", Same),
    ("preset by name of file", &["L/a.service|WantedBy=x.target", "P/50-a.preset|disable *", "etc/systemd/system-preset/10-b.preset|enable a.service"], &[], Preset, "a.service", Same),
    ("preset overridden", &["L/a.service|WantedBy=x.target", "P/50-a.preset|disable *", "etc/systemd/system-preset/50-a.preset|enable *"], &[], Preset, "a.service", Same),
    ("preset hidden", &["L/a.service|WantedBy=x.target", "P/50-a.preset|disable *"], &["etc/systemd/system-preset/50-a.preset|/dev/null"], Preset, "a.service", Same),
    ("preset instances", &["L/t@.service|WantedBy=x.target", "P/50-a.preset|enable t@.service a b\ndisable *"], &[], Preset, "t@.service", Same),
    ("preset of one instance", &["L/t@.service|WantedBy=x.target", "P/50-a.preset|enable t@.service a b\ndisable *"], &[], Preset, "t@b.service", Same),
    ("preset of another instance", &["L/t@.service|WantedBy=x.target", "P/50-a.preset|enable t@.service a b\ndisable *"], &["E/x.target.wants/t@c.service|/usr/lib/systemd/system/t@.service"], Preset, "t@c.service", Same),
    ("preset of an absent unit", &["P/50-a.preset|enable *"], &["E/x.target.wants/a.service|/usr/lib/systemd/system/a.service"], Preset, "a.service", Differs("systemctl fails and leaves the links", &[])),
    ("a temporary link", &["E/a.service|WantedBy=x.target"], &["E/x.target.wants/.ostler-tx-3|/etc/systemd/system/a.service", "E/.ostler-tx-4|/etc/systemd/system/a.service"], Disable, "a.service", Same),
    ("a hidden preset", &["L/a.service|WantedBy=x.target", "P/.10-a.preset|disable *"], &[], Preset, "a.service", Same),
    ("upheld", &["E/a.service|UpheldBy=b.service"], &[], Enable, "a.service", Differs("systemctl knows it from 254 on", &["E/b.service.upholds/a.service"])),
];

fn place(text: &str) -> String {
    let text = text.strip_prefix("E/").map(|rest| format!("{ETC}/{rest}")).unwrap_or_else(|| text.to_owned());
    let text = text.strip_prefix("L/").map(|rest| format!("{LIB}/{rest}")).unwrap_or(text);
    text.strip_prefix("P/").map(|rest| format!("usr/lib/systemd/system-preset/{rest}")).unwrap_or(text)
}

fn build(row: &Row) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join(ETC)).unwrap();
    fs::create_dir_all(root.path().join(LIB)).unwrap();
    symlink("usr/lib", root.path().join("lib")).unwrap();
    for (path, text) in row.1.iter().map(|file| file.split_once('|').unwrap()) {
        let at = root.path().join(place(path));
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let install = if text.is_empty() { String::new() } else { format!("[Install]\n{text}\n") };
        let text =
            if path.ends_with(".preset") { text.to_owned() } else { format!("[Unit]\nDescription=x\n{install}") };
        fs::write(at, text).unwrap();
    }
    for (path, target) in row.2.iter().map(|link| link.split_once('|').unwrap()) {
        let at = root.path().join(place(path));
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(target, at).unwrap();
    }
    root
}

fn compute(root: &Path, wish: Wish, unit: &str) -> Result<Links, OfflineError> {
    let disk = RootDisk::open(root).unwrap();
    links(&disk, &DiskTexts { disk: &disk, overlay: BTreeMap::new() }, &[Change { unit, wish }])
}

fn apply(root: &Path, links: &Links) {
    let at = |path: &RootPath| root.join(path.as_str().trim_start_matches('/'));
    for path in &links.remove {
        fs::remove_file(at(path)).unwrap();
    }
    for (path, target) in &links.add {
        fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        let _ = fs::remove_file(at(path));
        symlink(target, at(path)).unwrap();
    }
}

fn found(root: &Path) -> BTreeSet<(String, String)> {
    let mut open = vec![root.join(ETC)];
    let mut found = BTreeSet::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if let Ok(target) = fs::read_link(&entry) {
                let target = target.to_str().unwrap().to_owned();
                // Debian's systemctl writes /lib, which is a link here; Enterprise Linux has /usr/lib, and so have we.
                let target = target.strip_prefix("/lib/").map(|rest| format!("/usr/lib/{rest}")).unwrap_or(target);
                found.insert((entry.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), target));
            } else if entry.is_dir() {
                open.push(entry);
            }
        }
    }
    found
}

fn systemctl(root: &Path, words: &[&str]) -> Option<std::process::Output> {
    match Command::new("systemctl").arg(format!("--root={}", root.display())).args(words).output() {
        Ok(output) => Some(output),
        Err(_) => {
            eprintln!("SKIPPED: the comparison with systemctl needs systemctl");
            None
        }
    }
}

#[test]
fn links_are_those_that_systemctl_makes() {
    let mut wrong = Vec::new();
    for row in ROWS {
        let (name, _, _, wish, unit, oracle) = *row;
        let (ours, theirs) = (build(row), build(row));
        let verb = match wish {
            // "reenable" of 252 takes an instance for its template.
            Enable if row.2.is_empty() => "enable",
            Enable => "reenable",
            Disable => "disable",
            Preset => "preset",
        };
        let Some(output) = systemctl(theirs.path(), &[verb, unit]) else { return };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let result = compute(ours.path(), wish, unit);
        if let Ok(links) = &result {
            apply(ours.path(), links);
            let again = compute(ours.path(), wish, unit).unwrap();
            if again != Links::default() {
                wrong.push(format!("{name}: not idempotent: {again:?}"));
            }
        }
        let same = found(ours.path()) == found(theirs.path());
        let right = match oracle {
            Same => result.is_ok() && same && output.status.success(),
            Refuses => result.is_err() && !output.status.success(),
            Differs(why, left) => {
                let paths = found(ours.path()).into_iter().map(|(path, _)| path);
                eprintln!("{name} differs on purpose: {why}");
                result.is_ok() && paths.eq(left.iter().map(|path| place(path)))
            }
        };
        if !right {
            let (ours, theirs) = (found(ours.path()), found(theirs.path()));
            wrong.push(format!("{name}: {result:?}\n  ours {ours:?}\n  theirs {theirs:?}\n  {} {said}", output.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn states_are_those_that_systemctl_tells() {
    let mut wrong = Vec::new();
    for row in ROWS {
        let (name, _, _, wish, unit, oracle) = *row;
        let root = build(row);
        if let (Ok(links), Same) = (compute(root.path(), wish, unit), oracle) {
            apply(root.path(), &links);
        }
        for unit in [unit, "a.service", "b.service", "t@.service", "t@d.service", "t@z.service", "u@.service"] {
            let Some(output) = systemctl(root.path(), &["is-enabled", unit]) else { return };
            let disk = RootDisk::open(root.path()).unwrap();
            let state = is_enabled(&disk, &DiskTexts { disk: &disk, overlay: BTreeMap::new() }, unit).unwrap();
            let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            // systemctl 252 says nothing on its standard output, 262 "not-found".
            let theirs = if matches!(said.as_str(), "" | "not-found") { "absent" } else { said.as_str() };
            // systemctl 252 does not know UpheldBy= and takes the unit for static.
            if name != "upheld" && format!("{state:?}").to_lowercase() != theirs {
                wrong.push(format!("{name}: {unit} is {state:?}, systemctl says {theirs}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_transaction_writes_and_removes_counts_and_not_what_stands() {
    let row: Row =
        ("", &["E/a.service|WantedBy=old.target", "L/a.service|WantedBy=vendor.target"], &[], Enable, "", Same);
    let root = build(&row);
    let disk = RootDisk::open(root.path()).unwrap();
    let path = RootPath::new("/etc/systemd/system/a.service").unwrap();
    let new = UnitText::File { path, text: Secret::new("[Install]\nWantedBy=new.target\n".to_owned()) };
    for (overlay, expected) in [
        (Some(new), Some("/etc/systemd/system/new.target.wants/a.service")),
        (None, Some("/etc/systemd/system/vendor.target.wants/a.service")),
        (Some(UnitText::Masked), None),
        (Some(UnitText::Absent), None),
    ] {
        let texts = DiskTexts { disk: &disk, overlay: BTreeMap::from([("a.service".to_owned(), overlay)]) };
        let links = links(&disk, &texts, &[Change { unit: "a.service", wish: Enable }]).unwrap();
        assert_eq!(links.add.first().map(|(path, _)| path.as_str()), expected);
    }
}

#[test]
fn an_endless_family_is_refused() {
    struct Endless;
    impl UnitTexts for Endless {
        fn unit(&self, name: &str) -> io::Result<UnitText> {
            let path = RootPath::new(format!("/etc/systemd/system/{name}")).unwrap();
            Ok(UnitText::File { path, text: Secret::new("[Install]\nAlso=a%N.service\n".to_owned()) })
        }
    }
    let root = tempfile::tempdir().unwrap();
    let disk = RootDisk::open(root.path()).unwrap();
    let result = links(&disk, &Endless, &[Change { unit: "a.service", wish: Enable }]);
    assert!(matches!(result, Err(OfflineError::TooMany { .. })), "{result:?}");
}
