//! Every effect of the Ostler node agent on its machine. Core decides; this crate does, and decides nothing.
//!
//! What is done to a disk goes through [`disk::Disk`]: the real one is a capability on a root directory, the other one
//! keeps everything in memory and loses at a crash what POSIX lets it lose.
#![forbid(unsafe_code)]

pub mod accounts;
pub mod batch;
pub mod disk;
pub mod journal;
pub mod machine;
pub mod originals;
pub mod systemd;
pub mod transaction;
