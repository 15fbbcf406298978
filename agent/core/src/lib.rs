//! Every decision the Ostler node agent makes, as functions of their arguments.
//!
//! This crate reads no file, starts no process, opens no socket and asks no clock: `clippy.toml` beside it refuses
//! them. The host crate observes and acts, the daemon wires and tells.
//!
//! What is read: [`document`], [`api`], [`ignition`], [`machine_config`], [`os_release`], [`file_contexts`], [`hosted`]. What is
//! decided: [`diff`], [`reconcile`], [`irreconcilable`], [`disruption`], [`first_boot`], [`registries`], [`drain`],
//! [`kargs`], [`kernel`], [`extensions`], [`unit_name`], [`os`], [`certificates`],
//! [`credentials`], [`pinned`], [`pool`]. What comes out: a [`plan`] of [`step`]s with [`warning`]s, or a [`refusal`].
//!
//! What the halves of the agent tell each other and their users: [`protocol`], [`transaction`], [`status`], [`drift`],
//! [`rival`], [`bootstrap`], [`shared_text`], [`verdict`].
#![forbid(unsafe_code)]

pub mod api;
pub mod bootstrap;
pub mod certificates;
pub mod credentials;
pub mod desired;
pub mod diff;
pub mod disruption;
pub mod document;
pub mod drain;
pub mod drift;
pub mod extensions;
pub mod file_contexts;
pub mod first_boot;
#[cfg(test)]
mod fixture;
pub mod hosted;
pub mod ignition;
pub mod irreconcilable;
pub mod kargs;
pub mod kernel;
pub mod lines;
pub mod machine_config;
pub mod malformed;
pub mod node;
pub mod observed;
pub mod os;
pub mod os_release;
pub mod path;
pub mod pinned;
pub mod plan;
pub mod pool;
pub mod protocol;
pub mod reconcile;
pub mod recorded;
pub mod refusal;
pub mod registries;
pub mod reserved;
pub mod rival;
pub mod rollback;
pub mod root_path;
pub mod secret;
pub mod sensitivity;
pub mod shared_text;
pub mod status;
pub mod step;
pub mod terminal;
pub mod transaction;
pub mod unit_name;
pub mod verdict;
pub mod warning;
pub mod words;
