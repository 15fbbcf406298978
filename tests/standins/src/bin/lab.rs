//! Command line of the lab: `lab image`, `lab sysroot`, `lab deployments`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use ostler_standins::lab::derive::{Tagged, derive};
use ostler_standins::lab::image::{Destination, commit, publish, push};
use ostler_standins::lab::sysroot as lab_sysroot;
use ostler_standins::lab::tree::{self, TreeSpec};
use ostler_standins::sysroot::{facts, image, open};
use serde_json::json;

/// Makes images and sysroots for tests.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Makes an OS image and prints `{"digest", "commit"}`.
    Image(Box<ImageArgs>),
    /// Puts files as one layer on an image in an OCI directory and prints `{"digest"}`.
    Derive(DeriveArgs),
    /// Makes a sysroot where it is missing, deploys an image into it, and prints `{"digest", "commit"}`.
    Sysroot(SysrootArgs),
    /// Prints the deployments of a sysroot as JSON.
    Deployments {
        /// The sysroot.
        #[arg(long)]
        sysroot: PathBuf,
    },
}

#[derive(Args)]
struct ImageArgs {
    /// `oci:DIRECTORY[:TAG]` or `docker://HOST/REPOSITORY:TAG`.
    #[arg(long)]
    dest: String,
    /// The bare-user repository for the commit; a temporary one without this.
    #[arg(long)]
    repo: Option<PathBuf>,
    /// A ready tree to commit instead of a minimal one.
    #[arg(long)]
    from_tree: Option<PathBuf>,
    /// VERSION in os-release, of the commit and of the image.
    #[arg(long, default_value = "1")]
    version: String,
    /// ID in os-release.
    #[arg(long, default_value = "rhcos")]
    os_id: String,
    /// RHEL_VERSION in os-release.
    #[arg(long)]
    rhel_version: Option<String>,
    /// The kernel release.
    #[arg(long, default_value = "5.14.0-1.el9.x86_64")]
    kernel: String,
    /// A further file of a minimal tree.
    #[arg(long = "file", value_name = "PATH=TEXT", value_parser = pair)]
    files: Vec<(String, String)>,
    /// A label of the image.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
    #[command(flatten)]
    registry: RegistryArgs,
}

#[derive(Args)]
struct DeriveArgs {
    /// `oci:DIRECTORY:TAG` of the base.
    #[arg(long)]
    base: String,
    /// The tag of the new image in the same directory.
    #[arg(long)]
    tag: String,
    /// Push it there as well: `docker://HOST/REPOSITORY:TAG`.
    #[arg(long)]
    push: Option<String>,
    /// The version labels of the image.
    #[arg(long)]
    version: Option<String>,
    /// A directory of files for the layer.
    #[arg(long)]
    overlay: Option<PathBuf>,
    /// A file of the layer.
    #[arg(long = "file", value_name = "PATH=TEXT", value_parser = pair)]
    files: Vec<(String, String)>,
    /// A label of the image.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
    #[command(flatten)]
    registry: RegistryArgs,
}

#[derive(Args)]
struct RegistryArgs {
    /// Credentials for the registry.
    #[arg(long)]
    authfile: Option<PathBuf>,
    /// Certificates for the registry.
    #[arg(long)]
    cert_dir: Option<PathBuf>,
    /// Talk to the registry without TLS.
    #[arg(long)]
    plain_http: bool,
}

impl RegistryArgs {
    fn destination(self, reference: String) -> Destination {
        Destination { reference, authfile: self.authfile, cert_dir: self.cert_dir, plain_http: self.plain_http }
    }
}

#[derive(Args)]
struct SysrootArgs {
    /// The sysroot.
    #[arg(long)]
    sysroot: PathBuf,
    /// The name of the OS.
    #[arg(long, default_value = "rhcos")]
    os: String,
    /// The image, in the notation of ostree-ext; none only makes the sysroot.
    #[arg(long)]
    image: Option<String>,
    /// A kernel argument.
    #[arg(long = "karg")]
    kargs: Vec<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("{text:?} has no '='"))?;
    Ok((key.to_owned(), value.to_owned()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Task::Image(args) => make_image(*args).await,
        Task::Derive(args) => derive_image(args),
        Task::Sysroot(args) => make_sysroot(&args).await,
        Task::Deployments { sysroot } => print_deployments(&sysroot),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn make_image(args: ImageArgs) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let repo = args.repo.unwrap_or_else(|| scratch.path().join("repo"));
    let tree = match args.from_tree {
        Some(tree) => tree,
        None => {
            let tree = scratch.path().join("tree");
            let spec = TreeSpec {
                id: args.os_id,
                version: args.version.clone(),
                rhel_version: args.rhel_version,
                kernel: args.kernel,
                files: args.files,
                ..TreeSpec::default()
            };
            tree::write(&tree, &spec)?;
            tree
        }
    };
    let commit = commit(&repo, &tree, &args.version)?;
    let labels: BTreeMap<String, String> = args.labels.into_iter().collect();
    let destination = args.registry.destination(args.dest);
    let digest = publish(&repo, &commit, labels, &destination).await?;
    println!("{}", json!({"digest": digest, "commit": commit}));
    Ok(())
}

fn derive_image(args: DeriveArgs) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let overlay = args.overlay.unwrap_or_else(|| scratch.path().to_owned());
    for (path, text) in &args.files {
        tree::put(&overlay, path, text)?;
    }
    let mut labels: BTreeMap<String, String> = args.labels.into_iter().collect();
    if let Some(version) = args.version {
        labels.extend(["version", "org.opencontainers.image.version"].map(|key| (key.to_owned(), version.clone())));
    }
    let base = Tagged::parse(&args.base)?;
    let digest = derive(&base, &args.tag, &overlay, &labels)?;
    if let Some(reference) = args.push {
        let source = format!("oci:{}:{}", base.directory.display(), args.tag);
        push(&source, &args.registry.destination(reference))?;
    }
    println!("{}", json!({"digest": digest}));
    Ok(())
}

async fn make_sysroot(args: &SysrootArgs) -> Result<()> {
    lab_sysroot::init(&args.sysroot, &args.os)?;
    let Some(reference) = &args.image else { return Ok(()) };
    let pulled = lab_sysroot::deploy(&args.sysroot, &args.os, &image::parse(reference)?, &args.kargs).await?;
    println!("{}", json!({"digest": pulled.digest, "commit": pulled.commit}));
    Ok(())
}

fn print_deployments(path: &std::path::Path) -> Result<()> {
    let deployments = facts::read_all(&open(path)?).context("reading the deployments")?;
    let shown: Vec<_> = deployments
        .iter()
        .map(|one| {
            json!({
                "osname": one.osname, "checksum": one.checksum, "serial": one.serial, "booted": one.booted,
                "staged": one.staged, "pinned": one.pinned, "kargs": one.kargs, "version": one.version,
                "digest": one.image.as_ref().map(|image| &image.digest),
                "packages": one.requests.packages, "removals": one.requests.removals,
            })
        })
        .collect();
    println!("{}", serde_json::to_string_pretty(&shown)?);
    Ok(())
}
