//! What ostree's merge of `/etc` makes of a configuration when the operating system changes: at the moment services start,
//! every managed path is as configured, whatever the images have there.

mod cuts;
mod model;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use self::cuts::{Cuts, cut_in_restart};
use self::model::{Config, ConfigUnit, Entry, Image, ImageUnit, unit_text};
use super::Packaged;
use crate::chance::Chance;
use crate::first_boot::furnish;
use crate::node::{Driver, Node, drivers};

/// Units of the images that write down what they find when they start: one as sshd starts, one as the kubelet does.
const PROBES: [&str; 2] = ["sshd.service", "kubelet.service"];
const PROBE: &str = "for path in $(cat /var/probe/paths); do
    if [ -L $path ]; then echo \"$path link $(readlink $path)\"
    elif [ -d $path ]; then echo \"$path directory\"
    elif [ -e $path ]; then echo \"$path file $(stat --format=%a $path) $(echo $(cat $path))\"
    else echo \"$path nothing\"; fi
done > /var/probe/$1
while IFS=: read -r user hash _; do echo \"$user $hash\"; done < /etc/shadow >> /var/probe/$1
";
const LIST: &str = "var/probe/paths";
/// How many pairs more than asked for may be tried until the power was cut in every phase of a restart.
const MORE: usize = 60;

fn plant(tree: &Path, image: &Image) {
    image.plant(tree);
    fs::write(tree.join("usr/lib/probe.sh"), PROBE).unwrap();
    let wants = tree.join("usr/etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wants).unwrap();
    fs::create_dir_all(tree.join("usr/lib/systemd/system")).unwrap();
    for probe in PROBES {
        let text =
            format!("[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh /usr/lib/probe.sh {probe}\n");
        let at = format!("usr/lib/systemd/system/{probe}");
        fs::write(tree.join(&at), text).unwrap();
        std::os::unix::fs::symlink(format!("/{at}"), wants.join(probe)).unwrap();
    }
}

/// A node of two images, whose units are those of the package, without an agent.
struct Merged {
    packaged: Packaged,
    images: [Image; 2],
    updates: usize,
}

impl Merged {
    fn boot(driver: Driver, images: [Image; 2]) -> Option<Self> {
        let [old, new] = [&images[0], &images[1]].map(|image| move |tree: &Path| plant(tree, image));
        let packaged = Packaged::on(Node::boot_with(driver, [&old, &new])?)?;
        packaged.systemctl(&["disable", "ostler.service"]);
        Some(Self { packaged, images, updates: 0 })
    }

    fn node(&self) -> &Node {
        &self.packaged.node
    }

    /// Has the machine go down without writing to the next `/etc`, as after a fault: only the next boot can put it right.
    fn leave_to_next_boot(&self) {
        self.packaged.write("etc/systemd/system/ostler-recover.service.d/test.conf", "[Service]\nExecStop=\n");
        self.packaged.systemctl(&["daemon-reload"]);
    }

    fn document(&mut self, config: &Config, image: usize) -> Value {
        self.updates += 1;
        let mut document = self.node().config(&format!("c{}", self.updates), image, &["own.karg"]);
        config.add_to(&mut document);
        document
    }

    /// Applies a configuration with an image, and restarts if the image is another.
    fn update(&mut self, config: &Config, image: usize) {
        if self.apply(config, image) {
            self.packaged.node.restart();
        }
    }

    /// Applies a configuration with an image; gives whether it waits for a restart.
    fn apply(&mut self, config: &Config, image: usize) -> bool {
        let document = self.document(config, image);
        self.list(&config.expected(&self.images[image]));
        self.node().apply(&document).exits(0).json()["result"] == "awaitsReboot"
    }

    /// The same with the power cut in the restart, once or twice. Gives whether the machine came up in it.
    fn update_with_cuts(&mut self, config: &Config, image: usize, (chance, cuts): (&mut Chance, &mut Cuts)) -> bool {
        if !self.apply(config, image) {
            return true;
        }
        cut_in_restart(&mut self.packaged.node, chance, cuts);
        self.node().status()["config"] == format!("c{}", self.updates)
    }

    /// Has the probes look at these paths.
    fn list(&self, expected: &BTreeMap<String, String>) {
        let paths: Vec<_> = expected.keys().filter(|key| key.starts_with('/')).cloned().collect();
        self.node().write(LIST, &paths.join("\n"));
    }

    /// Everything that is not as a configuration wants it, or as an image has it where that says nothing.
    fn wrong(&self, config: &Config, image: usize) -> Vec<String> {
        let expected = config.expected(&self.images[image]);
        let mut wrong = Vec::new();
        for probe in PROBES {
            let text = self.node().read(&format!("var/probe/{probe}"));
            let found: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once(' ')).collect();
            for (path, line) in &expected {
                let seen = found.get(path.as_str()).map_or("not looked at", |seen| seen.trim_end());
                if seen != line {
                    wrong.push(format!("{probe} found at {path}: {seen}\n    instead of: {line}"));
                }
            }
        }
        for (unit, word) in config.running() {
            let started = self.node().read(&format!("run/started-{unit}"));
            if started.trim_end() != word.as_deref().unwrap_or_default() {
                wrong.push(format!("{unit} was started as {started:?} instead of {word:?}"));
            }
        }
        let drift = self.node().ostler(&["drift"]);
        if drift.code != Some(0) {
            wrong.push(drift.to_string());
        }
        let status = self.node().status();
        if status["open"] != Value::Null {
            wrong.push(format!("{status:#}"));
        }
        wrong
    }

    fn is_right(&self, what: &str, config: &Config, image: usize) {
        let wrong = self.wrong(config, image);
        let journal = || self.node().machine.journal(&["--boot"]);
        assert!(wrong.is_empty(), "{what}:\n{}\n{}\n{config:#?}\n{:#?}", wrong.join("\n"), journal(), self.images);
    }
}

