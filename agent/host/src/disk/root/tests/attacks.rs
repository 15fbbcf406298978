//! What somebody who owns a directory below the root can put in the way.

use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;

use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::mkfifo;

use super::*;
use crate::disk::Kind;

#[test]
fn a_linked_directory_never_leads_out_of_the_root() {
    let machine = Machine::new();
    let (outside, up) = (machine.outside.clone(), "../".repeat(40));
    let relative = format!("{up}{}", outside.display());
    for (name, target) in [
        ("absolute", outside.clone()),
        ("upwards", PathBuf::from("../outside")),
        ("far-upwards", PathBuf::from("../../../../outside")),
        ("over-the-top", PathBuf::from(relative)),
        ("chain", PathBuf::from("absolute")),
    ] {
        machine.link(name, target);
        for below in ["secret", "deep/secret", "link", "new", "deep/empty", "deep/new"] {
            for (operation, result) in everything(&machine.disk, &format!("/{name}/{below}")) {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::NotFound, "{operation} /{name}/{below}");
                machine.assert_outside_is_untouched(operation);
            }
            assert_eq!(machine.disk.stat(&at(&format!("/{name}/{below}"))).unwrap(), None);
        }
    }
}

#[test]
fn a_directory_that_becomes_a_link_while_it_is_worked_in_never_leads_out() {
    let machine = Machine::new();
    machine.disk.beside(&at("/etc/a"), |disk| {
        disk.create(&at("/etc/a"), b"a", mine(0o600)).unwrap();
        fs::rename(machine.host("etc"), machine.host("moved")).unwrap();
        machine.link("etc", &machine.outside);
        disk.rename(&at("/etc/a"), &at("/etc/b")).unwrap();
        assert_eq!(disk.stat(&at("/etc/secret")).unwrap(), None);
        // What is not in that directory is looked for as always.
        for (operation, result) in everything(disk, "/etc/deep/secret") {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::NotFound, "{operation}");
        }
    });
    assert_eq!(machine.disk.list(&at("/moved")).unwrap(), ["b"]);
    assert_eq!(machine.disk.stat(&at("/etc/b")).unwrap(), None);
    machine.assert_outside_is_untouched("the work");
}

#[test]
fn a_directory_that_is_missing_is_looked_for_again() {
    let machine = Machine::new();
    let path = at("/new/a");
    machine.disk.beside(&path, |disk| {
        assert_eq!(disk.create(&path, b"a", mine(0o600)).unwrap_err().kind(), ErrorKind::NotFound);
        disk.make_directory(&at("/new"), mine(0o755)).unwrap();
        disk.create(&path, b"a", mine(0o600)).unwrap();
    });
    assert_eq!(machine.disk.read(&path, 10).unwrap(), b"a");
}

#[test]
fn renames_do_not_carry_in_or_out() {
    let machine = Machine::new();
    machine.link("out", &machine.outside);
    machine.disk.create(&at("/etc/a"), b"a", mine(0o600)).unwrap();
    for (from, to) in [("/out/secret", "/etc/b"), ("/etc/a", "/out/secret"), ("/etc/a", "/out/new")] {
        assert_eq!(machine.disk.rename(&at(from), &at(to)).unwrap_err().kind(), ErrorKind::NotFound, "{from} {to}");
    }
    assert_eq!(machine.disk.list(&at("/etc")).unwrap(), ["a"]);
    machine.assert_outside_is_untouched("renames");
}

#[test]
fn links_inside_are_followed_within_the_root() {
    let machine = Machine::new();
    for directory in ["/var", "/var/home", "/var/home/core"] {
        machine.disk.make_directory(&at(directory), mine(0o755)).unwrap();
    }
    machine.link("home", "/var/home");
    machine.link("etc/relative", "../../../var/home");
    machine.link("etc/twice", "/home/core");
    for (path, real) in [
        ("/home/core/a", "var/home/core/a"),
        ("/etc/relative/core/b", "var/home/core/b"),
        ("/etc/twice/c", "var/home/core/c"),
    ] {
        machine.disk.create(&at(path), path.as_bytes(), mine(0o600)).unwrap();
        assert_eq!(fs::read(machine.host(real)).unwrap(), path.as_bytes());
        machine.disk.set_attributes(&at(path), mine(0o640)).unwrap();
        machine.disk.sync(&at(path)).unwrap();
    }
    machine.disk.rename(&at("/home/core/a"), &at("/etc/twice/moved")).unwrap();
    assert_eq!(machine.disk.list(&at("/home/core")).unwrap(), ["b", "c", "moved"]);
    machine.disk.remove(&at("/etc/relative/core/b")).unwrap();
    assert!(!machine.host("var/home/core/b").exists());
}

#[test]
fn an_absolute_link_that_names_an_inner_path_finds_the_inner_one() {
    let machine = Machine::new();
    let inner = machine.host(machine.outside.to_str().unwrap());
    fs::create_dir_all(&inner).unwrap();
    machine.link("out", &machine.outside);
    machine.disk.create(&at("/out/secret"), b"inner", mine(0o600)).unwrap();
    assert_eq!(fs::read(inner.join("secret")).unwrap(), b"inner");
    machine.disk.remove(&at("/out/secret")).unwrap();
    machine.assert_outside_is_untouched("create and remove");
}

