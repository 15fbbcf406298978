//! Nodes of a machine-config-daemon, taken over by the real agent and handed back.
#![cfg(test)]

#[path = "handover/decoder.rs"]
mod decoder;
#[path = "handover/estate.rs"]
mod estate;
#[path = "sandbox/mod.rs"]
mod sandbox;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};

use serde_json::{Value, json};

use estate::{CURRENT_CONFIG, CURRENT_IMAGE, OTHER, QUIET, as_go_writes, rendered};
use sandbox::{Answer, Sandbox};

struct Node {
    sandbox: Sandbox,
    desired: PathBuf,
}

impl Node {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let desired = sandbox.outside().join("desired");
        fs::create_dir(&desired).unwrap();
        sandbox.write("/proc/sys/kernel/random/boot_id", "boot-1\n");
        Self { sandbox, desired }
    }

    fn want(&self, name: &str, files: &[(&str, &str)]) {
        fs::write(self.desired.join(format!("{name}.json")), rendered(name, files).to_string()).unwrap();
    }

    fn words(&self) -> [&str; 7] {
        let desired = self.desired.to_str().unwrap();
        ["daemon", "--standalone", desired, "--node-name", "alone", "--metrics", "none"]
    }

    fn once(&self) -> Answer {
        self.sandbox.ostler(&[&self.words()[..], &["--once"]].concat())
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.sandbox.path(path)).ok()
    }

    fn status(&self) -> Value {
        self.sandbox.ostler(&["status", "-o", "json"]).json()
    }

    /// Takes the node over and expects it settled in a configuration.
    fn taken_over(&self, config: &str) -> Answer {
        let answer = self.once();
        assert_eq!(answer.code, Some(0), "{answer}");
        assert!(answer.stderr.contains(", which ostler did not apply"), "{answer}");
        assert_eq!(self.status()["config"], config);
        answer
    }

    /// Hands the node back and expects the record that the daemon would have made.
    fn handed_back(&self, config: &str, files: &[(&str, &str)]) {
        let answer = self.sandbox.ostler(&["hand-back", "--yes"]);
        assert_eq!(answer.code, Some(0), "{answer}");
        let text = self.text(CURRENT_CONFIG).unwrap();
        assert_eq!(decoder::read(&text).metadata.name, config);
        assert_eq!(text, as_go_writes(config, files));
        for (path, text) in files {
            assert_eq!(self.text(path).as_deref(), Some(*text));
        }
        let again = self.sandbox.ostler(&["hand-back", "--yes"]);
        assert_eq!(again.code, Some(0), "{again}");
    }
}

#[test]
fn a_node_in_order_is_taken_over_updated_and_handed_back_as_the_daemon_would_have_left_it() {
    let node = Node::new();
    estate::settled(&node.sandbox, "rendered-1", &[(QUIET, "one")]);
    node.want("rendered-1", &[(QUIET, "one")]);
    let before = node.sandbox.tree();
    let answer = node.taken_over("rendered-1");
    assert!(answer.stderr.contains("all is in order"), "{answer}");
    let mut after = node.sandbox.tree();
    after.retain(|path, _| !path.starts_with("run"));
    let mut expected = before;
    expected.retain(|path, _| !path.starts_with("run"));
    assert_eq!(sandbox::differences(&expected, &after), Vec::<String>::new());
    node.want("rendered-2", &[(QUIET, "two"), (OTHER, "new")]);
    assert_eq!(node.once().code, Some(0));
    node.handed_back("rendered-2", &[(QUIET, "two"), (OTHER, "new")]);
    assert_eq!(node.text(CURRENT_IMAGE).as_deref(), Some(""));
    assert_eq!(node.status()["previous"], Value::Null);
    // Whoever starts the agent again has it take the node over again.
    node.taken_over("rendered-2");
}

#[test]
fn files_of_an_update_that_was_cut_off_are_brought_to_the_new_configuration() {
    let node = Node::new();
    let old = [(QUIET, "one"), (OTHER, "same")];
    estate::settled(&node.sandbox, "rendered-1", &old);
    // Written by the daemon on the way to the new configuration, or lost on it: the second does not differ between both.
    node.sandbox.write(QUIET, "tw");
    node.sandbox.write(OTHER, "torn");
    let new = [(QUIET, "two"), (OTHER, "same")];
    node.want("rendered-2", &new);
    let answer = node.taken_over("rendered-2");
    assert!(answer.stderr.contains("2 differences from its configuration repaired"), "{answer}");
    node.handed_back("rendered-2", &new);
}

#[test]
fn files_of_an_update_that_is_not_wanted_any_more_are_brought_back() {
    let node = Node::new();
    estate::settled(&node.sandbox, "rendered-1", &[(QUIET, "one")]);
    node.sandbox.write(QUIET, "two");
    node.want("rendered-1", &[(QUIET, "one")]);
    node.taken_over("rendered-1");
    node.handed_back("rendered-1", &[(QUIET, "one")]);
}

