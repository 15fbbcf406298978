//! `cargo xtask golden`: the golden plans in `tests/plans`, checked or rewritten.

use anyhow::Result;

use crate::arguments::Arguments;
use crate::process;

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask golden [--update]

Compares every golden plan with the plan that the code makes now.

  --update    rewrite the golden plans; read the diff before you commit it
";

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let update = arguments.flag("--update");
    arguments.finish()?;
    let mut command = process::cargo(["test", "--locked", "--package", "ostler", "--test", "golden"]);
    if update {
        command.env("OSTLER_UPDATE_GOLDEN", "1");
    }
    process::run(&mut command)
}
