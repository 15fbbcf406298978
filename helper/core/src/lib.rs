//! Every decision the Ostler cluster helper makes, as functions of their arguments.
//!
//! This crate reads no file, starts no process, opens no socket and asks no clock: `clippy.toml` beside it refuses them.
//! `ostler-cluster` reads the cluster, a dump of it, or registries, and shows and writes what is decided here.
//!
//! What is read: [`documents`], [`objects`], [`stream_metadata`]. What is decided: [`streams`], [`boot_images`], [`skew`],
//! [`preflight`], [`rollout`].
#![forbid(unsafe_code)]

pub mod boot_images;
pub mod documents;
pub mod objects;
pub mod preflight;
pub mod rollout;
pub mod skew;
pub mod stream_metadata;
pub mod streams;
