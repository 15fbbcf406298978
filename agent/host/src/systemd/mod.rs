//! Units: which of them boot starts, and what is done to those that run.
//!
//! Owns two ways to the same end: [`offline`] computes the links of a root that is not running, [`bus`] asks the systemd
//! that is. [`transient`] runs commands as units. Refuses to know which unit needs what: that is decided elsewhere.

pub mod bus;
pub mod offline;
pub mod transient;
