"""Writing LLVM IR as text: one `Function` at a time, and the base of everything that writes one."""

from __future__ import annotations

import ctypes
from functools import cache

from arch.architecture import Layout
from arch.native.block import Word
from arch.native.facts import EmulatorFacts, Registers


class Function:
    """Text of one LLVM function, with numbered temporaries."""

    def __init__(self, signature: str) -> None:
        self.lines = [f"define {signature} {{", "entry:"]
        self._n = 0

    def name(self, stem: str = "t") -> str:
        self._n += 1
        return f"{stem}{self._n}"

    def do(self, text: str) -> None:
        self.lines.append("  " + text)

    def let(self, text: str) -> str:
        result = "%" + self.name()
        self.do(f"{result} = {text}")
        return result

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    # -- shorthands --------------------------------------------------------------------------------------------
    def load(self, address: str, kind: str = "i64") -> str:
        """Load from an address given as an i64."""
        pointer = self.let(f"inttoptr i64 {address} to ptr")
        return self.let(f"load {kind}, ptr {pointer}, align 1")

    def store(self, address: str, value: str, kind: str = "i64") -> None:
        pointer = self.let(f"inttoptr i64 {address} to ptr")
        self.do(f"store {kind} {value}, ptr {pointer}, align 1")

    def word_address(self, blk: str, word: int) -> str:
        return self.let(f"add i64 {blk}, {8 * word}")

    def word(self, blk: str, word: int) -> str:
        return self.load(self.word_address(blk, word))

    def set_word(self, blk: str, word: int, value: str) -> None:
        self.store(self.word_address(blk, word), value)

    def call(self, address: int | str, ret: str, args: str) -> str:
        """Call a C function by host address."""
        pointer = self.let(f"inttoptr i64 {address} to ptr")
        if ret == "void":
            self.do(f"call void {pointer}({args})")
            return ""
        return self.let(f"call {ret} {pointer}({args})")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def goto(self, label: str) -> None:
        self.do(f"br label %{label}")

    def text(self) -> str:
        return "\n".join([*self.lines, "}", ""])


_UNICORN = (
    "uc_reg_read", "uc_reg_write", "uc_reg_read_batch", "uc_reg_write_batch", "uc_context_restore", "uc_context_save",
    "uc_emu_start", "uc_emu_stop", "uc_ctl",
)  # fmt: skip
_PYTHON = (
    "PyLong_FromUnsignedLongLong", "PyLong_AsUnsignedLongLongMask", "PyObject_Vectorcall", "PyTuple_Size",
    "PyTuple_GetItem", "PyErr_Occurred", "Py_DecRef", "Py_IncRef", "PyTuple_Type", "_Py_NoneStruct",
    "PyLong_FromLongLong", "PyErr_SetObject", "PyBytes_Size", "PyBytes_AsString", "PyDict_GetItem", "PyDict_SetItem",
)  # fmt: skip


# What LLVM calls of its own accord, where an intrinsic is too long to be written out.
_LIBC = ("memcpy", "memmove", "memset")


@cache
def c_symbols() -> dict[str, int]:
    """Host addresses of the C functions and objects that trampolines use."""
    from unicorn.unicorn_py3.unicorn import uclib

    libraries = ((uclib, _UNICORN), (ctypes.pythonapi, _PYTHON), (ctypes.CDLL(None), _LIBC))
    return {
        name: ctypes.addressof(ctypes.c_char.in_dll(library, name)) for library, names in libraries for name in names
    }


# What IR writes for the address of one, as an i64: the code is then the same in every process.
C_FUNCTIONS = {name: f"ptrtoint (ptr @{name} to i64)" for name in (*_UNICORN, *_PYTHON)}
C_DECLARATIONS = "".join(f"@{name} = external global i8\n" for name in C_FUNCTIONS)


class Writer:
    """What all writers of trampolines share: one architecture's facts and the struct pt_regs of one version."""

    def __init__(self, facts: EmulatorFacts, layout: Layout, word: int, big_endian: bool) -> None:
        self.facts = facts
        self.layout = layout
        self.word = word
        self.big_endian = big_endian
        self.regs = Registers(facts, layout)
        self.c = C_FUNCTIONS
        self.ids = facts.uc_registers

    def _swap(self, f: Function, value: str, size: int) -> tuple[str, str]:
        """An i64 as the integer of `size` bytes in machine byte order; returns (value, type)."""
        kind = f"i{8 * size}"
        if size != 8:
            value = f.let(f"trunc i64 {value} to {kind}")
        if self.big_endian and size > 1:
            value = f.let(f"call {kind} @llvm.bswap.{kind}({kind} {value})")
        return value, kind

    def _unswap(self, f: Function, value: str, size: int) -> str:
        kind = f"i{8 * size}"
        if self.big_endian and size > 1:
            value = f.let(f"call {kind} @llvm.bswap.{kind}({kind} {value})")
        return value if size == 8 else f.let(f"zext {kind} {value} to i64")

    def _put(self, f: Function, frame: str, name: str, value: str) -> None:
        row = self.layout.fields[name]
        stored, kind = self._swap(f, value, row.size)
        f.store(f.let(f"add i64 {frame}, {row.offset}"), stored, kind)

    def _fill_fields(self, f: Function, frame: str, fill: dict[str, str | int]) -> None:
        for name, source in fill.items():
            if name not in self.layout.fields:
                continue
            if isinstance(source, int):
                value = f.let(f"add i64 0, {source}")
            else:
                value = f.word("%blk", Word.VALUES + self.regs.index[source])
            self._put(f, frame, name, value)
