//! What each exit status means: a contract, printed by `--help` and in the man pages.

/// Of `ostler plan`.
pub(super) const PLAN_EXIT: &str = "\
Exit status:
  0  the change can be applied
  2  a file could not be read or is no MachineConfig, or the command line is wrong
  3  the change is refused; the reason and the remedy are shown";

/// Of `ostler diff`.
pub(super) const DIFF_EXIT: &str = "\
Exit status:
  0  nothing differs
  2  a file could not be read or is no MachineConfig, or the command line is wrong
  4  something differs";

/// Of `ostler daemon`.
pub(super) const DAEMON_EXIT: &str = "\
Signals:
  SIGTERM, SIGINT  end, after a change that is under way
  SIGHUP           look at everything again, now

Exit status:
  0  told to end; with --once, the node is in its desired configuration
  1  something failed; with --once, the node is in the configuration it was in
  2  the command line is wrong, a directory or the credentials cannot be used, or another agent runs here
  3  with --once, the desired configuration is refused; the reason is in the status
  4  with --once, the node waits: for a restart, for somebody to let it go on";

/// Of `ostler firstboot`.
pub(super) const FIRSTBOOT_EXIT: &str = "\
Exit status:
  0  the machine is in its configuration, or was already; or it restarts
  1  told to end before that; starting again goes on with it
  2  what the installation left cannot be used, the command line is wrong, or another agent runs here
  3  the configuration is refused; the reason and the remedy are shown";

/// Of `ostler apply`.
pub(super) const APPLY_EXIT: &str = "\
Exit status:
  0  applied, or checked with --dry-run, or there was nothing to do
  1  not applied, and the machine is as it was: it failed, it was undone, or you said no
  2  a file cannot be used, --yes is missing, or the command line is wrong
  3  refused; the reason and the remedy are shown, and nothing was changed
  5  it failed and the machine is not settled: see \"ostler status\", run \"ostler recover\"";

/// Of `ostler recover`.
pub(super) const RECOVER_EXIT: &str = "\
Exit status:
  0  what was interrupted is finished, or there was nothing to do
  1  what was interrupted is undone, and the machine is as it was before it
  2  the command line is wrong, or --root is no directory
  5  a transaction is still open, or that cannot be told: it failed, it waits for the
     machine to restart, or the applier could not be asked. The reason and the remedy are
     shown, and nothing that hosts workloads is started on this";

/// Of `ostler abandon`.
pub(super) const ABANDON_EXIT: &str = "\
Exit status:
  0  the transaction is closed: abandoned, or finished after all; or none was open
  1  the transaction could be undone after all, or you said no
  2  --yes is missing, or the command line is wrong
  3  refused; the reason and the remedy are shown
  5  the transaction is still open: it failed, or a restart is all that is missing";

/// Of `ostler rollback`.
pub(super) const ROLLBACK_EXIT: &str = "\
Exit status:
  0  rolled back, or checked with --dry-run, or there was nothing to do; or the agent was asked to
     roll back, or the hold is released
  1  not rolled back, and the machine is as it was: it failed, it was undone, or you said no
  2  there is no configuration to go back to, --yes is missing, or the command line is wrong
  3  refused; the reason and the remedy are shown, and nothing was changed
  5  it failed and the machine is not settled: see \"ostler status\", run \"ostler recover\"";

/// Of `ostler reboot`.
pub(super) const REBOOT_EXIT: &str = "\
Exit status:
  0  the machine is restarting, or would with --dry-run
  1  not restarted: it failed, somebody holds it up, or you said no
  2  --yes is missing, or the command line is wrong
  3  refused; the reason and the remedy are shown
  5  a transaction was interrupted: run \"ostler recover\" first";

/// Of `ostler bootloader status`.
pub(super) const BOOTLOADER_STATUS_EXIT: &str = "\
Exit status:
  0  up to date, or bootupd keeps no boot loader here
  1  it could not be had
  2  the command line is wrong
  3  refused; the reason and the remedy are shown
  4  something needs attention: an interrupted update, a newer boot loader, one to be adopted";

/// Of `ostler bootloader write`.
pub(super) const BOOTLOADER_WRITE_EXIT: &str = "\
Exit status:
  0  written, or it could be with --dry-run
  1  not written, and the boot loader is as it was: it could not be begun, or you said no
  2  --yes is missing, or the command line is wrong
  3  refused, also when there is nothing to write; the reason and the remedy are shown
  5  it failed while it was written, or nobody can tell: do NOT restart the machine,
     see \"ostler bootloader status\" first";

/// Of `ostler status`.
pub(super) const STATUS_EXIT: &str = "\
Exit status:
  0  up to date
  1  the status could not be had
  2  the command line is wrong, or --root is no directory
  4  not up to date: an update is under way, waits for something (a restart, health checks,
     a hold), or something needs attention (drift, a refused configuration, an interrupted
     transaction, a damaged record)
  6  not known: the agent is enabled and does not run or answer, the cluster cannot be
     reached, or there is no configuration";

/// Of `ostler drift`.
pub(super) const DRIFT_EXIT: &str = "\
Exit status:
  0  nothing differs, or everything was repaired
  1  not told or repaired, and the machine is as it was: it failed, was undone, or you said no
  2  --yes is missing, or the command line is wrong
  3  refused, also where there is no configuration; the reason and the remedy are shown, and
     nothing was changed
  4  something differs
  5  it failed and the machine is not settled: see \"ostler status\", run \"ostler recover\"";

/// Of `ostler hand-back`.
pub(super) const HAND_BACK_EXIT: &str = "\
Exit status:
  0  handed back, or it could be with --dry-run
  1  not handed back: it failed, ostler's own daemon runs, or you said no
  2  --yes is missing, or the command line is wrong
  3  refused: something has to be finished or put right first; what, and how, is shown
  5  a transaction was interrupted: run \"ostler recover\" first";
