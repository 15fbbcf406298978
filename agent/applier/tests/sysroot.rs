//! Deployments of a real sysroot, made by the `ostree` command and read through libostree.
#![cfg(test)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use ostler_applier::sysroot::Libostree;
use ostler_core::os::state::{Installed, OsState};
use ostler_host::os::Sysroot;

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A sysroot in a temporary directory, or nothing, loudly, where `ostree` is missing.
fn sysroot() -> Option<tempfile::TempDir> {
    let there =
        Command::new("ostree").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !there {
        assert!(std::env::var_os("OSTLER_REQUIRE_SYSTEMD").is_none(), "the ostree command is missing");
        eprintln!("SKIPPED: tests with a real sysroot: the ostree command is missing");
        return None;
    }
    let root = tempfile::tempdir().unwrap();
    ostree(root.path(), &["admin", "init-fs", "--modern", "SYSROOT"]);
    ostree(root.path(), &["admin", "os-init", "--sysroot=SYSROOT", "host"]);
    ostree(root.path(), &["config", "--repo=SYSROOT/ostree/repo", "set", "sysroot.bootloader", "none"]);
    Some(root)
}

fn ostree(root: &Path, arguments: &[&str]) {
    let root = root.to_str().unwrap();
    let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace("SYSROOT", root)).collect();
    // Deployments would be immutable even for root, who has to remove them afterwards.
    let ended =
        Command::new("ostree").args(&arguments).env("OSTREE_SYSROOT_DEBUG", "mutable-deployments").output().unwrap();
    assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

/// Commits a tree as the smallest operating system there can be.
fn commit(root: &Path, version: &str, extra: &[&str]) {
    let tree = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("usr/lib/modules/6.0/vmlinuz", version),
        ("usr/lib/modules/6.0/initramfs.img", "initramfs"),
        ("usr/lib/os-release", "ID=rhcos\n"),
        ("usr/etc/default", "x"),
    ] {
        let at = tree.path().join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }
    let (tree, subject) =
        (format!("--tree=dir={}", tree.path().display()), format!("--add-metadata-string=version={version}"));
    let fixed = ["commit", "--repo=SYSROOT/ostree/repo", "--branch=os", "--bootable", "--canonical-permissions"];
    ostree(root, &[&fixed[..], &[tree.as_str(), subject.as_str()], extra].concat());
}

fn deploy(root: &Path, origin: &str, kargs: &[&str]) {
    let file = root.join("the.origin");
    fs::write(&file, origin).unwrap();
    let origin = format!("--origin-file={}", file.display());
    let kargs: Vec<String> = kargs.iter().map(|argument| format!("--karg-append={argument}")).collect();
    let kargs: Vec<&str> = kargs.iter().map(String::as_str).collect();
    ostree(
        root,
        &[&["admin", "deploy", "--sysroot=SYSROOT", "--os=host", "--retain", &origin][..], &kargs, &["os"]].concat(),
    );
}

fn read(root: &Path) -> OsState {
    Libostree::at(root).unwrap().read().unwrap()
}

#[test]
fn a_directory_without_a_repository_has_no_deployments() {
    assert!(Libostree::at(tempfile::tempdir().unwrap().path()).is_none());
}

#[test]
fn an_empty_sysroot_has_none_either() {
    let Some(root) = sysroot() else { return };
    assert_eq!(read(root.path()), OsState::default());
}

#[test]
fn deployments_are_read_as_they_are() {
    let Some(root) = sysroot() else { return };
    commit(root.path(), "1", &[]);
    deploy(root.path(), "[origin]\nrefspec=os\n", &["root=LABEL=root", "ro", "console=tty0", "console=ttyS0"]);
    let digest = format!("--add-metadata-string=ostree.manifest-digest={DIGEST}");
    commit(root.path(), "2", &[&digest]);
    let image = format!("registry.example/os@{DIGEST}");
    let origin = format!(
        "[origin]\ncontainer-image-reference=ostree-unverified-registry:{image}\n\n\
         [packages]\nrequested=usbguard;htop;\n\n[overrides]\nremove=kernel;kernel-core;\n"
    );
    deploy(root.path(), &origin, &["a=\"b c\"", "quiet", "quiet"]);
    ostree(root.path(), &["admin", "pin", "--sysroot=SYSROOT", "1"]);

    let state = read(root.path());
    assert_eq!((&state.booted, &state.staged), (&None, &None));
    let [new, old] = &state.deployments[..] else { panic!("{state:?}") };
    let words = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(new.image.as_deref(), Some(image.as_str()));
    assert_eq!(new.digest.as_deref(), Some(DIGEST));
    assert_eq!((new.version.as_deref(), new.stateroot.as_str(), new.pinned), (Some("2"), "host", false));
    assert_eq!(new.packages, words(&["usbguard", "htop"]));
    assert_eq!(new.removals, words(&["kernel", "kernel-core"]));
    assert_eq!(
        new.kargs.last_chunk::<3>(),
        Some(&["a=\"b c\"", "quiet", "quiet"].map(str::to_owned)),
        "{:?}",
        new.kargs
    );
    assert_eq!((old.image.as_deref(), old.digest.as_deref(), old.pinned), (None, None, true));
    assert_eq!(old.kargs, words(&["root=LABEL=root", "ro", "console=tty0", "console=ttyS0"]));
    assert!(old.checksum.len() == 64 && old.checksum != new.checksum && old.boot_checksum != new.boot_checksum);
    assert_eq!(state.rollback.as_ref(), Some(old));
}

