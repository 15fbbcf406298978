//! What is said of a change: what it would do, how it went, why it failed.

use std::fmt::Write as _;

use ostler_core::drift::Drift;
use ostler_core::drift::policy::DriftPolicy;
use ostler_core::plan::Plan;
use ostler_core::protocol::{Class, Failure, Forecast, Restart};
use ostler_core::rollback::{RELEASE, RollbackHold};
use ostler_core::step::Step;
use ostler_core::transaction::{Ending, Finished, Purpose, ServiceFailure};
use serde::Serialize;

use super::documents::PlanDocument;
use super::drift::Entry;
use super::moment;
use super::phrase::{self, BAD, CAUTION, FAINT, GOOD, HEADING, config, printable, styled};
use crate::course::Course;

/// What a checked change would do.
pub fn forecast(forecast: &Forecast, live: bool) -> String {
    let mut text = format!(
        "\n{} nothing stands in the way. To change: {}. To write: {}.\n",
        styled(GOOD, "Checked:"),
        things(forecast.changed),
        if forecast.bytes == 0 { "nothing".to_owned() } else { phrase::size(forecast.bytes) }
    );
    let why = if live { NOT_FOR_THIS_MACHINE } else { "Left out: this is a directory, not a running machine" };
    text.push_str(&left_out(why, &forecast.left_out));
    for note in &forecast.notes {
        let _ = writeln!(text, "{} {}", styled(CAUTION, "Note:"), printable(note));
    }
    text
}

const NOT_FOR_THIS_MACHINE: &str = "Left out: not for this kind of machine";

fn left_out(heading: &str, steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let lines: String = steps.iter().map(|step| format!("  {}\n", phrase::step(step))).collect();
    format!("{}\n{lines}", styled(HEADING, heading))
}

fn things(count: usize) -> String {
    match count {
        0 => "no file or link".to_owned(),
        1 => "one file or link".to_owned(),
        _ => format!("{count} files and links"),
    }
}

/// What a plan asks for and these commands leave to a person.
pub fn not_done_here(plan: &Plan) -> String {
    let mut text = String::new();
    if plan.drain.is_needed() {
        let _ = writeln!(
            text,
            "{} this command does not drain the node. Workloads have to leave first:\n  \
             oc adm drain NODE --ignore-daemonsets --delete-emptydir-data",
            styled(CAUTION, "Drain:")
        );
    }
    if plan.reboots() {
        let _ = writeln!(
            text,
            "{} this command does not restart the machine. Restart it afterwards: ostler reboot",
            styled(CAUTION, "Reboot:")
        );
    }
    text
}

/// What taking back a change that waits for its restart means.
pub fn withdrawal(to: &str) -> String {
    format!(
        "The change to {} waits for the machine to restart. Taking it back restores the files, drops the staged operating \
         system and needs no restart.\n",
        config(to)
    )
}

/// Why, and how, the machine restarts.
pub fn restart(restart: &Restart) -> String {
    let what = if restart.soft { "user space, without the kernel" } else { "the machine" };
    let staged = if restart.staged { "\nThe staged operating system is finished on the way." } else { "" };
    let word =
        styled(if restart.begun { GOOD } else { CAUTION }, if restart.begun { "Restarting:" } else { "To restart:" });
    let why_whole = restart.not_soft.as_ref().map(|why| format!("\nNot user space alone: {}.", printable(why)));
    format!("{word} {what}. {}.{staged}{}\n", printable(&restart.rationale), why_whole.unwrap_or_default())
}

/// How a change went. A failure is told by [`failure`], a refusal by the plan itself.
pub fn course(course: &Course) -> String {
    match course {
        Course::Refused | Course::Failed(_) => String::new(),
        Course::Checked(_) => "Nothing was changed: this was a dry run.\n".to_owned(),
        Course::Nothing | Course::Declined => "Nothing was changed.\n".to_owned(),
        Course::Delegated => format!(
            "{} the agent rolls this machine back by the cluster's rules: it drains and restarts as for an update. See \
             \"ostler status\".\n",
            styled(GOOD, "Requested:")
        ),
        Course::Finished(finished) => ended(finished),
    }
}

