//! How a fuzz target is compiled by a stable toolchain: coverage always, AddressSanitizer where its runtime is shipped.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::{process, toolchain};

/// What libFuzzer needs to see which branches an input reached; the set that cargo-fuzz passes.
const COVERAGE: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
];

const ADDRESS: &str = "-Zsanitizer=address";

/// The compiler as far as fuzzing cares.
pub struct Compiler {
    /// Target triple. Named to cargo, so that build scripts and macros stay without instruments.
    pub host: String,
    address: bool,
}

impl Compiler {
    /// Asks the compiler that cargo would use.
    pub fn found() -> Result<Self> {
        let version = process::answer(toolchain::rustc().arg("-vV"))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
        let libraries = process::answer(toolchain::rustc().args(["--print", "target-libdir"]))?;
        Ok(Self { host: host.to_owned(), address: has_address_runtime(Path::new(&libraries)) })
    }

    /// Instruments, in words.
    pub const fn instruments(&self) -> &'static str {
        if self.address {
            "coverage and AddressSanitizer"
        } else {
            "coverage only: this toolchain ships no AddressSanitizer"
        }
    }

    /// Flags in the form of `CARGO_ENCODED_RUSTFLAGS`.
    pub fn flags(&self) -> String {
        COVERAGE.iter().copied().chain(self.address.then_some(ADDRESS)).collect::<Vec<_>>().join("\x1f")
    }
}

/// Stable toolchains name the file after their channel: `librustc-stable_rt.asan.a`.
fn has_address_runtime(libraries: &Path) -> bool {
    fs::read_dir(libraries).is_ok_and(|mut entries| {
        entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with("_rt.asan.a")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_sanitizer_is_asked_for_only_where_it_is_shipped() {
        let with = |address| Compiler { host: String::new(), address }.flags();
        assert!(with(true).contains(ADDRESS));
        assert!(!with(false).contains(ADDRESS));
        assert!(!has_address_runtime(Path::new("/nonexistent")));
    }
}
