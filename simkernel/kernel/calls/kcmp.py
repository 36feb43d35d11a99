"""Looking at another task: kcmp, process_vm_readv and process_vm_writev, and who may.  kernel/kcmp.c, mm/process_vm_access.c,
kernel/ptrace.c:__ptrace_may_access()."""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_PTRACE
from arch.abi.errno import EFAULT, EINVAL, EPERM, ESRCH
from arch.abi.limits import IOV_MAX, PAGE_SIZE
from arch.errors import Fault, KernelError
from simkernel.kernel.areas import any_secret
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.landlock import domain_scope_le
from simkernel.kernel.task import Task

# include/uapi/linux/kcmp.h
KCMP_FILE, KCMP_VM, KCMP_FILES, KCMP_FS, KCMP_SIGHAND, KCMP_IO, KCMP_SYSVSEM, KCMP_EPOLL_TFD = range(8)


# include/linux/ptrace.h
PTRACE_MODE_READ_FSCREDS, PTRACE_MODE_ATTACH_FSCREDS = 0x9, 0xA
PTRACE_MODE_READ_REALCREDS, PTRACE_MODE_ATTACH_REALCREDS = 0x11, 0x12


def ptrace_may_access(k: KernelFace, task: Task, mode: int = PTRACE_MODE_READ_REALCREDS) -> bool:
    """The current task may look into another: same ids and dumpable, or CAP_SYS_PTRACE."""
    me, them = k.current.cred, task.cred
    if task.tgid == k.current.tgid:
        return True
    if me.domain is not None and not domain_scope_le(me.domain, them.domain):
        return False
    same = {me.uid} == {them.euid, them.suid, them.uid} and {me.gid} == {them.egid, them.sgid, them.gid}
    if not (same and task.dumpable == 1 and not them.cap_permitted & ~me.cap_permitted) and not k.capable(
        CAP_SYS_PTRACE
    ):
        return False
    if "ptrace_access_check" not in k.security_hooks.watched:
        return True
    return k.security_hooks.call("ptrace_access_check", (task.addr, mode)) == 0


def _order(a: int, b: int) -> int:
    """kcmp_ptr(): 0 the same, 1 less, 2 greater."""
    return 0 if a == b else 1 if a < b else 2


def _serial(objects: list[object], item: object) -> int:
    return next(i for i, known in enumerate(objects) if known is item)


@syscall(
    "kcmp", "pid_t pid1, pid_t pid2, int type, unsigned long idx1, unsigned long idx2", source="kernel/kcmp.c"
)  # fmt: skip
def sys_kcmp(k: KernelFace, pid1: int, pid2: int, kind: int, idx1: int, idx2: int) -> int:
    """Whether two tasks share something.  ESRCH, EPERM, EINVAL, EBADF."""
    first, second = k.tasks.find(pid1), k.tasks.find(pid2)
    if first is None or second is None:
        raise KernelError(ESRCH)
    if not ptrace_may_access(k, first) or not ptrace_may_access(k, second):
        raise KernelError(EPERM)
    if kind == KCMP_FILE:
        files = [k.vfs.file_of(k, t, i & 0xFFFFFFFF) for t, i in ((first, idx1), (second, idx2))]
        return _order(files[0].addr, files[1].addr)
    if kind == KCMP_EPOLL_TFD:
        raw = k.usercopy.copy_from_user(idx2, 12)
        efd, tfd, toff = (int.from_bytes(raw[i : i + 4], k.mem.byteorder) for i in (0, 4, 8))
        file = k.vfs.file_of(k, first, idx1 & 0xFFFFFFFF)
        target = k.vfs.epoll_target(k.vfs.file_of(k, second, efd), tfd, toff)
        return target if target < 0 else _order(file.addr, target)
    pairs: dict[int, tuple[object, object]] = {
        KCMP_VM: (first.mm, second.mm),
        KCMP_FILES: (first.files, second.files),
        KCMP_FS: (first.fs, second.fs),
        KCMP_SIGHAND: (first.signal.actions, second.signal.actions),
        KCMP_IO: (first.io_context, second.io_context),
        KCMP_SYSVSEM: (None, None),
    }
    if kind not in pairs:
        raise KernelError(EINVAL)
    one, other = pairs[kind]
    if one is other:
        return 0
    everything: list[object] = []
    for task in k.tasks.by_pid.values():
        everything += [task.mm, task.files, task.fs, task.signal.actions, task.io_context]
    return _order(_serial(everything, one), _serial(everything, other))


