//! Streams of a release that is nowhere but in a real registry, with TLS and a password: by the command line alone, and
//! with what a cluster says of its mirrors, its certificates and its pull secret.
#![cfg(test)]

mod desk;
#[path = "../../registry/tests/served/mod.rs"]
mod served;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use desk::{Desk, said};
use serde_json::{Value, json};
use served::layout::{GZIP, Layout, ZSTD, archive, gzip, zstd};
use served::{Served, auths};

const REFERENCES: &str = "release-manifests/image-references";
/// Where the images would be if there were a network.
const SOURCE: &str = "quay.example/ocp";

/// A release with two streams, of which one has a list for its OS image; gives the digest of its image.
fn push_release(served: &Served) -> String {
    let layout = |name: &str| Layout::new(&served.path(&format!("layout-{name}")));
    let class = |stream: &str, mark: &str| json!({"io.openshift.os.streamclass": stream, mark: "true"});
    let (os, extensions) = ("containers.bootc", "io.openshift.os.extensions");
    let mut tags = Vec::new();
    for (name, labels) in [
        ("rhel-coreos", class("rhel-9", os)),
        ("rhel-coreos-extensions", class("rhel-9", extensions)),
        ("rhel-coreos-10-extensions", class("rhel-10", extensions)),
        ("rhel-coreos-odd", json!({})),
    ] {
        let layout = layout(name);
        let layer = layout.blob(GZIP, &gzip(&archive(&[("a", name.as_bytes())])));
        let digest = served.push(&layout.of(&layout.image("amd64", &labels, &[layer])), &format!("copy/ocp/{name}:1"));
        tags.push(tag(name, &digest));
    }
    let list = layout("list");
    let layer = list.blob(GZIP, &gzip(&archive(&[("a", b"b")])));
    let wrong = list.image("arm64", &class("arm", os), std::slice::from_ref(&layer));
    let right = list.image("amd64", &class("rhel-10", os), &[layer]);
    let digest = served.push(&list.of(&list.list(&[wrong, right])), "copy/ocp/rhel-coreos-10:1");
    tags.push(tag("rhel-coreos-10", &digest));
    let references = json!({"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "metadata": {"name": "4.22.0"}, "spec": {"tags": tags}});
    let release = layout("release");
    let old = release.blob(GZIP, &gzip(&archive(&[(REFERENCES, b"{}")])));
    let new = release
        .blob(ZSTD, &zstd(&archive(&[("./x", b"y"), (&format!("./{REFERENCES}"), references.to_string().as_bytes())])));
    served.push(
        &release.of(&release.image("amd64", &json!({"io.openshift.release": "4.22.0"}), &[old, new])),
        "copy/ocp/release:4.22.0",
    )
}

fn tag(name: &str, digest: &str) -> Value {
    json!({"name": name, "from": {"kind": "DockerImage", "name": format!("{SOURCE}/{name}@{digest}")}})
}

fn streams(answer: &Value) -> Vec<(String, bool)> {
    let set = |set: &Value| {
        let whole = ["osImage", "osExtensionsImage"].iter().all(|key| set[key].as_str().unwrap().starts_with(SOURCE));
        (set["name"].as_str().unwrap().to_owned(), whole)
    };
    answer["availableStreams"].as_array().unwrap().iter().map(set).collect()
}

fn both() -> Vec<(String, bool)> {
    vec![("rhel-10".to_owned(), true), ("rhel-9".to_owned(), true)]
}

#[test]
fn a_release_is_read_with_what_the_command_line_gives() {
    let Some(served) = Served::start() else { return };
    push_release(&served);
    let host = served.host();
    let desk = Desk::new(&[
        ("auth.json", auths(&[&host])),
        ("wrong.json", auths(&["elsewhere.example"])),
        ("none.json", json!({})),
    ]);
    desk.put(
        "registries.conf",
        &format!(
            "[[registry]]\nprefix = \"{SOURCE}\"\nblocked = true\n[[registry.mirror]]\nlocation = \"{host}/copy/ocp\"\n"
        ),
    );
    desk.put("anchors/ours.crt", &String::from_utf8(served.authority()).unwrap());
    desk.put("anchors/readme.txt", "no certificate");
    let all = format!(
        "discover --release-image {host}/copy/ocp/release:4.22.0 --authfile auth.json --trust-bundle anchors \
         --registry-config registries.conf --architecture amd64 --install-version 4.20.0 --cache cache.json -o json"
    );
    let output = desk.ask(&all);
    assert!(output.status.success(), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((streams(&answer), &answer["defaultStream"]), (both(), &json!("rhel-9")));
    assert!(said(&output).contains("rhel-coreos-odd of the release) is left out"), "{output:?}");
    let before = served.log().lines().count();
    assert_eq!(desk.answer(&all), answer);
    let asked: Vec<String> = served.log().lines().skip(before).map(str::to_owned).collect();
    assert!(!asked.iter().any(|line| line.contains("/copy/ocp/rhel-coreos/")), "what has a digest is known: {asked:?}");

    for (instead, of, status, words) in [
        ("wrong.json", "auth.json", 3, "wants credentials"),
        ("none.json", "auth.json", 2, "oc extract secret/pull-secret"),
        ("auth.json", "anchors", 2, "auth.json holds no certificate"),
        ("--architecture s390x", "--architecture amd64", 0, "only for linux/arm64, linux/amd64"),
    ] {
        let output =
            desk.ask(&all.replace(&format!(" {of} "), &format!(" {instead} ")).replace("--cache cache.json", ""));
        assert_eq!(output.status.code(), Some(status), "{instead}: {output:?}");
        assert!(said(&output).contains(words), "{instead}: {output:?}");
    }
    let untrusted = desk.ask(&all.replace("--trust-bundle anchors", "").replace("--cache cache.json", ""));
    assert_eq!(untrusted.status.code(), Some(3));
    assert!(said(&untrusted).contains("certificate is not trusted"), "{untrusted:?}");
}

#[test]
fn a_release_is_read_as_the_nodes_of_a_cluster_would() {
    let Some(served) = Served::start() else { return };
    let digest = push_release(&served);
    let config = |kind: &str, name: &str, spec: Value| json!({"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let rule = json!({"source": SOURCE, "mirrors": [format!("{}/copy/ocp", served.host())], "mirrorSourcePolicy": "NeverContactSource"});
    let mut version = config("ClusterVersion", "version", json!({}));
    version["status"] = json!({"desired": {"version": "4.22.0", "image": format!("{SOURCE}/release@{digest}")}, "history": [
        {"state": "Completed", "version": "4.20.1", "completionTime": "2026-01-01T00:00:00Z"}]});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret", "namespace": "openshift-config"},
        "data": {".dockerconfigjson": STANDARD.encode(auths(&[&served.host()]).to_string())}});
    let bundle = json!({"file": served.host().replace(':', ".."), "data": STANDARD.encode(served.authority())});
    let trusting = |field: &str, value: Value| {
        json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "ControllerConfig",
            "metadata": {"name": "machine-config-controller"}, "spec": {field: value}})
    };
    let desk = Desk::new(&[
        ("dump/version.json", version),
        ("dump/secret.json", secret),
        ("dump/mirrors.json", config("ImageDigestMirrorSet", "release", json!({"imageDigestMirrors": [rule]}))),
        ("dump/controller.json", json!({})),
    ]);
    let ask = || desk.ask("discover --from-dir dump --architecture amd64 -o json");
    let untrusted = ask();
    assert_eq!(untrusted.status.code(), Some(3), "{untrusted:?}");
    assert!(said(&untrusted).contains("certificate is not trusted"), "{untrusted:?}");
    for (field, value) in [
        ("imageRegistryBundleUserData", json!([bundle])),
        ("imageRegistryBundleData", json!([bundle])),
        ("additionalTrustBundle", bundle["data"].clone()),
        ("rootCAData", bundle["data"].clone()),
    ] {
        desk.put("dump/controller.json", &trusting(field, value).to_string());
        let output = ask();
        assert!(output.status.success(), "{field}: {output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((streams(&answer), &answer["defaultStream"]), (both(), &json!("rhel-9")), "{field}");
    }
    // Those of another registry do not count here.
    let elsewhere = json!([{"file": "localhost..1", "data": bundle["data"]}]);
    desk.put("dump/controller.json", &trusting("imageRegistryBundleUserData", elsewhere).to_string());
    assert_eq!(ask().status.code(), Some(3));
    let damaged = STANDARD.encode("no certificate");
    desk.put("dump/controller.json", &trusting("additionalTrustBundle", json!(damaged)).to_string());
    assert!(said(&ask()).contains("additionalTrustBundle of the ControllerConfig holds no certificate"));
}
