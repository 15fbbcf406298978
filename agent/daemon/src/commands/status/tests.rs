//! What `ostler status` says and ends in.

use ostler_core::os::backend::Backend;
use ostler_core::os::state::{Installed, OsState};
use ostler_core::protocol::Class;
use ostler_core::rival::{Rival, Task};
use ostler_core::status::Status;
use ostler_core::transaction::{Direction, Ending, Finished, Open, OrderedRestart, OwedRestart, Phase, Purpose};
use serde_json::json;

use super::*;
use crate::cli::MachineOptions;
use crate::commands::scripted::{PROGRAM, Played, SCRIPT, Scene, Scripted, failure, finished, play, undone};

mod agent;
mod surfaces;

/// No daemon, and it is four minutes after everything.
fn nobody(_: Option<&Path>) -> Heard {
    Heard { account: Ok(None), enabled: false, now: 1_791_000_240 }
}

fn run(scene: Scene, reply: Reply) -> Played {
    run_beside(scene, reply, nobody)
}

fn run_beside(scene: Scene, reply: Reply, hear: impl FnOnce(Option<&Path>) -> Heard) -> Played {
    let mut asks = Scripted::new([reply]);
    let options = StatusOptions { machine: MachineOptions::default() };
    let played = play(scene, |console| status(&options, console, |_| Ok(&mut asks), hear));
    assert_eq!(asks.asked, [Request::Status]);
    played
}

fn said(status: Status) -> Played {
    run(SCRIPT, Reply::Status(Box::new(status)))
}

fn settled() -> Status {
    Status { config: Some("rendered-worker-1".to_owned()), last: Some(finished(Purpose::Update)), ..Status::default() }
}

fn open() -> Status {
    let open = Open {
        purpose: Purpose::Update,
        direction: Direction::Back,
        from: "rendered-worker-1".to_owned(),
        to: "rendered-worker-2".to_owned(),
        steps: Vec::new(),
        undo: Vec::new(),
        boot: "b".to_owned().into(),
        began: 1_791_000_000,
        reason: Some("no space left\u{1b}[2J".to_owned()),
        target_failed: false,
        blameless: false,
        os: None,
        awaits_end_of: None,
        restart_for: vec!["/etc/motd".to_owned()],
    };
    // The record names the target already: it is written with the files.
    let config = Some("rendered-worker-2".to_owned());
    let done = vec![Phase::Check, Phase::Begin, Phase::Write];
    Status { boot: "b".to_owned().into(), open: Some(open), done, last: None, config, ..settled() }
}

fn owed(config: &str) -> OwedRestart {
    let reasons = vec!["/etc/motd".to_owned()];
    OwedRestart { config: config.to_owned(), reasons, since: 1_791_000_000, boot: "b".to_owned().into() }
}

