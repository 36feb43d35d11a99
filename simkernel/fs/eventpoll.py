"""epoll.  fs/eventpoll.c.

An item asks its file's poll each time; with EPOLLET it reports again only after one of the file's wait queues was woken.
The order of ready items is the order in which they became ready.
"""

from __future__ import annotations

from arch.abi.errno import EEXIST, EINTR, EINVAL, ELOOP, ENOENT, ENOSPC, EPERM, ETIME
from arch.abi.fcntl import O_CLOEXEC, O_RDWR
from arch.abi.limits import PAGE_SHIFT
from arch.abi.poll import (
    EPOLL_CTL_ADD,
    EPOLL_CTL_DEL,
    EPOLL_CTL_MOD,
    EPOLLET,
    EPOLLEXCLUSIVE,
    EPOLLONESHOT,
    EPOLLWAKEUP,
    POLLERR,
    POLLHUP,
    POLLIN,
    POLLOUT,
    POLLRDNORM,
)
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, FileOperations
from simkernel.fs.select import PollWait, drive, read_timespec, sleep_until, vfs_poll
from simkernel.kernel.areas import MappedFile
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import WaitQueue

EP_PRIVATE_BITS = EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE
EXCLUSIVE_OK = POLLIN | POLLOUT | POLLERR | POLLHUP | EPOLLWAKEUP | EPOLLET | EPOLLEXCLUSIVE  # EPOLLEXCLUSIVE_OK_BITS
EP_MAX_NESTS = 4
ITEM_SIZE = 184  # bytes: struct epitem and struct eppoll_entry


class Item:
    """struct epitem: one watched file."""

    __slots__ = ("data", "ep", "events", "fd", "file", "ready", "waiting")

    def __init__(self, ep: EventPoll, fd: int, file: File, events: int, data: int) -> None:
        self.ep = ep
        self.fd = fd
        self.file = file
        self.events = events
        self.data = data
        self.ready = False
        self.waiting = PollWait(self._woken)

    def _woken(self) -> bool:
        """ep_poll_callback(): whether somebody heard of it, where that matters."""
        heard = bool(self.ep.wq.waiters) or not self.events & EPOLLEXCLUSIVE
        if self.events & ~EP_PRIVATE_BITS and not self.ready:
            self.ready = True
            self.ep.ready[self] = None
        self.ep.k.wake_up(self.ep.wq)
        self.ep.k.wake_up(self.ep.poll_wait, 0)
        return heard

    def attach(self) -> None:
        """Hang on the file's wait queues; ready at once if it is."""
        queues: list[WaitQueue] = []
        mask = vfs_poll(self.ep.k, self.file, queues)
        self.waiting.hang(queues, bool(self.events & EPOLLEXCLUSIVE))
        if mask & self.events and not self.ready:
            self.ready = True
            self.ep.ready[self] = None

    def detach(self) -> None:
        """ep_unregister_pollwait()."""
        self.waiting.drop()
        if self.ready:
            del self.ep.ready[self]
            self.ready = False

    def file_closed(self) -> None:
        """eventpoll_release_file(): the watched file is gone."""
        self.ep.remove(self)


class EventPoll:
    """struct eventpoll."""

    def __init__(self, k: FsKernel) -> None:
        self.k = k
        self.items: dict[tuple[int, int], Item] = {}  # (fd, id of file) -> item
        self.ready: dict[Item, None] = {}  # in the order in which they became ready
        self.user = k.users.of(k.current.cred.uid)
        self.wq = WaitQueue("epoll")
        self.poll_wait = WaitQueue("epoll-poll")
        self.file: File | None = None  # its own

    def remove(self, item: Item) -> None:
        """ep_remove()."""
        item.detach()
        self.items.pop((item.fd, id(item.file)), None)
        if item.file.watchers is not None:
            item.file.watchers.pop(item, None)
        self.user.epoll_watches -= 1
        self.user.charge(-ITEM_SIZE)

    def collect(self, limit: int) -> list[tuple[int, int]]:
        """ep_send_events(): (events, data) of up to `limit` ready items."""
        out: list[tuple[int, int]] = []
        again: list[Item] = []
        while self.ready and len(out) < limit:
            item = next(iter(self.ready))
            del self.ready[item]
            item.ready = False
            mask = vfs_poll(self.k, item.file, None) & item.events
            if not mask:
                continue
            out.append((mask, item.data))
            if item.events & EPOLLONESHOT:
                item.events &= EP_PRIVATE_BITS
            elif not item.events & EPOLLET:
                again.append(item)
        for item in again:
            item.ready = True
            self.ready[item] = None
        if self.ready:  # ep_done_scan(): there is something for the next one who waits
            self.k.wake_up(self.wq)
        return out


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    ep: EventPoll = file.private_data
    if queues is not None:
        queues.append(ep.poll_wait)
    ready = any(vfs_poll(k, item.file, None) & item.events for item in ep.ready)
    return POLLIN | POLLRDNORM if ready else 0


