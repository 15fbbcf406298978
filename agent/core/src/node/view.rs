//! What a Node object says, as far as it concerns us.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::keys;
use super::situation::DrainRequest;
use crate::status::Status;

/// A configuration by name, and the image that was built for it where there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigRef {
    /// Name of the rendered configuration.
    pub config: String,
    /// Pull specification of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

impl ConfigRef {
    /// A configuration without an image of its own.
    pub fn new(config: impl Into<String>) -> Self {
        Self { config: config.into(), image: None }
    }

    /// From two texts, of which an empty one is as none.
    pub fn from_texts(config: Option<&str>, image: Option<&str>) -> Option<Self> {
        let given = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        Some(Self { config: given(config)?, image: given(image) })
    }

    /// The configuration in effect. An update's own is not before its end, or before the restart that it needs: until
    /// then it is the one that was published last.
    pub fn in_effect(machine: &Status, published: Option<Self>) -> Option<Self> {
        if machine.is_in_effect() {
            return Self::from_texts(machine.config.as_deref(), machine.image.as_deref());
        }
        published.or_else(|| machine.configuration_before().map(Self::new))
    }
}

/// Ends the request of a drain that was withdrawn; no name of an object has such a character.
const WITHDRAWN: &str = "/withdrawn";

/// Where the handshake with the drain controller stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainView {
    /// What was asked for last, such as `drain-rendered-worker-1`.
    pub asked: Option<String>,
    /// What was done last.
    pub done: Option<String>,
}

impl DrainView {
    /// Whether what was asked for last is yet to be done.
    pub fn is_pending(&self) -> bool {
        self.asked.is_some() && self.asked != self.done
    }

    /// Whether exactly this was asked for and done.
    pub fn is_answered(&self, request: &str) -> bool {
        self.asked.as_deref() == Some(request) && self.done.as_deref() == Some(request)
    }

    /// Whether a drain is the last thing that was asked for.
    pub fn asks_to_drain(&self) -> bool {
        self.asked.as_deref().is_some_and(|asked| asked.starts_with("drain-"))
    }

    /// The uncordon that was asked for and is yet to be done.
    pub fn pending_uncordon(&self) -> Option<&str> {
        self.asked.as_deref().filter(|asked| self.is_pending() && asked.starts_with("uncordon-"))
    }

    /// An uncordon that the controller carries out. It takes a request that equals the last one it has carried out for
    /// done, also where it has cordoned the node since for a drain that it never finished.
    pub fn uncordon(&self, config: &str) -> DrainRequest {
        let plain = format!("uncordon-{config}");
        let request = match self.pending_uncordon() {
            Some(pending) => pending.to_owned(),
            None if self.done.as_ref() == Some(&plain) => format!("{plain}-again"),
            None => plain,
        };
        DrainRequest::Uncordon { request }
    }

    /// The withdrawal of a drain that is yet to be done; `None` where there is none.
    ///
    /// It is written as a request that is carried out already, which the controller passes over. Any other request would
    /// change who may come: it knows but `drain` and `uncordon`. The name is no configuration's, so that no update takes it
    /// for its drain; where the controller ends the drain all the same, it carries out this one too, and finds nobody left.
    pub fn withdrawal(&self) -> Option<DrainRequest> {
        let asked = self.asked.as_deref().filter(|_| self.is_pending() && self.asks_to_drain())?;
        let request = match asked.strip_suffix(WITHDRAWN) {
            Some(_) => asked.to_owned(),
            None => format!("{asked}{WITHDRAWN}"),
        };
        Some(DrainRequest::Withdraw { request })
    }
}

/// What a Node object says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeView {
    /// Its name.
    pub name: String,
    /// Which of all nodes that ever had the name.
    pub uid: String,
    /// Whether no new workload is let in.
    pub cordoned: bool,
    /// The annotations that are the operator's or ours; others are nobody's business here.
    pub annotations: BTreeMap<String, String>,
}

