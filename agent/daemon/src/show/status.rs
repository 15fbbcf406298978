//! How a machine is: its configuration, what is unfinished, what happened last.

use std::fmt::Write as _;

use ostler_core::machine_config::MachineConfig;
use ostler_core::rival::Rival;
use ostler_core::rollback::{RELEASE, RollbackHold};
use ostler_core::status::Status;
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Ending, Finished, Open, OwedRestart, Phase, Purpose, Rejected, Trial};
use ostler_core::verdict::{State, Verdict};
use serde::Serialize;

use super::agent::DaemonDocument;
use super::course::{self, FinishedDocument};
use super::moment;
use super::os::{self, OsDocument};
use super::phrase::{BAD, CAUTION, FAINT, GOOD, HEADING, config, phase, printable, styled};
use super::verdict::VerdictDocument;
use crate::commands::Heard;

/// What `ostler status` says.
pub fn status(status: &Status) -> String {
    let mut text = String::new();
    let named = |name: &Option<String>| name.as_deref().map_or_else(|| "none".to_owned(), config);
    let _ = writeln!(text, "\n{}  {}", styled(HEADING, "Configuration"), named(&configuration(status)));
    if let Some(image) = &status.image {
        let _ = writeln!(text, "{}  {}", styled(HEADING, "OS image     "), printable(image));
    }
    let _ = writeln!(text, "{}  {}", styled(HEADING, "Before it    "), named(&status.previous));
    for owed in &status.owed_restarts {
        let (cause, since) = (printable(&owed.cause()), moment::utc(owed.since));
        let _ = writeln!(text, "{}  {cause}, since {since}", styled(HEADING, "Restart for  "));
    }
    if let Some(trial) = &status.trial {
        let _ = writeln!(text, "{}  {}", styled(HEADING, "On trial     "), on_trial(trial));
    }
    if let Some(hold) = &status.rollback_hold {
        let since = styled(FAINT, &format!("(since {})", moment::utc(hold.since)));
        let _ = writeln!(
            text,
            "{}  {} {since}",
            styled(HEADING, "Held         "),
            printable(&format!("{}; release it with \"{RELEASE}\"", hold.words()))
        );
    }
    if status.forced {
        let _ = writeln!(text, "{}  yes, the force file is there", styled(HEADING, "Next forced  "));
    }
    text.push_str(&os::os(&status.os, &status.own_kargs));
    if let Some(open) = &status.open {
        text.push_str(&unfinished(open, &status.done));
    }
    if let Some(last) = &status.last {
        text.push_str(&ended(last));
    }
    if !status.rejected.is_empty() {
        text.push_str(&given_up(&status.rejected));
    }
    text
}

/// The configuration of the machine. Its record is written with the files: while a transaction is open it may name the
/// configuration that the machine has yet to reach.
fn configuration(status: &Status) -> Option<String> {
    match &status.open {
        Some(open) => Some(open.from.clone()).filter(|from| from != MachineConfig::EMPTY),
        None => status.config.clone(),
    }
}

fn on_trial(trial: &Trial) -> String {
    let os = if trial.os { ", its operating system included" } else { "" };
    format!("{}{os}, since {}", config(&trial.config), moment::utc(trial.since))
}

fn given_up(rejected: &[Rejected]) -> String {
    let mut text = format!("\n{}\n", styled(HEADING, "Given up here, not tried again by itself"));
    for one in rejected {
        let at = styled(FAINT, &format!("({})", moment::utc(one.at)));
        let _ = writeln!(text, "  {} {at}: {}", config(&one.config), printable(&one.reason));
    }
    text
}

fn route(what: Purpose, from: &str, to: &str) -> String {
    match what {
        Purpose::Repair => format!("{} of {}", what.noun(), config(to)),
        Purpose::Update | Purpose::Rollback => format!("{} from {} to {}", what.noun(), config(from), config(to)),
    }
}

