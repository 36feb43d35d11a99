"""What execve keeps while it is under way: the request, and the struct linux_binprm of each program being loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simkernel.kernel.areas import MappedFile
from simkernel.kernel.task import Cred, Task


class LinuxBinprm:
    """struct linux_binprm."""

    file: MappedFile  # once it is opened

    def __init__(self, filename: bytes, request: ExecRequest) -> None:
        self.opened = False
        self.request = request
        self.filename = filename  # as given to execve: AT_EXECFN
        self.interp = filename  # what really runs, after #!
        self.argv = request.argv or [b""]
        self.envp = request.envp
        self.head = b""
        self.by_cloexec_fd = False  # it is named by a descriptor that the new program does not have
        self.cred: Cred | None = None  # what the new program will have
        self.secure = False  # AT_SECURE
        self.addr = self.interp_addr = 0

    def give(self, file: MappedFile) -> MappedFile | None:
        """What is to run from now on; what was, which is the caller's to put."""
        before = self.file if self.opened else None
        self.file, self.opened = file, True
        return before


class ExecRights(NamedTuple):
    """What a file says about who runs it."""

    mode: int
    uid: int
    gid: int
    nosuid: bool
    capability: bytes | None  # security.capability


class ExecRequest:
    """Arguments of execveat(2), read from user memory or given by the host."""

    def __init__(self, fd: int, name: bytes, argv: list[bytes], envp: list[bytes], flags: int = 0) -> None:
        self.fd, self.name, self.argv, self.envp, self.flags = fd, name, argv, envp, flags


def nobody(task: Task) -> None:
    """No perf events are there."""


def none_of_its_own(task: Task, on: bool) -> None:
    """The task has opened no perf events."""


class ExecState:
    """`k.exec`."""

    def __init__(self) -> None:
        self.request: ExecRequest | None = None  # what do_execveat_common() is called for
        self.fresh: LinuxBinprm | None = None  # what alloc_bprm() is called for
        self.binprms: list[LinuxBinprm] = []
        self.perf_event_task: Callable[[Task, bool], object] = (
            none_of_its_own  # prctl(2): its events are switched on, or off
        )
        self.perf_event_exec: Callable[[Task], object] = nobody  # told before the task has its new name and mappings

    def taken(self) -> LinuxBinprm:
        """Of the call that is under way."""
        fresh, self.fresh = self.fresh, None
        assert fresh is not None
        return fresh

    def at(self, addr: int) -> LinuxBinprm:
        """The LinuxBinprm of an address."""
        return next(b for b in self.binprms if b.addr == addr)
