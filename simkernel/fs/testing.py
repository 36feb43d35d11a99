"""For tests: a kernel without CPU, and a small libc over it; each method is one system call of the current task."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from arch.abi.fcntl import AT_FDCWD, O_CREAT, O_DIRECTORY, O_RDONLY, O_TRUNC, O_WRONLY
from arch.architecture import DEFAULT
from simkernel.fs.boot import install
from simkernel.fs.face import FsKernel
from simkernel.kernel.calls import ids
from simkernel.kernel.testing import HostKernel, run_body, run_syscall

CALLED = (ids,)  # modules of the kernel whose functions file systems call: ns_capable()


class HostFsKernel(HostKernel, FsKernel):
    """A kernel with file systems and without a CPU."""


class Libc:
    """System calls with Python arguments; results are ints, -errno for a refusal."""

    def __init__(self, version: str = "6.1", arch: str = DEFAULT) -> None:
        self.k = HostFsKernel(version=version, arch=arch)
        self.vfs = install(self.k)
        self._slot = itertools.cycle(range(0x11000, 0x20000, 0x1000))

    def text(self, value: str | bytes) -> int:
        """A C string in user memory; its address."""
        addr: int = self.k.put_user_string(next(self._slot), value)
        return addr

    def call(self, name: str, *args: Any) -> int:
        """One system call; strings are put into user memory."""
        values = [self.text(a) if isinstance(a, str | bytes) else a for a in args]
        ret: int = run_syscall(self.k, name, *values)
        return ret

    def __getattr__(self, name: str) -> Callable[..., int]:
        return lambda *args: self.call(name, *args)

    def openat(self, path: str | bytes, flags: int = O_RDONLY, mode: int = 0o644, dfd: int = AT_FDCWD) -> int:
        """openat(2)."""
        return self.call("openat", dfd, path, flags, mode)

    def write_bytes(self, fd: int, data: bytes) -> int:
        """write(2) of these bytes."""
        self.k.usercopy.user.write(0x40000, data)
        return run_syscall(self.k, "write", fd, 0x40000, len(data))

    def read_bytes(self, fd: int, size: int = 65536) -> Any:
        """read(2): the bytes, or -errno."""
        n = run_syscall(self.k, "read", fd, 0x40000, size)
        return n if n < 0 else bytes(self.k.usercopy.user.read(0x40000, n))

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Make a file with this content."""
        fd = self.openat(path, O_CREAT | O_WRONLY | O_TRUNC, mode)
        assert fd >= 0, fd
        assert self.write_bytes(fd, data) == len(data)
        self.call("close", fd)

    def get(self, path: str) -> bytes:
        """The content of a file."""
        fd = self.openat(path)
        assert fd >= 0, fd
        out = b""
        while True:
            piece = self.read_bytes(fd)
            assert not isinstance(piece, int), piece
            if not piece:
                break
            out += piece
        self.call("close", fd)
        return out

    def stat(self, path: str, flags: int = 0) -> Any:
        """The fields of struct stat, or -errno."""
        ret = self.call("newfstatat", AT_FDCWD, path, 0x60000, flags)
        return ret if ret else self._unpack_stat()

    def fstat(self, fd: int) -> Any:
        """The same of a descriptor."""
        ret = self.call("fstat", fd, 0x60000)
        return ret if ret else self._unpack_stat()

    def _unpack_stat(self) -> dict[str, int]:
        record = self.vfs.abi.stat
        return record.unpack(self.k.usercopy.user.read(0x60000, record.size), self.k.mem.byteorder)

    def listdir(self, path: str) -> list[str]:
        """Names in the order of getdents64."""
        fd = self.openat(path, O_RDONLY | O_DIRECTORY)
        assert fd >= 0, fd
        names = []
        while True:
            n = self.call("getdents64", fd, 0x50000, 4096)
            assert n >= 0, n
            if not n:
                break
            raw = self.k.usercopy.user.read(0x50000, n)
            at = 0
            order = self.k.mem.byteorder
            while at < n:
                size = int.from_bytes(raw[at + 16 : at + 18], order)
                names.append(raw[at + 19 : at + size].split(b"\0")[0].decode())
                at += size
        self.call("close", fd)
        return names

    def readlink(self, path: str) -> Any:
        """The text of a link, or -errno."""
        n = self.call("readlinkat", AT_FDCWD, path, 0x50000, 4096)
        return n if n < 0 else self.k.usercopy.user.read(0x50000, n).decode()

    def pipe(self, flags: int = 0) -> tuple[int, int]:
        """(read end, write end)."""
        assert self.call("pipe2", 0x50000, flags) == 0
        return self.k.usercopy.get_user(0x50000, 4), self.k.usercopy.get_user(0x50004, 4)

    def body(self, name: str, *args: int) -> int:
        """Run a kernel function, and what it leaves to the task."""
        ret = run_body(self.k, name, *args)
        run_body(self.k, "task_work_run")
        return ret

    def new_task(self, pid: int, share_files: bool = False) -> Any:
        """A forked task; it becomes the current one when assigned to libc.k.current."""
        k = self.k
        task = k.add_task(pid, "child")
        flags = 0x400 if share_files else 0
        assert self.body("copy_files", flags, task.addr) == 0
        assert self.body("copy_fs", 0, task.addr) == 0
        return task
