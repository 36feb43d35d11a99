"""bpffs: pinned BPF objects as files.  kernel/bpf/inode.c.

A pinned object is a regular file whose private holds the object; bpf(BPF_OBJ_GET) opens it.  What open(2) opens is decided by who
pins: the text of a map, an iterator; EIO for anything else, as bpffs_obj_open says.  Directories and symbolic links are ordinary; plain files cannot be made.
"""

from __future__ import annotations

from arch.abi.errno import EIO, EPERM
from arch.abi.stat import BPF_FS_MAGIC, S_IFDIR, S_IFREG, S_ISVTX
from arch.errors import KernelError
from bpf.face import FdObject
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import Cred, Dentry, File, FileOperations, Inode, SuperBlock
from simkernel.fs.mount_options import mode_option
from simkernel.fs.tmpfs import TmpfsInode, TmpfsSuper
from simkernel.fs.vfs import FsType, Vfs


def _obj_open(k: FsKernel, inode: Inode, file: File) -> int:
    raise KernelError(EIO, "pinned objects are opened by bpf(2)")


BPFFS_OBJ_FOPS = FileOperations("bpffs_obj_fops", llseek="no_llseek", open=_obj_open)


class BpfInode(TmpfsInode):
    """An inode of bpffs: like tmpfs without plain files; sizes are 0."""

    __slots__ = ("obj",)

    def __init__(self, sb: TmpfsSuper, mode: int) -> None:
        super().__init__(sb, mode)
        self.i_size = 0
        self.obj: FdObject | None = None  # what is pinned; the file keeps a reference
        if self.is_reg:
            self.i_mapping = None
            self.i_fop = BPFFS_OBJ_FOPS

    def _new(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        inode = BpfInode(self.i_sb, mode)
        inode.i_uid, inode.i_gid = cred.fsuid, cred.fsgid
        self._changed(0)
        return parent.add(name, inode)

    def _changed(self, grow: int) -> int:
        return super()._changed(0)

    def lookup(self, parent: Dentry, name: str) -> Dentry | None:
        """bpf_lookup(): names with dots are kept for the kernel's own files.  EPERM."""
        if "." in name:
            raise KernelError(EPERM, "a name with a dot")
        return super().lookup(parent, name)

    def create(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """open(O_CREAT) is refused: bpffs has no create."""
        raise KernelError(EPERM, "bpffs has no plain files")

    def mknod(self, parent: Dentry, name: str, mode: int, dev: int, cred: Cred) -> Dentry:
        """Not from user space."""
        raise KernelError(EPERM, "bpffs has no plain files")

    def evict(self) -> None:
        """bpf_free_inode(): the pin's reference goes."""
        obj, self.obj = self.obj, None
        if obj is not None:
            obj.release()
        super().evict()

    def pin(
        self, parent: Dentry, name: str, mode: int, cred: Cred, obj: FdObject, fops: FileOperations = BPFFS_OBJ_FOPS
    ) -> Dentry:
        """bpf_obj_do_pin(): put an object in (the name was looked up and is free)."""
        child = self._new(parent, name, S_IFREG | mode, cred)
        assert isinstance(child.inode, BpfInode)
        child.inode.obj, child.inode.i_fop = obj, fops
        return child


class BpfSuper(TmpfsSuper):
    """One bpffs."""

    def __init__(self, vfs: Vfs, data: str) -> None:
        mode = mode_option(data, 0o777)
        super().__init__(vfs.anon_dev(), vfs.now, vfs.pool, "", "bpf")
        self.s_magic = BPF_FS_MAGIC
        self.options = f"mode={mode:o}" if mode != 0o777 else ""
        self.s_root = Dentry("/", None, BpfInode(self, S_IFDIR | S_ISVTX | mode))
        self.max_blocks = self.max_inodes = 0

    def statfs(self) -> dict[str, int]:
        """simple_statfs()."""
        return SuperBlock.statfs(self)


def register_bpffs(vfs: Vfs) -> None:
    """BPF file system type."""
    vfs.register(FsType("bpf", lambda v, devname, flags, data: BpfSuper(v, data)))
