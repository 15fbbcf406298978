use std::collections::BTreeMap;
use std::io;

use super::*;
use crate::disk::memory::{ERRNOS, Ending, Fault, MemoryDisk, Node, Point, every_crash, every_error};

type Tree = BTreeMap<String, Node>;

const TAG: &str = "t";
const PLAIN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };

fn path(path: &str) -> RootPath {
    RootPath::new(path).unwrap()
}

fn write(at: &str, contents: &str) -> Write {
    Write { path: path(at), contents: Secret::new(contents.as_bytes().to_vec()), attributes: PLAIN }
}

/// Few files in all kinds of places: replaced, given another owner, unchanged, through a link, in new directories, in the
/// root, removed, never there.
fn mixed() -> (MemoryDisk, Batch) {
    let files = [
        ("/etc/a", "old a", 0o644),
        ("/etc/b", "b", 0o600),
        ("/etc/same", "same", 0o644),
        ("/etc/gone", "gone", 0o644),
        ("/etc/private/x", "x", 0o644),
        ("/etc/bystander", "bystander", 0o640),
        ("/var/opt/c", "old c", 0o644),
        ("/var/opt/bye", "bye", 0o644),
        ("/bye", "bye", 0o644),
    ];
    let disk = MemoryDisk::with(&files).unwrap();
    disk.put_directory(&path("/etc/closed"), Attributes { mode: 0o700, uid: 0, gid: 0 }).unwrap();
    disk.put_link(&path("/opt"), "var/opt").unwrap();
    disk.put_link(&path("/etc/link"), "/etc/bystander").unwrap();
    let mut writes = vec![
        write("/etc/a", "new a, and longer"),
        write("/etc/b", "b"),
        write("/etc/same", "same"),
        write("/etc/link", "no link"),
        write("/etc/closed/f", "closed"),
        write("/etc/new/deep/d", "new d"),
        write("/etc/new/e", "new e"),
        write("/opt/c", "new c"),
        write("/opt/fresh/g", "new g"),
        write("/srv/top/h", "new h"),
        write("/top", "new top"),
    ];
    writes[1].attributes = Attributes { mode: 0o4640, uid: 5, gid: 6 };
    let removals = ["/etc/gone", "/opt/bye", "/bye", "/etc/absent", "/not/here"].map(path).to_vec();
    (disk, Batch { writes, removals })
}

/// More files than are synced one by one, some on a filesystem that is mounted below the others' top directory.
fn many() -> (MemoryDisk, Batch) {
    let disk = MemoryDisk::with(&[("/var/a/", "", 0o755), ("/var/b/mounted/", "", 0o755)]).unwrap();
    disk.mount(&path("/var/b/mounted")).unwrap();
    let directories = ["/var/a", "/var/b/mounted", "/var/b/mounted/new"];
    let writes =
        (0..FEW + 2).map(|n| write(&format!("{}/f{n}", directories[n % 3]), &format!("contents {n}"))).collect();
    (disk, Batch { writes, removals: Vec::new() })
}

/// New directories in places where nothing else happens.
fn alone() -> (MemoryDisk, Batch) {
    let disk = MemoryDisk::with(&[("/usr/share/doc/", "", 0o755)]).unwrap();
    let writes = ["/usr/share/x/y/f", "/srv/only/f"].map(|at| write(at, "new")).to_vec();
    (disk, Batch { writes, removals: Vec::new() })
}

/// Nothing but removals, also where no path leads to the directory itself.
fn removals() -> (MemoryDisk, Batch) {
    let gone = ["/etc/gone", "/var/opt/gone", "/var/opt/stays", "/gone"].map(|at| (at, "x", 0o644));
    let disk = MemoryDisk::with(&gone).unwrap();
    disk.put_link(&path("/opt"), "var/opt").unwrap();
    disk.put_link(&path("/nowhere"), "not/there").unwrap();
    let removals = ["/etc/gone", "/opt/gone", "/gone", "/nowhere/gone"].map(path).to_vec();
    (disk, Batch { writes: Vec::new(), removals })
}

type Scenario = fn() -> (MemoryDisk, Batch);

const SCENARIOS: [(&str, Scenario); 4] = [("mixed", mixed), ("many", many), ("alone", alone), ("removals", removals)];

fn run(disk: &MemoryDisk, batch: &Batch) -> io::Result<()> {
    apply(disk, batch, TAG).map(drop).map_err(io::Error::other)
}

fn is_leftover(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(".ostler-t-"))
}

/// The tree that the batch is to lead to, and the one it started from.
struct Ends {
    old: Tree,
    new: Tree,
}

