//! A registry that lets in who has the password, is trusted by who has its authority, and is reached by machines.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::booted::{Booted, Site, Sysroot, plant};
use crate::registry::{Registry, oci_layout};

const NAME: &str = "os:2.0";

/// A registry with an image, and the image's digest.
fn registry(site: &Site) -> Option<(Registry, String)> {
    let registry = Registry::start(site)?;
    let [tree, layout] = ["image-tree", "image"].map(|name| site.path(name));
    plant(&tree, "2.0").unwrap();
    oci_layout(&layout, &tree, &json!({"version": "2.0"})).unwrap();
    let digest = registry.push(&format!("oci:{}", layout.display()), NAME);
    for directory in [tree, layout] {
        fs::remove_dir_all(directory).unwrap();
    }
    Some((registry, digest))
}

fn inspect(registry: &Registry, certs: &Path, auth: &Path) -> Output {
    let mut command = registry.skopeo(&["inspect", "--cert-dir"]);
    command.arg(certs).arg("--authfile").arg(auth).arg(format!("docker://{}/{NAME}", registry.host()));
    command.output().unwrap()
}

fn refused(output: &Output, reason: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains(reason), "{output:?}");
}

#[test]
fn a_registry_wants_its_authority_trusted_and_its_password() {
    let Some(site) = Site::if_possible() else { return };
    let Some((registry, digest)) = registry(&site) else { return };
    let Some(mut other) = Registry::start(&site) else { return };
    let (certs, auth) = (registry.certs_path(), registry.auth_path());
    let found = inspect(&registry, &certs, &auth);
    let found: Value = serde_json::from_slice(&found.stdout).unwrap_or_else(|_| panic!("{found:?}"));
    assert_eq!((&found["Digest"], &found["Labels"]["version"]), (&json!(digest), &json!("2.0")));
    refused(&inspect(&registry, &other.certs_path(), &auth), "certificate signed by unknown authority");
    refused(&inspect(&registry, &certs, &other.auth_path()), "authentication required");
    let wrong = site.path("wrong.json");
    fs::write(&wrong, registry.auth("wrong").to_string()).unwrap();
    refused(&inspect(&registry, &certs, &wrong), "authentication required");
    other.stop();
    refused(&inspect(&other, &other.certs_path(), &other.auth_path()), "connection refused");
    other.resume();
    refused(&inspect(&other, &other.certs_path(), &other.auth_path()), "manifest unknown");
}

#[test]
fn a_machine_reaches_the_registries_of_its_site() {
    let Some(sysroot) = Sysroot::if_possible() else { return };
    sysroot.commit("1.0");
    sysroot.deploy("node/1.0", &[]);
    let Some((registry, digest)) = registry(sysroot.site()) else { return };
    let Some(machine) = Booted::start(&sysroot) else { return };
    fs::copy(registry.auth_path(), machine.path("run/auth.json")).unwrap();
    let reference = format!("docker://{}/os@{digest}", registry.host());
    let arguments = ["inspect", "--authfile=/run/auth.json", &reference];
    refused(&machine.enter("skopeo").args(arguments).output().unwrap(), "certificate signed by unknown authority");
    registry.introduce_to(&machine);
    assert!(machine.run("skopeo", &arguments).contains(&digest));
    assert!(registry.log().contains(&format!("/v2/os/manifests/{digest}")));
}
