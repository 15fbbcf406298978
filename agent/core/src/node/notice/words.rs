//! The words of notices, their weight, and which of them are events of the node.

use super::{EventKind, Notice};
use crate::words::count as counted;

/// A failure after which the same is tried again.
fn retrying(reason: &str, attempt: u32, seconds: u64) -> String {
    let tried = if attempt == 1 { "once".to_owned() } else { format!("{attempt} times") };
    format!("{reason}; tried {tried}, again in {}", counted(usize::try_from(seconds).unwrap_or(usize::MAX), "second"))
}

// Flat matches with one arm per notice: a new notice that is not handled in each of them must not compile.
#[allow(clippy::too_many_lines)]
impl Notice {
    /// The event of the node, where it is one: kind and reason.
    pub const fn event(&self) -> Option<(EventKind, &'static str)> {
        use EventKind::{Normal, Warning};
        match self {
            Self::Refused { .. } => Some((Warning, "FailedToReconcile")),
            Self::Held { .. } => Some((Normal, "UpdateHeld")),
            Self::DrainAsked { .. } => Some((Normal, "Drain")),
            Self::UncordonAsked { .. } => Some((Normal, "Uncordon")),
            Self::UpdateBegun { os: true, .. } => Some((Normal, "OSUpdateStarted")),
            Self::Applied { reboot: false, .. } => Some((Normal, "SkipReboot")),
            Self::ServiceTold { restarted: false, .. } => Some((Normal, "ServiceReload")),
            Self::ServiceTold { restarted: true, .. } => Some((Normal, "ServiceRestart")),
            Self::ServiceFailed { reload: true, .. } => Some((Warning, "FailedServiceReload")),
            Self::ServiceFailed { reload: false, .. } => Some((Warning, "FailedServiceRestart")),
            Self::Restarting { .. } => Some((Normal, "Reboot")),
            Self::GivenUp { .. } => Some((Warning, "UpdateRolledBack")),
            Self::Failed { .. } => Some((Warning, "UpdateFailed")),
            Self::Done { .. } => Some((Normal, "NodeDone")),
            Self::TerminationPostponed => Some((Warning, "GotSigtermDuringUpdate")),
            Self::FinalizationFailed { .. } => Some((Warning, "FailedFinalization")),
            Self::DriftWatched { .. } => Some((Normal, "ConfigDriftMonitorStarted")),
            Self::DriftFound { .. } => Some((Warning, "ConfigDriftDetected")),
            Self::DriftRepaired { .. } => Some((Normal, "ConfigDriftRepaired")),
            Self::DutyRefused { .. } => Some((Warning, "DutyRefused")),
            Self::KubeletRestarted { .. } => Some((Normal, "KubeletRestarted")),
            Self::PrefetchFailed { .. } => Some((Warning, "PrefetchFailed")),
            Self::PoliciesUnmerged { .. } => Some((Warning, "PoliciesNotMerged")),
            Self::Attention { .. } => Some((Warning, "NeedsAttention")),
            Self::Started { .. }
            | Self::Stopped
            | Self::Turn { .. }
            | Self::UpdateWanted { .. }
            | Self::Superseded { .. }
            | Self::Drained { .. }
            | Self::UpdateBegun { os: false, .. }
            | Self::Applied { reboot: true, .. }
            | Self::Timed { .. }
            | Self::RestartLate { .. }
            | Self::Restarted { .. }
            | Self::Proven { .. }
            | Self::Retrying { .. }
            | Self::Recovered { .. }
            | Self::BaseKept { .. }
            | Self::BaseMissing { .. }
            | Self::IrreconcilableFound { .. }
            | Self::ApiLost { .. }
            | Self::ApiBack
            | Self::MetricsUnavailable { .. }
            | Self::ControlUnavailable { .. }
            | Self::DutyDelayed { .. }
            | Self::DriftUnwatched { .. }
            | Self::DriftFought { .. }
            | Self::DriftGone { .. }
            | Self::CertificatesWritten { .. }
            | Self::KubeletUnwell { .. }
            | Self::KubeletWell
            | Self::PrefetchBegun { .. }
            | Self::ImagesPinned { .. }
            | Self::NicNamesKept { .. }
            | Self::RivalFound { .. }
            | Self::RivalGone
            | Self::TakenOver { .. }
            | Self::CredentialsAwaited { .. }
            | Self::ConfigDoubtful { .. } => None,
        }
    }

