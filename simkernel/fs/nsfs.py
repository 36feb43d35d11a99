"""nsfs: the inodes behind /proc/PID/ns, which setns(2) takes.  fs/nsfs.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOTTY
from arch.abi.stat import S_IFREG
from arch.errors import KernelError
from simkernel.fs.inode import Board, Dentry, File, FileOperations, Inode, Mount, Path
from simkernel.kernel.namespaces import KINDS, Namespace, Numbers

# include/uapi/linux/nsfs.h
NS_GET_USERNS, NS_GET_PARENT, NS_GET_NSTYPE, NS_GET_OWNER_UID = 0xB701, 0xB702, 0xB703, 0xB704


class NsInode(Inode):
    """The inode of one namespace."""

    __slots__ = ("namespace",)

    def __init__(self, mnt: Mount, namespace: Namespace) -> None:
        super().__init__(mnt.mnt_sb, S_IFREG | 0o444, namespace.ino)
        self.namespace = namespace
        self.i_fop = NS_FILE_OPERATIONS


def namespace_of(inode: Inode) -> Namespace:
    """The namespace behind a file of nsfs."""
    assert isinstance(inode, NsInode)
    return inode.namespace


def _ioctl(k: Board, file: File, cmd: int, arg: int) -> int:
    """ns_ioctl(): the kind as a flag of clone(2); there are no parents to ask for."""
    kind = namespace_of(file.f_inode).kind
    if cmd == NS_GET_NSTYPE:
        return KINDS[kind][0]
    if cmd == NS_GET_OWNER_UID:
        if kind != "user":
            raise KernelError(EINVAL)
        k.usercopy.put_user(arg, 4, 0)
        return 0
    if cmd in (NS_GET_USERNS, NS_GET_PARENT):
        raise KernelError(EINVAL)
    raise KernelError(ENOTTY)


NS_FILE_OPERATIONS = FileOperations("ns_file_operations", llseek="no_llseek", ioctl=_ioctl)


class Namespaces:
    """`k.vfs.namespaces`: one inode per namespace, made when first asked for."""

    def __init__(self, mnt: Mount) -> None:
        self.mnt = mnt
        self.numbers = Numbers()
        self.made: dict[int, Path] = {}

    def path(self, namespace: Namespace) -> Path:
        """ns_get_path()."""
        if namespace.ino not in self.made:
            dentry = Dentry(f"{namespace.kind}:[{namespace.ino}]", None, NsInode(self.mnt, namespace))
            dentry.d_dname = _name
            self.made[namespace.ino] = Path(self.mnt, dentry)
        return self.made[namespace.ino]

    def inodes(self, namespace: Namespace) -> tuple[Inode, ...]:
        """Its inode, if somebody has asked for it."""
        path = self.made.get(namespace.ino)
        return () if path is None else (path.dentry.inode,)


def _name(dentry: Dentry) -> str:
    return dentry.name
