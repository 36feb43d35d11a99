"""signalfd.  fs/signalfd.c."""

from __future__ import annotations

import struct

from arch.abi.errno import EAGAIN, EINVAL
from arch.abi.fcntl import O_CLOEXEC, O_NONBLOCK, O_RDWR
from arch.abi.poll import POLLIN
from arch.abi.signal import SIGCHLD
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, FileOperations
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.sigpending import SigInfo
from simkernel.kernel.task import UNBLOCKABLE, WaitQueue

SIGNALFD_INFO_SIZE = 128  # struct signalfd_siginfo


class SignalFd:
    """struct signalfd_ctx: the signals that it takes, bit sig-1 each."""

    def __init__(self, mask: int) -> None:
        self.mask = mask


def siginfo_bytes(k: FsKernel, info: SigInfo) -> bytes:
    """signalfd_copyinfo(): struct signalfd_siginfo."""
    order = "<" if k.mem.byteorder == "little" else ">"
    pid, uid, status, value, addr, utime, stime = info.pid, info.uid, 0, 0, 0, 0, 0
    if info.sig == SIGCHLD and info.code > 0:
        status, utime, stime = info.status, info.utime, info.stime
    elif info.code < 0:
        value = info.value
    elif info.code > 0 and info.addr:
        pid, uid, addr = 0, 0, info.addr
    number = value & 0xFFFFFFFF
    return struct.pack(
        order + "IiIIIiIIIIiiQQQQH", info.sig, 0, info.code & 0xFFFFFFFF, pid, uid, 0, 0, 0, 0, 0,
        status, (number ^ 1 << 31) - (1 << 31), value & (1 << 64) - 1, utime, stime, addr, 0,
    ).ljust(SIGNALFD_INFO_SIZE, b"\0")  # fmt: skip


@kernel_function(
    "ssize_t signalfd_read(struct file *file, char *buf, size_t count, loff_t *ppos)", source="fs/signalfd.c"
)
def signalfd_read(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """Pending signals of the reader, as many as fit; waits for the first."""
    file, task = k.vfs.files[file_addr], k.current
    ctx: SignalFd = file.private_data
    room = count // SIGNALFD_INFO_SIZE
    if not room:
        return -EINVAL
    done = 0
    while done < room:
        info = k.signals.dequeue(task, ~ctx.mask)
        if info is None:
            if done:
                break
            if file.f_flags & O_NONBLOCK:
                return -EAGAIN
            ret = yield k.wait(task.signal.signalfd_wait)
            if ret < 0:
                return ret
            continue
        k.usercopy.copy_to_user(buf + done * SIGNALFD_INFO_SIZE, siginfo_bytes(k, info))
        done += 1
    return done * SIGNALFD_INFO_SIZE


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    task = k.current
    if queues is not None:
        queues.append(task.signal.signalfd_wait)
    ctx: SignalFd = file.private_data
    return POLLIN if (task.pending.mask | task.signal.pending.mask) & ctx.mask else 0


SIGNALFD_FOPS = FileOperations(
    "signalfd_fops", read="signalfd_read", llseek="noop_llseek", poll=_poll,
    show_fdinfo=lambda k, file: f"sigmask:\t{file.private_data.mask:016x}\n",
)  # fmt: skip


@syscall("signalfd4", "int ufd, sigset_t *user_mask, size_t sizemask, int flags", source="fs/signalfd.c")
def sys_signalfd4(k: FsKernel, ufd: int, user_mask: int, sizemask: int, flags: int) -> int:
    """A new descriptor, or another mask for an old one.  EINVAL, EBADF, EFAULT."""
    if sizemask != 8:
        return -EINVAL
    raw, word = k.usercopy.copy_from_user(user_mask, 8), k.arch.word
    mask = sum(int.from_bytes(raw[i : i + word], k.mem.byteorder) << 8 * i for i in range(0, 8, word)) & ~UNBLOCKABLE
    if flags & ~(O_CLOEXEC | O_NONBLOCK):
        return -EINVAL
    if ufd == -1:
        return k.vfs.anon_inode_getfd(k, "[signalfd]", SIGNALFD_FOPS, SignalFd(mask), O_RDWR | flags)
    file = k.vfs.fget(ufd)
    if file.f_op is not SIGNALFD_FOPS:
        raise KernelError(EINVAL, "not a signalfd")
    file.private_data.mask = mask
    k.wake_up(k.current.signal.signalfd_wait, 0)
    return ufd


@syscall("signalfd", "int ufd, sigset_t *user_mask, size_t sizemask", source="fs/signalfd.c")
def sys_signalfd(k: FsKernel, ufd: int, user_mask: int, sizemask: int) -> int:
    """The form without flags."""
    return sys_signalfd4(k, ufd, user_mask, sizemask, 0)
