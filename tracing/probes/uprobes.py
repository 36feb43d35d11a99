"""uprobes and uretprobes.  kernel/events/uprobes.c.

A uprobe is keyed by (inode, offset).  Its consumers say which address spaces they want; the breakpoint is put into
every mapping of that file, present and future, in which at least one consumer is interested.  The reference counter
(semaphore) of a USDT probe, also at an offset of the file, is raised by one in each such address space.

The kernel calls mmap(), munmap(), dup_mm() and exit_mm() when address spaces change.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Literal

from arch.abi.errno import EINVAL, EIO, ENOSYS
from arch.errors import Fault, KernelError
from arch.memory import ByteOrder, Memory
from arch.native.handler import NativeHandler, Tier, chosen_tier
from tracing.board import Board
from tracing.face import ProbeHandler, UserSpaces
from tracing.probes.returns import LAST_RET, LAST_RP, Rows
from tracing.probes.together import together
from tracing.probes.uretprobes import (
    D_TRAMPOLINE,
    MAX_URETPROBE_DEPTH,
    MOST_CALLS,
    NOTED,
    UP_DATA,
    UP_FUNCTION,
    UP_WORDS,
    UserReturns,
)

UPROBE_HANDLER_REMOVE = 1


def _nothing(func: int, regs: int) -> None:
    """Nothing is left."""


class UprobeConsumer:
    """struct uprobe_consumer.

    `handler(regs)` at the hit (a true answer UPROBE_HANDLER_REMOVE is ignored unless all say so);
    `ret_handler(func, regs)` at the function's return; `filter(mm)` says whether it wants an address space.
    A session's `enter(regs)` says what the call keeps until its return, where `leave(kept, func, regs)` gets it; None: it is of no interest.
    """

    def __init__(
        self,
        handler: Callable[[int], object] | None = None,
        ret_handler: Callable[[int, int], object] | None = None,
        filter: Callable[[Hashable], bool] | None = None,
        session: tuple[Callable[[int], object], Callable[[object, int, int], object]] | None = None,
    ) -> None:
        self.handler = handler
        self.enter = None if session is None else session[0]
        self.leave = None if session is None else session[1]
        self.ret_handler = ret_handler
        self.filter = filter
        self.native: NativeHandler | None = None  # the compiled form of `handler`; see Uprobes.set_native()
        self.counter: ctypes.Array[ctypes.c_uint64] | None = None  # `handler` does nothing but raise this
        self.native_return: NativeHandler | None = None  # of `ret_handler`, ...
        self.after_return: Callable[[int, int], object] = _nothing  # ... and what is left then: (func, regs)

    def wants(self, mm: Hashable) -> bool:
        """consumer_filter()."""
        return self.filter is None or self.filter(mm)


Kept = dict[UprobeConsumer, object]  # what a call keeps for the sessions that want its return


class Uprobe:
    """One probed place in a file."""

    def __init__(self, inode: Hashable, offset: int, ref_ctr_offset: int) -> None:
        self.inode = inode
        self.offset = offset
        self.ref_ctr_offset = ref_ctr_offset
        self.consumers: list[UprobeConsumer] = []
        self.armed: dict[tuple[Hashable, int], ProbeHandler] = {}  # (mm, vaddr)
        self.counted: dict[tuple[Hashable, int], int] = {}  # (mm, address of the counter) -> by how much
        self.words = (ctypes.c_uint64 * UP_WORDS)()  # by whose address rows of calls under way know it
        self.hits: dict[
            tuple[Hashable, int], ctypes.Array[ctypes.c_uint64]
        ] = {}  # words of compiled hits that catch returns

    @property
    def address(self) -> int:
        """Of the words, in the host."""
        return ctypes.addressof(self.words)


class ReturnInstance:
    """struct return_instance: one call under way in a task."""

    __slots__ = ("chained", "func", "kept", "orig_ret", "serial", "stack", "uprobe")

    def __init__(
        self, uprobe: Uprobe, func: int, orig_ret: int, stack: int, chained: bool, serial: int, kept: Kept | None
    ) -> None:
        self.uprobe = uprobe
        self.func = func
        self.orig_ret = orig_ret
        self.stack = stack
        self.chained = chained
        self.serial = serial  # of its row
        self.kept = kept or {}


class Uprobes:
    """All user probes of a machine."""

    def __init__(self, board: Board, spaces: UserSpaces | None) -> None:
        self.host = board.host
        self.spaces = spaces
        self.layout = board.layout
        self.probes: dict[tuple[Hashable, int], Uprobe] = {}
        self.by_inode: dict[Hashable, dict[int, Uprobe]] = {}
        self.caught: dict[int, Uprobe] = {}  # by the address of its words: those whose returns were asked for
        self._ret_handler_set = False

    def user_spaces(self) -> UserSpaces:
        """The machine's; ENOSYS where there are none."""
        if self.spaces is None:
            raise KernelError(ENOSYS, "no user address spaces")
        return self.spaces

    @cached_property
    def rows(self) -> Rows:
        """Calls under way whose returns are probed."""
        return Rows(MOST_CALLS)

    @cached_property
    def compiled(self) -> UserReturns | None:
        """What makes compiled handlers of them."""
        if chosen_tier() is Tier.PYTHON:
            return None
        host = self.host
        return UserReturns(host.arch, self.layout, host.block, self.rows.address, host.mem.byteorder == "big")

    # Registration

    def register(self, inode: Hashable, offset: int, consumer: UprobeConsumer, ref_ctr_offset: int = 0) -> Uprobe:
        """uprobe_register().  EIO for a file without pages (procfs); EINVAL past its end or for a different counter."""
        spaces = self.user_spaces()
        if consumer.handler is None and consumer.ret_handler is None and consumer.enter is None:
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
            self._forget(uprobe)

    def _forget(self, uprobe: Uprobe) -> None:
        """One that is gone and has no calls under way needs not be found any more."""
        if uprobe.consumers or uprobe.address not in self.caught:
            return
        if all(found.uprobe is not uprobe for found in self._instances(None)):
            del self.caught[uprobe.address]

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
        self.user_spaces().arm_user(key[0], key[1], handler, self._native(uprobe, *key))

    def _native(self, uprobe: Uprobe, mm: Hashable, vaddr: int) -> NativeHandler | None:
        """The compiled form of a site's closure, if all its consumers want this address space and have one."""
        if not all(consumer.wants(mm) and consumer.enter is None for consumer in uprobe.consumers):
            return None
        first = self._native_entry([c for c in uprobe.consumers if c.handler is not None and c.counter is None])
        counters = [consumer.counter for consumer in uprobe.consumers if consumer.counter is not None]
        returning = any(consumer.ret_handler is not None for consumer in uprobe.consumers)
        if not returning and not counters:
            return first if isinstance(first, NativeHandler) else None
        if first is False or not returning or self.compiled is None:
            return None
        old = uprobe.hits.get((mm, vaddr))
        made, uprobe.hits[mm, vaddr] = self.compiled.hit(
            uprobe.address, vaddr, 0 if old is None else old[D_TRAMPOLINE], first or None, counters,
            lambda regs: self._prepare_uretprobe(uprobe, mm, vaddr, regs),
        )  # fmt: skip
        return made

    def _native_entry(self, consumers: list[UprobeConsumer]) -> NativeHandler | Literal[False] | None:
        """One compiled handler for those of these consumers; None: there are none; False: one of them has none."""
        natives = [consumer.native for consumer in consumers]
        if len(consumers) < 2:
            return (natives[0] or False) if natives else None

        def run(index: int, regs: int) -> object:
            handler = consumers[index].handler
            return None if handler is None else handler(regs)

        return together(natives, self.host.block, self.host.mem.byteorder == "big", run) or False

    def _aim(self, uprobe: Uprobe) -> None:
        for mm, vaddr in uprobe.armed:
            self.user_spaces().aim_user(mm, vaddr, self._native(uprobe, mm, vaddr))
        self._aim_return(uprobe)

    def _aim_return(self, uprobe: Uprobe) -> None:
        """What a row leads to."""
        uprobe.words[UP_FUNCTION] = 0
        found = [consumer for consumer in uprobe.consumers if consumer.ret_handler is not None]
        sessions = any(consumer.enter is not None for consumer in uprobe.consumers)
        if len(found) == 1 and found[0].native_return is not None and not sessions:
            uprobe.words[UP_DATA] = found[0].native_return.data
            uprobe.words[UP_FUNCTION] = found[0].native_return.function
        if found or sessions:
            self.caught[uprobe.address] = uprobe

    def set_native(self, uprobe: Uprobe | None, consumer: UprobeConsumer, native: NativeHandler | None) -> None:
        """A consumer's handler has another compiled form from now on, or none."""
        consumer.native = native
        if uprobe is not None:
            self._aim(uprobe)

    def set_native_return(
        self, uprobe: Uprobe | None, consumer: UprobeConsumer, native: NativeHandler | None, after: Callable[[int, int], object]
    ) -> None:  # fmt: skip
        """And its handler of returns."""
        consumer.native_return, consumer.after_return = native, after
        if uprobe is not None:
            self._aim_return(uprobe)

    def _disarm(self, uprobe: Uprobe, key: tuple[Hashable, int]) -> None:
        del uprobe.armed[key]
        uprobe.hits.pop(key, None)
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
            need_return, kept = False, {}
            for consumer in tuple(uprobe.consumers):
                if not consumer.wants(mm):
                    continue
                if consumer.handler is not None:
                    consumer.handler(regs)
                if consumer.enter is not None and (found := consumer.enter(regs)) is not None:
                    kept[consumer] = found
                need_return = need_return or consumer.ret_handler is not None
            return self._prepare_uretprobe(uprobe, mm, vaddr, regs, kept) if need_return or kept else None

        return hit

    def _prepare_uretprobe(
        self, uprobe: Uprobe, mm: Hashable, func: int, regs: int, kept: Kept | None = None
    ) -> object:
        """prepare_uretprobe(): hijack the return address, at most 64 deep."""
        spaces = self.user_spaces()
        if not self._ret_handler_set:
            native = None if self.compiled is None else self.compiled.returned(self._after_return)
            spaces.set_uret_handler(self.return_handler, native)
            self._ret_handler_set = True
        stack = self._instances(self.host.current_task())[::-1]
        mem, arch = _Joined(self.host.mem, spaces.user_mem_of(mm), regs, self.layout.size), self.host.arch
        sp = self.layout.get(self.host.mem, regs, arch.stack_pointer)
        trampoline = spaces.uretprobe_trampoline(mm)
        words = uprobe.hits.get((mm, func))
        if words is not None:
            words[D_TRAMPOLINE] = trampoline
        try:
            orig = arch.return_address(mem, regs, self.layout)
            chained = orig == trampoline
            while stack and not (sp <= stack[-1].stack if chained else sp < stack[-1].stack):
                self._drop(stack.pop())  # frames that longjmp() left behind: the stack grows down
            if len(stack) >= MAX_URETPROBE_DEPTH or self.rows.full:
                return None
            if chained:
                if not stack:
                    return None  # not ours: somebody jumped
                orig = stack[-1].orig_ret
            else:
                arch.set_return_address(mem, regs, trampoline, self.layout)
        except Fault:
            return None
        task = self.host.task_number(self.host.current_task())
        self.rows.push(task, uprobe.address, orig, kept or None, (func, sp, chained))
        return True

    def _instances(self, task: Hashable | None) -> list[ReturnInstance]:
        """Of a task, or of all; newest first."""
        rows = self.rows
        numbers = rows.of(self.host.task_number(task)) if task is not None else rows.all()
        return [self._instance(row) for row in numbers]

    def _instance(self, row: int) -> ReturnInstance:
        serial, uprobe, orig_ret, kept = self.rows.read(row)
        func, stack, chained = self.rows.arguments(row, NOTED)
        assert kept is None or isinstance(kept, dict)
        return ReturnInstance(self.caught[uprobe], func, orig_ret, stack, bool(chained), serial, kept)

    def _drop(self, instance: ReturnInstance) -> None:
        """Its row goes."""
        self.rows.forget(instance.serial)
        self._forget(instance.uprobe)

    def return_handler(self, regs: int) -> int:
        """handle_trampoline(): the newest instance and those chained to it; gives the real return address.

        A task that jumped to the trampoline without an instance gets KernelError(EINVAL): SIGILL.
        """
        stack = self._instances(self.host.current_task())[::-1]
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
            for instance in frame:
                self._drop(instance)
            # If the next older frame has returned as well, this one was skipped by longjmp().
            valid = not stack or sp < stack[-1].stack
            real = frame[0].orig_ret
            self.layout.set(self.host.mem, regs, self.host.arch.instruction_pointer, real)
            if valid:
                for instance in reversed(frame):
                    self._run_return(instance, regs)
                break
        return real

    def _run_return(self, instance: ReturnInstance, regs: int) -> None:
        for consumer in tuple(instance.uprobe.consumers):
            if consumer.ret_handler is not None:
                consumer.ret_handler(instance.func, regs)
            if consumer.leave is not None and consumer in instance.kept:
                consumer.leave(instance.kept[consumer], instance.func, regs)

    def _after_return(self, regs: int) -> None:
        """What the compiled form of return_handler() leaves to Python."""
        uprobe, func = self.caught[self.rows.words[LAST_RP]], self.rows.words[LAST_RET]
        for consumer in tuple(uprobe.consumers):
            if consumer.ret_handler is not None:  # the only one
                consumer.after_return(func, regs)

    def task_exit(self, task: Hashable) -> None:
        """uprobe_free_utask(): a task is gone with calls still under way."""
        for instance in self._instances(task):
            self._drop(instance)

    def task_fork(self, parent: Hashable, child: Hashable) -> None:
        """dup_utask(): calls under way in the parent are under way in the child, whose memory is a copy."""
        for instance in reversed(self._instances(parent)):
            noted = instance.func, instance.stack, instance.chained
            number = self.host.task_number(child)
            self.rows.push(number, instance.uprobe.address, instance.orig_ret, instance.kept or None, noted)


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