def _release(k: FsKernel, file: File) -> None:
    ep: EventPoll = file.private_data
    ep.file = None
    for item in list(ep.items.values()):
        ep.remove(item)


def _fdinfo(k: FsKernel, file: File) -> str:
    """ep_show_fdinfo(): one line per watched file, ordered by where its struct file is, then by descriptor."""
    ep: EventPoll = file.private_data
    out = []
    for item in sorted(ep.items.values(), key=lambda item: (item.file.addr, item.fd)):
        line = f"tfd: {item.fd:8d} events: {item.events:8x} data: {item.data:16x}"
        if k.vfs.names.epoll_fdinfo_pos:
            inode = item.file.f_inode
            line += f"  pos:{item.file.f_pos} ino:{inode.i_ino:x} sdev:{inode.i_sb.s_dev:x}"
        out.append(line + "\n")
    return "".join(out)


EVENTPOLL_FOPS = FileOperations(
    "eventpoll_fops", llseek="noop_llseek", poll=_poll, release=_release, show_fdinfo=_fdinfo
)


def watched_by(epoll: MappedFile, fd: int, which: int) -> int:
    """get_epoll_tfile_raw_ptr(): the address of the `which`th file watched under a number.  EINVAL, ENOENT."""
    ep = epoll.private_data if isinstance(epoll, File) else None
    if not isinstance(ep, EventPoll):
        return -EINVAL
    found = [item.file.addr for item in ep.items.values() if item.fd == fd]
    return found[which] if which < len(found) else -ENOENT


@syscall("epoll_create1", "int flags", source="fs/eventpoll.c")
def sys_epoll_create1(k: FsKernel, flags: int) -> int:
    """epoll_create1(2)."""
    if flags & ~O_CLOEXEC:
        return -EINVAL
    ep = EventPoll(k)
    fd: int = k.vfs.anon_inode_getfd(k, "[eventpoll]", EVENTPOLL_FOPS, ep, O_RDWR | flags)
    ep.file = k.vfs.fget(fd)
    return fd


@syscall("epoll_create", "int size", source="fs/eventpoll.c")
def sys_epoll_create(k: FsKernel, size: int) -> int:
    """epoll_create(2)."""
    return -EINVAL if size <= 0 else sys_epoll_create1(k, 0)


