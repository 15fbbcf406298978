//! What Ignition's own validator refuses, and the daemon's limit on file modes.
//!
//! The rules are those of Ignition v2.26 that are fatal; what Ignition only warns about is accepted. A config is held
//! to the rules of the version it was written in and to those of spec 3.5, as the machine-config-daemon does when it
//! parses one and raises it. Messages name places and names, never contents, URLs, hashes or keys.

mod disks;
mod fetching;
mod nodes;
mod passwd;
mod report;
mod resource;
mod unit_text;
mod units;
mod url;
mod volumes;

use ignition_config::v3_6 as spec;

use super::ParseError;
use report::{MOST, Place, Report};

/// One thing wrong with a config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as `storage.files[3].path`.
    pub at: String,
    /// What is wrong there.
    pub what: String,
}

/// A config that no node may be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// There is none.
    #[error("{}", ParseError::Empty)]
    Empty,
    /// Ignition would refuse it.
    #[error("invalid ignition V3 config found: {}", describe(.0))]
    Ignition(Vec<Problem>),
    /// Special permission bits are not supported on a running node.
    #[error("invalid mode 0{mode:o} for {path}, cannot exceed 0777")]
    Mode {
        /// The file.
        path: String,
        /// Its mode.
        mode: i64,
    },
}

fn describe(problems: &[Problem]) -> String {
    let mut text =
        problems.iter().map(|problem| format!("{}: {}", problem.at, problem.what)).collect::<Vec<_>>().join("; ");
    if problems.len() >= MOST {
        text.push_str("; no more are listed");
    }
    text
}

/// All problems of the first kind found.
pub(super) fn validate(config: &spec::Config) -> Result<(), Invalid> {
    let mut report = Report::new(minor_version(config));
    fetching::check(&mut report, &config.ignition);
    if let Some(arguments) = &config.kernel_arguments {
        kernel_arguments(&mut report, arguments);
    }
    if let Some(passwd) = &config.passwd {
        passwd::check(&mut report, passwd);
    }
    if let Some(storage) = &config.storage {
        nodes::check(&mut report, storage);
        disks::check(&mut report, items(&storage.disks));
        volumes::check(&mut report, storage);
    }
    if let Some(systemd) = &config.systemd {
        units::check(&mut report, items(&systemd.units), config.storage.as_ref());
    }
    let problems = report.into_problems();
    if problems.is_empty() { file_modes(config) } else { Err(Invalid::Ignition(problems)) }
}

/// Which spec 3 the config was written in; versions that cannot be read count as the newest.
fn minor_version(config: &spec::Config) -> u64 {
    let minor = config.ignition.version.strip_prefix("3.").and_then(|rest| rest.strip_suffix(".0"));
    minor.and_then(|minor| minor.parse().ok()).unwrap_or(u64::MAX)
}

/// One list: an argument may neither be repeated nor be both wanted and unwanted.
fn kernel_arguments(report: &mut Report, arguments: &spec::KernelArguments) {
    let place = Place::Root.field("kernelArguments");
    let wanted = items(&arguments.should_exist);
    let unwanted = items(&arguments.should_not_exist);
    let mut seen = std::collections::HashSet::with_capacity(wanted.len() + unwanted.len());
    for (list, arguments) in [("shouldExist", wanted), ("shouldNotExist", unwanted)] {
        for (index, argument) in arguments.iter().enumerate() {
            if !seen.insert(argument.as_str()) {
                report.add(place.field(list).item(index), "is a kernel argument that is already listed");
            }
        }
    }
}

/// Ignition sets special bits; the machine-config-daemon refuses to.
fn file_modes(config: &spec::Config) -> Result<(), Invalid> {
    let files = config.storage.as_ref().map(|storage| items(&storage.files)).unwrap_or_default();
    let special = files.iter().find_map(|file| Some((file, file.mode.filter(|mode| *mode > 0o777)?)));
    special.map_or(Ok(()), |(file, mode)| Err(Invalid::Mode { path: file.path.clone(), mode }))
}

/// An absent list is an empty one.
fn items<T>(list: &Option<Vec<T>>) -> &[T] {
    list.as_deref().unwrap_or_default()
}

/// The text of a field that is neither absent nor empty.
fn filled(field: &Option<String>) -> Option<&str> {
    field.as_deref().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
