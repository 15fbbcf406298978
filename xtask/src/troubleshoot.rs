//! The part of `docs/usage/troubleshoot.md` that is made from the message catalogue: an entry for every message that the
//! agent can write. What stands before the mark in that page is written by hand and left alone.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::workspace;

/// The page, as people name it.
pub const PAGE: &str = "docs/usage/troubleshoot.md";
const CATALOGUE: &str = "units/usr/lib/systemd/catalog/ostler.catalog";
const MARK: &str = "<!-- From here on made from the message catalogue by `cargo xtask docs`. -->";

/// A message of the catalogue.
struct Entry<'a> {
    id: &'a str,
    subject: String,
    body: String,
}

/// Where the page is.
pub fn path() -> PathBuf {
    workspace::root().join(PAGE)
}

/// The page as it should be.
pub fn page() -> Result<String> {
    let catalogue =
        fs::read_to_string(workspace::root().join(CATALOGUE)).with_context(|| format!("cannot read {CATALOGUE}"))?;
    let page = fs::read_to_string(path()).with_context(|| format!("cannot read {PAGE}"))?;
    let (by_hand, _) = page.split_once(MARK).with_context(|| format!("{PAGE} has lost its mark: {MARK}"))?;
    Ok(format!("{by_hand}{MARK}\n\n{}", made(&entries(&catalogue)?)?))
}

fn entries(catalogue: &str) -> Result<Vec<Entry<'_>>> {
    catalogue.split("\n-- ").skip(1).map(entry).collect()
}

fn entry(text: &str) -> Result<Entry<'_>> {
    let (id, rest) = text.split_once('\n').context("a message without a text")?;
    let (header, body) = rest.split_once("\n\n").with_context(|| format!("{id} has no explanation"))?;
    let subject = header.lines().find_map(|line| line.strip_prefix("Subject: "));
    let subject = subject.with_context(|| format!("{id} has no subject"))?;
    Ok(Entry { id, subject: named(subject), body: named(body.trim()) })
}

/// Fields of the journal as a reader would write them.
fn named(text: &str) -> String {
    text.replace("@OSTLER_NODE@", "NODE").replace("@OSTLER_CONFIG@", "CONFIG")
}

fn made(entries: &[Entry<'_>]) -> Result<String> {
    let mut text = String::from("| message | `MESSAGE_ID` |\n|---|---|\n");
    for Entry { id, subject, .. } in entries {
        writeln!(text, "| [{subject}](#{}) | `{id}` |", anchor(subject))?;
    }
    for Entry { id, subject, body } in entries {
        writeln!(text, "\n### {subject}\n\n```console\n# journalctl MESSAGE_ID={id}\n```\n\n{body}")?;
    }
    Ok(text)
}

/// The name that a heading is linked by.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || "- _".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_becomes_a_row_and_a_section_with_its_command() {
        let catalogue =
            "# words\n\n-- 0a1b\nSubject: This node, @OSTLER_NODE@\nDefined-By: Ostler\n\nBecause.\n\n    look\n";
        let text = made(&entries(catalogue).unwrap()).unwrap();
        assert!(text.contains("| [This node, NODE](#this-node-node) | `0a1b` |\n"), "{text}");
        assert!(
            text.contains(
                "### This node, NODE\n\n```console\n# journalctl MESSAGE_ID=0a1b\n```\n\nBecause.\n\n    look\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_message_that_is_not_explained_is_an_error() {
        for text in ["x\n-- 0a1b\n", "x\n-- 0a1b\nSubject: a\n", "x\n-- 0a1b\nDefined-By: Ostler\n\nBecause.\n"] {
            assert!(entries(text).is_err(), "{text:?}");
        }
    }
}
