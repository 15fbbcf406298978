//! A service that has used up its memory: the kernel's own killer takes it, and says so.

use std::fs;
use std::path::{Path, PathBuf};

use super::Packaged;

/// Where cgroups of the first kind are limited. Those of the second are systemd's own here, without a memory controller.
const CONTROLLER: &str = "/sys/fs/cgroup/memory";
/// Less than any answer takes.
const LIMIT: &str = "0";

/// A group of processes that get no more memory than they have. It goes with the test.
pub struct Want(PathBuf);

impl Want {
    /// Has a service's processes want memory from now on; nothing, loudly, where the kernel cannot be asked for that.
    pub fn of(packaged: &Packaged, unit: &str) -> Option<Self> {
        let group = Path::new(CONTROLLER).join(format!("ostler-want-{}-{unit}", std::process::id()));
        if let Err(error) = fs::create_dir(&group) {
            eprintln!("SKIPPED: services that run out of memory, because there is no {}: {error}", group.display());
            return None;
        }
        let want = Self(group);
        want.write("memory.limit_in_bytes", LIMIT);
        for process in processes(packaged, unit) {
            want.write("cgroup.procs", &process);
        }
        Some(want)
    }

    /// How many of them the kernel has killed.
    pub fn killed(&self) -> u32 {
        let text = fs::read_to_string(self.0.join("memory.oom_control")).unwrap();
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")).map_or(0, |count| count.parse().unwrap())
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
}

impl Drop for Want {
    fn drop(&mut self) {
        // Whoever is still in it is on its way to its end; an empty group costs nothing.
        let _ = fs::remove_dir(&self.0);
    }
}

/// The processes of a service, as this machine numbers them.
fn processes(packaged: &Packaged, unit: &str) -> Vec<String> {
    let groups = fs::read_dir(packaged.node.site().cgroup()).unwrap().flatten();
    let boot = groups.map(|entry| entry.path()).find(|path| path.join("system.slice").is_dir()).unwrap();
    let text = fs::read_to_string(boot.join("system.slice").join(unit).join("cgroup.procs")).unwrap();
    text.lines().map(str::to_owned).collect()
}
