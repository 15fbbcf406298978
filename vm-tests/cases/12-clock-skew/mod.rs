//! A clock that is a quarter of a century behind, and jumps as far ahead in the middle of an update.

use anyhow::{Result, ensure};

use crate::lab::Lab;
use crate::node::Target;

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    node.machine.run("date -s '2001-01-01 00:00:00'")?;
    node.desire(&Target::new_os())?;
    node.machine.run("sleep 1; date -s '2049-01-01 00:00:00'")?;
    node.follow_to(&Target::new_os())?;
    node.machine.run("date -s '2001-01-01 00:00:00'; systemctl restart ostler.service")?;
    node.desire(&Target::old())?;
    node.follow_to(&Target::old())?;
    ensure!(!node.is("NodeDegraded")?, "{:#}", node.object()?);
    Ok(())
}
