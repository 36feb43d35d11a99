"""The function tracer; texts as recorded from Linux 6.1."""

import re

import pytest

from arch.abi.errno import EINVAL, ENOENT
from tests.tracing.fakes import cat, echo, machine
from tests.tracing.test_filter import written


@pytest.fixture
def tracing():
    return machine()


def call(tracing, name, back):
    host = tracing.host
    stack = host.mem.alloc(16)
    host.mem.write_uint(stack, 8, back)
    host.armed[host.address[name]](host.regs(sp=stack))


def test_filters_list_functions(tracing):
    assert cat(tracing, "set_ftrace_filter") == "#### all functions enabled ####\n"
    assert cat(tracing, "set_ftrace_notrace") == "#### no functions disabled ####\n"
    assert written(tracing, "set_ftrace_filter", "nosuch\n", append=False) == EINVAL
    echo(tracing, "set_ftrace_filter", "vfs_write ksys_wr*")
    assert cat(tracing, "set_ftrace_filter").split() == ["vfs_write", "ksys_write"]
    echo(tracing, "set_ftrace_filter", "vfs_read", append=True)
    echo(tracing, "set_ftrace_filter", "!vfs_write", append=True)
    assert cat(tracing, "set_ftrace_filter").split() == ["vfs_read", "ksys_write"]
    assert "exc_int3" not in cat(tracing, "available_filter_functions")


def test_calls_and_their_callers(tracing):
    host = tracing.host
    echo(tracing, "set_ftrace_filter", "vfs_* ksys_write")
    echo(tracing, "set_ftrace_notrace", "vfs_read")
    echo(tracing, "current_tracer", "function")
    assert cat(tracing, "current_tracer") == "function\n"
    assert set(host.armed) == {host.address[n] for n in ("vfs_write", "vfs_open", "ksys_write")}
    call(tracing, "ksys_write", host.address["schedule"] + 8)
    call(tracing, "vfs_write", host.address["ksys_write"] + 8)
    lines = [line.split(": ", 1)[1] for line in cat(tracing, "trace").splitlines() if not line.startswith("#")]
    assert lines == ["ksys_write <-schedule", "vfs_write <-ksys_write"]
    assert cat(tracing, "trace").startswith("# tracer: function\n#\n")
    echo(tracing, "trace_options", "noprint-parent")
    assert cat(tracing, "trace").endswith(": vfs_write\n")
    assert tracing.tracefs.kprobes.lookup("list").show() == ""
    echo(tracing, "current_tracer", "nop")
    assert not host.armed


def test_a_dump_is_in_latency_format(tracing):
    """ftrace_dump(): the kernel's log of 6.1 said so, too."""
    echo(tracing, "trace_marker", "one two")
    echo(tracing, "set_ftrace_filter", "vfs_write:dump")
    call(tracing, "vfs_write", 0)
    lines = [re.sub(r"\d+us", "Nus", line) for line in tracing.host.log]
    assert lines == [
        "Dumping ftrace buffer:",
        "---------------------------------",
        "   <...>-81        0..... Nus : tracing_mark_write: one two",
        "---------------------------------",
    ]
    assert cat(tracing, "tracing_on") == "0\n"


def test_together_with_a_return_probe(tracing):
    """Both sit on the first instruction; the tracer shows the real caller whichever comes first."""
    host = tracing.host
    echo(tracing, "kprobe_events", "r:bar vfs_write")
    echo(tracing, "events/kprobes/enable", "1")
    echo(tracing, "set_ftrace_filter", "vfs_write")
    echo(tracing, "current_tracer", "function")
    call(tracing, "vfs_write", host.address["ksys_write"] + 8)
    assert host.return_handler(host.regs()) == host.address["ksys_write"] + 8
    lines = [line.split(": ", 1)[1] for line in cat(tracing, "trace").splitlines() if not line.startswith("#")]
    assert lines == ["vfs_write <-ksys_write", "bar: (ksys_write+0x8/0x400 <- vfs_write)"]


def test_pids(tracing):
    host = tracing.host
    assert cat(tracing, "set_ftrace_pid") == "no pid\n"
    echo(tracing, "set_ftrace_pid", "77")
    echo(tracing, "set_event_pid", "78")
    assert cat(tracing, "set_event_pid") == "78\n"
    assert written(tracing, "set_event_pid", "x") == EINVAL
    echo(tracing, "set_ftrace_filter", "vfs_read")
    echo(tracing, "current_tracer", "function")
    echo(tracing, "events/sched/sched_process_exit/enable", "1")
    for pid in (76, 77, 78):
        host.pid = pid
        call(tracing, "vfs_read", 0)
        tracing.trace("sched_process_exit", host.task_struct("x", pid))
    lines = [line.split()[0] for line in cat(tracing, "trace").splitlines() if not line.startswith("#")]
    assert lines == ["<...>-77", "<...>-78"]  # nobody has been switched


def test_functions_that_are_never_called_are_listed_and_take_probes(tracing):
    """Debian's 6.1 lists 38,252 lines; a machine without a CPU has ten functions of its own."""
    names = cat(tracing, "available_filter_functions").split()
    assert len(names) > 37_000
    assert names[:2] == ["__traceiter_initcall_level", "__traceiter_initcall_start"]
    echo(tracing, "set_ftrace_filter", "acpi_ns_*")
    chosen = cat(tracing, "set_ftrace_filter").split()
    assert len(chosen) > 20 and all(name.startswith("acpi_ns_") for name in chosen)
    assert written(tracing, "kprobe_events", "p:never acpi_ns_lookup") == 0
    assert cat(tracing, "kprobe_events") == "p:kprobes/never acpi_ns_lookup\n"
    echo(tracing, "events/kprobes/never/enable", "1")
    assert written(tracing, "kprobe_events", "p:nowhere no_such_function_at_all") == ENOENT
