"""POSIX message queues.  ipc/mqueue.c.

A queue is an inode of the mqueue file system, which can also be mounted to list and remove queues.
"""

from __future__ import annotations

from arch.abi.capability import CAP_FOWNER, CAP_SYS_RESOURCE
from arch.abi.errno import (
    EACCES,
    EAGAIN,
    EBADF,
    EBUSY,
    EEXIST,
    EINTR,
    EINVAL,
    EMFILE,
    EMSGSIZE,
    ENAMETOOLONG,
    ENOENT,
    ENOMEM,
    ENOSPC,
    ENOTSOCK,
    EPERM,
    ERESTARTSYS,
    ETIME,
    ETIMEDOUT,
)
from arch.abi.fcntl import O_ACCMODE, O_CLOEXEC, O_CREAT, O_EXCL, O_NONBLOCK
from arch.abi.limits import NAME_MAX, S32_MAX
from arch.abi.mqueue import (
    DFLT_MSG,
    DFLT_MSGSIZE,
    HARD_MSGMAX,
    HARD_MSGSIZEMAX,
    MIN_MSGSIZEMAX,
    MQ_PRIO_MAX,
    SI_MESGQ,
)
from arch.abi.poll import POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM
from arch.abi.resource import RLIMIT_MSGQUEUE
from arch.abi.signal import SIGEV_NONE, SIGEV_SIGNAL, SIGEV_THREAD
from arch.abi.stat import S_IALLUGO, S_IFDIR, S_IFREG
from arch.abi.time import NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.fdtable import files_of, fs_of
from simkernel.fs.inode import Cred, Dentry, File, FileOperations, Inode, Path, SuperBlock, inode_permission, to_str
from simkernel.fs.pending import Pending
from simkernel.fs.proc_sys import NumbersFile
from simkernel.fs.vfs import FsType
from simkernel.ipc.face import IpcKernel
from simkernel.ipc.util import MESSAGE_SIZE, MqNamespace, words
from simkernel.kernel.calls.time import read_timespec64, timespec64
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import SignalStruct, Task, WaitQueue
from simkernel.net.core.sock import Socket
from simkernel.net.netlink.sock import NetlinkSock

MQUEUE_MAGIC = 0x19800202
FILENT_SIZE = 80
MSG_MSG_WORDS = NODE_WORDS = 6  # sizeof(struct msg_msg), sizeof(struct posix_msg_tree_node), in words
DIRENT_SIZE = 20  # bytes that the directory grows by
NOTIFY_COOKIE_LEN, NOTIFY_WOKENUP, NOTIFY_REMOVED = 32, 1, 2  # linux/mqueue.h
QUEUE_SIZE = 1024  # bytes of memory: a queue with its dentry


class MqInode(Inode):
    """struct mqueue_inode_info: one queue."""

    __slots__ = ("charged", "maxmsg", "messages", "msgsize", "notify", "notify_sock", "receivers", "senders", "user")

    def __init__(self, k: IpcKernel, mode: int, maxmsg: int, msgsize: int) -> None:
        """mqueue_get_inode().  EMFILE: over RLIMIT_MSGQUEUE."""
        super().__init__(k.mqueue.sb, S_IFREG | mode & S_IALLUGO)
        self.maxmsg, self.msgsize = maxmsg, msgsize
        word = k.arch.word
        self.charged = maxmsg * msgsize + maxmsg * MSG_MSG_WORDS * word + min(maxmsg, MQ_PRIO_MAX) * NODE_WORDS * word
        self.user, limit = k.users.of(k.current.cred.uid), k.current.rlimits[RLIMIT_MSGQUEUE][0]
        if 0 <= limit < self.user.mq_bytes + self.charged:
            raise KernelError(EMFILE, "over RLIMIT_MSGQUEUE")
        self.user.charge(QUEUE_SIZE)
        self.user.mq_bytes += self.charged
        self.messages: list[tuple[int, bytes]] = []  # (priority, text): highest first, then oldest
        self.senders, self.receivers = WaitQueue("mq-send"), WaitQueue("mq-receive")
        self.notify: tuple[SignalStruct, Task, int, int, int] | None = None  # whom, its task, how, signal, value
        self.notify_sock: tuple[NetlinkSock, bytes] | None = None  # SIGEV_THREAD: where to, and the cookie
        self.i_fop = MQUEUE_FOPS
        self.i_size = FILENT_SIZE

    def setattr_size(self, size: int) -> None:
        """simple_setattr(): what stat(2) shows, nothing else."""
        self.i_size = size

    def put(self, priority: int, text: bytes) -> None:
        """msg_insert()."""
        at = next((i for i, (p, _) in enumerate(self.messages) if p < priority), len(self.messages))
        self.user.charge(len(text) + MESSAGE_SIZE)
        self.messages.insert(at, (priority, text))

    def take(self) -> tuple[int, bytes]:
        """msg_get()."""
        priority, text = self.messages.pop(0)
        self.user.charge(-len(text) - MESSAGE_SIZE)
        return priority, text

    def evict(self) -> None:
        """mqueue_evict_inode()."""
        while self.messages:
            self.take()
        self.user.charge(-QUEUE_SIZE)
        self.user.mq_bytes -= self.charged


