"""Advice about another process's memory, and what a killed one gives back at once.  mm/madvise.c, mm/oom_kill.c."""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_NICE
from arch.abi.errno import EACCES, EINVAL, EPERM, ESRCH
from arch.abi.mman import MADV_COLD, MADV_PAGEOUT, MADV_WILLNEED
from arch.errors import KernelError
from simkernel.kernel.calls.kcmp import ptrace_may_access, user_vectors
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.madvise import do_madvise
from simkernel.kernel.task import PF_EXITING


@syscall(
    "process_madvise", "int pidfd, const struct iovec *vec, size_t vlen, int behavior, unsigned int flags",
    source="mm/madvise.c", since="5.10",
)  # fmt: skip
def sys_process_madvise(k: KernelFace, pidfd: int, vec: int, vlen: int, behavior: int, flags: int) -> int:
    """How many bytes were advised about.  EINVAL, EFAULT, EBADF, ESRCH, EACCES, EPERM, ENOMEM."""
    if flags:
        raise KernelError(EINVAL)
    vectors = user_vectors(k, vec, vlen)
    task, _ = k.pidfds.task(k, pidfd)
    mm = task.mm
    if task.exit_state:
        raise KernelError(ESRCH)
    if behavior not in (MADV_COLD, MADV_PAGEOUT, MADV_WILLNEED):
        raise KernelError(EINVAL)
    if mm is None:
        raise KernelError(ESRCH)
    if not ptrace_may_access(k, task):
        raise KernelError(EACCES)
    if mm is not k.current.mm and not k.capable(CAP_SYS_NICE):
        raise KernelError(EPERM)
    done = 0
    for base, size in vectors:
        try:
            do_madvise(mm, base, size, behavior, k.arch.word)
        except KernelError:
            if not done:
                raise
            break
        done += size
    return done


@syscall("process_mrelease", "int pidfd, unsigned int flags", source="mm/oom_kill.c", since="5.15")
def sys_process_mrelease(k: KernelFace, pidfd: int, flags: int) -> int:
    """Take the private memory of a process that was killed.  EINVAL (it was not), EBADF, ESRCH."""
    if flags:
        raise KernelError(EINVAL)
    task, _ = k.pidfds.task(k, pidfd)
    alive = next((thread for thread in task.threads or [task] if thread.mm is not None), None)
    if alive is None or alive.mm is None:
        raise KernelError(ESRCH)
    if not task.signal.group_exiting and not alive.flags & PF_EXITING:
        raise KernelError(EINVAL)
    mm = alive.mm
    for vma in list(mm.vmas):  # __oom_reap_task_mm()
        if vma.file is None and not vma.shared and not vma.locked:
            mm.unmap_pages(vma.start, vma.end)
    return 0
