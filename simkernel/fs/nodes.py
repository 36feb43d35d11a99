"""The nodes that generated file systems are made of: directories, texts and links.

A `Node` is a directory (entries, lookup), a file (open gives an `OpenNode`: read, write, poll, release) or a link
(readlink); what most of them do not have is a class attribute here.  OpenNode.read() and write() raise KernelError(errno),
or tracing.face.WouldBlock(key): then the task sleeps on that key.  Tracing's tree knows nothing of the VFS: TracefsDir and
TracefsFile show its nodes as these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Protocol

from arch.abi.errno import EINVAL, EIO, EPERM
from arch.abi.poll import DEFAULT_POLLMASK
from arch.errors import KernelError
from simkernel.fs.inode import FileOperations, Path
from simkernel.kernel.body import Steps
from simkernel.kernel.task import Task
from tracing.files import nodes as tracefs

Text = str | bytes


class OpenNode(Protocol):
    """An open file of a node; it becomes file->private_data."""

    @property
    def poll_key(self) -> Hashable:
        """What is woken when poll() may have changed; None when it never does."""

    def read(self, size: int, pos: int) -> bytes | Steps[bytes]:
        """At most `size` bytes; b"" at the end."""

    def write(self, data: bytes, pos: int) -> int | Steps[int]:
        """How many bytes were taken."""

    def poll(self) -> int:
        """Ready events."""

    def release(self) -> Steps[object] | None:
        """The last close."""


class Node:
    """What all nodes have; a generated file system shows any of them."""

    is_dir = False
    is_link = False
    mode = 0o444  # permission bits; with S_IFMT for a special file
    uid = gid = 0
    ino = 0  # a fixed inode number; 0: the super block numbers it
    rdev = 0
    i_flags = 0  # S_IMMUTABLE
    size = 0  # bytes, for stat
    nlink = 0  # st_nlink; 0: counted
    fops: FileOperations | None = None  # None: the file system's own
    strict = False  # rights() says who may what, no capability else (proc_sys_permission)
    ordered = False  # entries() has the order of readdir
    dynamic = False  # entries come and go: only `children` are counted
    polls = True  # of a file: f_op->poll is there
    owner_changes = False  # of a directory: its nodes belong to whoever a process is now
    children: Mapping[str, Node] = {}
    shows: Task | None = None  # the task that a directory is about

    def rights(self, mode: int, task: Task) -> int:
        """Of a strict one: the three bits of its mode that a task has.  fs/proc/proc_sysctl.c:test_perm()."""
        cred = task.cred
        in_group = cred.egid == 0 or 0 in cred.groups
        return (mode >> 6 if cred.euid == 0 else mode >> 3 if in_group else mode) & 7

    def enter(self) -> None:
        """Of a task's directory: may the current task look for something there?  ENOENT, EPERM."""

    def look(self) -> None:
        """Of a task's directory: may the current task know that it is there?  ENOENT."""

    def entries(self) -> Mapping[str, Node]:
        """Of a directory: names and nodes in creation order."""
        return self.children

    def lookup(self, name: str) -> Node | None:
        """Of a directory: one node; None or KernelError(ENOENT) for a name that is not there."""
        return self.entries().get(name)

    def links(self) -> int:
        """st_nlink of a directory that counts itself; 0: 2 and one per subdirectory."""
        return self.nlink

    def mkdir(self, name: str) -> None:
        """Where directories can be made (cgroup2)."""
        raise KernelError(EPERM, "cannot make directories here")

    def rmdir(self, name: str) -> None:
        """Where directories can be removed."""
        raise KernelError(EPERM, "cannot remove directories here")

    def open(self, flags: int) -> OpenNode:
        """Of a file."""
        raise KernelError(EINVAL, "not a file")

    def size_now(self) -> int | None:
        """The size, where only a look tells; None: `size`."""
        return None

    def readlink(self) -> str | Path:
        """Of a link: what it points to."""
        raise KernelError(EINVAL, "not a link")

    def link_text(self) -> str | None:
        """Of a magic link: what readlink(2) says, where that is not the path it leads to."""
        return None


class Dir(Node):
    """A directory with fixed and, from `provider`, changing entries."""

    is_dir = True

    def __init__(
        self, children: Mapping[str, Node] | None = None, mode: int = 0o555,
        provider: Callable[[], Iterable[tuple[str, Node]]] | None = None, find: Callable[[str], Node | None] | None = None,
    ) -> None:  # fmt: skip
        self.mode = mode
        self.own: dict[str, Node] = dict(children or {})
        self.children = self.own
        self.provider = provider
        self.find = find
        self.dynamic = provider is not None or find is not None

    def entries(self) -> Mapping[str, Node]:
        """Names and nodes in creation order."""
        if self.provider is None:
            return self.own
        return {**self.own, **dict(self.provider())}

    def lookup(self, name: str) -> Node | None:
        """One node."""
        node = self.own.get(name)
        if node is None and self.find is not None:
            node = self.find(name)
        elif node is None and self.provider is not None:
            node = dict(self.provider()).get(name)
        return node

    def add(self, name: str, node: Node) -> None:
        """Put a node in."""
        self.own[name] = node

    def subdir(self, name: str, mode: int = 0o555) -> Dir:
        """The directory of this name, made if it is not there."""
        found = self.own.get(name)
        if not isinstance(found, Dir):
            found = self.own[name] = Dir(mode=mode)
        return found


