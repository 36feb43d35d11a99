"""poll(2), select(2).  fs/select.c.

Each file says what is ready and which wait queues would tell of a change; the task sleeps on all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from arch.abi.errno import EBADF, EINTR, EINVAL, ERESTARTNOHAND, ETIME
from arch.abi.poll import (
    DEFAULT_POLLMASK,
    POLLERR,
    POLLHUP,
    POLLIN,
    POLLNVAL,
    POLLOUT,
    POLLPRI,
    POLLRDBAND,
    POLLRDNORM,
    POLLWRBAND,
    POLLWRNORM,
)
from arch.abi.time import CLOCK_MONOTONIC, NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import File
from simkernel.kernel.clock import HRTIMER_MODE_ABS
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.hrtimers import poll_slack
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import WaitQueue

UNBLOCKABLE = 1 << 8 | 1 << 18  # SIGKILL, SIGSTOP
POLLIN_SET = POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR
POLLOUT_SET = POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR
POLLEX_SET = POLLPRI


class PollWait:
    """Who is told when any of a file's queues is woken: struct poll_wqueues."""

    __slots__ = ("queues", "told")

    def __init__(self, told: Callable[[], object]) -> None:
        self.told = told
        self.queues: list[WaitQueue] = []

    def hang(self, queues: list[WaitQueue], exclusive: bool = False) -> None:
        """On these queues, behind who hangs there."""
        self.queues = queues
        for queue in queues:
            queue.on_wake[self.told] = exclusive

    def drop(self) -> None:
        """On none any more."""
        for queue in self.queues:
            queue.on_wake.pop(self.told, None)
        self.queues = []


def vfs_poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    """A file without poll is always ready."""
    if file.f_op.poll is None:
        return DEFAULT_POLLMASK
    return file.f_op.poll(k, file, queues)


def drive(k: FsKernel, files: Iterable[File]) -> Steps[None]:
    """What files do when they are polled, before they are looked at (`yield from`)."""
    for file in files:
        steps = file.f_op.drive(k, file) if file.f_op.drive is not None else None
        if steps is not None:
            yield from steps


def sleep_until(k: FsKernel, left_ns: int) -> None:
    """schedule_hrtimeout_range(): the timer of poll(2), select(2) and epoll_wait(2)."""
    slack = poll_slack(left_ns, k.current.timer_slack_ns)
    k.hrtimers.sleeper(k.current, CLOCK_MONOTONIC, HRTIMER_MODE_ABS, slack)


def wait_ready(
    k: FsKernel, check: Callable[[list[WaitQueue]], int], timeout_ns: int | None, driven: Iterable[File] = ()
) -> Steps[tuple[int, bool]]:
    """Repeat check(queues) -> count until it is not 0, time is up or a signal came; (count, interrupted)."""
    deadline = None if timeout_ns is None else k.clock.now_ns + timeout_ns
    while True:
        queues: list[WaitQueue] = []
        yield from drive(k, driven)
        count = check(queues)
        if count:
            return count, False
        left = None if deadline is None else deadline - k.clock.now_ns
        if left is not None and left <= 0:
            return 0, False
        if left is not None:
            sleep_until(k, left)
        ret = yield k.wait(tuple(queues) if queues else None, timeout_ns=left)
        if ret == -ETIME:
            return check([]), False
        if ret < 0:
            return check([]), True


def driven(k: FsKernel, fds: Iterable[int]) -> list[File]:
    """The files among descriptors that do something when they are polled."""
    mine = files_of(k.current).fds
    found = (mine.get(fd) for fd in fds)
    return [file for file in found if file is not None and file.f_op.drive is not None]


STICKY_TIMEOUTS = 0x4000000  # include/uapi/linux/personality.h


class PollCall:
    """One poll(2): the descriptors and what they answered."""

    def __init__(self, k: FsKernel, ufds: int, nfds: int) -> None:
        self.k = k
        self.ufds = ufds
        raw = k.usercopy.copy_from_user(ufds, 8 * nfds) if nfds else b""
        order = k.mem.byteorder
        self.rows = [
            (
                int.from_bytes(raw[i : i + 4], order, signed=True),
                int.from_bytes(raw[i + 4 : i + 6], order),
            )
            for i in range(0, 8 * nfds, 8)
        ]
        self.revents = [0] * nfds

    def check(self, queues: list[WaitQueue]) -> int:
        """do_poll(): how many are ready."""
        count = 0
        fds = files_of(self.k.current).fds
        for i, (fd, events) in enumerate(self.rows):
            mask = 0
            if fd >= 0:
                file = fds.get(fd)
                if file is None or file.f_mode & c.FMODE_PATH:
                    mask = POLLNVAL
                else:
                    mask = vfs_poll(self.k, file, queues) & (events | POLLERR | POLLHUP)
            self.revents[i] = mask
            if mask:
                count += 1
        return count

    def finish(self) -> None:
        """Copy the answers out."""
        for i, mask in enumerate(self.revents):
            self.k.usercopy.put_user(self.ufds + 8 * i + 6, 2, mask)


