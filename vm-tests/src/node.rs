//! A node: a virtual machine with the agent as its package installs it, told what to do by a directory.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::image::{NAMES, VERSIONS};
use crate::machine::{Machine, PATIENCE};

const DESIRED: &str = "/var/lib/ostler-desired";
/// What the probe has written.
pub const SEEN: &str = "/var/lib/probe/seen";
/// How long a guest is left alone between questions: so long, or so many times as long as it took for an answer, but not longer than
/// it takes somebody to lose patience. A guest that is asked all the time does nothing else.
const PAUSE: Duration = Duration::from_secs(3);
const PAUSES: u32 = 8;
const LONGEST: Duration = Duration::from_secs(45);

/// A boot, and what a service has found in it.
pub type Found = (String, Result<usize, String>);

/// What a node is to be in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The configuration's name.
    pub name: String,
    /// The operating system, of [`NAMES`].
    pub os: usize,
    /// Kernel arguments.
    pub kargs: Vec<String>,
    /// What the configuration has beside the usual files.
    pub more: Value,
}

impl Target {
    /// A configuration of its own with one of the operating systems.
    pub fn new(name: &str, os: usize) -> Self {
        Self { name: name.to_owned(), os, kargs: vec![format!("{name}.karg")], more: json!({}) }
    }

    /// The one that a machine is installed with.
    pub fn old() -> Self {
        Self::new("old", 0)
    }

    /// An update of files, kernel arguments and the operating system.
    pub fn new_os() -> Self {
        Self::new("new", 1)
    }
}

/// The node.
pub struct Node<'t> {
    /// The machine that it is.
    pub machine: Machine<'t>,
    images: Vec<String>,
}

impl<'t> Node<'t> {
    /// A machine whose images are these, in the order of [`NAMES`].
    pub fn new(machine: Machine<'t>, images: Vec<String>) -> Self {
        Self { machine, images }
    }

