//! Where things are in this checkout.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The top of the checkout.
pub fn root() -> PathBuf {
    let own =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or(own.clone(), Path::to_path_buf)
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |given| root().join(given))
}

/// Where things are kept that take long to make and belong to no checkout.
pub fn cache() -> Result<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let found = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    found.context("neither XDG_CACHE_HOME nor HOME says where to keep what is made once")
}
