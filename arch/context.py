"""What a task has in the CPU beside struct pt_regs: kernel stack, FP and vector registers, thread pointer, page tables."""

from __future__ import annotations

import ctypes
from typing import Any

from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.emulator import Emulator
from arch.errors import CorruptMemory
from arch.memory import KernelMemory, PhysicalMemory
from arch.mmu import AddressSpace
from arch.native import Word


class Context:
    """All registers of one simulated CPU, or a task's FP, vector and TLS registers.  Made by new_context()."""

    __slots__ = ("_tls", "_tls_high", "address", "extra", "handle", "soft_tls", "valid")

    def __init__(self, handle: Any, tls: int | None, tls_high: int | None = None) -> None:
        self.handle = handle
        self._tls = tls  # the emulator's number of the thread pointer register; None: kept here
        self._tls_high = tls_high  # of the register with its upper 32 bits (s390x)
        self.soft_tls = 0
        self.address: int = ctypes.cast(handle.context, ctypes.c_void_p).value or 0
        self.valid = False
        self.extra: tuple[int, ...] = ()

    @property
    def tls(self) -> int:
        """The user's thread pointer in this context."""
        if self._tls is None:
            return self.soft_tls
        value = int(self.handle.reg_read(self._tls))
        return value if self._tls_high is None else int(self.handle.reg_read(self._tls_high)) << 32 | value & 0xFFFFFFFF

    @tls.setter
    def tls(self, value: int) -> None:
        if self._tls is None:
            self.soft_tls = value
        else:
            self.handle.reg_write(self._tls, value if self._tls_high is None else value & 0xFFFFFFFF)
        if self._tls_high is not None:
            self.handle.reg_write(self._tls_high, value >> 32)


class TaskState(Emulator):
    """Contexts of tasks and of simulated CPUs."""

    def __init__(self, arch: Architecture, phys: PhysicalMemory, mem: KernelMemory, version: KernelVersion) -> None:
        self.address_space: AddressSpace | None = None
        self._tlb_owner: AddressSpace | None = None  # whose user pages the TLB may hold
        self._soft_tls = 0
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
        context.soft_tls = self._soft_tls
        context.valid = True

    def load_user(self, context: Context | None) -> None:
        """Load them again; None gives the state of a fresh program (execve).  General registers stay."""
        source = self._fresh_user if context is None else context
        self._restore(source.address)
        if self.support.set_tls is not None:
            self.tls = source.soft_tls

    def copy_user(self, context: Context) -> Context:
        """A copy (fork)."""
        copy = self.new_context()
        ctypes.memmove(copy.handle.context, context.handle.context, context.handle.size)
        copy.valid = context.valid
        copy.soft_tls = context.soft_tls
        return copy

    def save_context(self, context: Context) -> None:
        """Between runs: save all registers of the simulated CPU."""
        self._save(context.address)
        context.soft_tls = self._soft_tls
        context.extra = (self.words[Word.KERNEL_STACK], self.words[Word.SKIP_PROBE])
        context.valid = True

    def load_context(self, context: Context) -> None:
        """Between runs: load all registers of a simulated CPU."""
        self._uc_context_restore(self._handle, context.handle.context)
        if context.extra:
            self.kernel_stack, self.words[Word.SKIP_PROBE] = context.extra
        if self.support.set_tls is not None:
            self.tls = context.soft_tls

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
        return self.read_reg(register) if register else self._soft_tls

    @tls.setter
    def tls(self, value: int) -> None:
        if self.support.set_tls is not None:
            self._soft_tls = value
            self.support.set_tls(self, value)
        else:
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

    def hide_address_space(self) -> None:
        """Who runs has none, and the tables stay: native code finds no user memory until set_address_space()."""
        self.words[Word.USER_ROOT] = 0
