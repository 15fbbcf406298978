//! `ostler-cluster pack`: man pages and completions, from the one definition of the command line.

use std::fs;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use super::Outcome;
use crate::cli::{Cli, PackOptions, Packed};

/// Writes man pages or completions into a directory.
pub fn pack(options: &PackOptions) -> Result<Outcome> {
    let directory = &options.directory;
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let wrote = || format!("cannot write to {}", directory.display());
    match options.what {
        Packed::Man => clap_mangen::generate_to(Cli::command(), directory).with_context(wrote)?,
        Packed::Completions => {
            for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
                clap_complete::generate_to(shell, &mut Cli::command(), "ostler-cluster", directory)
                    .with_context(wrote)?;
            }
        }
    }
    Ok(Outcome::Done)
}
