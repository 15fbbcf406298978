//! Whether a machine has proven itself after a restart: what has to be seen, and for how long it is waited for.

use std::time::Duration;

/// What was seen since the restart. Nothing where it is not asked of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Whether everything that belongs to booting has succeeded.
    pub boot_complete: Option<bool>,
    /// Whether the kubelet says that it is well.
    pub kubelet: Option<bool>,
    /// Whether the cluster was heard of in this boot.
    pub cluster: Option<bool>,
    /// How long the machine has run.
    pub elapsed: Duration,
    /// How long it has for this.
    pub limit: Duration,
}

impl Proof {
    /// What has yet to be seen, in words.
    pub fn missing(&self) -> Vec<&'static str> {
        [
            (self.boot_complete, "boot-complete.target is not reached"),
            (self.kubelet, "the kubelet is not healthy"),
            (self.cluster, "the cluster was not reached"),
        ]
        .into_iter()
        .filter(|(seen, _)| *seen == Some(false))
        .map(|(_, words)| words)
        .collect()
    }

    /// How much longer it is waited for.
    pub fn remaining(&self) -> Duration {
        self.limit.saturating_sub(self.elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_for_can_be_missing() {
        let nothing = Proof::default();
        assert!(nothing.missing().is_empty());
        let proof = Proof { boot_complete: Some(true), kubelet: Some(false), cluster: Some(false), ..nothing };
        assert_eq!(proof.missing(), ["the kubelet is not healthy", "the cluster was not reached"]);
    }
}
