//! The registry is away when an update is desired: it is waited for, nobody is alarmed, and the update comes when it is back.

use anyhow::{Result, ensure};

use crate::lab::Lab;
use crate::node::Target;

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    lab.registry().stop();
    let tried = lab.node().and_then(|mut node| {
        node.desire(&Target::new_os())?;
        node.wait_until("it is tried again", |node| {
            Ok(node.machine.run("journalctl --boot --unit=ostler.service")?.contains(", again in "))
        })?;
        ensure!(!node.is("NodeDegraded")?, "trouble that passes degrades the node: {:#}", node.object()?);
        node.check(&Target::old())?;
        // The rest is for a machine that the registry can be given back to.
        let asleep = tempfile::tempdir()?;
        node.machine.put_to_sleep(asleep.path())?;
        Ok(asleep)
    });
    lab.registry().resume()?;
    // Kept to the end: the disks stand on it.
    let asleep = tried?;
    let mut node = lab.woken(asleep.path())?;
    node.follow_to(&Target::new_os())
}
