"""The way from user mode into kernel functions and back: system calls, exceptions, the timer, work before returning.

arch/*/entry, kernel/entry/common.c, arch/x86/mm/fault.c.  The machine code of the entry stubs and their names are the
architecture's (arch.entry); each stub calls the handler of its role, whose body is here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from arch.abi.errno import (
    EINTR,
    ENOSYS,
    ERESTART_RESTARTBLOCK,
    ERESTARTNOHAND,
    ERESTARTNOINTR,
    ERESTARTSYS,
)
from arch.abi.limits import PAGE_SIZE
from arch.abi.signal import (
    BUS_ADRALN,
    BUS_ADRERR,
    BUS_MCEERR_AR,
    FPE_INTDIV,
    SEGV_ACCERR,
    SEGV_MAPERR,
    SI_KERNEL,
    SIGBUS,
    SIGFPE,
    SIGSEGV,
    SIGTRAP,
)
from arch.abi.traps import X86_TRAP_GP, X86_TRAP_PF
from arch.cpu import FAULT_EXEC, FAULT_PROT, FAULT_USER, FAULT_WRITE
from arch.effective import refine
from arch.errors import KernelError
from simkernel.kernel.calls.signal import get_signal
from simkernel.kernel.exceptions import (
    breakpoint_trap,
    debug,
    fp_error,
    protection,
    trap,
    undefined,
)
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.faults import FAULT_NS, VM_FAULT_HWPOISON, failure_of
from simkernel.kernel.hrtimers import LOCAL_TIMER_VECTOR
from simkernel.kernel.irq import take_interrupts
from simkernel.kernel.kfunc import Function, KernelFunction, Prototype, kernel_function
from simkernel.kernel.locks import mmap_lock, mmap_locking, mmap_unlocked
from simkernel.kernel.oom import starve
from simkernel.kernel.ptrace.stops import WORK_EMU, WORK_TRACE, disable_step, notify, report_syscall
from simkernel.kernel.sched import rcu_does
from simkernel.kernel.seccomp import WORK_SECCOMP, secure_computing
from simkernel.kernel.sigpending import SigInfo
from simkernel.kernel.syscall_user_dispatch import WORK_USER_DISPATCH, syscall_user_dispatch
from simkernel.kernel.syscalls import NR_SYSCALLS, SYSCALL_NS
from simkernel.kernel.task import Task, has_signal
from simkernel.kernel.unhandled import complain
from simkernel.kernel.userfault import NEEDS, reason


def make_syscall_body(k: KernelFace) -> Function:
    """The body of the "syscall" role: do_syscall_64() and its like."""
    layout = k.cpu.layout
    row = layout.fields[k.abi.result]
    order = "<" if k.arch.byteorder == "little" else ">"
    pack = struct.Struct(order + ("Q" if row.size == 8 else "I")).pack_into
    buf, base = k.physical.buf, k.mem.map.direct_map - row.offset
    mask = (1 << 8 * row.size) - 1
    clock, cpus, syscalls = k.clock, k.cpus, k.syscalls
    table, count, charge_user = syscalls.table, syscalls.counts.add, cpus.charge_user
    unpackers = [layout.fields[field] for field in k.abi.args]
    shows_number = k.arch.calls.result_before == "number"
    enter_point, exit_point = k.tracepoints.point("sys_enter"), k.tracepoints.point("sys_exit")

    capable_calls = k.capable_calls

    def do_syscall(k: KernelFace, regs: int, nr: int) -> Body:
        clock._now += SYSCALL_NS
        charge_user()
        task = k.current
        task.syscall_nr = nr
        count(nr)
        observed = syscalls.strace is not None or enter_point.active
        if syscalls.strace is not None:
            nr = syscalls.enter(regs, nr)
        elif observed:
            if shows_number:
                pack(buf, regs - base, nr & mask)
            enter_point.fire(regs, nr)
            if shows_number:
                pack(buf, regs - base, -ENOSYS & mask)
        if task.syscall_work:
            nr = yield from syscall_trace_enter(k, regs, nr)
        target = table.get(nr)
        if target is None:
            ret = k.regs.signed_word(k.regs.get(regs, k.abi.result)) if nr == SKIPPED else syscalls.absent(nr)
        elif target[1] is None:
            clock._now += target[2]
            ret = yield (target[0], regs)
        else:  # no wrapper: the handler takes C arguments
            clock._now += target[2]
            ret = yield (
                target[0],
                *[k.mem.read_uint(regs + r.offset, r.size) for r in unpackers[: target[1]]],
            )
        pack(buf, regs - base, ret & mask)
        if capable_calls:
            yield from call_capable(k, task)
        if syscalls.strace is not None:
            if observed or exit_point.active:
                syscalls.exit(regs, nr, ret)
        elif exit_point.active:
            exit_point.fire(regs, ret)
        if task.syscall_work & WORK_TRACE:
            yield from report_syscall(k, False)
        if task.work or clock._now >= cpus.deadline:
            task.in_syscall = True
            yield k.call("exit_to_user_mode_loop", regs, 0)
            task.in_syscall = False
        return 0

    return do_syscall


SKIPPED = -2  # no call is made, the result register says what it gives


def call_capable(k: KernelFace, task: Task) -> Steps[None]:
    """What this system call asked of cap_capable() without calling it, now that somebody looks there."""
    calls = [call for call in k.capable_calls if call[0] is task]
    k.capable_calls[:] = [call for call in k.capable_calls if call[0] is not task and not call[0].exit_state]
    for _, ns, cap, opts in calls:
        yield k.call("cap_capable", task.cred.addr, ns, cap, opts)


def syscall_trace_enter(k: KernelFace, regs: int, nr: int) -> Steps[int]:
    """User dispatch, the tracer, who sees the call and may put another in its place, then seccomp: the number to go on with, or SKIPPED."""
    task = k.current
    preset = k.regs.orig_field != k.abi.result
    if task.syscall_work & WORK_USER_DISPATCH and syscall_user_dispatch(k, regs, nr):
        return SKIPPED
    before = k.arch.calls.result_before
    if preset and (before != "argument" or nr == -1):
        k.regs.set(regs, k.abi.result, nr if before == "number" else -ENOSYS)
    if (work := task.syscall_work) & (WORK_TRACE | WORK_EMU):
        yield from report_syscall(k, True)
        if before == "number":
            k.regs.set(regs, k.abi.result, -ENOSYS)
        if work & WORK_EMU:  # the call is the tracer's
            return SKIPPED
        if preset and k.abi.number == k.regs.orig_field:
            nr = k.regs.get(regs, k.regs.orig_field) & 0xFFFFFFFF
            nr = nr - (1 << 32) if nr >> 31 else nr
        if preset and nr == -1:
            return SKIPPED
        task.syscall_nr = nr
    if task.syscall_work & WORK_SECCOMP:
        if not (yield from secure_computing(k)):
            return SKIPPED
        nr = task.syscall_nr  # a tracer may have put another in its place
        if before == "number":
            k.regs.set(regs, k.abi.result, -ENOSYS)
    return nr


def page_fault(k: KernelFace, regs: int, error_code: int, address: int) -> Body:
    """exc_page_fault() of user code: bring the page in, or SIGSEGV / SIGBUS."""
    task = k.current
    if k.mm.left is not None:  # taken in place (faults.py)
        ret, k.mm.left = k.mm.left, None
        yield from _fault_taken(k, regs, error_code, address, ret)
        return 0
    k.clock._now += FAULT_NS
    k.cpus.charge_user()
    if k.tracepoints.point("page_fault_user").active:
        exact = refine(k.arch, saved(k, regs), k.usercopy.user.read, address, bool(error_code & FAULT_EXEC))
        k.trace("page_fault_user", exact, regs, error_code)
    access = "write" if error_code & FAULT_WRITE else "exec" if error_code & FAULT_EXEC else "read"
    lock = mmap_lock(k)
    mmap_locking(k, False)
    if lock:
        yield k.call("down_read_trylock", lock)
    whose = _user_space_looks_after(k, address, access)
    ret = (
        (yield k.call("handle_userfault", address, whose))
        if whose
        else (yield k.call("handle_mm_fault", *_fault_arguments(k, address, _FLAGS[access], regs)))
    )
    mmap_unlocked(k, False)
    if lock:
        yield k.call("up_read", lock)
    if ret or task.work or k.clock._now >= k.cpus.deadline:
        yield from _fault_taken(k, regs, error_code, address, ret)
    return 0


def saved(k: KernelFace, regs: int) -> Callable[[str], int]:
    """What user code had: fields of struct pt_regs, and the bases of its segments."""
    fields, get, read = k.cpu.layout.fields, k.regs.get, k.cpu.read_reg
    return lambda field: get(regs, field) if field in fields else read(field)


def set_signal_archinfo(k: KernelFace, task: Task, error_code: int, address: int) -> None:
    """What a signal frame tells of the fault; of addresses that are the kernel's, that there is a page.  arch/x86/mm/fault.c"""
    if task.mm is not None:
        present = address >= k.mm.layout.task_size or address & -PAGE_SIZE in task.mm.pages
        error_code = error_code & ~FAULT_PROT | (FAULT_PROT if present else 0)
    task.trap_nr, task.trap_error, task.trap_address = X86_TRAP_PF, error_code | FAULT_USER, address


