//! How answers look: text for a person, JSON for a program. Nothing is decided here.

mod phrase;
mod table;

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;

pub use phrase::{BAD, CAUTION, FAINT, GOOD, HEADING, printable, styled};
pub use table::Table;

/// Prints a JSON document.
pub fn json<T: Serialize>(document: &T) -> Result<()> {
    let mut text = serde_json::to_string_pretty(document).context("cannot write the answer as JSON")?;
    text.push('\n');
    write(std::io::stdout().lock(), &text)
}

/// Prints a JSON document as one line of many.
pub fn json_line<T: Serialize>(document: &T) -> Result<()> {
    let mut text = serde_json::to_string(document).context("cannot write the answer as JSON")?;
    text.push('\n');
    write(std::io::stdout().lock(), &text)
}

/// Prints text, without its colours where there is no terminal.
pub fn text(text: &str) -> Result<()> {
    write(anstream::stdout().lock(), text)
}

/// Tells something beside the answer, on standard error, one line.
pub fn note(line: &str) {
    // Nowhere is left to complain to.
    let _ = writeln!(anstream::stderr().lock(), "{} {}", styled(CAUTION, "note:"), printable(line));
}

/// Writes all of it. A reader that has seen enough and closed the pipe is no error.
fn write(mut stream: impl Write, text: &str) -> Result<()> {
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

fn complaint(error: &anyhow::Error) -> String {
    let mut lines = error.chain().map(|cause| printable(&cause.to_string()));
    let first = lines.next().unwrap_or_default();
    let rest: String = lines.map(|cause| format!("  because {cause}\n")).collect();
    format!("{} {first}\n{rest}", styled(BAD, "error:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_with_its_causes_and_safe_for_a_terminal() {
        let error = anyhow::anyhow!("no \u{1b}[31m such file").context("cannot read it");
        let told = complaint(&error);
        assert!(told.ends_with(" cannot read it\n  because no \\u{1b}[31m such file\n"), "{told:?}");
    }
}
