//! What the target release is made of, from the files that the command line names.

use anyhow::{Context, Result};
use ostler_cluster_core::objects::ImageStream;
use ostler_cluster_core::preflight::{Reading, ReleaseImages};
use ostler_cluster_core::streams::{self, Filter, Flavour};

use crate::cli::ReleaseOptions;
use crate::commands::Trouble;
use crate::input;

/// What is known of a target release.
#[derive(Clone, Debug)]
pub struct Release {
    /// Its images.
    pub images: Reading<ReleaseImages>,
}

/// Reads what the command line names, for each of the targets.
pub fn releases(options: &ReleaseOptions, targets: usize) -> Result<Vec<Release>> {
    for (flag, given) in [
        ("--target-release-image", options.target_release_image.len()),
        ("--target-image-references", options.target_image_references.len()),
        ("--target-bootimages", options.target_bootimages.len()),
        ("--target-image-labels", options.target_image_labels.len()),
    ] {
        if given != 0 && given != targets {
            return Err(Trouble::input(format!("{flag} is given {given} times for {targets} releases")).into());
        }
    }
    (0..targets).map(|at| release(options, at)).collect()
}

fn release(options: &ReleaseOptions, at: usize) -> Result<Release> {
    Ok(Release { images: images(options, at)? })
}

fn images(options: &ReleaseOptions, at: usize) -> Result<Reading<ReleaseImages>> {
    let Some(path) = options.target_image_references.get(at) else {
        let reason = "nothing says which images the target has; give --target-image-references";
        return Ok(Reading::Failed { reason: reason.to_owned() });
    };
    let stream: ImageStream = input::object(path)?;
    let words = || Trouble::input(format!("cannot use {}", path.display()));
    let offer = streams::release_images(&stream, Filter::Operator).with_context(words)?;
    let labels = options.target_image_labels.get(at).map(|path| input::labels(path)).transpose()?;
    let okd = stream.metadata.name.contains("-okd");
    Ok(Reading::Read(ReleaseImages {
        offer,
        labels: labels.unwrap_or_default(),
        flavour: if okd { Flavour::Okd } else { Flavour::Ocp },
    }))
}
