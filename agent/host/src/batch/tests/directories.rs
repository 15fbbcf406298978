//! Which directories are made, and how many syncs names and contents cost.

use super::*;
use crate::batch::directories::FEW_DIRECTORIES;

#[test]
fn many_files_cost_one_sync_for_each_filesystem() {
    let effects = |count: usize| {
        let disk = MemoryDisk::with(&[("/var/a/", "", 0o755), ("/var/b/", "", 0o755), ("/var/m/", "", 0o755)]).unwrap();
        disk.mount(&path("/var/m")).unwrap();
        let place = |n| format!("/var/{}/f{n}", ["a", "b", "m"][n % 3]);
        let batch = Batch { writes: (0..count).map(|n| write(&place(n), "x")).collect(), ..Batch::default() };
        apply(&disk, &batch, TAG).unwrap();
        usize::try_from(disk.effects()).unwrap()
    };
    // Each file is made in two effects and renamed in one; four directories and the root are synced.
    assert_eq!(effects(FEW), FEW * 3 + FEW + 5);
    assert_eq!(effects(FEW + 1), (FEW + 1) * 3 + 2 + 5);
    assert_eq!(effects(300), 300 * 3 + 2 + 5);
}

#[test]
fn a_private_directory_of_somebody_else_stays_private() {
    let (disk, batch) = mixed();
    apply(&disk, &batch, TAG).unwrap();
    let closed = disk.stat(&path("/etc/closed")).unwrap().unwrap();
    assert_eq!(closed.mode, 0o700);
}

#[test]
fn the_names_in_many_directories_cost_one_sync_for_each_filesystem() {
    let syncs = |count: usize| {
        let disk = MemoryDisk::with(&[("/d/", "", 0o755), ("/m/", "", 0o755)]).unwrap();
        let places = (0..count).flat_map(|n| [format!("/d/{n}"), format!("/m/{n}")]);
        places.for_each(|place| disk.put_directory(&path(&place), MADE).unwrap());
        disk.mount(&path("/m")).unwrap();
        disk.put_link(&path("/l"), "d").unwrap();
        let mut links: Vec<Link> =
            (0..count).flat_map(|n| [format!("/l/{n}/f"), format!("/m/{n}/f")]).map(|at| link(&at, "x")).collect();
        links.push(link("/l/f", "x"));
        apply(&disk, &Batch { links: links.clone(), ..Batch::default() }, TAG).unwrap();
        assert_eq!(disk.durable_tree(), disk.tree());
        usize::try_from(disk.effects()).unwrap() - 2 * links.len()
    };
    // Besides the given ones: the root and the link, and the directory that is mounted.
    assert_eq!(syncs(1), 3 + 2);
    assert_eq!(syncs(FEW_DIRECTORIES - 2), FEW_DIRECTORIES + FEW_DIRECTORIES - 1);
    assert_eq!(syncs(50), 1 + 1);
}

#[test]
fn directories_are_made_as_listed_and_left_alone_where_they_are() {
    let (disk, batch) = listed();
    assert_eq!(apply(&disk, &batch, TAG).unwrap(), Counts { written: 2, unchanged: 0, removed: 0 });
    let tree = disk.tree();
    for (at, mode, uid, label) in [
        ("/var/opt/x", 0o500, 7, Some("x_t")),
        ("/var/opt/x/y", 0o755, 0, None),
        ("/var/opt/x/y/z", 0o1777, 8, None),
        ("/srv", 0o700, 9, Some("srv_t")),
        ("/etc", 0o755, 0, None),
        ("/etc/a", 0o2770, 0, None),
        ("/etc/b", 0o755, 0, None),
    ] {
        let attributes = Attributes { mode, uid, gid: uid };
        let expected = Node::Directory { attributes, label: label.map(ToOwned::to_owned) };
        assert_eq!(tree.get(at), Some(&expected), "{at}");
    }
}

#[test]
fn an_unfinished_directory_that_somebody_opened_meanwhile_stays_open() {
    let (disk, batch) = listed();
    // The run is cut off when the directories are made and their marker still stands.
    disk.fail_at(disk.effects() + 30, crate::disk::memory::Fault::Crash);
    let _ = apply(&disk, &batch, TAG);
    let disk = disk.kill();
    let given = Attributes { mode: 0o711, uid: 3, gid: 3 };
    disk.set_attributes(&path("/srv"), given).unwrap();
    apply(&disk, &batch, TAG).unwrap();
    let found = disk.stat(&path("/srv")).unwrap().unwrap();
    assert_eq!((found.mode, found.uid), (0o711, 3));
}
