"""Files and directories of tracefs as plain objects, before anybody puts them into a file system.

A node is a `Directory` or a `File`; `File.open(flags)` gives an `OpenFile` with read, write, poll and release.
`OpenFile.read(size, pos)` raises `WouldBlock(key)` where a task must sleep.  Refusals are KernelErrors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol

from arch.abi.errno import EINVAL, ENOENT, EPERM
from arch.abi.fcntl import O_NONBLOCK, O_RDWR, O_TRUNC, O_WRONLY
from arch.abi.poll import EPOLLIN, EPOLLOUT, EPOLLRDNORM, EPOLLWRNORM
from arch.cstring import c_string, kstrto
from arch.errors import KernelError


class OpenFile:
    """An open file that is text made at the first read (a seq_file) and whose writes go to one function."""

    def __init__(self, file: File, flags: int) -> None:
        self.file = file
        self.flags = flags
        self._text: bytes | None = None

    @property
    def poll_key(self) -> Hashable:
        """What the host wakes when poll() may have changed; None when it never does."""
        return None

    @property
    def nonblock(self) -> bool:
        """Opened with O_NONBLOCK."""
        return bool(self.flags & O_NONBLOCK)

    def read(self, size: int, pos: int) -> bytes:
        """Bytes at `pos`; the text is made when position 0 is read."""
        if self.file.show is None:
            raise KernelError(EINVAL, f"{self.file.name} cannot be read")
        if pos and self.file.once:
            return b""
        if self._text is None or not pos:
            self._text = self.file.show().encode("latin-1", "replace")
        return self._text[pos : pos + size]

    def write(self, data: bytes, pos: int) -> int:
        """How much was taken; the whole of it, or an error."""
        if self.file.store is None:
            raise KernelError(EINVAL, f"{self.file.name} cannot be written")
        taken = self.file.store(data)
        return taken if isinstance(taken, int) else len(data)

    def poll(self) -> int:
        """EPOLL* bits; text files are always ready."""
        return EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM

    def release(self) -> None:
        """The last descriptor is gone."""
        if self.file.users is not None:
            self.file.users.opened -= 1


class Users(Protocol):
    """What is in use while one of its files is open."""

    opened: int


class Node:
    """What both kinds have."""

    is_dir = False

    def __init__(self, name: str, mode: int) -> None:
        self.name = name
        self.mode = mode


class File(Node):
    """One file.  `show()` gives its text, `store(bytes)` takes a write; `truncate()` runs at open with O_TRUNC."""

    def __init__(
        self,
        name: str,
        mode: int,
        show: Callable[[], str] | None = None,
        store: Callable[[bytes], object] | None = None,
        truncate: Callable[[], object] | None = None,
        opener: Callable[[File, int], OpenFile] | None = None,
        users: Users | None = None,
    ) -> None:
        super().__init__(name, mode)
        self.users = users
        self.show = show
        self.store = store
        self.truncate = truncate
        self.once = False  # what is left behind a first read nobody gets
        self.opener = opener or OpenFile

    def open(self, flags: int) -> OpenFile:
        """open(2): O_TRUNC with write access truncates first.  Whatever truncate() refuses."""
        if flags & O_TRUNC and flags & (O_WRONLY | O_RDWR) and self.truncate is not None:
            self.truncate()
        opened = self.opener(self, flags)
        if self.users is not None:
            self.users.opened += 1
        return opened


def once(file: File) -> File:
    """A file of which only a read at its beginning gives anything: `if (*ppos) return 0`."""
    file.once = True
    return file


class Directory(Node):
    """One directory; its entries are made when first asked for, and again when `stamp()` has changed."""

    is_dir = True

    def __init__(
        self, name: str, mode: int, make: Callable[[], Iterable[Node]], stamp: Callable[[], int] | None = None
    ) -> None:
        super().__init__(name, mode)
        self.make = make
        self.stamp = stamp or (lambda: 0)
        self._made: tuple[int, dict[str, Node]] = (-1, {})
        self.removed = False  # whoever is still in it finds nothing

    def entries(self) -> dict[str, Node]:
        """Name -> node, made anew when the stamp has changed."""
        if self.removed:
            return {}
        stamp = self.stamp()
        if self._made[0] != stamp:
            self._made = (stamp, {node.name: node for node in self.make()})
        return self._made[1]

    def remove(self) -> None:
        """It is gone, with all below it."""
        for node in self._made[1].values():
            if isinstance(node, Directory):
                node.remove()
        self.removed = True

    def mkdir(self, name: str) -> None:
        """Where directories can be made.  EPERM elsewhere."""
        raise KernelError(EPERM, "no directories can be made here")

    def rmdir(self, name: str) -> None:
        """Where directories can be removed.  EPERM elsewhere."""
        raise KernelError(EPERM, "no directories can be removed here")

    def lookup(self, name: str) -> Node:
        """ENOENT for a name that is not there."""
        node = self.entries().get(name)
        if node is None:
            raise KernelError(ENOENT, name)
        return node


class FixedDirectory(Directory):
    """A directory whose nodes never change."""

    def __init__(self, name: str, mode: int, nodes: Iterable[Node]) -> None:
        known = list(nodes)
        super().__init__(name, mode, lambda: known)


def number(data: bytes) -> int:
    """An unsigned decimal, octal or hexadecimal number as kstrtoul_from_user() takes it."""
    return kstrto(c_string(data), 10, 64, False)


def word(data: bytes) -> str:
    """What was written, up to a NUL and without blanks around it."""
    return c_string(data).strip()
