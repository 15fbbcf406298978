//! The duties beside updates, as the loop sees them: it shows them what is known and says for them what they found.

use ostler_core::node::{Decision, keys};

use super::worker::Worker;
use crate::duty::{Circumstances, State, Word};

impl Worker {
    /// Shows the duties what is known now.
    pub(super) fn show(&self) {
        self.teller.rules(&self.known.rules);
        if self.duties.is_empty() {
            return;
        }
        let node = self.known.node.as_ref();
        self.teller.drift_policy(node.and_then(|node| node.annotation(keys::DRIFT_POLICY)));
        let still = |last: &Decision| !last.phase.is_changing();
        self.duties.show(Circumstances {
            node: self.known.node.clone(),
            config: self.current(),
            at_rest: self.machine.rival.is_none()
                && self.machine.inherited.is_none()
                && self.machine.open.is_none()
                && !self.machine.busy
                && self.last.as_ref().is_some_and(still),
            controller_config: self.known.controller_config.clone(),
            pinned_sets: self.known.pinned_sets.clone(),
            reachable: self.known.reachable,
        });
    }

    /// Takes in what a duty says; a reason to turn where it has to be published.
    pub(super) fn hear(&mut self, word: Word) -> Option<String> {
        word.notices.iter().for_each(|notice| self.tell(notice));
        let state = word.state?;
        if let State::Kubelet { failures } = &state {
            self.teller.kubelet(*failures);
        }
        let subject = match &state {
            State::Drift(_) => "how this machine differs from its configuration changed",
            State::Certificates(_) => "certificates were delivered",
            State::Pinned(_) => "the pinned images got further",
            State::Kubelet { .. } => return None,
        };
        state.put_into(&mut self.known.duties).then(|| subject.to_owned())
    }
}
