//! The numbers that Prometheus collects: those that alerts and dashboards know by their `mcd_` names, and ours.
//!
//! Owns names, labels and the limits of both. When a number changes is the loop's business.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use ostler_core::node::Phase;
use ostler_core::verdict::{State, Verdict};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use crate::show::printable;

/// Longest text in a label, in characters: every text makes a series of its own, so they had better be alike.
const MAX_LABEL: usize = 120;
/// From a file that is written to an image that is pulled over a bad line.
const SECONDS: [f64; 10] = [1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0];
/// How the text is to be read.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const PHASES: [Phase; 10] = [
    Phase::Settled,
    Phase::Considering,
    Phase::Refused,
    Phase::Held,
    Phase::Staging,
    Phase::Draining,
    Phase::Executing,
    Phase::Restarting,
    Phase::Proving,
    Phase::Completing,
];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Os {
    os: String,
    version: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NodeState {
    state: String,
    reason: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Outcome {
    config: String,
    err: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PhaseName {
    phase: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct VerdictName {
    verdict: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Class {
    class: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NodeName {
    node: String,
}

#[derive(Clone, Debug)]
struct Durations;

impl MetricConstructor<Histogram> for Durations {
    fn new_metric(&self) -> Histogram {
        Histogram::new(SECONDS)
    }
}

/// All numbers.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    mcd: Mcd,
    own: Own,
}

/// Those of the machine-config-daemon.
#[derive(Debug, Default)]
struct Mcd {
    os: Family<Os, Gauge>,
    pivot_errors: Gauge,
    state: Family<NodeState, Gauge>,
    reboots_failed: Counter,
    update: Family<Outcome, Gauge>,
    kubelet: Gauge,
    drift: Gauge<u64, AtomicU64>,
    unsupported: Family<NodeName, Gauge>,
}

/// Those that it lacks.
#[derive(Debug)]
struct Own {
    durations: Family<PhaseName, Histogram, Durations>,
    attempts: Counter,
    retries: Family<Class, Counter>,
    last_error: Gauge<u64, AtomicU64>,
    phase: Family<PhaseName, Gauge>,
    verdict: Family<VerdictName, Gauge>,
    restart_owed: Gauge<u64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        Self { mcd: Mcd::registered(&mut registry), own: Own::registered(&mut registry), registry }
    }
}

/// The crate adds `_total` to the names of counters, and to no others.
fn added<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

impl Mcd {
    fn registered(registry: &mut Registry) -> Self {
        let all = Self::default();
        Self {
            os: added(registry, "mcd_host_os_and_version", "Operating system of the node, always 1", all.os),
            pivot_errors: added(
                registry,
                "mcd_pivot_errors_total",
                "Failures to change the operating system since the last success",
                all.pivot_errors,
            ),
            state: added(registry, "mcd_state", "When the node entered its present state", all.state),
            reboots_failed: added(registry, "mcd_reboots_failed", "Restarts that did not happen", all.reboots_failed),
            update: added(registry, "mcd_update_state", "When the last update ended", all.update),
            kubelet: added(
                registry,
                "mcd_kubelet_state",
                "How often in a row the kubelet did not say that it is well",
                all.kubelet,
            ),
            drift: added(registry, "mcd_config_drift", "When drift was found, 0 where there is none", all.drift),
            unsupported: added(
                registry,
                "mcd_local_unsupported_packages",
                "Packages that were layered or replaced by hand",
                all.unsupported,
            ),
        }
    }
}

impl Own {
    fn registered(registry: &mut Registry) -> Self {
        Self {
            durations: added(
                registry,
                "ostler_phase_duration_seconds",
                "How long phases of updates took",
                Family::new_with_constructor(Durations),
            ),
            attempts: added(registry, "ostler_update_attempts", "Updates that were begun", Counter::default()),
            retries: added(registry, "ostler_retries", "What was tried again, by class of failure", Family::default()),
            last_error: added(
                registry,
                "ostler_last_error_timestamp_seconds",
                "When something failed last, or 0",
                Gauge::default(),
            ),
            phase: added(registry, "ostler_phase", "1 for the phase that the node is in", Family::default()),
            verdict: added(
                registry,
                "ostler_verdict",
                "1 for the state that ostler status reports first",
                Family::default(),
            ),
            restart_owed: added(
                registry,
                "ostler_restart_owed_timestamp_seconds",
                "When the restart that the machine still needs became due, 0 where it needs none",
                Gauge::default(),
            ),
        }
    }
}

impl Metrics {
    /// How often in a row the kubelet was not well.
    pub fn set_kubelet(&self, failures: u32) {
        self.mcd.kubelet.set(i64::from(failures));
    }

    /// Since when drift is reported, in seconds since 1970; 0 where there is none.
    pub fn set_drift(&self, since: u64) {
        self.mcd.drift.set(since);
    }

    /// Since when a restart is owed, 0 for none.
    pub fn set_restart_owed(&self, since: u64) {
        self.own.restart_owed.set(since);
    }

    /// How many packages were layered or replaced by hand.
    pub fn set_unsupported_packages(&self, node: &str, count: usize) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.mcd.unsupported.get_or_create(&NodeName { node: node.to_owned() }).set(count);
    }

    /// What the node runs.
    pub fn set_os(&self, os: &str, version: &str) {
        self.mcd.os.clear();
        self.mcd.os.get_or_create(&Os { os: label(os), version: label(version) }).set(1);
    }

    /// How often in a row the operating system could not be changed; nothing once it could.
    pub fn set_pivot_errors(&self, count: u32) {
        self.mcd.pivot_errors.set(count.into());
    }

    /// Which of the four states the node is in since when, and why.
    fn set_state(&self, state: &str, reason: &str, now: u64) {
        self.mcd.state.clear();
        self.mcd.state.get_or_create(&NodeState { state: label(state), reason: label(reason) }).set(moment(now));
    }

    /// A restart was ordered and did not happen.
    pub fn count_failed_reboot(&self) {
        self.mcd.reboots_failed.inc();
    }

    /// How the last update ended; no error is an empty text.
    pub fn set_update(&self, config: &str, error: &str, now: u64) {
        self.mcd.update.clear();
        self.mcd.update.get_or_create(&Outcome { config: label(config), err: label(error) }).set(moment(now));
    }

    /// The phase that the node is in.
    pub fn set_phase(&self, present: Phase) {
        for phase in PHASES {
            self.own.phase.get_or_create(&PhaseName { phase: name(phase) }).set((phase == present).into());
        }
    }

    /// The node's state, also in the words of the machine-config-daemon where it has some for it.
    pub fn set_verdict(&self, verdict: &Verdict, now: u64) {
        for state in State::ALL {
            let present = state == verdict.state();
            self.own.verdict.get_or_create(&VerdictName { verdict: state.name() }).set(present.into());
        }
        if let Some(state) = verdict.node_state() {
            self.set_state(state, &verdict.trouble().map(|trouble| trouble.reason).unwrap_or_default(), now);
        }
    }

    /// A phase has ended that took so long.
    pub fn observe_phase(&self, phase: Phase, took: Duration) {
        self.own.durations.get_or_create(&PhaseName { phase: name(phase) }).observe(took.as_secs_f64());
    }

    /// An update was begun.
    pub fn count_attempt(&self) {
        self.own.attempts.inc();
    }

    /// Something is tried again after a failure of this class.
    pub fn count_retry(&self, class: &'static str) {
        self.own.retries.get_or_create(&Class { class }).inc();
    }

    /// Something failed.
    pub fn set_last_error(&self, now: u64) {
        self.own.last_error.set(now);
    }

    /// All of them as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string fails for nobody but the encoder itself, and then a part is better than nothing.
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}

fn moment(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

fn label(text: &str) -> String {
    printable(text).chars().take(MAX_LABEL).collect()
}

/// As in the account of the daemon.
const fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Settled => "settled",
        Phase::Considering => "considering",
        Phase::Refused => "refused",
        Phase::Held => "held",
        Phase::Staging => "staging",
        Phase::Draining => "draining",
        Phase::Executing => "executing",
        Phase::Restarting => "restarting",
        Phase::Proving => "proving",
        Phase::Completing => "completing",
    }
}

#[cfg(test)]
mod tests;
