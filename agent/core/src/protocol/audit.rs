//! What the root half writes to the journal of every change that it is asked for: who asked, for what, and how it ended.
//!
//! Owns the fields, their words and their identifiers. The half that asked writes its own lines; these are there
//! whatever it writes, and none of them shows what is in a configuration.

use super::{Reply, Request};
use crate::terminal::printable;
use crate::transaction::Ending;

/// By which name the journal knows the root half.
pub const IDENTIFIER: &str = "ostler-applier";
const ASKED: &str = "576ed92db2a24ab580aa2557f26796ac";
const ENDED: &str = "a123cd77684b48bba913f030298c1b7d";
/// Kinds of lines, by name and identifier, as the message catalogue explains them.
pub const IDS: [(&str, &str); 2] = [("ChangeAsked", ASKED), ("ChangeEnded", ENDED)];

/// Priorities of syslog.
const WARNING: u8 = 4;
const INFO: u8 = 6;

/// The process that asks, by the kernel's word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    pub pid: i32,
    pub uid: u32,
    /// Its unit, where that can be told. It was asked for by number, so it is no proof.
    pub unit: Option<String>,
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its fields, each of one line of text. The message is the first.
    pub fields: Vec<(&'static str, String)>,
}

impl Line {
    /// What it says.
    pub fn message(&self) -> &str {
        self.fields.first().map_or("", |(_, message)| message)
    }
}

/// A configuration, by its name and the digest of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigId {
    pub name: String,
    pub digest: String,
}

/// A change that was asked for.
#[derive(Clone, Debug)]
pub struct Change {
    asker: Asker,
    request: &'static str,
    config: Option<ConfigId>,
}

impl Change {
    /// A request as a change, unless it only looks, with the configuration that it brings or that was prepared for it.
    pub fn of(request: &Request, asker: &Asker, config: impl FnOnce() -> Option<ConfigId>) -> Option<Self> {
        let named = |config: ConfigId| ConfigId { name: printable(&config.name), ..config };
        request.changes().then(|| Self { asker: asker.clone(), request: request.name(), config: config().map(named) })
    }

    /// That it is begun.
    pub fn asked(&self) -> Line {
        let unit = self.asker.unit.as_ref().map(|unit| format!(", {unit}")).unwrap_or_default();
        let asker = format!("process {} (user {}{unit})", self.asker.pid, self.asker.uid);
        self.line(ASKED, INFO, format!("{asker} asks for {}", self.words()))
    }

    /// How it ended. A reason may be long, and is in the answer to whoever asked.
    pub fn ended(&self, reply: Option<&Reply>) -> Line {
        let (priority, result) = match reply {
            None | Some(Reply::Progress(_)) => (WARNING, "internal error"),
            Some(Reply::Failed(failure)) if failure.unchanged => (WARNING, "refused, nothing was changed"),
            Some(Reply::Failed(_)) => (WARNING, "failed"),
            Some(Reply::Nothing) => (INFO, "there was nothing to do"),
            Some(Reply::Finished(finished)) => match finished.ending {
                Ending::Applied => (INFO, "done"),
                Ending::AwaitsReboot { .. } => (INFO, "done, takes effect with a restart"),
                Ending::Undone { .. } => (WARNING, "undone"),
                Ending::Abandoned { .. } => (WARNING, "abandoned"),
            },
            Some(
                Reply::Observed(_)
                | Reply::Prepared(_)
                | Reply::Unreconcilable(_)
                | Reply::Irreconcilable(_)
                | Reply::DriftInterest(_)
                | Reply::Staged
                | Reply::Confirmed { .. }
                | Reply::BaseKept { .. }
                | Reply::RollbackHold(_)
                | Reply::TakenOver(_)
                | Reply::HandedBack(_)
                | Reply::NicsPersisted { .. }
                | Reply::Restart(_)
                | Reply::Bootloader(_)
                | Reply::Intended(_)
                | Reply::Status(_)
                | Reply::Credentials(_)
                | Reply::Drift(_)
                | Reply::Certificates(_)
                | Reply::Pinned(_),
            ) => (INFO, "done"),
        };
        let mut line = self.line(ENDED, priority, format!("{} for process {}: {result}", self.words(), self.asker.pid));
        line.fields.push(("OSTLER_RESULT", result.to_owned()));
        line
    }

