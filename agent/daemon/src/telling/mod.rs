//! What the daemon tells whoever operates the node: the journal, the service manager, the metrics, and the switch that
//! makes it say more or less.
//!
//! Owns where it is told and in which form. What is worth telling is decided by the core, and when, by the loop.

#[cfg(test)]
mod catalogue;
pub mod control;
pub mod journal;
pub mod level;
pub mod listener;
pub mod manager;
pub mod metrics;
mod sink;