    /// The configuration that it is about, where there is one; of two the one that the node is to be in.
    pub fn config(&self) -> Option<&str> {
        match self {
            Self::UpdateWanted { to: config, .. } | Self::Done { config } => Some(&config.config),
            Self::Superseded { to: config, .. }
            | Self::Refused { config, .. }
            | Self::Held { config, .. }
            | Self::UpdateBegun { config, .. }
            | Self::Applied { config, .. }
            | Self::Timed { config, .. }
            | Self::Restarted { config, .. }
            | Self::Proven { config }
            | Self::GivenUp { config, .. }
            | Self::Failed { config, .. }
            | Self::ServiceFailed { config, .. }
            | Self::Recovered { config, .. }
            | Self::BaseKept { config }
            | Self::DriftWatched { config }
            | Self::DriftFound { config, .. }
            | Self::DriftRepaired { config, .. }
            | Self::DriftFought { config, .. }
            | Self::DriftGone { config }
            | Self::ConfigDoubtful { config, .. }
            | Self::PoliciesUnmerged { config, .. }
            | Self::TakenOver { config, .. } => Some(config),
            Self::Started { .. }
            | Self::Stopped
            | Self::Turn { .. }
            | Self::DrainAsked { .. }
            | Self::Drained { .. }
            | Self::UncordonAsked { .. }
            | Self::ServiceTold { .. }
            | Self::Restarting { .. }
            | Self::RestartLate { .. }
            | Self::Retrying { .. }
            | Self::BaseMissing { .. }
            | Self::IrreconcilableFound { .. }
            | Self::ApiLost { .. }
            | Self::ApiBack
            | Self::TerminationPostponed
            | Self::FinalizationFailed { .. }
            | Self::MetricsUnavailable { .. }
            | Self::ControlUnavailable { .. }
            | Self::DutyDelayed { .. }
            | Self::DutyRefused { .. }
            | Self::DriftUnwatched { .. }
            | Self::CertificatesWritten { .. }
            | Self::KubeletRestarted { .. }
            | Self::KubeletUnwell { .. }
            | Self::KubeletWell
            | Self::PrefetchBegun { .. }
            | Self::ImagesPinned { .. }
            | Self::PrefetchFailed { .. }
            | Self::NicNamesKept { .. }
            | Self::RivalFound { .. }
            | Self::RivalGone
            | Self::CredentialsAwaited { .. }
            | Self::Attention { .. } => None,
        }
    }

