//! Every `$ ostler …` in README.md is run, and its output must stand below it: a transcript that is not real misleads.
#![cfg(test)]

use std::fs;
use std::path::Path;
use std::process::Command;

use similar::TextDiff;

/// Commands with the lines below each, up to the next prompt or the end of the block.
fn transcripts(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            open = command.starts_with("ostler ");
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

#[test]
fn the_transcripts_of_the_readme_are_what_the_command_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let transcripts = transcripts(&fs::read_to_string(root.join("README.md")).unwrap());
    assert!(transcripts.len() >= 3, "README.md has lost its transcripts");
    for (command, recorded) in transcripts {
        // Whoever writes a transcript of another command gives it another prompt: it would change this machine.
        let harmless = ["ostler plan ", "ostler diff "].iter().any(|start| command.starts_with(start));
        assert!(harmless, "README.md, $ {command}: not run here, so it needs another prompt");
        let words = command.split_whitespace().skip(1);
        let run = Command::new(env!("CARGO_BIN_EXE_ostler")).args(words).current_dir(&root).output().unwrap();
        let printed = String::from_utf8(run.stdout).unwrap();
        let diff = TextDiff::from_lines(&recorded, &printed);
        assert_eq!(recorded, printed, "README.md, $ {command}\n{}", diff.unified_diff().header("README.md", "printed"));
    }
}
