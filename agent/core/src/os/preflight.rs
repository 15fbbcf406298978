//! What speaks against changing the operating system, found before a node is drained for it.
//!
//! Owns the judgement of facts that the host has gathered, and the words for it. Refuses to gather: whatever could not be
//! found out is among the facts.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::image::Pinned;
use super::mirrors::Place;
use super::release::{Base, DECISION_PATH, Decision, Passage, passage};
use super::trust::{self, Requirement, Ruling};

/// How many times its compressed size an image takes in the sysroot. CoreOS images unpack to about two and a half times
/// their size; what is more is room for the deployment's own `/etc` and for ostree's bookkeeping.
const UNPACKED: u64 = 3;
/// ostree leaves this share of the filesystem free (`min-free-space-percent`), in percent.
const OSTREE_RESERVE: u64 = 3;

/// Everything that was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The image that is to be deployed.
    pub image: Pinned,
    /// The digest of its manifest for this machine; none where nobody told.
    pub manifest: Option<String>,
    /// What room there is and what is needed.
    pub space: Vec<Space>,
    /// Which places were asked for the image, in the order in which they are pulled from; or why that is not known.
    pub asked: Result<Vec<Asked>, String>,
    /// What has to be true of the image's signatures; or why the policy cannot be used.
    pub trust: Result<Trust, String>,
    /// Who is changing the operating system right now.
    pub occupant: Option<String>,
    /// What has failed here before.
    pub failed: Vec<FailedTarget>,
    /// Major versions.
    pub releases: Releases,
}

/// Room on a filesystem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Where it is mounted.
    pub directory: String,
    /// Bytes left.
    pub free: u64,
    /// Bytes needed.
    pub needed: u64,
    /// Bytes that are freed for the new deployment if need be, such as those of the rollback deployment.
    pub reclaimable: u64,
}

/// A place and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Which.
    pub place: Place,
    /// What it said.
    pub answer: Answer,
}

/// What a place said when it was asked for the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has it.
    Has,
    /// It did not answer, or not sensibly; it may later.
    Unreachable(String),
    /// It answered, and trying again will not change it.
    Refused(String),
    /// It was not asked: it may not be, or an earlier one had the image.
    NotAsked,
}

/// The signature policy for the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// What it asks.
    pub ruling: Ruling,
    /// Those of the key files that are not there.
    pub missing: Vec<String>,
}

/// A target that was tried and given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedTarget {
    /// The configuration that asked for it, by name; none where the image failed whoever asked.
    pub config: Option<String>,
    /// The digest of the image.
    pub digest: String,
    /// What happened.
    pub reason: String,
}

/// Major versions, where they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Releases {
    /// What runs.
    pub booted: Option<u32>,
    /// What the image holds.
    pub target: Option<Base>,
    /// What the machine was installed from.
    pub boot_image: Option<u32>,
    /// Whether the machine has just been installed and has never run anything else.
    pub first_boot: bool,
    /// What a person has allowed; or why that is not known.
    pub decision: Result<Decision, String>,
}

impl Default for Trust {
    fn default() -> Self {
        Self { ruling: Ruling { requirement: Requirement::AcceptsAnything, scope: None }, missing: Vec::new() }
    }
}

/// Bytes that layers need in the sysroot: all but those that are there already, unpacked, and what ostree keeps free.
pub fn sysroot_need(layers: &[(String, u64)], present: &[String], filesystem: u64) -> u64 {
    let missing = layers.iter().filter(|(digest, _)| !present.contains(digest));
    let compressed = missing.fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
    let reserve = filesystem / 100 * OSTREE_RESERVE;
    if compressed == 0 { 0 } else { compressed.saturating_mul(UNPACKED).saturating_add(reserve) }
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// In the way now, and perhaps not later.
    Transient,
    /// In the way until a person does something.
    Refusal,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// What it is about.
    pub subject: String,
    /// What is the matter.
    pub cause: String,
    /// What a person can do about it.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; {}", self.subject, self.cause, self.remedy)
    }
}

/// What follows from all findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is in the way.
    Go,
    /// To be tried again.
    Later,
    /// Not as it is.
    Refused,
}

/// What follows: the gravest finding decides.
pub fn verdict(findings: &[Finding]) -> Verdict {
    match findings.iter().map(|finding| finding.severity).max() {
        None | Some(Severity::Note) => Verdict::Go,
        Some(Severity::Transient) => Verdict::Later,
        Some(Severity::Refusal) => Verdict::Refused,
    }
}

