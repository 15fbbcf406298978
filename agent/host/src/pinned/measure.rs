//! How large images are, and how much room there is for them.

use std::path::Path;
use std::thread;

use ostler_core::os::image::Pinned;
use ostler_core::os::manifest::Blob;
use ostler_core::pinned::Space;

use super::Registries;
use crate::disk::Disk;
use crate::os::skopeo::path;

/// Where images are where CRI-O does not say, the most likely first.
const USUAL: [&str; 3] = ["/var/lib/containers/storage", "/var/lib", "/var"];

/// The layers of some images, asked for all at once.
pub(super) fn layers(registries: &dyn Registries, images: &[&Pinned]) -> Vec<Option<Vec<Blob>>> {
    thread::scope(|scope| {
        let asked: Vec<_> = images.iter().map(|image| scope.spawn(|| registries.layers(image))).collect();
        asked.into_iter().map(|asked| asked.join().unwrap_or_default()).collect()
    })
}

/// What is left where images are stored. Where nobody can tell, because what CRI-O names is not to be seen from here, a
/// full disk is found out while pulling.
pub(super) fn space(disk: &impl Disk, root: &Path, storage: Option<&str>) -> Space {
    let free = |directory: &str| disk.free(Some(&path(directory).ok()?)).ok();
    let places: Vec<&str> = storage.map_or_else(|| USUAL.to_vec(), |named| vec![named]);
    let found = places.into_iter().find_map(|directory| free(directory).map(|free| (directory, free)));
    let Some((directory, free)) = found else { return Space { free: u64::MAX, total: 0 } };
    let total = rustix::fs::statvfs(root.join(directory.trim_start_matches('/')));
    Space { free: free.bytes, total: total.map_or(0, |stat| stat.f_blocks.saturating_mul(stat.f_frsize)) }
}
