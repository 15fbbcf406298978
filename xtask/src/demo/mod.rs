//! `cargo xtask demo`: the command at work on the shipped examples, each exit code checked.
//!
//! First what it would do, then what it does, on a machine that is only a directory; last what the helper says of a
//! cluster that is only a dump.
//!
//! It shows and it proves that the examples, the command and its exit codes still agree. It tests nothing else.

mod sandbox;
mod story;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};

use crate::arguments::Arguments;
use crate::needs::Door;
use crate::{built, setup, workspace};

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask demo

Builds ostler and runs it on docs/examples, as a person would: plans, then a whole life of a machine
that is only a directory under target/demo; then ostler-cluster on the dump of a cluster.

First installs what building it needs, where that is missing: libostree's headers and pkg-config. Says so
before, and asks on a terminal. Beside that it writes below target alone.
";

/// Exit codes of `ostler` that the demo expects.
mod exit {
    /// The question was answered and nothing stands in the way.
    pub const FINE: i32 = 0;
    /// The node cannot get there from here.
    pub const REFUSED: i32 = 3;
    /// The node differs from what a new node would get.
    pub const DIFFERS: i32 = 4;
}

struct Scene {
    says: &'static str,
    words: &'static str,
    exit: i32,
}

const SCENES: &[Scene] = &[
    Scene {
        says: "A node that already has what it shall have: the plan is empty.",
        words: "plan --from docs/examples/worker-current.yaml --to docs/examples/worker-current.yaml",
        exit: exit::FINE,
    },
    Scene {
        says: "New signature lookaside and time servers. With the default policy, /etc/chrony.conf costs a reboot.",
        words: "plan --from docs/examples/worker-current.yaml --to docs/examples/worker-desired.yaml",
        exit: exit::FINE,
    },
    Scene {
        says: "The same change under a policy that restarts chronyd instead: no drain, no reboot.",
        words: "plan --from docs/examples/worker-current.yaml --to docs/examples/worker-desired.yaml \
                --policy docs/examples/policy.yaml",
        exit: exit::FINE,
    },
    Scene {
        says: "A new OS image and kernel arguments: one deployment, one reboot.",
        words: "plan --from docs/examples/worker-current.yaml --to docs/examples/worker-reboot.yaml",
        exit: exit::FINE,
    },
    Scene {
        says: "Another disk layout. No running node can follow, so the plan is refused before anything is touched.",
        words: "plan --from docs/examples/worker-current.yaml --to docs/examples/worker-new-disk.yaml",
        exit: exit::REFUSED,
    },
    Scene {
        says: "The same, where the cluster allows disks to differ: the node keeps its own and takes the rest.",
        words: "plan --from docs/examples/worker-current.yaml --to docs/examples/worker-new-disk.yaml --overrides Disks",
        exit: exit::FINE,
    },
    Scene {
        says: "How the node, as it was installed, differs from what a new node would get.",
        words: "diff --install-time docs/examples/worker-current.yaml --to docs/examples/worker-new-disk.yaml",
        exit: exit::DIFFERS,
    },
];

/// What the helper is asked about the dump.
const QUESTIONS: &[Scene] = &[
    Scene {
        says: "The cluster's side, from a dump: where an update stands, and what it waits for.",
        words: "rollout status --from-dir docs/examples/cluster",
        exit: exit::FINE,
    },
    Scene {
        says: "Which operating system each pool gets, and what another one would mean for a pool.",
        words: "streams plan worker --stream rhel-10 --from-dir docs/examples/cluster",
        exit: exit::FINE,
    },
    Scene {
        says: "What new machines start from, and what is to become of it.",
        words: "bootimages plan --from-dir docs/examples/cluster",
        exit: exit::FINE,
    },
    Scene {
        says: "What the next update would run into.",
        words: "preflight --target-version 4.22.0 --from-dir docs/examples/cluster \
                --target-image-references docs/examples/release/image-references.yaml \
                --target-image-labels docs/examples/release/image-labels.json -o text",
        exit: exit::FINE,
    },
];

/// The door.
pub fn run(arguments: Arguments) -> Result<()> {
    arguments.finish()?;
    let installed = setup::for_door(Door::Demo)?;
    show()?;
    if !installed.is_empty() {
        println!("Installed on this machine for it: {}", installed.join(" "));
    }
    Ok(())
}

/// Every scene, without the setup.
pub fn show() -> Result<()> {
    let program = build()?;
    for scene in SCENES {
        play(&program, scene)?;
    }
    story::play(&program)?;
    for question in QUESTIONS {
        play(&program.with_file_name("ostler-cluster"), question)?;
    }
    println!("\ndemo: every exit code as documented. Its machine is target/demo/root.");
    println!("Next: docs/README.md, `ostler plan --help`, and the configs in docs/examples.");
    Ok(())
}

/// Builds the command without optimisation, which is several times quicker and fast enough to watch.
pub fn build() -> Result<PathBuf> {
    Ok(built::programs(&["ostler", "ostler-applier", "ostler-cluster"])?.join("ostler"))
}

fn play(program: &Path, scene: &Scene) -> Result<()> {
    let name = program.file_name().unwrap_or_default().display();
    println!("\n# {}\n$ {name} {}", scene.says, scene.words);
    std::io::stdout().flush()?;
    let status = Command::new(program)
        .args(scene.words.split_whitespace())
        .current_dir(workspace::root())
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    expect(status, scene.exit, scene.words)
}

/// Whether a command ended as it should.
fn expect(status: ExitStatus, code: i32, words: &str) -> Result<()> {
    match status.code() {
        Some(found) if found == code => {
            if code != exit::FINE {
                println!("(exit code {code}, as documented)");
            }
            Ok(())
        }
        _ => bail!("expected exit code {code}, got {status}: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_a_scene_names_is_shipped() {
        let scenes = SCENES.iter().chain(QUESTIONS);
        for file in scenes.flat_map(|scene| scene.words.split_whitespace()).filter(|word| word.contains('/')) {
            assert!(workspace::root().join(file).exists(), "{file}");
        }
    }
}
