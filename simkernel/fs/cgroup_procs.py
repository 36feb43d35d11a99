"""Who may move tasks from one control group to another.  kernel/cgroup/cgroup.c."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, Self

from arch.abi.errno import ENOENT
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.inode import Cred, Dentry, Inode, SuperBlock, inode_permission
from simkernel.kernel.face import KernelFace
from simkernel.kernel.user_namespace import is_mapped, user_ns


class Group(Protocol):
    """A group as this file sees it."""

    name: str
    removed: bool

    def up(self) -> Iterator[Self]:
        """Itself and those above."""

    def is_below(self, other: Self) -> bool:
        """cgroup_is_descendant(): itself counts."""


class Opener:
    """file->f_cred: who has opened a file, with the rights of that moment."""

    def __init__(self, k: KernelFace) -> None:
        task = k.current
        cred = task.cred
        self.k, self.space, self.effective = k, user_ns(task), cred.cap_effective
        self.fsuid, self.fsgid, self.groups = cred.fsuid, cred.fsgid, cred.groups
        self.watched: tuple[str, ...] = ()

    def capable(self, cap: int, inode: Inode | None = None) -> bool:
        """Towards an inode whose owner is somebody in the namespace."""
        mapped = inode is None or is_mapped(self.space, inode.i_uid, inode.i_gid)
        return bool(self.effective >> cap & 1) and mapped

    def ask(self, hook: str, *about: int | Dentry | Inode) -> None:
        """Modules are asked by who writes, not by who opened."""


def _procs_of(sb: SuperBlock, group: Group) -> Inode:
    """kernfs_get_inode() of its cgroup.procs."""
    names = [above.name for above in group.up()][-2::-1]
    here = sb.s_root
    for name in (*names, "cgroup.procs"):
        found = here.inode.lookup(here, name)
        assert found is not None
        here = found
    return here.inode


def may_write(sb: SuperBlock | None, group: Group, cred: Cred) -> None:
    """cgroup_may_write().  EACCES."""
    if sb is not None:
        inode_permission(_procs_of(sb, group), c.MAY_WRITE, cred)


def may_attach(sb: SuperBlock | None, old: Group, new: Group, cred: Cred) -> None:
    """cgroup_procs_write_permission(): who moves a task must be allowed to, by the nearest group that is above both.  EACCES."""
    may_write(sb, next(group for group in new.up() if old.is_below(group)), cred)


def may_fork_into(sb: SuperBlock | None, old: Group, new: Group, k: KernelFace) -> None:
    """cgroup_css_set_fork(), of a group found by its directory.  ENOENT, EACCES."""
    if new.removed:
        raise KernelError(ENOENT, "no such group any more")
    cred = Opener(k)
    may_write(sb, new, cred)
    may_attach(sb, old, new, cred)
