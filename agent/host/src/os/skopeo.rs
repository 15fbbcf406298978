//! The skopeo command, which every CoreOS node has because rpm-ostree and bootc pull images with it.
//!
//! Owns how it is called: whose files it reads, which credentials it gets, how long it may take. Refuses every option
//! that weakens trust: no `--insecure-policy`, no policy of its own in the product, and TLS is only left out where
//! `registries.conf` says so.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_core::pinned::Credentials;
use ostler_core::secret::Secret;

use crate::command::Command;
use crate::disk::{Attributes, Disk, PathError, RootPath};

/// The merged pull secret, which also opens the cluster's own registry.
const MERGED_AUTH: &str = "/etc/mco/internal-registry-pull-secret.json";
/// The pull secret of the kubelet.
const KUBELET_AUTH: &str = "/var/lib/kubelet/config.json";
/// How the machine reaches the world.
const PROXY: &str = "/etc/mco/proxy.env";
/// Directories that skopeo takes for its user's home, so that no file of a person on this node has a say. In one of them
/// an empty `registries.conf` makes it forget all mirrors, and the drop-ins in /etc too.
const HOMES: &str = "/run/ostler/skopeo";
const MOST_AUTH: u64 = 4 * 1024 * 1024;
const MOST_PROXY: u64 = 64 * 1024;

/// Which of the machine's registry settings count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mirrors {
    /// As `registries.conf` has it.
    Followed,
    /// Exactly the place that is named is asked.
    Forgotten,
}

/// How to call skopeo on this machine.
#[derive(Clone, Debug)]
pub struct Skopeo {
    program: PathBuf,
    root: PathBuf,
    auth: Option<RootPath>,
    proxy: Vec<(String, Secret<String>)>,
    extra: Vec<OsString>,
}

impl Skopeo {
    /// Looks up credentials and proxies, and makes the directories that are needed. `root` is where the disk is rooted.
    pub fn prepare(disk: &impl Disk, root: &Path) -> io::Result<Self> {
        let settings = path(&format!("{HOMES}/exact/.config/containers/registries.conf"))?;
        let home = path(&format!("{HOMES}/system"))?;
        for directory in settings.ancestors().iter().chain([&home]) {
            ensure_directory(disk, directory)?;
        }
        if disk.stat(&settings)?.is_none() {
            tolerate(disk.create(&settings, b"", Attributes { mode: 0o644, uid: 0, gid: 0 }))?;
        }
        Ok(Self {
            program: PathBuf::from("skopeo"),
            root: root.to_owned(),
            auth: auth_file(disk)?,
            proxy: proxy(disk)?,
            extra: Vec::new(),
        })
    }

    /// Uses other global options, such as another policy: for tests.
    #[cfg(test)]
    pub(crate) fn with(mut self, options: &[&str]) -> Self {
        self.extra.extend(options.iter().map(OsString::from));
        self
    }

    /// A call with its global options; the subcommand and all else is added to it.
    pub(super) fn call(&self, mirrors: Mirrors, limit: Duration, most: usize) -> Command {
        let home = match mirrors {
            Mirrors::Followed => "system",
            Mirrors::Forgotten => "exact",
        };
        let home = self.below(&format!("{HOMES}/{home}"));
        let command = Command::new(&self.program, limit, most).arguments(&self.extra);
        let command = command.environment("XDG_CONFIG_HOME", home.join(".config")).environment("HOME", home);
        self.proxy.iter().fold(command, |command, (name, value)| command.environment(name, value.expose()))
    }

    /// The option that names the credentials, if there are any.
    pub(super) fn auth_options(&self) -> Vec<OsString> {
        let file = self.auth.iter().map(|path| self.below(path.as_str()).into_os_string());
        file.flat_map(|file| [OsString::from("--authfile"), file]).collect()
    }

    /// What is in the file with the credentials; nothing where there is none, or it cannot be read.
    pub(crate) fn credentials(&self, disk: &impl Disk) -> Credentials {
        let bytes = self.auth.as_ref().and_then(|file| disk.read(file, MOST_AUTH).ok());
        bytes.map(|bytes| Credentials::parse(&bytes)).unwrap_or_default()
    }

