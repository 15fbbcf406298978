//! Owners and passwords of small machines kept in memory.

use nix::errno::Errno;
use ostler_core::secret::Secret;
use ostler_core::step::OwnerRef;
use proptest::prelude::*;

use super::*;
use crate::disk::memory::MemoryDisk;

const CANARY: &str = "$6$canary$hash";

fn named(name: &str) -> OwnerRef {
    OwnerRef::Name(name.to_owned())
}

fn accounts() -> Accounts {
    let disk = MemoryDisk::with(&[
        (
            "/etc/passwd",
            "root:x:0:0:root:/root:/bin/bash\ncore:x:1000:1001:CoreOS Admin:/var/home/core:/bin/bash\n\n# comment:x:5:5::/:\n\
             bad\nworse:x:many:0::/:\n+nis:x:7:7::/:\nminus:x:-1:0::/:\nall:x:4294967295:0::/:\ncore:x:9:9::/:/bin/sh\n",
            0o644,
        ),
        ("/usr/lib/passwd", "core:x:2:2::/:/bin/sh\nchrony:x:994:993::/var/lib/chrony:/sbin/nologin", 0o644),
        ("/etc/group", "root:x:0:\ncore:x:1001:\nwheel:x:10:core\n", 0o644),
        ("/usr/lib/group", "wheel:x:11:\nchrony:x:993:\nbroken:x\n", 0o644),
    ]);
    Accounts::load(&disk.unwrap(), false).unwrap()
}

#[test]
fn owners_are_found_in_the_machines_files_before_the_images() {
    let accounts = accounts();
    for (owner, uid, gid) in [
        (OwnerRef::Id(4242), Some(4242), Some(4242)),
        (named("root"), Some(0), Some(0)),
        (named("core"), Some(1000), Some(1001)),
        (named("wheel"), None, Some(10)),
        (named("chrony"), Some(994), Some(993)),
        (named("1000"), None, None),
        (named("worse"), None, None),
        (named("minus"), None, None),
        (named("all"), None, None),
        (named("+nis"), None, None),
        (named("nis"), None, None),
        (named("broken"), None, None),
        (named("# comment"), None, None),
        (named("daemon"), None, None),
        (named(""), None, None),
    ] {
        assert_eq!(accounts.uid(&owner).ok(), uid, "{owner:?}");
        assert_eq!(accounts.gid(&owner).ok(), gid, "{owner:?}");
    }
    let home = "/var/home/core".to_owned();
    assert_eq!(accounts.user("core"), Some(User { uid: 1000, gid: 1001, home }));
    assert_eq!(accounts.user("nobody-here"), None);
}

#[test]
fn an_unknown_owner_is_named_with_what_to_do() {
    let (user, group) = (accounts().uid(&named("ghost")).unwrap_err(), accounts().gid(&named("ghosts")).unwrap_err());
    for (error, name) in [(user, "user \"ghost\""), (group, "group \"ghosts\"")] {
        let text = error.to_string();
        assert!(text.contains(name) && text.contains("create it in the OS image"), "{text}");
    }
}

