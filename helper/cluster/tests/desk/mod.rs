//! A directory with files, and the command asked in it: no cluster, no credentials, no environment.
#![allow(dead_code, reason = "every proof takes what it needs of it")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A directory with files.
pub struct Desk(tempfile::TempDir);

impl Desk {
    /// With some files in it, below directories that are made.
    pub fn new(files: &[(&str, Value)]) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        for (name, contents) in files {
            desk.put(name, &contents.to_string());
        }
        desk
    }

    /// One more file.
    pub fn put(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// What comes of `ostler-cluster streams` with these words.
    pub fn ask(&self, words: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-cluster"));
        command.arg("streams").args(words.split_whitespace()).current_dir(self.path());
        command.env_clear().env("NO_COLOR", "1").output().unwrap()
    }

    /// The JSON that it prints.
    pub fn answer(&self, words: &str) -> Value {
        let output = self.ask(words);
        assert!(output.status.success(), "{words}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// What it said beside its answer.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
