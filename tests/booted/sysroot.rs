//! A sysroot made by the real `ostree`, and trees of a few files to deploy in it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::os_root;
use super::site::{self, Site};

/// The operating system in every sysroot here.
pub const STATEROOT: &str = "node";
/// How much there is room for in `/boot`.
const BOOT_SIZE: &str = "size=64m";
/// Without it nothing that is staged is ever booted; on Debian it has a package of its own, `ostree-boot`.
const FINALIZER: &str = "/usr/lib/systemd/system/ostree-finalize-staged.service";

const DIRECTORIES: &[&str] = &["boot", "dev", "proc", "run", "sys", "sysroot", "tmp", "var", "usr/bin"];
const LINKS: &[(&str, &str)] = &[
    ("bin", "usr/bin"),
    ("sbin", "usr/sbin"),
    ("lib", "usr/lib"),
    ("lib64", "usr/lib64"),
    ("ostree", "sysroot/ostree"),
    ("home", "var/home"),
    ("opt", "var/opt"),
    ("root", "var/roothome"),
    ("usr/etc/os-release", "../usr/lib/os-release"),
    (
        "usr/etc/systemd/system/multi-user.target.wants/ostree-finalize-staged.path",
        "/usr/lib/systemd/system/ostree-finalize-staged.path",
    ),
];
/// Accounts: root, the usual user, and whoever the packages' units and dbus-daemon run as.
const FILES: &[(&str, &str)] = &[
    (
        "usr/etc/passwd",
        "root:x:0:0::/root:/bin/sh\ncore:x:1000:1000::/home/core:/bin/sh\nmessagebus:x:101:101::/:/bin/false\n\
         dbus:x:102:102::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n",
    ),
    ("usr/etc/group", "root:x:0:\ncore:x:1000:\nmessagebus:x:101:\ndbus:x:102:\nnogroup:x:65534:\n"),
    ("usr/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ("usr/etc/hosts", "127.0.0.1 localhost\n"),
    ("usr/etc/hostname", "node\n"),
    ("usr/etc/containers/policy.json", "{\"default\": [{\"type\": \"insecureAcceptAnything\"}]}\n"),
];

/// The sysroot, on a site of its own.
pub struct Sysroot(Site);

impl Sysroot {
    /// An empty sysroot; nothing, loudly, where none can be had.
    pub fn if_possible() -> Option<Self> {
        Self::on(Site::if_possible()?)
    }

    /// An empty sysroot on a site that has none yet.
    pub fn on(site: Site) -> Option<Self> {
        site::or_skip(site::need(&["/usr/bin/ostree", &os_root::path(FINALIZER).to_string_lossy()]))?;
        let sysroot = Self(site);
        sysroot.make();
        Some(sysroot)
    }

    /// `/boot` is a filesystem of its own, and a running machine has `/sysroot` read-only, as on a real node.
    fn make(&self) {
        let at = self.place();
        fs::create_dir(self.path("")).unwrap();
        self.ostree(&["admin", "init-fs", "--modern", &at]);
        site::succeed(self.0.command("mount").args(["-t", "tmpfs", "-o", BOOT_SIZE, "boot"]).arg(self.path("boot")));
        self.ostree(&["admin", "os-init", "--sysroot", &at, STATEROOT]);
        for (key, value) in [("sysroot.bootloader", "none"), ("sysroot.readonly", "true")] {
            self.repo(&["config", "set", key, value]);
        }
    }

    /// Commits a tree of a version and gives its checksum, which is also that of the branch `node/VERSION`.
    pub fn commit(&self, version: &str) -> String {
        let tree = self.0.path("tree");
        plant(&tree, version).unwrap();
        let branch = format!("--branch=node/{version}");
        let metadata = format!("--add-metadata-string=version={version}");
        let from = format!("--tree=dir={}", tree.display());
        let checksum = self.repo(&["commit", "--bootable", "--consume", &branch, &metadata, &from]);
        let _ = fs::remove_dir_all(&tree);
        checksum.trim_end().to_owned()
    }

    /// Makes a commit, by checksum or branch, the default deployment of a machine that is off.
    pub fn deploy(&self, commit: &str, kernel_arguments: &[&str]) {
        let (at, os) = (self.place(), format!("--os={STATEROOT}"));
        let arguments: Vec<_> = kernel_arguments.iter().map(|argument| format!("--karg={argument}")).collect();
        let mut words = vec!["admin", "deploy", "--sysroot", &at, &os];
        words.extend(arguments.iter().map(String::as_str));
        words.push(commit);
        self.ostree(&words);
    }

    /// What `ostree` prints; fails if that does not succeed.
    pub fn ostree(&self, arguments: &[&str]) -> String {
        site::succeed(self.0.command("ostree").args(arguments))
    }

    /// The same, on the sysroot's repository.
    pub fn repo(&self, arguments: &[&str]) -> String {
        let repo = format!("--repo={}", self.path("ostree/repo").display());
        self.ostree(&[&[repo.as_str()], arguments].concat())
    }

    /// A path in it as seen from here.
    pub fn path(&self, below: &str) -> PathBuf {
        self.0.path("sysroot").join(below)
    }

    /// Where it is.
    pub fn site(&self) -> &Site {
        &self.0
    }

    fn place(&self) -> String {
        self.path("").display().to_string()
    }
}

/// Makes a bootable tree of a version in a directory that is not there yet: all that this machine's `/usr` cannot lend.
pub fn plant(tree: &Path, version: &str) -> io::Result<()> {
    let modules = format!("usr/lib/modules/6.1.0-{version}");
    let release = format!(
        "NAME=\"Ostler Test OS\"\nID=ostler-test\nVERSION=\"{version}\"\nVERSION_ID=\"{version}\"\n\
         PRETTY_NAME=\"Ostler Test OS {version}\"\nOSTREE_VERSION='{version}'\n"
    );
    for directory in DIRECTORIES {
        fs::create_dir_all(tree.join(directory))?;
    }
    let kernel = [(format!("{modules}/vmlinuz"), "kernel"), (format!("{modules}/initramfs.img"), "initramfs")];
    let own = kernel.iter().map(|(path, what)| (path.as_str(), format!("{what} {version}\n")));
    let own = own.chain([("usr/lib/os-release", release)]);
    for (path, text) in FILES.iter().map(|(path, text)| (*path, (*text).to_owned())).chain(own) {
        write(&tree.join(path), text.as_bytes())?;
    }
    for (path, target) in LINKS {
        let at = tree.join(path);
        at.parent().map_or(Ok(()), fs::create_dir_all)?;
        symlink(target, at)?;
    }
    os_root::loader_cache().map_or(Ok(()), |cache| write(&tree.join("usr/etc/ld.so.cache"), &cache))
}

fn write(at: &Path, contents: &[u8]) -> io::Result<()> {
    at.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(at, contents)
}
