//! Where ostree finds the credentials for the registries: a link at a fixed path, to the file that has them now.
//!
//! Owns the link. Refuses to copy, to change and to show what is in those files.

use std::io::{self, ErrorKind};

use serde::de::IgnoredAny;

use crate::disk::{Attributes, Disk, Kind, RootPath};

const LINK: &str = "/run/ostree/auth.json";
const NEW_LINK: &str = "/run/ostree/.ostler-auth-0";
/// The merged credentials, with those of the registry inside the cluster, where there are any.
const MERGED: &str = "/etc/mco/internal-registry-pull-secret.json";
/// The credentials that the node was made with.
const NODE: &str = "/var/lib/kubelet/config.json";
/// Kubernetes keeps no larger secret.
const MOST: u64 = 1 << 20;

/// Why the link is not as it should be.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} {path}")]
pub struct AuthError {
    action: &'static str,
    path: &'static str,
    #[source]
    source: io::Error,
}

/// Makes the link point to the credentials that are to be used, and says which those are. It is replaced in one go, so
/// that a download that starts meanwhile finds one. A machine that has neither file is left as it is.
pub fn link_credentials(disk: &impl Disk) -> Result<Option<&'static str>, AuthError> {
    let target = if is_json(disk, MERGED)? {
        MERGED
    } else if disk.stat(&path(NODE)?).map_err(failed("look at", NODE))?.is_some() {
        NODE
    } else {
        return Ok(None);
    };
    let link = path(LINK)?;
    let there = disk.stat(&link).map_err(failed("look at", LINK))?;
    if there.is_some_and(|stat| stat.kind == Kind::Link)
        && disk.read_link(&link).map_err(failed("read", LINK))?.to_str() == Some(target)
    {
        return Ok(Some(target));
    }
    make_directory(disk, &link)?;
    let new = path(NEW_LINK)?;
    if disk.stat(&new).map_err(failed("look at", NEW_LINK))?.is_some() {
        disk.remove(&new).map_err(failed("remove", NEW_LINK))?;
    }
    disk.link(&new, target).map_err(failed("make", NEW_LINK))?;
    disk.rename(&new, &link).map_err(failed("replace", LINK))?;
    Ok(Some(target))
}

/// A file that is not there, or is being written, is not to be used; one that cannot be read is an error.
fn is_json(disk: &impl Disk, file: &'static str) -> Result<bool, AuthError> {
    match disk.read(&path(file)?, MOST) {
        Ok(bytes) => Ok(serde_json::from_slice::<IgnoredAny>(&bytes).is_ok()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(source) => Err(AuthError { action: "read", path: file, source }),
    }
}

fn make_directory(disk: &impl Disk, link: &RootPath) -> Result<(), AuthError> {
    for directory in link.ancestors() {
        match disk.make_directory(&directory, Attributes { mode: 0o755, uid: 0, gid: 0 }) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(AuthError { action: "make the directory of", path: LINK, source: error });
            }
            _ => (),
        }
    }
    Ok(())
}

fn path(text: &'static str) -> Result<RootPath, AuthError> {
    RootPath::new(text).map_err(|error| AuthError {
        action: "use",
        path: text,
        source: io::Error::new(ErrorKind::InvalidInput, error),
    })
}

fn failed(action: &'static str, path: &'static str) -> impl FnOnce(io::Error) -> AuthError {
    move |source| AuthError { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::memory::MemoryDisk;

    const FILE: Attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };
    const DIRECTORY: Attributes = Attributes { mode: 0o755, uid: 0, gid: 0 };

    fn at(path: &str) -> RootPath {
        RootPath::new(path).unwrap()
    }

    fn machine(merged: Option<&str>) -> MemoryDisk {
        let disk = MemoryDisk::default();
        for directory in ["/run", "/etc", "/etc/mco", "/var", "/var/lib", "/var/lib/kubelet"] {
            disk.put_directory(&at(directory), DIRECTORY).unwrap();
        }
        disk.put(&at(NODE), b"{}", FILE).unwrap();
        if let Some(text) = merged {
            disk.put(&at(MERGED), text.as_bytes(), FILE).unwrap();
        }
        disk
    }

    #[test]
    fn the_merged_credentials_are_used_if_they_are_whole() {
        for (merged, expected) in
            [(None, NODE), (Some("{\"auths\":{}}\n"), MERGED), (Some("{\"auths\":"), NODE), (Some(""), NODE)]
        {
            let disk = machine(merged);
            assert_eq!(link_credentials(&disk).unwrap(), Some(expected), "{merged:?}");
            assert_eq!(disk.read_link(&at(LINK)).unwrap(), expected, "{merged:?}");
        }
    }

    #[test]
    fn a_machine_without_credentials_is_left_as_it_is() {
        let disk = machine(None);
        disk.remove(&at(NODE)).unwrap();
        assert_eq!(link_credentials(&disk).unwrap(), None);
        assert_eq!(disk.stat(&at(LINK)).unwrap(), None);
    }

    #[test]
    fn the_link_is_replaced_and_a_leftover_does_not_hinder() {
        let disk = machine(Some("{}"));
        disk.put_directory(&at("/run/ostree"), DIRECTORY).unwrap();
        for stands in [true, false] {
            if stands {
                disk.put_link(&at(LINK), NODE).unwrap();
            } else {
                disk.put(&at(LINK), b"{}", FILE).unwrap();
            }
            disk.put_link(&at(NEW_LINK), "nowhere").unwrap();
            link_credentials(&disk).unwrap();
            assert_eq!(disk.read_link(&at(LINK)).unwrap(), MERGED);
            assert_eq!(disk.stat(&at(NEW_LINK)).unwrap(), None);
        }
    }

    #[test]
    fn at_no_moment_is_there_no_link() {
        let disk = machine(Some("{}"));
        disk.put_directory(&at("/run/ostree"), DIRECTORY).unwrap();
        disk.put_link(&at(LINK), NODE).unwrap();
        disk.remember();
        link_credentials(&disk).unwrap();
        let history = disk.history();
        assert!(history.len() > 2);
        for moment in history {
            let target = moment.read_link(&at(LINK)).unwrap();
            assert!(target == MERGED || target == NODE, "{target:?}");
        }
    }

    #[test]
    fn an_error_names_the_file_and_not_what_is_in_it() {
        let disk = machine(None);
        let secret = format!("{{\"auth\":\"c2VjcmV0\"{}", " ".repeat(1 << 20));
        disk.put(&at(MERGED), secret.as_bytes(), FILE).unwrap();
        let error = link_credentials(&disk).unwrap_err();
        assert_eq!(error.to_string(), format!("could not read {MERGED}"));
        assert!(!format!("{error:?}").contains("c2Vj"));
    }
}
