//! What the target release is made of, from the files that the command line names.

use anyhow::Result;

use crate::cli::ReleaseOptions;
use crate::commands::Trouble;

/// What is known of a target release.
#[derive(Debug, Default)]
pub struct Release {}

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
    Ok((0..targets).map(|_| Release::default()).collect())
}