@kernel_function(
    "int do_sys_poll(struct pollfd *ufds, unsigned int nfds, struct timespec64 *end_time)", source="fs/select.c"
)
def do_sys_poll(k: FsKernel, ufds: int, nfds: int, end_time: int) -> Body:
    """Poll until something is ready; the timeout is found by the address of end_time."""
    if nfds > files_of(k.current).limit():
        return -EINVAL
    timeout: int | None = k.vfs.timeouts[end_time] if end_time else None
    call = PollCall(k, ufds, nfds)
    count, interrupted = yield from wait_ready(k, call.check, timeout, driven(k, (fd for fd, _ in call.rows)))
    if interrupted and not count:
        return -EINTR
    call.finish()
    return count


def _poll(k: FsKernel, ufds: int, nfds: int, timeout_ns: int | None) -> Body:
    addr = 0
    if timeout_ns is not None:
        addr = k.mem.alloc(16)
        k.vfs.timeouts[addr] = timeout_ns
    try:
        return (yield k.call("do_sys_poll", ufds, nfds, addr))
    finally:
        if addr:
            del k.vfs.timeouts[addr]
            k.mem.free(addr)


@syscall("poll", "struct pollfd *ufds, unsigned int nfds, int timeout_msecs", source="fs/select.c")
def sys_poll(k: FsKernel, ufds: int, nfds: int, timeout_msecs: int) -> Body:
    """poll(2)."""
    ret = yield from _poll(k, ufds, nfds, None if timeout_msecs < 0 else timeout_msecs * 1_000_000)
    return -ERESTARTNOHAND if ret == -EINTR else ret


def read_timespec(k: FsKernel, addr: int, word: int = 0) -> int | None:
    """struct timespec of user space in nanoseconds; None for a null pointer; EINVAL.  `word` is the size of time_t."""
    if not addr:
        return None
    word = word or k.arch.model.word
    sec, nsec = k.usercopy.get_user(addr, word, True), k.usercopy.get_user(addr + word, word, True)
    if sec < 0 or not 0 <= nsec < NSEC_PER_SEC:
        raise KernelError(EINVAL, "bad timespec")
    return int(sec * NSEC_PER_SEC + nsec)


def set_mask(k: FsKernel, sigmask: int, size: int) -> Callable[[bool], None] | None:
    """set_user_sigmask(): install a temporary mask.

    Gives a function of (interrupted): it puts the old mask back, or leaves that to the delivery of the signal.
    """
    if not sigmask:
        return None
    if size != 8:
        raise KernelError(EINVAL, "sigset size")
    task = k.current
    task.saved_blocked = task.blocked
    task.blocked = k.usercopy.get_user(sigmask, 8) & ~UNBLOCKABLE
    task.work = True

    def restore(interrupted: bool) -> None:
        if not interrupted and task.saved_blocked is not None:
            task.blocked, task.saved_blocked = task.saved_blocked, None

    return restore


@syscall(
    "ppoll", "struct pollfd *ufds, unsigned int nfds, struct __kernel_timespec *tsp, const sigset_t *sigmask, "
    "size_t sigsetsize", source="fs/select.c",
)  # fmt: skip
def sys_ppoll(k: FsKernel, ufds: int, nfds: int, tsp: int, sigmask: int, sigsetsize: int) -> Body:
    """ppoll(2)."""
    return (yield from ppoll(k, ufds, nfds, tsp, sigmask, sigsetsize, k.arch.model.word))


def ppoll(k: FsKernel, ufds: int, nfds: int, tsp: int, sigmask: int, sigsetsize: int, word: int) -> Body:
    """The same with the size of time_t."""
    timeout = read_timespec(k, tsp, word)
    start = k.clock.now_ns
    restore = set_mask(k, sigmask, sigsetsize)
    ret = yield from _poll(k, ufds, nfds, timeout)
    if restore is not None:
        restore(ret == -EINTR)
    told = not (tsp and timeout) or _put_left(k, tsp, timeout - (k.clock.now_ns - start), 1, word)
    return -ERESTARTNOHAND if ret == -EINTR and told else ret


