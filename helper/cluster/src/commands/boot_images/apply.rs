//! `ostler-cluster bootimages apply`: one pass, and whether anybody else does the same.

use anyhow::Result;
use ostler_cluster_core::boot_images::Decision;
use ostler_cluster_core::objects::{MCO_NAMESPACE, Metadata, Resource};
use serde::Deserialize;

use super::pass::{Memory, Pass};
use super::show;
use crate::cli::boot_images::ApplyOptions;
use crate::cli::{ClusterOptions, Format};
use crate::commands::{Outcome, Trouble};
use crate::output;
use crate::source::{Live, ReadError, Source};

/// A deployment, of which it is enough that it is there.
#[derive(Deserialize)]
struct Deployment {
    #[serde(default)]
    metadata: Metadata,
}

impl Resource for Deployment {
    const GROUP: &'static str = "apps";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Deployment";
    const PLURAL: &'static str = "deployments";
    const NAMESPACED: bool = true;
}

/// Updates boot images once.
pub async fn apply(cluster: &ClusterOptions, options: &ApplyOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let live = owned(&source, options.basis.own, options.beside_controller).await?;
    let only = options.only.as_deref();
    let pass = Pass { source: &source, live, basis: &options.basis, only, leadership: None };
    let items = pass.go(&mut Memory::default()).await?;
    if let (Some(only), true) = (only, items.is_empty()) {
        return Err(
            Trouble::no_answer(format!("there is no machine resource called {only}: see `bootimages list`")).into()
        );
    }
    match options.output {
        Format::Json => output::json(&items)?,
        Format::Text => output::text(&show::plan(&items))?,
    }
    let failed = items.iter().any(|item| item.enrolled && item.decision == Decision::Error);
    Ok(if failed { Outcome::Failed } else { Outcome::Done })
}

/// The cluster to write to, where somebody has said that nobody else does.
pub async fn owned(source: &Source, own: bool, beside: bool) -> Result<&Live> {
    let Some(live) = source.live() else {
        return Err(
            Trouble::input("a directory cannot be changed: leave out --from-dir, or use `bootimages plan`").into()
        );
    };
    if !own {
        return Err(Trouble::input(
            "boot images are the machine-config operator's to update: say --own where it does not, or use `bootimages plan`",
        )
        .into());
    }
    match source.get::<Deployment>(Some(MCO_NAMESPACE), "machine-config-controller").await {
        Ok(Some(deployment)) if !beside => Err(Trouble::input(format!(
            "Deployment {} runs here and updates boot images too; say --beside-controller where it is kept from that",
            deployment.metadata.name
        ))
        .into()),
        Ok(_) => Ok(live),
        Err(error) if error.is_unknown_kind() => Ok(live),
        Err(error @ ReadError::Forbidden { .. }) if beside => {
            output::note(&error.to_string());
            Ok(live)
        }
        Err(error) => Err(error.into()),
    }
}
