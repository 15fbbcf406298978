//! Fault switches: what a stand-in shall do wrong, and when.
//!
//! Read anew for every transaction or command, first from the variable `STANDIN_FAULTS` (JSON), else from the control
//! file `/run/standins/faults.json` (another path in `STANDIN_FAULTS_FILE`). One object per program:
//! `{"rpm-ostreed": {"die_at": 3, "once": true}, "bootc": {"slow_until": "/run/go"}}`. "At n" counts what the program
//! says (signals or lines of progress, the closing one included), from 1, and strikes in place of the n-th.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

const CONTROL_FILE: &str = "/run/standins/faults.json";

/// The faults of one program.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Only transactions of this D-Bus method, or commands of this name, suffer.
    pub method: Option<String>,
    /// The process exits with status 70 in place of the n-th message.
    pub die_at: Option<u32>,
    /// The work fails in place of the n-th message.
    pub fail_at: Option<u32>,
    /// The text of that failure.
    pub fail_text: Option<String>,
    /// The work stops in place of the n-th message until it is cancelled.
    pub hang_at: Option<u32>,
    /// All peers are cut off in place of the n-th message, and no `Finished` reaches them; the work goes on.
    pub cut_at: Option<u32>,
    /// `Start` is answered this much later.
    pub start_delay_ms: Option<u64>,
    /// The daemon leaves after this long without a call, a registered client or a transaction, instead of 60 s.
    pub idle_exit_ms: Option<u64>,
    /// Before its first message the work waits until this file exists.
    pub slow_until: Option<PathBuf>,
    /// The release of the original that the stand-in behaves like, whatever `method` says.
    pub release: Option<String>,
    /// The control file is renamed to `*.fired` when a fault strikes, so that the next process is spared.
    pub once: bool,
    #[serde(skip)]
    /// Where they were read, so that faults meant once can be taken back.
    pub(crate) control_file: Option<PathBuf>,
}

/// What strikes in place of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strike {
    /// Exit at once.
    Die,
    /// Fail with this text.
    Fail(String),
    /// Wait for the cancellation.
    Hang,
    /// Cut off the peers.
    Cut,
}

impl Faults {
    /// The faults asked of `program` now; none when nothing is asked.
    pub fn load(program: &str) -> Result<Self> {
        if let Ok(text) = std::env::var("STANDIN_FAULTS") {
            return Self::parse(&text, program).context("the variable STANDIN_FAULTS");
        }
        let path = std::env::var_os("STANDIN_FAULTS_FILE").map_or_else(|| PathBuf::from(CONTROL_FILE), PathBuf::from);
        Self::load_file(&path, program)
    }

    fn load_file(path: &Path, program: &str) -> Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
        };
        let faults = Self::parse(&text, program).with_context(|| format!("the control file {}", path.display()))?;
        Ok(Self { control_file: Some(path.to_owned()), ..faults })
    }

    fn parse(text: &str, program: &str) -> Result<Self> {
        let mut programs: BTreeMap<String, Self> = serde_json::from_str(text)?;
        Ok(programs.remove(program).unwrap_or_default())
    }

    /// These faults, or none when they are meant for another method.
    #[must_use]
    pub fn for_method(self, method: &str) -> Self {
        match &self.method {
            Some(only) if only != method => Self { release: self.release, ..Self::default() },
            _ => self,
        }
    }

    /// What strikes in place of message `count`, if anything; a fault that is meant once is taken back here.
    pub fn strike(&self, count: u32) -> Option<Strike> {
        let at = Some(count);
        let strike = if self.die_at == at {
            Strike::Die
        } else if self.fail_at == at {
            Strike::Fail(self.fail_text.clone().unwrap_or_else(|| "fault switched on by the test".to_owned()))
        } else if self.hang_at == at {
            Strike::Hang
        } else if self.cut_at == at {
            Strike::Cut
        } else {
            return None;
        };
        if let Some(path) = self.control_file.as_ref().filter(|_| self.once) {
            // A control file that is gone already has been taken back by the test itself.
            let _ = std::fs::rename(path, path.with_extension("json.fired"));
        }
        Some(strike)
    }

    /// How late `Start` is answered.
    pub fn start_delay(&self) -> Duration {
        Duration::from_millis(self.start_delay_ms.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_reads_its_own_faults() {
        let text = r#"{"bootc": {"die_at": 2}, "rpm-ostreed": {"fail_at": 1, "fail_text": "no"}}"#;
        assert_eq!(Faults::parse(text, "bootc").unwrap().die_at, Some(2));
        assert_eq!(Faults::parse(text, "rpm-ostreed").unwrap().strike(1), Some(Strike::Fail("no".to_owned())));
        assert_eq!(Faults::parse(text, "lab").unwrap(), Faults::default());
    }

    #[test]
    fn a_misspelt_fault_is_refused() {
        assert!(Faults::parse(r#"{"bootc": {"die": 2}}"#, "bootc").is_err());
    }

    #[test]
    fn a_fault_for_another_method_does_not_strike() {
        let faults = Faults { method: Some("KernelArgs".to_owned()), die_at: Some(1), ..Faults::default() };
        assert_eq!(faults.clone().for_method("Cleanup").strike(1), None);
        assert_eq!(faults.for_method("KernelArgs").strike(1), Some(Strike::Die));
    }

    #[test]
    fn a_fault_meant_once_takes_its_control_file_away() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("faults.json");
        std::fs::write(&path, r#"{"bootc": {"hang_at": 1, "once": true}}"#).unwrap();
        assert_eq!(Faults::load_file(&path, "bootc").unwrap().strike(1), Some(Strike::Hang));
        assert_eq!(Faults::load_file(&path, "bootc").unwrap(), Faults::default());
    }
}
