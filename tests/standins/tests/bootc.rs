//! The bootc stand-in, deploying real images into a real sysroot.
#![allow(clippy::unwrap_used, reason = "clippy does not see that helpers of tests are test code")]

mod support;

use serde_json::Value;
use support::{Site, wait_until, write};

fn status(site: &Site) -> Value {
    let output = site.bootc(&["status", "--format", "json", "--format-version", "1"]);
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn switch(site: &Site, tag: &str) -> std::process::Output {
    site.bootc(&["switch", "--transport", "oci", &format!("{}:{tag}", site.path("images"))])
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_switch_shows_in_the_status() {
    let site = Site::new();
    let digest = site.image("v2");
    let output = switch(&site, "v2");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("Pulling manifest"));
    let host = status(&site);
    assert_eq!((&host["apiVersion"], &host["kind"]), (&"org.containers.bootc/v1".into(), &"BootcHost".into()));
    assert_eq!(host["spec"]["image"]["image"], format!("{}:v2", site.path("images")));
    assert_eq!(host["status"]["booted"], Value::Null);
    let first = &host["status"]["otherDeployments"][0];
    assert_eq!(first["image"]["imageDigest"], digest);
    assert_eq!(first["image"]["version"], "2");
    assert_eq!(first["ostree"]["stateroot"], "rhcos");
    assert_eq!(first["incompatible"], false);
    assert_eq!(site.deployments()[0]["kargs"], serde_json::json!(["quiet", "rw"]));
}

#[test]
fn an_unchanged_reference_is_left_alone_until_its_image_changes() {
    let site = Site::new();
    let again = switch(&site, "v1");
    assert!(String::from_utf8_lossy(&again.stdout).contains("Image specification is unchanged."));
    assert!(String::from_utf8_lossy(&site.bootc(&["upgrade"]).stdout).contains("No update available."));
    let dest = format!("oci:{}:v1", site.path("images"));
    site.lab(&["image", "--dest", &dest, "--version", "1.1"]);
    let check = site.bootc(&["upgrade", "--check"]);
    assert!(String::from_utf8_lossy(&check.stdout).contains("Update available for: "), "{}", stderr(&check));
    assert_eq!(status(&site)["status"]["otherDeployments"][0]["cachedUpdate"]["version"], "1.1");
    assert!(site.bootc(&["upgrade"]).status.success());
    assert_eq!(site.versions(), ["1.1", "1"]);
    assert!(site.bootc(&["rollback"]).status.success());
    assert_eq!(site.versions(), ["1", "1.1"]);
}

#[test]
fn failures_are_told_on_standard_error() {
    let site = Site::new();
    let missing = switch(&site, "nosuch");
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("error: Switching: "), "{}", stderr(&missing));
    site.faults(r#"{"bootc": {"fail_at": 2, "fail_text": "No space left on device"}}"#);
    let failed = switch(&site, "v2");
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).ends_with("error: Switching: No space left on device\n"), "{}", stderr(&failed));
    site.faults(r#"{"bootc": {"die_at": 3, "method": "switch"}}"#);
    assert_eq!(switch(&site, "v2").status.code(), Some(70));
    assert_eq!(site.versions(), ["1"]);
}

#[test]
fn a_slow_switch_waits_for_its_file() {
    let site = Site::new();
    let go = site.path("go");
    site.faults(&format!(r#"{{"bootc": {{"slow_until": "{go}"}}}}"#));
    let images = site.path("images");
    let mut slow = site.bootc_command(&["switch", "--transport", "oci", &format!("{images}:v2")]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(site.versions(), ["1"]);
    assert!(slow.try_wait().unwrap().is_none());
    write(&go, "");
    assert!(slow.wait().unwrap().success());
    wait_until(|| site.versions() == ["2", "1"]);
}

#[test]
fn an_image_that_the_policy_rejects_is_not_deployed() {
    let site = Site::new();
    let target = format!("{}:v2", site.path("images"));
    let args = ["switch", "--transport", "oci", &target];
    let rejected = site.bootc_under_policy(r#"{"default": [{"type": "reject"}]}"#, &args);
    assert_eq!(rejected.status.code(), Some(1));
    assert!(stderr(&rejected).contains("is rejected by policy"), "{}", stderr(&rejected));
    assert_eq!(site.versions(), ["1"]);
    let anything = r#"{"default": [{"type": "insecureAcceptAnything"}]}"#;
    let enforced = [&args[..], &["--enforce-container-sigpolicy"]].concat();
    let lax = site.bootc_under_policy(anything, &enforced);
    assert!(stderr(&lax).contains("refusing usage"), "{}", stderr(&lax));
    assert!(site.bootc_under_policy(anything, &args).status.success());
    assert_eq!(site.versions(), ["2", "1"]);
}

#[test]
fn a_derived_image_shares_the_layers_of_its_base() {
    let site = Site::new();
    let base = format!("oci:{}:v1", site.path("images"));
    let derived =
        site.lab(&["derive", "--base", &base, "--tag", "d", "--version", "1-d", "--file", "usr/lib/extra=more\n"]);
    let output = switch(&site, "d");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("layers already present: 1\nlayers needed: 1 "), "{}", stderr(&output));
    let first = site.deployments().remove(0);
    assert_eq!((&first["version"], &first["digest"]), (&"1-d".into(), &derived["digest"]));
    let checksum = first["checksum"].as_str().unwrap();
    let file = format!("root/ostree/deploy/rhcos/deploy/{checksum}.0/usr/lib/extra");
    assert_eq!(std::fs::read_to_string(site.path(&file)).unwrap(), "more\n");
}
