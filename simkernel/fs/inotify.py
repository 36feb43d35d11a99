"""inotify.  fs/notify/inotify/inotify_user.c, inotify_fsnotify.c."""

from __future__ import annotations

import struct
from collections import deque

from arch.abi.errno import EAGAIN, EEXIST, EINVAL, EMFILE, ENOSPC, ENOTDIR, ENOTTY
from arch.abi.fcntl import AT_FDCWD, O_CLOEXEC, O_NONBLOCK, O_RDONLY
from arch.abi.ioctl import FIONREAD
from arch.abi.limits import S32_MAX
from arch.abi.poll import POLLIN, POLLRDNORM
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fhandle import shown_handle
from simkernel.fs.fsnotify import FS_EXCL_UNLINK, FS_IN_IGNORED, FS_ISDIR, FS_Q_OVERFLOW, FS_UNMOUNT
from simkernel.fs.inode import File, FileOperations, Inode, inode_permission, to_bytes
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.open_walk import get_path_name
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import WaitQueue

# include/uapi/linux/inotify.h
IN_ALL_EVENTS = 0xFFF
FSNOTIFY_OBJ_TYPE_INODE = 0  # include/linux/fsnotify_backend.h
IN_ONLYDIR, IN_DONT_FOLLOW, IN_MASK_CREATE, IN_MASK_ADD, IN_ONESHOT = (
    0x01000000,
    0x02000000,
    0x10000000,
    0x20000000,
    1 << 31,
)
ALL_BITS = (
    IN_ALL_EVENTS | FS_UNMOUNT | FS_Q_OVERFLOW | FS_IN_IGNORED | IN_ONLYDIR | IN_DONT_FOLLOW | FS_EXCL_UNLINK
    | IN_MASK_ADD | IN_MASK_CREATE | FS_ISDIR | IN_ONESHOT
)  # fmt: skip
EVENT_SIZE = 16
INOTIFY_IOC_SETNEXTWD = 0x40044900  # of CONFIG_CHECKPOINT_RESTORE
WATCH_SIZE, QUEUED_SIZE = 80, 48  # bytes: struct inotify_inode_mark, struct inotify_event_info without the name


@dataclass(frozen=True, slots=True)
class Event:
    """struct inotify_event_info."""

    wd: int
    mask: int
    cookie: int
    name: str

    def pack(self, order: str) -> bytes:
        """struct inotify_event: the name is padded to a multiple of the header."""
        name = to_bytes(self.name)
        room = (len(name) + 1 + EVENT_SIZE - 1) // EVENT_SIZE * EVENT_SIZE if name else 0
        return struct.pack(order + "iIII", self.wd, self.mask, self.cookie, room) + name.ljust(room, b"\0")


class Group:
    """struct fsnotify_group of one inotify instance."""

    def __init__(self, k: FsKernel) -> None:
        self.k = k
        self.uid = k.current.cred.uid
        self.events: deque[Event] = deque()
        self.user = k.users.of(self.uid)
        self.by_inode: dict[Inode, Watch] = {}
        self.wait = WaitQueue("inotify")
        self.watches: dict[int, Watch] = {}
        self.next_wd = 1
        self.max_events = k.vfs.sysctl["fs.inotify.max_queued_events"]  # as it was when the instance was made
        self.order = "<" if k.mem.byteorder == "little" else ">"

    def _free_wd(self) -> int:
        """idr_alloc_cyclic(): the first number from the last one on that no watch has."""
        while self.next_wd in self.watches or self.next_wd > S32_MAX:
            self.next_wd = 1 if self.next_wd > S32_MAX else self.next_wd + 1
        self.next_wd += 1
        return self.next_wd - 1

    def queue(self, event: Event) -> None:
        """fsnotify_insert_event(): one that equals the last is dropped; a full queue says so once."""
        if self.events and self.events[-1] == event:
            return
        if len(self.events) >= self.max_events or not self._room(event):
            event = Event(-1, FS_Q_OVERFLOW, 0, "")
            if (self.events and self.events[-1] == event) or not self._room(event):
                return
        self.events.append(event)
        self.k.wake_up(self.wait, 0)

    def _room(self, event: Event) -> bool:
        try:
            self.user.charge(QUEUED_SIZE + len(event.name))
        except KernelError:
            return False
        return True

    def take(self) -> None:
        """The first event was read, or nobody will read it."""
        self.user.charge(-QUEUED_SIZE - len(self.events.popleft().name))

    def add(self, inode: Inode, mask: int) -> Watch:
        """inotify_new_watch().  ENOSPC."""
        if self.user.inotify_watches >= self.k.vfs.sysctl["fs.inotify.max_user_watches"]:
            raise KernelError(ENOSPC)
        self.user.charge(WATCH_SIZE)
        self.user.inotify_watches += 1
        wd = self._free_wd()
        watch = self.watches[wd] = self.by_inode[inode] = Watch(self, wd, inode, mask)
        self.k.vfs.fsnotify.add(inode, watch)
        return watch

    def remove(self, watch: Watch) -> bool:
        """Without a word; False when it is gone already."""
        if self.watches.pop(watch.wd, None) is None:
            return False
        del self.by_inode[watch.inode]
        self.k.vfs.fsnotify.remove(watch.inode, watch)
        self.user.inotify_watches -= 1
        self.user.charge(-WATCH_SIZE)
        return True


