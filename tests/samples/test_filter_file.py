"""The filter files of 3.20-rfc with real programs: who may write what, who detaches, and that nothing is lost or leaks."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import simkernel
from arch.abi.errno import EBADF, EFAULT, EINVAL, ERANGE
from arch.abi.fcntl import O_WRONLY
from arch.abi.signal import SIGKILL
from arch.errors import KernelError
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from bpf.loader.bpf_load import BPF_PROG_TYPE_KPROBE_FILTER, BPF_PROG_TYPE_TRACING_FILTER, DEBUGFS, bpf_prog_load
from simkernel.session import Session

SAMPLES = Path(__file__).parents[2] / "samples"
SWITCH, WRITE = "events/sched/sched_switch", "events/syscalls/sys_enter_write"
DISCARD, KEEP = "r0 = 0\nexit", "r0 = 1\nexit"
COUNT = """
    *(u32 *)(r10 -4) = 0
    r2 = r10
    r2 += -4
    r1 = map[seen]
    call 1
    if r0 == 0 goto out
    r1 = 1
    lock *(u64 *)(r0 +0) += r1
  out:
    r0 = {answer}
    exit
"""


@pytest.fixture
def box():
    return simkernel.boot(kernel="3.20-rfc")


@pytest.fixture
def task(box):
    return box.session.task


def load(task, text=DISCARD, kind=BPF_PROG_TYPE_TRACING_FILTER, **maps):
    return bpf_prog_load(task, kind, assemble(text, maps))


def open_filter(task, event=SWITCH):
    return task.open(f"{DEBUGFS}{event}/filter", O_WRONLY)


def event_of(box, path):
    return box.kernel.observer.tracing.events.get(*path.split("/")[1:])


def attached(box, path=SWITCH):
    event = event_of(box, path)
    assert event.enabled == (event.filter_program is not None)
    return event.enabled


def nothing_left(box):
    box.settle()
    bpf = box.kernel.observer.bpf
    return not bpf.progs.objects and not bpf.maps.objects


def errno_of(task, fd, text):
    with pytest.raises(KernelError) as error:
        task.write_fd(fd, text)
    return error.value.errno


def test_errors_by_row_of_the_protocol(box, task):
    prog, kprobe = load(task), load(task, kind=BPF_PROG_TYPE_KPROBE_FILTER)
    a_map = task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 8, 1)
    fd = open_filter(task)
    task.write_fd(fd, b"prev_pid == 7")
    for text, errno in (
        (b"x" * 4096, EINVAL),  # a page or more
        (b"bpf-1x", EINVAL),  # not a number
        (b"bpf-99999999999", ERANGE),
        (b"bpf-55", EBADF),  # not open
        (b"bpf-%d" % fd, EINVAL),  # open, but no program
        (b"bpf-%d" % a_map, EINVAL),
        (b"bpf-%d" % kprobe, EINVAL),  # of the other type
        (b"bpf-", EINVAL),  # too short to be about programs; as a predicate it makes no sense
        (b"nothing == 1", EINVAL),
    ):
        assert errno_of(task, fd, text) == errno, text
        assert not attached(box) and event_of(box, SWITCH).top.filter_text is not None, text
    with pytest.raises(KernelError) as error:
        task.call("write", fd, 0xDEAD0000, 5)
    assert error.value.errno == EFAULT
    # The fourth character separates, whatever it is; numbers have automatic base; blanks around do not matter.
    for text in (b"bpf-%d", b"bpf_%d", b"bpf %d", b"bpf.0x%x", b" bpf-0%o\n"):
        assert task.write_fd(fd, text % prog) == len(text % prog)
        assert attached(box)
        task.write_fd(fd, b"0")
        assert event_of(box, SWITCH).filter_program is None
        event_of(box, SWITCH).set_enabled(False)
    task.close(fd)


def test_what_the_file_shows(box, task):
    fd = open_filter(task)
    assert task.read_file(f"{DEBUGFS}{SWITCH}/filter") == b"none\n"
    task.write_fd(fd, b"bpf-%d" % load(task))
    assert attached(box)
    assert task.read_file(f"{DEBUGFS}{SWITCH}/filter").startswith(b"bpf-")
    assert not attached(box)  # the reader's close detached, as that patch set had it


def test_a_second_program_replaces_the_first(box, task):
    first, second = load(task), load(task, KEEP)
    fd = open_filter(task)
    task.write_fd(fd, b"bpf-%d" % first)
    task.write_fd(fd, b"bpf-%d" % second)
    task.close(first)
    box.settle()
    assert len(box.kernel.observer.bpf.progs.objects) == 1
    task.close(second)
    assert attached(box)  # the event holds it
    task.close(fd)
    assert nothing_left(box)


def test_a_kprobe_event_takes_a_kprobe_program_only(box, task):
    task.write_file(DEBUGFS + "kprobe_events", "p:w sys_write\n")
    fd = open_filter(task, "events/kprobes/w")
    assert errno_of(task, fd, b"bpf-%d" % load(task)) == EINVAL
    task.write_fd(fd, b"bpf-%d" % load(task, KEEP, BPF_PROG_TYPE_KPROBE_FILTER))
    assert attached(box, "events/kprobes/w")
    task.write_file("/dev/null", "x")
    task.close(fd)
    task.write_file("/dev/null", "x")
    assert box.trace_pipe().count(" w: (sys_write+0x0/") == 1


def tool_with_a_program(box):
    """A second tool task that has a program attached and nothing else open."""
    session = Session(box, "owner")
    fd = open_filter(session.task)
    prog = load(session.task)
    session.task.write_fd(fd, b"bpf-%d" % prog)
    assert attached(box)
    return session, fd


def test_close_detaches(box):
    session, fd = tool_with_a_program(box)
    session.task.close(fd)
    assert not attached(box)


def test_exit_detaches(box):
    session, _ = tool_with_a_program(box)
    session.close()
    assert not attached(box) and nothing_left(box)


def test_kill_9_detaches(box):
    session, _ = tool_with_a_program(box)
    box.kernel.signals.send(session.syscalls.task.task, SIGKILL)
    box.settle()
    assert not attached(box) and nothing_left(box)


def test_exec_detaches(box):
    """Descriptors of the loader are close-on-exec."""
    session, _ = tool_with_a_program(box)
    guest = box.install(f"{SAMPLES}/bin/x86_64/hello")
    target = session.syscalls.task
    request = ("execve", (target.string(guest), 0, 0))
    target.request = request
    box.kernel.wake_up(target.queue)
    box.kernel.cpus.run(lambda: target.task.exit_state != 0)
    assert not attached(box) and nothing_left(box)


def test_a_forked_child_that_closes_nothing_keeps_it(box):
    """fork shares the open file: only the last close is a release."""
    k = box.kernel
    prog_text = assemble(DISCARD)
    states = []

    def child(u):
        yield u.nanosleep(u.string(bytes(8) + (10**9 - 1).to_bytes(8, "little")), 0)

    def owner(u):
        code, log = u.string(encode(prog_text)), u.string("GPL")
        attr = (2).to_bytes(4, "little") + len(prog_text).to_bytes(4, "little")
        attr += code.to_bytes(8, "little") + log.to_bytes(8, "little") + bytes(16)
        prog = yield u.bpf(5, attr, 40)
        fd = yield u.openat(-100, f"{DEBUGFS}{SWITCH}/filter", O_WRONLY, 0)
        text = b"bpf-%d" % prog
        assert (yield u.write(fd, text, len(text))) == len(text)
        yield u.fork(child)
        yield u.close(fd)
        states.append(attached(box))

    task = box.workload(owner, "owner")
    k.cpus.run(lambda: task.exit_state != 0)
    assert states == [True] and attached(box)
    k.cpus.run(lambda: False, k.clock.now_ns + 2 * 10**9)
    assert not attached(box) and nothing_left(box)


@pytest.mark.parametrize("seed", range(3))
def test_fuzz_no_event_is_lost_and_nothing_leaks(seed):
    """Attach, detach, close and fork under load: what programs saw and what the buffer got is what was fired."""
    box = simkernel.boot(kernel="3.20-rfc", cpus=2, seed=seed)
    k, generator = box.kernel, random.Random(seed)
    event = event_of(box, WRITE)
    task = Session(box, "watcher").task
    task.write_file(DEBUGFS + "buffer_size_kb", "1408")  # attaching enables the event, but leaves the buffer small
    seen = task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 8, 1)
    progs = [load(task, COUNT.format(answer=answer), seen=seen) for answer in (0, 1)]
    total = fired = 0
    for _ in range(25):
        fd = open_filter(task, WRITE)
        number = generator.randrange(2)
        task.write_fd(fd, b"bpf-%d" % progs[number])
        before = writes(box)
        programs_saw = seen_by(task, seen)
        recorded = box.kernel.observer.tracing.trace_array.buffer.entries
        writers = [box.workload(writer_and_child(generator.randrange(20)), "writer") for _ in range(2)]
        k.cpus.run(lambda ws=writers: all(w.exit_state for w in ws))
        done = writes(box) - before
        assert seen_by(task, seen) - programs_saw == done
        assert box.kernel.observer.tracing.trace_array.buffer.entries - recorded == (done if number else 0)
        action = generator.randrange(3)
        if action == 0:
            task.write_fd(fd, b"0")
        elif action == 1:
            other = open_filter(task, WRITE)
            task.close(other)  # any close detaches
        assert action == 2 or event.filter_program is None
        fired, total = fired + done + (action == 0), seen_by(task, seen)  # the detaching write is the last one seen
        task.close(fd)
        event.set_enabled(False)
    assert total == fired > 500
    box.session.close()
    task.sys.task.exit()
    assert nothing_left(box)


def writes(box):
    return box.kernel.syscalls.counts.get(box.kernel.abi.numbers["write"], 0)


def seen_by(task, fd):
    return int.from_bytes(task.map_lookup(fd, bytes(4), 8), "little")


def writer_and_child(count):
    def child(u):
        fd = yield u.openat(-100, "/dev/null", O_WRONLY, 0)
        for _ in range(count):
            yield u.write(fd, b"x", 1)

    def program(u):
        yield u.fork(child)
        yield from child(u)
        yield u.wait4(-1, 0, 0, 0)

    return program


HELPERS = """
    r6 = *(u64 *)(r1 +16)           ; arg3: count
    r7 = *(u64 *)(r1 +8)            ; arg2: buf
    r1 = 0x0a756c25206e656c ll      ; "len %lu\\n"
    *(u64 *)(r10 -16) = r1
    *(u64 *)(r10 -8) = 0
    r1 = r10
    r1 += -16
    r2 = 9
    r3 = r6
    call 11                         ; printk
    call 10                         ; dump_stack
    r1 = r7
    call 8                          ; fetch_u8
    if r0 == 120 goto kept          ; 'x'
    r0 = 0
    exit
  kept:
    call 12                         ; ktime_get_ns
    r0 = 1
    exit
"""


def test_helpers_of_that_tree(box, task):
    fd = open_filter(task, WRITE)
    task.write_fd(fd, b"bpf-%d" % load(task, HELPERS))
    task.write_file("/dev/null", "xyz")
    task.write_file("/dev/null", "abcdef")
    event_of(box, WRITE).filter_program.release()
    event_of(box, WRITE).filter_program = None
    event_of(box, WRITE).set_enabled(False)
    text = box.trace_pipe()
    assert "len 3\n" in text and "len 6\n" in text
    assert text.count("<stack trace>") == 2
    assert text.count("sys_write(fd:") == 1  # the one that begins with x
