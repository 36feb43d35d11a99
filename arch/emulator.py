"""The emulator under the CPU: one unicorn instance, its block of shared words, hooks, registers and caches.

Nothing here knows what a task or a probe is; see arch/cpu.py for the whole.
"""

from __future__ import annotations

import ctypes
from typing import Any

import unicorn as _unicorn
from unicorn import unicorn_const as ucc

from arch.abi.limits import PAGE_SHIFT, PAGE_SIZE
from arch.abi.version import KernelVersion
from arch.architecture import Architecture, Layout
from arch.emulatorstate import REGISTER_FILES, Place
from arch.hostmap import require_room
from arch.libraries import check_library
from arch.memory import KernelMemory, PhysicalMemory
from arch.mmu import kernel_page_table
from arch.native import WINDOW_SIZE, Block, Reason, Word, trampolines
from arch.native.shortcuts import READ_ARGUMENTS
from arch.native.tlb import STORES_COUNTER
from arch.support import Support

unicorn: Any = _unicorn  # its annotations do not hold under strict typing

TCG_BUFFER_SIZE = 64 << 20  # bytes of host memory for translated code
EMULATOR_SIZE = 48 << 20  # what it takes besides
NO_DEADLINE = (1 << 64) - 1
WORD_MASK = (1 << 64) - 1


