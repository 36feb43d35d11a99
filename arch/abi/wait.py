"""wait4(2) and waitid(2).  include/uapi/linux/wait.h.  Names without Linux's leading underscores where it has two."""

from __future__ import annotations

WNOHANG, WUNTRACED, WSTOPPED, WEXITED, WCONTINUED, WNOWAIT = 1, 2, 2, 4, 8, 0x01000000
WALL, WCLONE, WNOTHREAD = 0x40000000, 0x80000000, 0x20000000  # __WALL, __WCLONE, __WNOTHREAD
