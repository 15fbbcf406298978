//! What a person can do about each trouble of a transaction.

use ostler_core::os::goal::Impossible;

use super::error::{Trouble, obstacles};
use crate::batch::BatchError;
use crate::disk::{ForeignLink, disk_errors, is_full};
use crate::journal::JournalError;

const NO_SUCH_SERVICE: &str = "correct serviceName in the node disruption policy (oc edit machineconfiguration cluster), or \
    add the unit to a MachineConfig";

const UNSETTLED: &str = "repair the cause, then run \"ostler recover\"; if it cannot be repaired, \"ostler abandon\"";

impl Trouble {
    /// What a person can do about it.
    pub fn remedy(&self) -> Option<String> {
        if let Some(remedy) = self.disk_remedy() {
            return Some(remedy.to_owned());
        }
        let text = match self {
            Self::NotTakenOver { .. }
            | Self::NothingToHandBack
            | Self::OnTrial { .. }
            | Self::Behind { .. }
            | Self::Drifted { .. } => return self.hand_over_remedy().map(str::to_owned),
            Self::Refused(refusal) | Self::NoWayBack { source: refusal, .. } => return Some(refusal.remedy()),
            Self::Policy(_) => "correct the policy",
            Self::Target(_) => "give one MachineConfig, as \"oc get machineconfig NAME -o yaml\" prints it",
            Self::Path { .. } | Self::Contents { .. } | Self::NotInConfig { .. } => {
                "correct the MachineConfig that brings it in"
            }
            Self::Owner { .. } => "use a number, or an account that the OS image has",
            Self::Password { .. } => "correct the password hash, or create the account in the OS image",
            Self::TooMuchDisplaced { .. } => "move the large files at the configured paths away first",
            Self::OperatingSystem
            | Self::MergeConflict { .. }
            | Self::Impossible { .. }
            | Self::Os(_)
            | Self::Preflight(_)
            | Self::NicNames { .. }
            | Self::Misstaged { .. }
            | Self::NotBooted { .. } => return self.os_remedy(),
            Self::AwaitsReboot { .. } => "run \"ostler reboot\", or take the change back with \"ostler rollback\"",
            Self::NotRestarted { .. } => "run \"ostler reboot\"",
            Self::NoPrevious => "apply the configuration you want with \"ostler apply\"",
            Self::PlanChanged => "try again: another change came first",
            Self::Interrupted { .. } => "run \"ostler recover\"; if it fails for good, \"ostler abandon\"",
            Self::Unsettled { .. } => UNSETTLED,
            Self::Lost { .. } => "run \"ostler abandon\", then apply the configuration you want",
            Self::Record { .. } => "restore the file from the cluster: oc get machineconfig NAME -o json",
            Self::OnlyLooking => "this is a defect of ostler: report it",
            Self::PasswordLock => "wait for passwd, usermod or another such command to end, then try again",
            Self::Journal(JournalError::Busy { .. }) => "wait for the other ostler to end, then try again",
            Self::Manager(_) => "see what the unit says in the journal; nothing of this change is left behind",
            Self::Batch(BatchError::Refused { why, .. }) => why.remedy(),
            Self::NoSuchService { .. } => NO_SUCH_SERVICE,
            Self::Batch(_) | Self::Disk { .. } | Self::Journal(_) | Self::Accounts(_) | Self::Originals(_) => {
                "look at the disk: full, read-only or failing? Then try again"
            }
            Self::Offline(_) => "correct the unit's [Install] section",
            Self::Given(_) => "see that both halves of ostler are of one version",
            Self::Kubeconfig(_) => "restore the file from a node of the same pool, then restart the kubelet",
            Self::NoCredentials => "see \"journalctl -u kubelet\", and approve its request: oc get csr",
            Self::Packages(_) => "run \"rpm -qf /etc/hosts\" to see what ails the package database",
        };
        Some(text.to_owned())
    }

    /// The same for what the disk itself says is wrong.
    fn disk_remedy(&self) -> Option<&'static str> {
        let link = disk_errors(self).any(ForeignLink::is);
        if self.is_unsettled() {
            return link.then_some(
                "remove the link, or give it to root, then run \"ostler recover\"; if that cannot be done, \"ostler abandon\"",
            );
        }
        if link {
            return Some("remove the link, or give it to root; then try again");
        }
        let full = is_full(self) || matches!(self, Self::Batch(BatchError::Space { .. } | BatchError::Files { .. }));
        full.then_some("free space and inodes on the filesystem, or raise its quota; it is tried again")
    }

    /// The same for the operating system.
    fn os_remedy(&self) -> Option<String> {
        let text = match self {
            Self::OperatingSystem => {
                "apply a config with the machine's own osImageURL, kernelArguments, kernelType and extensions; or restart \
                 the machine if \"findmnt /sysroot\" finds nothing"
            }
            Self::MergeConflict { managed: true, .. } => {
                "remove the path from the configuration, or use an image that has no such path"
            }
            Self::MergeConflict { managed: false, .. } => "move what stands at the path away, then try again",
            Self::Impossible { remedy: Some(remedy), .. } => return Some(remedy.clone()),
            Self::Impossible { source: Impossible::Image(_), .. } => "correct osImageURL or the extensions image",
            Self::Impossible { source: Impossible::Pages64k, .. } => {
                "use kernelType: default or realtime on this machine"
            }
            Self::Os(error) => return Some(error.remedy()),
            Self::Preflight(findings) => {
                let remedies: Vec<&str> = obstacles(findings).map(|finding| finding.remedy.as_str()).collect();
                return Some(remedies.join("; "));
            }
            Self::NicNames { .. } => "see what \"nmstatectl persist-nic-names --root / --dry-run\" says on the node",
            Self::Misstaged { .. } => "see what \"ostler status\" says of the deployments, then try again",
            Self::NotBooted { .. } => "see \"journalctl -b -1 -u ostree-finalize-staged\" and the boot menu's default",
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// The same for a machine that changes its agent.
    const fn hand_over_remedy(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotTakenOver { .. } => {
                "see what differs with \"ostler drift\", and mend what keeps it from being written"
            }
            Self::NothingToHandBack => "give the root of a node that is in a configuration",
            Self::OnTrial { .. } => "let \"ostler daemon\" run until \"ostler status\" says that it is settled",
            Self::Behind { .. } => "let \"ostler daemon\" bring the configuration about, or apply it again",
            Self::Drifted { .. } => "run \"ostler drift --repair\"",
            _ => return None,
        })
    }
}
