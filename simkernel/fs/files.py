"""Descriptor tables, and root and working directory of tasks.  fs/file.c, fs/fs_struct.c.

`FilesStruct` is shared by tasks cloned with CLONE_FILES, `FsStruct` by CLONE_FS.  Both are mirrored: a program that
walks task->files->fdt->fd[n]->f_path finds the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arch.abi.errno import EMFILE
from arch.abi.resource import RLIMIT_NOFILE
from arch.abi.sched import CLONE_FILES, CLONE_FS
from arch.errors import KernelError
from simkernel.fs.inode import File, Path
from simkernel.kernel.kfunc import kernel_function

if TYPE_CHECKING:
    from simkernel.fs.vfs import Vfs

DEFAULT_NOFILE = 1024
NR_OPEN_DEFAULT = 64


class FilesStruct:
    """struct files_struct."""

    __slots__ = ("addr", "close_on_exec", "count", "fd_array", "fds", "max_fds", "next_fd", "reserved", "vfs")

    def __init__(self, vfs: Vfs) -> None:
        self.vfs = vfs
        self.count = 1
        self.fds: dict[int, File] = {}
        self.close_on_exec: set[int] = set()
        self.reserved: set[int] = set()  # handed out by get_unused_fd and not yet installed
        self.next_fd = 0
        self.max_fds = NR_OPEN_DEFAULT
        self.addr = 0
        self.fd_array = 0  # kernel address of the array of struct file pointers
        vfs.mirror.files_struct(self)

    def limit(self) -> int:
        """RLIMIT_NOFILE of the current task."""
        rlimits = getattr(self.vfs.k.current, "rlimits", None)
        if not rlimits:
            return DEFAULT_NOFILE
        value = int(rlimits.get(RLIMIT_NOFILE, (DEFAULT_NOFILE, 0))[0])
        return value if value >= 0 else 1 << 20

    def get_unused_fd(self, cloexec: bool = False, start: int = 0) -> int:
        """alloc_fd(): the lowest free descriptor from `start`; EMFILE."""
        fd = max(start, self.next_fd)
        fds, reserved = self.fds, self.reserved
        while fd in fds or fd in reserved:
            fd += 1
        if fd >= self.limit():
            raise KernelError(EMFILE, "too many open files")
        if start <= self.next_fd:
            self.next_fd = fd + 1
        reserved.add(fd)
        self._grow(fd)
        if cloexec:
            self.close_on_exec.add(fd)
        else:
            self.close_on_exec.discard(fd)
        self.vfs.mirror.fd_bits(self, fd)
        return fd

    def put_unused_fd(self, fd: int) -> None:
        """Give a reserved descriptor back."""
        self.reserved.discard(fd)
        self.next_fd = min(self.next_fd, fd)
        self.vfs.mirror.fd_bits(self, fd)

    def install(self, fd: int, file: File) -> None:
        """fd_install(): takes the caller's reference."""
        self.reserved.discard(fd)
        self.fds[fd] = file
        self._grow(fd)
        self.vfs.mirror.fd_entry(self, fd, file)

    def remove(self, fd: int) -> File | None:
        """Take a file out of the table; the caller owns its reference."""
        file = self.fds.pop(fd, None)
        if file is not None:
            self.close_on_exec.discard(fd)
            if fd < self.next_fd:
                self.next_fd = fd
            self.vfs.mirror.fd_entry(self, fd, None)
        return file

    def set_cloexec(self, fd: int, on: bool) -> None:
        """set_close_on_exec()."""
        if on:
            self.close_on_exec.add(fd)
        else:
            self.close_on_exec.discard(fd)
        self.vfs.mirror.fd_bits(self, fd)

    def copy(self) -> FilesStruct:
        """dup_fd(): the same files under the same numbers."""
        new = FilesStruct(self.vfs)
        new.close_on_exec = set(self.close_on_exec)
        new.next_fd = self.next_fd
        for fd in sorted(self.fds):
            new.install(fd, self.fds[fd].get())
        return new

    def _grow(self, fd: int) -> None:
        if fd >= self.max_fds:
            while fd >= self.max_fds:
                self.max_fds = max(256, self.max_fds * 2)
            self.vfs.mirror.grow_fdtable(self)


