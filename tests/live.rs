//! `ostler` on a running machine: a real systemd, booted in a container for each test, and nothing made up.
#![cfg(test)]

#[path = "live/abandoned.rs"]
mod abandoned;
#[path = "live/access.rs"]
mod access;
#[path = "live/answer.rs"]
mod answer;
#[path = "live/certificates.rs"]
mod certificates;
#[path = "live/conflicting.rs"]
mod conflicting;
#[path = "container/mod.rs"]
mod container;
#[path = "live/drift.rs"]
mod drift;
#[path = "live/interrupted.rs"]
mod interrupted;
#[path = "live/node.rs"]
mod node;
#[path = "live/refused.rs"]
mod refused;
#[path = "live/reload.rs"]
mod reload;
#[path = "live/services.rs"]
mod services;
#[path = "live/socket.rs"]
mod socket;
#[path = "live/undone.rs"]
mod undone;
#[path = "live/whole.rs"]
mod whole;
