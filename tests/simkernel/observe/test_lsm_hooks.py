"""Programs on hooks of LSM: each is called on its path, and what it refuses does not happen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import simkernel
from arch.abi.errno import EACCES
from arch.abi.fcntl import AT_FDCWD, O_CREAT, O_WRONLY
from arch.errors import KernelError
from bpf import uapi
from simkernel.fs.rootfs import add_bytes_lazily
from simkernel.machine import Machine
from simkernel.session import Session
from tests.simkernel.observe.test_traced_functions import load

REFUSES = f"r0 = -{EACCES}\nexit"
Use = Callable[[Session], object]


def path(s: Session, text: str) -> int:
    at = s.syscalls.alloc(64)
    s.syscalls.write(at, text.encode() + b"\0")
    return at


def sys(s: Session, name: str, *args: int) -> int:
    return s.task.call(name, *args)


def named(call: str, *names: str, more: tuple[int, ...] = ()) -> Use:
    return lambda s: sys(s, call, *[path(s, name) for name in names], *more)


HOOKS: dict[str, Use] = {
    "inode_create": lambda s: sys(s, "openat", AT_FDCWD, path(s, "/tmp/fresh"), O_WRONLY | O_CREAT, 0o644),
    "inode_mkdir": named("mkdir", "/tmp/made", more=(0o755,)),
    "inode_rmdir": named("rmdir", "/tmp/dir"),
    "inode_unlink": named("unlink", "/tmp/file"),
    "inode_mknod": named("mknod", "/tmp/fifo", more=(0o10644, 0)),
    "inode_symlink": named("symlink", "target", "/tmp/link"),
    "inode_link": named("link", "/tmp/file", "/tmp/other"),
    "inode_rename": named("rename", "/tmp/file", "/tmp/third"),
    "inode_readlink": lambda s: sys(s, "readlink", path(s, "/proc/self"), s.syscalls.alloc(64), 64),
    "file_ioctl": lambda s: sys(s, "ioctl", s.fd, 0x5451, 0),
    "file_fcntl": lambda s: sys(s, "fcntl", s.fd, 3, 0),
    "file_lock": lambda s: sys(s, "flock", s.fd, 1),
    "mmap_file": lambda s: sys(s, "mmap", 0, 4096, 1, 2, s.fd, 0),
    "file_mprotect": lambda s: sys(s, "mprotect", s.area, 4096, 1),
    "task_kill": lambda s: sys(s, "kill", 1, 0),
    "task_getpgid": lambda s: sys(s, "getpgid", 1),
    "task_getsid": lambda s: sys(s, "getsid", 1),
    "task_setnice": lambda s: sys(s, "setpriority", 0, 0, 3),
    "syslog": lambda s: sys(s, "syslog", 10, 0, 0),
    "ptrace_traceme": lambda s: sys(s, "ptrace", 0, 0, 0, 0),
}


@pytest.fixture(scope="module")
def booted() -> Machine:
    return simkernel.boot()


@pytest.mark.parametrize("hook", HOOKS)
def test_what_a_hook_refuses_does_not_happen(booted: Machine, hook: str) -> None:
    s = booted.session
    task = s.task
    s.write_file("/tmp/file", b"x", O_WRONLY | O_CREAT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(s, "fd", sys(s, "openat", AT_FDCWD, path(s, "/tmp/file"), 2, 0), raising=False)
        patch.setattr(s, "area", sys(s, "mmap", 0, 4096, 3, 0x22, -1, 0), raising=False)
        if hook == "inode_rmdir":
            sys(s, "mkdir", path(s, "/tmp/dir"), 0o755)
        link = task.raw_tracepoint_open(
            None, load(booted, uapi.BPF_PROG_TYPE_LSM, uapi.BPF_LSM_MAC, f"bpf_lsm_{hook}", REFUSES)
        )
        with pytest.raises(KernelError) as refused:
            HOOKS[hook](s)
        assert refused.value.errno == EACCES
        if hook == "inode_create":
            with pytest.raises(KernelError, match="ENOENT"):
                sys(s, "openat", AT_FDCWD, path(s, "/tmp/fresh"), O_WRONLY)
        if hook not in ("file_ioctl", "file_fcntl"):
            task.call("close", link)
            HOOKS[hook](s)


def test_exec_and_fork_are_told(booted: Machine, busybox: str) -> None:
    add_bytes_lazily(booted.kernel.vfs, "/bin/busybox", Path(busybox).read_bytes())
    bpf = booted.kernel.observer.bpf
    hooks = ("bprm_creds_for_exec", "bprm_committing_creds", "bprm_committed_creds", "task_alloc", "task_free")
    numbers = {}
    for hook in hooks:
        fd = load(booted, uapi.BPF_PROG_TYPE_LSM, uapi.BPF_LSM_MAC, f"bpf_lsm_{hook}")
        booted.session.task.raw_tracepoint_open(None, fd)
        numbers[hook] = max(bpf.progs.objects)
    bpf.stats_enabled = 1
    assert booted.run(["/bin/busybox", "sh", "-c", "/bin/busybox true; exit 3"]).status == 3
    counts = {hook: bpf.progs.objects[number].run_cnt for hook, number in numbers.items()}
    assert all(counts.values()), counts
