//! Images of the tree: one with the agent, and small ones on top of it that differ in their version, so that an update
//! fetches little. They are pushed into a registry's storage, which a registry can serve later.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Programs;
use crate::command::answer;
use crate::registry::Registry;

/// The images: the one that is installed, an update, and an update whose boot is never complete.
pub const NAMES: [&str; 3] = ["old", "new", "sick"];
/// Their versions.
pub const VERSIONS: [&str; 3] = ["9.6.1", "9.6.2", "9.6.3"];

/// What the guest has beside the agent; the agent's own units are its package's to enable.
const ENABLED: [&str; 4] =
    ["firstboot-osupdate.target", "guest-agent.service", "guest-network.service", "kubelet.service"];
/// Never succeeds, and the boot with it.
const SICK: &str = "[Unit]\nBefore=boot-complete.target\n[Service]\nType=oneshot\nExecStart=/bin/false\n\
    [Install]\nRequiredBy=boot-complete.target\n";
/// Keeps skopeo's cache away from this machine's `/var/lib/containers`.
const APART: &str = "mount -t tmpfs cache /var/lib && exec \"$@\"";

/// `lab`, with its arguments to come, where it leaves no trace.
pub fn lab(programs: &Programs) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", APART, "apart"]).arg(programs.lab());
    command
}

/// Makes the images in an OCI directory, and their digests and the registry's storage in another directory.
pub fn make(layout: &Path, tree: &Path, programs: &Programs, to: &Path) -> Result<()> {
    install(tree, programs)?;
    let mut image = lab(programs);
    image.args(["image", "--version", "9.6.0", "--from-tree"]).arg(tree);
    answer(image.arg("--dest").arg(format!("oci:{}:base", layout.display())))?;
    let registry = Registry::start(&to.join("registry"))?;
    for (name, version) in NAMES.into_iter().zip(VERSIONS) {
        let overlay = layout.with_file_name(format!("overlay-{name}"));
        differ(&overlay, tree, name, version)?;
        let mut derive = lab(programs);
        derive.arg("derive").arg(format!("--base=oci:{}:base", layout.display())).args(["--tag", name]);
        derive.args(["--version", version, "--plain-http", "--overlay"]).arg(&overlay);
        let said = answer(derive.arg("--push").arg(format!("docker://{}/os:{name}", registry.address())))?;
        let said: serde_json::Value = serde_json::from_str(&said)?;
        let digest = said.get("digest").and_then(|digest| digest.as_str()).context("no digest")?;
        fs::write(to.join(format!("digest-{name}")), digest)?;
    }
    Ok(())
}

/// What stands in for rpm-ostree and bootc; then `/etc` goes where ostree wants it.
fn install(tree: &Path, programs: &Programs) -> Result<()> {
    let copy = |from: PathBuf, to: &str| -> Result<()> {
        let at = tree.join(to);
        at.parent().map_or(Ok(()), fs::create_dir_all)?;
        answer(Command::new("install").args(["-m", "755"]).arg(&from).arg(&at))?;
        Ok(())
    };
    copy(programs.standins.join("bootc"), "usr/bin/bootc")?;
    copy(programs.standins.join("rpm-ostreed"), "usr/opt/standins/rpm-ostreed")?;
    for program in ["usr/bin/bootc", "usr/opt/standins/rpm-ostreed"] {
        answer(Command::new("strip").arg(tree.join(program)))?;
    }
    let files = programs.checkout.join("tests/standins/files");
    copy(files.join("bootupctl"), "usr/bin/bootupctl")?;
    copy(files.join("lsblk"), "usr/bin/lsblk")?;
    for (name, place) in [
        ("rpm-ostreed.service", "usr/lib/systemd/system"),
        ("org.projectatomic.rpmostree1.service", "usr/share/dbus-1/system-services"),
        ("org.projectatomic.rpmostree1.conf", "usr/share/dbus-1/system.d"),
    ] {
        answer(
            Command::new("install").args(["-D", "-m", "644"]).arg(files.join(name)).arg(tree.join(place).join(name)),
        )?;
    }
    answer(Command::new("systemctl").arg(format!("--root={}", tree.display())).arg("enable").args(ENABLED))?;
    let _ = fs::remove_file(tree.join("etc/os-release"));
    symlink("../usr/lib/os-release", tree.join("etc/os-release"))?;
    fs::rename(tree.join("etc"), tree.join("usr/etc")).context("cannot move etc")
}

/// The files in which an image differs from the others: another initramfs is enough of another kernel for ostree.
fn differ(overlay: &Path, tree: &Path, name: &str, version: &str) -> Result<()> {
    fs::create_dir_all(overlay.join("usr/lib"))?;
    let release = format!(
        "ID=rhcos\nVERSION=\"{version}\"\nVERSION_ID=\"4.21\"\nRHEL_VERSION=\"9.6\"\nVARIANT_ID=coreos\n\
         OSTREE_VERSION='{version}'\nNAME=\"Ostler Test OS\"\n"
    );
    fs::write(overlay.join("usr/lib/os-release"), release)?;
    let mut kernels = fs::read_dir(tree.join("usr/lib/modules"))?;
    let kernel = kernels.next().context("there is no kernel")??.file_name();
    let modules = Path::new("usr/lib/modules").join(kernel);
    fs::create_dir_all(overlay.join(&modules))?;
    let mut initramfs = fs::read(tree.join(&modules).join("initramfs.img"))?;
    // The kernel passes over zeros between and after archives.
    initramfs.extend(std::iter::repeat_n(0, 512 * name.len()));
    fs::write(overlay.join(&modules).join("initramfs.img"), initramfs)?;
    if name == "sick" {
        let system = overlay.join("usr/lib/systemd/system");
        fs::create_dir_all(system.join("boot-complete.target.requires"))?;
        fs::write(system.join("sick.service"), SICK)?;
        symlink("../sick.service", system.join("boot-complete.target.requires/sick.service"))?;
    }
    Ok(())
}