    /// Where a path of the disk is for another process.
    pub(super) fn below(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

/// The merged pull secret where it is one, else the kubelet's. Only that it is JSON is looked at.
fn auth_file(disk: &impl Disk) -> io::Result<Option<RootPath>> {
    let merged = path(MERGED_AUTH)?;
    let is_json = |bytes: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    if disk.read(&merged, MOST_AUTH).is_ok_and(|bytes| is_json(&bytes)) {
        return Ok(Some(merged));
    }
    let kubelet = path(KUBELET_AUTH)?;
    Ok(disk.stat(&kubelet)?.map(|_| kubelet))
}

/// Assignments of proxies, as systemd reads them; other lines mean nothing here.
fn proxy(disk: &impl Disk) -> io::Result<Vec<(String, Secret<String>)>> {
    let bytes = match disk.read(&path(PROXY)?, MOST_PROXY) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let text = String::from_utf8_lossy(&bytes);
    let assignments = text.lines().filter_map(|line| line.trim().split_once('='));
    let proxies = assignments.filter(|(name, _)| {
        let name = name.trim().to_ascii_uppercase();
        matches!(name.as_str(), "HTTP_PROXY" | "HTTPS_PROXY" | "NO_PROXY")
    });
    let unquoted = |value: &str| value.trim().trim_matches(['"', '\'']).to_owned();
    Ok(proxies.map(|(name, value)| (name.trim().to_owned(), Secret::new(unquoted(value)))).collect())
}

/// A path of our own making.
pub(crate) fn path(text: &str) -> io::Result<RootPath> {
    RootPath::new(text).map_err(|error: PathError| io::Error::new(ErrorKind::InvalidInput, error))
}

/// Makes a directory unless it is there.
pub(crate) fn ensure_directory(disk: &impl Disk, path: &RootPath) -> io::Result<()> {
    match disk.stat(path)? {
        Some(_) => Ok(()),
        None => tolerate(disk.make_directory(path, Attributes { mode: 0o755, uid: 0, gid: 0 })),
    }
}

/// Another run may have been quicker.
fn tolerate(made: io::Result<()>) -> io::Result<()> {
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::memory::MemoryDisk;

    #[test]
    fn the_merged_pull_secret_counts_while_it_is_json() {
        for (merged, kubelet, expected) in [
            (Some("{}"), true, Some(MERGED_AUTH)),
            (Some("{"), true, Some(KUBELET_AUTH)),
            (None, true, Some(KUBELET_AUTH)),
            (Some(""), false, None),
        ] {
            let files = merged.map(|text| (MERGED_AUTH, text, 0o600)).into_iter();
            let files: Vec<_> = files.chain(kubelet.then_some((KUBELET_AUTH, "{}", 0o600))).collect();
            let disk = MemoryDisk::with(&files).unwrap();
            let found = auth_file(&disk).unwrap();
            assert_eq!(found.as_ref().map(RootPath::as_str), expected, "{merged:?} {kubelet}");
        }
    }

    #[test]
    fn proxies_are_passed_on_and_not_shown() {
        let text =
            "# x\nHTTP_PROXY=http://me:hunter2@p:1\nHTTPS_PROXY=\"http://p:2\"\nNO_PROXY=a,b\nLD_PRELOAD=x\nnoise\n";
        let disk = MemoryDisk::with(&[(PROXY, text, 0o644)]).unwrap();
        let skopeo = Skopeo::prepare(&disk, Path::new("/")).unwrap();
        let names: Vec<&str> = skopeo.proxy.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]);
        assert_eq!(skopeo.proxy[1].1.expose(), "http://p:2");
        assert!(!format!("{skopeo:?}").contains("hunter2"));
    }

    #[test]
    fn preparing_twice_changes_nothing() {
        let disk = MemoryDisk::new();
        Skopeo::prepare(&disk, Path::new("/")).unwrap();
        Skopeo::prepare(&disk, Path::new("/")).unwrap();
        let settings = path("/run/ostler/skopeo/exact/.config/containers/registries.conf").unwrap();
        assert_eq!(disk.read(&settings, 10).unwrap(), b"");
    }
}
