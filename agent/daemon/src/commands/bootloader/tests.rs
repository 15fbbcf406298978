//! What `ostler bootloader` asks for, says and ends in.

use ostler_core::os::bootloader::{BootloaderStatus, Layout};
use serde_json::json;

use super::*;
use crate::cli::{BootloaderStatusOptions, ConsentOptions};
use crate::commands::scripted::{FAILURES, PROGRAM, Played, SCRIPT, Scene, Scripted, failure, person, play};

const YES: ConsentOptions = ConsentOptions { dry_run: false, yes: true };
const ASK: ConsentOptions = ConsentOptions { dry_run: false, yes: false };
const DRY: ConsentOptions = ConsentOptions { dry_run: true, yes: false };

fn run(scene: Scene, command: &BootloaderCommand, replies: Vec<Reply>) -> (Played, Scripted) {
    let mut asks = Scripted::new(replies);
    let played = play(scene, |console| match command {
        BootloaderCommand::Status(_) => look(console, |_| Ok(&mut asks)),
        BootloaderCommand::Update(options) => write(Action::Update, options, console, |_| Ok(&mut asks)),
        BootloaderCommand::Adopt(options) => write(Action::Adopt, options, console, |_| Ok(&mut asks)),
    });
    (played, asks)
}

fn ask_status(scene: Scene, report: Report) -> Played {
    let command = BootloaderCommand::Status(BootloaderStatusOptions { output: Format::Text });
    let (played, asks) = run(scene, &command, vec![Reply::Bootloader(Box::new(report))]);
    assert_eq!(asks.asked, [Request::Bootloader { action: None, accepted: false }]);
    played
}

fn update(consent: ConsentOptions) -> BootloaderCommand {
    BootloaderCommand::Update(BootloaderWriteOptions { consent, output: Format::Text })
}

fn adopt(consent: ConsentOptions) -> BootloaderCommand {
    BootloaderCommand::Adopt(BootloaderWriteOptions { consent, output: Format::Text })
}

/// In bootupd's own words.
fn report(status: serde_json::Value, partitions: &[&str]) -> Report {
    let status = BootloaderStatus::parse(status.to_string().as_bytes()).unwrap();
    let partitions = partitions.iter().map(|&name| name.to_owned()).collect();
    Report { verdict: status.verdict(), status, layout: Layout { partitions, array: None } }
}

fn outdated() -> Report {
    let status = json!({
        "components": {
            "BIOS": {"installed": {"version": "grub2-2.06-118"}, "updatable": "at-latest-version",
                "update": {"version": "grub2-2.06-118"}},
            "EFI": {"installed": {"timestamp": "2023-01-01T00:00:00Z", "version": "shim-15.6"},
                "update": {"timestamp": "2024-03-21T10:00:00Z", "version": "shim-15.8\u{1b}[2J"}, "updatable": "upgradable"},
        },
    });
    report(status, &["/dev/sda2"])
}

fn current() -> Report {
    report(
        json!({"components": {"EFI": {"installed": {"version": "shim-15.8"}, "updatable": "no-update-available"}}}),
        &["/dev/sda2"],
    )
}

fn intended() -> Reply {
    let risk = "EFI: shim-15.6 becomes shim-15.8. A loss of power can leave this machine unable to boot.".to_owned();
    Reply::Intended(Intent { action: Action::Update, components: vec!["EFI".to_owned()], risk })
}

fn done() -> Reply {
    Reply::Bootloader(Box::new(current()))
}

