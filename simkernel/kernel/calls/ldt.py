"""Segments that programs make on x86: modify_ldt, set_thread_area, get_thread_area, and the selectors that name them.

arch/x86/kernel/{ldt,tls}.c.  The local table lies in kernel memory, all 8192 descriptors of it, where the CPU reads it when a
selector is loaded.  What a saved selector names may go away: before a task is let into user mode again it is made one that
can be loaded, as the kernel's own fixups do.
"""

from __future__ import annotations

from arch.abi import ldt
from arch.abi.errno import EINVAL, ENOSYS
from arch.abi.limits import U32_MAX
from arch.errors import KernelError
from arch.support import SegmentFacts
from simkernel.kernel import thread_area
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.task import Task

LDT_READ, LDT_WRITE_OLD, LDT_READ_DEFAULT, LDT_WRITE = 0, 1, 2, 0x11
DEFAULT_LDT_SIZE = {4: 40, 8: 128}  # by the size of a word
DATA_SELECTORS = ("ds", "es", "fs", "gs")
THREAD_POINTERS = ("fs", "gs")


def segments(k: KernelFace) -> SegmentFacts:
    """What this CPU has for it.  ENOSYS: nothing."""
    facts: SegmentFacts | None = k.arch.support.segments
    if facts is None:
        raise KernelError(ENOSYS)
    return facts


# -- the local table --------------------------------------------------------------------------------------------------


@syscall("modify_ldt", "int func, void *ptr, unsigned long bytecount", source="arch/x86/kernel/ldt.c")
def sys_modify_ldt(k: KernelFace, func: int, ptr: int, bytecount: int) -> int:
    """The process's own descriptors.  The result is 32 bits of it, also of an error: EFAULT, EINVAL, ENOMEM, ENOSYS."""
    try:
        if func == LDT_READ:
            return _read(k, ptr, bytecount)
        if func == LDT_READ_DEFAULT:
            size = min(bytecount, DEFAULT_LDT_SIZE[k.arch.word])
            k.usercopy.copy_to_user(ptr, bytes(size))
            return size
        if func in (LDT_WRITE_OLD, LDT_WRITE):
            return _write(k, ptr, bytecount, func == LDT_WRITE_OLD)
        raise KernelError(ENOSYS)
    except KernelError as error:
        return -error.errno & U32_MAX


def _read(k: KernelFace, ptr: int, bytecount: int) -> int:
    """read_ldt(): the table, and zeros behind it."""
    mm = k.current.mm
    assert mm is not None
    if not mm.space.ldt:
        return 0
    size = min(bytecount, ldt.LDT_ENTRIES * ldt.LDT_ENTRY_SIZE)
    there = min(size, mm.space.ldt_entries * ldt.LDT_ENTRY_SIZE)
    k.usercopy.copy_to_user(ptr, k.mem.read(mm.space.ldt, there) + bytes(size - there))
    return size


def _write(k: KernelFace, ptr: int, bytecount: int, old: bool) -> int:
    """write_ldt(); `old`: function 1, which clears by an empty base and limit, and has no bit for the program."""
    if bytecount != ldt.USER_DESC_SIZE:
        raise KernelError(EINVAL)
    info = ldt.UserDesc.unpack(k.usercopy.copy_from_user(ptr, bytecount))
    if info.entry_number >= ldt.LDT_ENTRIES or (info.contents == 3 and (old or not info.seg_not_present)):
        raise KernelError(EINVAL)
    if k.arch.word == 4:
        info = info._replace(lm=0)
    if info.is_empty or (old and not info.base_addr and not info.limit):
        raw = ldt.NO_DESCRIPTOR
    else:
        raw = info._replace(useable=0 if old else info.useable).descriptor()
    mm = k.current.mm
    assert mm is not None
    space = mm.space
    if not space.ldt:
        space.ldt = k.mem.alloc_pages(ldt.LDT_PAGES)
        k.cpu.load_ldt()
    space.ldt_entries = max(space.ldt_entries, info.entry_number + 1)
    k.mem.write(space.ldt + ldt.LDT_ENTRY_SIZE * info.entry_number, raw)
    for task in list(k.tasks.by_pid.values()):
        if task.mm is mm:
            _forget(k, task, info.entry_number << 3 | ldt.LOCAL_TABLE)
    return 0


def descriptor(k: KernelFace, task: Task, selector: int) -> bytes | None:
    """What a task's selector names, of what user mode may load; None: nothing."""
    space = task.mm.space if task.mm is not None else None
    return k.cpu.descriptor(selector, thread_descriptors(k, task), space)


