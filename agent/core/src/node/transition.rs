//! What is worth telling when a node comes to stand elsewhere than before.

use super::notice::Notice;
use super::situation::{DrainRequest, Phase, Situation};
use crate::rollback::RELEASE;
use crate::verdict::{Reason, State};

/// Where a node stands now.
#[derive(Clone, Copy, Debug)]
pub struct Stand<'a> {
    /// Where it stands.
    pub situation: &'a Situation,
    /// The boot that it is in.
    pub boot: &'a str,
    /// Whether the cluster knows already that the node is done.
    pub known_done: bool,
}

/// What to tell, given where the node stood before; nothing is told twice.
pub fn transitions(before: Option<&Situation>, stand: &Stand<'_>) -> Vec<Notice> {
    let now = stand.situation;
    let mut notices = Vec::new();
    notices.extend(wanted(before, now));
    let entered = |phase| now.phase == phase && before.is_none_or(|before| before.phase != phase);
    if entered(Phase::Executing) && before.is_some_and(|before| before.phase == Phase::Draining) {
        notices.extend(before.and_then(|before| before.drain.as_ref()).map(drained));
    }
    notices.extend(asked(before, now));
    let known = |reason: &&Reason| before.is_some_and(|before| before.verdict.reasons().contains(reason));
    notices.extend(now.verdict.reasons().iter().filter(|reason| !known(reason)).filter_map(notice));
    if entered(Phase::Proving) {
        let config = now.current.clone().unwrap_or_default().config;
        notices.push(Notice::Restarted { boot: stand.boot.to_owned(), config });
    }
    if let (true, Some(config)) = (entered(Phase::Settled) && now.current == now.desired, &now.current)
        && (before.is_some() || !stand.known_done)
    {
        notices.push(Notice::Done { config: config.clone() });
    }
    let failure = &now.finalization_failure;
    if before.is_none_or(|before| before.finalization_failure != *failure) {
        notices.extend(failure.clone().map(|words| Notice::FinalizationFailed { words }));
    }
    notices
}

/// The notice of a reason, where nothing else gives one.
fn notice(reason: &Reason) -> Option<Notice> {
    match reason {
        Reason::Refused { config, .. } | Reason::Rejected { config, .. } => {
            Some(Notice::Refused { config: config.clone(), reason: reason.report() })
        }
        Reason::Hold { config, reason, source } => {
            let release = source.release().to_owned();
            Some(Notice::Held { config: config.clone(), reason: reason.clone(), release })
        }
        Reason::RollbackHold(hold) => {
            let release = format!("run \"{RELEASE}\"");
            Some(Notice::Held { config: hold.from.clone(), reason: hold.words(), release })
        }
        Reason::PoliciesUnmerged { config } => {
            Some(Notice::PoliciesUnmerged { config: config.clone(), reason: reason.report() })
        }
        // Each of these has a notice of its own.
        Reason::ConflictingAgent(_)
        | Reason::FinalizationFailed { .. }
        | Reason::SourceUnreadable { .. }
        | Reason::ServicesFailed { .. }
        | Reason::CertificatesRefused { .. }
        | Reason::Drift(_) => None,
        other => (other.state() == State::NeedsAttention).then(|| Notice::Attention { reason: other.report() }),
    }
}

fn drained(request: &DrainRequest) -> Notice {
    Notice::Drained { request: request.text() }
}

fn wanted(before: Option<&Situation>, now: &Situation) -> Vec<Notice> {
    let Some(to) = now.desired.clone().filter(|_| now.desired != now.current) else { return Vec::new() };
    let last = before.and_then(|before| before.desired.clone());
    if last.as_ref() == Some(&to) {
        return Vec::new();
    }
    let overtaken = last.filter(|_| before.is_some_and(|before| before.desired != before.current));
    let superseded = overtaken.map(|from| Notice::Superseded { from: from.config, to: to.config.clone() });
    superseded.into_iter().chain([Notice::UpdateWanted { from: now.current.clone(), to }]).collect()
}

