//! The programs that packages hold, built so that neither this machine's paths nor its time are in them, and no larger
//! than they may be.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::product::{Program, programs};
use crate::{built, process, workspace};

/// How carefully to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As it is released.
    Release,
    /// As it is tested, which is there already.
    Quick,
}

impl Build {
    /// Builds, strips and gives the directory that holds the programs.
    pub fn programs(self) -> Result<PathBuf> {
        match self {
            Self::Quick => {
                let names: Vec<_> = programs().map(|program| program.name).collect();
                stripped(&built::programs(&names)?, "package/programs-quick")
            }
            Self::Release => {
                let programs = stripped(&release("package/target")?, "package/programs")?;
                check(&programs)?;
                Ok(programs)
            }
        }
    }
}

/// The released programs, built once more elsewhere.
pub fn again() -> Result<PathBuf> {
    stripped(&release("package/target-again")?, "package/programs-again")
}

fn stripped(built: &Path, directory: &str) -> Result<PathBuf> {
    let directory = workspace::target().join(directory);
    fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    for program in programs() {
        let (to, from) = (directory.join(program.name), built.join(program.name));
        process::run(Command::new("strip").arg("-o").arg(to).arg(from))?;
    }
    Ok(directory)
}

/// A directory of its own: the flags would make everybody else's build anew.
fn release(directory: &str) -> Result<PathBuf> {
    let target = workspace::target().join(directory);
    let mut build = process::cargo(["build", "--release", "--locked", "--bins"]);
    build.args(programs().map(|program| format!("--package={}", program.name)));
    build.arg("--target-dir").arg(&target).env("CARGO_ENCODED_RUSTFLAGS", remapped(&target));
    process::run(&mut build)?;
    Ok(target.join("release"))
}

/// Places of this machine that a compiler could write into a program.
fn places() -> [PathBuf; 2] {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    [workspace::root(), cargo]
}

/// The last rule that fits counts, and generated code lies below the checkout.
fn remapped(target: &Path) -> String {
    let [checkout, cargo] = places();
    let rule = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    [rule(&checkout, "/ostler"), rule(&cargo, "/cargo"), rule(target, "/target")].join("\u{1f}")
}

/// Says what the programs weigh, and refuses those that are too heavy or know where they were built.
fn check(programs: &Path) -> Result<()> {
    for Program { name, most, .. } in self::programs() {
        let bytes = fs::read(programs.join(name)).with_context(|| format!("cannot read {name}"))?;
        println!("{name}: {} bytes stripped, of at most {most}", bytes.len());
        if u64::try_from(bytes.len())? > *most {
            bail!("{name} is larger than {most} bytes; `cargo tree -p {name} -e features` says what it is made of");
        }
        if let Some(place) = places().iter().find(|place| holds(&bytes, place)) {
            bail!("{name} holds the path {}, which is this machine's", place.display());
        }
    }
    Ok(())
}

fn holds(bytes: &[u8], place: &Path) -> bool {
    let wanted = place.as_os_str().as_encoded_bytes();
    !wanted.is_empty() && bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_this_machine_is_found_in_a_program() {
        assert!(holds(b"\0/build/here/src/main.rs\0", Path::new("/build/here")));
        assert!(!holds(b"\0/ostler/src/main.rs\0", Path::new("/build/here")));
        assert!(!holds(b"anything", Path::new("")));
    }

    #[test]
    fn generated_code_is_renamed_by_the_rule_of_its_own_directory() {
        let rules = remapped(Path::new("/checkout/target/x"));
        assert!(rules.ends_with("--remap-path-prefix=/checkout/target/x=/target"), "{rules}");
    }
}
