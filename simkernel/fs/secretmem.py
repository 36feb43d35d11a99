"""memfd_secret(2): memory that nobody reads but who maps it, not the kernel for others either.  mm/secretmem.c.

Declared since 6.5, where it is on unless the command line says otherwise; before that the call was ENOSYS by default.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENFILE
from arch.abi.fcntl import O_CLOEXEC, O_LARGEFILE, O_RDWR
from arch.abi.mount import MS_NOEXEC
from arch.abi.stat import S_IFDIR, S_IFREG, SECRETMEM_MAGIC
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import Dentry, File, FileOperations, Inode, Path, SuperBlock
from simkernel.fs.pagecache import Mapping, PagePool
from simkernel.kernel.areas import VM_DONTDUMP, Vma
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall

FS_NAME = "secretmem"


class SecretInode(Inode):
    """Its pages; no file operations, so nobody opens it again."""

    __slots__ = ()

    def __init__(self, sb: SuperBlock, pool: PagePool) -> None:
        super().__init__(sb, S_IFREG | 0o600)
        self.i_mapping = Mapping(pool, self)

    def setattr_size(self, size: int) -> None:
        """secretmem_setattr(): a size is given once.  EINVAL."""
        if self.i_size:
            raise KernelError(EINVAL, "it has a size")
        self.i_size = size

    def evict(self) -> None:
        """secretmem_evict_inode(): the pages go."""
        assert self.i_mapping is not None
        self.i_mapping.truncate(0)


def secretmem_mmap(k: FsKernel, file: File, vma: Vma) -> None:
    """Only shared, and never in a core dump.  EINVAL."""
    if not vma.shared:
        raise KernelError(EINVAL, "private")
    vma.secret, vma.locked = True, 0
    vma.advice |= VM_DONTDUMP


SECRETMEM_FOPS = FileOperations("secretmem_fops", llseek="no_llseek", splice=False, mmap=secretmem_mmap)


def _name(dentry: Dentry) -> str:
    """simple_dname()."""
    return f"/{dentry.name} (deleted)"


@kernel_function("struct file *secretmem_file_create(unsigned long flags)", source="mm/secretmem.c", since="6.5")
def secretmem_file_create(k: FsKernel, flags: int) -> int:
    """An open file of memory that no directory has.  ENFILE, ENOMEM."""
    vfs = k.vfs
    mnt = vfs.secret_mnt
    if mnt is None:
        sb = SuperBlock(FS_NAME, SECRETMEM_MAGIC, vfs.anon_dev(), vfs.now)
        sb.s_root = Dentry(f"{FS_NAME}:", None, Inode(sb, S_IFDIR | 0o600))
        mnt = vfs.secret_mnt = vfs.mounts.new(
            sb, "none", MS_NOEXEC if vfs.names.secretmem_mount_noexec else 0, mnt_id=0
        )
    inode, cred = SecretInode(mnt.mnt_sb, vfs.pool), vfs.cred()
    inode.i_uid, inode.i_gid = cred.fsuid, cred.fsgid
    dentry = Dentry(FS_NAME, None, inode)
    dentry.d_dname = _name
    vfs.security.anonymous(dentry, purpose=b"[secretmem]", errno=ENFILE)
    file = vfs.new_file(Path(mnt, dentry), O_RDWR | O_LARGEFILE, SECRETMEM_FOPS, cred)
    file.f_mode |= c.FMODE_OPENED
    vfs.mirror.file_flags(file)
    return file.addr


@syscall("memfd_secret", "unsigned int flags", source="mm/secretmem.c", since="6.5")
def sys_memfd_secret(k: FsKernel, flags: int) -> Body:
    """memfd_secret(2): the only flag is O_CLOEXEC.  EINVAL, EMFILE and those of the file."""
    if flags & ~O_CLOEXEC:
        raise KernelError(EINVAL, f"flags {flags:#x}")
    files = files_of(k.current)
    with files.unused_fd(bool(flags & O_CLOEXEC)) as fd:
        file = k.vfs.files[(yield k.call("secretmem_file_create", flags)) & k.vfs.word_mask]
    files.install(fd, file)
    return int(fd)