def _put_left(k: FsKernel, addr: int, left_ns: int, unit: int, word: int) -> bool:
    """poll_select_finish(): what is left of the timeout; `unit` 1 for timespec, 1000 for timeval.

    False: it is not told, as the personality wants it or because it cannot be written; such a call is not restarted.
    """
    left = max(0, left_ns)
    if k.current.personality & STICKY_TIMEOUTS:
        return False
    try:
        k.usercopy.put_user(addr, word, left // NSEC_PER_SEC)
        k.usercopy.put_user(addr + word, word, left % NSEC_PER_SEC // unit)
    except KernelError:
        return False
    return True


class SelectCall:
    """One select(2)."""

    def __init__(self, k: FsKernel, n: int, inp: int, outp: int, exp: int) -> None:
        self.k = k
        self.n = n
        self.pointers = (inp, outp, exp)
        word = k.arch.model.word
        self.size = (n + 8 * word - 1) // (8 * word) * word
        self.wanted = [self._read(p) for p in self.pointers]
        self.result: list[set[int]] = [set(), set(), set()]

    def _read(self, addr: int) -> set[int]:
        if not addr or not self.size:
            return set()
        raw = self.k.usercopy.copy_from_user(addr, self.size)
        word = self.k.arch.model.word
        out = set()
        for at in range(0, self.size, word):
            value = int.from_bytes(raw[at : at + word], self.k.mem.byteorder)
            base = at * 8
            out |= {base + bit for bit in range(8 * word) if value >> bit & 1 and base + bit < self.n}
        return out

    def check_fds(self) -> int:
        """EBADF for a descriptor that is not open."""
        fds = files_of(self.k.current).fds
        every = self.wanted[0] | self.wanted[1] | self.wanted[2]
        return -EBADF if any(fd not in fds for fd in every) else 0

    def check(self, queues: list[WaitQueue]) -> int:
        """do_select(): how many bits are set."""
        fds = files_of(self.k.current).fds
        self.result = [set(), set(), set()]
        for fd in sorted(self.wanted[0] | self.wanted[1] | self.wanted[2]):
            file = fds.get(fd)
            if file is None:
                continue
            mask = vfs_poll(self.k, file, queues)
            for which, bits in enumerate((POLLIN_SET, POLLOUT_SET, POLLEX_SET)):
                if mask & bits and fd in self.wanted[which]:
                    self.result[which].add(fd)
        return sum(map(len, self.result))

    def finish(self) -> None:
        """Copy the sets out."""
        word = self.k.arch.model.word
        for addr, fds in zip(self.pointers, self.result, strict=True):
            if addr:
                raw = b"".join(
                    sum(1 << fd - at * 8 for fd in fds if 0 <= fd - at * 8 < 8 * word).to_bytes(
                        word, self.k.mem.byteorder
                    )
                    for at in range(0, self.size, word)
                )
                self.k.usercopy.copy_to_user(addr, raw)


def _select(k: FsKernel, n: int, inp: int, outp: int, exp: int, timeout_ns: int | None) -> Body:
    if n < 0:
        return -EINVAL
    n = min(n, max(files_of(k.current).max_fds, 64))
    call = SelectCall(k, n, inp, outp, exp)
    bad = call.check_fds()
    if bad:
        return bad
    count, interrupted = yield from wait_ready(k, call.check, timeout_ns, driven(k, set().union(*call.wanted)))
    if interrupted and not count:
        return -EINTR
    call.finish()
    return count


@syscall(
    "select", "int n, fd_set *inp, fd_set *outp, fd_set *exp, struct __kernel_old_timeval *tvp", source="fs/select.c"
)
def sys_select(k: FsKernel, n: int, inp: int, outp: int, exp: int, tvp: int) -> Body:
    """select(2)."""
    timeout = None
    if tvp:
        word = k.arch.model.word
        sec, usec = k.usercopy.get_user(tvp, word, True), k.usercopy.get_user(tvp + word, word, True)
        if sec < 0 or usec < 0:
            return -EINVAL
        timeout = sec * NSEC_PER_SEC + usec * 1000
    start = k.clock.now_ns
    ret = yield from _select(k, n, inp, outp, exp, timeout)
    told = not (tvp and timeout) or _put_left(k, tvp, timeout - (k.clock.now_ns - start), 1000, k.arch.model.word)
    return -ERESTARTNOHAND if ret == -EINTR and told else ret


@syscall(
    "pselect6", "int n, fd_set *inp, fd_set *outp, fd_set *exp, struct __kernel_timespec *tsp, void *sig",
    source="fs/select.c",
)  # fmt: skip
def sys_pselect6(k: FsKernel, n: int, inp: int, outp: int, exp: int, tsp: int, sig: int) -> Body:
    """pselect(2): the sixth argument points to (sigset pointer, size)."""
    return (yield from pselect6(k, n, inp, outp, exp, tsp, sig, k.arch.model.word))


def pselect6(k: FsKernel, n: int, inp: int, outp: int, exp: int, tsp: int, sig: int, word: int) -> Body:
    """The same with the size of time_t."""
    pointer = k.arch.model.word
    sigmask = k.usercopy.get_user(sig, pointer) if sig else 0
    size = k.usercopy.get_user(sig + pointer, pointer) if sig else 0
    timeout = read_timespec(k, tsp, word)
    start = k.clock.now_ns
    restore = set_mask(k, sigmask, size)
    ret = yield from _select(k, n, inp, outp, exp, timeout)
    if restore is not None:
        restore(ret == -EINTR)
    told = not (tsp and timeout) or _put_left(k, tsp, timeout - (k.clock.now_ns - start), 1, word)
    return -ERESTARTNOHAND if ret == -EINTR and told else ret
