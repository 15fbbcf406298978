//! Labels of images, from registries or from a file, and how a cluster or a person says to reach registries.
//!
//! Owns the wiring only: `ostler-registry` asks, the core decides what labels mean.

use std::collections::{BTreeMap, BTreeSet};
use std::env;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_cluster_core::objects::{
    ControllerConfig, ImageConfig, ImageContentSourcePolicy, ImageDigestMirrorSet, ImageTagMirrorSet, MirrorRule,
    Proxy, Resource, SecretObject,
};
use ostler_cluster_core::streams::Labels;
use ostler_registry::{
    Cache, Credentials, Mirrors, Options, Pace, Platform, Proxy as Ways, Registry, Secret, Serves, SourcePolicy,
};

use crate::cli::RegistryOptions;
use crate::commands::Trouble;
use crate::source::{ReadError, Source};
use crate::{input, output};

/// Where a release says which images it has.
const IMAGE_REFERENCES: &str = "/release-manifests/image-references";
/// Most bytes of that file.
const MAX_REFERENCES: u64 = 8 << 20;

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
                let found = registry.inspect_many(&images, Pace::default()).await;
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
            Self::Registry(registry, _) => {
                let found = registry.file(release, IMAGE_REFERENCES, MAX_REFERENCES).await;
                let found = found.map_err(|error| error.to_string())?;
                found.ok_or_else(|| format!("{release} has no {IMAGE_REFERENCES}; it is no release"))
            }
        }
    }
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
        settings.credentials = Credentials::parse(&input::bytes(path)?);
    }
    if let Some(path) = &options.registry_config {
        let words = || Trouble::input(format!("cannot use {}", path.display()));
        let text = String::from_utf8(input::bytes(path)?).with_context(words)?;
        settings.mirrors = Mirrors::from_registries_conf(&text).with_context(words)?;
    }
    for path in &options.trust_bundle {
        settings.authorities.push(input::bytes(path)?);
    }
    settings.certificates.clone_from(&options.per_host_certs);
    if let Some(architecture) = &options.architecture {
        settings.platform = Platform { os: "linux".to_owned(), architecture: architecture.clone() };
    }
    settings.cache = options.cache.as_deref().map(|path| Cache::open(path, jiff::Timestamp::now));
    Ok(())
}

/// Best effort: what cannot be read is told, and registries are asked without it.
async fn of_cluster(settings: &mut Options, cluster: &Source) {
    if let Some(secret) = told(cluster.get::<SecretObject>(Some("openshift-config"), "pull-secret").await) {
        let value = secret.data.get(".dockerconfigjson").and_then(|value| STANDARD.decode(value.expose()).ok());
        settings.credentials = value.map(|value| Credentials::parse(&value)).unwrap_or_default();
    }
    if let Some(config) = told(cluster.get::<ControllerConfig>(None, ControllerConfig::NAME).await) {
        let bundle = STANDARD.decode(&config.spec.additional_trust_bundle).unwrap_or_default();
        settings.authorities.extend(Some(bundle).filter(|bundle| !bundle.is_empty()));
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
