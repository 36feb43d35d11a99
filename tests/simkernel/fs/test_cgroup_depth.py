"""Cgroups as deep as somebody likes: nothing recurses, and what one costs does not grow with how many there are."""

from __future__ import annotations

import simkernel

DEPTH = 1300  # more than Python's stack


def test_deep_cgroups() -> None:
    with simkernel.boot() as m:
        task = m.user_task()
        task.syscall("chdir", "/sys/fs/cgroup")
        for _ in range(DEPTH):
            assert task.syscall("mkdirat", -100, "d", 0o755) == 0
            assert task.syscall("chdir", "d") == 0
        fd = task.syscall("openat", -100, "cgroup.procs", 1, 0)
        assert task.syscall("write", fd, "0", 1) == 1
        assert m.session.read_file(f"/proc/{task.task.pid}/cgroup") == b"0::" + b"/d" * DEPTH + b"\n"
        assert m.session.read_file("/sys/fs/cgroup/cgroup.stat").split()[1] == b"%d" % DEPTH
        assert m.session.read_file("/sys/fs/cgroup/d/cgroup.procs") == b""
        fd = task.syscall("openat", -100, "/sys/fs/cgroup/cgroup.procs", 1, 0)
        assert task.syscall("write", fd, "0", 1) == 1
        task.syscall("chdir", "..")
        assert task.syscall("unlinkat", -100, "d", 0x200) == 0
        assert m.session.read_file("/sys/fs/cgroup/cgroup.stat").split()[1] == b"%d" % (DEPTH - 1)
