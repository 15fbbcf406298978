//! Boots of a machine on which the agent's user is missing: an image made without it, an `/etc` that was kept, an
//! extension that was merged late. `systemd-sysusers.service` is masked on these machines, as it is on some nodes.

use super::{AGENT, Packaged};

const SOCKET: &str = "ostler-applier.socket";
const DATABASES: [&str; 4] = ["passwd", "group", "shadow", "gshadow"];
/// The same name in `/etc` hides the package's.
const HIDDEN: &str = "etc/sysusers.d/ostler.conf";

fn standalone() -> Option<Packaged> {
    let packaged = Packaged::install()?;
    packaged.standalone();
    Some(packaged)
}

fn remove_user(packaged: &Packaged) {
    for database in DATABASES {
        let path = format!("etc/{database}");
        if packaged.node.machine.path(&path).exists() {
            let lines = packaged.node.read(&path);
            let others: Vec<_> = lines.lines().filter(|line| !line.starts_with("ostler:")).collect();
            packaged.write(&path, &format!("{}\n", others.join("\n")));
        }
    }
    assert!(!packaged.node.read("etc/passwd").contains("ostler"));
}

fn comes_up(packaged: &Packaged) {
    packaged.wait_until("the agent is ready", || packaged.show(AGENT, "ActiveState") == "active");
    packaged.wait_until("the socket is started again", || packaged.show(SOCKET, "ActiveState") == "active");
    let socket = packaged.node.machine.run("stat", &["--format=%a %U %G", "/run/ostler/applier.sock"]);
    assert_eq!(socket, "660 root ostler\n");
    packaged.wait_until("the node is in its configuration", || packaged.rests_in("old"));
}

#[test]
fn a_boot_without_the_user_creates_it_before_the_socket() {
    let Some(mut packaged) = standalone() else { return };
    remove_user(&packaged);
    packaged.node.machine.reboot();
    comes_up(&packaged);
    // The bus started after that, and knows the user of its policy.
    assert_eq!(packaged.systemctl(&["service-log-level", AGENT]), "info");
    let journal = packaged.node.machine.journal(&["--boot"]);
    assert!(!journal.contains("ordering cycle") && !journal.contains("216/GROUP"), "{journal}");
    assert_eq!(packaged.show(AGENT, "NRestarts"), "0", "{journal}");
}

#[test]
fn an_agent_whose_user_could_not_be_created_starts_when_it_can() {
    let Some(mut packaged) = standalone() else { return };
    remove_user(&packaged);
    packaged.write(HIDDEN, "# nobody\n");
    packaged.node.machine.reboot();
    packaged.wait_until("the agent has failed", || packaged.show(AGENT, "NRestarts") != "0");
    // Every start of the agent tries the socket again, so it may be found in the middle of that.
    assert_ne!(packaged.show(SOCKET, "ActiveState"), "active");
    std::fs::remove_file(packaged.node.machine.path(HIDDEN)).unwrap();
    comes_up(&packaged);
}

#[test]
fn a_user_that_is_there_is_enough_where_etc_is_read_only() {
    let Some(mut packaged) = standalone() else { return };
    packaged.write(&format!("etc/systemd/system/{SOCKET}.d/test.conf"), "[Socket]\nReadOnlyPaths=/etc\n");
    packaged.node.machine.reboot();
    comes_up(&packaged);
}

#[test]
fn a_socket_that_failed_is_started_again_under_a_running_agent() {
    let Some(mut packaged) = standalone() else { return };
    packaged.node.machine.reboot();
    comes_up(&packaged);
    packaged.systemctl(&["stop", SOCKET]);
    comes_up(&packaged);
}