def _fault_taken(k: KernelFace, regs: int, error_code: int, address: int, ret: int) -> Steps[None]:
    """The end of a fault, with what handle_mm_fault() gave; where that is not 0, a signal follows."""
    task = k.current
    if ret:  # now the exact address matters
        present = task.mm is not None and task.mm.find(address) is not None
        address = refine(k.arch, saved(k, regs), k.usercopy.user.read, address, bool(error_code & FAULT_EXEC))
        address &= k.arch.exceptions.fault_mask
        hole = k.arch.exceptions.hole
        if hole is not None and hole[0] <= address < hole[1]:
            ret = 0
            task.trap_nr, task.trap_error = X86_TRAP_GP, 0
            complain(k, regs, SIGSEGV, SI_KERNEL, 0)
            k.signals.force(task, SIGSEGV, SI_KERNEL, 0)
    if ret:
        set_signal_archinfo(k, task, error_code, address)
    if ret & 0x1:  # VM_FAULT_OOM
        yield from starve(k, again=True)
    elif ret & VM_FAULT_HWPOISON:
        info = SigInfo(SIGBUS, BUS_MCEERR_AR)
        info.addr, info.lsb = address, PAGE_SIZE.bit_length() - 1
        k.signals.force_info(task, info)
    elif ret & 0x2:  # VM_FAULT_SIGBUS
        if k.arch.exceptions.complains_of_bus:
            complain(k, regs, SIGBUS, BUS_ADRERR, address)
        k.signals.force(task, SIGBUS, BUS_ADRERR, address)
    elif ret:
        code = SEGV_ACCERR if present else SEGV_MAPERR
        complain(k, regs, SIGSEGV, code, address)
        k.signals.force(task, SIGSEGV, code, address)
    if task.work or k.clock._now >= k.cpus.deadline:
        yield k.call("exit_to_user_mode_loop", regs, 0)


