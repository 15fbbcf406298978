//! Every effect of the Ostler node agent on its machine. Core decides; this crate does, and decides nothing.
//!
//! What is done to a disk goes through [`disk::Disk`]: the real one is a capability on a root directory, the other one
//! keeps everything in memory and loses at a crash what POSIX lets it lose. What is done to the operating system goes
//! through [`os::OsBackend`].
#![forbid(unsafe_code)]

pub mod accounts;
pub mod batch;
pub mod bootloader;
pub mod certificates;
pub mod command;
pub mod credentials;
pub mod cri;
pub mod disk;
pub mod journal;
pub mod machine;
pub mod originals;
pub mod os;
pub mod pinned;
pub mod reboot;
pub mod rival;
pub mod systemd;
pub mod transaction;
