"""tracefs files against recorded answers of Linux 6.1, and the ring buffer's arithmetic as the real one showed it."""

import json
import re
from pathlib import Path

import pytest

from arch.abi.errno import EAGAIN, EBADF, EBUSY, EINVAL, ENOENT
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from tests.tracing.fakes import Program, cat, echo, machine, node
from tests.tracing.test_filter import written
from tracing.face import WouldBlock

DATA = Path(__file__).parent.parent / "data" / "tracing" / "files_6_1.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text().splitlines()]


def normal(text):
    text = re.sub(r" +\d+\.\d{6}:", " TS:", text)
    text = re.sub(r"ts: +\d+\.\d+", "ts", text)
    text = re.sub(r" *\d+us[ +!]:", " Nus:", text)
    return re.sub(r"^ +(h|sh|<\.\.\.>)-\d+ +", " TASK ", text, flags=re.M)


def test_recorded_answers():
    wrong, cases, last = [], 0, None
    for row in ROWS:
        if "boot" in row:
            tracing = machine(cpus=1)
            tracing.host.comm = "h"
        elif "write" in row:
            last, cases = row, cases + 1
            got, want = written(tracing, row["write"], row["text"], not row["trunc"], once=True), row["errno"]
            if got != want:
                wrong.append((row, got))
        else:
            got, want = normal(cat(tracing, row["read"])), normal(row["data"])
            if got != want:
                wrong.append((row["read"], last, got, want))
    assert cases > 130
    assert not wrong


