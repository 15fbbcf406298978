//! What the root half remembers of its deliveries from one to the next.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// Directories of registries that were delivered here, by their names: only those are ever removed.
    pub registries: BTreeSet<String>,
    /// What the kubelet has yet to get.
    pub owed: Owed,
}

/// What the kubelet has yet to get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Owed {
    /// Nothing.
    #[default]
    Nothing,
    /// A restart with the new authority, once it cannot go on without.
    Deferred,
    /// A restart with the new authority, now.
    Restart,
    /// New credentials: its old ones are out of its way, and it was or will be restarted to ask for others.
    Bootstrap,
}

impl Owed {
    /// What is owed after a delivery that found this: what is due sooner stays due.
    #[must_use]
    pub const fn after(self, news_can_wait: Option<bool>) -> Self {
        match (self, news_can_wait) {
            (Self::Bootstrap, _) => Self::Bootstrap,
            (Self::Restart, _) | (_, Some(false)) => Self::Restart,
            (Self::Deferred, _) | (_, Some(true)) => Self::Deferred,
            (Self::Nothing, None) => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_sooner_stays_due() {
        use Owed::{Bootstrap, Deferred, Nothing, Restart};
        for (owed, news, after) in [
            (Nothing, None, Nothing),
            (Nothing, Some(true), Deferred),
            (Nothing, Some(false), Restart),
            (Deferred, None, Deferred),
            (Deferred, Some(true), Deferred),
            (Deferred, Some(false), Restart),
            (Restart, None, Restart),
            (Restart, Some(true), Restart),
            (Bootstrap, Some(false), Bootstrap),
            (Bootstrap, None, Bootstrap),
        ] {
            assert_eq!(owed.after(news), after, "{owed:?} {news:?}");
        }
    }

    #[test]
    fn a_record_without_anything_is_an_empty_one() {
        assert_eq!(serde_json::from_str::<Record>("{}").unwrap(), Record::default());
    }
}
