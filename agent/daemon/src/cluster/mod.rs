//! The cluster as one node sees it: its own objects, read and written with the kubelet's credentials.
//!
//! Owns requests, their time limits, watches, events and what an answer means. Decides nothing about the node, and never
//! touches the objects of another one.

mod access;
mod connect;
mod credentials;
#[cfg(test)]
pub mod double;
mod error;
mod events;
mod gates;
mod health;
mod pause;
mod pinned;
mod pool;
mod publish;
mod watch;

pub use connect::Cluster;
pub use credentials::Keeper;
pub use error::ClusterError;
pub use watch::Change;
