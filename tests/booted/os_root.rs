//! Programs of another operating system for the machines here: `OSTLER_OS_ROOT` names a tree whose `/usr` they run in place of
//! this machine's and of the stand-ins.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The tree, where one is named.
fn tree() -> Option<PathBuf> {
    env::var_os("OSTLER_OS_ROOT").map(|tree| fs::canonicalize(tree).expect("OSTLER_OS_ROOT is there"))
}

/// Whether machines have the programs of such a tree and no stand-ins.
pub fn is_given() -> bool {
    tree().is_some()
}

/// A path of the operating system that machines run.
pub fn path(absolute: &str) -> PathBuf {
    tree().map_or_else(|| absolute.into(), |tree| tree.join(absolute.trim_start_matches('/')))
}

/// The cache of the dynamic loader: libraries outside the usual directories are found by it.
pub fn loader_cache() -> Option<Vec<u8>> {
    let places = ["/etc/ld.so.cache", "/usr/etc/ld.so.cache"];
    places.iter().find_map(|place| fs::read(path(place)).ok())
}

/// Whether a machine can have a program: a stand-in is always there.
pub fn has(program: &str) -> bool {
    !is_given() || path(&Path::new("/usr/bin").join(program).to_string_lossy()).exists()
}

/// The same, and says so where the test that asks has to be left out without it.
pub fn or_left_out(program: &str) -> Option<()> {
    if has(program) {
        return Some(());
    }
    left_out(&format!("the operating system has no {program}"));
    None
}

/// Whether the stand-ins are there, which fail to order; else says that the test that asks is left out.
pub fn or_stand_ins() -> Option<()> {
    if !is_given() {
        return Some(());
    }
    left_out("only stand-ins do what it orders");
    None
}

/// Says that the test that asks is left out, and why.
fn left_out(reason: &str) {
    use std::io::Write as _;
    let thread = std::thread::current();
    let line = format!("SKIPPED: {}: {reason}\n", thread.name().unwrap_or("a test"));
    // Not captured, so that it shows although the test succeeds.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
