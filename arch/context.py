"""What a task has in the CPU beside struct pt_regs: kernel stack, FP and vector registers, thread pointer, page tables."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from arch.abi.ldt import LDT_ENTRIES, LDT_ENTRY_SIZE, LOCAL_TABLE, NO_TLS, TLS_ENTRIES
from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.emulator import Emulator
from arch.errors import CorruptMemory
from arch.memory import KernelMemory, PhysicalMemory
from arch.mmu import AddressSpace
from arch.native import Word


class Context:
    """All registers of one simulated CPU, or a task's FP, vector and TLS registers.  Made by new_context()."""

    __slots__ = ("_tls", "_tls_high", "address", "descriptors", "extra", "handle", "valid")

    def __init__(self, handle: Any, tls: int | None, tls_high: int | None = None) -> None:
        self.handle = handle
        self._tls = tls  # the emulator's number of the thread pointer register; None: it has none
        self._tls_high = tls_high  # of the register with its upper 32 bits (s390x)
        self.descriptors = NO_TLS  # x86: those of the thread, in the global table
        self.address: int = ctypes.cast(handle.context, ctypes.c_void_p).value or 0
        self.valid = False
        self.extra: tuple[int, ...] = ()

    def read(self, number: int) -> int:
        """A register by the emulator's number."""
        return int(self.handle.reg_read(number))

    @property
    def tls(self) -> int:
        """The user's thread pointer in this context."""
        if self._tls is None:
            return 0
        value = int(self.handle.reg_read(self._tls))
        return value if self._tls_high is None else int(self.handle.reg_read(self._tls_high)) << 32 | value & 0xFFFFFFFF

    @tls.setter
    def tls(self, value: int) -> None:
        if self._tls is not None:
            self.handle.reg_write(self._tls, value if self._tls_high is None else value & 0xFFFFFFFF)
        if self._tls_high is not None:
            self.handle.reg_write(self._tls_high, value >> 32)


