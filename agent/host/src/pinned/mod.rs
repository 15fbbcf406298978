//! Images pulled ahead of need and kept: looked for, measured, pulled, looked for again, and told to CRI-O.
//!
//! Owns the order of these and what is left when it is interrupted: nothing but images, which the next run finds. Refuses
//! to decide which images, whether they fit and what of them is kept: that is core's `pinned`.

mod error;
mod keep;
mod measure;
mod pull;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ostler_core::os::image::Pinned;
use ostler_core::os::manifest::Blob;
use ostler_core::pinned::{Credentials, Judgement, Order, Outcome, Report, check_space, size};
use tokio::runtime::Builder;

pub use self::error::PinError;
pub use self::keep::Reload;
use self::pull::Pulling;
use crate::cri::{Cri, CriError, Limits};
use crate::disk::{Disk, RootPath};
use crate::os::preflight::Survey;
use crate::os::registry;
use crate::os::skopeo::{Skopeo, ensure_directory, path};

/// Where what only matters until the next boot is.
const RUN: &str = "/run/ostler";
/// Whose lock says who pulls.
const LOCK: &str = "/run/ostler/pinning.lock";
/// Pulls at a time, where the machine may be busy with them.
const AT_ONCE: usize = 5;

/// How long, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// With CRI-O.
    pub cri: Limits,
    /// How often a pull is tried.
    pub tries: u32,
    /// Between the first two tries; later waits double.
    pub pause: Duration,
    /// Between two tries, at most.
    pub longest_pause: Duration,
    /// How soon it is noticed that nobody waits any more.
    pub glance: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            cri: Limits::default(),
            tries: 5,
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(10),
            glance: Duration::from_millis(500),
        }
    }
}

/// Who knows how large images are before they are pulled.
pub trait Registries: Sync {
    /// The layers that would be pulled; nothing where nobody tells.
    fn layers(&self, image: &Pinned) -> Option<Vec<Blob>>;
}

impl Registries for Skopeo {
    fn layers(&self, image: &Pinned) -> Option<Vec<Blob>> {
        registry::layers(self, image).ok()
    }
}

/// Whoever asked for it.
pub trait Audience {
    /// How many of how many images are there.
    fn told(&mut self, done: usize, all: usize);

    /// Whether anybody still waits.
    fn waits(&self) -> bool;
}

/// A machine on which images are kept.
pub struct Keeper<'m, D: Disk> {
    /// Its files.
    pub disk: &'m D,
    /// Where the disk is rooted.
    pub root: &'m Path,
    /// Its CRI-O.
    pub socket: &'m Path,
    /// Who knows the sizes of images.
    pub registries: &'m dyn Registries,
    /// How its registries are configured, and who lets us in.
    pub skopeo: &'m Skopeo,
    /// What makes CRI-O read its configuration again.
    pub reload: &'m dyn Reload,
    /// How long, and how often.
    pub patience: Patience,
}

impl<D: Disk> Keeper<'_, D> {
    /// Pulls what is missing and has exactly these images kept, as far as they can be had.
    pub fn keep(&self, order: &Order, audience: &mut dyn Audience) -> Result<Report, PinError> {
        order.check()?;
        let lock = self.lock()?;
        let (images, mut judgement) = order.images();
        if !images.is_empty() {
            let runtime = Builder::new_current_thread().enable_all().build().map_err(PinError::Runtime)?;
            let cri = Cri::at(self.socket, self.patience.cri);
            let wanted = Wanted { cri: &cri, images: &images, at_once: if order.gently { 1 } else { AT_ONCE } };
            runtime.block_on(self.fetch(&wanted, &mut judgement, audience))?;
        }
        let before = keep::before(self.disk)?;
        let pins = judgement.pins(order, &before);
        keep::keep(self.disk, &pins, self.reload)?;
        drop(lock);
        let notes = self.credentials().unreadable.into_iter();
        let notes = notes.map(|name| format!("the credentials for {name} cannot be read and are not used")).collect();
        Ok(Report { pinned: pins.len(), failures: judgement.failures(order), notes })
    }

    async fn fetch(
        &self,
        wanted: &Wanted<'_>,
        judgement: &mut Judgement,
        audience: &mut dyn Audience,
    ) -> Result<(), PinError> {
        wanted.look(judgement, audience).await?;
        let missing = wanted.missing(judgement);
        if missing.is_empty() {
            return Ok(());
        }
        let all = wanted.images.len();
        audience.told(all.saturating_sub(missing.len()), all);
        let layers = self.measure(&missing, wanted.at_once, audience)?;
        let storage = wanted.cri.storage().await?;
        if let Err(shortage) = check_space(measure::space(self.disk, self.root, storage.as_deref()), size(&layers)) {
            missing.iter().for_each(|(name, _)| judgement.set(name, Outcome::Failed(shortage.to_string())));
            return Ok(());
        }
        let logins = self.logins(&missing);
        let pulling =
            Pulling { cri: wanted.cri, patience: &self.patience, at_once: wanted.at_once, logins: &logins, all };
        pulling.pull(&missing, judgement, audience).await?;
        wanted.verify(judgement).await
    }

    /// One at a time, whichever process it is: two would only be in each other's way.
    fn lock(&self) -> Result<D::Lock, PinError> {
        let lock = || {
            ensure_directory(self.disk, &path("/run")?)?;
            ensure_directory(self.disk, &path(RUN)?)?;
            self.disk.lock(&path(LOCK)?)
        };
        lock().map_err(PinError::at("lock", LOCK))?.ok_or(PinError::Busy)
    }

    fn credentials(&self) -> Credentials {
        self.skopeo.credentials(self.disk)
    }
}

