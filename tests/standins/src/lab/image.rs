//! Commits of trees, and OCI images of commits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use ostree_ext::container::{Config, ExportOpts, ImageReference, Transport, encapsulate};
use ostree_ext::{gio, ostree};

use super::run;
use crate::sysroot::NONE;

/// Where an image goes, and how it is named on the way.
#[derive(Debug, Clone, Default)]
pub struct Destination {
    /// `oci:DIRECTORY[:TAG]` or `docker://HOST/REPOSITORY:TAG`.
    pub reference: String,
    /// Credentials for the registry.
    pub authfile: Option<PathBuf>,
    /// Certificates for the registry.
    pub cert_dir: Option<PathBuf>,
    /// Talk to the registry without TLS.
    pub plain_http: bool,
}

/// Commits the directory `tree` to the bare-user repository `repo`, which is made where it is missing; gives the commit.
pub fn commit(repo: &Path, tree: &Path, version: &str) -> Result<String> {
    if !repo.join("config").exists() {
        run(Command::new("ostree").args(["init", "--mode=bare-user", "--repo"]).arg(repo))?;
    }
    let mut command = Command::new("ostree");
    command.args(["commit", "--branch=lab", "--bootable"]);
    command.arg(format!("--add-metadata-string=version={version}"));
    command.arg(format!("--repo={}", repo.display())).arg(format!("--tree=dir={}", tree.display()));
    run(&mut command)
}

/// Makes an image of `commit` with `labels`, puts it at `destination`, and gives the digest of its manifest.
pub async fn publish(
    repo: &Path,
    commit: &str,
    labels: BTreeMap<String, String>,
    destination: &Destination,
) -> Result<String> {
    if destination.reference.starts_with("oci:") {
        let target = ImageReference::try_from(destination.reference.as_str())?;
        return export(repo, commit, labels, &target).await;
    }
    let scratch = tempfile::tempdir()?;
    let directory = scratch.path().join("image");
    let target = ImageReference { transport: Transport::OciDir, name: directory.display().to_string() };
    let digest = export(repo, commit, labels, &target).await?;
    push(&target.to_string(), destination)?;
    Ok(digest)
}

async fn export(repo: &Path, commit: &str, labels: BTreeMap<String, String>, to: &ImageReference) -> Result<String> {
    let repo = ostree::Repo::new(&gio::File::for_path(repo));
    repo.open(NONE).context("opening the repository")?;
    let config = Config { labels: Some(labels), cmd: None };
    let mut options = ExportOpts::default();
    options.skip_compression = true;
    options.legacy_version_label = true;
    options.copy_meta_opt_keys = vec!["version".to_owned()];
    let digest = encapsulate(&repo, commit, &config, Some(options), to).await.context("making the image")?;
    Ok(digest.to_string())
}

/// Copies the image `source`, in the notation of skopeo, to a registry; its digest stays.
pub fn push(source: &str, destination: &Destination) -> Result<()> {
    let mut command = Command::new("skopeo");
    // The policy of this host is about what it may run, not about what the lab may publish.
    command.args(["copy", "--insecure-policy", "--preserve-digests"]);
    if let Some(authfile) = &destination.authfile {
        command.arg("--dest-authfile").arg(authfile);
    }
    if let Some(cert_dir) = &destination.cert_dir {
        command.arg("--dest-cert-dir").arg(cert_dir);
    }
    if destination.plain_http {
        command.arg("--dest-tls-verify=false");
    }
    command.arg(source).arg(&destination.reference);
    run(&mut command).map(|_| ())
}