#[test]
fn a_node_that_was_just_installed_is_introduced_and_has_its_record_completed() {
    let node = Node::new();
    estate::installed(&node.sandbox, "rendered-1", &[(QUIET, "one")]);
    node.want("rendered-1", &[(QUIET, "one")]);
    let answer = node.taken_over("rendered-1");
    assert!(answer.stderr.contains("completed from what it was installed with"), "{answer}");
    assert_eq!(node.text(estate::NODE_ANNOTATIONS), None);
    assert_eq!(node.text(estate::NODE_ANNOTATIONS_DONE), Some(estate::introduction("rendered-1")));
    assert_eq!((node.text(estate::ENCAPSULATED), node.text(estate::PRESET)), (None, None));
    assert!(node.text(&format!("{}.bak", estate::ENCAPSULATED)).is_some());
    node.handed_back("rendered-1", &[(QUIET, "one")]);
}

#[test]
fn an_image_that_was_built_for_the_node_stays_recorded() {
    let node = Node::new();
    estate::settled(&node.sandbox, "rendered-1", &[(QUIET, "one")]);
    let image = format!("registry.example/layered@sha256:{}", "a".repeat(64));
    node.sandbox.write(CURRENT_IMAGE, &image);
    node.want("rendered-1", &[(QUIET, "one")]);
    // A directory knows of no images, so that the node would be moved off its own.
    fs::write(node.desired.join("hold"), "looking first").unwrap();
    let answer = node.once();
    assert_eq!(answer.code, Some(4), "{answer}");
    assert_eq!(node.status()["image"], image.as_str());
    node.handed_back("rendered-1", &[(QUIET, "one")]);
    assert_eq!(node.text(CURRENT_IMAGE).as_deref(), Some(image.as_str()));
}

#[test]
fn what_the_daemon_kept_of_the_system_is_put_back_when_its_file_goes() {
    let node = Node::new();
    estate::settled(&node.sandbox, "rendered-1", &[(QUIET, "one"), (OTHER, "ours")]);
    fs::remove_file(node.sandbox.path(&format!("{}/noorig{OTHER}.mcdnoorig", estate::DIRECTORY))).unwrap();
    node.sandbox.write(&format!("{}/orig{OTHER}.mcdorig", estate::DIRECTORY), "shipped");
    node.sandbox.write(&format!("/usr{OTHER}"), "shipped");
    node.want("rendered-2", &[(QUIET, "one")]);
    node.taken_over("rendered-2");
    assert_eq!(node.text(OTHER).as_deref(), Some("shipped"));
    node.handed_back("rendered-2", &[(QUIET, "one")]);
}

#[test]
fn a_record_that_cannot_be_read_is_made_anew_and_the_node_restarted() {
    for broken in ["{\"metadata\":{\"name\":\"rend", "[]", "\u{0}\u{0}\u{0}"] {
        let node = Node::new();
        estate::settled(&node.sandbox, "rendered-1", &[(QUIET, "one")]);
        node.sandbox.write(CURRENT_CONFIG, broken);
        node.want("rendered-2", &[(QUIET, "two")]);
        let answer = node.once();
        assert_eq!(answer.code, Some(4), "{answer}");
        assert_eq!(node.text(QUIET).as_deref(), Some("two"), "{answer}");
        let refused = node.sandbox.ostler(&["hand-back", "--yes"]);
        assert_eq!(refused.code, Some(3), "{refused}");
        node.sandbox.write("/proc/sys/kernel/random/boot_id", "boot-2\n");
        assert_eq!(node.once().code, Some(0));
        node.handed_back("rendered-2", &[(QUIET, "two")]);
    }
}

#[test]
fn a_node_that_differs_is_not_handed_back_before_it_is_put_right() {
    let node = Node::new();
    estate::settled(&node.sandbox, "rendered-1", &[(QUIET, "one")]);
    node.want("rendered-1", &[(QUIET, "one")]);
    node.taken_over("rendered-1");
    node.sandbox.write(QUIET, "by hand");
    let refused = node.sandbox.ostler(&["hand-back", "--yes"]);
    assert_eq!(refused.code, Some(3), "{refused}");
    assert!(refused.stderr.contains(QUIET) && refused.stderr.contains("ostler drift --repair"), "{refused}");
    assert_eq!(node.sandbox.ostler(&["drift", "--repair", "--yes"]).code, Some(0));
    node.handed_back("rendered-1", &[(QUIET, "one")]);
}

/// A process that is shown to the node, through its own `/proc`, as the machine-config-daemon of root's.
struct Rival(Child);

impl Rival {
    fn start(node: &Node) -> Self {
        Self::shown(node, "/run/bin/machine-config-daemon", 0)
    }

