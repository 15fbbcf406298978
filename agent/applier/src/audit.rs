//! Every change that is asked for, written to the journal before it begins and after it has ended.
//!
//! Speaks journald's own protocol, which is one datagram of fields. A journal that cannot be reached is no reason to
//! refuse a change: the message goes to standard error then.

use std::os::unix::net::UnixDatagram;
use std::path::Path;

use ostler_core::protocol::audit::{Asker, Change, ConfigId, Line};
use ostler_core::protocol::{Reply, Request, Sealed};
use ostler_host::journal::TextId;

/// Where journald listens.
pub(crate) const JOURNAL: &str = "/run/systemd/journal/socket";
/// A list of control groups is not longer than this.
const MOST_UNIT: usize = 256;

/// What is written of one request; nothing of one that only looks, or that is not about the machine itself.
pub(crate) struct Audit<'j> {
    journal: &'j Path,
    change: Change,
}

impl<'j> Audit<'j> {
    /// Writes down that it was asked for.
    pub(crate) fn begin(
        journal: Option<&'j Path>,
        request: &Request,
        asker: &Asker,
        config: impl FnOnce() -> Option<ConfigId>,
    ) -> Option<Self> {
        let journal = journal?;
        let change = Change::of(request, asker, config)?;
        let audit = Self { journal, change };
        audit.write(&audit.change.asked());
        Some(audit)
    }

    /// Writes down how it ended; without an answer, in a panic.
    pub(crate) fn end(&self, reply: Option<&Reply>) {
        self.write(&self.change.ended(reply));
    }

    fn write(&self, line: &Line) {
        let text: String = line.fields.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to(text.as_bytes(), self.journal));
        if sent.is_err() {
            crate::log(&line.message());
        }
    }
}

/// A configuration with the digest by which the agent's journal of transactions names its text.
pub(crate) fn config_id(config: &Sealed) -> ConfigId {
    let digest = TextId::of(config.text().expose().as_bytes()).as_str().to_owned();
    ConfigId { name: config.name().unwrap_or_default(), digest }
}

/// A process by its number and user, with the unit that it belongs to.
pub(crate) fn asker(pid: i32, uid: u32) -> Asker {
    let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let is_unit = |part: &&str| part.len() <= MOST_UNIT && (part.ends_with(".service") || part.ends_with(".scope"));
    let unit = groups.split(['/', '\n']).rfind(is_unit).map(ostler_core::terminal::printable);
    Asker { pid, uid, unit }
}
