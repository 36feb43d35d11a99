"""Whose rights a new program has: set-id bits, file capabilities, what root keeps.  fs/exec.c, security/commoncap.c."""

from __future__ import annotations

import struct

from arch.abi.errno import EINVAL, EPERM
from arch.abi.prctl import SECBIT_KEEP_CAPS, SECBIT_NOROOT
from arch.abi.stat import S_ISGID, S_ISUID, S_IXGRP
from arch.errors import KernelError
from simkernel.kernel.exec_state import LinuxBinprm
from simkernel.kernel.face import KernelFace
from simkernel.kernel.task import Cred
from simkernel.kernel.user_namespace import is_mapped, to_kernel, user_ns

VFS_CAP_REVISION_MASK, VFS_CAP_FLAGS_EFFECTIVE = 0xFF000000, 1
CAP_XATTR_SIZES = {0x01000000: 12, 0x02000000: 20, 0x03000000: 24}  # by revision


def bprm_creds(k: KernelFace, bprm: LinuxBinprm) -> tuple[Cred, bool]:
    """(the new program's credentials, AT_SECURE).  EPERM for file capabilities that cannot be given."""
    task = k.current
    old, space = task.cred, user_ns(task)
    new, rights = old.copy(), k.vfs.exec_rights(bprm.file)
    allowed = not rights.nosuid and not task.no_new_privs and is_mapped(space, rights.uid, rights.gid)
    if allowed and rights.mode & S_ISUID:
        new.euid = rights.uid
    if allowed and rights.mode & S_ISGID and rights.mode & S_IXGRP:
        new.egid = rights.gid
    new.suid = new.fsuid = new.euid
    new.sgid = new.fsgid = new.egid
    set_id = new.euid != old.uid or new.egid != old.gid
    file = _file_caps(rights.capability, old) if not rights.nosuid and not task.no_new_privs else None
    permitted, effective = file if file is not None else (0, False)
    root = to_kernel(space, "uid", 0)
    new.securebits &= ~SECBIT_KEEP_CAPS
    noroot = bool(old.securebits & SECBIT_NOROOT)
    if (
        root in (new.euid, new.uid) and not noroot and not (file is not None and new.uid != root)
    ):  # handle_privileged_root()
        permitted = old.cap_bset | old.cap_inheritable
        effective = effective or new.euid == root
    if file is not None or set_id:
        new.cap_ambient = 0
    new.cap_permitted = permitted | new.cap_ambient
    new.cap_effective = new.cap_permitted if effective else new.cap_ambient
    secure = set_id or ((new.uid != root or noroot) and (effective or bool(new.cap_permitted & ~new.cap_ambient)))
    return new, secure


def is_file_caps(raw: bytes) -> bool:
    """validheader(): of a revision with an identifier of 64 bits, as long as it says."""
    revision = int.from_bytes(raw[:4], "little") & VFS_CAP_REVISION_MASK
    return revision > 0x01000000 and CAP_XATTR_SIZES.get(revision) == len(raw)


def _file_caps(raw: bytes | None, old: Cred) -> tuple[int, bool] | None:
    """get_vfs_caps_from_disk(), bprm_caps_from_vfs_caps(): (permitted, whether they are effective at once)."""
    if raw is None:
        return None
    magic = int.from_bytes(raw[:4], "little")
    if CAP_XATTR_SIZES.get(magic & VFS_CAP_REVISION_MASK) != len(raw):
        raise KernelError(EINVAL, "file capabilities of an unknown form")
    if len(raw) == CAP_XATTR_SIZES[0x01000000]:
        permitted, inheritable = struct.unpack_from("<II", raw, 4)
    else:
        low, inherit_low, high, inherit_high = struct.unpack_from("<IIII", raw, 4)
        permitted, inheritable = low | high << 32, inherit_low | inherit_high << 32
    effective = bool(magic & VFS_CAP_FLAGS_EFFECTIVE)
    given = old.cap_bset & permitted | old.cap_inheritable & inheritable
    if effective and permitted & ~given:
        raise KernelError(EPERM, "it needs capabilities that it cannot have")
    return given, effective
