//! What a machine must have beyond cargo and a C compiler, and the package that brings it.
//!
//! To add a need, add a row. A row names the doors that cannot do without it, so that nobody installs more than they use.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{process, workspace};

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
    /// Programs that have to be there.
    pub programs: &'static [&'static str],
    /// What else has to be true, such as `library` of a library.
    pub also: fn() -> bool,
    /// Packages on Debian and Ubuntu.
    pub debian: &'static [&'static str],
    /// Packages on Fedora and Enterprise Linux.
    pub fedora: &'static [&'static str],
    /// Doors that need it.
    pub doors: &'static [Door],
}

impl Need {
    /// Whether this machine has it.
    pub fn met(&self) -> bool {
        self.programs.iter().all(|program| installed(program)) && (self.also)()
    }
}

/// Every need.
pub const NEEDS: &[Need] = &[
    Need {
        what: "libostree 2022.7 or newer with its headers, which the root half of the agent links",
        programs: &[],
        also: || library("ostree-1 >= 2022.7"),
        debian: &["libostree-dev", "pkg-config"],
        fedora: &["ostree-devel", "pkgconf-pkg-config"],
        doors: &[Door::Demo, Door::Test, Door::Package, Door::Vm],
    },
    Need {
        what: "rustfmt and clippy, which look at the source",
        programs: &[],
        also: || ["fmt", "clippy"].into_iter().all(|name| succeeds(&mut process::cargo([name, "--version"]))),
        debian: &["rustfmt", "rust-clippy"],
        fedora: &["rustfmt", "clippy"],
        doors: &[Door::Test],
    },
    Need {
        what: "rpmbuild, dpkg-deb, mksquashfs and strip, which make packages",
        programs: &["rpm", "rpmbuild", "dpkg-deb", "mksquashfs", "strip"],
        also: nothing_else,
        debian: &["rpm", "dpkg", "squashfs-tools", "binutils"],
        fedora: &["rpm-build", "dpkg", "squashfs-tools", "binutils"],
        doors: &[Door::Package],
    },
    Need {
        what: "git, which knows the time of the commit that packages are made of",
        programs: &[],
        also: || installed("git") || !workspace::root().join(".git").exists(),
        debian: &["git"],
        fedora: &["git-core"],
        doors: &[Door::Package],
    },
    Need {
        what: "systemd-analyze, unsquashfs and mmdebstrap, which packages and units are tried with",
        programs: &["systemd-analyze", "unsquashfs", "mmdebstrap"],
        also: nothing_else,
        debian: &["systemd", "squashfs-tools", "mmdebstrap"],
        fedora: &["systemd", "squashfs-tools", "mmdebstrap"],
        doors: &[Door::Package],
    },
    Need {
        what: "checkmodule, semodule_package and their kin, which compile the SELinux module",
        programs: &["checkmodule", "semodule_expand", "semodule_link", "semodule_package", "bunzip2"],
        also: nothing_else,
        debian: &["checkpolicy", "semodule-utils", "bzip2"],
        fedora: &["checkpolicy", "policycoreutils", "bzip2"],
        doors: &[Door::Package],
    },
    Need {
        what: "ostree with its units, ip and tc, for machines that run a deployment to test on",
        programs: &["ostree", "ip", "tc"],
        also: || Path::new(FINALIZER).exists(),
        debian: &["ostree", "ostree-boot", "iproute2"],
        fedora: &["ostree", "iproute", "iproute-tc"],
        doors: &[Door::Test, Door::Vm],
    },
    Need {
        what: "skopeo, a registry, openssl, htpasswd and gpg, which make, sign and serve OS images to test with",
        programs: &["skopeo", "openssl", "htpasswd", "gpg", "gpg-agent"],
        also: registry,
        debian: &["skopeo", "docker-registry", "openssl", "apache2-utils", "gpg", "gpg-agent"],
        fedora: &["skopeo", "docker-distribution", "openssl", "httpd-tools", "gnupg2"],
        doors: &[Door::Test, Door::Vm],
    },
    Need {
        what: "openssl and curl, which make the certificates of a cluster to test with and talk to its store",
        programs: &["openssl", "curl"],
        also: nothing_else,
        debian: &["openssl", "curl"],
        fedora: &["openssl", "curl"],
        doors: &[Door::E2e, Door::Test],
    },
    Need {
        what: "headers of OpenSSL and zstd, which the stand-ins for rpm-ostree and bootc are built with",
        programs: &[],
        also: || library("openssl") && library("libzstd"),
        debian: &["libssl-dev", "libzstd-dev", "pkg-config"],
        fedora: &["openssl-devel", "libzstd-devel", "pkgconf-pkg-config"],
        doors: &[Door::Test, Door::Vm],
    },
    Need {
        what: "a C++ compiler, which builds libFuzzer for the fuzz targets",
        programs: &[],
        also: || env::var_os("CXX").is_some() || on_path("c++"),
        debian: &["g++"],
        fedora: &["gcc-c++"],
        doors: &[Door::Fuzz],
    },
    Need {
        what: "systemd and a message bus, which are booted in a container to test against",
        programs: SYSTEMD,
        also: || executable(Path::new(MANAGER)),
        debian: &["systemd", "dbus", "util-linux", "util-linux-extra", "bsdutils", "mount"],
        fedora: &["systemd", "dbus-daemon", "util-linux"],
        doors: &[Door::Test, Door::Vm],
    },
    Need {
        what: "python3, which takes the lock of /etc/passwd as other programs do",
        programs: &["python3"],
        also: nothing_else,
        debian: &["python3-minimal"],
        fedora: &["python3"],
        doors: &[Door::Test],
    },
    Need {
        what: "mmdebstrap, dpkg-deb, xz, zstd and strip, which virtual machines are made with",
        programs: &["mmdebstrap", "dpkg-deb", "xz", "zstd", "strip"],
        also: nothing_else,
        debian: &["mmdebstrap", "dpkg", "xz-utils", "zstd", "binutils"],
        fedora: &["mmdebstrap", "dpkg", "xz", "zstd", "binutils"],
        doors: &[Door::Vm],
    },
    Need {
        what: "mkfs.ext4 and its kin, which make small filesystems to run full, and look at those of virtual machines",
        programs: &["mkfs.ext4", "mke2fs", "debugfs", "e2fsck", "chattr"],
        also: nothing_else,
        debian: &["e2fsprogs"],
        fedora: &["e2fsprogs"],
        doors: &[Door::Test, Door::Vm],
    },
    Need {
        what: "setfacl, getfacl and setfattr, which give files access lists and attributes to keep",
        programs: &["setfacl", "getfacl", "setfattr"],
        also: nothing_else,
        debian: &["acl", "attr"],
        fedora: &["acl", "attr"],
        doors: &[Door::Test],
    },
];