#[test]
fn the_verdict_comes_first_then_each_component_then_the_place() {
    let played = ask_status(SCRIPT, outdated());
    assert_eq!(played.outcome, Outcome::Different);
    assert_eq!(
        played.stdout,
        "\
Update available: the booted image brings a newer boot loader than the one that is installed.
\"ostler bootloader update --dry-run\" tells whether it can be written, and what can happen.

BIOS
  installed    grub2-2.06-118
  available    grub2-2.06-118
  that is      the same

EFI
  installed    shim-15.6 (2023-01-01T00:00:00Z)
  available    shim-15.8\\u{1b}[2J (2024-03-21T10:00:00Z)
  that is      newer

EFI system partitions  /dev/sda2
"
    );
}

#[test]
fn every_verdict_has_its_words_and_its_exit_code() {
    let interrupted = json!({"components": {"EFI": {"installed": {"version": "1"}, "interrupted": {"version": "2"},
        "updatable": "upgradable"}}});
    let adoptable = json!({"components": {}, "adoptable": {"BIOS": {"version": {"version": "0"}, "confident": true}}});
    let unsure = json!({"components": {}, "adoptable": {"BIOS": {"version": {"version": "0"}}}});
    let older = json!({"components": {"EFI": {"installed": {"version": "2"}, "update": {"version": "1"},
        "updatable": "would-downgrade"}}});
    let array = Report { layout: Layout { array: Some("/dev/md127".to_owned()), ..Layout::default() }, ..outdated() };
    for (report, outcome, words) in [
        (report(interrupted, &[]), Outcome::Different, vec!["Interrupted: ", "Do NOT restart", "  interrupted  2\n"]),
        (report(adoptable, &[]), Outcome::Different, vec!["Adoptable: ", "  found        0\n", "is sure of it"]),
        (report(unsure, &[]), Outcome::Different, vec!["is not sure of it"]),
        (report(older, &[]), Outcome::Success, vec!["Up to date: ", "older: it is not installed"]),
        (current(), Outcome::Success, vec!["Up to date: ", "  available    none in the booted image\n"]),
        (report(json!({"components": {}}), &[]), Outcome::Success, vec!["Unmanaged: ", "EFI system partitions  none"]),
        (report(json!({"components": {}}), &["/dev/sda2", "/dev/sdb2"]), Outcome::Success, vec!["may write only one"]),
        (array, Outcome::Different, vec!["/boot is on  the array /dev/md127\n"]),
    ] {
        let played = ask_status(SCRIPT, report);
        assert_eq!(played.outcome, outcome, "{}", played.stdout);
        for word in words {
            assert!(played.stdout.contains(word), "{word:?} is not in {}", played.stdout);
        }
    }
}

#[test]
fn a_program_gets_the_same_as_a_document() {
    assert_eq!(
        ask_status(PROGRAM, outdated()).json(),
        json!({
            "verdict": "updateAvailable",
            "components": [
                {
                    "name": "BIOS", "installed": {"timestamp": "", "version": "grub2-2.06-118"},
                    "available": {"timestamp": "", "version": "grub2-2.06-118"}, "interrupted": null,
                    "updatable": "at-latest-version",
                },
                {
                    "name": "EFI", "installed": {"timestamp": "2023-01-01T00:00:00Z", "version": "shim-15.6"},
                    "available": {"timestamp": "2024-03-21T10:00:00Z", "version": "shim-15.8\u{1b}[2J"}, "interrupted": null,
                    "updatable": "upgradable",
                },
            ],
            "adoptable": [], "partitions": ["/dev/sda2"], "array": null,
        })
    );
    let (played, _) = run(PROGRAM, &update(YES), vec![intended(), done()]);
    let document = played.json();
    assert_eq!((&document["result"], &document["intent"]["action"]), (&json!("written"), &json!("update")));
    assert_eq!(document["bootloader"]["verdict"], "upToDate");
    let (played, _) = run(PROGRAM, &update(DRY), vec![intended()]);
    let document = played.json();
    assert_eq!((&document["result"], &document["bootloader"]), (&json!("checked"), &json!(null)));
    assert_eq!(document["intent"]["components"], json!(["EFI"]));
}

#[test]
fn what_can_happen_is_told_before_the_question_and_only_a_yes_is_an_acceptance() {
    let (played, asks) = run(person("y\n"), &update(ASK), vec![intended(), done()]);
    assert_eq!(played.outcome, Outcome::Success);
    assert!(
        played.stdout.starts_with(
            "To update: EFI\nWhat can happen\n  EFI: shim-15.6 becomes shim-15.8. A loss of power can leave this machine unable \
             to boot.\nWritten.\nUp to date: "
        ),
        "{}",
        played.stdout
    );
    assert!(played.stderr.contains("Update the boot loader? [y/N] "));
    let asked = |action, accepted| Request::Bootloader { action: Some(action), accepted };
    assert_eq!(asks.asked, [asked(Action::Update, false), asked(Action::Update, true)]);
    let (played, asks) = run(person("\n"), &adopt(ASK), vec![intended(), done()]);
    assert!(played.stderr.contains("Adopt the boot loader? [y/N] "));
    assert_eq!((played.outcome, asks.asked), (Outcome::Failed, vec![asked(Action::Adopt, false)]));
    let program = Scene { answer: Some("y\n"), ..PROGRAM };
    let (played, _) = run(program, &update(ASK), vec![intended(), done()]);
    assert!(played.stderr.contains("What can happen\n  EFI: shim-15.6"), "{}", played.stderr);
}

#[test]
fn every_way_it_can_end_has_its_exit_code() {
    for (scene, consent, replies, outcome, asked) in [
        (SCRIPT, YES, vec![intended(), done()], Outcome::Success, 2),
        (SCRIPT, DRY, vec![intended()], Outcome::Success, 1),
        (SCRIPT, YES, vec![Reply::Nothing], Outcome::Success, 1),
        (SCRIPT, ASK, vec![intended()], Outcome::BadInput, 1),
        (person("n\n"), ASK, vec![intended()], Outcome::Failed, 1),
        (SCRIPT, YES, vec![], Outcome::Failed, 1),
        (SCRIPT, YES, vec![done()], Outcome::Failed, 1),
        (SCRIPT, YES, vec![intended()], Outcome::Unsettled, 2),
        (SCRIPT, YES, vec![intended(), Reply::Nothing], Outcome::Unsettled, 2),
    ] {
        let (played, asks) = run(scene, &update(consent), replies);
        assert_eq!((played.outcome, asks.asked.len()), (outcome, asked), "{played:?}");
    }
    for (class, unchanged, outcome) in FAILURES {
        let (played, _) = run(SCRIPT, &update(YES), vec![Reply::Failed(failure(class, unchanged))]);
        assert_eq!(played.outcome, outcome, "{class:?} {unchanged}");
    }
}

#[test]
fn a_failure_after_the_acceptance_never_promises_that_the_boot_loader_is_whole() {
    for (class, unchanged) in FAILURES.map(|(class, unchanged, _)| (class, unchanged)) {
        let replies = vec![intended(), Reply::Failed(failure(class, unchanged))];
        let (played, _) = run(SCRIPT, &update(YES), replies);
        let refused = unchanged && class == Class::Refusal;
        assert_eq!(played.outcome, if refused { Outcome::Refused } else { Outcome::Unsettled });
        assert_eq!(played.stderr.contains("Do NOT restart the machine"), !refused, "{}", played.stderr);
        assert_eq!(played.stderr.contains("The machine is as it was"), refused, "{}", played.stderr);
        assert!(!played.stderr.contains("ostler recover"));
    }
    let (played, _) = run(SCRIPT, &update(YES), vec![intended()]);
    assert!(played.stderr.contains("remedy: do not restart the machine; "), "{}", played.stderr);
}
