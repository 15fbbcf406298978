//! Whether a restart of user space alone does what a restart of the machine would.
//!
//! Owns the judgement. Refuses to prepare anything: what leads to the next deployment is the host's.

use super::state::{Installed, OsState};

/// What is known of the machine when a soft restart is wished for.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Whether systemd counts such restarts.
    pub counted: bool,
    /// The deployments; none on a machine that has none.
    pub state: Option<OsState>,
    /// Whether libostree can make a deployment the next root.
    pub prepares: bool,
    /// Whether the booted and the staged deployment have the same SELinux policy.
    pub same_policy: bool,
    /// What bootc says of the staged deployment, where bootc is what changes the operating system.
    pub capable: Option<bool>,
}

/// Why the machine restarts as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// Nobody could tell that it happened.
    #[error("this systemd does not count restarts of user space, so none could be proven (256 and later do)")]
    Uncounted,
    /// The kernel does not change without a restart of the machine.
    #[error("the staged operating system has another kernel or initial ramdisk")]
    Kernel,
    /// Nor does what it was told.
    #[error("the staged operating system has other kernel arguments")]
    Arguments,
    /// Nor is a policy that is in force exchanged.
    #[error("the staged operating system has another SELinux policy")]
    Policy,
    /// Only a staged deployment can be gone to with the present `/etc`.
    #[error("the operating system that comes next is not a staged one")]
    NotStaged,
    /// It is not known what runs.
    #[error("it is not known which deployment runs")]
    Unknown,
    /// Nothing makes it the next root.
    #[error("this libostree cannot make the staged operating system the next root (2025.3 and later can)")]
    Unprepared,
    /// bootc knows better.
    #[error("bootc says that the staged operating system takes a restart of the machine")]
    Incapable,
}

/// What stands in the way; none when user space alone can restart.
pub fn obstacle(facts: &Facts) -> Option<Obstacle> {
    if !facts.counted {
        return Some(Obstacle::Uncounted);
    }
    let state = facts.state.as_ref()?;
    let next = state.next()?;
    let Some(booted) = &state.booted else { return Some(Obstacle::Unknown) };
    let Some(staged) = &state.staged else { return (!is_same(next, booted)).then_some(Obstacle::NotStaged) };
    [
        (staged.boot_checksum != booted.boot_checksum || booted.boot_checksum.is_empty(), Obstacle::Kernel),
        (staged.kargs != booted.kargs, Obstacle::Arguments),
        (!facts.same_policy, Obstacle::Policy),
        (facts.capable == Some(false), Obstacle::Incapable),
        (!facts.prepares, Obstacle::Unprepared),
    ]
    .into_iter()
    .find_map(|(holds, obstacle)| holds.then_some(obstacle))
}

fn is_same(one: &Installed, other: &Installed) -> bool {
    (&one.checksum, one.serial, &one.stateroot) == (&other.checksum, other.serial, &other.stateroot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kargs;

    fn installed(checksum: &str, kernel: &str, line: &str) -> Installed {
        let (checksum, boot_checksum) = (checksum.to_owned(), kernel.to_owned());
        Installed { checksum, boot_checksum, kargs: kargs::split(line), ..Installed::default() }
    }

    fn facts(staged: Option<Installed>) -> Facts {
        let booted = installed("a", "k", "root=x quiet");
        let deployments = staged.iter().chain([&booted]).cloned().collect();
        let state = OsState { booted: Some(booted), staged, deployments, ..OsState::default() };
        Facts { counted: true, state: Some(state), prepares: true, same_policy: true, capable: None }
    }

    #[test]
    fn the_kernel_and_what_it_was_told_have_to_stay() {
        for (kernel, line, expected) in [
            ("k", "root=x quiet", None),
            ("l", "root=x quiet", Some(Obstacle::Kernel)),
            ("k", "root=x", Some(Obstacle::Arguments)),
            ("k", "quiet root=x", Some(Obstacle::Arguments)),
        ] {
            assert_eq!(obstacle(&facts(Some(installed("b", kernel, line)))), expected, "{kernel} {line}");
        }
    }

    #[test]
    fn whoever_has_a_part_in_it_must_be_able_to() {
        let able = facts(Some(installed("b", "k", "root=x quiet")));
        assert_eq!(obstacle(&Facts { capable: Some(true), ..able.clone() }), None);
        for (facts, expected) in [
            (Facts { counted: false, ..able.clone() }, Obstacle::Uncounted),
            (Facts { same_policy: false, ..able.clone() }, Obstacle::Policy),
            (Facts { capable: Some(false), ..able.clone() }, Obstacle::Incapable),
            (Facts { prepares: false, ..able }, Obstacle::Unprepared),
        ] {
            assert_eq!(obstacle(&facts), Some(expected));
        }
    }

    #[test]
    fn without_anything_staged_what_runs_has_to_be_what_comes_next() {
        assert_eq!(obstacle(&Facts { prepares: false, same_policy: false, ..facts(None) }), None);
        assert_eq!(obstacle(&Facts { counted: true, ..Facts::default() }), None);
        assert_eq!(obstacle(&Facts::default()), Some(Obstacle::Uncounted));
        let mut reordered = facts(None);
        reordered.state.as_mut().unwrap().deployments.insert(0, installed("b", "k", "root=x quiet"));
        assert_eq!(obstacle(&reordered), Some(Obstacle::NotStaged));
        let mut unbooted = facts(None);
        unbooted.state.as_mut().unwrap().booted = None;
        assert_eq!(obstacle(&unbooted), Some(Obstacle::Unknown));
    }
}
