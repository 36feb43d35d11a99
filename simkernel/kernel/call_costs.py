"""Cost model: what system calls cost on a real machine beyond what their kernel functions are charged here.

Measured on Linux 6.18 (a Zen of 2024 as a guest, files on tmpfs), the least of many, less what the same call costs here without its
row: `tests/tools/call_costs.c`.  Calls with no row cost what their functions cost, which is about as much; so do those that every
program makes at its start, whose times many recorded traces hold.
"""

from __future__ import annotations

SETLK_NS = 340  # fcntl(F_SETLK) and its like; of other commands nothing
SOCK_DUMP_NS = 5000  # a dump of sock_diag, without what it finds
# ns of virtual time by the name of the call; those that are answered in the hook of their instruction have none
CALL_NS: dict[str, int] = {
    # names of files
    "creat": 2500, "link": 1800, "linkat": 1800, "symlink": 2000, "symlinkat": 2000, "unlink": 1200, "unlinkat": 1200, "mkdir": 2000,
    "mkdirat": 2000, "mknod": 2000, "mknodat": 2000, "rmdir": 2300, "rename": 2000, "renameat": 2000, "renameat2": 2000,
    # what files are
    "chmod": 700, "fchmod": 500, "fchmodat": 700, "chown": 900, "fchown": 700, "lchown": 900, "fchownat": 900, "utimensat": 650,
    "statfs": 450, "fstatfs": 300, "truncate": 800, "ftruncate": 600, "fallocate": 220, "flock": 170, "getdents64": 400,
    # descriptors that are no files
    "epoll_create1": 700, "epoll_ctl": 400, "eventfd2": 700, "signalfd4": 700, "timerfd_create": 800, "timerfd_settime": 300,
    "memfd_create": 2800, "inotify_init1": 1000, "inotify_add_watch": 900, "inotify_rm_watch": 1700, "splice": 400, "tee": 300,
    # sockets
    "socket": 2500, "socketpair": 5000, "sendmsg": 500, "recvmsg": 500,
    # the process
    "times": 430, "getrusage": 450, "kill": 200, "tkill": 200, "tgkill": 200, "setitimer": 200, "timer_create": 350, "timer_delete": 250,
    "mincore": 670, "mlock": 2000, "munlock": 2000,
    # System V IPC and keys
    "semctl": 50, "semop": 130, "semtimedop": 130, "msgsnd": 350, "msgrcv": 350, "shmget": 2300, "shmctl": 1000, "shmat": 2200, "shmdt": 2200,
    "add_key": 1000, "keyctl": 650,
}  # fmt: skip
