//! How answers look: text for a person, JSON for a program. Nothing is decided here.

mod agent;
mod bootloader;
mod contents;
mod course;
mod documents;
mod drift;
mod excerpt;
mod handover;
pub mod moment;
mod os;
mod phrase;
mod remedy;
mod report;
mod status;
mod table;
mod verdict;

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;

pub use agent::agent;
pub use bootloader::{BootloaderDocument, WriteDocument, bootloader, bootloader_failure, intent, written};
pub use course::{CourseDocument, course, failure, forecast, held, not_done_here, released, restart, withdrawal};
pub use documents::{DiffDocument, PlanDocument};
pub use drift::{DriftDocument, drift, not_repaired, policy_trouble, repair_notice};
pub use handover::{can_be_handed_back, handed_back};
pub use phrase::{phase, printable};
pub use report::{differences, plan, refusal};
pub use status::{StatusDocument, status};
pub use verdict::verdict;

/// Prints a JSON document.
pub fn json<T: Serialize>(document: &T) -> Result<()> {
    write(std::io::stdout().lock(), &pretty(document)?)
}

/// A JSON document as text.
pub fn pretty<T: Serialize>(document: &T) -> Result<String> {
    let mut text = serde_json::to_string_pretty(document).context("cannot write the answer as JSON")?;
    text.push('\n');
    Ok(text)
}

/// Prints text, without its colours where there is no terminal.
pub fn text(text: &str) -> Result<()> {
    write(anstream::stdout().lock(), text)
}

/// Writes all of it. A reader that has seen enough and closed the pipe is no error.
pub fn write(mut stream: impl Write, text: &str) -> Result<()> {
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("cannot write the answer"),
        _ => Ok(()),
    }
}

/// Prints an error with its causes, one line each.
pub fn error(error: &anyhow::Error) {
    // Nowhere is left to complain to.
    let _ = anstream::stderr().lock().write_all(complaint(error).as_bytes());
}

/// An error with its causes and its remedy.
pub fn complaint(error: &anyhow::Error) -> String {
    let mut lines = error.chain().map(|cause| phrase::printable(&cause.to_string()));
    let first = lines.next().unwrap_or_default();
    let rest: String = lines.map(|cause| format!("  because {cause}\n")).collect();
    let remedy = remedy::of(error).map(|remedy| format!("{} {remedy}\n", phrase::styled(phrase::HEADING, "remedy:")));
    let heading = phrase::styled(phrase::BAD, "error:");
    format!("{heading} {first}\n{rest}{}", remedy.unwrap_or_default())
}
