//! Makes a kube-apiserver of the unpacked tree. Knows what the tree lacks; does not know where it comes from.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::fetch::Sources;
use crate::process;

const PACKAGE: &str = "k8s.io/kubernetes";
/// What the tree is, which it has to be told: its makefiles ask git.
const VERSION: &str = "v1.20.2";
const VERSION_FILES: [&str; 2] =
    ["staging/src/k8s.io/component-base/version/base.go", "staging/src/k8s.io/client-go/pkg/version/base.go"];
/// What marks a type that belongs in the published schema.
const MARK: &str = "+k8s:openapi-gen=";
const NOT_PUBLISHED: [&str; 3] = ["testdata", "code-generator", "sample-apiserver"];
const SCHEMA: &str = "pkg/generated/openapi";
/// How often somebody who waits hears something.
const REPORT: Duration = Duration::from_secs(30);

/// Puts `kube-apiserver` and `etcd` into `result`.
pub fn both(work: &Path, sources: &Sources, result: &Path, log: &Path) -> Result<()> {
    let log_file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let build = Build { work, sources, tree: sources.path.join("src").join(PACKAGE), log, log_file };
    build.name_version()?;
    let started = Instant::now();
    let generator = work.join("openapi-gen");
    let generator_package = format!("{PACKAGE}/vendor/k8s.io/kube-openapi/cmd/openapi-gen");
    build.follow(build.go(&generator_package, &generator), "the schema generator", started)?;
    build.follow(build.schema(&generator)?, "the published schema", started)?;
    let server = result.join("kube-apiserver");
    build.follow(build.go(&format!("{PACKAGE}/cmd/kube-apiserver"), &server), "kube-apiserver", started)?;
    let named = process::answer(Command::new(&server).arg("--version"))?;
    if !named.contains(VERSION) {
        bail!("what was built calls itself {named:?} instead of {VERSION}");
    }
    let etcd = result.join("etcd");
    fs::copy(&sources.etcd, &etcd).with_context(|| format!("cannot copy {}", sources.etcd.display()))?;
    process::answer(Command::new(&etcd).arg("--version"))?;
    println!("e2e: built in {:.1} min", minutes(started));
    Ok(())
}

struct Build<'a> {
    work: &'a Path,
    sources: &'a Sources,
    tree: PathBuf,
    log: &'a Path,
    log_file: File,
}

impl Build<'_> {
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let cache = self.work.join("gocache");
        command.current_dir(&self.tree).env("PWD", &self.tree);
        command.env("GOROOT", &self.sources.go).env("GOPATH", &self.sources.path).env("GOCACHE", cache);
        command.env("GO111MODULE", "off").env("CGO_ENABLED", "0").env_remove("GOFLAGS");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = std::iter::once(self.sources.go.join("bin"));
        if let Ok(path) = std::env::join_paths(own.chain(std::env::split_paths(&path))) {
            command.env("PATH", path);
        }
        command
    }

    fn go(&self, package: &str, output: &Path) -> Command {
        let mut command = self.command(&self.sources.go.join("bin/go"));
        command.args(["build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o"]).arg(output).arg(package);
        command
    }

    /// The one generated file that the archive does not carry.
    fn schema(&self, generator: &Path) -> Result<Command> {
        let mut inputs = Vec::new();
        for top in ["pkg", "cmd", "plugin", "staging/src"] {
            published(&self.tree, &self.tree.join(top), &mut inputs)?;
        }
        inputs.sort();
        let mut command = self.command(generator);
        command.args(["-i", &inputs.join(","), "-p", &format!("{PACKAGE}/{SCHEMA}"), "-O", "zz_generated.openapi"]);
        command.args(["-h", "hack/boilerplate/boilerplate.generatego.txt", "-r", "/dev/null", "--output-base"]);
        command.arg(self.sources.path.join("src"));
        Ok(command)
    }

    fn name_version(&self) -> Result<()> {
        for name in VERSION_FILES {
            let path = self.tree.join(name);
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            fs::write(&path, with_version(&text))?;
        }
        Ok(())
    }

    /// Runs a command with its output in the log, and says now and then that it still does.
    fn follow(&self, mut command: Command, what: &str, started: Instant) -> Result<()> {
        println!("e2e: {:.1} min, building {what} (log: {})", minutes(started), self.log.display());
        command.stdin(Stdio::null()).stdout(self.log_file.try_clone()?).stderr(self.log_file.try_clone()?);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", process::line(&command)))?;
        let mut reported = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if reported.elapsed() >= REPORT {
                println!("e2e: {:.1} min, still building {what}", minutes(started));
                reported = Instant::now();
            }
            sleep(Duration::from_millis(200));
        };
        if status.success() { Ok(()) } else { bail!("building {what} failed: {status}\n{}", self.last_words()) }
    }

    fn last_words(&self) -> String {
        let text = fs::read(self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let mut last: Vec<_> = text.lines().rev().take(10).collect();
        last.reverse();
        last.join("\n")
    }
}

fn minutes(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() / 60.0
}

fn with_version(text: &str) -> String {
    let minor = VERSION.split('.').nth(1).unwrap_or_default();
    let mut lines = Vec::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().take(2).collect();
        lines.push(match words.as_slice() {
            ["gitMajor", "string"] => "\tgitMajor string = \"1\"".to_owned(),
            ["gitMinor", "string"] => format!("\tgitMinor string = {minor:?}"),
            ["gitVersion", "="] => format!("\tgitVersion = {VERSION:?}"),
            _ => line.to_owned(),
        });
    }
    lines.join("\n") + "\n"
}

/// Packages below `directory` with published types, as Go names them. What is staged is imported as vendored.
fn published(tree: &Path, directory: &Path, into: &mut Vec<String>) -> Result<()> {
    let mut marked = false;
    for entry in fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if kind.is_dir() && !NOT_PUBLISHED.contains(&name.as_str()) {
            published(tree, &entry.path(), into)?;
        } else if kind.is_file() && !marked && name.ends_with(".go") && !name.ends_with("_test.go") {
            marked = fs::read_to_string(entry.path())?.contains(MARK);
        }
    }
    if marked {
        let inside = directory.strip_prefix(tree).unwrap_or(directory).to_string_lossy().into_owned();
        let inside = inside.strip_prefix("staging/src").map_or(inside.clone(), |rest| format!("vendor{rest}"));
        into.push(format!("{PACKAGE}/{inside}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_written_over_the_placeholders_and_nothing_else() {
        let before = "var (\n\tgitMajor string // major\n\tgitMinor string // minor\n\tgitVersion   = \"v0.0.0\"\n\
            \tgitCommit    = \"abc\"\n)\n";
        let after = "var (\n\tgitMajor string = \"1\"\n\tgitMinor string = \"20\"\n\tgitVersion = \"v1.20.2\"\n\
            \tgitCommit    = \"abc\"\n)\n";
        assert_eq!(with_version(before), after);
    }
}
