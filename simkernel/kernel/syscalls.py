"""The table of system calls, who watches them, and what the kernel calls their handlers.

kernel/entry/common.c, arch/*/include/asm/syscall_wrapper.h, include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from arch.abi.errno import ENOSYS
from arch.abi.version import KernelVersion
from arch.architecture import Architecture, SyscallAbi
from simkernel.kernel.kfunc import SYSCALLS, Syscall
from simkernel.kernel.sigpending import SigInfo
from simkernel.kernel.task import CurrentTask, Task
from simkernel.kernel.tracepoints import Tracepoints

SYSCALL_NS = 60  # cost model: the way in and out
MAX_COUNTED = 512
NR_SYSCALLS = 451  # include/uapi/asm-generic/unistd.h, __NR_syscalls of 6.1

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


class Counts(Mapping[int, int]):
    """How often each call was made, by its number; those below MAX_COUNTED where native code counts, too."""

    def __init__(self) -> None:
        self.words = (ctypes.c_uint64 * MAX_COUNTED)()
        self.small = memoryview(self.words).cast("B").cast("Q")
        self.others: dict[int, int] = {}
        self.hot = 0  # when_hot(number) is called when a call has been made so often
        self.when_hot: Callable[[int], None] = lambda nr: None

    def add(self, nr: int) -> None:
        """One more."""
        if 0 <= nr < MAX_COUNTED:
            count = self.small[nr] = self.small[nr] + 1
            if count == self.hot:
                self.when_hot(nr)
        else:
            self.others[nr] = self.others.get(nr, 0) + 1

    def __getitem__(self, nr: int) -> int:
        count = self.small[nr] if 0 <= nr < MAX_COUNTED else self.others[nr]
        if not count:
            raise KeyError(nr)
        return count

    def __iter__(self) -> Iterator[int]:
        yield from (nr for nr in range(MAX_COUNTED) if self.small[nr])
        yield from self.others

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Watched:
    """What native code looks at, too."""

    __slots__ = ("strace",)

    strace: SyscallWatcher | None


class Syscalls(Watched):
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
        # number -> (address of the handler, words of C arguments or None for one that takes struct pt_regs, ns)
        self.table: dict[int, tuple[int, int | None, int]] = {}
        self.counts = Counts()
        self.missing: dict[str, int] = {}  # calls that somebody wanted and that are not here
        self.strace = None
        self.namespaced: Callable[[], None] = lambda: None  # told when ids or clocks are no longer the same for all
        self.sys_enter, self.sys_exit = tracepoints.point("sys_enter"), tracepoints.point("sys_exit")
        self.tracepoints = tracepoints

    def symbol(self, name: str) -> tuple[str, bool]:
        """(symbol of a system call's handler, whether it takes pt_regs) in this version on this architecture."""
        since = self.abi.wrapper_since
        defined = define_name(self.arch.word, name)
        if since is not None and self.version.at_least(since):
            bare = self._bare(name)
            return (self.abi.wrapper_prefix if bare is None else bare[0]) + defined, True
        return "sys_" + defined, False

    def _bare(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """(prefix of its one function, those of its other names) of a call that has no arguments; None: it is as others are."""
        bare = self.abi.bare_handlers
        if bare is None or self.declared[name].prototype.params or not self.version.at_least(bare[2]):
            return None
        return bare[:2]

    def other_names(self, name: str) -> tuple[str, ...]:
        """What else the place of a system call's handler is called."""
        bare = self._bare(name)
        return () if bare is None else tuple(prefix + define_name(self.arch.word, name) for prefix in bare[1])

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
