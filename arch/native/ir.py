"""Writing LLVM IR as text: one `Function` at a time, and the base of everything that writes one."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

from arch.architecture import Layout
from arch.native.block import Word
from arch.native.facts import EmulatorFacts, Registers

# What a branch is expected to do (code is placed and values are kept in registers by it), and what a load is of that never changes.
MOSTLY_TAKEN, HARDLY_TAKEN, NEVER_CHANGES = "!prof !0", "!prof !1", "!invariant.load !2"
METADATA = """
!0 = !{!"branch_weights", i32 1048576, i32 1}
!1 = !{!"branch_weights", i32 1, i32 1048576}
!2 = !{}
"""
COPIED_AT_ONCE = (4, 8, 16)  # bytes: sizes of most keys and values


class Function:
    """Text of one LLVM function, with numbered temporaries."""

    def __init__(self, signature: str) -> None:
        self.lines = [f"define {signature} {{", "entry:"]
        self._n = 0
        self.slow = ""  # the label of the slower of two ways that is not written yet

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
    def load(self, address: str, kind: str = "i64", told: str = "") -> str:
        """Load from an address given as an i64.  `told`: metadata, what LLVM may know of it."""
        pointer = self.let(f"inttoptr i64 {address} to ptr")
        return self.let(f"load {kind}, ptr {pointer}, align 1{told and ', ' + told}")

    def store(self, address: str, value: str, kind: str = "i64") -> None:
        pointer = self.let(f"inttoptr i64 {address} to ptr")
        self.do(f"store {kind} {value}, ptr {pointer}, align 1")

    def word_address(self, blk: str, word: int) -> str:
        return self.let(f"add i64 {blk}, {8 * word}")

    def word(self, blk: str, word: int, told: str = "") -> str:
        return self.load(self.word_address(blk, word), told=told)

    def set_word(self, blk: str, word: int, value: str) -> None:
        self.store(self.word_address(blk, word), value)

    def call(self, address: int | str, ret: str, args: str) -> str:
        """Call a C function by host address."""
        pointer = self.let(f"inttoptr i64 {address} to ptr")
        if ret == "void":
            self.do(f"call void {pointer}({args})")
            return ""
        return self.let(f"call {ret} {pointer}({args})")

    def branch(self, condition: str, yes: str, no: str, told: str = "") -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}{told and ', ' + told}")

    def move(self, to: str, source: str, size: str) -> None:
        """memmove() between addresses given as i64: of the usual sizes without a call."""
        to, source = (self.let(f"inttoptr i64 {at} to ptr") for at in (to, source))
        labels = {count: self.name("copy") for count in COPIED_AT_ONCE}
        other, done = self.name("copy"), self.name("copied")
        ways = " ".join(f"i64 {count}, label %{label}" for count, label in labels.items())
        self.do(f"switch i64 {size}, label %{other} [{ways}]")
        for count, label in labels.items():
            self.label(label)
            self.do(f"store i{8 * count} {self.let(f'load i{8 * count}, ptr {source}, align 1')}, ptr {to}, align 1")
            self.goto(done)
        self.label(other)
        self.do(f"call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")
        self.goto(done)
        self.label(done)

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

    def __init__(
        self, facts: EmulatorFacts, layout: Layout, word: int, big_endian: bool, arguments: tuple[str, ...] = ()
    ) -> None:
        self.facts = facts
        self.layout = layout
        self.word = word
        self.big_endian = big_endian
        self.regs = Registers(facts, layout, arguments)
        self.c = C_FUNCTIONS
        self.ids = facts.uc_registers

    def read_registers(self, f: Function, names: Sequence[str], to: int, ids: str, ptrs: str) -> None:
        """Registers into the words from `to` on: from where the emulator keeps them, else by its interface, all in one call."""
        where = f"ptr %uc, i64 {ids}, i64 {ptrs}, i32 {len(names)}"
        if not self.facts.places:
            f.call(self.c["uc_reg_read_batch"], "i32", where)
            return
        file, done = self._file(f)
        for i, name in enumerate(names):
            if name in self.facts.places:
                f.set_word("%blk", to + i, self._kept(f, file, name))
            else:
                at = f.let(f"inttoptr i64 {f.word_address('%blk', to + i)} to ptr")
                f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[name]}, ptr {at}")
        self._no_file(f, done)
        f.call(self.c["uc_reg_read_batch"], "i32", where)
        f.goto(done)
        f.label(done)

    def write_registers(self, f: Function, names: Sequence[str], values: int, ids: str, ptrs: str) -> None:
        """The same back, from the words from `values` on.  What is more than a number, or takes more than to be put there, goes by the interface."""
        where = f"ptr %uc, i64 {ids}, i64 {ptrs}, i32 {len(names)}"
        if not self.facts.places:
            f.call(self.c["uc_reg_write_batch"], "i32", where)
            return
        file, done = self._file(f)
        for i, name in enumerate(names):
            if name in self.facts.general:
                self._keep(f, file, name, f.word("%blk", values + i))
            else:
                at = f.load(f.let(f"add i64 {ptrs}, {8 * i}"), "ptr")
                f.call(self.c["uc_reg_write"], "i32", f"ptr %uc, i32 {self.ids[name]}, ptr {at}")
        self._no_file(f, done)
        f.call(self.c["uc_reg_write_batch"], "i32", where)
        f.goto(done)
        f.label(done)

    def read_register_into(self, f: Function, name: str, slot: str) -> None:
        """One register into a slot that holds 0."""
        by_interface = f"ptr %uc, i32 {self.ids[name]}, ptr {slot}"
        if name not in self.facts.places:
            f.call(self.c["uc_reg_read"], "i32", by_interface)
            return
        file, done = self._file(f)
        f.do(f"store i64 {self._kept(f, file, name)}, ptr {slot}")
        self._no_file(f, done)
        f.call(self.c["uc_reg_read"], "i32", by_interface)
        f.goto(done)
        f.label(done)

    def write_register_from(self, f: Function, name: str, value: str, slot: str) -> None:
        """One register, by way of a slot."""
        if name in self.facts.general:
            file, done = self._file(f)
            self._keep(f, file, name, value)
            self._no_file(f, done)
        f.do(f"store i64 {value}, ptr {slot}")
        f.call(self.c["uc_reg_write"], "i32", f"ptr %uc, i32 {self.ids[name]}, ptr {slot}")
        if name in self.facts.general:
            f.goto(done)
            f.label(done)

    @staticmethod
    def _file(f: Function) -> tuple[str, str]:
        """Where the emulator's registers are known: their address, and the label behind both ways."""
        file, fast, slow, done = f.word("%blk", Word.REGISTER_FILE), f.name("file"), f.name("interface"), f.name("both")
        f.branch(f.let(f"icmp eq i64 {file}, 0"), slow, fast)
        f.label(fast)
        f.slow = slow
        return file, done

    @staticmethod
    def _no_file(f: Function, done: str) -> None:
        """Where they are not."""
        f.goto(done)
        f.label(f.slow)

    def _kept(self, f: Function, file: str, name: str) -> str:
        offset, bits = self.facts.places[name]
        value = f.load(f.let(f"add i64 {file}, {offset}"), f"i{bits}")
        return value if bits == 64 else f.let(f"zext i{bits} {value} to i64")

    def _keep(self, f: Function, file: str, name: str, value: str) -> None:
        f.store(f.let(f"add i64 {file}, {self.facts.places[name][0]}"), value)

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
