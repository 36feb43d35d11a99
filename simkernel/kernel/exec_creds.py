"""Whose rights a new program has: set-id bits, file capabilities, what root keeps.  fs/exec.c, security/commoncap.c."""

from __future__ import annotations

from arch.abi.prctl import SECBIT_KEEP_CAPS, SECBIT_NOROOT
from arch.abi.stat import S_ISGID, S_ISUID, S_IXGRP
from simkernel.kernel import file_caps
from simkernel.kernel.exec_state import LinuxBinprm
from simkernel.kernel.face import KernelFace
from simkernel.kernel.task import Cred
from simkernel.kernel.user_namespace import is_mapped, to_kernel, user_ns


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
    held = rights.capability if not rights.nosuid else None
    file = file_caps.given_by(held, task, old) if held is not None else None
    permitted, effective = file if file is not None else (0, False)
    root = to_kernel(space, "uid", 0)
    new.securebits &= ~SECBIT_KEEP_CAPS
    noroot = bool(old.securebits & SECBIT_NOROOT)
    if (
        root in (new.euid, new.uid) and not noroot and not (file is not None and new.uid != root)
    ):  # handle_privileged_root()
        permitted = old.cap_bset | old.cap_inheritable
        effective = effective or new.euid == root
    if task.no_new_privs and permitted & ~old.cap_permitted:
        new.euid = new.suid = new.fsuid = new.uid
        new.egid = new.sgid = new.fsgid = new.gid
        permitted &= old.cap_permitted
    if file is not None or set_id:
        new.cap_ambient = 0
    new.cap_permitted = permitted | new.cap_ambient
    new.cap_effective = new.cap_permitted if effective else new.cap_ambient
    secure = set_id or ((new.uid != root or noroot) and (effective or bool(new.cap_permitted & ~new.cap_ambient)))
    return new, secure
