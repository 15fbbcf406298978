//! A cluster to test against, and whether it stands.
#![cfg(test)]

#[path = "cluster/agent.rs"]
mod agent;
#[path = "cluster/certificates.rs"]
mod certificates;
#[path = "cluster/clocks.rs"]
mod clocks;
#[path = "cluster/mod.rs"]
mod cluster;
#[path = "cluster/comes_and_goes.rs"]
mod comes_and_goes;
#[path = "cluster/cost.rs"]
mod cost;
#[path = "handover/estate.rs"]
mod estate;
#[path = "cluster/first_reads.rs"]
mod first_reads;
#[path = "cluster/guard.rs"]
mod guard;
#[path = "cluster/handover.rs"]
mod handover;
#[path = "cluster/hosted.rs"]
mod hosted;
#[path = "cluster/identity.rs"]
mod identity;
#[path = "cluster/irreconcilable.rs"]
mod irreconcilable;
#[path = "cluster/kept.rs"]
mod kept;
#[path = "cluster/kills.rs"]
mod kills;
#[path = "cluster/outages.rs"]
mod outages;
#[path = "cluster/pinned.rs"]
mod pinned;
#[path = "cluster/pool.rs"]
mod pool;
#[path = "sandbox/mod.rs"]
mod sandbox;
#[path = "cluster/stands.rs"]
mod stands;
#[path = "cluster/storms.rs"]
mod storms;
#[path = "cluster/updates.rs"]
mod updates;
