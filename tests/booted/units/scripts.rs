//! What the scripts of packages do on a machine that runs: an upgrade in the middle of a change, and a removal.

use std::fs;
use std::path::Path;

use super::kills::{comes_to_its_end, in_the_middle, is_at_work};
use super::order::{KUBELET, surround};
use super::{AGENT, APPLIER, Packaged, UNITS};
use crate::first_boot::furnish;

const SOURCES: &str = "../../packaging";

/// A script of the deb, or a section of the RPM's.
fn text(kind: &str, name: &str) -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(SOURCES);
    if kind == "deb" {
        return fs::read_to_string(sources.join("deb").join(name)).unwrap();
    }
    let spec = fs::read_to_string(sources.join("rpm/ostler.spec")).unwrap();
    let (_, rest) = spec.split_once(&format!("\n%{name}\n")).unwrap();
    rest.split("\n%").next().unwrap().to_owned()
}

/// The name of one, and what it is told.
type Script = (&'static str, &'static [&'static str]);

/// Runs one as its package manager would, which expects it to succeed.
fn run(packaged: &Packaged, kind: &str, name: &str, arguments: &[&str]) {
    packaged.write("var/script", &text(kind, name));
    packaged.node.machine.run("sh", &[&["-e", "/var/script"], arguments].concat());
}

#[test]
fn an_upgrade_in_the_middle_of_a_change_lets_both_halves_finish_it() {
    let upgrades: [(&str, &[Script]); 2] =
        [("deb", &[("postinst", &["configure", "0.1.0"])]), ("rpm", &[("post", &["2"]), ("postun", &["1"])])];
    for (kind, scripts) in upgrades {
        let Some(mut packaged) = in_the_middle() else { return };
        let before = [AGENT, APPLIER].map(|unit| packaged.show(unit, "MainPID"));
        for (name, arguments) in scripts {
            run(&packaged, kind, name, arguments);
        }
        packaged.wait_until("the end is postponed", || packaged.said("asked to end in the middle of a change") == 1);
        assert_eq!([AGENT, APPLIER].map(|unit| packaged.show(unit, "MainPID")), before, "{kind}");
        assert!(is_at_work(&packaged), "{kind}");
        packaged.write("run/go", "");
        // The agent is started again by the script, and goes on with the restart.
        comes_to_its_end(&mut packaged);
    }
}

#[test]
fn a_removal_stops_both_halves_and_leaves_the_kubelet_running() {
    for (kind, name, argument) in [("deb", "prerm", "remove"), ("rpm", "preun", "0")] {
        let Some(mut packaged) = Packaged::install() else { return };
        furnish(&packaged.node, &packaged.node.config("old", 0, &["old.karg"]));
        surround(&packaged);
        packaged.standalone();
        packaged.node.machine.reboot();
        packaged.wait_until("the node is in its configuration", || packaged.rests_in("old"));
        run(&packaged, kind, name, &[argument]);
        for unit in [AGENT, APPLIER, "ostler-applier.socket"] {
            assert_eq!(packaged.show(unit, "ActiveState"), "inactive", "{kind}: {unit}");
        }
        assert_eq!(packaged.show(KUBELET, "ActiveState"), "active", "{kind}");
        let enabled =
            |unit: &&str| packaged.node.machine.enter("systemctl").args(["is-enabled", unit]).output().unwrap();
        for unit in UNITS {
            assert_eq!(String::from_utf8_lossy(&enabled(&unit).stdout).trim_end(), "disabled", "{kind}: {unit}");
        }
    }
}
