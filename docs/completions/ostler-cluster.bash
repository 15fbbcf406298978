_ostler__cluster() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="ostler__cluster"
                ;;
            ostler__cluster,pack)
                cmd="ostler__cluster__subcmd__pack"
                ;;
            ostler__cluster,streams)
                cmd="ostler__cluster__subcmd__streams"
                ;;
            ostler__cluster__subcmd__streams,discover)
                cmd="ostler__cluster__subcmd__streams__subcmd__discover"
                ;;
            ostler__cluster__subcmd__streams,list)
                cmd="ostler__cluster__subcmd__streams__subcmd__list"
                ;;
            ostler__cluster__subcmd__streams,plan)
                cmd="ostler__cluster__subcmd__streams__subcmd__plan"
                ;;
            ostler__cluster__subcmd__streams,run)
                cmd="ostler__cluster__subcmd__streams__subcmd__run"
                ;;
            ostler__cluster__subcmd__streams,set)
                cmd="ostler__cluster__subcmd__streams__subcmd__set"
                ;;
            ostler__cluster__subcmd__streams,show)
                cmd="ostler__cluster__subcmd__streams__subcmd__show"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        ostler__cluster)
            opts="-h -V --from-dir --kubeconfig --context --help --version streams pack"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --from-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kubeconfig)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ostler__subcmd__cluster__subcmd__pack)
            opts="-h --from-dir --kubeconfig --context --help man completions"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --from-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kubeconfig)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ostler__subcmd__cluster__subcmd__streams)
            opts="-h --from-dir --kubeconfig --context --help list show discover plan set run"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --from-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kubeconfig)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ostler__subcmd__cluster__subcmd__streams__subcmd__discover)
            opts="-o -h --image-references --release-image --os-image --extensions-image --url-config-map --existing --install-version --okd --all-tags --image-labels --authfile --registry-config --trust-bundle --per-host-certs --architecture --cache --output --from-dir --kubeconfig --context --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --image-references)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --release-image)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --os-image)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --extensions-image)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --url-config-map)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --existing)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --install-version)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --image-labels)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --authfile)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --registry-config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --trust-bundle)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --per-host-certs)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --architecture)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cache)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --from-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kubeconfig)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ostler__subcmd__cluster__subcmd__streams__subcmd__list)
            opts="-o -h --policy --output --from-dir --kubeconfig --context --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --from-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kubeconfig)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ostler__subcmd__cluster__subcmd__streams__subcmd__plan)
            opts="-o -h --stream --image-labels --policy --output --from-dir --kubeconfig --context --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --stream)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --image-labels)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --from-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kubeconfig)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ostler__subcmd__cluster__subcmd__streams__subcmd__run)
            opts="-h --own --take-over --once --interval --identity --lease-namespace --lease-seconds --image-references --release-image --os-image --extensions-image --url-config-map --existing --install-version --okd --all-tags --image-labels --authfile --registry-config --trust-bundle --per-host-certs --architecture --cache --policy --from-dir --kubeconfig --context --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --interval)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --identity)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --lease-namespace)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --lease-seconds)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --image-references)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --release-image)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --os-image)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --extensions-image)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --url-config-map)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --existing)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --install-version)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --image-labels)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --authfile)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --registry-config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --trust-bundle)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --per-host-certs)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --architecture)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cache)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kubeconfig)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ostler__subcmd__cluster__subcmd__streams__subcmd__set)
            opts="-h --force --dry-run --policy --from-dir --kubeconfig --context --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kubeconfig)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        ostler__subcmd__cluster__subcmd__streams__subcmd__show)
            opts="-o -h --output --from-dir --kubeconfig --context --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --from-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --kubeconfig)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _ostler__cluster -o nosort -o bashdefault -o default ostler-cluster
else
    complete -F _ostler__cluster -o bashdefault -o default ostler-cluster
fi
