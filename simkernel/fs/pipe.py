"""Pipes and named pipes.  fs/pipe.c.

A pipe has `slots` buffers (16) of a page each.  The odd bytes of a write go behind what the last buffer has if they fit
whole; everything else begins a new one, so pipes can be full with fewer bytes than pages.  Written through an O_DIRECT
descriptor a buffer is a packet: nothing comes behind it, and a read ends with it, taken whole or not.  Readers of an
empty pipe without writers see the end of file, writers without readers get SIGPIPE and EPIPE.

What a pipe holds counts against the machine's memory in whole pages, and what it may hold against its owner's
fs.pipe-user-pages-soft and -hard (since 4.5).
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from arch.abi.capability import CAP_SYS_ADMIN, CAP_SYS_RESOURCE
from arch.abi.errno import EAGAIN, EBUSY, EFAULT, EINVAL, ENFILE, ENOMEM, ENXIO, EPERM, EPIPE, ERESTARTSYS
from arch.abi.fcntl import O_CLOEXEC, O_DIRECT, O_NONBLOCK, O_RDONLY, O_WRONLY
from arch.abi.ioctl import FIONREAD
from arch.abi.limits import KMALLOC_MAX_SIZE, PAGE_SHIFT, PAGE_SIZE
from arch.abi.poll import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM
from arch.abi.signal import SIGPIPE
from arch.abi.stat import PIPEFS_MAGIC, S_IFIFO
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.dirty import I_DIRTY
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import Cred, Dentry, File, FileOperations, Inode, Path, SuperBlock
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.locks import pipe_mutex
from simkernel.kernel.task import WaitQueue

PIPE_DEF_BUFFERS = 16
PIPE_OBJECT_SIZE = 2048  # bytes: struct pipe_inode_info, its buffers, inode and dentry, as their caches round them


class Moved(Protocol):
    """Where bytes come from or go to: an IovIter, or what the hook of a system call has copied (shortcuts.py)."""

    count: int  # bytes that are left

    def copy_from(self, size: int) -> bytes | memoryview:
        """The next ones; fewer after a fault."""

    def copy_to(self, data: bytes | bytearray | memoryview) -> int:
        """How many could be stored."""


class PipeBuffer:
    """struct pipe_buffer and its page."""

    __slots__ = ("data", "merges", "offset", "packet")

    def __init__(self, data: bytearray, merges: bool = True, packet: bool = False) -> None:
        self.data = data  # from the beginning of the page
        self.offset = 0  # bytes of it that were read
        self.merges = merges  # PIPE_BUF_FLAG_CAN_MERGE
        self.packet = packet  # PIPE_BUF_FLAG_PACKET

    def __len__(self) -> int:
        return len(self.data) - self.offset


class Pipe:
    """struct pipe_inode_info."""

    __slots__ = (
        "addr", "bufs", "charged", "r_counter", "rd_wait", "readers", "slots", "user", "w_counter", "wr_wait", "writers",
    )  # fmt: skip

    def __init__(self, k: FsKernel) -> None:
        """alloc_pipe_info().  ENFILE over the hard limit of the user."""
        self.user = k.users.of(k.current.cred.uid)
        pages = PIPE_DEF_BUFFERS
        top: int = k.vfs.sysctl["fs.pipe-max-size"]
        if pages << PAGE_SHIFT > top and not k.capable(CAP_SYS_RESOURCE):
            pages = top >> PAGE_SHIFT
        if _too_many(k, "soft", self.user.pipe_bufs + pages) and _unprivileged(k):
            pages = k.vfs.names.pipe_min_buffers
        if _too_many(k, "hard", self.user.pipe_bufs + pages) and _unprivileged(k):
            raise KernelError(ENFILE, "over pipe-user-pages-hard")
        k.mm.charge(PIPE_OBJECT_SIZE)
        self.user.pipe_bufs += pages
        self.charged = 0  # pages
        self.slots = pages
        self.addr = 0  # of struct pipe_inode_info, once somebody looks at its lock
        self.bufs: deque[PipeBuffer] = deque()
        self.readers = 0
        self.writers = 0
        self.r_counter = 0
        self.w_counter = 0
        self.rd_wait = WaitQueue("pipe-read")
        self.wr_wait = WaitQueue("pipe-write")

    @property
    def size(self) -> int:
        """Bytes, if every buffer is full."""
        return self.slots << PAGE_SHIFT

    @property
    def full(self) -> bool:
        """pipe_full()."""
        return len(self.bufs) >= self.slots

    @property
    def held(self) -> int:
        """Bytes that are in it."""
        return sum(map(len, self.bufs))

    def merge(self, it: Moved) -> int:
        """The odd bytes of a write go behind the last buffer, or none.  KernelError(EFAULT)."""
        chars = it.count % PAGE_SIZE
        last = self.bufs[-1] if self.bufs else None
        if not chars or last is None or not last.merges or len(last.data) + chars > PAGE_SIZE:
            return 0
        data = it.copy_from(chars)
        if len(data) < chars:
            raise KernelError(EFAULT)
        last.data += data
        return chars

    def add(self, it: Moved, packet: bool) -> int:
        """Buffer after buffer, while there are slots: bytes.  KernelError(EFAULT, ENOMEM) if there was none."""
        done, bufs, merges = 0, self.bufs, not packet
        while it.count and len(bufs) < self.slots:
            wanted = it.count
            if wanted > PAGE_SIZE:
                wanted = PAGE_SIZE
            try:
                data = it.copy_from(wanted)
                if len(data) < wanted:
                    raise KernelError(EFAULT)
                bufs.append(PipeBuffer(bytearray(data), merges, packet))
                self.charge()
            except KernelError as refused:
                if refused.errno == ENOMEM:
                    self.bufs.pop()
                if done:
                    return done
                raise
            done += wanted
        return done

    def add_pages(self, pages: list[bytes]) -> None:
        """Whole pages that nobody writes behind.  KernelError(ENOMEM)."""
        self.bufs.extend(PipeBuffer(bytearray(page), merges=False) for page in pages)
        self.charge()

    def take(self, it: Moved) -> int:
        """What a read gets: bytes, to the end of a packet at most.  0 if none of them could be put there."""
        done, bufs = 0, self.bufs
        while bufs and it.count:
            buf = bufs[0]
            begin, data = buf.offset, buf.data
            size = len(data)
            wanted = size - begin
            if wanted > it.count:
                wanted = it.count
            copied = it.copy_to(data if wanted == size else memoryview(data)[begin : begin + wanted])
            buf.offset = begin = begin + copied
            done += copied
            ends = buf.packet and copied == wanted
            if ends or begin == size:
                bufs.popleft()
            if ends or copied < wanted:
                break
        self.charge()
        return done

    def move(self, there: Pipe, length: int, keep: bool) -> int:
        """Buffers, or copies of them, into another pipe, while it has slots: bytes.  KernelError(ENOMEM)."""
        done = 0
        for buf in list(self.bufs):
            size = min(len(buf), length - done)
            if not size or there.full:
                break
            if keep or size < len(buf):
                begin = buf.offset
                there.bufs.append(PipeBuffer(buf.data[begin : begin + size], merges=False, packet=buf.packet))
                buf.offset += 0 if keep else size
            else:
                there.bufs.append(self.bufs.popleft())
            done += size
        there.charge()
        self.charge()
        return done

    def resize(self, k: FsKernel, size: int) -> int:
        """F_SETPIPE_SZ: the next power of two of pages."""
        size = max(size, PAGE_SIZE)
        if size > 1 << 31:
            return -EINVAL
        rounded = round_pipe_size(size)
        more = rounded - self.size >> PAGE_SHIFT
        grows = more > 0
        if grows and rounded > k.vfs.sysctl["fs.pipe-max-size"] and not k.capable(CAP_SYS_RESOURCE):
            return -EPERM
        total = self.user.pipe_bufs + more
        if grows and (_too_many(k, "soft", total) or _too_many(k, "hard", total)) and _unprivileged(k):
            return -EPERM
        if rounded >> PAGE_SHIFT < len(self.bufs):
            return -EBUSY
        if rounded >> PAGE_SHIFT > KMALLOC_MAX_SIZE // k.types.sizeof("struct pipe_buffer"):
            return -ENOMEM
        self.user.pipe_bufs = total
        self.slots = rounded >> PAGE_SHIFT
        k.wake_up(self.wr_wait)
        return rounded

    def charge(self) -> None:
        """After the buffers have changed: a page each.  KernelError(ENOMEM)."""
        pages = len(self.bufs)
        if pages != self.charged:
            self.user.charge(pages - self.charged << PAGE_SHIFT)
            self.charged = pages

    def free(self) -> None:
        """free_pipe_info()."""
        self.bufs.clear()
        self.charge()
        self.user.charge(-PIPE_OBJECT_SIZE)
        self.user.pipe_bufs -= self.slots


def _too_many(k: FsKernel, kind: str, pages: int) -> bool:
    """too_many_pipe_buffers_soft(), too_many_pipe_buffers_hard()."""
    limit: int = k.vfs.sysctl.get(f"fs.pipe-user-pages-{kind}", 0)
    return 0 < limit < pages


def _unprivileged(k: FsKernel) -> bool:
    return not k.capable(CAP_SYS_RESOURCE) and not k.capable(CAP_SYS_ADMIN)


def wait_for_room(k: FsKernel, pipe: Pipe, nonblock: bool) -> Body:
    """opipe_prep(): wait until there is room: 1, or -errno; EPIPE and SIGPIPE without readers."""
    while True:
        if not pipe.readers:
            k.signals.send(k.current, SIGPIPE)
            return -EPIPE
        if not pipe.full:
            return 1
        if nonblock:
            return -EAGAIN
        ret = yield k.wait(pipe.wr_wait)
        if ret < 0:
            return ret


def round_pipe_size(size: int) -> int:
    """The next power of two of pages."""
    return 1 << (max(size, PAGE_SIZE) - 1).bit_length()


def pipe_of(inode: Inode) -> Pipe:
    """The pipe behind an inode that has one: every open fifo and every pipe(2)."""
    pipe = inode.i_pipe
    assert isinstance(pipe, Pipe)
    return pipe


@kernel_function(
    "ssize_t pipe_read(struct kiocb *iocb, struct iov_iter *to)",
    source="fs/pipe.c",
    names={None: "pipe_read", "6.16": "anon_pipe_read"},
)
def pipe_read(k: FsKernel, iocb_addr: int, to: int) -> Body:
    """Take what is there; wait only when there is nothing."""
    lock = pipe_mutex(k, pipe_of(k.vfs.kiocbs[iocb_addr].file.f_inode))
    if not lock:
        return (yield from _pipe_read(k, iocb_addr, to, 0))
    yield k.call("mutex_lock", lock)
    ret = yield from _pipe_read(k, iocb_addr, to, lock)
    yield k.call("mutex_unlock", lock)
    return ret


def _wait_unlocked(k: FsKernel, queue: WaitQueue, lock: int) -> Body:
    """wait_event of a pipe, without its lock while it waits."""
    if lock:
        yield k.call("mutex_unlock", lock)
    ret = yield k.wait(queue, exclusive=True)
    if lock:
        yield k.call("mutex_lock", lock)
    return ret


def _pipe_read(k: FsKernel, iocb_addr: int, to: int, lock: int) -> Body:
    vfs = k.vfs
    iocb, it = vfs.kiocbs[iocb_addr], vfs.iters[to]
    if not it.count:
        return 0
    file: File = iocb.file
    pipe = pipe_of(file.f_inode)
    pages = it.count >= PAGE_SIZE
    while True:
        if pipe.bufs:
            copied = pipe.take(it)
            if pipe.wr_wait and not pipe.full:
                pipe.wr_wait.sync = pages
                yield k.wake(pipe.wr_wait)
                pipe.wr_wait.sync = False
            elif pipe.wr_wait.on_wake:
                k.wake_up(pipe.wr_wait)
            if not copied:
                return -EFAULT
            vfs.mounts.touch_atime(file.f_path)
            return copied
        if not pipe.writers:
            return 0
        if file.f_flags & O_NONBLOCK or iocb.flags & 8:
            return -EAGAIN
        ret = yield from _wait_unlocked(k, pipe.rd_wait, lock)
        if ret < 0:
            return ret


@kernel_function(
    "ssize_t pipe_write(struct kiocb *iocb, struct iov_iter *from)",
    source="fs/pipe.c",
    names={None: "pipe_write", "6.16": "anon_pipe_write"},
)
def pipe_write(k: FsKernel, iocb_addr: int, from_: int) -> Body:
    """Put everything in, waiting for room; EPIPE and SIGPIPE without readers."""
    lock = pipe_mutex(k, pipe_of(k.vfs.kiocbs[iocb_addr].file.f_inode))
    if not lock:
        return (yield from _pipe_write(k, iocb_addr, from_, 0))
    yield k.call("mutex_lock", lock)
    ret = yield from _pipe_write(k, iocb_addr, from_, lock)
    yield k.call("mutex_unlock", lock)
    return ret


def _pipe_write(k: FsKernel, iocb_addr: int, from_: int, lock: int) -> Body:
    vfs = k.vfs
    iocb, it = vfs.kiocbs[iocb_addr], vfs.iters[from_]
    if not it.count:
        return 0
    file: File = iocb.file
    pipe = pipe_of(file.f_inode)
    done, pages = 0, it.count >= PAGE_SIZE
    ret = 0
    while True:
        if not pipe.readers:
            k.signals.send(k.current, SIGPIPE)
            ret = -EPIPE
            break
        was_empty = not pipe.bufs
        try:
            added = 0 if done else pipe.merge(it)
            added += pipe.add(it, bool(file.f_flags & O_DIRECT))
        except KernelError as refused:
            ret = -refused.errno
            break
        if added:
            done += added
            if was_empty:
                if pipe.rd_wait:
                    pipe.rd_wait.sync = pages
                    yield k.wake(pipe.rd_wait)
                    pipe.rd_wait.sync = False
                elif pipe.rd_wait.on_wake:
                    k.wake_up(pipe.rd_wait)
            elif pipe.rd_wait.on_wake or pipe.rd_wait:
                k.wake_up(pipe.rd_wait)
            if not it.count:
                break
            continue
        if file.f_flags & O_NONBLOCK or iocb.flags & 8:
            ret = -EAGAIN
            break
        got = yield from _wait_unlocked(k, pipe.wr_wait, lock)
        if got < 0:
            ret = got
            break
    if done:
        vfs.file_update_time(file.f_inode)
        return done
    return ret


def pipe_poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    """pipe_poll()."""
    pipe = pipe_of(file.f_inode)
    mask = 0
    if queues is not None:
        if file.f_mode & c.FMODE_READ:
            queues.append(pipe.rd_wait)
        if file.f_mode & c.FMODE_WRITE:
            queues.append(pipe.wr_wait)
    if file.f_mode & c.FMODE_READ:
        if pipe.bufs:
            mask |= POLLIN | POLLRDNORM
        if not pipe.writers and file.private_data != pipe.w_counter:
            mask |= POLLHUP
    if file.f_mode & c.FMODE_WRITE:
        if not pipe.full:
            mask |= POLLOUT | POLLWRNORM
        if not pipe.readers:
            mask |= POLLERR
    return mask


def pipe_ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    """FIONREAD alone."""
    if cmd != FIONREAD:
        from arch.abi.errno import ENOTTY

        raise KernelError(ENOTTY, "no such pipe ioctl")
    k.usercopy.put_user(arg, 4, pipe_of(file.f_inode).held)
    return 0


def pipe_release(k: FsKernel, file: File) -> None:
    """One end less; the other side learns of it."""
    inode = file.f_inode
    pipe = pipe_of(inode)
    if pipe is None:
        return
    if file.f_mode & c.FMODE_READ:
        pipe.readers -= 1
    if file.f_mode & c.FMODE_WRITE:
        pipe.writers -= 1
    if bool(pipe.readers) != bool(pipe.writers):
        k.wake_up(pipe.rd_wait, 0)
        k.wake_up(pipe.wr_wait, 0)
    _put_pipe(inode, pipe)
    if inode.i_pipe is None and pipe.addr:
        k.mem.free(pipe.addr)
        pipe.addr = 0


def _put_pipe(inode: Inode, pipe: Pipe) -> None:
    """put_pipe_info()."""
    if not pipe.readers and not pipe.writers and inode.i_pipe is pipe:
        inode.i_pipe = None
        pipe.free()


def fifo_open(k: FsKernel, inode: Inode, file: File) -> Body:
    """Open one end of a named pipe: waits for the other, unless O_RDWR or O_NONBLOCK."""
    if inode.i_pipe is None:
        try:
            inode.i_pipe = Pipe(k)
        except KernelError:
            return -ENOMEM
    pipe = pipe_of(inode)
    mode = file.f_mode & (c.FMODE_READ | c.FMODE_WRITE)
    is_anonymous = inode.i_sb.s_magic == PIPEFS_MAGIC
    file.private_data = 0
    if mode == c.FMODE_READ:
        pipe.r_counter += 1
        pipe.readers += 1
        if pipe.readers == 1:
            k.wake_up(pipe.wr_wait, 0)
        if not is_anonymous and not pipe.writers:
            if file.f_flags & O_NONBLOCK:
                file.private_data = pipe.w_counter
            else:
                seen = pipe.w_counter
                while pipe.w_counter == seen:
                    ret = yield k.wait(pipe.rd_wait)
                    if ret < 0:
                        pipe.readers -= 1
                        k.wake_up(pipe.wr_wait, 0)
                        _put_pipe(inode, pipe)
                        return -ERESTARTSYS
    elif mode == c.FMODE_WRITE:
        if not is_anonymous and file.f_flags & O_NONBLOCK and not pipe.readers:
            _put_pipe(inode, pipe)
            return -ENXIO
        pipe.w_counter += 1
        pipe.writers += 1
        if pipe.writers == 1:
            k.wake_up(pipe.rd_wait, 0)
        if not is_anonymous and not pipe.readers:
            seen = pipe.r_counter
            while pipe.r_counter == seen:
                ret = yield k.wait(pipe.wr_wait)
                if ret < 0:
                    pipe.writers -= 1
                    k.wake_up(pipe.rd_wait, 0)
                    _put_pipe(inode, pipe)
                    return -ERESTARTSYS
    elif mode:
        pipe.readers += 1
        pipe.writers += 1
        pipe.r_counter += 1
        pipe.w_counter += 1
        if pipe.readers == 1 or pipe.writers == 1:
            k.wake_up(pipe.rd_wait, 0)
            k.wake_up(pipe.wr_wait, 0)
    else:
        return -EINVAL
    return 0


PIPEFIFO_FOPS = FileOperations(
    "pipefifo_fops", read_iter="pipe_read", write_iter="pipe_write", llseek="no_llseek", poll=pipe_poll,
    ioctl=pipe_ioctl, open=fifo_open, release=pipe_release, nowait="6.4", fasync=True, stream=True,
)  # fmt: skip


def _pipe_name(dentry: Dentry) -> str:
    return f"pipe:[{dentry.inode.i_ino}]"


def create_pipe_files(k: FsKernel, flags: int) -> tuple[File, File]:
    """The read end and the write end of a new pipe.  ENFILE, ENOMEM."""
    vfs, pipe = k.vfs, Pipe(k)
    sb: SuperBlock = vfs.singletons["pipefs"]
    inode = Inode(sb, S_IFIFO | 0o600)
    cred = vfs.cred()
    inode.i_uid, inode.i_gid = cred.fsuid, cred.fsgid
    inode.i_fop = PIPEFIFO_FOPS
    inode.i_nlink = 1
    inode.i_state = I_DIRTY  # so that it goes on no list
    inode.i_pipe = pipe
    pipe.readers = pipe.writers = 1
    pipe.r_counter = pipe.w_counter = 1
    dentry = Dentry("", None, inode)
    dentry.d_dname = _pipe_name
    path = Path(vfs.pipe_mnt, dentry)
    ends: list[File] = []
    try:
        vfs.security.anonymous(dentry, errno=ENFILE)
        _open_ends(k, path, flags, cred, ends)
    except KernelError:
        pipe.writers = 0
        if ends:
            vfs.put_file(ends[0])
        else:
            pipe.readers = 0
            _put_pipe(inode, pipe)
            k.mem.free(pipe.addr)
        raise
    return ends[0], ends[1]


def _open_ends(k: FsKernel, path: Path, flags: int, cred: Cred, ends: list[File]) -> None:
    """A file for each end, as far as there are any to be had."""
    vfs, inode = k.vfs, path.dentry.inode
    for access, can, kept in (
        (O_RDONLY, c.FMODE_CAN_READ, O_NONBLOCK),
        (O_WRONLY, c.FMODE_CAN_WRITE, O_NONBLOCK | O_DIRECT),
    ):
        file = vfs.new_file(path, access | flags & kept, PIPEFIFO_FOPS, cred)
        file.f_mode |= can | c.FMODE_OPENED | c.FMODE_STREAM
        file.private_data = 0
        if access == O_WRONLY:
            inode.i_writecount += 1
        vfs.mirror.file_flags(file)
        ends.append(file)


@syscall("pipe2", "int *fildes, int flags", source="fs/pipe.c")
def sys_pipe2(k: FsKernel, fildes: int, flags: int) -> int:
    """pipe2(2)."""
    if flags & ~(O_CLOEXEC | O_NONBLOCK | O_DIRECT):
        return -EINVAL
    files = files_of(k.current)
    cloexec = bool(flags & O_CLOEXEC)
    first = files.get_unused_fd(cloexec)
    try:
        second = files.get_unused_fd(cloexec)
    except KernelError:
        files.put_unused_fd(first)
        raise
    try:
        reader, writer = create_pipe_files(k, flags)
    except KernelError:
        files.put_unused_fd(first)
        files.put_unused_fd(second)
        raise
    order = k.mem.byteorder
    try:
        k.usercopy.copy_to_user(fildes, first.to_bytes(4, order) + second.to_bytes(4, order))
    except KernelError:
        for fd, file in ((first, reader), (second, writer)):
            files.put_unused_fd(fd)
            k.vfs.put_file(file)
        raise
    files.install(first, reader)
    files.install(second, writer)
    return 0


@syscall("pipe", "int *fildes", source="fs/pipe.c")
def sys_pipe(k: FsKernel, fildes: int) -> int:
    """pipe(2)."""
    return sys_pipe2(k, fildes, 0)
