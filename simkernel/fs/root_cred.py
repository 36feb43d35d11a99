"""The kernel's own credentials.  include/linux/init_task.h: init_cred."""

from __future__ import annotations

from collections.abc import Collection

from simkernel.fs.inode import Dentry, Inode


class RootCred:
    """uid 0 with every capability: the kernel's own credentials, used at boot."""

    fsuid = fsgid = 0
    groups: Collection[int] = ()
    watched: Collection[str] = ()  # the kernel asks nobody

    def capable(self, cap: int, inode: Inode | None = None) -> bool:
        """Root is capable."""
        return True

    def ask(self, hook: str, *about: int | Dentry | Inode) -> None:
        """Nor here."""


ROOT_CRED = RootCred()
