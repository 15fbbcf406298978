//! No room on `/boot` for another kernel: the machine stays what it is and says so, and updates once there is room.

use anyhow::Result;

use crate::lab::Lab;
use crate::node::Target;

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    node.machine.run("dd if=/dev/zero of=/boot/filler bs=64k 2> /dev/null; sync; df /boot | tail -n 1")?;
    node.desire(&Target::new_os())?;
    super::stays_in_old(&mut node)?;
    node.machine.run("rm /boot/filler; sync; touch /run/machine-config-daemon-force")?;
    let other = Target::new("other", 1);
    node.desire(&other)?;
    node.follow_to(&other)
}