def _user_space_looks_after(k: KernelFace, address: int, access: str) -> int:
    """A fault of an area with a userfaultfd: VM_UFFD_*, and 1 for a write; 0 when the kernel mends it."""
    mm = k.current.mm
    vma = mm.find(address) if mm is not None else None
    if mm is None or vma is None or not vma.userfault or not vma.prot & NEEDS[access]:
        return 0
    page = address & -PAGE_SIZE
    found = reason(vma, page, page in mm.pages, access == "write", mm.userfault_wp)
    return found and found | (access == "write")


_FLAGS = {"read": 0x54, "write": 0x55, "exec": 0x154}  # FAULT_FLAG_*: USER | KILLABLE | ALLOW_RETRY, WRITE, INSTRUCTION


def _handle_mm_fault(k: KernelFace, address: int, flags: int) -> int:
    mm = k.current.mm
    access = "write" if flags & 1 else "exec" if flags & 0x100 else "read"
    if mm is None:
        return 64
    try:
        return 0 if mm.fault(address, access) else 64
    except KernelError as error:
        return failure_of(error)


@kernel_function(
    "vm_fault_t handle_mm_fault(struct vm_area_struct *vma, unsigned long address, unsigned int flags, "
    "struct pt_regs *regs)",
    source="mm/memory.c",
    since="5.9",
)
def handle_mm_fault(k: KernelFace, vma: int, address: int, flags: int, regs: int) -> int:
    """Make a user page present; 0, VM_FAULT_OOM (1), VM_FAULT_SIGBUS (2) or VM_FAULT_SIGSEGV (64)."""
    return _handle_mm_fault(k, address, flags)


