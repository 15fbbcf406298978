//! The file that tells CRI-O which images it must not collect, byte for byte as the machine-config-daemon writes it.

use serde::Deserialize;

/// Where it is.
pub const PATH: &str = "/etc/crio/crio.conf.d/50-pinned-images";

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    crio: Crio,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Crio {
    image: Image,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Image {
    pinned_images: Vec<String>,
}

/// The file for these images, sorted and each once; none where there are no images, since an empty list would be one too.
///
/// The names are those of images with a digest, in which nothing needs to be escaped.
pub fn text<'i>(images: impl IntoIterator<Item = &'i str>) -> Option<String> {
    let images: std::collections::BTreeSet<&str> = images.into_iter().collect();
    if images.is_empty() {
        return None;
    }
    let quoted: Vec<String> = images.into_iter().map(|image| format!("\"{image}\"")).collect();
    Some(format!("[crio]\n  [crio.image]\n    pinned_images = [{}]\n", quoted.join(", ")))
}

/// The images in such a file; none in one that cannot be read.
pub fn images(text: &str) -> Vec<String> {
    toml::from_str::<File>(text).unwrap_or_default().crio.image.pinned_images
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_sorted_and_holds_each_image_once() {
        let wanted =
            "[crio]\n  [crio.image]\n    pinned_images = [\"a.example/x@sha256:1\", \"b.example/y@sha256:2\"]\n";
        let names = ["b.example/y@sha256:2", "a.example/x@sha256:1", "b.example/y@sha256:2"];
        assert_eq!(text(names).as_deref(), Some(wanted));
        assert_eq!(images(wanted), ["a.example/x@sha256:1", "b.example/y@sha256:2"]);
        assert_eq!(text([]), None);
    }

    #[test]
    fn a_file_of_another_kind_pins_nothing_that_is_known() {
        for other in ["", "[crio.runtime]\nx = 1\n", "[crio.image]\npause_image = \"p\"\n", "pinned_images = [", "\0"] {
            assert!(images(other).is_empty(), "{other}");
        }
    }
}
