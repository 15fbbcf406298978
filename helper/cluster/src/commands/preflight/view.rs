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

/// The risks of one target.
pub fn findings(target: &Target, findings: &Findings) -> String {
    let mut risks: Vec<&Risk> = findings.risks.iter().collect();
    risks.sort_by_key(|risk| (risk.severity, risk.name));
    if risks.is_empty() {
        return format!("{} no risks for an update to {}\n", styled(GOOD, "clear:"), target.version);
    }
    let count = |severity| risks.iter().filter(|risk| risk.severity == severity).count();
    let mut text = format!(
        "update to {}: {} critical, {} warnings, {} infos\n",
        target.version,
        count(Severity::Critical),
        count(Severity::Warning),
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
pub fn comparison(comparison: &Comparison) -> String {
    if comparison.rows.is_empty() {
        return format!("{} no risks for {}\n", styled(GOOD, "clear:"), comparison.targets.join(", "));
    }
    let mut table = Table::new(&["RISK", "SEVERITY BY TARGET"]);
    for row in &comparison.rows {
        let cells: Vec<String> = comparison
            .targets
            .iter()
            .zip(&row.severities)
            .map(|(target, severity)| format!("{target}: {:<8}", severity.map_or("-", Severity::word)))
            .collect();
        table.row(&[row.name, &cells.join("  ")]);
        if let Some(worst) = row.severities.iter().flatten().min() {
            table.colour(0, style(*worst));
        }
    }
    table.show()
}