class FsStruct:
    """struct fs_struct."""

    __slots__ = ("addr", "count", "pwd", "root", "umask", "vfs")

    def __init__(self, vfs: Vfs, root: Path, pwd: Path, umask: int) -> None:
        self.vfs = vfs
        self.count = 1
        self.root = root
        self.pwd = pwd
        self.umask = umask
        self.addr = 0
        vfs.mirror.fs_struct(self)

    def set_pwd(self, path: Path) -> None:
        """set_fs_pwd()."""
        self.pwd = path
        self.vfs.mirror.fs_struct(self)

    def set_root(self, path: Path) -> None:
        """set_fs_root()."""
        self.root = path
        self.vfs.mirror.fs_struct(self)

    def set_umask(self, umask: int) -> None:
        """xchg(&current->fs->umask, ...)."""
        self.umask = umask
        self.vfs.mirror.fs_struct(self)


@kernel_function("int copy_files(unsigned long clone_flags, struct task_struct *tsk)", source="kernel/fork.c")
def copy_files(k: Any, clone_flags: int, tsk: int) -> int:
    """Give a new task its descriptors: the parent's own table with CLONE_FILES, else a copy."""
    task, old = k.task_at(tsk), k.current.files
    if old is None:
        task.files = None
    elif clone_flags & CLONE_FILES:
        old.count += 1
        task.files = old
    else:
        task.files = old.copy()
    k.vfs.mirror.task_files(task)
    return 0


@kernel_function("int copy_fs(unsigned long clone_flags, struct task_struct *tsk)", source="kernel/fork.c")
def copy_fs(k: Any, clone_flags: int, tsk: int) -> int:
    """Give a new task its root, working directory and umask; and what else /proc keeps per process."""
    task, old = k.task_at(tsk), k.current.fs
    adj = getattr(getattr(k.current, "signal", None), "oom_score_adj", 0)
    if adj:
        task.signal.oom_score_adj = adj
    k.vfs.cgroups.inherit(task, k.current)
    if old is None:
        task.fs = None
    elif clone_flags & CLONE_FS:
        old.count += 1
        task.fs = old
    else:
        task.fs = FsStruct(k.vfs, old.root, old.pwd, old.umask)
    k.vfs.mirror.task_files(task)
    return 0


@kernel_function("void exit_files(struct task_struct *tsk)", source="fs/file.c")
def exit_files(k: Any, tsk: int) -> Any:
    """Let go of the descriptor table; the last user closes every file, lowest descriptor first."""
    task = k.task_at(tsk)
    files, task.files = task.files, None
    if files is None:
        return 0
    files.count -= 1
    k.vfs.mirror.task_files(task)
    if files.count == 0:
        for fd in sorted(files.fds):
            file = files.remove(fd)
            if file is not None:
                yield k.call("filp_close", file.addr, files.addr)
        k.vfs.mirror.free_files_struct(files)
    return 0


@kernel_function("void exit_fs(struct task_struct *tsk)", source="fs/fs_struct.c")
def exit_fs(k: Any, tsk: int) -> int:
    """Let go of root and working directory."""
    task = k.task_at(tsk)
    fs, task.fs = task.fs, None
    if fs is not None:
        fs.count -= 1
        k.vfs.mirror.task_files(task)
        if fs.count == 0:
            k.vfs.mirror.free_fs_struct(fs)
    return 0


@kernel_function("void do_close_on_exec(struct files_struct *files)", source="fs/file.c")
def do_close_on_exec(k: Any, files_addr: int) -> Any:
    """execve: close what is marked so, lowest first."""
    files = k.current.files
    for fd in sorted(files.close_on_exec):
        file = files.remove(fd)
        if file is not None:
            yield k.call("filp_close", file.addr, files.addr)
    files.close_on_exec.clear()
    return 0