class PseudoFile(Node):
    """A text file made by functions: `read` gives the whole text, `write` takes what one write(2) brings."""

    ready = DEFAULT_POLLMASK  # what poll(2) says of it

    def __init__(
        self, read: Callable[[], Text] | None = None, write: Callable[[bytes], int | Steps[int] | None] | None = None,
        mode: int | None = None, size: int = 0, fops: FileOperations | None = None,
    ) -> None:  # fmt: skip
        self.show = read
        self.store = write
        self.size = size
        self.fops = fops
        if mode is None:
            mode = (0o444 if read is not None else 0) | (0o200 if write is not None else 0)
        self.mode = mode

    def open(self, flags: int) -> OpenNode:
        """An open file on it."""
        return OpenText(self)


class SilentFile(PseudoFile):
    """One whose file_operations have no poll."""

    polls = False


class OpenText:
    """An open PseudoFile: the text is made at the first read and at every read from position 0."""

    poll_key: Hashable = None

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

    def write(self, data: bytes, pos: int) -> int | Steps[int]:
        """Hand the bytes over; None means that all were taken."""
        if self.node.store is None:
            raise KernelError(EIO if self.node.mode & 0o222 else EINVAL, "not writable")
        taken = self.node.store(data)
        return len(data) if taken is None else taken

    def poll(self) -> int:
        """Always ready."""
        return self.node.ready

    def release(self) -> None:
        """Nothing to do."""


class Link(Node):
    """A symbolic link: text, or a function that gives text or a Path (magic link)."""

    is_link = True

    def __init__(self, target: Callable[[], str | Path] | str, text: Callable[[], str] | None = None,
                 mode: int = 0o777) -> None:  # fmt: skip
        self.target = target
        self.text = text
        self.mode = mode

    def readlink(self) -> str | Path:
        """What it points to."""
        return self.target() if callable(self.target) else self.target

    def link_text(self) -> str | None:
        """Text of a magic link."""
        return self.text() if self.text is not None else None


# --- tracing's tree ---


def traced(node: tracefs.Node) -> Node:
    """The node of a file system for one of tracing's."""
    if isinstance(node, tracefs.Directory):
        return TracefsDir(node)
    assert isinstance(node, tracefs.File)
    return TracefsFile(node)


class TracefsFile(Node):
    """One of tracing's files."""

    def __init__(self, inner: tracefs.File) -> None:
        self.inner = inner
        self.mode = inner.mode

    def open(self, flags: int) -> OpenNode:
        """Tracing's own open file."""
        return self.inner.open(flags)


class TracefsDir(Node):
    """One of tracing's directories; a node of it stays the same as long as tracing's does."""

    is_dir = True

    def __init__(self, inner: tracefs.Directory) -> None:
        self.inner = inner
        self.mode = inner.mode
        self.known: dict[str, tuple[tracefs.Node, Node]] = {}

    def _show(self, name: str, inner: tracefs.Node) -> Node:
        known = self.known.get(name)
        if known is None or known[0] is not inner:
            known = self.known[name] = (inner, traced(inner))
        return known[1]

    def entries(self) -> Mapping[str, Node]:
        """Tracing's entries."""
        now = self.inner.entries()
        for name in self.known.keys() - now.keys():
            del self.known[name]
        return {name: self._show(name, inner) for name, inner in now.items()}

    def lookup(self, name: str) -> Node:
        """ENOENT for a name that is not there."""
        try:
            inner = self.inner.lookup(name)
        except KernelError:
            self.known.pop(name, None)
            raise
        return self._show(name, inner)

    def mkdir(self, name: str) -> None:
        """Tracing says where (instances)."""
        self.inner.mkdir(name)

    def rmdir(self, name: str) -> None:
        """Tracing says where."""
        self.inner.rmdir(name)


class TracefsRoot(Node):
    """Stands for the tree that tracing gives later."""

    is_dir = True
    mode = 0o700

    def __init__(self) -> None:
        self.inner: Node = Dir(mode=0o700)
        self.made: list[str] = []  # names of the events that the running write has made

    def set(self, root: tracefs.Directory) -> None:
        """Tracing is there."""
        self.inner = TracefsDir(root)

    def entries(self) -> Mapping[str, Node]:
        """The tree's."""
        return self.inner.entries()

    def lookup(self, name: str) -> Node | None:
        """The tree's."""
        return self.inner.lookup(name)
