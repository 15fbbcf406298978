//! `cargo xtask package`: what a node can be given, made from one tree of files.
//!
//! Owns which packages there are and where they go. Two runs on one commit give the same bytes: times come from the
//! commit, names from the workspace, and nothing of this machine gets in; `--verify` makes them twice and compares.

mod binaries;
mod deb;
mod fresh;
mod product;
mod rpm;
mod sbom;
mod sysext;
mod tree;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::arguments::Arguments;
use crate::needs::Door;
use crate::{built, process, setup, workspace};
pub use binaries::Build;
use product::{AGENT, Product};

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask package [rpm|deb|sysext]... [--quick] [--out DIR] [--version VERSION] [--verify] [--rebuild]
cargo xtask package --trial

Builds the programs and makes packages of them: all kinds, unless some are named; of the
agent for nodes (ostler) and of the helper for clusters (ostler-cluster). Beside them:
a Containerfile that layers the agent's RPM, and SHA256SUMS.

  --quick              take unoptimised programs, to try the packages themselves
  --out DIR            where to; target/package/out unless given
  --version VERSION    what to call them; the version of the workspace unless given
  --verify             make them twice, in two directories, and compare
  --trial              only try packages of unoptimised programs: alike, installed, upgraded, removed
  --rebuild            also build the released programs twice and compare; takes minutes
";

/// Everything that a package is made from.
pub struct Content {
    /// What it is.
    pub product: &'static Product,
    /// The files, as they are to be installed.
    pub tree: PathBuf,
    /// What the packages are called.
    pub version: String,
    /// Seconds since 1970 of the commit: the time of every file.
    pub time: u64,
    /// Where packages go.
    pub out: PathBuf,
    /// Whether smaller packages are worth the time.
    pub build: Build,
}

type Maker = fn(&Content) -> Result<PathBuf>;

/// A kind of package by its name.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    make: Maker,
}

const KINDS: [Kind; 3] = [
    Kind { name: "rpm", make: rpm::make },
    Kind { name: "deb", make: deb::make },
    Kind { name: "sysext", make: sysext::make },
];

/// Directories and versions of the packages that are tried: one to install, one to upgrade to.
const TRIED: [(&str, &str); 2] = [("old", "0.1.0"), ("new", "0.1.1")];

/// What to make.
struct Order {
    kinds: Vec<Kind>,
    version: String,
    build: Build,
}

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    if arguments.flag("--trial") {
        arguments.finish()?;
        return trial();
    }
    let build = if arguments.flag("--quick") { Build::Quick } else { Build::Release };
    let (verify, rebuild) = (arguments.flag("--verify"), arguments.flag("--rebuild"));
    let out = arguments.value("--out")?.map_or_else(|| workspace::target().join("package/out"), PathBuf::from);
    let version = arguments.value("--version")?;
    let kinds = kinds(&mut arguments)?;
    arguments.finish()?;
    if rebuild && build == Build::Quick {
        bail!("--rebuild compares released programs, --quick takes others");
    }
    setup::for_door(Door::Package)?;
    let order = Order { kinds, version: version.map_or_else(of_the_workspace, Ok)?, build };
    let programs = build.programs()?;
    let packages = order.make(&programs, &out)?;
    publish(&out, &packages)?;
    if verify {
        verify::packages(&order, &programs, &packages)?;
    }
    if rebuild {
        verify::programs(&programs)?;
    }
    Ok(())
}

/// Everything that can be tried without a node: packages are alike when made twice, come, are upgraded and go.
pub fn trial() -> Result<()> {
    setup::for_door(Door::Package)?;
    let place = workspace::target().join("xtask/packages");
    let programs = Build::Quick.programs()?;
    for (directory, version) in TRIED {
        let order = Order { kinds: KINDS.into(), version: version.to_owned(), build: Build::Quick };
        let out = place.join(directory);
        let packages = order.make(&programs, &out)?;
        publish(&out, &packages)?;
        if directory == "new" {
            verify::packages(&order, &programs, &packages)?;
        }
    }
    let mut tests = built::test("ostler-tests", "packages");
    tests
        .args(["--", "--nocapture"])
        .env("OSTLER_PACKAGES", &place)
        .env("SOURCE_DATE_EPOCH", commit_time()?.to_string());
    match fresh::provide() {
        Ok(root) => tests.env("OSTLER_FRESH_ROOT", root).env("OSTLER_REQUIRE_PACKAGES", "1"),
        // A mirror that cannot be reached is no fault of the packages.
        Err(error) => {
            println!("SKIPPED: installing packages, because no fresh system could be had: {error:#}");
            &mut tests
        }
    };
    process::run(&mut tests)
}

