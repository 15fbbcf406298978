//! A system extension image: Ostler on a node whose image cannot be rebuilt, until the next restart or for good.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::{Build, Content, architecture};
use crate::process;

/// Where systemd-sysext looks for what an extension fits. It must end with the name that the image is installed under.
const RELEASE: &str = "usr/lib/extension-release.d/extension-release.ostler";

/// Makes it.
pub fn make(content: &Content) -> Result<PathBuf> {
    let (machine, _) = architecture();
    let release = content.tree.join(RELEASE);
    let directory = release.parent().context("a file without a directory")?;
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let fits = match machine {
        "x86_64" => "x86-64",
        "aarch64" => "arm64",
        "ppc64le" => "ppc64-le",
        other => other,
    };
    fs::write(&release, format!("ID=_any\nARCHITECTURE={fits}\nEXTENSION_RELOAD_MANAGER=1\n"))
        .with_context(|| format!("cannot write {}", release.display()))?;
    content.settle()?;
    let image = content.out.join(format!("{}-{}.{machine}.raw", content.product.name, content.version));
    let mut tool = content.tool("mksquashfs");
    tool.arg(&content.tree).arg(&image);
    tool.args(["-noappend", "-quiet", "-no-progress", "-all-root", "-no-xattrs", "-comp", "zstd"]);
    if content.build == Build::Quick {
        tool.args(["-Xcompression-level", "1"]);
    }
    let made = process::run(&mut tool);
    fs::remove_dir_all(directory).with_context(|| format!("cannot clear {}", directory.display()))?;
    made.map(|()| image)
}