/// The update is in place but for the restart.
fn waiting() -> Status {
    let status = open();
    let open = status.open.map(|open| Open {
        direction: Direction::Forward,
        reason: None,
        awaits_end_of: Some("b".to_owned().into()),
        ..open
    });
    let owed_restarts = vec![owed("rendered-worker-2")];
    Status { open, done: vec![Phase::Preserve, Phase::Write], awaits_reboot: true, owed_restarts, ..status }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn digest(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

fn installed(digit: char, kargs: &str) -> Installed {
    Installed {
        image: Some(format!("registry.example/os@{}", digest(digit))),
        digest: Some(digest(digit)),
        version: Some(format!("9.{digit}.20260930-0")),
        checksum: digit.to_string().repeat(64),
        stateroot: "rhcos".to_owned(),
        kargs: words(kargs),
        ..Installed::default()
    }
}

/// One deployment of each kind, with what only some have.
fn deployed() -> Status {
    let staged = installed('3', "root=x nosmt quiet");
    let booted = Installed { packages: words("kernel-rt-core"), ..installed('2', "root=x quiet quiet") };
    let booted = Installed { removals: words("kernel"), ..booted };
    let rollback = Installed { pinned: true, ..installed('1', "root=x") };
    let kept = Installed { image: None, digest: None, version: None, ..installed('0', "") };
    let tagged = Installed { image: Some("registry.example/os:9\u{7}".to_owned()), ..installed('4', "") };
    let os = OsState {
        backend: Some(Backend::RpmOstree),
        deployments: vec![staged.clone(), booted.clone(), rollback.clone(), kept, tagged],
        booted: Some(booted),
        staged: Some(staged),
        rollback: Some(rollback),
        finalization_failure: None,
    };
    Status { os, own_kargs: words("nosmt quiet"), ..settled() }
}

#[test]
fn a_settled_machine_is_told_with_its_last_transaction() {
    let played = said(settled());
    assert_eq!(played.outcome, Outcome::Success);
    assert_eq!(
        played.stdout,
        "\
Up to date. No agent runs on this machine.

Configuration  rendered-worker-1
Before it      none

Last transaction
  what     update from an empty machine to rendered-worker-1
  result   applied, 3 changed
  began    2026-10-03T04:00:00Z
  ended    2026-10-03T04:00:10Z (10 seconds)
"
    );
}

#[test]
fn an_interrupted_transaction_is_told_with_its_remedy() {
    let played = said(open());
    assert_eq!(played.outcome, Outcome::Different);
    assert_eq!(
        played.stdout,
        "\
Needs attention: the update to rendered-worker-2 was interrupted.
  Fix: run \"ostler recover\"; if it fails for good, \"ostler abandon\"

Configuration  rendered-worker-1
Before it      none

Open transaction
  what     update from rendered-worker-1 to rendered-worker-2
  began    2026-10-03T04:00:00Z
  heading  back, to rendered-worker-1
  because  no space left\\u{1b}[2J
  done     check, begin, write
"
    );
}

#[test]
fn everything_that_needs_attention_is_said_and_nothing_else_does() {
    for (status, outcome, said_of_it) in [
        (
            Status { busy: true, ..open() },
            Outcome::Different,
            "Updating: rolling back from rendered-worker-2: no space left\\u{1b}[2J.\n",
        ),
        (
            Status { rival: Some(Rival { pid: 7, task: Task::FirstBoot }), ..settled() },
            Outcome::Different,
            "Needs attention: machine-config-daemon, at the completion of the first boot, runs on this node as process 7, so",
        ),
        (
            Status { awaits_reboot: true, owed_restarts: vec![owed("rendered-worker-0\u{1b}")], ..settled() },
            Outcome::Different,
            "Restart for    rendered-worker-0\\u{1b} (/etc/motd), since 2026-10-03T04:00:00Z\n",
        ),
        (
            Status { damaged: vec!["journal/1: torn".to_owned()], ..settled() },
            Outcome::Different,
            "Needs attention: damaged journal records: journal/1: torn.\n  Fix: run \"ostler drift --repair\": it ",
        ),
        (
            Status { busy: true, ..settled() },
            Outcome::Different,
            "Waiting for another process that changes the machine.\n",
        ),
        (Status { forced: true, ..settled() }, Outcome::Success, "Next forced    yes, the force file is there"),
        (Status::default(), Outcome::Unknown, "Unknown: no configuration was ever applied here.\n"),
        (
            Status { image: Some("quay.io/os@sha256:1".to_owned()), ..settled() },
            Outcome::Success,
            "OS image       quay.io/os@sha256:1",
        ),
        (
            Status { last: Some(undone(Purpose::Repair)), ..settled() },
            Outcome::Success,
            "  what     repair of rendered-worker-1\n  result   undone: no space left\\u{7}\n",
        ),
    ] {
        let played = said(status);
        assert_eq!(played.outcome, outcome, "{}", played.stdout);
        assert!(played.stdout.contains(said_of_it), "{said_of_it:?} is not in {}", played.stdout);
    }
}

#[test]
fn a_program_gets_the_same_as_a_document() {
    let status = Status { last: Some(finished(Purpose::Update)), ..open() };
    let played = run(PROGRAM, Reply::Status(Box::new(status)));
    assert_eq!(
        played.json(),
        json!({
            "verdict": {
                "state": "needsAttention", "summary": "Needs attention: the update to rendered-worker-2 was interrupted.",
                "reasons": [
                    {
                        "reason": "Interrupted",
                        "detail": {"purpose": "update", "config": "rendered-worker-2", "restarted": false},
                        "state": "needsAttention", "message": "the update to rendered-worker-2 was interrupted",
                        "fix": "run \"ostler recover\"; if it fails for good, \"ostler abandon\"",
                    },
                    {
                        "reason": "NoAgent", "state": "upToDate", "message": "No agent runs on this machine", "fix": null,
                    },
                ],
            },
            "settled": false, "config": "rendered-worker-1", "image": null, "previous": null,
            "open": {
                "purpose": "update", "direction": "back", "from": "rendered-worker-1", "to": "rendered-worker-2",
                "began": "2026-10-03T04:00:00Z", "reason": "no space left\u{1b}[2J",
                "done": ["check", "begin", "write"], "steps": [],
            },
            "last": {
                "purpose": "update", "from": "mco-empty-mc", "to": "rendered-worker-1", "ending": "applied",
                "reason": null, "began": "2026-10-03T04:00:00Z", "ended": "2026-10-03T04:00:10Z", "changed": 3,
                "reboot": false, "leftOut": [],
            },
            "busy": false, "forced": false, "awaitsReboot": false, "owedRestarts": [], "restart": null, "trial": null, "rival": null,
            "rejected": [],
            "damaged": [], "daemon": null, "daemonUnknown": null,
            "os": {
                "backend": null, "booted": null, "staged": null, "rollback": null, "deployments": [],
                "finalizationFailure": null, "unknown": null,
            },
        })
    );
    assert!(!played.stdout.contains('\u{1b}'));
}

#[test]
fn a_status_that_cannot_be_had_is_no_settled_machine() {
    assert_eq!(run(SCRIPT, Reply::Failed(failure(Class::Inoperable, true))).outcome, Outcome::Failed);
    let played = run(SCRIPT, Reply::Nothing);
    assert_eq!(played.outcome, Outcome::Failed);
    assert!(played.stderr.contains("because the answer is to another question\n"));
}

#[test]
fn a_root_that_is_no_directory_is_bad_input() {
    let nowhere = "error: --root cannot be used\n  because cannot look at /nowhere/at all\n  because No such file";
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (root, said) in [("/nowhere/at all", nowhere), (file, "is not a directory\nremedy: give a directory that ")] {
        let mut asks = Scripted::default();
        let machine = MachineOptions { root: Some(root.into()), ..MachineOptions::default() };
        let played = play(SCRIPT, |console| status(&StatusOptions { machine }, console, |_| Ok(&mut asks), nobody));
        assert_eq!((played.outcome, asks.asked.len()), (Outcome::BadInput, 0));
        assert!(played.stderr.contains(said), "{}", played.stderr);
    }
}

#[test]
fn every_deployment_is_told_with_its_image_and_the_owner_of_each_kernel_argument() {
    let played = said(Status { last: None, ..deployed() });
    assert_eq!(played.outcome, Outcome::Success);
    let digit = |digit: char| digit.to_string().repeat(64);
    let expected = format!(
        "\
Up to date. No agent runs on this machine.

Configuration  rendered-worker-1
Before it      none

Operating system  changed by rpm-ostree
  staged   registry.example/os@sha256:{three}
           version 9.3.20260930-0, commit 333333333333
           kargs of the machine: root=x
           kargs of the config: nosmt quiet
  booted   registry.example/os@sha256:{two}
           version 9.2.20260930-0, commit 222222222222
           kargs of the machine: root=x quiet
           kargs of the config: quiet
           layered: kernel-rt-core
           removed: kernel
  rollback registry.example/os@sha256:{one}
           version 9.1.20260930-0, commit 111111111111, pinned
           kargs of the machine: root=x
  kept     no image
           commit 000000000000
  kept     registry.example/os:9\\u{{7}}
           version 9.4.20260930-0, digest sha256:{four}, commit 444444444444
",
        three = digit('3'),
        two = digit('2'),
        one = digit('1'),
        four = digit('4'),
    );
    assert_eq!(played.stdout, expected);
}

#[test]
fn a_sysroot_that_is_only_looked_at_has_a_default_and_no_booted_deployment() {
    let os = OsState { deployments: vec![installed('1', ""), installed('2', "")], ..OsState::default() };
    let played = said(Status { os, ..settled() });
    for line in ["\nOperating system\n  default  registry.example/os@", "\n  kept     registry.example/os@"] {
        assert!(played.stdout.contains(line), "{line:?} is not in {}", played.stdout);
    }
}

#[test]
fn a_program_gets_every_deployment_in_full() {
    let played = run(PROGRAM, Reply::Status(Box::new(deployed())));
    let os = &played.json()["os"];
    assert_eq!(
        os["booted"],
        json!({
            "image": format!("registry.example/os@{}", digest('2')), "digest": digest('2'), "version": "9.2.20260930-0",
            "checksum": "2".repeat(64), "stateroot": "rhcos", "kargs": ["root=x", "quiet", "quiet"],
            "ownKargs": ["quiet"], "pinned": false, "packages": ["kernel-rt-core"], "removals": ["kernel"],
        })
    );
    let checksums: Vec<_> = os["deployments"].as_array().unwrap().iter().map(|one| one["checksum"].clone()).collect();
    assert_eq!(checksums, ['3', '2', '1', '0', '4'].map(|digit| json!(digit.to_string().repeat(64))));
    assert_eq!((&os["backend"], &os["unknown"]), (&json!("rpm-ostree"), &json!(null)));
    assert_eq!((&os["staged"]["ownKargs"], &os["rollback"]["pinned"]), (&json!(["nosmt", "quiet"]), &json!(true)));
    assert_eq!((&os["deployments"][3]["image"], &os["deployments"][3]["kargs"]), (&json!(null), &json!([])));
}

#[test]
fn a_change_that_waits_for_its_restart_was_not_interrupted() {
    let played = said(waiting());
    assert_eq!(played.outcome, Outcome::Different);
    assert!(
        played.stdout.starts_with(
            "Waiting for a restart, with which rendered-worker-2 takes effect.\n  Fix: run \"ostler reboot\"\n\n"
        ),
        "{}",
        played.stdout
    );
    let document = run(PROGRAM, Reply::Status(Box::new(waiting()))).json();
    let due =
        json!({"config": "rendered-worker-2", "reasons": ["/etc/motd"], "since": "2026-10-03T04:00:00Z", "boot": "b"});
    assert_eq!((&document["owedRestarts"], &document["awaitsReboot"]), (&json!([due]), &json!(true)));
    assert!(played.stdout.contains("  heading  forward, to rendered-worker-2\n"));
    // The restart has happened, and nobody has looked at what came of it yet.
    let played =
        said(Status { awaits_reboot: false, owed_restarts: Vec::new(), boot: "c".to_owned().into(), ..waiting() });
    let line = "Needs attention: the machine restarted for rendered-worker-2, and nothing has checked the result.\n  \
                Fix: run \"ostler recover\"; if it fails for good, \"ostler abandon\"\n";
    assert!(played.stdout.starts_with(line), "{}", played.stdout);
    assert!(!played.stdout.contains("interrupted") && !played.stdout.contains("ostler reboot"), "{}", played.stdout);
}

#[test]
fn a_restart_that_was_ordered_and_did_not_happen_is_told() {
    let restart = OrderedRestart {
        boot: "b".to_owned().into(),
        ordered: 1_791_000_000,
        rationale: "Node will reboot into config rendered-worker-2".to_owned(),
    };
    let status = Status { restart: Some(restart), ..settled() };
    let played = said(status.clone());
    assert_eq!(played.outcome, Outcome::Different);
    let line = "Waiting for the restart that was ordered 4 min ago, with which rendered-worker-1 takes effect.\n";
    assert!(played.stdout.contains(line), "{}", played.stdout);
    let document = run(PROGRAM, Reply::Status(Box::new(status))).json();
    let rationale = "Node will reboot into config rendered-worker-2";
    assert_eq!(document["restart"], json!({"ordered": "2026-10-03T04:00:00Z", "rationale": rationale}));
    assert_eq!(document["settled"], false);
}

#[test]
fn deployments_that_could_not_be_read_need_attention_and_one_that_was_not_finalized_is_shown() {
    let failed = |status: Status| (said(status.clone()), run(PROGRAM, Reply::Status(Box::new(status))).json());
    let os = OsState { finalization_failure: Some("no space\u{1b}[2J".to_owned()), ..OsState::default() };
    let (played, document) = failed(Status { os, ..settled() });
    assert_eq!((played.outcome, &document["settled"]), (Outcome::Success, &json!(true)));
    let line = "  a staged deployment was not finalized at the last shutdown: no space\\u{1b}[2J\n";
    assert!(played.stdout.contains(line), "{}", played.stdout);
    assert_eq!(document["os"]["finalizationFailure"], "no space\u{1b}[2J");

    let (played, document) = failed(Status { os_unknown: Some("no repo".to_owned()), ..settled() });
    assert_eq!((played.outcome, &document["os"]["unknown"]), (Outcome::Different, &json!("no repo")));
    assert!(played.stdout.contains("Needs attention: the deployments cannot be read: no repo.\n"), "{}", played.stdout);
}

#[test]
fn a_last_transaction_that_waits_for_its_restart_is_told_so() {
    let last = Finished { ending: Ending::AwaitsReboot { reason: None }, ..finished(Purpose::Update) };
    let played = said(Status { last: Some(last), ..settled() });
    assert!(played.stdout.contains("  result   waits for the restart\n"), "{}", played.stdout);
}
