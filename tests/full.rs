//! A small filesystem that really is full, out of inodes or read-only: the real commands leave the machine as it was,
//! say why, and succeed once there is room.
#![cfg(test)]

#[path = "sandbox/mod.rs"]
mod sandbox;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sandbox::{Answer, JOURNAL, Sandbox, differences, file, text_file, tree};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Makes a proof that cannot be had fail instead of being skipped.
const REQUIRE: &str = "OSTLER_REQUIRE_MOUNTS";
/// Stands in all contents, and must come out nowhere.
const CANARY: &str = "c4n4ry-hunter2";

/// A filesystem of its own, unmounted when dropped.
struct Mounted {
    directory: TempDir,
}

impl Mounted {
    /// An ext4 of 8 MiB made with these options; `None` where nothing can be mounted.
    fn new(options: &[&str]) -> Option<Self> {
        let mounted = Self::attempt(options);
        if let Err(error) = &mounted {
            assert!(std::env::var_os(REQUIRE).is_none(), "nothing can be mounted: {error}");
            let _ = writeln!(io::stderr(), "SKIPPED: nothing can be mounted: {error}");
        }
        mounted.ok()
    }

    fn attempt(options: &[&str]) -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let image = directory.path().join("image");
        File::create(&image)?.set_len(8 << 20)?;
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).args(options).arg(&image))?;
        let place = directory.path().join("mounted");
        fs::create_dir(&place)?;
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&place))?;
        Ok(Self { directory })
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join("mounted")
    }

    /// A machine whose root is the filesystem, with a first configuration.
    fn sandbox(&self) -> Sandbox {
        let root = self.place().join("root");
        fs::create_dir(&root).unwrap();
        let sandbox = Sandbox::at(&root);
        let answer = sandbox.apply(&sandbox.config("first", &text_file("/etc/motd", CANARY)));
        assert_eq!(answer.code, Some(0), "{answer}");
        sandbox
    }

    fn remount(&self, how: &str) {
        run(Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(self.place())).unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = run(Command::new("umount").arg(self.place())) {
            let _ = writeln!(io::stderr(), "{} stays mounted: {error}", self.place().display());
        }
    }
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

fn large(bytes: usize) -> Value {
    text_file("/etc/large", &CANARY.repeat(bytes / CANARY.len()))
}

fn many(files: usize) -> Value {
    let file = |number: usize| file(&format!("/etc/many/{}/{number}", number % 7), CANARY);
    json!({"storage": {"files": (0..files).map(file).collect::<Vec<_>>()}})
}

fn fill(path: &Path) {
    let mut filler = File::create(path).unwrap();
    while filler.write_all(&[b'x'; 1024]).is_ok() {}
}

/// Applies what cannot be, and finds the machine as it was.
fn fails(sandbox: &Sandbox, config: &str, says: &[&str]) -> Answer {
    let before = sandbox.tree();
    let answer = sandbox.apply(config);
    assert_eq!(answer.code, Some(1), "{answer}");
    let text = format!("{}{}", answer.stdout, answer.stderr);
    for word in says {
        assert!(text.contains(word), "{word:?} is not said: {answer}");
    }
    assert!(!text.contains(CANARY), "contents are shown: {answer}");
    assert_eq!(differences(&before, &sandbox.tree()), Vec::<String>::new(), "{answer}");
    assert_eq!(sandbox.settled_in().as_deref(), Some("first"));
    answer
}

fn succeeds(sandbox: &Sandbox, config: &str, name: &str) {
    let answer = sandbox.apply(config);
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(sandbox.settled_in().as_deref(), Some(name));
}

#[test]
fn more_than_fits_is_refused_before_the_first_write_with_what_is_needed_and_left() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let sandbox = mounted.sandbox();
    let config = sandbox.config("second", &large(10 << 20));
    let before = tree(sandbox.root());
    let answer = fails(&sandbox, &config, &["bytes left", "are needed", "free space"]);
    assert!(!answer.stderr.contains("begin"), "a transaction was begun: {answer}");
    assert_eq!(differences(&before, &tree(sandbox.root())), Vec::<String>::new());
    succeeds(&sandbox, &sandbox.config("second", &large(100 << 10)), "second");
}

