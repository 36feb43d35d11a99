"""Compiled native functions (subset.py): their host addresses, and the same as builtins for Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from arch.cache import digest
from arch.errors import Fault
from arch.libraries import check_library
from arch.native.block import Block, Native, Word
from arch.native.builtins import METH_FASTCALL, MethodDef
from arch.native.ir import C_FUNCTIONS, Function, c_symbols
from arch.native.numbers import numbers
from arch.native.objects import initialize_llvm, machine_code
from arch.native.subset import DECLARATIONS, NativeFunction, SubsetWriter, closure


class Library:
    """Some native functions, compiled for machines of one byte order; once per process."""

    def __init__(self, functions: Sequence[NativeFunction], big_endian: bool) -> None:
        def text() -> str:
            parts = [DECLARATIONS, numbers()]
            parts += [SubsetWriter(f, big_endian, f in functions).text() for f in whole]
            return "\n".join([*parts, *(_builtin(f) for f in functions)])

        whole = closure(functions)
        # Named by what this process has read, which is not always what the files say by now.
        inputs = [(f.name, f.source, f.numbers()) for f in whole]
        enums = [list(enum.__members__.items()) for enum in (Word, Native)]
        own = Path(__file__)
        writers = [own, *(own.with_name(f"{name}.py") for name in ("ir", "numbers", "slots", "subset"))]
        name = digest([*writers, repr((inputs, enums, [f.name for f in functions], big_endian))])
        self._code = machine_code("library", name, text, symbols(), level=1)
        self.address: dict[str, int] = {f.name: self._code.address(f.name) for f in functions}
        self._definitions = {
            f.name: MethodDef(f.name.encode(), self._code.address("py_" + f.name), METH_FASTCALL, None)
            for f in functions
        }

    def builtin(self, name: str, block: Block) -> Callable[..., int]:
        """A function for the machine with this block.  Arguments are ints (or bytes) and not checked; Fault.

        One that declines gives None: who calls such a function knows it.
        """
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        # As its "module" the function holds the library, whose code it is.
        function: Callable[..., int] = make(ctypes.addressof(self._definitions[name]), block.address, self)
        return function


def _builtin(native: NativeFunction) -> str:
    """METH_FASTCALL around a native function; what it noted as a fault becomes the exception."""
    mask = "call i64 @PyLong_AsUnsignedLongLongMask"
    f = Function(f"ptr @py_{native.name}(ptr %self, ptr %args, i64 %count)")
    values = [f.let(f"{mask}(ptr %self)")]
    for i, is_object in enumerate(native.objects):
        item = f.let(f"load i64, ptr {f.let(f'getelementptr ptr, ptr %args, i64 {i}')}")
        values.append(item if is_object else f.let(f"{mask}(i64 {item})"))
    result = f.let(f"call i64 @{native.name}({', '.join(f'i64 {value}' for value in values)})")
    f.branch(f.let(f"icmp eq i64 {f.word(values[0], Word.NATIVE_STATUS)}, 0"), "good", "fault")
    f.label("good")
    to_python = "PyLong_FromLongLong" if native.signed else "PyLong_FromUnsignedLongLong"
    f.do(f"ret ptr {f.let(f'call ptr @{to_python}(i64 {result})')}")
    f.label("fault")
    status = f.word(values[0], Word.NATIVE_STATUS)
    f.set_word(values[0], Word.NATIVE_STATUS, "0")
    f.branch(f.let(f"icmp eq i64 {status}, {int(Native.DECLINED)}"), "declined", "raise")
    f.label("declined")
    none = f.let(f"inttoptr i64 {C_FUNCTIONS['_Py_NoneStruct']} to ptr")
    f.do(f"call void @Py_IncRef(ptr {none})")
    f.do(f"ret ptr {none}")
    f.label("raise")
    at = f.let(f"call ptr @PyLong_FromUnsignedLongLong(i64 {f.word(values[0], Word.NATIVE_FAULT)})")
    f.do(f"call void @PyErr_SetObject(ptr @simkernel_Fault, ptr {at})")
    f.do(f"call void @Py_DecRef(ptr {at})")
    f.do("ret ptr null")
    return f.text()


def symbols() -> dict[str, int]:
    """What compiled code finds by name; so its text, and what is made of it, is the same in every process."""
    return {**c_symbols(), "simkernel_Fault": id(Fault)}


@cache
def add_symbols() -> None:
    """The same for code that llvmlite links, because it is of this process alone."""
    import llvmlite
    import llvmlite.binding as llvm

    check_library("llvmlite", llvmlite.__version__)
    initialize_llvm()
    for name, address in symbols().items():
        llvm.add_symbol(name, address)
