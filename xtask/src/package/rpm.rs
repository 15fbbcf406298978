//! An RPM: what image builders layer on CoreOS.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::{Build, Content, architecture};
use crate::{process, workspace};

/// What could bring this machine into the package, or a step that changes what was staged.
const SETTINGS: [&str; 9] = [
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "source_date_epoch_from_changelog 0",
    "_buildhost ostler",
    "_build_id_links none",
    "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
    "debug_package %{nil}",
    "__os_install_post %{nil}",
    "optflags %{nil}",
];

/// Makes it.
pub fn make(content: &Content) -> Result<PathBuf> {
    let (machine, _) = architecture();
    content.settle()?;
    let work = content.out.join("rpmbuild");
    let mut tool = content.tool("rpmbuild");
    tool.args(["-bb", "--quiet", "--target", &format!("{machine}-linux")]);
    let payload = if content.build == Build::Quick { "w1.zstdio" } else { "w19.zstdio" };
    let own = [
        ("_topdir", work.display().to_string()),
        ("_rpmdir", content.out.display().to_string()),
        ("ostler_tree", content.tree.display().to_string()),
        ("ostler_version", content.version.clone()),
        ("_binary_payload", payload.to_owned()),
    ];
    for (name, value) in &own {
        tool.arg("--define").arg(format!("{name} {value}"));
    }
    for setting in SETTINGS {
        tool.args(["--define", setting]);
    }
    let name = content.product.name;
    let made = process::run(tool.arg(workspace::root().join(format!("packaging/rpm/{name}.spec"))));
    fs::remove_dir_all(&work).with_context(|| format!("cannot clear {}", work.display()))?;
    made.map(|()| content.out.join(format!("{name}-{}-1.{machine}.rpm", content.version)))
}
