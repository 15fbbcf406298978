//! A system in a directory: an archive unpacked, looked at as a whole, entered for a command, gone when dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Everything of this process's namespaces that a script of a package could reach is left behind.
const APART: [&str; 6] = ["--net", "--pid", "--fork", "--ipc", "--uts", "--"];

/// What changes with every installation and is nobody's file: the package managers' own books, and accounts, which stay.
const BOOKS: [&str; 12] = [
    "/var/lib/dpkg",
    "/var/lib/rpm",
    "/var/log",
    "/var/cache",
    "/var/lib/systemd/catalog",
    "/etc/passwd",
    "/etc/group",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/.pwd.lock",
    "/etc/ld.so.cache",
    "/packages",
];

/// What a file is, without its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub mode: u32,
    pub owner: (u32, u32),
    /// Size and time, of a file.
    contents: Option<(u64, i64)>,
}

/// Everything in a system by path.
pub type Everything = BTreeMap<String, Entry>;

/// The system.
pub struct System {
    root: tempfile::TempDir,
}

impl System {
    /// A system and the directory of packages, or nothing, loudly. `OSTLER_REQUIRE_PACKAGES=1` makes that a failure.
    pub fn if_possible() -> Option<(Self, PathBuf)> {
        let found = packages().and_then(|packages| Ok((Self::unpacked()?, packages)));
        found.map_err(skipped).ok()
    }

    fn unpacked() -> Result<Self, String> {
        let archive =
            std::env::var_os("OSTLER_FRESH_ROOT").ok_or("OSTLER_FRESH_ROOT names no system to install into")?;
        if fs::metadata("/proc/self").map_err(|error| error.to_string())?.uid() != 0 {
            return Err("installing needs root".to_owned());
        }
        if !Command::new("unshare").args(APART).arg("true").status().is_ok_and(|status| status.success()) {
            return Err("there are no namespaces to be had".to_owned());
        }
        let root = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut tar = Command::new("tar");
        tar.args(["--extract", "--numeric-owner", "--file"]).arg(archive).arg("--directory").arg(root.path());
        // Devices cannot be made everywhere; the one that scripts need is made below.
        tar.args(["--exclude=./dev/*"]);
        let output = tar.output().map_err(|error| error.to_string())?;
        assert!(output.status.success(), "{output:?}");
        fs::create_dir_all(root.path().join("packages")).unwrap();
        let system = Self { root };
        assert!(Command::new("cp").args(["-a", "/dev/null"]).arg(system.path("dev/null")).status().unwrap().success());
        Ok(system)
    }

    /// Where something in it is.
    pub fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below.trim_start_matches('/'))
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Puts a package where commands inside find it, and says where.
    pub fn take(&self, package: &Path) -> String {
        let name = package.file_name().unwrap().to_str().unwrap();
        fs::copy(package, self.path("packages").join(name)).unwrap();
        format!("/packages/{name}")
    }

    /// Runs a command in it, which must succeed and warn of nothing.
    pub fn run(&self, line: &str) -> String {
        let inside: Vec<_> = line.split_whitespace().collect();
        let mut command = Command::new("unshare");
        command.args(APART).arg("chroot").arg(self.root.path()).args(inside);
        said(line, command.env_clear().env("PATH", "/usr/sbin:/usr/bin").output().unwrap())
    }

    /// Runs a command of this machine, apart from it.
    pub fn run_beside(&self, line: &[&str]) -> String {
        let mut command = Command::new("unshare");
        said(&line.join(" "), command.args(APART).args(line).output().unwrap())
    }

    /// What is in it, except the books.
    pub fn everything(&self) -> Everything {
        let mut found = Everything::new();
        self.collect(self.root.path(), &mut found);
        found
    }

    fn collect(&self, directory: &Path, into: &mut Everything) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("/{}", path.strip_prefix(self.root.path()).unwrap().display());
            if BOOKS
                .iter()
                .any(|book| name.strip_prefix(book).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '-'])))
            {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            let contents = meta.is_file().then(|| (meta.len(), meta.mtime()));
            let owner = (meta.uid(), meta.gid());
            into.insert(name, Entry { mode: meta.mode() & 0o7777, owner, contents });
            if meta.is_dir() {
                self.collect(&path, into);
            }
        }
    }

    /// The line of an account.
    pub fn account(&self, name: &str) -> Option<String> {
        let accounts = fs::read_to_string(self.path("etc/passwd")).unwrap();
        accounts.lines().find(|line| line.starts_with(&format!("{name}:"))).map(str::to_owned)
    }

    /// Whether a link is there, wherever it leads.
    pub fn has_link(&self, path: &str) -> bool {
        fs::symlink_metadata(self.path(path)).is_ok_and(|meta| meta.is_symlink())
    }
}

/// Paths that are new or different, and those that are gone.
pub fn changes(before: &Everything, after: &Everything) -> (BTreeSet<String>, BTreeSet<String>) {
    let is_new = |(path, entry): &(&String, &Entry)| before.get(*path) != Some(*entry);
    let new = after.iter().filter(is_new).map(|(path, _)| path.clone()).collect();
    let gone = before.keys().filter(|path| !after.contains_key(*path)).cloned().collect();
    (new, gone)
}

/// The packages to try: `old` and `new` below a directory.
pub fn packages() -> Result<PathBuf, String> {
    std::env::var_os("OSTLER_PACKAGES").map(PathBuf::from).ok_or("OSTLER_PACKAGES names no packages".to_owned())
}

/// Says why nothing was tried, or fails where it had to be.
pub fn skipped(reason: String) {
    let required = std::env::var_os("OSTLER_REQUIRE_PACKAGES").is_some_and(|value| value == "1");
    assert!(!required, "OSTLER_REQUIRE_PACKAGES=1, but packages cannot be tried: {reason}");
    eprintln!("SKIPPED: trying packages: {reason}; run cargo xtask package --trial");
}

/// The one file of a directory whose name has this beginning, a number after it, and this ending.
pub fn package(directory: &Path, beginning: &str, ending: &str) -> PathBuf {
    let fits = |name: &str| {
        let rest = name.strip_prefix(beginning).and_then(|rest| rest.strip_suffix(ending));
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let mut found: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| fits(path.file_name().unwrap().to_str().unwrap()));
    assert_eq!(found.len(), 1, "{beginning} {ending}: {found:?}");
    found.remove(0)
}

fn said(line: &str, output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !errors.contains("ostler:"), "{line}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}