class MqDirectory(Inode):
    """The root: names can be unlinked."""

    __slots__ = ("k",)

    def __init__(self, k: IpcKernel, sb: SuperBlock) -> None:
        super().__init__(sb, S_IFDIR | 0o1777)
        self.k = k
        self.i_size = 2 * DIRENT_SIZE

    def unlink(self, parent: Dentry, victim: Dentry) -> None:
        """mqueue_unlink()."""
        victim.inode.i_nlink -= 1
        parent.drop(victim)
        self.i_size -= DIRENT_SIZE

    def create(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """mqueue_create(): with the default attributes."""
        inode = MqInode(self.k, mode, DFLT_MSG, DFLT_MSGSIZE)
        inode.i_uid, inode.i_gid = cred.fsuid, cred.fsgid
        self.i_size += DIRENT_SIZE
        return parent.add(name, inode)


def install(k: IpcKernel) -> None:
    """The file system and its limits."""
    vfs = k.vfs
    sb = SuperBlock("mqueue", MQUEUE_MAGIC, vfs.anon_dev(), vfs.now)
    sb.s_root = Dentry("/", None, MqDirectory(k, sb))
    vfs.singletons["mqueue"] = sb
    vfs.register(FsType("mqueue", lambda v, dev, flags, data: sb))
    k.mqueue = MqNamespace(sb)
    where = vfs.proc_root.subdir("sys").subdir("fs").subdir("mqueue")
    for name in k.mqueue.limits:
        where.add(name, _limit_file(k, name))


# mq_sysctls: what each may be
RANGES = {
    "msg_max": (1, HARD_MSGMAX), "msg_default": (1, HARD_MSGMAX),
    "msgsize_max": (MIN_MSGSIZEMAX, HARD_MSGSIZEMAX), "msgsize_default": (MIN_MSGSIZEMAX, HARD_MSGSIZEMAX),
    "queues_max": (-1 - S32_MAX, S32_MAX),
}  # fmt: skip


def _limit_file(k: IpcKernel, name: str) -> NumbersFile:
    limits = k.mqueue.limits
    return NumbersFile(
        k.vfs.sysctl,
        f"fs.mqueue.{name}",
        lambda: limits[name],
        lambda value: limits.__setitem__(name, int(value)),
        *RANGES[name],
    )


# -- the file ----------------------------------------------------------------------------------------------------------


@kernel_function(
    "ssize_t mqueue_read_file(struct file *filp, char *u_data, size_t count, loff_t *off)", source="ipc/mqueue.c"
)
def mqueue_read_file(k: IpcKernel, file_addr: int, buf: int, count: int, off: int) -> int:
    """What a queue says of itself."""
    file = k.vfs.files[file_addr]
    queue = _inode(file)
    used, (how, sig, pid) = sum(len(t) for _, t in queue.messages), (0, 0, 0)
    if queue.notify is not None:
        pid, how, sig = queue.notify[1].tgid, queue.notify[2], queue.notify[3]
    text = f"QSIZE:{used:<10d} NOTIFY:{how:<5d} SIGNO:{sig if how == SIGEV_SIGNAL else 0:<5d} NOTIFY_PID:{pid:<6d}\n".encode()
    at = k.mem.read_uint(off, 8)
    part = text[at : at + count]
    k.usercopy.copy_to_user(buf, part)
    if off == file.pos_addr:
        k.vfs.mirror.set_pos(file, at + len(part))
    return len(part)


def _poll(k: IpcKernel, file: File, queues: list[WaitQueue] | None) -> int:
    queue = _inode(file)
    if queues is not None:
        queues += [queue.senders, queue.receivers]
    mask = POLLIN | POLLRDNORM if queue.messages else 0
    return mask | (POLLOUT | POLLWRNORM if len(queue.messages) < queue.maxmsg else 0)


def _flush(k: IpcKernel, file: File) -> int:
    """mqueue_flush_file(): closing ends the process's notification."""
    _remove_notification(k, _inode(file))
    return 0


MQUEUE_FOPS = FileOperations(
    "mqueue_file_operations", read="mqueue_read_file", llseek="default_llseek", poll=_poll, flush=_flush
)


def _inode(file: File) -> MqInode:
    assert isinstance(file.f_inode, MqInode)
    return file.f_inode


def _queue_of(k: IpcKernel, mqdes: int, mode: int = 0) -> tuple[File, MqInode]:
    """The open queue of a descriptor.  EBADF."""
    file = k.vfs.fget(mqdes)
    if file.f_op is not MQUEUE_FOPS or (mode and not file.f_mode & mode):
        raise KernelError(EBADF)
    return file, _inode(file)


# -- names -------------------------------------------------------------------------------------------------------------


def _name(k: IpcKernel, address: int) -> str:
    """getname() and lookup_one_len(): no slash in it.  ENOENT, EACCES, ENAMETOOLONG."""
    raw = k.usercopy.strncpy_from_user(address, 4096)
    if not raw:
        raise KernelError(ENOENT)
    if b"/" in raw or raw in (b".", b".."):
        raise KernelError(EACCES)
    if len(raw) > NAME_MAX:
        raise KernelError(ENAMETOOLONG)
    return to_str(raw)


def _read_attr(k: IpcKernel, address: int) -> list[int]:
    """struct mq_attr: flags, maxmsg, msgsize, curmsgs."""
    word = k.arch.word
    return [k.usercopy.get_user(address + i * word, word, signed=True) for i in range(4)]


def _new_queue(k: IpcKernel, root: Dentry, name: str, mode: int, attr: list[int] | None) -> Dentry:
    """mqueue_create_attr().  EINVAL, ENOSPC, EMFILE."""
    limits, cred = k.mqueue.limits, k.vfs.cred()
    assert root.children is not None
    if len(root.children) >= limits["queues_max"] and not cred.capable(CAP_SYS_RESOURCE):
        raise KernelError(ENOSPC)
    maxmsg, msgsize = (
        min(limits["msg_max"], limits["msg_default"]),
        min(limits["msgsize_max"], limits["msgsize_default"]),
    )
    if attr is not None:
        maxmsg, msgsize = attr[1], attr[2]
        big = cred.capable(CAP_SYS_RESOURCE)
        top = (HARD_MSGMAX, HARD_MSGSIZEMAX) if big else (limits["msg_max"], limits["msgsize_max"])
        if maxmsg <= 0 or msgsize <= 0 or maxmsg > top[0] or msgsize > top[1]:
            raise KernelError(EINVAL)
    inode = MqInode(k, mode & ~fs_of(k.current).umask, maxmsg, msgsize)
    inode.i_uid, inode.i_gid = cred.fsuid, cred.fsgid
    k.vfs.security.alloc_inode(inode, ENOMEM)
    made = root.add(name, inode)
    root.inode.i_size += DIRENT_SIZE
    k.vfs.security.ask("d_instantiate", made, inode)
    return made


def _may_make(k: IpcKernel, root: Dentry, name: str, mode: int) -> None:
    """vfs_mkobj(): search and write permission, security_inode_create()."""
    if not k.security_hooks.watched:
        return
    cred = k.vfs.cred()
    new = Pending(k.vfs, root, name, cred)
    try:
        cred.ask("inode_permission", root.inode, c.MAY_EXEC | c.MAY_WRITE)
        k.vfs.security.ask("inode_create", root.inode, new.addr, mode & ~fs_of(k.current).umask | S_IFREG)
    finally:
        new.put()


@kernel_function(
    "int do_mq_open(const char *u_name, int oflag, umode_t mode, struct mq_attr *attr)", source="ipc/mqueue.c",
    since="4.17",
)  # fmt: skip
def do_mq_open(k: IpcKernel, u_name: int, oflag: int, mode: int, attr: int) -> int:
    """A descriptor.  ENOENT, EEXIST, EACCES, EINVAL, ENOSPC, EMFILE."""
    return _open(k, u_name, oflag, mode, attr)


def _open(k: IpcKernel, u_name: int, oflag: int, mode: int, attr: int) -> int:
    wanted = _read_attr(k, attr) if attr else None
    name, root, files = _name(k, u_name), k.mqueue.sb.s_root, files_of(k.current)
    fd: int = files.get_unused_fd(bool(oflag & O_CLOEXEC))
    try:
        assert root.children is not None
        if k.security_hooks.watched:
            k.vfs.security.ask("inode_permission", root.inode, c.MAY_EXEC)
        dentry = root.children.get(name)
        if dentry is None:
            if not oflag & O_CREAT:
                raise KernelError(ENOENT)
            _may_make(k, root, name, mode)
            dentry = _new_queue(k, root, name, mode, wanted)
        else:
            if oflag & O_CREAT and oflag & O_EXCL:
                raise KernelError(EEXIST)
            if oflag & O_ACCMODE == O_ACCMODE:
                raise KernelError(EINVAL)
            access = (c.MAY_READ, c.MAY_WRITE, c.MAY_READ | c.MAY_WRITE)[oflag & O_ACCMODE]
            inode_permission(dentry.inode, access, k.vfs.cred())
        mnt = k.vfs.mounts.new(k.mqueue.sb, "mqueue")
        file = k.vfs.new_file(Path(mnt, dentry), oflag & (O_ACCMODE | O_NONBLOCK), MQUEUE_FOPS)
    except KernelError:
        files.put_unused_fd(fd)
        raise
    try:
        k.vfs.security.ask("file_open", file)
    except KernelError:
        files.put_unused_fd(fd)
        file.put()
        raise
    file.f_mode |= (
        c.FMODE_OPENED
        | c.FMODE_LSEEK
        | c.FMODE_PREAD
        | c.FMODE_PWRITE
        | (c.FMODE_CAN_READ if file.f_mode & c.FMODE_READ else 0)
    )
    dentry.inode.i_writecount += bool(file.f_mode & c.FMODE_WRITE)
    k.vfs.mirror.file_flags(file)
    files.install(fd, file)
    return fd


@syscall("mq_open", "const char *u_name, int oflag, umode_t mode, struct mq_attr *u_attr", source="ipc/mqueue.c")
def sys_mq_open(k: IpcKernel, u_name: int, oflag: int, mode: int, u_attr: int) -> Body:
    """mq_open(2)."""
    if k.version.before("4.17"):
        return _open(k, u_name, oflag, mode, u_attr)
    return (yield k.call("do_mq_open", u_name, oflag, mode, u_attr))


@syscall("mq_unlink", "const char *u_name", source="ipc/mqueue.c")
def sys_mq_unlink(k: IpcKernel, u_name: int) -> int:
    """ENOENT, EACCES, EPERM."""
    name, root = _name(k, u_name), k.mqueue.sb.s_root
    assert root.children is not None
    dentry = root.children.get(name)
    if dentry is None:
        return -ENOENT
    cred = k.vfs.cred()
    if cred.fsuid not in (dentry.inode.i_uid, root.inode.i_uid) and not cred.capable(
        CAP_FOWNER
    ):  # the directory is sticky
        return -EPERM
    if k.security_hooks.watched:
        k.vfs.security.ask("inode_permission", root.inode, c.MAY_EXEC)
        k.vfs.security.ask("inode_permission", root.inode, c.MAY_EXEC | c.MAY_WRITE)
        k.vfs.security.ask("inode_unlink", root.inode, dentry)
    root.inode.unlink(root, dentry)
    k.vfs.evict_if_unused(dentry.inode)
    return 0


# -- messages ----------------------------------------------------------------------------------------------------------


def _limit(k: IpcKernel, address: int, word: int) -> int:
    """prepare_timeout(): the struct timespec64 until when to wait.  EINVAL, EFAULT."""
    where = timespec64(k, address, word)
    if where:
        seconds, nsec = read_timespec64(k, where)
        if seconds < 0 or not 0 <= nsec < NSEC_PER_SEC:
            raise KernelError(EINVAL)
    return where


def _deadline(k: IpcKernel, address: int) -> int | None:
    """The absolute time of CLOCK_REALTIME until which to wait, as one of CLOCK_MONOTONIC."""
    if not address:
        return None
    seconds, nsec = read_timespec64(k, address)
    return seconds * NSEC_PER_SEC + nsec - k.clock.realtime_offset_ns


def _wait(k: IpcKernel, queue: WaitQueue, until: int | None) -> Body:
    """wq_sleep().  ETIMEDOUT, EINTR."""
    ret = yield k.wait(queue, timeout_ns=None if until is None else max(0, until - k.clock.now_ns))
    if ret == -ETIME:
        raise KernelError(ETIMEDOUT)
    if ret < 0:
        raise KernelError(EINTR if until is not None else ERESTARTSYS)
    return 0


@kernel_function(
    "int do_mq_timedsend(int mqdes, const char *u_msg_ptr, size_t msg_len, unsigned int msg_prio, struct timespec64 *ts)",
    source="ipc/mqueue.c",
)
def do_mq_timedsend(k: IpcKernel, mqdes: int, u_msg: int, size: int, priority: int, timeout: int) -> Body:
    """EBADF, EINVAL, EMSGSIZE, EAGAIN, ETIMEDOUT, EINTR, EFAULT."""
    until = _deadline(k, timeout)
    if priority >= MQ_PRIO_MAX:
        return -EINVAL
    file, queue = _queue_of(k, mqdes, c.FMODE_WRITE)
    if size > queue.msgsize:
        return -EMSGSIZE
    text = k.usercopy.copy_from_user(u_msg, size) if size else b""
    while len(queue.messages) >= queue.maxmsg:
        if file.f_flags & O_NONBLOCK:
            return -EAGAIN
        yield from _wait(k, queue.senders, until)
    first = not queue.messages and not queue.receivers.waiters
    queue.put(priority, text)
    k.wake_up(queue.receivers, 0)
    if first:
        _notify(k, queue)
    return 0


def _notify(k: IpcKernel, queue: MqInode) -> None:
    """__do_notify(): once, when a message came to an empty queue that nobody waits at."""
    if queue.notify is None:
        return
    _, task, how, sig, value = queue.notify
    queue.notify = None
    if how == SIGEV_SIGNAL:
        k.signals.send(task, sig, SI_MESGQ, pid=k.current.tgid, uid=k.current.cred.uid, value=value)
    _send_cookie(queue, NOTIFY_WOKENUP)


def _send_cookie(queue: MqInode, code: int) -> None:
    """set_cookie(), netlink_sendskb(): the C library's thread hears what was agreed, and why."""
    if queue.notify_sock is not None:
        sk, cookie = queue.notify_sock
        queue.notify_sock = None
        if not sk.released:
            sk.hand_over(cookie[:-1] + bytes([code]))


def _remove_notification(k: IpcKernel, queue: MqInode) -> None:
    """remove_notification(), by the process that asked for it."""
    if queue.notify is not None and queue.notify[0] is k.current.signal:
        queue.notify = None
        _send_cookie(queue, NOTIFY_REMOVED)


def _notify_sock(k: IpcKernel, fd: int, cookie: int) -> tuple[NetlinkSock, bytes]:
    """netlink_getsockbyfilp().  EFAULT, EBADF, ENOTSOCK, EINVAL."""
    text = k.usercopy.copy_from_user(cookie, NOTIFY_COOKIE_LEN)
    sock = k.vfs.fget(fd).private_data
    if not isinstance(sock, Socket):
        raise KernelError(ENOTSOCK)
    if not isinstance(sock.sk, NetlinkSock):
        raise KernelError(EINVAL)
    return sock.sk, text


@kernel_function(
    "int do_mq_timedreceive(int mqdes, char *u_msg_ptr, size_t msg_len, unsigned int *u_msg_prio, struct timespec64 *ts)",
    source="ipc/mqueue.c",
)
def do_mq_timedreceive(k: IpcKernel, mqdes: int, u_msg: int, size: int, u_prio: int, timeout: int) -> Body:
    """How many bytes.  EBADF, EMSGSIZE, EAGAIN, ETIMEDOUT, EINTR, EFAULT."""
    until = _deadline(k, timeout)
    file, queue = _queue_of(k, mqdes, c.FMODE_READ)
    if size < queue.msgsize:
        return -EMSGSIZE
    while not queue.messages:
        if file.f_flags & O_NONBLOCK:
            return -EAGAIN
        yield from _wait(k, queue.receivers, until)
    priority, text = queue.take()
    k.wake_up(queue.senders, 0)
    if u_prio:
        k.usercopy.put_user(u_prio, 4, priority)
    k.usercopy.copy_to_user(u_msg, text)
    return len(text)


@syscall(
    "mq_timedsend",
    "mqd_t mqdes, const char *u_msg_ptr, size_t msg_len, unsigned int msg_prio, const struct __kernel_timespec *ts",
    source="ipc/mqueue.c",
)
def sys_mq_timedsend(k: IpcKernel, mqdes: int, u_msg: int, size: int, priority: int, timeout: int) -> Body:
    """mq_timedsend(2)."""
    return (yield k.call("do_mq_timedsend", mqdes, u_msg, size, priority, _limit(k, timeout, k.arch.word)))


@syscall(
    "mq_timedsend_time64",
    "mqd_t mqdes, const char *u_msg_ptr, size_t msg_len, unsigned int msg_prio, const struct __kernel_timespec *ts",
    source="ipc/mqueue.c",
    since="5.1",
)
def sys_mq_timedsend_time64(k: IpcKernel, mqdes: int, u_msg: int, size: int, priority: int, timeout: int) -> Body:
    """The same with 64-bit times on 32-bit machines."""
    return (yield k.call("do_mq_timedsend", mqdes, u_msg, size, priority, _limit(k, timeout, 8)))


@syscall(
    "mq_timedreceive",
    "mqd_t mqdes, char *u_msg_ptr, size_t msg_len, unsigned int *u_msg_prio, const struct __kernel_timespec *ts",
    source="ipc/mqueue.c",
)
def sys_mq_timedreceive(k: IpcKernel, mqdes: int, u_msg: int, size: int, u_prio: int, timeout: int) -> Body:
    """mq_timedreceive(2)."""
    return (yield k.call("do_mq_timedreceive", mqdes, u_msg, size, u_prio, _limit(k, timeout, k.arch.word)))


@syscall(
    "mq_timedreceive_time64",
    "mqd_t mqdes, char *u_msg_ptr, size_t msg_len, unsigned int *u_msg_prio, const struct __kernel_timespec *ts",
    source="ipc/mqueue.c",
    since="5.1",
)
def sys_mq_timedreceive_time64(k: IpcKernel, mqdes: int, u_msg: int, size: int, u_prio: int, timeout: int) -> Body:
    """The same with 64-bit times on 32-bit machines."""
    return (yield k.call("do_mq_timedreceive", mqdes, u_msg, size, u_prio, _limit(k, timeout, 8)))


@syscall("mq_notify", "mqd_t mqdes, const struct sigevent *u_notification", source="ipc/mqueue.c")
def sys_mq_notify(k: IpcKernel, mqdes: int, notification: int) -> int:
    """EBADF, EINVAL, EBUSY, EFAULT, ENOTSOCK."""
    value = how = sig = 0
    where = None
    if notification:
        word = k.arch.word
        value = k.usercopy.get_user(notification, word)
        sig, how = (k.usercopy.get_user(notification + word + at, 4, signed=True) for at in (0, 4))
        if how not in (SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD) or (how == SIGEV_SIGNAL and not 0 <= sig <= 64):
            return -EINVAL
        if how == SIGEV_THREAD:  # by a netlink socket of the C library
            where = _notify_sock(k, sig, value)
    _, queue = _queue_of(k, mqdes)
    if not notification:
        _remove_notification(k, queue)
        return 0
    if queue.notify is not None:
        return -EBUSY
    queue.notify = (k.current.signal, k.current.group_leader, how, sig, value)
    queue.notify_sock = where
    return 0


@syscall(
    "mq_getsetattr", "mqd_t mqdes, const struct mq_attr *u_mqstat, struct mq_attr *u_omqstat", source="ipc/mqueue.c"
)
def sys_mq_getsetattr(k: IpcKernel, mqdes: int, new: int, old: int) -> int:
    """Only O_NONBLOCK can be changed.  EBADF, EINVAL, EFAULT."""
    wanted = _read_attr(k, new) if new else None
    if wanted is not None and wanted[0] & ~O_NONBLOCK:
        return -EINVAL
    file, queue = _queue_of(k, mqdes)
    before = words(k, file.f_flags & O_NONBLOCK, queue.maxmsg, queue.msgsize, len(queue.messages), 0, 0, 0, 0)
    if wanted is not None:
        file.f_flags = file.f_flags & ~O_NONBLOCK | wanted[0] & O_NONBLOCK
        k.vfs.mirror.file_flags(file)
    if old:
        k.usercopy.copy_to_user(old, before)
    return 0
