//! How answers look: text for a person, JSON for a program. Nothing is decided here.

mod contents;
mod documents;
mod phrase;
mod remedy;
mod report;
mod table;

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;

pub use documents::{DiffDocument, PlanDocument};
pub use report::{differences, plan, refusal};

/// Prints a JSON document.
pub fn json<T: Serialize>(document: &T) -> Result<()> {
    let mut text = serde_json::to_string_pretty(document).context("cannot write the answer as JSON")?;
    text.push('\n');
    write(std::io::stdout().lock(), &text)
}

/// Prints text, without its colours where there is no terminal.
pub fn text(text: &str) -> Result<()> {
    write(anstream::stdout().lock(), text)
}

/// A reader that has seen enough and closed the pipe is no error.
fn write(mut stream: impl Write, text: &str) -> Result<()> {
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("cannot write the answer"),
        _ => Ok(()),
    }
}

/// Prints an error with its causes, one line each.
pub fn error(error: &anyhow::Error) {
    let mut lines = error.chain().map(|cause| phrase::printable(&cause.to_string()));
    let first = lines.next().unwrap_or_default();
    let rest: String = lines.map(|cause| format!("  because {cause}\n")).collect();
    let remedy = remedy::of(error).map(|remedy| format!("{} {remedy}\n", phrase::styled(phrase::HEADING, "remedy:")));
    let heading = phrase::styled(phrase::BAD, "error:");
    let text = format!("{heading} {first}\n{rest}{}", remedy.unwrap_or_default());
    // Nowhere is left to complain to.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}
