//! The agent's part of the verdict: its source of configurations, its last decision and its background tasks.

use serde::{Deserialize, Serialize};

use super::Reason;
use crate::node::decide::{Decision, Next, Wait};
use crate::node::duties::DriftSummary;
use crate::node::situation::{DrainRequest, Phase, Trouble};
use crate::node::view::ConfigRef;
use crate::status::Status;

/// The agent of a machine, as seen by the reader of the verdict.
#[derive(Clone, Debug)]
pub enum Agent<'a> {
    /// None runs, and none is enabled.
    Absent,
    /// None runs, although one is enabled.
    Stopped,
    /// One may run, and does not answer.
    Silent {
        reason: String,
    },
    /// It runs and has decided nothing yet.
    Starting,
    Running(&'a AgentReport),
}

/// Where desired configurations come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ConfigSource {
    /// The Node object of a cluster.
    Cluster,
    /// A hosted cluster.
    Hosted,
    Directory,
    /// The files that Ignition left for the first boot.
    FirstBoot,
}

impl ConfigSource {
    /// How a hold on updates is released.
    pub const fn release(self) -> &'static str {
        match self {
            Self::Cluster | Self::Hosted => "remove the node's annotation ostler.dev/hold",
            Self::Directory | Self::FirstBoot => "remove the file \"hold\" from the directory of configurations",
        }
    }
}

/// A source that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lost {
    /// Since when, in seconds since 1970.
    pub since: u64,
    pub reason: String,
}

/// All that the agent knows of the node's state beyond the machine's own records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentReport {
    /// Where desired configurations come from.
    pub source: ConfigSource,
    /// The configuration of the machine, by the name that its source knows it by.
    pub current: Option<ConfigRef>,
    /// The desired configuration.
    pub desired: Option<ConfigRef>,
    /// The last decision.
    pub decision: Decision,
    /// When what failed is tried again, in seconds since 1970.
    pub retry_at: Option<u64>,
    /// That the source cannot be read.
    pub lost: Option<Lost>,
    /// That the API server does not accept the credentials as those of this node, in its own words.
    #[serde(default)]
    pub denied: Option<String>,
    /// The drift that was found last.
    pub drift: Option<DriftSummary>,
    /// Why certificates of the cluster cannot be written.
    pub certificates: Option<String>,
}

impl Agent<'_> {
    /// Whether an agent finishes what is open.
    pub const fn is_running(&self) -> bool {
        match self {
            Self::Starting | Self::Running(_) => true,
            Self::Absent | Self::Stopped | Self::Silent { .. } => false,
        }
    }

    /// What the agent adds to the verdict.
    pub(super) fn reasons(&self, machine: &Status) -> Vec<Reason> {
        match self {
            Self::Absent if machine.config.is_none() => vec![Reason::NoConfiguration, Reason::NoAgent],
            Self::Absent => vec![Reason::NoAgent],
            Self::Stopped => vec![Reason::AgentStopped],
            Self::Silent { reason } => vec![Reason::AgentSilent { reason: reason.clone() }],
            Self::Starting => vec![Reason::DesiredUnknown],
            Self::Running(report) => report.reasons(machine),
        }
    }
}

impl AgentReport {
    /// Every text in it, for who has to bound them.
    pub fn texts(&mut self) -> Vec<&mut String> {
        let mut texts = Vec::new();
        for reference in [&mut self.current, &mut self.desired].into_iter().flatten() {
            texts.push(&mut reference.config);
            texts.extend(&mut reference.image);
        }
        texts.extend(self.decision.trouble.as_mut().map(|trouble| &mut trouble.reason));
        texts.extend(self.decision.drain.as_mut().map(|request| match request {
            DrainRequest::Drain { config: text, .. }
            | DrainRequest::Uncordon { request: text }
            | DrainRequest::Withdraw { request: text } => text,
        }));
        texts.extend(match &mut self.decision.next {
            Next::GiveUp { reason } => vec![reason],
            Next::Wait(Wait::Release { reason } | Wait::Chance { reason } | Wait::Controller { request: reason }) => {
                vec![reason]
            }
            Next::Wait(Wait::RollbackRelease { hold }) => {
                [&mut hold.from, &mut hold.to].into_iter().chain(&mut hold.desired).collect()
            }
            Next::Wait(Wait::Settled | Wait::Target | Wait::Turn | Wait::Rival(_) | Wait::Restart)
            | Next::Wait(Wait::Unread { .. } | Wait::MergedPolicies)
            | Next::Wait(Wait::RestartPermission { .. })
            | Next::Wait(Wait::Proof { .. } | Wait::Help)
            | Next::Recover
            | Next::Withdraw
            | Next::TakeOver { .. }
            | Next::Plan
            | Next::Stage
            | Next::Unstage
            | Next::Apply
            | Next::Reboot { .. }
            | Next::Confirm => Vec::new(),
        });
        texts.extend(self.lost.as_mut().map(|lost| &mut lost.reason));
        texts.extend(&mut self.denied);
        texts.extend(self.drift.as_mut().into_iter().flat_map(|drift| [&mut drift.config, &mut drift.words]));
        texts.extend(&mut self.certificates);
        texts
    }

