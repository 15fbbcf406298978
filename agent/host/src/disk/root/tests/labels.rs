//! SELinux labels, the root directory itself, and how much room there is.

use std::io::ErrorKind;

use super::*;

const LABEL: &str = "system_u:object_r:etc_t:s0";

/// Sets a label, unless this user or filesystem cannot: then says so, and false.
fn labels(machine: &Machine, path: &str) -> bool {
    match machine.disk.set_label(&at(path), LABEL) {
        Ok(()) => true,
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => {
            eprintln!("SKIPPED: labels cannot be set here: {error}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn files_and_directories_keep_a_label_as_other_tools_store_it() {
    let machine = Machine::new();
    machine.disk.create(&at("/etc/a"), b"a", mine(0o400)).unwrap();
    for path in ["/etc/a", "/etc"] {
        if !labels(&machine, path) {
            return;
        }
        assert_eq!(machine.disk.label(&at(path)).unwrap().as_deref(), Some(LABEL), "{path}");
        let mut stored = [0; 100];
        let length = rustix::fs::lgetxattr(machine.host(path), "security.selinux", stored.as_mut_slice()).unwrap();
        assert_eq!(stored[..length], [LABEL.as_bytes(), b"\0"].concat(), "{path}");
    }
    let write = |value: &[u8]| {
        rustix::fs::lsetxattr(machine.host("/etc/a"), "security.selinux", value, rustix::fs::XattrFlags::empty())
    };
    write(b"bare").unwrap();
    assert_eq!(machine.disk.label(&at("/etc/a")).unwrap().as_deref(), Some("bare"));
    write(b"\xff").unwrap();
    assert_eq!(machine.disk.label(&at("/etc/a")).unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn what_has_no_label_says_so() {
    let machine = Machine::new();
    machine.link("etc/l", machine.outside.join("secret"));
    nix::unistd::mkfifo(&machine.host("etc/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for path in ["/etc/l", "/etc/pipe"] {
        assert_eq!(machine.disk.label(&at(path)).unwrap(), None, "{path}");
        machine.disk.set_label(&at(path), LABEL).unwrap_err();
    }
    assert_eq!(machine.disk.label(&at("/etc/none")).unwrap_err().kind(), ErrorKind::NotFound);
    for bad in ["", "a\0b", &"a".repeat(4096)] {
        assert_eq!(machine.disk.set_label(&at("/etc"), bad).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    machine.assert_outside_is_untouched("labels on links");
}

#[test]
fn the_root_and_directories_behind_links_inside_are_synced() {
    let machine = Machine::new();
    machine.link("inside", "/etc");
    machine.link("up", "../../outside");
    machine.disk.create(&at("/file"), b"", mine(0o600)).unwrap();
    machine.disk.sync_directory(None).unwrap();
    for (path, error) in [
        ("/etc", None),
        ("/inside", None),
        ("/up", Some(ErrorKind::NotFound)),
        ("/none", Some(ErrorKind::NotFound)),
        ("/file", Some(ErrorKind::NotADirectory)),
    ] {
        let outcome = machine.disk.sync_directory(Some(&at(path)));
        assert_eq!(outcome.err().map(|error| error.kind()), error, "{path}");
        assert_eq!(machine.disk.free(Some(&at(path))).err().map(|error| error.kind()), error, "{path}");
    }
}

#[test]
fn the_room_that_is_left_is_that_of_the_directory_s_filesystem() {
    let machine = Machine::new();
    let free = machine.disk.free(None).unwrap();
    assert!(free.bytes > 0 && free.bytes < u64::MAX);
    assert_eq!(free.filesystem, fs::metadata(&machine.root).unwrap().dev());
    assert_eq!(machine.disk.free(Some(&at("/etc"))).unwrap().filesystem, machine.disk.filesystem(&at("/etc")).unwrap());
}
