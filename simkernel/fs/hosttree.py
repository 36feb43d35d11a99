"""The way to a bound directory or file of the host: the only code that touches what `--bind` gave.

Whether it may be written, and where it ends, is decided here and once, when the bind is made: nothing that the guest
says of its mounts is asked.  Every change begins with `_changing()` (EROFS on a read-only bind).  The bound directory is
held open from the start, so the tree is the directory that had the name then, whatever its name stands for later.  From
there every component is opened with O_NOFOLLOW relative to the directory above it, so a link that takes a directory's
place between two looks leads nowhere.  Regular files, directories and the text of links are all there is: what is
something else is looked at and never opened, for opening a fifo wakes whoever waits at its other end, and opening a
device may do anything.  So may a file of procfs, sysfs and their like, which is no file but the host's kernel: through
/proc/PID/mem a program would reach our own memory.  What lies in such a file system is not there.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager

from arch.abi.errno import EBUSY, EINVAL, EIO, ENOENT, EPERM, EROFS, ESTALE
from arch.errors import KernelError
from arch.lastly import lastly

SHOWN = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)  # kinds of files that a guest sees

_O_PATH = os.O_PATH if sys.platform == "linux" else 0
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STEP = (_O_PATH or os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # a directory on the way
_FILE = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# A descriptor that was looked at becomes one that reads or writes; without it a look and an open are two walks.
_REOPENS = bool(_O_PATH) and os.path.isdir("/proc/self/fd")


# File systems whose files are the host's kernel, as /proc/self/mountinfo calls them.
KERNEL_TYPES = {
    "proc", "sysfs", "debugfs", "tracefs", "securityfs", "configfs", "efivarfs", "cgroup", "cgroup2", "bpf", "binfmt_misc", "pstore",
    "fusectl", "selinuxfs", "smackfs", "rpc_pipefs", "nfsd", "resctrl", "mqueue", "devpts", "functionfs", "xenfs",
}  # fmt: skip


def kernel_devices() -> frozenset[int]:
    """st_dev of the file systems of the host that are its kernel; none where there is no /proc/self/mountinfo."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.partition(" - ") for line in file]
    except OSError:
        return frozenset()
    numbers = [head.split()[2] for head, _, tail in lines if tail.split()[0] in KERNEL_TYPES]
    return frozenset(os.makedev(*map(int, number.split(":"))) for number in numbers)


@contextmanager
def host_errors() -> Iterator[None]:
    """The host's refusal becomes the guest's."""
    try:
        yield
    except OSError as error:
        raise KernelError(error.errno or EIO, str(error)) from None


