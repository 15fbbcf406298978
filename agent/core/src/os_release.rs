//! Which operating system a node runs, from the text of its os-release file.
//!
//! Owns the file format and the rules that tell RHEL CoreOS, CentOS Stream CoreOS and Fedora CoreOS apart. Refuses to
//! decide what differs between them.

use std::collections::BTreeMap;

/// The facts of an os-release file that Ostler uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsRelease {
    /// `ID`.
    pub id: String,
    /// `VARIANT_ID`.
    pub variant_id: String,
    /// The version of the base system: `9.6` on an RHCOS whose own version is `418.94.2025…`.
    pub base_version: String,
}

/// The kinds of operating system Ostler manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// RHEL CoreOS, with the major version of its RHEL where it can be read.
    Rhcos(Option<u32>),
    /// CentOS Stream CoreOS, with the major version of its CentOS Stream where it can be read.
    Scos(Option<u32>),
    /// Fedora CoreOS.
    Fcos,
    /// Anything else: files and units are managed, the operating system is not.
    Other,
}

impl OsRelease {
    /// Reads the file's text. Lines that are no assignment are skipped, as every reader of this file does.
    pub fn parse(text: &str) -> Self {
        let fields: BTreeMap<&str, String> = text.lines().filter_map(assignment).collect();
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        Self { id: field("ID"), variant_id: field("VARIANT_ID"), base_version: base_version(&fields) }
    }

    /// What kind of system this is.
    pub fn family(&self) -> Family {
        match (self.id.as_str(), self.variant_id.as_str()) {
            ("rhcos", _) | ("rhel", "coreos") => Family::Rhcos(self.major()),
            ("scos", _) | ("centos", "coreos") => Family::Scos(self.major()),
            ("fedora", "coreos") => Family::Fcos,
            _ => Family::Other,
        }
    }

    /// Whether packages and kernels are those of RHEL or CentOS Stream.
    pub fn is_el(&self) -> bool {
        matches!(self.family(), Family::Rhcos(_) | Family::Scos(_))
    }

    /// Whether the operating system is an image that the agent updates.
    pub fn is_coreos(&self) -> bool {
        self.variant_id == "coreos" || self.is_el()
    }

    /// Major version of the base system.
    pub fn major(&self) -> Option<u32> {
        self.base_version.split('.').next()?.parse().ok()
    }

    /// Minor version of the base system.
    pub fn minor(&self) -> Option<u32> {
        self.base_version.split('.').nth(1)?.parse().ok()
    }
}

/// `RHEL_VERSION`, else what follows the OpenShift version in `VERSION` (`412.86.…` on 4.12), else `VERSION_ID`.
fn base_version(fields: &BTreeMap<&str, String>) -> String {
    if let Some(version) = fields.get("RHEL_VERSION") {
        return version.clone();
    }
    let layered = fields.get("OPENSHIFT_VERSION").zip(fields.get("VERSION")).and_then(|(openshift, version)| {
        let prefix = format!("{}.", openshift.replacen('.', "", 1));
        version.strip_prefix(&prefix).map(str::to_owned)
    });
    layered.or_else(|| fields.get("VERSION_ID").cloned()).unwrap_or_default()
}

fn assignment(line: &str) -> Option<(&str, String)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let (name, value) = line.split_once('=')?;
    Some((name.trim(), unquote(value.trim())))
}

/// Removes shell quoting: none, single quotes, or double quotes with backslash escapes.
fn unquote(value: &str) -> String {
    let within = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    if let Some(literal) = within('\'') {
        return literal.to_owned();
    }
    let text = within('"').unwrap_or(value);
    let mut unescaped = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let literal = if character == '\\' { characters.next() } else { Some(character) };
        unescaped.extend(literal);
    }
    unescaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_is_recognised() {
        for (text, family, minor) in [
            ("ID=\"rhcos\"\nVERSION=\"418.94.202501\"\nRHEL_VERSION=\"9.4\"\n", Family::Rhcos(Some(9)), Some(4)),
            ("ID=rhel\nVARIANT_ID=coreos\nVERSION_ID=\"10.1\"\n", Family::Rhcos(Some(10)), Some(1)),
            ("ID=rhcos\nOPENSHIFT_VERSION=4.12\nVERSION=412.9.2.1\nVERSION_ID=4.12\n", Family::Rhcos(Some(9)), Some(2)),
            ("ID=rhcos\nRHEL_VERSION=9.6.20250101\n", Family::Rhcos(Some(9)), Some(6)),
            ("ID=scos\nVERSION_ID=9\n", Family::Scos(Some(9)), None),
            ("ID=centos\nVARIANT_ID='coreos'\nVERSION_ID=10\n", Family::Scos(Some(10)), None),
            ("ID=fedora\nVARIANT_ID=coreos\nVERSION_ID=43\n", Family::Fcos, None),
            ("ID=fedora\nVARIANT_ID=server\nVERSION_ID=43\n", Family::Other, None),
            ("ID=debian\nVERSION_ID=9\n", Family::Other, None),
            ("", Family::Other, None),
        ] {
            let release = OsRelease::parse(text);
            assert_eq!(release.family(), family, "{text}");
            if minor.is_some() {
                assert_eq!(release.minor(), minor, "{text}");
            }
        }
    }

    #[test]
    fn a_non_el_host_of_version_nine_is_not_el() {
        assert!(!OsRelease::parse("ID=debian\nVERSION_ID=9\n").is_el());
    }

    #[test]
    fn quoting_comments_and_noise_are_read_as_a_shell_would() {
        let release =
            OsRelease::parse("# ID=no\n\nnoise\n  ID = 'sc\"os'\nVERSION_ID=\"a\\\"b\\\\\"\nVARIANT_ID=\"open\n");
        assert_eq!(release.id, "sc\"os");
        assert_eq!(release.base_version, "a\"b\\");
        assert_eq!(release.variant_id, "\"open");
    }
}