/// One file, in two images and a configuration.
fn single(old: Entry, new: Entry) -> [Image; 2] {
    [old, new].map(|entry| Image { files: [("f".to_owned(), entry)].into(), ..Image::default() })
}

fn managing(entry: &Entry) -> Config {
    match entry {
        Entry::Nothing => Config::default(),
        entry => Config { files: [("f".to_owned(), entry.clone())].into(), ..Config::default() },
    }
}

#[test]
fn a_file_that_equals_the_old_images_default_stays_as_configured() {
    for driver in drivers() {
        let (no, yes) = (Entry::file("PermitRootLogin no\n", 0o600), Entry::file("PermitRootLogin yes\n", 0o600));
        let Some(mut merged) = Merged::boot(driver, single(no.clone(), yes)) else { return };
        let config = managing(&no);
        merged.update(&config, 0);
        merged.update(&config, 1);
        merged.is_right("update", &config, 1);
    }
}

#[test]
fn a_file_that_leaves_the_configuration_is_the_booted_images_own_again() {
    let [one, two, site] = ["one\n", "two\n", "site\n"].map(|text| Entry::file(text, 0o644));
    let Some(mut merged) = Merged::boot(Driver::Bootc, single(one, two)) else { return };
    let config = managing(&site);
    merged.update(&config, 0);
    // It leaves together with a change of the operating system.
    merged.update(&Config::default(), 1);
    merged.is_right("dropped with an update", &Config::default(), 1);
    // What was kept of another image is not what this one has.
    merged.update(&config, 0);
    merged.is_right("back in it", &config, 0);
    merged.update(&config, 1);
    merged.update(&Config::default(), 1);
    assert_eq!(merged.node().read("etc/site-f/conf"), "two\n");
}

#[test]
fn an_image_that_somebody_else_switched_to_starts_with_the_configuration_and_is_drift() {
    let [one, two] = ["one\n", "two\n"].map(|text| Entry::file(text, 0o644));
    let Some(mut merged) = Merged::boot(Driver::Bootc, single(one.clone(), two)) else { return };
    let config = managing(&one);
    merged.update(&config, 0);
    merged.node().write("run/ostree/auth.json", &merged.node().read("var/lib/kubelet/config.json"));
    merged.node().machine.run("bootc", &["switch", "--transport", "registry", &merged.node().images[1]]);
    merged.node().machine.wait_until_armed();
    merged.packaged.node.machine.reboot();
    let wrong = merged.wrong(&config, 1);
    assert!(matches!(&wrong[..], [only] if only.contains("OS image")), "{}", wrong.join("\n"));
    merged.node().ostler(&["drift"]).exits(4).says(&merged.node().images[0]);
    merged
        .node()
        .ostler(&["drift", "--repair", "--yes"])
        .exits(4)
        .says("Not repaired")
        .says("machine-config-daemon-force");
}

#[test]
fn an_image_with_a_directory_where_the_configuration_has_a_file_is_refused_before_the_restart() {
    for old in [Entry::Nothing, Entry::file("one\n", 0o644)] {
        let Some(mut merged) = Merged::boot(Driver::Bootc, single(old, Entry::Directory)) else { return };
        let config = managing(&Entry::file("one\n", 0o644));
        merged.update(&config, 0);
        let document = merged.document(&config, 1);
        let before = merged.node().machine.boot_id();
        merged.node().apply(&document).exits(1).says("cannot merge /etc/site-f/conf into the new image");
        assert_eq!(merged.node().status()["os"]["staged"], Value::Null);
        assert_eq!(
            (merged.node().read("etc/site-f/conf"), merged.node().machine.boot_id()),
            ("one\n".to_owned(), before)
        );
    }
}

#[test]
fn a_first_boot_brings_its_operating_system_and_keeps_its_configuration() {
    for driver in drivers() {
        let [one, two] = ["one\n", "two\n"].map(|text| Entry::file(text, 0o644));
        let Some(mut merged) = Merged::boot(driver, single(one.clone(), two)) else { return };
        let config = managing(&one);
        let document = merged.document(&config, 1);
        furnish(merged.node(), &document);
        merged.list(&config.expected(&merged.images[1]));
        merged.packaged.systemctl(&["start", "--no-block", "ostler-firstboot.service"]);
        merged.packaged.node.machine.reboot_and_wait();
        merged.is_right("first boot", &config, 1);
    }
}

