//! Many images pulled, a few at a time, each tried a few times.

use std::cell::Cell;
use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt};
use ostler_core::os::complaint::Complaint;
use ostler_core::os::image::Pinned;
use ostler_core::pinned::{Judgement, Login, Outcome};

use super::error::{PinError, told};
use super::{Audience, Patience};
use crate::cri::{Cri, CriError};

/// How images are pulled.
pub(super) struct Pulling<'p> {
    pub(super) cri: &'p Cri,
    pub(super) patience: &'p Patience,
    pub(super) at_once: usize,
    pub(super) logins: &'p BTreeMap<String, Vec<Login>>,
    /// Images in all, for whoever counts.
    pub(super) all: usize,
}

impl Pulling<'_> {
    /// Pulls all of them, or ends because nobody waits. Where the disk is full, what has not begun is left out.
    pub(super) async fn pull(
        &self,
        missing: &[(&str, &Pinned)],
        judgement: &mut Judgement,
        audience: &mut dyn Audience,
    ) -> Result<(), PinError> {
        let full = Cell::new(false);
        let full = &full;
        let names = missing.iter().map(|(name, _)| *name);
        let pulls = names.map(|name| async move { (name, self.pull_one(name, full).await) });
        let mut pulls = stream::iter(pulls).buffer_unordered(self.at_once.max(1));
        let mut done = self.all.saturating_sub(missing.len());
        loop {
            if !audience.waits() {
                return Err(PinError::Unwanted);
            }
            match tokio::time::timeout(self.patience.glance, pulls.next()).await {
                Err(_) => {}
                Ok(None) => return Ok(()),
                Ok(Some((name, outcome))) => {
                    done = done.saturating_add(usize::from(outcome == Outcome::Present));
                    judgement.set(name, outcome);
                    audience.told(done, self.all);
                }
            }
        }
    }

    async fn pull_one(&self, name: &str, full: &Cell<bool>) -> Outcome {
        let mut pause = self.patience.pause;
        let mut logins = self.logins.get(name).into_iter().flatten().cycle();
        let mut tried = 0;
        loop {
            if full.get() {
                return Outcome::Failed("it was not pulled, because there is no space left for images".to_owned());
            }
            tried += 1;
            match self.cri.pull(name, logins.next()).await {
                Ok(()) => return Outcome::Present,
                Err(error @ CriError::Full { .. }) => {
                    full.set(true);
                    return Outcome::Failed(told(&error));
                }
                Err(error) if tried >= self.patience.tries || is_lasting(&error) => {
                    return Outcome::Failed(told(&error));
                }
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause = pause.saturating_mul(2).min(self.patience.longest_pause);
        }
    }
}

/// Whether the same will be said again, whoever asks.
fn is_lasting(error: &CriError) -> bool {
    matches!(error, CriError::Failed { message, .. } if Complaint::of(message) == Complaint::Lasting)
}
