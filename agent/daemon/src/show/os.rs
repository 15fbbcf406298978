//! The deployments of a machine, and who put which kernel argument on their lines.

use std::fmt::Write as _;

use ostler_core::kargs;
use ostler_core::os::state::{Installed, OsState};
use ostler_core::status::Status;
use serde::Serialize;

use super::phrase::{CAUTION, FAINT, GOOD, HEADING, printable, styled};

/// As much of a checksum as people compare.
const SHORT: usize = 12;

/// What `ostler status` says of the operating system; nothing where there is nothing to show.
pub fn os(state: &OsState, own: &[String]) -> String {
    if state.deployments.is_empty() && state.finalization_failure.is_none() {
        return String::new();
    }
    let mut text = format!("\n{}", styled(HEADING, "Operating system"));
    if let Some(backend) = state.backend {
        let _ = write!(text, "  changed by {backend}");
    }
    text.push('\n');
    for (index, deployment) in state.deployments.iter().enumerate() {
        let is = |other: &Option<Installed>| other.as_ref() == Some(deployment);
        let role = match () {
            () if is(&state.staged) => styled(CAUTION, "staged  "),
            () if is(&state.booted) => styled(GOOD, "booted  "),
            () if is(&state.rollback) => "rollback".to_owned(),
            () if index == 0 => "default ".to_owned(),
            () => "kept    ".to_owned(),
        };
        text.push_str(&deployment_lines(&role, deployment, own));
    }
    if let Some(failure) = &state.finalization_failure {
        let failure = printable(failure);
        let _ = writeln!(text, "  a staged deployment was not finalized at the last shutdown: {failure}");
    }
    text
}

fn deployment_lines(role: &str, deployment: &Installed, own: &[String]) -> String {
    let image = deployment.image.as_deref().map_or_else(|| "no image".to_owned(), printable);
    let mut text = format!("  {role} {image}\n");
    let mut facts = Vec::new();
    facts.extend(deployment.version.as_deref().map(|version| format!("version {}", printable(version))));
    let named = |image: &str| deployment.digest.as_deref().is_some_and(|digest| image.ends_with(digest));
    if !deployment.image.as_deref().is_some_and(named) {
        facts.extend(deployment.digest.as_deref().map(|digest| format!("digest {}", printable(digest))));
    }
    facts.push(format!("commit {}", deployment.checksum.chars().take(SHORT).collect::<String>()));
    if deployment.pinned {
        facts.push("pinned".to_owned());
    }
    let _ = writeln!(text, "           {}", styled(FAINT, &facts.join(", ")));
    let ours = kargs::common(own, &deployment.kargs);
    let others = kargs::without(&deployment.kargs, &ours);
    for (whose, arguments) in [("kargs of the machine", others), ("kargs of the config", ours)] {
        if !arguments.is_empty() {
            let _ = writeln!(text, "           {whose}: {}", printable(&arguments.join(" ")));
        }
    }
    let packages = [("layered", &deployment.packages), ("removed", &deployment.removals)];
    for (what, names) in packages.into_iter().filter(|(_, names)| !names.is_empty()) {
        let _ = writeln!(text, "           {what}: {}", printable(&names.join(" ")));
    }
    text
}

/// The operating system in `ostler status -o json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OsDocument<'a> {
    backend: Option<&'static str>,
    booted: Option<DeploymentDocument<'a>>,
    staged: Option<DeploymentDocument<'a>>,
    rollback: Option<DeploymentDocument<'a>>,
    deployments: Vec<DeploymentDocument<'a>>,
    finalization_failure: Option<&'a str>,
    unknown: Option<&'a str>,
}

/// One deployment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeploymentDocument<'a> {
    image: Option<&'a str>,
    digest: Option<&'a str>,
    version: Option<&'a str>,
    checksum: &'a str,
    stateroot: &'a str,
    kargs: &'a [String],
    /// Those of them that the configuration put there.
    own_kargs: Vec<String>,
    pinned: bool,
    packages: &'a [String],
    removals: &'a [String],
}

impl<'a> OsDocument<'a> {
    /// Of this status.
    pub fn new(status: &'a Status) -> Self {
        let (state, own) = (&status.os, &status.own_kargs);
        let one = |deployment: &'a Option<Installed>| deployment.as_ref().map(|one| DeploymentDocument::new(one, own));
        Self {
            backend: state.backend.map(ostler_core::os::backend::Backend::name),
            booted: one(&state.booted),
            staged: one(&state.staged),
            rollback: one(&state.rollback),
            deployments: state.deployments.iter().map(|deployment| DeploymentDocument::new(deployment, own)).collect(),
            finalization_failure: state.finalization_failure.as_deref(),
            unknown: status.os_unknown.as_deref(),
        }
    }
}

impl<'a> DeploymentDocument<'a> {
    fn new(deployment: &'a Installed, own: &[String]) -> Self {
        Self {
            image: deployment.image.as_deref(),
            digest: deployment.digest.as_deref(),
            version: deployment.version.as_deref(),
            checksum: &deployment.checksum,
            stateroot: &deployment.stateroot,
            kargs: &deployment.kargs,
            own_kargs: kargs::common(own, &deployment.kargs),
            pinned: deployment.pinned,
            packages: &deployment.packages,
            removals: &deployment.removals,
        }
    }
}
