# Keeps a site: memory, a loopback network and whatever runs in its cgroup. Runs in fresh mount and net namespaces.
# $1: the cgroup to make. $2: how much memory. Ends, and the site with it, when its input does: with the test, however that
# ends.
set -eu
mkdir "$1"
cd "$1"
name=${1##*/}

clear() {
    cd -P ..
    echo 1 > "$name/cgroup.kill"
    for _ in $(seq 200); do
        find "$name" -depth -type d -exec rmdir {} \; 2> /dev/null || :
        if [ ! -e "$name" ]; then return; fi
        sleep 0.02
    done
    echo "could not remove the cgroup $1" >&2
}
trap 'clear "$1"' EXIT

# Needs a directory that is there on any machine, and that holds nothing a machine or a registry could want.
mount -t tmpfs -o "mode=755,size=$2" ostler-site /sys
ip link set lo up
[ -e cgroup.kill ]
echo ready
read -r _ || :
