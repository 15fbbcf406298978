//! Labels of images, from registries or from a file, and how a cluster or a person says to reach registries.
//!
//! Owns the wiring only: `ostler-registry` asks, the core decides what labels mean.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_cluster_core::objects::{
    ControllerConfig, ControllerConfigSpec, ImageConfig, ImageContentSourcePolicy, ImageDigestMirrorSet,
    ImageTagMirrorSet, MirrorRule, Proxy, Resource, SecretObject,
};
use ostler_cluster_core::streams::Labels;
use ostler_registry::{
    Cache, Credentials, Mirrors, Options, Pace, Platform, Proxy as Ways, Registry, Secret, Serves, SourcePolicy,
    is_bundle,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::cli::RegistryOptions;
use crate::commands::Trouble;
use crate::source::{ReadError, Source};
use crate::{input, output};

/// Where a release says which images it has.
const IMAGE_REFERENCES: &str = "/release-manifests/image-references";
/// Where it says which boot images it has.
const BOOT_IMAGES: &str = "/release-manifests/0000_50_installer_coreos-bootimages.yaml";
/// Most bytes of either file.
const MAX_FILE: u64 = 8 << 20;
/// Longest time to get one, with all that is tried again.
const FILE_LIMIT: Duration = Duration::from_secs(300);
/// How long nobody wonders what takes so long.
const SLOW: Duration = Duration::from_secs(5);
/// Most files of a directory of certificates.
const MAX_BUNDLES: usize = 256;

/// Looks at images.
pub enum Inspector {
    /// Somebody has looked already.
    Given(BTreeMap<String, Labels>),
    /// Asks registries, and keeps what is known.
    Registry(Box<Registry>, Option<Cache>),
}

impl Inspector {
    /// With what the command line says, and the rest from the cluster, if there is one.
    pub async fn open(options: &RegistryOptions, cluster: Option<&Source>) -> Result<Self> {
        if let Some(path) = &options.image_labels {
            return Ok(Self::Given(input::labels(path)?));
        }
        let mut settings = Options { proxy: proxies_of_environment(), ..Options::default() };
        if let Some(cluster) = cluster {
            of_cluster(&mut settings, cluster).await;
        }
        of_command_line(&mut settings, options)?;
        let cache = settings.cache.clone();
        let registry = Registry::new(settings).context(Trouble::input("the settings for registries cannot be used"))?;
        Ok(Self::Registry(Box::new(registry), cache))
    }

    /// The labels of images; a failure stands where they would.
    pub async fn labels(&self, images: &BTreeSet<String>) -> BTreeMap<String, Labels> {
        match self {
            Self::Given(labels) => labels.clone(),
            Self::Registry(registry, cache) => {
                let images: Vec<String> = images.iter().cloned().collect();
                let found = told_if_slow(registry.inspect_many(&images, Pace::default())).await;
                if let Some(cache) = cache {
                    keep(cache, &images);
                }
                let labels = found.into_iter().map(|found| match found {
                    Ok(inspected) => Labels::Found(inspected.labels),
                    Err(error) => Labels::Unreachable(error.to_string()),
                });
                images.into_iter().zip(labels).collect()
            }
        }
    }

    /// `image-references` of a release.
    pub async fn image_references(&self, release: &str) -> Result<Vec<u8>, String> {
        match self {
            Self::Given(_) => {
                Err("its image-references cannot be read without a registry; give --image-references".to_owned())
            }
            Self::Registry(registry, _) => file(registry, release, IMAGE_REFERENCES).await,
        }
    }

    /// The manifest of a release with its boot images.
    pub async fn boot_images(&self, release: &str) -> Result<Vec<u8>, String> {
        match self {
            Self::Given(_) => Err("its boot images cannot be read without a registry".to_owned()),
            Self::Registry(registry, _) => file(registry, release, BOOT_IMAGES).await,
        }
    }
}

async fn file(registry: &Registry, release: &str, path: &str) -> Result<Vec<u8>, String> {
    let late = |_| format!("{release} was not read within {} s", FILE_LIMIT.as_secs());
    let reading = timeout(FILE_LIMIT, registry.file(release, path, MAX_FILE));
    let found = told_if_slow(reading).await.map_err(late)?;
    let found = found.map_err(|error| error.to_string())?;
    found.ok_or_else(|| format!("{release} has no {path}; it is no release"))
}

/// Waits for registries, and says so when it takes long.
async fn told_if_slow<T>(asking: impl Future<Output = T>) -> T {
    tokio::pin!(asking);
    if let Ok(answered) = timeout(SLOW, &mut asking).await {
        return answered;
    }
    output::note("a registry is slow or cannot be reached; it is asked again, for five minutes at most");
    asking.await
}

/// What nobody refers to any more goes in time. A cache that cannot be written is only slower next time.
fn keep(cache: &Cache, images: &[String]) {
    let digest = |image: &String| image.rsplit_once('@').map(|(_, digest)| digest.to_owned());
    cache.evict(&images.iter().filter_map(digest).collect());
    if let Err(error) = cache.save() {
        output::note(&format!("what is known of images cannot be kept: {error}"));
    }
}

fn proxies_of_environment() -> Ways {
    let value =
        |names: [&str; 2]| names.into_iter().find_map(|name| env::var(name).ok()).filter(|value| !value.is_empty());
    Ways {
        http: value(["HTTP_PROXY", "http_proxy"]).map(Secret::new),
        https: value(["HTTPS_PROXY", "https_proxy"]).map(Secret::new),
        except: value(["NO_PROXY", "no_proxy"]).unwrap_or_default(),
    }
}

/// What a person says counts before what the cluster says.
fn of_command_line(settings: &mut Options, options: &RegistryOptions) -> Result<()> {
    if let Some(path) = &options.authfile {
        settings.credentials = credentials(path)?;
    }
    if let Some(path) = &options.registry_config {
        let words = || Trouble::input(format!("cannot use {}", path.display()));
        let text = String::from_utf8(input::bytes(path)?).with_context(words)?;
        settings.mirrors = Mirrors::from_registries_conf(&text).with_context(words)?;
    }
    for path in &options.trust_bundle {
        settings.authorities.extend(bundles(path)?);
    }
    settings.certificates.clone_from(&options.per_host_certs);
    if let Some(architecture) = &options.architecture {
        settings.platform = Platform { os: "linux".to_owned(), architecture: architecture.clone() };
    }
    settings.cache = options.cache.as_deref().map(|path| Cache::open(path, jiff::Timestamp::now));
    Ok(())
}

/// Credentials from a file. One without any is the wrong file; an entry that cannot be read is only told.
fn credentials(path: &Path) -> Result<Credentials> {
    let bytes = input::bytes(path)?;
    let has_auths = |document: &Value| document.get("auths").is_some_and(Value::is_object);
    if !serde_json::from_slice(&bytes).is_ok_and(|document| has_auths(&document)) {
        let words = format!(
            "{} is no JSON with \"auths\"; \"oc extract secret/pull-secret -n openshift-config\" writes such a file",
            path.display()
        );
        return Err(Trouble::input(words).into());
    }
    let credentials = Credentials::parse(&bytes);
    for name in &credentials.unreadable {
        output::note(&format!("the credentials for {name} in {} cannot be read and are left out", path.display()));
    }
    Ok(credentials)
}

/// Certificates of a file, or of all files of a directory that hold any.
fn bundles(path: &Path) -> Result<Vec<Vec<u8>>> {
    let files = if path.is_dir() { files_of(path)? } else { vec![path.to_owned()] };
    let mut bundles = Vec::new();
    for file in files {
        bundles.extend(Some(input::bytes(&file)?).filter(|bundle| is_bundle(bundle)));
    }
    if bundles.is_empty() {
        let words = format!("{} holds no certificate in PEM that can be used", path.display());
        return Err(Trouble::input(words).into());
    }
    Ok(bundles)
}

fn files_of(directory: &Path) -> Result<Vec<PathBuf>> {
    let words = || Trouble::input(format!("cannot use {}", directory.display()));
    let entries = std::fs::read_dir(directory).with_context(words)?.take(MAX_BUNDLES);
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files: Vec<PathBuf> = paths.with_context(words)?.into_iter().filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

/// Best effort: what cannot be read is told, and registries are asked without it.
async fn of_cluster(settings: &mut Options, cluster: &Source) {
    if let Some(secret) = told(cluster.get::<SecretObject>(Some("openshift-config"), "pull-secret").await) {
        let value = secret.data.get(".dockerconfigjson").and_then(|value| STANDARD.decode(value.expose()).ok());
        settings.credentials = value.map(|value| Credentials::parse(&value)).unwrap_or_default();
    }
    if let Some(config) = told(cluster.get::<ControllerConfig>(None, ControllerConfig::NAME).await) {
        trusted_by_nodes(settings, &config.spec);
    }
    if settings.proxy.https.is_none()
        && let Some(proxy) = told(cluster.get::<Proxy>(None, "cluster").await)
    {
        let status = proxy.status;
        settings.proxy = Ways { http: status.http_proxy, https: status.https_proxy, except: status.no_proxy };
    }
    if let Some(config) = told(cluster.get::<ImageConfig>(None, "cluster").await) {
        let sources = config.spec.registry_sources;
        sources.insecure_registries.iter().for_each(|registry| settings.mirrors.allow_insecure(registry));
        sources.blocked_registries.iter().for_each(|registry| settings.mirrors.block(registry));
    }
    for (serves, rule) in mirror_rules(cluster).await {
        let never = rule.mirror_source_policy == "NeverContactSource";
        let policy = if never { SourcePolicy::NeverContactSource } else { SourcePolicy::AllowContactingSource };
        settings.mirrors.add(serves, &rule.source, &rule.mirrors, policy);
    }
}

/// Trusts whom nodes trust: authorities for every registry, and those for single ones, which mirrors have as a rule.
fn trusted_by_nodes(settings: &mut Options, spec: &ControllerConfigSpec) {
    for (field, text) in [("additionalTrustBundle", &spec.additional_trust_bundle), ("rootCAData", &spec.root_ca)] {
        let bundle = STANDARD.decode(text).unwrap_or_default();
        if is_bundle(&bundle) {
            settings.authorities.push(bundle);
        } else if !text.is_empty() {
            output::note(&format!(
                "{field} of the ControllerConfig holds no certificate that can be used; it is left out"
            ));
        }
    }
    for bundle in spec.registry_bundles.iter().chain(&spec.user_registry_bundles) {
        let text = settings.host_authorities.entry(bundle.registry()).or_default();
        text.extend(STANDARD.decode(&bundle.data).unwrap_or_default());
        text.push(b'\n');
    }
}

async fn mirror_rules(cluster: &Source) -> Vec<(Serves, MirrorRule)> {
    let older =
        all::<ImageContentSourcePolicy>(cluster).await.into_iter().flat_map(|set| set.spec.repository_digest_mirrors);
    let digests = all::<ImageDigestMirrorSet>(cluster).await.into_iter().flat_map(|set| set.spec.image_digest_mirrors);
    let tags = all::<ImageTagMirrorSet>(cluster).await.into_iter().flat_map(|set| set.spec.image_tag_mirrors);
    let by_digest = older.chain(digests).map(|rule| (Serves::Digests, rule));
    by_digest.chain(tags.map(|rule| (Serves::Tags, rule))).collect()
}

async fn all<T: Resource>(cluster: &Source) -> Vec<T> {
    told(cluster.list::<T>(None).await.map(Some)).unwrap_or_default()
}

/// A kind that the cluster does not know is as good as none of its objects.
fn told<T>(read: Result<Option<T>, ReadError>) -> Option<T> {
    read.unwrap_or_else(|error| {
        if !error.is_unknown_kind() {
            output::note(&format!("registries are asked without it: {error}"));
        }
        None
    })
}
