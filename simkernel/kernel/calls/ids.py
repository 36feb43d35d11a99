"""User and group ids, capabilities, limits.  kernel/{sys,uid16,groups,capability}.c."""

from __future__ import annotations

from arch.abi.capability import CAP_FS_SET, CAP_FULL_SET, CAP_OPT_INSETID, CAP_SETGID, CAP_SETPCAP, CAP_SETUID
from arch.abi.errno import EFAULT, EINVAL, EPERM, ESRCH
from arch.abi.limits import U16_MAX, U32_MAX
from arch.abi.prctl import SECBIT_KEEP_CAPS, SECBIT_NO_SETUID_FIXUP
from arch.errors import KernelError
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import ask, call_int_hook, prepare_creds
from simkernel.kernel.task import Cred, Task
from simkernel.kernel.user_namespace import OVERFLOW_ID, munged, state_of, to_kernel, user_ns, user_ns_address
from simkernel.kernel.user_namespace import ns_capable as ns_capable_in

LSM_SETID_ID, LSM_SETID_RE, LSM_SETID_RES, LSM_SETID_FS = 1, 2, 4, 8  # include/linux/security.h

# -- capable(): asked by a real call where a body can make one -----------------------------------------------------------


@kernel_function("bool capable(int cap)", source="kernel/capability.c")
def capable(k: KernelFace, cap: int) -> Body:
    """1 when the current task has the capability."""
    return (yield k.call("ns_capable", k.vfs.init_user_ns, cap))


@kernel_function("bool ns_capable(struct user_namespace *ns, int cap)", source="kernel/capability.c")
def ns_capable(k: KernelFace, ns: int, cap: int) -> Body:
    """The same towards a user namespace."""
    return (yield from _allowed(k, ns, cap, 0))


def _allowed(k: KernelFace, ns: int, cap: int, opts: int) -> Body:
    """ns_capable_common()."""
    if (yield k.call("security_capable", k.current.cred.addr, ns, cap, opts)):
        return 0
    k.privilege_used()
    return 1


@kernel_function(
    "int security_capable(const struct cred *cred, struct user_namespace *ns, int cap, unsigned int opts)",
    source="security/security.c",
)
def security_capable(k: KernelFace, cred: int, ns: int, cap: int, opts: int) -> Body:
    """0 or -EPERM: the capability modules', then what programs say."""
    refused = yield k.call("cap_capable", cred, ns, cap, opts)
    return refused or (yield from call_int_hook(k, "capable", cred, ns, cap, opts))


@kernel_function(
    "int cap_capable(const struct cred *cred, struct user_namespace *targ_ns, int cap, unsigned int opts)",
    source="security/commoncap.c",
)
def cap_capable(k: KernelFace, cred: int, ns: int, cap: int, opts: int) -> int:
    """0 when the effective set has it, else -EPERM."""
    allowed = ns_capable_in(k.current, k.user_namespaces.get(ns), cap)
    k.capable_told(ns, cap, allowed)
    return 0 if allowed else -EPERM


def setid_capable(k: KernelFace, cap: int) -> Body:
    """In the task's own user namespace."""
    return (yield k.call("ns_capable_setid" if k.version.at_least("5.1") else "ns_capable", user_ns_address(k), cap))


@kernel_function("bool ns_capable_setid(struct user_namespace *ns, int cap)", source="kernel/capability.c", since="5.1")
def ns_capable_setid(k: KernelFace, ns: int, cap: int) -> Body:
    """The same, for who changes ids."""
    return (yield from _allowed(k, ns, cap, CAP_OPT_INSETID))


def own_id(k: KernelFace, kind: str, value: int) -> int:
    """make_kuid() of what a program said.  EINVAL for nobody's."""
    found = to_kernel(user_ns(k.current), kind, value)
    if found == U32_MAX and value != U32_MAX:
        raise KernelError(EINVAL, "it stands for nobody")
    return found


def shown(k: KernelFace, kind: str, value: int) -> int:
    """from_kuid_munged()."""
    return munged(user_ns(k.current), kind, value)


def fix_ids(k: KernelFace, hook: str, cred: Cred, *flags: int) -> None:
    """security_task_fix_setuid() and its kin, about credentials that are not yet the task's."""
    if hook not in k.security_hooks.watched:
        return
    cred.addr = k.mem.alloc(k.types.sizeof("struct cred"))
    k.mirror.store_cred(cred)
    try:
        ask(k, hook, cred.addr, k.current.cred.addr, *flags)
    except KernelError:
        k.mem.free(cred.addr)
        cred.addr = 0
        raise