/// That the machine stays where a rollback leads.
pub fn held(hold: &RollbackHold) -> String {
    format!(
        "{} the agent keeps this machine in {} and does not update it to {} again. Release the hold with \"{RELEASE}\"; \
         another desired configuration releases it too.\n",
        styled(CAUTION, "Held:"),
        config(&hold.to),
        config(&hold.from)
    )
}

/// What the release of a hold leads to.
pub fn released(hold: Option<&RollbackHold>) -> String {
    match hold {
        Some(hold) => format!(
            "{} the agent may update this machine to {} again.\n",
            styled(GOOD, "Released:"),
            config(&hold.from)
        ),
        None => "No rollback is held on this machine.\n".to_owned(),
    }
}

fn ended(finished: &Finished) -> String {
    let took = styled(FAINT, &format!("({})", moment::duration(finished.began, finished.ended)));
    let mut text = match &finished.ending {
        Ending::Applied => format!("{} {took}\n", applied(finished)),
        Ending::Undone { reason } => format!(
            "{} {} {took}\nThe machine is in {}, as it was before.\n",
            styled(BAD, "Undone:"),
            printable(reason),
            config(&finished.from)
        ),
        Ending::AwaitsReboot { reason } => format!("{} {took}\n", ready(finished, reason.as_deref())),
        Ending::Abandoned { reason, differs } => format!("{} {took}\n{}", abandoned(finished, reason), lines(differs)),
    };
    if let Some(words) = &finished.boot_loader {
        let _ = writeln!(text, "{} {}", styled(HEADING, "Boot loader:"), printable(words));
    }
    text.push_str(&passed_over(finished));
    // Only a running machine has to restart, and only one whose systemd does not answer leaves out what it is to be told.
    let untold = |step: &Step| finished.reboot && is_for_systemd(step);
    let (untold, others): (Vec<Step>, Vec<Step>) = finished.left_out.iter().cloned().partition(untold);
    text.push_str(&left_out(NOT_FOR_THIS_MACHINE, &others));
    text.push_str(&left_out("Left out: systemd could not be asked", &untold));
    if finished.reboot {
        let _ = writeln!(text, "{} for it to take effect: ostler reboot", styled(CAUTION, "Restart the machine"));
    }
    text
}

/// What the undo passed over.
pub(super) fn passed_over(finished: &Finished) -> String {
    let mut text = String::new();
    for failure in &finished.service_failures {
        let _ = writeln!(text, "{} {}", styled(CAUTION, "Service failure:"), printable(&failure.to_string()));
    }
    for path in &finished.leftovers {
        let _ = writeln!(text, "{} {}", styled(CAUTION, "Left behind:"), printable(path));
    }
    text
}

const fn is_for_systemd(step: &Step) -> bool {
    matches!(step, Step::DaemonReload | Step::ReloadService { .. } | Step::RestartService { .. })
}

fn applied(finished: &Finished) -> String {
    let (word, to) = (|word| styled(GOOD, word), config(&finished.to));
    let changed = things(finished.changed);
    match finished.purpose {
        Purpose::Update => format!("{} the machine is in {to}. Changed: {changed}.", word("Applied:")),
        Purpose::Rollback => format!("{} the machine is in {to} again. Changed: {changed}.", word("Rolled back:")),
        Purpose::Repair if !finished.leftovers.is_empty() => {
            format!(
                "{} the machine does not agree with {to} everywhere. Changed: {changed}.",
                word("Repaired in part:")
            )
        }
        Purpose::Repair => format!("{} the machine agrees with {to} again. Changed: {changed}.", word("Repaired:")),
    }
}

fn abandoned(finished: &Finished, reason: &str) -> String {
    format!(
        "{} the change from {} to {}, which could be neither finished nor undone: {}",
        styled(CAUTION, "Abandoned:"),
        config(&finished.from),
        config(&finished.to),
        printable(reason)
    )
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  {}\n", printable(line))).collect()
}