    /// One that is called by the daemon's name, whatever it runs and whoever it is of.
    fn shown(node: &Node, program: &str, user: u32) -> Self {
        let child = Command::new("/bin/sleep").arg0("machine-config-daemon").arg("600").spawn().unwrap();
        let rival = Self(child);
        let own = PathBuf::from(format!("/proc/{}", rival.0.id()));
        let shown = node.sandbox.path(&own.to_string_lossy());
        fs::create_dir_all(&shown).unwrap();
        std::os::unix::fs::symlink(program, shown.join("exe")).unwrap();
        fs::write(shown.join("status"), format!("Name:\tx\nUid:\t{user}\t{user}\t{user}\t{user}\n")).unwrap();
        for name in ["cmdline", "stat"] {
            fs::write(shown.join(name), fs::read(own.join(name)).unwrap()).unwrap();
        }
        rival
    }

    fn leave(mut self, node: &Node) {
        fs::remove_dir_all(node.sandbox.path(&format!("/proc/{}", self.0.id()))).unwrap();
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_process_that_only_bears_the_daemons_name_stops_nobody() {
    for (program, user) in [("/usr/bin/sleep", 65534), ("/usr/bin/sleep", 0), ("/run/bin/machine-config-daemon", 1000)]
    {
        let node = Node::new();
        estate::settled(&node.sandbox, "rendered-1", &[(QUIET, "one")]);
        node.want("rendered-2", &[(QUIET, "two")]);
        let rival = Rival::shown(&node, program, user);
        let (answer, text) = (node.once(), node.text(QUIET));
        rival.leave(&node);
        assert_eq!(answer.code, Some(0), "{program} of {user}: {answer}");
        assert_eq!(text.as_deref(), Some("two"), "{program} of {user}");
    }
}

#[test]
fn nothing_is_changed_or_said_while_a_machine_config_daemon_runs() {
    let node = Node::new();
    estate::settled(&node.sandbox, "rendered-1", &[(QUIET, "one")]);
    node.want("rendered-2", &[(QUIET, "two")]);
    node.sandbox.write(QUIET, "by hand");
    let rival = Rival::start(&node);
    let pid = rival.0.id();
    let before = node.sandbox.tree();
    let answer = node.once();
    assert_eq!(answer.code, Some(4), "{answer}");
    assert!(answer.stderr.contains(&format!("machine-config-daemon runs on this node as process {pid}")), "{answer}");
    let config = node.sandbox.config("rendered-3", &json!({}));
    for words in [
        &["apply", "--yes", "--to", &config][..],
        &["rollback", "--yes"],
        &["drift", "--repair", "--yes"],
        &["hand-back", "--yes"],
    ] {
        let answer = node.sandbox.ostler(words);
        assert_ne!(answer.code, Some(0), "{words:?} {answer}");
    }
    let answer = node.sandbox.ostler(&["recover"]);
    assert_eq!(answer.code, Some(0), "that nothing is open is so whoever runs: {answer}");
    let status = node.status();
    assert_eq!((&status["rival"], &status["settled"]), (&json!({"pid": pid, "task": "node"}), &json!(false)));
    let mut after = node.sandbox.tree();
    after.retain(|path, _| !path.starts_with("run"));
    let mut expected = before;
    expected.retain(|path, _| !path.starts_with("run"));
    assert_eq!(sandbox::differences(&expected, &after), Vec::<String>::new());
    assert_eq!(node.text("/run/ostler/agent/machineconfignode.json"), None, "nothing is published");
    rival.leave(&node);
    node.taken_over("rendered-2");
}

#[test]
fn a_second_agent_and_a_command_beside_the_first_are_told_so() {
    let node = Node::new();
    estate::settled(&node.sandbox, "rendered-1", &[(QUIET, "one")]);
    node.want("rendered-1", &[(QUIET, "one")]);
    let mut first = node.sandbox.start(&node.words());
    sandbox::until("the first is at work", || node.text("/run/ostler/agent/machineconfignode.json").is_some());
    let second = node.once();
    assert_eq!(second.code, Some(2), "{second}");
    assert!(second.stderr.contains("another daemon looks after this root"), "{second}");
    let refused = node.sandbox.ostler(&["hand-back", "--yes"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("stop it first"), "{refused}");
    first.terminate();
    assert_eq!(first.end().code, Some(0));
    // Of two who would change the machine at once, the journal lets one.
    let lock = fs::File::options().write(true).open(node.sandbox.path("/var/lib/ostler/journal/lock")).unwrap();
    lock.lock().unwrap();
    let busy = node.sandbox.ostler(&["hand-back", "--yes"]);
    assert_eq!(busy.code, Some(1), "{busy}");
    assert!(busy.stderr.contains("locked by another process, most likely a running ostler"), "{busy}");
}
