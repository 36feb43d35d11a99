"""A shell inside the simulated machine uses tracefs; the same script gave these lines in the real Linux 6.1.

Compared after addresses, pids and times are taken out, as they differ between any two boots.
"""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from arch.abi.version import NEWEST
from tracing.tracers.recorded import functions_of

PROGRAMS = Path(__file__).with_name("programs")
BUSYBOX = shutil.which("busybox")
pytestmark = pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")

KPROBES = r"""
cd /sys/kernel/tracing
echo 'p:foo vfs_write fd=%di n=%dx:u32' > kprobe_events
echo 'r:bar vfs_write ret=$retval' >> kprobe_events
cat kprobe_events
echo 1 > events/kprobes/enable
echo hello > /dev/null
echo 0 > events/kprobes/enable
cat kprobe_profile trace
"""
RECORDED_KPROBES = """p:kprobes/foo vfs_write fd=%di n=%dx:u32
r10:kprobes/bar vfs_write ret=$retval
  foo                                                        2               0
  bar                                                        2               0
# tracer: nop
#
# entries-in-buffer/entries-written: 3/3   #P:1
#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
TASK [000] ..... TS: foo: (vfs_write+OFF) fd=ADDR n=6
TASK [000] ..... TS: bar: (ksys_write+OFF <- vfs_write) ret=0x6
TASK [000] ..... TS: foo: (vfs_write+OFF) fd=ADDR n=2
"""
SYSCALLS = r"""
cd /sys/kernel/tracing
echo 1 > events/syscalls/sys_enter_dup2/enable
echo 1 > events/syscalls/sys_exit_dup2/enable
echo 1 > events/syscalls/sys_enter_write/enable
echo 'count > 3' > events/syscalls/sys_enter_write/filter
echo hello > /dev/null
echo 0 > events/enable
cat trace
echo bad > kprobe_events; cat events/sched/sched_switch/filter
echo 'nosuch == 1' > events/sched/sched_switch/filter; cat events/sched/sched_switch/filter
"""


def normal(text):
    text = re.sub(r"^ +\S+-\d+ +\[", "TASK [", text, flags=re.M)
    text = re.sub(r" +\d+\.\d{6}:", " TS:", text)
    text = re.sub(r"0x[0-9a-f]+/0x[0-9a-f]+", "OFF", text)
    text = re.sub(r"0x[0-9a-f]{8,}", "ADDR", text)
    return re.sub(r"buf: [0-9a-f]+", "buf: P", text)


@pytest.fixture(scope="module")
def shell():
    machine_module = pytest.importorskip("simkernel.machine")

    def run(script, **options):
        from simkernel.fs import rootfs

        machine = machine_module.boot(**options)
        with open(BUSYBOX, "rb") as program:
            rootfs.add_bytes_lazily(machine.kernel.vfs, "/bin/busybox", program.read())
        return machine.run(["/bin/busybox", "sh", "-c", script], timeout_host_s=60)

    return run


def test_kprobes_from_a_shell(shell):
    assert normal(shell(KPROBES).text) == RECORDED_KPROBES


def test_stacks_of_events_begin_and_end_as_on_linux(shell):
    """The option, the trigger and a histogram's key each leave out other frames, and probes have the way to them on top."""
    lines = [line.rstrip() for line in shell((PROGRAMS / "stacks.sh").read_text()).text.splitlines()]
    assert lines == (PROGRAMS / "stacks_6_1.out").read_text().splitlines()


def test_system_call_events_and_filters(shell):
    result = shell(SYSCALLS)
    lines = [line for line in normal(result.text).splitlines() if not line.startswith("#")]
    assert "TASK [000] ...1. TS: sys_write(fd: 1, buf: P, count: 6)" in lines
    assert lines.count("TASK [000] ...1. TS: sys_dup2 -> 0x1") >= 2
    assert not any("count: 2)" in line for line in lines)
    assert lines[-5:] == ["none", "nosuch == 1", "       ^", "parse_error: Field not found", ""]
    assert b"write error: Invalid argument" in result.stderr


def test_the_same_run_gives_the_same_bytes(shell):
    assert shell(KPROBES, seed=3).text == shell(KPROBES, seed=3).text


