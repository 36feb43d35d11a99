"""System calls that only the 32-bit tables still have: old signals, waitpid, 32-bit names of id calls.

kernel/{signal,exit}.c, kernel/uid16.c, arch/arm/kernel/traps.c.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, ERESTARTNOHAND
from arch.abi.signal import SI_KERNEL, SIG_BLOCK, SIG_SETMASK, SIG_UNBLOCK, SIGKILL, SIGSTOP
from arch.errors import KernelError
from simkernel.kernel.calls import ids
from simkernel.kernel.calls.limits import sys_getrlimit
from simkernel.kernel.calls.signal import restored
from simkernel.kernel.calls.wait import sys_wait4
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.sigpending import SigAction, bit
from simkernel.kernel.task import UNBLOCKABLE, has_signal

_IDS = (
    ("getuid", ""), ("geteuid", ""), ("getgid", ""), ("getegid", ""), ("setuid", "uid_t uid"), ("setgid", "gid_t gid"),
    ("setreuid", "uid_t ruid, uid_t euid"), ("setregid", "gid_t rgid, gid_t egid"),
    ("setresuid", "uid_t ruid, uid_t euid, uid_t suid"), ("setresgid", "gid_t rgid, gid_t egid, gid_t sgid"),
    ("setfsuid", "uid_t uid"), ("setfsgid", "gid_t gid"),
)  # fmt: skip
for _name, _params in _IDS:
    syscall(f"{_name}32", _params, source="kernel/sys.c")(getattr(ids, f"sys_{_name}"))

ID32 = 4  # bytes


@syscall("getresuid32", "uid_t *ruidp, uid_t *euidp, uid_t *suidp", source="kernel/sys.c")
def sys_getresuid32(k: KernelFace, ruid: int, euid: int, suid: int) -> int:
    """EFAULT."""
    return ids.getresuid(k, (ruid, euid, suid), ID32)


@syscall("getresgid32", "gid_t *rgidp, gid_t *egidp, gid_t *sgidp", source="kernel/sys.c")
def sys_getresgid32(k: KernelFace, rgid: int, egid: int, sgid: int) -> int:
    """EFAULT."""
    return ids.getresgid(k, (rgid, egid, sgid), ID32)


@syscall("getgroups32", "int gidsetsize, gid_t *grouplist", source="kernel/groups.c")
def sys_getgroups32(k: KernelFace, size: int, out: int) -> int:
    """EINVAL, EFAULT."""
    return ids.getgroups(k, size, out, ID32)


@syscall("setgroups32", "int gidsetsize, gid_t *grouplist", source="kernel/groups.c")
def sys_setgroups32(k: KernelFace, size: int, addr: int) -> Body:
    """EPERM, EINVAL, EFAULT."""
    return (yield from ids.setgroups(k, size, addr, ID32))


syscall("ugetrlimit", "unsigned int resource, struct rlimit *rlim", source="kernel/sys.c")(sys_getrlimit)


@syscall("waitpid", "pid_t pid, int *stat_addr, int options", source="kernel/exit.c")
def sys_waitpid(k: KernelFace, pid: int, stat_addr: int, options: int) -> Body:
    """wait4() without usage."""
    return (yield from sys_wait4(k, pid, stat_addr, options, 0))


@syscall("sigreturn", "", source="arch/*/kernel/signal.c")
def sys_sigreturn(k: KernelFace) -> int:
    """Back from a handler that was installed without SA_SIGINFO."""
    task = k.current
    try:
        blocked = k.sigframes.abi.sigreturn(k.sigframes, task.regs)
    except KernelError:
        k.signals.force(task, 11, SI_KERNEL, 0)
        return 0
    task.blocked = blocked & ~UNBLOCKABLE
    return restored(k, task)


@syscall("sigaction", "int sig, const struct old_sigaction *act, struct old_sigaction *oact", source="kernel/signal.c")
def sys_sigaction(k: KernelFace, sig: int, act: int, oact: int) -> int:
    """The old form: handler, 32-bit mask, flags, restorer."""
    if not 1 <= sig <= 64 or (act and sig in (SIGKILL, SIGSTOP)):
        raise KernelError(EINVAL)
    actions = k.current.signal.actions
    old = actions[sig]
    if act:
        raw = k.usercopy.copy_from_user(act, 16)
        handler, mask, flags, restorer = (int.from_bytes(raw[i : i + 4], k.mem.byteorder) for i in range(0, 16, 4))
        new = SigAction(handler, flags, mask & ~UNBLOCKABLE, restorer)
    if oact:
        fields = (old.handler, old.mask & 0xFFFFFFFF, old.flags, old.restorer)
        k.usercopy.copy_to_user(oact, b"".join((v & 0xFFFFFFFF).to_bytes(4, k.mem.byteorder) for v in fields))
    if act:
        actions[sig] = new
        if k.signals.ignores(k.current, sig):
            k.signals.flush(k.current.signal, bit(sig))
    return 0


@syscall("sigprocmask", "int how, old_sigset_t *nset, old_sigset_t *oset", source="kernel/signal.c")
def sys_sigprocmask(k: KernelFace, how: int, nset: int, oset: int) -> int:
    """The lowest word of the mask."""
    task = k.current
    old = task.blocked
    low = (1 << 8 * k.arch.word) - 1
    if nset:
        mask = k.usercopy.get_user(nset, k.arch.word) & ~UNBLOCKABLE
        if how == SIG_BLOCK:
            task.blocked |= mask
        elif how == SIG_UNBLOCK:
            task.blocked &= ~mask
        elif how == SIG_SETMASK:
            task.blocked = (task.blocked & ~low) | mask
        else:
            raise KernelError(EINVAL)
        k.signals.recalc(task)
    if oset:
        k.usercopy.put_user(oset, k.arch.word, old & low)
    return 0


@syscall("sigpending", "old_sigset_t *uset", source="kernel/signal.c")
def sys_sigpending(k: KernelFace, uset: int) -> int:
    """Blocked signals that are pending, the lowest word."""
    task = k.current
    k.usercopy.put_user(uset, k.arch.word, (task.sigpending | task.shared_pending) & task.blocked)
    return 0


@syscall("sigsuspend", "int unused1, int unused2, old_sigset_t mask", source="kernel/signal.c")
def sys_sigsuspend(k: KernelFace, unused1: int, unused2: int, mask: int) -> Body:
    """Wait for a signal under another mask."""
    task = k.current
    task.saved_blocked = task.blocked
    task.blocked = mask & ~UNBLOCKABLE
    task.work = True
    while not has_signal(task):
        yield k.wait(None)
    raise KernelError(ERESTARTNOHAND)


@syscall("signal", "int sig, unsigned long handler", source="kernel/signal.c")
def sys_signal(k: KernelFace, sig: int, handler: int) -> int:
    """One-shot handlers of old."""
    if not 1 <= sig <= 64 or sig in (SIGKILL, SIGSTOP):
        raise KernelError(EINVAL)
    actions = k.current.signal.actions
    old = actions[sig].handler
    actions[sig] = SigAction(handler, 0x80000000 | 0x40000000)
    return old


@syscall("set_tls", "unsigned long value", source="arch/arm/kernel/traps.c")
def sys_set_tls(k: KernelFace, value: int) -> int:
    """The thread pointer of ARM."""
    k.cpu.tls = value
    k.current.tls = value
    return 0


@syscall("cacheflush", "unsigned long start, unsigned long end, int flags", source="arch/arm/kernel/traps.c")
def sys_cacheflush(k: KernelFace, start: int, end: int, flags: int) -> int:
    """Code is seen as it is written."""
    if end < start or flags:
        raise KernelError(EINVAL)
    return 0


@syscall("stime", "long *tptr", source="kernel/time/time.c")
def sys_stime(k: KernelFace, tptr: int) -> int:
    """Set the wall clock in seconds."""
    k.clock.set_realtime(k.usercopy.get_user(tptr, k.arch.word, signed=True) * 10**9)
    return 0
