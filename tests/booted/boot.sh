# Does what a boot loader and an initramfs do for a deployment, and becomes its PID 1.
# Runs as PID 1 of fresh mount, pid, ipc, uts and cgroup namespaces on a site; whatever is mounted goes with them.
# $1: the site. $2: the deployment as the kernel argument `ostree` names it. $3: the kernel command line.
# $4: a directory with programs for /opt/ostler. $5: one with stand-ins for /opt/standins, or nothing. $6: the /usr of an OS.
set -eu
site=$1 sysroot=$1/sysroot root=$1/root
deployment=$(readlink -f "$sysroot$2")
stateroot=${deployment%/deploy/*}

# libostree takes the deployment for the booted one that has the device and inode of /.
mount --bind "$deployment" "$root"
cd "$root"
# Systemd and all tools are this machine's, or another's; what the deployment has of its own comes first.
mount -t overlay -o "ro,lowerdir=$site/usr:$deployment/usr:$6" usr usr
mount --bind "$deployment/usr/lib/modules" usr/lib/modules
mount -o remount,bind,ro usr/lib/modules
mount --bind "$sysroot" sysroot
mount -o remount,bind,ro sysroot
mount --bind "$sysroot/boot" boot
mount --bind "$stateroot/var" var
# ostler and standins: /opt leads to /var/opt.
place() {
    mkdir -p "var/opt/$1"
    mount --bind "$2" "var/opt/$1"
    mount -o remount,bind,ro "var/opt/$1"
}
place ostler "$4"
if [ -n "$5" ]; then place standins "$5"; fi

# Kernel settings belong to the machine we run on: what is not in a namespace is read-only.
mount -t proc proc proc
for path in proc/sys proc/sysrq-trigger; do
    if [ -e "$path" ]; then mount --bind "$path" "$path" && mount -o remount,bind,ro "$path"; fi
done
printf '%s\n' "$3" > "$site/cmdline"
cat /proc/sys/kernel/random/uuid > "$site/boot_id"
mount --bind "$site/cmdline" proc/cmdline
mount --bind "$site/boot_id" proc/sys/kernel/random/boot_id
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 dev dev
for node in null zero full random urandom tty; do cp -a "/dev/$node" dev/; done
mkdir dev/pts dev/shm
ln -s pts/ptmx dev/ptmx
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t tmpfs -o mode=1777 tmp tmp
mount -t tmpfs -o mode=755 run run
# Faults of the stand-ins that are there from the beginning.
if [ -e "$site/faults.json" ]; then mkdir run/standins && cp "$site/faults.json" run/standins/; fi
# Both say that /sysroot is to stay read-only: to ostree 2022.7 the second by being there, to 2026 the first by a
# serialized {"sysroot-ro": <true>}. Without the directory ostree's generator of 2026 starts none of its units.
printf 'sysroot-ro\0\0\0\0\0\0\001\0b\013\024' > run/ostree-booted
: > run/ostree-sysroot-ro.stamp
mkdir run/ostree
mkdir -p run/systemd/system run/systemd/system.conf.d run/old var/log/journal
# Services in a sandbox get a /proc of their own, in which nothing of ours is mounted yet.
mkdir run/kernel
cp "$site/cmdline" "$site/boot_id" run/kernel
for unit in ostler-applier ostler-firstboot ostler-recover; do
    mkdir "run/systemd/system/$unit.service.d"
    printf '[Service]\nBindReadOnlyPaths=/run/kernel/%s\n' \
        cmdline:/proc/cmdline boot_id:/proc/sys/kernel/random/boot_id > "run/systemd/system/$unit.service.d/kernel.conf"
done
if [ ! -s etc/machine-id ]; then echo 0123456789abcdef0123456789abcdef > etc/machine-id; fi

# The bus, the journal, logins and ostree: everything else that the distribution pulls into a boot is masked.
for unit in usr/lib/systemd/system/*.wants/* systemd-remount-fs.service console-getty.service modprobe@.service; do
    case "${unit##*/}" in
        '*' | dbus.* | systemd-logind.service | systemd-journald.service | systemd-journald.socket | \
            systemd-journald-dev-log.socket | systemd-journal-flush.service | ostree-* | *.target) ;;
        *) ln -sf /dev/null "run/systemd/system/${unit##*/}" ;;
    esac
done
for bus in dbus-daemon dbus-broker; do
    if [ ! -e usr/lib/systemd/system/dbus.service ] && [ -e "usr/lib/systemd/system/$bus.service" ]; then
        ln -sf "/usr/lib/systemd/system/$bus.service" run/systemd/system/dbus.service
    fi
done
ln -s /usr/lib/systemd/system/multi-user.target run/systemd/system/default.target
printf '[Manager]\nLogTarget=journal\nShowStatus=no\nDefaultTimeoutStopSec=20s\n' > run/systemd/system.conf.d/test.conf

pivot_root . run/old
# In a container systemd takes its own arguments for the kernel's: split, but not matched with files.
set -f
# shellcheck disable=SC2016,SC2086
exec env -i container=ostler-test PATH=/usr/sbin:/usr/bin setsid sh -c \
    'cd / && umount -l /run/old && rmdir /run/old && exec /usr/lib/systemd/systemd "$@"' boot $3 < dev/null
