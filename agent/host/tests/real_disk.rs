//! The batch and the journal on a real directory: what is proven in memory has to work on a kernel too.
#![cfg(test)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use ostler_core::secret::Secret;
use ostler_host::batch::{Batch, BatchError, Directory, Link, Operation, Write, apply, forecast};
use ostler_host::disk::{Attributes, Disk, RootDisk, RootPath};
use ostler_host::journal::{Journal, Loaded, Slot};

fn path(text: &str) -> RootPath {
    RootPath::new(text).unwrap()
}

/// Files that this process may make: their owner is whoever runs the test.
fn write(root: &tempfile::TempDir, at: &str, contents: &str) -> Write {
    let owner = fs::metadata(root.path()).unwrap();
    let attributes = Attributes { mode: 0o640, uid: owner.uid(), gid: owner.gid() };
    let contents = Secret::new(contents.as_bytes().to_vec()).into();
    Write { path: path(at), contents, attributes, label: None, xattrs: Default::default() }
}

#[test]
fn a_batch_writes_replaces_removes_and_leaves_the_rest_alone() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("etc/app")).unwrap();
    for (name, contents) in [("changed", "old"), ("same", "same"), ("gone", "old"), ("other", "other")] {
        fs::write(root.path().join("etc/app").join(name), contents).unwrap();
    }
    let same = root.path().join("etc/app/same");
    fs::set_permissions(&same, fs::Permissions::from_mode(0o640)).unwrap();
    let disk = RootDisk::open(root.path()).unwrap();
    let batch = Batch {
        writes: vec![
            write(&root, "/etc/app/changed", "new"),
            write(&root, "/etc/app/same", "same"),
            write(&root, "/etc/app/added", "new"),
        ],
        removals: vec![path("/etc/app/gone")],
        ..Batch::default()
    };
    let counts = apply(&disk, &batch, "t1").unwrap();
    assert_eq!((counts.written, counts.unchanged, counts.removed), (2, 1, 1));
    let mut left: Vec<(String, String)> = fs::read_dir(root.path().join("etc/app"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&file).unwrap()))
        .collect();
    left.sort();
    let expected = [("added", "new"), ("changed", "new"), ("other", "other"), ("same", "same")];
    assert_eq!(left, expected.map(|(name, contents)| (name.to_owned(), contents.to_owned())));
    assert_eq!(fs::metadata(root.path().join("etc/app/added")).unwrap().mode() & 0o7777, 0o640);
    let again = apply(&disk, &batch, "t1").unwrap();
    assert_eq!((again.written, again.unchanged, again.removed), (0, 3, 0));
}

#[test]
fn a_batch_makes_directories_links_and_labels_as_foreseen() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("etc")).unwrap();
    fs::create_dir_all(root.path().join("var/opt")).unwrap();
    fs::write(root.path().join("etc/file"), "a link from now on").unwrap();
    for (at, target) in [("etc/same", "file"), ("etc/other", "/old"), ("opt", "var/opt")] {
        symlink(target, root.path().join(at)).unwrap();
    }
    let disk = RootDisk::open(root.path()).unwrap();
    let attributes = Attributes { mode: 0o750, ..write(&root, "/x", "").attributes };
    let directory = |at| Directory { path: path(at), attributes, label: None };
    let link = |at, target: &str| Link { path: path(at), target: target.to_owned() };
    let mut batch = Batch {
        writes: vec![write(&root, "/opt/app/conf", "new")],
        links: vec![link("/etc/same", "file"), link("/etc/other", "/new"), link("/etc/file", "/etc/none")],
        removals: vec![path("/none/at/all")],
        directories: vec![directory("/opt/app"), directory("/empty"), directory("/etc")],
        ..Batch::default()
    };
    let before = fs::metadata(root.path().join("etc")).unwrap().mode();
    let foreseen = forecast(&disk, &batch, "t2").unwrap();
    assert_eq!((foreseen.changed, foreseen.unchanged, foreseen.removed, foreseen.bytes), (3, 1, 0, 3));
    assert_eq!(foreseen.directories, [path("/empty"), path("/opt/app")]);
    let counts = apply(&disk, &batch, "t2").unwrap();
    assert_eq!((counts.written, counts.unchanged, counts.removed), (3, 1, 0));
    for (at, target) in [("etc/same", "file"), ("etc/other", "/new"), ("etc/file", "/etc/none")] {
        assert_eq!(fs::read_link(root.path().join(at)).unwrap().to_str(), Some(target), "{at}");
    }
    for (at, mode) in [("empty", 0o750), ("var/opt/app", 0o750), ("etc", before & 0o7777)] {
        assert_eq!(fs::metadata(root.path().join(at)).unwrap().mode() & 0o7777, mode, "{at}");
    }
    assert_eq!(names(&root, ""), ["empty", "etc", "opt", "var"]);
    assert_eq!(names(&root, "var/opt/app"), ["conf"]);
    batch.writes.iter_mut().for_each(|write| write.label = Some("system_u:object_r:etc_t:s0".to_owned()));
    match apply(&disk, &batch, "t2") {
        Ok(counts) => assert_eq!((counts.written, counts.unchanged), (1, 3)),
        Err(error @ BatchError::Untouched { operation: Operation::Label, .. }) => {
            eprintln!("SKIPPED: labels cannot be set here: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    }
    assert_eq!(disk.label(&path("/var/opt/app/conf")).unwrap(), batch.writes[0].label);
    assert_eq!(apply(&disk, &batch, "t2").unwrap().unchanged, 4);
}

fn names(root: &tempfile::TempDir, below: &str) -> Vec<String> {
    let entries = fs::read_dir(root.path().join(below)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_journal_keeps_one_writer_and_sets_damaged_records_aside() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("var/lib")).unwrap();
    if fs::metadata(root.path()).unwrap().uid() != 0 {
        // The journal belongs to root, and only root can make what belongs to root.
        eprintln!("SKIPPED: the journal on a real disk needs root");
        return;
    }
    let disk = RootDisk::open(root.path()).unwrap();
    let directory = path("/var/lib/ostler/journal");
    let journal = Journal::open(&disk, &directory).unwrap();
    assert!(Journal::open(&disk, &directory).is_err(), "two writers");
    journal.save(Slot::Plan, &Secret::new(b"the plan".to_vec())).unwrap();
    let loaded = journal.load(Slot::Plan).unwrap();
    assert!(matches!(loaded, Loaded::Intact(payload) if payload.expose() == b"the plan"));
    let record = root.path().join("var/lib/ostler/journal/plan");
    let mut bytes = fs::read(&record).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&record, bytes).unwrap();
    assert!(matches!(journal.load(Slot::Plan).unwrap(), Loaded::Damaged { .. }));
    assert!(matches!(journal.load(Slot::Plan).unwrap(), Loaded::Absent));
}
