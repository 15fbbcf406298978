//! SELinux labels by the machine's own policy.

use serde_json::json;

use super::*;

const CONTEXTS: &str = "\
/etc(/.*)?\tsystem_u:object_r:etc_t:s0
/etc/chrony\\.conf\t--\tsystem_u:object_r:chronyd_conf_t:s0
/home/[^/]+/\\.ssh(/.*)?\tsystem_u:object_r:ssh_home_t:s0
";

fn enforcing() -> MemoryDisk {
    let disk = fresh();
    for (path, contents) in [
        ("/etc/selinux/config", "SELINUX=enforcing\nSELINUXTYPE=targeted\n"),
        ("/etc/selinux/targeted/contexts/files/file_contexts", CONTEXTS),
    ] {
        let attributes = crate::disk::Attributes { mode: 0o644, uid: 0, gid: 0 };
        disk.put(&crate::disk::RootPath::new(path).unwrap(), contents.as_bytes(), attributes).unwrap();
    }
    disk
}

fn label(disk: &MemoryDisk, path: &str) -> Option<String> {
    match disk.tree().get(path) {
        Some(Node::File { label, .. } | Node::Directory { label, .. }) => label.clone(),
        _ => None,
    }
}

#[test]
fn files_are_born_with_the_label_of_the_machines_policy() {
    let disk = enforcing();
    let target = json!({
        "storage": {"files": [{"path": "/etc/chrony.conf"}, {"path": "/etc/a/b"}, {"path": "/opt/c"}]},
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-rsa a"]}]},
    });
    apply(&disk, &config("rendered-1", target)).unwrap();
    let named = |name: &str| Some(format!("system_u:object_r:{name}:s0"));
    for (path, expected) in [
        ("/etc/chrony.conf", named("chronyd_conf_t")),
        ("/etc/a/b", named("etc_t")),
        ("/opt/c", None),
        ("/home/core/.ssh", named("ssh_home_t")),
        ("/home/core/.ssh/authorized_keys.d/ignition", named("ssh_home_t")),
        ("/etc/machine-config-daemon/currentconfig", named("etc_t")),
    ] {
        assert_eq!(label(&disk, path), expected, "{path}");
    }
}

#[test]
fn a_machine_without_a_policy_gets_no_labels() {
    let disk = fresh();
    apply(&disk, &config("rendered-1", json!({"storage": {"files": [{"path": "/etc/chrony.conf"}]}}))).unwrap();
    assert_eq!(label(&disk, "/etc/chrony.conf"), None);
}
