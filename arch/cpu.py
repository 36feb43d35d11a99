"""The CPU: one unicorn instance per machine, crossed through native trampolines only (arch/native/).

How one run looks from above:

* `cpu.start(pc, sp)` puts the CPU into kernel mode; `cpu.run(budget)` emulates until something must be decided by the
  caller: the budget of user-mode work is used up (`Stop.BUDGET`), or a handler called `cpu.stop()` (`Stop.STOPPED`).
  A Python exception in any handler ends the run and comes out of run().
* Kernel functions reach Python through `on_enter(index, a0..a5)` and `on_resume(result)`; both return an int (the
  function returns it) or a tuple `(target, arg0, ...)` (the CPU calls `target`; afterwards comes on_resume).
* User code that makes a system call, faults or is refused enters the kernel by itself: the CPU writes struct pt_regs
  at the top of the current kernel stack (`cpu.kernel_stack`), switches to kernel mode and goes on in the entry stub,
  which calls the role's handler (arch/text.py).  Returning from the handler returns to user mode; what pt_regs then
  says is what user code gets.  A page fault retries the instruction when the handler returns.  FP and vector registers
  stay in the CPU throughout.
* Task switch: kernel functions call the text at `KernelText.switch_to`; its hypercall comes to `on_switch()`, which
  must call `cpu.switch_stack(...)` (swap of kernel stack pointers), set `cpu.kernel_stack` and, for user tasks,
  `cpu.save_user`/`load_user` (FP, vector and TLS registers) and `cpu.set_address_space`.  on_resume comes next, in the
  new task.
* Simulated CPUs (cpu 0, 1, ...) are contexts: at a Stop, `save_context()`/`load_context()` exchange everything.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable
from typing import Any

import unicorn as _unicorn
from unicorn import unicorn_const as ucc

from arch.architecture import Architecture, Layout
from arch.memory import PAGE_SHIFT, PAGE_SIZE, KernelMemory, PhysicalMemory
from arch.mmu import AddressSpace, kernel_page_table
from arch.native import WINDOW_SIZE, Reason, Role, Word, trampolines
from arch.support import Support

unicorn: Any = _unicorn  # its annotations do not hold under strict typing

# error_code of the page_fault role; same bits as x86 (arch/x86/include/asm/trap_pf.h).
FAULT_PROT = 1  # the page is present but forbids the access
FAULT_WRITE = 2
FAULT_USER = 4
FAULT_EXEC = 16

TCG_BUFFER_SIZE = 64 << 20  # bytes of host memory for translated code
NO_DEADLINE = (1 << 64) - 1
_WORD_MASK = (1 << 64) - 1


class Stop(enum.Enum):
    """Why run() returned."""

    BUDGET = "the budget of user-mode work is used up; the CPU is in user mode"
    STOPPED = "a handler called stop()"


class KernelCrash(Exception):
    """Kernel text faulted: a bug of the simulated kernel, or of whoever changed its registers from a probe."""

    def __init__(self, what: str, pc: int, address: int, registers: dict[str, int]) -> None:
        shown = " ".join(f"{name}={value:#x}" for name, value in registers.items())
        super().__init__(f"{what} at pc {pc:#x}, address {address:#x}: {shown}")
        self.what = what
        self.pc = pc
        self.address = address
        self.registers = registers


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


class Probe:
    """An armed probe; hand it back to remove_probe()."""

    __slots__ = ("address", "handler", "ip_offset", "user")

    def __init__(self, address: int, handler: Callable[[int], Any], ip_offset: int, user: bool) -> None:
        self.address = address
        self.user = user
        self.handler = handler
        self.ip_offset = ip_offset


class _Site:
    """One probed address: the hook, and the probes that share it."""

    __slots__ = ("block", "call", "hook", "probes")

    def __init__(self, block: Any) -> None:
        self.block = block
        self.hook = 0
        self.probes: list[Probe] = []
        self.call: Any = None


class Cpu:
    """The emulated CPU of a machine."""

    def __init__(self, arch: Architecture, phys: PhysicalMemory, mem: KernelMemory, version: Any = (6, 1)) -> None:
        support = arch.support
        assert isinstance(support, Support)
        self.arch = arch
        self.phys = phys
        self.mem = mem
        self.facts = support.emulator
        self.support = support
        self.layout: Layout = arch.pt_regs_for(version)
        self.on_enter: Callable[..., int | tuple[int, ...]] = _unset
        self.on_resume: Callable[[int], int | tuple[int, ...]] = _unset
        self.on_switch: Callable[[], Any] = _unset
        self.address_space: AddressSpace | None = None
        self._tlb_owner: AddressSpace | None = None  # whose user pages the TLB may hold
        self._native = trampolines(self.facts, self.layout, arch.word, arch.byteorder == "big")
        self._sites: dict[tuple[int, bool], _Site] = {}
        self._retired: list[Any] = []  # handlers of removed probes; native code may still be inside
        self._dead_blocks: list[Any] = []  # data of removed hooks; translated code may still point to it
        self._flush_pending = False
        self._hooks_to_delete: list[int] = []
        self._running = False
        self._soft_tls = 0
        self.gdt = 0  # x86: address of the global descriptor table
        self._fp: tuple[Any, tuple[Any, ...]] | None = None
        self._keep: list[Any] = []
        self._enters: dict[int, Callable[..., Any] | None] = {}
        self._enter_capacity = 0
        self._enter_table: Any = None
        self._open()
        self._make_block()
        builtin = self._native.builtin
        self._switch_stack = builtin("switch_stack", self._block)
        self._read_register = builtin("read_register", self._block)
        self._write_register = builtin("write_register", self._block)
        self._save = builtin("save", self._block)
        self._restore = builtin("restore", self._block)
        self._fetch = builtin("fetch", self._block)
        self._load = builtin("load", self._block)
        self._map_memory()
        self._install_hooks()
        if support.prepare is not None:
            support.prepare(self)
        self.words[Word.GDT] = self.gdt
        if self.facts.user_context:
            self._make_kernel_context()
        self._fresh_user = self.new_context()
        self.save_user(self._fresh_user)

    # -- construction --------------------------------------------------------------------------------------
    def _open(self) -> None:
        facts = self.facts
        self.uc: Any = unicorn.Uc(facts.uc_arch, facts.uc_mode)
        if facts.cpu_model is not None:
            self.uc.ctl_set_cpu_model(facts.cpu_model)
        if facts.page_size is not None:
            self.uc.ctl_set_page_size(facts.page_size)
        self.uc.ctl_set_tcg_buffer_size(TCG_BUFFER_SIZE)
        self.uc.ctl_set_tlb_mode(ucc.UC_TLB_VIRTUAL)
        self.uc.ctl_exits_enabled(True)
        self._handle = self.uc._uch
        lib = ctypes.PyDLL(unicorn.unicorn_py3.unicorn.uclib._name)
        self._uc_reg_write = lib.uc_reg_write
        self._uc_ctl = lib.uc_ctl
        self._uc_reg_read_batch = lib.uc_reg_read_batch
        self._uc_reg_write_batch = lib.uc_reg_write_batch
        self._uc_hook_add = lib.uc_hook_add
        self._uc_hook_del = lib.uc_hook_del
        self._uc_context_restore = lib.uc_context_restore

    def _make_block(self) -> None:
        """The words that native code and Python share."""
        self._array = (ctypes.c_uint64 * Word.TOTAL)()
        self._block = ctypes.addressof(self._array)
        self.words = memoryview(self._array).cast("B").cast("Q")
        words = self.words
        map = self.mem.map
        words[Word.UC] = self._handle.value or 0
        words[Word.HOST] = self.phys.host_address
        words[Word.PHYS_SIZE] = self.phys.size
        words[Word.DIRECT] = map.direct_map
        words[Word.TEXT_BASE] = map.text_base
        words[Word.TEXT_SIZE] = map.text_size
        words[Word.TEXT_PHYS] = map.text_phys
        words[Word.USER_END] = map.user_end
        words[Word.DEADLINE] = NO_DEADLINE
        words[Word.WINDOW] = map.window
        code_pages = (ctypes.c_char * self.phys.nr_pages).from_buffer(self.phys.code_pages)
        self._keep.append(code_pages)
        words[Word.CODE_PAGES] = ctypes.addressof(code_pages)
        regs = self._native.registers
        ids = self.facts.uc_registers
        values = self._block + 8 * Word.VALUES
        scratch = self._block + 8 * Word.SCRATCH
        self._table(Word.READ_IDS, Word.READ_PTRS, [ids[name] for name in regs.names], values)
        self._table(Word.HYPER_IDS, Word.HYPER_PTRS, [ids[name] for name in regs.hyper], values)
        self._blobs = {name: ctypes.create_string_buffer(blob, len(blob)) for name, blob in self.facts.up_blobs.items()}
        self._table(Word.BACK_IDS, Word.BACK_PTRS, [ids[name] for name in regs.back], scratch)
        pointers = self._table(Word.UP_IDS, Word.UP_PTRS, [ids[name] for name in regs.up], scratch)
        for i, name in enumerate(regs.up):
            if name in self._blobs:
                pointers[i] = ctypes.addressof(self._blobs[name])
        self._table(Word.WRITE_IDS, Word.WRITE_PTRS, [0] * len(regs.names), 0)

    def _table(self, ids_word: int, ptrs_word: int, ids: list[int], values: int) -> Any:
        id_array = (ctypes.c_int32 * len(ids))(*ids)
        ptr_array = (ctypes.c_uint64 * len(ids))(*(values + 8 * i for i in range(len(ids))))
        self._keep += [id_array, ptr_array]
        self.words[ids_word] = ctypes.addressof(id_array)
        self.words[ptrs_word] = ctypes.addressof(ptr_array)
        return ptr_array

    def _map_memory(self) -> None:
        self.uc.mem_map_ptr(0, self.phys.size, ucc.UC_PROT_ALL, self.phys.host_address)
        table, change = kernel_page_table(self.phys)
        start = self.mem.map.vmalloc_start

        def vmalloc_change(vpn: int, pfn: int | None) -> None:
            change((vpn << PAGE_SHIFT) - start, pfn)
            if pfn is None:
                self.tlb_dirty()

        self.mem.on_vmalloc_change = vmalloc_change
        self.phys.on_code_page_freed = self._code_page_freed
        self.words[Word.VMALLOC_START] = start
        self.words[Word.VMALLOC_SIZE] = self.mem.map.vmalloc_end - start
        self.words[Word.VMALLOC_ROOT] = table.root
        self.words[Word.ZERO_PAGE] = self.phys.alloc_page() << PAGE_SHIFT

    def _make_kernel_context(self) -> None:
        """A context saved in kernel mode and cut off behind the segment registers: restoring it raises the privilege
        and leaves FP and vector registers alone.  struct uc_context begins with the number of bytes to copy.
        """
        context = self.uc.context_save()
        marker = 0x5A5A_1234_C3C3_8765 & ((1 << 8 * self.arch.word) - 1)
        context.reg_write(self.facts.uc_registers[self.facts.context_end], marker)
        raw = ctypes.string_at(context.context, context.size)
        at = raw.find(marker.to_bytes(self.arch.word, "little"))
        if at < 0:
            raise RuntimeError("this version of unicorn keeps its contexts in another form")
        context.reg_write(self.facts.uc_registers[self.facts.context_end], 0)
        pointer = ctypes.cast(context.context, ctypes.POINTER(ctypes.c_size_t))
        header = context.size - pointer[0]
        pointer[0] = at + self.facts.context_tail - header
        self._kernel_context = context
        self._make_spare_context(header)
        self.words[Word.CONTEXT] = ctypes.cast(context.context, ctypes.c_void_p).value or 0

    def _make_spare_context(self, header: int) -> None:
        """A whole context, and the place in it of CPUX86State.old_exception: behind dr[8] and four pointers."""
        context = self.uc.context_save()
        marker = 0x5A5A_1234
        context.reg_write(self.facts.marker_register, marker)
        raw = ctypes.string_at(context.context, context.size)
        at = raw.find(marker.to_bytes(8, "little")) + 8 * 8 + 4 * 8
        if at < header or raw[at : at + 4] != b"\xff\xff\xff\xff":
            raise RuntimeError("this version of unicorn keeps its contexts in another form")
        self._spare_context = context
        address = ctypes.cast(context.context, ctypes.c_void_p).value or 0
        self.words[Word.SPARE_CONTEXT] = address
        self.words[Word.OLD_EXCEPTION] = address + at

    def _install_hooks(self) -> None:
        address = self._native.address
        self._add_hook(ucc.UC_HOOK_TLB_FILL, address["fill"], self._block, 1, 0)
        self._add_hook(ucc.UC_HOOK_INTR, address["intr"], self._block, 1, 0)
        self._add_hook(ucc.UC_HOOK_INSN_INVALID, address["invalid"], self._block, 1, 0)
        self._add_hook(ucc.UC_HOOK_BLOCK, address["block"], self._block, 0, self.mem.map.user_end - 1)
        if self.facts.syscall_insn_hook:
            self._add_hook(
                ucc.UC_HOOK_INSN, address["insn"], self._block, 1, 0, ctypes.c_int(self.facts.syscall_insn_hook)
            )

    def _add_hook(self, kind: int, function: int, data: int, begin: int, end: int, *more: Any) -> int:
        hook = ctypes.c_size_t()
        err = self._uc_hook_add(
            self._handle,
            ctypes.byref(hook),
            ctypes.c_int(kind),
            ctypes.c_void_p(function),
            ctypes.c_void_p(data),
            ctypes.c_uint64(begin),
            ctypes.c_uint64(end),
            *more,
        )
        if err:
            raise RuntimeError(f"unicorn refuses a hook: error {err}")
        return hook.value

    # -- kernel functions ----------------------------------------------------------------------------------
    def set_enter(self, index: int, handler: Callable[..., Any] | None, arguments: int) -> None:
        """Let kernel function `index` call handler(a0, a1, ...) with its first `arguments` arguments, instead of
        on_enter(index, ...).  Arguments beyond the registers are not passed: see stack_argument().
        """
        if index >= self._enter_capacity:
            self._grow_enter_table(index + 1)
        self._enters[index] = handler
        limit = len(self.facts.argument_registers)
        self._enter_table[2 * index] = 0 if handler is None else id(handler)
        self._enter_table[2 * index + 1] = min(arguments, limit)

    def _grow_enter_table(self, need: int) -> None:
        capacity = max(1024, 2 * need)
        table = (ctypes.c_uint64 * (2 * capacity))()
        if self._enter_capacity:
            ctypes.memmove(table, self._enter_table, 16 * self._enter_capacity)
        self._keep.append(table)
        self._enter_table = table
        self._enter_capacity = capacity
        self.words[Word.ENTER_TABLE] = ctypes.addressof(table)
        self.words[Word.ENTER_SIZE] = capacity

    # -- running -------------------------------------------------------------------------------------------
    def set_entry(self, role: str, address: int) -> None:
        """Where the CPU goes for a role; KernelText.add_entry() does this for all of them."""
        self.words[Word.ENTRY + Role[role.upper()]] = address

    def start(self, pc: int, sp: int) -> None:
        """Kernel mode, these pc and stack pointer; other registers zero."""
        for name in self.facts.uc_registers:
            if name in self.arch.registers and name != self.facts.privilege:
                self.write_reg(name, 0)
        for name, value in self.support.kernel_constants:
            self.write_reg(name, value)
        self.write_reg(self.facts.sp, sp)
        self.write_reg(self.facts.pc, pc)

    def run(self, budget: int | None = None) -> Stop:
        """Emulate.  `budget` counts work in user mode, about one unit per instruction; None is no limit."""
        words = self.words
        handlers = (self.on_enter, self.on_resume, self.on_switch)  # bound methods live as long as this frame
        words[Word.ON_ENTER], words[Word.ON_RESUME], words[Word.ON_SWITCH] = map(id, handlers)
        words[Word.DEADLINE] = NO_DEADLINE if budget is None else words[Word.WORK] + budget
        while True:
            if self._flush_pending or self._hooks_to_delete:
                self._do_pending()
            self._running = True
            try:
                reason = self._native.run(self._block)
            finally:
                self._running = False
            self._retired.clear()
            if reason != Reason.RESTART:
                break
        if reason == Reason.BUDGET:
            return Stop.BUDGET
        if reason == Reason.STOPPED:
            return Stop.STOPPED
        raise self._crash(reason)

    def _crash(self, reason: int) -> KernelCrash:
        kind = reason & 15
        if kind == Reason.KERNEL_FAULT:
            what, address = "page fault in kernel mode", self.words[Word.FAULT_ADDRESS]
        elif kind == Reason.KERNEL_TRAP:
            what, address = f"trap {self.words[Word.TRAP]} in kernel mode", 0
        else:
            what, address = f"emulator error {reason >> 4}", 0
        registers = {name: self.read_reg(name) for name in self.arch.registers}
        return KernelCrash(what, self.pc, address, registers)

    def stop(self) -> None:
        """From a handler: let run() return Stop.STOPPED after the handler."""
        self.words[Word.REASON] = Reason.STOPPED
        self.uc.emu_stop()

    def enter_timer(self) -> None:
        """After Stop.BUDGET: interrupt user code; the CPU will run the "timer" entry stub."""
        self.enter("timer")

    def enter(self, role: str, arg1: int = 0, arg2: int = 0) -> None:
        """After a Stop in user mode: enter the kernel through the stub of this role with extra C arguments."""
        if self.in_kernel:
            raise RuntimeError("enter() needs the CPU in user mode")
        self._native.enter(self._block, Role[role.upper()], arg1 & _WORD_MASK, arg2 & _WORD_MASK, 0, 0)

    @property
    def work(self) -> int:
        """Units of user-mode work since the start, about one per instruction.  Deterministic."""
        return self.words[Word.WORK]

    @property
    def in_kernel(self) -> bool:
        """Whether the CPU is in kernel mode now."""
        flag = self.facts.user_flag
        if flag is not None and self.read_reg(flag[0]) & flag[1]:
            return False
        return self.read_reg(self.facts.privilege) & self.facts.privilege_mask != self.facts.privilege_user

    # -- registers -----------------------------------------------------------------------------------------
    def read_reg(self, name: str) -> int:
        """One register by our name (arch.registers).  About 0.1 us."""
        value: int = self._read_register(self.facts.uc_registers[name])
        return value

    def write_reg(self, name: str, value: int) -> None:
        """Write one register.  Inside a handler the pc of a probe is better changed in its pt_regs."""
        number = self.facts.uc_registers[name]
        blob = self._blobs.get(name)
        if blob is None:
            self._write_register(number, value)
        else:
            self._uc_reg_write(self._handle, number, ctypes.byref(blob))

    @property
    def pc(self) -> int:
        """Program counter."""
        return self.read_reg(self.facts.pc)

    @pc.setter
    def pc(self, value: int) -> None:
        self.write_reg(self.facts.pc, value)

    @property
    def sp(self) -> int:
        """Stack pointer."""
        return self.read_reg(self.facts.sp)

    @sp.setter
    def sp(self, value: int) -> None:
        self.write_reg(self.facts.sp, value)

    def write_pt_regs(self, addr: int) -> None:
        """Copy the CPU's registers into the struct pt_regs at kernel address `addr`."""
        self._fetch(self._host(addr))

    def read_pt_regs(self, addr: int) -> None:
        """Load the CPU's registers from the struct pt_regs at kernel address `addr`."""
        self._load(self._host(addr))

    def _host(self, addr: int) -> int:
        return self.phys.host_address + self.mem.translate(addr, self.layout.size)

    def stack_argument(self, n: int) -> int:
        """In on_enter: the n-th argument (from 0) of those that did not fit in registers."""
        at = self.sp + self.support.text.frame_size + self.arch.stack_args_offset + n * self.arch.word
        return self.mem.read_uint(at, self.arch.word)

    # -- tasks ---------------------------------------------------------------------------------------------
    @property
    def kernel_stack(self) -> int:
        """Top (end) of the current task's kernel stack; must lie in the direct map."""
        return self.words[Word.KERNEL_STACK]

    @kernel_stack.setter
    def kernel_stack(self, top: int) -> None:
        self.words[Word.KERNEL_STACK] = top

    @property
    def user_regs(self) -> int:
        """task_pt_regs(current): where the user's registers are saved on the current kernel stack."""
        return self.words[Word.KERNEL_STACK] - self.layout.size - self.facts.frame_reserve

    def switch_stack(self, sp: int) -> int:
        """In on_switch: go on with the stack pointer `sp`; returns the stack pointer of the task that stops."""
        old: int = self._switch_stack(sp)
        return old

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
            self.words[Word.KERNEL_STACK], self.words[Word.SKIP_PROBE] = context.extra
        if self.support.set_tls is not None:
            self.tls = context.soft_tls

    # -- memory --------------------------------------------------------------------------------------------
    def set_address_space(self, space: AddressSpace | None) -> None:
        """Switch user page tables (flushes the TLB).  None: no user memory."""
        if self.address_space is space:
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

    def tlb_dirty(self) -> None:
        """Page tables changed: flush the TLB before the emulation goes on."""
        self.words[Word.TLB_DIRTY] = 1

    def flush_tlb(self) -> None:
        """Forget all cached translations of addresses."""
        self._uc_ctl(self._handle, ctypes.c_uint32(_ctl_write(ucc.UC_CTL_TLB_FLUSH, 0)))

    def code_changed(self, addr: int, size: int) -> None:
        """Kernel memory at [addr, addr+size) was rewritten: drop its translated code."""
        self.code_page_changed(self.mem.translate(addr), size)

    def code_page_changed(self, paddr: int, size: int) -> None:
        """The same by physical address; inside one page or physically contiguous."""
        words = self.words
        page = paddr & ~(PAGE_SIZE - 1)
        off = paddr - page
        while size > 0:
            step = min(size, WINDOW_SIZE - off)
            words[Word.WINDOW_PHYS] = page or WINDOW_SIZE  # page 0 holds no code
            self._remove_cache(words[Word.WINDOW] + off, words[Word.WINDOW] + off + step)
            words[Word.WINDOW_PHYS] = 0
            self.flush_tlb()
            page, off, size = page + WINDOW_SIZE, 0, size - step

    def _remove_cache(self, start: int, end: int) -> None:
        control = ctypes.c_uint32(_ctl_write(ucc.UC_CTL_TB_REMOVE_CACHE, 2))
        self._uc_ctl(self._handle, control, ctypes.c_uint64(start), ctypes.c_uint64(end))

    def flush_code(self) -> None:
        """Drop all translated code; from a handler, as soon as that handler is done."""
        self._flush_pending = True
        self._between_blocks()

    def _between_blocks(self) -> None:
        """Do what is pending: now, or when the running emulation has been brought to a halt between two blocks."""
        if not self._running:
            self._do_pending()
        elif not self.words[Word.REASON]:
            self.words[Word.REASON] = Reason.RESTART
            self.uc.emu_stop()

    def _do_pending(self) -> None:
        """Deleting a hook makes the emulator look up the addresses it was active at; while code runs, an address that
        is not mapped there would count as a fault of that code.  Flushing would free the code that is running.
        """
        for hook in self._hooks_to_delete:
            self._uc_hook_del(self._handle, ctypes.c_size_t(hook))
        self._hooks_to_delete.clear()
        if not self._flush_pending:
            return
        self._flush_pending = False
        self._dead_blocks.clear()
        self._uc_ctl(self._handle, ctypes.c_uint32(_ctl_write(ucc.UC_CTL_TB_FLUSH, 0)))

    def _code_page_freed(self, pfn: int) -> None:
        self.phys.code_pages[pfn] = 0
        self.code_page_changed(pfn << PAGE_SHIFT, PAGE_SIZE)

    # -- probes --------------------------------------------------------------------------------------------
    def add_probe(
        self, addr: int, handler: Callable[[int], Any], ip_offset: int = 0, user: bool | None = None
    ) -> Probe:
        """Call handler(regs) before the instruction at `addr` executes; `regs` is the kernel address of a struct
        pt_regs for the hit.  Whatever the handler changes in it is loaded back, the pc included (then the probed
        instruction is not executed).  ip_offset is added to the ip that the handler sees.  Several probes may share an
        address: called in the order they were added, with the same frame; the first one's ip_offset holds.

        A user-mode probe is hit in every address space that executes there.  `user` says which mode is meant; left out,
        kernel text is recognised by its address (on s390x user programs share these numbers: say it).
        """
        if user is None:
            user = addr < self.mem.map.user_end and not self._is_kernel_text(addr)
        probe = Probe(addr, handler, ip_offset, user)
        site = self._sites.get((addr, user))
        if site is None:
            site = self._sites[addr, user] = self._new_site(addr, ip_offset, user)
        site.probes.append(probe)
        self._aim(site)
        return probe

    def _is_kernel_text(self, addr: int) -> bool:
        return 0 <= addr - self.mem.map.text_base < self.mem.map.text_size

    def _new_site(self, addr: int, ip_offset: int, user: bool) -> _Site:
        block = (ctypes.c_uint64 * 4)(self._block, id(_nothing), ip_offset & _WORD_MASK, user)
        site = _Site(block)
        data = ctypes.addressof(block)
        site.hook = self._add_hook(ucc.UC_HOOK_CODE, self._native.address["probe"], data, addr, addr)
        self._retranslate(addr, user)
        return site

    def _aim(self, site: _Site) -> None:
        """Point the native probe at the handler, or at a loop over several."""
        old = site.call
        if len(site.probes) == 1:
            site.call = site.probes[0].handler
        else:
            handlers = tuple(probe.handler for probe in site.probes)

            def each(regs: int) -> None:
                for handler in handlers:
                    handler(regs)

            site.call = each
        site.block[1] = id(site.call)
        self._retired.append(old)

    def remove_probe(self, probe: Probe) -> None:
        """Disarm; also from inside a handler."""
        site = self._sites[probe.address, probe.user]
        site.probes.remove(probe)
        if site.probes:
            self._aim(site)
            return
        del self._sites[probe.address, probe.user]
        site.block[1] = id(_nothing)  # until the translated code is gone
        self._retired.append(site.call)
        self._dead_blocks.append(site.block)
        self._hooks_to_delete.append(site.hook)
        self._between_blocks()

    def _retranslate(self, addr: int, user: bool) -> None:
        """Drop translated code that contains an address, in all address spaces."""
        if user:
            self.flush_code()
        else:
            self.code_changed(addr, 1)

    def close(self) -> None:
        """Free the emulator."""
        self.phys.on_code_page_freed = None
        self.mem.on_vmalloc_change = None
        if self._tlb_owner is not None:
            self._tlb_owner.on_change = None
        del self.uc


def _unset(*args: int) -> int:
    raise RuntimeError("the kernel has set no handler for hypercalls")


def _nothing(regs: int) -> None:
    """Handler of a probe that is being removed."""


def _ctl_write(control: int, arguments: int) -> int:
    """UC_CTL_WRITE() of unicorn.h."""
    return control | (arguments << 26) | (ucc.UC_CTL_IO_WRITE << 30)
