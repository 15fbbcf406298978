//! Whether images fit, told before the first of them is pulled.
//!
//! A layer is there twice while it is unpacked, and unpacked it is larger than it was: twice its size is taken. On top of
//! that the node keeps 16 GiB free for its workloads and its next update, or a tenth of a disk that is so small that this
//! would be more than a tenth of it. What counts is what is free now, and not what the disk could hold.

use std::collections::BTreeMap;

use crate::os::manifest::{Blob, Entry, Manifest, entry_for};

const GIB: u64 = 1024 * 1024 * 1024;
const RESERVE: u64 = 16 * GIB;
/// What an image is taken for whose manifest nobody shows; most are smaller.
pub const UNKNOWN_IMAGE: u64 = GIB;

/// The filesystem that images are stored on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that are free; `u64::MAX` where they are not counted.
    pub free: u64,
    /// Bytes in all; none where that is not known.
    pub total: u64,
}

/// That images do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "storage available is less than minimum required: {} are free, but the missing images need {} beside the {} that are \
     kept free; remove what is not needed, or take images out of the set",
    size(*.free), size(*.needed), size(*.reserve)
)]
pub struct Shortage {
    /// Bytes that are free.
    pub free: u64,
    /// Bytes that the images need.
    pub needed: u64,
    /// Bytes that are to stay free.
    pub reserve: u64,
}

impl Space {
    /// What stays free.
    fn reserve(self) -> u64 {
        if self.total == 0 { RESERVE } else { RESERVE.min(self.total / 10) }
    }
}

/// Whether what is missing fits.
pub fn check(space: Space, missing: u64) -> Result<(), Shortage> {
    let (needed, reserve) = (missing.saturating_mul(2), space.reserve());
    if missing == 0 || needed.saturating_add(reserve) <= space.free {
        return Ok(());
    }
    Err(Shortage { free: space.free, needed, reserve })
}

/// Bytes of what is missing: each layer counts once, however many images have it, and an image that nobody shows counts as
/// much as is guessed.
pub fn sum(images: &[Option<Vec<Blob>>]) -> u64 {
    let known = images.iter().flatten().flatten().map(|layer| (layer.digest.as_str(), layer.size));
    let layers: BTreeMap<&str, u64> = known.collect();
    let unknown = images.iter().filter(|image| image.is_none()).map(|_| UNKNOWN_IMAGE);
    layers.into_values().chain(unknown).fold(0, u64::saturating_add)
}

/// The layers of an image, or the image of a list that is for an architecture and has to be asked for.
pub fn layers_of<'m>(manifest: &'m Manifest, architecture: &str) -> Result<&'m [Blob], Option<&'m Entry>> {
    match manifest {
        Manifest::Image(image) => Ok(&image.layers),
        Manifest::List(entries) => Err(entry_for(entries, architecture)),
    }
}

fn size(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10).checked_div(GIB).unwrap_or_default();
    format!("{}.{} GiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::manifest::Image;

    fn layer(name: &str, size: u64) -> Blob {
        Blob { digest: name.to_owned(), size }
    }

    #[test]
    fn twice_the_missing_and_the_reserve_have_to_be_free() {
        for (free, total, missing, fits) in [
            (36 * GIB, 500 * GIB, 10 * GIB, true),
            (36 * GIB - 1, 500 * GIB, 10 * GIB, false),
            (24 * GIB, 40 * GIB, 10 * GIB, true),
            (24 * GIB - 1, 40 * GIB, 10 * GIB, false),
            (36 * GIB - 1, 0, 10 * GIB, false),
            (0, 500 * GIB, 0, true),
            (u64::MAX, 0, u64::MAX, true),
            (u64::MAX - 1, 0, u64::MAX, false),
        ] {
            assert_eq!(check(Space { free, total }, missing).is_ok(), fits, "{free} of {total} for {missing}");
        }
    }

    #[test]
    fn a_shortage_is_told_in_numbers() {
        let shortage = check(Space { free: 20 * GIB, total: 500 * GIB }, 3 * GIB + GIB / 2).unwrap_err();
        let text = shortage.to_string();
        assert!(text.starts_with("storage available is less than minimum required: 20.0 GiB are free"), "{text}");
        assert!(text.contains("need 7.0 GiB beside the 16.0 GiB"), "{text}");
    }

    #[test]
    fn shared_layers_count_once_and_what_nobody_shows_is_guessed() {
        let images = [Some(vec![layer("a", 5), layer("b", 7)]), Some(vec![layer("b", 7), layer("c", 1)]), None];
        assert_eq!(sum(&images), 13 + UNKNOWN_IMAGE);
        assert_eq!(sum(&[Some(vec![layer("a", u64::MAX), layer("b", 1)])]), u64::MAX);
    }

    #[test]
    fn a_list_leads_to_the_image_of_this_architecture() {
        let entry = |digest: &str, architecture: &str| Entry {
            digest: digest.to_owned(),
            architecture: architecture.to_owned(),
            os: "linux".to_owned(),
        };
        let list = Manifest::List(vec![entry("x", "amd64"), entry("y", "arm64")]);
        let digest = |found: Result<&[Blob], Option<&Entry>>| found.unwrap_err().map(|entry| entry.digest.clone());
        assert_eq!(digest(layers_of(&list, "aarch64")).as_deref(), Some("y"));
        assert_eq!(digest(layers_of(&list, "s390x")), None);
        let image = Manifest::Image(Image { config: "c".to_owned(), layers: vec![layer("a", 5)] });
        assert_eq!(layers_of(&image, "s390x").unwrap(), [layer("a", 5)]);
    }
}
