//! State directories of a machine-config-daemon, made by hand from what is known of its files.
#![allow(dead_code, reason = "every proof takes what it needs of it")]

use std::fs;

use serde_json::{Value, json};

use super::sandbox::{Sandbox, file};

pub const DIRECTORY: &str = "/etc/machine-config-daemon";
pub const CURRENT_CONFIG: &str = "/etc/machine-config-daemon/currentconfig";
pub const CURRENT_IMAGE: &str = "/etc/machine-config-daemon/currentimage";
pub const NODE_ANNOTATIONS: &str = "/etc/machine-config-daemon/node-annotations.json";
pub const NODE_ANNOTATIONS_DONE: &str = "/etc/machine-config-daemon/node-annotation.json.bak";
pub const SERVED: &str = "/etc/mcs-machine-config-content.json";
pub const ENCAPSULATED: &str = "/etc/ignition-machine-config-encapsulated.json";
pub const PRESET: &str = "/etc/systemd/system-preset/20-ignition.preset";
/// Files whose change takes neither a drain nor a restart.
pub const QUIET: &str = "/var/lib/kubelet/config.json";
pub const OTHER: &str = "/etc/containers/registries.d/site.yaml";

/// A rendered configuration as a cluster has it, with one file of each text.
pub fn rendered(name: &str, files: &[(&str, &str)]) -> Value {
    let files: Vec<Value> = files.iter().map(|(path, text)| file(path, text)).collect();
    let unit = json!({"name": "site.service", "enabled": false, "contents": "[Unit]\nDescription=<site> & more\n"});
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {
            "name": name, "uid": "5a4b", "resourceVersion": "77", "generation": 1,
            "creationTimestamp": "2026-10-01T10:00:00Z",
            "annotations": {"machineconfiguration.openshift.io/generated-by-controller-version": "abc"},
            "ownerReferences": [{
                "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "name": "worker",
                "uid": "1f", "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "osImageURL": "", "baseOSExtensionsContainerImage": "",
            "config": {"ignition": {"version": "3.5.0"}, "storage": {"files": files}, "systemd": {"units": [unit]}},
            "kernelArguments": [], "extensions": [], "fips": false, "kernelType": "default",
        },
    })
}

/// The text that Go's encoder makes of it, spelled out: this is the witness, and not what Ostler would make of it.
pub fn as_go_writes(name: &str, files: &[(&str, &str)]) -> String {
    let files: Vec<String> = files
        .iter()
        .map(|(path, text)| {
            format!(
                "{{\"contents\":{{\"source\":\"data:;base64,{}\"}},\"mode\":420,\"overwrite\":true,\"path\":\"{path}\"}}",
                super::sandbox::base64(text)
            )
        })
        .collect();
    format!(
        "{{\"metadata\":{{\"name\":\"{name}\",\"uid\":\"5a4b\",\"resourceVersion\":\"77\",\"generation\":1,\
         \"creationTimestamp\":\"2026-10-01T10:00:00Z\",\"annotations\":{{\
         \"machineconfiguration.openshift.io/generated-by-controller-version\":\"abc\"}},\"ownerReferences\":[{{\
         \"apiVersion\":\"machineconfiguration.openshift.io/v1\",\"kind\":\"MachineConfigPool\",\"name\":\"worker\",\
         \"uid\":\"1f\",\"controller\":true,\"blockOwnerDeletion\":true}}]}},\"spec\":{{\"osImageURL\":\"\",\
         \"baseOSExtensionsContainerImage\":\"\",\"config\":{{\"ignition\":{{\"version\":\"3.5.0\"}},\
         \"storage\":{{\"files\":[{}]}},\"systemd\":{{\"units\":[{{\
         \"contents\":\"[Unit]\\nDescription=\\u003csite\\u003e \\u0026 more\\n\",\"enabled\":false,\
         \"name\":\"site.service\"}}]}}}},\"kernelArguments\":[],\"extensions\":[],\"fips\":false,\
         \"kernelType\":\"default\"}}}}",
        files.join(",")
    )
}

/// What the daemon leaves on a node that it has brought into a configuration.
pub fn settled(sandbox: &Sandbox, name: &str, files: &[(&str, &str)]) {
    for (path, text) in files {
        sandbox.write(path, text);
        sandbox.write(&format!("{DIRECTORY}/noorig{path}.mcdnoorig"), "");
    }
    sandbox.write("/etc/systemd/system/site.service", "[Unit]\nDescription=<site> & more\n");
    sandbox.write(CURRENT_CONFIG, as_go_writes(name, files));
    sandbox.write(CURRENT_IMAGE, "");
    sandbox.write(SERVED, serde_json::to_string_pretty(&rendered("rendered-0", &[])).unwrap());
}

/// What an installer leaves, with the first boot completed as the daemon does it: a record without contents.
pub fn installed(sandbox: &Sandbox, name: &str, files: &[(&str, &str)]) {
    settled(sandbox, name, files);
    sandbox.write(SERVED, serde_json::to_string_pretty(&rendered(name, files)).unwrap());
    let mut empty = rendered(name, files);
    empty["spec"]["config"] = json!({"ignition": {"version": "3.5.0"}});
    sandbox.write(CURRENT_CONFIG, empty.to_string());
    fs::remove_dir_all(sandbox.path(&format!("{DIRECTORY}/noorig"))).unwrap();
    sandbox.write(NODE_ANNOTATIONS, introduction(name));
    sandbox.write(ENCAPSULATED, "{}");
    sandbox.write(PRESET, "enable site.service\n");
}

/// What a node is introduced to its cluster with.
pub fn introduction(name: &str) -> String {
    let key = |key: &str| format!("machineconfiguration.openshift.io/{key}");
    json!({
        key("currentConfig"): name, key("desiredConfig"): name, key("firstPivotConfig"): name, key("state"): "Done",
    })
    .to_string()
}
