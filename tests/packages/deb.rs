//! The deb in a fresh Debian: installed, upgraded, removed, purged.

use std::collections::BTreeSet;
use std::fs;

use super::declared;
use super::system::{System, changes, package};

const STATE: &str = "/var/lib/ostler";

#[test]
fn a_deb_comes_is_upgraded_and_goes() {
    let Some((system, packages)) = System::if_possible() else { return };
    let before = system.everything();
    let old = system.take(&package(&packages.join("old"), "ostler_", ".deb"));
    let new = system.take(&package(&packages.join("new"), "ostler_", ".deb"));

    system.run(&format!("dpkg --install {old}"));
    arrived(&system, &before);

    fs::create_dir_all(system.path(STATE)).unwrap();
    fs::write(system.path(STATE).join("journal"), "open").unwrap();
    system.run("systemctl disable ostler-firstboot.service");
    system.run(&format!("dpkg --install {new}"));
    assert!(system.run("dpkg-query --show ostler").contains("0.1.1"));
    assert_eq!(system.run("dpkg --verify ostler"), "");
    for link in declared::links("ostler-firstboot.service") {
        assert!(!system.has_link(&link), "an upgrade has enabled what somebody disabled: {link}");
    }
    assert!(declared::links("ostler.service").iter().all(|link| system.has_link(link)));

    system.run("dpkg --remove ostler");
    let (left, gone) = changes(&before, &system.everything());
    let state: BTreeSet<_> = [STATE.to_owned(), format!("{STATE}/journal")].into();
    assert_eq!((left.difference(&parents(&left)).cloned().collect(), gone), (state, BTreeSet::new()));

    system.run("dpkg --purge ostler");
    let (left, gone) = changes(&before, &system.everything());
    assert_eq!((left.difference(&parents(&left)).cloned().collect(), gone), (BTreeSet::new(), BTreeSet::new()));
    assert!(system.account("ostler").is_some(), "the user is gone, and its number free for somebody else");
}

fn arrived(system: &System, before: &super::system::Everything) {
    assert_eq!(system.run("dpkg --verify ostler"), "");
    let listed: BTreeSet<String> = system.run("dpkg --listfiles ostler").lines().map(str::to_owned).collect();
    let missing: Vec<_> = declared::files().into_iter().filter(|file| !listed.contains(file)).collect();
    assert!(missing.is_empty(), "not in the package: {missing:?}");
    let after = system.everything();
    let (new, gone) = changes(before, &after);
    let links = declared::all_links();
    let expected = |path: &String| {
        listed.contains(path) || links.contains(path) || links.iter().any(|link| link.starts_with(&format!("{path}/")))
    };
    let strange: Vec<_> = new.iter().filter(|path| !expected(path)).collect();
    assert!(strange.is_empty() && gone.is_empty(), "undeclared: {strange:?}, gone: {gone:?}");
    assert!(links.iter().all(|link| system.has_link(link)), "the presets were not followed: {links:?}");
    for file in declared::files() {
        let entry = &after[&file];
        assert_eq!((entry.mode, entry.owner), (declared::mode(&file), (0, 0)), "{file}");
    }
    let account = system.account("ostler").expect("there is no user ostler");
    assert!(account.ends_with("/usr/sbin/nologin"), "{account}");
}

/// Directories that systemd makes for links are its own to keep.
fn parents(left: &BTreeSet<String>) -> BTreeSet<String> {
    let of_links = |path: &&String| {
        let name = path.strip_prefix("/etc/systemd/system/");
        name.is_some_and(|name| name.ends_with(".wants") || name.ends_with(".requires"))
    };
    left.iter().filter(of_links).cloned().collect()
}
