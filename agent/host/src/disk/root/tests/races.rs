//! Somebody who changes the directories while they are used.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use super::*;

const ROUNDS: usize = 2000;

/// Swaps two entries below the root over and over while `work` runs; tells how often.
fn while_swapping(machine: &Machine, pair: (&str, &str), work: impl FnOnce()) -> usize {
    let (done, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (one, other) = (machine.host(pair.0), machine.host(pair.1));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat2(AT_FDCWD, &one, AT_FDCWD, &other, RenameFlags::RENAME_EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        // A panic in the work must still end the thread, or the scope waits for ever.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    swaps.into_inner()
}

#[test]
fn a_directory_swapped_with_a_link_lets_nothing_out() {
    let machine = Machine::new();
    fs::create_dir_all(machine.host("arena/deep")).unwrap();
    machine.link("trap", &machine.outside);
    let mut worked = 0;
    let swaps = while_swapping(&machine, ("arena", "trap"), || {
        for round in 0..ROUNDS {
            let (path, other) = (at(&format!("/arena/deep/{round}")), at(&format!("/arena/{round}")));
            worked += usize::from(machine.disk.create(&path, b"attack", mine(0o666)).is_ok());
            let _ = machine.disk.set_attributes(&at("/arena/secret"), mine(0o777));
            let _ = machine.disk.set_attributes(&at("/arena"), mine(0o700));
            let _ = machine.disk.make_directory(&at("/arena/deep/new"), mine(0o777));
            let _ = machine.disk.rename(&path, &other);
            for gone in [&path, &other, &at("/arena/secret"), &at("/arena/deep/secret"), &at("/arena/link")] {
                let _ = machine.disk.remove(gone);
            }
            let _ = machine.disk.remove_directory(&at("/arena/deep/empty"));
            for read in ["/arena/secret", "/arena/deep/secret"] {
                assert!(machine.disk.read(&at(read), 100).is_err(), "read the canary");
            }
        }
    });
    machine.assert_outside_is_untouched("the race");
    assert!(swaps > 0 && worked > 0, "{swaps} swaps, {worked} of {ROUNDS} creates succeeded: no race was run");
}

#[test]
fn a_directory_swapped_with_a_link_of_its_owner_lets_nothing_into_roots_directories() {
    use std::os::unix::fs::{chown, lchown};
    if !geteuid().is_root() {
        return;
    }
    let machine = Machine::new();
    fs::create_dir_all(machine.host("home/keys")).unwrap();
    fs::create_dir_all(machine.host("etc/cron.d")).unwrap();
    machine.link("home/trap", "/etc/cron.d");
    chown(machine.host("home/keys"), Some(1000), Some(1000)).unwrap();
    lchown(machine.host("home/trap"), Some(1000), Some(1000)).unwrap();
    let (mut worked, mut refused) = (0, 0);
    let swaps = while_swapping(&machine, ("home/keys", "home/trap"), || {
        for round in 0..ROUNDS {
            match machine.disk.create(&at(&format!("/home/keys/{round}")), b"attack", mine(0o666)) {
                Ok(()) => worked += 1,
                Err(_) => refused += 1,
            }
        }
    });
    assert_eq!(fs::read_dir(machine.host("etc/cron.d")).unwrap().count(), 0);
    assert!(swaps > 0 && worked > 0 && refused > 0, "{swaps} swaps, {worked} created, {refused} refused: no race");
}

#[test]
fn a_directory_that_is_swapped_while_it_is_worked_in_stays_the_same_one() {
    let machine = Machine::new();
    fs::create_dir_all(machine.host("arena")).unwrap();
    machine.link("trap", &machine.outside);
    let (mut begun, mut worked) = (0, 0);
    let swaps = while_swapping(&machine, ("arena", "trap"), || {
        for round in 0..ROUNDS {
            let (path, other) = (at(&format!("/arena/{round}")), at(&format!("/arena/{round}.new")));
            machine.disk.beside(&path, |disk| {
                // Where the link stood, there was no such directory; each of these would look for it again.
                if disk.found.is_none() {
                    return;
                }
                begun += 1;
                disk.create(&path, b"", mine(0o600)).unwrap();
                let _ = disk.remove(&at("/arena/secret"));
                let _ = disk.set_attributes(&at("/arena/link"), mine(0o777));
                worked += usize::from(disk.rename(&path, &other).is_ok() && disk.sync(&other).is_ok());
            });
        }
    });
    machine.assert_outside_is_untouched("the race");
    assert!(swaps > 0 && begun > 0, "{swaps} swaps, {begun} of {ROUNDS} times it was found: no race was run");
    assert_eq!(worked, begun, "what was begun in a directory was not ended in it");
}

#[test]
fn a_file_swapped_with_a_link_is_never_followed() {
    let machine = Machine::new();
    machine.disk.create(&at("/file"), b"inside", mine(0o600)).unwrap();
    machine.link("trap", machine.outside.join("secret"));
    let mut worked = 0;
    let swaps = while_swapping(&machine, ("file", "trap"), || {
        for _ in 0..ROUNDS {
            if let Ok(contents) = machine.disk.read(&at("/file"), 100) {
                assert_eq!(contents, b"inside");
                worked += 1;
            }
            let _ = machine.disk.set_attributes(&at("/file"), mine(0o640));
            let _ = machine.disk.lock(&at("/file"));
        }
    });
    machine.assert_outside_is_untouched("the race");
    assert!(swaps > 0 && worked > 0, "{swaps} swaps, {worked} of {ROUNDS} reads succeeded: no race was run");
}

#[test]
fn a_file_swapped_with_a_pipe_is_never_taken_for_it() {
    let machine = Machine::new();
    machine.disk.create(&at("/file"), b"inside", mine(0o600)).unwrap();
    nix::unistd::mkfifo(&machine.host("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut worked = 0;
    let swaps = while_swapping(&machine, ("file", "pipe"), || {
        // The moment to be met is short, so this takes more rounds.
        for _ in 0..20 * ROUNDS {
            // A pipe without a writer reads as an empty file.
            if let Ok(contents) = machine.disk.read(&at("/file"), 100) {
                assert_eq!(contents, b"inside");
                worked += 1;
            }
        }
    });
    assert!(swaps > 0 && worked > 0, "{swaps} swaps, {worked} reads succeeded: no race was run");
}

#[test]
fn steps_upwards_from_a_directory_that_moves_stay_inside() {
    let machine = Machine::new();
    // From where the directory is moved to, one step upwards is outside the root and beside the canary.
    fs::create_dir_all(machine.host("a/b/deep")).unwrap();
    fs::create_dir_all(machine.host("../elsewhere")).unwrap();
    machine.link("up", "a/b/deep/../outside");
    machine.link("home", "a/b/deep/../../../etc");
    let mut worked = 0;
    let swaps = while_swapping(&machine, ("a/b/deep", "../elsewhere"), || {
        for round in 0..ROUNDS {
            let escapes = [
                machine.disk.create(&at(&format!("/up/{round}")), b"attack", mine(0o666)),
                machine.disk.remove(&at("/up/secret")),
            ];
            let inside = machine.disk.create(&at(&format!("/home/{round}")), b"", mine(0o600));
            worked += usize::from(inside.is_ok());
            for error in escapes.map(Result::unwrap_err).into_iter().chain(inside.err()) {
                assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "a walk was given up");
            }
        }
    });
    machine.assert_outside_is_untouched("the race");
    assert_eq!(machine.disk.list(&at("/etc")).unwrap().len(), worked);
    assert!(swaps > 0 && worked > 0, "{swaps} swaps, {worked} of {ROUNDS} creates succeeded: no race was run");
}

#[test]
fn a_lock_file_that_is_replaced_meanwhile_has_one_holder() {
    let machine = Machine::new();
    let (done, holders, most) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if let Ok(Some(lock)) = machine.disk.lock(&at("/lock")) {
                        most.fetch_max(holders.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        holders.fetch_sub(1, Ordering::SeqCst);
                        // From here on another one may make and lock a new file; who waited for this one holds nothing.
                        machine.disk.remove(&at("/lock")).unwrap();
                        drop(lock);
                    }
                }
            });
        }
        thread::sleep(std::time::Duration::from_millis(500));
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(most.into_inner(), 1);
}
