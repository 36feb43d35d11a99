"""The objects of the virtual file system: super blocks, inodes, dentries, mounts, paths and open files.

include/linux/fs.h, include/linux/dcache.h, fs/mount.h.  The Python objects are the masters; mirror.py writes the C
structures of those that a program could reach into kernel memory.  Names are str; bytes that are not UTF-8 are
carried as surrogate escapes, so that every name round-trips.  Times are nanoseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, Protocol

from arch.abi.capability import CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
from arch.abi.errno import EACCES, EFAULT, EINVAL, ENODEV, EOPNOTSUPP, EPERM, EROFS
from arch.abi.fcntl import F_SEAL_SEAL, O_ACCMODE, O_NONBLOCK
from arch.abi.limits import MAX_LFS_FILESIZE, NAME_MAX, PAGE_SHIFT, PAGE_SIZE
from arch.abi.mman import PROT_EXEC
from arch.abi.mount import MS_NOEXEC, MS_RDONLY
from arch.abi.stat import S_IFDIR, S_IFLNK, S_IFMT, S_IFREG, S_IRWXG, S_IXUGO
from arch.errors import KernelError
from arch.records import dataclass, field
from simkernel.fs import constants as c
from simkernel.fs.fown import Owner
from simkernel.fs.pagecache import Mapping
from simkernel.fs.posix_acl import acl_of, in_group, permitted
from simkernel.kernel.areas import Vma
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.task import Cred as TaskCred
from simkernel.kernel.task import WaitQueue


class Cred(Protocol):
    """Who asks: the file-system part of struct cred."""

    @property
    def fsuid(self) -> int: ...
    @property
    def fsgid(self) -> int: ...
    @property
    def groups(self) -> Collection[int]:
        """Supplementary group ids."""

    @property
    def watched(self) -> Collection[str]:
        """Security hooks that somebody sees."""

    def capable(self, cap: int, inode: Inode | None = None) -> bool:
        """Has this CAP_* number, towards an inode: in a user namespace, if its owner is somebody there."""

    def ask(self, hook: str, *about: int | Dentry | Inode) -> None:
        """A security hook that is watched.  KernelError."""


def to_bytes(name: str) -> bytes:
    """A file name as the user wrote it."""
    return name.encode("utf-8", "surrogateescape")


def to_str(name: bytes) -> str:
    """The inverse of to_bytes."""
    return name.decode("utf-8", "surrogateescape")


class DirEntry(NamedTuple):
    """One entry of a directory as getdents shows it."""

    name: str
    ino: int
    dtype: int


class FileLocks(Protocol):
    """struct file_lock_context: locks.py has it."""

    def drop_file(self, k: Board, file: File) -> None:
        """The open file is gone: what it holds goes."""

    def drop_owner(self, k: Board, file: File, owner: int) -> None:
        """A descriptor of this table was closed: its record locks go."""


class Watcher(Protocol):
    """struct epitem: eventpoll.py has it."""

    def file_closed(self) -> None:
        """The watched file is gone."""


class FileOwner(Protocol):
    """The table of open files: vfs.py has it."""

    @property
    def k(self) -> Board:
        """The kernel."""

    def put_file(self, file: File) -> None:
        """fput()."""

    def file_update_time(self, inode: Inode) -> None: ...  # it is written to now


# --- struct file_operations ---

# The kernel as the functions of a file are given it: FsKernel (face.py), NetKernel ..., which are made of these objects and
# cannot be named below them.  Who writes such a function annotates `k` with what it needs.
Board = Any

# poll(k, file, queues) -> event mask; appends to `queues` (when not None) the wait queues that would announce a change
Poll = Callable[[Board, "File", "list[WaitQueue] | None"], int]
# ioctl(k, file, cmd, arg) -> int, or a generator that returns one; KernelError(ENOTTY) for an unknown cmd
Ioctl = Callable[[Board, "File", int, int], "int | Body"]


@dataclass(eq=False, slots=True)
class FileOperations:
    """struct file_operations as data: which kernel functions serve a kind of file; `name` is its symbol in the kernel.

    `read`, `write`, `read_iter`, `write_iter` name kernel functions, which vfs_read() and vfs_write() call for real: a stack
    shows them; mirror.py stores their addresses.  The others are plain Python (never seen at the end of a stack)."""

    name: str
    read: str | None = None
    write: str | None = None
    read_iter: str | None = None
    write_iter: str | None = None
    llseek: str = "default_llseek"  # no_llseek, noop_llseek, generic_file_llseek, dcache_dir_lseek ...
    poll: Poll | None = None
    drive: Callable[[Board, File], Steps[None] | None] | None = None  # what poll(2) does before it looks
    ioctl: Ioctl | None = None
    mmap: Callable[[Board, File, Vma], None] | None = None
    open: Callable[[Board, Inode, File], int | Body] | None = None  # a generator where it may sleep (fifo_open)
    flush: Callable[[Board, File], int] | None = None  # at each close
    # who is told of what by the file itself, with or without a hangup, or no more
    tell_owner: Callable[[Board, File, Callable[[bool], None] | None], None] | None = None
    release: Callable[[Board, File], Steps[object] | None] | None = None  # at the last close
    fsync: Callable[[Board, File], int | Body] | None = None
    iterate: bool = False  # a directory
    stream: bool = False  # stream_open(): no position at all
    sendable: bool = True  # in a message of a Unix socket
    nowait: str = ""  # FMODE_NOWAIT, RWF_NOWAIT is minded: since which kernel
    direct_io: str | None = ""  # a_ops->direct_IO or FMODE_CAN_ODIRECT: since which kernel, None: always
    fasync: bool = False  # O_ASYNC: its owner can be told of changes
    splice: bool | None = None  # splice_read; None: where there is a read_iter
    setfl: Callable[[Board, File, int], None] | None = None  # check_flags
    show_fdinfo: Callable[[Board, File], str] | None = None  # the lines that /proc/PID/fdinfo/FD has more
    extra: dict[str, str] = field(default_factory=dict)  # further members of the C struct: name -> kernel function


EMPTY_FOPS = FileOperations("def_file_fops", llseek="no_llseek")


class SuperBlock:
    """struct super_block: one mounted instance of a file system."""

    __slots__ = ("__dict__", "__weakref__", "s_flags")  # native code reads the flags

    def __init__(self, fs_name: str, magic: int, dev: int, now: Callable[[], int], options: str = "") -> None:
        self.fs_name = fs_name
        self.s_magic = magic
        self.s_dev = dev
        self.now = now
        self.options = options  # what /proc/mounts shows after the mount flags, e.g. "size=64k,mode=755"
        self.s_flags = 0
        self.s_blocksize = PAGE_SIZE
        self.s_maxbytes = MAX_LFS_FILESIZE
        self.s_root: Dentry = None  # type: ignore[assignment]  # set by the file system before it is mounted
        self.time_gran_ns = 1
        self.simple_setattr = False  # its inodes are marked dirty when attributes are set
        self.pseudo_mountable = True  # SB_NOUSER clear: may be named in mount(2)
        self.next_ino = 1
        self.addr = 0
        self.xattr_kinds: tuple[bytes, ...] = ()  # prefixes of extended attributes that can be stored
        self.count_xattrs: Callable[[dict[bytes, bytes], int], None] = lambda new, sign: None  # their room
        self.acls = False  # SB_POSIXACL: files have access lists
        self.mounts: set[object] | None = None  # struct mounts, where kill() is to be called after the last
        self.anon_inode: Inode | None = None  # the one that all files of anon_inodefs share

    def new_ino(self) -> int:
        """The next inode number of this instance."""
        ino = self.next_ino
        self.next_ino += 1
        return ino

    def kill(self) -> None:
        """kill_sb(): nobody can reach it any more."""

    def statfs(self) -> dict[str, int]:
        """simple_statfs(), fs/libfs.c."""
        return {"f_type": self.s_magic, "f_bsize": self.s_blocksize, "f_namelen": NAME_MAX}

    @property
    def read_only(self) -> bool:
        """SB_RDONLY."""
        return bool(self.s_flags & MS_RDONLY)

    def sync_fs(self, k: Board) -> Steps[None] | None:
        """s_op->sync_fs: write out what is only in memory; None where there is nothing to do."""
        return None

    def give_blocks(self, count: int) -> None:
        """Pages of a file are gone: room for others, where the file system counts them."""

    def reconfigure(self, flags: int, data: str) -> None:
        """fs_context_operations.reconfigure: what a remount asks for, before it is done; may refuse."""


class Inode:
    """struct inode with the inode_operations as methods; a file system derives from it.

    What a file system does not offer answers as the VFS does when the operation is missing.
    """

    __slots__ = (
        "addr", "atime", "btime", "ctime", "i_blocks", "i_count", "i_flags", "i_fop", "i_gid", "i_ino", "i_mapping",
        "i_mode", "i_nlink", "i_pipe", "i_rdev", "i_sb", "i_size", "i_state", "i_uid", "i_writecount", "locks", "mapped",
        "mtime", "rw_hint", "seals", "version", "xattrs",
    )  # fmt: skip

    # dentries of this directory stay in the dcache for ever (tmpfs, sysfs); False: ask lookup() each time (proc pids)
    pinned_dentries = True

    def __init__(self, sb: SuperBlock, mode: int, ino: int | None = None) -> None:
        self.i_sb, self.i_mode = sb, mode
        self.i_ino = sb.new_ino() if ino is None else ino
        self.i_uid = self.i_gid = 0
        self.i_nlink = 2 if mode & S_IFMT == S_IFDIR else 1
        self.i_size = self.i_blocks = 0  # bytes, units of 512 bytes
        self.i_rdev = self.addr = self.i_state = self.rw_hint = self.i_flags = 0
        now = sb.now()
        self.atime = self.mtime = self.ctime = self.btime = now
        self.i_fop: FileOperations | None = None
        self.i_mapping: Mapping | None = None
        self.i_pipe: object = None  # pipe.py: Pipe
        self.i_count = 0  # open files
        self.i_writecount = 0  # writers (>0) or execve denying write (<0)
        self.locks: FileLocks | None = None
        self.seals, self.version, self.mapped = F_SEAL_SEAL, 0, False  # mapped: once, and perhaps still
        self.xattrs: dict[bytes, bytes] | None = None  # extended attributes, oldest first

    @property
    def ino(self) -> int:
        """i_ino."""
        return self.i_ino

    @property
    def dev(self) -> int:
        """i_sb->s_dev."""
        return self.i_sb.s_dev

    @property
    def size(self) -> int:
        """i_size."""
        return self.i_size

    @property
    def mode(self) -> int:
        """i_mode."""
        return self.i_mode

    @property
    def uid(self) -> int:
        """i_uid."""
        return self.i_uid

    @property
    def gid(self) -> int:
        """i_gid."""
        return self.i_gid

    def get_page(self, index: int) -> int:
        """Physical address of a page of the page cache; EFAULT beyond the end of the file."""
        if self.i_mapping is None or index << PAGE_SHIFT >= self.i_size:
            raise KernelError(EFAULT, "beyond the end of the file")
        return self.i_mapping.page(index)

    @property
    def is_dir(self) -> bool:
        """S_ISDIR."""
        return self.i_mode & S_IFMT == S_IFDIR

    @property
    def is_reg(self) -> bool:
        """S_ISREG."""
        return self.i_mode & S_IFMT == S_IFREG

    @property
    def is_link(self) -> bool:
        """S_ISLNK."""
        return self.i_mode & S_IFMT == S_IFLNK

    @property
    def dtype(self) -> int:
        """DT_* of this inode."""
        return (self.i_mode & S_IFMT) >> 12

    # --- inode_operations: directories.  `parent` is the directory's dentry ---
    def lookup(self, parent: Dentry, name: str) -> Dentry | None:
        """The child dentry, or None (a negative dentry)."""
        return parent.children.get(name) if parent.children else None

    def entries(self, parent: Dentry) -> list[DirEntry]:
        """What getdents shows after "." and "..", in order: newest first, as dcache_readdir() of fs/libfs.c."""
        children = parent.children
        if not children:
            return []
        return [DirEntry(d.name, d.inode.i_ino, d.inode.dtype) for d in reversed(children.values())]

    def create(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """i_op->create: a regular file."""
        raise KernelError(EACCES, "file system has no create")

    def mkdir(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """i_op->mkdir."""
        raise KernelError(EPERM, "file system has no mkdir")

    def mknod(self, parent: Dentry, name: str, mode: int, dev: int, cred: Cred) -> Dentry:
        """i_op->mknod."""
        raise KernelError(EPERM, "file system has no mknod")

    def symlink(self, parent: Dentry, name: str, target: str, cred: Cred) -> Dentry:
        """i_op->symlink."""
        raise KernelError(EPERM, "file system has no symlink")

    def link(self, parent: Dentry, name: str, old: Dentry) -> Dentry:
        """i_op->link."""
        raise KernelError(EPERM, "file system has no link")

    def unlink(self, parent: Dentry, victim: Dentry) -> None:
        """i_op->unlink."""
        raise KernelError(EPERM, "file system has no unlink")

    def rmdir(self, parent: Dentry, victim: Dentry) -> None:
        """i_op->rmdir."""
        raise KernelError(EPERM, "file system has no rmdir")

    def rename(self, parent: Dentry, old: Dentry, new_parent: Dentry, name: str, flags: int) -> None:
        """i_op->rename."""
        raise KernelError(EPERM, "file system has no rename")

    def tmpfile(self, parent: Dentry, mode: int, cred: Cred) -> Inode:
        """i_op->tmpfile: an inode without a name."""
        raise KernelError(EOPNOTSUPP, "file system has no tmpfile")

    def get_link(self, dentry: Dentry) -> str | Path:
        """Target text, or a Path to jump to (nd_jump_link of procfs)."""
        raise KernelError(EINVAL, "not a symbolic link")

    def readlink(self, dentry: Dentry) -> str:
        """Text for readlink(2)."""
        target = self.get_link(dentry)
        if not isinstance(target, str):
            raise KernelError(EINVAL, "magic link without text")
        return target

    def permission(self, mask: int, cred: Cred) -> None:
        """i_op->permission; raises EACCES."""
        generic_permission(self, mask, cred)

    def getattr(self) -> None:
        """Refresh attributes before stat (procfs, host files)."""

    def setattr_size(self, size: int) -> None:
        """truncate."""
        raise KernelError(EINVAL, "file system cannot truncate")

    def attr_changed(self) -> None:
        """The mode was changed."""

    def evict(self) -> None:
        """The last reference is gone: free what it holds."""

    def update_time(self, now: int, *, a: bool = False, m: bool = False, c: bool = False) -> None:
        """Set some of the three times."""
        if a:
            self.atime = now
        if m:
            self.mtime = now
        if c:
            self.ctime = now


class Dentry:
    """struct dentry: a name in a directory.  Only positive dentries exist; order of children is insertion order."""

    __slots__ = ("addr", "children", "d_dname", "hashed", "inode", "mounts", "name", "parent")

    def __init__(self, name: str, parent: Dentry | None, inode: Inode) -> None:
        self.name = name
        self.parent = self if parent is None else parent
        self.inode = inode
        self.children: dict[str, Dentry] | None = {} if inode.is_dir else None
        self.hashed = True  # False after unlink: " (deleted)"
        self.mounts = 0  # how many mounts sit on it
        self.d_dname: Callable[[Dentry], str] | None = None  # d_op->d_dname: how a file in no directory is shown
        self.addr = 0

    def add(self, name: str, inode: Inode) -> Dentry:
        """Make and insert the child `name`."""
        assert self.children is not None
        child = Dentry(name, self, inode)
        self.children[name] = child
        return child

    def drop(self, child: Dentry) -> None:
        """Take a child out (unlink, rmdir)."""
        assert self.children is not None
        if self.children.get(child.name) is child:
            del self.children[child.name]
        child.hashed = False

    def is_ancestor_of(self, other: Dentry) -> bool:
        """True when `other` is this dentry or below it."""
        while other is not self:
            if other.parent is other:
                return False
            other = other.parent
        return True

    def __repr__(self) -> str:
        return f"<dentry {self.name!r}>"


class Mount:
    """struct mount: a super block's tree (or part of one) attached at a dentry of its parent mount."""

    __slots__ = (
        "addr", "devname", "event", "expiry_mark", "group_id", "locked", "locked_flags", "master_id", "mnt_flags", "mnt_id", "mnt_parent", "mnt_root", "mnt_sb",
        "mountpoint", "unbindable",
    )  # fmt: skip

    def __init__(self, sb: SuperBlock, root: Dentry, devname: str, flags: int, mnt_id: int) -> None:
        self.mnt_sb = sb
        self.mnt_root = root
        self.devname = devname
        self.mnt_flags = flags  # MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_RDONLY, MS_NOATIME, MS_RELATIME ...
        self.mnt_id = mnt_id
        self.mnt_parent: Mount = self
        self.mountpoint: Dentry = root
        self.group_id = self.master_id = 0  # the peer group of a shared mount; the one that a slave hears of (pnode.py)
        self.unbindable = self.expiry_mark = False
        self.locked, self.locked_flags = False, 0  # MNT_LOCKED, and MS_* bits that stay, in a namespace of less rights
        self.event = 0  # of a root: how often mounts came to its namespace or left it
        self.addr = 0

    @property
    def read_only(self) -> bool:
        """Of the mount or of its super block."""
        return bool(self.mnt_flags & MS_RDONLY) or self.mnt_sb.read_only


