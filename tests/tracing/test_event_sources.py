"""Sources of perf events beside software ones, as 6.1 answered the same questions: msr, ftrace's own events, faults of the kernel."""

import re
import shutil
import struct

import pytest

import simkernel
from arch.errors import KernelError

BUSYBOX = shutil.which("busybox")
DEVICES = "/sys/bus/event_source/devices"
SOFTWARE, TRACEPOINT, MSR = 1, 2, 8
PAGE_FAULTS, PAGE_FAULTS_MIN = 2, 5
SAMPLE_IP, SAMPLE_CALLCHAIN, SAMPLE_RAW = 1, 1 << 5, 1 << 10
DISABLED, EXCLUDE_USER, EXCLUDE_KERNEL = 1 << 0, 1 << 4, 1 << 5
EXCLUDE_CALLCHAIN_KERNEL, EXCLUDE_CALLCHAIN_USER = 1 << 21, 1 << 22
ENABLE, DISABLE, SET_FILTER = 0x2400, 0x2401, 0x40082406
FUNCTION, PRINT = 1, 5  # of events/ftrace
EINVAL, ENOENT = -22, -2


@pytest.fixture(scope="module")
def machine():
    with simkernel.boot() as machine:
        yield machine


@pytest.fixture
def task(machine):
    with machine.session.task.memory() as memory:
        yield machine.session.task, memory


def attr(kind, config, flags=0, period=0, sample=0):
    return struct.pack("<IIQQQQQ", kind, 120, config, period, sample, 0, flags) + bytes(72)


def open_event(task, kind, config, cpu=-1, **more):
    task, memory = task
    try:
        return task.call("perf_event_open", memory.put(attr(kind, config, **more)), 0 if cpu < 0 else -1, cpu, -1, 0)
    except KernelError as error:
        return -error.errno


def count(task, fd):
    task, memory = task
    where = memory.put(bytes(8))
    assert task.call("read", fd, where, 8) == 8
    return struct.unpack("<Q", task.sys.read(where, 8))[0]


def test_devices_of_the_bus(machine):
    """Names, links, attributes: `ls` and `cat` of 6.1."""
    if BUSYBOX is None:
        pytest.skip("needs a static busybox on this host")
    script = f"""cd {DEVICES}; echo *; readlink msr; readlink software; readlink msr/subsystem; echo msr/* kprobe/*
        cat msr/type msr/format/event msr/events/tsc msr/perf_event_mux_interval_ms msr/uevent
        cd software/power; cat async control runtime_status runtime_enabled; cat autosuspend_delay_ms"""
    done = machine.run([machine.install(BUSYBOX), "sh", "-c", script])
    attributes = "perf_event_mux_interval_ms {0}/power {0}/subsystem {0}/type {0}/uevent"
    assert done.stdout.decode().splitlines() == [
        "breakpoint kprobe msr software tracepoint uprobe",
        "../../../devices/msr", "../../../devices/software", "../../bus/event_source",
        "msr/events msr/format msr/" + attributes.format("msr") + " kprobe/format kprobe/" + attributes.format("kprobe"),
        "8", "config:0-63", "event=0x00", "0",
        "disabled", "auto", "unsupported", "disabled",
    ]  # fmt: skip
    assert done.stderr.decode() == "cat: read error: Input/output error\n"


def test_the_time_stamp_counter_is_an_event(task):
    fd = open_event(task, MSR, 0)
    before = count(task, fd)
    assert count(task, fd) > before
    assert open_event(task, MSR, 0, cpu=0) >= 0
    assert [open_event(task, MSR, number) for number in range(1, 9)] == [EINVAL] * 8
    assert open_event(task, MSR, 0, period=1) == EINVAL
    assert open_event(task, MSR + 1, 0) == ENOENT


@pytest.mark.parametrize(
    ("more", "function", "printed"),
    [
        ({}, True, True),
        ({"period": 1, "sample": SAMPLE_IP}, False, True),
        ({"period": 1, "sample": SAMPLE_RAW, "flags": EXCLUDE_KERNEL}, False, True),
        (
            {"period": 1, "sample": SAMPLE_CALLCHAIN, "flags": EXCLUDE_CALLCHAIN_USER | EXCLUDE_CALLCHAIN_KERNEL},
            True,
            True,
        ),
    ],
)
def test_what_tracers_write_may_be_counted(task, more, function, printed):
    """Of user memory nothing at every function: perf_trace_event_perm()."""
    for number, taken in ((FUNCTION, function), (PRINT, printed)):
        fd = open_event(task, TRACEPOINT, number, **more)
        assert fd >= 0 if taken else fd == EINVAL
        if fd >= 0:
            task[0].call("close", fd)
    assert [open_event(task, TRACEPOINT, number) for number in (0, 2, 3, 4, 6, 7)] == [EINVAL] * 6