class Emulator:
    """A unicorn instance with our memory, our TLB fill and our hooks."""

    def __init__(self, arch: Architecture, phys: PhysicalMemory, mem: KernelMemory, version: KernelVersion) -> None:
        support = arch.support
        assert isinstance(support, Support)
        self.arch = arch
        self.phys = phys
        self.mem = mem
        self.facts = support.emulator.at(version)
        self.support = support
        self.layout: Layout = arch.pt_regs_for(version)
        self.gdt = 0  # x86: address of the global descriptor table
        arguments = self._syscall_arguments()
        self._native = trampolines(self.facts, self.layout, arch.word, arch.byteorder == "big", arguments)
        self._dead_blocks: list[Any] = []  # data of removed hooks; translated code may still point to it
        self._flush_pending = False
        self._hooks_to_delete: list[int] = []
        self._running = False
        self._keep: list[Any] = []
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
        self._find_registers()

    def _shut(self) -> None:
        """Free unicorn; whatever would reach it from here on raises."""
        self._switch_stack = self._read_register = self._write_register = _closed
        self._save = self._restore = self._fetch = self._load = _closed
        self._uc_reg_write = self._uc_ctl = self._uc_reg_read_batch = self._uc_reg_write_batch = _closed
        self._uc_hook_add = self._uc_hook_del = self._uc_context_restore = self._uc_emu_stop = _closed
        del self.uc, self._native

    # -- construction --------------------------------------------------------------------------------------
    def _open(self) -> None:
        facts = self.facts
        check_library("unicorn", unicorn.__version__)
        require_room(TCG_BUFFER_SIZE + EMULATOR_SIZE, "the emulator")
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
        self._uc_ctl.argtypes = (ctypes.c_void_p, ctypes.c_uint32)  # the rest is variadic
        self._uc_reg_read_batch = lib.uc_reg_read_batch
        self._uc_reg_write_batch = lib.uc_reg_write_batch
        self._uc_hook_add = lib.uc_hook_add
        self._uc_hook_del = lib.uc_hook_del
        self._uc_context_restore = lib.uc_context_restore
        self._uc_emu_stop = lib.uc_emu_stop

    def _make_block(self) -> None:
        """The words that native code and Python share."""
        map = self.mem.map
        self.block = Block(self.phys.host_address, map.direct_map, self.phys.size)
        self._block = self.block.address
        words = self.words = self.block.words
        words[Word.UC] = self._handle.value or 0
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
        if regs.syscall_arguments:
            copies = regs.syscall_copies
            read = [*regs.syscall_arguments, *(source for _, source in copies)]
            self._table(Word.SYSCALL_IDS, Word.SYSCALL_PTRS, [ids[name] for name in read], values)
            written = [self.facts.result_register, *(target for target, _ in copies)]
            self._table(Word.RESULT_IDS, Word.RESULT_PTRS, [ids[name] for name in written], scratch)

    def _syscall_arguments(self) -> tuple[str, ...]:
        """Registers of the first arguments of a system call; none on s390x, which answers no system call in the hook."""
        fields, fill = self.arch.syscall_abis[0].args[:READ_ARGUMENTS], self.facts.syscall_fill
        found = [self.layout.fields[field].register or fill.get(field) for field in fields]
        names = tuple(name for name in found if isinstance(name, str))
        return names if len(names) == READ_ARGUMENTS else ()

    def _find_registers(self) -> None:
        """Where the emulator keeps registers, if it is as `places` says: each of them is tried."""
        facts = self.facts
        if not facts.places:
            return
        names = sorted(facts.general)
        before = {name: self.read_reg(name) for name in facts.places}
        markers = {name: 0x5A5A_1234_C3C3_8000 + i for i, name in enumerate(facts.places) if name in facts.general}
        for name, value in markers.items():
            self.write_reg(name, value)
        known = b"".join(value.to_bytes(8, "little") for value in markers.values())
        found = REGISTER_FILES.setdefault(facts.uc_arch, Place()).find(self._handle.value or 0, known)

        def kept(offset: int, bits: int) -> int:
            return int.from_bytes(ctypes.string_at(found + offset, bits // 8), "little")

        if found:
            same = all(kept(*place) == self.read_reg(name) for name, place in facts.places.items())
            flags = facts.user_flag is None or not kept(facts.flag_place, 64) & facts.user_flag[1]
            self.words[Word.REGISTER_FILE] = found if same and flags else 0
        for name in names:
            self.write_reg(name, before[name])

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
        if self.facts.kernel_flags is not None:
            name, flags = self.facts.kernel_flags
            self.uc.reg_write(self.facts.uc_registers[name], flags)
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
        self._add_hook(ucc.UC_HOOK_BLOCK, address["block"], self._block, 1, 0)
        if self.facts.syscall_insn_hook:
            self._add_hook(
                ucc.UC_HOOK_INSN, address["insn"], self._block, 1, 0, ctypes.c_int(self.facts.syscall_insn_hook)
            )

        for index, (insn, _) in enumerate(self.facts.counter_insns):
            self._add_hook(ucc.UC_HOOK_INSN, address[f"counter{index}"], self._block, 1, 0, ctypes.c_int(insn))
        self._counters: set[int] = set()  # addresses of instructions that store the counter
        self._on_counter = self._hook_counter
        self.words[Word.ON_COUNTER] = id(self._on_counter)

    def _hook_counter(self, address: int) -> None:
        """Called by the native fill, before the instruction is translated."""
        if address not in self._counters:
            self._counters.add(address)
            self._add_hook(ucc.UC_HOOK_CODE, self._native.address["stored"], self._block, address, address)

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

    # -- registers -----------------------------------------------------------------------------------------
    @property
    def in_kernel(self) -> bool:
        """Whether the CPU is in kernel mode now."""
        flag = self.facts.user_flag
        if flag is not None and self.read_reg(flag[0]) & flag[1]:
            return False
        return self.read_reg(self.facts.privilege) & self.facts.privilege_mask != self.facts.privilege_user

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

    # -- caches --------------------------------------------------------------------------------------------
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
            if self.phys.code_pages[page >> PAGE_SHIFT]:
                self.phys.code_pages[page >> PAGE_SHIFT] = STORES_COUNTER  # look at it again
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


def _ctl_write(control: int, arguments: int) -> int:
    """UC_CTL_WRITE() of unicorn.h."""
    return control | (arguments << 26) | (ucc.UC_CTL_IO_WRITE << 30)


def _closed(*args: object) -> Any:
    raise RuntimeError("this machine is closed")