    fn words(&self) -> String {
        match &self.config {
            Some(ConfigId { name, digest }) => format!("{} of {name} (blake3 {digest})", self.request),
            None => self.request.to_owned(),
        }
    }

    fn line(&self, id: &'static str, priority: u8, message: String) -> Line {
        let mut fields = vec![
            ("MESSAGE", message),
            ("MESSAGE_ID", id.to_owned()),
            ("PRIORITY", priority.to_string()),
            ("SYSLOG_IDENTIFIER", IDENTIFIER.to_owned()),
            ("OSTLER_REQUEST", self.request.to_owned()),
            ("OSTLER_PEER_PID", self.asker.pid.to_string()),
            ("OSTLER_PEER_UID", self.asker.uid.to_string()),
        ];
        fields.extend(self.asker.unit.iter().map(|unit| ("OSTLER_PEER_UNIT", unit.clone())));
        if let Some(ConfigId { name, digest }) = self.config.clone() {
            fields.extend([("OSTLER_CONFIG", name), ("OSTLER_DIGEST", digest)]);
        }
        Line { fields }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Class, Failure, Ticket};

    fn apply() -> Request {
        Request::Apply { ticket: Ticket("t".to_owned()) }
    }

    fn change(request: &Request, name: Option<&str>) -> Option<Change> {
        let asker = Asker { pid: 7, uid: 990, unit: Some("ostler.service".to_owned()) };
        Change::of(request, &asker, || Some(ConfigId { name: name?.to_owned(), digest: "abc".to_owned() }))
    }

    #[test]
    fn a_change_tells_who_asked_for_what_and_how_it_ended_and_no_contents() {
        let change = change(&apply(), Some("rendered-worker-1\n")).unwrap();
        let asked = change.asked();
        assert_eq!(
            asked.message(),
            "process 7 (user 990, ostler.service) asks for apply of rendered-worker-1\\u{a} (blake3 abc)"
        );
        assert!(asked.fields.contains(&("OSTLER_DIGEST", "abc".to_owned())), "{asked:?}");
        let failure =
            Failure { class: Class::Refusal, reasons: vec!["hunter2".to_owned()], remedy: None, unchanged: true };
        for (reply, result) in [
            (Some(Reply::Nothing), "there was nothing to do"),
            (Some(Reply::Failed(failure)), "refused, nothing was changed"),
            (None, "internal error"),
        ] {
            let ended = change.ended(reply.as_ref());
            assert!(ended.message().ends_with(result), "{ended:?}");
            assert!(!format!("{ended:?}{asked:?}").contains("hunter2"), "{ended:?}");
            assert!(ended.fields.iter().all(|(_, text)| !text.contains('\n')), "{ended:?}");
        }
    }

    #[test]
    fn what_only_looks_is_not_told() {
        for request in [Request::Status, Request::Observe, Request::Credentials, Request::HandBack { check: true }] {
            assert!(change(&request, None).is_none(), "{request:?}");
        }
        assert_eq!(
            change(&Request::Recover, None).unwrap().asked().message(),
            "process 7 (user 990, ostler.service) asks for recover"
        );
    }

    #[test]
    fn a_requests_name_is_the_one_that_it_travels_by() {
        for request in
            [Request::Status, apply(), Request::FirstBoot { stage: crate::protocol::FirstBoot::Ends }, Request::Recover]
        {
            let sent = serde_json::to_value(&request).unwrap();
            let tag = sent.as_object().and_then(|fields| fields.keys().next().map(String::as_str)).or(sent.as_str());
            assert_eq!(tag, Some(request.name()));
            assert!(Request::NAMES.contains(&request.name()));
        }
    }
}
