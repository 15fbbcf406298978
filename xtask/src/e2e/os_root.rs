//! `cargo xtask e2e --os-root DIR`: the tests with a booted machine that has the programs of another operating system.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::needs::Door;
use crate::{process, setup, vm};

/// One of them at least has to be there, or nothing would be tested that is not tested without the tree.
const BACKENDS: [&str; 2] = ["rpm-ostree", "bootc"];
/// Without these a machine does not boot, or boots nothing new.
const NEEDED: [&str; 4] = [
    "usr/lib/systemd/systemd",
    "usr/lib/systemd/system/ostree-finalize-staged.service",
    "usr/bin/busctl",
    "usr/bin/skopeo",
];

pub fn run(tree: &Path, filter: Option<&str>) -> Result<()> {
    let tree = fs::canonicalize(tree).with_context(|| format!("cannot read {}", tree.display()))?;
    check(&tree)?;
    setup::for_door(Door::Test)?;
    vm::build_stand_ins()?;
    println!("{}", met(&tree));
    let mut command = process::cargo(["test", "--locked", "-p", "ostler", "--test", "booted", "--"]);
    command.env("OSTLER_OS_ROOT", &tree).env("OSTLER_REQUIRE_SYSTEMD", "1");
    process::run(command.args(filter))
}

fn check(tree: &Path) -> Result<()> {
    if let Some(missing) = NEEDED.iter().find(|path| !tree.join(path).exists()) {
        bail!("{} is no operating system that a machine can run: it has no {missing}", tree.display());
    }
    if backends(tree).next().is_none() {
        bail!("{} has neither usr/bin/rpm-ostree nor usr/bin/bootc, so there is nothing to test", tree.display());
    }
    Ok(())
}

fn backends(tree: &Path) -> impl Iterator<Item = &'static str> + '_ {
    BACKENDS.into_iter().filter(|name| tree.join("usr/bin").join(name).exists())
}

/// The versions that the tests meet, a line each.
fn met(tree: &Path) -> String {
    let programs = ["systemctl", "ostree"].into_iter().chain(backends(tree));
    let lines = programs.map(|program| format!("{program:<12}{}", version(tree, program)));
    lines.collect::<Vec<_>>().join("\n")
}

/// What a program of the tree says of its version.
fn version(tree: &Path, program: &str) -> String {
    let output = Command::new("chroot").arg(tree).args([&format!("/usr/bin/{program}"), "--version"]).output();
    match output {
        Ok(output) if output.status.success() => text_of(&String::from_utf8_lossy(&output.stdout)),
        Ok(output) => {
            format!("cannot be asked for its version: {}", String::from_utf8_lossy(&output.stderr).trim_end())
        }
        Err(error) => format!("cannot be asked for its version: {error}"),
    }
}

/// The first line that has a digit: rpm-ostree and ostree have a heading above it.
fn text_of(output: &str) -> String {
    let line = output.lines().find(|line| line.chars().any(|character| character.is_ascii_digit()));
    line.unwrap_or("of no version").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_without_an_operating_system_or_without_a_backend_is_refused() {
        let tree = std::env::temp_dir().join(format!("ostler-os-root-{}", std::process::id()));
        let refused = || check(&tree).unwrap_err().to_string();
        assert!(refused().contains("it has no usr/lib/systemd/systemd"), "{}", refused());
        let add = |path: &str| {
            let at = tree.join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, "").unwrap();
        };
        NEEDED.iter().for_each(|path| add(path));
        assert!(refused().contains("neither usr/bin/rpm-ostree nor usr/bin/bootc"), "{}", refused());
        add("usr/bin/bootc");
        check(&tree).unwrap();
        assert_eq!(backends(&tree).collect::<Vec<_>>(), ["bootc"]);
        fs::remove_dir_all(&tree).unwrap();
    }

    #[test]
    fn versions_are_found_below_a_heading() {
        for (output, expected) in [
            ("rpm-ostree:\n Version: '2025.8'\n Git: abc\n", "Version: '2025.8'"),
            ("bootc 1.13.0\n", "bootc 1.13.0"),
            ("systemd 257 (257.9-1)\n+PAM\n", "systemd 257 (257.9-1)"),
            ("\n", "of no version"),
        ] {
            assert_eq!(text_of(output), expected);
        }
    }
}
