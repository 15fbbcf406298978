//! `ostler diff`.

use std::path::Path;

use anyhow::{Context, Result};
use ostler_core::irreconcilable;
use ostler_core::machine_config::MachineConfig;

use super::Outcome;
use crate::cli::{DiffOptions, Format};
use crate::{input, show};

/// Says what differs from the install-time configuration and can no longer be applied.
pub fn diff(options: &DiffOptions) -> Result<Outcome> {
    let installed = read(&options.install_time)?;
    let usable = || format!("cannot use {}", options.to.display());
    let target = read(&options.to)?.wanted().with_context(usable)?;
    let changes = irreconcilable::report(&installed.ignition, &target.ignition);
    match options.output {
        Format::Json => show::json(&show::DiffDocument::new(&installed, &target, &changes))?,
        Format::Text => show::text(&show::differences(&installed, &target, &changes))?,
    }
    Ok(if changes.is_empty() { Outcome::Success } else { Outcome::Different })
}

fn read(path: &Path) -> Result<MachineConfig> {
    input::machine_config(path)?.with_context(|| format!("cannot use {}", path.display()))
}