    /// The text of the journal line, and of the event where it is one.
    pub fn message(&self) -> String {
        match self {
            Self::Started { version } => format!("ostler {version} looks after this node"),
            Self::Stopped => "ostler ends; the node stays as it is".to_owned(),
            Self::Turn { reason, next } => format!("{reason}: {next}"),
            Self::UpdateWanted { from, to } => {
                let from = from.as_ref().map_or("no configuration", |from| from.config.as_str());
                format!("update wanted from {from} to {}", to.config)
            }
            Self::Superseded { from, to } => format!("{from} is not wanted any more, {to} is"),
            Self::DrainAsked { .. } => "Draining node to update config.".to_owned(),
            Self::Drained { request } => format!("the drain controller has done {request}"),
            Self::UncordonAsked { request } => format!("Update completed, asking for {request}"),
            Self::UpdateBegun { config, os: true } => {
                format!("changing this machine, its operating system included, to {config}")
            }
            Self::UpdateBegun { config, os: false } => format!("changing this machine to {config}"),
            Self::Applied { config, changed, reboot: true } => {
                format!("{config} is in place ({} changed); it takes effect with a restart", counted(*changed, "path"))
            }
            Self::Applied { config, changed, reboot: false } => {
                format!(
                    "Config changes do not require reboot: {config} is in effect, {} changed",
                    counted(*changed, "path")
                )
            }
            Self::Timed { config, words } => format!("how long it took to change this machine to {config}: {words}"),
            Self::ServiceTold { service, restarted: true } => {
                format!("Config changes do not require reboot. Service {service} was restarted.")
            }
            Self::ServiceTold { service, restarted: false } => {
                format!("Config changes do not require reboot. Service {service} was reloaded.")
            }
            Self::Restarting { rationale } => rationale.clone(),
            Self::Restarted { boot, config } => format!("restarted into {config}, boot {boot}"),
            Self::Proven { config } => format!("{config} has proven itself; the way back is given up"),
            Self::Recovered { config, undone: true } => format!("an interrupted change was taken back to {config}"),
            Self::Recovered { config, undone: false } => format!("an interrupted change was finished: {config}"),
            Self::Done { config } => format!("Setting node to Done: it is in {}", config.config),
            Self::ApiBack => "the cluster can be reached again".to_owned(),
            Self::Refused { config, reason } => format!("update to {config} refused: {reason}"),
            Self::Attention { reason } => format!("needs attention: {reason}"),
            Self::Held { config, reason, release } => {
                let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                format!("update to {config} held{reason}; to release it, {release}")
            }
            Self::RestartLate { seconds } => {
                format!("the restart ordered {seconds} seconds ago has not happened; it is ordered again")
            }
            Self::GivenUp { config, reason } => format!("{config} has not proven itself and is left: {reason}"),
            Self::Failed { config, reason } => format!("the update to {config} failed and was taken back: {reason}"),
            Self::ServiceFailed { failure, .. } => {
                format!("the old configuration is back, but one service is not: {failure}")
            }
            Self::Retrying { reason, attempt, seconds } => retrying(reason, *attempt, *seconds),
            Self::BaseKept { config } => format!(
                "what this node was installed with is lost; {config}, the earliest configuration known, is compared with instead"
            ),
            Self::BaseMissing { reason } => {
                format!(
                    "what this node was installed with cannot be known, so no irreconcilable changes are reported: {reason}"
                )
            }
            Self::IrreconcilableFound { count } => {
                format!("{} from the configuration that only a new installation brings", counted(*count, "difference"))
            }
            Self::ApiLost { reason } => format!("the cluster cannot be reached, the node goes on by itself: {reason}"),
            Self::CredentialsAwaited { reason } => {
                format!("there is no way into the cluster yet, the node goes on by itself and asks again: {reason}")
            }
            Self::PoliciesUnmerged { reason, .. } => format!("waiting for {reason}"),
            Self::ConfigDoubtful { config, words } => format!("update to {config}, before it begins: {words}"),
            Self::TerminationPostponed => "asked to end in the middle of a change; ending after it".to_owned(),
            Self::FinalizationFailed { words } => {
                format!("the operating system that was staged before the restart was not finished: {words}")
            }
            Self::MetricsUnavailable { address, reason } => {
                format!("metrics are not served at {address}, everything else goes on: {reason}")
            }
            Self::ControlUnavailable { reason } => {
                format!("the log level cannot be changed over D-Bus, everything else goes on: {reason}")
            }
            Self::DriftWatched { config } => format!("Config Drift Monitor started, watching against {config}"),
            Self::DriftUnwatched { reason } => {
                format!("changes to files cannot be listened for, they are looked for now and then: {reason}")
            }
            Self::DriftFound { config, count, words } => {
                format!("{} from {config}: {words}; see \"ostler drift\"", counted(*count, "difference"))
            }
            Self::DriftRepaired { config, count } => {
                format!("{} from {config} repaired, as the drift policy says", counted(*count, "difference"))
            }
            Self::DriftFought { config, repairs, seconds } => format!(
                "what differs from {config} was put right {repairs} times and changed again each time; again in {seconds} \
                 seconds; see \"ostler drift\""
            ),
            Self::DriftGone { config } => format!("this node agrees with {config} again"),
            Self::DutyDelayed { duty, reason, attempt, seconds } => {
                retrying(&format!("{duty}: {reason}"), *attempt, *seconds)
            }
            Self::DutyRefused { duty, reason } => format!("{duty}: {reason}"),
            Self::CertificatesWritten { count } => {
                format!("renewed {} with certificates or credentials", counted(*count, "file"))
            }
            Self::KubeletRestarted { reason } => format!("the kubelet was restarted: {reason}"),
            Self::KubeletUnwell { failures } => format!(
                "the kubelet has not said that it is well {failures} times in a row; see \"systemctl status kubelet\""
            ),
            Self::KubeletWell => "the kubelet says again that it is well".to_owned(),
            Self::PrefetchBegun { images } => {
                format!("pulling {} ahead of need", counted(*images, "pinned image"))
            }
            Self::ImagesPinned { images } => format!("all {images} pinned images are on this node"),
            Self::PrefetchFailed { reason } => format!("pinned images cannot be had: {reason}"),
            Self::NicNamesKept { arguments } => {
                format!(
                    "the names of network devices were made to last, with {}",
                    counted(*arguments, "kernel argument")
                )
            }
            Self::RivalFound { pid, what } => format!(
                "{what} runs on this node as process {pid}, so nothing is changed or said; keep its daemon set away from this \
                 node, or stop ostler"
            ),
            Self::RivalGone => "no machine-config-daemon runs on this node any more".to_owned(),
            Self::TakenOver { config, words } => format!("adopted {config}, which ostler did not apply: {words}"),
        }
    }
}