#[test]
fn a_journal_that_does_not_fit_leaves_the_machine_as_it_was() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let sandbox = mounted.sandbox();
    let config = sandbox.config("second", &large(600 << 10));
    // There is room for the file and the record of its configuration, but not for the journal beside them.
    let filler = mounted.place().join("filler");
    fill(&filler);
    let length = fs::metadata(&filler).unwrap().len();
    File::options().write(true).open(&filler).unwrap().set_len(length - (1900 << 10)).unwrap();
    fails(&sandbox, &config, &["space"]);
    assert!(!sandbox.path(JOURNAL).join("plan").exists());
    fs::remove_file(&filler).unwrap();
    succeeds(&sandbox, &config, "second");
}

#[test]
fn a_filesystem_without_inodes_leaves_the_machine_as_it_was() {
    let Some(mounted) = Mounted::new(&["-N", "256"]) else { return };
    let sandbox = mounted.sandbox();
    let config = sandbox.config("second", &many(60));
    let fillers = mounted.place().join("fillers");
    fs::create_dir(&fillers).unwrap();
    let mut made = (0..1000).take_while(|number| File::create(fillers.join(number.to_string())).is_ok()).count();
    // Enough for the journal and for a part of the files, at every possible depth.
    for free in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 70, 89, 110] {
        while made + free > 0 && free_inodes(&mounted.place()) < free {
            made -= 1;
            fs::remove_file(fillers.join(made.to_string())).unwrap();
        }
        let answer = fails(&sandbox, &config, &["left", "Trying again may help", "free space and inodes"]);
        if free >= 34 {
            assert!(!answer.stderr.contains("begin"), "a transaction was begun: {answer}");
        }
    }
    let rejected = sandbox.ostler(&["status", "-o", "json"]).json();
    assert!(!rejected.to_string().contains("second"), "the configuration is held against the full disk: {rejected}");
    fs::remove_dir_all(&fillers).unwrap();
    succeeds(&sandbox, &config, "second");
}

fn free_inodes(place: &Path) -> usize {
    let output = Command::new("stat").args(["-f", "-c", "%d"]).arg(place).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

#[test]
fn a_filesystem_that_fills_up_meanwhile_ends_as_the_old_or_the_new_configuration() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let sandbox = mounted.sandbox();
    let (mut failed, mut unsettled) = (0, 0);
    let mut standing = "first".to_owned();
    for round in 0..40 {
        let name = format!("round-{round}");
        let mut target = many(120);
        target["storage"]["files"].as_array_mut().unwrap().push(file("/etc/motd", &name));
        target["storage"]["files"].as_array_mut().unwrap().push(file("/etc/large", name.repeat(60_000)));
        let config = sandbox.config(&name, &target);
        let before = sandbox.tree();
        let answer = while_filling(&mounted.place().join("filler"), || sandbox.apply(&config));
        let recovered = sandbox.ostler(&["recover"]);
        assert!(matches!(answer.code, Some(0 | 1 | 5)), "{answer}");
        assert!(matches!(recovered.code, Some(0 | 1)), "{recovered}");
        failed += usize::from(answer.code == Some(1));
        unsettled += usize::from(answer.code == Some(5));
        if sandbox.settled_in().as_ref() == Some(&name) {
            assert_eq!(fs::read_to_string(sandbox.path("/etc/motd")).unwrap(), name);
            assert_eq!(sandbox.ostler(&["drift"]).code, Some(0));
            standing = name;
        } else {
            assert_eq!(differences(&before, &sandbox.tree()), Vec::<String>::new(), "{answer}");
            assert_eq!(sandbox.settled_in().as_ref(), Some(&standing));
        }
    }
    let _ = writeln!(io::stderr(), "40 updates on a disk that fills up: {failed} undone, {unsettled} recovered later");
    assert!(failed + unsettled > 0, "the disk was never full in time");
}

/// Does something while a file grows until the disk is full and shrinks again.
fn while_filling<T>(path: &Path, act: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    let acted = thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fill(path);
            }
        });
        let acted = act();
        stop.store(true, Ordering::Relaxed);
        acted
    });
    fs::remove_file(path).unwrap();
    acted
}

#[test]
fn a_filesystem_that_is_read_only_is_named_with_a_remedy_and_nothing_is_changed() {
    let Some(mounted) = Mounted::new(&[]) else { return };
    let sandbox = mounted.sandbox();
    let config = sandbox.config("second", &many(20));
    mounted.remount("ro");
    fails(&sandbox, &config, &["Read-only file system", "remedy"]);
    mounted.remount("rw");
    succeeds(&sandbox, &config, "second");
}
