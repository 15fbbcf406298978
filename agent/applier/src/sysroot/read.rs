//! What libostree says of the deployments, as plain data.

use std::collections::BTreeMap;
use std::path::Path;

use ostler_core::kargs;
use ostler_core::os::image::pull_specification;
use ostler_core::os::image_kargs;
use ostler_core::os::state::{Installed, OsState};
use ostree::gio::Cancellable;
use ostree::{Deployment, RepoListRefsExtFlags, gio, glib};
use serde::Deserialize;

const NEVER: Option<&Cancellable> = None;

/// Where libostree notes that a staged deployment could not be finished when the machine went down.
const FAILURE: &str = "boot/ostree/finalize-failure.stamp";

/// Under what names the repository keeps layers of images.
const LAYERS: &str = "ostree/container/blob";

/// Where an origin names packages that come from files.
const LOCAL: [(&str, &str); 3] =
    [("packages", "requested-local"), ("packages", "requested-local-fileoverride"), ("overrides", "replace-local")];

/// What is kept of such a note.
const MOST_FAILURE: usize = 4096;

/// The deployments of the sysroot at a directory.
pub(super) fn state(root: &Path) -> Result<OsState, glib::Error> {
    let sysroot = ostree::Sysroot::new(Some(&gio::File::for_path(root)));
    sysroot.load(NEVER)?;
    let repository = sysroot.repo();
    let deployments = sysroot.deployments();
    let read = |deployment: &Deployment| Installed {
        image_kargs: image_kargs(&root.join(sysroot.deployment_dirpath(deployment))),
        ..installed(&repository, deployment)
    };
    Ok(OsState {
        backend: None,
        booted: sysroot.booted_deployment().as_ref().map(read),
        staged: sysroot.staged_deployment().as_ref().map(read),
        rollback: rollback(&sysroot, &deployments).as_ref().map(read),
        deployments: deployments.iter().map(read).collect(),
        finalization_failure: finalization_failure(root),
    })
}

/// The first deployment behind the booted one, or behind the default one where none is booted.
pub(super) fn rollback(sysroot: &ostree::Sysroot, deployments: &[Deployment]) -> Option<Deployment> {
    let finished: Vec<&Deployment> = deployments.iter().filter(|deployment| !deployment.is_staged()).collect();
    let booted = sysroot.booted_deployment();
    let here = match &booted {
        Some(booted) => finished.iter().position(|deployment| deployment.equal(booted))?,
        None => 0,
    };
    let mut behind = finished.into_iter().skip(here + 1);
    // Another state root has another system in it.
    behind.find(|other| booted.as_ref().is_none_or(|booted| other.osname() == booted.osname())).cloned()
}

/// Digests of the layers that the repository keeps. Each has a reference of its own, for as long as an image has it.
pub(super) fn layers(root: &Path) -> Result<Vec<String>, glib::Error> {
    let sysroot = ostree::Sysroot::new(Some(&gio::File::for_path(root)));
    sysroot.load(NEVER)?;
    let references = sysroot.repo().list_refs_ext(Some(LAYERS), RepoListRefsExtFlags::empty(), NEVER)?;
    let digest = |reference: &String| {
        let name = reference.strip_prefix(LAYERS)?.strip_prefix('/')?;
        // A colon is no letter of references.
        name.split_once("_3A_").map(|(algorithm, digits)| format!("{algorithm}:{digits}"))
    };
    Ok(references.keys().filter_map(digest).collect())
}

/// Whether the booted and the staged deployment have the same SELinux policy, or none.
pub(super) fn same_policy(root: &Path) -> Result<bool, glib::Error> {
    let sysroot = ostree::Sysroot::new(Some(&gio::File::for_path(root)));
    sysroot.load(NEVER)?;
    let policy = |deployment: &Deployment| {
        let directory = root.join(sysroot.deployment_dirpath(deployment));
        Ok::<_, glib::Error>(ostree::SePolicy::new(&gio::File::for_path(directory), NEVER)?.csum())
    };
    let policies =
        [sysroot.booted_deployment(), sysroot.staged_deployment()].map(|one| one.as_ref().map(policy).transpose());
    let [booted, staged] = policies;
    Ok(booted? == staged?)
}

