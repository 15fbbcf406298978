//! Which steps of a plan are done, as the journal keeps it: their numbers, one on a line.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ostler_core::secret::Secret;

use super::record::Damage;

/// Numbers of steps that are done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completed(BTreeSet<u32>);

/// More than any plan has.
const MAX_STEPS: usize = 1 << 20;

impl Completed {
    /// Whether a step is done.
    pub fn contains(&self, step: u32) -> bool {
        self.0.contains(&step)
    }

    /// The steps in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// These and one more.
    pub(super) fn with(&self, step: u32) -> Self {
        let mut steps = self.0.clone();
        steps.insert(step);
        Self(steps)
    }

    pub(super) fn encode(&self) -> Secret<Vec<u8>> {
        let text = self.0.iter().fold(String::new(), |mut text, step| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{step}");
            text
        });
        Secret::new(text.into_bytes())
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, Damage> {
        let text = std::str::from_utf8(payload).map_err(|_| Damage::Payload)?;
        let mut steps = BTreeSet::new();
        for line in text.lines() {
            steps.insert(line.parse().map_err(|_| Damage::Payload)?);
            if steps.len() > MAX_STEPS {
                return Err(Damage::Payload);
            }
        }
        Ok(Self(steps))
    }
}
