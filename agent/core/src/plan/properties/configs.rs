//! Pairs of MachineConfigs such as a cluster could ask for: mostly alike, mostly acceptable, secrets in every place.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use crate::desired::{Desired, Rules};
use crate::disruption::Policies;
use crate::machine_config::MachineConfig;
use crate::observed::Observed;
use crate::reconcile::Overrides;

/// Part of every secret that is put into a config.
pub(super) const CANARY: &str = "C4N4RY";

const PATHS: &[&str] = &[
    "/etc/motd",
    "/etc/chrony.conf",
    "/etc/kubernetes/kubelet-ca.crt",
    "/etc/docker/certs.d/example.com/ca.crt",
    "/etc/containers/registries.conf",
    "/etc/containers/registries.d/a.yaml",
    "/etc/systemd/system/crio.service.d/10-env.conf",
    "/var/lib/kubelet/config.json",
];
const UNITS: &[&str] = &["crio.service", "tune.service", "tune@.service", "iri-registry.service"];
const DROPINS: &[&str] = &["10-env.conf", "20-limits.conf"];

fn maybe(probability: f64, value: Value) -> BoxedStrategy<Value> {
    weighted(probability, Just(value)).prop_map(|value| value.unwrap_or(Value::Null)).boxed()
}

/// Text of a file: comments are read as registries, as long as they are TOML.
fn source() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0..3_u8).prop_map(|n| format!("data:,%23%20{CANARY}%20{n}%0A")),
        2 => (0..3_u8).prop_map(|n| format!("data:,unqualified-search-registries%20=%20%5B%22r{n}%22%5D%0A%23%20{CANARY}")),
        1 => Just(format!("data:;base64,{}", "QzROLTRSWQ==")),
    ]
}

fn file() -> impl Strategy<Value = Value> {
    let owner = of(prop_oneof![Just(json!({"id": 7})), Just(json!({"name": "app"}))]);
    (weighted(0.9, source()), of(select(vec![0o600, 0o644, 0o755])), owner, any::<Option<bool>>()).prop_map(
        |(source, mode, user, overwrite)| json!({"contents": {"source": source}, "mode": mode, "user": user, "overwrite": overwrite}),
    )
}

fn named(key: &str, items: BTreeMap<&str, Value>, reversed: bool) -> Value {
    let item = |(name, mut item): (&str, Value)| {
        item[key] = json!(name);
        item
    };
    let mut items: Vec<Value> = items.into_iter().map(item).collect();
    if reversed {
        items.reverse();
    }
    Value::from(items)
}

fn files() -> impl Strategy<Value = Value> {
    (btree_map(select(PATHS), file(), 0..5), any::<bool>()).prop_map(|(files, reversed)| named("path", files, reversed))
}

fn text() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        Just(None),
        Just(Some(String::new())),
        (0..3_u8).prop_map(|n| Some(format!("[Unit]\nDescription={CANARY} {n}\n")))
    ]
}

fn unit() -> impl Strategy<Value = Value> {
    let dropin = text().prop_map(|contents| json!({"contents": contents}));
    let dropins = btree_map(select(DROPINS), dropin, 0..3);
    (any::<Option<bool>>(), any::<Option<bool>>(), text(), dropins).prop_map(|(enabled, mask, contents, dropins)| {
        json!({"enabled": enabled, "mask": mask, "contents": contents, "dropins": named("name", dropins, false)})
    })
}

fn units() -> impl Strategy<Value = Value> {
    (btree_map(select(UNITS), unit(), 0..4), any::<bool>()).prop_map(|(units, reversed)| named("name", units, reversed))
}

fn passwd() -> impl Strategy<Value = Value> {
    let keys = vec((0..3_u8).prop_map(|n| format!("ssh-ed25519 {CANARY}{n}")), 0..3);
    let hash = of((0..2_u8).prop_map(|n| format!("$6${CANARY}{n}")));
    let user = (keys, hash, maybe(0.05, json!("/bin/zsh")), maybe(0.05, json!("alice"))).prop_map(
        |(keys, hash, shell, name)| {
            let name = if name.is_null() { json!("core") } else { name };
            json!({"name": name, "sshAuthorizedKeys": keys, "passwordHash": hash, "shell": shell})
        },
    );
    (of(user), maybe(0.05, json!([{"name": "app"}])))
        .prop_map(|(user, groups)| json!({"users": user.into_iter().collect::<Vec<_>>(), "groups": groups}))
}

