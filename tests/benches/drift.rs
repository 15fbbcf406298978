//! How long a search for drift takes on a machine of 10,000 files, beside `sha256sum` of the same files.
//!
//! Both read files that are in memory already, in turn. What is compared is the search alone: the machine's record of its
//! configuration is read and parsed once more by each search, as by the command.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::unistd::Uid;
use ostler_host::disk::RootDisk;
use ostler_host::machine::{Machine, Surroundings};
use serde_json::{Value, json};

/// Odd, for the median.
const ROUNDS: usize = 7;
const FILES: usize = 10_000;
const DIRECTORIES: usize = 100;
const SIZE: usize = 2048;

type Failure = Box<dyn Error>;

fn name(number: usize) -> String {
    format!("etc/d{:02}/f{number:05}", number % DIRECTORIES)
}

fn contents(number: usize) -> Vec<u8> {
    format!("file {number:08} ").into_bytes().into_iter().cycle().take(SIZE).collect()
}

/// A machine whose configuration is all in place.
fn plant(root: &Path) -> Result<(), Failure> {
    let mut files: Vec<Value> = Vec::with_capacity(FILES);
    for number in 0..FILES {
        let path = root.join(name(number));
        fs::create_dir_all(path.parent().ok_or("no directory")?)?;
        fs::write(&path, contents(number))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
        let source = format!("data:;base64,{}", STANDARD.encode(contents(number)));
        files.push(json!({"path": format!("/{}", name(number)), "mode": 0o644, "contents": {"source": source}}));
    }
    let ignition = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}});
    let config = json!({"metadata": {"name": "rendered-worker"}, "spec": {"config": ignition}});
    fs::create_dir_all(root.join("etc/machine-config-daemon"))?;
    Ok(fs::write(root.join("etc/machine-config-daemon/currentconfig"), config.to_string())?)
}

fn search(root: &Path) -> Result<Duration, Failure> {
    let disk = RootDisk::open(root)?;
    let root_user = Uid::effective().is_root();
    let surroundings = Surroundings {
        manager: None,
        os: None,
        root: None,
        live: false,
        root_user,
        boot: "bench".to_owned().into(),
        now: Box::new(|| 0),
    };
    let start = Instant::now();
    let drift = Machine::look(&disk, surroundings)?.drift()?;
    let took = start.elapsed();
    if drift.is_empty() { Ok(took) } else { Err(format!("{} files differ, and none should", drift.len()).into()) }
}

fn digest(root: &Path, names: &str) -> Result<Duration, Failure> {
    let start = Instant::now();
    let mut command = Command::new("xargs");
    let mut child = command.arg("sha256sum").current_dir(root).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    child.stdin.take().ok_or("no standard input")?.write_all(names.as_bytes())?;
    if !child.wait()?.success() {
        return Err("sha256sum failed".into());
    }
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

fn main() -> Result<(), Failure> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let root = directory.path();
    plant(root)?;
    let names: String = (0..FILES).map(|number| format!("{}\n", name(number))).collect();
    // Under `cargo test` it only has to work.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 1 };
    let (mut searches, mut digests) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        searches.push(search(root)?);
        digests.push(digest(root, &names)?);
    }
    let (Some(search), Some(digest)) = (median(searches), median(digests)) else { return Ok(()) };
    println!(
        "drift of {FILES} files: {:.1} ms; sha256sum of the same: {:.1} ms; ratio {:.2}",
        search.as_secs_f64() * 1e3,
        digest.as_secs_f64() * 1e3,
        search.as_secs_f64() / digest.as_secs_f64()
    );
    Ok(())
}
