//! Every decision the Ostler node agent makes, as functions of their arguments.
//!
//! This crate reads no file, starts no process, opens no socket and asks no clock: `clippy.toml` beside it refuses
//! them. The host crate observes and acts, the daemon wires and tells.
#![forbid(unsafe_code)]

pub mod api;
pub mod document;
pub mod extensions;
pub mod ignition;
pub mod irreconcilable;
pub mod kargs;
pub mod kernel;
pub mod malformed;
pub mod os_release;
pub mod path;
pub mod registries;
pub mod secret;
pub mod sensitivity;
pub mod unit_name;
