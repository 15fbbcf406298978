//! Each rule of durability: what is lost without a sync, and that it is safe with one.

use super::*;

#[test]
fn a_created_file_may_be_lost_empty_torn_or_whole_until_it_and_its_directory_are_synced() {
    let disk = disk(&[("/d/", "", 0o755)]);
    disk.create(&path("/d/f"), b"contents", NEW).unwrap();
    let found = outcomes(&disk, "/d/f");
    let bytes = |node: &Option<Node>| match node {
        Some(Node::File { contents, .. }) => Some(contents.to_vec()),
        _ => None,
    };
    let bytes: BTreeSet<_> = found.iter().map(bytes).collect();
    for expected in [None, Some(b"".to_vec()), Some(b"contents".to_vec()), Some(vec![0; 8])] {
        assert!(bytes.contains(&expected), "{expected:?}");
    }
    assert!(bytes.iter().flatten().any(|bytes| !bytes.is_empty() && bytes.len() < 8), "never a prefix");
    let half = |bytes: &&Vec<u8>| bytes.len() == 8 && bytes.contains(&0) && bytes.iter().any(|byte| *byte != 0);
    assert!(bytes.iter().flatten().any(|bytes| half(&bytes)), "never torn");

    disk.sync(&path("/d/f")).unwrap();
    assert_eq!(outcomes(&disk, "/d/f"), [None, file("contents", NEW)], "its name is not durable");
    disk.sync(&path("/d")).unwrap();
    assert_eq!(outcomes(&disk, "/d/f"), [file("contents", NEW)]);
}

#[test]
fn a_removed_name_may_come_back_until_its_directory_is_synced() {
    let disk = disk(&[("/d/f", "old", 0o644)]);
    disk.remove(&path("/d/f")).unwrap();
    assert_eq!(outcomes(&disk, "/d/f"), [file("old", OLD), None]);
    disk.sync(&path("/d")).unwrap();
    assert_eq!(outcomes(&disk, "/d/f"), [None]);
}

#[test]
fn attributes_may_be_old_new_or_mixed_until_the_file_is_synced() {
    let disk = disk(&[("/d/f", "same", 0o644)]);
    disk.set_attributes(&path("/d/f"), NEW).unwrap();
    let found = outcomes(&disk, "/d/f");
    assert_eq!(found.len(), 4);
    for attributes in [OLD, NEW, Attributes { mode: NEW.mode, ..OLD }, Attributes { mode: OLD.mode, ..NEW }] {
        assert!(found.contains(&file("same", attributes)), "{attributes:?}");
    }
    disk.sync(&path("/d")).unwrap();
    assert_eq!(outcomes(&disk, "/d/f").len(), 4, "a directory's sync is not its files'");
    disk.sync(&path("/d/f")).unwrap();
    assert_eq!(outcomes(&disk, "/d/f"), [file("same", NEW)]);
}

#[test]
fn a_rename_leaves_the_old_or_the_new_file_until_its_directory_is_synced() {
    let disk = disk(&[("/d/f", "old", 0o644), ("/d/t", "new", 0o640)]);
    disk.rename(&path("/d/t"), &path("/d/f")).unwrap();
    for seed in 0..SEEDS {
        let names = disk.reboot(seed).list(&path("/d")).unwrap().len();
        let node = disk.reboot(seed).tree().remove("/d/f");
        let expected = if names == 2 { file("old", OLD) } else { file("new", Attributes { mode: 0o640, ..OLD }) };
        assert_eq!(node, expected, "seed {seed}");
    }
    assert_eq!(outcomes(&disk, "/d/t").len(), 2);
    disk.sync(&path("/d")).unwrap();
    assert_eq!(outcomes(&disk, "/d/f"), [file("new", Attributes { mode: 0o640, ..OLD })]);
    assert_eq!(outcomes(&disk, "/d/t"), [None]);
}

#[test]
fn a_rename_of_an_unsynced_file_may_leave_an_empty_one() {
    let disk = disk(&[("/d/f", "old", 0o644)]);
    disk.create(&path("/d/t"), b"new", OLD).unwrap();
    disk.rename(&path("/d/t"), &path("/d/f")).unwrap();
    disk.sync(&path("/d")).unwrap();
    let after = disk.crash(&mut Loss::contents());
    assert_eq!(after.read(&path("/d/f"), 9).unwrap(), b"");
    assert!(!outcomes(&disk, "/d/f").contains(&file("old", OLD)), "the rename was synced");
}

