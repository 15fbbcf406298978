//! What `bootc status --json` says, as far as it matters here. Whatever else it says is left alone.

use serde::{Deserialize, Deserializer};

use crate::malformed::Malformed;

/// Far more than three deployments take.
pub const MOST: usize = 1 << 20;
const API: &str = "org.containers.bootc/";
const KIND: &str = "BootcHost";

/// The first release that keeps an argument with blanks in quotes whole.
const KEEPS_QUOTED: [u32; 2] = [1, 11];

/// Whether what `bootc --version` writes is that of a release which cuts kernel arguments at blanks, in quotes too. libostree
/// aborts on the pieces. What cannot be read is taken for newer.
pub fn cuts_quoted(written: &str) -> bool {
    let number = written.trim().rsplit(' ').next().unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse::<u32>().ok());
    let release = parts.next().flatten().zip(parts.next().flatten());
    release.is_some_and(|(major, minor)| [major, minor] < KEEPS_QUOTED)
}

/// The deployments as bootc sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootcStatus {
    /// The one that the next restart finishes.
    pub staged: Option<Entry>,
    /// The one that runs.
    pub booted: Option<Entry>,
    /// The one before it.
    pub rollback: Option<Entry>,
}

/// One deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The pull specification; none when it was not made from an image.
    pub image: Option<String>,
    /// The digest of that image's manifest.
    pub digest: Option<String>,
    /// The version it calls itself.
    pub version: Option<String>,
    /// The ostree commit.
    pub checksum: Option<String>,
    /// Whether it has packages layered or other changes that bootc does not touch.
    pub incompatible: bool,
    /// Whether a restart of user space alone leads to it.
    pub soft_reboot_capable: bool,
}

/// Why a document is no status.
#[derive(Debug, thiserror::Error)]
pub enum BootcStatusError {
    /// Too much.
    #[error("bootc status is longer than {MOST} bytes")]
    TooLong,
    /// Not the form of one.
    #[error("bootc status is not what bootc writes")]
    Malformed(#[source] Malformed),
    /// Something else.
    #[error("bootc status is of kind {kind:?} and version {version:?}, which is not known")]
    Unknown {
        /// Its kind.
        kind: String,
        /// Its version.
        version: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    staged: Option<Deployment>,
    booted: Option<Deployment>,
    rollback: Option<Deployment>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Deployment {
    image: Option<Image>,
    ostree: Option<Ostree>,
    #[serde(deserialize_with = "or_default")]
    incompatible: bool,
    #[serde(deserialize_with = "or_default")]
    soft_reboot_capable: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Image {
    image: Reference,
    image_digest: Option<String>,
    version: Option<String>,
}

#[derive(Deserialize)]
struct Reference {
    image: String,
}

#[derive(Deserialize)]
struct Ostree {
    checksum: String,
}

impl BootcStatus {
    /// Reads the document in what was written to standard output. Releases up to 1.6 write there too that they wait for the
    /// lock on the deployments.
    pub fn parse(written: &[u8]) -> Result<Self, BootcStatusError> {
        if written.len() > MOST {
            return Err(BootcStatusError::TooLong);
        }
        let noise: usize = written.split_inclusive(|byte| *byte == b'\n').take_while(is_noise).map(<[u8]>::len).sum();
        let document: Document = serde_json::from_slice(written.get(noise..).unwrap_or_default())
            .map_err(|error| BootcStatusError::Malformed(error.into()))?;
        if document.kind != KIND || !document.api_version.starts_with(API) {
            let cut = |text: String| text.chars().take(80).collect();
            return Err(BootcStatusError::Unknown { kind: cut(document.kind), version: cut(document.api_version) });
        }
        let Status { staged, booted, rollback } = document.status;
        let [staged, booted, rollback] = [staged, booted, rollback].map(|deployment| deployment.map(Entry::from));
        Ok(Self { staged, booted, rollback })
    }
}

impl From<Deployment> for Entry {
    fn from(deployment: Deployment) -> Self {
        let (image, digest, version) = match deployment.image {
            Some(image) => (Some(image.image.image), image.image_digest, image.version),
            None => (None, None, None),
        };
        Self {
            image,
            digest,
            version,
            checksum: deployment.ostree.map(|ostree| ostree.checksum),
            incompatible: deployment.incompatible,
            soft_reboot_capable: deployment.soft_reboot_capable,
        }
    }
}

fn is_noise(line: &&[u8]) -> bool {
    !line.trim_ascii_start().starts_with(b"{")
}

/// An explicit null is as good as nothing.
fn or_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What bootc writes on a machine that is none of its own.
    const FOREIGN: &str = r#"{"apiVersion":"org.containers.bootc/v1","kind":"BootcHost","metadata":{"name":"host"},
        "spec":{"image":null,"bootOrder":"default"},
        "status":{"staged":null,"booted":null,"rollback":null,"rollbackQueued":false,"type":null}}"#;

    /// In the form of bootc's schema, with all three.
    const FULL: &str = r#"{"apiVersion":"org.containers.bootc/v1","kind":"BootcHost","metadata":{"name":"host"},
        "spec":{"bootOrder":"default","image":{"image":"quay.example/os:1","transport":"registry"}},
        "status":{
          "staged":{"image":{"image":{"image":"quay.example/os@sha256:16dc","transport":"registry","signature":"containerPolicy"},
             "version":"nightly","timestamp":"2023-10-14T19:22:15Z","imageDigest":"sha256:16dc","architecture":"arm64"},
             "cachedUpdate":null,"incompatible":false,"pinned":false,"softRebootCapable":true,"downloadOnly":true,
             "store":"ostreeContainer","ostree":{"stateroot":"default","checksum":"3c6d","deploySerial":0},"composefs":null},
          "booted":{"image":{"image":{"image":"quay.example/os:1","transport":"registry"},"version":null,"timestamp":null,
             "imageDigest":"sha256:736b","architecture":"arm64"},"cachedUpdate":null,"incompatible":true,"pinned":false,
             "store":null,"ostree":{"stateroot":"default","checksum":"2683","deploySerial":1}},
          "rollback":{"image":null,"cachedUpdate":null,"incompatible":false,"pinned":true,"ostree":null},
          "otherDeployments":[{"image":null,"pinned":true}],
          "rollbackQueued":true,"type":"bootcHost","usrOverlay":null}}"#;

    /// The form of bootc 0.1, which had another version and fewer words.
    const EARLY: &str = r#"{"apiVersion":"org.containers.bootc/v1alpha1","kind":"BootcHost","metadata":{"name":"host"},
        "status":{"staged":{"image":{"image":{"image":"a/b"},"imageDigest":"sha256:1"},"finalizationLocked":true},
        "booted":{"image":null},"isContainer":false}}"#;