class HostTree:
    """One bound directory (a path in it is the list of names that leads there) or one bound file (the empty list).

    OSError where the host refuses, KernelError where we do: EROFS for a change of a read-only bind, ESTALE for what was a
    regular file and is none any more.
    """

    def __init__(self, base: str, writable: bool) -> None:
        self.base = base
        self.writable = writable
        self.status = os.stat(base, follow_symlinks=False)
        self.is_dir = stat.S_ISDIR(self.status.st_mode)
        self.kernel_devices = kernel_devices()
        if self.status.st_dev in self.kernel_devices:
            raise KernelError(EPERM, "it is no file, but the host's kernel")
        directory, self._name = (base, "") if self.is_dir else os.path.split(base)
        self._anchor = os.open(directory, _STEP)
        lastly(self, os.close, self._anchor)

    # --- ways in ---
    def _changing(self) -> None:
        """What follows changes the host."""
        if not self.writable:
            raise KernelError(EROFS, f"{self.base} is bound read-only")

    @contextmanager
    def _directory(self, path: Sequence[str], how: int = _DIRECTORY) -> Iterator[int]:
        """A descriptor of a directory, reached without following any link."""
        fd = os.dup(self._anchor)
        try:
            for name in path:
                deeper = os.open(_component(name), _STEP, dir_fd=fd)
                os.close(fd)
                fd = deeper
            if os.fstat(fd).st_dev in self.kernel_devices:
                raise KernelError(ENOENT, "the host's kernel")
            if how != _STEP and _O_PATH:
                deeper = os.open(".", how, dir_fd=fd)
                os.close(fd)
                fd = deeper
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def _file(self, path: Sequence[str], how: int) -> Iterator[int]:
        """A descriptor of a regular file; `how` is O_RDONLY or O_WRONLY."""
        if how != os.O_RDONLY:
            self._changing()
        above, name = (path[:-1], path[-1]) if self.is_dir else ((), self._name)
        with self._directory(above, _STEP) as directory:
            fd = _open_regular(directory, _component(name), how, self.kernel_devices)
        try:
            yield fd
        finally:
            os.close(fd)

    # --- looking ---
    def look(self, path: Sequence[str], name: str) -> tuple[os.stat_result, bytes] | None:
        """What an entry is, and a link's text; None where there is nothing that a guest sees."""
        raw = _component(name)
        try:
            with self._directory(path, _STEP) as fd:
                status = os.stat(raw, dir_fd=fd, follow_symlinks=False)
                if stat.S_IFMT(status.st_mode) not in SHOWN or status.st_dev in self.kernel_devices:
                    return None
                return status, os.readlink(raw, dir_fd=fd) if stat.S_ISLNK(status.st_mode) else b""
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, path: Sequence[str]) -> list[bytes]:
        """Entries of a directory in byte order, of every kind."""
        with self._directory(path) as fd:
            return sorted(os.fsencode(name) for name in os.listdir(fd))

    def read(self, path: Sequence[str], size: int, pos: int) -> bytes:
        """At most `size` bytes of a file from `pos` on."""
        with self._file(path, os.O_RDONLY) as fd:
            return os.pread(fd, size, pos)

    # --- changing ---
    def write(self, path: Sequence[str], data: bytes, pos: int) -> int:
        """Store; how many bytes the host took."""
        with self._file(path, os.O_WRONLY) as fd:
            return os.pwrite(fd, data, pos)

    def truncate(self, path: Sequence[str], size: int) -> None:
        """Set a file's size."""
        with self._file(path, os.O_WRONLY) as fd:
            os.ftruncate(fd, size)

    def chmod(self, path: Sequence[str], mode: int, directory: bool) -> None:
        """Set the nine permission bits."""
        self._changing()
        with self._directory(path) if directory else self._file(path, os.O_RDONLY) as fd:
            os.fchmod(fd, mode & 0o777)

    def create(self, path: Sequence[str], name: str, mode: int) -> None:
        """An empty regular file; EEXIST whatever has the name."""
        self._changing()
        with self._directory(path, _STEP) as fd:
            how = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(_component(name), how, mode & 0o777, dir_fd=fd))

    def mkdir(self, path: Sequence[str], name: str, mode: int) -> None:
        """An empty directory."""
        self._changing()
        with self._directory(path, _STEP) as fd:
            os.mkdir(_component(name), mode & 0o777, dir_fd=fd)

    def symlink(self, path: Sequence[str], name: str, target: bytes) -> None:
        """A symbolic link: text, never followed from here."""
        self._changing()
        with self._directory(path, _STEP) as fd:
            os.symlink(target, _component(name), dir_fd=fd)

    def unlink(self, path: Sequence[str], name: str) -> None:
        """Remove a file or link that a guest sees."""
        self._changing()
        with self._directory(path, _STEP) as fd:
            _leave_hidden(fd, _component(name))
            os.unlink(_component(name), dir_fd=fd)

    def rmdir(self, path: Sequence[str], name: str) -> None:
        """Remove an empty directory."""
        self._changing()
        with self._directory(path, _STEP) as fd:
            os.rmdir(_component(name), dir_fd=fd)

    def rename(self, path: Sequence[str], name: str, new_path: Sequence[str], new_name: str) -> None:
        """Move inside this tree; EBUSY where the new name is a fifo, socket or device, which the guest does not see."""
        self._changing()
        with self._directory(path, _STEP) as fd, self._directory(new_path, _STEP) as new_fd:
            for place, entry in ((fd, name), (new_fd, new_name)):
                _leave_hidden(place, _component(entry))
            os.rename(_component(name), _component(new_name), src_dir_fd=fd, dst_dir_fd=new_fd)


def _component(name: str) -> bytes:
    """One name of a directory, as bytes; the guest's walk gives nothing else."""
    raw = name.encode("utf-8", "surrogateescape")
    if raw in (b"", b".", b"..") or b"/" in raw or b"\0" in raw:
        raise KernelError(EINVAL, f"{name!r} is not a name")
    return raw


def _require_regular(status: os.stat_result, but_of: Container[int]) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_dev in but_of:
        raise KernelError(ESTALE, "not a regular file any more")


def _open_regular(directory: int, name: bytes, how: int, but_of: Container[int]) -> int:
    """Look, then open what was looked at."""
    if _REOPENS:
        held = os.open(name, _O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            _require_regular(os.fstat(held), but_of)
            return os.open(f"/proc/self/fd/{held}", how | _FILE)
        finally:
            os.close(held)
    _require_regular(os.stat(name, dir_fd=directory, follow_symlinks=False), but_of)
    fd = os.open(name, how | _FILE | os.O_NOFOLLOW, dir_fd=directory)
    try:
        _require_regular(os.fstat(fd), but_of)
    except KernelError:
        os.close(fd)
        raise
    return fd


def _leave_hidden(directory: int, name: bytes) -> None:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_IFMT(status.st_mode) not in SHOWN:
        raise KernelError(EBUSY, "a special file of the host")
