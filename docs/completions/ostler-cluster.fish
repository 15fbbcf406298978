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
complete -c ostler-cluster -n "__fish_ostler_cluster_needs_command" -f -a "preflight" -d 'Say what would go wrong if the cluster were updated to a release; changes nothing'
complete -c ostler-cluster -n "__fish_ostler_cluster_needs_command" -f -a "rollout" -d 'Where an update of the nodes stands, which are next and how long it takes; changes nothing'
complete -c ostler-cluster -n "__fish_ostler_cluster_needs_command" -f -a "bootimages" -d 'Boot images: what new machines start from, and whether it is what the release ships'
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
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program: the streams and the default'
manifest\t'An OSImageStream to be applied, as JSON'
image\t'The OS image of one stream, and nothing else'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l stream -d 'With -o image, the stream whose image is meant [default: the default stream]' -r
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
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l trust-bundle -d 'PEM certificates that are trusted, too: a file, or a directory of files; may be repeated' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l per-host-certs -d 'Directory of certificates for each registry, as /etc/containers/certs.d' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l architecture -d 'Architecture whose image of a manifest list is meant, as amd64 [default: that of this machine]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l cache -d 'File in which what is known of images by digest is kept' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l okd -d 'The release is of OKD [default: by its version]'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from discover" -l all-tags -d 'Look at tags that only the proposal of streams names, too, as rhel_9-coreos'
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
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l force -d 'Do it even if it goes back to an older system, or the pool could not be rendered'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -l dry-run -d 'Check everything that can be checked, and change nothing'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l interval -d 'Seconds between two turns' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l identity -d 'Name under which the Lease is held' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l lease-namespace -d 'Namespace of the Lease' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l lease-seconds -d 'Seconds after which a Lease that is not renewed is lost' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l policy -d 'Policy of streams that come to their end [default: ConfigMap ostler-os-stream-policy]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -s o -l output -d 'How to print: text goes to standard error, JSON to standard output, one line for each turn that differs' -r -f -a "text\t'For a person'
json\t'For a program'"
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
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l trust-bundle -d 'PEM certificates that are trusted, too: a file, or a directory of files; may be repeated' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l per-host-certs -d 'Directory of certificates for each registry, as /etc/containers/certs.d' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l architecture -d 'Architecture whose image of a manifest list is meant, as amd64 [default: that of this machine]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l cache -d 'File in which what is known of images by digest is kept' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l own -d 'Write the OSImageStream, its status and conditions of pools, instead of only saying what would be written'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l take-over -d 'Write even though somebody else wrote the object before; make sure that they have ended'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l once -d 'End after one turn'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l okd -d 'The release is of OKD [default: by its version]'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -l all-tags -d 'Look at tags that only the proposal of streams names, too, as rhel_9-coreos'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand streams; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l format -d 'Format of the document' -r -f -a "preflight-v1-json\t'The one there is'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l target-version -d 'The release to update to; several with --compare' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l target-release-image -d 'The image of the release, to read the rest from' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l target-image-references -d 'Its image-references file' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l target-bootimages -d 'Its manifest of the ConfigMap coreos-bootimages' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l target-image-labels -d 'Labels of its OS images by pull spec, so that no registry is asked' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -s o -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l output -d 'Write the document to a file, atomically, instead of printing it' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l interval -d 'After how many seconds to check again with --watch though no change was told [default: 300; 30 with --from-dir]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l timeout -d 'After how many seconds to answer with what is known by then' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l policy -d 'Policy of streams that come to their end [default: ConfigMap ostler-os-stream-policy]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l window -d 'For how many days certificates on paused nodes have to last' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l minimum-kernel -d 'Oldest kernel that the release is made for, such as 5.14 [default: 5.14 from 4.13 on]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l compare -d 'Put several targets side by side'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -l watch -d 'Go on, check again when something has changed, and write the document anew when it says something else'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand preflight" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and not __fish_seen_subcommand_from status next explain estimate" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and not __fish_seen_subcommand_from status next explain estimate" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and not __fish_seen_subcommand_from status next explain estimate" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and not __fish_seen_subcommand_from status next explain estimate" -s h -l help -d 'Print help'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and not __fish_seen_subcommand_from status next explain estimate" -f -a "status" -d 'Say where each pool and node stands, and what it waits for'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and not __fish_seen_subcommand_from status next explain estimate" -f -a "next" -d 'Say which nodes are next, in order'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and not __fish_seen_subcommand_from status next explain estimate" -f -a "explain" -d 'Say everything about one node: where it stands, what it waits for, and how long each part took'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and not __fish_seen_subcommand_from status next explain estimate" -f -a "estimate" -d 'Say how long the rollout will take'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from status" -l pool -d 'Only these pools' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from status" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from status" -l interval -d 'How often to look with --watch, in seconds' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from status" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from status" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from status" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from status" -s a -l all -d 'Also nodes that are updated or wait for their turn'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from status" -s w -l watch -d 'Go on, and show it anew when it has changed'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from next" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from next" -l interval -d 'How often to look with --watch, in seconds' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from next" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from next" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from next" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from next" -s w -l watch -d 'Go on, and show it anew when it has changed'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from next" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from explain" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from explain" -l interval -d 'How often to look with --watch, in seconds' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from explain" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from explain" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from explain" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from explain" -s w -l watch -d 'Go on, and show it anew when it has changed'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from estimate" -l minutes-per-node -d 'What a node takes [default: what nodes took that are done, else 5]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from estimate" -l payload-minutes -d 'What everything before the nodes takes in a whole update' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from estimate" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from estimate" -l interval -d 'How often to look with --watch, in seconds' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from estimate" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from estimate" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from estimate" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from estimate" -s w -l watch -d 'Go on, and show it anew when it has changed'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand rollout; and __fish_seen_subcommand_from estimate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -s h -l help -d 'Print help'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -f -a "list" -d 'Say which boot image each machine resource has, and which boot images the release ships'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -f -a "plan" -d 'Say what becomes of the boot image of each machine resource, and why'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -f -a "explain" -d 'Say all there is to say about one machine resource'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -f -a "apply" -d 'Update boot images once, where nobody else does'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -f -a "run" -d 'Say again and again what is to be done about boot images; with --own, do it'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -f -a "history" -d 'Say what was done to boot images'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -f -a "restore" -d 'Put a boot image back'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and not __fish_seen_subcommand_from list plan explain apply run history restore skew" -f -a "skew" -d 'Say whether boot images are too old for the cluster to be updated'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from list" -l known -d 'File with AMIs that are known to be RHEL CoreOS: stream metadata, a ConfigMap with them, or one AMI to a line' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from list" -l architecture -d 'Architecture of the control plane, where no node says it' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from list" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from list" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from list" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from list" -l own -d 'Decide, and where the command changes things do so, in the place of the machine-config operator'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from list" -l include-capi -d 'Take in all machine resources of the Cluster API: a MachineConfiguration cannot name them'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from list" -l ungated -d 'Decide as if the cluster were not being updated'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from plan" -l known -d 'File with AMIs that are known to be RHEL CoreOS: stream metadata, a ConfigMap with them, or one AMI to a line' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from plan" -l architecture -d 'Architecture of the control plane, where no node says it' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from plan" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from plan" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from plan" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from plan" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from plan" -l own -d 'Decide, and where the command changes things do so, in the place of the machine-config operator'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from plan" -l include-capi -d 'Take in all machine resources of the Cluster API: a MachineConfiguration cannot name them'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from plan" -l ungated -d 'Decide as if the cluster were not being updated'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from explain" -l known -d 'File with AMIs that are known to be RHEL CoreOS: stream metadata, a ConfigMap with them, or one AMI to a line' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from explain" -l architecture -d 'Architecture of the control plane, where no node says it' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from explain" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from explain" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from explain" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from explain" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from explain" -l own -d 'Decide, and where the command changes things do so, in the place of the machine-config operator'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from explain" -l include-capi -d 'Take in all machine resources of the Cluster API: a MachineConfiguration cannot name them'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from explain" -l ungated -d 'Decide as if the cluster were not being updated'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -l known -d 'File with AMIs that are known to be RHEL CoreOS: stream metadata, a ConfigMap with them, or one AMI to a line' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -l architecture -d 'Architecture of the control plane, where no node says it' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -l only -d 'Only the machine resources of this name' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -l own -d 'Decide, and where the command changes things do so, in the place of the machine-config operator'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -l include-capi -d 'Take in all machine resources of the Cluster API: a MachineConfiguration cannot name them'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -l beside-controller -d 'Go on although the machine-config controller runs, which updates boot images too'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l known -d 'File with AMIs that are known to be RHEL CoreOS: stream metadata, a ConfigMap with them, or one AMI to a line' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l architecture -d 'Architecture of the control plane, where no node says it' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l interval -d 'Seconds between two turns' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l identity -d 'Name under which the Lease is held; of all that run with --own only its holder writes' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l lease-namespace -d 'Namespace of the Lease' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l lease-seconds -d 'Seconds after which a Lease that is not renewed is lost' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l own -d 'Decide, and where the command changes things do so, in the place of the machine-config operator'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l include-capi -d 'Take in all machine resources of the Cluster API: a MachineConfiguration cannot name them'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l once -d 'End after one turn'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -l beside-controller -d 'Go on although the machine-config controller runs, which updates boot images too'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from history" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from history" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from history" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from history" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from restore" -l change -d 'Undo the change that `bootimages history` gives this number, and all after it [default: the last]' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from restore" -l kind -d 'Kind, where several have the name' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from restore" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from restore" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from restore" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from restore" -l own -d 'Say that this command updates boot images, and nobody else'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from skew" -s o -l output -d 'How to print' -r -f -a "text\t'For a person'
json\t'For a program'"
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from skew" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from skew" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from skew" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand bootimages; and __fish_seen_subcommand_from skew" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand pack" -l from-dir -d 'Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand pack" -l kubeconfig -d 'Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]' -r -F
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand pack" -l context -d 'Context of the kubeconfig' -r
complete -c ostler-cluster -n "__fish_ostler_cluster_using_subcommand pack" -s h -l help -d 'Print help (see more with \'--help\')'
