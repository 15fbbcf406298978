use serde_json::json;

use super::*;

fn policy() -> Policy {
    Policy::from_document(json!({"streams": [
        {"name": "rhel-9", "deprecatedIn": "5.1", "blockedIn": "5.2", "removedIn": "5.3", "successor": "rhel-10"},
        {"name": "odd", "blockedIn": "5.0"},
    ]}))
    .unwrap()
}

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

#[test]
fn a_stream_is_warned_of_then_blocked() {
    let policy = policy();
    for (stream, release, deprecated, blocked) in [
        ("rhel-9", "5.0.9", false, false),
        ("rhel-9", "5.1.0-rc.1", true, false),
        ("rhel-9", "5.2.7", true, true),
        ("rhel-9", "6.0.0", true, true),
        ("rhel-10", "6.0.0", false, false),
        ("odd", "4.99.0", false, false),
        ("odd", "5.0.0", true, true),
    ] {
        let release_version = version(release);
        let of_pool = pool_condition(&policy, stream, &release_version);
        assert_eq!(of_pool.is_true(), deprecated, "{stream} {release}");
        let of_cluster = upgrade_condition(&policy, &[("worker".into(), stream.into())], &release_version);
        assert_eq!(of_cluster.is_true(), !blocked, "{stream} {release}");
    }
}

#[test]
fn conditions_name_pools_streams_and_where_to_go() {
    let of_pool = pool_condition(&policy(), "rhel-9", &version("5.1.0"));
    assert_eq!((of_pool.type_.as_str(), of_pool.reason.as_str()), ("OSStreamDeprecated", "StreamEndOfLife"));
    assert_eq!(
        of_pool.message,
        "Stream 'rhel-9' is deprecated and goes away with release 5.3. Migrate to 'rhel-10' before upgrading."
    );
    let pools = [("infra".to_owned(), "odd".to_owned()), ("worker".to_owned(), "rhel-9".to_owned())];
    let of_cluster = upgrade_condition(&policy(), &pools, &version("5.2.0"));
    assert_eq!((of_cluster.type_.as_str(), of_cluster.reason.as_str()), ("Upgradeable", "DeprecatedOSStreamInUse"));
    for words in ["Cannot upgrade: ", "'infra'", "'odd'", "to another stream", "'worker'", "'rhel-9'", "'rhel-10'"] {
        assert!(of_cluster.message.contains(words), "{words}: {}", of_cluster.message);
    }
}

#[test]
fn what_is_no_policy_is_refused() {
    let many: Vec<_> = (0..101).map(|number| json!({"name": number.to_string()})).collect();
    for (document, words) in [
        (json!([]), "malformed"),
        (json!({}), "malformed"),
        (json!({"streams": [{"name": "a", "removed": "5.0"}]}), "malformed"),
        (json!({"streams": [{"name": "a"}, {"name": "a"}]}), "twice"),
        (json!({"streams": [{"name": "a", "removedIn": "soon"}]}), "stream a has a release"),
        (json!({"streams": many}), "more than 100"),
    ] {
        let error = Policy::from_document(document).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
