//! An update of the operating system from a real registry: staged, restarted into, proven, committed, cleaned up after.

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::lab::Lab;
use crate::node::Target;

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    let before = node.read("/proc/sys/kernel/random/boot_id")?;
    node.desire(&Target::new_os())?;
    node.follow_to(&Target::new_os())?;
    ensure!(node.read("/proc/sys/kernel/random/boot_id")? != before, "it has not restarted");
    let status = node.status()?;
    ensure!(status.pointer("/os/rollback").is_none_or(Value::is_null), "what is proven has a way back: {status:#}");
    let kept = node.machine.run("ls -d /boot/ostree/*-* | wc -l; ostree admin status | grep -c '^[* ] node '")?;
    ensure!(kept == "1\n1\n", "kernels and deployments that are left: {kept}");
    ensure!(node.seen()?.iter().all(|(_, found)| found.is_ok()), "a mixture was seen: {:?}", node.seen()?);
    node.fsck()
}
