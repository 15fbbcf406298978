//! Faults strike where they are planned, and leave behind what real ones do.

use super::*;

fn errno<T: std::fmt::Debug>(outcome: io::Result<T>) -> Option<i32> {
    outcome.unwrap_err().raw_os_error()
}

#[test]
fn a_crash_stops_everything_until_the_reboot() {
    let disk = disk(&[("/d/f", "x", 0o644)]);
    disk.fail_at(1, Fault::Crash);
    disk.remove(&path("/d/f")).unwrap();
    assert!(PowerCut::is(&disk.sync(&path("/d")).unwrap_err()));
    assert!(PowerCut::is(&disk.stat(&path("/d")).unwrap_err()));
    assert!(PowerCut::is(&disk.create(&path("/no/f"), b"", NEW).unwrap_err()));
    assert!(PowerCut::is(&disk.lock(&path("/d/f")).unwrap_err()));
    disk.heal();
    assert!(PowerCut::is(&disk.sync(&path("/d")).unwrap_err()), "only a reboot helps");
    assert!(!PowerCut::is(&io::Error::other("else")) && !PowerCut::is(&Errno::EIO.into()));
    let after = disk.crash(&mut Loss::nothing());
    assert_eq!(after.list(&path("/d")).unwrap().len(), 0);
    after.sync(&path("/d")).unwrap();
}

#[test]
fn an_error_strikes_once_or_from_then_on() {
    let disk = disk(&[("/d/", "", 0o755)]);
    disk.fail_at(0, Fault::Error(Errno::EINTR));
    disk.fail_at(2, Fault::ErrorFrom(Errno::EROFS));
    assert_eq!(errno(disk.link(&path("/d/l"), "x")), Some(Errno::EINTR as i32));
    disk.link(&path("/d/l"), "x").unwrap();
    for _ in 0..3 {
        assert_eq!(errno(disk.remove(&path("/d/l"))), Some(Errno::EROFS as i32));
    }
    assert!(disk.stat(&path("/d/l")).unwrap().is_some(), "reads are not effects");
    disk.heal();
    disk.remove(&path("/d/l")).unwrap();
    assert_eq!(disk.effects(), 6);
}

#[test]
fn a_full_disk_still_removes() {
    let disk = disk(&[("/d/f", "x", 0o644)]);
    disk.fail_at(0, Fault::ErrorFrom(Errno::ENOSPC));
    assert_eq!(errno(disk.create(&path("/d/g"), b"", NEW)), Some(Errno::ENOSPC as i32));
    assert_eq!(errno(disk.link(&path("/d/g"), "x")), Some(Errno::ENOSPC as i32));
    assert_eq!(errno(disk.make_directory(&path("/d/g"), NEW)), Some(Errno::ENOSPC as i32));
    disk.remove(&path("/d/f")).unwrap();
}

#[test]
fn a_file_that_cannot_be_written_whole_is_removed_or_left_half() {
    for (leave, fault, half) in [
        (false, Fault::Error(Errno::ENOSPC), false),
        (false, Fault::ErrorFrom(Errno::ENOSPC), false),
        (false, Fault::ErrorFrom(Errno::EIO), true),
        (true, Fault::Error(Errno::ENOSPC), true),
        (false, Fault::Crash, true),
    ] {
        let disk = disk(&[("/d/", "", 0o755)]);
        if leave {
            disk.leave_halves();
        }
        disk.fail_at(1, fault);
        disk.create(&path("/d/f"), b"abcdef", NEW).unwrap_err();
        let expected = if half { file("abc", BORN_FILE) } else { None };
        assert_eq!(disk.kill().tree().remove("/d/f"), expected, "{fault:?}");
    }
}

#[test]
fn bytes_whose_sync_failed_are_not_saved_by_another_sync() {
    for whole in [false, true] {
        let disk = disk(&[("/d/", "", 0o755)]);
        disk.create(&path("/d/f"), b"x", NEW).unwrap();
        disk.fail_at(2, Fault::Error(Errno::EIO));
        let sync = || if whole { disk.sync_filesystem(&path("/d")) } else { disk.sync(&path("/d/f")) };
        assert_eq!(errno(sync()), Some(Errno::EIO as i32));
        sync().unwrap();
        disk.sync(&path("/d")).unwrap();
        assert_eq!(disk.read(&path("/d/f"), 1).unwrap(), b"x", "as long as the kernel lives");
        assert_eq!(outcomes(&disk, "/d/f"), [file("", NEW)]);
    }
}

#[test]
fn reads_fail_by_their_own_numbers() {
    let disk = disk(&[("/d/f", "x", 0o644)]);
    disk.fail_read_at(1, Fault::Error(Errno::EIO));
    disk.stat(&path("/d/f")).unwrap();
    assert_eq!(errno(disk.read(&path("/d/f"), 9)), Some(Errno::EIO as i32));
    assert_eq!(disk.read(&path("/d/f"), 9).unwrap(), b"x");
    assert_eq!((disk.reads(), disk.effects()), (3, 0));
    disk.fail_read_at(3, Fault::Crash);
    assert!(PowerCut::is(&disk.list(&path("/d")).unwrap_err()));
    assert!(PowerCut::is(&disk.remove(&path("/d/f")).unwrap_err()));
}

#[test]
fn debug_output_shows_no_contents() {
    let disk = disk(&[("/d/f", "hunter2", 0o644)]);
    let shown = format!("{disk:?} {:?}", disk.tree());
    assert!(shown.contains("7 bytes") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn every_effect_is_failed_with_every_error() {
    let seen = std::cell::RefCell::new(Vec::new());
    let work = |disk: &MemoryDisk| {
        disk.create(&path("/d/f"), b"ab", NEW)?;
        disk.sync(&path("/d/f"))
    };
    let check = |disk: MemoryDisk, outcome: io::Result<()>, failure: Failure| {
        // A full disk can sync.
        let spared = failure == Failure { effect: 2, fault: Fault::ErrorFrom(Errno::ENOSPC) };
        assert_eq!(outcome.is_ok(), spared, "{failure:?}");
        disk.sync(&path("/d")).unwrap();
        seen.borrow_mut().push((failure.effect, failure.fault));
    };
    let points = every_error(|| disk(&[("/d/", "", 0o755)]), work, &ERRNOS, check).unwrap();
    assert_eq!(points, 3 * 2 * ERRNOS.len());
    assert_eq!(seen.borrow().len(), points);
    assert!(every_error(MemoryDisk::new, work, &ERRNOS, |_, _, _| {}).is_err(), "work that fails by itself");
}
