//! What a hosted cluster mounts for its node: a directory with the configuration and its hash, replaced as a whole.
//!
//! Owns reading both as one, and noticing that they were replaced. What is in them is core's to read; which hash is desired
//! is the Node's to say.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use futures_util::StreamExt;
use inotify::{EventStream, Inotify, WatchMask};
use ostler_core::document::MAX_BYTES;
use ostler_core::hosted::{self, HostedError};
use ostler_core::protocol::Sealed;

use super::outlook::causes;
use super::outside::Unavailable;

const CONFIG: &str = "config";
const HASH: &str = "hash";
/// The link that a kubelet turns to the new contents of a volume.
const DATA: &str = "..data";
const REMEDY: &str = "see the ConfigMap that is mounted there";
const EVENT_BUFFER: usize = 4096;

/// The directory.
pub struct Mounted {
    path: PathBuf,
    events: EventStream<[u8; EVENT_BUFFER]>,
}

impl Mounted {
    /// Begins to watch.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display();
        let inotify = Inotify::init().context("cannot watch directories")?;
        let mask = WatchMask::CLOSE_WRITE | WatchMask::MOVED_TO | WatchMask::MOVED_FROM | WatchMask::DELETE;
        let watched = inotify.watches().add(path, mask | WatchMask::ONLYDIR);
        watched.with_context(|| format!("cannot watch {name}; give the directory that the ConfigMap is mounted on"))?;
        let events = inotify.into_event_stream([0; EVENT_BUFFER]).context("cannot watch directories")?;
        Ok(Self { path: path.to_owned(), events })
    }

    /// Waits until what is mounted was replaced; may be given up and taken up again.
    pub async fn replaced(&mut self) {
        loop {
            match self.events.next().await {
                Some(Ok(event)) => {
                    let name = event.name.as_deref().and_then(std::ffi::OsStr::to_str);
                    if name.is_none_or(|name| [DATA, CONFIG, HASH].contains(&name)) {
                        return;
                    }
                }
                // It cannot be watched any more; whoever waits for it looks again now and then.
                Some(Err(_)) | None => std::future::pending().await,
            }
        }
    }

    /// The configuration of this hash.
    pub fn config(&self, wanted: &str) -> Result<Sealed, Unavailable> {
        let place = self.place();
        let hash = self.hash(&place)?;
        if hash != wanted {
            let path = self.path.display();
            let reason = format!("{path} holds {hash}, and {wanted} is desired; waiting until it is mounted");
            return Err(Unavailable { reason, passing: true, gone: false });
        }
        let text = self.read(&place, CONFIG)?;
        if self.place() != place || self.hash(&place)? != hash {
            let reason = format!("{} was replaced while it was read", self.path.display());
            return Err(Unavailable { reason, passing: true, gone: false });
        }
        hosted::machine_config(&text).map(Sealed::new).map_err(|error| self.unusable(CONFIG, &error))
    }

    /// Where the files are that belong together.
    fn place(&self) -> PathBuf {
        let data = self.path.join(DATA);
        fs::canonicalize(data).unwrap_or_else(|_| self.path.clone())
    }

    fn hash(&self, place: &Path) -> Result<String, Unavailable> {
        hosted::hash(&self.read(place, HASH)?).map_err(|error| self.unusable(HASH, &error))
    }

    fn unusable(&self, name: &str, error: &HostedError) -> Unavailable {
        let reason = format!("{} cannot be used: {}; {REMEDY}", self.path.join(name).display(), causes(error));
        Unavailable { reason, passing: false, gone: false }
    }

    /// A file that cannot be read may be there in a moment: volumes are mounted and replaced while we run.
    fn read(&self, place: &Path, name: &str) -> Result<Vec<u8>, Unavailable> {
        read(&place.join(name)).map_err(|error| {
            let reason = format!("cannot read {}: {error}; {REMEDY}", self.path.join(name).display());
            Unavailable { reason, passing: true, gone: false }
        })
    }
}

/// What is larger than any document is cut, and too large for whoever reads it.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use ostler_core::machine_config::MachineConfig;
    use serde_json::json;
    use tokio::time::timeout;

    use super::*;

    fn ignition(name: &str) -> String {
        let config = json!({"metadata": {"name": name}, "spec": {"config": {"ignition": {"version": "3.4.0"}}}});
        let text: String = config.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
        let file = json!({"path": hosted::CONTENT, "contents": {"source": format!("data:,{text}")}});
        json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [file]}}).to_string()
    }

    /// As a kubelet does it.
    fn mount(directory: &Path, version: &str, config: &str, hash: &str) {
        let data = directory.join(format!("..{version}"));
        fs::create_dir(&data).unwrap();
        fs::write(data.join(CONFIG), config).unwrap();
        fs::write(data.join(HASH), hash).unwrap();
        symlink(format!("..{version}"), directory.join("..data_tmp")).unwrap();
        fs::rename(directory.join("..data_tmp"), directory.join(DATA)).unwrap();
    }

    #[tokio::test]
    async fn a_configuration_is_had_by_its_hash_and_another_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        mount(directory.path(), "1", &ignition("rendered-1"), "1f\n");
        let mut mounted = Mounted::open(directory.path()).unwrap();
        let config = MachineConfig::from_document(mounted.config("1f").unwrap().open()).unwrap();
        assert_eq!(config.name, "rendered-1");
        let missing = mounted.config("2a").unwrap_err();
        assert!(missing.passing && missing.reason.contains("holds 1f, and 2a is desired"), "{missing:?}");
        assert!(timeout(Duration::ZERO, mounted.replaced()).await.is_err());
        mount(directory.path(), "2", &ignition("rendered-2"), "2a\n");
        mounted.replaced().await;
        assert!(mounted.config("2a").is_ok());
    }

    #[tokio::test]
    async fn plain_files_do_as_well() {
        let directory = tempfile::tempdir().unwrap();
        let mut mounted = Mounted::open(directory.path()).unwrap();
        let missing = mounted.config("1f").unwrap_err();
        assert!(missing.passing && missing.reason.contains("hash"), "{missing:?}");
        fs::write(directory.path().join("other"), "x").unwrap();
        assert!(timeout(Duration::from_millis(20), mounted.replaced()).await.is_err());
        fs::write(directory.path().join(CONFIG), ignition("rendered-1")).unwrap();
        mounted.replaced().await;
        assert!(mounted.config("1f").unwrap_err().passing);
        fs::write(directory.path().join(HASH), "1f").unwrap();
        mounted.replaced().await;
        assert!(mounted.config("1f").is_ok());
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_told_with_its_path_and_without_its_contents() {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Mounted::open(directory.path()).unwrap();
        for (version, config, hash, expected) in [
            ("1", "hunter2!", "1f", "config cannot be used: the text is neither JSON nor gzip nor base64"),
            ("2", "{\"hunter2\"", "1f", "config cannot be used: the Ignition config is not readable"),
            ("3", "{}", "1f hunter2", "hash cannot be used: the hash has other characters"),
            ("4", "{}", "", "hash cannot be used: the hash is empty"),
        ] {
            mount(directory.path(), version, config, hash);
            let refused = mounted.config("1f").unwrap_err();
            assert!(!refused.passing && refused.reason.contains(expected), "{refused:?}");
            assert!(refused.reason.ends_with(REMEDY) && !refused.reason.contains("hunter2"), "{refused:?}");
        }
        assert!(Mounted::open(&directory.path().join("absent")).is_err());
    }
}
