//! The agent: its version, its next action, the last reason to look, and the reach of its cluster.

use std::fmt::Write as _;

use ostler_core::node::{ConfigRef, Phase};
use ostler_core::words;
use serde::Serialize;

use super::moment;
use super::phrase::{FAINT, HEADING, config, printable, styled};
use crate::account::Account;
use crate::commands::Heard;

/// The part of `ostler status` that is about the agent; nothing where none runs or answers, which the verdict says.
pub fn agent(heard: &Heard) -> String {
    let Ok(Some(account)) = &heard.account else { return String::new() };
    let since = styled(FAINT, &format!("in this state for {}", words::span(account.since, heard.now)));
    let heading = styled(HEADING, "Agent        ");
    let mut text = format!("\n{heading}  ostler {}, {since}\n", printable(&account.version));
    for (name, value) in lines(account, heard.now) {
        let _ = writeln!(text, "  {name:11}  {value}");
    }
    text
}

fn lines(account: &Account, now: u64) -> Vec<(&'static str, String)> {
    let mut lines = vec![("next", printable(&account.next)), ("looked for", printable(&account.reason))];
    if let Some(at) = account.retry_at {
        let tried = if account.attempt == 1 { "once".to_owned() } else { format!("{} times", account.attempt) };
        let due = if at > now { format!("again in {}", words::span(now, at)) } else { "again now".to_owned() };
        lines.push(("tried", format!("{tried}, {due}")));
    }
    if let Some(desired) = account.desired.as_ref().filter(|desired| account.current.as_ref() != Some(desired)) {
        let from = account.current.as_ref().map_or_else(|| "no configuration".to_owned(), |from| config(&from.config));
        lines.push(("update", format!("from {from} to {}", config(&desired.config))));
    }
    if account.irreconcilable > 0 {
        let compared = if account.base_kept { ", by the earliest configuration known" } else { "" };
        let count = words::count(account.irreconcilable, "difference");
        lines.push(("reinstall", format!("{count} that only a new installation brings{compared}")));
    }
    lines
}

/// What a program gets of it. Keys are a contract; more may be added.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonDocument<'a> {
    version: &'a str,
    node: &'a str,
    doing: &'a str,
    since: String,
    reason: &'a str,
    next: &'a str,
    blocked_by: Option<&'a str>,
    phase: Phase,
    current: Option<&'a ConfigRef>,
    desired: Option<&'a ConfigRef>,
    attempt: u32,
    retry_at: Option<String>,
    trouble: Option<&'a str>,
    api: Option<ApiDocument>,
    irreconcilable: usize,
    base_kept: bool,
}

#[derive(Debug, Serialize)]
struct ApiDocument {
    reachable: bool,
    since: String,
}

impl<'a> DaemonDocument<'a> {
    /// Of this account.
    pub fn new(account: &'a Account) -> Self {
        Self {
            version: &account.version,
            node: &account.node,
            doing: &account.doing,
            since: moment::utc(account.since),
            reason: &account.reason,
            next: &account.next,
            blocked_by: account.blocked_by.as_deref(),
            phase: account.phase,
            current: account.current.as_ref(),
            desired: account.desired.as_ref(),
            attempt: account.attempt,
            retry_at: account.retry_at.map(moment::utc),
            trouble: account.trouble.as_deref(),
            api: account.api.map(|api| ApiDocument { reachable: api.reachable, since: moment::utc(api.since) }),
            irreconcilable: account.irreconcilable,
            base_kept: account.base_kept,
        }
    }
}
