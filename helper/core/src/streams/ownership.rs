//! Who writes the OSImageStream. Two writers would undo each other's work, so the helper steps back for anybody else.

use crate::objects::Metadata;

/// The release that the streams are of.
pub const RELEASE_IMAGE: &str = "machineconfiguration.openshift.io/release-payload-image";
/// The build of the machine-config controller that wrote the object. Never ours to write: that controller takes no object
/// with another value than its own.
pub const CONTROLLER_HASH: &str = "machineconfiguration.openshift.io/release-image-version";

/// Who writes the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Nobody has written a status: an installer's object, or none at all.
    Free,
    /// We do.
    Ours,
    /// Somebody else does.
    Foreign {
        /// By what it shows.
        evidence: String,
    },
}

/// Looks at who wrote an object. `us` is the name under which the helper applies.
pub fn ownership(object: Option<&Metadata>, us: &str) -> Ownership {
    let Some(metadata) = object else { return Ownership::Free };
    let writes_status =
        |subresource: &str, fields: &serde_json::Value| subresource == "status" || fields.get("f:status").is_some();
    let mut writers = metadata.managed_fields.iter().filter(|entry| writes_status(&entry.subresource, &entry.fields));
    if let Some(other) = writers.clone().find(|entry| entry.manager != us) {
        return Ownership::Foreign { evidence: format!("its status is written by {:?}", other.manager) };
    }
    if writers.next().is_some() {
        return Ownership::Ours;
    }
    match metadata.annotations.get(CONTROLLER_HASH) {
        Some(_) => Ownership::Foreign { evidence: format!("it has the annotation {CONTROLLER_HASH}") },
        None => Ownership::Free,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whoever_writes_the_status_owns_the_object() {
        let entry = |manager: &str, subresource: &str, fields: serde_json::Value| json!({"manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": fields});
        let foreign = |object: serde_json::Value| {
            let metadata: Metadata = serde_json::from_value(object).unwrap();
            ownership(Some(&metadata), "us")
        };
        let is_foreign = |ownership: &Ownership| matches!(ownership, Ownership::Foreign { .. });
        assert_eq!(ownership(None, "us"), Ownership::Free);
        assert_eq!(foreign(json!({"managedFields": [entry("installer", "", json!({"f:spec": {}}))]})), Ownership::Free);
        assert_eq!(foreign(json!({"managedFields": [entry("us", "status", json!({}))]})), Ownership::Ours);
        // Old servers do not tell the subresource.
        assert_eq!(foreign(json!({"managedFields": [entry("us", "", json!({"f:status": {}}))]})), Ownership::Ours);
        let both = json!({"managedFields": [entry("us", "status", json!({})), entry("mcc", "status", json!({}))]});
        assert!(is_foreign(&foreign(both)));
        assert!(is_foreign(&foreign(json!({"annotations": {CONTROLLER_HASH: "abc"}}))));
        let noted =
            json!({"annotations": {CONTROLLER_HASH: "abc"}, "managedFields": [entry("us", "status", json!({}))]});
        assert_eq!(foreign(noted), Ownership::Ours);
    }
}
