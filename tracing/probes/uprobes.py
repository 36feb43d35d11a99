"""uprobes and uretprobes.  kernel/events/uprobes.c.

A uprobe is keyed by (inode, offset).  Its consumers say which address spaces they want; the breakpoint is put into
every mapping of that file, present and future, in which at least one consumer is interested.  The reference counter
(semaphore) of a USDT probe, also at an offset of the file, is raised by one in each such address space.

The kernel calls mmap(), munmap(), dup_mm() and exit_mm() when address spaces change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from arch.abi.errno import EINVAL, EIO, ENOSYS
from arch.errors import Fault, KernelError
from arch.memory import ByteOrder, Memory
from arch.native.handler import NativeHandler
from tracing.board import Board
from tracing.face import ProbeHandler, UserSpaces

UPROBE_HANDLER_REMOVE = 1
MAX_URETPROBE_DEPTH = 64


class UprobeConsumer:
    """struct uprobe_consumer.

    `handler(regs)` at the hit (a true answer UPROBE_HANDLER_REMOVE is ignored unless all say so);
    `ret_handler(func, regs)` at the function's return; `filter(mm)` says whether it wants an address space.
    """

    def __init__(
        self,
        handler: Callable[[int], object] | None = None,
        ret_handler: Callable[[int, int], object] | None = None,
        filter: Callable[[Hashable], bool] | None = None,
    ) -> None:
        self.handler = handler
        self.ret_handler = ret_handler
        self.filter = filter
        self.native: NativeHandler | None = None  # the compiled form of `handler`; see Uprobes.set_native()

    def wants(self, mm: Hashable) -> bool:
        """consumer_filter()."""
        return self.filter is None or self.filter(mm)


class Uprobe:
    """One probed place in a file."""

    def __init__(self, inode: Hashable, offset: int, ref_ctr_offset: int) -> None:
        self.inode = inode
        self.offset = offset
        self.ref_ctr_offset = ref_ctr_offset
        self.consumers: list[UprobeConsumer] = []
        self.armed: dict[tuple[Hashable, int], ProbeHandler] = {}  # (mm, vaddr)
        self.counted: dict[tuple[Hashable, int], int] = {}  # (mm, address of the counter) -> by how much


class ReturnInstance:
    """struct return_instance: one call under way in a task."""

    __slots__ = ("chained", "func", "orig_ret", "stack", "uprobe")

    def __init__(self, uprobe: Uprobe, func: int, orig_ret: int, stack: int, chained: bool) -> None:
        self.uprobe = uprobe
        self.func = func
        self.orig_ret = orig_ret
        self.stack = stack
        self.chained = chained


class Uprobes:
    """All user probes of a machine."""

    def __init__(self, board: Board, spaces: UserSpaces | None) -> None:
        self.host = board.host
        self.spaces = spaces
        self.layout = board.layout
        self.probes: dict[tuple[Hashable, int], Uprobe] = {}
        self.by_inode: dict[Hashable, dict[int, Uprobe]] = {}
        self.instances: dict[Hashable, list[ReturnInstance]] = {}
        self._ret_handler_set = False

    def user_spaces(self) -> UserSpaces:
        """The machine's; ENOSYS where there are none."""
        if self.spaces is None:
            raise KernelError(ENOSYS, "no user address spaces")
        return self.spaces

    # Registration

    def register(self, inode: Hashable, offset: int, consumer: UprobeConsumer, ref_ctr_offset: int = 0) -> Uprobe:
        """uprobe_register().  EIO for a file without pages (procfs); EINVAL past its end or for a different counter."""
        spaces = self.user_spaces()
        if consumer.handler is None and consumer.ret_handler is None:
            raise KernelError(EINVAL, "a consumer needs a handler")
        if not spaces.has_pages(inode):
            raise KernelError(EIO, "the file has no pages to read instructions from")
        if offset > spaces.inode_size(inode):
            raise KernelError(EINVAL, "offset past the end of the file")
        breakpoint_size = len(self.host.arch.uprobe_breakpoint)
        if offset % min(breakpoint_size, 4) or ref_ctr_offset % 2:
            raise KernelError(EINVAL, "misaligned")
        key = (inode, offset)
        uprobe = self.probes.get(key)
        if uprobe is not None and uprobe.ref_ctr_offset != ref_ctr_offset:
            raise KernelError(EINVAL, "reference counter offset differs from the one registered")
        if uprobe is None:
            uprobe = self.probes[key] = Uprobe(inode, offset, ref_ctr_offset)
            self.by_inode.setdefault(inode, {})[offset] = uprobe
        uprobe.consumers.insert(0, consumer)  # consumer_add(): the newest is called first
        self.refresh(uprobe)
        return uprobe

    def unregister(self, uprobe: Uprobe, consumer: UprobeConsumer) -> None:
        """uprobe_unregister()."""
        if consumer in uprobe.consumers:
            uprobe.consumers.remove(consumer)
        self.refresh(uprobe)
        if not uprobe.consumers:
            self.probes.pop((uprobe.inode, uprobe.offset), None)
            known = self.by_inode.get(uprobe.inode, {})
            known.pop(uprobe.offset, None)
            if not known:
                self.by_inode.pop(uprobe.inode, None)

    def refresh(self, uprobe: Uprobe) -> None:
        """uprobe_apply(): a consumer came, went or changed its mind; (dis)arm every mapping accordingly."""
        wanted: dict[tuple[Hashable, int], None] = {}
        counters: dict[tuple[Hashable, int], None] = {}
        for mm, start, end, file_offset, executable in self.user_spaces().mappings(uprobe.inode):
            if not any(consumer.wants(mm) for consumer in uprobe.consumers):
                continue
            vaddr = start + uprobe.offset - file_offset
            if executable and start <= vaddr < end:
                wanted[mm, vaddr] = None
            counter = start + uprobe.ref_ctr_offset - file_offset
            if uprobe.ref_ctr_offset and not executable and start <= counter < end:
                counters[mm, counter] = None
        for key in [key for key in uprobe.armed if key not in wanted]:
            self._disarm(uprobe, key)
        self._aim(uprobe)
        for key in wanted:
            if key not in uprobe.armed:
                self._arm(uprobe, key)
        for key in [key for key in uprobe.counted if key not in counters]:
            self._count(uprobe, key, -1)
        for key in counters:
            if key not in uprobe.counted:
                self._count(uprobe, key, +1)

    def _arm(self, uprobe: Uprobe, key: tuple[Hashable, int]) -> None:
        handler = self._closure(uprobe, *key)
        uprobe.armed[key] = handler
        self.user_spaces().arm_user(key[0], key[1], handler, self._native(uprobe))

    @staticmethod
    def _native(uprobe: Uprobe) -> NativeHandler | None:
        """The compiled form of a site's closure: of one consumer that is not interested in returns."""
        if len(uprobe.consumers) != 1 or uprobe.consumers[0].ret_handler is not None:
            return None
        return uprobe.consumers[0].native

    def _aim(self, uprobe: Uprobe) -> None:
        native = self._native(uprobe)
        for mm, vaddr in uprobe.armed:
            self.user_spaces().aim_user(mm, vaddr, native)

    def set_native(self, uprobe: Uprobe | None, consumer: UprobeConsumer, native: NativeHandler | None) -> None:
        """A consumer's handler has another compiled form from now on, or none."""
        consumer.native = native
        if uprobe is not None:
            self._aim(uprobe)

    def _disarm(self, uprobe: Uprobe, key: tuple[Hashable, int]) -> None:
        del uprobe.armed[key]
        self.user_spaces().disarm_user(*key)

    def _count(self, uprobe: Uprobe, key: tuple[Hashable, int], delta: int) -> None:
        """update_ref_ctr(): a 16-bit counter; one that would go below zero or over is left alone."""
        mem = self.user_spaces().user_mem_of(key[0])
        try:
            value = mem.read_uint(key[1], 2) + delta
            if 0 <= value < 0x8000:
                mem.write_uint(key[1], 2, value)
        except Fault:
            pass
        if delta > 0:
            uprobe.counted[key] = delta
        else:
            del uprobe.counted[key]

    # Address spaces change

    def mmap(self, mm: Hashable, start: int, end: int, inode: Hashable, offset: int) -> None:
        """uprobe_mmap(): a file was mapped."""
        for uprobe in tuple(self.by_inode.get(inode, {}).values()):
            self.refresh(uprobe)

    def munmap(self, mm: Hashable, start: int, end: int) -> None:
        """uprobe_munmap(): the range is gone, its breakpoints with it."""
        for uprobe in tuple(self.probes.values()):
            for key in [key for key in uprobe.armed if key[0] == mm and start <= key[1] < end]:
                self._disarm(uprobe, key)
            for key in [key for key in uprobe.counted if key[0] == mm and start <= key[1] < end]:
                del uprobe.counted[key]

    def dup_mm(self, old: Hashable, new: Hashable) -> None:
        """uprobe_dup_mmap(): fork copied an address space: breakpoints again, counters came with the copy."""
        for uprobe in tuple(self.probes.values()):
            for mm, addr in [key for key in uprobe.counted if key[0] == old]:
                uprobe.counted[new, addr] = uprobe.counted[mm, addr]
            if any(key[0] == old for key in uprobe.armed):
                self.refresh(uprobe)

    def exit_mm(self, mm: Hashable) -> None:
        """An address space is gone."""
        for uprobe in tuple(self.probes.values()):
            for key in [key for key in uprobe.armed if key[0] == mm]:
                self._disarm(uprobe, key)
            for key in [key for key in uprobe.counted if key[0] == mm]:
                del uprobe.counted[key]

    # Hits

    def _closure(self, uprobe: Uprobe, mm: Hashable, vaddr: int) -> ProbeHandler:
        """handler_chain() with everything bound."""

        def hit(regs: int) -> object:
            need_return = False
            for consumer in tuple(uprobe.consumers):
                if not consumer.wants(mm):
                    continue
                if consumer.handler is not None:
                    consumer.handler(regs)
                need_return = need_return or consumer.ret_handler is not None
            return self._prepare_uretprobe(uprobe, mm, vaddr, regs) if need_return else None

        return hit

    def _prepare_uretprobe(self, uprobe: Uprobe, mm: Hashable, func: int, regs: int) -> object:
        """prepare_uretprobe(): hijack the return address, at most 64 deep."""
        spaces = self.user_spaces()
        if not self._ret_handler_set:
            spaces.set_uret_handler(self.return_handler)
            self._ret_handler_set = True
        task = self.host.current_task()
        stack = self.instances.setdefault(task, [])
        mem, arch = _Joined(self.host.mem, spaces.user_mem_of(mm), regs, self.layout.size), self.host.arch
        sp = self.layout.get(self.host.mem, regs, arch.stack_pointer)
        trampoline = spaces.uretprobe_trampoline(mm)
        try:
            orig = arch.return_address(mem, regs, self.layout)
            chained = orig == trampoline
            while stack and not (sp <= stack[-1].stack if chained else sp < stack[-1].stack):
                stack.pop()  # frames that longjmp() left behind: the stack grows down
            if len(stack) >= MAX_URETPROBE_DEPTH:
                return None
            if chained:
                if not stack:
                    return None  # not ours: somebody jumped
                orig = stack[-1].orig_ret
            else:
                arch.set_return_address(mem, regs, trampoline, self.layout)
        except Fault:
            return None
        stack.append(ReturnInstance(uprobe, func, orig, sp, chained))
        return True

    def return_handler(self, regs: int) -> int:
        """handle_trampoline(): the newest instance and those chained to it; gives the real return address.

        A task that jumped to the trampoline without an instance gets KernelError(EINVAL): SIGILL.
        """
        task = self.host.current_task()
        stack = self.instances.get(task)
        if not stack:
            raise KernelError(EINVAL, "no uretprobe instance: SIGILL")
        sp = self.layout.get(self.host.mem, regs, self.host.arch.stack_pointer)
        real = 0
        while stack:
            first = len(stack) - 1
            while first and stack[first].chained:
                first -= 1
            frame = stack[first:]
            del stack[first:]
            # If the next older frame has returned as well, this one was skipped by longjmp().
            valid = not stack or sp < stack[-1].stack
            real = frame[0].orig_ret
            self.layout.set(self.host.mem, regs, self.host.arch.instruction_pointer, real)
            if valid:
                for instance in reversed(frame):
                    self._run_return(instance, regs)
                break
        if not stack:
            self.instances.pop(task, None)
        return real

    def _run_return(self, instance: ReturnInstance, regs: int) -> None:
        for consumer in tuple(instance.uprobe.consumers):
            if consumer.ret_handler is not None:
                consumer.ret_handler(instance.func, regs)

    def task_exit(self, task: Hashable) -> None:
        """uprobe_free_utask(): a task is gone with calls still under way."""
        self.instances.pop(task, None)

    def task_fork(self, parent: Hashable, child: Hashable) -> None:
        """dup_utask(): calls under way in the parent are under way in the child, whose memory is a copy."""
        if parent in self.instances:
            self.instances[child] = list(self.instances[parent])


class _Joined:
    """pt_regs in kernel memory, everything else in user memory: what the return-address facts of arch/ read."""

    def __init__(self, kernel: Memory, user: Memory, regs: int, size: int) -> None:
        self.kernel, self.user = kernel, user
        self.byteorder: ByteOrder = kernel.byteorder
        self.low, self.high = regs, regs + size

    def _side(self, addr: int) -> Memory:
        return self.kernel if self.low <= addr < self.high else self.user

    def read(self, addr: int, size: int) -> bytes:
        """Fault."""
        return self._side(addr).read(addr, size)

    def write(self, addr: int, data: bytes) -> None:
        """Fault."""
        self._side(addr).write(addr, data)

    def read_uint(self, addr: int, size: int) -> int:
        """Fault."""
        return self._side(addr).read_uint(addr, size)

    def write_uint(self, addr: int, size: int, value: int) -> None:
        """Fault."""
        self._side(addr).write_uint(addr, size, value)