#[test]
fn a_directory_of_the_new_image_is_not_in_the_way_of_going_back() {
    for driver in drivers() {
        let Some(mut merged) = Merged::boot(driver, single(Entry::Nothing, Entry::Directory)) else { return };
        let config = managing(&Entry::file("one\n", 0o644));
        merged.update(&config, 0);
        merged.update(&Config::default(), 1);
        merged.is_right("update", &Config::default(), 1);
        merged.node().ostler(&["rollback", "--yes"]).exits(0);
        merged.packaged.node.restart();
        merged.is_right("rollback", &config, 0);
    }
}

#[test]
fn a_directory_whose_only_addition_leaves_the_configuration_becomes_the_file_of_the_new_image() {
    let new = Entry::file("two\n", 0o644);
    let Some(mut merged) = Merged::boot(Driver::Bootc, single(Entry::Directory, new.clone())) else { return };
    let mut document = merged.document(&Config::default(), 0);
    let added = json!({"path": "/etc/site-f/conf/added", "contents": {"source": "data:,added"}});
    document["spec"]["config"]["storage"]["files"].as_array_mut().unwrap().push(added);
    merged.node().apply(&document).exits(0);
    merged.packaged.node.restart();
    assert_eq!(merged.node().read("etc/site-f/conf/added"), "added");
    let document = merged.document(&Config::default(), 1);
    merged.list(&Config::default().expected(&merged.images[1]));
    merged.node().apply(&document).exits(0);
    merged.packaged.node.restart();
    merged.is_right("update", &Config::default(), 1);
}

/// A unit in two images: its text in `/usr/etc`, and whether it is enabled there.
fn units(old: (Entry, bool), new: (Entry, bool)) -> [Image; 2] {
    [old, new].map(|(text, enabled)| {
        let unit = ImageUnit { text, dropin: Entry::Nothing, enabled };
        Image { units: [("u.service".to_owned(), unit)].into(), ..Image::default() }
    })
}

#[test]
fn a_boot_that_has_to_put_units_right_starts_them_as_configured() {
    let (mask, text) = (Entry::Link("/dev/null".to_owned()), Some(unit_text("u.service", "configured")));
    let own = |word: &str| Entry::file(&unit_text("u.service", word), 0o644);
    let masked = ConfigUnit { mask: true, ..ConfigUnit::default() };
    let disabled = ConfigUnit { enabled: Some(false), ..ConfigUnit::default() };
    let enabled = ConfigUnit { enabled: Some(true), text, ..ConfigUnit::default() };
    for (images, unit) in [
        (units((mask, true), (Entry::Nothing, true)), masked),
        (units((Entry::Nothing, false), (Entry::Nothing, true)), disabled),
        (units((own("configured"), true), (own("other"), false)), enabled),
    ] {
        let Some(mut merged) = Merged::boot(Driver::Bootc, images) else { return };
        merged.leave_to_next_boot();
        let config = Config { units: [("u.service".to_owned(), unit)].into(), ..Config::default() };
        merged.update(&config, 0);
        merged.update(&config, 1);
        merged.is_right("update", &config, 1);
    }
}

/// `OSTLER_MERGES=N` tries more pairs of images and configurations.
#[test]
fn whatever_images_and_configurations_have_services_start_on_the_configuration() {
    let pairs: usize = std::env::var("OSTLER_MERGES").map_or(25, |count| count.parse().expect("a number"));
    let mut chance = Chance::new();
    eprintln!("OSTLER_KILL_SEED={}", chance.seed());
    let drivers: Vec<_> = drivers().collect();
    let (mut done, mut cuts) = (0, Cuts::default());
    while done < pairs || !cuts.in_every_phase() {
        assert!(done < pairs + MORE, "no power cut in one of the phases: {cuts}");
        let images = [Image::any(&mut chance, 8), Image::any(&mut chance, 8)];
        let Some(mut merged) = Merged::boot(drivers[done / 4 % drivers.len()], images) else { return };
        // The first half of them by the end of a shutdown, the others by the beginning of a boot.
        if done % 4 >= 2 {
            merged.leave_to_next_boot();
        }
        let mut before = Config::any(&mut chance, 8);
        merged.update(&before, 0);
        for _ in 0..2 {
            let config = Config::any(&mut chance, 8);
            if done % 3 == 2 && !merged.update_with_cuts(&config, 1, (&mut chance, &mut cuts)) {
                cuts.lost += 1;
                merged.is_right(&format!("pair {done}, lost update"), &before, 0);
                merged.update(&config, 1);
            } else if done % 3 != 2 {
                merged.update(&config, 1);
            }
            merged.is_right(&format!("pair {done}, update"), &config, 1);
            merged.node().ostler(&["rollback", "--yes"]).exits(0);
            merged.packaged.node.restart();
            merged.is_right(&format!("pair {done}, rollback"), &before, 0);
            before = Config::any(&mut chance, 8);
            merged.update(&before, 0);
            done += 1;
        }
        eprintln!("{done} pairs right; {cuts}");
    }
}
