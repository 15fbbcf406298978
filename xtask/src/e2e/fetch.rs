//! What an API server is made of, from the Debian mirror that this machine uses: pinned by checksum, never installed.
//!
//! Debian has Kubernetes as a source package of a full tree, and in its previous release the Go that this tree was
//! written for. Newer ones of Go compile it, but the result refuses valid objects.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{needs, process};

/// A file of the mirror's pool.
struct Pinned {
    pool: &'static str,
    sha256: &'static str,
}

const SOURCE: Pinned = Pinned {
    pool: "pool/main/k/kubernetes/kubernetes_1.20.5+really1.20.2.orig.tar.gz",
    sha256: "b83c0780efb182d928dc63d46488a847f161f04e40a94b96bf5247dd671ecdfc",
};
const GO: [Pinned; 2] = [
    Pinned {
        pool: "pool/main/g/golang-1.15/golang-1.15-go_1.15.15-1~deb11u4_amd64.deb",
        sha256: "33f6680406698b60370322aa5710be199006b3d66fbb0974b44da012de3aa82a",
    },
    Pinned {
        pool: "pool/main/g/golang-1.15/golang-1.15-src_1.15.15-1~deb11u4_amd64.deb",
        sha256: "e580f570f706d801191f9a17e55156736fc5979a6a878bab9304ca007ae29941",
    },
];

/// Raise it when the way of building changes, so that nobody keeps what the old way made.
const RECIPE: u32 = 1;

/// The program that downloads for apt, with its proxies and its checks.
const HELPER: &str = "/usr/lib/apt/apt-helper";

/// Where everything was put.
pub struct Sources {
    /// `GOROOT`.
    pub go: PathBuf,
    /// `GOPATH`, with the tree at its place.
    pub path: PathBuf,
    /// The `etcd` program.
    pub etcd: PathBuf,
}

/// Names what is built: it changes with every file that goes in.
pub fn key() -> String {
    let pins = std::iter::once(&SOURCE).chain(&GO).map(|pin| pin.sha256.chars().take(12).collect::<String>());
    format!("{}-r{RECIPE}", pins.collect::<Vec<_>>().join("-"))
}

/// Brings and unpacks everything below `work`.
pub fn all(work: &Path) -> Result<Sources> {
    if std::env::consts::ARCH != "x86_64" || !Path::new(HELPER).exists() {
        bail!("the recipe is for Debian on x86_64");
    }
    let mirror = mirror()?;
    let go = work.join("go");
    for pin in &GO {
        process::run(Command::new("dpkg-deb").arg("--extract").arg(download(pin, &mirror, work)?).arg(&go))?;
    }
    let path = work.join("gopath");
    let tree = path.join("src/k8s.io/kubernetes");
    fs::create_dir_all(&tree)?;
    let archive = download(&SOURCE, &mirror, work)?;
    process::run(
        Command::new("tar").arg("--extract").arg("--strip-components=1").arg("-C").arg(&tree).arg("-f").arg(archive),
    )?;
    Ok(Sources { go: go.join("usr/lib/go-1.15"), path, etcd: etcd(work)? })
}

/// The archive that apt takes Debian from. Releases share its pool, so that the previous one need not be configured.
fn mirror() -> Result<String> {
    let format = "--format=$(REPO_URI)";
    let mut question = Command::new("apt-get");
    question.args(["indextargets", format, "Origin: Debian", "Label: Debian", "Created-By: Packages"]);
    let answer = process::answer(&mut question)?;
    let first = answer.lines().next().filter(|line| !line.is_empty());
    let mirror = first.context("apt knows no Debian archive, or has never fetched its index: run `apt-get update`")?;
    Ok(mirror.trim_end_matches('/').to_owned())
}

fn download(pin: &Pinned, mirror: &str, work: &Path) -> Result<PathBuf> {
    let name = pin.pool.rsplit('/').next().unwrap_or(pin.pool);
    let file = work.join(name);
    let mut command = Command::new(HELPER);
    command.arg("download-file").arg(format!("{mirror}/{}", pin.pool)).arg(&file);
    process::run(command.arg(format!("SHA256:{}", pin.sha256)))?;
    verify(&file, pin.sha256)?;
    Ok(file)
}

fn verify(file: &Path, sha256: &str) -> Result<()> {
    let answer = process::answer(Command::new("sha256sum").arg("--").arg(file))?;
    match answer.split_whitespace().next() {
        Some(found) if found == sha256 => Ok(()),
        found => bail!("{} has checksum {}, not {sha256}", file.display(), found.unwrap_or("none")),
    }
}

/// This machine's own, or else the package's, which stays uninstalled: installed, it would start a service. Apt checks
/// it against its signed index; it is rebuilt within a release, so a pin would soon name a file that is gone.
fn etcd(work: &Path) -> Result<PathBuf> {
    if needs::executable(Path::new(INSTALLED)) {
        return Ok(INSTALLED.into());
    }
    let place = work.join("etcd");
    fs::create_dir_all(&place)?;
    process::run(Command::new("apt-get").args(["download", "etcd-server"]).current_dir(&place))?;
    let package = fs::read_dir(&place)?.next().context("apt-get downloaded nothing")??.path();
    process::run(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&place))?;
    Ok(place.join("usr/bin/etcd"))
}

const INSTALLED: &str = "/usr/bin/etcd";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_names_every_file_and_fits_a_path() {
        let key = key();
        for pin in std::iter::once(&SOURCE).chain(&GO) {
            assert_eq!(pin.sha256.len(), 64, "{}", pin.pool);
            assert!(pin.sha256.chars().all(|digit| digit.is_ascii_hexdigit()), "{}", pin.pool);
            assert!(key.split('-').any(|part| part.len() == 12 && pin.sha256.starts_with(part)), "{key}");
        }
    }

    #[test]
    fn a_file_with_another_checksum_is_refused() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        verify(Path::new("/dev/null"), empty).unwrap();
        let error = verify(Path::new("/dev/null"), SOURCE.sha256).unwrap_err();
        assert!(error.to_string().contains(empty), "{error}");
    }
}
