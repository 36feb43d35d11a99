"""Character devices: null, zero, full, random, urandom, kmsg, and the terminal and console of the host.

drivers/char/mem.c, drivers/char/random.c.  Random bytes come from the machine's seed.
"""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EFAULT, EINVAL, ENOSPC, EPERM
from arch.abi.poll import POLLIN, POLLRDNORM
from arch.abi.stat import makedev
from simkernel.fs import hostio
from simkernel.fs.face import FsKernel
from simkernel.fs.features import Features
from simkernel.fs.inode import File, FileOperations
from simkernel.fs.kmsg import KMSG_FOPS
from simkernel.fs.tty import devpts
from simkernel.fs.userfaultfd import USERFAULTFD_DEV_FOPS
from simkernel.kernel.areas import Vma
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue
from simkernel.kernel.usercopy import ZEROS


@kernel_function(
    "ssize_t read_null(struct file *file, char *buf, size_t count, loff_t *ppos)", source="drivers/char/mem.c"
)
def read_null(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> int:
    """Always at the end."""
    return 0


@kernel_function(
    "ssize_t write_null(struct file *file, const char *buf, size_t count, loff_t *ppos)", source="drivers/char/mem.c"
)
def write_null(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> int:
    """Takes everything."""
    return count


@kernel_function("ssize_t read_iter_null(struct kiocb *iocb, struct iov_iter *to)", source="drivers/char/mem.c")
def read_iter_null(k: FsKernel, iocb: int, to: int) -> int:
    """Always at the end."""
    return 0


@kernel_function("ssize_t write_iter_null(struct kiocb *iocb, struct iov_iter *from)", source="drivers/char/mem.c")
def write_iter_null(k: FsKernel, iocb: int, from_: int) -> int:
    """Takes everything."""
    return int(k.vfs.iters[from_].count)


@kernel_function(
    "ssize_t read_zero(struct file *file, char *buf, size_t count, loff_t *ppos)", source="drivers/char/mem.c",
    since="5.8",
)  # fmt: skip
def read_zero(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> int:
    """As far as the buffer goes."""
    return k.usercopy.clear_user(buf, count) or (-EFAULT if count else 0)


@kernel_function("ssize_t read_iter_zero(struct kiocb *iocb, struct iov_iter *iter)", source="drivers/char/mem.c")
def read_iter_zero(k: FsKernel, iocb: int, to: int) -> int:
    """Zeros without end."""
    it = k.vfs.iters[to]
    done = 0
    while it.count:
        step = min(len(ZEROS), it.count)
        copied = it.copy_to(ZEROS[:step])
        done += copied
        if copied < step:
            return done or -EFAULT
    return done


@kernel_function(
    "ssize_t write_full(struct file *file, const char *buf, size_t count, loff_t *ppos)", source="drivers/char/mem.c"
)
def write_full(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> int:
    """No space, ever."""
    return -ENOSPC


def _random_poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    """random_poll(): there is always enough."""
    return POLLIN | POLLRDNORM


def _random_iter(k: FsKernel, to: int) -> int:
    it = k.vfs.iters[to]
    done = 0
    while it.count:
        step = min(4096, it.count)
        copied = it.copy_to(k.random.randbytes(step))
        done += copied
        if copied < step:
            return done or -EFAULT
    return done


@kernel_function(
    "ssize_t urandom_read_iter(struct kiocb *kiocb, struct iov_iter *iter)", source="drivers/char/random.c",
    since="5.10",
)  # fmt: skip
def urandom_read_iter(k: FsKernel, iocb: int, to: int) -> int:
    """Bytes of the machine's seed."""
    return _random_iter(k, to)


@kernel_function(
    "ssize_t random_read_iter(struct kiocb *kiocb, struct iov_iter *iter)", source="drivers/char/random.c",
    since="5.10",
)  # fmt: skip
def random_read_iter(k: FsKernel, iocb: int, to: int) -> int:
    """Bytes of the machine's seed."""
    return _random_iter(k, to)


def _random_read(k: FsKernel, buf: int, count: int) -> int:
    count = min(count, 1 << 25)
    k.usercopy.copy_to_user(buf, k.random.randbytes(count))
    return count


@kernel_function(
    "ssize_t urandom_read(struct file *file, char *buf, size_t nbytes, loff_t *ppos)", source="drivers/char/random.c",
    until="5.10",
)  # fmt: skip
def urandom_read(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> int:
    """Bytes of the machine's seed."""
    return _random_read(k, buf, count)


@kernel_function(
    "ssize_t random_read(struct file *file, char *buf, size_t nbytes, loff_t *ppos)", source="drivers/char/random.c",
    until="5.10",
)  # fmt: skip
def random_read(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> int:
    """Bytes of the machine's seed."""
    return _random_read(k, buf, count)


@kernel_function(
    "ssize_t random_write(struct file *file, const char *buffer, size_t count, loff_t *ppos)",
    source="drivers/char/random.c",
    until="5.10",
)
def random_write(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> int:
    """Entropy is taken and forgotten: runs must repeat."""
    k.usercopy.copy_from_user(buf, min(count, 1 << 20))
    return count


@kernel_function(
    "ssize_t random_write_iter(struct kiocb *kiocb, struct iov_iter *iter)",
    source="drivers/char/random.c",
    since="5.10",
)
def random_write_iter(k: FsKernel, iocb: int, from_: int) -> int:
    """The same; EFAULT where nothing could be read."""
    it = k.vfs.iters[from_]
    done = 0
    while it.count:
        step = min(4096, it.count)
        taken = len(it.copy_from(step))
        done += taken
        if taken < step:
            return done or -EFAULT
    return done


# include/uapi/linux/random.h
RNDGETENTCNT, RNDADDTOENTCNT, RNDADDENTROPY, RNDZAPENTCNT, RNDCLEARPOOL, RNDRESEEDCRNG = (
    0x80045200, 0x40045201, 0x40085203, 0x5204, 0x5206, 0x5207,
)  # fmt: skip
POOL_BITS = 256


def _random_ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    """random_ioctl(): the pool is always full.  EPERM, EINVAL, EFAULT."""
    if cmd == RNDGETENTCNT:
        k.usercopy.put_user(arg, 4, POOL_BITS)
        return 0
    if cmd not in (RNDADDTOENTCNT, RNDADDENTROPY, RNDZAPENTCNT, RNDCLEARPOOL, RNDRESEEDCRNG):
        return -EINVAL
    if not k.capable(CAP_SYS_ADMIN):
        return -EPERM
    if cmd in (RNDADDTOENTCNT, RNDADDENTROPY) and k.usercopy.get_user(arg, 4, signed=True) < 0:
        return -EINVAL
    return 0


# --- tables ---


def _map_zero(k: FsKernel, file: File, vma: Vma) -> None:
    """/dev/zero: anonymous memory (the core treats a mapping without file pages so)."""
    vma.fault = lambda vma, pgoff: k.vfs.pool.alloc_page()


NULL_FOPS = FileOperations(
    "null_fops", nowait="6.0", splice=False, read="read_null", write="write_null", read_iter="read_iter_null", write_iter="write_iter_null",
    llseek="null_lseek",
)  # fmt: skip
ZERO_FOPS = FileOperations(
    "zero_fops", nowait="6.0", splice=False, read="read_zero", write="write_null", read_iter="read_iter_zero", write_iter="write_iter_null",
    llseek="null_lseek", mmap=_map_zero,
)  # fmt: skip
ZERO_FOPS_5_7 = FileOperations(
    "zero_fops", splice=False, write="write_null", read_iter="read_iter_zero", write_iter="write_iter_null", llseek="null_lseek",
    mmap=_map_zero,
)  # fmt: skip
FULL_FOPS = FileOperations(
    "full_fops", splice=False, write="write_full", read_iter="read_iter_zero", llseek="null_lseek"
)
RANDOM_FOPS = FileOperations(
    "random_fops", ioctl=_random_ioctl, nowait="5.1", read_iter="random_read_iter", write_iter="random_write_iter", llseek="noop_llseek",
    poll=_random_poll,
)  # fmt: skip
URANDOM_FOPS = FileOperations(
    "urandom_fops", ioctl=_random_ioctl, nowait="5.1", read_iter="urandom_read_iter", write_iter="random_write_iter", llseek="noop_llseek",
)  # fmt: skip
RANDOM_FOPS_5_18 = FileOperations(
    "random_fops",
    ioctl=_random_ioctl,
    read="random_read",
    write="random_write",
    llseek="noop_llseek",
    poll=_random_poll,
)
URANDOM_FOPS_5_18 = FileOperations(
    "urandom_fops", ioctl=_random_ioctl, read="urandom_read", write="random_write", llseek="noop_llseek"
)
Node = tuple[str, int, int, int]  # name, major, minor, mode
# Those of /dev in the order in which the kernel makes them.  drivers/char/mem.c:devlist[]
DEVICE_NODES: tuple[Node, ...] = (
    ("null", 1, 3, 0o666),
    ("zero", 1, 5, 0o666),
    ("full", 1, 7, 0o666),
    ("random", 1, 8, 0o666),
    ("urandom", 1, 9, 0o666),
    ("kmsg", 1, 11, 0o644),
    ("tty", 5, 0, 0o666),
    ("console", 5, 1, 0o600),
    ("ptmx", 5, 2, 0o666),
)


def device_nodes(names: Features) -> tuple[Node, ...]:
    """Those of this version; each row of drivers/char/misc.c is the next free number down from 127, or up from 256."""
    misc = () if names.userfaultfd_minor is None else (("userfaultfd", 10, names.userfaultfd_minor, 0o600),)
    return DEVICE_NODES + misc


def char_devices(names: Features) -> dict[int, FileOperations]:
    """dev_t -> operations, for this version."""
    new_tty = names.tty_iter
    new_random = names.random_iter
    return {
        makedev(1, 3): NULL_FOPS,
        makedev(1, 5): ZERO_FOPS if names.read_zero else ZERO_FOPS_5_7,
        makedev(1, 7): FULL_FOPS,
        makedev(1, 8): RANDOM_FOPS if new_random else RANDOM_FOPS_5_18,
        makedev(1, 9): URANDOM_FOPS if new_random else URANDOM_FOPS_5_18,
        makedev(1, 11): KMSG_FOPS,
        makedev(5, 0): hostio.TTY_FOPS if new_tty else hostio.TTY_FOPS_5_11,
        devpts.PTMX_DEV: devpts.PTMX_FOPS[new_tty],
        makedev(5, 1): hostio.CONSOLE_FOPS if new_tty else hostio.CONSOLE_FOPS_5_11,
        **({makedev(10, minor): USERFAULTFD_DEV_FOPS} if (minor := names.userfaultfd_minor) is not None else {}),
    }
