"""Signals that wait to be taken.  struct sigpending, struct sigqueue: kernel/signal.c.

A queue is asked for its mask at every return to user mode, and may be long: it keeps the mask, and a list for each number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from arch.abi.signal import SIG_DFL, SIG_IGN, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP
from simkernel.kernel.user import User

SIGQUEUE_SIZE = 80  # bytes of a struct sigqueue


class SigInfo:
    """One pending signal: what becomes siginfo_t."""

    __slots__ = (
        "addr", "band", "call", "code", "errno", "fd", "lsb", "number", "perf", "pid", "place", "queued", "sig", "status", "stime", "uid", "user",
        "utime", "value",
    )  # fmt: skip

    def __init__(self, sig: int, code: int = 0, pid: int = 0, uid: int = 0) -> None:
        self.sig = sig
        self.code = code
        self.pid = pid
        self.uid = uid
        self.addr = 0
        self.lsb = 0  # of a broken page: how many bits of the address say nothing
        self.status = 0
        self.utime = self.stime = 0
        self.value = 0
        self.errno = 0
        self.band = self.fd = 0  # of a signal about a file
        self.call: tuple[int, int] | None = None  # of SIGSYS: number and architecture
        self.user: User | None = None  # in whose count it is, for RLIMIT_SIGPENDING
        self.queued = False
        self.perf: tuple[int, int, int] | None = None  # of TRAP_PERF: what the event says, its type, flags
        self.place = 0  # a struct sigqueue, if somebody listens to such
        self.number = 0  # in the order in which they came


def bit(sig: int) -> int:
    """Mask of one signal."""
    return 1 << (sig - 1)


def bits(*sigs: int) -> int:
    """Mask of several signals."""
    return sum(bit(s) for s in sigs)


SYNCHRONOUS = bits(SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGSYS)


class SigPending:
    """struct sigpending: of a thread, or of a group."""

    __slots__ = ("_came", "_queues", "mask")

    def __init__(self) -> None:
        self.mask = 0  # bit sig-1 for each pending signal; one of them may have no entry in the queues: see lose()
        self._queues: dict[int, deque[SigInfo]] = {}
        self._came = 0

    def __bool__(self) -> bool:
        return self.mask != 0

    def __iter__(self) -> Iterator[SigInfo]:
        """In the order in which they came."""
        return iter(sorted((info for queue in self._queues.values() for info in queue), key=lambda info: info.number))

    def has(self, sig: int) -> bool:
        """sigismember()."""
        return bool(self.mask & bit(sig))

    def append(self, info: SigInfo) -> None:
        """One more."""
        self._came += 1
        info.number, info.queued = self._came, True
        self._queues.setdefault(info.sig, deque()).append(info)
        self.mask |= bit(info.sig)

    def lose(self, sig: int) -> None:
        """One more of which only the number is known: there was no room for who sent it."""
        self.mask |= bit(sig)

    def take(self, blocked: int = 0) -> SigInfo | None:
        """dequeue_signal(): the next that is not blocked; faults first, then by number.  None: there is none."""
        allowed = self.mask & ~blocked
        if not allowed:
            return None
        allowed = allowed & SYNCHRONOUS or allowed
        sig = (allowed & -allowed).bit_length()
        queue = self._queues.get(sig)
        info = _left(queue.popleft()) if queue else SigInfo(sig)
        if not queue:
            self._queues.pop(sig, None)
            self.mask &= ~bit(sig)
        return info

    def flush(self, mask: int) -> None:
        """flush_sigqueue_mask(): forget those of a mask."""
        for sig in [sig for sig in self._queues if bit(sig) & mask]:
            for info in self._queues.pop(sig):
                _left(info)
        self.mask &= ~mask

    def flush_code(self, code: int) -> None:
        """Forget those of one si_code.  A number of which nothing else waits is not pending any more."""
        for sig, queue in list(self._queues.items()):
            kept = deque(info for info in queue if info.code != code)
            if len(kept) == len(queue):
                continue
            for info in queue:
                if info.code == code:
                    _left(info)
            if kept:
                self._queues[sig] = kept
            else:
                del self._queues[sig]
                self.mask &= ~bit(sig)


def _left(info: SigInfo) -> SigInfo:
    """__sigqueue_free()."""
    info.queued = False
    if info.user is not None:
        info.user.sigpending -= 1
        info.user.charge(-SIGQUEUE_SIZE)
        info.user = None
    return info


class SigAction(NamedTuple):
    """struct k_sigaction.  It cannot change: tables of actions, of which a fork makes one, share it."""

    handler: int = 0
    flags: int = 0
    mask: int = 0
    restorer: int = 0

    def handled_by(self, handler: int) -> SigAction:
        """The same with another handler."""
        return self._replace(handler=handler)


def after_exec(action: SigAction) -> SigAction:
    """What is left of it where nobody's handlers are there any more."""
    return IGNORED_ACTION if action.handler == SIG_IGN else DEFAULT_ACTION


DEFAULT_ACTION, IGNORED_ACTION = SigAction(SIG_DFL), SigAction(SIG_IGN)