fn unfinished(open: &Open, done: &[Phase]) -> String {
    let mut text = format!("\n{}\n", styled(HEADING, "Open transaction"));
    let _ = writeln!(text, "  what     {}", route(open.purpose, &open.from, &open.to));
    let _ = writeln!(text, "  began    {}", moment::utc(open.began));
    let _ = match open.direction {
        Direction::Forward => writeln!(text, "  heading  forward, to {}", config(&open.to)),
        Direction::Back => {
            writeln!(text, "  heading  {}", styled(CAUTION, &format!("back, to {}", config(&open.from))))
        }
    };
    if let Some(reason) = &open.reason {
        let _ = writeln!(text, "  because  {}", printable(reason));
    }
    let phases = if done.is_empty() {
        "nothing yet".to_owned()
    } else {
        done.iter().map(|done| phase(*done)).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(text, "  done     {phases}");
    text
}

fn ended(last: &Finished) -> String {
    let mut text = format!("\n{}\n", styled(HEADING, "Last transaction"));
    let _ = writeln!(text, "  what     {}", route(last.purpose, &last.from, &last.to));
    let _ = match &last.ending {
        Ending::Applied => writeln!(text, "  result   {}, {} changed", styled(GOOD, "applied"), last.changed),
        Ending::Undone { reason } => writeln!(text, "  result   {}: {}", styled(BAD, "undone"), printable(reason)),
        Ending::AwaitsReboot { .. } => writeln!(text, "  result   {}", styled(CAUTION, "waits for the restart")),
        Ending::Abandoned { reason, .. } => {
            writeln!(text, "  result   {}: {}", styled(BAD, "abandoned"), printable(reason))
        }
    };
    let took = styled(FAINT, &format!("({})", moment::duration(last.began, last.ended)));
    let _ = writeln!(text, "  began    {}\n  ended    {} {took}", moment::utc(last.began), moment::utc(last.ended));
    course::passed_over(last).lines().for_each(|line| text.push_str(&format!("  {line}\n")));
    text
}

/// What `ostler status -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDocument<'a> {
    verdict: VerdictDocument<'a>,
    /// Whether the node is up to date.
    settled: bool,
    config: Option<String>,
    image: Option<&'a str>,
    previous: Option<&'a str>,
    open: Option<OpenDocument<'a>>,
    last: Option<FinishedDocument<'a>>,
    busy: bool,
    forced: bool,
    awaits_reboot: bool,
    owed_restarts: Vec<OwedDocument<'a>>,
    restart: Option<RestartDocument<'a>>,
    trial: Option<TrialDocument<'a>>,
    rejected: Vec<RejectedDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rollback_hold: Option<&'a RollbackHold>,
    #[serde(skip_serializing_if = "Option::is_none")]
    staged_for: Option<&'a str>,
    damaged: &'a [String],
    rival: Option<&'a Rival>,
    os: OsDocument<'a>,
    daemon: Option<DaemonDocument<'a>>,
    daemon_unknown: Option<String>,
}

/// A configuration that has yet to prove itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrialDocument<'a> {
    config: &'a str,
    os: bool,
    since: String,
}

/// A configuration that was given up.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RejectedDocument<'a> {
    config: &'a str,
    reason: &'a str,
    at: String,
}

/// A restart that the machine needs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OwedDocument<'a> {
    config: &'a str,
    reasons: &'a [String],
    since: String,
    boot: String,
}

/// A restart that was ordered and has not happened yet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RestartDocument<'a> {
    ordered: String,
    rationale: &'a str,
}

/// A transaction that is open.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenDocument<'a> {
    purpose: Purpose,
    direction: Direction,
    from: &'a str,
    to: &'a str,
    began: String,
    reason: Option<&'a str>,
    done: &'a [Phase],
    steps: &'a [Step],
}

impl<'a> StatusDocument<'a> {
    /// Of this status, and of what the agent says.
    pub fn new(status: &'a Status, verdict: &'a Verdict, heard: &'a Heard) -> Self {
        Self {
            verdict: VerdictDocument::new(verdict, heard.now),
            settled: verdict.state() == State::UpToDate,
            config: configuration(status),
            image: status.image.as_deref(),
            previous: status.previous.as_deref(),
            open: status.open.as_ref().map(|open| OpenDocument::new(open, &status.done)),
            last: status.last.as_ref().map(FinishedDocument::new),
            busy: status.busy,
            forced: status.forced,
            awaits_reboot: status.awaits_reboot,
            owed_restarts: status.owed_restarts.iter().map(OwedDocument::new).collect(),
            restart: status.restart.as_ref().map(|restart| RestartDocument {
                ordered: moment::utc(restart.ordered),
                rationale: &restart.rationale,
            }),
            trial: status.trial.as_ref().map(TrialDocument::new),
            rejected: status.rejected.iter().map(RejectedDocument::new).collect(),
            rollback_hold: status.rollback_hold.as_ref(),
            staged_for: status.staged_for.as_deref(),
            damaged: &status.damaged,
            rival: status.rival.as_ref(),
            os: OsDocument::new(status),
            daemon: heard.account.as_ref().ok().and_then(Option::as_ref).map(DaemonDocument::new),
            daemon_unknown: heard.account.as_ref().err().map(ToString::to_string),
        }
    }
}

impl<'a> OpenDocument<'a> {
    fn new(open: &'a Open, done: &'a [Phase]) -> Self {
        Self {
            purpose: open.purpose,
            direction: open.direction,
            from: &open.from,
            to: &open.to,
            began: moment::utc(open.began),
            reason: open.reason.as_deref(),
            done,
            steps: &open.steps,
        }
    }
}

impl<'a> OwedDocument<'a> {
    fn new(owed: &'a OwedRestart) -> Self {
        let (since, boot) = (moment::utc(owed.since), owed.boot.to_string());
        Self { config: &owed.config, reasons: &owed.reasons, since, boot }
    }
}

impl<'a> TrialDocument<'a> {
    fn new(trial: &'a Trial) -> Self {
        Self { config: &trial.config, os: trial.os, since: moment::utc(trial.since) }
    }
}

impl<'a> RejectedDocument<'a> {
    fn new(rejected: &'a Rejected) -> Self {
        Self { config: &rejected.config, reason: &rejected.reason, at: moment::utc(rejected.at) }
    }
}
