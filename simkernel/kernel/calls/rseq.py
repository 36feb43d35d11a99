"""Restartable sequences: user code that knows its CPU, and is taken back when it was interrupted.  kernel/rseq.c.

struct rseq    { u32 cpu_id_start, cpu_id; u64 rseq_cs; u32 flags; } (32 bytes, aligned)
struct rseq_cs { u32 version, flags; u64 start_ip, post_commit_offset, abort_ip; }
"""

from __future__ import annotations

from arch.abi.errno import EBUSY, EINVAL, EPERM
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import kernel_function, syscall

RSEQ_SIZE = 32
RSEQ_FLAG_UNREGISTER = 1
CPU_UNINITIALIZED = 0xFFFFFFFF
CPU_ID, RSEQ_CS = 4, 8


@syscall("rseq", "struct rseq *rseq, u32 rseq_len, int flags, u32 sig", source="kernel/rseq.c", since="4.18")
def sys_rseq(k: KernelFace, rseq: int, length: int, flags: int, sig: int) -> int:
    """Register or unregister this thread's area.  EINVAL, EBUSY, EPERM, EFAULT."""
    task = k.current
    if flags & RSEQ_FLAG_UNREGISTER:
        if flags & ~RSEQ_FLAG_UNREGISTER or not task.rseq or task.rseq != rseq or length != RSEQ_SIZE:
            raise KernelError(EINVAL)
        if task.rseq_sig != sig:
            raise KernelError(EPERM)
        k.usercopy.put_user(rseq, 4, 0)
        k.usercopy.put_user(rseq + CPU_ID, 4, CPU_UNINITIALIZED)
        task.rseq = 0
        k.mirror.store_own_memory(task)
        return 0
    if flags:
        raise KernelError(EINVAL)
    if task.rseq:
        same = task.rseq == rseq and length == RSEQ_SIZE
        if not same:
            raise KernelError(EINVAL)
        raise KernelError(EPERM if task.rseq_sig != sig else EBUSY)
    if rseq & (RSEQ_SIZE - 1) or length != RSEQ_SIZE:
        raise KernelError(EINVAL)
    k.usercopy.copy_from_user(rseq, RSEQ_SIZE)
    task.rseq, task.rseq_sig = rseq, sig
    k.mirror.store_own_memory(task)
    _store_cpu(k, rseq)
    return 0


def _store_cpu(k: KernelFace, rseq: int) -> None:
    cpu = k.cpus.rq.cpu
    k.usercopy.put_user(rseq, 4, cpu)
    k.usercopy.put_user(rseq + CPU_ID, 4, cpu)
    k.current.rseq_cpu = cpu
    k.trace("rseq_update", k.current.addr)


@kernel_function(
    "void __rseq_handle_notify_resume(struct ksignal *ksig, struct pt_regs *regs)",
    source="kernel/rseq.c",
    since="4.18",
    names={None: "__rseq_handle_notify_resume", "6.19": "__rseq_handle_slowpath"},
)
def __rseq_handle_notify_resume(k: KernelFace, ksig: int, regs: int) -> int:
    """After preemption, migration or a signal: leave a critical section, and say which CPU this is."""
    task = k.current
    try:
        _leave_section(k, task.rseq, regs)
        _store_cpu(k, task.rseq)
    except KernelError:
        k.signals.force(task, 11, 0x80, 0)
    return 0


def _leave_section(k: KernelFace, rseq: int, regs: int) -> None:
    """rseq_ip_fixup()."""
    section = k.usercopy.get_user(rseq + RSEQ_CS, 8)
    if not section:
        return
    order = k.mem.byteorder
    raw = k.usercopy.copy_from_user(section, 32)
    start, length, abort = (int.from_bytes(raw[at : at + 8], order) for at in (8, 16, 24))
    field = k.arch.instruction_pointer
    inside = (k.regs.get(regs, field) - start) & ((1 << 64) - 1) < length
    if not inside or k.usercopy.get_user(abort - 4, 4) == k.current.rseq_sig:
        k.usercopy.put_user(rseq + RSEQ_CS, 8, 0)
        if inside:
            k.trace("rseq_ip_fixup", k.regs.get(regs, field), start, length, abort)
            k.regs.set(regs, field, abort)
        return
    raise KernelError(EINVAL)
