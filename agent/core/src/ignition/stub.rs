//! The config that a new machine starts with, raised to the version that boot images of today read.
//!
//! Owns the version, and nothing else: the conversion is the one for MachineConfigs.

use serde_json::Value;

use super::{ParseError, Source};

/// The version that configs of spec 2 are raised to, as the machine-config operator does it.
pub const STUB_VERSION: &str = "3.5.0";

/// Raises a config of spec 2. What comes out uses nothing that is newer than the version it claims.
pub fn raise_stub(config: Value) -> Result<Value, ParseError> {
    let version = super::version(&config)?;
    if !version.starts_with("2.") {
        return Err(ParseError::UnsupportedVersion { version: version.chars().take(32).collect() });
    }
    let Source(mut raised) = Source::parse(config)?;
    raised.ignition.version = STUB_VERSION.to_owned();
    let mut raised = serde_json::to_value(raised).map_err(|_| ParseError::NotAnObject)?;
    drop_nulls(&mut raised);
    Ok(raised)
}

/// Some of the types write what is absent as null; the operator leaves it out. They are as deep as the spec is.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_of_spec_2_is_raised_and_keeps_where_it_points() {
        let pointer = json!({
            "ignition": {
                "version": "2.2.0",
                "config": {"append": [{"source": "https://api-int.x:22623/config/worker", "verification": {}}]},
                "security": {"tls": {"certificateAuthorities": [{"source": "data:,ca", "verification": {}}]}},
                "timeouts": {}
            },
            "networkd": {}, "passwd": {}, "storage": {}, "systemd": {}
        });
        let raised = raise_stub(pointer).unwrap();
        assert_eq!(
            raised,
            json!({"ignition": {
                "version": "3.5.0",
                "config": {"merge": [{"source": "https://api-int.x:22623/config/worker"}]},
                "security": {"tls": {"certificateAuthorities": [{"source": "data:,ca"}]}}
            }})
        );
    }

    #[test]
    fn what_is_not_of_spec_2_is_refused() {
        for config in [
            json!({"ignition": {"version": "3.2.0"}}),
            json!({"ignition": {"version": "2.9.0"}}),
            json!({"ignition": {}}),
            json!([]),
        ] {
            assert!(raise_stub(config.clone()).is_err(), "{config}");
        }
    }
}
