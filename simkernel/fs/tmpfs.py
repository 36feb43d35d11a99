"""tmpfs: files in memory.  mm/shmem.c.

Directories are the dentry tree itself.  A directory's size counts 20 bytes (BOGO_DIRENT_SIZE) per entry including "."
and "..", a short symbolic link's size is its length, a file's blocks are its pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arch.abi.errno import EACCES, EFBIG, EINVAL, ENOSPC, ENOTEMPTY, EPERM
from arch.abi.fcntl import (
    F_SEAL_GROW,
    F_SEAL_SHRINK,
    RENAME_EXCHANGE,
    WRITE_SEALS,
)
from arch.abi.limits import NAME_MAX, PAGE_SIZE
from arch.abi.mman import PROT_WRITE
from arch.abi.stat import S_IALLUGO, S_IFDIR, S_IFLNK, S_IFREG, S_IRWXUGO, TMPFS_MAGIC
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.features import Features
from simkernel.fs.inode import Cred, Dentry, File, FileOperations, Inode, SuperBlock
from simkernel.fs.mount_options import BadOption, ShmemOptions
from simkernel.fs.namei import init_owner
from simkernel.fs.pagecache import Mapping, PagePool
from simkernel.fs.posix_acl import ACL_NAMES
from simkernel.kernel.areas import Vma

if TYPE_CHECKING:
    from collections.abc import Callable

BOGO_DIRENT_SIZE = 20
BOGO_INODE_SIZE = 1024
SHORT_SYMLINK_LEN = 128  # from here on with the zero behind it, a target has a page of its own
INODE_SIZE, DENTRY_SIZE = 976, 192  # bytes of memory: an inode and its first name, each further name


def shmem_mmap(k: FsKernel, file: File, vma: Vma) -> None:
    """Pages come from the page cache; a write seal forbids writable shared mappings, and so does what is only added to."""
    if vma.shared and file.f_inode.i_flags & c.S_APPEND and file.f_mode & c.FMODE_WRITE:
        raise KernelError(EACCES)
    if file.f_inode.seals & WRITE_SEALS and vma.shared:
        if vma.prot & PROT_WRITE:
            raise KernelError(EPERM, "sealed")
        vma.may &= ~PROT_WRITE
    k.vfs.mounts.touch_atime(file.f_path)


SHMEM_FILE_OPERATIONS = FileOperations(
    "shmem_file_operations",
    direct_io="6.6",
    read_iter="shmem_file_read_iter",
    write_iter="generic_file_write_iter",
    llseek="shmem_file_llseek",
    mmap=shmem_mmap,
    fsync=lambda k, file: 0,
)
SIMPLE_DIR_OPERATIONS = FileOperations(
    "simple_dir_operations", read="generic_read_dir", llseek="dcache_dir_lseek", iterate=True,
    fsync=lambda k, file: 0,
)  # fmt: skip


class TmpfsInode(Inode):
    """A regular file, directory, symbolic link or special file of tmpfs."""

    __slots__ = ("target",)
    i_sb: TmpfsSuper

    def __init__(self, sb: TmpfsSuper, mode: int) -> None:
        super().__init__(sb, mode)
        self.target = ""
        if self.is_dir:
            self.i_size = 2 * BOGO_DIRENT_SIZE
            self.i_fop = SIMPLE_DIR_OPERATIONS
        elif self.is_reg:
            self.i_fop = SHMEM_FILE_OPERATIONS
            self.i_mapping = Mapping(sb.pool, self, limit=sb.take_block)

    # --- directories ---
    def _new(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        sb = self.i_sb
        sb.take_inode()
        inode = TmpfsInode(sb, mode)
        init_owner(inode, self, mode, cred, sb.pool.charge)
        self._changed(BOGO_DIRENT_SIZE)
        return parent.add(name, inode)

    def _changed(self, grow: int) -> int:
        now = self.i_sb.now()
        self.i_size += grow
        self.mtime = self.ctime = now
        self.version += 1
        return now

    def create(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """shmem_create()."""
        return self._new(parent, name, mode & S_IALLUGO | S_IFREG, cred)

    def mknod(self, parent: Dentry, name: str, mode: int, dev: int, cred: Cred) -> Dentry:
        """shmem_mknod()."""
        child = self._new(parent, name, mode, cred)
        child.inode.i_rdev = dev
        return child

    def mkdir(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """shmem_mkdir()."""
        child = self._new(parent, name, mode & S_IALLUGO | S_IFDIR, cred)
        self.i_nlink += 1
        return child

    def symlink(self, parent: Dentry, name: str, target: str, cred: Cred) -> Dentry:
        """shmem_symlink()."""
        sb = self.i_sb
        sb.pool.charge(len(target))
        paged = len(target.encode("utf-8", "surrogateescape")) + 1 > SHORT_SYMLINK_LEN
        if paged and not sb.take_block():
            sb.pool.charge(-len(target))
            raise KernelError(ENOSPC, "no room for the link's page")
        child = self._new(parent, name, S_IFLNK | S_IRWXUGO, cred)
        inode = child.inode
        assert isinstance(inode, TmpfsInode)
        inode.target = target
        inode.i_blocks = PAGE_SIZE // 512 if paged else 0
        inode.i_size = len(target.encode("utf-8", "surrogateescape"))
        return child

    def link(self, parent: Dentry, name: str, old: Dentry) -> Dentry:
        """shmem_link()."""
        inode = old.inode
        if inode.i_nlink:
            self.i_sb.take_inode(DENTRY_SIZE)
        inode.ctime = self._changed(BOGO_DIRENT_SIZE)
        inode.i_nlink += 1
        return parent.add(name, inode)

    def unlink(self, parent: Dentry, victim: Dentry) -> None:
        """shmem_unlink()."""
        inode = victim.inode
        if inode.i_nlink > 1 and not inode.is_dir:
            self.i_sb.give_inode(DENTRY_SIZE)
        inode.ctime = self._changed(-BOGO_DIRENT_SIZE)
        inode.i_nlink -= 1
        parent.drop(victim)

    def rmdir(self, parent: Dentry, victim: Dentry) -> None:
        """shmem_rmdir()."""
        if victim.children:
            raise KernelError(ENOTEMPTY, "directory not empty")
        victim.inode.i_nlink -= 1
        self.i_nlink -= 1
        self.unlink(parent, victim)

    def rename(self, parent: Dentry, old: Dentry, new_parent: Dentry, name: str, flags: int) -> None:
        """shmem_rename2() and the d_move() after it: the entry becomes the newest of its directory."""
        inode, new_dir = old.inode, new_parent.inode
        assert parent.children is not None and new_parent.children is not None
        target = new_parent.children.get(name)
        if flags & RENAME_EXCHANGE:
            assert target is not None
            self._exchange(parent, old, new_parent, target)
            return
        if target is not None:
            if target.children:
                raise KernelError(ENOTEMPTY, "directory not empty")
            new_dir.unlink(new_parent, target)
            if inode.is_dir:
                target.inode.i_nlink -= 1
                self.i_nlink -= 1
        elif inode.is_dir:
            self.i_nlink -= 1
            new_dir.i_nlink += 1
        inode.ctime = self._changed(-BOGO_DIRENT_SIZE)
        assert isinstance(new_dir, TmpfsInode)
        new_dir._changed(BOGO_DIRENT_SIZE)
        parent.drop(old)
        move_dentry(old, new_parent, name)

    def _exchange(self, parent: Dentry, old: Dentry, new_parent: Dentry, target: Dentry) -> None:
        new_dir = new_parent.inode
        if parent is not new_parent and old.inode.is_dir != target.inode.is_dir:
            step = 1 if target.inode.is_dir else -1
            self.i_nlink += step
            new_dir.i_nlink -= step
        now = self._changed(0)
        new_dir.mtime = new_dir.ctime = old.inode.ctime = target.inode.ctime = now
        old_name, new_name = old.name, target.name
        parent.drop(old)
        new_parent.drop(target)
        move_dentry(target, parent, old_name)
        move_dentry(old, new_parent, new_name)

    def tmpfile(self, parent: Dentry, mode: int, cred: Cred) -> Inode:
        """shmem_tmpfile()."""
        sb = self.i_sb
        sb.take_inode()
        inode = TmpfsInode(sb, S_IFREG)
        init_owner(inode, self, mode & S_IALLUGO | S_IFREG, cred, sb.pool.charge)
        inode.i_nlink = 0
        return inode

    # --- the rest ---
    def get_link(self, dentry: Dentry) -> str:
        """simple_get_link()."""
        if not self.is_link:
            raise KernelError(EINVAL, "not a symbolic link")
        return self.target

    def getattr(self) -> None:
        """shmem_getattr(): blocks are the pages present."""
        if self.i_mapping is not None:
            self.i_blocks = self.i_mapping.nrpages * (PAGE_SIZE // 512)

    def setattr_size(self, size: int) -> None:
        """shmem_setattr(): seals, limits, pages."""
        if self.i_mapping is None:
            raise KernelError(EINVAL, "not a regular file")
        if (size < self.i_size and self.seals & F_SEAL_SHRINK) or (size > self.i_size and self.seals & F_SEAL_GROW):
            raise KernelError(EPERM, "sealed")
        if size > self.i_sb.s_maxbytes:
            raise KernelError(EFBIG, "too large")
        if size < self.i_size:
            before = self.i_mapping.nrpages
            self.i_mapping.truncate(size)
            self.i_sb.give_blocks(before - self.i_mapping.nrpages)
        self.i_size = size

    def evict(self) -> None:
        """shmem_evict_inode(): give the pages back."""
        sb = self.i_sb
        if self.i_mapping is not None:
            sb.give_blocks(self.i_mapping.nrpages)
            self.i_mapping.truncate(0)
        if self.target and self.i_blocks:
            sb.give_blocks(1)
        sb.give_inode(INODE_SIZE + len(self.target))


def move_dentry(dentry: Dentry, new_parent: Dentry, name: str) -> None:
    """__d_move(): the dentry becomes the newest child of `new_parent`."""
    assert new_parent.children is not None
    dentry.parent = new_parent
    dentry.name = name
    dentry.hashed = True
    new_parent.children.pop(name, None)
    new_parent.children[name] = dentry


def simple_xattr_size(names: Features, word: int) -> int:
    """sizeof(struct simple_xattr), a node of a tree, a pointer and a size, where tmpfs counts it; else 0.  include/linux/xattr.h."""
    return 5 * word if names.shmem_xattr_space else 0


class TmpfsSuper(SuperBlock):
    """One tmpfs: its limits and its options."""

    def __init__(
        self, dev: int, now: Callable[[], int], pool: PagePool, data: str = "", fs_name: str = "tmpfs",
        total_pages: int = 32768, root_mode: int = 0o1777, xattr_head: int = 0,
    ) -> None:  # fmt: skip
        """`xattr_head`: bytes of a struct simple_xattr, where attributes take of the room for inodes; 0: they do not, and `user.` is none."""
        super().__init__(fs_name, TMPFS_MAGIC, dev, now)
        self.xattr_kinds, self.acls = (b"security.", b"trusted.", *((b"user.",) if xattr_head else ())), True
        self.xattr_head, self.xattrs_take = xattr_head, 0
        if xattr_head:
            self.count_xattrs = self._count_xattrs
        self.mounts = set()
        self.pool = pool
        self.max_blocks = total_pages // 2
        self.max_inodes = total_pages // 2
        self.total_pages = total_pages
        said = ShmemOptions()
        said.parse_all(data, total_pages)
        self.default_limits = (self.max_blocks, self.max_inodes)
        self.max_blocks = self.max_blocks if said.blocks is None else said.blocks
        self.max_inodes = self.max_inodes if said.inodes is None else said.inodes
        self.said = said
        mode = root_mode if said.mode is None else said.mode
        self.root_ids = said.uid or 0, said.gid or 0
        self.options = self._shown()
        self.used_blocks = 0
        self.free_inodes = self.max_inodes
        root = TmpfsInode(self, S_IFDIR | mode)
        root.i_uid, root.i_gid = self.root_ids
        self.free_inodes -= 1
        self.s_root = Dentry("/", None, root)

    def _shown(self) -> str:
        """shmem_show_options()."""
        shown = []
        if self.max_blocks != self.default_limits[0]:
            shown.append(f"size={self.max_blocks * 4}k")
        if self.max_inodes != self.default_limits[1]:
            shown.append(f"nr_inodes={self.max_inodes}")
        if self.said.mode not in (None, 0o1777):
            shown.append(f"mode={self.said.mode:03o}")
        shown += [f"{kind}={value}" for kind, value in zip(("uid", "gid"), self.root_ids, strict=True) if value]
        shown.append("inode64" if self.said.full_inums else "inode32")
        if self.said.huge != "never":
            shown.append(f"huge={self.said.huge}")
        return ",".join(shown)

    def reconfigure(self, flags: int, data: str) -> None:
        """shmem_reconfigure(): new limits, not below what is in use.  EINVAL."""
        said = ShmemOptions()
        said.parse_all(data, self.total_pages)
        if said.blocks is not None:
            if not self.max_blocks and said.blocks:
                raise BadOption("Cannot retroactively limit size")
            if said.blocks and self.used_blocks > said.blocks:
                raise BadOption("Too small a size for current use")
        if said.inodes is not None:
            if not self.max_inodes and said.inodes:
                raise BadOption("Cannot retroactively limit inodes")
            if said.inodes and self.max_inodes * BOGO_INODE_SIZE - self._free_space() > said.inodes * BOGO_INODE_SIZE:
                raise BadOption("Too few inodes for current use")
            self.free_inodes += said.inodes - self.max_inodes
            self.max_inodes = said.inodes
        if said.blocks is not None:
            self.max_blocks = said.blocks
        self.options = self._shown()

    def kill(self) -> None:
        """kill_litter_super(): all that is still there goes."""
        stack, seen = [self.s_root], set[Inode]()
        while stack:
            dentry = stack.pop()
            stack += (dentry.children or {}).values()
            inode = dentry.inode
            if inode not in seen and dentry is not self.s_root:
                seen.add(inode)
                inode.evict()

    def take_inode(self, size: int = INODE_SIZE) -> None:
        """shmem_reserve_inode(), and `size` bytes of memory.  ENOSPC, ENOMEM."""
        if self.max_inodes and self._free_space() < BOGO_INODE_SIZE:
            raise KernelError(ENOSPC, "no free inodes")
        self.pool.charge(size)
        self.free_inodes -= 1

    def give_inode(self, size: int) -> None:
        """And back."""
        self.pool.charge(-size)
        self.free_inodes += 1

    def _free_space(self) -> int:
        """free_ispace: bytes, of which an inode takes BOGO_INODE_SIZE."""
        return self.free_inodes * BOGO_INODE_SIZE - self.xattrs_take

    def _count_xattrs(self, xattrs: dict[bytes, bytes], sign: int) -> None:
        """shmem_xattr_handler_set(): attributes take simple_xattr_space() each (1), or give it back (-1); access lists none.  ENOSPC."""
        space = sum(self.xattr_head + len(name) + len(value) for name, value in xattrs.items() if name not in ACL_NAMES)
        if sign > 0 and self.max_inodes and space > self._free_space():
            raise KernelError(ENOSPC, "no room for the attribute")
        self.xattrs_take += sign * space

    def take_block(self) -> bool:
        """Account one page; False when the file system is full."""
        if self.max_blocks and self.used_blocks >= self.max_blocks:
            return False
        self.used_blocks += 1
        return True

    def give_blocks(self, count: int) -> None:
        """Pages came back."""
        self.used_blocks -= count

    def statfs(self) -> dict[str, int]:
        """shmem_statfs()."""
        free = self.max_blocks - self.used_blocks if self.max_blocks else 0
        return {
            "f_type": self.s_magic, "f_bsize": PAGE_SIZE, "f_namelen": NAME_MAX, "f_blocks": self.max_blocks,
            "f_bfree": free, "f_bavail": free, "f_files": self.max_inodes,
            "f_ffree": self._free_space() // BOGO_INODE_SIZE if self.max_inodes else 0,
        }  # fmt: skip
