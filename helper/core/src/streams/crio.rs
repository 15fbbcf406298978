//! Which container runtime CRI-O uses by default, by the drop-ins in a pool's configurations.
//!
//! RHEL 10 has no `runc`: a pool that would land there with it is not rendered.

use std::collections::BTreeMap;

use ostler_core::ignition::{File, Limits, Source};
use ostler_core::secret::Secret;

use crate::objects::MachineConfig;

/// Where the drop-ins are.
const DROP_INS: &str = "/etc/crio/crio.conf.d/";

/// The runtime, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Its name.
    pub name: String,
    /// The drop-in.
    pub path: String,
    /// The MachineConfig that the drop-in is from.
    pub config: String,
}

/// What could not be read on the way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeTrouble {
    /// The Ignition config of a MachineConfig cannot be read.
    #[error("MachineConfig {config} holds no Ignition config that can be read")]
    Config {
        /// Which.
        config: String,
    },
    /// A drop-in cannot be decoded or is no TOML.
    #[error("{path} of MachineConfig {config} cannot be read")]
    File {
        /// Which.
        path: String,
        /// Whose.
        config: String,
    },
}

/// The default runtime: that of the last drop-in by path that names one. Configurations are given in the order of their
/// merge; the file of a later one replaces that of an earlier one.
pub fn runtime(configs: &[&MachineConfig]) -> (Option<Runtime>, Vec<RuntimeTrouble>) {
    let mut files: BTreeMap<String, (String, File)> = BTreeMap::new();
    let mut troubles = Vec::new();
    for config in configs {
        let name = &config.metadata.name;
        match Source::parse(config.spec.config.expose().clone()) {
            Ok(source) => {
                let drop_ins = source.into_config().files.into_iter().filter(|file| is_drop_in(&file.path));
                files.extend(drop_ins.map(|file| (file.path.clone(), (name.clone(), file))));
            }
            Err(_) => troubles.push(RuntimeTrouble::Config { config: name.clone() }),
        }
    }
    let mut found = None;
    for (path, (config, file)) in files {
        match named(&file) {
            Some(Some(name)) => found = Some(Runtime { name, path, config }),
            Some(None) => {}
            None => troubles.push(RuntimeTrouble::File { path, config }),
        }
    }
    (found, troubles)
}

fn is_drop_in(path: &str) -> bool {
    path.strip_prefix(DROP_INS).is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

/// Nothing where the file cannot be read; inside, nothing where it names no runtime.
fn named(file: &File) -> Option<Option<String>> {
    let contents: Secret<Vec<u8>> = file.contents.decode(Limits::default()).ok()?;
    let text = std::str::from_utf8(contents.expose()).ok()?;
    let table: toml::Table = text.parse().ok()?;
    let runtime =
        table.get("crio").and_then(|crio| crio.get("runtime")).and_then(|runtime| runtime.get("default_runtime"));
    Some(runtime.and_then(toml::Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(name: &str, files: &[(&str, &str)]) -> MachineConfig {
        let file = |(path, text): &(&str, &str)| {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            json!({"path": path, "contents": {"source": format!("data:,{encoded}")}})
        };
        let files: Vec<Value> = files.iter().map(file).collect();
        let ignition = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}});
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"config": ignition}})).unwrap()
    }

    const RUNC: &str = "[crio.runtime]\ndefault_runtime = \"runc\"\n";
    const CRUN: &str = "[crio.runtime]\ndefault_runtime = \"crun\"\n";
    const NONE: &str = "[crio.runtime]\ndefault_runtime = \"\"\nlog_level = \"info\"\n";

    fn found(configs: &[MachineConfig]) -> Option<String> {
        let (runtime, troubles) = runtime(&configs.iter().collect::<Vec<_>>());
        assert_eq!(troubles, []);
        runtime.map(|runtime| runtime.name)
    }

    #[test]
    fn the_last_drop_in_that_names_a_runtime_counts() {
        let at = |name: &str| format!("/etc/crio/crio.conf.d/{name}");
        let (first, second) = (at("00-default"), at("99-runtime"));
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[config("a", &[("/etc/crio/crio.conf", RUNC), (&at("deep/er"), RUNC)])]), None);
        assert_eq!(found(&[config("a", &[(&second, RUNC), (&first, CRUN)])]).as_deref(), Some("runc"));
        assert_eq!(found(&[config("a", &[(&first, RUNC), (&second, NONE)])]).as_deref(), Some("runc"));
        let replaced = [config("a", &[(&second, RUNC)]), config("b", &[(&second, CRUN)])];
        assert_eq!(found(&replaced).as_deref(), Some("crun"));
    }

    #[test]
    fn what_cannot_be_read_is_told_and_shows_nothing_of_it() {
        let broken = config("a", &[("/etc/crio/crio.conf.d/x", "hunter2 = [")]);
        let mut unreadable = config("b", &[]);
        unreadable.spec.config = Secret::new(json!({"ignition": {"version": "9.9.9"}}));
        let (runtime, troubles) = runtime(&[&broken, &unreadable]);
        assert_eq!((runtime, troubles.len()), (None, 2));
        let told: Vec<String> = troubles.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|line| line.contains("MachineConfig b")), "{told:?}");
        assert!(!told.concat().contains("hunter2"));
    }
}
