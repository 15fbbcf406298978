//! What the daemon says of itself to whoever asks on this machine: what it does, since when, what next, what blocks it.
//!
//! Owns the document and the socket it is read from. All that can be asked for there, by root, is that the agent looks again.

pub mod client;
pub mod server;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use ostler_core::drift::policy::MAX_ANNOTATION;
use ostler_core::node::{ConfigRef, Phase};
use ostler_core::protocol::Rules;
use ostler_core::verdict::AgentReport;
use serde::{Deserialize, Serialize};

/// Longest document, in bytes.
const MAX_DOCUMENT: usize = 128 * 1024;
/// Longest trouble, in characters, as in the node's annotation.
const MAX_TROUBLE: usize = 2000;
/// Asks the agent to look at everything again, as SIGHUP does.
const LOOK: &[u8] = b"look\n";
/// Longest other text, in characters. Even if every character has to be escaped, a document stays below its limit.
const MAX_TEXT: usize = 500;

/// What a daemon may write that is nothing but a daemon: the directory is its own, and holds nothing of the root half.
pub const DIRECTORY: &str = "run/ostler/agent";

/// Where the daemon of a root directory, or of the machine, is to be asked.
pub fn socket(root: Option<&Path>) -> PathBuf {
    root.unwrap_or(Path::new("/")).join(DIRECTORY).join("agent.sock")
}

/// Longest path that fits into the address of a socket, in bytes.
const MAX_ADDRESS: usize = 107;

/// A path that fits into the address of a socket, for as long as the directory is kept open.
fn address(path: &Path) -> io::Result<(Option<File>, PathBuf)> {
    match (path.parent(), path.file_name()) {
        (Some(directory), Some(name)) if path.as_os_str().len() > MAX_ADDRESS => {
            let directory = File::open(directory)?;
            let short = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name);
            Ok((Some(directory), short))
        }
        _ => Ok((None, path.to_owned())),
    }
}

/// What the daemon says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// The daemon's version.
    pub version: String,
    /// The node's name.
    pub node: String,
    /// What it does.
    pub doing: String,
    /// Since when, in seconds since 1970.
    pub since: u64,
    /// What the last turn of the loop was for.
    pub reason: String,
    /// What comes next.
    pub next: String,
    /// What it waits for.
    pub blocked_by: Option<String>,
    /// How far the node is.
    pub phase: Phase,
    /// What the node is in.
    pub current: Option<ConfigRef>,
    /// What it is to reach.
    pub desired: Option<ConfigRef>,
    /// How often the present step was tried.
    pub attempt: u32,
    /// When it is tried again, in seconds since 1970.
    pub retry_at: Option<u64>,
    /// What keeps it from going on without help.
    pub trouble: Option<String>,
    /// How it stands with the cluster, where it is in one.
    pub api: Option<Api>,
    /// How many differences need the node to be installed again.
    pub irreconcilable: usize,
    /// Whether another configuration stands in for the one that the node was installed with.
    pub base_kept: bool,
    /// What the cluster says is to be done about drift.
    #[serde(default)]
    pub drift_policy: Option<String>,
    /// The rules that it plans by; none until it knows them, or where they are too long to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Rules>,
    /// The agent's part of the verdict; none until its first decision.
    #[serde(default)]
    pub report: Option<AgentReport>,
}

/// How it stands with the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Api {
    /// Whether it can be reached.
    pub reachable: bool,
    /// Since when it can or cannot, in seconds since 1970.
    pub since: u64,
}

impl Account {
    /// The same with texts of bounded length.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        for text in [&mut self.version, &mut self.node, &mut self.doing, &mut self.reason, &mut self.next] {
            shorten(text, MAX_TEXT);
        }
        if let Some(blocker) = &mut self.blocked_by {
            shorten(blocker, MAX_TEXT);
        }
        if let Some(trouble) = &mut self.trouble {
            shorten(trouble, MAX_TROUBLE);
        }
        if let Some(policy) = &mut self.drift_policy {
            // One more than can be a policy: what was cut is never taken for one.
            shorten(policy, MAX_ANNOTATION + 1);
        }
        for reference in [&mut self.current, &mut self.desired].into_iter().flatten() {
            shorten(&mut reference.config, MAX_TEXT);
            if let Some(image) = &mut reference.image {
                shorten(image, MAX_TEXT);
            }
        }
        for text in self.report.iter_mut().flat_map(AgentReport::texts) {
            shorten(text, MAX_TEXT);
        }
        if serde_json::to_vec(&self).is_ok_and(|document| document.len() > MAX_DOCUMENT) {
            self.rules = None;
        }
        self
    }
}

fn shorten(text: &mut String, limit: usize) {
    if let Some((end, _)) = text.char_indices().nth(limit) {
        text.truncate(end);
    }
}

#[cfg(test)]
pub mod tests;