/// Judges the facts. The gravest comes first.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(failed(facts));
    findings.extend(on_trust(facts));
    findings.extend(on_places(facts));
    findings.extend(on_release(facts));
    findings.extend(on_boot_image(facts));
    findings.extend(facts.space.iter().filter_map(on_space));
    findings.extend(occupied(facts));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn finding(severity: Severity, subject: impl Into<String>, cause: impl Into<String>, remedy: &str) -> Finding {
    Finding { severity, subject: subject.into(), cause: cause.into(), remedy: remedy.to_owned() }
}

fn failed(facts: &Facts) -> Option<Finding> {
    held_against(&facts.image, &facts.failed)
}

/// What an image that was given up before is refused with.
pub fn held_against(image: &Pinned, failed: &[FailedTarget]) -> Option<Finding> {
    let failed = failed.iter().find(|failed| failed.digest == image.digest())?;
    let by = failed.config.as_ref().map(|config| format!(" for {config}")).unwrap_or_default();
    let remedy = "give the pool another image, or try this one again with: touch /run/machine-config-daemon-force";
    Some(finding(Severity::Refusal, image.to_string(), format!("it failed here{by}: {}", failed.reason), remedy))
}

fn occupied(facts: &Facts) -> Option<Finding> {
    let occupant = facts.occupant.as_ref()?;
    let cause = format!("{occupant} is changing it");
    Some(finding(Severity::Transient, "the operating system", cause, "wait for it, or end it; it is tried again"))
}

fn on_space(space: &Space) -> Option<Finding> {
    if space.needed <= space.free {
        return None;
    }
    let cause = format!("{} are free, and about {} are needed", bytes(space.free), bytes(space.needed));
    if space.needed <= space.free.saturating_add(space.reclaimable) {
        let remedy = "the deployment to roll back to makes room when the new one is finished";
        return Some(finding(Severity::Note, &space.directory, cause, remedy));
    }
    let remedy = "free some space, for example with \"rpm-ostree cleanup -rpm\" or by removing pinned deployments; it is tried again";
    Some(finding(Severity::Transient, &space.directory, cause, remedy))
}

/// In the largest unit that leaves a number of at least ten.
fn bytes(count: u64) -> String {
    match count {
        0..10_240 => format!("{count} bytes"),
        10_240..10_485_760 => format!("{} KiB", count / 1024),
        10_485_760..10_737_418_240 => format!("{} MiB", count / (1024 * 1024)),
        _ => format!("{} GiB", count / (1024 * 1024 * 1024)),
    }
}

fn on_trust(facts: &Facts) -> Option<Finding> {
    let refuse = |cause: String, remedy: &str| Some(finding(Severity::Refusal, facts.image.to_string(), cause, remedy));
    let trust = match &facts.trust {
        Ok(trust) => trust,
        Err(why) => return refuse(why.clone(), "correct the file: without it no image can be trusted"),
    };
    let scope =
        trust.ruling.scope.as_ref().map_or_else(|| "its default".to_owned(), |scope| format!("scope {scope:?}"));
    if trust.ruling.requirement == Requirement::Rejected {
        let remedy = "allow the image there, or use one that is allowed: Ostler never changes that file";
        return refuse(format!("{} rejects it ({scope})", trust::PATH), remedy);
    }
    if trust.missing.is_empty() {
        return None;
    }
    let cause =
        format!("{} ({scope}) wants signatures by keys that are not there: {}", trust::PATH, trust.missing.join(", "));
    refuse(cause, "put the key files in place, or correct the policy")
}

fn on_places(facts: &Facts) -> Vec<Finding> {
    let asked = match &facts.asked {
        Ok(asked) => asked,
        Err(why) => {
            let remedy = "correct the file: with it no image can be pulled";
            return vec![finding(Severity::Refusal, facts.image.to_string(), why.clone(), remedy)];
        }
    };
    let found = asked.iter().any(|asked| asked.answer == Answer::Has);
    let open = asked.iter().any(|asked| asked.place.blocked.is_none());
    if !open {
        let by: Vec<&str> = asked.iter().filter_map(|asked| asked.place.blocked.as_deref()).collect();
        let cause = format!("every place it could be pulled from is blocked, by {}", by.join(", "));
        let remedy = "add a mirror that has it, or unblock one of them in registries.conf";
        return vec![finding(Severity::Refusal, facts.image.to_string(), cause, remedy)];
    }
    let again = asked.iter().any(|asked| matches!(asked.answer, Answer::Unreachable(_)));
    let severity = match (found, again) {
        (true, _) => Severity::Note,
        (false, true) => Severity::Transient,
        (false, false) => Severity::Refusal,
    };
    asked.iter().filter_map(|asked| unhelpful(asked, severity)).collect()
}

