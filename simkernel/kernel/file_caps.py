"""Capabilities of files: the forms of security.capability, and in which user namespace they count.  security/commoncap.c."""

from __future__ import annotations

import struct

from arch.abi.capability import CAP_SETFCAP
from arch.abi.errno import EINVAL, EOVERFLOW, EPERM
from arch.abi.limits import U32_MAX
from arch.errors import KernelError
from simkernel.kernel.namespaces import Namespace
from simkernel.kernel.task import Cred, Task
from simkernel.kernel.user_namespace import from_kernel, ns_capable, state_of, to_kernel, user_ns

FLAGS_EFFECTIVE = 1
REVISION_1, REVISION_2, REVISION_3 = 0x01000000, 0x02000000, 0x03000000
SIZES = {REVISION_1: 12, REVISION_2: 20, REVISION_3: 24}


def _revision(raw: bytes) -> int | None:
    """Its revision, when it is as long as that says."""
    revision = int.from_bytes(raw[:4], "little") & ~FLAGS_EFFECTIVE
    return revision if SIZES.get(revision) == len(raw) else None


def _magic(raw: bytes, revision: int) -> bytes:
    """The first word of another form of the same."""
    return (revision | int.from_bytes(raw[:4], "little") & FLAGS_EFFECTIVE).to_bytes(4, "little")


def _root_id(raw: bytes) -> int:
    """Whose root they are for; the last form says it."""
    return int.from_bytes(raw[20:24], "little")


def _root_owns(namespace: Namespace | None, uid: int) -> bool:
    """rootid_owns_currentns(): it is the root of this namespace, or of one around it."""
    while from_kernel(namespace, "uid", uid):
        if namespace is None:
            return False
        namespace = state_of(namespace).parent
    return True


def as_stored(task: Task, raw: bytes, allowed: bool) -> bytes:
    """cap_convert_nscap(): with the root of the writer's namespace.  EINVAL, EPERM."""
    if _revision(raw) not in (REVISION_2, REVISION_3):
        raise KernelError(EINVAL)
    if not allowed:
        raise KernelError(EPERM)
    if _revision(raw) == REVISION_2 and ns_capable(task, None, CAP_SETFCAP):
        return raw
    root = to_kernel(user_ns(task), "uid", _root_id(raw))
    if root == U32_MAX:
        raise KernelError(EINVAL)
    return _magic(raw, REVISION_3) + raw[4:20] + root.to_bytes(4, "little")


def as_seen(task: Task, raw: bytes) -> bytes:
    """cap_inode_getsecurity(): with the reader's ids; his own root's are of the form without.  EINVAL, EOVERFLOW: somebody else's."""
    if _revision(raw) not in (REVISION_2, REVISION_3):
        raise KernelError(EINVAL)
    space, root = user_ns(task), _root_id(raw)
    mapped = from_kernel(space, "uid", root)
    if mapped not in (0, U32_MAX):
        return _magic(raw, REVISION_3) + raw[4:20] + mapped.to_bytes(4, "little")
    if not _root_owns(space, root):
        raise KernelError(EOVERFLOW)
    return _magic(raw, REVISION_2) + raw[4:20]


def given_by(raw: bytes, task: Task, old: Cred) -> tuple[int, bool] | None:
    """get_vfs_caps_from_disk(), bprm_caps_from_vfs_caps(): (permitted, whether they are effective at once); EINVAL, EPERM.

    None where they do not count: they are of the root of another user namespace.
    """
    revision = _revision(raw)
    if revision is None:
        raise KernelError(EINVAL, "file capabilities of an unknown form")
    if not _root_owns(user_ns(task), _root_id(raw)):
        return None
    if revision == REVISION_1:
        permitted, inheritable = struct.unpack_from("<II", raw, 4)
    else:
        low, inherit_low, high, inherit_high = struct.unpack_from("<IIII", raw, 4)
        permitted, inheritable = low | high << 32, inherit_low | inherit_high << 32
    effective = bool(int.from_bytes(raw[:4], "little") & FLAGS_EFFECTIVE)
    given = old.cap_bset & permitted | old.cap_inheritable & inheritable
    if effective and permitted & ~given:
        raise KernelError(EPERM, "it needs capabilities that it cannot have")
    return given, effective
