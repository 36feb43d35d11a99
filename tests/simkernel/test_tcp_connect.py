"""connect(2) of TCP on loopback: what it answers when it does not wait, and when nobody answers."""

from __future__ import annotations

import pytest

import simkernel
from arch.abi.errno import EALREADY, ECONNREFUSED, EINPROGRESS, EISCONN, ETIMEDOUT
from simkernel.usertask import UserTask

AF_INET, STREAM, NONBLOCK = 2, 1, 0o4000
PORT = 1234
SOL_SOCKET, SO_ERROR = 1, 4


def address(port: int) -> bytes:
    return AF_INET.to_bytes(2, "little") + port.to_bytes(2, "big") + bytes((127, 0, 0, 1)) + bytes(8)


@pytest.fixture
def task() -> UserTask:
    task = simkernel.boot().user_task("tcp")
    listener = task.syscall("socket", AF_INET, STREAM, 0)
    assert task.syscall("bind", listener, address(PORT), 16) == 0
    assert task.syscall("listen", listener, 0) == 0
    return task


def connect(task: UserTask, fd: int, port: int = PORT) -> int:
    return task.syscall("connect", fd, address(port), 16)


def test_not_waiting(task: UserTask) -> None:
    fd = task.syscall("socket", AF_INET, STREAM | NONBLOCK, 0)
    assert [connect(task, fd) for _ in range(3)] == [-EINPROGRESS, 0, -EISCONN]


def test_not_waiting_for_a_refusal(task: UserTask) -> None:
    fd = task.syscall("socket", AF_INET, STREAM | NONBLOCK, 0)
    assert [connect(task, fd, 99) for _ in range(3)] == [-EINPROGRESS, -ECONNREFUSED, -EINPROGRESS]
    value, size = task.alloc(4), task.alloc(4)
    task.write(size, (4).to_bytes(4, "little"))
    assert task.syscall("getsockopt", fd, SOL_SOCKET, SO_ERROR, value, size) == 0
    assert int.from_bytes(task.read(value, 4), "little") == ECONNREFUSED


def test_waiting(task: UserTask) -> None:
    fd = task.syscall("socket", AF_INET, STREAM, 0)
    assert [connect(task, fd) for _ in range(2)] == [0, -EISCONN]
    assert connect(task, task.syscall("socket", AF_INET, STREAM, 0), 99) == -ECONNREFUSED


def test_past_the_backlog(task: UserTask) -> None:
    """A backlog of 0 takes one connection; the next SYN is ignored, and sent again for 127 s and what the wheel rounds up."""
    assert connect(task, task.syscall("socket", AF_INET, STREAM, 0)) == 0
    fd = task.syscall("socket", AF_INET, STREAM | NONBLOCK, 0)
    assert [connect(task, fd) for _ in range(3)] == [-EINPROGRESS, -EALREADY, -EALREADY]
    clock = task.k.clock
    before = clock.now_ns
    assert connect(task, task.syscall("socket", AF_INET, STREAM, 0)) == -ETIMEDOUT
    assert 130 <= (clock.now_ns - before) / 10**9 < 131.5  # buckets of the timer wheel: 130.0 to 131.1 there, too


def test_a_place_in_the_backlog(task: UserTask) -> None:
    """Taken by the SYN that is sent again, one second after the first."""
    assert connect(task, task.syscall("socket", AF_INET, STREAM, 0)) == 0
    clock = task.k.clock
    before = clock.now_ns
    sock = next(iter(task.k.net.tcp_listen.values()))
    listener = sock[0] if isinstance(sock, list) else sock
    clock.add(before + 5 * 10**8, listener.accept_queue.clear)
    assert connect(task, task.syscall("socket", AF_INET, STREAM, 0)) == 0
    assert (clock.now_ns - before) // 10**9 == 1
