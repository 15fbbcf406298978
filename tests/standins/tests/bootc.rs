//! The bootc stand-in, deploying real images into a real sysroot.
#![allow(clippy::unwrap_used, reason = "clippy does not see that helpers of tests are test code")]

mod support;

use std::io::BufRead;

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
    assert!(stderr(&missing).contains("ERROR Switching: "), "{}", stderr(&missing));
    site.faults(r#"{"bootc": {"fail_at": 2, "fail_text": "No space left on device"}}"#);
    let failed = switch(&site, "v2");
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).ends_with("ERROR Switching: No space left on device\n"), "{}", stderr(&failed));
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

/// Arguments of the first deployment after a switch to an image that lists some, from one that lists others.
fn line_after(site: &Site, release: &str, line: &[&str], lists: [&str; 2]) -> serde_json::Value {
    let image = |tag: &str, listed: &str| {
        let dest = format!("oci:{}:{tag}", site.path("images"));
        let file = format!("usr/lib/bootc/kargs.d/10.toml=kargs = {listed}\n");
        let mut args = vec!["image", "--dest", &dest, "--version", tag];
        if !listed.is_empty() {
            args.extend(["--file", &file]);
        }
        site.lab(&args);
    };
    for (tag, listed) in ["old", "new"].into_iter().zip(lists) {
        image(tag, listed);
    }
    let root = site.path(&format!("root-{release}-{}", lists.join("")));
    let reference = site.reference("old");
    let mut args = vec!["sysroot", "--sysroot", &root, "--image", &reference];
    args.extend(line.iter().flat_map(|karg| ["--karg", karg]));
    site.lab(&args);
    site.faults(&format!(r#"{{"bootc": {{"release": "{release}"}}}}"#));
    let target = format!("{}:new", site.path("images"));
    let mut command = site.bootc_command(&["switch", "--transport", "oci", &target]);
    let output = command.env("STANDIN_SYSROOT", &root).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    site.lab(&["deployments", "--sysroot", &root]).pointer("/0/kargs").unwrap().clone()
}

#[test]
fn an_image_brings_and_drops_kernel_arguments() {
    let site = Site::new();
    let line = ["rw", "a", "b", "a"];
    for (release, lists, expected) in [
        ("1.13.0", [r#"["a"]"#, r#"["b", "c"]"#], &["rw", "b", "c"][..]),
        ("1.1.6", [r#"["a"]"#, r#"["b", "c"]"#], &["rw", "b", "b", "c"]),
        ("1.13.0", [r#"["a"]"#, ""], &["rw", "a", "b", "a"]),
        ("1.1.6", [r#"["a"]"#, ""], &["rw", "a", "b", "a", "a"]),
    ] {
        assert_eq!(line_after(&site, release, &line, lists), serde_json::json!(expected), "{release} {lists:?}");
    }
}

#[test]
fn a_quoted_argument_with_blanks_aborts_old_releases() {
    use std::os::unix::process::ExitStatusExt;
    let site = Site::new();
    let (root, image) = (site.path("quoted"), site.reference("v1"));
    site.lab(&["sysroot", "--sysroot", &root, "--image", &image, "--karg", "a=\"b c\""]);
    for (release, signal) in [("1.10.0", Some(6)), ("1.11.0", None)] {
        site.faults(&format!(r#"{{"bootc": {{"release": "{release}"}}}}"#));
        assert_eq!(String::from_utf8(site.bootc(&["--version"]).stdout).unwrap(), format!("bootc {release}\n"));
        let target = format!("{}:v2", site.path("images"));
        let mut command = site.bootc_command(&["switch", "--transport", "oci", &target]);
        assert_eq!(command.env("STANDIN_SYSROOT", &root).status().unwrap().signal(), signal, "{release}");
    }
}

#[test]
fn the_status_waits_for_the_lock_and_old_releases_tell_it_on_standard_output() {
    let site = Site::new();
    let go = site.path("go");
    for release in ["1.6.0", "1.7.0"] {
        let faults = format!(r#"{{"bootc": {{"release": "{release}", "slow_until": "{go}", "method": "switch"}}}}"#);
        site.faults(&faults);
        let target = format!("{}:{}", site.path("images"), if release == "1.6.0" { "v2" } else { "v1" });
        let switch = ["switch", "--transport", "oci", "--quiet", &target];
        let mut holder = site.bootc_command(&switch).spawn().unwrap();
        let lock = site.path("root/ostree/lock");
        wait_until(|| is_locked(holder.id(), &lock));
        let mut waiting = site.bootc_command(&["status", "--json"]);
        let mut waiting = waiting.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut said = std::io::BufReader::new(waiting.stdout.take().unwrap());
        let mut first = String::new();
        if release == "1.6.0" {
            said.read_line(&mut first).unwrap();
            assert_eq!(first, "Waiting for sysroot lock...\n");
            first.clear();
        }
        write(&go, "");
        assert!(holder.wait().unwrap().success());
        said.read_line(&mut first).unwrap();
        assert!(first.starts_with('{'), "{release}: {first}");
        assert!(waiting.wait().unwrap().success());
        std::fs::remove_file(&go).unwrap();
    }
}

fn is_locked(process: u32, file: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    let is_lock = |at: &std::path::Path| std::fs::read_link(at).is_ok_and(|to| to.as_os_str() == file);
    let held = |name: &std::ffi::OsStr| {
        let text = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{}", name.to_string_lossy()));
        text.is_ok_and(|text| text.lines().any(|line| line.starts_with("lock:")))
    };
    entries.flatten().any(|entry| is_lock(&entry.path()) && held(&entry.file_name()))
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