impl NodeView {
    /// Takes what concerns us of a node's annotations.
    pub fn new(name: &str, uid: &str, cordoned: bool, annotations: &BTreeMap<String, String>) -> Self {
        let ours = |key: &String| key.starts_with(keys::OPERATOR_PREFIX) || key.starts_with(keys::OWN_PREFIX);
        let annotations =
            annotations.iter().filter(|(key, _)| ours(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { name: name.to_owned(), uid: uid.to_owned(), cordoned, annotations }
    }

    /// The annotation's value, unless it is absent or empty.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// What the node is to reach.
    pub fn desired(&self) -> Option<ConfigRef> {
        ConfigRef::from_texts(self.annotation(keys::DESIRED_CONFIG), self.annotation(keys::DESIRED_IMAGE))
    }

    /// What the node was said to be in.
    pub fn current(&self) -> Option<ConfigRef> {
        ConfigRef::from_texts(self.annotation(keys::CURRENT_CONFIG), self.annotation(keys::CURRENT_IMAGE))
    }

    /// The handshake with the drain controller.
    pub fn drain(&self) -> DrainView {
        let text = |key| self.annotation(key).map(str::to_owned);
        DrainView { asked: text(keys::DESIRED_DRAIN), done: text(keys::LAST_APPLIED_DRAIN) }
    }

    /// Why the next update is to wait, if somebody says so. An annotation without a text counts as well.
    pub fn hold(&self) -> Option<&str> {
        self.annotations.get(keys::HOLD).map(String::as_str)
    }

    /// Whether there is nowhere to drain to.
    pub fn is_single(&self) -> bool {
        self.annotation(keys::CONTROL_PLANE_TOPOLOGY) == Some(keys::SINGLE_REPLICA)
    }

    /// Whether the node was cordoned by somebody else before we asked for its drain.
    pub fn was_cordoned_before(&self) -> bool {
        self.annotation(keys::CORDONED_BEFORE).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_config::MachineConfig;
    use crate::os::boot_mark::BootMark;
    use crate::transaction::{Direction, Finished, Purpose, Trial};

    fn view(pairs: &[(&str, &str)]) -> NodeView {
        let annotations = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        NodeView::new("worker-0", "uid", false, &annotations)
    }

    #[test]
    fn an_empty_annotation_is_as_none_but_a_hold_needs_no_reason() {
        let view = view(&[(keys::DESIRED_CONFIG, ""), (keys::CURRENT_CONFIG, "a"), (keys::HOLD, ""), ("x/y", "z")]);
        assert_eq!((view.desired(), view.current()), (None, Some(ConfigRef::new("a"))));
        assert_eq!(view.hold(), Some(""));
        assert!(!view.annotations.contains_key("x/y"));
    }

    fn mark(boot: &str) -> BootMark {
        boot.to_owned().into()
    }

    /// In the second boot, by its record in this configuration.
    fn record(config: &str) -> Status {
        Status { config: Some(config.to_owned()), boot: mark("2"), ..Status::default() }
    }

    /// The same, with a transaction from `a` to `b`.
    fn open(config: &str, purpose: Purpose, direction: Direction, awaits: Option<&str>) -> Status {
        let document = serde_json::json!({
            "purpose": purpose, "direction": direction, "from": "a", "to": "b", "steps": [], "undo": [],
            "boot": "2", "began": 1, "awaitsEndOf": awaits,
        });
        Status { open: Some(serde_json::from_value(document).unwrap()), ..record(config) }
    }

    fn ended(boot: &str, reboot: bool) -> Option<Finished> {
        let document = serde_json::json!({
            "purpose": "update", "from": "a", "to": "b", "ending": {"ending": "applied"}, "began": 1, "ended": 2,
            "boot": boot, "reboot": reboot, "changed": 1,
        });
        Some(serde_json::from_value(document).unwrap())
    }

    fn tried(before: &str) -> Option<Trial> {
        Some(Trial { config: "b".to_owned(), before: mark(before), os: false, since: 1 })
    }

    /// The controller takes a node for updated by what is said here.
    #[test]
    fn a_configuration_is_in_effect_after_its_transaction_and_the_restart_that_it_needs() {
        use Direction::{Back, Forward};
        use Purpose::{Rollback, Update};
        let owed = Status { awaits_reboot: true, last: ended("2", true), ..record("b") };
        for (name, machine, expected) in [
            ("at rest", record("b"), "b"),
            ("written, services told, not committed", open("b", Update, Forward, None), "a"),
            ("before the record is written", open("a", Update, Forward, None), "a"),
            ("the operating system waits", open("b", Update, Forward, Some("2")), "a"),
            ("restarted and not looked at yet", open("b", Update, Forward, Some("1")), "a"),
            ("on its way back", open("b", Update, Back, None), "a"),
            ("back, and waits for the old system", open("a", Update, Back, Some("2")), "a"),
            ("a rollback under way", open("b", Rollback, Forward, None), "a"),
            ("files that wait for a restart", owed.clone(), "a"),
            ("files of a directory, which have a trial", Status { trial: tried("2"), ..record("b") }, "a"),
            ("restarted, on trial", Status { trial: tried("1"), last: ended("1", true), ..record("b") }, "b"),
            ("no restart needed", Status { last: ended("2", false), ..record("b") }, "b"),
        ] {
            let published = Some(ConfigRef { config: "a".to_owned(), image: Some("i".to_owned()) });
            let told = ConfigRef::in_effect(&machine, published);
            assert_eq!(told.as_ref().map(|told| told.config.as_str()), Some(expected), "{name}");
            assert_eq!(told.and_then(|told| told.image).is_some(), expected == "a", "{name}: with its image");
        }
        // A machine without a cluster, whose agent has started again.
        assert_eq!(ConfigRef::in_effect(&owed, None), Some(ConfigRef::new("a")));
        let mut first = open("b", Update, Forward, None);
        first.open.as_mut().unwrap().from = MachineConfig::EMPTY.to_owned();
        assert_eq!(ConfigRef::in_effect(&first, None), None);
    }

    #[test]
    fn an_uncordon_is_never_one_that_the_controller_takes_for_done() {
        for (asked, done, expected) in [
            ("", "", "uncordon-a"),
            ("drain-b", "drain-b", "uncordon-a"),
            ("drain-b", "uncordon-z", "uncordon-a"),
            ("drain-b", "uncordon-a", "uncordon-a-again"),
            ("drain-a", "uncordon-a", "uncordon-a-again"),
            ("drain-b", "uncordon-a-again", "uncordon-a"),
            ("uncordon-a", "drain-b", "uncordon-a"),
            ("uncordon-z", "uncordon-a", "uncordon-z"),
            ("uncordon-a-again", "uncordon-a", "uncordon-a-again"),
            ("uncordon-a-again", "drain-b", "uncordon-a-again"),
            ("nonsense", "uncordon-a", "uncordon-a-again"),
        ] {
            let drain = view(&[(keys::DESIRED_DRAIN, asked), (keys::LAST_APPLIED_DRAIN, done)]).drain();
            assert_eq!(drain.uncordon("a").text(), expected, "{asked} {done}");
        }
    }

    #[test]
    fn a_drain_is_withdrawn_while_it_is_pending_under_a_name_that_no_update_asks_for() {
        for (asked, done, expected) in [
            ("", "", None),
            ("drain-b", "drain-b", None),
            ("uncordon-a", "drain-b", None),
            ("drain-b", "uncordon-a", Some("drain-b/withdrawn")),
            ("drain-b", "", Some("drain-b/withdrawn")),
            ("drain-b/withdrawn", "drain-b", Some("drain-b/withdrawn")),
            ("drain-b/withdrawn", "drain-b/withdrawn", None),
        ] {
            let drain = view(&[(keys::DESIRED_DRAIN, asked), (keys::LAST_APPLIED_DRAIN, done)]).drain();
            let text = drain.withdrawal().map(|request| request.text());
            assert_eq!(text.as_deref(), expected, "{asked} {done}");
        }
    }

    #[test]
    fn a_drain_is_answered_only_by_its_own_name() {
        for (asked, done, pending, answered) in [
            ("", "", false, false),
            ("drain-a", "", true, false),
            ("drain-a", "drain-a", false, true),
            ("drain-b", "drain-a", true, false),
            ("uncordon-a", "uncordon-a", false, false),
        ] {
            let drain = view(&[(keys::DESIRED_DRAIN, asked), (keys::LAST_APPLIED_DRAIN, done)]).drain();
            assert_eq!((drain.is_pending(), drain.is_answered("drain-a")), (pending, answered), "{asked} {done}");
        }
    }
}