#[test]
fn only_the_live_machine_is_asked_for_what_its_files_do_not_say() {
    let disk = MemoryDisk::new();
    // Every machine that runs tests knows these names.
    let (live, foreign) = (Accounts::load(&disk, true).unwrap(), Accounts::load(&disk, false).unwrap());
    assert!(live.uid(&named("daemon")).is_ok() && live.gid(&named("daemon")).is_ok());
    assert_eq!(live.user("root").unwrap().uid, 0);
    assert!(foreign.uid(&named("daemon")).is_err() && foreign.user("daemon").is_none());
    // And this one needs no asking.
    assert_eq!((foreign.uid(&named("root")).unwrap(), foreign.gid(&named("root")).unwrap()), (0, 0));
    assert!(Accounts::load(&disk, true).unwrap().uid(&named("no such\0user")).is_err());
    assert!(Accounts::load(&disk, true).unwrap().uid(&named("ostler-no-such-user")).is_err());
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_one_that_is_no_text_is_not() {
    let disk = MemoryDisk::with(&[("/etc/passwd/", "", 0o755)]).unwrap();
    let error = Accounts::load(&disk, false).unwrap_err();
    assert_eq!(error.path, "/etc/passwd");
    let long = "x".repeat(usize::try_from(MOST_BYTES).unwrap() + 1);
    assert!(Accounts::load(&MemoryDisk::with(&[("/usr/lib/group", &long, 0o644)]).unwrap(), false).is_err());
    let disk = MemoryDisk::new();
    let attributes = crate::disk::Attributes { mode: 0o644, uid: 0, gid: 0 };
    disk.put(&RootPath::new("/etc/passwd").unwrap(), b"\xff:x:1:1::/:\na:x:2:2:\xff:/:\n", attributes).unwrap();
    assert_eq!(Accounts::load(&disk, false).unwrap().uid(&named("a")).unwrap(), 2);
    disk.fail_read_at(disk.reads(), crate::disk::memory::Fault::Error(Errno::EIO));
    assert!(Accounts::load(&disk, false).is_err());
}

fn shadow(text: &str) -> Shadow {
    Shadow::parse(Secret::new(text.as_bytes().to_vec()))
}

fn changed(text: &str, user: &str, hash: &str, today: Option<u64>) -> Result<String, ShadowError> {
    let text = shadow(text).with_hash(user, &Secret::new(hash.to_owned()), today, &accounts())?;
    Ok(String::from_utf8(text.into_exposed()).unwrap())
}

#[test]
fn a_hash_replaces_one_field_and_nothing_else() {
    for (before, today, after) in [
        ("root:!:1::::::\ncore:old:2:0:99999:7:::\nx", None, "root:!:1::::::\ncore:new:2:0:99999:7:::\nx"),
        ("core:old:2:0:99999:7:::", Some(20_000), "core:new:20000:0:99999:7:::"),
        ("core::2:0:99999:7:::\n", None, "core:new:2:0:99999:7:::\n"),
        ("core:\n", Some(3), "core:new\n"),
        ("core:", Some(3), "core:new"),
        ("core:old:", Some(3), "core:new:3"),
        ("corey:old:1\r\n\n\ncore:old:1\ncore:older:1\n", None, "corey:old:1\r\n\n\ncore:new:1\ncore:older:1\n"),
        ("root:*:1\n", Some(5), "root:*:1\ncore:new:5:0:99999:7:::\n"),
        ("root:*:1", None, "root:*:1\ncore:new::0:99999:7:::\n"),
        ("", None, "core:new::0:99999:7:::\n"),
        ("core\n", None, "core\ncore:new::0:99999:7:::\n"),
    ] {
        assert_eq!(changed(before, "core", "new", today).unwrap(), after, "{before:?}");
    }
    assert_eq!(changed("core:old:2:\n", "core", LOCKED, None).unwrap(), "core:*:2:\n");
    assert_eq!(changed("ghost:old:2:\n", "ghost", "new", None).unwrap(), "ghost:new:2:\n");
}

#[test]
fn what_would_open_an_account_or_change_another_line_is_refused() {
    for (user, hash, expected) in [
        ("core", "", ShadowError::EmptyHash { user: "core".to_owned() }),
        ("core", "a:b", ShadowError::BadHash { user: "core".to_owned() }),
        ("core", "a\nroot::", ShadowError::BadHash { user: "core".to_owned() }),
        ("core", "a\0", ShadowError::BadHash { user: "core".to_owned() }),
        ("core", &"a".repeat(2000), ShadowError::BadHash { user: "core".to_owned() }),
        ("ghost", "new", ShadowError::UnknownUser { user: "ghost".to_owned() }),
        ("", "new", ShadowError::UnknownUser { user: String::new() }),
        ("core:old", "new", ShadowError::UnknownUser { user: "core:old".to_owned() }),
    ] {
        assert_eq!(changed(":empty:\ncore:old:1\n", user, hash, None).unwrap_err(), expected);
    }
}

#[test]
fn a_users_hash_is_the_one_of_its_first_line() {
    let shadow = shadow("root:!!:1\ncore:first:1\ncore:second:1\nopen::1\nalone\nend:last");
    for (user, expected) in [
        ("root", Some("!!")),
        ("core", Some("first")),
        ("open", Some("")),
        ("alone", None),
        ("end", Some("last")),
        ("cor", None),
        ("", None),
    ] {
        assert_eq!(shadow.hash(user).map(Secret::into_exposed).as_deref(), expected, "{user}");
    }
}

#[test]
fn no_debug_output_or_error_shows_a_hash() {
    let shadow = shadow(&format!("core:{CANARY}:1\n"));
    let hash = Secret::new(format!("{CANARY}:"));
    let error = shadow.with_hash("core", &hash, None, &accounts()).unwrap_err();
    let written = shadow.with_hash("core", &Secret::new(CANARY.to_owned()), None, &accounts()).unwrap();
    let shown = format!("{shadow:?} {:?} {error:?} {error} {written:?} {:?}", shadow.hash("core"), accounts());
    assert!(!shown.contains("canary"), "{shown}");
}

proptest! {
    #[test]
    fn other_lines_keep_every_byte(before in proptest::collection::vec(any::<u8>(), 0..60), after in proptest::collection::vec(any::<u8>(), 0..60)) {
        prop_assume!(!before.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"core:")));
        let text = [before.as_slice(), b"\ncore:old:1\n", after.as_slice()].concat();
        let shadow = Shadow::parse(Secret::new(text));
        let changed = shadow.with_hash("core", &Secret::new("new".to_owned()), None, &accounts()).unwrap();
        prop_assert_eq!(changed.expose(), &[before.as_slice(), b"\ncore:new:1\n", after.as_slice()].concat());
    }
}
