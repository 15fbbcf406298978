//! Reads images in OCI registries: the labels of their configuration, and single files out of their layers.
//!
//! Owns everything between a name and verified bytes: mirrors, credentials, trust, proxies, retries, bounds and the cache.
//! Decides nothing about what it reads, and writes nothing but its cache. Of the environment it heeds only `SSL_CERT_FILE`
//! and `SSL_CERT_DIR`, which say where this machine's certificates are.
#![forbid(unsafe_code)]

mod archive;
mod cache;
mod challenge;
mod failure;
mod layer;
mod mirrors;
mod options;
mod reference;
mod registry;
mod retry;
mod session;
mod trust;

pub use archive::ArchiveError;
pub use cache::Cache;
pub use failure::{Attempt, Failure, InspectError};
pub use layer::LayerError;
pub use mirrors::{Mirrors, MirrorsError, Serves, SourcePolicy};
pub use options::{Limits, Options, Patience, Platform, Proxy};
pub use ostler_core::pinned::Credentials;
pub use ostler_core::secret::Secret;
pub use reference::{Reference, ReferenceError};
pub use registry::{Inspected, Pace, Registry};
pub use trust::{TrustError, is_bundle};
