//! `cargo xtask setup`: installs what the table of needs finds missing, with the distribution's own package manager.
//!
//! With nothing missing it runs nothing, so it works offline and without privileges.

use std::fs;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use anyhow::{Result, bail};

use crate::arguments::Arguments;
use crate::needs::{self, Door, Need};
use crate::process;

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask setup [--yes]

Installs the packages that the other doors need, with apt-get or dnf. Runs nothing
when nothing is missing. As an ordinary user it uses `sudo -n`.

  --yes    do not ask before installing (nobody is asked without a terminal)
";

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let consent = if arguments.flag("--yes") { Consent::Given } else { Consent::Ask };
    arguments.finish()?;
    install(&needs::missing(None), consent)?;
    println!("setup: everything is there");
    Ok(())
}

/// What another door calls first; the packages that were installed for it.
pub fn for_door(door: Door) -> Result<Vec<&'static str>> {
    install(&needs::missing(Some(door)), Consent::Ask)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Consent {
    Ask,
    Given,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Apt,
    Dnf,
}

impl Manager {
    fn of_this_machine() -> Option<Self> {
        let known = [("apt-get", Self::Apt), ("dnf", Self::Dnf)];
        known.into_iter().find(|(program, _)| needs::on_path(program)).map(|(_, manager)| manager)
    }

    fn packages(self, missing: &[Need]) -> Vec<&'static str> {
        let of = |need: &Need| match self {
            Self::Apt => need.debian,
            Self::Dnf => need.fedora,
        };
        let mut packages: Vec<_> = missing.iter().flat_map(of).copied().collect();
        packages.sort_unstable();
        packages.dedup();
        packages
    }

    fn install(self) -> &'static [&'static str] {
        match self {
            // The lock timeout waits out the updates that a fresh cloud machine runs on its own.
            Self::Apt => &["apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "--yes", "--no-install-recommends"],
            Self::Dnf => &["dnf", "install", "--assumeyes"],
        }
    }

    fn refresh(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Apt => Some(&["apt-get", "-o", "DPkg::Lock::Timeout=300", "update"]),
            Self::Dnf => None,
        }
    }
}

fn install(missing: &[Need], consent: Consent) -> Result<Vec<&'static str>> {
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    for need in missing {
        println!("setup: missing {}", need.what);
    }
    let Some(manager) = Manager::of_this_machine() else {
        bail!("neither apt-get nor dnf is here; install by hand: {}", in_words(missing));
    };
    let packages = manager.packages(missing);
    let by_hand = format!("sudo {} {}", manager.install().join(" "), packages.join(" "));
    let Some(privilege) = Privilege::of_this_process() else {
        bail!("installing needs root, and `sudo -n` is refused; run this and try again:\n  {by_hand}");
    };
    if consent == Consent::Ask && !agreed(&packages)? {
        bail!("nothing was installed; to install by hand:\n  {by_hand}");
    }
    println!("setup: installing on this machine: {}", packages.join(" "));
    fetch(manager, privilege, &packages)?;
    let still: Vec<_> = missing.iter().filter(|need| !need.met()).copied().collect();
    if still.is_empty() {
        Ok(packages)
    } else {
        bail!("{} installed, yet still missing: {}", packages.join(" "), in_words(&still))
    }
}

/// A fresh machine has no package lists and an old one has stale lists; both show as a failed installation.
fn fetch(manager: Manager, privilege: Privilege, packages: &[&str]) -> Result<()> {
    let attempt = || process::run(privilege.command(manager.install()).args(packages));
    match (attempt(), manager.refresh()) {
        (Err(_), Some(refresh)) => {
            println!("setup: refreshing the package lists and trying once more");
            process::run(&mut privilege.command(refresh))?;
            attempt()
        }
        (result, _) => result,
    }
}

fn in_words(missing: &[Need]) -> String {
    missing.iter().map(|need| need.what).collect::<Vec<_>>().join("; ")
}

fn agreed(packages: &[&str]) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(true);
    }
    print!("setup: install {}? [Y/n] ", packages.join(" "));
    std::io::stdout().flush()?;
    let mut reply = String::new();
    std::io::stdin().read_line(&mut reply)?;
    Ok(matches!(reply.trim(), "" | "y" | "Y" | "yes"))
}

#[derive(Clone, Copy)]
enum Privilege {
    Root,
    Sudo,
}

impl Privilege {
    fn of_this_process() -> Option<Self> {
        // The owner of /proc/self is the effective user, which std has no call for.
        if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
            return Some(Self::Root);
        }
        (needs::on_path("sudo") && needs::succeeds(Command::new("sudo").args(["-n", "true"]))).then_some(Self::Sudo)
    }

    fn command(self, words: &[&str]) -> Command {
        let prefix: &[&str] = match self {
            Self::Root => &["env"],
            Self::Sudo => &["sudo", "-n", "env"],
        };
        let mut all = prefix.iter().chain(&["DEBIAN_FRONTEND=noninteractive"]).chain(words);
        let mut command = Command::new(all.next().copied().unwrap_or("env"));
        command.args(all);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_missing_runs_nothing() {
        assert!(install(&[], Consent::Ask).unwrap().is_empty());
    }

    #[test]
    fn packages_are_those_of_the_family_each_once() {
        let need = *needs::NEEDS.iter().find(|need| need.debian == ["g++"]).unwrap();
        assert_eq!(Manager::Apt.packages(&[need, need]), ["g++"]);
        assert_eq!(Manager::Dnf.packages(&[need]), ["gcc-c++"]);
    }

    #[test]
    fn sudo_never_asks_for_a_password() {
        let line = process::line(&Privilege::Sudo.command(Manager::Apt.install()));
        assert!(
            line.starts_with("sudo -n env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300"),
            "{line}"
        );
    }
}
