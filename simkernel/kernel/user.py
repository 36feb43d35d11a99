"""What the kernel counts for each user, to hold it against a limit.  struct user_struct, struct ucounts: kernel/user.c, kernel/ucount.c."""

from __future__ import annotations

from collections.abc import Callable


class User:
    """struct user_struct, and what struct ucounts has for the initial user namespace."""

    __slots__ = ("charge", "epoll_watches", "inotify_watches", "mq_bytes", "pipe_bufs", "sigpending", "unix_inflight")

    def __init__(self, charge: Callable[[int], None]) -> None:
        self.charge = charge  # bytes of kernel memory: KernelError(ENOMEM)
        self.epoll_watches = 0  # files in epoll sets: fs.epoll.max_user_watches
        self.inotify_watches = 0  # fs.inotify.max_user_watches
        self.mq_bytes = 0  # of POSIX message queues: RLIMIT_MSGQUEUE
        self.pipe_bufs = 0  # pages that pipes may hold: fs.pipe-user-pages-soft, -hard
        self.sigpending = 0  # queued signals and POSIX timers: RLIMIT_SIGPENDING
        self.unix_inflight = 0  # files on their way through unix sockets: RLIMIT_NOFILE


class Users:
    """`k.users`: by the kernel's own user id (of the real user)."""

    def __init__(self, charge: Callable[[int], None]) -> None:
        self._charge = charge
        self._by_uid: dict[int, User] = {}

    def of(self, uid: int) -> User:
        """alloc_uid(): the user's counts."""
        user = self._by_uid.get(uid)
        if user is None:
            user = self._by_uid[uid] = User(self._charge)
        return user
