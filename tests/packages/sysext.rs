//! The system extension image: only `/usr`, root's, and marked as what systemd-sysext takes.

use std::process::Command;

use super::declared;
use super::system::{package, packages, skipped};

const RELEASE: &str = "usr/lib/extension-release.d/extension-release.ostler";

fn unsquashfs(arguments: &[&str]) -> String {
    let output = Command::new("unsquashfs").args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_extension_has_only_usr_and_says_what_it_fits() {
    let packages = match packages() {
        Ok(packages) => packages,
        Err(reason) => return skipped(reason),
    };
    let image = package(&packages.join("new"), "ostler-", ".raw");
    let image = image.to_str().unwrap();
    let listing = unsquashfs(&["-lls", image]);
    let entries: Vec<_> = listing
        .lines()
        .filter_map(|line| Some((line.split_whitespace().nth(1)?, line.split_once(" squashfs-root")?.1)))
        .collect();
    assert!(entries.len() > 20, "{listing}");
    for (owner, path) in &entries {
        assert_eq!(*owner, "root/root", "{path}");
        assert!(path.is_empty() || *path == "/usr" || path.starts_with("/usr/"), "{path}");
    }
    for file in declared::files() {
        assert!(entries.iter().any(|(_, path)| *path == file), "{file} is not in the image");
    }
    let release = unsquashfs(&["-cat", image, RELEASE]);
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x86-64",
        "aarch64" => "arm64",
        other => other,
    };
    let wanted = ["ID=_any".to_owned(), format!("ARCHITECTURE={machine}"), "EXTENSION_RELOAD_MANAGER=1".to_owned()];
    assert_eq!(release.lines().collect::<Vec<_>>(), wanted);
}
