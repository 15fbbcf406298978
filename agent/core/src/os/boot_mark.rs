//! What tells one start of a machine from the next, so that a restart that was asked for can be told from one that happened.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which start of the machine this is. Written as the boot ID, and behind a `+` the count where there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct BootMark {
    /// What the kernel calls this boot.
    pub boot_id: String,
    /// How often user space was restarted since; none where systemd does not count, or could not be asked.
    pub soft_reboots: Option<u32>,
}

/// What has restarted between two marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restarted {
    /// Nothing, as far as that can be told.
    #[default]
    Nothing,
    /// User space, under the same kernel.
    UserSpace,
    /// The machine.
    Machine,
}

impl BootMark {
    /// What has restarted since this mark. What cannot be told has not happened.
    pub fn since(&self, now: &Self) -> Restarted {
        if self.boot_id.is_empty() || now.boot_id.is_empty() {
            return Restarted::Nothing;
        }
        if self.boot_id != now.boot_id {
            return Restarted::Machine;
        }
        match (self.soft_reboots, now.soft_reboots) {
            (Some(before), Some(now)) if now > before => Restarted::UserSpace,
            _ => Restarted::Nothing,
        }
    }

    /// Whether what ran at this mark still runs.
    pub fn lasts(&self, now: &Self) -> bool {
        self.since(now) == Restarted::Nothing
    }
}

impl From<String> for BootMark {
    fn from(text: String) -> Self {
        match text.rsplit_once('+').and_then(|(id, count)| Some((id, count.parse().ok()?))) {
            Some((id, count)) => Self { boot_id: id.to_owned(), soft_reboots: Some(count) },
            None => Self { boot_id: text, soft_reboots: None },
        }
    }
}

impl From<BootMark> for String {
    fn from(mark: BootMark) -> Self {
        mark.to_string()
    }
}

impl fmt::Display for BootMark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.boot_id)?;
        self.soft_reboots.map_or(Ok(()), |count| write!(formatter, "+{count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(text: &str) -> BootMark {
        text.to_owned().into()
    }

    #[test]
    fn a_restart_is_proven_by_another_boot_or_another_count() {
        for (before, now, expected) in [
            ("a", "b", Restarted::Machine),
            ("a+3", "b+0", Restarted::Machine),
            ("a", "a", Restarted::Nothing),
            ("a+1", "a+1", Restarted::Nothing),
            ("a+1", "a+2", Restarted::UserSpace),
            ("a+2", "a+1", Restarted::Nothing),
            ("a", "a+1", Restarted::Nothing),
            ("a+1", "a", Restarted::Nothing),
            ("", "a", Restarted::Nothing),
            ("a", "", Restarted::Nothing),
        ] {
            assert_eq!(mark(before).since(&mark(now)), expected, "{before:?} {now:?}");
            assert_eq!(mark(before).lasts(&mark(now)), expected == Restarted::Nothing);
        }
    }

    #[test]
    fn a_mark_is_written_as_text_and_read_from_any() {
        for (text, id, count) in [
            ("a-b", "a-b", None),
            ("a-b+0", "a-b", Some(0)),
            ("a+7", "a", Some(7)),
            ("a+b", "a+b", None),
            ("", "", None),
        ] {
            let read = BootMark { boot_id: id.to_owned(), soft_reboots: count };
            assert_eq!((mark(text), read.to_string().as_str()), (read, text));
        }
        let json = serde_json::to_string(&mark("a+1")).unwrap();
        assert_eq!(json, "\"a+1\"");
        assert_eq!(serde_json::from_str::<BootMark>(&json).unwrap(), mark("a+1"));
    }
}
