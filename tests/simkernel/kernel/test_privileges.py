"""What a user without capabilities may not do; and arguments that Linux refuses to everybody."""

from __future__ import annotations

import pytest

from arch.abi.errno import EACCES, EINVAL, EPERM
from simkernel.machine import boot
from simkernel.usertask import UserTask

AF_INET, STREAM = 2, 1


@pytest.fixture
def root() -> UserTask:
    return boot().user_task("root")


@pytest.fixture
def user(root: UserTask) -> UserTask:
    assert root.syscall("setresgid", 1000, 1000, 1000) == 0
    assert root.syscall("setresuid", 1000, 1000, 1000) == 0
    return root


def bind(task: UserTask, port: int) -> int:
    fd = task.syscall("socket", AF_INET, STREAM, 0)
    return task.syscall("bind", fd, AF_INET.to_bytes(2, "little") + port.to_bytes(2, "big") + bytes(12), 16)


def test_low_ports(user: UserTask) -> None:
    assert [bind(user, port) for port in (1, 80, 1023, 1024, 0)] == [-EACCES, -EACCES, -EACCES, 0, 0]


def test_root_has_the_low_ports(root: UserTask) -> None:
    assert bind(root, 80) == 0


def test_setting_the_clock(user: UserTask) -> None:
    pair = bytes(16)
    assert user.syscall("settimeofday", pair, 0) == -EPERM
    assert user.syscall("clock_settime", 0, pair) == -EPERM
    assert user.syscall("settimeofday", 0, bytes(8)) == -EPERM
    assert user.syscall("clock_settime", 0, bytes(8) + (10**9).to_bytes(8, "little")) == -EINVAL
    assert user.syscall("clock_settime", 1, pair) == -EINVAL


def test_robust_lists_of_others(user: UserTask) -> None:
    head, size = user.alloc(8), user.alloc(8)
    assert user.syscall("get_robust_list", 1, head, size) == -EPERM
    assert user.syscall("get_robust_list", 0, head, size) == 0


def test_a_clock_that_is_none(root: UserTask) -> None:
    assert root.syscall("clock_getres", -1, 0) == -EINVAL
    assert root.syscall("clock_getres", -2, 0) == 0  # this thread's CPU time


def test_membarrier_flags(root: UserTask) -> None:
    assert root.syscall("membarrier", 0, 1, 0) == -EINVAL
    assert root.syscall("membarrier", 0, 0, 0) > 0
