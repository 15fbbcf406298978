use std::fs;

use ostler_core::os::preflight::{Verdict, findings, verdict};
use tempfile::{TempDir, tempdir};

use super::*;
use crate::disk::RootDisk;
use crate::disk::memory::MemoryDisk;
use crate::os::fixture::{Registry, image, layer, list};

const ACCEPT: &str = r#"{"default":[{"type":"insecureAcceptAnything"}]}"#;
const LABELS: &str =
    r#"{"org.opencontainers.image.version":"9.6.20250930-0","ostree.linux":"5.14.0-570.el9_6.x86_64"}"#;

/// A machine and a registry with an OS image, which is called `registry.example/os` and mirrored there.
struct Machine {
    directory: TempDir,
    registry: Registry,
    digest: String,
    layers: Vec<String>,
}

impl Machine {
    fn start() -> Option<Self> {
        let directory = tempdir().unwrap();
        let registry = Registry::start(directory.path())?;
        let packed = directory.path().join("os");
        let (manifest, digest) = image(&packed, &[layer(&["etc/x=X"])], LABELS);
        registry.push(&format!("dir:{}", packed.display()), "mirror/os:1");
        let layers = manifest.layers.into_iter().map(|layer| layer.digest).collect();
        let machine = Self { directory, registry, digest, layers };
        machine.write("etc/containers/policy.json", ACCEPT);
        machine.write("sysroot/.coreos-aleph-version.json", r#"{"build":"9.2.20230601-0"}"#);
        machine.write("boot/ostree/rhcos-aa/vmlinuz", "12345");
        machine.write("boot/ostree/rhcos-aa/initramfs.img", "12345");
        machine.write("boot/ostree/rhcos-bb/vmlinuz", "123");
        Some(machine)
    }

    fn root(&self) -> std::path::PathBuf {
        self.directory.path().join("root")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn mirrors(&self, mirrors: &[&str], blocked: bool) {
        let mirrors =
            mirrors.iter().map(|mirror| format!("[[registry.mirror]]\nlocation = \"{mirror}\"\ninsecure = true\n"));
        let text = format!(
            "[[registry]]\nlocation = \"registry.example\"\nblocked = {blocked}\n{}",
            mirrors.collect::<String>()
        );
        self.write("etc/containers/registries.conf.d/50-mirrors.conf", &text);
        self.write("etc/containers/registries.conf.d/ignored.txt", "no toml");
    }

    fn mirror(&self) -> String {
        format!("{}/mirror", self.registry.address)
    }

    fn facts(&self, digest: &str, known: Known) -> Facts {
        let disk = RootDisk::open(&self.root()).unwrap();
        let root = self.root();
        let skopeo = Skopeo::prepare(&disk, &root).unwrap();
        let image = Pinned::parse(&format!("registry.example/os@{digest}")).unwrap();
        let mut facts = Survey::new(&disk, &root, &skopeo).facts(&image, known);
        // An OS image wants 8 GB, and the disk that the tests run on may have less.
        facts.space.iter_mut().for_each(|space| space.free = 1 << 40);
        facts
    }

    fn told(&self, digest: &str) -> Vec<String> {
        let facts = self.facts(digest, known());
        findings(&facts).iter().map(|finding| format!("{:?} {finding}", finding.severity)).collect()
    }
}

fn known() -> Known {
    Known {
        booted_major: Some(9),
        kernel: "5.14.0-427.el9_4.x86_64".to_owned(),
        command_line: "BOOT_IMAGE=x root=y ostree=/ostree/boot.1/rhcos/aa/0 ro".to_owned(),
        ..Known::default()
    }
}

#[test]
fn an_image_that_a_mirror_has_can_be_deployed() {
    let Some(machine) = Machine::start() else { return };
    machine.mirrors(&[&machine.mirror()], true);
    let facts = machine.facts(&machine.digest, known());
    assert_eq!(findings(&facts), Vec::new());
    let answers: Vec<&Answer> = facts.asked.as_ref().unwrap().iter().map(|asked| &asked.answer).collect();
    assert_eq!(answers, [&Answer::Has, &Answer::NotAsked]);
    assert_eq!(facts.releases.target.map(|base| (base.major, base.minor)), Some((9, Some(6))));
    assert_eq!(facts.releases.boot_image, Some(9));

    // One filesystem here, so the kernel's bytes are added to those of the layers.
    let with_kernel = facts.space[0].needed;
    let same = Known { kernel: "5.14.0-570.el9_6.x86_64".to_owned(), ..known() };
    assert_eq!(machine.facts(&machine.digest, same.clone()).space[0].needed, with_kernel - 10);
    let present = Known { layers: machine.layers.clone(), ..same };
    assert_eq!(machine.facts(&machine.digest, present).space[0].needed, 0);
}

#[test]
fn each_place_that_fails_is_named_with_its_reason() {
    let Some(machine) = Machine::start() else { return };
    let absent = format!("{}/absent", machine.registry.address);
    machine.mirrors(&["127.0.0.1:1/down", &absent, &machine.mirror()], true);
    let told = machine.told(&machine.digest);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("Note mirror 127.0.0.1:1/down/os: ") && told[0].contains("connection refused"),
        "{told:?}"
    );
    assert!(told[1].starts_with(&format!("Note mirror {absent}/os: ")) && told[1].contains("unknown"), "{told:?}");

    machine.mirrors(&["127.0.0.1:1/down", &absent], true);
    let facts = machine.facts(&machine.digest, known());
    assert_eq!(verdict(&findings(&facts)), Verdict::Later);
    machine.mirrors(&[&absent], true);
    assert_eq!(verdict(&findings(&machine.facts(&machine.digest, known()))), Verdict::Refused);
    machine.mirrors(&[], true);
    assert!(machine.told(&machine.digest)[0].contains("blocked, by registry.example"));
}

#[test]
fn a_list_is_followed_to_this_machines_image_and_a_tag_is_resolved() {
    let Some(machine) = Machine::start() else { return };
    let oci = machine.directory.path().join("oci");
    let digest = list(&oci, &machine.directory.path().join("os"));
    machine.registry.push(&format!("oci:{}:list", oci.display()), "mirror/os:2");
    machine.mirrors(&[&machine.mirror()], true);
    let facts = machine.facts(&digest, known());
    assert_eq!(findings(&facts), Vec::new());
    assert_eq!(facts.releases.target.map(|base| base.major), Some(9));

    let disk = RootDisk::open(&machine.root()).unwrap();
    let skopeo = Skopeo::prepare(&disk, &machine.root()).unwrap();
    let skopeo = skopeo.with(&["--registries-conf", &machine.registry.settings()]);
    for (tag, expected) in [("1", &machine.digest), ("2", &digest)] {
        assert_eq!(&registry::resolve(&skopeo, &format!("{}/os:{tag}", machine.mirror())).unwrap(), expected);
    }
    assert!(registry::resolve(&skopeo, &format!("{}/os:3", machine.mirror())).is_err());
}

#[test]
fn what_the_machines_files_say_is_found() {
    let Some(machine) = Machine::start() else { return };
    machine.mirrors(&[&machine.mirror()], true);
    let refused = |machine: &Machine, part: &str| {
        let told = machine.told(&machine.digest);
        assert!(told.iter().any(|told| told.starts_with("Refusal") && told.contains(part)), "{part}: {told:?}");
    };
    let signed = r#"{"default":[{"type":"signedBy","keyType":"GPGKeys","keyPath":"/etc/pki/key"}]}"#;
    machine.write("etc/containers/policy.json", signed);
    refused(&machine, "not there: /etc/pki/key");
    machine.write("etc/pki/key", "hunter2");
    assert!(machine.told(&machine.digest).is_empty());
    machine.write("etc/containers/policy.json", "{");
    refused(&machine, "not a valid signature policy");
    fs::remove_file(machine.root().join("etc/containers/policy.json")).unwrap();
    refused(&machine, "policy.json cannot be read: it does not exist");
    machine.write("etc/containers/policy.json", ACCEPT);
    machine.write("etc/ostler/os-upgrade", "please");
    refused(&machine, "line 1 of /etc/ostler/os-upgrade");
    machine.write("etc/ostler/os-upgrade", "");
    machine.write("etc/containers/registries.conf", "[[registry]]\nprefix = \"x.example\"\n");
    refused(&machine, "has no location");
}

#[test]
fn a_place_that_wants_credentials_gets_those_of_the_machine() {
    let directory = tempdir().unwrap();
    let Some(registry) = Registry::start_with_password(directory.path(), "me", "hunter2") else { return };
    let packed = directory.path().join("os");
    let (_, digest) = image(&packed, &[layer(&["etc/x=X"])], LABELS);
    registry.push(&format!("dir:{}", packed.display()), "os:1");
    let root = directory.path().join("root");
    fs::create_dir_all(root.join("var/lib/kubelet")).unwrap();
    let place = Place {
        image: Pinned::parse(&format!("{}/os@{digest}", registry.address)).unwrap(),
        insecure: true,
        blocked: None,
        mirror: true,
    };
    for (password, expected) in [(None, false), (Some("bWU6aHVudGVyMg=="), true), (Some("bWU6d3Jvbmc="), false)] {
        if let Some(password) = password {
            let auth = format!(r#"{{"auths":{{"{}":{{"auth":"{password}"}}}}}}"#, registry.address);
            fs::write(root.join("var/lib/kubelet/config.json"), auth).unwrap();
        }
        let disk = RootDisk::open(&root).unwrap();
        let skopeo = Skopeo::prepare(&disk, &root).unwrap();
        match registry::describe(&skopeo, &place) {
            Ok(description) => assert!(expected && description.manifest == digest),
            Err(error) => {
                // A pull secret can be mended without anything else changing, so that asking again is worth while.
                let Answer::Unreachable(reason) = error.answer() else { panic!("{error}") };
                assert!(!expected && !reason.contains("hunter2"), "{reason}");
                assert!(reason.contains("unauthorized") || reason.contains("authentication"), "{reason}");
            }
        }
    }
}

#[test]
fn a_place_that_serves_something_else_is_found_out() {
    let Some(machine) = Machine::start() else { return };
    machine.mirrors(&[&machine.mirror()], true);
    let hex = machine.digest.strip_prefix("sha256:").unwrap();
    let blobs = machine.directory.path().join("registry/docker/registry/v2/blobs/sha256");
    let start: String = hex.chars().take(2).collect();
    let data = blobs.join(start).join(hex).join("data");
    let text = fs::read_to_string(&data).unwrap();
    fs::write(&data, text.replace("layers", "Layers")).unwrap();
    let facts = machine.facts(&machine.digest, known());
    let asked = facts.asked.as_ref().unwrap();
    // skopeo 1.22 compares the digest itself; before, only we did.
    let words = ["when it was asked for", "does not match provided manifest digest"];
    assert!(
        matches!(&asked[0].answer, Answer::Refused(reason) if words.iter().any(|words| reason.contains(words))),
        "{asked:?}"
    );
    assert_eq!(verdict(&findings(&facts)), Verdict::Refused);
}

#[test]
fn links_to_settings_are_followed_within_the_root() {
    let disk = MemoryDisk::with(&[("/etc/a/b.conf", "text", 0o644)]).unwrap();
    for (at, target) in [("/etc/x", "a/b.conf"), ("/etc/y", "/etc/x"), ("/etc/z", "../../../etc/./y"), ("/etc/o", "o")]
    {
        disk.link(&path(at).unwrap(), target).unwrap();
    }
    let skopeo = Skopeo::prepare(&disk, Path::new("/")).unwrap();
    let survey = Survey::new(&disk, Path::new("/"), &skopeo);
    for at in ["/etc/x", "/etc/y", "/etc/z", "/etc/a/b.conf"] {
        assert_eq!(survey.text(at, 10).unwrap().as_deref(), Some("text"), "{at}");
    }
    assert!(survey.text("/etc/o", 10).is_err());
    assert_eq!(survey.text("/etc/none", 10).unwrap(), None);
}

#[test]
fn the_booted_kernel_is_found_on_the_command_line() {
    for (line, expected) in [
        ("ro ostree=/ostree/boot.1/rhcos/c0ffee/0 quiet", Some("rhcos-c0ffee")),
        ("ostree=/ostree/boot.0.1/fedora-coreos/aa/0\n", Some("fedora-coreos-aa")),
        ("ostree=/ostree", None),
        ("ro", None),
    ] {
        assert_eq!(booted_entry(line).as_deref(), expected, "{line}");
    }
}

#[test]
fn a_kernel_needs_as_much_as_the_largest_there_is() {
    let files = [
        ("/boot/ostree/rhcos-aa/vmlinuz", "12345", 0o644),
        ("/boot/ostree/rhcos-aa/initramfs.img", "12345", 0o644),
        ("/boot/ostree/rhcos-bb/vmlinuz", "123", 0o644),
    ];
    let disk = MemoryDisk::with(&files).unwrap();
    let skopeo = Skopeo::prepare(&disk, Path::new("/")).unwrap();
    let survey = Survey::new(&disk, Path::new("/"), &skopeo);
    for (line, reclaimable) in
        [("ostree=/ostree/boot.1/rhcos/aa/0", 3), ("ostree=/ostree/boot.1/rhcos/bb/0", 10), ("", 0)]
    {
        let (space, _) = survey.boot(line).unwrap();
        assert_eq!((space.directory.as_str(), space.needed, space.reclaimable), ("/boot", 10, reclaimable), "{line}");
    }
}

#[test]
fn a_program_that_is_missing_is_no_refusal() {
    let error = registry::RegistryError::from(crate::command::CommandError::Missing { program: "skopeo".to_owned() });
    assert_eq!(error.answer(), Answer::Unreachable("skopeo could not be used: skopeo is not installed".to_owned()));
}
