//! Configurations that differ in every way a running machine can follow, from a seed.

use ostler_core::recorded::Recorded;
use serde_json::{Value, json};

use super::config;

/// A sequence that is the same for the same seed everywhere (splitmix64).
pub(super) struct Dice {
    state: u64,
    /// Whether the configurations have most of their text in common, so that the journal keeps what differs.
    alike: bool,
}

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self { state: seed, alike: seed.is_multiple_of(2) }
    }

    fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll() % bound as u64).unwrap_or(0)
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const PATHS: &[&str] = &[
    "/etc/motd",
    "/etc/chrony.conf",
    "/etc/new.conf",
    "/etc/deep/er/and/deeper",
    "/etc/deep/other",
    "/opt/tool/config.json",
    "/var/spool/job",
    "/etc/systemd/system/a.service.d/50-file.conf",
];
const TEXTS: &[&str] = &["", "one\n", "two\n", "a rather longer text that takes more room\n"];
const OWNERS: &[&str] = &["root", "core", "app"];
const UNITS: &[&str] = &["a.service", "b@.service", "shipped.service", "os.service", "c.timer"];
const UNIT_TEXTS: &[&str] = &[
    "[Service]\nExecStart=/bin/a\n",
    "[Service]\nExecStart=/bin/b\n[Install]\nWantedBy=multi-user.target\n",
    "[Unit]\nDescription=c\n[Install]\nWantedBy=timers.target\nRequiredBy=basic.target\n",
];

pub(super) fn random(name: &str, dice: &mut Dice) -> Recorded {
    let (mut files, mut units): (Vec<Value>, Vec<Value>) = Default::default();
    for path in PATHS {
        if !dice.one_in(3) {
            files.push(file(path, dice));
        }
    }
    for name in UNITS {
        if !dice.one_in(3) {
            units.push(unit(name, dice));
        }
    }
    let mut ignition = json!({"storage": {"files": files}, "systemd": {"units": units}});
    if !dice.one_in(3) {
        let keys: Vec<String> = (0..1 + dice.below(2)).map(|number| format!("ssh-ed25519 key{number}")).collect();
        let mut user = json!({"name": "core", "sshAuthorizedKeys": keys});
        if dice.one_in(2) {
            user["passwordHash"] = json!(dice.pick(&["$y$one", "$y$two"]));
        }
        ignition["passwd"] = json!({"users": [user]});
    }
    let config = config(name, ignition);
    if dice.alike { noted(&config) } else { config }
}

/// The same configuration with a long note.
fn noted(config: &Recorded) -> Recorded {
    let mut document: Value = serde_json::from_slice(config.json.expose()).unwrap();
    let note: String = (0..2000).map(|number| format!("{number} ")).collect();
    document["metadata"]["annotations"] = json!({ "note": note });
    Recorded::from_document(document).unwrap()
}

fn file(path: &str, dice: &mut Dice) -> Value {
    let text = dice.pick(TEXTS).replace('\n', "%0A").replace(' ', "%20");
    json!({
        "path": path,
        "mode": if dice.one_in(2) { 0o644 } else { 0o600 },
        "user": {"name": dice.pick(OWNERS)},
        "contents": {"source": format!("data:,{text}")},
    })
}

fn unit(name: &str, dice: &mut Dice) -> Value {
    let mut unit = json!({"name": name});
    if !dice.one_in(3) {
        unit["contents"] = json!(dice.pick(UNIT_TEXTS));
    }
    match dice.below(4) {
        0 => unit["enabled"] = json!(true),
        1 => unit["enabled"] = json!(false),
        2 => unit["mask"] = json!(dice.one_in(2)),
        _ => {}
    }
    if dice.one_in(2) {
        unit["dropins"] = json!([{"name": "10-x.conf", "contents": dice.pick(UNIT_TEXTS)}]);
    }
    unit
}
