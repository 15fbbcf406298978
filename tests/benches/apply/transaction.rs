//! How long a whole transaction takes that changes a few files, in a small configuration and in a large one.
//!
//! Beside it stands what no transaction can do without, however little it changes: `currentconfig`, which holds the whole
//! configuration and is written anew, here as one file alone.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::unistd::Uid;
use ostler_core::machine_config::MachineConfig;
use ostler_core::observed::Observed;
use ostler_core::plan::plan;
use ostler_core::protocol::Rules;
use ostler_core::recorded::Recorded;
use ostler_host::disk::RootDisk;
use ostler_host::machine::{Machine, Surroundings};
use ostler_host::transaction::{self, World};
use serde_json::json;

use super::{Failure, median, millis};

const SMALL: usize = 100;
const LARGE: usize = 10_000;
const CHANGED: usize = 10;
const SIZE: usize = 200;
const DIRECTORIES: usize = 20;

/// One of the measured times.
type Part = fn(&Took) -> Duration;

/// What one transaction took.
struct Took {
    run: Duration,
    all: Duration,
    /// Writing and syncing the configuration's text once, by itself.
    record: Duration,
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
fn record(root: &Path, target: &Recorded) -> Result<Duration, Failure> {
    let start = Instant::now();
    let mut file = File::create_new(root.join("record"))?;
    file.write_all(target.json.expose())?;
    file.sync_all()?;
    let took = start.elapsed();
    fs::remove_file(root.join("record"))?;
    Ok(took)
}

fn apply(root: &Path, target: Recorded) -> Result<Took, Failure> {
    let record = record(root, &target)?;
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
    let rules = Rules::default();
    let current = MachineConfig::clone(&machine.observe()?.current.config);
    let steps = plan(&Observed::configured(current), &rules.desired(MachineConfig::clone(&target.config))?)?.steps;
    let proposal = transaction::propose(&machine, target, &rules, &steps)?.ok_or("there was nothing to do")?;
    let begun = Instant::now();
    transaction::run(&machine, &proposal, &mut |_| {})?;
    Ok(Took { run: begun.elapsed(), all: start.elapsed(), record })
}

/// The median of each part by itself.
fn middle(took: &[Took]) -> Took {
    let of = |part: fn(&Took) -> Duration| median(took.iter().map(part).collect());
    Took { run: of(|took| took.run), all: of(|took| took.all), record: of(|took| took.record) }
}

/// Measures both in turn, so that whatever else the machine does meets both, and prints how they compare.
pub(super) fn compare(place: &Path, rounds: usize) -> Result<(), Failure> {
    let (few, many) = (place.join("small"), place.join("large"));
    for (root, files) in [(&few, SMALL), (&many, LARGE)] {
        install(root)?;
        apply(root, config(files, 0)?)?;
    }
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for edition in 1..=rounds {
        small.push(apply(&few, config(SMALL, edition)?)?);
        large.push(apply(&many, config(LARGE, edition)?)?);
    }
    let (small, large) = (middle(&small), middle(&large));
    println!("a transaction that changes {CHANGED} files of {SIZE} bytes, median of {rounds}");
    let lines: [(&str, Part); 4] = [
        ("run", |took| took.run),
        ("currentconfig alone", |took| took.record),
        ("run less currentconfig", |took| took.run.saturating_sub(took.record)),
        ("run, reading and planning", |took| took.all),
    ];
    for (what, of) in lines {
        let (few, many) = (of(&small), of(&large));
        println!(
            "  {what:26} {:8.1} ms of {SMALL}, {:8.1} ms of {LARGE}, ratio {:.2}",
            millis(few),
            millis(many),
            many.as_secs_f64() / few.as_secs_f64()
        );
    }
    Ok(())
}