const fn nothing_else() -> bool {
    true
}

const MANAGER: &str = "/usr/lib/systemd/systemd";
const SYSTEMD: &[&str] =
    &["systemctl", "busctl", "dbus-daemon", "mount", "nsenter", "pivot_root", "script", "setpriv", "setsid", "unshare"];

/// Finishes a staged deployment when a machine goes down; Debian has it in a package of its own.
const FINALIZER: &str = "/usr/lib/systemd/system/ostree-finalize-staged.service";

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
    executable(Path::new(MANAGER)) && SYSTEMD.iter().all(|program| installed(program))
}

/// The needs that this machine does not meet, of one door or of all.
pub fn missing(door: Option<Door>) -> Vec<Need> {
    let wanted = |need: &&Need| door.is_none_or(|door| need.doors.contains(&door));
    NEEDS.iter().filter(wanted).filter(|need| !need.met()).copied().collect()
}

/// Whether a program is there. Ordinary users do not have the directory of some of them on their path.
fn installed(name: &str) -> bool {
    on_path(name) || executable(&Path::new("/usr/sbin").join(name))
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
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// Programs of packages that Debian calls essential, and those that we build or stand in for.
    const GIVEN: &str = "apt-get bash bootc cat chroot cp env false find gzip id install ln ls mkdir mkfifo mknod ostler \
        ostler-applier ostler-no-such-program passwd perl printf readlink rm rmdir rustc seq sh sha256sum sleep stat sync \
        tar timeout touch true umount xargs";

    /// Programs that come with one that the table names, or that it asks for under a condition.
    const ALONG: &str = "docker-registry find-provides git journalctl sudo systemd-inhibit systemd-run systemd-sysusers \
        systemd-tmpfiles";

    /// Words at the beginning of a shell's commands that start no program.
    const BUILT_IN: &str = "break case cd continue done echo esac export fi for read return set trap";

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

    fn sources(below: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                sources(&path, found);
            } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "sh") {
                found.push(path);
            }
        }
    }

    /// The program names in calls such as `Command::new("tar")`.
    fn started(text: &str) -> Vec<&str> {
        // The machines of `vm-tests` run lines of a shell of their own, and take no arguments beside them.
        let calls =
            [("Command::new(\"", ")"), (".enter(\"", ")"), (".run(\"", ", &"), (".tool(\"", ")"), (".command(\"", ")")];
        let of = |(call, end): (&str, &'static str)| {
            let names = text.split(call).skip(1).filter_map(|rest| rest.split_once('"')).collect::<Vec<_>>();
            names
                .into_iter()
                .filter(move |(_, rest)| rest.starts_with(end))
                .filter_map(|(name, _)| name.rsplit('/').next())
        };
        calls.into_iter().flat_map(of).collect()
    }

    /// The program names at the beginning of commands in a script.
    fn started_by_shell(script: &str) -> Vec<&str> {
        let lines = script.lines().filter(|line| !line.trim_start().starts_with('#'));
        let commands = lines.flat_map(|line| line.split([';', '&', '|', '(']));
        let own = |name: &str| script.contains(&format!("{name}() {{"));
        commands.filter_map(program).filter(|name| !own(name)).collect()
    }

    /// The program that a command of a shell starts; nothing for what is built into the shell, or no plain name.
    fn program(command: &str) -> Option<&str> {
        let before = |word: &&str| {
            matches!(*word, "if" | "elif" | "then" | "else" | "do" | "while" | "exec" | "!") || word.contains('=')
        };
        let word = command.split_whitespace().find(|word| !before(word))?;
        let plain = word.chars().all(|letter| letter.is_ascii_lowercase() || matches!(letter, '_' | '-'));
        (plain && !BUILT_IN.split(' ').any(|name| name == word)).then_some(word)
    }

    #[test]
    fn programs_of_a_script_are_found_wherever_a_command_begins() {
        let script = "# comment\nset -eu\nname=$1\nown() {\n    mount a b && rmdir c\n}\nif [ -e d ]; then own; fi\n\
            for x in a b; do cp \"$x\" e; done\npivot_root . old\nexec env sh -c 'cd / && umount /old'\n";
        assert_eq!(started_by_shell(script), ["mount", "rmdir", "cp", "pivot_root", "env", "umount"]);
    }

    #[test]
    fn every_program_that_a_command_or_a_test_starts_is_in_the_table() {
        let mut files = Vec::new();
        for below in ["agent", "helper", "tests", "vm-tests", "xtask"] {
            sources(&workspace::root().join(below), &mut files);
        }
        assert!(files.len() > 100, "{}", files.len());
        let known = |name: &&str| {
            let named = NEEDS.iter().flat_map(|need| need.programs).copied();
            GIVEN.split(' ').chain(ALONG.split(' ')).chain(named).any(|known| known == *name)
        };
        let own = workspace::root().join(file!());
        let mut unknown = Vec::new();
        for file in files.iter().filter(|file| **file != own) {
            let text = fs::read_to_string(file).unwrap();
            let script = file.extension().is_some_and(|kind| kind == "sh");
            let names = if script { started_by_shell(&text) } else { started(&text) };
            let names = names.into_iter().filter(|name| !known(name));
            unknown.extend(names.map(|name| format!("{name} in {}", file.display())));
        }
        assert!(unknown.is_empty(), "call the kernel or std instead, or add a row to NEEDS: {unknown:#?}");
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
