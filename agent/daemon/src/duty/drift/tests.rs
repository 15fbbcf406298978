//! The duty against a machine that is made up, files that are real and a clock that is turned by hand.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use ostler_core::drift::Difference;
use ostler_core::machine_config::MachineConfig;
use ostler_core::protocol::{Class, Failure};
use ostler_core::transaction::{Ending, Finished, Purpose};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::duty::Duties;

const CONFIG: &str = "rendered-1";
const HOUR: Duration = Duration::from_secs(3600);

/// What the made-up machine is and does.
#[derive(Default)]
struct Made {
    drift: Vec<Drift>,
    /// What comes back as soon as it is repaired.
    fought: Vec<Subject>,
    /// What no transaction can repair.
    stubborn: Vec<Subject>,
    /// Whether nobody answers.
    silent: bool,
    /// How long a look takes.
    slow: Duration,
    looks: usize,
    repairs: Vec<Vec<Subject>>,
}

#[derive(Clone)]
struct Double {
    made: Arc<Mutex<Made>>,
    root: PathBuf,
}

impl Asks for Double {
    async fn answer(&self, request: Request) -> Result<Reply> {
        let slow = self.made.lock().unwrap().slow;
        if matches!(request, Request::Drift | Request::DriftInterest) && !slow.is_zero() {
            tokio::time::sleep(slow).await;
        }
        let mut made = self.made.lock().unwrap();
        anyhow::ensure!(!made.silent, "the applier does not answer");
        Ok(match request {
            Request::DriftInterest => Reply::DriftInterest(Interest::of(&config())),
            Request::Drift => {
                made.looks += 1;
                Reply::Drift(made.drift.clone())
            }
            Request::Repair { only } => self.repair(&mut made, only),
            other => panic!("nobody asked for {other:?}"),
        })
    }
}

impl Double {
    fn repair(&self, made: &mut Made, only: Vec<Subject>) -> Reply {
        made.repairs.push(only.clone());
        if only.iter().any(|subject| made.stubborn.contains(subject)) {
            let reasons = vec!["the file system is read-only".to_owned()];
            return Reply::Failed(Failure { class: Class::Inoperable, reasons, remedy: None, unchanged: true });
        }
        let fought = made.fought.clone();
        made.drift.retain(|drift| !only.contains(&drift.subject) || fought.contains(&drift.subject));
        // A repair writes, and so do those who fight it.
        only.iter().for_each(|subject| self.touch(&subject.path()));
        Reply::Finished(Finished {
            purpose: Purpose::Repair,
            from: CONFIG.to_owned(),
            to: CONFIG.to_owned(),
            ending: Ending::Applied,
            began: 0,
            ended: 0,
            boot: "boot".to_owned().into(),
            reboot: false,
            left_out: Vec::new(),
            changed: only.len(),
            boot_loader: None,
            service_failures: Vec::new(),
            leftovers: Vec::new(),
        })
    }

    fn touch(&self, path: &str) {
        let place = self.root.join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, "x").unwrap();
    }
}

fn config() -> MachineConfig {
    let files: Vec<_> = (0..8).map(|number| json!({"path": path(number)})).collect();
    let config = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}});
    MachineConfig::from_document(json!({"metadata": {"name": CONFIG}, "spec": {"config": config}})).unwrap()
}

fn path(number: usize) -> String {
    format!("/etc/app/{number}.conf")
}

fn file(number: usize) -> Subject {
    Subject::File { path: path(number) }
}

fn drift(numbers: &[usize]) -> Vec<Drift> {
    numbers.iter().map(|number| Drift { subject: file(*number), difference: Difference::Contents }).collect()
}

/// The duty at work.
struct Scene {
    _directory: TempDir,
    duties: Duties,
    double: Double,
    circumstances: Circumstances,
    /// What the duty says that is reported.
    reported: Option<DriftSummary>,
    /// What it told, by kind, and how often it said anything.
    told: BTreeMap<&'static str, usize>,
    states: usize,
}

impl Scene {
    fn new(policy: &str, drift: Vec<Drift>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_owned();
        let double = Double { made: Arc::default(), root };
        double.made.lock().unwrap().drift = drift;
        (0..8).for_each(|number| double.touch(&path(number)));
        fs::create_dir_all(double.root.join("etc/ostler")).unwrap();
        fs::write(double.root.join("etc/ostler/drift.yaml"), policy).unwrap();
        let mut duties = Duties::new();
        let (asks, root) = (double.clone(), double.root.clone());
        duties.begin(|post| async move { Keeper::new(post, asks, &root).keep().await });
        let config = Some(ConfigRef::new(CONFIG));
        let circumstances = Circumstances { config, at_rest: true, ..Circumstances::default() };
        let (told, states) = (BTreeMap::new(), 0);
        let scene = Self { _directory: directory, duties, double, circumstances, reported: None, told, states };
        scene.show();
        scene
    }

