"""Lines of the kernel log about exceptions whose signals nobody takes.  kernel/signal.c:unhandled_signal(), mm/memory.c:print_vma_addr()."""

from __future__ import annotations

from arch.abi.kern_levels import KERN_EMERG, KERN_INFO, KERN_WARNING
from arch.abi.limits import PAGE_SIZE
from arch.abi.signal import SIG_DFL, SIG_IGN
from arch.errors import Fault, KernelError
from arch.exceptions import Unhandled
from simkernel.kernel.calls.system import uname_fields
from simkernel.kernel.face import KernelFace
from simkernel.kernel.mm import Mm
from simkernel.kernel.task import Task

UID_IN_HEADER = "6.12"
OFFSET_IN_FILE = "6.12"  # 5.10 and 6.1 print only the area, and of the next one where there is none


def unhandled_signal(task: Task, sig: int) -> bool:
    """Nobody has a handler for it, and nobody traces the task."""
    if task.pid == 1:
        return True
    return task.signal.actions[sig].handler in (SIG_DFL, SIG_IGN) and task.ptracer is None


def vma_text(k: KernelFace, mm: Mm, ip: int) -> str:
    """print_vma_addr(): the file that the instruction is in."""
    with_offset = not k.version.before(OFFSET_IN_FILE)
    vma = mm.find(ip) if with_offset else mm.find_next(ip)
    if vma is None or vma.file is None:
        return ""
    name = vma.file.path.removesuffix(" (deleted)").rpartition("/")[2]
    offset = f"{ip - vma.start + vma.pgoff * PAGE_SIZE:x}," if with_offset else ""
    return f" in {name}[{offset}{vma.start:x}+{vma.end - vma.start:x}]"


def machine_lines(k: KernelFace, task: Task) -> tuple[str, str]:
    """show_regs_print_info()."""
    fields = uname_fields(k)
    uid = "" if k.version.before(UID_IN_HEADER) else f"UID: {task.cred.uid} "
    number = fields[3].partition(" ")[0]
    head = f"CPU: {k.cpus.rq.cpu} {uid}PID: {task.pid} Comm: {task.comm} Not tainted {fields[2]} {number}"
    return head, f"Hardware name: simkernel {k.arch.machine}"


def complain(k: KernelFace, regs: int, sig: int, code: int, address: int) -> None:
    """What this CPU's kernel says of the last exception, at most ten times in five seconds (kernel.printk_ratelimit)."""
    task, log, words = k.current, k.log, k.arch.exceptions.complain
    mm = task.mm
    if words is None or mm is None or not log.show_unhandled_signals or not unhandled_signal(task, sig):
        return

    def opcodes(start: int, size: int) -> bytes | None:
        try:
            return bytes(mm.read(start, size))
        except (Fault, KernelError):
            return None

    ip, sp = k.regs.get(regs, k.arch.instruction_pointer), k.regs.get(regs, k.arch.stack_pointer)
    told = words(
        Unhandled(
            k.version,
            task.comm,
            task.pid,
            k.cpus.rq.cpu,
            task.trap_nr,
            ip,
            sp,
            task.trap_error,
            task.trap_address,
            vma_text(k, mm, ip),
            opcodes,
            sig,
            code,
            address,
            lambda field: k.regs.get(regs, field),
            machine_lines(k, task),
        )
    )
    if told is None:
        return
    limit = log.ratelimit
    if limit.over(k.clock._now) and (missed := limit.take_missed()):
        k.printk(f"{told.function}: {missed} callbacks suppressed")
    if limit.allowed():
        level = KERN_INFO if task.pid > 1 else KERN_EMERG
        k.printk(told.lines[0], level)
        for line in told.registers:
            k.printk(line, KERN_WARNING)
        for line in told.lines[1:]:
            k.printk(line, level)