/// The Debian package of unoptimised programs, for machines to try it on.
pub fn deb_to_try(out: &Path) -> Result<PathBuf> {
    let programs = Build::Quick.programs()?;
    let kinds = KINDS.into_iter().filter(|kind| kind.name == "deb").collect();
    let order = Order { kinds, version: of_the_workspace()?, build: Build::Quick };
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    order.make_one(&AGENT, &programs, out)?.pop().context("no package was made")
}

/// The files of the agent's package without its programs, for those who look at units.
pub fn files(tree: &Path) -> Result<()> {
    tree::stage(&AGENT, tree, None)
}

fn kinds(arguments: &mut Arguments) -> Result<Vec<Kind>> {
    let mut kinds = Vec::new();
    while let Some(name) = arguments.operand() {
        let known = KINDS.iter().find(|kind| kind.name == name);
        kinds.push(*known.with_context(|| format!("there is no package {name:?}; there are rpm, deb and sysext"))?);
    }
    Ok(if kinds.is_empty() { KINDS.into() } else { kinds })
}

impl Order {
    /// Makes the packages in a directory.
    fn make(&self, programs: &Path, out: &Path) -> Result<Vec<PathBuf>> {
        fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
        let out = out.canonicalize().with_context(|| format!("cannot use {}", out.display()))?;
        let mut packages = Vec::new();
        for product in product::ALL {
            packages.extend(self.make_one(product, programs, &out)?);
        }
        Ok(packages)
    }

    fn make_one(&self, product: &'static Product, programs: &Path, out: &Path) -> Result<Vec<PathBuf>> {
        let (tree, time) = (out.join("tree"), commit_time()?);
        tree::stage(product, &tree, Some(programs))?;
        sbom::write(&tree.join(format!("usr/share/doc/{}/sbom.cdx.json", product.name)), product, &self.version)?;
        let content =
            Content { product, tree, version: self.version.clone(), time, out: out.to_owned(), build: self.build };
        let fitting = self.kinds.iter().filter(|kind| product.kinds.contains(&kind.name));
        let packages = fitting.map(|kind| (kind.make)(&content)).collect();
        // Nobody should take it for something to install.
        fs::remove_dir_all(&content.tree).with_context(|| format!("cannot clear {}", content.tree.display()))?;
        packages
    }
}

/// Puts what belongs to packages beside them, and says what they are.
fn publish(out: &Path, packages: &[PathBuf]) -> Result<()> {
    let mut sums = String::new();
    for package in packages {
        let line = format!("{}  {}\n", digest(package)?, name(package));
        print!("{:>10} bytes  {line}", fs::metadata(package)?.len());
        sums.push_str(&line);
    }
    fs::copy(workspace::root().join("packaging/Containerfile"), out.join("Containerfile"))
        .context("cannot copy packaging/Containerfile")?;
    fs::write(out.join("SHA256SUMS"), sums).with_context(|| format!("cannot write to {}", out.display()))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn digest(path: &Path) -> Result<String> {
    let line = process::answer(Command::new("sha256sum").arg(path))?;
    line.split_whitespace().next().map(str::to_owned).context("sha256sum said nothing")
}

fn of_the_workspace() -> Result<String> {
    let id = process::answer(&mut process::cargo(["pkgid", "-p", "ostler"]))?;
    Ok(id.rsplit(['#', '@']).next().unwrap_or_default().to_owned())
}

/// An archive without its history has the time of the commit on every file, unless it is told another.
fn commit_time() -> Result<u64> {
    let root = workspace::root();
    if root.join(".git").exists() {
        let mut question = Command::new("git");
        let said = process::answer(question.args(["log", "-1", "--format=%ct"]).current_dir(&root))?;
        return said.parse().with_context(|| format!("{said:?} is no time"));
    }
    if let Ok(said) = std::env::var("SOURCE_DATE_EPOCH") {
        return said.parse().with_context(|| format!("SOURCE_DATE_EPOCH={said:?} is no time"));
    }
    let written = fs::metadata(root.join("Cargo.toml")).and_then(|found| found.modified());
    let since = written.context("cannot look at Cargo.toml")?.duration_since(std::time::UNIX_EPOCH);
    Ok(since.context("Cargo.toml is older than 1970")?.as_secs())
}

impl Content {
    /// A command that knows the time of the commit and nothing of this machine's taste.
    fn tool(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SOURCE_DATE_EPOCH", self.time.to_string()).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command
    }

    /// Gives every file and directory the time of the commit: what differs between two trees else is when they were made.
    fn settle(&self) -> Result<()> {
        tree::date(&self.tree, std::time::UNIX_EPOCH + std::time::Duration::from_secs(self.time))
    }
}

/// What this machine is called in package names.
fn architecture() -> (&'static str, &'static str) {
    match std::env::consts::ARCH {
        "x86_64" => ("x86_64", "amd64"),
        "aarch64" => ("aarch64", "arm64"),
        "s390x" => ("s390x", "s390x"),
        "powerpc64" => ("ppc64le", "ppc64el"),
        other => (other, other),
    }
}
