//! Which RHEL an image is made of, and whether a machine may go there from the one it runs.
//!
//! Owns the versions that CoreOS images call themselves by, the file in which a person allows another major version, and
//! what an install image says of itself. Refuses to guess: a version nobody can read passes with a note.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where a person allows another major version: lines `allow-major NUMBER`.
pub const DECISION_PATH: &str = "/etc/ostler/os-upgrade";
/// Where install images say what they are, the newer name first.
pub const ALEPH_PATHS: [&str; 2] = ["/sysroot/.aleph-version.json", "/sysroot/.coreos-aleph-version.json"];
/// No decision needs more, and no install image says more.
pub const MOST_BYTES: u64 = 64 * 1024;

/// No version is longer.
const MOST_WORD: usize = 64;
/// The label with the version of an image.
const VERSION_LABEL: &str = "org.opencontainers.image.version";
/// The label with the stream an image belongs to.
const STREAM_LABEL: &str = "io.openshift.os.streamclass";
/// The label with the version of an image's kernel.
const KERNEL_LABEL: &str = "ostree.linux";
/// The first major version that is never entered without being asked.
const FIRST_DECIDED: u32 = 10;

/// A version of RHEL or CentOS Stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Base {
    /// Before the point.
    pub major: u32,
    /// After it, where it is known.
    pub minor: Option<u32>,
}

impl Base {
    /// What an image is made of, from its labels: its version, else its stream, else its kernel.
    pub fn of_labels(labels: &BTreeMap<String, String>) -> Option<Self> {
        let label = |name: &str| labels.get(name).map(String::as_str);
        let stream = || label(STREAM_LABEL).and_then(Self::of_stream);
        let kernel = || label(KERNEL_LABEL).and_then(Self::of_kernel);
        label(VERSION_LABEL).and_then(Self::of_version).or_else(stream).or_else(kernel)
    }

    /// `9.6.20250930-0` is RHEL 9.6; `418.94.202501071309-0`, with twelve digits, hides 9.4 behind the OpenShift version.
    pub fn of_version(version: &str) -> Option<Self> {
        let mut fields = version.trim().split('.');
        let (first, second, third) = (fields.next()?, fields.next()?, fields.next()?);
        let date = third.split('-').next()?;
        if !is_number(date) {
            return None;
        }
        match date.len() {
            8 => Some(Self { major: number(first)?, minor: Some(number(second)?) }),
            12 => {
                let minor = second.strip_prefix(second.chars().next()?)?;
                Some(Self { major: second.chars().next()?.to_digit(10)?, minor: number(minor) })
            }
            _ => None,
        }
    }

    /// `rhel-10`, `rhel10-coreos`, `centos-10`.
    fn of_stream(stream: &str) -> Option<Self> {
        let rest = stream.strip_prefix("rhel").or_else(|| stream.strip_prefix("centos"))?;
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        Some(Self { major: number(rest.split('-').next()?)?, minor: None })
    }

    /// `5.14.0-570.el9_6.x86_64`.
    fn of_kernel(kernel: &str) -> Option<Self> {
        let release = kernel.split('.').find_map(|part| part.strip_prefix("el"))?;
        let (major, minor) = release.split_once('_').unwrap_or((release, ""));
        Some(Self { major: number(major)?, minor: number(minor) })
    }
}

/// The kernel of an image, where its labels say so. An image that others built on may still carry the label of the one
/// it was built on.
pub fn kernel(labels: &BTreeMap<String, String>) -> Option<&str> {
    labels.get(KERNEL_LABEL).map(String::as_str).filter(|kernel| !kernel.is_empty())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| is_number(text) && text.len() <= 3)
}

/// What a person has allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    majors: Vec<u32>,
}

/// A line that decides nothing anybody could know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of {DECISION_PATH} is not understood: write \"allow-major NUMBER\", or remove it")]
pub struct DecisionError {
    /// Which, from 1.
    pub line: usize,
}

