//! What rpm-ostree and bootc do in particular releases, which an update has to live with.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Command;

use serde_json::{Value, json};

use crate::booted::{succeed, wait_until};
use crate::node::{Driver, Node, drivers};

fn booted_line(node: &Node) -> Vec<String> {
    let line: Vec<Value> = node.status()["os"]["booted"]["kargs"].as_array().unwrap().clone();
    line.iter().map(|karg| karg.as_str().unwrap().to_owned()).collect()
}

fn update(node: &mut Node, config: Value) {
    let answer = node.apply(&config).exits(0).json();
    assert_eq!(answer["result"], "awaitsReboot", "{answer:#}");
    node.restart();
    assert_eq!(node.ostler(&["recover", "-o", "json"]).exits(0).json()["result"], "applied");
}

#[test]
fn an_image_brings_and_drops_its_kernel_arguments_and_those_of_the_config_stay() {
    const LISTED: &str = "usr/lib/bootc/kargs.d/10.toml";
    let base = ["root=UUID=0000", "rw", "console=tty0", "console=ttyS0"];
    for release in ["1.1.6", "1.13.0"] {
        let Some(mut node) = Node::boot_with_stand_ins(Driver::Bootc) else { return };
        node.fault_at_boot(Some(&json!({"bootc": {"release": release}})));
        node.fault(&json!({"bootc": {"release": release}}));
        let brings = node.derive("brings", LISTED, "kargs = [\"of.image\", \"shared\"]");
        let drops = node.derive("drops", LISTED, "kargs = [\"other\"]");
        let config = node.config_of("brings", &brings, &["old.karg", "shared"]);
        update(&mut node, config);
        let line = booted_line(&node);
        for argument in ["of.image", "shared", "old.karg"] {
            assert!(line.iter().any(|karg| karg == argument), "{release}: {line:?}");
        }
        let config = node.config_of("drops", &drops, &["old.karg", "shared"]);
        update(&mut node, config);
        let mut expected = base.to_vec();
        expected.extend(["old.karg", "shared", "other"]);
        let mut line = booted_line(&node);
        line.sort();
        expected.sort_unstable();
        assert_eq!(line, expected, "{release}");
        node.ostler(&["rollback", "--yes"]).exits(0);
        node.restart();
        node.ostler(&["recover"]).exits(0);
        assert!(booted_line(&node).iter().any(|karg| karg == "of.image"), "{release}");
    }
}

/// Signs an image for the node: the key and the signature are where policy and registries.d of the node say.
fn sign(node: &Node, image: &str) {
    let home = node.site().path("gnupg");
    fs::create_dir_all(&home).unwrap();
    let gpg = |arguments: &[&str]| {
        succeed(Command::new("gpg").env("GNUPGHOME", &home).args(["--batch", "--passphrase", ""]).args(arguments))
    };
    gpg(&["--quick-generate-key", "signer@example.com", "rsa2048", "sign", "never"]);
    node.write("etc/pki/signer.asc", &gpg(&["--armor", "--export", "signer@example.com"]));
    let (repository, digest) = image.split_once('@').unwrap();
    let (name, hex) = (repository.split_once('/').unwrap().1, digest.strip_prefix("sha256:").unwrap());
    let manifest = node.site().path("oci-9.6.2/blobs/sha256").join(hex);
    let signature = node.machine.path(&format!("var/signatures/{name}@sha256={hex}/signature-1"));
    fs::create_dir_all(signature.parent().unwrap()).unwrap();
    let mut signing = Command::new("skopeo");
    signing.env("GNUPGHOME", &home).args(["standalone-sign", "--output"]).arg(&signature).arg(manifest);
    succeed(signing.args([&format!("{repository}:9.6.2"), "signer@example.com"]));
    let places = format!("docker:\n  {}:\n    sigstore: file:///var/signatures\n", node.registry.host());
    node.write("etc/containers/registries.d/signed.yaml", &places);
}

