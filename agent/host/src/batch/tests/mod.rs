//! Batches on the disk in memory, cut off and failed at every point.

mod crashes;
mod directories;
mod errors;
mod refusals;

use std::collections::BTreeMap;
use std::io;

use super::stage::FEW;
use super::*;
use crate::disk::memory::{MemoryDisk, Node};

type Tree = BTreeMap<String, Node>;

const TAG: &str = "t";
const PLAIN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };

fn path(path: &str) -> RootPath {
    RootPath::new(path).unwrap()
}

fn write(at: &str, contents: &str) -> Write {
    let contents = Secret::new(contents.as_bytes().to_vec()).into();
    Write { path: path(at), contents, attributes: PLAIN, label: None, xattrs: Xattrs::default() }
}

fn labelled(at: &str, contents: &str, label: &str) -> Write {
    Write { label: Some(label.to_owned()), ..write(at, contents) }
}

fn link(at: &str, target: &str) -> Link {
    Link { path: path(at), target: target.to_owned() }
}

fn directory(at: &str, mode: u32, uid: u32, label: Option<&str>) -> Directory {
    let attributes = Attributes { mode, uid, gid: uid };
    Directory { path: path(at), attributes, label: label.map(ToOwned::to_owned) }
}

/// Few files in all kinds of places: replaced, given another owner, unchanged, through a link, in new directories, in the
/// root, with labels, removed, never there; links made, changed and in the place of a file; directories that are listed.
fn mixed() -> (MemoryDisk, Batch) {
    let files = [
        ("/etc/a", "old a", 0o644),
        ("/etc/b", "b", 0o600),
        ("/etc/same", "same", 0o644),
        ("/etc/gone", "gone", 0o644),
        ("/etc/private/x", "x", 0o644),
        ("/etc/file", "a link from now on", 0o644),
        ("/etc/unlabelled", "labelled", 0o644),
        ("/etc/bystander", "bystander", 0o640),
        ("/var/opt/c", "old c", 0o644),
        ("/var/opt/bye", "bye", 0o644),
        ("/bye", "bye", 0o644),
    ];
    let disk = MemoryDisk::with(&files).unwrap();
    disk.put_directory(&path("/etc/closed"), Attributes { mode: 0o700, uid: 0, gid: 0 }).unwrap();
    disk.put_link(&path("/opt"), "var/opt").unwrap();
    disk.put_link(&path("/etc/link"), "/etc/bystander").unwrap();
    disk.put_link(&path("/etc/here"), "a").unwrap();
    disk.put_link(&path("/etc/there"), "/old").unwrap();
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
        labelled("/top", "new top", "top_t"),
        labelled("/etc/unlabelled", "labelled", "etc_t"),
    ];
    writes[1].attributes = Attributes { mode: 0o4640, uid: 5, gid: 6 };
    let removals = ["/etc/gone", "/opt/bye", "/bye", "/etc/absent", "/not/here"].map(path).to_vec();
    let links = vec![
        link("/etc/here", "a"),
        link("/etc/there", "/new"),
        link("/etc/file", "/var"),
        link("/etc/linked/deep", "../../top"),
    ];
    let directories = vec![directory("/etc/new", 0o750, 7, Some("new_t")), directory("/etc/closed", 0o755, 0, None)];
    (disk, Batch { writes, links, removals, directories, ..Batch::default() })
}

/// More files than are synced one by one, some on a filesystem that is mounted below the others' top directory.
fn many() -> (MemoryDisk, Batch) {
    let disk = MemoryDisk::with(&[("/var/a/", "", 0o755), ("/var/b/mounted/", "", 0o755)]).unwrap();
    disk.mount(&path("/var/b/mounted")).unwrap();
    let directories = ["/var/a", "/var/b/mounted", "/var/b/mounted/new"];
    let writes =
        (0..FEW + 2).map(|n| write(&format!("{}/f{n}", directories[n % 3]), &format!("contents {n}"))).collect();
    (disk, Batch { writes, ..Batch::default() })
}

/// New directories in places where nothing else happens.
fn alone() -> (MemoryDisk, Batch) {
    let disk = MemoryDisk::with(&[("/usr/share/doc/", "", 0o755)]).unwrap();
    let writes = ["/usr/share/x/y/f", "/srv/only/f"].map(|at| write(at, "new")).to_vec();
    (disk, Batch { writes, ..Batch::default() })
}

/// Nothing but removals, also where no path leads to the directory itself.
fn removals() -> (MemoryDisk, Batch) {
    let gone = ["/etc/gone", "/var/opt/gone", "/var/opt/stays", "/gone"].map(|at| (at, "x", 0o644));
    let disk = MemoryDisk::with(&gone).unwrap();
    disk.put_link(&path("/opt"), "var/opt").unwrap();
    disk.put_link(&path("/nowhere"), "not/there").unwrap();
    let removals = ["/etc/gone", "/opt/gone", "/gone", "/nowhere/gone"].map(path).to_vec();
    (disk, Batch { removals, ..Batch::default() })
}

/// Directories for their own sake, with every way of being made, and more of them than are synced one by one.
fn listed() -> (MemoryDisk, Batch) {
    let disk = MemoryDisk::with(&[("/var/opt/", "", 0o755), ("/etc/", "", 0o755)]).unwrap();
    disk.put_link(&path("/opt"), "var/opt").unwrap();
    let directories = vec![
        directory("/opt/x", 0o500, 7, Some("x_t")),
        directory("/opt/x/y/z", 0o1777, 8, None),
        directory("/srv", 0o700, 9, Some("srv_t")),
        directory("/etc", 0o700, 9, Some("not_t")),
        directory("/etc/a", 0o2770, 0, None),
    ];
    (disk, Batch { directories, links: vec![link("/etc/b/l", "x"), link("/l", "y")], ..Batch::default() })
}

type Scenario = fn() -> (MemoryDisk, Batch);

const SCENARIOS: [(&str, Scenario); 5] =
    [("mixed", mixed), ("many", many), ("alone", alone), ("removals", removals), ("listed", listed)];

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
        let mut make = |path: &RootPath, attributes, label| {
            new.entry(real(path)).or_insert(Node::Directory { attributes, label });
        };
        for Directory { path, attributes, label } in &batch.directories {
            make(path, *attributes, label.clone());
        }
        let links = batch.links.iter().map(|link| (&link.path, Node::Link { target: link.target.clone() }));
        let files = batch.writes.iter().map(|Write { path, contents, attributes, label, xattrs }| {
            let (contents, label) = (contents.expose().as_slice().into(), label.clone());
            (path, Node::File { contents, attributes: *attributes, label, xattrs: xattrs.clone() })
        });
        batch.above().filter(|path| path.as_str() != "/opt").for_each(|path| make(&path, MADE, None));
        new.extend(files.chain(links).map(|(path, node)| (real(path), node)));
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

    /// Applied once more, everything is new, nothing is left behind, and no power cut can change that.
    fn assert_converges(&self, disk: &MemoryDisk, batch: &Batch, context: &dyn std::fmt::Debug) {
        apply(disk, batch, TAG).unwrap_or_else(|error| panic!("{error:?} {context:?}"));
        assert_eq!(disk.tree(), self.new, "{context:?}");
        assert_eq!(disk.durable_tree(), self.new, "durable {context:?}");
        let again = apply(disk, batch, TAG).unwrap();
        let unchanged = batch.writes.len() + batch.links.len();
        assert_eq!(again, Counts { written: 0, unchanged, removed: 0 }, "{context:?}");
    }
}
