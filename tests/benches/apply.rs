//! How long a batch of files takes to get onto the disk, beside `cp -r` and a sync of the same files.
//!
//! Both replace the files of equal old trees on one filesystem, in turn, so that whatever else the machine does meets both. Not criterion: a round needs a tree to be made and synced before it, and must not be repeated on it.

#[path = "apply/transaction.rs"]
mod transaction;
#[path = "apply/volume.rs"]
mod volume;

use std::error::Error;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ostler_core::secret::Secret;
use ostler_host::batch::{Batch, Write, apply};
use ostler_host::disk::{Attributes, RootDisk, RootPath};

/// Odd, for the median.
const ROUNDS: usize = 11;
const FILES: usize = 1_000;
const DIRECTORIES: usize = 20;
const SIZE: usize = 2048;

type Failure = Box<dyn Error>;

fn name(number: usize) -> String {
    format!("etc/d{:02}/f{number:04}", number % DIRECTORIES)
}

/// Contents that differ between files and editions, and not in length.
fn contents(number: usize, edition: &str) -> Vec<u8> {
    format!("{edition} {number:08} ").into_bytes().into_iter().cycle().take(SIZE).collect()
}

fn plant(root: &Path, edition: &str) -> Result<(), Failure> {
    for number in 0..DIRECTORIES {
        fs::create_dir_all(root.join(format!("etc/d{number:02}")))?;
    }
    for number in 0..FILES {
        let path = root.join(name(number));
        fs::write(&path, contents(number, edition))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}

fn batch(root: &Path, edition: &str) -> Result<Batch, Failure> {
    let owner = fs::metadata(root)?;
    let attributes = Attributes { mode: 0o644, uid: owner.uid(), gid: owner.gid() };
    let write = |number| -> Result<Write, Failure> {
        let path = RootPath::new(format!("/{}", name(number)))?;
        let contents = Secret::new(contents(number, edition)).into();
        Ok(Write { path, contents, attributes, label: None, xattrs: Default::default() })
    };
    Ok(Batch { writes: (0..FILES).map(write).collect::<Result<_, _>>()?, ..Batch::default() })
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}

fn check(root: &Path) -> Result<(), Failure> {
    for number in 0..FILES {
        if fs::read(root.join(name(number)))? != contents(number, "new") {
            return Err(format!("{} was not replaced", name(number)).into());
        }
    }
    Ok(())
}

fn applied(root: &Path) -> Result<Duration, Failure> {
    plant(root, "old")?;
    let batch = batch(root, "new")?;
    run(Command::new("sync").arg("-f").arg(root))?;
    let start = Instant::now();
    let counts = apply(&RootDisk::open(root)?, &batch, "bench")?;
    let took = start.elapsed();
    if counts.written != FILES {
        return Err(format!("{counts:?}").into());
    }
    check(root)?;
    Ok(took)
}

fn copied(source: &Path, root: &Path) -> Result<Duration, Failure> {
    plant(root, "old")?;
    run(Command::new("sync").arg("-f").arg(root))?;
    let start = Instant::now();
    run(Command::new("cp").arg("-r").arg(source.join("etc")).arg(root))?;
    run(Command::new("sync").arg("-f").arg(root))?;
    let took = start.elapsed();
    check(root)?;
    Ok(took)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn main() -> Result<(), Failure> {
    // As a test, which `cargo test --all-targets` makes of it, once is enough.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 1 };
    let volume = volume::Volume::new()?;
    let source = volume.path().join("source");
    plant(&source, "new")?;
    let (mut batches, mut copies) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let at = |what: &str| volume.path().join(format!("{what}{round}"));
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                batches.push(applied(&at("batch"))?);
            } else {
                copies.push(copied(&source, &at("copy"))?);
            }
        }
    }
    let (batch, copy) = (median(batches), median(copies));
    println!("{FILES} files of {SIZE} bytes in {DIRECTORIES} directories, median of {rounds} rounds in turn");
    println!("  batch::apply      {:8.1} ms", millis(batch));
    println!("  cp -r, sync -f    {:8.1} ms", millis(copy));
    println!("  ratio             {:8.2}", batch.as_secs_f64() / copy.as_secs_f64());
    transaction::compare(volume.path(), rounds)
}
