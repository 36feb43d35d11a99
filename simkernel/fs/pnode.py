"""Mount propagation: shared mounts, their peers and slaves.  fs/pnode.c, Documentation/filesystems/sharedsubtree.rst.

Peers are the mounts with one group number; a slave names the group that it hears of.  What is mounted on a place of a
shared mount is mounted on the same place of its peers, and of the slaves of the group, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count

from arch.abi.mount import MS_PRIVATE, MS_SHARED, MS_SLAVE, MS_UNBINDABLE
from simkernel.fs.inode import Dentry, Mount, Path
from simkernel.fs.mounts import Mounts, top_of


def peers(mounts: Mounts, group: int) -> list[Mount]:
    """The members of a peer group."""
    return [mnt for mnt in mounts if mnt.group_id == group] if group else []


def set_shared(mounts: Mounts, mnt: Mount) -> None:
    """set_mnt_shared(), with a group of its own if it has none."""
    if not mnt.group_id:
        used = {member.group_id for member in mounts}
        mnt.group_id = next(group for group in count(1) if group not in used)  # mnt_group_ida
    mnt.unbindable = False


def leave_group(mounts: Mounts, mnt: Mount) -> int:
    """A mount is no peer any more: the group that it can be a slave of; slaves of a group without peers go up."""
    group, mnt.group_id = mnt.group_id, 0
    if not group:
        return mnt.master_id
    if peers(mounts, group):
        return group
    for other in mounts:
        if other.master_id == group:
            other.master_id = mnt.master_id
    return mnt.master_id


def change_propagation(mounts: Mounts, mnt: Mount, kind: int) -> None:
    """change_mnt_propagation()."""
    if kind == MS_SHARED:
        set_shared(mounts, mnt)
        return
    master = leave_group(mounts, mnt)
    mnt.master_id = master if kind == MS_SLAVE else 0
    if kind != MS_SLAVE:
        mnt.unbindable = kind == MS_UNBINDABLE


def copied(mounts: Mounts, copies: dict[Mount, Mount], slave: bool = False, shared: bool = False) -> None:
    """clone_mnt(): a copy is its original's peer and its masters' slave; or (`slave`) the original's slave."""
    for old, new in copies.items():
        if slave:
            new.master_id = old.group_id or old.master_id
        else:
            new.group_id, new.master_id = old.group_id, old.master_id
        if shared:
            set_shared(mounts, new)


def targets(mounts: Mounts, origin: Mount) -> Iterator[tuple[Mount, bool]]:
    """next_mnt(): all mounts that hear of what happens on a shared one, and whether each is a slave on the way there."""
    seen = {origin}
    groups = [(origin.group_id, False)]
    while groups:
        group, slave = groups.pop(0)
        for mnt in mounts.all:
            if mnt in seen or not group:
                continue
            if mnt.group_id == group:
                seen.add(mnt)
                yield mnt, slave
            elif mnt.master_id == group:
                seen.add(mnt)
                yield mnt, True
                if mnt.group_id:
                    groups.append((mnt.group_id, True))


def _reaches(mnt: Mount, place: Dentry) -> bool:
    return mnt.mnt_root.is_ancestor_of(place)


def hearing(mounts: Mounts, at: Path) -> list[tuple[Mount, bool]]:
    """Mounts that have a place which hears of what is mounted on this one."""
    return [(target, slave) for target, slave in targets(mounts, at.mnt) if _reaches(target, at.dentry)]


def require_room(mounts: Mounts, at: Path, size: int, own: bool = True) -> None:
    """ENOSPC unless so many mounts may come to a place (`own`: they are new there), and to all that hear of it."""
    more = Counter({top_of(at.mnt): size * own})
    if at.mnt.group_id:
        for target, _ in hearing(mounts, at):
            more[top_of(target)] += size
    for top, number in more.items():
        mounts.require_room(top, number)


def attach(mounts: Mounts, mnt: Mount, at: Path, known: bool = False) -> None:
    """attach_recursive_mnt(): cover a place, and the same place of all that hear of it.

    `known`: the tree of the mount is there already (a copy, or one that moves).
    """
    if not known:
        mounts.attach(mnt, at)
        mounts.uncover(mnt)
    heard: list[tuple[Mount, bool]] = []
    if at.mnt.group_id:
        for member in mounts.tree(mnt):
            set_shared(mounts, member)
        heard = hearing(mounts, at)
    before = len(mounts.all)
    for target, slave in heard:
        if target in mounts.tree(mnt):
            continue
        grown = len(mounts.all)
        copies = mounts.copy_tree(mnt)
        copied(mounts, copies, slave, bool(target.group_id))
        copy = copies[mnt]
        below = mounts.at.get((target, at.dentry))
        if below is not None:  # it is tucked under what covers the place already
            mounts.uncover(below)
            mounts.cover(copy, target, at.dentry)
            mounts.cover(below, copy, copy.mnt_root)
        else:
            mounts.cover(copy, target, at.dentry)
        mounts.all[before:] = mounts.all[grown:] + mounts.all[before:grown]  # the last one is listed first
    mounts.cover(mnt, at.mnt, at.dentry)


def heard_of(mounts: Mounts, mnt: Mount) -> list[Mount]:
    """The copies that propagation made of a mount."""
    found = []
    for target, _ in targets(mounts, mnt.mnt_parent) if mnt.mnt_parent.group_id else ():
        copy = mounts.at.get((target, mnt.mountpoint))
        if copy is not None and copy.mnt_root is mnt.mnt_root and copy.mnt_sb is mnt.mnt_sb:
            found.append(copy)
    return found


def umount(mounts: Mounts, mnt: Mount) -> None:
    """umount_tree(UMOUNT_PROPAGATE): a mount goes, and the copies of it that nothing is mounted on."""
    for copy in heard_of(mounts, mnt):
        if not mounts.children_of(copy):
            leave_group(mounts, copy)
            mounts.detach(copy)
    for member in mounts.tree(mnt):
        member.master_id = 0 if member.group_id else member.master_id
        leave_group(mounts, member)
    mounts.detach(mnt)


def show(mnt: Mount) -> str:
    """The optional fields of /proc/PID/mountinfo."""
    out = f" shared:{mnt.group_id}" if mnt.group_id else ""
    out += f" master:{mnt.master_id}" if mnt.master_id else ""
    return out + (" unbindable" if mnt.unbindable else "")


KINDS = (MS_SHARED, MS_PRIVATE, MS_SLAVE, MS_UNBINDABLE)
