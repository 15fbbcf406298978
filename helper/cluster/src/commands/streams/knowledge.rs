//! What is known of a cluster's streams and pools, read once for a question.

use anyhow::{Context, Result};
use ostler_cluster_core::objects::{
    ClusterVersion, ConfigMap, MCO_NAMESPACE, MachineConfig, MachineConfigPool, OSImageStream, OSImageStreamStatus,
};
use ostler_cluster_core::streams::{Cluster, Policy, Version};
use ostler_core::document;

use crate::cli::PolicyOptions;
use crate::commands::Trouble;
use crate::source::Source;
use crate::{input, output};

/// What is known.
pub struct Knowledge {
    /// What it offers.
    pub offered: OSImageStreamStatus,
    /// All pools.
    pub pools: Vec<MachineConfigPool>,
    /// All configurations; none where they were not asked for.
    pub configs: Vec<MachineConfig>,
    /// What comes to its end.
    pub policy: Policy,
    /// The release the cluster wants.
    pub release: Option<Version>,
}

impl Knowledge {
    /// Reads it. Without an object that somebody has filled in there is no answer.
    pub async fn read(source: &Source, policy: &PolicyOptions, with_configs: bool) -> Result<Self> {
        let object = source.get::<OSImageStream>(None, OSImageStream::NAME).await;
        let object = match object {
            Err(error) if error.is_unknown_kind() => {
                return Err(anyhow::Error::from(error).context(Trouble::no_answer("the cluster has no streams")));
            }
            read => read?,
        };
        let object = object.ok_or_else(|| {
            Trouble::no_answer("there is no OSImageStream; \"streams discover\" tells what it would be")
        })?;
        let offered = object.status.ok_or_else(|| {
            Trouble::no_answer("the OSImageStream has no status yet; \"streams discover\" tells what it would be")
        })?;
        let pools = source.list(None).await?;
        let configs = if with_configs { source.list(None).await? } else { Vec::new() };
        let release = release_of(source).await;
        let policy = policy_of(source, policy).await?;
        if release.is_none() && policy != Policy::default() {
            output::note("which streams come to their end is not told: no ClusterVersion says which release it is");
        }
        source.notes().iter().for_each(|note| output::note(note));
        Ok(Self { offered, pools, configs, policy, release })
    }

    /// The same as the core wants it.
    pub fn cluster(&self) -> Cluster<'_> {
        Cluster {
            offered: &self.offered,
            pools: &self.pools,
            configs: &self.configs,
            policy: &self.policy,
            release: self.release.as_ref(),
        }
    }

    /// A pool by its name.
    pub fn pool(&self, name: &str) -> Result<&MachineConfigPool> {
        let found = self.pools.iter().find(|pool| pool.metadata.name == name);
        let names = || self.pools.iter().map(|pool| pool.metadata.name.as_str()).collect::<Vec<_>>().join(", ");
        Ok(found.ok_or_else(|| Trouble::no_answer(format!("there is no pool {name}; there are: {}", names())))?)
    }
}

/// The release the cluster wants; only what comes to its end depends on it, so a cluster that does not say is told, no more.
async fn release_of(source: &Source) -> Option<Version> {
    let version = source.get::<ClusterVersion>(None, ClusterVersion::NAME).await.unwrap_or_else(|error| {
        if !error.is_unknown_kind() {
            output::note(&error.to_string());
        }
        None
    });
    Version::parse(&version?.status.desired.version).ok()
}

/// The policy of a file, or of the ConfigMap, or an empty one.
pub async fn policy_of(source: &Source, options: &PolicyOptions) -> Result<Policy> {
    let (document, from) = match &options.policy {
        Some(path) => (input::document(path)?, path.display().to_string()),
        None => {
            let map: Option<ConfigMap> = source.get(Some(MCO_NAMESPACE), Policy::CONFIG_MAP).await?;
            let Some(text) = map.and_then(|map| map.data.get(Policy::KEY).cloned()) else {
                return Ok(Policy::default());
            };
            let from = format!("ConfigMap {}", Policy::CONFIG_MAP);
            (document::parse(text.as_bytes()).with_context(|| Trouble::input(format!("cannot use {from}")))?, from)
        }
    };
    Policy::from_document(document).with_context(|| Trouble::input(format!("cannot use {from}")))
}
