//! A kernel without SELinux: updates work, and nobody complains of labels.

use anyhow::{Result, ensure};

use super::files_without_restart::quiet;
use crate::lab::Lab;

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    node.machine.run("! test -e /sys/fs/selinux/enforce")?;
    let target = quiet(&mut node, "unlabelled")?;
    node.desire(&target)?;
    node.wait_until("the node is in unlabelled", |node| node.is_in("unlabelled"))?;
    node.check(&target)?;
    let said =
        node.machine.run("journalctl --boot _COMM=ostler + _COMM=ostler-applier | grep -i -e selinux -e label || :")?;
    ensure!(said.replace("unlabelled", "").to_lowercase().matches("label").count() == 0, "{said}");
    Ok(())
}