impl Ends {
    /// The new tree is made up from the batch, not by applying it.
    fn of(disk: &MemoryDisk, batch: &Batch) -> Self {
        let old = disk.tree();
        let real = |path: &RootPath| match path.as_str().strip_prefix("/opt/") {
            Some(below) => format!("/var/opt/{below}"),
            None => path.as_str().to_owned(),
        };
        let mut new = old.clone();
        for write in &batch.writes {
            let at = RootPath::new(real(&write.path)).unwrap();
            for directory in at.ancestors() {
                new.entry(directory.to_string()).or_insert(Node::Directory { attributes: MADE });
            }
            let node = Node::File { contents: write.contents.expose().clone(), attributes: write.attributes };
            new.insert(at.to_string(), node);
        }
        batch.removals.iter().for_each(|path| drop(new.remove(&real(path))));
        Self { old, new }
    }

    /// Everything is as it was or as it is to be, but for temporaries, markers, and directories just being made.
    fn assert_between(&self, tree: &Tree, context: &dyn std::fmt::Debug) {
        for path in self.old.keys().chain(self.new.keys()).chain(tree.keys()).filter(|path| !is_leftover(path)) {
            let (now, old, new) = (tree.get(path), self.old.get(path), self.new.get(path));
            let making =
                old.is_none() && matches!((now, new), (Some(Node::Directory { .. }), Some(Node::Directory { .. })));
            assert!(now == old || now == new || making, "{path} is {now:?}, neither {old:?} nor {new:?}: {context:?}");
        }
    }

    /// Applied once more, everything is new, nothing is left behind, and no power cut can change that; only the empty
    /// marker in a directory that has no path to sync may come back.
    fn assert_converges(&self, disk: &MemoryDisk, batch: &Batch, context: &dyn std::fmt::Debug) {
        apply(disk, batch, TAG).unwrap_or_else(|error| panic!("{error:?} {context:?}"));
        assert_eq!(disk.tree(), self.new, "{context:?}");
        let mut durable = disk.durable_tree();
        durable.retain(|path, node| {
            let empty = matches!(node, Node::File { contents, .. } if contents.is_empty());
            let unnamed =
                ["/", "/var/opt/"].iter().any(|at| path.strip_prefix(at).is_some_and(|name| !name.contains('/')));
            !(empty && unnamed && is_leftover(path))
        });
        assert_eq!(durable, self.new, "durable {context:?}");
        let again = apply(disk, batch, TAG).unwrap();
        assert_eq!(again, Counts { written: 0, unchanged: batch.writes.len(), removed: 0 }, "{context:?}");
    }
}

#[test]
fn a_batch_is_applied_and_counted() {
    let (disk, batch) = mixed();
    let ends = Ends::of(&disk, &batch);
    assert_eq!(apply(&disk, &batch, TAG).unwrap(), Counts { written: 10, unchanged: 1, removed: 3 });
    assert_eq!(disk.tree(), ends.new);
    ends.assert_converges(&disk, &batch, &"again");
}

#[test]
fn after_a_crash_each_file_is_old_or_new_and_applying_again_converges() {
    for (name, scenario) in SCENARIOS {
        let (disk, batch) = scenario();
        let ends = Ends::of(&disk, &batch);
        let points = every_crash(
            || scenario().0,
            |disk| run(disk, &batch),
            40,
            |disk, point| {
                ends.assert_between(&disk.tree(), &point);
                ends.assert_converges(&disk, &batch, &point);
            },
        );
        println!("batch {name}: {} crash points", points.unwrap());
    }
}