impl Decision {
    /// Reads the file's text; a file that does not exist is an empty text.
    pub fn parse(text: &str) -> Result<Self, DecisionError> {
        let mut majors = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            match (words.next(), words.next().and_then(number), words.next()) {
                (None, _, _) => {}
                (Some("allow-major"), Some(major), None) => majors.push(major),
                _ => return Err(DecisionError { line: at.saturating_add(1) }),
            }
        }
        Ok(Self { majors })
    }

    /// Whether a major version may be entered.
    pub fn allows(&self, major: u32) -> bool {
        self.majors.contains(&major)
    }
}

/// What going from one major version to another means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// Nothing to say.
    Free,
    /// One of the two is not known.
    Unknown,
    /// Another major version, and somebody wants it.
    Allowed {
        /// What runs.
        from: u32,
        /// What is to run.
        to: u32,
    },
    /// Another major version that somebody has to want first.
    Undecided {
        /// What runs.
        from: u32,
        /// What is to run.
        to: u32,
    },
    /// Too far, whatever anybody wants.
    Closed {
        /// What runs.
        from: u32,
        /// What is to run.
        to: u32,
    },
}

/// Judges. One major version up is free as far as 9; from then on, and on any way back, a person decides; two at once is
/// never possible.
pub fn passage(booted: Option<u32>, target: Option<u32>, decision: &Decision) -> Passage {
    let Some((from, to)) = booted.zip(target) else { return Passage::Unknown };
    match from.abs_diff(to) {
        0 => Passage::Free,
        1 if to > from && to < FIRST_DECIDED => Passage::Free,
        1 if decision.allows(to) => Passage::Allowed { from, to },
        1 => Passage::Undecided { from, to },
        _ => Passage::Closed { from, to },
    }
}

/// What an install image says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Aleph {
    build: String,
    version: String,
    kernel: String,
}

impl Aleph {
    /// Reads the file's text. One that is not understood says nothing: it is information and no configuration.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The version it calls itself.
    pub fn version(&self) -> Option<&str> {
        [&self.build, &self.version].into_iter().map(String::as_str).find(|version| !version.is_empty())
    }

    /// The same, where it is a version that can be told to anybody: a word, and no long one.
    pub fn word(&self) -> Option<&str> {
        let plain = |version: &&str| version.len() <= MOST_WORD && version.bytes().all(|byte| byte.is_ascii_graphic());
        self.version().filter(plain)
    }

