//! Which stream pools get that choose none.

use std::fmt;

use super::version::Version;
use crate::objects::{OSImageStream, StreamSet};

/// Whose releases they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// OpenShift, on RHEL.
    #[default]
    Ocp,
    /// OKD, on CentOS Stream.
    Okd,
}

/// Why a stream is the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultReason {
    /// The object asks for it.
    Spec,
    /// It has been the default.
    Status,
    /// There is no other.
    Only,
    /// The release that was installed had it.
    Installed(Version),
    /// Nobody knows which release was installed, so it is that of new ones.
    Newest,
    /// OKD has no other.
    Okd,
}

impl fmt::Display for DefaultReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec => formatter.write_str("spec.defaultStream of the OSImageStream asks for it"),
            Self::Status => formatter.write_str("it is status.defaultStream of the OSImageStream"),
            Self::Only => formatter.write_str("there is no other stream"),
            Self::Installed(version) => write!(formatter, "the cluster was installed with {version}"),
            Self::Newest => formatter.write_str("no install version is known; give --install-version if there is one"),
            Self::Okd => formatter.write_str("OKD has no other"),
        }
    }
}

/// The stream that is to be the default, which need not be there, and why.
pub(super) fn wanted(
    streams: &[StreamSet],
    existing: Option<&OSImageStream>,
    installed: Option<&Version>,
    flavour: Flavour,
) -> (String, DefaultReason) {
    let of_spec = existing.map(|object| object.spec.default_stream.as_str()).unwrap_or_default();
    let of_status = existing.and_then(|object| object.status.as_ref()).map(|status| status.default_stream.as_str());
    match (of_spec, of_status.unwrap_or_default(), streams) {
        ("", "", [only]) => (only.name.clone(), DefaultReason::Only),
        ("", "", _) => builtin(installed, flavour),
        ("", of_status, _) => (of_status.to_owned(), DefaultReason::Status),
        (of_spec, _, _) => (of_spec.to_owned(), DefaultReason::Spec),
    }
}

/// Without an install version the release of the program itself would decide; ours is of no OpenShift 4.
fn builtin(installed: Option<&Version>, flavour: Flavour) -> (String, DefaultReason) {
    match (flavour, installed) {
        (Flavour::Okd, _) => ("centos-10".to_owned(), DefaultReason::Okd),
        (Flavour::Ocp, None) => ("rhel-10".to_owned(), DefaultReason::Newest),
        (Flavour::Ocp, Some(version)) => {
            let stream = if version.major() == 4 { "rhel-9" } else { "rhel-10" };
            (stream.to_owned(), DefaultReason::Installed(version.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn default(names: &[&str], existing: Option<(&str, &str)>, installed: Option<&str>, flavour: Flavour) -> String {
        let set = |name: &&str| StreamSet { name: (*name).to_owned(), ..StreamSet::default() };
        let streams: Vec<StreamSet> = names.iter().map(set).collect();
        let object = existing.map(|(spec, status)| {
            serde_json::from_value(json!({"spec": {"defaultStream": spec}, "status": {"defaultStream": status}}))
                .unwrap()
        });
        let installed = installed.map(|text| Version::parse(text).unwrap());
        wanted(&streams, object.as_ref(), installed.as_ref(), flavour).0
    }

    #[test]
    fn the_first_rule_that_says_something_decides() {
        use Flavour::{Ocp, Okd};
        let both = ["rhel-10", "rhel-9"];
        for (names, existing, installed, flavour, expected) in [
            (&both[..], Some(("rhel-10", "rhel-9")), Some("4.20.0"), Ocp, "rhel-10"),
            (&both, Some(("", "rhel-10")), Some("4.20.0"), Ocp, "rhel-10"),
            (&both, Some(("", "")), Some("4.20.0"), Ocp, "rhel-9"),
            (&both, None, Some("4.20.0"), Ocp, "rhel-9"),
            (&both, None, Some("5.0.0"), Ocp, "rhel-10"),
            (&both, None, Some("3.11.0"), Ocp, "rhel-10"),
            (&both, None, None, Ocp, "rhel-10"),
            (&both, None, Some("4.20.0"), Okd, "centos-10"),
            (&["odd"], None, Some("4.20.0"), Ocp, "odd"),
            (&["odd"], Some(("gone", "")), Some("4.20.0"), Ocp, "gone"),
            (&["odd"], Some(("", "gone")), None, Ocp, "gone"),
        ] {
            assert_eq!(default(names, existing, installed, flavour), expected, "{names:?} {existing:?} {installed:?}");
        }
    }
}
