"""The kernel's log: what is in it at boot and after signals that nobody takes, by version; who hears of a line; where a task sleeps."""

import re
from pathlib import Path

import pytest

from arch.abi.kern_levels import KERN_DEBUG, KERN_ERR, KERN_INFO, KERN_NOTICE, KERN_WARNING
from simkernel.fs.rootfs import add_bytes_lazily
from simkernel.kernel.printk import LOG_BUF_LEN, KernelLog
from simkernel.kernel.ratelimit import RatelimitState
from simkernel.machine import boot

SAYINGS = Path(__file__).parents[1] / "calls/programs/bin/x86_64/sayings"


def sh(machine, script):
    """What busybox's shell prints."""
    box = machine.install("busybox")
    machine.run([box, "--install", "-s", "/bin"])
    result = machine.run([box, "sh", "-c", script])
    assert result.status == 0
    return result.text


def test_the_log_begins_with_who_boots():
    with boot(cpus=2) as machine:
        records = list(machine.kernel.log)
        assert [record.level for record in records] == [KERN_NOTICE, KERN_NOTICE, KERN_INFO, KERN_INFO]
        assert records[0].text.startswith("Linux version 6.1.")
        assert records[0].text + "\n" == sh(machine, "cat /proc/version")
        assert records[1].text == f"Kernel command line: {sh(machine, 'cat /proc/cmdline').strip()}"
        assert records[3].text == "smp: Brought up 1 node, 2 CPUs"


# What real kernels of these versions said of the same fault; 4.1's is show_signal_msg()'s of its source
FAULTS = {
    "4.1": r"child\[\d+\]: segfault at 8 ip [0-9a-f]{16} sp [0-9a-f]{16} error 4 in sayings\[400000\+2000\]",
    "5.10": r"child\[\d+\]: segfault at 8 ip [0-9a-f]{16} sp [0-9a-f]{16} error 4 in sayings\[400000\+2000\]",
    "6.1": r"child.* in sayings\[400000\+2000\] likely on CPU 0 \(core 0, socket 0\)",
    "6.12": r"child.* in sayings\[39b,400000\+2000\] likely on CPU 0 \(core 0, socket 0\)",
}
NO_CODE = {
    "5.10": "Code: Unable to access opcode bytes at RIP 0xffffffffffffffd6.",
    "6.1": "Code: Unable to access opcode bytes at 0xffffffffffffffd6.",
    "6.12": "Code: Unable to access opcode bytes at 0xffffffffffffffd6.",
}


@pytest.mark.parametrize("version", FAULTS)
def test_a_fault_is_told_as_that_version_tells_it(version):
    with boot(kernel=version) as machine:
        add_bytes_lazily(machine.kernel.vfs, "/sayings", SAYINGS.read_bytes())
        assert machine.run(["/sayings"]).status == 0
        texts = machine.kernel.log.texts
        assert next(text for text in texts if "segfault at 8 " in text and re.fullmatch(FAULTS[version], text))
        protection = "general protection" if version == "4.1" else "general protection fault"
        assert sum(f"] {protection} ip:" in text for text in texts) == 3
        assert any(text.startswith("Code: ") for text in texts) == (version in NO_CODE)
        if version in NO_CODE:
            assert NO_CODE[version] in texts


def test_the_event_of_the_console_tells_each_line_or_what_the_console_shows():
    lines = "echo '<3>one' > /dev/kmsg; echo '<7>two' > /dev/kmsg; cat /sys/kernel/tracing/trace"
    script = f"echo 1 > /sys/kernel/tracing/events/printk/console/enable; {lines}"
    for version, told in (("6.1", ["one", "two"]), ("5.10", ["one"])):
        with boot(kernel=version) as machine:
            shown = re.findall(r": console: (.*)", sh(machine, script))
        stamped = version == "5.10"
        assert [re.sub(r"^\[ *\d+\.\d{6}\] ", "", text) if stamped else text for text in shown] == told
        assert all(text.startswith("[") for text in shown) is stamped


def test_a_ring_forgets_the_oldest_and_counts_on():
    log = KernelLog()
    for number in range(3000):
        log.add(number, b"x" * 100, KERN_WARNING)
    assert log.next_seq == 3000 and log.first_seq > 1500
    assert log.bytes <= LOG_BUF_LEN < log.bytes + log.records[0].size
    assert log.read_valid(0) is log.records[0]
    for number in range(20000):
        log.add(number, b"", KERN_DEBUG)
    assert len(log.records) == 4096  # descriptors


def test_an_unfinished_line_waits_for_the_next():
    log = KernelLog()
    log.add(0, b"begun", KERN_ERR, finished=False)
    assert log.read_valid(0) is None and log.end_seq == 0 and not log.unread()
    log.add(1_500_000_000, b"two\nlines", KERN_INFO)
    assert log.syslog_print(1000) == b"<3>[    0.000000] begun\n<6>[    1.500000] two\n<6>[    1.500000] lines\n"


def test_a_limit_begins_anew_after_its_interval():
    limit = RatelimitState(interval=10, burst=2)
    said = []
    for now in (0, 1, 2, 3, 10, 11, 12, 13):
        limit.over(now)
        said.append(limit.allowed())
    assert said == [True, True, False, False, False, True, True, False]
    assert limit.take_missed() == 4 and not limit.missed


def test_a_sleeping_task_shows_where_it_goes_on():
    with boot() as machine:
        text = sh(machine, "sleep 5 & sleep 1; cat /proc/$!/wchan; echo; cat /proc/$!/stack; kill $!")
    wchan, *stack = text.splitlines()
    assert wchan == "hrtimer_nanosleep"
    names = [re.fullmatch(r"\[<0>\] (\w+)\+0x[0-9a-f]+/0x[0-9a-f]+", line)[1] for line in stack]
    # the real 6.1's but for common_nsleep(), whose work is its caller's here
    assert names == [
        "hrtimer_nanosleep",
        "__x64_sys_clock_nanosleep",
        "do_syscall_64",
        "entry_SYSCALL_64_after_hwframe",
    ]
