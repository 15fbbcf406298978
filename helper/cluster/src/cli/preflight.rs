//! `ostler-cluster preflight`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};

use super::Format;
use super::exits::PREFLIGHT_EXIT;

/// `ostler-cluster preflight`.
#[derive(Debug, Args)]
#[command(after_help = PREFLIGHT_EXIT)]
pub struct PreflightOptions {
    /// Format of the document
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: DocumentFormat,
    /// The release to update to; several with --compare
    #[arg(long = "target-version", required = true, value_name = "VERSION")]
    pub targets: Vec<String>,
    /// What the release is made of.
    #[command(flatten)]
    pub release: ReleaseOptions,
    /// How to print
    #[arg(short = 'o', value_enum, default_value_t = Format::Json, value_name = "FORMAT")]
    pub view: Format,
    /// Write the document to a file, atomically, instead of printing it
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Put several targets side by side
    #[arg(long, conflicts_with_all = ["watch", "output"])]
    pub compare: bool,
    /// Go on, check again when something has changed, and write the document anew when it says something else
    #[arg(long)]
    pub watch: bool,
    /// After how many seconds to check again with --watch though no change was told [default: 300; 30 with --from-dir]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400))]
    pub interval: Option<u64>,
    /// After how many seconds to answer with what is known by then
    #[arg(long, default_value_t = 270, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=300))]
    pub timeout: u64,
    /// Policy of streams that come to their end [default: ConfigMap ostler-os-stream-policy]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// For how many days certificates on paused nodes have to last
    #[arg(long, default_value_t = 30, value_name = "DAYS", value_parser = value_parser!(u32).range(0..=3650))]
    pub window: u32,
    /// Oldest kernel that the release is made for, such as 5.14 [default: 5.14 from 4.13 on]
    #[arg(long, value_name = "VERSION", value_parser = kernel)]
    pub minimum_kernel: Option<(u64, u64)>,
}

/// What a release is made of. With several targets, each is given as often, in the same order.
#[derive(Clone, Debug, Default, Args)]
pub struct ReleaseOptions {
    /// The image of the release, to read the rest from
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["target_image_references", "target_bootimages"])]
    pub target_release_image: Vec<String>,
    /// Its image-references file
    #[arg(long, value_name = "FILE")]
    pub target_image_references: Vec<PathBuf>,
    /// Its manifest of the ConfigMap coreos-bootimages
    #[arg(long, value_name = "FILE")]
    pub target_bootimages: Vec<PathBuf>,
    /// Labels of its OS images by pull spec, so that no registry is asked
    #[arg(long, value_name = "FILE")]
    pub target_image_labels: Vec<PathBuf>,
}

/// Formats of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DocumentFormat {
    /// The one there is
    #[default]
    #[value(name = "preflight-v1-json")]
    V1,
}

/// A kernel by its first two numbers.
fn kernel(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    numbers.ok_or_else(|| "two numbers with a dot between them are wanted, such as 5.14".to_owned())
}

/// Operators are asked with `--preflight`; that is the command of this name.
pub fn spelt_out(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    if let Some(at) = arguments.iter().skip(1).position(|argument| argument == "--preflight") {
        arguments.remove(at + 1);
        arguments.insert(1, "preflight".into());
    }
    arguments
}
