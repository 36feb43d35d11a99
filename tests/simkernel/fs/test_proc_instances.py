"""Each mount of proc is an instance of its own and may show processes only, as on Linux 6.1."""

import simkernel

SCRIPT = """
mkdir -p /tmp/p /tmp/q
mount -t proc -o subset=pid proc /tmp/p && mount -t proc proc /tmp/q
ls /tmp/p | sed 's/^[0-9].*/PID/' | sort -u
cat /tmp/p/cpuinfo 2>/dev/null || echo no cpuinfo
cat /tmp/p/self/comm
test -e /tmp/q/cpuinfo && echo cpuinfo
[ $(stat -c %d /tmp/p/self/stat) = $(stat -c %d /proc/self/stat) ] && echo same device
[ $(stat -c %d /tmp/q/meminfo) = $(stat -c %d /proc/meminfo) ] && echo same device
sleep 100 & child=$!
ls -d /tmp/q/$child >/dev/null && kill $child; wait
test -e /tmp/q/$child && echo still there
mount -t proc -o subset=all proc /tmp/p 2>/dev/null || echo refused
umount /tmp/p /tmp/q
ls /tmp/p
"""
ANSWER = "PID self thread-self no cpuinfo cat cpuinfo refused"


def test_each_mount_of_proc_is_an_instance_of_its_own(busybox):
    with simkernel.boot() as m:
        program = m.install(busybox)
        names = ("mkdir", "mount", "ls", "sed", "sort", "cat", "stat", "umount", "sleep")
        applets = "".join(f'{name}() {{ {program} {name} "$@"; }}\n' for name in names)
        result = m.run([program, "sh", "-c", applets + SCRIPT], timeout_host_s=60)
    assert result.text.replace("busybox", "cat").split() == ANSWER.split()