fn installed(repository: &ostree::Repo, deployment: &Deployment) -> Installed {
    let checksum = deployment.csum().to_string();
    let origin = deployment.origin();
    let list = |group, key| origin.as_ref().map(|origin| strings(origin, group, key)).unwrap_or_default();
    let commit = CommitFacts::find(repository, &checksum);
    Installed {
        image: origin.as_ref().and_then(image),
        digest: commit.digest,
        version: commit.version,
        checksum,
        boot_checksum: deployment.bootcsum().to_string(),
        serial: u32::try_from(deployment.deployserial()).unwrap_or_default(),
        stateroot: deployment.osname().to_string(),
        kargs: kargs(deployment),
        image_kargs: Vec::new(),
        pinned: deployment.is_pinned(),
        packages: list("packages", "requested"),
        removals: list("overrides", "remove"),
        local: LOCAL.iter().flat_map(|(group, key)| list(group, key)).collect(),
    }
}

/// Kernel arguments without the one by which the initramfs finds the deployment.
pub(super) fn kargs(deployment: &Deployment) -> Vec<String> {
    let options = deployment.bootconfig().and_then(|config| config.get("options"));
    let mut kargs = kargs::split(options.as_deref().unwrap_or_default());
    kargs.retain(|argument| !argument.starts_with("ostree="));
    kargs
}

/// Kernel arguments that the image of a deployment lists, given the directory of the deployment.
fn image_kargs(deployment: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(deployment.join(image_kargs::DIRECTORY)).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.to_str().is_some_and(|path| path.ends_with(image_kargs::ENDING)));
    files.sort();
    let texts = files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    texts.flat_map(|text| image_kargs::parse(&text, std::env::consts::ARCH)).collect()
}

/// What a deployment was made from: a container image, or what the machine-config-daemon of old wrote down as one.
fn image(origin: &glib::KeyFile) -> Option<String> {
    if let Ok(reference) = origin.string("origin", "container-image-reference") {
        return Some(pull_specification(&reference).to_owned());
    }
    let url = origin.string("origin", "custom-url").ok()?;
    url.strip_prefix("pivot://").map(str::to_owned)
}

fn strings(origin: &glib::KeyFile, group: &str, key: &str) -> Vec<String> {
    let list = origin.string_list(group, key).ok();
    let names = list.iter().flat_map(|list| list.iter()).map(ToString::to_string);
    names.filter(|name| !name.is_empty()).collect()
}

/// What a commit says of itself.
#[derive(Debug, Default)]
struct CommitFacts {
    digest: Option<String>,
    version: Option<String>,
}

impl CommitFacts {
    /// Of a commit, or of the image's commit below one that packages were layered on.
    fn find(repository: &ostree::Repo, checksum: &str) -> Self {
        let Ok((commit, _)) = repository.load_commit(checksum) else { return Self::default() };
        let facts = Self::of(&commit);
        match ostree::commit_get_parent(&commit) {
            Some(parent) if facts.digest.is_none() => {
                let below = repository.load_commit(&parent).map(|(commit, _)| Self::of(&commit)).unwrap_or_default();
                Self { digest: below.digest, version: facts.version.or(below.version) }
            }
            _ => facts,
        }
    }

    fn of(commit: &glib::Variant) -> Self {
        let Some(metadata) = commit.try_child_value(0) else { return Self::default() };
        let metadata = glib::VariantDict::new(Some(&metadata));
        let text = |key: &str| metadata.lookup::<String>(key).ok().flatten();
        let labelled = text("ostree.container.image-config").and_then(|config| label(&config));
        Self { digest: text("ostree.manifest-digest"), version: labelled.or_else(|| text("version")) }
    }
}

/// The part of an image's configuration that holds its version.
#[derive(Deserialize)]
struct ImageConfig {
    config: Option<Container>,
}

#[derive(Deserialize)]
struct Container {
    #[serde(rename = "Labels", default)]
    labels: Option<BTreeMap<String, String>>,
}

fn label(config: &str) -> Option<String> {
    let mut labels = serde_json::from_str::<ImageConfig>(config).ok()?.config?.labels?;
    labels.remove("org.opencontainers.image.version").or_else(|| labels.remove("version"))
}

fn finalization_failure(root: &Path) -> Option<String> {
    let text = std::fs::read(root.join(FAILURE)).ok()?;
    let kept = String::from_utf8_lossy(text.get(..MOST_FAILURE).unwrap_or(&text)).trim().to_owned();
    (!kept.is_empty()).then_some(kept)
}