def test_4_1_prints_as_4_1(shell):
    text = shell(KPROBES, kernel="4.1").text
    assert re.search(r"^ +\S+-\d+ +\[000\] d\.\.\. +\d+\.\d{6}: foo: \(vfs_write\+0x0/0x", text, re.M)
    assert "r:kprobes/bar vfs_write ret=$retval" in text


def test_uprobe_at_the_entry_of_a_program(shell):
    """Armed in every process that maps the file from then on; the address is the program's own."""
    from elftools.elf.elffile import ELFFile

    with open(BUSYBOX, "rb") as program:
        elf = ELFFile(program)
        entry = elf.header.e_entry
        offset = next(elf.address_offsets(entry))
        if elf.header.e_type != "ET_EXEC":
            pytest.skip("this busybox is position independent")
    result = shell(f"""
cd /sys/kernel/tracing
echo 'p:start /bin/busybox:{offset:#x} sp=$stack comm=$comm' > uprobe_events
echo 1 > events/uprobes/enable
/bin/busybox true
/bin/busybox false
echo 0 > events/uprobes/enable
/bin/busybox true
cat uprobe_profile
grep start: trace
""")
    profile, *lines = result.text.splitlines()
    assert profile == f"  /bin/busybox {'start':<44} {2:15d}"
    assert len(lines) == 2
    assert all(f"start: (0x{entry:x}) sp=0x7ff" in line and 'comm="busybox"' in line for line in lines)


def test_available_filter_functions_can_be_probed(shell):
    text = shell("cat /sys/kernel/tracing/available_filter_functions").text.splitlines()
    assert {"vfs_read", "vfs_write", "ksys_write", "do_sys_openat2"} <= set(text)
    recorded = Counter(functions_of("x86_64", NEWEST))  # of a real 6.1, where several functions have one name
    assert Counter(text) & recorded == recorded
    assert {times for name, times in Counter(text).items() if name not in recorded} == {1}


def test_every_function_as_a_tree():
    """All functions at once, the first of the text among them: more hooks than are kept one by one."""
    import simkernel

    machine = simkernel.boot(kernel="6.1")
    machine.install(BUSYBOX)
    script = (
        "cd /sys/kernel/tracing; echo function_graph > current_tracer; echo hi > /tmp/x; echo 0 > tracing_on;"
        " grep -v '^#' trace | grep -A2 __x64_sys_write | head -3"
    )
    result = machine.run(["/bin/busybox", "sh", "-c", script])
    assert result.status == 0
    names = [line.split("|")[1].strip() for line in result.text.splitlines()]
    assert names == ["__x64_sys_write() {", "ksys_write() {", "vfs_write() {"]
    machine.close()


def test_a_call_without_arguments_is_one_function_with_several_names(shell):
    """As on 6.1: probes take each name, filters of functions the one that the list has."""
    script = (
        "cd /sys/kernel/tracing; for f in __x64_sys_getppid __do_sys_getppid __ia32_sys_getppid; do echo p:seen $f > kprobe_events; "
        "echo 1 > events/kprobes/enable; sh -c 'echo $PPID' > /dev/null; echo 0 > events/kprobes/enable; "
        "grep -c 'seen: (__do_sys_getppid+0x0' trace; echo > kprobe_events; echo $f > set_ftrace_filter && echo yes; done; "
        "grep 'sys_getppid$' /proc/kallsyms | cut -d ' ' -f 2- | sort; grep sys_getppid available_filter_functions"
    )
    lines = shell(script).text.splitlines()
    kept = [line for line in lines if "write error" not in line]
    names = ["T __ia32_sys_getppid", "T __x64_sys_getppid", "t __do_sys_getppid"]
    assert kept == ["1", "1", "yes", "1", *names, "__do_sys_getppid"]


def test_trace_pipe_folds_a_leaf_as_trace_does(shell):
    """print_graph_entry_leaf(): 6.1's trace_pipe shows `__rcu_read_lock();` with its time, too, not a pair of braces."""
    script = (
        "cd /sys/kernel/tracing; echo vfs_read > set_graph_function; echo function_graph > current_tracer; head -c 1 /bin/busybox > /tmp/x;"
        " echo 0 > tracing_on; grep -v '^#' trace > /tmp/trace; (cat trace_pipe > /tmp/pipe) & sleep 1; kill $!;"
        " grep -c ');' /tmp/pipe; cmp /tmp/trace /tmp/pipe && echo same"
    )
    count, *rest = shell(script).text.splitlines()
    assert int(count) > 0 and "same" in rest