#[test]
fn after_a_crash_of_the_repair_too_applying_again_converges() {
    let (disk, batch) = mixed();
    let ends = Ends::of(&disk, &batch);
    let total = std::cell::Cell::new(0);
    let repair = |disk: MemoryDisk, first| {
        if !matches!(first, Point { ending: Ending::Kill | Ending::PowerCut(4), .. }) {
            return;
        }
        let check = |disk: MemoryDisk, second| {
            ends.assert_between(&disk.tree(), &(first, second));
            ends.assert_converges(&disk, &batch, &(first, second));
        };
        let points = every_crash(|| disk.kill(), |disk| run(disk, &batch), 1, check).unwrap();
        total.set(total.get() + points);
    };
    every_crash(|| mixed().0, |disk| run(disk, &batch), 5, repair).unwrap();
    println!("batch: {} crash points in repairs", total.get());
}

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
fn what_cannot_be_written_is_refused_before_anything_is() {
    let long = format!("/{}", ["a".repeat(255).as_str()].repeat(15).join("/") + "/" + &"b".repeat(250) + "/c");
    for (writes, removals, at, why) in [
        (vec!["/etc"], vec![], "/etc", Refusal::Directory),
        (vec!["/new", "/etc/private"], vec![], "/etc/private", Refusal::Directory),
        (vec!["/new"], vec!["/etc"], "/etc", Refusal::Directory),
        (vec!["/new", "/etc/a/b/c"], vec![], "/etc/a", Refusal::NotADirectory),
        (vec!["/new", "/new"], vec![], "/new", Refusal::Repeated),
        (vec!["/etc/a"], vec!["/etc/a"], "/etc/a", Refusal::Repeated),
        (vec!["/new", "/new/b"], vec![], "/new", Refusal::Nested),
        (vec!["/etc/a/b"], vec!["/etc/a"], "/etc/a", Refusal::Nested),
        (vec!["/etc/.ostler-t-0"], vec![], "/etc/.ostler-t-0", Refusal::Reserved),
        (vec![long.as_str()], vec![], long.as_str(), Refusal::TooLong),
        (vec![], vec![long.as_str()], long.as_str(), Refusal::TooLong),
    ] {
        let disk = mixed().0;
        let before = (disk.tree(), disk.effects());
        let writes = writes.iter().map(|at| write(at, "x")).collect();
        let batch = Batch { writes, removals: removals.into_iter().map(path).collect() };
        match apply(&disk, &batch, TAG) {
            Err(BatchError::Refused { path, why: found }) => assert_eq!((path.as_str(), found), (at, why)),
            other => panic!("{at}: {other:?}"),
        }
        assert_eq!((disk.tree(), disk.effects()), before, "{at}");
    }
}

#[test]
fn many_files_cost_one_sync_for_each_filesystem() {
    let effects = |count: usize| {
        let disk = MemoryDisk::with(&[("/var/a/", "", 0o755), ("/var/b/", "", 0o755), ("/var/m/", "", 0o755)]).unwrap();
        disk.mount(&path("/var/m")).unwrap();
        let place = |n| format!("/var/{}/f{n}", ["a", "b", "m"][n % 3]);
        let batch = Batch { writes: (0..count).map(|n| write(&place(n), "x")).collect(), removals: Vec::new() };
        apply(&disk, &batch, TAG).unwrap();
        usize::try_from(disk.effects()).unwrap()
    };
    // Each file is made in two effects and renamed in one; four directories are synced.
    assert_eq!(effects(FEW), FEW * 3 + FEW + 4);
    assert_eq!(effects(FEW + 1), (FEW + 1) * 3 + 2 + 4);
    assert_eq!(effects(300), 300 * 3 + 2 + 4);
}

#[test]
fn a_private_directory_of_somebody_else_stays_private() {
    let (disk, batch) = mixed();
    apply(&disk, &batch, TAG).unwrap();
    let closed = disk.stat(&path("/etc/closed")).unwrap().unwrap();
    assert_eq!(closed.mode, 0o700);
}

#[test]
fn a_sweep_removes_leftovers_of_its_tag_and_nothing_else() {
    let names = [".ostler-t-0", ".ostler-t-17", ".ostler-other-0", ".ostler-t-x", "file"];
    let files = names.map(|name| (format!("/etc/d/{name}"), "x", 0o600));
    let disk =
        MemoryDisk::with(&files.each_ref().map(|(path, contents, mode)| (path.as_str(), *contents, *mode))).unwrap();
    let directories = [path("/etc/d"), path("/etc/absent"), path("/etc/d/file")];
    assert_eq!(sweep(&disk, &directories, TAG).unwrap(), 2);
    assert_eq!(disk.list(&path("/etc/d")).unwrap(), [".ostler-other-0", ".ostler-t-x", "file"]);
    assert_eq!(disk.durable_tree(), disk.tree());
    assert_eq!(sweep(&disk, &directories, TAG).unwrap(), 0);
}

#[test]
fn contents_are_in_no_message() {
    let (disk, mut batch) = mixed();
    batch.writes.iter_mut().for_each(|write| write.contents = Secret::new(b"canary".to_vec()));
    let setup = || disk.kill();
    let check = |_, outcome: io::Result<()>, _| {
        let text =
            format!("{batch:?} {outcome:?} {}", outcome.as_ref().err().map(ToString::to_string).unwrap_or_default());
        assert!(!text.contains("canary") && !text.contains("99, 97, 110"), "{text}");
    };
    every_error(setup, |disk| run(disk, &batch), &ERRNOS, check).unwrap();
}
