use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::node::keys;
use crate::os::boot_mark::BootMark;
use crate::transaction::{Ending, Finished, Purpose};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    BASE64_STANDARD.encode(bytes).into_bytes()
}

fn config() -> Value {
    json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": "rendered-worker-1"},
        "spec": {"config": {"ignition": {"version": "3.2.0"}}, "osImageURL": "registry.example/os@sha256:1"}})
}

fn carrier(text: &str) -> Value {
    json!({"path": CONTENT, "contents": {"source": format!("data:;base64,{}", BASE64_STANDARD.encode(text))}})
}

fn ignition(files: &[Value]) -> Vec<u8> {
    json!({"ignition": {"version": "3.2.0"}, "storage": {"files": files}}).to_string().into_bytes()
}

fn whole(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string);
    causes.collect::<Vec<_>>().join(": ")
}

#[test]
fn the_machine_config_is_found_however_it_is_packed() {
    let plain = ignition(&[json!({"path": "/etc/motd"}), carrier(&config().to_string())]);
    let mut lines = Vec::new();
    for line in base64(&gzip(&plain)).chunks(76) {
        lines.extend_from_slice(line);
        lines.push(b'\n');
    }
    for text in [
        plain.clone(),
        [b"\n  ".as_slice(), &plain, b"\n"].concat(),
        gzip(&plain),
        base64(&plain),
        base64(&gzip(&plain)),
        gzip(&base64(&plain)),
        lines,
    ] {
        assert_eq!(machine_config(&text).unwrap(), config());
    }
}

#[test]
fn what_is_mounted_and_of_no_use_is_refused_without_being_shown() {
    const SECRET: &str = "hunter2";
    let good = ignition(&[carrier(&config().to_string())]);
    let packed = gzip(&good);
    let no_name = json!({"metadata": {}, "spec": {"config": {"ignition": {"version": "3.2.0"}}}}).to_string();
    let remote = json!({"path": CONTENT, "contents": {"source": format!("https://{SECRET}/x")}});
    for (text, expected) in [
        (Vec::new(), "neither JSON nor gzip nor base64"),
        (format!("{SECRET}: yes!").into_bytes(), "neither JSON nor gzip nor base64"),
        (vec![0xff, 0x00], "neither JSON nor gzip nor base64"),
        (packed[..packed.len() / 2].to_vec(), "cannot be unpacked: the gzip data is cut short"),
        (base64(&packed[..40]), "cannot be unpacked: the gzip data is cut short"),
        ([&packed[..], b"rest"].concat(), "cannot be unpacked: the gzip data is"),
        (gzip(&gzip(&gzip(&good))), "packed more than 2 times"),
        (format!("{{\"{SECRET}\"").into_bytes(), "the Ignition config is not readable: the document is not valid JSON"),
        (b"{}".to_vec(), "the Ignition config is not valid: the Ignition config has no ignition.version"),
        (config().to_string().into_bytes(), "the Ignition config is not valid"),
        (ignition(&[]), "has no file /etc/mcs-machine-config-content.json"),
        (ignition(&[carrier("{}"), carrier("{}")]), "has 2 files /etc/mcs-machine-config-content.json"),
        (ignition(&[remote]), "cannot be decoded: the source is a remote https URL"),
        (ignition(&[carrier("")]), "is not readable: the document is empty"),
        (ignition(&[carrier(&format!("{{{SECRET}"))]), "is not readable: the document is not valid JSON"),
        (ignition(&[carrier("{\"kind\": \"Pod\"}")]), "no usable MachineConfig: the document is a Pod"),
        (ignition(&[carrier(&no_name)]), "has no metadata.name"),
        (ignition(&[carrier("{\"metadata\": {\"name\": \"a\"}, \"spec\": {\"config\": {}}}")]), "spec.config is empty"),
    ] {
        let error = machine_config(&text).unwrap_err();
        let told = whole(&error);
        assert!(told.contains(expected), "{told} instead of {expected}");
        assert!(!told.contains(SECRET) && !format!("{error:?}").contains(SECRET), "{told}");
    }
}

#[test]
fn a_bomb_is_given_up_at_the_limit() {
    let limits = Limits { bytes: 2 << 20, ratio: 1100 };
    let bomb = gzip(&vec![b' '; (2 << 20) + 1]);
    for text in [base64(&bomb), bomb, vec![b'A'; (2 << 20) + 4]] {
        let told = whole(&unpacked(&text, limits).unwrap_err());
        assert_eq!(told, "the text cannot be unpacked: the contents exceed 2097152 bytes");
    }
}

#[test]
fn a_hash_is_one_word() {
    for (text, expected) in [
        ("1f8a", Some("1f8a")),
        (" 1f8a\n", Some("1f8a")),
        ("sha256-1f.8_a", Some("sha256-1f.8_a")),
        ("", None),
        ("\n", None),
        ("1f 8a", None),
        ("1f/8a", None),
        ("ü", None),
    ] {
        assert_eq!(hash(text.as_bytes()).ok().as_deref(), expected, "{text:?}");
    }
    assert!(hash("a".repeat(LONGEST_HASH).as_bytes()).is_ok());
    assert!(hash("a".repeat(LONGEST_HASH + 1).as_bytes()).is_err());
}

fn finished() -> Finished {
    Finished {
        purpose: Purpose::Update,
        from: String::new(),
        to: String::new(),
        ending: Ending::Applied,
        began: 0,
        ended: 0,
        boot: BootMark::default(),
        reboot: false,
        left_out: Vec::new(),
        changed: 0,
        boot_loader: None,
        service_failures: Vec::new(),
        leftovers: Vec::new(),
    }
}

#[test]
fn the_machines_own_hash_counts_before_what_another_agent_said_on_the_node() {
    let annotations = BTreeMap::from([(keys::CURRENT_CONFIG.to_owned(), "1f".to_owned())]);
    let node = NodeView::new("worker-0", "u", false, &annotations);
    let silent = NodeView::default();
    let found = |config: Option<&str>, hosted, touched: bool| Status {
        config: config.map(str::to_owned),
        hosted,
        last: touched.then(finished),
        ..Status::default()
    };
    for (machine, node, expected) in [
        (found(Some("2a"), true, true), Some(&node), Some("2a")),
        (found(Some("2a"), true, true), None, Some("2a")),
        (found(Some("rendered-1"), false, false), Some(&node), Some("1f")),
        (found(Some("rendered-1"), false, false), Some(&silent), None),
        (found(Some("rendered-1"), false, false), None, None),
        (found(Some("rendered-1"), false, true), Some(&node), None),
        (found(None, false, false), Some(&node), None),
    ] {
        assert_eq!(known_as(&machine, node).as_deref(), expected, "{machine:?}");
    }
}

proptest! {
    #[test]
    fn nothing_that_is_mounted_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..200) {
        let _ = (machine_config(&bytes), hash(&bytes), machine_config(&base64(&bytes)), machine_config(&gzip(&bytes)));
        let packed = gzip(&ignition(&[carrier("{}")]));
        let _ = machine_config(packed.get(..cut.min(packed.len())).unwrap_or_default());
        let mut flipped = packed;
        let place = cut % flipped.len();
        flipped[place] ^= 1;
        let _ = machine_config(&flipped);
    }
}