def markers(tracing, count):
    for i in range(1, count // 10 + 1):
        for j in (1, 2, 3, 4, 5, 6, 7, 8, 9, 0):
            written(tracing, "trace_marker", f"message-{i}-{j}\n")


def stats(tracing):
    return dict(line.split(": ") for line in cat(tracing, "per_cpu/cpu0/stats").splitlines())


def test_overwrite_drops_the_oldest_page():
    """300 markers into two pages: the real kernel kept 187, lost 113, and counted 6744 bytes."""
    tracing = machine(cpus=1)
    echo(tracing, "buffer_size_kb", "1")
    markers(tracing, 300)
    shown = stats(tracing)
    assert (shown["entries"], shown["overrun"], shown["bytes"]) == ("187", "113", "6744")
    assert "entries-in-buffer/entries-written: 187/300   #P:1" in cat(tracing, "trace")
    assert cat(tracing, "trace_pipe").startswith("CPU:0 [LOST 113 EVENTS]\n")
    assert stats(tracing)["read events"] == "187"


def test_without_overwrite_new_events_are_dropped():
    """The real kernel kept the first 226 of 300: 8160 bytes, 74 dropped."""
    tracing = machine(cpus=1)
    echo(tracing, "buffer_size_kb", "1")
    echo(tracing, "options/overwrite", "0")
    markers(tracing, 300)
    shown = stats(tracing)
    assert (shown["entries"], shown["dropped events"], shown["bytes"]) == ("226", "74", "8160")
    assert cat(tracing, "trace_pipe").splitlines()[-1].endswith("message-23-6")


def test_trace_pipe_blocks_and_wakes():
    tracing = machine(cpus=1)
    pipe = node(tracing, "trace_pipe").open(0)
    with pytest.raises(WouldBlock) as blocked:
        pipe.read(4096, 0)
    assert tracing.host.woken == []
    echo(tracing, "trace_marker", "hello")
    assert tracing.host.woken == [blocked.value.key]
    assert pipe.read(4096, 0).endswith(b"tracing_mark_write: hello\n")
    with pytest.raises(KernelError) as busy:
        node(tracing, "trace_pipe").open(0)
    assert busy.value.errno == EBUSY
    echo(tracing, "tracing_on", "0")
    assert pipe.read(4096, 0) == b""  # end of file: something was read and tracing is off
    pipe.release()
    again = node(tracing, "trace_pipe").open(0o4000)
    with pytest.raises(KernelError) as empty:
        again.read(4096, 0)
    assert empty.value.errno == EAGAIN


def test_trace_pipe_keeps_what_did_not_fit():
    tracing = machine(cpus=1)
    echo(tracing, "trace_marker", "a long enough line")
    pipe = node(tracing, "trace_pipe").open(0o4000)
    whole = pipe.read(7, 0)
    while pipe.pipe.left:
        whole += pipe.read(7, 0)
    assert whole.endswith(b"a long enough line\n")


def test_cpus_are_merged_by_time():
    tracing = machine(cpus=2)
    host = tracing.host
    for index, cpu in enumerate((0, 1, 1, 0)):
        host.cpu, host.ns = cpu, 1_000_000_000 + index * 1000
        echo(tracing, "trace_marker", f"m{index}")
    text = cat(tracing, "trace")
    assert re.findall(r"\[00(\d)\].*m(\d)", text) == [("0", "0"), ("1", "1"), ("1", "2"), ("0", "3")]
    assert "#P:2" in text
    assert "m1" not in cat(tracing, "per_cpu/cpu0/trace")


def test_marker_is_refused_while_not_recording():
    tracing = machine()
    echo(tracing, "tracing_on", "0")
    assert written(tracing, "trace_marker", "x") == EBADF


def test_buffer_grows_with_the_first_event():
    tracing = machine(cpus=1)
    assert cat(tracing, "buffer_size_kb") == "7 (expanded: 1408)\n"
    echo(tracing, "events/sched/enable", "1")
    assert cat(tracing, "buffer_size_kb") == "1410\n"


def test_directories():
    tracing = machine()
    assert set(node(tracing, "events/sched/sched_switch").entries()) == {
        "enable",
        "filter",
        "format",
        "hist",
        "id",
        "trigger",
    }
    with pytest.raises(KernelError) as missing:
        node(tracing, "events/nosuch")
    assert missing.value.errno == ENOENT
    echo(tracing, "kprobe_events", "p:foo vfs_read")
    assert "foo" in node(tracing, "events/kprobes").entries()
    echo(tracing, "kprobe_events", "\n")
    assert "kprobes" not in node(tracing, "events").entries()
    assert "dynamic_events" not in machine(KernelVersion.parse("4.1")).tracefs.root.entries()


def test_kprobes_debugfs_files():
    tracing = machine()
    files = tracing.tracefs.kprobes.entries()
    echo(tracing, "kprobe_events", "p:foo vfs_write\nr:bar vfs_write\np:mid vfs_write+9\n")
    echo(tracing, "events/kprobes/enable", "1")
    address = f"{tracing.host.address['vfs_write']:016x}"
    lines = files["list"].show().splitlines()
    assert lines[0] == f"{address}  r  vfs_write+0x0    [FTRACE]"
    assert lines[1] == f"{address}  k  vfs_write+0x0    [FTRACE]"
    assert lines[2].endswith("  k  vfs_write+0x9    ")
    assert len(tracing.host.armed) == 2
    files["enabled"].store(b"0\n")
    assert not tracing.host.armed
    files["enabled"].store(b"1\n")
    assert len(tracing.host.armed) == 2
    assert files["blacklist"].show().endswith("\tasm_exc_divide_error\n")


def test_triggers_act():
    tracing = machine()
    one = tracing.host.task_struct("a", 1)
    path = "events/sched/sched_process_exit"
    echo(tracing, f"{path}/trigger", "enable_event:sched:sched_wakeup:1 if pid == 1", append=True)
    assert cat(tracing, f"{path}/enable") == "0*\n"
    tracing.trace("sched_wakeup", one)
    tracing.trace("sched_process_exit", one)
    tracing.trace("sched_wakeup", one)
    assert cat(tracing, "trace").count("sched_wakeup:") == 1
    assert cat(tracing, f"{path}/trigger") == "enable_event:sched:sched_wakeup:count=0 if pid == 1\n"
    echo(tracing, f"{path}/trigger", "!enable_event:sched:sched_wakeup", append=True)
    assert cat(tracing, f"{path}/enable") == "0\n"
    echo(tracing, f"{path}/trigger", "traceoff", append=True)
    tracing.trace("sched_process_exit", one)
    assert cat(tracing, "tracing_on") == "0\n"


def test_syscall_lines():
    tracing = machine()
    host = tracing.host
    tracing.declare_syscalls([("openat", [("int", "dfd"), ("const char __user *", "filename")]), ("getpid", [])])
    echo(tracing, "events/syscalls/enable", "1")
    number = host.arch.syscalls["openat"]
    regs = host.regs(di=-100, si=0x7FFF0000, orig_ax=number)
    tracing.trace("sys_enter", regs, number)
    tracing.trace("sys_exit", regs, -2)
    tracing.trace("sys_enter", regs, host.arch.syscalls["getpid"])
    tracing.trace("sys_enter", regs, 9999)
    lines = [line.split("] ", 1)[1] for line in cat(tracing, "trace").splitlines() if not line.startswith("#")]
    assert lines == [
        "...1.     1.000000: sys_openat(dfd: ffffffffffffff9c, filename: 7fff0000, flags: 0, mode: 0)",
        "...1.     1.000000: sys_openat -> 0xfffffffffffffffe",
        "...1.     1.000000: sys_getpid()",
    ]


def test_nobody_listens():
    tracing = machine()
    point = tracing.tracepoints["sched_switch"]
    assert not point.active
    tracing.trace("sched_switch", 1, 2, 3, 4)  # no argument is looked at
    echo(tracing, "events/sched/sched_switch/enable", "1")
    assert point.active
    echo(tracing, "events/sched/sched_switch/enable", "0")
    assert not point.active
    assert written(tracing, "events/sched/sched_switch/enable", "2") == EINVAL


@pytest.mark.parametrize(
    ("version", "group", "event", "columns"),
    [
        ("6.1", "sched", "sched_process_exit", "...21"),
        ("6.1", "sched", "sched_switch", "d..41"),
        ("6.1", None, None, "...11"),
        ("5.10", "sched", "sched_process_exit", "d..."),
        ("4.14", "sched", "sched_process_exit", "...."),
    ],
)
def test_columns_of_bpf_trace_printk(version, group, event, columns):
    """What 6.1 showed for programs of these events: the caller's state and what the helper takes itself."""
    tracing = machine(version)

    def program(ctx):
        tracing.bpf_trace_printk("text")
        return 0

    if tracing.features.bpf_trace_event:
        tracing.bpf_trace_event.set_enabled(True)
    if event is None:
        program(0)
    else:
        tracepoint = tracing.events.get(group, event)
        tracepoint.add_bpf(Program(program))
        tracepoint.run_bpf(0)
    line = next(line for line in cat(tracing, "trace").splitlines() if "text" in line)
    assert line.split("] ")[1].split(" ")[0] == columns


def test_the_number_of_a_call_on_s390x_is_not_all_of_its_field():
    """int_code holds the length of the svc instruction, too: sys_exit showed NR 131076 for write, and sys_exit_write nothing."""
    tracing = machine(arch="s390x")
    tracing.declare_syscalls([("write", [("unsigned int", "fd")])])
    echo(tracing, "events/raw_syscalls/sys_exit/enable", "1")
    echo(tracing, "events/syscalls/sys_exit_write/enable", "1")
    regs = tracing.host.regs(int_code=0x20004)
    tracing.trace("sys_exit", regs, 5)
    text = cat(tracing, "trace")
    assert "sys_exit: NR 4 = 5\n" in text and "sys_write -> 0x5\n" in text
