use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use proptest::prelude::*;
use tar::{Builder, EntryType};
use tempfile::{TempDir, tempdir};

use super::*;
use crate::disk::memory::MemoryDisk;
use crate::os::fixture::{Registry, entry, image, layer, list};

const AT: &str = "usr/share/rpm-ostree/extensions";

/// `@` stands for the extensions' directory.
fn spelled(entries: &[&str]) -> Vec<u8> {
    let entries: Vec<String> = entries.iter().map(|entry| entry.replace('@', AT)).collect();
    layer(&entries.iter().map(String::as_str).collect::<Vec<_>>())
}

fn unpacked(layers: &[Vec<u8>]) -> Result<BTreeMap<String, String>, UnpackError> {
    let directory = tempdir().unwrap();
    let disk = RootDisk::open(directory.path()).unwrap();
    let mut unpacker = Unpacker::new(&disk);
    for layer in layers {
        unpacker.layer(&mut layer.as_slice())?;
    }
    Ok(files(directory.path()))
}

/// Files and their text below a directory; directories by their name with a slash.
fn files(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let mode = std::fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o7777;
            if entry.file_type().unwrap().is_dir() {
                assert_eq!(mode, 0o755);
                left.push(path);
            } else {
                assert_eq!(mode, 0o644);
                found.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}

fn expected(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, text)| (name.replace('@', AT), (*text).to_owned())).collect()
}

#[test]
fn only_the_extensions_are_unpacked() {
    let layer =
        spelled(&["./", "etc/", "etc/passwd=root", "usr/", "dev->x", "@/", "./@/a.rpm=A", "@/repodata/r=R", "@s/x=X"]);
    assert_eq!(unpacked(&[layer]).unwrap(), expected(&[("@/a.rpm", "A"), ("@/repodata/r", "R")]));
}

#[test]
fn upper_layers_replace_and_hide_what_is_below_them() {
    let below = || spelled(&["@/a=A", "@/b=B", "@/d/e=E", "@/d/f/g=G"]);
    for (upper, left) in [
        (&["@/a=new"][..], &[("@/a", "new"), ("@/b", "B"), ("@/d/e", "E"), ("@/d/f/g", "G")][..]),
        (&["@/.wh.a="], &[("@/b", "B"), ("@/d/e", "E"), ("@/d/f/g", "G")]),
        (&["@/.wh.nothing="], &[("@/a", "A"), ("@/b", "B"), ("@/d/e", "E"), ("@/d/f/g", "G")]),
        (&["@/.wh.d="], &[("@/a", "A"), ("@/b", "B")]),
        (&["@/d/new=N", "@/d/.wh..wh..opq="], &[("@/a", "A"), ("@/b", "B"), ("@/d/new", "N")]),
        (&["@/d/.wh..wh..opq=", "@/d/f/new=N"], &[("@/a", "A"), ("@/b", "B"), ("@/d/f/new", "N")]),
        (&["@/d/new=N", "@/.wh.d="], &[("@/a", "A"), ("@/b", "B"), ("@/d/new", "N")]),
        (&["@/a=new", "@/.wh.a="], &[("@/a", "new"), ("@/b", "B"), ("@/d/e", "E"), ("@/d/f/g", "G")]),
        (&["@/new=N", "@/.wh..wh..opq="], &[("@/new", "N")]),
        (&["usr/.wh.share=", "@/new=N"], &[("@/new", "N")]),
        (&["usr/share/.wh..wh..opq="], &[]),
        (&[".wh.usr="], &[]),
        (&["@/.wh..wh.plnk="], &[("@/a", "A"), ("@/b", "B"), ("@/d/e", "E"), ("@/d/f/g", "G")]),
        (&["etc/.wh.usr="], &[("@/a", "A"), ("@/b", "B"), ("@/d/e", "E"), ("@/d/f/g", "G")]),
        (&["@/d=file"], &[("@/a", "A"), ("@/b", "B"), ("@/d", "file")]),
        (&["@/a/", "@/a/x=X"], &[("@/a/x", "X"), ("@/b", "B"), ("@/d/e", "E"), ("@/d/f/g", "G")]),
        (&["@/a=1", "@/a=2"], &[("@/a", "2"), ("@/b", "B"), ("@/d/e", "E"), ("@/d/f/g", "G")]),
        (&["@/c=>@/a"], &[("@/a", "A"), ("@/b", "B"), ("@/c", "A"), ("@/d/e", "E"), ("@/d/f/g", "G")]),
        (&["@/a=>./@/b"], &[("@/a", "B"), ("@/b", "B"), ("@/d/e", "E"), ("@/d/f/g", "G")]),
    ] {
        assert_eq!(unpacked(&[below(), spelled(upper)]).unwrap(), expected(left), "{upper:?}");
    }
}

