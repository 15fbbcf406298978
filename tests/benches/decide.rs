//! How long a decision takes: reading two configs and planning the way from one to the other.
//!
//! Sizes are given to criterion as throughput, so that `cargo xtask bench` can print time per 100 KB. Generated configs
//! of growing size show whether the time grows in proportion.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ostler_core::desired::{Desired, Rules};
use ostler_core::disruption::Policies;
use ostler_core::document;
use ostler_core::machine_config::MachineConfig;
use ostler_core::observed::Observed;
use ostler_core::plan::assess;
use ostler_core::reconcile::Overrides;
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn read(text: &[u8]) -> Result<MachineConfig, Failure> {
    Ok(MachineConfig::from_document(document::parse(text)?)?)
}

/// Parse, validate, compare, decide, plan: all of `ostler plan` but the files and the printing.
fn decide(from: &[u8], to: &[u8]) -> Result<usize, Failure> {
    let observed = Observed::configured(read(from)?);
    let rules = Rules::Policies(Policies::default());
    let desired = Desired { target: read(to)?.into(), overrides: Overrides::default(), rules };
    Ok(assess(&observed, &desired).verdict?.steps.len())
}

/// A config of `files` files of about 700 bytes, as a rendered config has them.
fn generated(files: usize, edition: usize) -> Vec<u8> {
    let file = |number: usize| {
        let changed = if number.is_multiple_of(10) { edition } else { 0 };
        let line = format!("setting{number}%20%3D%20value%20{changed}%0A");
        json!({"path": format!("/etc/generated/{number}.conf"), "mode": 420, "overwrite": true,
               "contents": {"source": format!("data:,{}", line.repeat(18))}})
    };
    let config = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": format!("rendered-worker-{edition}")},
        "spec": {"config": {"ignition": {"version": "3.5.0"},
                            "storage": {"files": (0..files).map(file).collect::<Vec<Value>>()}}},
    });
    config.to_string().into_bytes()
}

/// The rendered worker config of a real cluster, as JSON: the form a node reads.
fn rendered_worker() -> Option<Vec<u8>> {
    let directory = ostler_tests::shared("fixtures")?;
    let mut paths = std::fs::read_dir(directory).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let path = paths.find(|path| path.to_string_lossy().contains("rendered-worker"))?;
    Some(document::parse(&std::fs::read(path).ok()?).ok()?.to_string().into_bytes())
}

fn bench_pair(criterion: &mut Criterion, group: &str, name: &str, pair: (&[u8], &[u8])) {
    let (from, to) = pair;
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Bytes(to.len() as u64));
    group.bench_with_input(BenchmarkId::new("parse", name), &to, |bencher, to| {
        bencher.iter(|| read(black_box(to)).is_ok())
    });
    group.throughput(Throughput::Bytes((from.len() + to.len()) as u64));
    group.bench_with_input(BenchmarkId::new("decide", name), &(from, to), |bencher, (from, to)| {
        bencher.iter(|| decide(black_box(from), black_box(to)).is_ok());
    });
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    if let Some(worker) = rendered_worker() {
        bench_pair(criterion, "rendered", "worker", (&worker, &worker));
    }
    for files in [50, 500, 5_000] {
        let (from, to) = (generated(files, 1), generated(files, 2));
        bench_pair(criterion, "generated", &format!("{files} files"), (&from, &to));
    }
}

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(30);
    targets = benches
}
criterion_main!(group);
