"""Every event on at once, in every version, while a shell does a little of everything: nothing may break."""

import re
import shutil

import pytest

BUSYBOX = shutil.which("busybox")
pytestmark = pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
SCRIPT = r"""
[ -e /sys/kernel/tracing/trace ] && cd /sys/kernel/tracing || cd /sys/kernel/debug/tracing
echo 'p:foo vfs_write $stack0' > kprobe_events
echo 1 > events/enable
trap 'echo caught' USR1
kill -USR1 $$
ls /proc > /dev/null
(echo a | cat > /tmp/x); sleep 0.01; cat /tmp/x
sleep 5 & kill $!; wait
echo 0 > events/enable
cat trace
"""


@pytest.mark.parametrize("kernel", ["3.20-rfc", "4.1", "4.4", "4.9", "4.14", "4.19", "5.4", "5.10", "5.15", "6.1"])
def test_all_events(kernel):
    machine_module = pytest.importorskip("simkernel.machine")
    from simkernel.fs import rootfs

    machine = machine_module.boot(kernel=kernel)
    with open(BUSYBOX, "rb") as program:
        rootfs.add_bytes_lazily(machine.kernel.vfs, "/bin/busybox", program.read())
    text = machine.run(["/bin/busybox", "sh", "-c", SCRIPT], timeout_host_s=60).text
    assert text.startswith("caught\na\n")
    names = set(re.findall(r"\d\.\d{6}: (\w+)", text))
    assert {
        "foo",
        "sched_switch",
        "sched_process_fork",
        "sched_process_exit",
        "signal_generate",
        "signal_deliver",
    } <= names
    assert {"sys_write", "sys_exit", "task_rename"} <= names
    shell = int(re.search(r"signal_deliver: sig=10 errno=0 code=(-?\d+) sa_handler=([0-9a-f]+)", text)[2], 16)
    assert shell > 2
    assert re.search(r"signal_generate: sig=10 errno=0 code=0 comm=\w+ pid=\d+ grp=1 res=0", text)
    assert re.search(r"signal_generate: sig=17 errno=0 code=1 comm=\w+ pid=\d+ grp=1 res=0", text)