@kernel_function(
    "vm_fault_t handle_mm_fault(struct vm_area_struct *vma, unsigned long address, unsigned int flags)",
    source="mm/memory.c",
    since="4.8",
    until="5.9",
)
def handle_mm_fault_3(k: KernelFace, vma: int, address: int, flags: int) -> int:
    """The form without registers."""
    return _handle_mm_fault(k, address, flags)


@kernel_function(
    "int handle_mm_fault(struct mm_struct *mm, struct vm_area_struct *vma, unsigned long address, unsigned int flags)",
    source="mm/memory.c",
    until="4.8",
)
def handle_mm_fault_mm(k: KernelFace, mm: int, vma: int, address: int, flags: int) -> int:
    """The oldest form."""
    return _handle_mm_fault(k, address, flags)


def _fault_arguments(k: KernelFace, address: int, flags: int, regs: int) -> tuple[int, ...]:
    """What handle_mm_fault() of this version gets; the vm_area_struct is made only if somebody could look at it."""
    mm = k.current.mm
    vma = mm.find(address) if mm is not None and k.text.is_probed("handle_mm_fault") else None
    area = k.mirror.vma_struct(mm, vma) if mm is not None and vma is not None else 0
    if k.version.at_least("5.9"):
        return (area, address, flags, regs)
    if k.version.at_least("4.8"):
        return (area, address, flags)
    return (mm.addr if mm is not None else 0, area, address, flags)


def timer(k: KernelFace, regs: int) -> Body:
    """The timer interrupt: time has passed; others may run."""
    k.cpus.charge_user()
    depth, cpu = k.irqs.depth, k.cpus.rq.cpu
    depth[cpu] += 1
    k.hrtimers.interrupts[cpu] += 1
    k.trace("local_timer_entry", LOCAL_TIMER_VECTOR)
    if k.tracepoints.point("rcu_utilization").active:
        rcu_does(k, "scheduler-tick")
    k.trace("local_timer_exit", LOCAL_TIMER_VECTOR)
    depth[cpu] -= 1
    yield k.call("exit_to_user_mode_loop", regs, 0)
    return 0


def interrupt(k: KernelFace, regs: int, vector: int) -> Body:
    """A device interrupt that came while user code ran."""
    k.cpus.charge_user()
    yield from take_interrupts(k)
    if k.current.work or k.clock._now >= k.cpus.deadline:
        yield k.call("exit_to_user_mode_loop", regs, 0)
    return 0


ROLE_BODIES: dict[str, tuple[str, Function]] = {
    "page_fault": ("struct pt_regs *regs, unsigned long error_code, unsigned long address", page_fault),
    "timer": ("struct pt_regs *regs", timer),
    "undefined": ("struct pt_regs *regs, unsigned long trapnr", undefined),
    "divide": ("struct pt_regs *regs, unsigned long trapnr", trap(SIGFPE, FPE_INTDIV)),
    "breakpoint": ("struct pt_regs *regs, unsigned long trapnr", breakpoint_trap),
    "debug": ("struct pt_regs *regs, unsigned long trapnr", debug),
    "protection": ("struct pt_regs *regs, unsigned long trapnr", protection),
    "fp": ("struct pt_regs *regs, unsigned long trapnr", fp_error),
    "alignment": ("struct pt_regs *regs, unsigned long trapnr", trap(SIGBUS, BUS_ADRALN)),
    "interrupt": ("struct pt_regs *regs, unsigned long vector", interrupt),
}


