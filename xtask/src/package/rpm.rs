//! An RPM: what image builders layer on CoreOS.

use std::path::PathBuf;

use anyhow::Result;

use super::{Content, architecture};
use crate::{process, workspace};

/// What could bring this machine into the package.
const SETTINGS: [&str; 8] = [
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "source_date_epoch_from_changelog 0",
    "_buildhost ostler",
    "_build_id_links none",
    "_binary_payload w19.zstdio",
    "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
    "debug_package %{nil}",
];

/// Makes it.
pub fn make(content: &Content) -> Result<PathBuf> {
    let (machine, _) = architecture();
    let mut tool = content.tool("rpmbuild");
    tool.args(["-bb", "--quiet", "--target", machine]);
    let places = [("_topdir", content.out.join("rpmbuild")), ("_rpmdir", content.out.clone())];
    for (name, place) in &places {
        tool.arg("--define").arg(format!("{name} {}", place.display()));
    }
    tool.arg("--define").arg(format!("ostler_tree {}", content.tree.display()));
    tool.arg("--define").arg(format!("ostler_version {}", content.version));
    for setting in SETTINGS {
        tool.args(["--define", setting]);
    }
    tool.arg(workspace::root().join("packaging/rpm/ostler.spec"));
    process::run(&mut tool)?;
    Ok(content.out.join(format!("ostler-{}-1.{machine}.rpm", content.version)))
}
