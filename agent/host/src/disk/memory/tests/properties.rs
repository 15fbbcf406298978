//! What must hold for any work: syncing everything loses nothing, and the usual way to replace a file is safe only whole.

use std::cell::Cell;
use std::fs;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Act {
    Create(usize, Vec<u8>),
    Make(usize),
    Link(usize, usize),
    Attributes(usize, u32),
    Rename(usize, usize),
    Remove(usize),
    RemoveDirectory(usize),
    Sync(usize),
}

const PLACES: [&str; 8] = ["/d", "/d/a", "/d/b", "/d/s", "/d/s/a", "/e", "/e/a", "/e/b"];

fn act(disk: &MemoryDisk, act: &Act) -> io::Result<()> {
    let at = |index: &usize| path(PLACES[*index]);
    match act {
        Act::Create(index, contents) => disk.create(&at(index), contents, NEW),
        Act::Make(index) => disk.make_directory(&at(index), NEW),
        Act::Link(index, target) => disk.link(&at(index), PLACES[*target]),
        Act::Attributes(index, mode) => disk.set_attributes(&at(index), Attributes { mode: *mode, ..NEW }),
        Act::Rename(from, to) => disk.rename(&at(from), &at(to)),
        Act::Remove(index) => disk.remove(&at(index)),
        Act::RemoveDirectory(index) => disk.remove_directory(&at(index)),
        Act::Sync(index) => disk.sync(&at(index)),
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let place = 0..PLACES.len();
    let one = prop_oneof![
        3 => (place.clone(), prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(at, bytes)| Act::Create(at, bytes)),
        2 => place.clone().prop_map(Act::Make),
        1 => (place.clone(), place.clone()).prop_map(|(at, target)| Act::Link(at, target)),
        1 => (place.clone(), 0..0o1000_u32).prop_map(|(at, mode)| Act::Attributes(at, mode)),
        3 => (place.clone(), place.clone()).prop_map(|(from, to)| Act::Rename(from, to)),
        1 => place.clone().prop_map(Act::Remove),
        1 => place.clone().prop_map(Act::RemoveDirectory),
        1 => place.prop_map(Act::Sync),
    ];
    prop::collection::vec(one, 0..30)
}

proptest! {
    #[test]
    fn nothing_is_lost_after_the_filesystem_is_synced(acts in acts(), seed in any::<u64>()) {
        let disk = disk(&[("/d/a", "x", 0o644), ("/e/", "", 0o755), ("/anchor/", "", 0o755)]);
        for one in &acts {
            let _ = act(&disk, one);
        }
        let now = disk.tree();
        prop_assert_eq!(&disk.crash(&mut Loss::nothing()).tree(), &now);
        // A link, which cannot be synced, may stand at any other path by then.
        disk.sync_filesystem(&path("/anchor"))?;
        for loss in [&mut Loss::ordered(seed), &mut Loss::unordered(seed), &mut Loss::everything()] {
            prop_assert_eq!(&disk.crash(loss).tree(), &now);
        }
    }

    #[test]
    fn every_crash_leaves_a_disk_that_can_be_used(acts in acts(), seed in any::<u64>()) {
        let disk = disk(&[("/d/a", "x", 0o644), ("/e/", "", 0o755), ("/anchor/", "", 0o755)]);
        for one in &acts {
            let _ = act(&disk, one);
        }
        let after = disk.crash(&mut Loss::unordered(seed));
        prop_assert!(after.tree().contains_key("/anchor"), "nobody touched it");
        prop_assert_eq!(after.tree(), after.durable_tree());
        for one in &acts {
            let outcome = act(&after, one);
            prop_assert!(!outcome.is_err_and(|error| error.raw_os_error() == Some(Errno::ESTALE as i32)));
        }
    }

    #[test]
    fn outcomes_are_those_of_the_kernel(acts in acts()) {
        let root = tempfile::tempdir()?;
        let real = |index: &usize| root.path().join(PLACES[*index].trim_start_matches('/'));
        let model = MemoryDisk::new();
        for one in &acts {
            let outcome = match one {
                Act::Create(at, bytes) => {
                    fs::File::create_new(real(at)).and_then(|mut file| io::Write::write_all(&mut file, bytes))
                }
                Act::Make(at) => fs::create_dir(real(at)),
                Act::Link(at, target) => std::os::unix::fs::symlink(real(target), real(at)),
                // The model refuses to rename directories, as the trait does not have it.
                Act::Rename(from, _) if fs::symlink_metadata(real(from)).is_ok_and(|found| found.is_dir()) => continue,
                Act::Rename(from, to) => fs::rename(real(from), real(to)),
                Act::Remove(at) => fs::remove_file(real(at)),
                Act::RemoveDirectory(at) => fs::remove_dir(real(at)),
                Act::Attributes(..) | Act::Sync(_) => continue,
            };
            let number = |outcome: io::Result<()>| outcome.err().and_then(|error| error.raw_os_error());
            prop_assert_eq!(number(act(&model, one)), number(outcome), "{:?}", one);
        }
    }

    #[test]
    fn a_file_replaced_with_both_syncs_is_old_or_new(old in "[a-z]{0,40}", new in "[A-Z]{1,40}") {
        prop_assert_eq!(mixed(&old, &new, Syncs { file: true, directory: true }), (0, 0));
    }
}

#[derive(Clone, Copy)]
struct Syncs {
    file: bool,
    directory: bool,
}

/// Points at which the file is neither old nor new, and at which it is not new though the work was done.
fn mixed(old: &str, new: &str, syncs: Syncs) -> (usize, usize) {
    let work = |disk: &MemoryDisk| {
        disk.create(&path("/d/.t"), new.as_bytes(), NEW)?;
        if syncs.file {
            disk.sync(&path("/d/.t"))?;
        }
        disk.rename(&path("/d/.t"), &path("/d/f"))?;
        if syncs.directory {
            disk.sync(&path("/d"))?;
        }
        Ok(())
    };
    let effects = 3 + u64::from(syncs.file) + u64::from(syncs.directory);
    let (neither, undone) = (Cell::new(0), Cell::new(0));
    let check = |disk: MemoryDisk, point: Point| {
        let found = disk.tree().remove("/d/f");
        let done = found == file(new, NEW);
        if !done && found != file(old, OLD) {
            neither.set(neither.get() + 1);
        }
        if !done && point.effect == effects {
            undone.set(undone.get() + 1);
        }
    };
    let points = every_crash(|| disk(&[("/d/f", old, 0o644)]), work, 24, check).unwrap();
    assert_eq!(points, (usize::try_from(effects).unwrap() + 1) * 25);
    (neither.get(), undone.get())
}

#[test]
fn a_file_replaced_without_its_own_sync_may_be_neither_old_nor_new() {
    let (neither, _) = mixed("old", "NEW", Syncs { file: false, directory: true });
    assert!(neither > 0);
}

#[test]
fn a_file_replaced_without_a_sync_of_its_directory_may_be_old_again() {
    let (neither, undone) = mixed("old", "NEW", Syncs { file: true, directory: false });
    assert_eq!(neither, 0);
    assert!(undone > 0);
}
