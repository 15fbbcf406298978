//! Which images may be of an operating system: tags of a release, by name and origin, and the pairs that are named elsewhere.
//!
//! Only what is worth an inspection is told here; the labels of an image decide what it is.

use std::sync::LazyLock;

use regex::Regex;

use super::labels::Origin;
use crate::objects::{ConfigMap, ImageStream, Tag};

/// Says where the source of an image is.
const SOURCE_LOCATION: &str = "io.openshift.build.source-location";
/// Where operating systems are built from.
const OS_SOURCE: &str = "github.com/openshift/os";
/// Images in a registry, as opposed to other tags.
const IN_REGISTRY: &str = "DockerImage";

static OPERATOR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^(rhel|stream)[a-zA-Z0-9.-]*-coreos[a-zA-Z0-9.-]*(-extensions[a-zA-Z0-9.-]*)?$").ok());
static PROPOSAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("^(rhel[0-9A-Za-z_.+-]*|stream)-coreos[0-9A-Za-z_.+-]*(-extensions[0-9A-Za-z_.+-]*)?$").ok()
});

/// Which names of tags are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Those that the machine-config operator looks at.
    #[default]
    Operator,
    /// Those of the proposal of streams, too.
    Union,
}

impl Filter {
    fn matches(self, name: &str) -> bool {
        let of = |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|pattern| pattern.is_match(name));
        of(&OPERATOR) || (self == Self::Union && of(&PROPOSAL))
    }
}

/// The images of one source, in the order in which they are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The source.
    pub origin: Origin,
    /// Its images.
    pub images: Vec<Offered>,
}

/// One image of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// How to pull it.
    pub image: String,
    /// What the source calls it.
    pub called: String,
}

/// What was read is no ImageStream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is a {kind:?} of {version:?}, not an ImageStream of image.openshift.io/v1")]
pub struct NotAnImageStream {
    kind: String,
    version: String,
}

/// The images of a release that may be of an operating system, in the order of their tags. A file may leave out the version.
pub fn release_images(release: &ImageStream, filter: Filter) -> Result<Offer, NotAnImageStream> {
    if release.kind != "ImageStream" || !["", "image.openshift.io/v1"].contains(&release.api_version.as_str()) {
        return Err(NotAnImageStream { kind: release.kind.clone(), version: release.api_version.clone() });
    }
    let images = release.spec.tags.iter().filter_map(|tag| candidate(tag, filter)).collect();
    Ok(Offer { origin: Origin::Release, images })
}

fn candidate(tag: &Tag, filter: Filter) -> Option<Offered> {
    let from = tag.from.as_ref().filter(|from| from.kind == IN_REGISTRY)?;
    let built = tag.annotations.get(SOURCE_LOCATION).is_some_and(|location| location.contains(OS_SOURCE));
    let wanted = built || filter.matches(&tag.name);
    wanted.then(|| Offered { image: from.name.clone(), called: format!("tag {}", tag.name) })
}

/// Keys that the ConfigMap of image URLs has to have, whatever they hold.
const URL_KEYS: [&str; 4] = [OS_KEY, EXTENSIONS_KEY, "osImageURL", "releaseVersion"];
const OS_KEY: &str = "baseOSContainerImage";
const EXTENSIONS_KEY: &str = "baseOSExtensionsContainerImage";

