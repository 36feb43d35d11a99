"""Names are bytes: what is no UTF-8 goes through every part that handles names, and comes back as it was."""

from __future__ import annotations

import simkernel
from arch.abi.fcntl import AT_FDCWD, O_APPEND, O_CREAT, O_RDWR, O_WRONLY
from simkernel.usertask import UserTask

NAME = b"\xff\xfe"
TRACEFS = "/sys/kernel/tracing"


def text(task: UserTask, call: str, *args: object) -> int:
    """A call whose bytes are strings in the task's memory."""
    return task.syscall(call, *(task.string(a) if isinstance(a, bytes) else a for a in args))  # type: ignore[arg-type]


def test_names_that_are_no_text() -> None:
    m = simkernel.boot()
    task, session = m.user_task("bytes"), m.session
    assert text(task, "sethostname", NAME, 2) == 0
    assert session.read_file("/proc/sys/kernel/hostname") == NAME + b"\n"
    assert text(task, "mkdir", b"/tmp/" + NAME, 0o755) == 0
    assert text(task, "mount", NAME, b"/tmp/" + NAME, b"tmpfs", 0, 0) == 0
    fd = text(
        task, "openat", AT_FDCWD, b"/tmp/" + NAME + b"/x", O_RDWR | O_CREAT, 0o600
    )  # the mount's structures are made
    assert fd >= 0
    assert NAME + b" /tmp/" + NAME + b" tmpfs" in session.read_file("/proc/mounts")
    assert text(task, "mkdir", f"{TRACEFS}/instances/".encode() + NAME, 0o755) == 0
    assert text(task, "mkdir", b"/sys/fs/cgroup/" + NAME, 0o755) == 0
    assert session.read_file("/tmp/\udcff\udcfe/x") == b""
    session.write_file(
        f"{TRACEFS}/kprobe_events", b"p:later " + NAME + b":there\n", O_WRONLY | O_APPEND
    )  # in a module to come
    m.enable_event("p:opened do_sys_openat2 path=+0($arg2):ustring")
    assert text(task, "openat", AT_FDCWD, b"/tmp/" + NAME + b"/y", 0, 0) < 0
    assert "opened: (do_sys_openat2" in m.trace_pipe()


def test_arguments_that_are_no_text(busybox: str) -> None:
    m = simkernel.boot()
    assert m.run([m.install(busybox), "echo", "a\udcff"]).stdout == b"a\xff\n"


def test_names_of_tasks_are_bytes() -> None:
    m = simkernel.boot()
    task, session = m.user_task("bytes"), m.session
    m.enable_event("p:opened do_sys_openat2 name=$comm")
    for name in (NAME, "€".encode()):
        assert text(task, "prctl", 15, name, 0, 0, 0) == 0
        assert session.read_file(f"/proc/{task.task.pid}/comm") == name + b"\n"
        assert b"(" + name + b")" in session.read_file(f"/proc/{task.task.pid}/stat")
    fd = text(task, "openat", AT_FDCWD, b"/proc/self/comm", O_WRONLY, 0)
    for name in (NAME, "€".encode()):
        assert text(task, "write", fd, name, len(name)) == len(name)
        assert session.read_file(f"/proc/{task.task.pid}/comm") == name + b"\n"
        assert text(task, "openat", AT_FDCWD, b"/", 0, 0) >= 0
        assert b'name="' + name + b'"' in session.read_file(f"{TRACEFS}/trace")
