//! The smallest initramfs that boots a deployment: busybox, the driver of the disk, and the tree's own `ostree-prepare-root`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::answer;
use crate::tools::Tools;

const PREPARE: &str = "usr/lib/ostree/ostree-prepare-root";
const SETTINGS: &str = "[sysroot]\nreadonly=true\n[composefs]\nenabled=no\n";
const APPLETS: [&str; 6] = ["sh", "mount", "umount", "insmod", "switch_root", "sleep"];
const INIT: &str = "#!/bin/sh
PATH=/bin
mount -t devtmpfs devtmpfs /dev
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 run /run
for module in $(cat /modules/order); do insmod /modules/$module; done
tries=0
until [ -b /dev/vda ] || [ $tries -gt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
mount -t ext4 -o rw /dev/vda /sysroot && /usr/lib/ostree/ostree-prepare-root /sysroot || echo 'THIS MACHINE DOES NOT BOOT'
umount /proc /sys
mount --move /dev /sysroot/dev
mount --move /run /sysroot/run
exec switch_root /sysroot /sbin/init
";

/// Makes it of the tree's files and of these modules.
pub fn make(tree: &Path, modules: &[PathBuf], tools: &Tools, to: &Path) -> Result<()> {
    fs::write(tree.join("usr/lib/ostree/prepare-root.conf"), SETTINGS)?;
    let scratch = tempfile::tempdir()?;
    let root = scratch.path();
    for directory in ["bin", "dev", "proc", "sys", "run", "sysroot", "modules"] {
        fs::create_dir(root.join(directory))?;
    }
    fs::copy(tools.busybox(), root.join("bin/busybox"))?;
    for applet in APPLETS.iter().chain(&["cat", "["]) {
        symlink("busybox", root.join("bin").join(applet))?;
    }
    let libraries = answer(Command::new("chroot").arg(tree).arg("ldd").arg(Path::new("/").join(PREPARE)))?;
    let libraries =
        libraries.split_whitespace().filter(|word| word.starts_with('/')).map(|path| path.trim_start_matches('/'));
    for file in libraries.chain([PREPARE, "usr/lib/ostree/prepare-root.conf"]) {
        let at = root.join(file);
        at.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::copy(tree.join(file), at).with_context(|| format!("cannot copy {file}"))?;
    }
    let mut order = String::new();
    for module in modules {
        let name = module.file_stem().and_then(|name| name.to_str()).context("a module without a name")?;
        let name = name.trim_end_matches(".ko").to_owned() + ".ko";
        unpack(&tree.join(module), &root.join("modules").join(&name))?;
        order.push_str(&format!("{name}\n"));
    }
    fs::write(root.join("modules/order"), order)?;
    fs::write(root.join("init"), INIT)?;
    fs::set_permissions(root.join("init"), fs::Permissions::from_mode(0o755))?;
    let pack = "cd \"$1\" && find . | LC_ALL=C sort | \"$3\" cpio -o -H newc | gzip -n -6 > \"$2\"";
    answer(Command::new("sh").args(["-c", pack, "pack"]).arg(root).arg(to).arg(tools.busybox())).map(drop)
}

fn unpack(from: &Path, to: &Path) -> Result<()> {
    let with = match from.extension().and_then(|end| end.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => {
            fs::copy(from, to)?;
            return Ok(());
        }
    };
    answer(Command::new("sh").args(["-c", "\"$3\" -dc \"$1\" > \"$2\"", "unpack"]).arg(from).arg(to).arg(with))
        .map(drop)
}
