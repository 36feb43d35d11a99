"""The nodes that generated file systems are made of: directories, texts and links.

A node is anything with these attributes (tracing's tracefs model has its own classes):

    directory   is_dir = True, mode, entries() -> {name: node}, lookup(name) -> node | None
    file        is_dir = False, mode, open(flags) -> an open file: read(size, pos) -> bytes, write(data, pos) -> int,
                poll() -> mask, release()
    link        is_link = True, readlink() -> str | Path

read() and write() raise KernelError(errno), or tracing.face.WouldBlock(key): then the task sleeps on that key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from arch.abi.errno import EINVAL, EIO
from arch.abi.poll import DEFAULT_POLLMASK
from arch.errors import KernelError
from simkernel.fs.inode import FileOperations, Path

Text = str | bytes


class Dir:
    """A directory with fixed and, from `provider`, changing entries."""

    is_dir = True
    is_link = False

    def __init__(
        self, children: Mapping[str, Any] | None = None, mode: int = 0o555,
        provider: Callable[[], Iterable[tuple[str, Any]]] | None = None, find: Callable[[str], Any] | None = None,
    ) -> None:  # fmt: skip
        self.mode = mode
        self.children: dict[str, Any] = dict(children or {})
        self.provider = provider
        self.find = find
        self.dynamic = provider is not None or find is not None
        self.uid = self.gid = 0

    def entries(self) -> dict[str, Any]:
        """Names and nodes in creation order."""
        if self.provider is None:
            return self.children
        return {**self.children, **dict(self.provider())}

    def lookup(self, name: str) -> Any:
        """One node."""
        node = self.children.get(name)
        if node is None and self.find is not None:
            node = self.find(name)
        elif node is None and self.provider is not None:
            node = dict(self.provider()).get(name)
        return node

    def add(self, name: str, node: Any) -> Any:
        """Put a node in; gives it back."""
        self.children[name] = node
        return node


class PseudoFile:
    """A text file made by functions: `read` gives the whole text, `write` takes what one write(2) brings."""

    is_dir = False
    is_link = False

    def __init__(
        self, read: Callable[[], Text] | None = None, write: Callable[[bytes], int | None] | None = None,
        mode: int | None = None, size: int = 0, fops: FileOperations | None = None,
    ) -> None:  # fmt: skip
        self.show = read
        self.store = write
        self.size = size
        self.fops = fops
        self.uid = self.gid = 0
        if mode is None:
            mode = (0o444 if read is not None else 0) | (0o200 if write is not None else 0)
        self.mode = mode

    def open(self, flags: int) -> Any:
        """An open file on it."""
        return OpenText(self)


class OpenText:
    """An open PseudoFile: the text is made at the first read and at every read from position 0."""

    def __init__(self, node: PseudoFile) -> None:
        self.node = node
        self.text: bytes | None = None

    def read(self, size: int, pos: int) -> bytes:
        """A piece of the text."""
        if self.node.show is None:
            raise KernelError(EIO if self.node.mode & 0o444 else EINVAL, "not readable")
        if self.text is None or pos == 0:
            text = self.node.show()
            self.text = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        return self.text[pos : pos + size]

    def write(self, data: bytes, pos: int) -> int:
        """Hand the bytes over; None means that all were taken."""
        if self.node.store is None:
            raise KernelError(EIO if self.node.mode & 0o222 else EINVAL, "not writable")
        taken = self.node.store(data)
        return len(data) if taken is None else taken

    def poll(self) -> int:
        """Always ready."""
        return DEFAULT_POLLMASK

    def release(self) -> None:
        """Nothing to do."""


class Link:
    """A symbolic link: text, or a function that gives text or a Path (magic link)."""

    is_dir = False
    is_link = True
    mode = 0o777

    def __init__(self, target: Callable[[], str | Path] | str, text: Callable[[], str] | None = None,
                 mode: int = 0o777) -> None:  # fmt: skip
        self.target = target
        self.text = text
        self.mode = mode
        self.uid = self.gid = 0
        self.size = 0
        self.ino = 0

    def readlink(self) -> str | Path:
        """What it points to."""
        return self.target() if callable(self.target) else self.target


class TracefsRoot:
    """Stands for the tree that tracing gives later."""

    is_dir = True
    is_link = False
    mode = 0o700
    uid = gid = 0

    def __init__(self) -> None:
        self.inner: Any = Dir(mode=0o700)

    def entries(self) -> dict[str, Any]:
        """The tree's."""
        out: dict[str, Any] = self.inner.entries()
        return out

    def lookup(self, name: str) -> Any:
        """The tree's."""
        return self.inner.lookup(name)
