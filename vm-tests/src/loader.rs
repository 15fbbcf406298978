//! The boot loader: reads the entries that ostree has written to `/boot` as a boot loader does, which knows nothing of the file
//! system's journal, and takes the first.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::answer;

/// What is booted, and how.
#[derive(Debug)]
pub struct Entry {
    /// The kernel, on this machine.
    pub kernel: PathBuf,
    /// Its initramfs.
    pub initramfs: PathBuf,
    /// Its command line.
    pub arguments: String,
}

/// The entry of the highest version, from the image of a boot partition; its files are put into a directory.
pub fn default_of(image: &Path, into: &Path) -> Result<Entry> {
    let loader = debugfs(image, "stat /loader")?;
    let link = loader.split_once("Fast link dest: \"").and_then(|(_, rest)| rest.split_once('"'));
    let loader = link.map_or("loader", |(target, _)| target);
    let listed = debugfs(image, &format!("ls -p /{loader}/entries"))?;
    let names = listed.lines().filter_map(|line| line.split('/').nth(5)).filter(|name| name.ends_with(".conf"));
    let mut texts = Vec::new();
    for name in names {
        texts.push(debugfs(image, &format!("cat /{loader}/entries/{name}"))?);
    }
    let entries = texts.iter().filter_map(|text| Some((field(text, "version")?.parse::<u32>().ok()?, text)));
    let (_, text) = entries.max_by_key(|(version, _)| *version).context("no boot loader entry is whole")?;
    let fetch = |key: &str| -> Result<PathBuf> {
        let path = field(text, key).with_context(|| format!("the boot loader entry has no {key}"))?;
        let path = path.strip_prefix("/boot/").map_or_else(|| path.to_owned(), |rest| format!("/{rest}"));
        let to = into.join(key);
        // That of an earlier boot must not be taken for it.
        let _ = fs::remove_file(&to);
        debugfs(image, &format!("dump {path} {}", to.display()))?;
        if fs::metadata(&to).map_or(0, |found| found.len()) == 0 {
            bail!("{path} is not on the boot partition, or empty");
        }
        Ok(to)
    };
    let arguments = field(text, "options").context("the boot loader entry has no options")?.to_owned();
    Ok(Entry { kernel: fetch("linux")?, initramfs: fetch("initrd")?, arguments })
}

fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().filter_map(|line| line.split_once(' ')).find(|(key, _)| *key == name).map(|(_, value)| value.trim())
}

fn debugfs(image: &Path, request: &str) -> Result<String> {
    // A boot loader looks neither at bitmaps nor at checksums, and in the middle of a change these do not agree.
    answer(Command::new("/usr/sbin/debugfs").args(["-c", "-n", "-R", request]).arg(image))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_of_the_highest_version_is_taken_with_its_files() {
        let scratch = tempfile::tempdir().unwrap();
        let boot = scratch.path().join("boot");
        fs::create_dir_all(boot.join("loader.1/entries")).unwrap();
        std::os::unix::fs::symlink("loader.1", boot.join("loader")).unwrap();
        for version in [1, 2] {
            let text = format!(
                "title x\nversion {version}\noptions karg={version}\nlinux /k{version}\ninitrd /boot/i{version}\n"
            );
            fs::write(boot.join(format!("loader.1/entries/ostree-{version}-node.conf")), text).unwrap();
            fs::write(boot.join(format!("k{version}")), format!("kernel {version}")).unwrap();
            fs::write(boot.join(format!("i{version}")), "initramfs").unwrap();
        }
        let image = scratch.path().join("boot.img");
        let mut make = Command::new("/usr/sbin/mke2fs");
        answer(make.args(["-q", "-t", "ext4", "-d"]).arg(&boot).arg(&image).arg("16M")).unwrap();
        // As a power cut leaves it that came between the bitmap and its checksum.
        let mut tear = Command::new("/usr/sbin/debugfs");
        answer(tear.args(["-w", "-R", "set_bg 0 inode_bitmap_csum 1"]).arg(&image)).unwrap();
        let entry = default_of(&image, scratch.path()).unwrap();
        assert_eq!(
            (entry.arguments.as_str(), fs::read_to_string(entry.kernel).unwrap().as_str()),
            ("karg=2", "kernel 2")
        );
        fs::write(
            boot.join("loader.1/entries/ostree-3-node.conf"),
            "version 3\noptions x\nlinux /nowhere\ninitrd /i1\n",
        )
        .unwrap();
        let broken = scratch.path().join("broken.img");
        answer(Command::new("/usr/sbin/mke2fs").args(["-q", "-t", "ext4", "-d"]).arg(&boot).arg(&broken).arg("16M"))
            .unwrap();
        assert!(default_of(&broken, scratch.path()).unwrap_err().to_string().contains("/nowhere"));
    }
}
