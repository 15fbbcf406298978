//! The applier as a child of this command: which program, and with how little around it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::trouble::Trouble;

const NAME: &str = "ostler-applier";
const PACKAGED: &str = "/usr/libexec/ostler/ostler-applier";
/// Names another program, for tests and for development.
const OVERRIDE: &str = "OSTLER_APPLIER";

/// The program to start.
pub fn program() -> Result<PathBuf, Trouble> {
    let own = std::env::current_exe().ok();
    find(std::env::var_os(OVERRIDE), own.as_deref(), Path::new(PACKAGED))
}

/// The program that was named, or the one beside us, or the packaged one.
pub fn find(named: Option<OsString>, own: Option<&Path>, packaged: &Path) -> Result<PathBuf, Trouble> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return Ok(named.into());
    }
    let beside = own.and_then(Path::parent).map(|directory| directory.join(NAME));
    let places: Vec<_> = beside.into_iter().chain([packaged.to_owned()]).collect();
    match places.iter().find(|place| place.is_file()) {
        Some(program) => Ok(program.clone()),
        None => Err(Trouble::Missing { looked: places }),
    }
}

/// Starts the program. It stays in our process group and outlives Ctrl-C by itself; it ends when its input does.
pub fn start(program: &Path, root: Option<&Path>) -> Result<(Child, ChildStdout, ChildStdin), Trouble> {
    let mut command = Command::new(program);
    if let Some(root) = root {
        command.arg("--root").arg(root);
    }
    // The caller's environment may hold credentials, and must not steer what root does.
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LANG", "C");
    command.arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(|error| unstartable(program, &error.to_string()))?;
    match (child.stdout.take(), child.stdin.take()) {
        (Some(output), Some(input)) => Ok((child, output, input)),
        _ => Err(unstartable(program, "it has no standard streams")),
    }
}

pub fn unstartable(program: &Path, cause: &str) -> Trouble {
    Trouble::Unstartable { program: program.to_owned(), cause: cause.to_owned() }
}
