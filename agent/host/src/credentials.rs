//! The kubelet's credentials, read for the half of the agent that may not: its one kubeconfig and the files it names.
//!
//! Owns where links lead, which is not out of the kubelet's places, and how much is read. What may be named at all is core's
//! to say. Nothing is written, and nothing that is read is shown.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Component, Path};

use ostler_core::credentials::{KUBECONFIG, KUBELET_WRITES, MOST_BYTES, Named, PLACES, Unusable, is_below};
use ostler_core::protocol::Sealed;
use ostler_core::secret::Secret;

use crate::disk::{Disk, Kind, PathError, RootPath};

/// Links behind links, as many as the kernel follows.
const MOST_LINKS: usize = 40;

/// Why there are no credentials to be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The kubelet has none yet.
    #[error("there is no {path}")]
    Absent {
        /// What is missing.
        path: String,
    },
    /// A file cannot be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A link leads out.
    #[error("{path} leads to {to}, which is none of the kubelet's files")]
    LeadsOut {
        /// What was named.
        path: String,
        /// Where it leads.
        to: String,
    },
    /// The kubeconfig is of no use.
    #[error("{KUBECONFIG} cannot be used")]
    Unusable(#[from] Unusable),
}

impl CredentialsError {
    /// Whether they may be there in a moment: the kubelet writes them, and replaces one file after the other.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Absent { .. } | Self::Unreadable { .. })
    }

    /// What a person can do about it.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Absent { .. } | Self::Unreadable { .. } => KUBELET_WRITES,
            Self::LeadsOut { .. } => "keep the kubelet's files below /var/lib/kubelet or /etc/kubernetes",
            Self::Unusable(unusable) => unusable.remedy(),
        }
    }
}

/// The kubelet's kubeconfig with everything in it that it names.
pub fn read(disk: &impl Disk) -> Result<Sealed, CredentialsError> {
    let kubeconfig = RootPath::new(KUBECONFIG).map_err(|error| unreadable(KUBECONFIG, invalid(error)))?;
    let places = PLACES.iter().map(|place| standing(disk, place)).collect::<Result<Vec<_>, _>>()?;
    let named = Named::parse(contents(disk, &kubeconfig, &places)?.expose())?;
    let mut files = BTreeMap::new();
    // Each once: a certificate and its key are often one file, and are to be of one rotation.
    for path in named.files()? {
        let read = contents(disk, &path, &places)?;
        files.insert(path, read);
    }
    Ok(named.with(&files)?)
}

/// Where one of the places really is. One that is not there has nothing below it.
fn standing(disk: &impl Disk, place: &str) -> Result<String, CredentialsError> {
    let path = RootPath::new(place).map_err(|error| unreadable(place, invalid(error)))?;
    match resolve(disk, &path) {
        Ok(resolved) => Ok(resolved.as_str().to_owned()),
        Err(error) if is_absence(&error) => Ok(place.to_owned()),
        Err(error) => Err(unreadable(place, error)),
    }
}

fn contents(disk: &impl Disk, path: &RootPath, places: &[String]) -> Result<Secret<Vec<u8>>, CredentialsError> {
    let failed = |error: io::Error| match error {
        error if is_absence(&error) => CredentialsError::Absent { path: path.as_str().to_owned() },
        error => unreadable(path.as_str(), error),
    };
    let resolved = resolve(disk, path).map_err(failed)?;
    if !is_below(resolved.as_str(), places) {
        return Err(CredentialsError::LeadsOut { path: path.as_str().to_owned(), to: resolved.as_str().to_owned() });
    }
    // Reading follows no link, so that one that came meanwhile is an error.
    disk.read(&resolved, MOST_BYTES).map(Secret::new).map_err(failed)
}

/// Where a path leads, link by link. Only root can turn a link meanwhile where these are.
fn resolve(disk: &impl Disk, path: &RootPath) -> io::Result<RootPath> {
    // What is still to be walked, the next at the end.
    let mut rest: Vec<String> = path.as_str().split('/').rev().map(str::to_owned).collect();
    let mut at: Vec<String> = Vec::new();
    let mut links = 0;
    while let Some(name) = rest.pop() {
        match name.as_str() {
            "" | "." => continue,
            ".." => {
                at.pop();
                continue;
            }
            _ => at.push(name),
        }
        let here = joined(&at)?;
        let stat = disk.stat(&here)?.ok_or(ErrorKind::NotFound)?;
        if stat.kind == Kind::Link {
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other("too many links"));
            }
            let target = disk.read_link(&here)?;
            at.pop();
            turn(Path::new(&target), &mut at, &mut rest)?;
        }
    }
    joined(&at)
}