    fn show(&self) {
        self.duties.show(self.circumstances.clone());
    }

    /// Lets time pass and takes in what is said meanwhile.
    async fn pass(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Ok(word) = tokio::time::timeout_at(end, self.duties.word()).await {
            if let Some(State::Drift(summary)) = word.state {
                self.reported = summary;
                self.states += 1;
            }
            for notice in &word.notices {
                *self.told.entry(kind(notice)).or_default() += 1;
            }
        }
    }

    /// Changes what differs, as somebody does who writes a file.
    fn change(&self, numbers: &[usize]) {
        self.made(|made| made.drift = drift(numbers));
        self.double.touch(&path(0));
    }

    fn made<R>(&self, use_it: impl FnOnce(&mut Made) -> R) -> R {
        use_it(&mut self.double.made.lock().unwrap())
    }

    fn count(&self) -> usize {
        self.reported.as_ref().map_or(0, |summary| summary.count)
    }

    fn told(&self, kind: &str) -> usize {
        self.told.get(kind).copied().unwrap_or_default()
    }
}

fn kind(notice: &Notice) -> &'static str {
    let all = format!("{notice:?}");
    let name = all.split([' ', '{']).next().unwrap_or_default();
    Notice::IDS.iter().map(|(known, _)| *known).find(|known| *known == name).unwrap()
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn drift_is_reported_when_it_is_there_and_cleared_when_it_is_gone() {
    let mut scene = Scene::new("", drift(&[1, 2]));
    scene.pass(SECOND).await;
    assert_eq!((scene.count(), scene.told("DriftFound"), scene.told("DriftWatched")), (2, 1, 1));
    scene.change(&[2, 3]);
    scene.pass(6 * SECOND).await;
    assert_eq!((scene.count(), scene.told("DriftFound")), (2, 2));
    scene.change(&[]);
    scene.pass(6 * SECOND).await;
    assert_eq!((scene.count(), scene.told("DriftGone"), scene.states), (0, 1, 3));
    assert_eq!(scene.made(|made| made.repairs.len()), 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_policy_says_is_repaired_and_nothing_else() {
    let mut scene = Scene::new(
        "rules: [{path: '/etc/app/1.conf', action: repair}, {path: '/etc/app/2.conf', action: ignore}]",
        drift(&[1, 2, 3]),
    );
    scene.pass(SECOND).await;
    assert_eq!(scene.made(|made| made.repairs.clone()), [vec![file(1)]]);
    assert_eq!(
        scene.reported.as_ref().map(|summary| summary.words.as_str()),
        Some("content mismatch for file \"/etc/app/3.conf\"")
    );
    assert_eq!(scene.told("DriftRepaired"), 1);
    let looks = scene.made(|made| made.looks);
    scene.pass(60 * SECOND).await;
    assert_eq!(scene.made(|made| made.looks), looks, "what a repair writes is no reason to look again");
}

#[tokio::test(start_paused = true)]
async fn the_annotation_counts_as_soon_as_it_changes() {
    let mut scene = Scene::new("", drift(&[1]));
    scene.pass(SECOND).await;
    assert_eq!(scene.count(), 1);
    let annotations = BTreeMap::from([(keys::DRIFT_POLICY.to_owned(), "repair".to_owned())]);
    scene.circumstances.node = Some(NodeView::new("n", "u", false, &annotations));
    scene.show();
    scene.pass(SECOND).await;
    assert_eq!((scene.count(), scene.made(|made| made.repairs.len())), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_cannot_be_read_is_told_and_repairs_nothing() {
    let mut scene = Scene::new("default: repiar", drift(&[1]));
    scene.pass(SECOND).await;
    assert_eq!((scene.count(), scene.told("DutyRefused"), scene.made(|made| made.repairs.len())), (1, 1, 0));
    fs::write(scene.double.root.join("etc/ostler/drift.yaml"), "default: repair").unwrap();
    scene.pass(6 * SECOND).await;
    assert_eq!((scene.count(), scene.made(|made| made.repairs.len())), (0, 1), "the policy is watched as well");
}

#[tokio::test(start_paused = true)]
async fn who_fights_a_repair_gets_fewer_and_fewer_of_them() {
    let mut scene = Scene::new("default: repair", drift(&[1]));
    scene.made(|made| made.fought = vec![file(1)]);
    scene.pass(HOUR).await;
    let (repairs, looks) = scene.made(|made| (made.repairs.len(), made.looks));
    assert!((8..=30).contains(&repairs), "{repairs} repairs in an hour");
    assert!(looks <= 4 * repairs + 10, "{looks} looks for {repairs} repairs");
    assert_eq!((scene.count(), scene.told("DriftFought"), scene.told("DriftRepaired")), (1, 1, 0));
    scene.made(|made| made.fought.clear());
    scene.pass(Duration::from_secs(301)).await;
    assert_eq!((scene.count(), scene.told("DriftRepaired")), (0, 1), "it ends when the other one ends");
}

#[tokio::test(start_paused = true)]
async fn one_thing_that_cannot_be_repaired_does_not_keep_the_others_from_it() {
    let mut scene = Scene::new("default: repair", drift(&[0, 1, 2, 3, 4, 5, 6, 7]));
    scene.made(|made| made.stubborn = vec![file(5)]);
    scene.pass(SECOND).await;
    assert_eq!(scene.made(|made| made.drift.clone()), drift(&[5]));
    assert_eq!((scene.count(), scene.told("DutyDelayed"), scene.told("DriftRepaired")), (1, 1, 1));
    scene.pass(HOUR).await;
    assert_eq!(scene.told("DutyDelayed"), 1, "it is told once");
    assert!(scene.made(|made| made.repairs.len()) < 50);
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_changes_is_left_alone_and_looked_at_right_after() {
    let mut scene = Scene::new("default: repair", Vec::new());
    scene.pass(SECOND).await;
    let looks = scene.made(|made| made.looks);
    scene.circumstances.at_rest = false;
    scene.show();
    scene.change(&[1, 2]);
    scene.pass(HOUR).await;
    assert_eq!(scene.made(|made| (made.looks, made.repairs.len())), (looks, 0));
    scene.made(|made| made.drift.clear());
    scene.circumstances.at_rest = true;
    scene.circumstances.config = Some(ConfigRef::new("rendered-2"));
    scene.show();
    scene.pass(SECOND).await;
    assert!(scene.made(|made| made.looks) > looks);
    assert_eq!((scene.states, scene.told("DriftWatched")), (0, 2), "an update is no drift");
}

#[tokio::test(start_paused = true)]
async fn what_was_seen_while_an_update_began_is_not_believed() {
    let mut scene = Scene::new("default: repair", drift(&[1]));
    scene.made(|made| made.slow = 10 * SECOND);
    scene.pass(5 * SECOND).await;
    scene.circumstances.at_rest = false;
    scene.show();
    scene.pass(30 * SECOND).await;
    assert_eq!((scene.states, scene.made(|made| made.repairs.len())), (0, 0));
    // It comes to rest before anybody has noticed that it did not.
    scene.circumstances.at_rest = true;
    scene.show();
    scene.pass(60 * SECOND).await;
    assert_eq!(scene.made(|made| made.repairs.len()), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_applier_is_not_told_while_the_machine_changes() {
    let mut scene = Scene::new("", drift(&[1]));
    scene.made(|made| (made.slow, made.silent) = (10 * SECOND, true));
    scene.pass(5 * SECOND).await;
    scene.circumstances.at_rest = false;
    scene.show();
    scene.pass(30 * SECOND).await;
    assert_eq!(scene.told("DutyDelayed"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_machine_is_looked_at_rarely() {
    let mut scene = Scene::new("", Vec::new());
    scene.pass(24 * HOUR).await;
    let looks = scene.made(|made| made.looks);
    assert!((32..=50).contains(&looks), "{looks} looks in a day");
    assert_eq!(scene.states, 0);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_answer_is_asked_again_later_and_later() {
    let mut scene = Scene::new("", drift(&[1]));
    scene.made(|made| made.silent = true);
    scene.pass(HOUR).await;
    assert_eq!((scene.told("DutyDelayed"), scene.states), (1, 0));
    scene.made(|made| made.silent = false);
    scene.pass(Duration::from_secs(301)).await;
    assert_eq!(scene.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn drift_that_comes_and_goes_all_day_is_not_said_all_day() {
    let mut scene = Scene::new("", Vec::new());
    for step in 0..1800 {
        scene.change(if step % 2 == 0 { &[1] } else { &[] });
        scene.pass(2 * SECOND).await;
    }
    assert!(scene.states <= 60, "said {} times in an hour", scene.states);
    scene.change(&[]);
    scene.pass(Duration::from_secs(301)).await;
    assert_eq!(scene.count(), 0);
}
