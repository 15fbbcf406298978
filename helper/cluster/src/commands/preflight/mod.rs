//! `ostler-cluster preflight`: what would go wrong with an update, asked and told. Changes nothing in the cluster: there
//! is no verb here but reading.

mod boot;
mod gather;
mod release;
mod store;
#[cfg(test)]
mod tests;
mod view;
mod watch;

use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use ostler_cluster_core::preflight::{
    Document, Execution, Findings, Inventory, Reading, ReleaseVersion, Target, compare, evaluate,
};
use ostler_cluster_core::streams::Policy;
use tokio::time::Instant;

use release::Release;
use watch::Marks;

use super::{Outcome, Trouble};
use crate::cli::{ClusterOptions, Format, PreflightOptions};
use crate::source::Source;
use crate::{input, output};

/// The first release all of whose nodes run RHEL 9, and the kernel of that.
const RHEL_9: ((u64, u64), (u64, u64)) = ((4, 13), (5, 14));
/// What part of the time may be spent on the target release, so that enough is left for the cluster.
const RELEASE_SHARE: u32 = 2;
/// Most targets that are put side by side.
const MOST_TARGETS: usize = 16;

/// All of it.
pub async fn preflight(cluster: &ClusterOptions, options: &PreflightOptions) -> Result<Outcome> {
    let versions = versions(options)?;
    let policy = policy(options)?;
    let source = Source::open_to_read(cluster).await?;
    let limit = Duration::from_secs(options.timeout);
    if options.compare {
        let begin = Instant::now();
        let until = begin + limit / RELEASE_SHARE;
        let releases = release::releases(&options.release, versions.len(), &source, until).await?;
        let (inventory, late) = gathered(&source, begin + limit, policy.as_ref()).await;
        source.notes().iter().for_each(|note| output::note(note));
        return side_by_side(&inventory, late, options, versions.iter().zip(&releases));
    }
    let Some(version) = versions.first() else {
        return Err(Trouble::input("name the release with --target-version").into());
    };
    again_and_again(cluster, options, source, version, policy.as_ref()).await
}

/// One answer, or with `--watch` as many as there are changes.
async fn again_and_again(
    cluster: &ClusterOptions,
    options: &PreflightOptions,
    mut source: Source,
    version: &ReleaseVersion,
    policy: Option<&Policy>,
) -> Result<Outcome> {
    let limit = Duration::from_secs(options.timeout);
    let mut written: Option<Document> = None;
    let mut known: Option<Release> = None;
    loop {
        let begin = Instant::now();
        let marks = if options.watch { Marks::of(&source).await } else { Marks::default() };
        let release = match known.take().filter(|release| !release.is_lacking()) {
            Some(release) => release,
            None => release::of_one(&options.release, &source, begin + limit / RELEASE_SHARE).await?,
        };
        if let (None, Some(path)) = (&written, &options.output) {
            store::write(path, &Document::running(&target(options, version, &release, Timestamp::now())))?;
        }
        let (inventory, late) = gathered(&source, begin + limit, policy).await;
        source.notes().iter().filter(|_| written.is_none()).for_each(|note| output::note(note));
        let target = target(options, version, &release, Timestamp::now());
        let (findings, document) = judged(&inventory, late || release.late, &target);
        if written.as_ref().is_none_or(|before| !before.says_as(&document)) {
            tell(options, &target, &findings, &document)?;
            written = Some(document);
        }
        if !options.watch {
            return Ok(Outcome::Done);
        }
        known = Some(release);
        watch::wait(&source, marks, &inventory, options.interval.map(Duration::from_secs), begin).await;
        reopen(cluster, &mut source).await;
    }
}

/// A directory may have been written anew. While somebody is at it, what was read before has to do.
async fn reopen(cluster: &ClusterOptions, source: &mut Source) {
    if cluster.from_dir.is_some() {
        match Source::open_to_read(cluster).await {
            Ok(opened) => *source = opened,
            Err(error) => output::error(&error),
        }
    }
}

async fn gathered(source: &Source, deadline: Instant, policy: Option<&Policy>) -> (Inventory, bool) {
    let (mut inventory, late) = gather::inventory(source, deadline).await;
    if let Some(policy) = policy {
        inventory.policy = Reading::Read(policy.clone());
    }
    (inventory, late)
}

/// The policy of a file, if one is named.
fn policy(options: &PreflightOptions) -> Result<Option<Policy>> {
    let Some(path) = &options.policy else { return Ok(None) };
    let policy = Policy::from_document(input::document(path)?);
    policy.map(Some).with_context(|| Trouble::input(format!("cannot use {}", path.display())))
}

fn judged(inventory: &Inventory, late: bool, target: &Target) -> (Findings, Document) {
    let findings = evaluate(inventory, target);
    let execution = if late { Execution::Failed } else { Execution::Completed };
    let document = Document::new(target, &findings, execution);
    (findings, document)
}

fn side_by_side<'a>(
    inventory: &Inventory,
    late: bool,
    options: &PreflightOptions,
    targets: impl Iterator<Item = (&'a ReleaseVersion, &'a Release)>,
) -> Result<Outcome> {
    let now = Timestamp::now();
    let mut all = Vec::new();
    let mut documents = Vec::new();
    for (version, release) in targets {
        let target = target(options, version, release, now);
        let (findings, document) = judged(inventory, late || release.late, &target);
        all.push((version.to_string(), findings));
        documents.push(document);
    }
    match options.view {
        Format::Json => output::json(&documents)?,
        Format::Text => {
            output::text(&view::comparison(&compare(&all), documents.iter().all(Document::is_complete)))?;
        }
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

fn target(options: &PreflightOptions, version: &ReleaseVersion, release: &Release, now: Timestamp) -> Target {
    let (since, kernel) = RHEL_9;
    let usual = (version.minor() >= since).then_some(kernel);
    Target {
        version: version.clone(),
        kernel_floor: options.minimum_kernel.or(usual),
        window_days: options.window,
        now,
        images: release.images.clone(),
        boot_images: release.boot_images.clone(),
    }
}

fn tell(options: &PreflightOptions, target: &Target, findings: &Findings, document: &Document) -> Result<()> {
    if let Some(path) = &options.output {
        store::write(path, document)?;
    }
    match (options.view, &options.output) {
        (Format::Text, _) => output::text(&view::findings(target, findings, document.is_complete())),
        (Format::Json, None) => output::json(document),
        (Format::Json, Some(_)) => Ok(()),
    }
}
