//! `/etc` cannot be written: the machine stays what it is and says so, and updates once it can be.

use anyhow::Result;

use crate::lab::Lab;
use crate::node::Target;

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    node.machine.run("mount --bind /etc /etc && mount -o remount,bind,ro /etc && ! touch /etc/x 2> /dev/null")?;
    // That a mount cannot be written does not reach a sandbox that has it already.
    node.machine.run("systemctl stop ostler-applier.service")?;
    node.desire(&Target::new_os())?;
    super::stays_in_old(&mut node)?;
    node.machine.run("umount -l /etc && touch /etc/x && rm /etc/x")?;
    let other = Target::new("other", 1);
    node.desire(&other)?;
    node.follow_to(&other)
}