    /// The MachineConfig of a target.
    pub fn config(&self, target: &Target) -> Result<Value> {
        let image = self.images.get(target.os).context("no such operating system")?;
        let name = &target.name;
        let file =
            |path: &str| json!({"path": path, "overwrite": true, "contents": {"source": format!("data:,{name}")}});
        let files = json!([file("/etc/motd"), file(&format!("/etc/only-{name}"))]);
        let mut config = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}});
        if let (Some(config), Some(more)) = (config.as_object_mut(), target.more.as_object()) {
            config.extend(more.clone());
        }
        let spec = json!({"config": config, "osImageURL": image, "kernelArguments": target.kargs});
        Ok(json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
                  "metadata": {"name": name}, "spec": spec}))
    }

    /// Writes a file of the guest in one effect that outlives a power cut.
    pub fn write(&mut self, path: &str, text: &str) -> Result<()> {
        ensure!(!text.contains("\nEND-OF-TEXT"), "the text has the end of texts");
        let command = format!(
            "mkdir -p \"$(dirname {path})\" && cat > {path}.next <<'END-OF-TEXT'\n{text}\nEND-OF-TEXT\n\
             sync {path}.next && mv {path}.next {path} && sync \"$(dirname {path})\""
        );
        self.machine.run(&command).map(drop)
    }

    /// A file's text; nothing when there is none.
    pub fn read(&mut self, path: &str) -> Result<String> {
        Ok(self.machine.run(&format!("cat {path} 2> /dev/null || :"))?.trim_end().to_owned())
    }

    /// Says what the node is to be in.
    pub fn desire(&mut self, target: &Target) -> Result<()> {
        let config = self.config(target)?.to_string();
        self.write(&format!("{DESIRED}/{}.json", target.name), &config)?;
        self.write(&format!("{DESIRED}/desired"), &target.name)
    }

    /// The node's status object; nothing while there is none.
    pub fn object(&mut self) -> Result<Value> {
        let text = self.read("/run/ostler/agent/machineconfignode.json")?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// What `ostler status` says.
    pub fn status(&mut self) -> Result<Value> {
        let said = self.machine.ask("NO_COLOR=1 ostler status -o json 2> /dev/null")?;
        serde_json::from_str(&said.text).with_context(|| said.text.clone())
    }

    /// One of the conditions in the node's status object.
    pub fn condition(&mut self, kind: &str) -> Result<Value> {
        Ok(condition(&self.object()?, kind))
    }

    /// Whether a condition is true.
    pub fn is(&mut self, kind: &str) -> Result<bool> {
        Ok(is_true(&self.condition(kind)?))
    }

    /// Whether the agent says that the node is in this configuration and that nothing is left to do.
    pub fn is_in(&mut self, config: &str) -> Result<bool> {
        let object = self.object()?;
        let current = object.pointer("/status/configVersion/current").is_some_and(|current| current == config);
        Ok(current && is_true(&condition(&object, "Updated")))
    }

    /// Waits for something; the machine must stay on.
    pub fn wait_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Result<bool>) -> Result<()> {
        let (start, mut asked) = (Instant::now(), Instant::now());
        while !done(self)? {
            if start.elapsed() > PATIENCE {
                bail!("waited in vain: {what}\n{}", self.account());
            }
            rest(asked.elapsed());
            asked = Instant::now();
        }
        Ok(())
    }

    /// Follows the node through as many restarts as it takes until something is so.
    pub fn follow_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Result<bool>) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE * 2 {
            if self.machine.keep_on()? {
                self.machine.wait_for_guest(PATIENCE)?;
            }
            let asked = Instant::now();
            // A machine that goes down does not answer.
            match done(self) {
                Ok(true) => return Ok(()),
                Err(error) => {
                    std::thread::sleep(PAUSE);
                    if self.machine.is_on() {
                        return Err(error);
                    }
                }
                Ok(false) => rest(asked.elapsed()),
            }
        }
        bail!("waited in vain: {what}\n{}", self.account())
    }

    /// Follows it to a configuration, and checks that it is there with all that belongs to it.
    pub fn follow_to(&mut self, target: &Target) -> Result<()> {
        self.follow_until(&format!("the node is in {}", target.name), |node| node.is_in(&target.name))?;
        self.check(target)
    }

    /// That it is in a configuration: files, operating system, kernel arguments; and that nothing is left over.
    pub fn check(&mut self, target: &Target) -> Result<()> {
        let status = self.status()?;
        for nothing in ["/open", "/trial", "/os/staged"] {
            ensure!(status.pointer(nothing).is_none_or(Value::is_null), "{nothing} is left over: {status:#}");
        }
        let found = self.machine.run(
            "echo $(cat /etc/motd) $(cd /etc && echo only-*) $(sed -n 's/^VERSION=//p' /usr/lib/os-release | tr -d '\"') \
             $(tr ' ' '\\n' < /proc/cmdline | grep '\\.karg$')",
        )?;
        let version = VERSIONS.get(target.os).context("no such operating system")?;
        let name = &target.name;
        let wanted = format!("{name} only-{name} {version} {}", target.kargs.join(" "));
        ensure!(found.trim() == wanted, "it is in {:?} instead of {wanted:?}", found.trim());
        Ok(())
    }

    /// That the repository is whole.
    pub fn fsck(&mut self) -> Result<()> {
        self.machine.run("ostree fsck --quiet --repo=/sysroot/ostree/repo").map(drop)
    }

    /// What services have found at each boot: the boot, and the configuration's number in [`NAMES`] or an account of a mixture.
    pub fn seen(&mut self) -> Result<Vec<Found>> {
        let boot = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        Ok(self.read(SEEN)?.lines().map(|line| (boot(line), judge(line))).collect())
    }

    /// What a person needs to understand a failure.
    pub fn account(&mut self) -> String {
        let asked = "NO_COLOR=1 ostler status; cat /var/lib/probe/seen; ostree admin status; \
            journalctl --no-pager -o short-monotonic -n 300 | cut -c 1-300";
        self.machine.ask(asked).map_or_else(|error| format!("{error:#}"), |said| said.text)
    }
}

/// Leaves a guest alone that took some time for an answer.
fn rest(answered: Duration) {
    std::thread::sleep((answered * PAUSES).clamp(PAUSE, LONGEST));
}

fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.into_iter().find(|one| one.get("type").is_some_and(|own| own == kind)).cloned().unwrap_or_default()
}

fn is_true(condition: &Value) -> bool {
    condition.get("status").is_some_and(|status| status == "True")
}

fn judge(line: &str) -> Result<usize, String> {
    let words: Vec<_> = line.split(' ').collect();
    if let [_, _, motd, only, version, karg] = words.as_slice() {
        let all = NAMES.iter().zip(VERSIONS);
        let is_one = |(name, of): (&&str, &str)| {
            **motd == **name && *only == format!("only-{name}") && *version == of && *karg == format!("{name}.karg,")
        };
        if let Some(number) = all.clone().position(is_one) {
            return Ok(number);
        }
    }
    Err(format!("a service has seen {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_configurations_are_no_mixture() {
        assert_eq!(judge("boot hash old only-old 9.6.1 old.karg,"), Ok(0));
        assert_eq!(judge("boot hash new only-new 9.6.2 new.karg,"), Ok(1));
        for mixed in
            ["old only-old 9.6.2 old.karg,", "new only-new,only-old 9.6.2 new.karg,", "new only-new 9.6.2 ", ""]
        {
            assert!(judge(&format!("boot hash {mixed}")).is_err(), "{mixed}");
        }
    }
}
