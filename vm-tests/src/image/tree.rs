//! A root file system becomes a tree that ostree can deploy, without what costs seconds of emulation and serves no test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Programs, initramfs};
use crate::command::answer;
use crate::tools::Tools;

/// Not of use to a guest that lives for minutes.
const UNUSED: &[&str] = &[
    "boot",
    "dev",
    "home",
    "initrd.img",
    "media",
    "mnt",
    "opt",
    "root",
    "run",
    "srv",
    "tmp",
    "usr/bin/apt",
    "usr/bin/apt-cache",
    "usr/bin/apt-get",
    "usr/lib/apt",
    "usr/lib/udev/hwdb.bin",
    "usr/lib/udev/hwdb.d",
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/x86_64-linux-gnu/perl-base",
    "usr/share/bash-completion",
    "usr/share/zoneinfo",
    "var",
    "vmlinuz",
];
/// The only modules that stay, with those that they need.
const MODULES: [&str; 6] = ["virtio_blk", "virtio_net", "virtio_console", "overlay", "autofs4", "virtio_rng"];
const DIRECTORIES: [&str; 8] = ["boot", "dev", "proc", "run", "sys", "sysroot", "usr/lib/ostree", "var"];
const LINKS: [(&str, &str); 7] = [
    ("home", "var/home"),
    ("mnt", "var/mnt"),
    ("opt", "usr/opt"),
    ("ostree", "sysroot/ostree"),
    ("root", "var/roothome"),
    ("srv", "var/srv"),
    ("media", "run/media"),
];
/// Units that cost more than they are worth here.
const MASKED: &[&str] = &[
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty@tty1.service",
    "kmod-static-nodes.service",
    "ldconfig.service",
    "modprobe@.service",
    "serial-getty@ttyS0.service",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-binfmt.service",
    "systemd-firstboot.service",
    "systemd-hwdb-update.service",
    "systemd-journal-catalog-update.service",
    "systemd-networkd.service",
    "systemd-pcrmachine.service",
    "systemd-pcrphase.service",
    "systemd-timesyncd.service",
    "systemd-tpm2-setup-early.service",
    "systemd-tpm2-setup.service",
    "systemd-update-done.service",
];

/// Makes the tree from a root file system, with the files that the guest needs to be driven.
pub fn make(tree: &Path, root: &Path, tools: &Tools, programs: &Programs) -> Result<()> {
    answer(Command::new("cp").arg("-a").arg("--reflink=auto").arg(root).arg(tree))?;
    install(tree, &programs.package)?;
    let kernel = kernel(tree)?;
    let modules = tree.join("usr/lib/modules").join(&kernel);
    fs::copy(tree.join("boot").join(format!("vmlinuz-{kernel}")), modules.join("vmlinuz"))?;
    let needed = needed_modules(tree, &kernel)?;
    thin(&modules, &needed)?;
    answer(Command::new("chroot").arg(tree).args(["depmod", &kernel]))?;
    for unused in UNUSED {
        answer(Command::new("rm").arg("-rf").arg(tree.join(unused)))?;
    }
    for directory in DIRECTORIES {
        fs::create_dir_all(tree.join(directory))?;
    }
    answer(Command::new("mkdir").args(["-m", "1777"]).arg(tree.join("tmp")))?;
    for (at, target) in LINKS {
        symlink(target, tree.join(at)).with_context(|| format!("cannot make {at}"))?;
    }
    answer(Command::new("cp").arg("-r").arg(programs.checkout.join("vm-tests/guest/.")).arg(tree))?;
    let boot: Vec<_> = needed.iter().filter(|path| !path.to_string_lossy().contains("virtio_net")).cloned().collect();
    initramfs::make(tree, &boot, tools, &modules.join("initramfs.img"))?;
    for unit in MASKED {
        let at = tree.join("etc/systemd/system").join(unit);
        let _ = fs::remove_file(&at);
        symlink("/dev/null", at)?;
    }
    Ok(())
}

/// Installs the agent as its package does, scripts and presets included, while the tree still has a package manager.
fn install(tree: &Path, package: &Path) -> Result<()> {
    let at = tree.join("ostler.deb");
    fs::copy(package, &at).with_context(|| format!("cannot copy {}", package.display()))?;
    answer(Command::new("chroot").arg(tree).args(["dpkg", "--install", "/ostler.deb"]))?;
    fs::remove_file(at).context("cannot remove the copy of the package")
}

fn kernel(tree: &Path) -> Result<String> {
    let mut found = fs::read_dir(tree.join("usr/lib/modules"))?;
    let entry = found.next().context("there is no kernel")??;
    Ok(entry.file_name().to_string_lossy().into_owned())
}

/// The files of the modules that stay, from the tree, in the order in which they are to be loaded.
fn needed_modules(tree: &Path, kernel: &str) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for module in MODULES {
        let asked =
            Command::new("chroot").arg(tree).args(["modprobe", "-S", kernel, "--show-depends", module]).output()?;
        // One that is built in has no file.
        for line in String::from_utf8_lossy(&asked.stdout).lines() {
            let file = line.strip_prefix("insmod ").and_then(|rest| rest.split_whitespace().next());
            let file = file.map(|path| PathBuf::from(path.trim_start_matches('/')));
            files.extend(file.filter(|file| !files.contains(file)));
        }
    }
    Ok(files)
}

/// Removes all other modules.
fn thin(modules: &Path, needed: &[PathBuf]) -> Result<()> {
    let listed = answer(Command::new("find").arg(modules.join("kernel")).args(["-type", "f"]))?;
    for file in listed.lines().map(Path::new) {
        if !needed.iter().any(|one| file.ends_with(one)) {
            fs::remove_file(file)?;
        }
    }
    answer(Command::new("find").arg(modules.join("kernel")).args(["-type", "d", "-empty", "-delete"])).map(drop)
}
