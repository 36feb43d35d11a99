"""User namespaces: which ids stand for which, and who is capable where.  kernel/user_namespace.c, security/commoncap.c.

Ids inside the kernel are those of the initial namespace (kuid_t); they are translated where a program says or sees one.
None stands for the initial user namespace, as a missing entry of `task.namespaces` does.
"""

from __future__ import annotations

from typing import NamedTuple

from arch.abi.capability import CAP_FULL_SET
from arch.abi.limits import U32_MAX
from simkernel.kernel.face import KernelFace
from simkernel.kernel.namespaces import Namespace
from simkernel.kernel.task import Task

OVERFLOW_ID = 65534  # /proc/sys/kernel/overflowuid
MAX_USER_LEVEL = 32


class Extent(NamedTuple):
    """struct uid_gid_extent, with the lower id as the kernel knows it."""

    first: int
    lower: int
    length: int


class UserNamespace:
    """struct user_namespace."""

    def __init__(self, parent: Namespace | None, uid: int, gid: int) -> None:
        self.parent, self.uid, self.gid = parent, uid, gid  # and its owner
        self.level: int = state_of(parent).level + 1 if parent is not None else 1
        self.maps: dict[str, list[Extent] | None] = {"uid": None, "gid": None, "projid": None}
        self.setgroups: bool = True if parent is None else state_of(parent).setgroups
        self.parent_could_setfcap = False
        self.addr = 0


def state_of(namespace: Namespace) -> UserNamespace:
    """What a user namespace keeps."""
    assert isinstance(namespace.state, UserNamespace)
    return namespace.state


def user_ns(task: Task) -> Namespace | None:
    """current_user_ns()."""
    return task.namespaces.get("user")


def user_ns_address(k: KernelFace) -> int:
    """Its struct, for calls of ns_capable()."""
    return ns_address(k, user_ns(k.current))


def ns_address(k: KernelFace, namespace: Namespace | None) -> int:
    """Of any user namespace."""
    return k.vfs.init_user_ns if namespace is None else state_of(namespace).addr


def to_kernel(namespace: Namespace | None, kind: str, value: int) -> int:
    """make_kuid(): U32_MAX for an id that stands for nobody."""
    if namespace is None or value == U32_MAX:
        return value
    for extent in state_of(namespace).maps[kind] or ():
        if extent.first <= value < extent.first + extent.length:
            return value - extent.first + extent.lower
    return U32_MAX


def from_kernel(namespace: Namespace | None, kind: str, value: int) -> int:
    """from_kuid(): U32_MAX for somebody who has no id there."""
    if namespace is None:
        return value
    for extent in state_of(namespace).maps[kind] or ():
        if extent.lower <= value < extent.lower + extent.length:
            return value - extent.lower + extent.first
    return U32_MAX


def munged(namespace: Namespace | None, kind: str, value: int) -> int:
    """from_kuid_munged(): as a program is told."""
    if namespace is None:
        return value
    found = from_kernel(namespace, kind, value)
    return OVERFLOW_ID if found == U32_MAX else found


def is_mapped(namespace: Namespace | None, uid: int, gid: int) -> bool:
    """Both ids mean something there: privileged_wrt_inode_uidgid()."""
    return namespace is None or U32_MAX not in (from_kernel(namespace, "uid", uid), from_kernel(namespace, "gid", gid))


def ns_capable(task: Task, target: Namespace | None, cap: int) -> bool:
    """cap_capable(): has the task this capability in a namespace?  The owner of one has all of them in it, from its parent."""
    mine, cred = user_ns(task), task.cred
    while target is not mine:
        if target is None:
            return False
        state = state_of(target)
        if state.parent is mine and state.uid == cred.euid:
            return True
        target = state.parent
    return bool(cred.cap_effective >> cap & 1)


def may_in(k: KernelFace, target: Namespace | None, cap: int) -> bool:
    """ns_capable() of the current task, which a probe sees."""
    allowed = ns_capable(k.current, target, cap)
    if k.capable_watched:
        k.capable_seen(ns_address(k, target), cap, 0, allowed)
    if allowed:
        k.privilege_used()
    return allowed


def create_user_ns(k: KernelFace, task: Task, namespace: Namespace) -> None:
    """set_cred_user_ns(): a task that makes one has all capabilities there, and none elsewhere."""
    state, cred = state_of(namespace), task.cred.copy()
    state.parent_could_setfcap = bool(cred.cap_effective >> 31 & 1)
    state.addr = k.mem.alloc(64)
    k.user_namespaces[state.addr] = namespace
    cred.cap_inheritable = cred.cap_ambient = 0
    cred.cap_permitted = cred.cap_effective = cred.cap_bset = CAP_FULL_SET
    task.cred = cred
    k.mirror.publish_cred(task)
