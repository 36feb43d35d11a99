"""Generated file systems: proc, sysfs, debugfs, tracefs and the like.  fs/seq_file.c, fs/kernfs/, fs/proc/generic.c.

Their trees are made of nodes (nodes.py); here is how a node becomes an inode, and the kernel functions that read and
write it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from weakref import WeakKeyDictionary

from arch.abi.errno import EACCES, EAGAIN, EFAULT, EINVAL, EIO, ENOENT
from arch.abi.fcntl import O_DIRECT, O_NONBLOCK
from arch.abi.limits import PAGE_SIZE
from arch.abi.poll import POLLERR, POLLPRI
from arch.abi.stat import DT_DIR, DT_LNK, DT_REG, S_IALLUGO, S_IFDIR, S_IFLNK, S_IFMT, S_IFREG
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs import seeking
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import Cred, Dentry, DirEntry, File, FileOperations, Inode, Path, SuperBlock
from simkernel.fs.nodes import Node, OpenNode, OpenText
from simkernel.fs.read_write import get_pos, set_pos, sync_iter
from simkernel.fs.vfs import Vfs
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue
from tracing.face import WouldBlock
from tracing.files.markers import MarkerFile
from tracing.files.nodes import OpenFile as TracingFile

KERNFS = ("sysfs", "cgroup", "cgroup2")  # fs/kernfs/inode.c:kernfs_iop_setattr()
PRUNE_AT = 64  # dentries in a generated directory, before it is looked which of them are gone


class PseudoSuper(SuperBlock):
    """The super block of a generated file system, and what is particular about it."""

    owners: Mapping[str, int] = {}  # uid and gid of what is made, where mount options say so

    def __init__(
        self, vfs: Vfs, fs_name: str, magic: int, root: Node, file_fops: Callable[[Node, str], FileOperations],
        newest_first: bool = False, file_size: int = 0, missing_is_error: bool = False, first_ino: int = 1,
        blocksize: int = PAGE_SIZE, dir_fops: FileOperations | None = None, link_size: bool = False,
        order: Callable[[list[str]], list[str]] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(fs_name, magic, vfs.anon_dev(), vfs.now)
        self.vfs = vfs
        self.simple_setattr = fs_name not in KERNFS
        self.s_blocksize = blocksize
        if fs_name in KERNFS:  # kernfs_xattr_handlers
            self.xattr_kinds = (b"security.", b"trusted.", *((b"user.",) if fs_name == "cgroup2" else ()))
        self.file_fops = file_fops
        self.dir_fops = dir_fops or (SEEKING_DIR_OPERATIONS if fs_name in SEEKING_DIRS else PSEUDO_DIR_OPERATIONS)
        self.newest_first = newest_first
        self.order = order
        self.file_size = file_size
        self.link_size = link_size
        # procfs and kernfs answer ENOENT from lookup itself: creating in them fails so, not with EACCES
        self.missing_is_error = missing_is_error
        self.next_ino = first_ino
        self.inode_of: WeakKeyDictionary[Node, int] = WeakKeyDictionary()  # inode numbers
        self.s_root = Dentry("/", None, PseudoInode(self, root, "/"))

    def ino_for(self, node: Node) -> int:
        """A node keeps its inode number as long as it lives."""
        if node.ino:
            return node.ino
        known = self.inode_of.get(node)
        if known is None:
            known = self.inode_of[node] = self.new_ino()
        return known


class PseudoInode(Inode):
    """The inode of a node."""

    __slots__ = ("node", "prune_at")
    i_sb: PseudoSuper

    def __init__(self, sb: PseudoSuper, node: Node, name: str, parent: str = "") -> None:
        if node.is_dir:
            kind = S_IFDIR
        else:
            kind = S_IFLNK if node.is_link else S_IFREG
        mode = node.mode & S_IALLUGO
        kind = node.mode & S_IFMT or kind
        super().__init__(sb, kind | mode, sb.ino_for(node))
        self.node = node
        self.prune_at = PRUNE_AT
        self.i_uid, self.i_gid, self.i_rdev = node.uid, node.gid, node.rdev
        if sb.owners:
            self.i_uid, self.i_gid = sb.owners.get("uid", node.uid), sb.owners.get("gid", node.gid)
        self.i_flags = node.i_flags
        if node.is_dir:
            self.i_fop = sb.dir_fops
            self.i_nlink = 2 + sum(1 for n in self._static().values() if n.is_dir)
        elif kind == S_IFREG:
            ops = seeking.placed(node.fops or sb.file_fops(node, name), sb.fs_name, parent, name)
            self.i_fop = ops if node.polls else without_poll(ops)
            self.i_size = node.size or sb.file_size
        elif kind == S_IFLNK:
            self.i_size = node.size
            if not self.i_size and sb.link_size:
                target = node.readlink()
                self.i_size = len(target) if isinstance(target, str) else 0

    def _static(self) -> Mapping[str, Node]:
        return self.node.children if self.node.dynamic else self.node.entries()

    @property
    def pinned_dentries(self) -> bool:  # type: ignore[override]
        """Entries of a generated directory are asked for anew."""
        return False

    def lookup(self, parent: Dentry, name: str) -> Dentry | None:
        """The node's child; its dentry is kept as long as the node stays the same."""
        try:
            node = self.node.lookup(name)
        except KernelError as error:
            if error.errno != ENOENT:
                raise
            node = None
        children = parent.children
        assert children is not None
        known = children.get(name)
        if node is None:
            if known is not None:
                self._forget(parent, known)
            if self.i_sb.missing_is_error:
                raise KernelError(ENOENT, f"no {name}")
            return None
        if known is not None and isinstance(known.inode, PseudoInode) and known.inode.node is node:
            if self.node.owner_changes:
                known.inode.i_uid, known.inode.i_gid = node.uid, node.gid
            if "task_to_inode" in self.i_sb.vfs.security.watched:
                self._shown(parent, known)
            return known
        if known is not None:
            self._forget(parent, known)
        if len(children) >= self.prune_at:
            self._prune(parent, children)
        child = parent.add(name, PseudoInode(self.i_sb, node, name, parent.name))
        security = self.i_sb.vfs.security
        if security.watched:
            try:
                security.ask("inode_alloc_security", child.inode)
            except KernelError:
                parent.drop(child)
                raise KernelError(ENOENT, "no room for what modules know of an inode") from None
            self._shown(parent, child, 2)
            security.ask("d_instantiate", child, child.inode)
        return child

    def _shown(self, parent: Dentry, child: Dentry, times: int = 1) -> None:
        """security_task_to_inode() of pid_update_inode(), and of proc_pid_make_inode() before it."""
        place, task = child, None
        while isinstance(place.inode, PseudoInode) and task is None:
            task = place.inode.node.shows
            if place is place.parent:
                break
            place = place.parent
        if task is not None:
            for _ in range(times):
                self.i_sb.vfs.security.ask("task_to_inode", task.addr, child.inode)

    def _forget(self, parent: Dentry, child: Dentry) -> None:
        """d_invalidate(): the node is gone, and what shows it goes, unless it is open."""
        parent.drop(child)
        self.i_sb.vfs.mirror.forget_tree(child)

    def _prune(self, parent: Dentry, children: dict[str, Dentry]) -> None:
        """Forget the names that are gone: nobody asks for them again.  The more are left, the later is the next time."""
        for name, child in list(children.items()):
            try:
                node = self.node.lookup(name)
            except KernelError:
                node = None
            if not isinstance(child.inode, PseudoInode) or child.inode.node is not node:
                self._forget(parent, child)
        self.prune_at = max(PRUNE_AT, 2 * len(children))

    def entries(self, parent: Dentry) -> list[DirEntry]:
        """In the file system's order."""
        nodes = self.node.entries()
        sb = self.i_sb
        out = []
        names = list(nodes)
        if sb.order is not None and not self.node.ordered:
            names = sb.order(names)
        elif sb.newest_first:
            names.reverse()
        for name in names:
            node = nodes[name]
            kind = DT_DIR if node.is_dir else DT_LNK if node.is_link else DT_REG
            if node.mode & S_IFMT:
                kind = (node.mode & S_IFMT) >> 12
            out.append(DirEntry(name, sb.ino_for(node), kind))
        return out

    def get_link(self, dentry: Dentry) -> str | Path:
        """The link's target."""
        return self.node.readlink()

    def readlink(self, dentry: Dentry) -> str:
        """Text, also for magic links."""
        text = self.node.link_text()
        if text is not None:
            return text
        target = self.node.readlink()
        return target if isinstance(target, str) else self.i_sb.vfs.d_path(target)

    def permission(self, mask: int, cred: Cred) -> None:
        """A node with `strict` set knows itself (proc_sys_permission: no capability lets root past the mode bits)."""
        if self.node.shows is not None:
            self.node.enter()
        if not self.node.strict:
            super().permission(mask, cred)
        elif mask & (c.MAY_READ | c.MAY_WRITE | c.MAY_EXEC) & ~self.node.rights(self.i_mode, self.i_sb.vfs.k.current):
            raise KernelError(EACCES, "the mode forbids it")

    def mkdir(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """Where the node offers it."""
        self.node.mkdir(name)
        child = self.lookup(parent, name)
        assert child is not None
        return child

    def rmdir(self, parent: Dentry, victim: Dentry) -> None:
        """Where the node offers it."""
        self.node.rmdir(victim.name)
        self._forget_below(victim)
        parent.drop(victim)

    def _forget_below(self, gone: Dentry) -> None:
        """What was looked at in a directory that is gone; whoever is in one of them can make nothing there."""
        for child in list((gone.children or {}).values()):
            self._forget_below(child)
            self._forget(gone, child)
        if gone.inode.is_dir:
            gone.inode.i_nlink = 0

    def create(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """No new files."""
        raise KernelError(EACCES, "cannot create files here")

    def getattr(self) -> None:
        """A node may know its size, and its link count may have changed."""
        if self.i_mode & S_IFMT == S_IFDIR:
            if self.node.shows is not None:
                self.node.look()
            if not self.i_nlink:  # it was removed
                return
            self.i_nlink = self.node.links() or 2 + sum(1 for n in self._static().values() if n.is_dir)
            return
        size = self.node.size_now()
        if size is not None:
            self.i_size = size

    def setattr_size(self, size: int) -> None:
        """O_TRUNC on a generated file does nothing (the node hears of it in open's flags)."""


# --- the file operations ---


def open_node(k: FsKernel, inode: Inode, file: File) -> int:
    """Open the node; the handle becomes private_data."""
    assert isinstance(inode, PseudoInode)
    if file.f_flags & O_DIRECT:
        raise KernelError(EINVAL, "nothing here goes past a page cache")
    file.private_data = inode.node.open(file.f_flags)
    seeking.opened(file)
    return 0


def handle_of(file: File) -> OpenNode:
    """What open_node() has put there."""
    handle: OpenNode = file.private_data
    return handle


def release_node(k: FsKernel, file: File) -> Steps[object] | None:
    """Let the handle go."""
    return handle_of(file).release() if file.private_data is not None else None


def poll_node(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    """Ask the handle; what it waits for is its `poll_key`."""
    handle = handle_of(file)
    mask = handle.poll()
    if file.f_op.name == "kernfs_file_fops" and isinstance(handle, OpenText) and handle.text is None:
        mask |= POLLERR | POLLPRI  # kernfs_generic_poll(): what has not been read is news
    if queues is not None and handle.poll_key is not None:
        queues.append(k.vfs.key_queue(handle.poll_key))
    return mask


def tell_flags(file: File) -> None:
    """Files of tracing keep the flags themselves."""
    if file.f_op.release is release_node and isinstance(handle := handle_of(file), TracingFile):
        handle.flags = file.f_flags


def read_steps(k: FsKernel, file: File, size: int, pos: int) -> Steps[bytes]:
    """Bytes from the handle, sleeping while it would block."""
    while True:
        try:
            data = handle_of(file).read(size, pos)
            return data if isinstance(data, bytes) else (yield from data)
        except WouldBlock as blocked:
            if file.f_flags & O_NONBLOCK:
                raise KernelError(EAGAIN, "would block") from None
            ret = yield k.wait(k.vfs.key_queue(blocked.key))
            if ret < 0:
                raise KernelError(-ret, "interrupted") from None


def node_read(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """The body of every plain read of a generated file."""
    file = k.vfs.files[file_addr]
    pos = get_pos(k, file, ppos)
    data = yield from read_steps(k, file, count, pos)
    if data:
        k.usercopy.copy_to_user(buf, data)
        set_pos(k, file, ppos, pos + len(data))
    return len(data)


def node_write(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """The body of every plain write of a generated file."""
    file = k.vfs.files[file_addr]
    try:
        data = k.usercopy.copy_from_user(buf, min(count, 1 << 20))
    except KernelError:
        handle = handle_of(file)
        if isinstance(handle, MarkerFile):
            handle.faulted(count)
        raise
    pos = get_pos(k, file, ppos)
    taken = yield from write_steps(k, file, data, pos)
    set_pos(k, file, ppos, pos + taken)
    return taken


def write_steps(k: FsKernel, file: File, data: bytes, pos: int) -> Body:
    """Bytes to the handle, sleeping while it would block."""
    while True:
        try:
            taken = handle_of(file).write(data, pos)
            return taken if isinstance(taken, int) else (yield from taken)
        except WouldBlock as blocked:
            if file.f_flags & O_NONBLOCK:
                raise KernelError(EAGAIN, "would block") from None
            ret = yield k.wait(k.vfs.key_queue(blocked.key))
            if ret < 0:
                raise KernelError(-ret, "interrupted") from None


def node_read_iter(k: FsKernel, iocb_addr: int, to: int) -> Body:
    """The body of every read_iter of a generated file."""
    iocb, it = k.vfs.kiocbs[iocb_addr], k.vfs.iters[to]
    data = yield from read_steps(k, iocb.file, it.count, iocb.pos)
    copied = it.copy_to(data)
    if data and not copied:
        return -EFAULT
    iocb.pos += copied
    return copied


def node_write_iter(k: FsKernel, iocb_addr: int, from_: int) -> Body:
    """The body of every write_iter of a generated file."""
    iocb, it = k.vfs.kiocbs[iocb_addr], k.vfs.iters[from_]
    wanted = it.count
    data = it.copy_from(wanted)
    if wanted and not data:
        return -EFAULT
    if not wanted and iocb.file.f_inode.i_sb.fs_name in KERNFS:  # cgroup_file_write(), sysfs_kf_write()
        return 0
    taken = yield from write_steps(k, iocb.file, data, iocb.pos)
    iocb.pos += taken
    return taken


# Names of kernel functions whose body is node_read, node_write or their iter forms: (name, source, since, until).
READS = (
    ("seq_read", "fs/seq_file.c", None, "5.10"),
    ("tracing_read_pipe", "kernel/trace/trace.c", None, None),
    ("tracing_buffers_read", "kernel/trace/trace.c", None, None),
    ("rb_simple_read", "kernel/trace/trace.c", None, None),
    ("event_id_read", "kernel/trace/trace_events.c", None, None),
    ("event_enable_read", "kernel/trace/trace_events.c", None, None),
    ("system_enable_read", "kernel/trace/trace_events.c", None, None),
    ("event_filter_read", "kernel/trace/trace_events.c", None, None),
    ("tracing_set_trace_read", "kernel/trace/trace.c", None, None),
    ("simple_attr_read", "fs/libfs.c", None, None),
    ("proc_pid_cmdline_read", "fs/proc/base.c", None, None),
    ("environ_read", "fs/proc/base.c", None, None),
    ("mem_read", "fs/proc/base.c", None, None),
    ("auxv_read", "fs/proc/base.c", None, None),
    ("oom_score_adj_read", "fs/proc/base.c", None, None),
    ("kernfs_fop_read", "fs/kernfs/file.c", None, "5.10"),
    ("kmsg_read", "fs/proc/kmsg.c", None, None),
)
WRITES = (
    ("tracing_mark_write", "kernel/trace/trace.c", None, None),
    ("rb_simple_write", "kernel/trace/trace.c", None, None),
    ("event_enable_write", "kernel/trace/trace_events.c", None, None),
    ("system_enable_write", "kernel/trace/trace_events.c", None, None),
    ("event_filter_write", "kernel/trace/trace_events.c", None, None),
    ("ftrace_event_write", "kernel/trace/trace_events.c", None, None),
    ("simple_attr_write", "fs/libfs.c", None, None),
    ("proc_simple_write", "fs/proc/generic.c", None, None),
    ("comm_write", "fs/proc/base.c", None, None),
    ("mem_write", "fs/proc/base.c", None, None),
    ("oom_score_adj_write", "fs/proc/base.c", None, None),
    ("kernfs_fop_write", "fs/kernfs/file.c", None, "5.10"),
)
READ_ITERS = (
    ("seq_read_iter", "fs/seq_file.c", "5.10", None),
    ("kernfs_fop_read_iter", "fs/kernfs/file.c", "5.10", None),
    ("proc_sys_read", "fs/proc/proc_sysctl.c", "5.9", None),
)
WRITE_ITERS = (
    ("kernfs_fop_write_iter", "fs/kernfs/file.c", "5.10", None),
    ("proc_sys_write", "fs/proc/proc_sysctl.c", "5.9", None),
)


def _declare() -> None:
    for rows, text, body in (
        (READS, "ssize_t {}(struct file *file, char *buf, size_t size, loff_t *ppos)", node_read),
        (WRITES, "ssize_t {}(struct file *file, const char *buf, size_t size, loff_t *ppos)", node_write),
        (READ_ITERS, "ssize_t {}(struct kiocb *iocb, struct iov_iter *iter)", node_read_iter),
        (WRITE_ITERS, "ssize_t {}(struct kiocb *iocb, struct iov_iter *iter)", node_write_iter),
    ):
        for name, source, since, until in rows:
            kernel_function(text.format(name), source=source, since=since, until=until)(body)


_declare()


@kernel_function(
    "ssize_t tracing_write_stub(struct file *file, const char *buf, size_t size, loff_t *ppos)",
    source="kernel/trace/trace.c",
)
def tracing_write_stub(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> int:
    """All of it is taken, and nobody looks: what acts is opening with O_TRUNC."""
    return count


@kernel_function(
    "struct dentry *tracefs_create_dir(const char *name, struct dentry *parent)", source="fs/tracefs/inode.c"
)
def tracefs_create_dir(k: FsKernel, name: int, parent: int) -> int:
    """The directory of an event; tracing has made it already, and here is told of."""
    return 0


@kernel_function(
    "ssize_t probes_write(struct file *file, const char *buf, size_t size, loff_t *ppos)",
    source="kernel/trace/trace_kprobe.c",
)
def probes_write(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> Body:
    """Lines that define events, whose directories come into being."""
    made = k.vfs.tracefs_root.made
    made.clear()
    taken = yield from node_write(k, file, buf, count, ppos)
    if k.text.is_probed("tracefs_create_dir"):
        for name in made:
            yield k.call("tracefs_create_dir", k.mirror.scratch_string(name.encode("utf-8", "surrogateescape")), 0)
    return taken


@kernel_function(
    "ssize_t seq_read(struct file *file, char *buf, size_t size, loff_t *ppos)", source="fs/seq_file.c", since="5.10"
)
def seq_read(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> Body:
    """A read(2) as a read_iter."""
    return (yield from sync_iter(k, k.vfs.files[file], "seq_read_iter", [(buf, count)], ppos))


@kernel_function(
    "ssize_t proc_reg_read(struct file *file, char *buf, size_t count, loff_t *ppos)", source="fs/proc/inode.c"
)
def proc_reg_read(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> Body:
    """Keep the entry in use, and read it."""
    return (yield k.call("seq_read", file, buf, count, ppos))


@kernel_function(
    "ssize_t proc_reg_read_iter(struct kiocb *iocb, struct iov_iter *iter)", source="fs/proc/inode.c", since="5.10"
)
def proc_reg_read_iter(k: FsKernel, iocb: int, it: int) -> Body:
    """Keep the entry in use, and read it."""
    return (yield k.call("seq_read_iter", iocb, it))


@kernel_function(
    "ssize_t proc_reg_write(struct file *file, const char *buf, size_t count, loff_t *ppos)", source="fs/proc/inode.c"
)
def proc_reg_write(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> Body:
    """Keep the entry in use, and write it; EIO for what cannot be written."""
    handle = k.vfs.files[file].private_data
    if isinstance(handle, OpenText) and handle.node.store is None:
        return -EIO
    return (yield k.call("proc_simple_write", file, buf, count, ppos))


@kernel_function(
    "ssize_t proc_sys_read(struct file *filp, char *buf, size_t count, loff_t *ppos)", source="fs/proc/proc_sysctl.c",
    until="5.9",
)  # fmt: skip
def proc_sys_read_5_8(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> Body:
    """Read a sysctl."""
    return (yield from node_read(k, file, buf, count, ppos))


@kernel_function(
    "ssize_t proc_sys_write(struct file *filp, const char *buf, size_t count, loff_t *ppos)",
    source="fs/proc/proc_sysctl.c", until="5.9",
)  # fmt: skip
def proc_sys_write_5_8(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> Body:
    """Write a sysctl."""
    return (yield from node_write(k, file, buf, count, ppos))


PSEUDO_DIR_OPERATIONS = FileOperations(
    "simple_dir_operations", read="generic_read_dir", llseek="dcache_dir_lseek", iterate=True,
    fsync=lambda k, file: 0,
)  # fmt: skip


SEEKING_DIRS = ("proc", "sysfs", "cgroup2")  # whose directories seek as files do
SEEKING_DIR_OPERATIONS = FileOperations(
    "simple_dir_operations", read="generic_read_dir", llseek="generic_file_llseek", iterate=True,
)  # fmt: skip


@kernel_function(
    "ssize_t generic_read_dir(struct file *filp, char *buf, size_t siz, loff_t *ppos)", source="fs/libfs.c"
)
def generic_read_dir(k: FsKernel, file: int, buf: int, size: int, ppos: int) -> int:
    """Directories are not read with read(2)."""
    from arch.abi.errno import EISDIR

    return -EISDIR


def node_fops(name: str, read: str | None = "seq_read", write: str | None = None, read_iter: str | None = None,
              write_iter: str | None = None, llseek: str = "default_llseek", splice: bool | None = None,
              fsync: Callable[[FsKernel, File], int] | None = None, flush: Callable[[FsKernel, File], int] | None = None,
              ) -> FileOperations:  # fmt: skip
    """FileOperations of generated files."""
    return FileOperations(
        name, read=read, write=write, read_iter=read_iter, write_iter=write_iter, llseek=llseek, open=open_node,
        release=release_node, poll=poll_node, splice=splice, fsync=fsync, flush=flush,
    )  # fmt: skip


@cache
def without_poll(ops: FileOperations) -> FileOperations:
    """The same for a file that is always ready, and not for epoll."""
    return replace(ops, poll=None)


SEQ_FOPS = node_fops("proc_single_file_operations", read="seq_read", write="proc_simple_write")
PROC_REG_FOPS = node_fops("proc_reg_file_ops", read="proc_reg_read", write="proc_reg_write")
PROC_ITER_FOPS = node_fops("proc_iter_file_ops", read=None, read_iter="proc_reg_read_iter", write="proc_reg_write")
PROC_SYS_FOPS = node_fops("proc_sys_file_operations", read=None, read_iter="proc_sys_read", write_iter="proc_sys_write")
PROC_SYS_FOPS_5_8 = node_fops("proc_sys_file_operations", read="proc_sys_read", write="proc_sys_write")
KERNFS_FOPS = node_fops(
    "kernfs_file_fops",
    read=None,
    read_iter="kernfs_fop_read_iter",
    write_iter="kernfs_fop_write_iter",
    fsync=lambda k, file: 0,
)
KERNFS_FOPS_5_9 = node_fops(
    "kernfs_file_fops", read="kernfs_fop_read", write="kernfs_fop_write", fsync=lambda k, file: 0
)
DEBUGFS_FOPS = node_fops("debugfs_full_proxy_file_operations", read="seq_read", write="simple_attr_write")