/// The pair of images in the ConfigMap `machine-config-osimageurl`; an error names the key that is missing.
pub fn url_images(map: &ConfigMap) -> Result<Offer, &'static str> {
    if let Some(absent) = URL_KEYS.into_iter().find(|key| !map.data.contains_key(*key)) {
        return Err(absent);
    }
    let image = |key: &str| Offered { image: map.data.get(key).cloned().unwrap_or_default(), called: key.to_owned() };
    Ok(Offer { origin: Origin::UrlConfigMap, images: vec![image(OS_KEY), image(EXTENSIONS_KEY)] })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_tags_are_told_apart_as_the_operator_and_the_proposal_do() {
        for (name, operator, union) in [
            ("rhel-coreos", true, true),
            ("rhel-coreos-10", true, true),
            ("rhel-coreos-10-extensions", true, true),
            ("rhel10-coreos-extensions", true, true),
            ("rhel-9.6-coreos", true, true),
            ("stream-coreos", true, true),
            ("stream-coreos-extensions", true, true),
            ("stream10-coreos", true, true),
            ("rhel_9-coreos", false, true),
            ("rhel-9+x-coreos", false, true),
            ("rhel-coreos-ünicode", false, false),
            ("fedora-coreos", false, false),
            ("centos-stream-coreos-10", false, false),
            ("machine-os-content", false, false),
            ("xrhel-coreos", false, false),
            ("rhel-coreos\n", false, false),
            ("rhelcoreos", false, false),
            ("", false, false),
        ] {
            assert_eq!(Filter::Operator.matches(name), operator, "{name:?}");
            assert_eq!(Filter::Union.matches(name), union, "{name:?} with both");
        }
    }

    #[test]
    fn a_tag_counts_by_its_name_or_by_its_source_and_only_from_a_registry() {
        let location = |value: &str| json!({"io.openshift.build.source-location": value});
        let from = |kind: &str| json!({"kind": kind, "name": "image"});
        for (tag, expected) in [
            (json!({"name": "rhel-coreos", "from": from("DockerImage")}), true),
            (json!({"name": "rhel-coreos", "from": from("ImageStreamTag")}), false),
            (json!({"name": "rhel-coreos", "from": null}), false),
            (json!({"name": "rhel-coreos"}), false),
            (json!({"name": "other", "from": from("DockerImage")}), false),
            (
                json!({"name": "other", "from": from("DockerImage"), "annotations": location("https://github.com/openshift/os")}),
                true,
            ),
            (
                json!({"name": "other", "from": from("DockerImage"), "annotations": location("https://github.com/openshift/os-x")}),
                true,
            ),
            (
                json!({"name": "other", "from": from("DockerImage"), "annotations": location("https://github.com/openshift/api")}),
                false,
            ),
            (
                json!({"name": "other", "from": from("ImageStreamImage"), "annotations": location("github.com/openshift/os")}),
                false,
            ),
            (json!({"name": "rhel-coreos", "from": from("DockerImage"), "annotations": location("elsewhere")}), true),
        ] {
            let tag: Tag = serde_json::from_value(tag).unwrap();
            assert_eq!(candidate(&tag, Filter::Operator).is_some(), expected, "{tag:?}");
        }
    }

    #[test]
    fn only_an_image_stream_is_one() {
        for (kind, version, good) in [
            ("ImageStream", "image.openshift.io/v1", true),
            ("ImageStream", "", true),
            ("ImageStream", "v1", false),
            ("ImageStreamList", "image.openshift.io/v1", false),
            ("", "", false),
        ] {
            let stream =
                ImageStream { kind: kind.to_owned(), api_version: version.to_owned(), ..ImageStream::default() };
            assert_eq!(release_images(&stream, Filter::Operator).is_ok(), good, "{kind} {version}");
        }
    }

    #[test]
    fn the_config_map_needs_all_of_its_keys_even_if_empty() {
        let full = json!({"data": {"baseOSContainerImage": "o", "baseOSExtensionsContainerImage": "e", "osImageURL": "",
            "releaseVersion": "4.21.0"}});
        let offer = url_images(&serde_json::from_value(full.clone()).unwrap()).unwrap();
        assert_eq!(offer.images.iter().map(|offered| offered.image.as_str()).collect::<Vec<_>>(), ["o", "e"]);
        for key in URL_KEYS {
            let mut without = full.clone();
            without["data"].as_object_mut().unwrap().remove(key);
            assert_eq!(url_images(&serde_json::from_value(without).unwrap()), Err(key));
        }
    }
}
