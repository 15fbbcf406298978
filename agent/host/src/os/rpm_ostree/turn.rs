//! Whose transaction is under way, and waiting until it is not.
//!
//! A transaction of ours whose process is gone is cancelled rather than adopted: nobody knows any more what it was made
//! from, and the layers it has fetched are kept for the next one.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::steps::Work;
use super::telling::Telling;
use super::wire::Session;
use super::{CLIENT, follow};
use crate::os::OsError;
use crate::os::lock::{SysrootLock, waiting_for};

/// How often it is looked whether the others are done: so many times in all, but not more often or rarer than this.
const LOOKS: u32 = 40;
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_NAME: usize = 200;
const LEFT_BEHIND: &str = "an earlier run of ostler";

/// Who holds the daemon.
struct Holder {
    /// What tells one transaction from the next.
    key: (String, String),
    words: String,
    /// Whether it is ours, and nobody waits for it any more.
    left_behind: bool,
}

/// Who but us holds the daemon or the deployments, in words.
pub(super) async fn occupant(session: &Session, lock: &SysrootLock) -> Result<Option<String>, OsError> {
    let (method, sender, address) = session.active().await?;
    if method.is_empty() {
        return Ok(lock.holder());
    }
    let holder = identify(session, method, (sender, address)).await;
    Ok((!holder.left_behind).then_some(holder.words))
}

/// Waiting for others, as long as is allowed.
pub(super) struct Turn {
    since: Instant,
    known: Option<Holder>,
}

impl Turn {
    pub fn new() -> Self {
        Self { since: Instant::now(), known: None }
    }

    /// Returns once nobody's transaction is under way.
    pub async fn wait(&mut self, session: &Session, telling: &mut Telling<'_>) -> Result<(), OsError> {
        loop {
            let (method, sender, address) = session.active().await?;
            if method.is_empty() {
                return Ok(());
            }
            if session.is_me(&sender) {
                // The transaction before this one has ended, and the daemon is about to notice that nobody listens.
                self.pause(session, "ostler itself".to_owned(), SHORTEST_PAUSE).await?;
                continue;
            }
            let key = (sender, address);
            // Asking a transaction leaves traces in the journal, so each is asked once.
            if self.known.as_ref().is_none_or(|known| known.key != key) {
                let holder = identify(session, method, key).await;
                if holder.left_behind {
                    telling.say(&format!("cancelling what {} left behind", holder.words));
                    follow::cancel(&holder.key.1, session.limits).await;
                } else {
                    telling.say(&format!("waiting for {}", holder.words));
                }
                self.known = Some(holder);
            }
            let words = self.known.as_ref().map(|known| known.words.clone()).unwrap_or_default();
            self.pause(session, words, between_looks(session)).await?;
        }
    }

    /// Not our turn after all: somebody was faster, or has locked the deployments without the daemon.
    pub async fn lost(&self, work: &mut Work<'_>, words: &str) -> Result<(), OsError> {
        let occupant = match work.lock.holder() {
            Some(holder) => {
                work.telling.say(&waiting_for(&holder));
                holder
            }
            None => words.lines().next().map_or_else(|| "another process".to_owned(), |line| format!("\"{line}\"")),
        };
        self.pause(work.session, occupant, between_looks(work.session)).await
    }

    async fn pause(&self, session: &Session, occupant: String, pause: Duration) -> Result<(), OsError> {
        let allowed = session.limits.others;
        if self.since.elapsed() + pause > allowed {
            return Err(OsError::Busy { occupant, seconds: allowed.as_secs() });
        }
        sleep(pause).await;
        Ok(())
    }
}

fn between_looks(session: &Session) -> Duration {
    (session.limits.others / LOOKS).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

async fn identify(session: &Session, method: String, key: (String, String)) -> Holder {
    let (sender, address) = &key;
    let (client, title) = follow::description(address, session.limits).await.unwrap_or_default();
    let part = |name: &str| part(&client, name);
    let ours = part("id:") == Some(CLIENT);
    if ours && session.has_owner(sender).await.is_ok_and(|there| !there) {
        return Holder { key, words: LEFT_BEHIND.to_owned(), left_behind: true };
    }
    let mut words = part("id:").unwrap_or("a client").to_owned();
    if let Some(unit) = part("unit:") {
        words.push_str(&format!(" in {unit}"));
    }
    if let Some(process) = session.process(sender).await {
        words.push_str(&format!(", process {process}"));
    }
    let task = if title.is_empty() { &method } else { &title };
    let words = format!("{words} ({task})");
    let words = words.chars().filter(|one| !one.is_control()).take(LONGEST_NAME).collect();
    Holder { key, words, left_behind: false }
}

/// A part of `client(id:cli dbus:1.105 unit:session-2.scope uid:0)`.
fn part<'c>(client: &'c str, name: &str) -> Option<&'c str> {
    let inner = client.strip_prefix("client(")?.strip_suffix(')')?;
    inner.split_whitespace().find_map(|word| word.strip_prefix(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_described_in_parts() {
        let client = "client(id:cli dbus:1.105 unit:session-2.scope uid:0)";
        assert_eq!((part(client, "id:"), part(client, "unit:")), (Some("cli"), Some("session-2.scope")));
        for other in ["caller :1.4", "client(dbus:1.4 uid:0)", ""] {
            assert_eq!((part(other, "id:"), part(other, "unit:")), (None, None), "{other}");
        }
    }
}
