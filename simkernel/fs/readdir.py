"""getdents.  fs/readdir.c, dcache_readdir() of fs/libfs.c.

A directory is listed once, when it is read from its start; entries that have gone since are left out, entries that came
since are not seen, as with the cursor of dcache_readdir().
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOENT, ENOTDIR
from arch.abi.stat import DT_DIR
from simkernel.fs.constants import MAY_READ
from simkernel.fs.face import FsKernel
from simkernel.fs.fsnotify import FS_ACCESS, FS_ACCESS_PERM
from simkernel.fs.inode import DirEntry, File, to_bytes
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall


def snapshot(file: File) -> list[DirEntry]:
    """The whole listing with "." and ".."."""
    dentry = file.f_path.dentry
    inode = dentry.inode
    parent = dentry.parent.inode
    if dentry is file.f_path.mnt.mnt_root:
        parent = inode
    dots = [DirEntry(".", inode.i_ino, DT_DIR), DirEntry("..", parent.i_ino, DT_DIR)]
    return dots + inode.entries(dentry)


def _still_there(file: File, entry: DirEntry) -> bool:
    children = file.f_path.dentry.children
    inode = file.f_inode
    if not inode.pinned_dentries or children is None or entry.name in (".", ".."):
        return True
    child = children.get(entry.name)
    return child is not None and child.inode.i_ino == entry.ino


@kernel_function("int iterate_dir(struct file *file, struct dir_context *ctx)", source="fs/readdir.c")
def iterate_dir(k: FsKernel, file_addr: int, ctx: int) -> int:
    """Fill the caller's buffer with entries from the file's position on."""
    file = k.vfs.files[file_addr]
    if not file.f_op.iterate:
        return -ENOTDIR
    if file.f_inode.i_nlink == 0:
        return -ENOENT
    filler = k.vfs.passed(ctx, Filler)
    if file.f_pos < 2 or file.readdir_list is None:
        file.readdir_list = snapshot(file)
    listing = file.readdir_list
    pos = file.f_pos
    while pos < len(listing):
        entry = listing[pos]
        if pos >= 2 and not _still_there(file, entry):
            pos += 1
            continue
        if not filler.add(entry, pos + 1):
            break
        pos += 1
    k.vfs.mirror.set_pos(file, pos)
    k.vfs.mounts.touch_atime(file.f_path)
    return filler.error


class Filler:
    """struct getdents_callback: packs records until the buffer is full."""

    def __init__(self, k: FsKernel, size: int, old: bool) -> None:
        self.order = k.mem.byteorder
        self.word: int = k.arch.model.word if old else 8
        self.size = size
        self.old = old  # linux_dirent: d_type in the last byte of the record
        self.out = bytearray()
        self.error = 0

    def add(self, entry: DirEntry, next_pos: int) -> bool:
        """Append one record; False when it does not fit."""
        name = to_bytes(entry.name)
        head = 2 * self.word + 2
        size = head + len(name) + (2 if self.old else 1 + 1)
        size = (size + self.word - 1) & -self.word
        if len(self.out) + size > self.size:
            if not self.out:
                self.error = -EINVAL
            return False
        record = bytearray(size)
        record[: self.word] = (entry.ino & ((1 << 8 * self.word) - 1)).to_bytes(self.word, self.order)
        record[self.word : 2 * self.word] = next_pos.to_bytes(self.word, self.order)
        record[2 * self.word : head] = size.to_bytes(2, self.order)
        if self.old:
            record[head : head + len(name)] = name
            record[-1] = entry.dtype
        else:
            record[head] = entry.dtype
            record[head + 1 : head + 1 + len(name)] = name
        self.out += record
        return True


def _getdents(k: FsKernel, fd: int, dirent: int, count: int, old: bool) -> Body:
    file = k.vfs.fget(fd)
    filler = Filler(k, count, old)
    layout = k.vfs.mirror.struct("struct dir_context")
    ctx = layout.new({"pos": file.f_pos})
    k.vfs.objects[ctx] = filler
    try:
        ret = 0
        k.vfs.security.ask("file_permission", file, MAY_READ)
        if k.vfs.fsnotify.groups:
            ret = yield from k.vfs.fsnotify.ask(file, FS_ACCESS_PERM)
        if not ret:
            ret = yield k.call("iterate_dir", file.addr, ctx)
            if k.vfs.fsnotify.active and ret >= 0:
                k.vfs.fsnotify.file(file, FS_ACCESS)
    finally:
        del k.vfs.objects[ctx]
        k.mem.free(ctx)
    if ret < 0:
        return ret
    k.usercopy.copy_to_user(dirent, bytes(filler.out))
    return len(filler.out)


@syscall("getdents64", "unsigned int fd, struct linux_dirent64 *dirent, unsigned int count", source="fs/readdir.c")
def sys_getdents64(k: FsKernel, fd: int, dirent: int, count: int) -> Body:
    """getdents64(2)."""
    return (yield from _getdents(k, fd, dirent, count, False))


@syscall("getdents", "unsigned int fd, struct linux_dirent *dirent, unsigned int count", source="fs/readdir.c")
def sys_getdents(k: FsKernel, fd: int, dirent: int, count: int) -> Body:
    """getdents(2)."""
    return (yield from _getdents(k, fd, dirent, count, True))
