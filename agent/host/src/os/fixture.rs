//! Images made on the spot, and a real registry to serve them, for the tests of this module.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use ostler_core::os::manifest::{Blob, Image};
use tar::{Builder, EntryType, Header};

use super::registry::digest_of;

/// An entry with any name, link and declared size, however wrong.
pub fn entry(kind: EntryType, name: &str, link: &str, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    let old = header.as_old_mut();
    old.name[..name.len()].copy_from_slice(name.as_bytes());
    old.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    header
}

/// A layer: `NAME=TEXT` is a file, `NAME/` a directory, `NAME->TARGET` a symbolic link, `NAME=>TARGET` a hard link.
pub fn layer(entries: &[&str]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for text in entries {
        let (kind, name, link, data) = if let Some((name, target)) = text.split_once("->") {
            (EntryType::Symlink, name, target, "")
        } else if let Some((name, target)) = text.split_once("=>") {
            (EntryType::Link, name, target, "")
        } else if let Some((name, data)) = text.split_once('=') {
            (EntryType::Regular, name, "", data)
        } else {
            (EntryType::Directory, *text, "", "")
        };
        let header = entry(kind, name, link, u64::try_from(data.len()).unwrap());
        archive.append(&header, data.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn put(directory: &Path, bytes: &[u8]) -> Blob {
    let digest = digest_of(bytes);
    std::fs::write(directory.join(digest.strip_prefix("sha256:").unwrap()), bytes).unwrap();
    Blob { digest, size: u64::try_from(bytes.len()).unwrap() }
}

/// Writes an image in skopeo's `dir:` layout; gives what its manifest holds, and its digest.
pub fn image(directory: &Path, layers: &[Vec<u8>], labels: &str) -> (Image, String) {
    std::fs::create_dir_all(directory).unwrap();
    let diffs: Vec<String> = layers.iter().map(|layer| format!("\"{}\"", digest_of(layer))).collect();
    let architecture = ostler_core::os::manifest::go_architecture(std::env::consts::ARCH);
    let config = format!(
        r#"{{"architecture":"{architecture}","os":"linux","config":{{"Labels":{labels}}},"rootfs":{{"type":"layers","diff_ids":[{}]}}}}"#,
        diffs.join(",")
    );
    let config = put(directory, config.as_bytes());
    let layers: Vec<Blob> = layers.iter().map(|layer| put(directory, &gzip(layer))).collect();
    let blob = |kind: &str, blob: &Blob| {
        format!(r#"{{"mediaType":"application/vnd.oci.image.{kind}","digest":"{}","size":{}}}"#, blob.digest, blob.size)
    };
    let listed: Vec<String> = layers.iter().map(|layer| blob("layer.v1.tar+gzip", layer)).collect();
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{},"layers":[{}]}}"#,
        blob("config.v1+json", &config),
        listed.join(",")
    );
    std::fs::write(directory.join("manifest.json"), &manifest).unwrap();
    std::fs::write(directory.join("version"), "Directory Transport Version: 1.1\n").unwrap();
    (Image { config: config.digest, layers }, digest_of(manifest.as_bytes()))
}

/// A list of one image for this machine and one for none, as an OCI layout whose only tag is `list`.
pub fn list(directory: &Path, of: &Path) -> String {
    let blobs = directory.join("blobs/sha256");
    std::fs::create_dir_all(&blobs).unwrap();
    for file in std::fs::read_dir(of).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), blobs.join(file.file_name())).unwrap();
    }
    let manifest = std::fs::read(of.join("manifest.json")).unwrap();
    let manifest = put(&blobs, &manifest);
    let architecture = ostler_core::os::manifest::go_architecture(std::env::consts::ARCH);
    let index = |kind: &str, blob: &Blob, more: &str| {
        format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{{"mediaType":"application/vnd.oci.image.{kind}.v1+json","digest":"{}","size":{},{more}}}]}}"#,
            blob.digest, blob.size
        )
    };
    let platform = format!(r#""platform":{{"architecture":"{architecture}","os":"linux"}}"#);
    let list = put(&blobs, index("manifest", &manifest, &platform).as_bytes());
    let named = index("index", &list, r#""annotations":{"org.opencontainers.image.ref.name":"list"}"#);
    std::fs::write(directory.join("index.json"), named).unwrap();
    std::fs::write(directory.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    list.digest
}

/// A registry on loopback, without TLS; ended when dropped.
pub struct Registry {
    child: Child,
    pub address: String,
    directory: PathBuf,
    credentials: Option<String>,
}

impl Registry {
    /// None, and a loud word, where the programs for it are not installed.
    pub fn start(directory: &Path) -> Option<Self> {
        installed(&["docker-registry", "skopeo"]).then(|| Self::serve(directory, "", None))
    }

    /// One that asks for a name and a password.
    pub fn start_with_password(directory: &Path, name: &str, password: &str) -> Option<Self> {
        if !installed(&["docker-registry", "skopeo", "htpasswd"]) {
            return None;
        }
        let output = Command::new("/usr/bin/htpasswd").args(["-Bbn", name, password]).output().unwrap();
        let file = directory.join("htpasswd");
        std::fs::write(&file, output.stdout).unwrap();
        let auth = format!("auth: {{htpasswd: {{realm: test, path: {}}}}}\n", file.display());
        Some(Self::serve(directory, &auth, Some(format!("{name}:{password}"))))
    }

    /// Another process may take the port between its choice and its use; then another one is chosen.
    fn serve(directory: &Path, auth: &str, credentials: Option<String>) -> Self {
        let config = directory.join("registry.yml");
        let storage = directory.join("registry");
        for _ in 0..5 {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
            let text = format!(
                "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: '{address}'}}\n{auth}",
                storage.display()
            );
            std::fs::write(&config, text).unwrap();
            let mut command = Command::new("/usr/bin/docker-registry");
            command.arg("serve").arg(&config).stdout(Stdio::null()).stderr(Stdio::null());
            let (child, directory) = (command.spawn().unwrap(), directory.to_owned());
            let mut registry = Self { child, address, directory, credentials: credentials.clone() };
            if registry.answers() {
                return registry;
            }
        }
        panic!("the registry does not start");
    }

    fn answers(&mut self) -> bool {
        for _ in 0..1000 {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if TcpStream::connect(&self.address).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// Puts an image there.
    pub fn push(&self, source: &str, name: &str) {
        let mut command = Command::new("/usr/bin/skopeo");
        command.args([
            "--insecure-policy",
            "copy",
            "--quiet",
            "--all",
            "--preserve-digests",
            "--dest-tls-verify=false",
        ]);
        command.args(self.credentials.iter().flat_map(|credentials| ["--dest-creds", credentials]));
        command.arg(source).arg(format!("docker://{}/{name}", self.address));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A `registries.conf` that lets it be used as it is.
    pub fn settings(&self) -> String {
        let path = self.directory.join("registries.conf");
        std::fs::write(&path, format!("[[registry]]\nlocation = \"{}\"\ninsecure = true\n", self.address)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn installed(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| !Path::new("/usr/bin").join(program).exists());
    if let Some(missing) = missing {
        eprintln!("SKIPPED: {missing} is not installed, so nothing was tested here");
    }
    missing.is_none()
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
