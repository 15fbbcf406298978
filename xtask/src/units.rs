//! `cargo xtask units`: what systemd and SELinux's tools say of the files in `units` and `packaging/selinux`.
//!
//! Owns the exposure that each service may have. The tree that is looked at is the package's, beside the units of this
//! machine's systemd, so that names that ours refer to are found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::arguments::Arguments;
use crate::needs::Door;
use crate::{package, process, selinux, setup, workspace};

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask units

Verifies the units with systemd-analyze, prints the exposure of each service, and fails
if one is above its bound. Compiles the SELinux module and joins it to a policy.
";

/// Exposure times ten that a service may have, as `systemd-analyze security` counts it. docs/security.md explains them.
const BOUNDS: [(&str, u8); 4] = [
    ("ostler.service", 20),
    ("ostler-applier.service", 35),
    ("ostler-recover.service", 38),
    ("ostler-firstboot.service", 38),
];
/// Where units are.
const UNITS: &str = "usr/lib/systemd/system";
/// Programs of the package itself.
const OWN: [&str; 2] = ["/usr/bin/ostler", "/usr/libexec/ostler/ostler-applier"];
/// What units run besides. Only programs of systemd's own package: anything else may be missing on a minimal system.
const OTHERS: [&str; 2] = ["/usr/bin/systemctl", "/usr/bin/systemd-sysusers"];

/// The door.
pub fn run(arguments: Arguments) -> Result<()> {
    arguments.finish()?;
    setup::for_door(Door::Package)?;
    check()
}

/// Everything, in a tree that is made anew.
pub fn check() -> Result<()> {
    let tree = workspace::target().join("xtask/units");
    package::files(&tree)?;
    let own = units(&tree)?;
    complete(&tree)?;
    verify(&tree, &own)?;
    for (unit, bound) in BOUNDS {
        bounded(&tree, unit, bound)?;
    }
    selinux::check()
}

/// Our units by name; drop-ins go with what they are for.
fn units(tree: &Path) -> Result<Vec<PathBuf>> {
    let directory = tree.join(UNITS);
    let mut units = Vec::new();
    for entry in fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))? {
        let path = entry?.path();
        units.extend(path.is_file().then_some(path));
    }
    units.sort_unstable();
    Ok(units)
}

/// Adds what the units refer to: the system's own units, and programs that need only be there.
fn complete(tree: &Path) -> Result<()> {
    let system = Path::new("/").join(UNITS);
    process::run(
        Command::new("cp")
            .args(["--recursive", "--no-clobber", "--no-target-directory"])
            .args([&system, &tree.join(UNITS)]),
    )?;
    for program in OWN.iter().chain(&OTHERS) {
        let to = tree.join(program.trim_start_matches('/'));
        let directory = to.parent().context("a program without a directory")?;
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        fs::copy("/bin/true", &to).with_context(|| format!("cannot make {}", to.display()))?;
    }
    Ok(())
}

/// Silence is the only good answer: mistakes that systemd would ignore are told as warnings.
fn verify(tree: &Path, own: &[PathBuf]) -> Result<()> {
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no", "--recursive-errors=one", "--root"]).arg(tree);
    for unit in own {
        command.arg(Path::new("/").join(unit.strip_prefix(tree)?));
    }
    println!("+ {}", process::line(&command));
    let output = command.output().context("cannot start systemd-analyze")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let about_us: Vec<_> = said.lines().filter(|line| line.contains("ostler")).collect();
    if output.status.success() && about_us.is_empty() {
        println!("{} units are in order", own.len());
        return Ok(());
    }
    bail!("systemd-analyze verify: {}\n{said}", output.status)
}

fn bounded(tree: &Path, unit: &str, bound: u8) -> Result<()> {
    let mut command = Command::new("systemd-analyze");
    command.args(["security", "--no-pager", "--offline=yes", &format!("--threshold={bound}"), "--root"]).arg(tree);
    let output = command.arg(unit).output().context("cannot start systemd-analyze")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let Some(level) = exposure(&said) else {
        bail!("systemd-analyze security {unit}: {}", String::from_utf8_lossy(&output.stderr).trim());
    };
    let most = format!("{}.{}", bound / 10, bound % 10);
    println!("exposure {level:>4} of at most {most}  {unit}");
    if output.status.success() {
        return Ok(());
    }
    bail!("{unit} is exposed more than {most}:\n{said}")
}

/// The number in the last line.
fn exposure(said: &str) -> Option<&str> {
    let line = said.lines().rev().find(|line| line.contains("Overall exposure level"))?;
    line.rsplit_once(": ")?.1.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exposure_is_taken_from_the_last_line() {
        let said = "✗ User=  0.4\n\n→ Overall exposure level for ostler.service: 1.2 OK 🙂\n";
        assert_eq!(exposure(said), Some("1.2"));
        assert_eq!(exposure("nothing"), None);
    }

    #[test]
    fn the_half_that_talks_to_the_cluster_is_bounded_as_promised() {
        assert!(BOUNDS.contains(&("ostler.service", 20)));
    }

    /// Files with settings of units below a directory, drop-ins included.
    fn settings(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { settings(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn units_start_no_program_that_a_minimal_system_may_lack() {
        let mut started = 0;
        for file in settings(&workspace::root().join("units").join(UNITS)) {
            let text = fs::read_to_string(&file).unwrap();
            let lines = text.lines().filter(|line| line.starts_with("Exec"));
            for (key, command) in lines.filter_map(|line| line.split_once('=')).filter(|(_, value)| !value.is_empty()) {
                let program = command.trim_start_matches(['-', '+', '!', ':', '@']).split(' ').next().unwrap();
                let known = OWN.contains(&program) || OTHERS.contains(&program);
                assert!(known, "{}: {key} starts {program}", file.display());
                started += 1;
            }
        }
        assert!(started > 6, "{started}");
    }

    #[test]
    fn whoever_may_start_the_root_half_has_its_sandbox() {
        let sandbox = |unit: &str| {
            let text = fs::read_to_string(workspace::root().join("units").join(UNITS).join(unit)).unwrap();
            let lines = text.lines().skip_while(|line| !line.starts_with("NoNewPrivileges="));
            let lines = lines
                .take_while(|line| *line != "[Install]")
                .filter(|line| line.contains('=') && !line.starts_with('#'));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let own = sandbox("ostler-applier.service");
        assert!(own.len() > 20, "{own:?}");
        for unit in ["ostler-recover.service", "ostler-firstboot.service"] {
            assert_eq!(sandbox(unit), own, "{unit}");
        }
    }
}
