//! No room on the disk for another deployment: the machine stays what it is and says so, and updates once there is room.

use anyhow::Result;

use crate::lab::Lab;
use crate::node::Target;

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    node.machine.run(
        "left=$(df --output=avail -k /var | tail -n 1); fallocate -l $((left - 1024))k /var/filler; \
         dd if=/dev/zero of=/var/rest bs=64k 2> /dev/null; rm /var/rest; head -c 256k /dev/zero > /var/rest; df -k /var",
    )?;
    node.desire(&Target::new_os())?;
    super::stays_in_old(&mut node)?;
    node.machine.run("rm -f /var/filler /var/rest; sync")?;
    let other = Target::new("other", 1);
    node.desire(&other)?;
    node.follow_to(&other)
}
