//! What changes the operating system of a machine: chosen from what the machine is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::os_release::{Family, OsRelease};

/// Where a person can name the backend: one of [`Backend`]'s names, alone in the file.
pub const CHOICE_PATH: &str = "/etc/ostler/os-backend";

/// What changes the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The rpm-ostree daemon.
    RpmOstree,
    /// The bootc command.
    Bootc,
    /// Another controller; Ostler verifies what it staged, and restarts.
    External,
}

impl Backend {
    /// Its name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RpmOstree => "rpm-ostree",
            Self::Bootc => "bootc",
            Self::External => "external",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What is known of a machine when its backend is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Its os-release.
    pub release: OsRelease,
    /// Whether it was booted from an ostree deployment.
    pub ostree_booted: bool,
    /// Whether there is a bootc command.
    pub bootc: bool,
    /// Whether there is an rpm-ostree daemon to be started.
    pub rpm_ostree: bool,
    /// Whether the booted deployment has packages layered on it or removed from it, which bootc would refuse to touch.
    pub layered: bool,
    /// Whether a kernel argument of the booted deployment has blanks in quotes, on which bootc before 1.11 aborts.
    pub quoted_argument: bool,
    /// What [`CHOICE_PATH`] says.
    pub choice: Option<String>,
}

/// Why there is no backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBackend {
    /// The machine does not run from an ostree deployment.
    #[error("this machine was not booted from an ostree deployment")]
    NotOstree,
    /// A file names something else.
    #[error(
        "{CHOICE_PATH} names {name:?}, which is no backend: write rpm-ostree, bootc or external, or remove the file"
    )]
    Unknown {
        /// What it names.
        name: String,
    },
    /// The one that is wanted is not installed.
    #[error("{wanted} is what changes the operating system here, but it is not installed")]
    Missing {
        /// Which.
        wanted: Backend,
    },
    /// Neither is installed.
    #[error("neither bootc nor rpm-ostree is installed")]
    Nothing,
}

/// Chooses. RHEL CoreOS 10 has bootc alone; 9 uses it unless packages are or will be layered, which bootc leaves to images.
pub fn choose(host: &Host, wants_packages: bool) -> Result<Backend, NoBackend> {
    if !host.ostree_booted {
        return Err(NoBackend::NotOstree);
    }
    let wanted = match host.choice.as_deref().map(str::trim) {
        Some("rpm-ostree") => Backend::RpmOstree,
        Some("bootc") => Backend::Bootc,
        Some("external") => return Ok(Backend::External),
        Some(name) => return Err(NoBackend::Unknown { name: name.to_owned() }),
        None => by_family(host, wants_packages)?,
    };
    let installed = match wanted {
        Backend::RpmOstree => host.rpm_ostree,
        Backend::Bootc => host.bootc,
        Backend::External => true,
    };
    if installed { Ok(wanted) } else { Err(NoBackend::Missing { wanted }) }
}

fn by_family(host: &Host, wants_packages: bool) -> Result<Backend, NoBackend> {
    let packages = wants_packages || host.layered;
    match host.release.family() {
        Family::Rhcos(Some(10..)) => Ok(Backend::Bootc),
        Family::Rhcos(_) if host.quoted_argument && host.rpm_ostree => Ok(Backend::RpmOstree),
        Family::Rhcos(_) if host.bootc && !packages => Ok(Backend::Bootc),
        Family::Rhcos(_) => Ok(Backend::RpmOstree),
        Family::Scos(_) | Family::Fcos | Family::Other if host.rpm_ostree => Ok(Backend::RpmOstree),
        Family::Scos(_) | Family::Fcos | Family::Other if host.bootc => Ok(Backend::Bootc),
        Family::Scos(_) | Family::Fcos | Family::Other => Err(NoBackend::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(release: &str, programs: &str) -> Host {
        Host {
            release: OsRelease::parse(release),
            ostree_booted: true,
            bootc: programs.contains('b'),
            rpm_ostree: programs.contains('r'),
            layered: programs.contains('l'),
            quoted_argument: programs.contains('q'),
            choice: None,
        }
    }

    const RHCOS_9: &str = "ID=rhcos\nRHEL_VERSION=9.6\n";
    const RHCOS_10: &str = "ID=rhel\nVARIANT_ID=coreos\nVERSION_ID=10.1\n";
    const FCOS: &str = "ID=fedora\nVARIANT_ID=coreos\nVERSION_ID=43\n";
    const SCOS: &str = "ID=scos\nVERSION_ID=10\n";

    #[test]
    fn the_machine_decides_which_backend_it_has() {
        let missing = |wanted| Err(NoBackend::Missing { wanted });
        for (release, programs, packages, expected) in [
            (RHCOS_10, "br", false, Ok(Backend::Bootc)),
            (RHCOS_10, "r", false, missing(Backend::Bootc)),
            (RHCOS_9, "br", false, Ok(Backend::Bootc)),
            (RHCOS_9, "br", true, Ok(Backend::RpmOstree)),
            (RHCOS_9, "brl", false, Ok(Backend::RpmOstree)),
            (RHCOS_9, "brq", false, Ok(Backend::RpmOstree)),
            (RHCOS_9, "bq", false, Ok(Backend::Bootc)),
            (RHCOS_10, "brq", false, Ok(Backend::Bootc)),
            (RHCOS_9, "r", false, Ok(Backend::RpmOstree)),
            (RHCOS_9, "", false, missing(Backend::RpmOstree)),
            (FCOS, "br", false, Ok(Backend::RpmOstree)),
            (SCOS, "b", false, Ok(Backend::Bootc)),
            ("ID=debian\n", "", false, Err(NoBackend::Nothing)),
        ] {
            assert_eq!(choose(&host(release, programs), packages), expected, "{release} {programs} {packages}");
        }
    }

    #[test]
    fn a_person_can_choose_and_only_what_exists() {
        for (choice, expected) in [
            ("external\n", Ok(Backend::External)),
            (" bootc ", Ok(Backend::Bootc)),
            ("rpm-ostree", Err(NoBackend::Missing { wanted: Backend::RpmOstree })),
            ("yum", Err(NoBackend::Unknown { name: "yum".to_owned() })),
        ] {
            let host = Host { choice: Some(choice.to_owned()), ..host(RHCOS_9, "b") };
            assert_eq!(choose(&host, false), expected, "{choice}");
        }
    }

    #[test]
    fn a_machine_without_ostree_has_none() {
        let host = Host { ostree_booted: false, choice: Some("bootc".to_owned()), ..host(RHCOS_9, "br") };
        assert_eq!(choose(&host, false), Err(NoBackend::NotOstree));
    }
}