/// What only the restart is missing from.
fn ready(finished: &Finished, reason: Option<&str>) -> String {
    match reason {
        None => format!(
            "{} {} is in place, and its operating system is staged. Changed: {}.",
            styled(GOOD, "Ready:"),
            config(&finished.to),
            things(finished.changed)
        ),
        Some(reason) => format!(
            "{} {}\nThe machine goes back to {}, whose operating system is staged.",
            styled(BAD, "Going back:"),
            printable(reason),
            config(&finished.from)
        ),
    }
}

/// What is said of a machine that may be in the middle of a transaction.
const UNSETTLED: &str = "The machine is NOT settled: \"ostler status\" tells how it is, \"ostler recover\" finishes or undoes what is open.";

/// Why something could not be done, and what to do about it.
pub fn failure(failure: &Failure) -> String {
    failure_or(failure, UNSETTLED)
}

/// The same, with other words for what is not as it was.
pub fn failure_or(failure: &Failure, unsettled: &str) -> String {
    let mut reasons = failure.reasons.iter().map(|reason| printable(reason));
    let first = reasons.next().unwrap_or_else(|| "no reason was given".to_owned());
    let rest: String = reasons.map(|cause| format!("  because {cause}\n")).collect();
    let heading = match failure.class {
        Class::Refusal => "refused:",
        Class::Transient => "failed for now:",
        Class::Inoperable => "failed:",
    };
    let next = match failure.class {
        Class::Refusal => "Trying again will not help.",
        Class::Transient => "Trying again may help.",
        Class::Inoperable => "A person has to look at this machine.",
    };
    let state = if failure.unchanged { "The machine is as it was." } else { unsettled };
    let remedy = failure.remedy.as_deref().map(|remedy| {
        let heading = styled(HEADING, "remedy:");
        format!("{heading} {}\n", printable(remedy))
    });
    format!("{} {first}\n{rest}{}{state} {next}\n", styled(BAD, heading), remedy.unwrap_or_default())
}

/// What every command that changes a machine prints as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CourseDocument<'a> {
    result: &'static str,
    plan: Option<PlanDocument<'a>>,
    drift: Option<Vec<Entry<'a>>>,
    forecast: Option<&'a Forecast>,
    finished: Option<FinishedDocument<'a>>,
    failure: Option<&'a Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rollback_hold: Option<&'a RollbackHold>,
}

impl<'a> CourseDocument<'a> {
    /// How it went.
    pub fn new(course: &'a Course) -> Self {
        let mut document = Self {
            result: "nothing",
            plan: None,
            drift: None,
            forecast: None,
            finished: None,
            failure: None,
            rollback_hold: None,
        };
        match course {
            Course::Refused => document.result = "refused",
            Course::Nothing => {}
            Course::Checked(forecast) => (document.result, document.forecast) = ("checked", Some(forecast)),
            Course::Declined => document.result = "declined",
            Course::Delegated => document.result = "requested",
            Course::Finished(finished) => {
                let finished = FinishedDocument::new(finished);
                (document.result, document.finished) = (finished.ending, Some(finished));
            }
            Course::Failed(failure) => {
                let refused = failure.unchanged && failure.class == Class::Refusal;
                document.result = if refused { "refused" } else { "failed" };
                document.failure = Some(failure);
            }
        }
        document
    }

    /// With what was planned.
    pub fn with_plan(self, plan: PlanDocument<'a>) -> Self {
        Self { plan: Some(plan), ..self }
    }

    /// With the hold that it leaves.
    pub fn with_hold(self, rollback_hold: Option<&'a RollbackHold>) -> Self {
        Self { rollback_hold, ..self }
    }

    /// The hold that it leaves, unless the rollback was undone and took it along.
    pub fn hold(&self) -> Option<&'a RollbackHold> {
        self.rollback_hold.filter(|_| self.finished.as_ref().is_none_or(FinishedDocument::keeps_hold))
    }

    /// With what there was to repair.
    pub fn with_drift(self, drift: &'a [Drift], policy: &DriftPolicy) -> Self {
        Self { drift: Some(drift.iter().map(|drift| Entry::new(drift, policy)).collect()), ..self }
    }
}