/// Puts the way that a link shows before what is still to be walked.
fn turn(target: &Path, at: &mut Vec<String>, rest: &mut Vec<String>) -> io::Result<()> {
    if target.is_absolute() {
        at.clear();
    }
    for component in target.components().rev() {
        match component {
            Component::Normal(name) => rest.push(name.to_str().ok_or(ErrorKind::InvalidData)?.to_owned()),
            Component::ParentDir => rest.push("..".to_owned()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(())
}

fn joined(at: &[String]) -> io::Result<RootPath> {
    RootPath::new(format!("/{}", at.join("/"))).map_err(invalid)
}

fn invalid(error: PathError) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, error)
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn unreadable(path: &str, source: io::Error) -> CredentialsError {
    CredentialsError::Unreadable { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::disk::RootDisk;

    const CURRENT: &str = "var/lib/kubelet/pki/kubelet-client-current.pem";

    /// A node whose kubelet has been given a certificate, in a root with something beside it.
    fn node() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for place in ["var/lib/kubelet/pki", "etc/kubernetes", "root"] {
            fs::create_dir_all(root.join(place)).unwrap();
        }
        let user = format!("{{client-certificate: /{CURRENT}, client-key: /{CURRENT}}}");
        write_kubeconfig(root, &user);
        fs::write(root.join("etc/kubernetes/ca.crt"), "ca").unwrap();
        fs::write(root.join("root/key"), "canary").unwrap();
        fs::write(root.join("var/lib/kubelet/pki/kubelet-client-1.pem"), "one").unwrap();
        symlink("/var/lib/kubelet/pki/kubelet-client-1.pem", root.join(CURRENT)).unwrap();
        directory
    }

    fn write_kubeconfig(root: &Path, user: &str) {
        let text = format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: https://s, certificate-authority: /etc/kubernetes/ca.crt}}}}]\n\
             users: [{{name: u, user: {user}}}]\n"
        );
        fs::write(root.join(KUBECONFIG.trim_start_matches('/')), text).unwrap();
    }

    fn key(root: &Path) -> Result<String, String> {
        let read = read(&RootDisk::open(root).unwrap()).map_err(|error| format!("{error} {error:?}"))?;
        Ok(read.open()["users"][0]["user"]["client-key-data"].as_str().unwrap().to_owned())
    }

    #[test]
    fn a_link_that_is_turned_to_the_next_certificate_is_followed() {
        let node = node();
        assert_eq!(key(node.path()).as_deref(), Ok("b25l"));
        fs::write(node.path().join("var/lib/kubelet/pki/kubelet-client-2.pem"), "two").unwrap();
        fs::remove_file(node.path().join(CURRENT)).unwrap();
        symlink("kubelet-client-2.pem", node.path().join(CURRENT)).unwrap();
        assert_eq!(key(node.path()).as_deref(), Ok("dHdv"));
    }

    #[test]
    fn a_place_that_is_a_link_itself_is_as_good() {
        let node = node();
        fs::rename(node.path().join("var/lib/kubelet"), node.path().join("data")).unwrap();
        symlink("/data", node.path().join("var/lib/kubelet")).unwrap();
        assert_eq!(key(node.path()).as_deref(), Ok("b25l"));
    }

    #[test]
    fn a_link_that_leads_out_is_refused_by_name_and_not_read() {
        let node = node();
        for target in ["/root/key", "../../../../root/key", "/etc/kubernetes/../../root/key"] {
            fs::remove_file(node.path().join(CURRENT)).unwrap();
            symlink(target, node.path().join(CURRENT)).unwrap();
            let told = key(node.path()).unwrap_err();
            assert!(
                told.contains("kubelet-client-current.pem leads to /root/key") && !told.contains("canary"),
                "{told}"
            );
        }
        fs::remove_dir_all(node.path().join("var/lib/kubelet/pki")).unwrap();
        symlink("/root", node.path().join("var/lib/kubelet/pki")).unwrap();
        symlink("key", node.path().join("root/kubelet-client-current.pem")).unwrap();
        assert!(key(node.path()).unwrap_err().contains("leads to /root/key"));
    }

    #[test]
    fn what_is_missing_endless_or_too_large_is_named() {
        let node = node();
        let current = node.path().join(CURRENT);
        fs::remove_file(&current).unwrap();
        assert!(key(node.path()).unwrap_err().contains("there is no /var/lib/kubelet/pki/kubelet-client-current.pem"));
        symlink("kubelet-client-current.pem", &current).unwrap();
        assert!(key(node.path()).unwrap_err().contains("too many links"));
        fs::remove_file(&current).unwrap();
        fs::write(&current, vec![b'x'; usize::try_from(MOST_BYTES).unwrap() + 1]).unwrap();
        assert!(key(node.path()).unwrap_err().contains("kubelet-client-current.pem cannot be read"));
        fs::remove_file(&current).unwrap();
        nix::unistd::mkfifo(&current, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(key(node.path()).is_err(), "a pipe has no end");
        write_kubeconfig(node.path(), "{exec: {command: /bin/sh}}");
        assert!(key(node.path()).unwrap_err().contains("key: \"exec\""));
        let text = fs::read_to_string(node.path().join(KUBECONFIG.trim_start_matches('/'))).unwrap();
        for (with, remedy) in [("http://s", "https://"), ("https://s, insecure-skip-tls-verify: true", "remove")] {
            let open = text.replace("https://s", with);
            fs::write(node.path().join(KUBECONFIG.trim_start_matches('/')), open).unwrap();
            let error = read(&RootDisk::open(node.path()).unwrap()).unwrap_err();
            assert!(!error.may_pass() && error.remedy().contains(remedy), "{error}");
        }
        fs::remove_file(node.path().join(KUBECONFIG.trim_start_matches('/'))).unwrap();
        let error = read(&RootDisk::open(node.path()).unwrap()).unwrap_err();
        assert!(error.may_pass() && error.to_string() == format!("there is no {KUBECONFIG}"), "{error}");
    }
}