def commit_creds(k: KernelFace, cred: Cred) -> int:
    """Install changed credentials; capabilities follow the user ids.  security/commoncap.c:cap_emulate_setxuid()"""
    task = k.current
    old = task.cred
    root = to_kernel(user_ns(task), "uid", 0)
    had_root = root in (old.uid, old.euid, old.suid)
    has_root = root in (cred.uid, cred.euid, cred.suid)
    if not cred.securebits & SECBIT_NO_SETUID_FIXUP:
        if had_root and not has_root:
            cred.cap_ambient = 0
            if not cred.securebits & SECBIT_KEEP_CAPS:
                cred.cap_permitted = cred.cap_effective = 0
        if old.euid == root and cred.euid != root:
            cred.cap_effective = 0
        elif old.euid != root and cred.euid == root:
            cred.cap_effective = cred.cap_permitted
    ids = (old.euid, old.egid, old.fsuid, old.fsgid) != (cred.euid, cred.egid, cred.fsuid, cred.fsgid)
    if ids or cred.cap_permitted & ~old.cap_permitted:  # commit_creds(): others may no longer look at it
        task.dumpable = k.tasks.suid_dumpable
        if task.mm is not None:
            k.mirror.store_mm_flags(task.mm)
        task.pdeath_signal = 0
    task.cred = cred
    k.mirror.publish_cred(task)
    return 0


@syscall("getuid", "", source="kernel/sys.c")
def sys_getuid(k: KernelFace) -> int:
    """Real user id."""
    return shown(k, "uid", k.current.cred.uid)


@syscall("geteuid", "", source="kernel/sys.c")
def sys_geteuid(k: KernelFace) -> int:
    """Effective user id."""
    return shown(k, "uid", k.current.cred.euid)


@syscall("getgid", "", source="kernel/sys.c")
def sys_getgid(k: KernelFace) -> int:
    """Real group id."""
    return shown(k, "gid", k.current.cred.gid)


@syscall("getegid", "", source="kernel/sys.c")
def sys_getegid(k: KernelFace) -> int:
    """Effective group id."""
    return shown(k, "gid", k.current.cred.egid)


@syscall("setuid", "uid_t uid", source="kernel/sys.c")
def sys_setuid(k: KernelFace, uid: int) -> Body:
    """EPERM, EINVAL."""
    if uid == U32_MAX:
        raise KernelError(EINVAL)
    uid = own_id(k, "uid", uid)
    prepare_creds(k)
    cred = k.current.cred.copy()
    if (yield from setid_capable(k, CAP_SETUID)):
        cred.uid = cred.suid = uid
    elif uid not in (cred.uid, cred.suid):
        raise KernelError(EPERM)
    cred.euid = cred.fsuid = uid
    fix_ids(k, "task_fix_setuid", cred, LSM_SETID_ID)
    return commit_creds(k, cred)


@syscall("setgid", "gid_t gid", source="kernel/sys.c")
def sys_setgid(k: KernelFace, gid: int) -> Body:
    """EPERM, EINVAL."""
    if gid == U32_MAX:
        raise KernelError(EINVAL)
    gid = own_id(k, "gid", gid)
    prepare_creds(k)
    cred = k.current.cred.copy()
    if (yield from setid_capable(k, CAP_SETGID)):
        cred.gid = cred.sgid = gid
    elif gid not in (cred.gid, cred.sgid):
        raise KernelError(EPERM)
    cred.egid = cred.fsgid = gid
    fix_ids(k, "task_fix_setgid", cred, LSM_SETID_ID)
    return commit_creds(k, cred)


@syscall("setreuid", "uid_t ruid, uid_t euid", source="kernel/sys.c")
def sys_setreuid(k: KernelFace, ruid: int, euid: int) -> Body:
    """EPERM, EINVAL."""
    ruid, euid = own_id(k, "uid", ruid), own_id(k, "uid", euid)
    old = k.current.cred
    prepare_creds(k)
    cred = old.copy()
    if ruid != U32_MAX:
        if ruid not in (old.uid, old.euid) and not (yield from setid_capable(k, CAP_SETUID)):
            raise KernelError(EPERM)
        cred.uid = ruid
    if euid != U32_MAX:
        if euid not in (old.uid, old.euid, old.suid) and not (yield from setid_capable(k, CAP_SETUID)):
            raise KernelError(EPERM)
        cred.euid = euid
    if ruid != U32_MAX or (euid != U32_MAX and euid != old.uid):
        cred.suid = cred.euid
    cred.fsuid = cred.euid
    fix_ids(k, "task_fix_setuid", cred, LSM_SETID_RE)
    return commit_creds(k, cred)