class Path(NamedTuple):
    """struct path."""

    mnt: Mount
    dentry: Dentry

    @property
    def inode(self) -> Inode:
        """The dentry's inode."""
        return self.dentry.inode


class File:
    """struct file: one open file description, shared by dup'ed and inherited descriptors."""

    __slots__ = (
        "addr", "f_count", "f_cred", "f_flags", "f_inode", "f_mapping", "f_mode", "f_op", "f_owner", "f_path", "f_pos", "opener",
        "pos_addr", "private_data", "readdir_list", "vfs", "watchers",
    )  # fmt: skip

    def __init__(self, path: Path, flags: int, f_op: FileOperations, cred: Cred, vfs: FileOwner) -> None:
        self.vfs = vfs
        self.f_path = path
        self.f_inode = path.dentry.inode
        self.f_flags = flags
        self.f_mode = OPEN_FMODE[flags & O_ACCMODE]
        self.f_pos, self.f_count = 0, 1
        self.f_op = f_op
        self.f_cred = cred
        self.f_owner: Owner | None = None
        self.f_mapping: Mapping | None = path.dentry.inode.i_mapping
        self.private_data: Any = None  # the file operations know what it is
        self.readdir_list: list[DirEntry] | None = None  # snapshot of a directory, taken when it is read from its start
        self.watchers: dict[Watcher, None] | None = None  # epoll items
        self.opener: TaskCred | None = None  # whose struct cred f_cred points to
        self.addr = self.pos_addr = 0  # of struct file in kernel memory, and of its f_pos

    @property
    def nonblock(self) -> bool:
        """O_NONBLOCK."""
        return bool(self.f_flags & O_NONBLOCK)

    def get(self) -> File:
        """get_file(): one more reference."""
        self.f_count += 1
        return self

    # --- names that the kernel core uses (simkernel/fs/face.py) ---
    @property
    def inode(self) -> Inode:
        """f_inode."""
        return self.f_inode

    @property
    def flags(self) -> int:
        """f_flags."""
        return self.f_flags

    @property
    def pos(self) -> int:
        """f_pos."""
        return self.f_pos

    @property
    def path(self) -> str:
        """As /proc/PID/maps shows it."""
        return d_path(self.f_path, None)

    def read_at(self, pos: int, size: int) -> bytes:
        """kernel_read() of a file with a page cache: shorter at its end."""
        mapping = self.f_mapping
        if mapping is None:
            raise KernelError(EINVAL, "no page cache")
        return mapping.read(pos, min(size, max(0, self.f_inode.i_size - pos)))

    def update_time(self) -> None:
        """file_update_time()."""
        self.vfs.file_update_time(self.f_inode)

    def mmap(self, vma: Vma) -> None:
        """f_op->mmap; ENODEV when the file cannot be mapped, EPERM when what is in it may not be run (path_noexec())."""
        if self.f_path.mnt.mnt_flags & MS_NOEXEC or self.f_inode.i_sb.fs_name in WITHOUT_PROGRAMS:
            if vma.prot & PROT_EXEC:
                raise KernelError(EPERM, "noexec")
            vma.may &= ~PROT_EXEC
        if self.f_op.mmap is None:
            raise KernelError(ENODEV, "cannot be mapped")
        self.f_op.mmap(self.vfs.k, self, vma)
        self.f_inode.mapped = True

    def put(self) -> None:
        """fput() from plain code."""
        self.vfs.put_file(self)


