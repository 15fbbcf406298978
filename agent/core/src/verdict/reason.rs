//! Every reason for a state: its wording, and the way out of it.

use serde::{Deserialize, Serialize};

use super::{ConfigSource, State};
use crate::node::duties::DriftSummary;
use crate::node::input::Input;
use crate::node::proof::HealthCheck;
use crate::node::situation::TroubleKind;
use crate::rival::{REMEDY, Rival};
use crate::rollback::RollbackHold;
use crate::terminal::printable;
use crate::transaction::Purpose;
use crate::words;

/// A reason for a node's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", content = "detail")]
pub enum Reason {
    /// Another agent runs on the node.
    ConflictingAgent(Rival),
    /// The desired configuration is refused.
    Refused {
        config: String,
        /// Whether it can ever be applied here.
        kind: TroubleKind,
        /// Why, with the way out.
        reason: String,
    },
    /// The configuration was tried and given up.
    Rejected { config: String, reason: String },
    /// Something failed that does not pass by itself.
    Failed {
        /// What, with the way out.
        reason: String,
    },
    /// The directory of desired configurations cannot be read.
    SourceUnreadable { reason: String },
    /// The record of the current configuration cannot be read.
    ConfigUnreadable { reason: String },
    /// A transaction was interrupted, and nothing goes on with it.
    Interrupted {
        /// What it is for.
        purpose: Purpose,
        config: String,
        /// Whether the restart that it waited for has happened.
        restarted: bool,
    },
    /// Records of the journal are damaged.
    DamagedRecords {
        /// Which, and how.
        records: Vec<String>,
    },
    /// The last transaction was abandoned, and nothing has put right what it left.
    Abandoned { from: String, to: String, differs: Vec<String> },
    /// A staged deployment was not finalized.
    FinalizationFailed { reason: String },
    /// The deployments of the operating system cannot be read.
    DeploymentsUnreadable { reason: String },
    /// The operating system is not the one of the configuration.
    OsDiffers { reason: String },
    /// Services that an undo could not bring back, in this boot.
    ServicesFailed {
        /// Which, and why.
        failures: Vec<String>,
    },
    /// Certificates of the cluster cannot be written.
    CertificatesRefused { reason: String },
    /// The machine differs from its configuration.
    Drift(DriftSummary),
    /// The update is evaluated.
    Evaluating { config: String },
    /// The configuration is applied.
    Applying { config: String },
    /// Its operating system is pulled and staged, before workloads have to leave.
    Staging { config: String },
    /// An interrupted transaction is finished or undone.
    Recovering,
    /// An update that waits for its restart is taken back.
    Withdrawing { config: String },
    /// The configuration of another agent is checked.
    Adopting { config: String },
    /// The machine restarts.
    Restarting {
        /// The configuration that takes effect.
        config: String,
    },
    /// The update is committed.
    Committing { config: String },
    /// The machine goes back to the configuration before.
    RollingBack {
        /// The configuration that is left.
        config: String,
        reason: String,
    },
    /// The machine has yet to restart.
    Restart {
        /// The configuration that takes effect with it.
        config: String,
        /// When it was ordered, in seconds since 1970.
        ordered: Option<u64>,
    },
    /// The boot has yet to pass its health checks.
    HealthChecks {
        /// The configuration that waits for them.
        config: String,
        /// The checks that have yet to succeed; empty where no agent checks.
        missing: Vec<HealthCheck>,
        /// When the boot is given up, in seconds since 1970.
        until: Option<u64>,
    },
    /// Workloads have yet to leave.
    Drain {
        /// The request to the drain controller.
        request: String,
    },
    /// Workloads have yet to be let in.
    Uncordon {
        /// The request to the drain controller.
        request: String,
    },
    /// The update is held.
    Hold {
        config: String,
        /// Why, in the words of who holds it.
        reason: String,
        /// Where it is held.
        source: ConfigSource,
    },
    /// A person has rolled back, and the update is held.
    RollbackHold(RollbackHold),
    /// Objects of the cluster that decide the update were not read yet.
    Unread { config: String, inputs: Vec<Input> },
    /// The operator has yet to merge the disruption policies as they are now.
    PoliciesUnmerged { config: String },
    /// Another process changes the machine.
    OtherProcess,
    /// Something that may pass is in the way of an update.
    Retry {
        reason: String,
        /// When it is tried again, in seconds since 1970.
        at: Option<u64>,
    },
    /// No agent has checked the configuration that another agent left.
    Adoption { config: String },
    /// The agent is enabled and does not run.
    AgentStopped,
    /// The agent does not answer.
    AgentSilent { reason: String },
    /// The API server does not accept the credentials as those of this node.
    CredentialsRefused {
        /// In its own words.
        reason: String,
    },
    /// The cluster cannot be reached.
    ClusterUnreachable {
        /// Since when, in seconds since 1970.
        since: u64,
    },
    /// The agent does not know a desired configuration.
    DesiredUnknown,
    /// The agent could not look at the machine.
    Unobserved {
        reason: String,
        /// When it is tried again, in seconds since 1970.
        at: Option<u64>,
    },
    /// No configuration was ever applied.
    NoConfiguration,
    /// No agent runs, and none is enabled.
    NoAgent,
}