/// What is wanted, and of whom.
struct Wanted<'w> {
    cri: &'w Cri,
    images: &'w BTreeMap<String, Pinned>,
    at_once: usize,
}

impl Wanted<'_> {
    /// Finds out which images are there.
    async fn look(&self, judgement: &mut Judgement, audience: &dyn Audience) -> Result<(), PinError> {
        for name in self.images.keys() {
            if !audience.waits() {
                return Err(PinError::Unwanted);
            }
            if self.has(name).await? {
                judgement.set(name, Outcome::Present);
            }
        }
        Ok(())
    }

    fn missing(&self, judgement: &Judgement) -> Vec<(&str, &Pinned)> {
        let missing = self.images.iter().filter(|(name, _)| !judgement.has(name));
        missing.map(|(name, image)| (name.as_str(), image)).collect()
    }

    /// An image that CRI-O will not even speak of is not there; a CRI-O that does not answer is another matter.
    async fn has(&self, name: &str) -> Result<bool, CriError> {
        match self.cri.has(name).await {
            Err(CriError::Failed { .. }) => Ok(false),
            answer => answer,
        }
    }

    /// What was there and what was pulled has to be there at the end, all of it at once.
    async fn verify(&self, judgement: &mut Judgement) -> Result<(), PinError> {
        for name in self.images.keys() {
            if judgement.has(name) && !self.has(name).await? {
                let reason = "failed to pull image: image removed during sync".to_owned();
                judgement.set(name, Outcome::Failed(reason));
            }
        }
        Ok(())
    }
}

impl<D: Disk> Keeper<'_, D> {
    /// What may let us in for each image, the most likely first.
    fn logins(&self, missing: &[(&str, &Pinned)]) -> BTreeMap<String, Vec<ostler_core::pinned::Login>> {
        let credentials = self.credentials();
        let survey = Survey::new(self.disk, self.root, self.skopeo);
        let of = |image: &Pinned| match survey.places(image) {
            Ok(places) => credentials.for_places(&places).into_iter().cloned().collect(),
            Err(_) => credentials.for_repository(image.repository()).into_iter().cloned().collect(),
        };
        missing.iter().map(|(name, image)| ((*name).to_owned(), of(image))).collect()
    }

    fn measure(
        &self,
        missing: &[(&str, &Pinned)],
        at_once: usize,
        audience: &dyn Audience,
    ) -> Result<Vec<Option<Vec<Blob>>>, PinError> {
        let images: Vec<&Pinned> = missing.iter().map(|(_, image)| *image).collect();
        let mut layers = Vec::with_capacity(images.len());
        for some in images.chunks(at_once.max(1)) {
            if !audience.waits() {
                return Err(PinError::Unwanted);
            }
            layers.extend(measure::layers(self.registries, some));
        }
        Ok(layers)
    }
}

/// A path of our own making.
fn own_path(text: &'static str) -> Result<RootPath, PinError> {
    path(text).map_err(PinError::at("use", text))
}
