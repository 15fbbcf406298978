//! Several targets side by side.

use std::collections::BTreeMap;

use super::{Findings, Severity};

/// Which risks which targets have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The targets, in the order in which they were given.
    pub targets: Vec<String>,
    /// The risks: what matters most first, then by name.
    pub rows: Vec<Row>,
}

/// A risk, and how much it matters for each target; none where a target does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// By target.
    pub severities: Vec<Option<Severity>>,
}

/// Puts findings side by side.
pub fn compare(findings: &[(String, Findings)]) -> Comparison {
    let mut rows: BTreeMap<&'static str, Vec<Option<Severity>>> = BTreeMap::new();
    for (at, (_, found)) in findings.iter().enumerate() {
        for risk in &found.risks {
            let row = rows.entry(risk.name).or_insert_with(|| vec![None; findings.len()]);
            if let Some(cell) = row.get_mut(at) {
                *cell = Some(risk.severity);
            }
        }
    }
    let mut rows: Vec<Row> = rows.into_iter().map(|(name, severities)| Row { name, severities }).collect();
    rows.sort_by_key(|row| (row.severities.iter().flatten().min().copied(), row.name));
    Comparison { targets: findings.iter().map(|(target, _)| target.clone()).collect(), rows }
}