@syscall("setregid", "gid_t rgid, gid_t egid", source="kernel/sys.c")
def sys_setregid(k: KernelFace, rgid: int, egid: int) -> Body:
    """EPERM, EINVAL."""
    rgid, egid = own_id(k, "gid", rgid), own_id(k, "gid", egid)
    old = k.current.cred
    prepare_creds(k)
    cred = old.copy()
    if rgid != U32_MAX:
        if rgid not in (old.gid, old.egid) and not (yield from setid_capable(k, CAP_SETGID)):
            raise KernelError(EPERM)
        cred.gid = rgid
    if egid != U32_MAX:
        if egid not in (old.gid, old.egid, old.sgid) and not (yield from setid_capable(k, CAP_SETGID)):
            raise KernelError(EPERM)
        cred.egid = egid
    if rgid != U32_MAX or (egid != U32_MAX and egid != old.gid):
        cred.sgid = cred.egid
    cred.fsgid = cred.egid
    fix_ids(k, "task_fix_setgid", cred, LSM_SETID_RE)
    return commit_creds(k, cred)


def _setres(k: KernelFace, names: tuple[str, str, str], values: tuple[int, int, int], cap: int) -> Steps[Cred]:
    old = k.current.cred
    known = [getattr(old, name) for name in names]
    kind = names[0][-3:]
    values = (own_id(k, kind, values[0]), own_id(k, kind, values[1]), own_id(k, kind, values[2]))
    if not {*values} <= {*known, U32_MAX} and not (yield from setid_capable(k, cap)):
        raise KernelError(EPERM)
    prepare_creds(k)
    cred = old.copy()
    for name, value in zip(names, values):
        if value != U32_MAX:
            setattr(cred, name, value)
    return cred


@syscall("setresuid", "uid_t ruid, uid_t euid, uid_t suid", source="kernel/sys.c")
def sys_setresuid(k: KernelFace, ruid: int, euid: int, suid: int) -> Body:
    """EPERM."""
    cred = yield from _setres(k, ("uid", "euid", "suid"), (ruid, euid, suid), CAP_SETUID)
    cred.fsuid = cred.euid
    fix_ids(k, "task_fix_setuid", cred, LSM_SETID_RES)
    return commit_creds(k, cred)


@syscall("setresgid", "gid_t rgid, gid_t egid, gid_t sgid", source="kernel/sys.c")
def sys_setresgid(k: KernelFace, rgid: int, egid: int, sgid: int) -> Body:
    """EPERM."""
    cred = yield from _setres(k, ("gid", "egid", "sgid"), (rgid, egid, sgid), CAP_SETGID)
    cred.fsgid = cred.egid
    fix_ids(k, "task_fix_setgid", cred, LSM_SETID_RES)
    return commit_creds(k, cred)


def old_size(k: KernelFace) -> int:
    """Bytes of an id in the calls that came first: two on 32-bit machines, whose calls `...32` have four.  kernel/uid16.c"""
    return 2 if k.arch.word == 4 else 4


def fitting(number: int, size: int) -> int:
    """high2lowuid(): what does not fit into 16 bits is shown as the overflow id."""
    return OVERFLOW_ID if size == 2 and number > U16_MAX else number


@syscall("getresuid", "uid_t *ruidp, uid_t *euidp, uid_t *suidp", source="kernel/sys.c")
def sys_getresuid(k: KernelFace, ruid: int, euid: int, suid: int) -> int:
    """EFAULT."""
    return getresuid(k, (ruid, euid, suid), old_size(k))


def getresuid(k: KernelFace, places: tuple[int, int, int], size: int) -> int:
    """The same with numbers of this size."""
    cred = k.current.cred
    for addr, value in zip(places, (cred.uid, cred.euid, cred.suid), strict=True):
        k.usercopy.put_user(addr, size, fitting(shown(k, "uid", value), size))
    return 0