/// Whether a damaged record is the plan of a transaction, which stays open without it.
fn is_plan(record: &str) -> bool {
    record.starts_with("plan:") || record.contains("/journal/plan")
}

/// What to do about an open transaction that nobody goes on with.
const RECOVER: &str = "run \"ostler recover\"; if it fails for good, \"ostler abandon\"";

impl Reason {
    /// The state that it makes.
    pub const fn state(&self) -> State {
        match self {
            Self::ConflictingAgent(_)
            | Self::Refused { .. }
            | Self::Rejected { .. }
            | Self::Failed { .. }
            | Self::SourceUnreadable { .. }
            | Self::ConfigUnreadable { .. }
            | Self::Interrupted { .. }
            | Self::DamagedRecords { .. }
            | Self::Abandoned { .. }
            | Self::FinalizationFailed { .. }
            | Self::DeploymentsUnreadable { .. }
            | Self::OsDiffers { .. }
            | Self::ServicesFailed { .. }
            | Self::CertificatesRefused { .. }
            | Self::Drift(_) => State::NeedsAttention,
            Self::Evaluating { .. }
            | Self::Applying { .. }
            | Self::Staging { .. }
            | Self::Recovering
            | Self::Withdrawing { .. }
            | Self::Adopting { .. }
            | Self::Restarting { .. }
            | Self::Committing { .. }
            | Self::RollingBack { .. } => State::Updating,
            Self::Restart { .. }
            | Self::HealthChecks { .. }
            | Self::Drain { .. }
            | Self::Uncordon { .. }
            | Self::Hold { .. }
            | Self::RollbackHold(_)
            | Self::Unread { .. }
            | Self::PoliciesUnmerged { .. }
            | Self::OtherProcess
            | Self::Retry { .. }
            | Self::Adoption { .. } => State::Waiting,
            Self::AgentStopped
            | Self::AgentSilent { .. }
            | Self::CredentialsRefused { .. }
            | Self::ClusterUnreachable { .. }
            | Self::DesiredUnknown
            | Self::Unobserved { .. }
            | Self::NoConfiguration => State::Unknown,
            Self::NoAgent => State::UpToDate,
        }
    }

    /// Whether it keeps the desired configuration from ever being applied.
    pub const fn kind(&self) -> TroubleKind {
        if let Self::Refused { kind, .. } = self { *kind } else { TroubleKind::Degraded }
    }

