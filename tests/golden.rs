//! Every directory of `tests/plans` through the real binary, against the plan recorded there.
//!
//! A case is `to.yaml`, the machine's `from.yaml` (none: an empty machine), one line of further arguments in `options`,
//! a `policy.yaml` if those name one, and `plan.txt`: the exit code, then the text as printed.
//! `OSTLER_UPDATE_GOLDEN=1` writes `plan.txt` instead of comparing it. Read what it wrote before you commit it.
#![cfg(test)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use similar::TextDiff;

const UPDATE: &str = "OSTLER_UPDATE_GOLDEN=1 cargo test -p ostler --test golden";
const FILES: [&str; 5] = ["from.yaml", "to.yaml", "policy.yaml", "options", "plan.txt"];

struct Case {
    name: String,
    directory: PathBuf,
    options: String,
}

impl Case {
    fn has(&self, file: &str) -> bool {
        self.directory.join(file).is_file()
    }

    /// What is wrong with the directory itself; such a case would prove nothing.
    fn defect(&self) -> Option<String> {
        let (number, topic) = self.name.split_once('-').unwrap_or_default();
        let well_named = number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit()) && !topic.is_empty();
        let stray = entries(&self.directory).into_iter().find(|name| !FILES.contains(&name.as_str()));
        let words: Vec<&str> = self.options.split_whitespace().collect();
        match stray {
            _ if !well_named => Some("is not called NNN-topic".to_owned()),
            Some(name) => Some(format!("holds {name}, which no case has")),
            None if !self.has("to.yaml") => Some("has no to.yaml: complete it, or remove the directory".to_owned()),
            None if self.has("policy.yaml") != words.contains(&"policy.yaml") => {
                Some("needs policy.yaml exactly when its options say --policy policy.yaml".to_owned())
            }
            None if self.has("options") && words.is_empty() => Some("has empty options: remove the file".to_owned()),
            None => None,
        }
    }

    fn run(&self) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command.current_dir(&self.directory).env_remove("CLICOLOR_FORCE").args(["plan", "--to", "to.yaml"]);
        if self.has("from.yaml") {
            command.args(["--from", "from.yaml"]);
        }
        let output = command.args(self.options.split_whitespace()).output().expect("ostler starts");
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|stream| String::from_utf8(stream).expect("output is UTF-8"));
        let code = output.status.code().map_or_else(|| "by a signal".to_owned(), |code| code.to_string());
        format!("exit {code}\n{stdout}{stderr}")
    }
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().expect("names are UTF-8")).collect()
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/plans");
    let mut names = entries(&root);
    names.sort();
    let case = |name: String| {
        let directory = root.join(&name);
        let options = fs::read_to_string(directory.join("options")).unwrap_or_default();
        Case { name, directory, options }
    };
    names.into_iter().map(case).collect()
}

fn difference(recorded: &str, printed: &str) -> String {
    TextDiff::from_lines(recorded, printed).unified_diff().context_radius(3).header("recorded", "printed").to_string()
}

/// The complaint about a case; none when it holds, or was written anew.
fn check(case: &Case, update: bool) -> Option<String> {
    let golden = case.directory.join("plan.txt");
    let printed = case.run();
    if update {
        fs::write(&golden, &printed).expect("plan.txt can be written");
        return None;
    }
    match fs::read_to_string(&golden) {
        Ok(recorded) if recorded == printed => None,
        Ok(recorded) => Some(format!("prints something else\n{}", difference(&recorded, &printed))),
        Err(_) => Some("has no plan.txt".to_owned()),
    }
}

#[test]
fn every_plan_is_as_recorded() {
    let update = std::env::var_os("OSTLER_UPDATE_GOLDEN").is_some();
    let cases = cases();
    assert!(cases.len() >= 30, "only {} cases found", cases.len());
    let complaints: Vec<String> = cases
        .iter()
        .filter_map(|case| case.defect().or_else(|| check(case, update)).map(|text| format!("{} {text}", case.name)))
        .collect();
    assert!(
        complaints.is_empty(),
        "\n{}\n\n{} of {} plans are not as recorded. If they are right now:\n  {UPDATE}\n",
        complaints.join("\n"),
        complaints.len(),
        cases.len()
    );
}

#[test]
fn no_number_is_used_twice() {
    let mut topics: BTreeMap<String, String> = BTreeMap::new();
    for Case { name, .. } in cases() {
        let number: String = name.chars().take(3).collect();
        if let Some(other) = topics.insert(number, name.clone()) {
            panic!("{other} and {name} have one number");
        }
    }
}
