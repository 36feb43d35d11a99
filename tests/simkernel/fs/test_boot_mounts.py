"""What an init has mounted before the first program."""

from __future__ import annotations

from collections.abc import Generator

import simkernel
from arch.abi.fcntl import O_CREAT, O_EXCL, O_RDWR
from simkernel.usertask import Calls, Request


def test_anybodys_shared_memory_has_a_place() -> None:
    """shm_open() and sem_open() of every libc make a file in /dev/shm, and link it: tmpfs, for everybody, sticky."""
    m = simkernel.boot()
    results: list[int] = []

    def story(u: Calls) -> Generator[Request, int, object]:
        results.append((yield u.setresuid(1000, 1000, 1000)))
        fd = yield u.openat(-100, "/dev/shm/sem.x", O_RDWR | O_CREAT | O_EXCL, 0o600)
        results.append((yield u.ftruncate(fd, 32)))
        results.append((yield u.link("/dev/shm/sem.x", "/dev/shm/sem.y")))

    assert m.wait(m.workload(story)).status == 0
    assert results == [0, 0, 0]
    mounts = m.session.read_file("/proc/mounts").decode()
    assert "tmpfs /dev/shm tmpfs rw,nosuid,nodev,relatime,inode64 0 0\n" in mounts