#[test]
fn a_rename_across_directories_needs_both_synced() {
    let both = || {
        let disk = disk(&[("/a/f", "x", 0o644), ("/b/", "", 0o755)]);
        disk.rename(&path("/a/f"), &path("/b/f")).unwrap();
        disk
    };
    let places = |disk: &MemoryDisk| -> BTreeSet<(bool, bool)> {
        let found = |seed| {
            let tree = disk.reboot(seed).tree();
            (tree.contains_key("/a/f"), tree.contains_key("/b/f"))
        };
        (0..SEEDS).map(found).collect()
    };
    let disk = both();
    assert_eq!(places(&disk).len(), 4);
    disk.sync(&path("/b")).unwrap();
    assert_eq!(places(&disk), [(false, true), (true, true)].into());
    disk.sync(&path("/a")).unwrap();
    assert_eq!(places(&disk), [(false, true)].into());
    let disk = both();
    disk.sync(&path("/a")).unwrap();
    assert_eq!(places(&disk), [(false, false), (false, true)].into(), "synced in the wrong order");
}

#[test]
fn a_file_with_two_names_after_a_crash_keeps_both_when_one_is_renamed_to_the_other() {
    let disk = disk(&[("/a/f", "x", 0o644), ("/b/", "", 0o755)]);
    disk.rename(&path("/a/f"), &path("/b/f")).unwrap();
    disk.sync(&path("/b")).unwrap();
    let after = disk.crash(&mut Loss::names());
    after.rename(&path("/a/f"), &path("/b/f")).unwrap();
    assert!(after.tree().contains_key("/a/f") && after.tree().contains_key("/b/f"));
}

#[test]
fn a_directory_made_or_removed_is_so_for_good_once_its_parent_is_synced() {
    let disk = disk(&[("/d/gone/", "", 0o755)]);
    disk.make_directory(&path("/d/made"), NEW).unwrap();
    disk.create(&path("/d/made/f"), b"x", NEW).unwrap();
    disk.sync(&path("/d/made/f")).unwrap();
    disk.sync(&path("/d/made")).unwrap();
    disk.remove_directory(&path("/d/gone")).unwrap();
    let made = Some(Node::Directory { attributes: NEW, label: None });
    assert_eq!(outcomes(&disk, "/d/made"), [None, made.clone()]);
    assert_eq!(outcomes(&disk, "/d/made/f"), [None, file("x", NEW)], "lost with its directory");
    assert_eq!(outcomes(&disk, "/d/gone").len(), 2);
    disk.sync(&path("/d")).unwrap();
    assert_eq!(outcomes(&disk, "/d/made"), [made]);
    assert_eq!(outcomes(&disk, "/d/made/f"), [file("x", NEW)]);
    assert_eq!(outcomes(&disk, "/d/gone"), [None]);
}

#[test]
fn a_directory_that_was_never_synced_may_lack_its_attributes() {
    let disk = disk(&[("/d/", "", 0o755)]);
    disk.make_directory(&path("/d/made"), NEW).unwrap();
    disk.sync(&path("/d")).unwrap();
    let found = outcomes(&disk, "/d/made");
    assert!(
        found.contains(&Some(Node::Directory { attributes: BORN_DIRECTORY, label: None })) && !found.contains(&None)
    );
}

#[test]
fn a_link_is_lost_or_whole() {
    let disk = disk(&[("/d/", "", 0o755)]);
    disk.link(&path("/d/l"), "../x").unwrap();
    let link = Some(Node::Link { target: "../x".into() });
    assert_eq!(outcomes(&disk, "/d/l"), [None, link.clone()]);
    disk.sync(&path("/d")).unwrap();
    assert_eq!(outcomes(&disk, "/d/l"), [link]);
}

#[test]
fn only_the_unordered_loss_keeps_a_later_change_without_an_earlier_one() {
    let disk = disk(&[("/d/", "", 0o755)]);
    for name in ["/d/1", "/d/2", "/d/3"] {
        disk.link(&path(name), "x").unwrap();
    }
    let gap = |loss: &mut Loss| {
        let tree = disk.crash(loss).tree();
        tree.contains_key("/d/3") && !tree.contains_key("/d/1")
    };
    assert!((0..SEEDS).any(|seed| gap(&mut Loss::unordered(seed))));
    assert!(!(0..SEEDS).any(|seed| gap(&mut Loss::ordered(seed))));
}

