//! `cargo xtask cri`: the code that `agent/host/src/cri/image.proto` makes, checked or rewritten.

use anyhow::Result;

use crate::arguments::Arguments;
use crate::process;

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask cri [--update]

Compares the generated client of CRI-O's image service, and the server that tests use, with what their protobuf file makes.

  --update    rewrite both
";

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let update = arguments.flag("--update");
    arguments.finish()?;
    let mut command = process::cargo(["test", "--locked", "--package", "ostler-tests", "--test", "cri"]);
    if update {
        command.env("OSTLER_UPDATE_CRI", "1");
    }
    process::run(&mut command)
}