def entry_functions(k: KernelFace) -> list[KernelFunction]:
    """The handlers that the architecture's stubs call, as kernel functions; not to be probed."""
    out: list[KernelFunction] = []
    for role, name in k.arch.entry_for(k.version).handlers.items():
        if role == "fork":
            continue
        if role == "syscall":
            params, body = "struct pt_regs *regs, int nr", _syscall_chain(k, out)
        else:
            params, body = ROLE_BODIES[role]
        prototype = Prototype.parse(f"void {name}({params})")
        out.append(KernelFunction(name, prototype, body, "arch/*/entry", notrace=role != "syscall"))
    return out


def _syscall_chain(k: KernelFace, out: list[KernelFunction]) -> Function:
    """The functions between the entry code and the call (arm64's invoke_syscall and its callers); the first body."""
    body = make_syscall_body(k)
    for text, since in reversed(k.arch.syscall_chain):
        if k.version.at_least(since):
            prototype = Prototype.parse(text)
            out.append(KernelFunction(prototype.name, prototype, _accept(body, len(prototype.params)), "arch/*/kernel"))
            body = _forward(prototype.name, len(prototype.params))
    return body


def _accept(body: Function, count: int) -> Function:
    """The body of (regs, nr) for a function with other arguments; the number is in the saved registers."""
    if count == 1:
        return lambda k, regs: body(k, regs, k.current.syscall_nr)
    return lambda k, regs, nr, *more: body(k, regs, nr)


def _forward(name: str, count: int) -> Function:
    """A body that calls the next function of the chain."""

    def forward(k: KernelFace, regs: int, nr: int) -> Body:
        k.current.syscall_nr = nr
        yield k.call(name, *(regs, nr, NR_SYSCALLS, 0)[:count])
        return 0

    return forward


def on_the_way(k: KernelFace) -> list[str]:
    """Those functions: the entry code's handler and the chain behind it."""
    chain = [Prototype.parse(text).name for text, since in k.arch.syscall_chain if k.version.at_least(since)]
    return [k.arch.entry_for(k.version).handlers["syscall"], *chain]


@kernel_function(
    "unsigned long exit_to_user_mode_loop(struct pt_regs *regs, unsigned long ti_work)",
    source="kernel/entry/common.c",
    names={
        None: "do_notify_resume",
        "4.4": "exit_to_usermode_loop",
        "5.9": "exit_to_user_mode_prepare",
        "6.8": "exit_to_user_mode_loop",
    },
)
def exit_to_user_mode_loop(k: KernelFace, regs: int, ti_work: int) -> Body:
    """Due timers, rescheduling and signals, until there is nothing left to do before user mode."""
    task = k.current
    pending = k.irqs.pending
    while True:
        clock = k.clock
        if clock._now >= clock.next_event_ns:
            k.cpus.irq_regs = 0 if task.in_syscall else regs
            clock.run_due()
            k.cpus.irq_regs = 0
        rq = k.cpus.rq
        if pending[rq.cpu]:
            yield from take_interrupts(k)
            continue
        if rq.need_resched or (rq.tasks and clock._now >= rq.slice_end_ns):
            yield k.call("schedule")
            continue
        if task.work:
            task.work = False
            if task.task_works:
                yield k.call("task_work_run")
            if task.starving:
                task.starving = False
                yield from starve(k)
                continue
            if task.rseq and rseq_needed(k, task):
                yield k.call("__rseq_handle_notify_resume", 0, regs)
            woken, task.signal_woken = task.signal_woken, False
            if has_signal(task) or task.saved_blocked is not None:
                yield k.call("arch_do_signal_or_restart", regs)
                continue
            if task.in_syscall and woken and _restart_code(k, regs) is not None:  # another thread took the signal
                yield k.call("arch_do_signal_or_restart", regs)
                if task.driver is None:
                    continue
            if task.driver is not None:
                yield from task.driver.returning(regs)
                if k.signals.fatal_pending():
                    task.work = True
                    continue
                break
        if task.unreturnable:  # who has dropped that signal gets another, as the CPU would refuse again
            fault = k.sigframes.abi.return_fault(k.sigframes, regs)
            if fault is not None:
                k.signals.force(task, *fault, 0)
                continue
            task.unreturnable = False
        break
    k.cpus.set_deadline()
    return 0


