//! The RPM in a fresh system: installed with its dependencies resolved, upgraded, removed.
//!
//! No system made of RPMs is to be had here. The libraries that are in the fresh one are made known to RPM by a package
//! without files that provides what RPM's own generator reads from them, so that dependencies are checked and not waved
//! through.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::declared;
use super::system::{System, changes, package, packages, skipped};

const DATABASE: &str = "/var/lib/rpm";
const STATE: &str = "/var/lib/ostler";
/// Belong to packages of an RPM system that are not here.
const OF_OTHERS: [&str; 3] = ["/usr/share/licenses", "/usr/share/polkit-1", "/usr/share/polkit-1/rules.d"];

#[test]
fn an_rpm_comes_is_upgraded_and_goes() {
    let Some((system, packages)) = System::if_possible() else { return };
    let rpm = |words: &[&str]| {
        let root = system.root().to_str().unwrap();
        system.run_beside(&[&["rpm", "--root", root, "--dbpath", DATABASE], words].concat())
    };
    rpm(&["--initdb"]);
    rpm(&["--install", providers(&system).to_str().unwrap()]);
    let before = system.everything();
    let [old, new] = ["old", "new"].map(|age| package(&packages.join(age), "ostler-", ".rpm"));

    rpm(&["--install", old.to_str().unwrap()]);
    assert_eq!(rpm(&["--verify", "ostler"]), "");
    arrived(&system, &before, &rpm(&["--query", "--list", "ostler"]));

    fs::create_dir_all(system.path(STATE)).unwrap();
    system.run("systemctl disable ostler-firstboot.service");
    rpm(&["--upgrade", new.to_str().unwrap()]);
    assert_eq!(rpm(&["--query", "ostler"]).lines().count(), 1);
    assert_eq!(rpm(&["--verify", "ostler"]), "");
    for link in declared::links("ostler-firstboot.service") {
        assert!(!system.has_link(&link), "an upgrade has enabled what somebody disabled: {link}");
    }
    assert!(declared::links("ostler.service").iter().all(|link| system.has_link(link)));

    let helper = package(&packages.join("new"), "ostler-cluster-", ".rpm");
    rpm(&["--install", helper.to_str().unwrap()]);
    assert_eq!(rpm(&["--verify", "ostler-cluster"]), "");
    rpm(&["--erase", "ostler-cluster"]);
    rpm(&["--erase", "ostler"]);
    let (left, gone) = changes(&before, &system.everything());
    let allowed = |path: &String| {
        path == STATE
            || OF_OTHERS.contains(&path.as_str())
            || (path.starts_with("/etc/systemd/system/") && (path.ends_with(".wants") || path.ends_with(".requires")))
    };
    let strange: Vec<_> = left.iter().filter(|path| !allowed(path)).collect();
    assert!(strange.is_empty() && gone.is_empty(), "left: {strange:?}, gone: {gone:?}");
    assert!(left.contains(STATE) && system.account("ostler").is_some());
}

fn arrived(system: &System, before: &super::system::Everything, listed: &str) {
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    let missing: Vec<_> = declared::files().into_iter().filter(|file| !listed.contains(file)).collect();
    assert!(missing.is_empty(), "not in the package: {missing:?}");
    let after = system.everything();
    let (new, gone) = changes(before, &after);
    let mut brought = declared::all_links();
    brought.extend(listed);
    let expected =
        |path: &String| brought.contains(path) || brought.iter().any(|one| one.starts_with(&format!("{path}/")));
    let strange: Vec<_> = new.iter().filter(|path| !expected(path)).collect();
    assert!(strange.is_empty() && gone.is_empty(), "undeclared: {strange:?}, gone: {gone:?}");
    assert!(declared::all_links().iter().all(|link| system.has_link(link)), "the presets were not followed");
    for file in declared::files() {
        let entry = &after[&file];
        assert_eq!((entry.mode, entry.owner), (declared::mode(&file), (0, 0)), "{file}");
    }
    assert!(system.account("ostler").is_some_and(|account| account.ends_with("/usr/sbin/nologin")));
}

#[test]
fn an_rpm_says_nothing_of_where_and_when_it_was_built() {
    let packages = match packages() {
        Ok(packages) => packages,
        Err(reason) => return skipped(reason),
    };
    let [old, new] = ["old", "new"].map(|age| package(&packages.join(age), "ostler-", ".rpm"));
    let ask = |package: &Path| {
        let mut rpm = Command::new("rpm");
        let format = "%{BUILDHOST} %{BUILDTIME} %{PAYLOADCOMPRESSOR} %{VENDOR}";
        String::from_utf8(rpm.args(["-qp", "--queryformat", format]).arg(package).output().unwrap().stdout).unwrap()
    };
    let time = std::env::var("SOURCE_DATE_EPOCH").unwrap();
    assert_eq!(ask(&old), format!("ostler {time} zstd (none)"));
    assert_eq!(ask(&old), ask(&new));
}

/// A package that provides what is in the system.
fn providers(system: &System) -> PathBuf {
    let work = system.path("packages/providers");
    fs::create_dir_all(&work).unwrap();
    let version = system.run("dpkg-query --show --showformat=${Version} systemd");
    let version = version.split(['-', '~', '.']).next().unwrap();
    let mut spec = String::from("Name: fresh-system\nVersion: 1\nRelease: 1\nSummary: What is here\nLicense: none\n");
    // The dynamic linker of every glibc that RPM knows says so in its spec and not in its library.
    spec.push_str("Provides: rtld(GNU_HASH)\n");
    spec.push_str(&format!("BuildArch: noarch\nProvides: systemd = {version}\nProvides: dbus\nProvides: /bin/sh\n"));
    for provided in provided(&system.path("usr/lib")) {
        spec.push_str(&format!("Provides: {provided}\n"));
    }
    spec.push_str("%description\nWhat is here.\n%files\n");
    fs::write(work.join("fresh.spec"), spec).unwrap();
    let top = format!("_topdir {}", work.display());
    let built =
        Command::new("rpmbuild").args(["-bb", "--quiet", "--define", &top]).arg(work.join("fresh.spec")).output();
    let built = built.unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    package(&work.join("RPMS/noarch"), "fresh-system-", ".rpm")
}

/// What RPM's generator reads from the libraries below a directory.
fn provided(libraries: &Path) -> Vec<String> {
    let found = Command::new("find").arg(libraries).args(["-name", "*.so*", "-type", "f"]).output().unwrap();
    let mut generator =
        Command::new("/usr/lib/rpm/find-provides").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    generator.stdin.take().unwrap().write_all(&found.stdout).unwrap();
    let output = generator.wait_with_output().unwrap();
    let provided: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert!(provided.iter().any(|name| name.starts_with("libostree-1.so.1")), "no libostree among {provided:?}");
    provided
}
