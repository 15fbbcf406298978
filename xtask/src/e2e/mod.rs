//! `cargo xtask e2e`: the tests against a real API server, which is built the first time and kept, or against the real
//! programs of an operating system.
//!
//! Owns the door and where the two programs come from. `fetch` brings what they are made of, `build` makes them; what
//! the tests do with them is the tests' business.

mod build;
mod fetch;
mod os_root;

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::arguments::Arguments;
use crate::needs::Door;
use crate::{needs, process, setup, workspace};

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask e2e [--only-build] [--real-crds] [FILTER]
cargo xtask e2e --os-root DIR [FILTER]

Runs the tests that need a cluster against a real kube-apiserver and etcd. The first
time it builds them from Debian's source package, which downloads 100 MB and takes
about ten minutes of two processors; they stay below ~/.cache/ostler/kube.

KUBE_APISERVER=/path and ETCD=/path name programs of yours; nothing is built then.

  --only-build    stop when the programs are there, and print how to name them
  --real-crds     take the definitions in ../shared/crds instead of Ostler's own
  --os-root DIR   run the tests with a booted machine instead, as root: with the systemd,
                  ostree, rpm-ostree and bootc of the operating system in DIR in place
                  of this machine's and of the stand-ins (docs/development/testing.md)
  FILTER          run only the tests whose name contains it
";

/// The tests that need a cluster: the agent's, and those of the cluster helper.
const TESTS: [&str; 4] = ["cluster", "boot_images", "observe", "own"];

const SERVER: &str = "KUBE_APISERVER";
const STORE: &str = "ETCD";

/// The two programs that make a cluster to test with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    /// `kube-apiserver`.
    pub server: PathBuf,
    /// `etcd`.
    pub store: PathBuf,
}

impl Binaries {
    /// Lets the tests that a command runs know of them, and insist on them.
    pub fn name_for(&self, command: &mut Command) {
        command.env(SERVER, &self.server).env(STORE, &self.store).env("OSTLER_REQUIRE_KUBE", "1");
    }

    fn below(kept: &Path) -> Self {
        Self { server: kept.join("kube-apiserver"), store: kept.join("etcd") }
    }
}

/// The programs that are there without building any.
pub fn kept() -> Option<Binaries> {
    if let Ok(Some(given)) = given(|name| env::var_os(name).map(PathBuf::from)) {
        return Some(given);
    }
    let kept = workspace::cache().ok()?.join("ostler/kube").join(fetch::key());
    kept.exists().then(|| Binaries::below(&kept))
}

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let only_build = arguments.flag("--only-build");
    let real = arguments.flag("--real-crds");
    let os_root = arguments.value("--os-root")?;
    let filter = arguments.operand();
    arguments.finish()?;
    if let Some(tree) = os_root {
        return os_root::run(Path::new(&tree), filter.as_deref());
    }
    let binaries = provide()?;
    if only_build {
        println!("{SERVER}={} {STORE}={}", binaries.server.display(), binaries.store.display());
        return Ok(());
    }
    let mut command = process::cargo(["test", "--locked"]);
    command.args(["-p", "ostler", "-p", "ostler-cluster"]);
    command.args(TESTS.iter().flat_map(|name| ["--test", name])).arg("--");
    binaries.name_for(&mut command);
    if real {
        command.env("OSTLER_CRDS", "real");
    }
    process::run(command.args(filter))
}

/// The programs that the environment names, or else those of the cache, which are built if they are not there.
pub fn provide() -> Result<Binaries> {
    setup::for_door(Door::E2e)?;
    if let Some(given) = given(|name| env::var_os(name).map(PathBuf::from))? {
        return Ok(given);
    }
    let cache = workspace::cache()?.join("ostler/kube");
    let kept = cache.join(fetch::key());
    let binaries = Binaries::below(&kept);
    if kept.exists() {
        return Ok(binaries);
    }
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let lock = File::create(cache.join("lock")).context("cannot make a lock file")?;
    lock.lock().context("cannot wait for another build")?;
    // Somebody else may have built it while we waited.
    if !kept.exists() {
        sweep(&cache)?;
        build_in(&cache, &kept)?;
    }
    Ok(binaries)
}

/// Both or none: a server of one making with a store of another is a choice that somebody should make on purpose.
fn given(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<Option<Binaries>> {
    let binaries = match (variable(SERVER), variable(STORE)) {
        (None, None) => return Ok(None),
        (Some(server), Some(store)) => Binaries { server, store },
        _ => bail!("set both {SERVER} and {STORE}, or neither"),
    };
    for (name, path) in [(SERVER, &binaries.server), (STORE, &binaries.store)] {
        if !needs::executable(path) {
            bail!("{name}={} is no program", path.display());
        }
    }
    Ok(Some(binaries))
}

const UNFINISHED: &str = "unfinished-";

/// Removes what builds left that were cut short. Only with the lock held: a running build looks the same.
fn sweep(cache: &Path) -> Result<()> {
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_dir_all(entry.path()).with_context(|| format!("cannot remove {}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// Builds beside the place and moves the result there at the end, so that what is there is whole.
fn build_in(cache: &Path, kept: &Path) -> Result<()> {
    let work = cache.join(format!("{UNFINISHED}{}", std::process::id()));
    let result = work.join("result");
    fs::create_dir_all(&result)?;
    let log = cache.join("build.log");
    let built = fetch::all(&work).and_then(|sources| build::both(&work, &sources, &result, &log));
    if built.is_ok() {
        fs::rename(&result, kept).with_context(|| format!("cannot make {}", kept.display()))?;
    }
    let _ = fs::remove_dir_all(&work);
    built.with_context(|| {
        format!("no API server could be built (log: {}); {SERVER} and {STORE} can name one of yours", log.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_the_environment_are_taken_together_or_not_at_all() {
        let answer = |server: Option<&str>, store: Option<&str>| {
            given(|name| (if name == SERVER { server } else { store }).map(PathBuf::from))
        };
        assert_eq!(answer(None, None).unwrap(), None);
        let both = answer(Some("/bin/sh"), Some("/bin/sh")).unwrap().unwrap();
        assert_eq!(both, Binaries { server: "/bin/sh".into(), store: "/bin/sh".into() });
        for (server, store, complaint) in [
            (Some("/bin/sh"), None, "set both"),
            (None, Some("/bin/sh"), "set both"),
            (Some("/bin/sh"), Some("/etc/passwd"), "ETCD=/etc/passwd is no program"),
        ] {
            let error = answer(server, store).unwrap_err();
            assert!(error.to_string().contains(complaint), "{error}");
        }
    }
}
