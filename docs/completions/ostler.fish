# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ostler_global_optspecs
    string join \n h/help V/version
end

function __fish_ostler_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ostler_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ostler_using_subcommand
    set -l cmd (__fish_ostler_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ostler -n "__fish_ostler_needs_command" -s h -l help -d 'Print help'
complete -c ostler -n "__fish_ostler_needs_command" -s V -l version -d 'Print version'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "plan" -d 'Say what a MachineConfig would change on a node, and why, without changing anything'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "diff" -d 'Say what differs from the configuration a node was installed with and can no longer be applied'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "daemon" -d 'Look after this node: bring it into every configuration that is desired of it, and say how it is'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "firstboot" -d 'Complete the first boot of this machine: bring it into the operating system of its configuration, and restart'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "apply" -d 'Bring the machine, or a root directory, into a configuration: wholly, or not at all'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "recover" -d 'Finish or undo a transaction that was interrupted'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "abandon" -d 'Close a transaction that can be neither finished nor undone, and leave the machine as it is'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "rollback" -d 'Go back to the configuration before the current one, and stay there until released'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "reboot" -d 'Restart the machine so that what waits for it takes effect'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "bootloader" -d 'Look at the boot loader, bring it up to date, or let bootupd take it over'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "status" -d 'Say which configuration the machine is in, and whether something is unfinished'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "drift" -d 'Say how the machine differs from the configuration it is in, and put it right if asked'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "hand-back" -d 'Leave the machine so that a machine-config-daemon can begin with it'
complete -c ostler -n "__fish_ostler_needs_command" -f -a "pack" -d 'Write what packages ship beside the command'
complete -c ostler -n "__fish_ostler_using_subcommand plan" -l from -d 'MachineConfig the node is in now, JSON or YAML, - for standard input [default: an empty machine]' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand plan" -l to -d 'MachineConfig the node shall be in, JSON or YAML, - for standard input' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand plan" -l overrides -d 'Sections that may differ without being applied: Disks, FileSystems, Raid' -r -f -a "Disks\t'storage.disks'
FileSystems\t'storage.filesystems'
Raid\t'storage.raid'"
complete -c ostler -n "__fish_ostler_using_subcommand plan" -l policy -d 'Node disruption policy: a MachineConfiguration, or its nodeDisruptionPolicy [default: the built-in policies]' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand plan" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand plan" -l first-boot -d 'Decide as at first boot, by a fixed table; a policy has no say then'
complete -c ostler -n "__fish_ostler_using_subcommand plan" -l show-contents -d 'Show how the contents of files change; files and lines that hold secrets stay masked'
complete -c ostler -n "__fish_ostler_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand diff" -l install-time -d 'MachineConfig the node was installed with (/etc/mcs-machine-config-content.json on a node)' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand diff" -l to -d 'MachineConfig the node shall be in, JSON or YAML, - for standard input' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand diff" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l standalone -d 'Take desired configurations from this directory instead of from a cluster' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l hosted -d 'Take desired configurations from what a hosted cluster mounts on this directory' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l reboot -d 'When to restart for a configuration that takes effect with a restart [default: manual]' -r -f -a "auto\t'As soon as the configuration is in place'
window\t'While the window is open'
manual\t'When "ostler reboot" is run'"
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l reboot-window -d 'When the window of --reboot=window is open: days, start and length, in UTC, as in "Sat,Sun 02:00 3h"' -r
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l root -d 'Look after the files under this directory instead of this machine' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l node-name -d 'Name of the node; the host\'s name unless given' -r
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l kubeconfig -d 'Credentials for the cluster' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l kubelet-healthz -d 'Where the kubelet says how it is; "none" to not ask' -r
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l prove-within -d 'How many minutes a machine has to prove itself after a restart, before it goes back' -r
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l metrics -d 'Where to serve metrics; "none" to serve none' -r
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l log-level -d 'How much to log' -r -f -a "error\t'What failed'
warning\t'What is not usual, too'
info\t'The course of things, too'
debug\t'Every turn, too'
trace\t'What the libraries say, too'"
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l once -d 'End as soon as nothing is left to do'
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -l stage-after-drain -d 'Pull and stage a new operating system only when workloads have left; by default that comes first, so that the node is out of service no longer than files, services and the restart take'
complete -c ostler -n "__fish_ostler_using_subcommand daemon" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand firstboot" -l root -d 'Work on the files under this directory instead of on this machine' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand firstboot" -l log-level -d 'How much to log' -r -f -a "error\t'What failed'
warning\t'What is not usual, too'
info\t'The course of things, too'
debug\t'Every turn, too'
trace\t'What the libraries say, too'"
complete -c ostler -n "__fish_ostler_using_subcommand firstboot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand apply" -l to -d 'MachineConfig to bring the machine into, JSON or YAML, - for standard input' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand apply" -l overrides -d 'Sections that may differ without being applied: Disks, FileSystems, Raid' -r -f -a "Disks\t'storage.disks'
FileSystems\t'storage.filesystems'
Raid\t'storage.raid'"
complete -c ostler -n "__fish_ostler_using_subcommand apply" -l policy -d 'Node disruption policy: a MachineConfiguration, or its nodeDisruptionPolicy [default: the built-in policies]' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand apply" -l root -d 'Root directory to work on instead of the running machine; services are then left alone' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand apply" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand apply" -l dry-run -d 'Check everything that can be checked, and change nothing'
complete -c ostler -n "__fish_ostler_using_subcommand apply" -s y -l yes -d 'Do not ask before changing the machine'
complete -c ostler -n "__fish_ostler_using_subcommand apply" -l first-boot -d 'Decide as at first boot, by a fixed table; a policy has no say then'
complete -c ostler -n "__fish_ostler_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand recover" -l root -d 'Root directory to work on instead of the running machine; services are then left alone' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand recover" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand recover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand abandon" -l root -d 'Root directory to work on instead of the running machine; services are then left alone' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand abandon" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand abandon" -s y -l yes -d 'Do not ask before giving the transaction up'
complete -c ostler -n "__fish_ostler_using_subcommand abandon" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand rollback" -l overrides -d 'Sections that may differ without being applied: Disks, FileSystems, Raid' -r -f -a "Disks\t'storage.disks'
FileSystems\t'storage.filesystems'
Raid\t'storage.raid'"
complete -c ostler -n "__fish_ostler_using_subcommand rollback" -l policy -d 'Node disruption policy: a MachineConfiguration, or its nodeDisruptionPolicy [default: the built-in policies]' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand rollback" -l root -d 'Root directory to work on instead of the running machine; services are then left alone' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand rollback" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand rollback" -l release -d 'Release the hold that an earlier rollback left: the agent updates the machine to the desired configuration again'
complete -c ostler -n "__fish_ostler_using_subcommand rollback" -l dry-run -d 'Check everything that can be checked, and change nothing'
complete -c ostler -n "__fish_ostler_using_subcommand rollback" -s y -l yes -d 'Do not ask before changing the machine'
complete -c ostler -n "__fish_ostler_using_subcommand rollback" -l first-boot -d 'Decide as at first boot, by a fixed table; a policy has no say then'
complete -c ostler -n "__fish_ostler_using_subcommand rollback" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand reboot" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand reboot" -l soft -d 'Restart user space alone, where systemd can and the kernel stays; else the machine restarts as a whole'
complete -c ostler -n "__fish_ostler_using_subcommand reboot" -l dry-run -d 'Check everything that can be checked, and change nothing'
complete -c ostler -n "__fish_ostler_using_subcommand reboot" -s y -l yes -d 'Do not ask before changing the machine'
complete -c ostler -n "__fish_ostler_using_subcommand reboot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and not __fish_seen_subcommand_from status update adopt" -s h -l help -d 'Print help'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and not __fish_seen_subcommand_from status update adopt" -f -a "status" -d 'Say which boot loader is installed, which one the booted image brings, and where it lies'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and not __fish_seen_subcommand_from status update adopt" -f -a "update" -d 'Bring the boot loader that bootupd keeps to the version of the booted image'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and not __fish_seen_subcommand_from status update adopt" -f -a "adopt" -d 'Let bootupd take over a boot loader that it does not keep yet, and update it'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and __fish_seen_subcommand_from status" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and __fish_seen_subcommand_from update" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and __fish_seen_subcommand_from update" -l dry-run -d 'Check everything that can be checked, and change nothing'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and __fish_seen_subcommand_from update" -s y -l yes -d 'Do not ask before changing the machine'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and __fish_seen_subcommand_from update" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and __fish_seen_subcommand_from adopt" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and __fish_seen_subcommand_from adopt" -l dry-run -d 'Check everything that can be checked, and change nothing'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and __fish_seen_subcommand_from adopt" -s y -l yes -d 'Do not ask before changing the machine'
complete -c ostler -n "__fish_ostler_using_subcommand bootloader; and __fish_seen_subcommand_from adopt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand status" -l root -d 'Root directory to work on instead of the running machine; services are then left alone' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand status" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand drift" -l root -d 'Root directory to work on instead of the running machine; services are then left alone' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand drift" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand drift" -l repair -d 'Make the machine agree with its configuration again; drop-ins that are not configured are removed'
complete -c ostler -n "__fish_ostler_using_subcommand drift" -s y -l yes -d 'Do not ask before changing the machine'
complete -c ostler -n "__fish_ostler_using_subcommand drift" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand hand-back" -l root -d 'Root directory to work on instead of the running machine; services are then left alone' -r -F
complete -c ostler -n "__fish_ostler_using_subcommand hand-back" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler -n "__fish_ostler_using_subcommand hand-back" -l dry-run -d 'Check everything that can be checked, and change nothing'
complete -c ostler -n "__fish_ostler_using_subcommand hand-back" -s y -l yes -d 'Do not ask before changing the machine'
complete -c ostler -n "__fish_ostler_using_subcommand hand-back" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler -n "__fish_ostler_using_subcommand pack" -s h -l help -d 'Print help (see more with \'--help\')'