@syscall("getresgid", "gid_t *rgidp, gid_t *egidp, gid_t *sgidp", source="kernel/sys.c")
def sys_getresgid(k: KernelFace, rgid: int, egid: int, sgid: int) -> int:
    """EFAULT."""
    return getresgid(k, (rgid, egid, sgid), old_size(k))


def getresgid(k: KernelFace, places: tuple[int, int, int], size: int) -> int:
    """The same with numbers of this size."""
    cred = k.current.cred
    for addr, value in zip(places, (cred.gid, cred.egid, cred.sgid), strict=True):
        k.usercopy.put_user(addr, size, fitting(shown(k, "gid", value), size))
    return 0


def _fixed(k: KernelFace, hook: str, cred: Cred) -> bool:
    """The hook of setfsuid(2) and its kin, which say nothing of a refusal."""
    try:
        fix_ids(k, hook, cred, LSM_SETID_FS)
    except KernelError:
        return False
    return True


@syscall("setfsuid", "uid_t uid", source="kernel/sys.c")
def sys_setfsuid(k: KernelFace, uid: int) -> Body:
    """The old one, always."""
    old, uid = k.current.cred, to_kernel(user_ns(k.current), "uid", uid)
    if uid == U32_MAX:
        return shown(k, "uid", old.fsuid)
    prepare_creds(k)
    if uid in (old.uid, old.euid, old.suid, old.fsuid) or (yield from setid_capable(k, CAP_SETUID)):
        cred, root = old.copy(), to_kernel(user_ns(k.current), "uid", 0)
        cred.fsuid = uid
        if not old.securebits & SECBIT_NO_SETUID_FIXUP:
            if old.fsuid == root != uid:
                cred.cap_effective &= ~CAP_FS_SET
            elif uid == root != old.fsuid:
                cred.cap_effective |= CAP_FS_SET & cred.cap_permitted
        if uid != old.fsuid and _fixed(k, "task_fix_setuid", cred):
            commit_creds(k, cred)
    return shown(k, "uid", old.fsuid)


@syscall("setfsgid", "gid_t gid", source="kernel/sys.c")
def sys_setfsgid(k: KernelFace, gid: int) -> Body:
    """The old one, always."""
    old, gid = k.current.cred, to_kernel(user_ns(k.current), "gid", gid)
    if gid == U32_MAX:
        return shown(k, "gid", old.fsgid)
    prepare_creds(k)
    if gid in (old.gid, old.egid, old.sgid, old.fsgid) or (yield from setid_capable(k, CAP_SETGID)):
        cred = old.copy()
        cred.fsgid = gid
        if gid != old.fsgid and _fixed(k, "task_fix_setgid", cred):
            commit_creds(k, cred)
    return shown(k, "gid", old.fsgid)


@syscall("getgroups", "int gidsetsize, gid_t *grouplist", source="kernel/groups.c")
def sys_getgroups(k: KernelFace, size: int, out: int) -> int:
    """EINVAL, EFAULT."""
    return getgroups(k, size, out, old_size(k))


def getgroups(k: KernelFace, size: int, out: int, width: int) -> int:
    """The same with numbers of this width."""
    groups = k.current.cred.groups
    if size < 0 or (size and size < len(groups)):
        raise KernelError(EINVAL)
    if size:
        k.usercopy.copy_to_user(
            out, b"".join(fitting(shown(k, "gid", g), width).to_bytes(width, k.mem.byteorder) for g in groups)
        )
    return len(groups)


@syscall("setgroups", "int gidsetsize, gid_t *grouplist", source="kernel/groups.c")
def sys_setgroups(k: KernelFace, size: int, addr: int) -> Body:
    """EPERM, EINVAL, EFAULT."""
    return (yield from setgroups(k, size, addr, old_size(k)))


def setgroups(k: KernelFace, size: int, addr: int, width: int) -> Body:
    """The same with numbers of this width (`yield from`)."""
    mine = user_ns(k.current)
    allowed = mine is None or (state_of(mine).setgroups and state_of(mine).maps["gid"] is not None)
    if not allowed or not (yield from setid_capable(k, CAP_SETGID)):
        raise KernelError(EPERM)
    if not 0 <= size <= 65536:
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_from_user(addr, width * size) if size else b""
    prepare_creds(k)
    cred = k.current.cred.copy()
    cred.groups = sorted(
        own_id(k, "gid", int.from_bytes(raw[i : i + width], k.mem.byteorder)) for i in range(0, width * size, width)
    )
    fix_ids(k, "task_fix_setgroups", cred)
    return commit_creds(k, cred)


