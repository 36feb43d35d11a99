"""prctl(2) and arch_prctl(2): what a task says of itself, one function for each option.  kernel/sys.c, security/commoncap.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi import prctl as pr
from arch.abi.capability import CAP_LAST_CAP, CAP_SETPCAP, CAP_SYS_RESOURCE
from arch.abi.errno import EEXIST, EFAULT, EINVAL, ENODEV, ENXIO, EPERM
from arch.abi.signal import NSIG
from arch.errors import KernelError
from simkernel.kernel.calls.ldt import set_user_register, user_register
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.seccomp import prctl_set_seccomp
from simkernel.kernel.security import ask, prepare_creds
from simkernel.kernel.syscall_user_dispatch import set_syscall_user_dispatch
from simkernel.kernel.task import PF_IO_FLUSHER, Cred, Task
from simkernel.kernel.user_namespace import ns_capable, user_ns, user_ns_address

Option = Callable[[KernelFace, int, int, int, int], "int | Body"]


def _none(*args: int) -> None:
    """Arguments that an option does not have."""
    if any(args):
        raise KernelError(EINVAL)


def _change(k: KernelFace) -> Cred:
    """prepare_creds() and commit_creds() of something that others do not look at before this call returns."""
    prepare_creds(k)
    cred = k.current.cred = k.current.cred.copy()
    return cred


def _publish(k: KernelFace) -> int:
    k.mirror.publish_cred(k.current)
    return 0


# -- names, parents, dumps ------------------------------------------------------------------------------------------------


def _set_name(k: KernelFace, name: int, b: int, c: int, d: int) -> Body:
    text = k.usercopy.copy_from_user_string(name, 15)
    yield k.call("__set_task_comm", k.current.addr, k.mirror.scratch_string(text), 0)
    return 0


def _get_name(k: KernelFace, where: int, b: int, c: int, d: int) -> int:
    k.usercopy.copy_to_user(where, k.current.comm.encode("latin-1")[:15].ljust(16, b"\0"))
    return 0


def _set_pdeathsig(k: KernelFace, sig: int, b: int, c: int, d: int) -> int:
    if sig > NSIG:
        raise KernelError(EINVAL)
    k.current.pdeath_signal = sig
    return 0


def _put(member: str) -> Option:
    """The value of a member, as an int at the address that is given."""

    def get(k: KernelFace, where: int, b: int, c: int, d: int) -> int:
        k.usercopy.put_user(where, 4, int(getattr(k.current, member)))
        return 0

    return get


def _set_perf_events(k: KernelFace, on: bool) -> int:
    k.exec.perf_event_task(k.current, on)
    return 0


def _set_dumpable(k: KernelFace, value: int, b: int, c: int, d: int) -> int:
    if value > 1:
        raise KernelError(EINVAL)
    k.current.dumpable = value
    if k.current.mm is not None:
        k.mirror.store_mm_flags(k.current.mm)
    return 0


def _set_subreaper(k: KernelFace, value: int, b: int, c: int, d: int) -> int:
    for thread in k.current.signal.threads:
        thread.child_subreaper = bool(value)
    return 0


def _set_no_new_privs(k: KernelFace, value: int, b: int, c: int, d: int) -> int:
    _none(value != 1, b, c, d)
    k.current.no_new_privs = True
    return 0


def _get_no_new_privs(k: KernelFace, a: int, b: int, c: int, d: int) -> int:
    _none(a, b, c, d)
    return int(k.current.no_new_privs)


def _get_tid_address(k: KernelFace, where: int, b: int, c: int, d: int) -> int:
    k.usercopy.put_user(where, k.arch.word, k.current.clear_child_tid)
    return 0


# -- capabilities ---------------------------------------------------------------------------------------------------------


def _capbset_read(k: KernelFace, cap: int, b: int, c: int, d: int) -> int:
    _none(cap > CAP_LAST_CAP)
    return k.current.cred.cap_bset >> cap & 1


def _capbset_drop(k: KernelFace, cap: int, b: int, c: int, d: int) -> int:
    if not ns_capable(k.current, user_ns(k.current), CAP_SETPCAP):
        raise KernelError(EPERM)
    if not k.granted(user_ns_address(k), CAP_SETPCAP):
        raise KernelError(EPERM)
    _none(cap > CAP_LAST_CAP)
    _change(k).cap_bset &= ~(1 << cap)
    return _publish(k)


def _set_keepcaps(k: KernelFace, value: int, b: int, c: int, d: int) -> int:
    _none(value > 1)
    if k.current.cred.securebits & pr.SECBIT_KEEP_CAPS_LOCKED:
        raise KernelError(EPERM)
    cred = _change(k)
    cred.securebits = cred.securebits & ~pr.SECBIT_KEEP_CAPS | (pr.SECBIT_KEEP_CAPS if value else 0)
    return _publish(k)


def _set_securebits(k: KernelFace, bits: int, b: int, c: int, d: int) -> int:
    old = k.current.cred.securebits
    locked = (old & pr.SECURE_ALL_LOCKS) >> 1 & (old ^ bits) or old & pr.SECURE_ALL_LOCKS & ~bits
    unknown = bits & ~(pr.SECURE_ALL_BITS | pr.SECURE_ALL_LOCKS)
    if locked or unknown or not ns_capable(k.current, user_ns(k.current), CAP_SETPCAP):
        raise KernelError(EPERM)
    _change(k).securebits = bits
    return _publish(k)


def _cap_ambient(k: KernelFace, what: int, cap: int, c: int, d: int) -> int:
    """PR_CAP_AMBIENT: only what is permitted and inheritable may be raised."""
    cred = k.current.cred
    if what == pr.PR_CAP_AMBIENT_CLEAR_ALL:
        _none(cap, c, d)
        _change(k).cap_ambient = 0
        return _publish(k)
    _none(c, d, cap > CAP_LAST_CAP)
    if what == pr.PR_CAP_AMBIENT_IS_SET:
        return cred.cap_ambient >> cap & 1
    _none(what not in (pr.PR_CAP_AMBIENT_RAISE, pr.PR_CAP_AMBIENT_LOWER))
    if what == pr.PR_CAP_AMBIENT_RAISE:
        both = cred.cap_permitted & cred.cap_inheritable
        if not both >> cap & 1 or cred.securebits & pr.SECBIT_NO_CAP_AMBIENT_RAISE:
            raise KernelError(EPERM)
        _change(k).cap_ambient |= 1 << cap
    else:
        _change(k).cap_ambient &= ~(1 << cap)
    return _publish(k)


# -- the machine's side -----------------------------------------------------------------------------------------------------


def _set_tsc(k: KernelFace, mode: int, b: int, c: int, d: int) -> int:
    """Whether rdtsc is allowed."""
    _none(mode not in (pr.PR_TSC_ENABLE, pr.PR_TSC_SIGSEGV))
    k.current.tsc_mode = mode
    k.threads.apply_tsc_mode(k.current)
    return 0


def _set_timerslack(k: KernelFace, value: int, b: int, c: int, d: int) -> int:
    word = k.regs.signed_word(value)
    k.current.timer_slack_ns = value if word > 0 else k.current.default_timer_slack_ns
    k.mirror.set_field(k.current.addr, "task_struct", "timer_slack_ns", k.current.timer_slack_ns)
    return 0


def _mce_kill(k: KernelFace, what: int, policy: int, c: int, d: int) -> int:
    _none(c, d)
    if what == pr.PR_MCE_KILL_CLEAR:
        _none(policy)
        k.current.mce_kill = pr.PR_MCE_KILL_DEFAULT
        return 0
    _none(what != pr.PR_MCE_KILL_SET, policy > pr.PR_MCE_KILL_DEFAULT)
    k.current.mce_kill = policy
    return 0


def _mce_kill_get(k: KernelFace, a: int, b: int, c: int, d: int) -> int:
    _none(a, b, c, d)
    return k.current.mce_kill


def _set_thp_disable(k: KernelFace, value: int, b: int, c: int, d: int) -> int:
    _none(b, c, d)
    if k.current.mm is not None:
        k.current.mm.thp_disabled = bool(value)
    return 0


def _get_thp_disable(k: KernelFace, a: int, b: int, c: int, d: int) -> int:
    _none(a, b, c, d)
    return int(k.current.mm is not None and k.current.mm.thp_disabled)


def _get_speculation(k: KernelFace, which: int, b: int, c: int, d: int) -> int:
    """The emulated CPU does not speculate."""
    _none(b, c, d)
    if which > pr.PR_SPEC_L1D_FLUSH:
        raise KernelError(ENODEV)
    return pr.PR_SPEC_NOT_AFFECTED


def _set_speculation(k: KernelFace, which: int, b: int, c: int, d: int) -> int:
    _none(c, d)
    raise KernelError(ENODEV if which > pr.PR_SPEC_L1D_FLUSH else ENXIO)


def _io_flusher(value: int) -> Option:
    def change(k: KernelFace, a: int, b: int, c: int, d: int) -> int:
        if not k.capable(CAP_SYS_RESOURCE):
            raise KernelError(EPERM)
        if value < 0:
            _none(a, b, c, d)
            return int(k.current.flags & PF_IO_FLUSHER == PF_IO_FLUSHER)
        _none(b, c, d, a > 1)
        k.mirror.change_flags(k.current, PF_IO_FLUSHER if a else 0, PF_IO_FLUSHER)
        return 0

    return change


# PR_SET_MM_* -> the member of struct mm_struct
MM_MEMBERS = {
    1: "start_code", 2: "end_code", 3: "start_data", 4: "end_data", 5: "start_stack", 6: "start_brk", 7: "brk",
    8: "arg_start", 9: "arg_end", 10: "env_start", 11: "env_end",
}  # fmt: skip
NEED_AREA = (5, 8, 9, 10, 11)  # those that have to lie in an area
PR_SET_MM_AUXV, PR_SET_MM_MAP, PR_SET_MM_MAP_SIZE, MM_MAP_BYTES = 12, 14, 15, 104


def _set_mm(k: KernelFace, what: int, addr: int, length: int, d: int) -> int:
    """PR_SET_MM: where the parts of a program are, for those who restore one."""
    mm = k.current.mm
    _none(d, mm is None, length and what not in (PR_SET_MM_AUXV, PR_SET_MM_MAP, PR_SET_MM_MAP_SIZE))
    assert mm is not None
    if what == PR_SET_MM_MAP_SIZE:
        k.usercopy.put_user(addr, 4, MM_MAP_BYTES)
        return 0
    if not k.capable(CAP_SYS_RESOURCE):
        raise KernelError(EPERM)
    _none(addr >= k.mm.layout.task_size or addr < k.mm.layout.mmap_min)
    if what == PR_SET_MM_AUXV:
        _none(length > 4096)
        mm.auxv = k.usercopy.copy_from_user(addr, length)
        return 0
    _none(what not in MM_MEMBERS)
    if what in NEED_AREA and mm.find_next(addr) is None:
        raise KernelError(EFAULT)
    setattr(mm, MM_MEMBERS[what], addr)
    k.mirror.set_field(mm.addr, "mm_struct", MM_MEMBERS[what], addr)
    return 0


OPTIONS: dict[int, Option] = {
    pr.PR_SET_PDEATHSIG: _set_pdeathsig,
    pr.PR_GET_PDEATHSIG: _put("pdeath_signal"),
    pr.PR_GET_DUMPABLE: lambda k, a, b, c, d: k.current.dumpable,
    pr.PR_SET_DUMPABLE: _set_dumpable,
    pr.PR_GET_KEEPCAPS: lambda k, a, b, c, d: int(bool(k.current.cred.securebits & pr.SECBIT_KEEP_CAPS)),
    pr.PR_SET_KEEPCAPS: _set_keepcaps,
    pr.PR_GET_TIMING: lambda k, a, b, c, d: pr.PR_TIMING_STATISTICAL,
    pr.PR_SET_TIMING: lambda k, a, b, c, d: -EINVAL if a != pr.PR_TIMING_STATISTICAL else 0,
    pr.PR_SET_NAME: _set_name,
    pr.PR_GET_NAME: _get_name,
    pr.PR_GET_SECCOMP: lambda k, a, b, c, d: k.current.seccomp_mode,
    pr.PR_SET_SECCOMP: lambda k, a, b, c, d: prctl_set_seccomp(k, a, b),
    pr.PR_CAPBSET_READ: _capbset_read,
    pr.PR_CAPBSET_DROP: _capbset_drop,
    pr.PR_GET_SECUREBITS: lambda k, a, b, c, d: k.current.cred.securebits,
    pr.PR_SET_SECUREBITS: _set_securebits,
    pr.PR_SET_TIMERSLACK: _set_timerslack,
    pr.PR_GET_TIMERSLACK: lambda k, a, b, c, d: k.current.timer_slack_ns,
    pr.PR_TASK_PERF_EVENTS_DISABLE: lambda k, a, b, c, d: _set_perf_events(k, False),
    pr.PR_TASK_PERF_EVENTS_ENABLE: lambda k, a, b, c, d: _set_perf_events(k, True),
    pr.PR_MCE_KILL: _mce_kill,
    pr.PR_MCE_KILL_GET: _mce_kill_get,
    pr.PR_SET_MM: _set_mm,
    pr.PR_SET_CHILD_SUBREAPER: _set_subreaper,
    pr.PR_GET_CHILD_SUBREAPER: _put("child_subreaper"),
    pr.PR_SET_NO_NEW_PRIVS: _set_no_new_privs,
    pr.PR_GET_NO_NEW_PRIVS: _get_no_new_privs,
    pr.PR_GET_TID_ADDRESS: _get_tid_address,
    pr.PR_SET_THP_DISABLE: _set_thp_disable,
    pr.PR_GET_THP_DISABLE: _get_thp_disable,
    pr.PR_SET_PTRACER: lambda k, a, b, c, d: 0,  # Yama's scope is 0: everybody may
}
# cap_task_prctl() has them done before another security module is asked
CAPABILITYS = (
    pr.PR_CAPBSET_READ, pr.PR_CAPBSET_DROP, pr.PR_SET_SECUREBITS, pr.PR_GET_SECUREBITS, pr.PR_GET_KEEPCAPS, pr.PR_SET_KEEPCAPS,
    pr.PR_CAP_AMBIENT,
)  # fmt: skip
X86_OPTIONS: dict[int, Option] = {
    pr.PR_GET_TSC: _put("tsc_mode"),
    pr.PR_SET_TSC: _set_tsc,
}
LATER_OPTIONS: tuple[tuple[str, int, Option], ...] = (  # since, option
    ("4.3", pr.PR_CAP_AMBIENT, _cap_ambient),
    ("4.17", pr.PR_GET_SPECULATION_CTRL, _get_speculation),
    ("4.17", pr.PR_SET_SPECULATION_CTRL, _set_speculation),
    ("5.6", pr.PR_SET_IO_FLUSHER, _io_flusher(1)),
    ("5.6", pr.PR_GET_IO_FLUSHER, _io_flusher(-1)),
    ("5.11", pr.PR_SET_SYSCALL_USER_DISPATCH, set_syscall_user_dispatch),
)


@syscall(
    "prctl",
    "int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5",
    source="kernel/sys.c",
)
def sys_prctl(k: KernelFace, option: int, arg2: int, arg3: int, arg4: int, arg5: int) -> Body:
    """By option; EINVAL for one that this kernel or this CPU does not have."""
    found = OPTIONS.get(option)
    if found is None and k.arch.calls.has_tsc:
        found = X86_OPTIONS.get(option)
    if found is None:
        known = [row[2] for row in LATER_OPTIONS if row[1] == option & 0xFFFFFFFF and k.version.at_least(row[0])]
        if not known:
            k.trace("task_prctl_unknown", option, arg2, arg3, arg4, arg5)
            raise KernelError(EINVAL)
        found = known[0]
    asks = "task_prctl" in k.security_hooks.watched
    if asks and option not in CAPABILITYS:
        ask(k, "task_prctl", option, arg2, arg3, arg4, arg5)
    ret = found(k, arg2, arg3, arg4, arg5)
    if asks and option in CAPABILITYS and ret == 0:
        ask(k, "task_prctl", option, arg2, arg3, arg4, arg5)
    return ret if isinstance(ret, int) else (yield from ret)


# -- arch_prctl(2) ----------------------------------------------------------------------------------------------------

ARCH_SET_GS, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS = range(0x1001, 0x1005)
ARCH_GET_CPUID, ARCH_SET_CPUID = 0x1011, 0x1012
ARCH_MAP_VDSO_32, ARCH_MAP_VDSO_64 = 0x2002, 0x2003
# option -> (selector, base)
BASES_SET = {ARCH_SET_GS: ("gs", "gs_base"), ARCH_SET_FS: ("fs", "fs_base")}
BASES_GET = {ARCH_GET_GS: "gs_base", ARCH_GET_FS: "fs_base"}


def do_arch_prctl_64(k: KernelFace, task: Task, option: int, arg2: int) -> int:
    """Bases of segments, also of a task that is traced.  EPERM: no address of user mode; EFAULT, EEXIST, EINVAL."""
    if option in BASES_SET:
        if arg2 >= k.mm.layout.task_size:
            raise KernelError(EPERM)
        selector, base = BASES_SET[option]
        set_user_register(k, task, selector, 0)
        set_user_register(k, task, base, arg2)
        return 0
    if option in BASES_GET:
        k.usercopy.put_user(arg2, 8, user_register(k, task, BASES_GET[option]))
        return 0
    if option in (ARCH_MAP_VDSO_32, ARCH_MAP_VDSO_64) and k.current.mm is not None and k.current.mm.vdso:
        raise KernelError(EEXIST)
    raise KernelError(EINVAL)


@syscall("arch_prctl", "int option, unsigned long arg2", source="arch/x86/kernel/process_64.c")
def sys_arch_prctl(k: KernelFace, option: int, arg2: int) -> int:
    """The segment bases that threads use, and cpuid."""
    if option == ARCH_GET_CPUID:
        return 1
    if option == ARCH_SET_CPUID:
        raise KernelError(ENODEV, "this CPU cannot make cpuid fault")
    if k.arch.word == 4:
        raise KernelError(EINVAL)
    return do_arch_prctl_64(k, k.current, option, arg2)
