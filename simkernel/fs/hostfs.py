"""Host directories and files inside the guest: `--bind HOST:GUEST[:rw]`.

Read-only unless asked otherwise, for good: remounting changes the guest's flags, not the bind (`hosttree.py`, which also
says what of the host can be reached).  Symbolic links are only text (the guest resolves them in its own tree), and
devices, sockets and fifos of the host do not exist for the guest.

Runs must repeat: directories are listed in byte order, inode numbers count up, owner is root, and times are the guest's
time of the bind (and of the guest's own changes), never the host's.  A file's size and pages are taken when first used;
what the host changes afterwards is not seen.  Writes go through to the host at once.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence

from arch.abi.errno import EINVAL, EIO, EROFS, EXDEV
from arch.abi.limits import NAME_MAX, PAGE_SHIFT, PAGE_SIZE
from arch.abi.mount import MS_NODEV, MS_RDONLY, MS_RELATIME
from arch.abi.stat import S_IFMT, V9FS_MAGIC
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.hosttree import HostTree, host_errors
from simkernel.fs.inode import Cred, Dentry, DirEntry, File, FileOperations, Inode, SuperBlock, to_bytes, to_str
from simkernel.fs.pagecache import Mapping, PagePool
from simkernel.fs.pseudo import PSEUDO_DIR_OPERATIONS
from simkernel.fs.tmpfs import move_dentry
from simkernel.fs.vfs import Vfs
from simkernel.kernel.areas import Vma

HOST_CHUNK = 1 << 18  # bytes read from the host in one go


def _host_mmap(k: FsKernel, file: File, vma: Vma) -> None:
    """generic_file_readonly_mmap(): pages come from the page cache, and no shared mapping may become writable."""
    if vma.shared and file.f_mode & c.FMODE_WRITE:
        raise KernelError(EINVAL, "no shared writable mappings of host files")


HOST_FILE_OPERATIONS = FileOperations(
    "v9fs_file_operations",
    direct_io=None,
    read_iter="generic_file_read_iter",
    write_iter="generic_file_write_iter",
    llseek="generic_file_llseek",
    mmap=_host_mmap,
    fsync=lambda k, file: 0,
)


TOLD_BLOCKS = 1 << 20  # pages that statfs(2) tells of a bind


class HostMapping(Mapping):
    """Pages of a host file; writes go through."""

    __slots__ = ("inode",)

    def __init__(self, pool: PagePool, inode: HostInode, filler: Callable[[int], bytes]) -> None:
        super().__init__(pool, inode, filler)
        self.inode = inode

    def write(self, pos: int, data: bytes) -> int:
        """To the host, then to the pages."""
        with host_errors():
            done = self.inode.tree.write(self.inode.path, data, pos)
        super().write(pos, data[:done])
        return done


class HostInode(Inode):
    """A file, directory or symbolic link of the host, found again through its dentry."""

    __slots__ = ("chunk", "chunk_at", "dentry", "target")
    i_sb: HostSuper

    def __init__(self, sb: HostSuper, status: os.stat_result) -> None:
        super().__init__(sb, stat.S_IFMT(status.st_mode) | stat.S_IMODE(status.st_mode) & 0o777)
        self.atime = self.mtime = self.ctime = sb.bound_at
        self.dentry: Dentry | None = None
        self.target = ""
        self.chunk, self.chunk_at = b"", -1
        if self.is_dir:
            self.i_fop = PSEUDO_DIR_OPERATIONS
        elif self.is_reg:
            self.i_fop = HOST_FILE_OPERATIONS
            self.i_size = status.st_size
            self.i_blocks = (status.st_size + 511) // 512
            self.i_mapping = HostMapping(sb.pool, self, self._fill)
        else:
            self.i_size = status.st_size

    @property
    def pinned_dentries(self) -> bool:  # type: ignore[override]
        """Entries are looked up on the host."""
        return False

    # --- the way to the host's file ---
    @property
    def tree(self) -> HostTree:
        """What the bind reaches."""
        return self.i_sb.tree

    @property
    def path(self) -> list[str]:
        """Names from the bound directory to here."""
        parts: list[str] = []
        dentry = self.dentry
        while dentry is not None and dentry.parent is not dentry:
            parts.append(dentry.name)
            dentry = dentry.parent
        parts.reverse()
        return parts

    def _fill(self, index: int) -> bytes:
        """One page of the file; a chunk at a time is read from the host.  EIO where the file is not there any more."""
        at = index << PAGE_SHIFT
        if not (self.chunk_at >= 0 and self.chunk_at <= at < self.chunk_at + HOST_CHUNK):
            start = at - at % HOST_CHUNK
            try:
                self.chunk, self.chunk_at = self.tree.read(self.path, HOST_CHUNK, start), start
            except OSError as error:
                raise KernelError(EIO, str(error)) from None
        data = self.chunk[at - self.chunk_at : at - self.chunk_at + PAGE_SIZE]
        return data[: max(0, self.i_size - at)]

    # --- directories ---
    def lookup(self, parent: Dentry, name: str) -> Dentry | None:
        """lstat on the host; a known entry keeps its inode."""
        assert parent.children is not None
        known = parent.children.get(name)
        with host_errors():
            found = self.tree.look(self.path, name)
        if found is None:
            if known is not None:
                parent.drop(known)
            return None
        status, text = found
        if known is not None and known.inode.i_mode & S_IFMT == stat.S_IFMT(status.st_mode):
            return known
        inode = HostInode(self.i_sb, status)
        inode.target = to_str(text)
        inode.dentry = parent.add(name, inode)
        return inode.dentry

    def entries(self, parent: Dentry) -> list[DirEntry]:
        """In byte order."""
        with host_errors():
            names = self.tree.names(self.path)
        out = []
        for raw in names:
            child = self.lookup(parent, to_str(raw))
            if child is not None:
                out.append(DirEntry(child.name, child.inode.i_ino, child.inode.dtype))
        return out

    def _made(self, parent: Dentry, name: str) -> Dentry:
        child = self.lookup(parent, name)
        if child is None:
            raise KernelError(EIO, "vanished")
        now = self.i_sb.now()
        child.inode.atime = child.inode.mtime = child.inode.ctime = self.mtime = self.ctime = now
        return child

    def create(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """open(O_CREAT | O_EXCL) on the host."""
        with host_errors():
            self.tree.create(self.path, name, mode)
        return self._made(parent, name)

    def mkdir(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """mkdir on the host."""
        with host_errors():
            self.tree.mkdir(self.path, name, mode)
        self.i_nlink += 1
        return self._made(parent, name)

    def symlink(self, parent: Dentry, name: str, target: str, cred: Cred) -> Dentry:
        """A symbolic link on the host: text, never followed from here."""
        with host_errors():
            self.tree.symlink(self.path, name, to_bytes(target))
        return self._made(parent, name)

    def unlink(self, parent: Dentry, victim: Dentry) -> None:
        """unlink on the host."""
        with host_errors():
            self.tree.unlink(self.path, victim.name)
        victim.inode.i_nlink -= 1
        self.mtime = self.ctime = self.i_sb.now()
        parent.drop(victim)

    def rmdir(self, parent: Dentry, victim: Dentry) -> None:
        """rmdir on the host."""
        with host_errors():
            self.tree.rmdir(self.path, victim.name)
        victim.inode.i_nlink = 0
        self.i_nlink -= 1
        self.mtime = self.ctime = self.i_sb.now()
        parent.drop(victim)

    def rename(self, parent: Dentry, old: Dentry, new_parent: Dentry, name: str, flags: int) -> None:
        """rename on the host."""
        other = new_parent.inode
        if flags or not isinstance(other, HostInode) or other.tree is not self.tree:
            raise KernelError(EINVAL if flags else EXDEV, "plain renames only")
        with host_errors():
            self.tree.rename(self.path, old.name, other.path, name)
        target = new_parent.children.get(name) if new_parent.children else None
        if target is not None:
            target.inode.i_nlink -= 1
            new_parent.drop(target)
        parent.drop(old)
        move_dentry(old, new_parent, name)

    # --- the rest ---
    def get_link(self, dentry: Dentry) -> str:
        """The text on the host."""
        if not self.is_link:
            raise KernelError(EINVAL, "not a symbolic link")
        return self.target

    def setattr_size(self, size: int) -> None:
        """truncate on the host."""
        if self.i_mapping is None:
            raise KernelError(EINVAL, "not a regular file")
        with host_errors():
            self.tree.truncate(self.path, size)
        self.i_mapping.truncate(size)
        self.chunk, self.chunk_at = b"", -1
        self.i_size = size

    def attr_changed(self) -> None:
        """chmod goes through; owners stay the host's."""
        with host_errors():
            self.tree.chmod(self.path, self.i_mode, self.is_dir)

    def evict(self) -> None:
        """Pages back."""
        if self.i_mapping is not None:
            self.i_mapping.truncate(0)


