"""Compiling the trampolines of an architecture and struct pt_regs layout: once per process, about 10 ms."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arch.architecture import Layout
from arch.cache import digest
from arch.native.builtins import BUILTINS, METH_FASTCALL, BuiltinWriter, MethodDef
from arch.native.calls import CallWriter
from arch.native.clocks import ClockWriter
from arch.native.facts import EmulatorFacts, Registers, SystemRead
from arch.native.frames import FrameWriter
from arch.native.ir import C_DECLARATIONS, c_symbols
from arch.native.objects import machine_code
from arch.native.shortcuts import ShortcutWriter
from arch.native.tlb import TlbWriter
from arch.native.traps import TrapWriter


class Generator(TlbWriter, FrameWriter, CallWriter, ShortcutWriter, ClockWriter, TrapWriter, BuiltinWriter):
    """Writes the IR of all trampolines of one architecture and layout."""

    def module(self) -> str:
        parts = [
            self.is_user(),
            self.walk(),
            self.fill(),
            self.settle(),
            self.block(),
            self.kernel_block(),
            self.store_frame(),
            self.load_frame(),
            self.show_user(),
        ]
        parts += [
            self.shortcut(),
            self.enter(),
            self.python_result(),
            self.fault_in_place(),
            self.hypercall(),
            self.trap(),
            self.intr(),
            self.invalid(),
        ]
        parts += [self.insn(), self.probe(), self.probes(), self.run(), self.fetch(), self.load(), self.restore()]
        parts += [self.count(), *(self.counter(index) for index in range(len(self.facts.counter_insns)))]
        parts += [self.told()] if self.facts.reads else []
        parts += [self.found(), self.stored()] if self.facts.stored_counter else []
        parts += [self.save(), self.read_register(), self.write_register(), self.switch_stack()]
        parts += [self.builtin(name, arguments, result) for name, arguments, result in BUILTINS]
        intrinsics = C_DECLARATIONS + "".join(f"declare i{n} @llvm.bswap.i{n}(i{n})\n" for n in (16, 32, 64))
        intrinsics += "".join(f"declare i64 @llvm.u{word}.i64(i64, i64)\n" for word in ("min", "max"))
        intrinsics += "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
        return intrinsics + "\n".join(parts)


class Trampolines:
    """Compiled trampolines: host addresses by name, and Python-callable forms of those that Python calls."""

    def __init__(
        self, facts: EmulatorFacts, layout: Layout, word: int, big_endian: bool, arguments: tuple[str, ...] = ()
    ) -> None:
        self.registers = Registers(facts, layout, arguments)
        name = digest([*sorted(Path(__file__).parent.glob("*.py")), repr((facts, layout, word, big_endian, arguments))])
        text = lambda: Generator(facts, layout, word, big_endian, arguments).module()  # noqa: E731
        self._code = machine_code("trampolines", name, text, c_symbols())
        names = ("fill", "block", "intr", "invalid", "insn", "probes")
        counters = [f"counter{index}" for index in range(len(facts.counter_insns))]
        counters += ["stored"] if facts.stored_counter else []
        self.address = {name: self._code.address(name) for name in (*names, *counters)}
        word_t = ctypes.c_uint64
        self.run = self._python("run", word_t, word_t)
        self.enter = self._python("enter", None, *[word_t] * 6)
        self._definitions = {
            name: MethodDef(name.encode(), self._code.address("py_" + name), METH_FASTCALL, None)
            for name, _, _ in BUILTINS
        }

    def builtin(self, name: str, block: int) -> Callable[..., Any]:
        """One of BUILTINS for the CPU with this block: called from Python at 30 ns instead of 350."""
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        function: Callable[..., Any] = make(ctypes.addressof(self._definitions[name]), block, None)
        return function

    def _python(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """Callable from Python with the GIL kept; a pending exception is raised on return."""
        address = self._code.address(name)
        function: Callable[..., Any] = ctypes.PYFUNCTYPE(result, *arguments)(address)
        return function


_compiled: dict[tuple[int, int, str, int, tuple[SystemRead, ...]], Trampolines] = {}


def trampolines(
    facts: EmulatorFacts, layout: Layout, word: int, big_endian: bool, arguments: tuple[str, ...] = ()
) -> Trampolines:
    """The trampolines of an architecture and pt_regs layout, compiled at the first call in this process.

    `arguments`: the registers with the first arguments of a system call, where those are answered in the hook.
    """
    key = (facts.uc_arch, facts.uc_mode, layout.name, layout.size, facts.reads)
    found = _compiled.get(key)
    if found is None:
        found = _compiled[key] = Trampolines(facts, layout, word, big_endian, arguments)
    return found
