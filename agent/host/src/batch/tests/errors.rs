//! Errors: the tree is as before, or it is said what is not.

use super::*;
use crate::disk::memory::{ERRNOS, Fault, every_error};

/// What is promised after an error, by what the error says.
fn assert_after_error(ends: &Ends, disk: &MemoryDisk, outcome: io::Result<()>, context: &dyn std::fmt::Debug) {
    let tree = disk.tree();
    ends.assert_between(&tree, context);
    let Err(error) = outcome else {
        assert_eq!(tree, ends.new, "{context:?}");
        return;
    };
    let files = |tree: &Tree| -> Tree {
        let file = |(path, node): &(&String, &Node)| !is_leftover(path) && !matches!(node, Node::Directory { .. });
        tree.iter().filter(file).map(|(path, node)| (path.clone(), node.clone())).collect()
    };
    match error.get_ref().and_then(|error| error.downcast_ref()).unwrap() {
        BatchError::Untouched { .. } => assert_eq!(tree, ends.old, "{context:?}"),
        BatchError::Residue { left, .. } => {
            assert_eq!(files(&tree), files(&ends.old), "{context:?}");
            let real = left.as_str().replace("/opt/", "/var/opt/").replace("/var/var/", "/var/");
            assert!(tree.contains_key(&real), "{left} {context:?}");
        }
        BatchError::Partial { .. } => assert_ne!(files(&tree), files(&ends.old), "{context:?}"),
        other => panic!("{other:?} {context:?}"),
    }
}

#[test]
fn after_an_error_before_the_first_rename_the_tree_is_as_before() {
    for (name, scenario) in SCENARIOS {
        let (disk, batch) = scenario();
        let ends = Ends::of(&disk, &batch);
        for halves in [false, true] {
            let setup = || {
                let disk = scenario().0;
                if halves {
                    disk.leave_halves();
                }
                disk
            };
            let check = |disk: MemoryDisk, outcome, failure| {
                assert_after_error(&ends, &disk, outcome, &failure);
                for seed in 0..6 {
                    ends.assert_between(&disk.reboot(seed).tree(), &failure);
                    ends.assert_converges(&disk.reboot(seed), &batch, &failure);
                }
                ends.assert_converges(&disk, &batch, &failure);
            };
            let points = every_error(setup, |disk| run(disk, &batch), &ERRNOS, check).unwrap();
            println!("batch {name}: {points} error points");
        }
    }
}

#[test]
fn a_read_that_fails_changes_nothing_that_is_not_told() {
    let (disk, batch) = mixed();
    let ends = Ends::of(&disk, &batch);
    run(&disk, &batch).unwrap();
    for read in 0..disk.reads() {
        for fault in ERRNOS.iter().flat_map(|errno| [Fault::Error(*errno), Fault::ErrorFrom(*errno)]) {
            let disk = mixed().0;
            disk.fail_read_at(read, fault);
            let outcome = run(&disk, &batch);
            disk.heal();
            assert_after_error(&ends, &disk, outcome, &(read, fault));
            ends.assert_converges(&disk, &batch, &(read, fault));
        }
    }
}

#[test]
fn contents_are_in_no_message() {
    let (disk, mut batch) = mixed();
    batch.writes.iter_mut().for_each(|write| write.contents = Secret::new(b"canary".to_vec()).into());
    let setup = || disk.kill();
    let check = |_, outcome: io::Result<()>, _| {
        let text =
            format!("{batch:?} {outcome:?} {}", outcome.as_ref().err().map(ToString::to_string).unwrap_or_default());
        assert!(!text.contains("canary") && !text.contains("99, 97, 110"), "{text}");
    };
    every_error(setup, |disk| run(disk, &batch), &ERRNOS, check).unwrap();
}
