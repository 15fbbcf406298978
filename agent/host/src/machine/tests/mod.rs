//! Transactions on a disk in memory, through the very code that runs on a node.

mod abandon;
mod base;
mod crashes;
mod deployments;
mod drift;
mod generate;
mod handover;
mod hold;
mod hosted;
mod kills;
mod labels;
mod managed;
mod owed;
mod proof;
mod record;
mod results;
mod undo;
mod xattrs;

use std::collections::BTreeMap;
use std::io;

use ostler_core::machine_config::MachineConfig;
use ostler_core::protocol::Rules;
use ostler_core::recorded::Recorded;
use ostler_core::status::Status;
use ostler_core::transaction::Finished;
use serde_json::{Value, json};

use super::{Machine, Surroundings};
use crate::disk::RootPath;
use crate::disk::memory::{MemoryDisk, Node};
use crate::transaction::{self, Trouble, World};

/// Day 20000, noon.
const NOON: u64 = 20_000 * 86_400 + 43_200;

fn surroundings<'d>() -> Surroundings<'d> {
    Surroundings {
        manager: None,
        os: None,
        root: None,
        live: false,
        root_user: true,
        boot: "boot-1".to_owned().into(),
        now: Box::new(|| NOON),
    }
}

fn open(disk: &MemoryDisk) -> Result<Machine<'_, MemoryDisk>, Trouble> {
    Machine::open(disk, surroundings())
}

/// A machine as an installer leaves it.
fn fresh() -> MemoryDisk {
    let disk = MemoryDisk::with(&[
        ("/etc/passwd", "root:x:0:0::/root:/bin/sh\ncore:x:1000:1000::/home/core:/bin/bash\napp:x:77:77::/:\n", 0o644),
        ("/etc/group", "root:x:0:\ncore:x:1000:\napp:x:77:\n", 0o644),
        ("/etc/shadow", "root:*:19000:0:99999:7:::\ncore:!:19000:0:99999:7:::\n", 0o000),
        ("/etc/motd", "by the installer\n", 0o644),
        ("/usr/etc/chrony.conf", "pool shipped\n", 0o644),
        ("/usr/etc/systemd/system/shipped.service", "[Service]\nExecStart=/bin/shipped\n", 0o644),
        ("/etc/systemd/system/shipped.service", "[Service]\nExecStart=/bin/shipped\n", 0o644),
        ("/etc/chrony.conf", "pool shipped\n", 0o644),
        ("/usr/lib/systemd/system/os.service", "[Install]\nWantedBy=multi-user.target\n", 0o644),
        ("/home/core/", "", 0o700),
    ])
    .unwrap();
    // Everything that displaces these files has to bring this back with them.
    for path in ["/etc/motd", "/etc/chrony.conf", "/etc/shadow"] {
        let xattrs = [("user.note".to_owned(), path.into()), ("system.posix_acl_access".to_owned(), b"list".to_vec())];
        disk.put_xattrs(&RootPath::new(path).unwrap(), xattrs.into_iter().collect()).unwrap();
    }
    disk
}

fn config(name: &str, ignition: Value) -> Recorded {
    let mut ignition = ignition;
    ignition["ignition"] = json!({"version": "3.4.0"});
    Recorded::from_document(json!({"metadata": {"name": name}, "spec": {"config": ignition}})).unwrap()
}

fn open_in<'d>(disk: &'d MemoryDisk, boot: &str) -> Machine<'d, MemoryDisk> {
    Machine::open(disk, Surroundings { boot: boot.to_owned().into(), ..surroundings() }).unwrap()
}

/// What a machine says of itself.
fn status(disk: &MemoryDisk) -> Status {
    super::status(disk, &"boot-1".to_owned().into()).unwrap()
}

fn apply(disk: &MemoryDisk, target: &Recorded) -> Result<Option<Finished>, Trouble> {
    let machine = open(disk)?;
    let Some(proposal) = transaction::propose(&machine, target.clone(), &Rules::default())? else {
        return Ok(None);
    };
    transaction::run(&machine, &proposal, &mut |_| {}).map(Some)
}

fn recover(disk: &MemoryDisk) -> Result<Option<Finished>, Trouble> {
    transaction::recover(&open(disk)?, &mut |_| {})
}

/// For the drivers of the disk in memory, which know errors of disks only.
fn io_error(trouble: Trouble) -> io::Error {
    io::Error::other(trouble.reason())
}

/// All but the agent's own state.
fn tree(disk: &MemoryDisk) -> BTreeMap<String, Node> {
    let mut tree = disk.tree();
    tree.retain(|path, _| !path.starts_with("/var/lib/ostler") && path != "/var" && path != "/var/lib");
    tree
}

fn text(disk: &MemoryDisk, path: &str) -> Option<String> {
    match disk.tree().get(path) {
        Some(Node::File { contents, .. }) => Some(String::from_utf8_lossy(contents).into_owned()),
        _ => None,
    }
}