class Watch:
    """struct inotify_inode_mark."""

    def __init__(self, group: Group, wd: int, inode: Inode, mask: int) -> None:
        self.group, self.wd, self.inode, self.mask = group, wd, inode, mask

    def event(self, mask: int, name: str, cookie: int, unlinked: bool) -> None:
        """inotify_handle_inode_event()."""
        if not mask & (self.mask & IN_ALL_EVENTS | FS_UNMOUNT) or (unlinked and name and self.mask & FS_EXCL_UNLINK):
            return
        self.group.queue(Event(self.wd, mask, cookie, name))
        if self.mask & IN_ONESHOT:
            self.drop()

    def drop(self) -> None:
        """The watch ends, and says so."""
        if self.group.remove(self):
            self.group.queue(Event(self.wd, FS_IN_IGNORED, 0, ""))

    def inode_gone(self) -> None:
        """Nothing more can happen to it."""
        self.drop()


@kernel_function(
    "ssize_t inotify_read(struct file *file, char *buf, size_t count, loff_t *pos)",
    source="fs/notify/inotify/inotify_user.c",
)
def inotify_read(k: FsKernel, file_addr: int, buf: int, count: int, pos: int) -> Body:
    """As many events as fit; EINVAL when not even one does."""
    file = k.vfs.files[file_addr]
    group: Group = file.private_data
    while not group.events:
        if file.f_flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield k.wait(group.wait)
        if ret < 0:
            return ret
    out = b""
    while group.events:
        raw = group.events[0].pack(group.order)
        if len(out) + len(raw) > count:
            break
        out += raw
        group.take()
    if not out:
        return -EINVAL
    k.usercopy.copy_to_user(buf, out)
    return len(out)


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    group: Group = file.private_data
    if queues is not None:
        queues.append(group.wait)
    return POLLIN | POLLRDNORM if group.events else 0


def _ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    group: Group = file.private_data
    if cmd == INOTIFY_IOC_SETNEXTWD:
        if not 1 <= arg <= S32_MAX:
            raise KernelError(EINVAL)
        group.next_wd = arg
        return 0
    if cmd != FIONREAD:
        raise KernelError(ENOTTY, "no such ioctl of inotify")
    k.usercopy.put_user(arg, 4, sum(len(event.pack(group.order)) for event in group.events))
    return 0


def _release(k: FsKernel, file: File) -> None:
    group: Group = file.private_data
    for watch in list(group.watches.values()):
        group.remove(watch)
    while group.events:
        group.take()
    k.vfs.inotify_groups.remove(group)


def _fdinfo(k: FsKernel, file: File) -> str:
    """inotify_fdinfo(), newest watch first."""
    group: Group = file.private_data
    return "".join(
        f"inotify wd:{w.wd:x} ino:{w.inode.i_ino:x} sdev:{w.inode.dev:x} mask:{w.mask:x} ignored_mask:0 {shown_handle(k, w.inode)}\n"
        for w in reversed(group.watches.values())
    )


