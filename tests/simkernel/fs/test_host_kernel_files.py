"""A bind of the host's root: what is in /proc and /sys is no file but the host's kernel, and not there."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator

import pytest

import simkernel
from arch.errors import KernelError
from simkernel.fs.hostfs import BindError
from simkernel.fs.hosttree import HostTree, kernel_devices
from simkernel.machine import Machine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the host's /proc is Linux's")
O_RDWR, O_DIRECTORY = 2, 0o200000


@pytest.fixture
def m() -> Iterator[Machine]:
    with simkernel.boot(binds=[("/", "/host", True)]) as machine:
        yield machine


def test_a_program_does_not_reach_the_memory_of_the_host(m: Machine) -> None:
    ours = ctypes.create_string_buffer(b"of the host")
    task = m.user_task()
    buffer = task.alloc(64)
    task.write(buffer, b"overwritten")
    for path in (
        f"/host/proc/{os.getpid()}/mem",
        "/host/proc/self/mem",
        "/host/proc/thread-self/mem",
        f"/host/tmp/../proc/{os.getpid()}/mem",
    ):
        fd = task.syscall("openat", -100, path, O_RDWR, 0)
        assert fd < 0, path
        assert task.syscall("pwrite64", fd, buffer, 11, ctypes.addressof(ours)) < 0
    assert ours.value == b"of the host"


def test_directories_of_the_kernel_are_not_there(m: Machine) -> None:
    names = m.session.read_file("/proc/mounts").decode()
    assert "/host" in names
    task = m.user_task()
    for path in ("/host/proc", "/host/sys", "/host/proc/1", "/host/sys/kernel"):
        assert task.syscall("openat", -100, path, O_DIRECTORY, 0) == -2, path
    assert task.syscall("openat", -100, "/host/etc", O_DIRECTORY, 0) >= 0


@pytest.mark.parametrize("path", ["/proc", "/proc/self", "/sys", "/proc/cpuinfo"])
def test_and_cannot_be_bound(path: str) -> None:
    with pytest.raises(BindError, match="the host's kernel"):
        simkernel.boot(binds=[(path, "/host", False)])


def test_a_mount_that_comes_later_is_not_entered(tmp_path) -> None:
    """What was a directory when it was looked at, and is the kernel's when it is opened."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_bytes(b"plain")
    tree = HostTree(str(tmp_path), False)
    assert tree.read(["sub", "file"], 9, 0) == b"plain"
    tree.kernel_devices = frozenset({(tmp_path / "sub").stat().st_dev})
    for attempt in (lambda: tree.read(["sub", "file"], 9, 0), lambda: tree.names(["sub"])):
        with pytest.raises(KernelError):
            attempt()
    assert os.stat("/proc").st_dev in kernel_devices()


def test_a_bind_that_the_host_refuses_is_told() -> None:
    with pytest.raises(BindError, match="null byte"):
        simkernel.boot(binds=[("\0", "/host", False)])
