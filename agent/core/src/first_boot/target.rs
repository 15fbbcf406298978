//! What a machine is to be brought into at its first boot, from the two files that its installation left.

use serde_json::Value;

use crate::ignition::ParseError;
use crate::machine_config::{ConfigError, MachineConfig};

/// Ends the name of a configuration of which only the operating system is known. It is another one than the one of that
/// name: nobody must take a machine for being in that.
const WITHOUT_FILES: &str = "-without-files";

/// What to bring the machine into, and what is worth knowing of that.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The MachineConfig.
    pub document: Value,
    /// Its name.
    pub name: String,
    /// What of the files could not be used.
    pub complaint: Option<String>,
}

/// A file that the installation left.
#[derive(Clone, Debug)]
pub struct Left {
    /// Where it is, for those who have to look at it.
    pub path: String,
    /// What is in it, or why that cannot be read.
    pub document: Result<Value, String>,
}

impl Left {
    /// The configuration in it and its name. Causes may quote the file, so they are not told.
    fn named(self) -> Result<(String, Value), String> {
        let document = self.document?;
        match MachineConfig::from_document(document.clone()).and_then(MachineConfig::wanted) {
            Ok(config) if config.name.is_empty() => Err(format!("{}: the MachineConfig has no name", self.path)),
            Ok(config) => Ok((config.name, document)),
            Err(error @ ConfigError::Ignition { source: ParseError::Empty, .. }) => {
                Err(format!("{}: {error}: {}", self.path, ParseError::Empty))
            }
            Err(error) => Err(format!("{}: {error}", self.path)),
        }
    }
}

/// Takes the configuration that was served, which is whole. Where it is of no use, `encapsulated` still says which
/// operating system is wanted: it is the same without an Ignition config.
pub fn target(served: Left, encapsulated: Left) -> Result<Target, String> {
    let (served, encapsulated) = (served.named(), encapsulated.named());
    match (served, encapsulated) {
        (Ok((name, _)), Ok((other, _))) if name != other => {
            Err(format!("the machine was installed with {name}, and is to complete its first boot in {other}"))
        }
        (Ok((name, document)), encapsulated) => Ok(Target { document, name, complaint: encapsulated.err() }),
        (Err(complaint), Ok((name, document))) => {
            let name = format!("{name}{WITHOUT_FILES}");
            Ok(Target { document: renamed(document, &name), name, complaint: Some(complaint) })
        }
        (Err(served), Err(encapsulated)) => Err(format!("{served}; {encapsulated}")),
    }
}

fn renamed(mut document: Value, name: &str) -> Value {
    if let Some(slot) = document.pointer_mut("/metadata/name") {
        *slot = Value::from(name);
    }
    document
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(name: &str, files: bool) -> Value {
        let files = if files { json!([{"path": "/etc/motd", "contents": {"source": "data:,x"}}]) } else { json!([]) };
        json!({"metadata": {"name": name}, "spec": {
            "osImageURL": "os", "config": {"ignition": {"version": "3.5.0"}, "storage": {"files": files}},
        }})
    }

    fn empty(name: &str) -> Value {
        json!({"metadata": {"name": name}, "spec": {"osImageURL": "os", "config": {}}})
    }

    fn left(path: &str, document: Result<Value, &str>) -> Left {
        Left { path: path.to_owned(), document: document.map_err(str::to_owned) }
    }

    fn of(served: Result<Value, &str>, encapsulated: Result<Value, &str>) -> Result<Target, String> {
        target(left("/served", served), left("/encapsulated", encapsulated))
    }

    #[test]
    fn the_served_configuration_is_taken_and_one_without_files_never_under_its_name() {
        let whole = of(Ok(config("a", true)), Ok(config("a", false))).unwrap();
        assert_eq!((whole.document, whole.complaint), (config("a", true), None));
        let alone = of(Ok(config("a", true)), Err("lost")).unwrap();
        assert_eq!((alone.name.as_str(), alone.complaint), ("a", Some("lost".to_owned())));
        let bare = of(Err("lost"), Ok(config("a", false))).unwrap();
        assert_eq!((bare.name.as_str(), &bare.document), ("a-without-files", &config("a-without-files", false)));
        let emptied = of(Ok(empty("a")), Ok(config("a", false))).unwrap();
        assert_eq!(emptied.name, "a-without-files");
        assert!(emptied.complaint.unwrap().contains("spec.config is empty"));
        for (served, encapsulated) in [
            (Err("lost"), Err("lost")),
            (Ok(config("a", true)), Ok(config("b", false))),
            (Ok(json!([])), Ok(json!({"metadata": {}, "spec": {}}))),
            (Ok(empty("a")), Ok(empty("a"))),
        ] {
            assert!(of(served, encapsulated).is_err());
        }
    }

    #[test]
    fn a_file_of_no_use_is_named() {
        for useless in [json!([]), config("", true)] {
            let complaint = of(Ok(config("a", true)), Ok(useless)).unwrap().complaint.unwrap();
            assert!(complaint.starts_with("/encapsulated: "), "{complaint}");
        }
    }
}