    fn reasons(&self, machine: &Status) -> Vec<Reason> {
        let denied = |reason: &String| Reason::CredentialsRefused { reason: reason.clone() };
        let mut reasons: Vec<Reason> = self.denied.iter().map(denied).collect();
        reasons.extend(self.lost.iter().map(|lost| self.unread(lost)));
        match &self.decision.trouble {
            Some(trouble) => reasons.push(self.attention(trouble, machine)),
            None => reasons.extend(self.activity(machine)),
        }
        let refused = |reason: &String| Reason::CertificatesRefused { reason: reason.clone() };
        reasons.extend(self.certificates.as_ref().map(refused));
        reasons.extend(self.drift(machine).cloned().map(Reason::Drift));
        let current = self.current(machine);
        if let Some(desired) =
            self.desired.as_ref().filter(|desired| reasons.is_empty() && Some(*desired) != current.as_ref())
        {
            // The machine was changed since the agent looked at it.
            reasons.push(Reason::Evaluating { config: desired.config.clone() });
        }
        reasons
    }

    /// A hosted cluster knows configurations by names that the machine's record does not have.
    fn current(&self, machine: &Status) -> Option<ConfigRef> {
        match self.source {
            ConfigSource::Hosted => self.current.clone(),
            ConfigSource::Cluster | ConfigSource::Directory | ConfigSource::FirstBoot => {
                ConfigRef::from_texts(machine.config.as_deref(), machine.image.as_deref())
            }
        }
    }

    /// Drift of the present configuration, of a node that does not change anyway.
    fn drift(&self, machine: &Status) -> Option<&DriftSummary> {
        let current = self.current(machine)?;
        self.drift.as_ref().filter(|drift| self.decision.phase.is_at_rest() && drift.config == current.config)
    }

    fn desired_name(&self) -> String {
        self.desired.clone().unwrap_or_default().config
    }

    fn attention(&self, trouble: &Trouble, machine: &Status) -> Reason {
        let (config, reason) = (self.desired_name(), trouble.reason.clone());
        if self.decision.phase == Phase::Refused {
            return Reason::Refused { config, kind: trouble.kind, reason };
        }
        match machine.rejected.iter().find(|rejected| rejected.config == config) {
            Some(rejected) if self.decision.next == Next::Wait(Wait::Help) => {
                Reason::Rejected { config, reason: rejected.reason.clone() }
            }
            Some(_) | None => Reason::Failed { reason },
        }
    }

    fn unread(&self, lost: &Lost) -> Reason {
        match self.source {
            ConfigSource::Cluster | ConfigSource::Hosted => Reason::ClusterUnreachable { since: lost.since },
            ConfigSource::Directory | ConfigSource::FirstBoot => {
                Reason::SourceUnreadable { reason: lost.reason.clone() }
            }
        }
    }

    /// What the last decision means.
    fn activity(&self, machine: &Status) -> Option<Reason> {
        let config = self.desired_name();
        let current = || self.current.clone().unwrap_or_default().config;
        Some(match &self.decision.next {
            Next::Wait(wait) => return self.awaited(wait, machine),
            Next::TakeOver { introduced: true } => return None,
            Next::TakeOver { introduced: false } => Reason::Adopting { config: current() },
            Next::Recover => Reason::Recovering,
            Next::Withdraw => Reason::Withdrawing { config: open_target(machine) },
            Next::Plan => Reason::Evaluating { config },
            Next::Stage => Reason::Staging { config },
            Next::Unstage => return None,
            Next::Apply => Reason::Applying { config },
            Next::Reboot { .. } => Reason::Restarting { config: current() },
            Next::Confirm => Reason::Committing { config: current() },
            Next::GiveUp { reason } => Reason::RollingBack { config: current(), reason: reason.clone() },
        })
    }

    fn awaited(&self, wait: &Wait, machine: &Status) -> Option<Reason> {
        let current = || self.current.clone().unwrap_or_default().config;
        Some(match wait {
            Wait::Settled if self.decision.phase == Phase::Completing => Reason::Committing { config: current() },
            Wait::Settled => return None,
            Wait::Target => Reason::DesiredUnknown,
            Wait::MergedPolicies => Reason::PoliciesUnmerged { config: self.desired_name() },
            Wait::Unread { inputs } => Reason::Unread { config: self.desired_name(), inputs: inputs.clone() },
            // The transaction itself is the machine's to report.
            Wait::Turn if machine.open.is_some() => return None,
            Wait::Turn => Reason::OtherProcess,
            Wait::Rival(rival) => Reason::ConflictingAgent(rival.clone()),
            Wait::Release { reason } => {
                Reason::Hold { config: self.desired_name(), reason: reason.clone(), source: self.source }
            }
            Wait::RollbackRelease { hold } => Reason::RollbackHold(hold.clone()),
            Wait::Controller { request } if self.decision.phase == Phase::Completing => {
                Reason::Uncordon { request: request.clone() }
            }
            Wait::Controller { request } => Reason::Drain { request: request.clone() },
            Wait::Restart | Wait::RestartPermission { .. } => super::machine::restart(machine),
            Wait::Proof { missing, until } => {
                Reason::HealthChecks { config: current(), missing: missing.clone(), until: Some(*until) }
            }
            Wait::Help => Reason::Failed { reason: "the node does not go on by itself".to_owned() },
            Wait::Chance { reason } => self.retry(reason),
        })
    }

    /// A node at rest that could not be looked at is in the state it was in, as far as anybody knows.
    fn retry(&self, reason: &str) -> Reason {
        let (reason, at) = (reason.to_owned(), self.retry_at);
        if self.decision.phase.is_at_rest() { Reason::Unobserved { reason, at } } else { Reason::Retry { reason, at } }
    }
}

fn open_target(machine: &Status) -> String {
    machine.open.as_ref().map(|open| open.to.clone()).unwrap_or_default()
}
