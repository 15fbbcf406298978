//! The one number wanted from each of criterion's result files, without a JSON library in the developer's door.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};

/// Median of one benchmark.
#[derive(Debug, PartialEq)]
pub struct Estimate {
    /// Group and name, as criterion nests them.
    pub name: String,
    /// Nanoseconds for one iteration.
    pub nanoseconds: f64,
    /// Bytes that one iteration works on, where the benchmark says so.
    pub bytes: Option<f64>,
}

impl Estimate {
    /// Milliseconds for 100 KB of input.
    pub fn per_100_kb(&self) -> Option<f64> {
        self.bytes.map(|bytes| self.nanoseconds / 1e6 / (bytes / 1e5))
    }
}

/// Every estimate below `directory` that was written after `since`, by name.
pub fn read(directory: &Path, since: SystemTime) -> Result<Vec<Estimate>> {
    let mut estimates = Vec::new();
    collect(directory, "", since, &mut estimates)?;
    estimates.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(estimates)
}

fn collect(directory: &Path, name: &str, since: SystemTime, into: &mut Vec<Estimate>) -> Result<()> {
    let file = directory.join("new/estimates.json");
    if file.metadata().and_then(|found| found.modified()).is_ok_and(|written| written >= since) {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let nanoseconds = median(&text).with_context(|| format!("no median in {}", file.display()))?;
        let about = fs::read_to_string(directory.join("new/benchmark.json")).unwrap_or_default();
        into.push(Estimate { name: name.to_owned(), nanoseconds, bytes: bytes(&about) });
    }
    let Ok(entries) = fs::read_dir(directory) else { return Ok(()) };
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(|path| path.is_dir()) {
        let own = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let nested = if name.is_empty() { own } else { format!("{name}/{own}") };
        collect(&path, &nested, since, into)?;
    }
    Ok(())
}

/// `median.point_estimate`, found by the order in which criterion writes.
fn median(json: &str) -> Option<f64> {
    let (_, tail) = json.split_once("\"median\"")?;
    let (_, tail) = tail.split_once("\"point_estimate\":")?;
    tail.split([',', '}']).next()?.trim().parse().ok()
}

/// `throughput.Bytes`.
fn bytes(json: &str) -> Option<f64> {
    let (_, tail) = json.split_once("\"throughput\":{\"Bytes\":")?;
    tail.split([',', '}']).next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_taken_and_not_the_mean() {
        let of = |kind: &str, point: &str| {
            format!(
                r#""{kind}":{{"confidence_interval":{{"confidence_level":0.95,"lower_bound":1.0,"upper_bound":2.0}},"point_estimate":{point},"standard_error":0.1}}"#
            )
        };
        let json = format!("{{{},{},{}}}", of("mean", "99.0"), of("median", "1234.5"), of("std_dev", "7.0"));
        assert_eq!(median(&json), Some(1234.5));
        assert_eq!(bytes(r#"{"group_id":"a","throughput":{"Bytes":200000},"x":1}"#), Some(200_000.0));
        let estimate = Estimate { name: "a".to_owned(), nanoseconds: 1e6, bytes: Some(200_000.0) };
        assert_eq!(estimate.per_100_kb(), Some(0.5));
        assert_eq!(median("{}"), None);
        assert_eq!(median(r#"{"median":{"point_estimate":"soon"}}"#), None);
    }
}
