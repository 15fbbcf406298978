# Becomes PID 1 of a throw-away machine: this machine's /usr, read-only, and a fresh everything else on a tmpfs.
# Runs as PID 1 of fresh mount, pid, ipc, uts, net and cgroup namespaces; whatever is mounted goes with them.
# $1: an empty directory to build the root on. $2: a directory with programs for /opt/ostler, or nothing.
set -eu
root=$1
mount -t tmpfs -o mode=755 ostler-test "$root"
cd "$root"
mkdir -p usr etc/systemd/system proc sys dev run tmp var/lib var/tmp old
mount --bind /usr usr
mount -o remount,bind,ro usr
for name in bin sbin lib lib64; do
    if [ -L "/$name" ]; then ln -s "usr/$name" "$name"; elif [ -d "/$name" ]; then mkdir "$name"; mount --bind -o ro "/$name" "$name"; fi
done
if [ -n "$2" ]; then
    mkdir -p opt/ostler
    mount --bind "$2" opt/ostler
    mount -o remount,bind,ro opt/ostler
fi

# Kernel settings belong to the machine we run on: what is not in a namespace is read-only.
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 dev dev
for node in null zero full random urandom tty; do cp -a "/dev/$node" dev/; done
mkdir dev/pts dev/shm
mount -t tmpfs -o mode=755 run run

# Accounts: root, and whoever the packages' units and dbus-daemon run as.
printf 'root:x:0:0::/root:/bin/sh\nmessagebus:x:101:101::/:/bin/false\ndbus:x:102:102::/:/bin/false\n' > etc/passwd
printf 'root:x:0:\nmessagebus:x:101:\ndbus:x:102:\n' > etc/group
printf 'passwd: files\ngroup: files\n' > etc/nsswitch.conf
echo 0123456789abcdef0123456789abcdef > etc/machine-id
for name in ld.so.cache ld.so.conf; do if [ -e "/etc/$name" ]; then cp "/etc/$name" etc/; fi; done

# Only the bus: everything that the distribution pulls into early boot is masked.
for unit in systemd-remount-fs.service usr/lib/systemd/system/sysinit.target.wants/* usr/lib/systemd/system/sockets.target.wants/* \
    usr/lib/systemd/system/local-fs.target.wants/* usr/lib/systemd/system/timers.target.wants/* \
    usr/lib/systemd/system/basic.target.wants/*; do
    case "${unit##*/}" in dbus.socket | '*') ;; *) ln -sf /dev/null "etc/systemd/system/${unit##*/}" ;; esac
done
if [ ! -e usr/lib/systemd/system/dbus.service ]; then
    ln -s /usr/lib/systemd/system/dbus-daemon.service etc/systemd/system/dbus.service
fi
printf '[Unit]\nRequires=basic.target dbus.socket\nWants=dbus.service\nAfter=basic.target dbus.socket dbus.service\n' \
    > etc/systemd/system/ostler-test.target
printf '[Manager]\nDefaultStandardOutput=null\nDefaultStandardError=null\nLogTarget=null\n' > etc/systemd/system.conf

pivot_root . old
exec env -i container=ostler-test PATH=/usr/sbin:/usr/bin setsid sh -c 'cd / && umount -l /old && rmdir /old && exec /usr/lib/systemd/systemd --unit=ostler-test.target' <dev/null
