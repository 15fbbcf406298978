//! How long a whole transaction takes that changes a few files, in a small configuration and in a large one.
//!
//! Beside it stands what no transaction can do without, however little it changes: `currentconfig`, which holds the whole
//! configuration and is written anew, here as one file alone. Where others load the disk, the processor time of this
//! process tells more than the clock.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use nix::unistd::Uid;
use ostler_core::protocol::Rules;
use ostler_core::recorded::Recorded;
use ostler_core::secret::Secret;
use ostler_host::disk::RootDisk;
use ostler_host::machine::{Machine, Surroundings};
use ostler_host::transaction;
use serde_json::json;

use super::{Failure, median, millis};

const SMALL: usize = 100;
const LARGE: usize = 10_000;
const CHANGED: usize = 10;
const SIZE: usize = 200;
const DIRECTORIES: usize = 20;

/// Transactions that are tried for each round of the batches, which take much longer.
const TRIES: usize = 3;

/// One of the measured times.
type Part = fn(&Took) -> Duration;

/// What one transaction took.
struct Took {
    run: Duration,
    /// Of it, on the processor.
    busy: Duration,
    all: Duration,
    /// Writing and syncing the configuration's text once, by itself.
    record: Duration,
}

fn processor() -> Result<Duration, Failure> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

/// A configuration of files, of which the first few are of an edition.
fn config(files: usize, edition: usize) -> Result<Recorded, Failure> {
    let file = |number: usize| {
        let edition = if number < CHANGED { edition } else { 0 };
        let text: String = format!("{edition:04}-{number:06}-").chars().cycle().take(SIZE).collect();
        let path = format!("/etc/bench/d{:02}/f{number:05}", number % DIRECTORIES);
        json!({"path": path, "mode": 0o644, "contents": {"source": format!("data:,{text}")}})
    };
    let files: Vec<_> = (0..files).map(file).collect();
    let ignition = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}});
    let name = format!("rendered-bench-{edition}");
    Ok(Recorded::from_document(json!({"metadata": {"name": name}, "spec": {"config": ignition}}))?)
}

fn install(root: &Path) -> Result<(), Failure> {
    fs::create_dir_all(root.join("etc"))?;
    fs::write(root.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\n")?;
    fs::write(root.join("etc/group"), "root:x:0:\n")?;
    Ok(())
}

/// The least that a new `currentconfig` takes.
fn record(root: &Path, text: &Secret<Vec<u8>>) -> Result<Duration, Failure> {
    let start = Instant::now();
    let mut file = File::create_new(root.join("record"))?;
    file.write_all(text.expose())?;
    file.sync_all()?;
    let took = start.elapsed();
    fs::remove_file(root.join("record"))?;
    File::open(root)?.sync_all()?;
    Ok(took)
}

fn apply(root: &Path, target: Recorded) -> Result<Took, Failure> {
    let text = Arc::clone(&target.json);
    let start = Instant::now();
    let disk = RootDisk::open(root)?;
    let surroundings = Surroundings {
        manager: None,
        os: None,
        root: Some(root.to_owned()),
        live: false,
        root_user: Uid::effective().is_root(),
        boot: "bench".to_owned().into(),
        now: Box::new(|| 1_700_000_000),
    };
    let machine = Machine::open(&disk, surroundings)?;
    let proposal = transaction::propose(&machine, target, &Rules::default())?.ok_or("there was nothing to do")?;
    let (begun, before) = (Instant::now(), processor()?);
    transaction::run(&machine, &proposal, &mut |_| {})?;
    let (run, busy, all) = (begun.elapsed(), processor()?.saturating_sub(before), start.elapsed());
    // Last, and settled: what it leaves the filesystem to do is not the transaction's.
    let record = record(root, &text)?;
    Ok(Took { run, busy, all, record })
}

/// Prints one part of all transactions. Each round has a ratio of its own, so that what else the machine does at the time
/// meets both sides of it.
fn tell(what: &str, of: Part, small: &[Took], large: &[Took]) {
    let [few, many] = [small, large].map(|took| millis(median(took.iter().map(of).collect())));
    let ratio = |(few, many)| of(many).as_secs_f64() / of(few).as_secs_f64();
    let mut ratios: Vec<f64> = small.iter().zip(large).map(ratio).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let quarter = |number: usize| ratios.get(ratios.len() * number / 4).copied().unwrap_or_default();
    println!(
        "  {what:26} {few:8.1} ms of {SMALL}, {many:8.1} ms of {LARGE}, ratio {:.2}, half of them {:.2} to {:.2}",
        quarter(2),
        quarter(1),
        quarter(3)
    );
}

/// Measures both in turn and prints how they compare.
pub(super) fn compare(place: &Path, rounds: usize) -> Result<(), Failure> {
    let (few, many) = (place.join("small"), place.join("large"));
    for (root, files) in [(&few, SMALL), (&many, LARGE)] {
        install(root)?;
        apply(root, config(files, 0)?)?;
    }
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for edition in 1..=rounds * TRIES {
        small.push(apply(&few, config(SMALL, edition)?)?);
        large.push(apply(&many, config(LARGE, edition)?)?);
    }
    println!("a transaction that changes {CHANGED} files of {SIZE} bytes, median of {}", small.len());
    let lines: [(&str, Part); 4] = [
        ("run", |took| took.run),
        ("run, on the processor", |took| took.busy),
        ("currentconfig alone", |took| took.record),
        ("run, reading and planning", |took| took.all),
    ];
    for (what, of) in lines {
        tell(what, of, &small, &large);
    }
    Ok(())
}
