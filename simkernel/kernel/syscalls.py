"""The table of system calls, who watches them, and what the kernel calls their handlers.

kernel/entry/common.c, arch/*/include/asm/syscall_wrapper.h, include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.errno import ENOSYS
from arch.abi.version import KernelVersion
from arch.architecture import Architecture, SyscallAbi
from simkernel.kernel.kfunc import SYSCALLS, Syscall
from simkernel.kernel.task import CurrentTask, SigInfo, Task
from simkernel.kernel.tracepoints import Tracepoints

# Where the name in the number table and the name of SYSCALL_DEFINE differ.  arch/x86/entry/syscalls/syscall_64.tbl,
# include/uapi/asm-generic/unistd.h; the 32-bit tables in *_32.
DEFINED_AS_64 = {"stat": "newstat", "lstat": "newlstat", "fstat": "newfstat", "uname": "newuname", "umount2": "umount",
                 "sendfile": "sendfile64", "umount": "oldumount"}  # fmt: skip
DEFINED_AS_32 = {
    "stat": "newstat", "lstat": "newlstat", "fstat": "newfstat", "uname": "newuname", "umount2": "umount",
    "umount": "oldumount", "mmap": "old_mmap", "mmap2": "mmap_pgoff", "select": "old_select", "_newselect": "select",
    "ugetrlimit": "getrlimit", "getrlimit": "old_getrlimit", "_llseek": "llseek",
    **{name: f"{name}16" for name in ("getuid", "geteuid", "getgid", "getegid", "setuid", "setgid", "setreuid",
                                      "setregid", "setresuid", "setresgid", "getresuid", "getresgid", "setfsuid",
                                      "setfsgid", "getgroups", "setgroups", "chown", "lchown", "fchown")},
    **{f"{name}32": name for name in ("getuid", "geteuid", "getgid", "getegid", "setuid", "setgid", "setreuid",
                                      "setregid", "setresuid", "setresgid", "getresuid", "getresgid", "setfsuid",
                                      "setfsgid", "getgroups", "setgroups", "chown", "lchown", "fchown")},
}  # fmt: skip


def define_name(word: int, name: str) -> str:
    """The name in SYSCALL_DEFINE of a number's name: __x64_sys_newfstat serves fstat.  `word`: bytes of a long."""
    return (DEFINED_AS_64 if word == 8 else DEFINED_AS_32).get(name, name)


class SyscallWatcher(Protocol):
    """strace."""

    def enter(self, task: Task, nr: int, regs: int) -> None:
        """A call begins."""

    def leave(self, task: Task, nr: int, ret: int) -> None:
        """The call returns."""

    def forked(self, task: Task) -> None:
        """A new task is about to see its own return from clone()."""

    def signal(self, task: Task, info: SigInfo) -> None:
        """A signal is delivered."""

    def killed(self, task: Task, sig: int) -> None:
        """A signal ended the process."""


class Syscalls:
    """`k.syscalls`."""

    def __init__(
        self, board: CurrentTask, arch: Architecture, abi: SyscallAbi, version: KernelVersion, tracepoints: Tracepoints
    ) -> None:
        self.board, self.arch, self.abi, self.version = board, arch, abi, version
        self.declared: dict[str, Syscall] = {
            s.name: s for s in SYSCALLS if s.exists_in(version) and s.name in abi.numbers
        }
        self.symbols = {name: self.symbol(name)[0] for name in self.declared}  # name -> the handler's
        self.names = abi.names
        # number -> (address of the handler, words of C arguments or None for one that takes struct pt_regs)
        self.table: dict[int, tuple[int, int | None]] = {}
        self.counts: dict[int, int] = {}
        self.missing: dict[str, int] = {}  # calls that somebody wanted and that are not here
        self.strace: SyscallWatcher | None = None
        self.sys_enter, self.sys_exit = tracepoints.point("sys_enter"), tracepoints.point("sys_exit")
        self.tracepoints = tracepoints

    def symbol(self, name: str) -> tuple[str, bool]:
        """(symbol of a system call's handler, whether it takes pt_regs) in this version on this architecture."""
        since = self.abi.wrapper_since
        defined = define_name(self.arch.word, name)
        if since is not None and self.version.at_least(since):
            return self.abi.wrapper_prefix + defined, True
        return "sys_" + defined, False

    def absent(self, nr: int) -> int:
        """A call that does not exist here: counted."""
        name = self.names.get(nr, str(nr))
        self.missing[name] = self.missing.get(name, 0) + 1
        return -ENOSYS

    def enter(self, regs: int, nr: int) -> int:
        """Watchers of the way in: strace, sys_enter, syscalls:sys_enter_*; the number, which they may change."""
        if self.strace is not None:
            self.strace.enter(self.board.current, nr, regs)
        point = self.tracepoints.points["sys_enter"]
        if point.active:
            point.fire(regs, nr)
        return nr

    def exit(self, regs: int, nr: int, ret: int) -> None:
        """Watchers of the way out."""
        point = self.tracepoints.points["sys_exit"]
        if point.active:
            point.fire(regs, ret)
        if self.strace is not None:
            self.strace.leave(self.board.current, nr, ret)