#[test]
fn a_link_at_the_path_itself_is_acted_on_and_not_through() {
    let machine = Machine::new();
    let secret = machine.outside.join("secret");
    machine.disk.create(&at("/inside"), b"inside", mine(0o600)).unwrap();
    for target in [secret.as_path(), &machine.outside, Path::new("inside"), Path::new("nowhere"), Path::new("l")] {
        machine.link("l", target);
        let l = at("/l");
        assert_eq!(machine.disk.stat(&l).unwrap().unwrap().kind, Kind::Link);
        for refused in [
            machine.disk.read(&l, 100).map(drop),
            machine.disk.list(&l).map(drop),
            machine.disk.create(&l, b"attack", mine(0o666)),
            machine.disk.make_directory(&l, mine(0o777)),
            machine.disk.set_attributes(&l, mine(0o777)),
            machine.disk.sync(&l),
            machine.disk.lock(&l).map(drop),
            machine.disk.remove_directory(&l),
        ] {
            refused.unwrap_err();
        }
        machine.assert_outside_is_untouched("refusals");
        machine.disk.rename(&l, &at("/m")).unwrap();
        assert_eq!(machine.disk.read_link(&at("/m")).unwrap(), target);
        machine.disk.create(&at("/new"), b"new", mine(0o600)).unwrap();
        machine.disk.rename(&at("/new"), &at("/m")).unwrap();
        assert_eq!(machine.disk.read(&at("/m"), 10).unwrap(), b"new");
        machine.disk.remove(&at("/m")).unwrap();
        machine.link("l", target);
        machine.disk.remove(&l).unwrap();
        machine.assert_outside_is_untouched("rename and remove");
    }
    assert_eq!(machine.disk.read(&at("/inside"), 100).unwrap(), b"inside");
    assert_eq!(machine.disk.stat(&at("/inside")).unwrap().unwrap().mode, 0o600);
    assert_eq!(machine.disk.list(&at("/etc")).unwrap().len(), 0);
}

#[test]
fn magic_links_are_refused_even_where_they_are_within_reach() {
    let machine = Machine::new();
    let out = fs::File::open(&machine.outside).unwrap();
    let through = format!("/self/fd/{}", out.as_raw_fd());
    // Inside a small root the link leads nowhere; with the kernel's own files as root it would lead out.
    machine.link("magic", format!("/proc{through}"));
    assert_eq!(machine.disk.read(&at("/magic/secret"), 100).unwrap_err().kind(), ErrorKind::NotFound);
    let proc = RootDisk::open(Path::new("/proc")).unwrap();
    for start in [through.as_str(), "/self/cwd", "/self/root"] {
        for below in ["secret", "new"] {
            for (operation, result) in everything(&proc, &format!("{start}/{below}")) {
                let error = result.expect_err(operation);
                assert_eq!(error.raw_os_error(), Some(nix::errno::Errno::ELOOP as i32), "{operation} {start}");
            }
        }
    }
    machine.assert_outside_is_untouched("magic links");
}

#[test]
fn pipes_sockets_and_devices_are_neither_waited_for_nor_used() {
    let machine = Machine::new();
    mkfifo(&machine.host("pipe"), Mode::S_IRWXU).unwrap();
    let _socket = UnixListener::bind(machine.host("socket")).unwrap();
    let mut paths = vec!["/pipe", "/socket"];
    // Only root makes devices, and not in every container.
    if mknod(&machine.host("device"), SFlag::S_IFCHR, Mode::S_IRWXU, makedev(1, 5)).is_ok() {
        paths.push("/device");
    }
    for path in paths {
        let path = at(path);
        assert_eq!(machine.disk.stat(&path).unwrap().unwrap().kind, Kind::Special);
        for refused in [
            machine.disk.read(&path, 100).map(drop),
            machine.disk.set_attributes(&path, mine(0o777)),
            machine.disk.sync(&path),
            machine.disk.lock(&path).map(drop),
            machine.disk.rename(&path, &at("/moved")),
        ] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput, "{path}");
        }
        assert_eq!(
            machine.disk.create(&path, b"", mine(0o600)).unwrap_err().kind(),
            ErrorKind::AlreadyExists,
            "{path}"
        );
        machine.disk.sync_filesystem(&path).unwrap();
        machine.disk.remove(&path).unwrap();
    }
}

#[test]
fn a_directory_in_the_way_stays() {
    let machine = Machine::new();
    machine.disk.create(&at("/etc/a"), b"a", mine(0o600)).unwrap();
    machine.disk.create(&at("/new"), b"new", mine(0o600)).unwrap();
    let etc = at("/etc");
    for (refused, kind) in [
        (machine.disk.read(&etc, 100).map(drop), ErrorKind::IsADirectory),
        (machine.disk.lock(&etc).map(drop), ErrorKind::IsADirectory),
        (machine.disk.rename(&at("/new"), &etc), ErrorKind::IsADirectory),
        (machine.disk.remove(&etc), ErrorKind::IsADirectory),
        (machine.disk.create(&etc, b"", mine(0o600)), ErrorKind::AlreadyExists),
        (machine.disk.remove_directory(&etc), ErrorKind::DirectoryNotEmpty),
    ] {
        assert_eq!(refused.unwrap_err().kind(), kind);
    }
    assert_eq!(machine.disk.read(&at("/etc/a"), 10).unwrap(), b"a");
}

#[test]
fn a_directory_that_is_held_acts_where_it_was_found() {
    let machine = Machine::new();
    fs::create_dir(machine.host("etc/d")).unwrap();
    let path = at("/etc/d/file");
    let place = machine.disk.place(&path).unwrap();
    fs::rename(machine.host("etc/d"), machine.host("moved")).unwrap();
    machine.link("etc/d", &machine.outside);
    place.open(nix::fcntl::OFlag::O_CREAT | nix::fcntl::OFlag::O_WRONLY, Mode::S_IRWXU).unwrap();
    assert!(machine.host("moved/file").exists());
    machine.assert_outside_is_untouched("a swap between walk and use");
}
