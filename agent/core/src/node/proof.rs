//! Whether a machine has proven itself after a restart: what has to be seen, and for how long it is waited for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A health check that a boot has to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HealthCheck {
    /// Everything that belongs to booting has succeeded.
    BootComplete,
    /// The kubelet reports that it is healthy.
    Kubelet,
    /// The API server answers.
    ApiServer,
}

impl HealthCheck {
    /// The name of the component that is checked.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BootComplete => "boot-complete.target",
            Self::Kubelet => "kubelet",
            Self::ApiServer => "API server",
        }
    }

    /// The failure, as a reason to go back.
    pub const fn failure(self) -> &'static str {
        match self {
            Self::BootComplete => "boot-complete.target is not reached",
            Self::Kubelet => "the kubelet is not healthy",
            Self::ApiServer => "the cluster was not reached",
        }
    }
}

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
    /// The checks that have yet to succeed.
    pub fn missing(&self) -> Vec<HealthCheck> {
        [
            (self.boot_complete, HealthCheck::BootComplete),
            (self.kubelet, HealthCheck::Kubelet),
            (self.cluster, HealthCheck::ApiServer),
        ]
        .into_iter()
        .filter(|(seen, _)| *seen == Some(false))
        .map(|(_, check)| check)
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
        assert_eq!(proof.missing(), [HealthCheck::Kubelet, HealthCheck::ApiServer]);
    }
}
