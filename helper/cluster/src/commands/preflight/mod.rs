//! `ostler-cluster preflight`: what would go wrong with an update, asked and told. Changes nothing in the cluster: there
//! is no verb here but reading.

mod gather;
mod release;
mod store;
#[cfg(test)]
mod tests;
mod view;

use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use ostler_cluster_core::preflight::{
    Document, Execution, Findings, Inventory, ReleaseVersion, Target, compare, evaluate,
};
use tokio::time::{Instant, sleep};

use super::{Outcome, Trouble};
use crate::cli::{ClusterOptions, Format, PreflightOptions};
use crate::output;
use crate::source::Source;

/// The first release all of whose nodes run RHEL 9, and the kernel of that.
const RHEL_9: ((u64, u64), (u64, u64)) = ((4, 13), (5, 14));
/// Most targets that are put side by side.
const MOST_TARGETS: usize = 16;

/// All of it.
pub async fn preflight(cluster: &ClusterOptions, options: &PreflightOptions) -> Result<Outcome> {
    let versions = versions(options)?;
    let releases = release::releases(&options.release, versions.len())?;
    let mut source = Source::open(cluster).await?;
    if options.compare {
        return side_by_side(&source, options, &versions, &releases).await;
    }
    let (Some(version), Some(release)) = (versions.first(), releases.first()) else {
        return Err(Trouble::input("name the release with --target-version").into());
    };
    if let Some(path) = &options.output {
        store::write(path, &Document::running(&target(options, version, Timestamp::now())))?;
    }
    let mut written: Option<Document> = None;
    loop {
        let (inventory, late) = gathered(&source, options).await;
        source.notes().iter().filter(|_| written.is_none()).for_each(|note| output::note(note));
        let target = target(options, version, Timestamp::now());
        let (findings, document) = judged(&inventory, late, &target, release);
        if written.as_ref().is_none_or(|before| !before.says_as(&document)) {
            tell(options, &target, &findings, &document)?;
            written = Some(document);
        }
        if !options.watch {
            return Ok(Outcome::Done);
        }
        sleep(Duration::from_secs(options.interval)).await;
        if cluster.from_dir.is_some() {
            source = Source::open(cluster).await?;
        }
    }
}

async fn gathered(source: &Source, options: &PreflightOptions) -> (Inventory, bool) {
    gather::inventory(source, Instant::now() + Duration::from_secs(options.timeout)).await
}

fn judged(inventory: &Inventory, late: bool, target: &Target, _release: &release::Release) -> (Findings, Document) {
    let findings = evaluate(inventory, target);
    let execution = if late { Execution::Failed } else { Execution::Completed };
    let document = Document::new(target, &findings, execution);
    (findings, document)
}

async fn side_by_side(
    source: &Source,
    options: &PreflightOptions,
    versions: &[ReleaseVersion],
    releases: &[release::Release],
) -> Result<Outcome> {
    let (inventory, late) = gathered(source, options).await;
    source.notes().iter().for_each(|note| output::note(note));
    let now = Timestamp::now();
    let mut all = Vec::new();
    let mut documents = Vec::new();
    for (version, release) in versions.iter().zip(releases) {
        let target = target(options, version, now);
        let (findings, document) = judged(&inventory, late, &target, release);
        all.push((version.to_string(), findings));
        documents.push(document);
    }
    match options.view {
        Format::Json => output::json(&documents)?,
        Format::Text => output::text(&view::comparison(&compare(&all)))?,
    }
    Ok(Outcome::Done)
}

fn versions(options: &PreflightOptions) -> Result<Vec<ReleaseVersion>> {
    let read = |text: &String| ReleaseVersion::parse(text).map_err(|error| Trouble::input(error.to_string()));
    let versions: Vec<ReleaseVersion> = options.targets.iter().map(read).collect::<Result<_, _>>()?;
    if versions.len() > 1 && !options.compare {
        return Err(Trouble::input("several releases are named; put them side by side with --compare").into());
    }
    if versions.len() > MOST_TARGETS {
        return Err(Trouble::input(format!("more than {MOST_TARGETS} releases are named")).into());
    }
    Ok(versions)
}

fn target(options: &PreflightOptions, version: &ReleaseVersion, now: Timestamp) -> Target {
    let (since, kernel) = RHEL_9;
    let usual = (version.minor() >= since).then_some(kernel);
    Target {
        version: version.clone(),
        kernel_floor: options.minimum_kernel.or(usual),
        window_days: options.window,
        now,
    }
}

fn tell(options: &PreflightOptions, target: &Target, findings: &Findings, document: &Document) -> Result<()> {
    if let Some(path) = &options.output {
        store::write(path, document)?;
    }
    match (options.view, &options.output) {
        (Format::Text, _) => output::text(&view::findings(target, findings)),
        (Format::Json, None) => output::json(document),
        (Format::Json, Some(_)) => Ok(()),
    }
}
