//! Golden documents: a cluster in order, the same with one thing wrong, and what a server can do to a check.
//!
//! `OSTLER_UPDATE_GOLDEN=1` writes the documents of `tests/preflight` instead of comparing them. Read what it wrote.

mod cases;
mod fixture;
mod schema;
mod severities;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_cluster_core::preflight::{CHECKS, Document, ReleaseVersion, Target, UNKNOWN};
use serde_json::Value;
use tokio::time::Instant;

use super::{gather, judged, store, view};
use crate::source::Source;
use fixture::{Fault, Fixture};

async fn target(version: &str, fixture: &Fixture) -> Target {
    let release = fixture.release().await;
    Target {
        version: ReleaseVersion::parse(version).unwrap(),
        kernel_floor: Some((5, 14)),
        window_days: 30,
        now: "2026-06-01T12:00:00Z".parse().unwrap(),
        images: release.images,
        boot_images: release.boot_images,
    }
}

async fn told(source: &Source, target: &Target) -> Value {
    let (inventory, late) = gather::inventory(source, Instant::now() + Duration::from_secs(30)).await;
    let (_, document) = judged(&inventory, late, target);
    let document = serde_json::to_value(document).unwrap();
    assert_eq!(schema::violations(&schema::shipped(), &document), [""; 0], "{document:#}");
    let names = names(&document);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    document
}

async fn document(fixture: &Fixture) -> Value {
    let (_directory, source) = fixture.saved().await;
    told(&source, &target("4.22.0", fixture).await).await
}

fn names(document: &Value) -> Vec<String> {
    document["risks"].as_array().unwrap().iter().map(|risk| risk["name"].as_str().unwrap().to_owned()).collect()
}

fn golden(case: &str, document: &Value) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/preflight/{case}.json"));
    let text = format!("{}\n", serde_json::to_string_pretty(document).unwrap());
    if std::env::var_os("OSTLER_UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
        return;
    }
    let recorded = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(text, recorded, "{} has changed", path.display());
}

#[tokio::test]
async fn a_cluster_in_order_has_no_risks() {
    let document = document(&Fixture::in_order()).await;
    assert_eq!(names(&document), [""; 0], "{document:#}");
    golden("none", &document);
}