def loadable(k: KernelFace, task: Task, selector: int) -> bool:
    """Whether ds, es, fs and gs take it; null ones they do."""
    if selector <= ldt.RPL:
        return True
    raw = descriptor(k, task, selector)
    return raw is not None and ldt.is_data(raw)


def _forget(k: KernelFace, task: Task, changed: int) -> None:
    """A descriptor is another one than before: saved selectors of it that cannot be loaded any more are the null one then."""
    fields = k.cpu.layout.fields
    if task.is_kernel:
        return
    for name in DATA_SELECTORS:
        if name in fields and k.regs.get(task.regs, name) & ~ldt.RPL & 0xFFFF == changed:
            if not loadable(k, task, k.regs.get(task.regs, name) & 0xFFFF):
                k.regs.set(task.regs, name, 0)
    if any(k.regs.get(task.regs, name) & ~ldt.RPL & 0xFFFF == changed for name in ("cs", "ss")):
        task.unreturnable = task.work = True  # perhaps


# -- selectors and bases that are not in struct pt_regs (x86-64) ------------------------------------------------------------


def user_register(k: KernelFace, task: Task, name: str) -> int:
    """One of them."""
    return k.cpu.read_reg(name) if task is k.current else task.context.read(k.cpu.facts.uc_registers[name])


def set_user_register(k: KernelFace, task: Task, name: str, value: int) -> None:
    """Write it.  A selector changes no base, as where the CPU has FSGSBASE, and is the null one if nothing can be loaded with it."""
    registers = {name: value}
    if name in segments(k).bases:
        base = segments(k).bases[name]
        registers = {name: value if loadable(k, task, value) else 0}
        if base is not None:
            registers[base] = user_register(k, task, base)
    if task is k.current:
        for each, wanted in registers.items():
            k.cpu.write_reg(each, wanted)
    else:
        k.cpu.change_user(task.context, task.mm.space if task.mm is not None else None, registers)


# -- a thread's descriptors in the global table ----------------------------------------------------------------------------


def thread_descriptors(k: KernelFace, task: Task) -> bytes:
    """thread.tls_array."""
    return k.cpu.thread_descriptors if task is k.current else task.context.descriptors


def set_area(k: KernelFace, task: Task, idx: int, u_info: int, can_allocate: bool) -> int:
    """do_set_thread_area(): also of a task that is traced.  EFAULT, EINVAL, ESRCH."""
    facts, mine = segments(k), thread_descriptors(k, task)
    new, idx = thread_area.set_thread_area(k.usercopy, facts, mine, idx, u_info, mine if can_allocate else None)
    selector = idx << 3 | ldt.RPL
    if task is k.current:
        k.cpu.thread_descriptors = new
        for name in facts.bases:
            if k.cpu.read_reg(name) == selector:
                k.cpu.write_reg(name, selector if loadable(k, task, selector) else 0)
    else:
        task.context.descriptors = new
        told = ldt.UserDesc.unpack(k.usercopy.copy_from_user(u_info, ldt.USER_DESC_SIZE))
        for name, base in facts.bases.items():
            if base is not None and user_register(k, task, name) == selector:
                set_user_register(k, task, base, told.base_addr)
    _forget(k, task, idx << 3)
    return 0


def get_area(k: KernelFace, task: Task, idx: int, u_info: int) -> int:
    """do_get_thread_area().  EFAULT, EINVAL."""
    thread_area.get_thread_area(k.usercopy, segments(k), thread_descriptors(k, task), idx, u_info)
    return 0


@syscall("set_thread_area", "struct user_desc *u_info", source="arch/x86/kernel/tls.c")
def sys_set_thread_area(k: KernelFace, u_info: int) -> int:
    """A descriptor of the thread's; entry -1 asks for a free one.  EFAULT, EINVAL, ESRCH; ENOSYS: programs of 64 bits have none."""
    if k.arch.word == 8:
        raise KernelError(ENOSYS)
    return set_area(k, k.current, -1, u_info, True)


@syscall("get_thread_area", "struct user_desc *u_info", source="arch/x86/kernel/tls.c")
def sys_get_thread_area(k: KernelFace, u_info: int) -> int:
    """What set_thread_area() made.  EFAULT, EINVAL; ENOSYS: programs of 64 bits have none."""
    if k.arch.word == 8:
        raise KernelError(ENOSYS)
    return get_area(k, k.current, -1, u_info)
