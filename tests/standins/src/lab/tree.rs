//! Minimal OS trees: just what ostree needs to deploy and what a node agent reads.

use std::path::{Component, Path};

use anyhow::{Context, Result, bail};

use crate::packages::BASE_LIST;

/// What a tree says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeSpec {
    /// `ID` of os-release.
    pub id: String,
    /// `VERSION` of os-release and the version of the commit.
    pub version: String,
    /// `RHEL_VERSION` of os-release, where it has one.
    pub rhel_version: Option<String>,
    /// The kernel release.
    pub kernel: String,
    /// Further files: a path in the tree, and its text.
    pub files: Vec<(String, String)>,
    /// The packages the base is said to have.
    pub base_packages: Vec<String>,
}

impl Default for TreeSpec {
    fn default() -> Self {
        let base =
            ["kernel", "kernel-core", "kernel-modules", "kernel-modules-core", "kernel-modules-extra", "systemd"];
        Self {
            id: "rhcos".to_owned(),
            version: "1".to_owned(),
            rhel_version: None,
            kernel: "5.14.0-1.el9.x86_64".to_owned(),
            files: Vec::new(),
            base_packages: base.map(str::to_owned).to_vec(),
        }
    }
}

/// Writes the tree into the directory `root`.
pub fn write(root: &Path, spec: &TreeSpec) -> Result<()> {
    for directory in ["usr/bin", "usr/etc", "var", "sysroot", "dev", "proc", "sys", "run", "tmp", "boot"] {
        std::fs::create_dir_all(root.join(directory)).with_context(|| format!("making {directory}"))?;
    }
    std::os::unix::fs::symlink("sysroot/ostree", root.join("ostree"))?;
    let modules = format!("usr/lib/modules/{}", spec.kernel);
    put(root, &format!("{modules}/vmlinuz"), &format!("kernel {} of {}\n", spec.kernel, spec.version))?;
    put(root, &format!("{modules}/initramfs.img"), &format!("initramfs of {}\n", spec.version))?;
    put(root, "usr/lib/os-release", &os_release(spec))?;
    put(root, "usr/etc/os-version", &format!("{}\n", spec.version))?;
    put(root, "usr/lib/version", &format!("{}\n", spec.version))?;
    put(root, BASE_LIST, &spec.base_packages.iter().map(|name| format!("{name}\n")).collect::<String>())?;
    for (path, text) in &spec.files {
        put(root, path, text)?;
    }
    Ok(())
}

/// Writes one file of a tree.
pub fn put(root: &Path, path: &str, text: &str) -> Result<()> {
    let relative = Path::new(path.trim_start_matches('/'));
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        bail!("the path {path} leaves the tree");
    }
    let path = root.join(relative);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

fn os_release(spec: &TreeSpec) -> String {
    let TreeSpec { id, version, .. } = spec;
    let mut text = format!("NAME=\"Lab\"\nID=\"{id}\"\nVERSION=\"{version}\"\nVERSION_ID=\"{version}\"\n");
    text.push_str(&format!("OSTREE_VERSION=\"{version}\"\nPRETTY_NAME=\"Lab {id} {version}\"\n"));
    if let Some(rhel) = &spec.rhel_version {
        text.push_str(&format!("RHEL_VERSION=\"{rhel}\"\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_cannot_leave_the_tree() {
        let directory = tempfile::tempdir().unwrap();
        let spec = TreeSpec { files: vec![("../outside".to_owned(), String::new())], ..TreeSpec::default() };
        assert!(write(directory.path(), &spec).is_err());
        assert!(!directory.path().with_file_name("outside").exists());
    }

    #[test]
    fn os_release_names_the_rhel_version_only_where_there_is_one() {
        assert!(!os_release(&TreeSpec::default()).contains("RHEL_VERSION"));
        let spec = TreeSpec { rhel_version: Some("9.6".to_owned()), ..TreeSpec::default() };
        assert!(os_release(&spec).contains("RHEL_VERSION=\"9.6\"\n"));
    }
}