#[test]
fn packages_layered_on_an_image_do_not_hide_it() {
    let Some(root) = sysroot() else { return };
    let digest = format!("--add-metadata-string=ostree.manifest-digest={DIGEST}");
    commit(root.path(), "1", &[&digest]);
    // What rpm-ostree keeps the commit of the image by.
    ostree(root.path(), &["refs", "--repo=SYSROOT/ostree/repo", "--create=rpmostree/base/0", "os"]);
    commit(root.path(), "1", &[]);
    deploy(root.path(), "[origin]\nrefspec=os\n", &[]);
    let state = read(root.path());
    let Some(Installed { digest, .. }) = state.deployments.first() else { panic!("{state:?}") };
    assert_eq!(digest.as_deref(), Some(DIGEST));
}

#[test]
fn layers_of_images_are_known_by_their_digests() {
    let Some(root) = sysroot() else { return };
    let layers = || {
        let mut layers = Libostree::at(root.path()).unwrap().layers().unwrap();
        layers.sort();
        layers
    };
    assert_eq!(layers(), Vec::<String>::new());
    commit(root.path(), "1", &[]);
    let other = DIGEST.replace('0', "f");
    for name in [
        // As ostree-ext's stores of rpm-ostree and bootc write them.
        format!("ostree/container/blob/{}", DIGEST.replace(':', "_3A_")),
        format!("ostree/container/blob/{}", other.replace(':', "_3A_")),
        "ostree/container/blob/unknown".to_owned(),
        "ostree/container/image/docker_3A__2F__2F_registry_2E_example_2F_os".to_owned(),
    ] {
        ostree(root.path(), &["refs", "--repo=SYSROOT/ostree/repo", &format!("--create={name}"), "os"]);
    }
    assert_eq!(layers(), [DIGEST, &other]);
}

#[test]
fn the_words_of_a_failed_finalisation_are_kept() {
    let Some(root) = sysroot() else { return };
    fs::create_dir_all(root.path().join("boot/ostree")).unwrap();
    fs::write(root.path().join("boot/ostree/finalize-failure.stamp"), "error: /boot is full\n").unwrap();
    assert_eq!(read(root.path()).finalization_failure.as_deref(), Some("error: /boot is full"));
}

#[test]
fn a_damaged_sysroot_is_an_error_with_its_cause() {
    let Some(root) = sysroot() else { return };
    fs::write(root.path().join("ostree/repo/config"), "no config").unwrap();
    let error = Libostree::at(root.path()).unwrap().read().unwrap_err();
    assert_eq!(error.to_string(), "could not read the deployments of this machine");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_change_on_a_full_disk_says_so_by_its_exit_status() {
    // A sysroot that libostree has to write to needs a filesystem of its own, which only root can have.
    let Some(_) = sysroot().filter(|_| nix::unistd::geteuid().is_root()) else { return };
    let script = r#"
        set -e
        root=$(mktemp --directory)
        mount -t tmpfs -o size=16m sysroot "$root"
        export OSTREE_SYSROOT_DEBUG=mutable-deployments
        ostree admin init-fs --modern "$root"
        ostree admin os-init --sysroot="$root" host
        ostree config --repo="$root/ostree/repo" set sysroot.bootloader none
        mkdir -p "$root/tree/usr/lib/modules/6.0" "$root/tree/usr/etc"
        echo ID=rhcos > "$root/tree/usr/lib/os-release"
        echo initramfs > "$root/tree/usr/lib/modules/6.0/initramfs.img"
        for version in 1 2; do
            echo "$version" > "$root/tree/usr/lib/modules/6.0/vmlinuz"
            ostree commit --repo="$root/ostree/repo" --branch=os --bootable --canonical-permissions --tree=dir="$root/tree"
            ostree admin deploy --sysroot="$root" --os=host --retain os
        done
        cat /dev/zero > "$root/filler" 2> /dev/null || true
        set +e
        echo '{"change": {"change": "forget"}, "seconds": 0}' | "$1" --sysroot "$root"
        status=$?
        umount --lazy "$root" && rmdir "$root"
        exit $status
    "#;
    let program = env!("CARGO_BIN_EXE_ostler-applier");
    let mut machine = Command::new("unshare");
    machine.args(["--mount", "--propagation", "private", "sh", "-c", script, "full", program]);
    let ended = machine.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(28), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
}

/// The change that the program is to make of a sysroot, and how long it waits for the lock.
fn change(root: &Path, order: &str) -> (Option<i32>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ostler-applier"));
    program.arg("--sysroot").arg(root).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    child.stdin.take().unwrap().write_all(order.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

#[test]
fn a_change_does_not_wait_for_the_lock_for_ever_and_names_its_holder() {
    let Some(root) = sysroot() else { return };
    let discard =
        |seconds: u64| change(root.path(), &format!(r#"{{"change":{{"change":"discard"}},"seconds":{seconds}}}"#));
    assert_eq!(discard(0), (Some(0), String::new()));
    let other = ostree::Sysroot::new(Some(&ostree::gio::File::for_path(root.path())));
    other.initialize().unwrap();
    other.lock().unwrap();
    let (code, words) = discard(0);
    assert_eq!(code, Some(16), "{words}");
    assert!(words.contains(&format!("process {}", std::process::id())), "{words}");
    let waiting = std::thread::scope(|threads| {
        let waiting = threads.spawn(|| discard(180));
        other.unlock();
        waiting.join().unwrap()
    });
    assert_eq!(waiting, (Some(0), String::new()));
}
