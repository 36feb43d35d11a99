"""The kernel log as files: /dev/kmsg, a record a read, and /proc/kmsg, the text that syslog(2) reads.

kernel/printk/printk.c, fs/proc/kmsg.c.
"""

from __future__ import annotations

import re

from arch.abi.errno import EAGAIN, EFAULT, EINVAL, EIO, EPERM, EPIPE, ESPIPE
from arch.abi.fcntl import O_ACCMODE, O_NONBLOCK, O_WRONLY, SEEK_DATA, SEEK_END, SEEK_SET
from arch.abi.kern_levels import LOG_USER, SYSLOG_ACTION_OPEN, SYSLOG_ACTION_READ_ALL
from arch.abi.poll import POLLERR, POLLIN, POLLPRI, POLLRDNORM
from arch.abi.version import newest
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, FileOperations, Inode
from simkernel.fs.nodes import OpenNode, PseudoFile
from simkernel.kernel.calls.syslog import check_syslog_permissions
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.printk import Record
from simkernel.kernel.ratelimit import RatelimitState
from simkernel.kernel.task import WaitQueue
from tracing.face import WouldBlock

LINE_MAX = (("6.3", 1024), (None, 992))  # bytes of a write: PRINTKRB_RECORD_MAX, since; LOG_LINE_MAX
DEVKMSG_LIMITED = "4.9"  # printk.devkmsg
UNFINISHED_LINES = "5.10"  # a record without a newline waits for the next
PREFIX = re.compile(rb"<(\d*)>")
LOG_FACILITY_MASK, LOG_LEVEL_MASK = 0xFF, 7
TO_ESCAPE = re.compile(rb"[^ -\[\]-~]")


class DevkmsgUser:
    """struct devkmsg_user: the next record to read, and how often lines may be written."""

    __slots__ = ("rs", "seq")

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self.rs = RatelimitState()


def _open(k: FsKernel, inode: Inode, file: File) -> int:
    """devkmsg_open(): writing is everybody's whom the mode lets.  EPERM."""
    if k.log.devkmsg == "off" and not k.version.before(DEVKMSG_LIMITED):
        raise KernelError(EPERM, "printk_devkmsg is off")
    if file.f_flags & O_ACCMODE != O_WRONLY:
        check_syslog_permissions(k, SYSLOG_ACTION_READ_ALL)
    file.private_data = DevkmsgUser(k.log.first_seq)
    return 0


def _release(k: FsKernel, file: File) -> None:
    """devkmsg_release(): how many lines were too many."""
    user: DevkmsgUser = file.private_data
    if user.rs.missed:
        k.printk(f"printk: {k.current.comm}: {user.rs.missed} output lines suppressed due to ratelimiting")


def _escaped(found: re.Match[bytes]) -> bytes:
    return b"\\x%02x" % found[0][0]


def extended(record: Record) -> bytes:
    """info_print_ext_header(), msg_print_ext_body()."""
    head = b"%d,%d,%d,-;" % (record.priority, record.seq, record.ns // 1000)
    return head + TO_ESCAPE.sub(_escaped, record.raw) + b"\n"


@kernel_function(
    "ssize_t devkmsg_read(struct file *file, char *buf, size_t count, loff_t *ppos)", source="kernel/printk/printk.c"
)
def devkmsg_read(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """One record per read; what has no room is lost all the same.  EPIPE: records were overwritten."""
    file = k.vfs.files[file_addr]
    user: DevkmsgUser = file.private_data
    while (record := k.log.read_valid(user.seq)) is None:
        if file.f_flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield k.wait(k.log.wait)
        if ret < 0:
            return ret
    if record.seq != user.seq:
        user.seq = record.seq
        return -EPIPE
    text = extended(record)
    user.seq += 1
    if len(text) > count:
        return -EINVAL
    k.usercopy.copy_to_user(buf, text)
    return len(text)


@kernel_function("ssize_t devkmsg_write(struct kiocb *iocb, struct iov_iter *from)", source="kernel/printk/printk.c")
def devkmsg_write(k: FsKernel, iocb: int, from_: int) -> int:
    """A line from user space, with its facility and level in front.  EINVAL, EFAULT."""
    it = k.vfs.iters[from_]
    size: int = it.count
    version = k.version
    if size > newest(LINE_MAX, version):
        return -EINVAL
    if not version.before(DEVKMSG_LIMITED):
        user: DevkmsgUser = k.vfs.kiocbs[iocb].file.private_data
        if k.log.devkmsg == "off":
            return size
        if k.log.devkmsg != "on":
            user.rs.over(k.clock._now)
            if not user.rs.allowed():
                return size
    text = it.copy_from(size)
    if len(text) < size:
        return -EFAULT
    text = text.partition(b"\0")[0]
    level, facility = k.log.levels[1], LOG_USER
    found = PREFIX.match(text)
    if found is not None:
        number = int(found[1] or b"0") & 0xFFFFFFFF
        level = number & LOG_LEVEL_MASK
        facility = number >> 3 & LOG_FACILITY_MASK or LOG_USER
        text = text[found.end() :]
    finished = text.endswith(b"\n")
    k.printk_emit(text[:-1] if finished else text, level, facility, finished or version.before(UNFINISHED_LINES))
    return size


def kmsg_seek(k: FsKernel, file: File, offset: int, whence: int) -> int:
    """devkmsg_llseek(): the first record, the first since the log was cleared, or behind the last.  ESPIPE, EINVAL."""
    if offset:
        return -ESPIPE
    places = {SEEK_SET: k.log.first_seq, SEEK_DATA: k.log.clear_seq, SEEK_END: k.log.end_seq}
    if whence not in places:
        return -EINVAL
    user: DevkmsgUser = file.private_data
    user.seq = places[whence]
    return 0


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    if queues is not None:
        queues.append(k.log.wait)
    user: DevkmsgUser = file.private_data
    record = k.log.read_valid(user.seq)
    if record is None:
        return 0
    return POLLIN | POLLRDNORM | (POLLERR | POLLPRI if record.seq != user.seq else 0)


KMSG_FOPS = FileOperations(
    "kmsg_fops", read="devkmsg_read", write_iter="devkmsg_write", llseek="devkmsg_llseek", poll=_poll, open=_open, release=_release,
)  # fmt: skip


class KmsgNode(PseudoFile):
    """/proc/kmsg."""

    def __init__(self, k: FsKernel) -> None:
        super().__init__(lambda: "", mode=0o400)
        self.k = k

    def open(self, flags: int) -> OpenNode:
        """EPERM."""
        check_syslog_permissions(self.k, SYSLOG_ACTION_OPEN)
        return KmsgReader(self.k)


class KmsgReader:
    """An open /proc/kmsg: all of them, and syslog(2), share one place."""

    poll_key = "kmsg"

    def __init__(self, k: FsKernel) -> None:
        self.k = k

    def read(self, size: int, pos: int) -> bytes:
        """What nobody has read; waits for the next."""
        if not size:
            return b""
        data = self.k.log.syslog_print(size)
        if not data:
            raise WouldBlock("kmsg")
        return data

    def write(self, data: bytes, pos: int) -> int:
        """EIO."""
        raise KernelError(EIO, "the log is written through /dev/kmsg")

    def poll(self) -> int:
        """Readable while there is something."""
        return POLLIN | POLLRDNORM if self.k.log.unread() else 0

    def release(self) -> None:
        """The place stays."""
