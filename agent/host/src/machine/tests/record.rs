//! The mode of the files that hold a whole configuration, with its secrets.

use ostler_core::machine_config::set_hosted_hash;
use serde_json::json;

use super::*;
use crate::disk::{Attributes, Disk, RootPath};
use crate::machine::place::{CURRENT_CONFIG, CURRENT_IMAGE, HOSTED_CONFIG, KEPT_BASE};

fn document(name: &str) -> Value {
    let files = json!([{"path": "/etc/motd", "contents": {"source": format!("data:,{name}")}}]);
    json!({"kind": "MachineConfig", "metadata": {"name": name},
        "spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": files}}}})
}

fn plain(name: &str) -> Recorded {
    Recorded::from_document(document(name)).unwrap()
}

fn hosted(name: &str) -> Recorded {
    let mut document = document(name);
    set_hosted_hash(&mut document, Some(name));
    Recorded::from_document(document).unwrap()
}

fn mode(disk: &MemoryDisk, path: &str) -> u32 {
    disk.stat(&RootPath::new(path).unwrap()).unwrap().unwrap().mode
}

fn set_mode(disk: &MemoryDisk, path: &str, mode: u32) {
    disk.set_attributes(&RootPath::new(path).unwrap(), Attributes { mode, uid: 0, gid: 0 }).unwrap();
}

#[test]
fn a_record_of_a_configuration_is_readable_by_root_alone() {
    for (path, config) in [(CURRENT_CONFIG, plain("1f")), (HOSTED_CONFIG, hosted("1f"))] {
        let disk = fresh();
        apply(&disk, &config).unwrap().unwrap();
        assert_eq!(mode(&disk, path), 0o600, "{path}");
    }
    let disk = fresh();
    apply(&disk, &plain("a")).unwrap().unwrap();
    assert_eq!(mode(&disk, CURRENT_IMAGE), 0o644);
    assert!(open(&disk).unwrap().keep_base(&plain("a")).unwrap());
    assert_eq!(mode(&disk, KEPT_BASE), 0o600);
}

#[test]
fn a_record_that_others_may_read_is_no_drift_and_is_tightened_by_the_next_write_and_its_undo() {
    for (path, make) in [(CURRENT_CONFIG, plain as fn(&str) -> Recorded), (HOSTED_CONFIG, hosted)] {
        for (found, left) in [(0o644, 0o600), (0o666, 0o600), (0o640, 0o600), (0o600, 0o600), (0o400, 0o400)] {
            let disk = fresh();
            apply(&disk, &make("a")).unwrap().unwrap();
            set_mode(&disk, path, found);
            assert_eq!(open(&disk).unwrap().drift().unwrap(), Vec::new());
            apply(&disk, &make("b")).unwrap().unwrap();
            assert_eq!(mode(&disk, path), left, "{path} {found:o}");
            set_mode(&disk, path, found);
            let machine = open(&disk).unwrap();
            let proposal = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
            transaction::run(&machine, &proposal, &mut |_| {}).unwrap();
            assert_eq!(mode(&disk, path), left, "{path} {found:o}, back");
        }
    }
}
