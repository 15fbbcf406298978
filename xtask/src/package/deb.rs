//! A Debian package: for machines to try Ostler on, and for the virtual machines of the tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Content, architecture};
use crate::{process, workspace};

/// Scripts of the package, which run when it comes and goes.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Makes it.
pub fn make(content: &Content) -> Result<PathBuf> {
    let (_, machine) = architecture();
    let control = content.tree.join("DEBIAN");
    fs::create_dir_all(&control).with_context(|| format!("cannot make {}", control.display()))?;
    let made = build(content, &control, machine);
    // The tree is the other packages' as well.
    fs::remove_dir_all(&control).with_context(|| format!("cannot clear {}", control.display()))?;
    made
}

fn build(content: &Content, control: &Path, machine: &str) -> Result<PathBuf> {
    let source = workspace::root().join("packaging/deb");
    let text = fs::read_to_string(source.join("control")).context("cannot read packaging/deb/control")?;
    let text = text.replace("@VERSION@", &content.version).replace("@ARCHITECTURE@", machine);
    fs::write(control.join("control"), text).context("cannot write the control file")?;
    for script in SCRIPTS {
        let to = control.join(script);
        fs::copy(source.join(script), &to).with_context(|| format!("cannot copy {script}"))?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).with_context(|| format!("cannot set {script}"))?;
    }
    let package = content.out.join(format!("ostler_{}_{machine}.deb", content.version));
    let mut tool = content.tool("dpkg-deb");
    tool.args(["--root-owner-group", "-Zxz", "--build"]).arg(&content.tree).arg(&package);
    process::run(&mut tool)?;
    Ok(package)
}
