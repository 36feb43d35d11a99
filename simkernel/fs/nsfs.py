"""nsfs: the inodes behind /proc/PID/ns, which setns(2) takes.  fs/nsfs.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL, ENOTTY, EPERM
from arch.abi.fcntl import O_RDONLY
from arch.abi.stat import S_IFREG
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.constants import S_IMMUTABLE
from simkernel.fs.inode import Board, Dentry, File, FileOperations, Inode, Mount, Path
from simkernel.kernel.namespaces import KINDS, Namespace, Numbers, initial_namespace
from simkernel.kernel.ucount import Ucounts
from simkernel.kernel.user_namespace import munged, state_of, user_ns

# include/uapi/linux/nsfs.h
NS_GET_USERNS, NS_GET_PARENT, NS_GET_NSTYPE, NS_GET_OWNER_UID = 0xB701, 0xB702, 0xB703, 0xB704
NS_GET_ID, NS_GET_ID_SINCE = 0x8008B70D, "6.18"


class NsInode(Inode):
    """The inode of one namespace."""

    __slots__ = ("namespace",)

    def __init__(self, mnt: Mount, namespace: Namespace) -> None:
        super().__init__(mnt.mnt_sb, S_IFREG | 0o444, namespace.ino)
        self.namespace = namespace
        self.i_fop, self.i_flags = NS_FILE_OPERATIONS, S_IMMUTABLE


def namespace_of(inode: Inode) -> Namespace:
    """The namespace behind a file of nsfs."""
    assert isinstance(inode, NsInode)
    return inode.namespace


def _ioctl(k: Board, file: File, cmd: int, arg: int) -> int:
    """ns_ioctl(): the kind as a flag of clone(2), the owner, and the namespaces above it as descriptors."""
    namespace = namespace_of(file.f_inode)
    kind = namespace.kind
    if cmd == NS_GET_NSTYPE:
        return KINDS[kind]
    if cmd == NS_GET_OWNER_UID:
        if kind != "user":
            raise KernelError(EINVAL)
        uid = state_of(namespace).uid if namespace.state is not None else 0
        k.usercopy.put_user(arg, 4, munged(user_ns(k.current), "uid", uid))
        return 0
    if cmd == NS_GET_ID and k.version.at_least(NS_GET_ID_SINCE):
        k.usercopy.put_user(arg, 8, namespace.ns_id)
        return 0
    if cmd in (NS_GET_USERNS, NS_GET_PARENT):
        return _open_above(k, namespace, cmd == NS_GET_PARENT)
    raise KernelError(ENOTTY)


def _open_above(k: Board, namespace: Namespace, parent: bool) -> int:
    """ns_get_owner(), pidns_get_parent(): a descriptor of a namespace around this one.  EPERM beyond the caller's own."""
    if parent and namespace.kind not in ("user", "pid"):
        raise KernelError(EINVAL, "it has no parent")
    above = namespace.parent if parent else namespace.owner
    kind = namespace.kind if parent else "user"
    if (namespace.initial and (parent or kind == namespace.kind)) or not _visible(k, kind, above):
        raise KernelError(EPERM, "outside")
    files, path = k.current.files, k.vfs.namespaces.path(above or initial_namespace(k.version, kind))
    with files.unused_fd(True) as fd:
        file = k.vfs.new_file(path, O_RDONLY, NS_FILE_OPERATIONS)
    file.f_mode |= c.FMODE_OPENED
    files.install(fd, file)
    return int(fd)


def _visible(k: Board, kind: str, namespace: Namespace | None) -> bool:
    """It is the caller's namespace or one below."""
    if kind == "pid":
        mine = k.current.pid_ns
        return mine is None or (namespace is not None and mine.contains(namespace.state))
    own = user_ns(k.current)
    while namespace is not own:
        if namespace is None:
            return False
        namespace = namespace.parent
    return True


def _release(k: Board, file: File) -> None:
    """nsfs_evict(): the namespace may be nobody's now."""
    k.vfs.namespaces.released(file.f_inode)


NS_FILE_OPERATIONS = FileOperations("ns_file_operations", llseek="no_llseek", ioctl=_ioctl, release=_release)


class Namespaces:
    """`k.vfs.namespaces`: one inode per namespace, made when first asked for."""

    def __init__(self, mnt: Mount) -> None:
        self.mnt = mnt
        self.numbers = Numbers()
        self.ucounts = Ucounts()
        self.made: dict[int, Path] = {}
        self.when_released: list[Callable[[], None]] = []  # told when a task or a file has let go of one
        self.when_entered: list[Callable[[], None]] = []  # told when the running task has made or entered others
        self.closing: Inode | None = None
        # What a namespace of networks keeps: net/ puts its own here.
        self.make_net: Callable[[Namespace], None] = lambda namespace: None

    def released(self, closing: Inode | None = None) -> None:
        """Somebody has let go: `closing` is the inode of a file that is being closed."""
        self.closing = closing
        for told in self.when_released:
            told()
        self.closing = None

    def entered(self) -> None:
        """unshare(2) or setns(2) has succeeded.  perf_event_namespaces(current)"""
        for told in self.when_entered:
            told()

    def opened(self, namespace: Namespace) -> bool:
        """Some file of it is open."""
        return any(inode.i_count > (inode is self.closing) for inode in self.inodes(namespace))

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
