//! A Debian package: for machines to try Ostler on, and for the virtual machines of the tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Build, Content, architecture};
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
    let source = workspace::root().join("packaging").join(content.product.deb);
    let text = fs::read_to_string(source.join("control"))
        .with_context(|| format!("cannot read {}/control", source.display()))?;
    let text = text.replace("@VERSION@", &content.version).replace("@ARCHITECTURE@", machine);
    fs::write(control.join("control"), text).context("cannot write the control file")?;
    fs::write(control.join("md5sums"), sums(content)?).context("cannot write the checksums")?;
    for file in ["control", "md5sums"] {
        mode(&control.join(file), 0o644)?;
    }
    for script in SCRIPTS.into_iter().filter(|script| source.join(script).exists()) {
        let to = control.join(script);
        fs::copy(source.join(script), &to).with_context(|| format!("cannot copy {script}"))?;
        mode(&to, 0o755)?;
    }
    mode(control, 0o755)?;
    content.settle()?;
    let package = content.out.join(format!("{}_{}_{machine}.deb", content.product.name, content.version));
    let mut tool = content.tool("dpkg-deb");
    // More than one thread cuts the stream into blocks, and how many there are is this machine's.
    tool.args(["--root-owner-group", "-Zxz", "--threads-max=1"]);
    if content.build == Build::Quick {
        tool.arg("-z0");
    }
    process::run(tool.arg("--build").arg(&content.tree).arg(&package))?;
    Ok(package)
}

/// What `dpkg -V` compares with; `dpkg-deb` makes no list of its own.
fn sums(content: &Content) -> Result<String> {
    let script = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum";
    Ok(process::answer(content.tool("sh").args(["-c", script]).current_dir(&content.tree))? + "\n")
}

fn mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .with_context(|| format!("cannot set the mode of {}", path.display()))
}
