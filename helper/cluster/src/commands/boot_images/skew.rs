//! `ostler-cluster bootimages skew`.

use anyhow::Result;
use ostler_cluster_core::objects::{MachineConfigPool, OSImageStream, Provisioning, Resource};
use ostler_cluster_core::skew::{self, Evaluation, Pools, Question, Reading};

use super::gather::{Gathered, gather};
use crate::cli::boot_images::{BasisOptions, SkewOptions};
use crate::cli::{ClusterOptions, Format};
use crate::commands::Outcome;
use crate::output::{self, BAD, CAUTION, GOOD, HEADING, printable, styled};
use crate::source::{ReadError, Source};

/// Says whether boot images are too old.
pub async fn skew(cluster: &ClusterOptions, options: &SkewOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let Gathered { cluster, nodes, notes, .. } = gather(&source, &BasisOptions::default()).await?;
    let known = |read: Result<Option<Provisioning>, ReadError>| match read {
        Err(error) if error.is_unknown_kind() => Ok(None),
        read => read,
    };
    let provisioning = known(source.get(None, Provisioning::NAME).await)?;
    let pools: Vec<MachineConfigPool> = some(source.list(None).await)?;
    let streams: Vec<OSImageStream> = some(source.list(None).await)?;
    notes.iter().for_each(|note| output::note(note));
    let pools = Pools { pools: &pools, streams: streams.first() };
    let evaluation = skew::evaluate(&Question {
        configuration: cluster.configuration.as_ref().ok().and_then(Option::as_ref),
        infrastructure: cluster.infrastructure.as_ref().ok().and_then(Option::as_ref),
        version: cluster.version.as_ref().ok().and_then(Option::as_ref),
        legacy_metal: provisioning.is_some_and(|provisioning| !provisioning.download_url().is_empty()),
        nodes: &nodes,
        mismatches: &skew::mismatches(&cluster.machines, &cluster.user_data, &pools),
    });
    match options.output {
        Format::Json => output::json(&evaluation)?,
        Format::Text => output::text(&show(&evaluation))?,
    }
    Ok(Outcome::Done)
}

fn some<T: Resource>(read: Result<Vec<T>, ReadError>) -> Result<Vec<T>, ReadError> {
    match read {
        Err(error) if error.is_unknown_kind() => Ok(Vec::new()),
        read => read,
    }
}

fn show(evaluation: &Evaluation) -> String {
    let mut text = String::new();
    let enforcement = &evaluation.enforcement;
    let mut say = |name: &str, value: &str| text.push_str(&format!("{} {value}\n", styled(HEADING, name)));
    say("Enforcement:", &printable(&format!("{} ({})", enforcement.mode, enforcement.because)));
    let recorded = &enforcement.recorded;
    for (name, version) in
        [("Boot image of release:", &recorded.ocp_version), ("Boot image of RHCOS:", &recorded.rhcos_version)]
    {
        if let Some(version) = version {
            say(name, &printable(version));
        }
    }
    let (major, minor) = skew::RHCOS_LIMIT;
    say("At least:", &format!("OpenShift {}, or RHCOS of RHEL {major}.{minor}", skew::OCP_LIMIT));
    let (style, words) = match evaluation.reading {
        Reading::NotEnforced => (CAUTION, "not enforced"),
        Reading::Pending => (CAUTION, "boot images are being updated, or have not been yet"),
        Reading::Within => (GOOD, "new enough"),
        Reading::TooOld => (BAD, "too old"),
        Reading::Degraded => (BAD, "boot images could not be updated"),
        Reading::Unclear => (CAUTION, "nobody can tell"),
    };
    say("Verdict:", &styled(style, words));
    let upgradeable = &evaluation.upgradeable;
    say("Upgradeable:", &printable(&format!("{} ({})", upgradeable.status, upgradeable.reason)));
    for remedy in &evaluation.remedies {
        say("  -", &printable(remedy));
    }
    for warning in &evaluation.warnings {
        say("Warning:", &printable(warning));
    }
    for evidence in &evaluation.evidence {
        say("Installed from:", &printable(&format!("{} ({})", evidence.version, evidence.node)));
    }
    text
}