    #[test]
    fn deployments_are_read_from_every_release() {
        assert_eq!(BootcStatus::parse(FOREIGN.as_bytes()).unwrap(), BootcStatus::default());
        let full = BootcStatus::parse(FULL.as_bytes()).unwrap();
        let some = |text: &str| Some(text.to_owned());
        let staged = Entry {
            image: some("quay.example/os@sha256:16dc"),
            digest: some("sha256:16dc"),
            version: some("nightly"),
            checksum: some("3c6d"),
            incompatible: false,
            soft_reboot_capable: true,
        };
        assert_eq!(full.staged, Some(staged));
        let booted = full.booted.unwrap();
        assert_eq!((booted.digest, booted.incompatible), (some("sha256:736b"), true));
        assert!(!booted.soft_reboot_capable);
        assert_eq!(full.rollback, Some(Entry::default()));
        for noise in ["Waiting for sysroot lock...\n", "Waiting for sysroot lock...\n\u{1b}[2mnoise\u{1b}[0m\n\n"] {
            let noisy = format!("{noise}{FOREIGN}\n");
            assert_eq!(BootcStatus::parse(noisy.as_bytes()).unwrap(), BootcStatus::default());
        }
        let early = BootcStatus::parse(EARLY.as_bytes()).unwrap();
        assert_eq!(early.staged.unwrap().digest, some("sha256:1"));
        assert_eq!(early.booted, Some(Entry::default()));
    }

    #[test]
    fn releases_that_cut_quoted_arguments_are_known() {
        for (written, expected) in [
            ("bootc 1.1.6\n", true),
            ("bootc 1.10.0", true),
            ("bootc 0.1.9", true),
            ("bootc 1.11.0\n", false),
            ("bootc 2.0.0", false),
            ("bootc", false),
            ("", false),
        ] {
            assert_eq!(cuts_quoted(written), expected, "{written}");
        }
    }

    #[test]
    fn anything_else_is_no_status() {
        for (document, expected) in [
            ("{}", "of kind"),
            ("", "not what bootc writes"),
            ("[1]", "not what bootc writes"),
            (r#"{"apiVersion":"org.containers.bootc/v1","kind":"Other"}"#, "of kind"),
            (r#"{"apiVersion":"v1","kind":"BootcHost"}"#, "of kind"),
            (r#"{"apiVersion":"org.containers.bootc/v1","kind":"BootcHost","status":{"staged":7}}"#, "not what"),
        ] {
            let error = BootcStatus::parse(document.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{document}: {error}");
        }
        assert!(matches!(BootcStatus::parse(&vec![b' '; MOST + 1]), Err(BootcStatusError::TooLong)));
        assert!(BootcStatus::parse("[".repeat(MOST).as_bytes()).is_err());
    }
}
