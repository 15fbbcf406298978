//! What a run of `ostler` on a machine left behind, and where its programs are.
#![allow(dead_code, reason = "every proof takes what it needs of it")]

use std::fmt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

/// What one run of the command left behind.
#[derive(Debug)]
pub struct Answer {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Fails unless the exit code is this one.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    pub fn says(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "no {text:?} in {self:#?}");
        self
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "exit {:?}\n{}\n{}", self.code, self.stdout, self.stderr)
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        let [stdout, stderr] = [output.stdout, output.stderr].map(|stream| String::from_utf8(stream).unwrap());
        Self { code: output.status.code(), stdout, stderr }
    }
}

/// The directory with `ostler` and, from now on, `ostler-applier`.
pub fn programs() -> &'static Path {
    static BUILT: OnceLock<()> = OnceLock::new();
    let directory = Path::new(env!("CARGO_BIN_EXE_ostler")).parent().unwrap();
    BUILT.get_or_init(|| {
        // Whoever builds all packages at once has built it, and another build of it alone would want other features of
        // everything that it depends on.
        if std::env::var_os("OSTLER_PROGRAMS_BUILT").is_some_and(|value| value == "1") {
            assert!(
                directory.join("ostler-applier").exists(),
                "OSTLER_PROGRAMS_BUILT=1, but there is no ostler-applier"
            );
            return;
        }
        let profile = match directory.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--package=ostler-applier", "--bin=ostler-applier", "--profile", profile]);
        build.arg("--target-dir").arg(directory.parent().unwrap());
        assert!(build.status().expect("cargo starts").success(), "ostler-applier cannot be built");
    });
    directory
}
