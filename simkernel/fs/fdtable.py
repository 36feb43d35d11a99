"""Descriptor tables, and root and working directory of tasks.  fs/file.c, fs/fs_struct.c.

`FilesStruct` is shared by tasks cloned with CLONE_FILES, `FsStruct` by CLONE_FS.  Both are written into kernel memory
where they change: a program that walks task->files->fdt->fd[n]->f_path finds the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from arch.abi.errno import EMFILE
from arch.abi.resource import RLIMIT_NOFILE
from arch.errors import KernelError
from arch.memory import KernelMemory
from simkernel.fs.inode import File, Path
from simkernel.fs.mirror import Mirror
from simkernel.kernel.task import Task

NR_OPEN_DEFAULT = 64


class FilesStruct:
    """struct files_struct."""

    __slots__ = ("addr", "close_on_exec", "count", "fd_array", "fds", "max_fds", "mirror", "next_fd", "reserved")

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.count = 1
        self.fds: dict[int, File] = {}
        self.close_on_exec: set[int] = set()
        self.reserved: set[int] = set()  # handed out by get_unused_fd and not yet installed
        self.next_fd = 0
        self.max_fds = NR_OPEN_DEFAULT
        self.addr = 0
        self.fd_array = 0  # kernel address of the array of struct file pointers
        self._publish()

    def limit(self) -> int:
        """RLIMIT_NOFILE of the current task."""
        value = self.mirror.k.current.rlimits[RLIMIT_NOFILE][0]
        return value if value >= 0 else 1 << 20

    def get_unused_fd(self, cloexec: bool = False, start: int = 0, limit: int | None = None) -> int:
        """alloc_fd(): the lowest free descriptor from `start`; EMFILE beyond the current task's limit, or that of the table's owner."""
        fd = max(start, self.next_fd)
        fds, reserved = self.fds, self.reserved
        while fd in fds or fd in reserved:
            fd += 1
        if fd >= (self.limit() if limit is None else limit):
            raise KernelError(EMFILE, "too many open files")
        if fd >= self.max_fds and fd >= self.mirror.k.tasks.nr_open:
            raise KernelError(EMFILE, "fs.nr_open")
        if start <= self.next_fd:
            self.next_fd = fd + 1
        reserved.add(fd)
        self._grow(fd)
        if cloexec:
            self.close_on_exec.add(fd)
        else:
            self.close_on_exec.discard(fd)
        self._publish_bits(fd)
        return fd

    @contextmanager
    def unused_fd(self, cloexec: bool = False) -> Iterator[int]:
        """A descriptor for the file that the body makes and installs: given back if it raises."""
        fd = self.get_unused_fd(cloexec)
        try:
            yield fd
        except BaseException:
            self.put_unused_fd(fd)
            raise

    def put_unused_fd(self, fd: int) -> None:
        """Give a reserved descriptor back."""
        self.reserved.discard(fd)
        self.next_fd = min(self.next_fd, fd)
        self._publish_bits(fd)

    def install(self, fd: int, file: File) -> None:
        """fd_install(): takes the caller's reference."""
        self.reserved.discard(fd)
        self.fds[fd] = file
        self._grow(fd)
        self._publish_entry(fd, file)

    def remove(self, fd: int) -> File | None:
        """Take a file out of the table; the caller owns its reference."""
        file = self.fds.pop(fd, None)
        if file is not None:
            self.close_on_exec.discard(fd)
            if fd < self.next_fd:
                self.next_fd = fd
            self._publish_entry(fd, None)
        return file

    def set_cloexec(self, fd: int, on: bool) -> None:
        """set_close_on_exec()."""
        if on:
            self.close_on_exec.add(fd)
        else:
            self.close_on_exec.discard(fd)
        self._publish_bits(fd)

    def copy(self) -> FilesStruct:
        """dup_fd(): the same files under the same numbers.  EMFILE where there are more than a table of today may hold."""
        most = -(-self.mirror.k.tasks.nr_open // NR_OPEN_DEFAULT) * NR_OPEN_DEFAULT
        if max(self.fds, default=0) >= most:
            raise KernelError(EMFILE, "fs.nr_open")
        new = FilesStruct(self.mirror)
        new.close_on_exec = set(self.close_on_exec)
        new.next_fd = self.next_fd
        for fd in sorted(self.fds):
            new.install(fd, self.fds[fd].get())
        return new

    def _grow(self, fd: int) -> None:
        if fd >= self.max_fds:
            while fd >= self.max_fds:
                self.max_fds = max(256, self.max_fds * 2)
            self._publish_larger_table()

    # --- struct files_struct in kernel memory ---
    def _publish(self) -> None:
        """struct files_struct with its embedded table of 64."""
        layout = self.mirror.struct("struct files_struct")
        addr = self.addr = layout.new({"count": self.count}, 64)
        self.fd_array = addr + layout.offset("fd_array")
        if layout.where("fdtab") is not None:
            at = layout.offset("fdtab")
            layout.set(addr, "fdt", addr + at)
            layout.set(addr, "fdtab.max_fds", self.max_fds)
            layout.set(addr, "fdtab.fd", self.fd_array)
            for member, bits in (("fdtab.open_fds", "open_fds_init"), ("fdtab.close_on_exec", "close_on_exec_init")):
                place = layout.where(bits)
                if place is not None:
                    layout.set(addr, member, addr + place[0])

    def _publish_larger_table(self) -> None:
        """expand_fdtable(): a larger array in a new place."""
        mirror = self.mirror
        layout = mirror.struct("struct files_struct")
        old = self.fd_array
        new = mirror.mem.alloc(self.max_fds * mirror.word)
        for fd, file in self.fds.items():
            mirror.mem.write_uint(new + fd * mirror.word, mirror.word, file.addr)
        self.fd_array = new
        if old != self.addr + layout.offset("fd_array"):
            mirror.mem.free(old)
        layout.set(self.addr, "fdtab.fd", new)
        layout.set(self.addr, "fdtab.max_fds", self.max_fds)

    def _publish_entry(self, fd: int, file: File | None) -> None:
        """fdt->fd[fd]."""
        mirror = self.mirror
        mirror.mem.write_uint(self.fd_array + fd * mirror.word, mirror.word, file.addr if file is not None else 0)

    def _publish_bits(self, fd: int) -> None:
        """open_fds and close_on_exec of the embedded table: kept for the first 64 descriptors."""
        if fd >= 64:
            return
        mem, where = self.mirror.mem, self.mirror.struct("struct files_struct").where
        bit = 1 << fd
        self._publish_bit(mem, where("open_fds_init"), bit, fd in self.fds or fd in self.reserved)
        self._publish_bit(mem, where("close_on_exec_init"), bit, fd in self.close_on_exec)

    def _publish_bit(self, mem: KernelMemory, place: tuple[int, int] | None, bit: int, on: bool) -> None:
        if place is not None:
            at, size = self.addr + place[0], min(place[1], 8)
            old = mem.read_uint(at, size)
            if bool(old & bit) != on:
                mem.write_uint(at, size, old ^ bit)

    def free(self) -> None:
        """The last task is gone."""
        mem = self.mirror.mem
        if self.fd_array != self.addr + self.mirror.struct("struct files_struct").offset("fd_array"):
            mem.free(self.fd_array)
        mem.free(self.addr)


class FsStruct:
    """struct fs_struct."""

    __slots__ = ("addr", "count", "mirror", "pwd", "root", "umask")

    def __init__(self, mirror: Mirror, root: Path, pwd: Path, umask: int) -> None:
        self.mirror = mirror
        self.count = 1
        self.root = root
        self.pwd = pwd
        self.umask = umask
        self.addr = 0
        self.publish()

    def set_pwd(self, path: Path) -> None:
        """set_fs_pwd()."""
        self.pwd = path
        self.publish()

    def set_root(self, path: Path) -> None:
        """set_fs_root()."""
        self.root = path
        self.publish()

    def set_umask(self, umask: int) -> None:
        """xchg(&current->fs->umask, ...)."""
        self.umask = umask
        self.publish()

    def publish(self) -> None:
        """Write struct fs_struct."""
        mirror = self.mirror
        layout = mirror.struct("struct fs_struct")
        data = layout.pack({
            "users": self.count, "umask": self.umask,
            "root.mnt": mirror.vfsmount(self.root.mnt), "root.dentry": mirror.dentry(self.root.dentry),
            "pwd.mnt": mirror.vfsmount(self.pwd.mnt), "pwd.dentry": mirror.dentry(self.pwd.dentry),
        })  # fmt: skip
        if not self.addr:
            self.addr = mirror.mem.alloc(layout.size)
        mirror.mem.write(self.addr, data)

    def free(self) -> None:
        """The last task is gone."""
        self.mirror.mem.free(self.addr)


def files_of(task: Task) -> FilesStruct:
    """task->files, of a task that has them."""
    files = task.files
    assert isinstance(files, FilesStruct)
    return files


def files_if_any(task: Task) -> FilesStruct | None:
    """task->files; None once the task has let go of them."""
    return None if task.files is None else files_of(task)


def fs_of(task: Task) -> FsStruct:
    """task->fs, of a task that has one."""
    fs = task.fs
    assert isinstance(fs, FsStruct)
    return fs


def fs_if_any(task: Task) -> FsStruct | None:
    """task->fs; None once the task has let go of it."""
    return None if task.fs is None else fs_of(task)


def publish_task_files(mirror: Mirror, task: Task) -> None:
    """task->files, task->fs and the users' counts."""
    files, fs = files_if_any(task), fs_if_any(task)
    if task.addr:
        layout = mirror.struct("struct task_struct")
        layout.set(task.addr, "files", files.addr if files is not None else 0)
        layout.set(task.addr, "fs", fs.addr if fs is not None else 0)
    if files is not None:
        mirror.struct("struct files_struct").set(files.addr, "count", files.count)
    if fs is not None:
        mirror.struct("struct fs_struct").set(fs.addr, "users", fs.count)