class TaskState(Emulator):
    """Contexts of tasks and of simulated CPUs."""

    def __init__(self, arch: Architecture, phys: PhysicalMemory, mem: KernelMemory, version: KernelVersion) -> None:
        self.address_space: AddressSpace | None = None
        self._tlb_owner: AddressSpace | None = None  # whose user pages the TLB may hold
        self._descriptors = NO_TLS
        self._has_ldt = False  # somebody has had descriptors of his own: contexts may hold the place of another's
        self._fp: tuple[Any, tuple[Any, ...]] | None = None
        super().__init__(arch, phys, mem, version)
        self._lowest_stack = mem.map.direct_map + self.layout.size + self.facts.frame_reserve
        self._highest_stack = mem.map.direct_map + phys.size
        self._fresh_user = self.new_context()
        self.save_user(self._fresh_user)

    # -- kernel stack --------------------------------------------------------------------------------------
    @property
    def kernel_stack(self) -> int:
        """Top (end) of the current task's kernel stack; must lie in the direct map."""
        return self.words[Word.KERNEL_STACK]

    @kernel_stack.setter
    def kernel_stack(self, top: int) -> None:
        if not self._lowest_stack <= top <= self._highest_stack:  # native code writes pt_regs there, and does not ask
            raise CorruptMemory(f"kernel stack at {top:#x} is not in the direct map")
        self.words[Word.KERNEL_STACK] = top

    @property
    def user_regs(self) -> int:
        """task_pt_regs(current): where the user's registers are saved on the current kernel stack."""
        return self.words[Word.KERNEL_STACK] - self.layout.size - self.facts.frame_reserve

    def switch_stack(self, sp: int) -> int:
        """In on_switch: go on with the stack pointer `sp`; returns the stack pointer of the task that stops."""
        old: int = self._switch_stack(sp)
        return old

    # -- contexts ------------------------------------------------------------------------------------------
    def new_context(self) -> Context:
        """An empty context."""
        register = self.support.tls_register
        high = self.support.tls_high_register
        numbers = self.facts.uc_registers
        return Context(self.uc.context_save(), numbers[register] if register else None, numbers[high] if high else None)

    def save_user(self, context: Context) -> None:
        """Save what pt_regs does not hold of user state: FP, vector and TLS registers."""
        self._save(context.address)
        context.descriptors = self._descriptors
        context.valid = True

    def load_user(self, context: Context | None) -> None:
        """Load them again; None gives the state of a fresh program (execve).  General registers stay."""
        source = self._fresh_user if context is None else context
        self._restore(source.address)
        if source.descriptors is not self._descriptors:
            self.thread_descriptors = source.descriptors
        if self._has_ldt:
            self.load_ldt()

    def copy_user(self, context: Context) -> Context:
        """A copy (fork)."""
        copy = self.new_context()
        ctypes.memmove(copy.handle.context, context.handle.context, context.handle.size)
        copy.valid = context.valid
        copy.descriptors = context.descriptors
        return copy

    def save_context(self, context: Context) -> None:
        """Between runs: save all registers of the simulated CPU."""
        self._save(context.address)
        context.descriptors = self._descriptors
        context.extra = (self.words[Word.KERNEL_STACK], self.words[Word.SKIP_PROBE])
        context.valid = True

    def load_context(self, context: Context) -> None:
        """Between runs: load all registers of a simulated CPU."""
        self._uc_context_restore(self._handle, context.handle.context)
        if context.extra:
            self.kernel_stack, self.words[Word.SKIP_PROBE] = context.extra
        if context.descriptors is not self._descriptors:
            self.thread_descriptors = context.descriptors
        if self._has_ldt:
            self.load_ldt()

    # -- segments (x86) ------------------------------------------------------------------------------------
    @property
    def thread_descriptors(self) -> bytes:
        """The running thread's three descriptors of the global table."""
        return self._descriptors

    @thread_descriptors.setter
    def thread_descriptors(self, value: bytes) -> None:
        segments = self.support.segments
        assert segments is not None
        self._descriptors = value
        self.mem.write(self.gdt + LDT_ENTRY_SIZE * segments.first_tls, value)

    def descriptor(self, selector: int, tls: bytes, space: AddressSpace | None) -> bytes | None:
        """What a selector of user mode names, with these descriptors of the thread and those of an address space; None: nothing."""
        segments, index = self.support.segments, selector >> 3
        assert segments is not None
        if selector & LOCAL_TABLE:
            if space is None or index >= space.ldt_entries:
                return None
            return self.mem.read(space.ldt + LDT_ENTRY_SIZE * index, LDT_ENTRY_SIZE)
        if segments.first_tls <= index < segments.first_tls + TLS_ENTRIES:
            at = LDT_ENTRY_SIZE * (index - segments.first_tls)
            return tls[at : at + LDT_ENTRY_SIZE]
        if index in segments.code or index in segments.data:
            return self.mem.read(self.gdt + LDT_ENTRY_SIZE * index, LDT_ENTRY_SIZE)
        return None

    def load_ldt(self) -> None:
        """load_mm_ldt(): the current address space's own descriptors, all 8192 or none."""
        segments, space = self.support.segments, self.address_space
        assert segments is not None
        self._has_ldt = True
        table = space.ldt if space is not None else 0
        self.words[Word.LDT] = table
        self.uc.reg_write(segments.table_register, (0, table, LDT_ENTRIES * LDT_ENTRY_SIZE - 1 if table else 0, 0))

    def change_user(self, context: Context, space: AddressSpace | None, registers: Mapping[str, int]) -> None:
        """In the kernel: write registers of a task that does not run; its selectors are of `space`'s descriptors."""
        mine, kept = self.address_space, self.new_context()
        self.save_user(kept)
        self.address_space = space
        self.load_user(context)
        for name, value in registers.items():
            self.write_reg(name, value)
        self.save_user(context)
        self.address_space = mine
        self.load_user(kept)

    # -- FP, vector and TLS registers ----------------------------------------------------------------------
    @property
    def fp_size(self) -> int:
        """Of what fp_state() gives, in bytes."""
        image = self.support.fp
        assert image is not None
        return image.size

    def fp_state(self) -> bytes:
        """FP and vector registers as a signal frame holds them (arch/*/fp.py, FpImage); the task's user is current."""
        image = self.support.fp
        assert image is not None
        raw, arguments = self._fp_table()
        ctypes.memset(raw, 0, len(raw))
        self._uc_reg_read_batch(*arguments)
        result = bytearray(raw.raw)
        image.swapped(result)
        if image.after_read is not None:
            image.after_read(result)
        return bytes(result)

    def set_fp_state(self, data: bytes) -> None:
        """Load what fp_state() gave."""
        image = self.support.fp
        assert image is not None
        raw, arguments = self._fp_table()
        result = bytearray(data[: image.size])
        if image.before_write is not None:
            image.before_write(result)
        image.swapped(result)
        raw.raw = bytes(result)
        self._uc_reg_write_batch(*arguments)

    def _fp_table(self) -> tuple[Any, tuple[Any, ...]]:
        """Buffer of the image and arguments for the batch calls."""
        if self._fp is None:
            image = self.support.fp
            assert image is not None
            raw = ctypes.create_string_buffer(image.size)
            base = ctypes.addressof(raw)
            count = len(image.pieces)
            ids = (ctypes.c_int32 * count)(*(piece.register for piece in image.pieces))
            pointers = (ctypes.c_void_p * count)(*(base + piece.offset for piece in image.pieces))
            self._fp = (raw, (self._handle, ids, pointers, ctypes.c_int(count)))
        return self._fp

    @property
    def tls(self) -> int:
        """The user's thread pointer (fs base, tpidr_el0, tp, access registers 0 and 1)."""
        register = self.support.tls_register
        high = self.support.tls_high_register
        if high:
            return self.read_reg(high) << 32 | self.read_reg(register) & 0xFFFFFFFF
        return self.read_reg(register) if register else 0

    @tls.setter
    def tls(self, value: int) -> None:
        high = self.support.tls_high_register
        self.write_reg(self.support.tls_register, value & 0xFFFFFFFF if high else value)
        if high:
            self.write_reg(high, value >> 32)

    # -- user memory ---------------------------------------------------------------------------------------
    def set_address_space(self, space: AddressSpace | None) -> None:
        """Switch user page tables (flushes the TLB).  None: no user memory."""
        if self.address_space is space:
            self.words[Word.USER_ROOT] = 0 if space is None else space.root
            return
        self.address_space = space
        if space is None:  # the TLB still holds the last space's user pages; no user code runs until another one comes
            self.words[Word.USER_ROOT] = 0
            return
        self.words[Word.USER_ROOT] = space.root
        owner = self._tlb_owner
        if owner is not space:
            if owner is not None:
                owner.on_change = None
            self._tlb_owner = space
            space.on_change = self.tlb_dirty
            self.words[Word.TLB_DIRTY] = 1
        if self._has_ldt:
            self.load_ldt()

    def hide_address_space(self) -> None:
        """Who runs has none, and the tables stay: native code finds no user memory until set_address_space()."""
        self.words[Word.USER_ROOT] = 0