fn unhelpful(asked: &Asked, severity: Severity) -> Option<Finding> {
    let what = if asked.place.mirror { "mirror" } else { "registry" };
    let subject = format!("{what} {}", asked.place.image.repository());
    let (why, remedy) = match &asked.answer {
        Answer::Unreachable(why) => (why, "see whether it can be reached from this node; it is tried again"),
        Answer::Refused(why) => (why, "put the image there, or correct the pull secret, its certificates or its name"),
        Answer::Has | Answer::NotAsked => return None,
    };
    let remedy = if severity == Severity::Note { "another place has the image" } else { remedy };
    Some(finding(severity, subject, format!("it does not give {}: {why}", asked.place.image.digest()), remedy))
}

fn on_release(facts: &Facts) -> Option<Finding> {
    let subject = facts.image.to_string();
    let releases = &facts.releases;
    let decision = match &releases.decision {
        Ok(decision) => decision,
        Err(why) => return Some(finding(Severity::Refusal, subject, why.clone(), "correct the file or remove it")),
    };
    match passage(releases.booted, releases.target.map(|base| base.major), decision) {
        Passage::Free => None,
        Passage::Unknown => {
            let cause = "it is not known which major version of RHEL this machine runs, or which one the image holds";
            Some(finding(Severity::Note, subject, cause, "nothing needs to be done"))
        }
        Passage::Allowed { from, to } => {
            let cause = format!("it takes this machine from RHEL {from} to RHEL {to}");
            Some(finding(Severity::Note, subject, cause, &format!("{DECISION_PATH} allows it")))
        }
        Passage::Undecided { from, to } => {
            let back = if to < from { ", which is a way back that nobody supports" } else { "" };
            let cause = format!("it would take this machine from RHEL {from} to RHEL {to}{back}");
            let remedy = format!(
                "if that is meant, write \"allow-major {to}\" into {DECISION_PATH}; else give the pool an image of RHEL {from}"
            );
            Some(finding(Severity::Refusal, subject, cause, &remedy))
        }
        Passage::Closed { from, to } => {
            let cause =
                format!("it would take this machine from RHEL {from} to RHEL {to}, which cannot be done in place");
            let remedy = if to > from {
                "go through the major versions between, or install the machine anew"
            } else {
                "install the machine anew"
            };
            Some(finding(Severity::Refusal, subject, cause, remedy))
        }
    }
}

/// A machine that was just installed shall not change its major version with its first update; one that has run for
/// long is only reminded that new ones like it could not join.
fn on_boot_image(facts: &Facts) -> Option<Finding> {
    let releases = &facts.releases;
    let (image, target) = releases.boot_image.zip(releases.target.map(|base| base.major))?;
    if image == target {
        return None;
    }
    let cause = format!("this machine was installed from RHEL {image}, and {} holds RHEL {target}", facts.image);
    let allowed =
        releases.decision.as_ref().is_ok_and(|decision| decision.allows(target) && image.abs_diff(target) == 1);
    let severity = if releases.first_boot && !allowed { Severity::Refusal } else { Severity::Note };
    let mut remedy = format!("install new machines of this pool from a boot image of RHEL {target}");
    if severity == Severity::Refusal && image.abs_diff(target) == 1 {
        remedy.push_str(&format!(", or allow this one with a line \"allow-major {target}\" in {DECISION_PATH}"));
    }
    Some(finding(severity, "the boot image", cause, &remedy))
}

/// What to write instead of a name without digest.
pub fn pin_remedy(reference: &str, resolved: Option<&str>) -> String {
    let name = reference.split('@').next().unwrap_or(reference);
    let pinned = resolved.and_then(|digest| Pinned::parse(&format!("{name}@{digest}")).ok());
    match pinned {
        Some(pinned) => format!("write osImageURL: {pinned}, which is what it means now"),
        None => "write the digest of the image instead of its tag: see \"skopeo inspect --format '{{.Digest}}' docker://IMAGE\"".to_owned(),
    }
}

#[cfg(test)]
mod tests;