fn asked(before: Option<&Situation>, now: &Situation) -> Option<Notice> {
    let request = now.drain.as_ref()?;
    let text = request.text();
    if before.and_then(|before| before.drain.as_ref()).map(DrainRequest::text).as_ref() == Some(&text) {
        return None;
    }
    match request {
        DrainRequest::Drain { .. } => Some(Notice::DrainAsked { request: text }),
        DrainRequest::Uncordon { .. } => Some(Notice::UncordonAsked { request: text }),
        // What it was withdrawn for is told as the configuration that is desired now.
        DrainRequest::Withdraw { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::duties::DriftSummary;
    use crate::node::situation::{Irreconcilable, TroubleKind};
    use crate::node::view::ConfigRef;
    use crate::verdict::{ConfigSource, Verdict};

    fn at(phase: Phase, current: &str, desired: &str) -> Situation {
        Situation {
            node: "worker-0".to_owned(),
            current: Some(ConfigRef::new(current)),
            desired: Some(ConfigRef::new(desired)),
            phase,
            update: None,
            verdict: Verdict::default(),
            drain: None,
            irreconcilable: Irreconcilable::Untold,
            finalization_failure: None,
            bootstrap: None,
            boot_image: None,
            staged_for: None,
            duties: crate::node::Duties::default(),
        }
    }

    fn asking(phase: Phase, request: DrainRequest) -> Situation {
        Situation { drain: Some(request), ..at(phase, "a", "b") }
    }

    fn told(before: Option<&Situation>, now: &Situation, known_done: bool) -> Vec<String> {
        let stand = Stand { situation: now, boot: "boot-2", known_done };
        let name = |notice: &Notice| {
            let text = format!("{notice:?}");
            text.split([' ', '{']).next().unwrap_or_default().to_owned()
        };
        transitions(before, &stand).iter().map(name).collect()
    }

    #[test]
    fn every_stage_of_an_update_is_told_once() {
        let drain = || DrainRequest::Drain { config: "b".to_owned(), cordoned: false };
        let uncordon = || DrainRequest::Uncordon { request: "uncordon-b".to_owned() };
        let held = Verdict::from_reasons([Reason::Hold {
            config: "b".to_owned(),
            reason: "Easter".to_owned(),
            source: ConfigSource::Cluster,
        }]);
        let refused = Verdict::from_reasons([Reason::Refused {
            config: "d".to_owned(),
            kind: TroubleKind::Degraded,
            reason: "no".to_owned(),
        }]);
        let course: Vec<(Situation, &[&str])> = vec![
            (at(Phase::Settled, "a", "a"), &["Done"]),
            (at(Phase::Considering, "a", "b"), &["UpdateWanted"]),
            (Situation { verdict: held, ..at(Phase::Held, "a", "b") }, &["Held"]),
            (asking(Phase::Draining, drain()), &["DrainAsked"]),
            (asking(Phase::Draining, drain()), &[]),
            (at(Phase::Executing, "a", "b"), &["Drained"]),
            (at(Phase::Restarting, "a", "b"), &[]),
            (at(Phase::Proving, "b", "b"), &["Restarted"]),
            (
                Situation { desired: Some(ConfigRef::new("b")), ..asking(Phase::Completing, uncordon()) },
                &["UncordonAsked"],
            ),
            (at(Phase::Settled, "b", "b"), &["Done"]),
            (at(Phase::Settled, "b", "b"), &[]),
            (at(Phase::Considering, "b", "c"), &["UpdateWanted"]),
            (at(Phase::Considering, "b", "d"), &["Superseded", "UpdateWanted"]),
            (Situation { verdict: refused.clone(), ..at(Phase::Refused, "b", "d") }, &["Refused"]),
            (Situation { verdict: refused, ..at(Phase::Refused, "b", "d") }, &[]),
        ];
        let mut before = None;
        for (now, expected) in &course {
            assert_eq!(told(before, now, false), *expected, "{now:?}");
            before = Some(now);
        }
    }

    #[test]
    fn drift_is_no_refusal() {
        let drift = DriftSummary { config: "a".to_owned(), count: 1, words: "x".to_owned(), since: 1 };
        let mut drifted = Situation {
            verdict: Verdict::from_reasons([Reason::Drift(drift.clone())]),
            ..at(Phase::Settled, "a", "a")
        };
        let before = at(Phase::Settled, "a", "a");
        assert!(told(Some(&before), &drifted, true).is_empty());
        assert!(told(Some(&drifted), &before, true).is_empty());
        let failed = Reason::Failed { reason: "no".to_owned() };
        drifted.verdict = Verdict::from_reasons([Reason::Drift(drift), failed]);
        assert_eq!(told(Some(&before), &drifted, true), ["Attention"]);
    }

    #[test]
    fn an_agent_that_starts_on_a_node_that_is_done_says_nothing_of_it() {
        assert!(told(None, &at(Phase::Settled, "a", "a"), true).is_empty());
        let failed = Situation { finalization_failure: Some("EIO".to_owned()), ..at(Phase::Settled, "a", "a") };
        assert_eq!(told(None, &failed, true), ["FinalizationFailed"]);
        assert!(told(Some(&failed), &failed, true).is_empty());
    }
}