@kernel_function("void task_work_run(void)", source="kernel/task_work.c")
def task_work_run(k: KernelFace) -> Body:
    """What was left for the way back to user mode, with what comes meanwhile."""
    yield from run_task_works(k.current)
    return 0


def run_task_works(task: Task) -> Steps[None]:
    """The same inside another function (`yield from`)."""
    while task.task_works:
        yield from task.task_works.popleft()()


def rseq_needed(k: KernelFace, task: Task) -> bool:
    """The thread moved to another CPU, may be inside a restartable sequence, or is watched: Linux does it at each return of who slept."""
    if k.tracepoints.point("rseq_update").active:
        return True
    try:
        return task.rseq_cpu != k.cpus.rq.cpu or bool(k.usercopy.get_user(task.rseq + 8, 8))
    except KernelError:
        return True


def _restart_code(k: KernelFace, regs: int) -> int | None:
    value = k.regs.get(regs, k.abi.result)
    bits = 8 * k.arch.word
    value = value - (1 << bits) if value >> (bits - 1) else value
    if -value in (ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK):
        return -value
    return None


@kernel_function(
    "void arch_do_signal_or_restart(struct pt_regs *regs)",
    source="arch/*/kernel/signal.c",
    names={None: "do_signal", "5.9": "arch_do_signal_or_restart"},
)
def arch_do_signal_or_restart(k: KernelFace, regs: int) -> Body:
    """Deliver one signal (its frame on the user stack), or restart an interrupted system call."""
    task = k.current
    restart = _restart_code(k, regs) if task.in_syscall else None
    info = yield from get_signal(k)
    if info is not None:
        action = task.signal.actions[info.sig]
        if restart is not None:
            interrupted = restart in (ERESTARTNOHAND, ERESTART_RESTARTBLOCK) or (
                restart == ERESTARTSYS and not action.flags & 0x10000000
            )
            if interrupted:
                k.regs.set(regs, k.abi.result, -EINTR)
            else:
                _restart(k, regs)
        task.in_syscall = False
        k.signals.delivering = info
        stepping = (
            disable_step(k, task) and task.ptracer is not None
        )  # what the handler returns to is not stepped through
        failed = yield k.call("setup_rt_frame", info.sig, regs)
        if stepping and not failed:
            yield from notify(k, SIGTRAP)  # signal_delivered(): before the handler's first instruction
        return 0
    if restart is not None:
        if restart == ERESTART_RESTARTBLOCK:
            k.regs.restart_number(regs)
        else:
            _restart(k, regs)
        task.in_syscall = False
    if task.saved_blocked is not None:
        task.blocked, task.saved_blocked = task.saved_blocked, None
        k.signals.recalc(task)
    return 0


def _restart(k: KernelFace, regs: int) -> None:
    """Back to the system-call instruction, with the registers of before."""
    k.regs.set(regs, k.abi.result, k.regs.get(regs, k.regs.orig_field))
    ip = k.arch.instruction_pointer
    k.regs.set(regs, ip, k.regs.get(regs, ip) - k.regs.syscall_insn_size)


@kernel_function("long sys_ni_syscall(void)", source="kernel/sys_ni.c")
def sys_ni_syscall(k: KernelFace) -> int:
    """A number without a function."""
    return -ENOSYS
