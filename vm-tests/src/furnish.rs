//! Brings a machine that was just installed into the configuration `old`. What machines that sleep are made with, so a change here
//! makes new ones.

use anyhow::Result;

use crate::node::{Node, SEEN, Target};

/// Puts the files of `old` on a machine, and has the agent see that it is in it.
pub fn furnish(node: &mut Node<'_>) -> Result<()> {
    let old = Target::old();
    for path in ["/etc/motd", "/etc/only-old"] {
        node.machine.run(&format!("printf old > {path}"))?;
    }
    let config = node.config(&old)?.to_string();
    node.write("/etc/machine-config-daemon/currentconfig", &config)?;
    node.desire(&old)?;
    node.machine.run("systemctl restart ostler.service; sync")?;
    node.wait_until("the node is in old", |node| node.is_in("old"))?;
    // What the probe has found before does not count.
    node.machine.run(&format!("rm {SEEN}; systemctl restart kubelet.service; sync")).map(drop)
}