INOTIFY_FOPS = FileOperations(
    "inotify_fops", read="inotify_read", llseek="noop_llseek", poll=_poll, ioctl=_ioctl, release=_release,
    show_fdinfo=_fdinfo, fasync=True,
)  # fmt: skip


@kernel_function("int do_inotify_init(int flags)", source="fs/notify/inotify/inotify_user.c", since="4.17")
def do_inotify_init(k: FsKernel, flags: int) -> int:
    """A new instance.  EINVAL, EMFILE."""
    return _init(k, flags)


def _init(k: FsKernel, flags: int) -> int:
    if flags & ~(O_CLOEXEC | O_NONBLOCK):
        return -EINVAL
    uid = k.current.cred.uid
    if sum(group.uid == uid for group in k.vfs.inotify_groups) >= k.vfs.sysctl["fs.inotify.max_user_instances"]:
        return -EMFILE
    group = Group(k)
    fd = k.vfs.anon_inode_getfd(k, "inotify", INOTIFY_FOPS, group, O_RDONLY | flags)
    k.vfs.inotify_groups.append(group)
    return fd


@syscall("inotify_init1", "int flags", source="fs/notify/inotify/inotify_user.c")
def sys_inotify_init1(k: FsKernel, flags: int) -> Body:
    """inotify_init1(2)."""
    if k.version.before("4.17"):
        return _init(k, flags)
    return (yield k.call("do_inotify_init", flags))


@syscall("inotify_init", "", source="fs/notify/inotify/inotify_user.c")
def sys_inotify_init(k: FsKernel) -> Body:
    """inotify_init(2)."""
    return (yield from sys_inotify_init1(k, 0))


def _group_of(k: FsKernel, fd: int) -> Group:
    file = k.vfs.fget(fd)
    if file.f_op is not INOTIFY_FOPS:
        raise KernelError(EINVAL, "not an inotify instance")
    group: Group = file.private_data
    return group


@syscall("inotify_add_watch", "int fd, const char *pathname, u32 mask", source="fs/notify/inotify/inotify_user.c")
def sys_inotify_add_watch(k: FsKernel, fd: int, pathname: int, mask: int) -> int:
    """A watch's number.  EINVAL, EBADF, EEXIST, ENOTDIR, ENOSPC, EACCES, EFAULT."""
    if mask & 0xFFFFFFFF & ~ALL_BITS or not mask & ALL_BITS:
        return -EINVAL
    k.vfs.fget(fd)
    if mask & IN_MASK_ADD and mask & IN_MASK_CREATE:
        return -EINVAL
    group = _group_of(k, fd)
    path = k.vfs.user_path(AT_FDCWD, get_path_name(k, pathname), 0 if mask & IN_DONT_FOLLOW else LOOKUP_FOLLOW)
    inode = path.dentry.inode
    if mask & IN_ONLYDIR and not inode.is_dir:
        return -ENOTDIR
    inode_permission(inode, c.MAY_READ, k.vfs.cred())
    k.vfs.security.ask("path_notify", path, mask & IN_ALL_EVENTS, FSNOTIFY_OBJ_TYPE_INODE)
    kept = mask & (IN_ALL_EVENTS | IN_ONESHOT | FS_EXCL_UNLINK)
    known = group.by_inode.get(inode)
    if known is not None:
        if mask & IN_MASK_CREATE:
            return -EEXIST
        known.mask = known.mask | kept if mask & IN_MASK_ADD else kept
        return known.wd
    return group.add(inode, kept).wd


@syscall("inotify_rm_watch", "int fd, __s32 wd", source="fs/notify/inotify/inotify_user.c")
def sys_inotify_rm_watch(k: FsKernel, fd: int, wd: int) -> int:
    """EBADF, EINVAL."""
    watch = _group_of(k, fd).watches.get(wd)
    if watch is None:
        return -EINVAL
    watch.drop()
    return 0
