//! What is to be done about the OSImageStream, by whoever owns it.

use super::ownership::RELEASE_IMAGE;
use crate::objects::{OSImageStream, OSImageStreamStatus};

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// The streams have to be discovered anew.
    Discover {
        /// Why.
        because: &'static str,
    },
    /// Only the default moves: all pools without a choice move with it.
    MoveDefault(OSImageStreamStatus),
    /// The default that is asked for does not exist; the old one stays.
    NoSuchDefault {
        /// The stream that is asked for.
        wanted: String,
    },
    /// Nothing.
    Nothing,
}

/// Decides what is to be done. `release` is the image of the release that the cluster wants.
pub fn upkeep(object: Option<&OSImageStream>, release: &str) -> Upkeep {
    let Some(object) = object else { return Upkeep::Discover { because: "there is no OSImageStream" } };
    let Some(status) = &object.status else { return Upkeep::Discover { because: "it has no status" } };
    if object.metadata.annotations.get(RELEASE_IMAGE).map(String::as_str) != Some(release) {
        return Upkeep::Discover { because: "it is not of the release that the cluster wants" };
    }
    let wanted = &object.spec.default_stream;
    if wanted.is_empty() || *wanted == status.default_stream {
        return Upkeep::Nothing;
    }
    match status.set(wanted) {
        Some(_) => Upkeep::MoveDefault(OSImageStreamStatus { default_stream: wanted.clone(), ..status.clone() }),
        None => Upkeep::NoSuchDefault { wanted: wanted.clone() },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn decided(annotation: &str, spec: &str, status: Value) -> Upkeep {
        let object = json!({
            "metadata": {"annotations": {RELEASE_IMAGE: annotation}}, "spec": {"defaultStream": spec}, "status": status,
        });
        upkeep(Some(&serde_json::from_value(object).unwrap()), "release")
    }

    #[test]
    fn streams_are_discovered_for_a_new_release_and_a_new_default_moves_alone() {
        let status = json!({"availableStreams": [{"name": "a"}, {"name": "b"}], "defaultStream": "a"});
        assert!(matches!(upkeep(None, "release"), Upkeep::Discover { .. }));
        assert!(matches!(decided("release", "a", Value::Null), Upkeep::Discover { .. }));
        assert!(matches!(decided("older", "a", status.clone()), Upkeep::Discover { .. }));
        assert_eq!(decided("release", "a", status.clone()), Upkeep::Nothing);
        assert_eq!(decided("release", "", status.clone()), Upkeep::Nothing);
        assert_eq!(decided("release", "c", status.clone()), Upkeep::NoSuchDefault { wanted: "c".to_owned() });
        let Upkeep::MoveDefault(moved) = decided("release", "b", status) else { panic!("it moves") };
        assert_eq!((moved.default_stream.as_str(), moved.available_streams.len()), ("b", 2));
    }
}