#[test]
fn an_image_with_a_valid_signature_is_applied_whatever_the_default_of_the_policy() {
    for driver in drivers() {
        for default in ["insecureAcceptAnything", "reject"] {
            let Some(mut node) = Node::boot(driver) else { return };
            sign(&node, &node.images[1]);
            let rule = json!([{"type": "signedBy", "keyType": "GPGKeys", "keyPath": "/etc/pki/signer.asc"}]);
            let scope = format!("{}/os", node.registry.host());
            let policy = json!({"default": [{"type": default}], "transports": {"docker": {scope: rule}}});
            node.write("etc/containers/policy.json", &policy.to_string());
            let unsigned = node.derive("unsigned", "usr/lib/unsigned", "x");
            node.apply(&node.config_of("new", &unsigned, &["new.karg"])).exits(1).says("signature was required");
            let config = node.new_config();
            update(&mut node, config);
            assert_eq!(node.end(), "new", "{driver:?} {default}");
        }
    }
}

#[test]
fn whoever_holds_the_lock_on_the_deployments_is_named_and_waited_for() {
    for (driver, release) in [(Driver::RpmOstree, "1.13.0"), (Driver::Bootc, "1.6.0"), (Driver::Bootc, "1.7.0")] {
        let Some(mut node) = Node::boot_with_stand_ins(driver) else { return };
        node.fault(&json!({"bootc": {"release": release, "slow_until": "/run/go", "method": "switch"}}));
        node.write("run/ostree/auth.json", &node.read("var/lib/kubelet/config.json"));
        let mut person = node.machine.enter("bootc");
        let mut person = person.args(["switch", "--transport", "registry", &node.images[0]]).spawn().unwrap();
        wait_until("the person's bootc has the lock", || {
            let locks =
                node.machine.enter("sh").args(["-c", "cat /proc/[0-9]*/fdinfo/* 2>/dev/null"]).output().unwrap();
            String::from_utf8_lossy(&locks.stdout).lines().any(|line| line.starts_with("lock:"))
        });
        node.apply(&node.new_config()).exits(1).says("bootc").says("is changing it");
        // Kernel arguments wait for it, and tell for whom.
        node.write("var/target.json", &node.config("kargs", 0, &["waited"]).to_string());
        let mut waiting = node.start(&["apply", "--to", "/var/target.json", "--yes"]);
        let mut said = BufReader::new(waiting.stderr.take().unwrap());
        let mut busy = String::new();
        while !busy.contains("holds the lock on the deployments") {
            busy.clear();
            assert_ne!(said.read_line(&mut busy).unwrap(), 0, "{driver:?}: it did not wait");
        }
        assert!(busy.contains("waiting for bootc"), "{busy}");
        node.write("run/go", "");
        person.wait().unwrap();
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        assert!(waiting.wait().unwrap().success(), "{driver:?}: {rest}");
        node.restart();
        node.ostler(&["recover"]).exits(0);
        assert!(booted_line(&node).iter().any(|karg| karg == "waited"), "{driver:?}");
    }
}

#[test]
fn a_quoted_argument_that_bootc_aborts_on_is_refused_before_anything_changes() {
    const QUOTED: &str = "dyndbg=\"file a.c +p\"";
    let Some(mut node) = Node::boot_with_stand_ins(Driver::Bootc) else { return };
    let config = node.config("quoted", 0, &[QUOTED]);
    update(&mut node, config);
    let config = node.config("new", 1, &["new.karg"]);
    node.fault(&json!({"bootc": {"release": "1.10.0"}}));
    node.apply(&config).exits(3).says("before 1.11").says("dyndbg");
    assert!(node.machine.path("etc/only-quoted").exists());
    // The argument can be removed without bootc.
    let without = node.config("without", 0, &[]);
    assert_eq!(node.apply(&without).exits(0).json()["result"], "awaitsReboot");
    node.ostler(&["rollback", "--yes"]).exits(0);
    // Where nothing but the machine chooses, rpm-ostree does it.
    fs::remove_file(node.machine.path("etc/ostler/os-backend")).unwrap();
    node.fault_at_boot(Some(&json!({"bootc": {"release": "1.10.0"}})));
    update(&mut node, config);
    assert_eq!(node.end(), "new");
}
