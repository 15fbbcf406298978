//! The `ostler` command as a person and a program meet it: exit codes, streams, formats, and what it never shows.
#![cfg(test)]

#[path = "cli/answers.rs"]
mod answers;
#[path = "cli/bad_input.rs"]
mod bad_input;
#[path = "cli/canary.rs"]
mod canary;
#[path = "cli/targets.rs"]
mod targets;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// What one run of the command left behind.
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
    command.args(arguments).env_remove("CLICOLOR_FORCE").env_remove("NO_COLOR");
    command
}

fn ostler(arguments: &[&str]) -> Answer {
    ostler_reading("", arguments)
}

/// Runs the command with a text on its standard input.
fn ostler_reading(input: &str, arguments: &[&str]) -> Answer {
    let mut command = command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("ostler starts");
    // A command that does not read its input may have closed it already.
    let _ = child.stdin.take().expect("the input is a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("ostler ends");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|stream| String::from_utf8(stream).unwrap());
    Answer { code: output.status.code(), stdout, stderr }
}

/// A directory of one test's own.
struct Files(PathBuf);

impl Files {
    fn new(test: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli").join(test);
        fs::create_dir_all(&directory).unwrap();
        Self(directory)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the target directory is UTF-8").to_owned()
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, contents).unwrap();
        path
    }

    /// Writes a MachineConfig with this Ignition config, whose version is added.
    fn config(&self, name: &str, ignition: &Value) -> String {
        self.write(name, machine_config(name, ignition).to_string())
    }
}

fn machine_config(name: &str, ignition: &Value) -> Value {
    let mut config = ignition.clone();
    config["ignition"] = json!({"version": "3.5.0"});
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": name}, "spec": {"config": config},
    })
}

fn one_file(path: &str, text: &str) -> Value {
    json!({"storage": {"files": [{"path": path, "contents": {"source": format!("data:,{text}")}}]}})
}