/// A transaction that has ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishedDocument<'a> {
    purpose: Purpose,
    from: &'a str,
    to: &'a str,
    ending: &'static str,
    reason: Option<&'a str>,
    began: String,
    ended: String,
    changed: usize,
    reboot: bool,
    left_out: &'a [Step],
    #[serde(skip_serializing_if = "Option::is_none")]
    boot_loader: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    service_failures: &'a [ServiceFailure],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    leftovers: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    differs: &'a [String],
}

impl<'a> FinishedDocument<'a> {
    fn keeps_hold(&self) -> bool {
        self.purpose != Purpose::Rollback || self.ending != "undone"
    }

    /// Of this transaction.
    pub fn new(finished: &'a Finished) -> Self {
        let differs = match &finished.ending {
            Ending::Abandoned { differs, .. } => differs.as_slice(),
            Ending::Applied | Ending::Undone { .. } | Ending::AwaitsReboot { .. } => &[],
        };
        let (ending, reason) = match &finished.ending {
            Ending::Applied => ("applied", None),
            Ending::Undone { reason } => ("undone", Some(reason.as_str())),
            Ending::AwaitsReboot { reason } => ("awaitsReboot", reason.as_deref()),
            Ending::Abandoned { reason, .. } => ("abandoned", Some(reason.as_str())),
        };
        Self {
            purpose: finished.purpose,
            from: &finished.from,
            to: &finished.to,
            ending,
            reason,
            began: moment::utc(finished.began),
            ended: moment::utc(finished.ended),
            changed: finished.changed,
            reboot: finished.reboot,
            left_out: &finished.left_out,
            differs,
            boot_loader: finished.boot_loader.as_deref(),
            service_failures: &finished.service_failures,
            leftovers: &finished.leftovers,
        }
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use serde_json::json;

    use super::*;

    fn awaiting(reason: Option<&str>) -> Course {
        Course::Finished(Finished {
            purpose: Purpose::Update,
            from: "rendered-worker-1".to_owned(),
            to: "rendered-worker-2".to_owned(),
            ending: Ending::AwaitsReboot { reason: reason.map(str::to_owned) },
            began: 1_791_000_000,
            ended: 1_791_000_010,
            boot: "b".to_owned().into(),
            reboot: true,
            left_out: Vec::new(),
            changed: 3,
            boot_loader: None,
            service_failures: Vec::new(),
            leftovers: Vec::new(),
        })
    }

    #[test]
    fn a_change_that_waits_for_its_restart_says_which_way_it_goes() {
        for (reason, said) in [
            (
                None,
                "Ready: rendered-worker-2 is in place, and its operating system is staged. Changed: 3 files and \
                 links. (10 seconds)\n",
            ),
            (
                Some("it did not boot\u{7}"),
                "Going back: it did not boot\\u{7}\nThe machine goes back to rendered-worker-1, whose operating system is \
                 staged. (10 seconds)\n",
            ),
        ] {
            let text = strip_str(&course(&awaiting(reason))).to_string();
            let restart = "Restart the machine for it to take effect: ostler reboot\n";
            assert_eq!(text, format!("{said}{restart}"));
        }
    }

    #[test]
    fn a_program_is_told_the_same_word_and_the_reason() {
        for reason in [None, Some("it did not boot")] {
            let course = awaiting(reason);
            let document = serde_json::to_value(CourseDocument::new(&course)).unwrap();
            assert_eq!(document["result"], "awaitsReboot");
            assert_eq!(document["finished"]["ending"], "awaitsReboot");
            assert_eq!(
                (&document["finished"]["reason"], &document["finished"]["reboot"]),
                (&json!(reason), &json!(true))
            );
            assert_eq!(document["failure"], json!(null));
        }
    }
}