def user_vectors(k: KernelFace, address: int, count: int, mine: bool = True) -> list[tuple[int, int]]:
    """import_iovec(): (address, length) each, or iovec_from_user() of another's.  EINVAL, EFAULT."""
    if count > IOV_MAX:
        raise KernelError(EINVAL)
    word, out = k.arch.word, []
    for i in range(count):
        raw = k.usercopy.copy_from_user(address + 2 * i * word, 2 * word)
        base, size = (int.from_bytes(raw[j : j + word], k.mem.byteorder) for j in (0, word))
        if size >> 8 * word - 1:
            raise KernelError(EINVAL)
        if mine and base + size > k.arch.map.user_end:
            raise KernelError(EFAULT)
        out.append((base, size))
    return out


def _pieces(mine: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(my address, their address, length): nowhere across a page of theirs or an element of either."""
    out, local, at = [], [list(v) for v in mine if v[1]], 0
    for base, size in theirs:
        while size and at < len(local):
            step = min(size, local[at][1], PAGE_SIZE - (base & PAGE_SIZE - 1))
            out.append((local[at][0], base, step))
            base, size = base + step, size - step
            local[at][0] += step
            local[at][1] -= step
            at += not local[at][1]
    return out


def _process_vm(
    k: KernelFace, pid: int, lvec: int, lcount: int, rvec: int, rcount: int, flags: int, write: bool
) -> int:
    if flags:
        raise KernelError(EINVAL)
    mine = user_vectors(k, lvec, lcount)
    if not sum(size for _, size in mine):
        return 0
    theirs = user_vectors(k, rvec, rcount, mine=False)
    if not sum(size for _, size in theirs):
        return 0
    task = k.tasks.find(pid)
    if task is None or task.mm is None:
        raise KernelError(ESRCH)
    if not ptrace_may_access(k, task, PTRACE_MODE_ATTACH_REALCREDS):
        raise KernelError(EPERM)
    done, user = 0, task.mm.user
    for local, remote, size in _pieces(mine, theirs):
        try:
            if any_secret(task.mm.overlaps(remote, remote + size)):
                raise KernelError(EFAULT)
            if write:
                user.write(remote, k.usercopy.copy_from_user(local, size))
            else:
                k.usercopy.copy_to_user(local, bytes(user.read(remote, size)))
        except (Fault, KernelError):
            if not done:
                raise KernelError(EFAULT) from None
            break
        done += size
    return done


@syscall(
    "process_vm_readv",
    "pid_t pid, const struct iovec *lvec, unsigned long liovcnt, const struct iovec *rvec, unsigned long riovcnt, "
    "unsigned long flags",
    source="mm/process_vm_access.c",
)
def sys_process_vm_readv(k: KernelFace, pid: int, lvec: int, lcount: int, rvec: int, rcount: int, flags: int) -> int:
    """From another process's memory; how many bytes.  EINVAL, ESRCH, EPERM, EFAULT."""
    return _process_vm(k, pid, lvec, lcount, rvec, rcount, flags, False)


@syscall(
    "process_vm_writev",
    "pid_t pid, const struct iovec *lvec, unsigned long liovcnt, const struct iovec *rvec, unsigned long riovcnt, "
    "unsigned long flags",
    source="mm/process_vm_access.c",
)
def sys_process_vm_writev(k: KernelFace, pid: int, lvec: int, lcount: int, rvec: int, rcount: int, flags: int) -> int:
    """Into another process's memory; how many bytes."""
    return _process_vm(k, pid, lvec, lcount, rvec, rcount, flags, True)