#[test]
fn a_filesystem_is_synced_alone() {
    let disk = disk(&[("/a/", "", 0o755), ("/boot/", "", 0o755)]);
    disk.mount(&path("/boot")).unwrap();
    disk.create(&path("/a/f"), b"x", NEW).unwrap();
    disk.create(&path("/boot/f"), b"y", NEW).unwrap();
    disk.sync_filesystem(&path("/a")).unwrap();
    assert_eq!(outcomes(&disk, "/a/f"), [file("x", NEW)]);
    assert!(outcomes(&disk, "/boot/f").len() > 2);
    disk.sync_filesystem(&path("/boot/f")).unwrap();
    assert_eq!(outcomes(&disk, "/boot/f"), [file("y", NEW)]);
}

#[test]
fn a_kill_loses_nothing_but_a_later_crash_may() {
    let disk = disk(&[("/d/", "", 0o755)]);
    disk.create(&path("/d/f"), b"x", NEW).unwrap();
    let after = disk.kill();
    assert_eq!(after.tree(), disk.tree());
    assert_eq!(after.effects(), 0);
    assert!(!after.durable_tree().contains_key("/d/f"));
}

#[test]
fn the_same_seed_loses_the_same() {
    let work = || {
        let disk = disk(&[("/d/", "", 0o755), ("/e/", "", 0o755)]);
        for name in ["/d/1", "/d/2", "/e/1", "/e/2"] {
            disk.create(&path(name), b"0123456789", NEW).unwrap();
        }
        disk.rename(&path("/d/1"), &path("/e/1")).unwrap();
        disk
    };
    let trees: Vec<_> = (0..SEEDS).map(|seed| work().reboot(seed).tree()).collect();
    for (seed, tree) in (0..).zip(&trees) {
        assert_eq!(work().reboot(seed).tree(), *tree);
        assert_eq!(work().reboot(seed).durable_tree(), *tree, "something is still pending");
    }
    assert!(trees.iter().any(|tree| *tree != trees[4]));
}

#[test]
fn a_label_may_be_lost_by_itself_until_the_file_or_directory_is_synced() {
    let disk = disk(&[("/d/f", "same", 0o644)]);
    disk.set_attributes(&path("/d/f"), NEW).unwrap();
    disk.set_label(&path("/d/f"), "l").unwrap();
    disk.set_label(&path("/d"), "m").unwrap();
    let labelled = |attributes, label: Option<&str>| {
        let label = label.map(Into::into);
        Some(Node::File { contents: (*b"same").into(), attributes, label, xattrs: Default::default() })
    };
    let found = outcomes(&disk, "/d/f");
    for expected in [labelled(OLD, None), labelled(OLD, Some("l")), labelled(NEW, None), labelled(NEW, Some("l"))] {
        assert!(found.contains(&expected), "{expected:?}");
    }
    assert_eq!(outcomes(&disk, "/d").len(), 2);
    disk.sync(&path("/d/f")).unwrap();
    assert_eq!(outcomes(&disk, "/d/f"), [labelled(NEW, Some("l"))]);
    disk.sync(&path("/d")).unwrap();
    assert_eq!(outcomes(&disk, "/d").len(), 1);
    assert_eq!(disk.label(&path("/d")).unwrap().as_deref(), Some("m"));
}

#[test]
fn the_root_and_directories_behind_links_are_synced() {
    let disk = disk(&[("/d/", "", 0o755)]);
    disk.put_link(&path("/l"), "d").unwrap();
    for (at, seen, directory) in [("/f", "/f", None), ("/l/f", "/d/f", Some(path("/l")))] {
        disk.link(&path(at), "x").unwrap();
        assert!(outcomes(&disk, seen).contains(&None));
        disk.sync_directory(directory.as_ref()).unwrap();
        assert!(!outcomes(&disk, seen).contains(&None));
    }
    assert_eq!(disk.effects(), 4);
    assert_eq!(disk.sync_directory(Some(&path("/f"))).unwrap_err().raw_os_error(), Some(Errno::ENOENT as i32));
    assert_eq!(disk.sync_directory(Some(&path("/none"))).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_link_has_no_label_and_gets_none() {
    let disk = disk(&[("/d/f", "", 0o644)]);
    disk.put_link(&path("/l"), "d/f").unwrap();
    assert_eq!(disk.label(&path("/l")).unwrap(), None);
    assert_eq!(disk.set_label(&path("/l"), "x").unwrap_err().raw_os_error(), Some(Errno::ELOOP as i32));
    assert_eq!(disk.set_label(&path("/d/f"), "").unwrap_err().raw_os_error(), Some(Errno::EINVAL as i32));
    assert_eq!(disk.label(&path("/none")).unwrap_err().kind(), io::ErrorKind::NotFound);
}