WITHOUT_PROGRAMS = ("proc", "sysfs", "mqueue", "cgroup", "cgroup2", "secretmem")  # SB_I_NOEXEC
# OPEN_FMODE(), include/linux/fs.h: index is flags & O_ACCMODE; 3 asks for ioctl-only access
OPEN_FMODE = (c.FMODE_READ, c.FMODE_WRITE, c.FMODE_READ | c.FMODE_WRITE, 0)


def generic_permission(inode: Inode, mask: int, cred: Cred) -> None:
    """Access list or mode bits, then the two capabilities that override them.  fs/namei.c:generic_permission()."""
    mode, owner = inode.i_mode, inode.i_uid == cred.fsuid
    want = mask & (c.MAY_READ | c.MAY_WRITE | c.MAY_EXEC)
    acl = () if owner or inode.xattrs is None or not mode & S_IRWXG else acl_of(inode.xattrs)
    if acl:
        allowed = permitted(acl, want, cred.fsuid, lambda gid: in_group(cred, gid), inode.i_gid)
    else:
        allowed = not want & ~(mode >> (6 if owner else 3 if in_group(cred, inode.i_gid) else 0))
    searches = not want & c.MAY_WRITE if inode.is_dir else want == c.MAY_READ
    if allowed or (searches and cred.capable(CAP_DAC_READ_SEARCH, inode)):
        return
    if (inode.is_dir or not want & c.MAY_EXEC or mode & S_IXUGO) and cred.capable(CAP_DAC_OVERRIDE, inode):
        return
    raise KernelError(EACCES, "permission denied")


