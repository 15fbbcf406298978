//! What a machine must have beyond cargo and a C compiler, and the package that brings it.
//!
//! To add a need, add a row. A row names the doors that cannot do without it, so that nobody installs more than they use.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

/// A door with needs of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// `cargo xtask demo`.
    Demo,
    /// `cargo xtask test`.
    Test,
    /// `cargo xtask fuzz`, and the fuzz stage of `test`.
    Fuzz,
    /// `cargo xtask e2e`.
    E2e,
    /// `cargo xtask package`.
    Package,
    /// `cargo xtask vm`.
    Vm,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// What it is and what for, for a person.
    pub what: &'static str,
    /// Whether this machine has it: a program on `PATH`, or `succeeds` of `pkg-config --exists` for a library.
    pub met: fn() -> bool,
    /// Packages on Debian and Ubuntu.
    pub debian: &'static [&'static str],
    /// Packages on Fedora and Enterprise Linux.
    pub fedora: &'static [&'static str],
    /// Doors that need it.
    pub doors: &'static [Door],
}

/// Every need.
pub const NEEDS: &[Need] = &[
    Need {
        what: "libostree 2022.7 or newer with its headers, which the root half of the agent links",
        met: || library("ostree-1 >= 2022.7"),
        debian: &["libostree-dev", "pkg-config"],
        fedora: &["ostree-devel", "pkgconf-pkg-config"],
        doors: &[Door::Demo, Door::Test, Door::Package, Door::Vm],
    },
    Need {
        what: "rpmbuild, dpkg-deb, mksquashfs and strip, which make packages",
        met: || ["rpmbuild", "dpkg-deb", "mksquashfs", "strip"].into_iter().all(on_path),
        debian: &["rpm", "dpkg", "squashfs-tools", "binutils"],
        fedora: &["rpm-build", "dpkg", "squashfs-tools", "binutils"],
        doors: &[Door::Package],
    },
    Need {
        what: "systemd-analyze, unsquashfs and mmdebstrap, which packages and units are tried with",
        met: || ["systemd-analyze", "unsquashfs", "mmdebstrap"].into_iter().all(on_path),
        debian: &["systemd", "squashfs-tools", "mmdebstrap"],
        fedora: &["systemd", "squashfs-tools", "mmdebstrap"],
        doors: &[Door::Package],
    },
    Need {
        what: "checkmodule, semodule_package and their kin, which compile the SELinux module",
        met: || ["checkmodule", "semodule_package", "semodule_link", "bunzip2"].into_iter().all(on_path),
        debian: &["checkpolicy", "semodule-utils", "bzip2"],
        fedora: &["checkpolicy", "policycoreutils", "bzip2"],
        doors: &[Door::Package],
    },
    Need {
        what: "ostree with its units, and ip, for machines that run a deployment to test on",
        met: || on_path("ostree") && ip() && Path::new(FINALIZER).exists(),
        debian: &["ostree", "ostree-boot", "iproute2"],
        fedora: &["ostree", "iproute"],
        doors: &[Door::Test, Door::Vm],
    },
    Need {
        what: "skopeo, a registry, openssl and htpasswd, which make and serve OS images to test with",
        met: || registry() && ["skopeo", "openssl", "htpasswd"].into_iter().all(on_path),
        debian: &["skopeo", "docker-registry", "openssl", "apache2-utils"],
        fedora: &["skopeo", "docker-distribution", "openssl", "httpd-tools"],
        doors: &[Door::Test, Door::Vm],
    },
    Need {
        what: "openssl and curl, which make the certificates of a cluster to test with and talk to its store",
        met: || ["openssl", "curl"].into_iter().all(on_path),
        debian: &["openssl", "curl"],
        fedora: &["openssl", "curl"],
        doors: &[Door::E2e],
    },
    Need {
        what: "headers of OpenSSL and zstd, which the stand-ins for rpm-ostree and bootc are built with",
        met: || library("openssl") && library("libzstd"),
        debian: &["libssl-dev", "libzstd-dev", "pkg-config"],
        fedora: &["openssl-devel", "libzstd-devel", "pkgconf-pkg-config"],
        doors: &[Door::Test, Door::Vm],
    },
    Need {
        what: "a C++ compiler, which builds libFuzzer for the fuzz targets",
        met: || env::var_os("CXX").is_some() || on_path("c++"),
        debian: &["g++"],
        fedora: &["gcc-c++"],
        doors: &[Door::Fuzz],
    },
    Need {
        what: "systemd and a message bus, which are booted in a container to test against",
        met: systemd,
        debian: &["systemd", "dbus", "util-linux"],
        fedora: &["systemd", "dbus-daemon", "util-linux"],
        doors: &[Door::Test, Door::Vm],
    },
    Need {
        what: "mmdebstrap, dpkg-deb, xz, zstd and strip, which virtual machines are made with",
        met: || ["mmdebstrap", "dpkg-deb", "xz", "zstd", "strip"].into_iter().all(on_path),
        debian: &["mmdebstrap", "dpkg", "xz-utils", "zstd", "binutils"],
        fedora: &["mmdebstrap", "dpkg", "xz", "zstd", "binutils"],
        doors: &[Door::Vm],
    },
    Need {
        what: "mkfs.ext4, which makes small filesystems to run full",
        met: || on_path("mkfs.ext4") || on_path("mke2fs"),
        debian: &["e2fsprogs"],
        fedora: &["e2fsprogs"],
        doors: &[Door::Test, Door::Vm],
    },
];