/// Sections that only an installation applies; rare, because most changes of them are refused.
fn install_time() -> impl Strategy<Value = Value> {
    let disk = json!([{"device": "/dev/sdb", "partitions": [{"number": 1, "label": "var"}]}]);
    let luks = json!([{"name": "data", "device": "/dev/sdc", "keyFile": {"source": format!("data:,{CANARY}")}}]);
    (
        maybe(0.1, disk),
        maybe(0.1, json!([{"name": "md0", "level": "raid1", "devices": ["/dev/sdd", "/dev/sde"]}])),
        maybe(0.1, json!([{"device": "/dev/sdb1", "format": "xfs", "path": "/var"}])),
        maybe(0.2, luks),
        maybe(0.05, json!([{"path": "/srv"}])),
        maybe(0.05, json!([{"path": "/etc/localtime", "target": "/usr/share/zoneinfo/UTC"}])),
    )
        .prop_map(|(disks, raid, filesystems, luks, directories, links)| {
            json!({"disks": disks, "raid": raid, "filesystems": filesystems, "luks": luks,
                "directories": directories, "links": links})
        })
}

/// Everything outside of the Ignition config.
fn os() -> impl Strategy<Value = Value> {
    let kargs = vec(select(vec!["a=1", "b=2", "a=1 b=2", "d=\"x y\""]), 0..3);
    let extensions = subsequence(vec!["usbguard", "kerberos", "sysstat"], 0..3);
    let kernel = select(vec!["", "default", "realtime"]);
    (0..2_u8, kargs, extensions, kernel, maybe(0.03, json!(true))).prop_map(
        |(image, kargs, extensions, kernel, fips)| {
            let fips = fips == json!(true);
            json!({"osImageURL": format!("registry.example/os:{image}"), "kernelArguments": kargs, "extensions": extensions,
            "kernelType": kernel, "fips": fips})
        },
    )
}

/// The parts of a config that change independently of each other.
fn parts() -> impl Strategy<Value = [Value; 5]> {
    (os(), files(), units(), passwd(), install_time())
        .prop_map(|(os, files, units, passwd, storage)| [os, files, units, passwd, storage])
}

fn assemble(name: &str, [mut spec, files, units, passwd, mut storage]: [Value; 5]) -> MachineConfig {
    storage["files"] = files;
    spec["config"] = json!({
        "ignition": {"version": "3.5.0"}, "storage": storage, "systemd": {"units": units}, "passwd": passwd,
    });
    MachineConfig::from_document(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

/// One config.
pub(super) fn config() -> impl Strategy<Value = MachineConfig> {
    parts().prop_map(|parts| assemble("rendered-a", parts))
}

fn rules() -> impl Strategy<Value = Rules> {
    prop_oneof![2 => Just(Rules::Policies(Policies::default())), 1 => Just(Rules::FirstBoot)]
}

fn overrides() -> impl Strategy<Value = Overrides> {
    any::<[bool; 3]>().prop_map(|[disks, filesystems, raid]| Overrides { disks, filesystems, raid })
}

/// A machine and what it is asked to become: each part is replaced or stays.
pub(super) fn request() -> impl Strategy<Value = (Observed, Desired)> {
    let storage_changes = prop::bool::weighted(0.3);
    let forced = prop::bool::weighted(0.1);
    (parts(), parts(), any::<[bool; 4]>(), storage_changes, (rules(), overrides(), forced)).prop_map(
        |(old, new, [os, files, units, passwd], storage, (rules, overrides, forced))| {
            let changes = [os, files, units, passwd, storage];
            let mut target = old.clone();
            for ((part, new), _) in target.iter_mut().zip(new).zip(changes).filter(|(_, changes)| *changes) {
                *part = new;
            }
            let observed = Observed { forced, ..Observed::configured(assemble("rendered-a", old)) };
            (observed, Desired { target: assemble("rendered-b", target).into(), overrides, rules })
        },
    )
}