#[test]
fn hostile_entries_are_refused() {
    for (entries, wanted) in [
        (&["../x=1"][..], "names \"../x\""),
        (&["/etc/x=1"], "names \"/etc/x\""),
        (&["@/../../../../etc/x=1"], "no path within an image"),
        (&["x/../@/y=1"], "no path within an image"),
        (&["@/.wh...=1"], "no path within an image"),
        (&["@/a->/etc", "@/a/x=1"], "a symbolic link"),
        (&["usr/share->/etc", "@/x=1"], "a symbolic link"),
        (&["@->/etc", "@/x=1"], "a symbolic link"),
        (&["@=file"], "a file"),
        (&["@/a=1", "@/a/x=1"], "something below a file"),
        (&["@/a=>etc/shadow"], "a hard link to something else"),
        (&["@/a=>../etc/shadow"], "no path within an image"),
        (&["@/a=>@/nothing"], "a hard link to something else"),
        (&["@/d/", "@/a=>@/d"], "a hard link to something else"),
    ] {
        let error = unpacked(&[spelled(entries)]).unwrap_err();
        assert!(error.to_string().contains(wanted), "{entries:?}: {error}");
    }
    for (kind, wanted) in [
        (EntryType::Char, "a device"),
        (EntryType::Block, "a device"),
        (EntryType::Fifo, "a pipe"),
        (EntryType::GNUSparse, "something unknown"),
    ] {
        let mut archive = Builder::new(Vec::new());
        archive.append(&entry(kind, &format!("{AT}/x"), "", 0), &b""[..]).unwrap();
        let error = unpacked(&[archive.into_inner().unwrap()]).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

#[test]
fn sizes_that_are_declared_and_not_there_are_refused() {
    let declared = |kind, name: &str, size| {
        let mut archive = Builder::new(Vec::new());
        archive.append(&entry(kind, name, "", size), &b"few bytes"[..]).unwrap();
        unpacked(&[archive.into_inner().unwrap()])
    };
    let file = format!("{AT}/x");
    assert!(matches!(declared(EntryType::Regular, &file, 1 << 40), Err(UnpackError::TooMuch { .. })));
    assert!(declared(EntryType::Regular, &file, u64::MAX).is_err());
    assert!(matches!(declared(EntryType::Regular, &file, 1 << 20), Err(UnpackError::Archive(_))));
    assert!(declared(EntryType::GNULongName, "x", 1 << 40).is_err());
    let mut archive = Builder::new(Vec::new());
    archive.append(&entry(EntryType::GNULongName, "x", "", 1 << 20), &vec![b'a'; 1 << 20][..]).unwrap();
    let error = unpacked(&[archive.into_inner().unwrap()]).unwrap_err();
    assert!(matches!(error, UnpackError::TooMuch { what: "characters in a name" }), "{error}");
}

#[test]
fn long_names_are_read_in_both_dialects() {
    let long = format!("{AT}/{}.rpm", "x".repeat(150));
    let mut archive = Builder::new(Vec::new());
    let mut header = entry(EntryType::Regular, "", "", 1);
    archive.append_data(&mut header, &long, &b"1"[..]).unwrap();
    archive.append_pax_extensions([("path", format!("{long}2").as_bytes()), ("mtime", &b"1.5"[..])]).unwrap();
    archive.append(&entry(EntryType::Regular, "short", "", 1), &b"2"[..]).unwrap();
    let found = unpacked(&[archive.into_inner().unwrap()]).unwrap();
    assert_eq!(found, BTreeMap::from([(long.clone(), "1".to_owned()), (format!("{long}2"), "2".to_owned())]));

    for (key, value) in [("path", &b"../x"[..]), ("size", b"99"), ("GNU.sparse.map", b"1")] {
        let mut archive = Builder::new(Vec::new());
        archive.append_pax_extensions([(key, value)]).unwrap();
        archive.append(&entry(EntryType::Regular, "short", "", 1), &b"2"[..]).unwrap();
        assert!(unpacked(&[archive.into_inner().unwrap()]).is_err(), "{key}");
    }
}

/// Names put together from what could be dangerous.
fn hostile_name() -> impl Strategy<Value = String> {
    let element = prop::sample::select(vec![
        "",
        ".",
        "..",
        "usr",
        "share",
        "rpm-ostree",
        "extensions",
        "a",
        ".wh.a",
        ".wh..wh..opq",
        ".wh...",
    ]);
    let start = prop::sample::select(vec!["", "/", "./", "../", "usr/share/rpm-ostree/extensions/"]);
    let rest = prop::collection::vec(element, 0..4);
    (start, rest).prop_map(|(start, rest)| format!("{start}{}", rest.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_layer_reaches_out_of_its_directory(
        entries in prop::collection::vec((0..4_usize, hostile_name(), hostile_name()), 0..8)
    ) {
        let mut archive = Builder::new(Vec::new());
        for (kind, name, link) in &entries {
            let kind = [EntryType::Regular, EntryType::Directory, EntryType::Symlink, EntryType::Link][*kind];
            let size = if kind == EntryType::Regular { 1 } else { 0 };
            archive.append(&entry(kind, name, link, size), &b"x"[..usize::try_from(size).unwrap()]).unwrap();
        }
        let outer = tempdir().unwrap();
        let inner = outer.path().join("a/b/c/d/e");
        std::fs::create_dir_all(&inner).unwrap();
        let disk = RootDisk::open(&inner).unwrap();
        let mut unpacker = Unpacker::new(&disk);
        let _ = unpacker.layer(&mut archive.into_inner().unwrap().as_slice());
        for name in files(outer.path()).into_keys() {
            prop_assert!(name.starts_with(&format!("a/b/c/d/e/{AT}/")), "{name}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        let disk = MemoryDisk::new();
        let _ = Unpacker::new(&disk).layer(&mut bytes.as_slice());
    }
}

#[test]
fn too_many_files_are_refused() {
    let names: Vec<String> = (0..20_001).map(|number| format!("@/{number}=")).collect();
    let error = unpacked(&[spelled(&names.iter().map(String::as_str).collect::<Vec<_>>())]).unwrap_err();
    assert!(matches!(error, UnpackError::TooMuch { what: "files" }), "{error}");
}

#[test]
fn a_damaged_layer_of_an_image_is_refused() {
    let directory = tempdir().unwrap();
    let (packed, tree) = (directory.path().join("image"), directory.path().join("tree"));
    std::fs::create_dir(&tree).unwrap();
    let disk = RootDisk::open(&tree).unwrap();
    let (manifest, _) = image(&packed, &[spelled(&["@/a=A"]), spelled(&["@/b=B"])], "{}");
    let second = packed.join(manifest.layers[1].digest.strip_prefix("sha256:").unwrap());
    let mut bytes = std::fs::read(&second).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&second, bytes).unwrap();
    let error = unpack_image(&disk, &packed, &manifest).unwrap_err();
    assert!(matches!(error, UnpackError::Layer(LayerError::Damaged { .. })), "{error}");

    std::fs::remove_file(&second).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &second).unwrap();
    image(&packed, &[spelled(&["@/a=A"])], "{}");
    assert!(matches!(unpack_image(&disk, &packed, &manifest), Err(UnpackError::Layer(LayerError::Read { .. }))));
}

#[test]
fn a_layer_that_is_there_twice_is_unpacked_twice() {
    let directory = tempdir().unwrap();
    let (packed, tree) = (directory.path().join("image"), directory.path().join("tree"));
    std::fs::create_dir(&tree).unwrap();
    let disk = RootDisk::open(&tree).unwrap();
    let first = spelled(&["@/a=A"]);
    let (manifest, _) = image(&packed, &[first.clone(), spelled(&["@/.wh.a="]), first], "{}");
    assert!(unpack_image(&disk, &packed, &manifest).unwrap());
    assert_eq!(files(&tree), expected(&[("@/a", "A")]));
    let left =
        manifest.layers.iter().filter(|layer| packed.join(layer.digest.strip_prefix("sha256:").unwrap()).exists());
    assert_eq!(left.count(), 0);
}

#[test]
fn removal_can_begin_anywhere_and_be_repeated() {
    let part = "/run/ostler/extensions/tree/usr/x";
    for files in [
        &[][..],
        &[(REPOSITORY, "x", 0o644)],
        &[(DRAFT, "x", 0o644)],
        &[(part, "x", 0o644)],
        &[
            (REPOSITORY, "x", 0o644),
            (DRAFT, "x", 0o644),
            (part, "x", 0o644),
            ("/etc/yum.repos.d/other.repo", "x", 0o644),
        ],
    ] {
        let disk = MemoryDisk::with(files).unwrap();
        let extensions = Extensions::new(&disk);
        assert_eq!(extensions.remove().unwrap(), !files.is_empty());
        assert!(!extensions.remove().unwrap());
        for gone in [REPOSITORY, DRAFT, DIRECTORY] {
            assert_eq!(disk.stat(&path(gone).unwrap()).unwrap(), None, "{gone}");
        }
        if files.len() > 1 {
            assert!(disk.stat(&path("/etc/yum.repos.d/other.repo").unwrap()).unwrap().is_some());
        }
    }
}

#[test]
fn the_offer_is_what_the_machine_config_daemon_writes() {
    let disk = MemoryDisk::new();
    Extensions::new(&disk).offer().unwrap();
    let text = String::from_utf8(disk.read(&path(REPOSITORY).unwrap(), 1000).unwrap()).unwrap();
    assert_eq!(
        text,
        "[coreos-extensions]\nenabled=1\nmetadata_expire=1m\nbaseurl=/run/ostler/extensions/tree/usr/share/rpm-ostree/extensions/\ngpgcheck=0\nskip_if_unavailable=False\n"
    );
    assert_eq!(disk.stat(&path(DRAFT).unwrap()).unwrap(), None);
}

/// A machine with a registry that has an extensions image.
struct Machine {
    directory: TempDir,
    registry: Registry,
}

impl Machine {
    fn start() -> Option<Self> {
        let directory = tempdir().unwrap();
        std::fs::create_dir(directory.path().join("root")).unwrap();
        let registry = Registry::start(directory.path())?;
        Some(Self { directory, registry })
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    fn push(&self, name: &str, layers: &[Vec<u8>]) -> Pinned {
        let packed = self.directory.path().join(name);
        let (_, digest) = image(&packed, layers, "{}");
        self.registry.push(&format!("dir:{}", packed.display()), &format!("{name}:1"));
        self.pinned(name, &digest)
    }

    fn pinned(&self, name: &str, digest: &str) -> Pinned {
        Pinned::parse(&format!("{}/{name}@{digest}", self.registry.address)).unwrap()
    }

    fn provide(&self, image: &Pinned, policy: &str) -> Result<(), ExtensionsError> {
        let disk = RootDisk::open(&self.root()).unwrap();
        let file = self.directory.path().join("policy.json");
        std::fs::write(&file, policy).unwrap();
        let options = ["--registries-conf", &self.registry.settings(), "--policy", file.to_str().unwrap()];
        let skopeo = Skopeo::prepare(&disk, &self.root()).unwrap().with(&options);
        Extensions::new(&disk).provide(&skopeo, image)
    }

    fn left(&self) -> Vec<String> {
        let found = files(&self.root()).into_keys();
        found.filter(|name| !name.starts_with("run/ostler/skopeo")).collect()
    }
}

const ACCEPT: &str = r#"{"default":[{"type":"insecureAcceptAnything"}]}"#;

#[test]
fn a_pulled_image_is_offered_and_taken_back() {
    let Some(machine) = Machine::start() else { return };
    let image = machine.push("ext", &[spelled(&["etc/x=X", "@/a.rpm=A"]), spelled(&["@/.wh.a.rpm=", "@/b.rpm=B"])]);
    let tree = format!("run/ostler/extensions/tree/{AT}/b.rpm");
    machine.provide(&image, ACCEPT).unwrap();
    assert_eq!(machine.left(), ["etc/yum.repos.d/coreos-extensions.repo", &tree]);
    machine.provide(&image, ACCEPT).unwrap();
    assert_eq!(machine.left(), ["etc/yum.repos.d/coreos-extensions.repo", &tree]);

    let disk = RootDisk::open(&machine.root()).unwrap();
    assert!(Extensions::new(&disk).remove().unwrap());
    assert_eq!(machine.left(), Vec::<String>::new());

    let packed = machine.directory.path().join("ext");
    let digest = list(&machine.directory.path().join("oci"), &packed);
    machine.registry.push(&format!("oci:{}:list", machine.directory.path().join("oci").display()), "multi:1");
    machine.provide(&machine.pinned("multi", &digest), ACCEPT).unwrap();
    assert_eq!(machine.left(), ["etc/yum.repos.d/coreos-extensions.repo", &tree]);
}

#[test]
fn what_fails_leaves_nothing_and_says_whose_fault_it_is() {
    let Some(machine) = Machine::start() else { return };
    let good = machine.push("ext", &[spelled(&["@/a.rpm=A"])]);
    let hostile = machine.push("hostile", &[spelled(&["@/a.rpm=A"]), spelled(&["@/x->/etc"])]);
    let empty = machine.push("empty", &[spelled(&["etc/x=X"])]);
    let hidden = machine.push("hidden", &[spelled(&["@/a.rpm=A"]), spelled(&["@/.wh.a.rpm="])]);
    let missing = machine.pinned("ext", &format!("sha256:{}", "0".repeat(64)));
    let away = Pinned::parse(&good.to_string().replace(&machine.registry.address, "127.0.0.1:1")).unwrap();
    for (image, policy, wanted, class) in [
        (&good, r#"{"default":[{"type":"reject"}]}"#, "Source image rejected", Class::Refusal),
        (&hostile, ACCEPT, "a symbolic link", Class::Refusal),
        (&empty, ACCEPT, "has nothing in", Class::Refusal),
        (&hidden, ACCEPT, "has nothing in", Class::Refusal),
        (&missing, ACCEPT, "manifest unknown", Class::Refusal),
        (&away, ACCEPT, "connection refused", Class::Transient),
    ] {
        machine.provide(&good, ACCEPT).unwrap();
        let error = machine.provide(image, policy).unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(format!("{error}: {cause}").contains(wanted), "{error}: {cause}");
        assert_eq!(error.class(), class, "{error}: {cause}");
        assert_eq!(machine.left(), Vec::<String>::new(), "{error}");
    }
}
