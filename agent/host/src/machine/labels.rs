//! The machine's SELinux policy, as far as it says which file has which label.

use ostler_core::file_contexts::FileContexts;

use crate::disk::{Disk, Kind, RootPath};
use crate::transaction::Trouble;

const CONFIG: &str = "/etc/selinux/config";
const MOST_CONFIG: u64 = 1 << 20;
/// The largest policies have a few hundred KiB.
const MOST_CONTEXTS: u64 = 16 << 20;

/// The labels of the policy that the machine uses; `None` on a machine without one.
pub(crate) fn load(disk: &impl Disk) -> Result<Option<FileContexts>, Trouble> {
    let Some(config) = text(disk, CONFIG, MOST_CONFIG)? else { return Ok(None) };
    let setting = |name: &str| {
        let value = config.lines().filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix('=')).next_back();
        value.map(|value| value.trim().to_owned())
    };
    if setting("SELINUX").as_deref() == Some("disabled") {
        return Ok(None);
    }
    let Some(policy) = setting("SELINUXTYPE").filter(|name| !name.is_empty() && !name.contains(['/', '.'])) else {
        return Ok(None);
    };
    let contexts = |suffix: &str| {
        let path = format!("/etc/selinux/{policy}/contexts/files/file_contexts{suffix}");
        text(disk, &path, MOST_CONTEXTS)
    };
    let Some(base) = contexts("")? else { return Ok(None) };
    let [homedirs, local, subs_dist, subs] =
        [".homedirs", ".local", ".subs_dist", ".subs"].map(|suffix| contexts(suffix).map(Option::unwrap_or_default));
    Ok(Some(FileContexts::parse(&base, &homedirs?, &local?, &subs_dist?, &subs?)))
}

fn text(disk: &impl Disk, path: &str, most: u64) -> Result<Option<String>, Trouble> {
    let path = RootPath::new(path).map_err(Trouble::path(path))?;
    match disk.stat(&path).map_err(Trouble::disk("inspect", &path))? {
        Some(stat) if stat.kind == Kind::File => {
            let bytes = disk.read(&path, most).map_err(Trouble::disk("read", &path))?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        _ => Ok(None),
    }
}
