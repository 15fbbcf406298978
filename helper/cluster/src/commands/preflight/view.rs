//! How risks look to a person: what matters most first.

use std::fmt::Write as _;

use anstyle::Style;
use ostler_cluster_core::preflight::{Comparison, Findings, Risk, Severity, Target};

use crate::output::{BAD, CAUTION, FAINT, GOOD, Table, printable, styled};

/// Widest line of a message.
const WIDTH: usize = 100;

const fn style(severity: Severity) -> Style {
    match severity {
        Severity::Critical => BAD,
        Severity::Warning => CAUTION,
        Severity::Info => FAINT,
    }
}

/// Told where there was no time for everything.
const CUT: &str = "The time was over before everything was read: this is what was found by then.\n";

/// The risks of one target; `complete` says that there was time for all checks.
pub fn findings(target: &Target, findings: &Findings, complete: bool) -> String {
    let mut risks: Vec<&Risk> = findings.risks.iter().collect();
    risks.sort_by_key(|risk| (risk.severity, risk.name));
    let cut = if complete { "" } else { CUT };
    if risks.is_empty() {
        return format!("{} no risks for an update to {}\n{cut}", styled(GOOD, "clear:"), target.version);
    }
    let count = |severity| risks.iter().filter(|risk| risk.severity == severity).count();
    let warnings = count(Severity::Warning);
    let mut text = format!(
        "update to {}: {} critical, {warnings} warning{}, {} info\n{cut}",
        target.version,
        count(Severity::Critical),
        if warnings == 1 { "" } else { "s" },
        count(Severity::Info)
    );
    for risk in risks {
        let tag = styled(style(risk.severity), risk.severity.word());
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{tag} {}\n", risk.name);
        for line in wrapped(&printable(&risk.message)) {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(text, "  {}", styled(FAINT, &printable(&risk.url)));
    }
    text
}

/// Lines of whole words; a word that is longer than a line stays whole.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Several targets side by side.
pub fn comparison(comparison: &Comparison, complete: bool) -> String {
    let cut = if complete { "" } else { CUT };
    if comparison.rows.is_empty() {
        return format!("{} no risks for {}\n{cut}", styled(GOOD, "clear:"), comparison.targets.join(", "));
    }
    let headings = std::iter::once("RISK").chain(comparison.targets.iter().map(String::as_str));
    let mut table = Table::new(&headings.collect::<Vec<_>>());
    for row in &comparison.rows {
        let cells = row.severities.iter().map(|severity| severity.map_or("-", Severity::word));
        table.row(&std::iter::once(row.name).chain(cells).collect::<Vec<_>>());
        for (at, severity) in row.severities.iter().enumerate() {
            table.colour(at + 1, severity.map_or(FAINT, style));
        }
    }
    format!("{}\n{cut}What each of them is about: the same with one --target-version and -o text.\n", table.show())
}