/// Finishes a staged deployment when a machine goes down; Debian has it in a package of its own.
const FINALIZER: &str = "/usr/lib/systemd/system/ostree-finalize-staged.service";

/// Ordinary users do not have its directory on their path.
fn ip() -> bool {
    on_path("ip") || executable(Path::new("/usr/sbin/ip"))
}

/// The same program goes by two names.
fn registry() -> bool {
    on_path("docker-registry") || on_path("registry")
}

/// Whether the compiler finds a library, in a version if one is named.
fn library(name: &str) -> bool {
    succeeds(Command::new("pkg-config").args(["--exists", name]))
}

/// Whether a systemd can be booted beside this machine's own, if it has one.
pub fn systemd() -> bool {
    let manager = executable(Path::new("/usr/lib/systemd/systemd"));
    manager && ["systemctl", "dbus-daemon", "unshare", "setpriv"].into_iter().all(on_path)
}

/// The needs that this machine does not meet, of one door or of all.
pub fn missing(door: Option<Door>) -> Vec<Need> {
    let wanted = |need: &&Need| door.is_none_or(|door| need.doors.contains(&door));
    NEEDS.iter().filter(wanted).filter(|need| !(need.met)()).copied().collect()
}

/// Whether a program of this name is on `PATH`.
pub fn on_path(name: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|directory| executable(&directory.join(name))))
}

/// Whether a command runs and exits with 0, without showing what it prints.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether there is a program at this path.
pub fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_need_names_packages_for_both_families_and_a_door() {
        for need in NEEDS {
            assert!(!need.debian.is_empty() && !need.fedora.is_empty() && !need.doors.is_empty(), "{}", need.what);
        }
    }

    #[test]
    fn a_door_asks_only_for_its_own_needs() {
        for door in [Door::Demo, Door::Test, Door::Fuzz, Door::E2e, Door::Package, Door::Vm] {
            assert!(missing(Some(door)).iter().all(|need| need.doors.contains(&door)), "{door:?}");
        }
        assert!(NEEDS.iter().any(|need| need.doors.contains(&Door::Demo)));
    }

    #[test]
    fn programs_are_found_on_the_path_and_only_if_they_can_run() {
        assert!(on_path("sh"));
        assert!(!on_path("ostler-no-such-program"));
        assert!(!executable(Path::new("/etc/passwd")));
        assert!(!executable(Path::new("/usr")));
    }

    #[test]
    fn a_question_that_cannot_be_asked_is_answered_with_no() {
        assert!(succeeds(&mut Command::new("true")));
        assert!(!succeeds(&mut Command::new("false")));
        assert!(!succeeds(&mut Command::new("ostler-no-such-program")));
    }
}
