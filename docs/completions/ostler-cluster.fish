# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ostler_cluster_global_optspecs
    string join \n from-dir= kubeconfig= context= h/help V/version
end

function __fish_ostler_cluster_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ostler_cluster_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ostler_cluster_using_subcommand
    set -l cmd (__fish_ostler_cluster_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ostler-cluster -n "__fish_ostler_cluster_needs_command" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_needs_command" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_needs_command" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_needs_command" -s h -l help -d 'Print help'
complete -c ostler-cluster -n "__fish_ostler_cluster_needs_command" -s V -l version -d 'Print version'
complete -c ostler-cluster -n "__fish_ostler_cluster_needs_command" -f -a "streams" -d 'OS image streams: which operating systems a release offers, and which one each pool runs'
complete -c ostler-cluster -n "__fish_ostler_cluster_needs_command" -f -a "pack" -d 'Write what packages ship beside the command'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and not __fish_seen_subcommand_from list show discover plan set run" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and not __fish_seen_subcommand_from list show discover plan set run" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and not __fish_seen_subcommand_from list show discover plan set run" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and not __fish_seen_subcommand_from list show discover plan set run" -s h -l help -d 'Print help'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and not __fish_seen_subcommand_from list show discover plan set run" -f -a "list" -d 'Say which streams the cluster offers, and which pools follow which'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and not __fish_seen_subcommand_from list show discover plan set run" -f -a "show" -d 'Show the OSImageStream: the images of its streams, of which release it is, and who writes it'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and not __fish_seen_subcommand_from list show discover plan set run" -f -a "discover" -d 'Find out which streams a release offers, from its images and their labels'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and not __fish_seen_subcommand_from list show discover plan set run" -f -a "plan" -d 'Say what a stream means for a pool, and what stands in the way'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and not __fish_seen_subcommand_from list show discover plan set run" -f -a "set" -d 'Move a pool to a stream'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and not __fish_seen_subcommand_from list show discover plan set run" -f -a "run" -d 'Watch over the streams of a cluster: say what is to be done, or with --own do it'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from list" -l policy -d 'Policy of streams that come to their end [default: ConfigMap ostler-os-stream-policy]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from list" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from list" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from list" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from show" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from show" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from show" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l image-references -d 'image-references of the release: an ImageStream, JSON or YAML' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l release-image -d 'Image of the release, whose image-references are read from its layers [default: the one the cluster wants]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l os-image -d 'OS image beside those of the release; counts least' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l extensions-image -d 'The extensions image to it' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l url-config-map -d 'ConfigMap machine-config-osimageurl, JSON or YAML [default: that of the cluster]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l existing -d 'OSImageStream that is there already, JSON or YAML [default: that of the cluster]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l install-version -d 'Version the cluster was installed with [default: by the history of the cluster]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l image-labels -d 'Labels by image, a JSON object; null for an image that cannot be reached. No registry is asked then' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l authfile -d 'Credentials for registries, as in a pull secret [default: the pull secret of the cluster]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l registry-config -d 'registries.conf with mirrors [default: the mirrors of the cluster]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l trust-bundle -d 'PEM certificates that are trusted, too; may be repeated' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l per-host-certs -d 'Directory of certificates for each registry, as /etc/containers/certs.d' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l architecture -d 'Architecture whose image of a manifest list is meant, as amd64 [default: that of this machine]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l cache -d 'File in which what is known of images by digest is kept' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l okd -d 'The release is of OKD [default: by its version]'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l all-tags -d 'Look at tags that only the proposal of streams names, too'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from plan" -l stream -d 'The stream it would name [default: the one it follows]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from plan" -l image-labels -d 'Labels by image, a JSON object, for an OS image that is no stream\'s' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from plan" -l policy -d 'Policy of streams that come to their end [default: ConfigMap ostler-os-stream-policy]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from plan" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from plan" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from plan" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from plan" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l policy -d 'Policy of streams that come to their end [default: ConfigMap ostler-os-stream-policy]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l force -d 'Do it even if it goes back to an older system, or the pool could not be rendered'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l dry-run -d 'Check everything that can be checked, and change nothing'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l interval -d 'Seconds between two turns' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l identity -d 'Name under which the Lease is held' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l lease-namespace -d 'Namespace of the Lease' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l lease-seconds -d 'Seconds after which a Lease that is not renewed is lost' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l image-references -d 'image-references of the release: an ImageStream, JSON or YAML' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l release-image -d 'Image of the release, whose image-references are read from its layers [default: the one the cluster wants]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l os-image -d 'OS image beside those of the release; counts least' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l extensions-image -d 'The extensions image to it' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l url-config-map -d 'ConfigMap machine-config-osimageurl, JSON or YAML [default: that of the cluster]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l existing -d 'OSImageStream that is there already, JSON or YAML [default: that of the cluster]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l install-version -d 'Version the cluster was installed with [default: by the history of the cluster]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l image-labels -d 'Labels by image, a JSON object; null for an image that cannot be reached. No registry is asked then' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l authfile -d 'Credentials for registries, as in a pull secret [default: the pull secret of the cluster]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l registry-config -d 'registries.conf with mirrors [default: the mirrors of the cluster]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l trust-bundle -d 'PEM certificates that are trusted, too; may be repeated' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l per-host-certs -d 'Directory of certificates for each registry, as /etc/containers/certs.d' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l architecture -d 'Architecture whose image of a manifest list is meant, as amd64 [default: that of this machine]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l cache -d 'File in which what is known of images by digest is kept' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l policy -d 'Policy of streams that come to their end [default: ConfigMap ostler-os-stream-policy]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l own -d 'Write the OSImageStream, its status and conditions of pools, instead of only saying what would be written'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l take-over -d 'Write even though somebody else wrote the object before; make sure that they have ended'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l once -d 'End after one turn'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l okd -d 'The release is of OKD [default: by its version]'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l all-tags -d 'Look at tags that only the proposal of streams names, too'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand pack" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand pack" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand pack" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand pack" -s h -l help -d 'Print help (see more with \'--help\')'
