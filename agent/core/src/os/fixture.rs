//! Deployments for the tests of this module.

use super::image::Pinned;
use super::state::Installed;
use crate::kargs;
use crate::kernel::KernelType;
use crate::step::Deployment;

pub const IMAGE_A: &str = "registry.example/os@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
pub const IMAGE_B: &str = "registry.example/os@sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A deployment of an image with these kernel arguments.
pub fn installed(image: &str, kargs: &str) -> Installed {
    let pinned = Pinned::parse(image).unwrap();
    Installed {
        image: Some(image.to_owned()),
        digest: Some(pinned.digest().to_owned()),
        checksum: "c0ffee".to_owned(),
        kargs: kargs::split(kargs),
        ..Installed::default()
    }
}

/// The wish for an image and nothing else.
pub fn wish(image: &str) -> Deployment {
    Deployment {
        image: image.to_owned(),
        kernel_type: KernelType::Default,
        extensions: Vec::new(),
        extensions_image: String::new(),
        kernel_arguments: kargs::Change::default(),
        own_arguments: Vec::new(),
    }
}