# -- capabilities -------------------------------------------------------------------------------------------------

CAP_VERSIONS = {0x19980330: 1, 0x20071026: 2, 0x20080522: 2}


def _cap_header(k: KernelFace, header: int, dataptr: int) -> tuple[int, Task]:
    version, pid = k.usercopy.get_user(header, 4), k.usercopy.get_user(header + 4, 4, signed=True)
    words = CAP_VERSIONS.get(version)
    if words is None:
        k.usercopy.put_user(header, 4, 0x20080522)
        raise KernelError(EINVAL if dataptr else 0)
    task = k.current if pid == 0 else k.tasks.find(pid)
    if pid < 0:
        raise KernelError(EINVAL)
    if task is None:
        raise KernelError(ESRCH)
    return words, task


def _ask_sets(k: KernelFace, hook: str, about: tuple[int, ...], sets: tuple[int, int, int]) -> None:
    """security_capget() and security_capset(): with three kernel_cap_t."""
    if hook not in k.security_hooks.watched:
        return
    place = k.mem.alloc(24)
    for index, mask in enumerate(sets):
        k.mem.write_uint(place + 8 * index, 4, mask & 0xFFFFFFFF)
        k.mem.write_uint(place + 8 * index + 4, 4, mask >> 32)
    try:
        ask(k, hook, *about, place, place + 8, place + 16)
    finally:
        k.mem.free(place)


@syscall("capget", "cap_user_header_t *header, cap_user_data_t *dataptr", source="kernel/capability.c")
def sys_capget(k: KernelFace, header: int, dataptr: int) -> int:
    """EINVAL, ESRCH, EFAULT."""
    words, task = _cap_header(k, header, dataptr)
    cred = task.cred
    _ask_sets(k, "capget", (task.addr,), (cred.cap_effective, cred.cap_inheritable, cred.cap_permitted))
    data = b""
    for i in range(words):
        for mask in (cred.cap_effective, cred.cap_permitted, cred.cap_inheritable):
            data += (mask >> 32 * i & 0xFFFFFFFF).to_bytes(4, k.mem.byteorder)
    if dataptr:
        k.usercopy.copy_to_user(dataptr, data)
    return 0


@syscall("capset", "cap_user_header_t *header, const cap_user_data_t *data", source="kernel/capability.c")
def sys_capset(k: KernelFace, header: int, data: int) -> int:
    """EPERM, EINVAL, EFAULT."""
    task = k.current
    pid = k.usercopy.get_user(header + 4, 4, signed=True)
    if k.usercopy.get_user(header, 4) in CAP_VERSIONS and pid not in (0, task.pid):
        raise KernelError(EPERM)
    words, _ = _cap_header(k, header, data)
    raw = k.usercopy.copy_from_user(data, 12 * words)
    masks = [0, 0, 0]
    for i in range(words):
        for j in range(3):
            at = 12 * i + 4 * j
            masks[j] |= int.from_bytes(raw[at : at + 4], k.mem.byteorder) << 32 * i
    effective, permitted, inheritable = (m & CAP_FULL_SET for m in masks)
    old = k.current.cred
    prepare_creds(k)
    if permitted & ~old.cap_permitted or effective & ~permitted:
        raise KernelError(EPERM)
    beyond = (
        inheritable & ~old.cap_inheritable
    )  # cap_capset(): what is new must be permitted, or CAP_SETPCAP, and bounded
    if beyond & ~old.cap_bset or (beyond & ~old.cap_permitted and not old.cap_effective >> CAP_SETPCAP & 1):
        raise KernelError(EPERM)
    cred = old.copy()
    cred.cap_effective, cred.cap_permitted, cred.cap_inheritable = effective, permitted, inheritable
    cred.cap_ambient &= permitted & inheritable
    if "capset" in k.security_hooks.watched:
        cred.addr = k.mem.alloc(k.types.sizeof("struct cred"))
        k.mirror.store_cred(cred)
        _ask_sets(k, "capset", (cred.addr, old.addr), (effective, inheritable, permitted))
    task.cred = cred
    k.mirror.publish_cred(task)
    return 0


__all__ = ["EFAULT"]