    /// What it is made of.
    pub fn base(&self) -> Option<Base> {
        let kernel = || Base::of_kernel(&self.kernel);
        Base::of_version(&self.build).or_else(|| Base::of_version(&self.version)).or_else(kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(major: u32, minor: u32) -> Option<Base> {
        Some(Base { major, minor: Some(minor) })
    }

    #[test]
    fn versions_are_read_in_both_shapes() {
        for (version, expected) in [
            ("9.6.20250930-0", base(9, 6)),
            ("10.1.20251015-1", base(10, 1)),
            ("9.10.20260101-0", base(9, 10)),
            ("418.94.202501071309-0", base(9, 4)),
            ("412.86.202301061548-0", base(8, 6)),
            ("48.84.202110270303-0", base(8, 4)),
            ("417.810.202501071309-0", base(8, 10)),
            ("416.9.202403011200-0", Some(Base { major: 9, minor: None })),
            ("43.20251001.3.0", None),
            ("4.18.0", None),
            ("", None),
            ("v9.6.20250930", None),
            ("9.6.x", None),
            ("9.6.-", None),
            ("418..202501071309-0", None),
            ("418.ä4.202501071309-0", None),
            ("99999999999.1.20250930-0", None),
        ] {
            assert_eq!(Base::of_version(version), expected, "{version}");
        }
    }

    #[test]
    fn labels_are_asked_in_order() {
        let of = |pairs: &[(&str, &str)]| {
            let labels = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
            Base::of_labels(&labels)
        };
        let major = |major| Some(Base { major, minor: None });
        assert_eq!(of(&[(VERSION_LABEL, "9.6.20250930-0"), (STREAM_LABEL, "rhel-10")]), base(9, 6));
        assert_eq!(of(&[(VERSION_LABEL, "v4.20.1"), (STREAM_LABEL, "rhel-10")]), major(10));
        assert_eq!(of(&[(STREAM_LABEL, "rhel9-coreos")]), major(9));
        assert_eq!(of(&[(STREAM_LABEL, "centos-10")]), major(10));
        assert_eq!(of(&[(STREAM_LABEL, "fedora-coreos"), (KERNEL_LABEL, "6.17.1-300.fc43.x86_64")]), None);
        assert_eq!(of(&[(KERNEL_LABEL, "5.14.0-570.el9_6.x86_64")]), base(9, 6));
        assert_eq!(of(&[(KERNEL_LABEL, "6.12.0-55.el10.aarch64")]), major(10));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_decision_is_understood_or_refused() {
        let decision = Decision::parse("# why: CHG-17\n\nallow-major 10 # and no further\n").unwrap();
        assert!(decision.allows(10) && !decision.allows(9));
        assert_eq!(Decision::parse(""), Ok(Decision::default()));
        for (text, line) in [("allow-major", 1), ("\nallow-major ten", 2), ("allow-major 10 11", 1), ("10", 1)] {
            assert_eq!(Decision::parse(text), Err(DecisionError { line }), "{text}");
        }
    }

    #[test]
    fn majors_are_entered_one_by_one() {
        let none = Decision::default();
        let both = Decision::parse("allow-major 9\nallow-major 10\nallow-major 8").unwrap();
        for (booted, target, alone, allowed) in [
            (Some(9), Some(9), Passage::Free, Passage::Free),
            (Some(8), Some(9), Passage::Free, Passage::Free),
            (Some(9), Some(10), Passage::Undecided { from: 9, to: 10 }, Passage::Allowed { from: 9, to: 10 }),
            (Some(10), Some(9), Passage::Undecided { from: 10, to: 9 }, Passage::Allowed { from: 10, to: 9 }),
            (Some(8), Some(10), Passage::Closed { from: 8, to: 10 }, Passage::Closed { from: 8, to: 10 }),
            (Some(10), Some(8), Passage::Closed { from: 10, to: 8 }, Passage::Closed { from: 10, to: 8 }),
            (None, Some(10), Passage::Unknown, Passage::Unknown),
            (Some(9), None, Passage::Unknown, Passage::Unknown),
        ] {
            assert_eq!(passage(booted, target, &none), alone, "{booted:?} {target:?}");
            assert_eq!(passage(booted, target, &both), allowed, "{booted:?} {target:?}");
        }
    }

    #[test]
    fn install_images_say_what_they_are_in_several_ways() {
        for (text, expected) in [
            (r#"{"build":"410.84.202201071309-0","ref":"","ostree-commit":"c","imgid":"rhcos.qcow2"}"#, base(8, 4)),
            (r#"{"build":"9.6.20250523-0","container-image":{"image-name":"x"}}"#, base(9, 6)),
            (r#"{"version":"10.1.20251015-0","image":"q","kernel":"6.12.0-55.el10_1.x86_64"}"#, base(10, 1)),
            (r#"{"image":"q","kernel":"5.14.0-570.el9_6.x86_64"}"#, base(9, 6)),
            (r#"{"build":"43.20251001.3.0"}"#, None),
        ] {
            assert_eq!(Aleph::parse(text).unwrap().base(), expected, "{text}");
        }
        assert_eq!(Aleph::parse("{"), None);
        let word = |build: &str| {
            let aleph = Aleph { build: build.to_owned(), ..Aleph::default() };
            aleph.word().map(str::to_owned)
        };
        assert_eq!(word("410.84.202201071309-0").as_deref(), Some("410.84.202201071309-0"));
        assert_eq!((word(""), word("9.6\n"), word(&"9".repeat(65))), (None, None, None));
    }
}
