//! What README.md says a program prints, beside what it prints.

use std::fs;
use std::path::Path;
use std::process::Command;

use similar::TextDiff;

/// Commands of a program with the lines below each, up to the next prompt or the end of the block.
fn transcripts(text: &str, program: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            open = command.split_whitespace().next() == Some(program);
            if open {
                found.push((command.to_owned(), String::new()));
            }
        } else if line.starts_with("```") {
            open = false;
        } else if open && let Some((_, output)) = found.last_mut() {
            output.push_str(line);
            output.push('\n');
        }
    }
    found
}

/// Runs every transcript of a program, all of which have to be harmless.
pub fn check(program: &str, is_harmless: fn(&[&str]) -> bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let name = Path::new(program).file_name().unwrap().to_str().unwrap();
    let transcripts = transcripts(&fs::read_to_string(root.join("README.md")).unwrap(), name);
    assert!(transcripts.len() >= 2, "README.md has lost its transcripts of {name}");
    for (command, recorded) in transcripts {
        let words: Vec<_> = command.split_whitespace().skip(1).collect();
        assert!(is_harmless(&words), "README.md, $ {command}: not run here, so it needs another prompt");
        let run = Command::new(program).args(words).env("NO_COLOR", "1").current_dir(&root).output().unwrap();
        let printed = String::from_utf8(run.stdout).unwrap();
        let diff = TextDiff::from_lines(&recorded, &printed);
        assert_eq!(recorded, printed, "README.md, $ {command}\n{}", diff.unified_diff().header("README.md", "printed"));
    }
}
