//! What the daemon is doing, since when, what next, and what blocks it.

use std::fmt::Write as _;

use ostler_core::node::{ConfigRef, Phase};
use serde::Serialize;

use super::moment;
use super::phrase::{BAD, CAUTION, FAINT, HEADING, config, printable, styled};
use crate::account::Account;
use crate::account::client::AskError;

/// What comes before everything else in `ostler status`; nothing where there is no daemon.
pub fn daemon(answer: &Result<Option<Account>, AskError>, now: u64) -> String {
    let heading = styled(HEADING, "Daemon       ");
    match answer {
        Ok(None) => String::new(),
        Ok(Some(account)) => {
            let since = styled(FAINT, &format!("for {}", moment::span(account.since, now)));
            let mut text = format!("{heading}  {}, {since}\n", printable(&account.doing));
            for (name, value) in lines(account, now) {
                let _ = writeln!(text, "  {name:11}  {value}");
            }
            text.push('\n');
            text
        }
        Err(error) => {
            let remedy = "see \"journalctl -t ostler\"";
            format!("{heading}  {}; {remedy}\n\n", styled(CAUTION, &printable(&error.to_string())))
        }
    }
}

fn lines(account: &Account, now: u64) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut line = |name, value: &str| lines.push((name, printable(value)));
    line("next", &account.next);
    if let Some(blocker) = &account.blocked_by {
        line("blocked by", blocker);
    }
    line("turned for", &account.reason);
    if let Some(trouble) = &account.trouble {
        lines.push(("trouble", styled(BAD, &printable(trouble))));
    }
    if let Some(at) = account.retry_at {
        let tried = if account.attempt == 1 { "once".to_owned() } else { format!("{} times", account.attempt) };
        let due = if at > now { format!("again in {}", moment::span(now, at)) } else { "again now".to_owned() };
        lines.push(("tried", format!("{tried}, {due}")));
    }
    if let Some(desired) = account.desired.as_ref().filter(|desired| account.current.as_ref() != Some(desired)) {
        let from = account.current.as_ref().map_or_else(|| "no configuration".to_owned(), |from| config(&from.config));
        lines.push(("update", format!("from {from} to {}", config(&desired.config))));
    }
    if let Some(api) = account.api.filter(|api| !api.reachable) {
        lines.push(("cluster", format!("cannot be reached for {}", moment::span(api.since, now))));
    }
    if account.irreconcilable > 0 {
        let compared = if account.base_kept { ", by the earliest configuration known" } else { "" };
        let count = account.irreconcilable;
        lines.push(("reinstall", format!("{count} differences only go with a new installation{compared}")));
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