def default_max_user_watches(pages: int) -> int:
    """eventpoll_init(): a twenty-fifth of memory."""
    return (pages // 25 << PAGE_SHIFT) // ITEM_SIZE


def _below(files: set[File]) -> set[File]:
    """The epolls that these epolls watch."""
    return {
        item.file for file in files for item in file.private_data.items.values() if item.file.f_op is EVENTPOLL_FOPS
    }


def _above(files: set[File]) -> set[File]:
    """The epolls that watch these."""
    return {item.ep.file for file in files for item in file.watchers or () if isinstance(item, Item) and item.ep.file}


def _nests_too_deep(ep_file: File, file: File) -> bool:
    """ep_loop_check(): a circle, or more than EP_MAX_NESTS steps from the highest epoll to the lowest."""
    steps, below = 1, {file}
    while steps <= EP_MAX_NESTS and ep_file not in below and (below := _below(below)):
        steps += 1
    above = {ep_file}
    while steps <= EP_MAX_NESTS and (above := _above(above)):
        steps += 1
    return ep_file in below or steps > EP_MAX_NESTS


def _event_layout(k: FsKernel) -> tuple[int, int]:
    """(size of struct epoll_event, offset of data)."""
    return (12, 4) if k.vfs.abi.epoll_event_packed else (16, 8)


@syscall("epoll_ctl", "int epfd, int op, int fd, struct epoll_event *event", source="fs/eventpoll.c")
def sys_epoll_ctl(k: FsKernel, epfd: int, op: int, fd: int, event: int) -> int:
    """epoll_ctl(2)."""
    events = data = 0
    if op != EPOLL_CTL_DEL:
        events = k.usercopy.get_user(event, 4)
        data = k.usercopy.get_user(event + _event_layout(k)[1], 8)
    ep_file, file = k.vfs.fget(epfd), k.vfs.fget(fd)
    if file.f_op.poll is None:
        return -EPERM
    if ep_file is file or ep_file.f_op is not EVENTPOLL_FOPS:
        return -EINVAL
    ep: EventPoll = ep_file.private_data
    alone = events & EPOLLEXCLUSIVE and op in (EPOLL_CTL_ADD, EPOLL_CTL_MOD)
    if alone and (op == EPOLL_CTL_MOD or file.f_op is EVENTPOLL_FOPS or events & ~EXCLUSIVE_OK):
        return -EINVAL
    if op == EPOLL_CTL_ADD and file.f_op is EVENTPOLL_FOPS and _nests_too_deep(ep_file, file):
        return -ELOOP
    item = ep.items.get((fd, id(file)))
    if op == EPOLL_CTL_ADD:
        if item is not None:
            return -EEXIST
        if ep.user.epoll_watches >= k.vfs.sysctl["fs.epoll.max_user_watches"]:
            return -ENOSPC
        ep.user.charge(ITEM_SIZE)
        ep.user.epoll_watches += 1
        item = Item(ep, fd, file, events | POLLERR | POLLHUP, data)
        ep.items[fd, id(file)] = item
        if file.watchers is None:
            file.watchers = {}
        file.watchers[item] = None
        item.attach()
    elif op == EPOLL_CTL_DEL:
        if item is None:
            return -ENOENT
        ep.remove(item)
        return 0
    elif op == EPOLL_CTL_MOD:
        if item is None:
            return -ENOENT
        item.detach()
        item.events, item.data = events | POLLERR | POLLHUP, data
        item.attach()
    else:
        return -EINVAL
    if item.ready:
        k.wake_up(ep.wq)
        k.wake_up(ep.poll_wait, 0)
    return 0


@kernel_function(
    "int do_epoll_wait(int epfd, struct epoll_event *events, int maxevents, struct timespec64 *to)",
    source="fs/eventpoll.c", since="4.17",
)  # fmt: skip
def do_epoll_wait(k: FsKernel, epfd: int, events: int, maxevents: int, to: int) -> Body:
    """Wait for ready items; the timeout is found by the address of `to`."""
    return (yield from _wait(k, epfd, events, maxevents, k.vfs.timeouts[to] if to else None))


def _wait(k: FsKernel, epfd: int, events: int, maxevents: int, timeout_ns: int | None) -> Body:
    size, data_at = _event_layout(k)
    if maxevents <= 0 or maxevents > (1 << 31) // size:
        return -EINVAL
    file = k.vfs.fget(epfd)
    if file.f_op is not EVENTPOLL_FOPS:
        return -EINVAL
    ep: EventPoll = file.private_data
    deadline = None if timeout_ns is None else k.clock.now_ns + timeout_ns
    while True:
        yield from drive(k, [item.file for item in ep.ready])
        found = ep.collect(maxevents)
        if found:
            order = k.mem.byteorder
            out = b"".join(
                mask.to_bytes(4, order) + bytes(data_at - 4) + data.to_bytes(8, order) for mask, data in found
            )
            k.usercopy.copy_to_user(events, out)
            return len(found)
        left = None if deadline is None else deadline - k.clock.now_ns
        if left is not None and left <= 0:
            return 0
        if left is not None:
            sleep_until(k, left)
        ret = yield k.wait(ep.wq, timeout_ns=left, exclusive=True)
        if ret == -ETIME:  # look once more
            deadline = k.clock.now_ns
            continue
        if ret < 0:
            return -EINTR


def _epoll_wait(k: FsKernel, epfd: int, events: int, maxevents: int, timeout_ns: int | None) -> Body:
    if not k.vfs.names.ksys:
        return (yield from _wait(k, epfd, events, maxevents, timeout_ns))
    addr = 0
    if timeout_ns is not None:
        addr = k.mem.alloc(16)
        k.vfs.timeouts[addr] = timeout_ns
    try:
        return (yield k.call("do_epoll_wait", epfd, events, maxevents, addr))
    finally:
        if addr:
            del k.vfs.timeouts[addr]
            k.mem.free(addr)


@syscall("epoll_wait", "int epfd, struct epoll_event *events, int maxevents, int timeout", source="fs/eventpoll.c")
def sys_epoll_wait(k: FsKernel, epfd: int, events: int, maxevents: int, timeout: int) -> Body:
    """epoll_wait(2)."""
    return (yield from _epoll_wait(k, epfd, events, maxevents, None if timeout < 0 else timeout * 1_000_000))


@syscall(
    "epoll_pwait", "int epfd, struct epoll_event *events, int maxevents, int timeout, const sigset_t *sigmask, "
    "size_t sigsetsize", source="fs/eventpoll.c",
)  # fmt: skip
def sys_epoll_pwait(k: FsKernel, epfd: int, events: int, maxevents: int, timeout: int, sigmask: int, size: int) -> Body:
    """epoll_pwait(2)."""
    from simkernel.fs.select import set_mask

    restore = set_mask(k, sigmask, size)
    ret = yield from _epoll_wait(k, epfd, events, maxevents, None if timeout < 0 else timeout * 1_000_000)
    if restore is not None:
        restore(ret == -EINTR)
    return ret


@syscall(
    "epoll_pwait2", "int epfd, struct epoll_event *events, int maxevents, const struct __kernel_timespec *timeout, "
    "const sigset_t *sigmask, size_t sigsetsize", source="fs/eventpoll.c", since="5.11",
)  # fmt: skip
def sys_epoll_pwait2(
    k: FsKernel, epfd: int, events: int, maxevents: int, timeout: int, sigmask: int, size: int
) -> Body:
    """epoll_pwait2(2)."""
    from simkernel.fs.select import set_mask

    timeout_ns = read_timespec(k, timeout)
    restore = set_mask(k, sigmask, size)
    ret = yield from _epoll_wait(k, epfd, events, maxevents, timeout_ns)
    if restore is not None:
        restore(ret == -EINTR)
    return ret
