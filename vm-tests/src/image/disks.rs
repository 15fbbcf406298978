//! The two disks of a machine that was just installed: its root with a real sysroot, and its `/boot`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{Programs, layers};
use crate::command::answer;

/// The operating system in the sysroot.
const STATEROOT: &str = "node";
/// What the machine was installed with; the first boots it, the rest make emulation bearable.
const KARGS: [&str; 9] = [
    "root=/dev/vda",
    "rw",
    "console=ttyS0",
    "quiet",
    "mitigations=off",
    "net.ifnames=0",
    "nokaslr",
    "raid=noautodetect",
    "old.karg",
];
/// As much room as an update needs and a full disk can be made of.
const SIZES: [(&str, &str); 2] = [("boot", "128M"), ("root", "2G")];

/// Makes `boot.img` and `root.img`; the images that can be deployed are in an OCI directory.
pub fn make(scratch: &Path, layout: &Path, programs: &Programs, to: &Path) -> Result<()> {
    let sysroot = scratch.join("sysroot");
    let at = sysroot.display().to_string();
    fs::create_dir(&sysroot)?;
    ostree(&["admin", "init-fs", "--modern", &at])?;
    ostree(&["admin", "os-init", "--sysroot", &at, STATEROOT])?;
    for (key, value) in
        [("sysroot.bootloader", "none"), ("sysroot.readonly", "true"), ("core.min-free-space-percent", "0")]
    {
        ostree(&[&format!("--repo={at}/ostree/repo"), "config", "set", key, value])?;
    }
    let mut deploy = layers::lab(programs);
    deploy.args(["sysroot", "--os", STATEROOT, "--sysroot"]).arg(&sysroot);
    deploy.arg("--image").arg(format!("ostree-unverified-image:oci:{}:{}", layout.display(), layers::NAMES[0]));
    answer(deploy.args(KARGS.iter().flat_map(|argument| ["--karg", argument])))?;
    let boot = scratch.join("boot");
    fs::rename(sysroot.join("boot"), &boot)?;
    fs::create_dir(sysroot.join("boot"))?;
    for ((name, size), from) in SIZES.into_iter().zip([&boot, &sysroot]) {
        let mut make = Command::new("/usr/sbin/mke2fs");
        make.args(["-q", "-t", "ext4", "-L", name, "-d"]).arg(from).arg(to.join(format!("{name}.img"))).arg(size);
        answer(&mut make)?;
    }
    Ok(())
}

fn ostree(arguments: &[&str]) -> Result<()> {
    answer(Command::new("ostree").args(arguments)).map(drop)
}
