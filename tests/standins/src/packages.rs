//! Which packages exist: in the directories that enabled repositories of `/etc/yum.repos.d` name, and in the base tree.
//!
//! A package NAME exists when a repository directory holds `NAME.rpm` or `NAME-….rpm`. Neither rpms nor repository
//! metadata are read, and nothing is installed: the stand-in only records requests.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The list of base packages that the lab writes into its trees, one name per line.
pub const BASE_LIST: &str = "usr/lib/standins/base-packages";

const MAX_REPO_FILE: u64 = 1 << 20;

/// Refuses names that no repository of `repos_dir` has, as rpm-ostree refuses them.
pub fn require(repos_dir: &Path, names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let mut files = Vec::new();
    for directory in repositories(repos_dir)? {
        files.extend(file_names(&directory)?);
    }
    let missing: Vec<&str> =
        names.iter().filter(|name| !files.iter().any(|file| provides(file, name))).map(String::as_str).collect();
    if missing.is_empty() { Ok(()) } else { bail!("Packages not found: {}", missing.join(", ")) }
}

/// Refuses names that the list of base packages has not. A tree without a list has every package.
pub fn require_base(list: Option<&str>, names: &[String]) -> Result<()> {
    let Some(list) = list else { return Ok(()) };
    match names.iter().find(|name| !list.lines().any(|line| line == name.as_str())) {
        Some(missing) => bail!("Package \"{missing}\" not found"),
        None => Ok(()),
    }
}

fn provides(file: &str, name: &str) -> bool {
    let Some(stem) = file.strip_suffix(".rpm") else { return false };
    // The version follows the name and begins with a digit, which tells kernel-1.rpm from kernel-core-1.rpm.
    stem == name
        || stem
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
}

fn repositories(repos_dir: &Path) -> Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    let mut files = file_names(repos_dir)?;
    files.sort();
    for file in files.iter().filter(|file| file.ends_with(".repo")) {
        let path = repos_dir.join(file);
        if path.metadata()?.len() > MAX_REPO_FILE {
            bail!("{} is too large", path.display());
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        directories.extend(enabled_directories(&text));
    }
    Ok(directories)
}

fn enabled_directories(text: &str) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let mut section: (Option<&str>, bool) = (None, true);
    let mut close = |(url, enabled): (Option<&str>, bool)| {
        let directory = url.filter(|_| enabled).map(|url| url.strip_prefix("file://").unwrap_or(url));
        directories.extend(directory.filter(|path| path.starts_with('/')).map(PathBuf::from));
    };
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            close(section);
            section = (None, true);
        } else if let Some((key, value)) = line.split_once('=') {
            match key.trim() {
                "baseurl" => section.0 = Some(value.trim()),
                "enabled" => section.1 = matches!(value.trim(), "1" | "true" | "yes" | "True"),
                _ => {}
            }
        }
    }
    close(section);
    directories
}

fn file_names(directory: &Path) -> Result<Vec<String>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("reading {}", directory.display())),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_exists_where_its_file_does() {
        let cases = [
            ("usbguard.rpm", "usbguard", true),
            ("kernel-rt-core-5.14.0-1.el9.x86_64.rpm", "kernel-rt-core", true),
            ("kernel-rt-core-5.14.0-1.el9.x86_64.rpm", "kernel-rt", false),
            ("usbguard.txt", "usbguard", false),
        ];
        for (file, name, expected) in cases {
            assert_eq!(provides(file, name), expected, "{file} {name}");
        }
    }

    #[test]
    fn missing_packages_are_named_and_disabled_repositories_do_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let rpms = directory.path().join("rpms");
        std::fs::create_dir(&rpms).unwrap();
        std::fs::write(rpms.join("usbguard-1.0.rpm"), "").unwrap();
        let repo = |enabled| format!("[x]\nenabled={enabled}\nbaseurl=file://{}\n", rpms.display());
        let names = ["usbguard".to_owned(), "nosuch".to_owned()];
        std::fs::write(directory.path().join("x.repo"), repo(1)).unwrap();
        assert!(require(directory.path(), names.get(..1).unwrap()).is_ok());
        assert_eq!(require(directory.path(), &names).unwrap_err().to_string(), "Packages not found: nosuch");
        std::fs::write(directory.path().join("x.repo"), repo(0)).unwrap();
        assert_eq!(require(directory.path(), &names).unwrap_err().to_string(), "Packages not found: usbguard, nosuch");
    }
}