def inode_permission(inode: Inode, mask: int, cred: Cred, mnt: Mount | None = None) -> None:
    """May `cred` do that?  EROFS before EACCES.  fs/namei.c:inode_permission()."""
    if mask & c.MAY_WRITE:
        if inode.i_sb.read_only and inode.i_mode & S_IFMT in (S_IFREG, S_IFDIR, S_IFLNK):
            raise KernelError(EROFS, "read-only file system")
        if inode.i_flags & c.S_IMMUTABLE:
            raise KernelError(EPERM, "immutable")
    inode.permission(mask, cred)
    if cred.watched:
        cred.ask("inode_permission", inode, mask)


def d_path(path: Path, root: Path | None) -> str:
    """The path's text as seen from `root`; deleted names say so.  d_path(), dynamic_dname() for files in no directory."""
    dentry = path.dentry
    if dentry.d_dname is not None:
        return dentry.d_dname(dentry)
    return prepend_path(path, root)[0] + ("" if dentry.hashed else " (deleted)")


def prepend_path(path: Path, root: Path | None) -> tuple[str, bool]:
    """(text, whether `root` was met).  fs/d_path.c:prepend_path()."""
    parts: list[str] = []
    dentry, mnt = path.dentry, path.mnt
    while root is None or dentry is not root.dentry or mnt is not root.mnt:
        if dentry is mnt.mnt_root or dentry.parent is dentry:
            if mnt.mnt_parent is mnt or dentry is not mnt.mnt_root:
                return "/" + "/".join(reversed(parts)), root is None
            dentry, mnt = mnt.mountpoint, mnt.mnt_parent
            continue
        parts.append(dentry.name)
        dentry = dentry.parent
    return "/" + "/".join(reversed(parts)), True
