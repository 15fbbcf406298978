//! The packages of the guest, unpacked and configured by mmdebstrap, with a kernel that is only unpacked.

use std::path::PathBuf;

use anyhow::Result;

use crate::command::{answer, bounded};
use crate::keep::{self, Key};
use crate::tools::{FETCH, SUITE};

const PACKAGES: &str = "systemd,systemd-sysv,dbus,udev,kmod,ostree,ostree-boot,iproute2,procps,skopeo,e2fsprogs";
/// Installed, the kernel would want an initramfs of the distribution's, which takes longer to make and to boot.
const KERNEL: &str = "chroot \"$1\" sh -ec 'cd /tmp; \
    name=$(apt-cache depends linux-image-cloud-amd64 | sed -n \"s/.*Depends: \\(linux-image-[0-9].*\\)/\\1/p\" | head -n 1); \
    apt-get -q download $name; dpkg-deb -x $name*.deb /; rm -f $name*.deb; depmod $(ls /usr/lib/modules)'";
const LEFT_OUT: [&str; 3] = ["doc", "locale", "man"];

/// What it goes by.
pub fn name() -> String {
    Key::default().text(SUITE).text(PACKAGES).text(KERNEL).name()
}

/// That of the cache; made first where it is not there, which takes some minutes of downloads.
pub fn provide() -> Result<PathBuf> {
    let at = keep::provide("rootfs", &name(), |work| {
        let mut make = bounded("mmdebstrap", FETCH);
        make.args(["--quiet", "--variant=minbase", "--mode=root", "--include", PACKAGES]);
        make.args(LEFT_OUT.map(|what| format!("--dpkgopt=path-exclude=/usr/share/{what}/*")));
        make.arg("--aptopt=Acquire::Languages \"none\"").arg(format!("--customize-hook={KERNEL}"));
        answer(make.arg(SUITE).arg(work.join("root"))).map(drop)
    })?;
    Ok(at.join("root"))
}
