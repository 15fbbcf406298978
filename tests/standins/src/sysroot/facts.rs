//! What is known of a deployment, as plain data that may cross threads.
//!
//! The stand-ins publish it in their own shapes; nothing here decides anything.

use anyhow::{Context, Result};
use ostree_ext::container::store::query_image_commit;
use ostree_ext::container::version_for_config;
use ostree_ext::oci_spec::image::{ANNOTATION_CREATED, ImageConfiguration};
use ostree_ext::{glib, ostree};

use super::kargs;
use super::origin::{self, Requests};

/// One deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeploymentFacts {
    /// The OS (stateroot) it belongs to.
    pub osname: String,
    /// The commit.
    pub checksum: String,
    /// Tells deployments of one commit apart.
    pub serial: i32,
    /// Whether it is running.
    pub booted: bool,
    /// Whether it waits to be finalised at shutdown.
    pub staged: bool,
    /// Whether its finalisation is locked.
    pub locked: bool,
    /// Whether it is kept by request.
    pub pinned: bool,
    /// The kernel arguments, in order, without `ostree=`.
    pub kargs: Vec<String>,
    /// The fields of its boot loader entry.
    pub boot_config: Vec<(String, String)>,
    /// The reference of its image or branch.
    pub reference: Option<Reference>,
    /// The image it was made of.
    pub image: Option<ImageFacts>,
    /// The version its commit names, else the one of its image.
    pub version: Option<String>,
    /// The time of its commit, in seconds since 1970.
    pub timestamp: u64,
    /// The packages asked for.
    pub requests: Requests,
    /// What its commit says of the image in texts, whole manifests among them.
    pub commit_meta: Vec<(String, String)>,
}

/// Keys of a commit that ostree-ext fills with documents of the image.
const COMMIT_KEYS: [&str; 4] =
    ["version", "ostree.manifest-digest", "ostree.manifest", "ostree.container.image-config"];

/// Where a deployment comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A container image, in the notation of ostree-ext.
    Image(String),
    /// A branch of an ostree remote.
    Refspec(String),
}

/// What is known of the image of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageFacts {
    /// The digest of the manifest.
    pub digest: String,
    /// The version label.
    pub version: Option<String>,
    /// When it was built.
    pub created: Option<String>,
    /// The architecture.
    pub architecture: String,
    /// A newer image of the same reference that was seen but not deployed.
    pub update: Option<Box<ImageFacts>>,
}

/// All deployments of `sysroot`, in boot order.
pub fn read_all(sysroot: &ostree::Sysroot) -> Result<Vec<DeploymentFacts>> {
    sysroot.deployments().iter().map(|deployment| read(sysroot, deployment)).collect()
}

/// One deployment of `sysroot`.
pub fn read(sysroot: &ostree::Sysroot, deployment: &ostree::Deployment) -> Result<DeploymentFacts> {
    let checksum = deployment.csum().to_string();
    let repo = sysroot.repo();
    let (commit, _) = repo.load_commit(&checksum).with_context(|| format!("loading the commit {checksum}"))?;
    let meta = glib::VariantDict::new(Some(&commit.child_value(0)));
    let origin = deployment.origin();
    let reference = origin.as_ref().and_then(origin::reference);
    let image = match reference {
        Some(Reference::Image(_)) => Some(read_image(&repo, &checksum)?),
        _ => None,
    };
    let image_version = image.as_ref().and_then(|image: &ImageFacts| image.version.clone());
    Ok(DeploymentFacts {
        osname: deployment.osname().to_string(),
        serial: deployment.deployserial(),
        booted: sysroot.booted_deployment().is_some_and(|booted| booted.equal(deployment)),
        staged: deployment.is_staged(),
        locked: deployment.is_staged() && super::deploy::finalization_lock().exists(),
        pinned: deployment.is_pinned(),
        kargs: kargs::of(deployment).into_iter().filter(|karg| !karg.starts_with("ostree=")).collect(),
        boot_config: boot_config(deployment),
        reference,
        image,
        version: meta.lookup::<String>("version").ok().flatten().or(image_version),
        timestamp: ostree::commit_get_timestamp(&commit),
        requests: origin.as_ref().map(Requests::read).unwrap_or_default(),
        commit_meta: COMMIT_KEYS
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), meta.lookup::<String>(key).ok().flatten()?)))
            .collect(),
        checksum,
    })
}

fn read_image(repo: &ostree::Repo, checksum: &str) -> Result<ImageFacts> {
    let state = query_image_commit(repo, checksum)?;
    let update = state
        .cached_update
        .as_ref()
        .map(|update| Box::new(image_facts(update.manifest_digest.to_string(), &update.config)));
    Ok(ImageFacts { update, ..image_facts(state.manifest_digest.to_string(), &state.configuration) })
}

fn image_facts(digest: String, config: &ImageConfiguration) -> ImageFacts {
    let labels = config.config().as_ref().and_then(|config| config.labels().as_ref());
    ImageFacts {
        digest,
        version: version_for_config(config).map(str::to_owned),
        created: labels.and_then(|labels| labels.get(ANNOTATION_CREATED)).or(config.created().as_ref()).cloned(),
        architecture: config.architecture().to_string(),
        update: None,
    }
}

fn boot_config(deployment: &ostree::Deployment) -> Vec<(String, String)> {
    let Some(config) = deployment.bootconfig() else { return Vec::new() };
    ["title", "linux", "initrd", "options", "version"]
        .into_iter()
        .filter_map(|key| config.get(key).map(|value| (key.to_owned(), value.to_string())))
        .collect()
}
