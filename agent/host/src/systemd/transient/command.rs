//! A command as the settings of a service.

use std::time::Duration;

use zbus::Variant;

use crate::systemd::bus::{Property, literal};

/// Where the cluster keeps the proxy that downloads go through.
const PROXY: &str = "/etc/mco/proxy.env";
/// Harmless to every process, so a shutdown that sends it waits.
const SIGCONT: i32 = 18;
/// Mounts of its own, which still follows those made outside: what it remounts is remounted for it alone.
const MS_SLAVE: u64 = 1 << 19;

/// What a shutdown means to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// It is asked to end, and killed if it does not.
    Ends,
    /// The shutdown waits for it, and `/boot` stays mounted, for this long.
    Waits(Duration),
}

/// One command.
#[derive(Clone, Copy, Debug)]
pub struct Command<'c> {
    /// The name of its service, with the ending.
    pub unit: &'c str,
    /// What it is for.
    pub description: &'c str,
    /// The program's absolute path and its arguments, which nobody expands.
    pub argv: &'c [String],
    /// `NAME=VALUE` for each variable it gets besides those of the cluster's proxy.
    pub environment: &'c [String],
    /// What a shutdown means to it.
    pub shutdown: Shutdown,
}

impl<'c> Command<'c> {
    /// The settings of its service. Its result is kept: a success stays active, a failure stays failed.
    pub(super) fn properties(&self, stdout: &'c str, stderr: &'c str) -> Vec<Property<'c>> {
        let program = self.argv.first().map(String::as_str).unwrap_or_default();
        let mut properties: Vec<Property<'c>> = vec![
            ("Description", self.description.into()),
            ("Type", "exec".into()),
            ("RemainAfterExit", true.into()),
            ("CollectMode", "inactive".into()),
            ("ExecStart", vec![(program, literal(self.argv), false)].into()),
            ("EnvironmentFiles", vec![(PROXY, true)].into()),
            ("Environment", Variant::from(self.environment.to_vec())),
            ("StandardInput", "null".into()),
            ("StandardOutputFileToTruncate", stdout.into()),
            ("StandardErrorFileToTruncate", stderr.into()),
        ];
        if let Shutdown::Waits(patience) = self.shutdown {
            let most = u64::try_from(patience.as_micros()).unwrap_or(u64::MAX);
            properties.extend([
                ("KillSignal", SIGCONT.into()),
                ("TimeoutStopUSec", Variant::from(most)),
                ("RequiresMountsFor", vec!["/boot"].into()),
                ("MountFlags", MS_SLAVE.into()),
            ]);
        }
        properties
    }
}
