"""The 3.20-rfc profile: `bpf-N` in an event's filter file, close detaches.  The program itself is a stand-in."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch.abi.errno import EBADF, EINVAL, ERANGE
from arch.abi.fcntl import O_WRONLY
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from tests.tracing.fakes import cat, echo, machine, node


class Program:
    def __init__(self):
        self.args, self.regs, self.answer, self.released = [], [], 1, 0

    def run_args(self, args):
        self.args.append(args)
        return self.answer

    def run_regs(self, regs):
        self.regs.append(regs)
        return self.answer

    def release(self):
        self.released += 1


@pytest.fixture
def rfc():
    tracing = machine(KernelVersion.parse("3.20-rfc"))
    tracing.programs = {7: Program(), 8: Program()}
    tracing.asked = []

    def hook(event, text, token):
        tracing.asked.append((event.name, text))
        number = 9 if text.endswith("9") else 7 + text.endswith("8")
        if number not in tracing.programs:
            raise KernelError(EBADF)
        return tracing.programs[number]

    tracing.tracefs.filter_hook = hook
    return tracing


def open_filter(tracing, path):
    return node(tracing, f"events/{path}/filter").open(O_WRONLY)


def errno_of(file, text):
    with pytest.raises(KernelError) as error:
        file.write(text, 0)
    return error.value.errno


def test_attach_discard_and_detach_by_close(rfc):
    host, program = rfc.host, rfc.programs[7]
    file = open_filter(rfc, "sched/sched_migrate_task")
    assert file.write(b"bpf-7\n", 0) == 6
    event = rfc.events.get("sched", "sched_migrate_task")
    assert event.enabled
    assert event.top.filter_text == "bpf-7"  # a cat would detach: its close counts, too
    task = host.task_struct("x", 5)
    rfc.trace("sched_migrate_task", task, -1)
    assert program.args == [(task, 0xFFFFFFFF, 0, 0, 0, 0)]  # by size, zero-extended
    assert "sched_migrate_task: comm=x pid=5" in cat(rfc, "trace")
    program.answer = 0
    rfc.trace("sched_migrate_task", task, 1)
    assert cat(rfc, "trace").count("sched_migrate_task:") == 1
    file.release()
    assert not event.enabled
    assert program.released == 1
    assert event.top.filter_text is None
    rfc.trace("sched_migrate_task", task, 1)
    assert len(program.args) == 2


@pytest.mark.parametrize("text", [b"bpf-7", b"bpf_7", b"bpf 7", b"bpf.7", b"bpf-0x7", b"bpf-07\n", b"  bpf-7 "])
def test_any_separator(rfc, text):
    file = open_filter(rfc, "sched/sched_switch")
    file.write(text, 0)
    assert rfc.events.get("sched", "sched_switch").filter_program is rfc.programs[7]


def test_errors_keep_what_was(rfc):
    file = open_filter(rfc, "sched/sched_switch")
    file.write(b"bpf-7", 0)
    event = rfc.events.get("sched", "sched_switch")
    assert errno_of(file, b"bpf-9") == EBADF
    assert errno_of(file, b"bpf-x") == EINVAL
    assert errno_of(file, b"bpf-99999999999999999999") == ERANGE
    assert event.filter_program is rfc.programs[7]
    file.write(b"bpf-8", 0)
    assert (event.filter_program, rfc.programs[7].released) == (rfc.programs[8], 1)
    file.write(b"prev_pid == 1", 0)
    assert event.filter_program is None
    assert event.top.filter_text == "prev_pid == 1"
    assert rfc.programs[8].released == 1


def test_system_calls_give_their_arguments(rfc):
    rfc.declare_syscalls([("write", [("unsigned int", "fd"), ("const char *", "buf"), ("size_t", "count")])])
    enter, leave = (open_filter(rfc, f"syscalls/sys_{side}_write") for side in ("enter", "exit"))
    enter.write(b"bpf-7", 0)
    leave.write(b"bpf-8", 0)
    number = rfc.host.arch.syscalls["write"]
    regs = rfc.host.regs(di=1, si=2, dx=3, r10=4, r8=5, r9=6, orig_ax=number)
    rfc.trace("sys_enter", regs, number)
    rfc.trace("sys_exit", regs, -9)
    assert rfc.programs[7].args == [(1, 2, 3, 4, 5, 6)]
    assert rfc.programs[8].args == [(2**64 - 9, 0, 0, 0, 0, 0)]


def test_kprobe_events_give_pt_regs(rfc):
    echo(rfc, "kprobe_events", "p:sys_write vfs_write")
    file = open_filter(rfc, "kprobes/sys_write")
    file.write(b"bpf-7", 0)
    host = rfc.host
    regs = host.regs(dx=5)
    rfc.programs[7].answer = 0
    host.armed[host.address["vfs_write"]](regs)
    assert rfc.programs[7].regs == [regs]
    assert "sys_write:" not in cat(rfc, "trace")
    file.release()
    assert not host.armed


def test_group_filters_and_other_kernels_do_not_know_the_form(rfc):
    echo(rfc, "events/sched/filter", "bpf-7")
    assert rfc.events.get("sched", "sched_switch").filter_program is None
    newer = machine(KernelVersion.parse("6.1"))
    newer.tracefs.filter_hook = rfc.tracefs.filter_hook
    assert errno_of(open_filter(newer, "sched/sched_switch"), b"bpf-7") == EINVAL


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["open", "attach", "close", "fire", "bad", "text", "zero", "answer"]), st.integers(0, 7)
        ),
        max_size=60,
    )
)
def test_no_event_is_lost_and_no_program_leaks(steps):
    """Whatever is opened, attached, replaced and closed: seen = fired while attached, every reference is given back."""
    tracing = machine(KernelVersion.parse("3.20-rfc"))
    programs, taken = [Program() for _ in range(3)], [0]

    def hook(event, text, token):
        number = int(text[4:])
        if number >= len(programs):
            raise KernelError(EBADF)
        taken[0] += 1
        return programs[number]

    tracing.tracefs.filter_hook = hook
    event = tracing.events.get("sched", "sched_migrate_task")
    task = tracing.host.task_struct("x", 5)
    files, seen, recorded = [], 0, 0
    for step, number in steps:
        file = files[number % len(files)] if files else None
        if step == "open":
            files.append(open_filter(tracing, "sched/sched_migrate_task"))
        elif step == "answer":
            programs[number % 3].answer ^= 1
        elif step == "fire":
            attached = event.filter_program
            if attached is not None:
                seen += 1
            if event.enabled and (attached is None or attached.answer):
                recorded += 1
            tracing.trace("sched_migrate_task", task, 1)
        elif file is not None and step == "close":
            files.remove(file)
            file.release()
            assert event.filter_program is None
        elif file is not None:
            text = {"attach": f"bpf-{number % 3}", "bad": "bpf-9", "text": "pid == 5", "zero": "0"}[step]
            with contextlib.suppress(KernelError):
                file.write(text.encode(), 0)
    for file in files:
        file.release()
    assert sum(len(program.args) for program in programs) == seen
    assert tracing.trace_array.buffer.entries + tracing.trace_array.buffer.overruns == recorded
    assert sum(program.released for program in programs) == taken[0]