def test_functions_are_counted(task):
    fd = open_event(task, TRACEPOINT, FUNCTION, flags=DISABLED)
    assert count(task, fd) == 0
    task[0].call("ioctl", fd, ENABLE, 0)
    task[0].call("getpid")
    task[0].call("ioctl", fd, DISABLE, 0)
    seen = count(task, fd)
    assert seen > 2
    task[0].call("getpid")
    assert count(task, fd) == seen
    task[0].call("close", fd)


@pytest.mark.parametrize("kind", [PAGE_FAULTS, PAGE_FAULTS_MIN])
def test_faults_of_the_kernel_count(task, kind):
    """read(2) into two pages that are not there yet; 6.1 counts 2 of the kernel and none of user code."""
    program, memory = task
    zero = program.call("open", memory.put(b"/dev/zero\0"), 0, 0)
    pages = program.call("mmap", 0, 8192, 3, 0x22, -1, 0)
    kernel = open_event(task, SOFTWARE, kind, flags=EXCLUDE_USER)
    user = open_event(task, SOFTWARE, kind, flags=EXCLUDE_KERNEL)
    before = count(task, kernel), count(task, user)
    assert program.call("read", zero, pages, 8192) == 8192
    after = count(task, kernel), count(task, user)
    assert (after[0] - before[0], after[1] - before[1]) == (2, 0)


def test_who_traces_a_function(machine):
    """enabled_functions: all probes of a function's beginning are one user of it, each tracer another; as on 6.1."""
    write, read = machine.session.write_file, machine.session.read_file
    top = "/sys/kernel/tracing"

    def enabled():
        lines = read(f"{top}/enabled_functions").decode().splitlines()  # x86 also says through which trampoline
        return [" ".join(re.split(r"\ttramp:| ->", line)[0].split()) for line in lines]

    assert enabled() == []
    write(f"{top}/kprobe_events", "p:a vfs_read\nr:c vfs_read\np:b vfs_write\n")
    assert enabled() == []
    write(f"{top}/events/kprobes/a/enable", "1")
    assert enabled() == ["vfs_read (1) R"]
    write(f"{top}/events/kprobes/c/enable", "1")
    assert enabled() == ["vfs_read (1) R"]
    write(f"{top}/set_ftrace_filter", "vfs_read")
    write(f"{top}/current_tracer", "function")
    assert enabled() == ["vfs_read (2) R"]
    write(f"{top}/events/kprobes/b/enable", "1")
    assert sorted(enabled()) == ["vfs_read (2) R", "vfs_write (1) R"]
    write(f"{top}/current_tracer", "nop")
    assert sorted(enabled()) == ["vfs_read (1) R", "vfs_write (1) R"]
    write(f"{top}/events/kprobes/enable", "0")
    assert enabled() == []


def test_an_int_has_no_sign_in_a_register(machine):
    """What 6.1 prints for the same probes: -100 and -ENOENT fill half a register, a long all of it."""
    if BUSYBOX is None:
        pytest.skip("needs a static busybox on this host")
    script = r"""cd /sys/kernel/tracing; echo > trace
        echo 'p:one do_sys_openat2 d=$arg1 ds=$arg1:s32 dl=$arg1:s64 di=%di' > kprobe_events
        echo 'r:two vfs_fstatat r=$retval rl=$retval:s64' >> kprobe_events
        echo 'r:three do_sys_openat2 r=$retval rs=$retval:s32' >> kprobe_events
        echo 1 > events/kprobes/enable; ls /none; cat /none; echo 0 > events/kprobes/enable; cat trace"""
    text = machine.run([machine.install(BUSYBOX), "sh", "-c", script]).text
    assert " d=0xffffff9c ds=-100 dl=4294967196 di=0xffffff9c\n" in text
    assert " r=0xfffffffe rl=4294967294\n" in text
    assert " r=0xfffffffffffffffe rs=-2\n" in text
