"""timerfd.  fs/timerfd.c."""

from __future__ import annotations

from arch.abi.errno import EAGAIN, ECANCELED, EINVAL, ENOTTY
from arch.abi.fcntl import O_CLOEXEC, O_NONBLOCK, O_RDWR
from arch.abi.ioctl import TFD_IOC_SET_TICKS
from arch.abi.poll import POLLIN
from arch.abi.time import (
    CLOCK_BOOTTIME,
    CLOCK_BOOTTIME_ALARM,
    CLOCK_MONOTONIC,
    CLOCK_REALTIME,
    CLOCK_REALTIME_ALARM,
    NSEC_PER_SEC,
    TFD_TIMER_ABSTIME,
    TFD_TIMER_CANCEL_ON_SET,
)
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, FileOperations
from simkernel.fs.select import read_timespec
from simkernel.kernel.calls.time import relative_ns
from simkernel.kernel.clock import HRTIMER_MODE_ABS, HRTIMER_MODE_REL, Event
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.namespaces import timens_ktime_to_host
from simkernel.kernel.task import WaitQueue


class TimerFd:
    """struct timerfd_ctx: ticks expired and not yet read."""

    def __init__(self, k: FsKernel, clock_id: int) -> None:
        self.k = k
        self.clock_id = clock_id
        self.ticks = 0
        self.expires = 0  # in CLOCK_MONOTONIC ns; 0 is disarmed
        self.interval = 0
        self.settime_flags = 0
        self.may_cancel = False  # who waits is to hear when the wall clock is set
        self.realtime_offset = k.clock.realtime_offset_ns  # as far as its reader knows
        self.timer: Event | None = None
        self.hrtimer = k.hrtimers.make("timerfd_tmrproc", clock_id, HRTIMER_MODE_ABS)
        self.wqh = WaitQueue("timerfd")

    def arm(self, expires: int, interval: int) -> None:
        """Start anew; 0 disarms."""
        self.k.clock.cancel(self.timer)
        self.k.hrtimers.cancel(self.hrtimer)
        self.k.hrtimers.init(self.hrtimer)
        self.timer = None
        self.ticks = 0
        self.expires, self.interval = expires, interval
        if expires:
            self.timer = self.k.clock.add(max(expires, self.k.clock.now_ns), self._expire)
            self.k.hrtimers.start(self.hrtimer, expires, self.hrtimer.mode)

    def _expire(self) -> None:
        with self.k.hrtimers.expiring(self.hrtimer, self.k.clock.now_ns):
            self._expired()

    def _expired(self) -> None:
        now = self.k.clock.now_ns
        if self.interval:
            passed = max(0, now - self.expires) // self.interval + 1
            self.ticks += passed
            self.expires += passed * self.interval
            self.timer = self.k.clock.add(self.expires, self._expire)
            self.k.hrtimers.start(self.hrtimer, self.expires, self.hrtimer.mode)
        else:
            self.ticks += 1
            self.expires = 0
            self.timer = None
        self.k.wake_up(self.wqh, 0)

    def follow(self, flags: int) -> None:
        """timerfd_setup_cancel(): an absolute time of the wall clock moves with it, and its reader may want to know."""
        by_wall = self.clock_id in (CLOCK_REALTIME, CLOCK_REALTIME_ALARM) and bool(flags & TFD_TIMER_ABSTIME)
        self.may_cancel = by_wall and bool(flags & TFD_TIMER_CANCEL_ON_SET)
        if by_wall:
            self.k.clock.when_set[self.jumped] = None
        else:
            self.k.clock.when_set.pop(self.jumped, None)

    def jumped(self, ns: int) -> None:
        """timerfd_clock_was_set()."""
        if self.expires:
            ticks = self.ticks
            self.arm(max(self.expires - ns, 1), self.interval)
            self.ticks = ticks
        if self.may_cancel:
            self.ticks += 1
            self.k.wake_up(self.wqh, 0)

    def canceled(self) -> bool:
        """timerfd_canceled(): once for each time that the clock was set."""
        if not self.may_cancel or self.realtime_offset == self.k.clock.realtime_offset_ns:
            return False
        self.realtime_offset = self.k.clock.realtime_offset_ns
        return True

    def left(self) -> tuple[int, int]:
        """(time to the next expiry, interval) in ns."""
        return (max(0, self.expires - self.k.clock.now_ns) if self.expires else 0), self.interval