    /// The reason in words, without a full stop; for a wait, after "Waiting for". Spans of time are left out where the text
    /// outlasts the moment it is made in.
    #[allow(clippy::too_many_lines, reason = "one arm per variant")]
    pub fn message(&self, now: Option<u64>) -> String {
        match self {
            Self::ConflictingAgent(rival) => format!("{}, so nothing is changed here", rival.words()),
            Self::Refused { config, reason, .. } => format!("update to {config} refused: {reason}"),
            Self::Rejected { config, reason } => format!("{config} was tried on this node and given up: {reason}"),
            Self::Failed { reason } => reason.clone(),
            Self::SourceUnreadable { reason } => format!("desired configurations cannot be read: {reason}"),
            Self::ConfigUnreadable { reason } => format!("the current configuration cannot be read: {reason}"),
            Self::Interrupted { config, restarted: true, .. } => {
                format!("the machine restarted for {config}, and nothing has checked the result")
            }
            Self::Interrupted { purpose, config, restarted: false } => {
                format!("the {} to {config} was interrupted", purpose.noun())
            }
            Self::DamagedRecords { records } => format!("damaged journal records: {}", records.join(", ")),
            Self::Abandoned { from, to, differs } => {
                format!("the change from {from} to {to} was abandoned: {}", differs.join("; "))
            }
            Self::FinalizationFailed { reason } => format!("a staged deployment was not finalized: {reason}"),
            Self::DeploymentsUnreadable { reason } => format!("the deployments cannot be read: {reason}"),
            Self::OsDiffers { reason } => format!("the operating system is not that of the configuration: {reason}"),
            Self::ServicesFailed { failures } => {
                format!(
                    "{} not in the current configuration: {}",
                    words::count(failures.len(), "service"),
                    failures.join("; ")
                )
            }
            Self::CertificatesRefused { reason } => format!("certificates cannot be delivered: {reason}"),
            Self::Drift(drift) => {
                format!("{} from {}: {}", words::count(drift.count, "difference"), drift.config, drift.words)
            }
            Self::Evaluating { config } => format!("evaluating the update to {config}"),
            Self::Applying { config } => format!("applying {config}"),
            Self::Staging { config } => format!("staging the operating system of {config}"),
            Self::Recovering => "finishing or undoing an interrupted transaction".to_owned(),
            Self::Withdrawing { config } => format!("taking back the update to {config}"),
            Self::Adopting { config } => format!("checking {config}, which ostler did not apply"),
            Self::Restarting { config } => format!("restarting for {config}"),
            Self::Committing { config } => format!("finishing the update to {config}"),
            Self::RollingBack { config, reason } => format!("rolling back from {config}: {reason}"),
            Self::Restart { config, ordered: None } => format!("a restart, with which {config} takes effect"),
            Self::Restart { config, ordered: Some(at) } => {
                let ago = now.map(|now| format!(" {} ago", words::span(*at, now))).unwrap_or_default();
                format!("the restart that was ordered{ago}, with which {config} takes effect")
            }
            Self::HealthChecks { missing, until, .. } => health_checks(missing, *until, now),
            Self::Drain { request } => format!("the drain controller ({request})"),
            Self::Uncordon { request } => format!("the drain controller to let workloads in ({request})"),
            Self::Hold { config, reason, .. } if reason.is_empty() => {
                format!("the hold on the update to {config} to be released")
            }
            Self::Hold { config, reason, .. } => {
                format!("the hold on the update to {config} to be released ({reason})")
            }
            Self::RollbackHold(hold) => {
                format!("the hold on the update to {} to be released ({})", hold.from, hold.words())
            }
            Self::Unread { config, inputs } => {
                format!("{} to be read, on which the update to {config} depends", Input::list(inputs))
            }
            Self::PoliciesUnmerged { config } => format!(
                "the machine-config-operator to merge the disruption policies of MachineConfiguration cluster, on which the \
                 update to {config} depends (status.observedGeneration is behind)"
            ),
            Self::OtherProcess => "another process that changes the machine".to_owned(),
            Self::Retry { reason, at } => format!("the next try{}: {reason}", due(*at, now)),
            Self::Adoption { config } => format!("an agent to check {config}, which ostler did not apply"),
            Self::AgentStopped => {
                "the agent is enabled but not running, so the desired configuration is not known".to_owned()
            }
            Self::AgentSilent { reason } => format!("the agent's state is not known: {reason}"),
            Self::CredentialsRefused { reason } => {
                format!("the API server does not accept the credentials as those of this node: {reason}")
            }
            Self::ClusterUnreachable { since } => {
                let span = now.map(|now| format!(" for {}", words::span(*since, now))).unwrap_or_default();
                format!("the cluster cannot be reached{span}, so the desired configuration is not known")
            }
            Self::DesiredUnknown => "the desired configuration is not known yet".to_owned(),
            Self::Unobserved { reason, at } => {
                format!("the machine could not be checked (next try{}): {reason}", due(*at, now))
            }
            Self::NoConfiguration => "no configuration was ever applied here".to_owned(),
            Self::NoAgent => "No agent runs on this machine".to_owned(),
        }
    }

    /// The state and the reason in one line that is safe to print.
    pub fn sentence(&self, now: Option<u64>) -> String {
        let reason = self.message(now);
        let state = match self.state() {
            State::UpToDate => "Up to date. ",
            State::Updating => "Updating: ",
            State::Waiting => "Waiting for ",
            State::NeedsAttention => "Needs attention: ",
            State::Unknown => "Unknown: ",
        };
        printable(&format!("{state}{reason}."))
    }

