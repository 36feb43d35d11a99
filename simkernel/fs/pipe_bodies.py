"""What stands in place of the bodies of reads and writes of pipes that are answered in the hook of their instruction: shortcuts.py."""

from __future__ import annotations

import ctypes

from arch.abi.fcntl import O_DIRECT
from arch.abi.limits import PAGE_SIZE
from simkernel.fs.face import FsKernel
from simkernel.fs.pipe import PipeBuffer, pipe_of
from simkernel.kernel.hook_wakes import HookWakes
from simkernel.kernel.task import Task, WaitQueue

PIPE_MOST = 65536  # bytes of a call
WHOLE_PAGES = 1  # with the address of a struct file: whole pages are asked for


class HookBytes:
    """What the hook has copied from user memory, or will copy there: pipe.Moved."""

    __slots__ = ("at", "count", "view")

    def __init__(self, view: memoryview) -> None:
        self.view = view
        self.at = self.count = 0

    def begin(self, count: int) -> None:
        """For a call."""
        self.at, self.count = 0, count

    def copy_from(self, size: int) -> memoryview:
        """None is missing."""
        at = self.at
        self.at = end = at + size
        self.count -= size
        return self.view[at:end]

    def copy_to(self, data: bytes | bytearray | memoryview) -> int:
        """All of them."""
        at, size = self.at, len(data)
        self.at = end = at + size
        self.view[at:end] = data
        self.count -= size
        return size


class PipeBodies:
    """What moves the bytes of a pipe, where the row has asked everything that could go another way."""

    def __init__(self, k: FsKernel) -> None:
        self.files, self.wakes = k.vfs.files, HookWakes(k)
        self.count = ctypes.c_uint64()
        self.bytes = (ctypes.c_char * PIPE_MOST)()
        self.moved = HookBytes(memoryview(self.bytes).cast("B"))
        self.sleeper: tuple[Task, bool, int, bool] | None = None  # who is to be woken: arguments of HookWakes.wake()

    def asks_to_read(self, address: int) -> None:
        """May the writer be woken?  The lowest bit of the address says that whole pages are moved."""
        self._ask(pipe_of(self.files[address & ~WHOLE_PAGES].f_inode).wr_wait, bool(address & WHOLE_PAGES))

    def asks_to_write(self, address: int) -> None:
        """May the reader be woken?"""
        self._ask(pipe_of(self.files[address & ~WHOLE_PAGES].f_inode).rd_wait, bool(address & WHOLE_PAGES))

    def _ask(self, queue: WaitQueue, pages: bool) -> None:
        """Who sleeps on a queue: 0 if not, else one more than the ns that follow on the call."""
        task, end_ns = queue.waiters[0][0], self.count.value
        anew = self.wakes.looks_anew(task, end_ns, pages)
        self.sleeper = None if anew is None else (task, anew, end_ns, pages)
        self.count.value = 0 if anew is None else 1 + (self.wakes.takes if anew else 0)

    def _wake(self) -> None:
        sleeper, self.sleeper = self.sleeper, None
        assert sleeper is not None
        self.wakes.wake(*sleeper)

    def read(self, address: int) -> None:
        """Of a struct file."""
        pipe, count = pipe_of(self.files[address].f_inode), self.count.value
        data = pipe.bufs[0].data
        if len(data) == count and not pipe.bufs[0].offset:  # most are as large as what was written
            self.moved.view[:count] = data
            pipe.bufs.popleft()
            pipe.charge()
        else:
            self.moved.begin(count)
            self.count.value = pipe.take(self.moved)
        if self.sleeper is not None:
            self._wake()

    def write(self, address: int) -> None:
        """Of a struct file."""
        file = self.files[address]
        pipe, moved, count = pipe_of(file.f_inode), self.moved, self.count.value
        packet = bool(file.f_flags & O_DIRECT)
        if count == PAGE_SIZE:
            pipe.bufs.append(PipeBuffer(bytearray(moved.view[:count]), not packet, packet))
            pipe.charge()
        else:
            moved.begin(count)
            self.count.value = pipe.merge(moved) + pipe.add(moved, packet)
        if self.sleeper is not None:
            self._wake()