class HostSuper(SuperBlock):
    """One bound directory or file."""

    def __init__(self, vfs: Vfs, base: str, read_only: bool) -> None:
        super().__init__("9p", V9FS_MAGIC, vfs.anon_dev(), vfs.now)
        self.tree = HostTree(base, not read_only)
        self.pool = vfs.pool
        self.bound_at = vfs.now()
        self.s_flags = MS_RDONLY if read_only else 0
        self.options = "access=any,trans=virtio"
        inode = HostInode(self, self.tree.status)
        self.s_root = Dentry("/", None, inode)
        inode.dentry = self.s_root

    @property
    def read_only(self) -> bool:
        """The bind's own answer counts, then SB_RDONLY."""
        return not self.tree.writable or super().read_only

    def reconfigure(self, flags: int, data: str) -> None:
        """EROFS for writing what was bound read-only, as ovl_reconfigure() of an overlay without an upper layer."""
        if not flags & MS_RDONLY and not self.tree.writable:
            raise KernelError(EROFS, "bound read-only")

    def statfs(self) -> dict[str, int]:
        """Sizes of the host are not shown: 4 GiB, half of it free, so that who divides by them gets somewhere."""
        return {"f_type": self.s_magic, "f_bsize": PAGE_SIZE, "f_namelen": NAME_MAX, "f_blocks": TOLD_BLOCKS,
                "f_bfree": TOLD_BLOCKS // 2, "f_bavail": TOLD_BLOCKS // 2}  # fmt: skip


class BindError(Exception):
    """A --bind that cannot be done: a sentence for a person."""


def parse_bind(text: str) -> tuple[str, str, bool]:
    """`HOST:GUEST[:rw]` -> (host path, guest path, writable)."""
    parts = text.split(":")
    if len(parts) == 2:
        host, guest, mode = parts[0], parts[1], "ro"
    elif len(parts) == 3:
        host, guest, mode = parts
    else:
        raise BindError(f"--bind {text}: write it as HOST:GUEST or HOST:GUEST:rw")
    if mode not in ("ro", "rw"):
        raise BindError(f"--bind {text}: the third part is rw or ro, not {mode!r}")
    if not host or not guest.startswith("/"):
        raise BindError(f"--bind {text}: GUEST must be an absolute path")
    return host, guest, mode == "rw"


def bind(vfs: Vfs, host: str, guest: str, writable: bool) -> None:
    """Show a host directory or file at a guest path, which is made when it does not exist."""
    from simkernel.fs.rootfs import add_file, make_directory

    try:
        base = os.path.realpath(host)
        status = os.stat(base)
    except (OSError, ValueError) as error:
        raise BindError(f"cannot bind {host}: {error.strerror if isinstance(error, OSError) else error}") from None
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        raise BindError(f"cannot bind {host}: neither a directory nor a regular file")
    guest = "/" + guest.strip("/")
    try:
        if stat.S_ISDIR(status.st_mode):
            make_directory(vfs, guest)
        else:
            try:
                vfs.resolve(guest)
            except KernelError:
                add_file(vfs, guest)
        sb = HostSuper(vfs, base, not writable)
        flags = MS_RELATIME | (0 if writable else MS_RDONLY) | MS_NODEV
        vfs.mounts.attach(vfs.mounts.new(sb, "host", flags), vfs.resolve(guest))
    except KernelError as error:
        raise BindError(f"cannot bind {host} at {guest}: {error}") from None
    except OSError as error:
        raise BindError(f"cannot bind {host}: {error.strerror}") from None


def install_binds(vfs: Vfs, binds: Sequence[tuple[str, str, bool]]) -> None:
    """All the binds of a machine, in order."""
    for host, guest, writable in binds:
        bind(vfs, host, guest, writable)