    /// What a person can do, where it is not said already.
    #[allow(clippy::too_many_lines, reason = "one arm per variant")]
    pub fn fix(&self) -> Option<&'static str> {
        Some(match self {
            Self::ConflictingAgent(_) => REMEDY,
            Self::Rejected { .. } => {
                "set another configuration, or create /run/machine-config-daemon-force on the node to try it again"
            }
            Self::SourceUnreadable { .. } => "correct or remove the file",
            Self::ConfigUnreadable { .. } => "run \"ostler apply\" with the configuration that the machine should have",
            Self::Interrupted { .. } => RECOVER,
            Self::DamagedRecords { records } if records.iter().any(|record| is_plan(record)) => RECOVER,
            Self::DamagedRecords { .. } => {
                "run \"ostler drift --repair\": it compares the machine with its configuration and removes the damaged records"
            }
            Self::Abandoned { .. } => "apply the configuration you want, or run \"ostler drift --repair\"",
            Self::FinalizationFailed { .. } => "see \"journalctl -b -1 -u ostree-finalize-staged\"",
            Self::DeploymentsUnreadable { .. } => "see \"ostree admin status\"",
            Self::OsDiffers { .. } | Self::Adoption { .. } => "start the agent: \"systemctl start ostler\"",
            Self::ServicesFailed { .. } => "repair and restart each with systemctl, or run \"ostler reboot\"",
            Self::Drift(_) => "run \"ostler drift\" for all of it, \"ostler drift --repair\" to undo it",
            Self::Restart { .. } => "run \"ostler reboot\"",
            Self::HealthChecks { missing, until: None, .. } if missing.is_empty() => {
                "start the agent: \"systemctl start ostler\""
            }
            Self::Hold { source, .. } => source.release(),
            Self::RollbackHold(_) => "run \"ostler rollback --release\", or set another desired configuration",
            Self::AgentStopped => "run \"systemctl status ostler\", then \"systemctl start ostler\"",
            Self::Unread { .. } => {
                "if this lasts, see \"journalctl -t ostler\"; packaging/manifests/rbac.yaml lets nodes read them"
            }
            Self::PoliciesUnmerged { .. } => {
                "see that the operator runs: oc -n openshift-machine-config-operator get deployment machine-config-operator"
            }
            Self::CredentialsRefused { .. } => {
                "give the agent the kubelet's kubeconfig (--kubeconfig) and the name of its Node (--node-name)"
            }
            Self::AgentSilent { .. } => "see \"journalctl -t ostler\"",
            Self::ClusterUnreachable { .. } => "see \"journalctl -t ostler\"",
            Self::NoConfiguration => "run \"ostler apply\", or start the agent",
            Self::Refused { .. }
            | Self::Failed { .. }
            | Self::CertificatesRefused { .. }
            | Self::Evaluating { .. }
            | Self::Applying { .. }
            | Self::Staging { .. }
            | Self::Recovering
            | Self::Withdrawing { .. }
            | Self::Adopting { .. }
            | Self::Restarting { .. }
            | Self::Committing { .. }
            | Self::RollingBack { .. }
            | Self::HealthChecks { .. }
            | Self::Drain { .. }
            | Self::Uncordon { .. }
            | Self::OtherProcess
            | Self::Retry { .. }
            | Self::DesiredUnknown
            | Self::Unobserved { .. }
            | Self::NoAgent => return None,
        })
    }

    /// The reason as the cluster is told of it: in the phrases of the machine-config-daemon where it has some.
    pub fn report(&self) -> String {
        match self {
            Self::Refused { reason, .. } | Self::Failed { reason } => reason.clone(),
            Self::Drift(drift) => drift.report(),
            other => match other.fix() {
                Some(fix) => format!("{}; {fix}", other.message(None)),
                None => other.message(None),
            },
        }
    }
}

fn health_checks(missing: &[HealthCheck], until: Option<u64>, now: Option<u64>) -> String {
    let names: Vec<&str> = missing.iter().map(|check| check.name()).collect();
    let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let left = until.zip(now).map(|(until, now)| format!(", {} left", words::span(now, until))).unwrap_or_default();
    format!("health checks{names}{left}")
}

fn due(at: Option<u64>, now: Option<u64>) -> String {
    match at.zip(now) {
        Some((at, now)) if at > now => format!(" in {}", words::span(now, at)),
        Some(_) | None => String::new(),
    }
}
