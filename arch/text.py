"""Kernel text: machine code for kernel functions whose bodies are Python, and the kernel's entry code.

A kernel function's text is a real function: patchable entry, frame set-up, and a loop around a *hypercall*:

    f:   nop                      patchable, as ftrace leaves it
         push frame
         CODE = index             which function this is
         HYPERCALL                Python starts the body
    1:   if TARGET == 0 goto 2
         call *TARGET             the body called a kernel function: a real call
         CODE = resume
         HYPERCALL                Python goes on with the body; it gets the result
         goto 1
    2:   pop frame
         return

The CPU calls `on_enter(index, a0, a1, ...)` (all argument registers) and `on_resume(result)`, see arch/cpu.py; both return
either an int, the function's result, or a tuple (target, arg0, arg1, ...), a call to make.

Entry text is written by hand per architecture.  When user code traps, the CPU has put struct pt_regs at the top of the
task's kernel stack, SP points to it, and the stub of that role calls the handler with these C arguments:

    syscall     handler(regs, nr)
    page_fault  handler(regs, error_code, address)    FAULT_PROT | FAULT_WRITE | FAULT_EXEC | FAULT_USER of cpu.py
    timer       handler(regs)                         after Cpu.enter_timer()
    interrupt   handler(regs, vector)                 after Cpu.enter("interrupt", vector)
    undefined, divide, breakpoint, debug, protection, fp, alignment      handler(regs, trap number)
    fork        handler(prev)                         first code of a new task; then it goes to user mode by pt_regs

When the handler returns, the stub restores every register from pt_regs and returns to user mode.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from arch.abi.limits import PAGE_SIZE
from arch.abi.version import NEWEST, KernelVersion
from arch.architecture import Architecture
from arch.decode import decoder
from arch.memory import KernelMemory
from arch.support import Support
from arch.symbols import Symbols
from arch.vdso import VdsoImage, build

ALIGN = 16  # bytes


class KernelText:
    """The text section: grows upwards from text_base as functions are added; each function 16-byte aligned.

    Order of use: add_functions(names) for all kernel functions (their index is what on_enter gets), then
    add_entry() once.  Later additions (modules) go on at the end.
    """

    def __init__(
        self, arch: Architecture, mem: KernelMemory, symbols: Symbols, version: KernelVersion = NEWEST
    ) -> None:
        support = arch.support
        assert isinstance(support, Support)
        self.arch = arch
        self.version = version
        self.layout = arch.pt_regs_for(version)
        self.mem = mem
        self.symbols = symbols
        self.facts = support.text
        self.names: list[str] = []  # index -> function name
        self.end = mem.map.text_base  # first free text address

    def jumps(self) -> bool:
        """Can functions end by jumping to another, as this kernel's compiler lets them?"""
        return self.facts.jumping_function is not None and self.arch.traces.jumps(self.version)

    def add_functions(
        self, names: list[str], sizes: dict[str, int] | None = None, jumping: Collection[str] = ()
    ) -> list[int]:
        """Make text and symbols for functions; returns their indices.

        `sizes` pads functions to realistic sizes; `jumping` ones end by jumping to another (jumps() says whether they can).
        """
        jump = self.facts.jumping_function
        indices = []
        for name in names:
            index = len(self.names)
            self.names.append(name)
            indices.append(index)
            code = jump(index) if jump is not None and name in jumping else self.facts.function(index)
            want = (sizes or {}).get(name, 0)
            if want > len(code):
                code += self.facts.nop * ((want - len(code)) // len(self.facts.nop))
            self._place(name, code)
        return indices

    def add_entry(self, cpu: Any = None) -> None:
        """Entry stubs, return to user mode, ret_from_fork, the stack switch and the kretprobe trampoline.

        The handlers named in arch.entry must have been added.  With `cpu`, tells it where the stubs are.
        """
        stubs = self.facts.stubs(self.arch.entry.stubs, self.arch.entry.handlers)
        addresses = {}
        at = self.end
        for stub in stubs:  # lay out first: stubs jump to each other
            addresses[stub.name] = at
            at += _align(len(stub.build(at, lambda name: self.mem.map.text_base)))

        def resolve(name: str) -> int:
            found = addresses.get(name)
            return self._versioned(name) if found is None else found

        for stub in stubs:
            if cpu is not None:
                for role, offset in stub.roles.items():
                    cpu.set_entry(role, self.end + offset)
            self._place(self.arch.symbol_name(stub.name, self.version), stub.build(self.end, resolve))

    def _place(self, name: str, code: bytes) -> None:
        size = len(code)
        kept = self.symbols.place(name)
        if kept is not None and size <= kept.size:
            self.mem.write(kept.address, code)
            self.symbols.add(name, kept.address, size)
            return
        padded = code + self.facts.padding * ((_align(size) - size) // len(self.facts.padding))
        if self.end + len(padded) > self.mem.map.text_base + self.mem.map.text_size:
            raise RuntimeError("kernel text section is full")
        self.mem.write(self.end, padded)
        self.symbols.add(name, self.end, size)
        self.end += len(padded)

    def _versioned(self, name: str) -> int:
        """Address of a symbol that is given by its newest name."""
        return self.address(self.arch.symbol_name(name, self.version))

    @property
    def switch_to(self) -> int:
        """Address of the stack-switch routine, called as (prev, next)."""
        return self._versioned(self.facts.switch_symbol)

    @property
    def fork_entry(self) -> int:
        """Address of ret_from_fork."""
        return self._versioned(self.facts.fork_symbol)

    @property
    def kretprobe_trampoline(self) -> int:
        """Where kretprobes make functions return to; put a probe there that sets the pc."""
        return self._versioned(self.facts.kretprobe_symbol)

    @property
    def small(self) -> int:
        """Bytes that the smallest function takes up."""
        return _align(len(self.facts.function(0)))

    def address(self, name: str) -> int:
        """Address of a function or stub."""
        return self.symbols[name].address

    def after_call(self, name: str) -> int:
        """Where a function goes on when one that it has called returns."""
        return self.address(name) + self.facts.returns_at

    def beginning(self, name: str) -> range:
        """Addresses of a function up to the hypercall that starts its body."""
        start = self.address(name)
        return range(start, start + self.facts.hypercall_at + 1)

    def boundaries(self, name: str) -> list[int]:
        """Offsets of instruction starts inside a function."""
        symbol = self.symbols[name]
        code = self.mem.read(symbol.address, symbol.size)
        return [insn.address - symbol.address for insn in disassemble(self.arch, code, symbol.address)]

    def new_stack(self, top: int, pc: int | None = None, fn: int = 0, arg: int = 0) -> int:
        """Prepare a kernel stack whose task, when first switched to, starts at `pc` (default ret_from_fork).

        `top` is the end of the stack; struct pt_regs for the return to user mode lies at Cpu.user_regs (write it
        yourself).  With `fn` the task is a kernel thread: ret_from_fork calls fn(arg), which must not return unless
        pt_regs is filled in meanwhile (kernel_execve).  Returns the stack pointer to hand to Cpu.switch_stack().
        """
        support = self.arch.support
        assert isinstance(support, Support)
        word = self.arch.word
        regs = top - self.layout.size - support.emulator.frame_reserve
        sp = regs - word * len(self.facts.switch_frame)
        values = {"pc": self.fork_entry if pc is None else pc, "fn": fn, "arg": arg, "fp": 0}
        values["sp"] = regs + support.emulator.up_sp_offset
        words = [values[w] if isinstance(w, str) else w for w in self.facts.switch_frame]
        self.mem.write(sp, b"".join(w.to_bytes(word, self.arch.byteorder) for w in words))
        return sp


def _align(size: int) -> int:
    return (size + ALIGN - 1) // ALIGN * ALIGN


def user_code_page(arch: Architecture) -> bytes:
    """The code that returns from signals (rt_sigreturn, at offset 0); empty where libc brings its own."""
    support = arch.support
    assert isinstance(support, Support)
    return support.text.vdso


def vdso_image(arch: Architecture) -> VdsoImage | None:
    """The page that every program has: a library, or nothing but the code that returns from signals; None: no page."""
    support = arch.support
    assert isinstance(support, Support)
    facts, code = support.text.shared, support.text.vdso
    if facts is not None:
        return build(facts, code, arch.syscall_abis[0].numbers, arch.elf_machine, arch.byteorder)
    return VdsoImage(code.ljust(PAGE_SIZE, b"\0"), 0) if code else None


def disassemble(arch: Architecture, code: bytes, address: int) -> list[Any]:
    """capstone instructions of a piece of code."""
    support = arch.support
    assert isinstance(support, Support)
    return list(decoder(support.text).disasm(code, address))