#[tokio::test]
async fn each_thing_that_is_wrong_is_one_risk() {
    let mut wrong = Vec::new();
    for (name, spoil) in cases::ALONE {
        let mut fixture = Fixture::in_order();
        spoil(&mut fixture);
        let document = document(&fixture).await;
        let beside = cases::BESIDE.iter().filter(|(of, _)| of == name).map(|(_, beside)| *beside);
        let expected: BTreeSet<&str> = beside.chain([*name]).collect();
        if names(&document).iter().map(String::as_str).collect::<BTreeSet<_>>() != expected {
            wrong.push(format!("{name}: {document:#}"));
        }
        golden(name, &document);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_check_has_a_case() {
    let cases: BTreeSet<&str> = cases::ALONE.iter().map(|(name, _)| *name).collect();
    let checks: BTreeSet<&str> = CHECKS.iter().map(|check| check.name).collect();
    assert_eq!(cases, checks);
}

#[tokio::test]
async fn all_that_is_wrong_at_once_is_all_risks_at_once() {
    let mut fixture = Fixture::in_order();
    cases::everything(&mut fixture);
    let document = document(&fixture).await;
    let all = CHECKS.iter().map(|check| check.name).filter(|name| !cases::EXCLUSIVE.contains(name));
    assert_eq!(names(&document), all.collect::<Vec<_>>(), "{document:#}");
    golden("all", &document);
}

#[tokio::test]
async fn an_update_within_a_minor_release_heeds_less_and_one_over_several_more() {
    let mut fixture = Fixture::in_order();
    cases::build_interrupted(&mut fixture);
    cases::paused(&mut fixture);
    let (_directory, source) = fixture.saved().await;
    let patch = told(&source, &target("4.21.9", &fixture).await).await;
    assert_eq!(names(&patch), ["MachineConfigPoolPaused"]);
    golden("patch", &patch);
    let skip = told(&source, &target("4.23.0", &fixture).await).await;
    assert_eq!(names(&skip), ["MachineConfigPoolBuildInterrupted", "MachineConfigPoolPaused"]);
    golden("skip-level", &skip);
    assert!(skip["risks"][1]["message"].as_str().unwrap().contains("more than one minor release"));
    let back = told(&source, &target("4.20.0", &fixture).await).await;
    assert!(names(&back).contains(&UNKNOWN.to_owned()));
}

#[tokio::test]
async fn a_degraded_node_in_need_of_another_plan_is_refused_by_the_planner() {
    let mut fixture = Fixture::in_order();
    cases::refused_plan(&mut fixture);
    let document = document(&fixture).await;
    assert_eq!(names(&document), ["MachineConfigPoolUpdating", "MachineConfigUnreconcilable"]);
    golden("planner", &document);
}

#[tokio::test]
async fn kinds_that_the_cluster_does_not_know_leave_checks_unmade_but_not_the_others() {
    let mut fixture = Fixture::in_order();
    cases::paused(&mut fixture);
    let target = target("4.22.0", &fixture).await;
    let source = fixture.served(|path| {
        let unknown = ["machineconfignodes", "osimagestreams", "machineosconfigs"];
        unknown.iter().any(|kind| path.contains(kind)).then_some(Fault::UnknownKind)
    });
    let document = told(&source, &target).await;
    assert_eq!(names(&document), [UNKNOWN, "MachineConfigPoolPaused"]);
    assert_eq!(document["executionStatus"], "completed");
    golden("kinds-unknown", &document);
}

#[tokio::test]
async fn an_api_that_fails_midway_and_one_that_refuses_leave_what_was_read() {
    for (case, fault) in [
        (
            "api-errors",
            (|path: &str| path.ends_with("/nodes").then_some(Fault::Status(500))) as fn(&str) -> Option<Fault>,
        ),
        ("forbidden", |path: &str| path.contains("/machineconfigs/").then_some(Fault::Status(403))),
    ] {
        let mut fixture = Fixture::in_order();
        cases::paused(&mut fixture);
        let target = target("4.22.0", &fixture).await;
        let document = told(&fixture.served(fault), &target).await;
        assert_eq!(names(&document), [UNKNOWN, "MachineConfigPoolPaused"], "{case}");
        golden(case, &document);
    }
}

#[tokio::test(start_paused = true)]
async fn when_the_time_is_over_what_was_found_is_told_as_failed() {
    let mut fixture = Fixture::in_order();
    cases::paused(&mut fixture);
    let target = target("4.22.0", &fixture).await;
    let source = fixture.served(|path| path.ends_with("/nodes").then_some(Fault::Silence));
    let document = told(&source, &target).await;
    assert_eq!(document["executionStatus"], "failed");
    assert_eq!(names(&document), [UNKNOWN, "MachineConfigPoolPaused"]);
    golden("time-over", &document);
}

#[tokio::test]
async fn without_files_of_the_target_its_streams_are_not_guessed() {
    let mut target = target("4.22.0", &Fixture::in_order()).await;
    let (_directory, source) = Fixture::in_order().saved().await;
    let none = super::release::releases(&crate::cli::ReleaseOptions::default(), 1, &source, Instant::now()).await;
    target.images = none.unwrap()[0].images.clone();
    let document = told(&source, &target).await;
    assert_eq!(names(&document), [UNKNOWN]);
    golden("no-release", &document);
}

#[tokio::test]
async fn streams_that_may_be_there_are_not_said_to_be_missing() {
    let mut fixture = Fixture::in_order();
    fixture.forget_labels();
    let document = document(&fixture).await;
    assert_eq!(names(&document), [UNKNOWN]);
    assert!(document["risks"][0]["message"].as_str().unwrap().contains("the labels of 4 images"), "{document:#}");
}

#[tokio::test]
async fn a_person_sees_what_matters_most_first() {
    let mut fixture = Fixture::in_order();
    cases::paused(&mut fixture);
    cases::build_interrupted(&mut fixture);
    let (_directory, source) = fixture.saved().await;
    let target = target("4.22.0", &fixture).await;
    let (inventory, late) = gather::inventory(&source, Instant::now() + Duration::from_secs(30)).await;
    let (findings, _) = judged(&inventory, late, &target);
    let text = anstream::adapter::strip_str(&view::findings(&target, &findings, true)).to_string();
    assert!(
        text.starts_with("update to 4.22.0: 1 critical, 1 warning, 0 info\n\ncritical MachineConfigPoolBuild"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.starts_with("  https://") || line.chars().count() <= 102), "{text}");
}

#[tokio::test]
async fn a_document_takes_the_place_of_another_and_leaves_nothing_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("result.json");
    fs::write(&path, "old").unwrap();
    let running = Document::running(&target("4.22.0", &Fixture::in_order()).await);
    store::write(&path, &running).unwrap();
    let read: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(read["executionStatus"], "running");
    assert_eq!(schema::violations(&schema::shipped(), &read), [""; 0]);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert!(store::write(&directory.path().join("none/result.json"), &running).is_err());
}

#[tokio::test]
async fn the_schema_refuses_what_is_no_document() {
    let document = serde_json::to_value(Document::running(&target("4.22.0", &Fixture::in_order()).await)).unwrap();
    for (at, bad) in [("/executionStatus", "done"), ("/preflightID", "x"), ("/targetVersion", "4"), ("/format", "v2")] {
        let mut spoilt = document.clone();
        *spoilt.pointer_mut(at).unwrap() = bad.into();
        assert_eq!(schema::violations(&schema::shipped(), &spoilt).len(), 1, "{at}");
    }
}
