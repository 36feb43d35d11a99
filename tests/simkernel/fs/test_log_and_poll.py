"""Whoever sleeps on the kernel's log or on trace_pipe is woken: by the next line, by the next event."""

import pytest

import simkernel
from arch.abi.fcntl import AT_FDCWD, F_SETFL, O_NONBLOCK, O_RDONLY
from arch.abi.poll import POLLIN
from arch.errors import KernelError

SOON = 5_000_000  # ns


@pytest.fixture
def session():
    return simkernel.boot().session


def later(session, say):
    """Let the kernel do something a little later, in virtual time."""
    clock = session.machine.kernel.clock
    clock.add(clock.now_ns + SOON, say)


def opened(session, path):
    return session.task.call("openat", AT_FDCWD, session.syscalls.task.string(path), O_RDONLY, 0)


def polled(session, fd):
    """poll(2) of one descriptor without a timeout: what it says is ready."""
    at = session.syscalls.alloc(8)
    session.syscalls.write(at, fd.to_bytes(4, "little") + POLLIN.to_bytes(2, "little") + bytes(2))
    assert session.task.call("poll", at, 1, -1 & 0xFFFFFFFF) == 1
    return int.from_bytes(session.syscalls.read(at + 6, 2), "little")


def read(session, fd):
    at = session.syscalls.alloc(4096)
    size = session.task.call("read", fd, at, 4096)
    return session.syscalls.read(at, size).decode()


def drain(session, fd):
    """Read until nothing is left."""
    session.task.call("fcntl", fd, F_SETFL, O_NONBLOCK)
    with pytest.raises(KernelError, match="EAGAIN"):
        while True:
            read(session, fd)
    session.task.call("fcntl", fd, F_SETFL, 0)


@pytest.mark.parametrize("path", ["/proc/kmsg", "/dev/kmsg"])
def test_a_line_wakes_who_reads_the_log(session, path):
    kernel = session.machine.kernel
    fd = opened(session, path)
    drain(session, fd)
    later(session, lambda: kernel.printk("one more line"))
    assert "one more line" in read(session, fd)


@pytest.mark.parametrize("path", ["/proc/kmsg", "/dev/kmsg"])
def test_a_line_wakes_who_polls_the_log(session, path):
    kernel = session.machine.kernel
    fd = opened(session, path)
    drain(session, fd)
    later(session, lambda: kernel.printk("one more line"))
    assert polled(session, fd) & POLLIN
    assert "one more line" in read(session, fd)


def test_an_event_wakes_who_polls_trace_pipe(session):
    fd = opened(session, "/sys/kernel/tracing/trace_pipe")
    session.enable_event("sched:sched_switch")  # the sleep in poll is itself such an event
    assert polled(session, fd) & POLLIN
    assert "sched_switch" in read(session, fd)


def test_a_marker_wakes_who_polls_trace_pipe(session):
    fd = opened(session, "/sys/kernel/tracing/trace_pipe")
    tree = session.machine.kernel.observer.tracing.tracefs
    later(session, lambda: tree.top.files.markers.text(b"said later"))
    assert polled(session, fd) & POLLIN
    assert "said later" in read(session, fd)