@kernel_function(
    "ssize_t timerfd_read(struct file *file, char *buf, size_t count, loff_t *ppos)", source="fs/timerfd.c"
)
def timerfd_read(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """How often it has expired since the last read."""
    file = k.vfs.files[file_addr]
    if count < 8:
        return -EINVAL
    ctx: TimerFd = file.private_data
    while not ctx.ticks:
        if file.f_flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield k.wait(ctx.wqh)
        if ret < 0:
            return ret
    if ctx.canceled():
        ctx.ticks = 0
        return -ECANCELED
    ticks, ctx.ticks = ctx.ticks, 0
    k.usercopy.put_user(buf, 8, ticks)
    return 8


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    ctx: TimerFd = file.private_data
    if queues is not None:
        queues.append(ctx.wqh)
    return POLLIN if ctx.ticks else 0


def _release(k: FsKernel, file: File) -> None:
    k.clock.cancel(file.private_data.timer)
    k.clock.when_set.pop(file.private_data.jumped, None)
    k.hrtimers.free(file.private_data.hrtimer)


def _fdinfo(k: FsKernel, file: File) -> str:
    """timerfd_show()."""
    ctx: TimerFd = file.private_data
    left, interval = (divmod(value, NSEC_PER_SEC) for value in ctx.left())
    return (
        f"clockid: {ctx.clock_id}\nticks: {ctx.ticks}\nsettime flags: 0{ctx.settime_flags:o}\n"
        f"it_value: ({left[0]}, {left[1]})\nit_interval: ({interval[0]}, {interval[1]})\n"
    )


def _ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    """timerfd_ioctl(): TFD_IOC_SET_TICKS.  EINVAL, ECANCELED, ENOTTY."""
    if cmd != TFD_IOC_SET_TICKS:
        return -ENOTTY
    ticks, ctx = k.usercopy.get_user(arg, 8), file.private_data
    if not ticks:
        return -EINVAL
    if ctx.canceled():
        return -ECANCELED
    ctx.ticks = ticks
    k.wake_up(ctx.wqh, 0)
    return 0


TIMERFD_FOPS = FileOperations(
    "timerfd_fops", read="timerfd_read", llseek="noop_llseek", poll=_poll, ioctl=_ioctl, release=_release, show_fdinfo=_fdinfo
)  # fmt: skip


@syscall("timerfd_create", "int clockid, int flags", source="fs/timerfd.c")
def sys_timerfd_create(k: FsKernel, clockid: int, flags: int) -> int:
    """timerfd_create(2)."""
    clocks = (CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME_ALARM, CLOCK_BOOTTIME_ALARM)
    if flags & ~(O_CLOEXEC | O_NONBLOCK) or clockid not in clocks:
        return -EINVAL
    fd: int = k.vfs.anon_inode_getfd(k, "[timerfd]", TIMERFD_FOPS, TimerFd(k, clockid), O_RDWR | flags)
    return fd


def _context(k: FsKernel, fd: int) -> TimerFd:
    file = k.vfs.fget(fd)
    if file.f_op is not TIMERFD_FOPS:
        raise KernelError(EINVAL, "not a timerfd")
    ctx: TimerFd = file.private_data
    return ctx


def _put_spec(k: FsKernel, addr: int, times: tuple[int, int], word: int) -> None:
    """struct itimerspec: interval, then value."""
    left, interval = times
    for at, value in ((0, interval), (2 * word, left)):
        k.usercopy.put_user(addr + at, word, value // NSEC_PER_SEC)
        k.usercopy.put_user(addr + at + word, word, value % NSEC_PER_SEC)


@syscall(
    "timerfd_settime", "int ufd, int flags, const struct __kernel_itimerspec *utmr, struct __kernel_itimerspec *otmr",
    source="fs/timerfd.c",
)  # fmt: skip
def sys_timerfd_settime(k: FsKernel, ufd: int, flags: int, utmr: int, otmr: int) -> int:
    """timerfd_settime(2)."""
    return settime(k, ufd, flags, utmr, otmr, k.arch.model.word)


def settime(k: FsKernel, ufd: int, flags: int, utmr: int, otmr: int, word: int) -> int:
    """The same with the size of time_t."""
    k.usercopy.copy_from_user(utmr, 4 * word)
    if flags & ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET):
        return -EINVAL
    interval, value = read_timespec(k, utmr, word), read_timespec(k, utmr + 2 * word, word)
    ctx = _context(k, ufd)
    old = ctx.left()
    expires = value or 0
    if expires:
        if flags & TFD_TIMER_ABSTIME:
            if ctx.clock_id in (CLOCK_REALTIME, CLOCK_REALTIME_ALARM):
                expires -= k.clock.realtime_ns - k.clock.now_ns
            expires = timens_ktime_to_host(k.current.namespaces.get("time"), ctx.clock_id, expires)
            expires = max(expires, 1)
        else:
            expires = k.clock.now_ns + relative_ns(k, ctx.clock_id, expires)
    ctx.hrtimer.mode = HRTIMER_MODE_ABS if flags & TFD_TIMER_ABSTIME else HRTIMER_MODE_REL
    ctx.arm(expires, interval or 0)
    ctx.settime_flags = flags & (TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)
    ctx.follow(flags)
    if expires and ctx.canceled():
        return -ECANCELED
    if otmr:
        _put_spec(k, otmr, old, word)
    return 0


@syscall("timerfd_gettime", "int ufd, struct __kernel_itimerspec *otmr", source="fs/timerfd.c")
def sys_timerfd_gettime(k: FsKernel, ufd: int, otmr: int) -> int:
    """timerfd_gettime(2)."""
    return gettime(k, ufd, otmr, k.arch.model.word)


def gettime(k: FsKernel, ufd: int, otmr: int, word: int) -> int:
    """The same with the size of time_t."""
    _put_spec(k, otmr, _context(k, ufd).left(), word)
    return 0
