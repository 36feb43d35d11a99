"""Machine code of LLVM IR, kept between processes: compiled once by llvmlite, later read from the cache and linked here.

Reading LLVM's library and compiling takes ten times as long as linking what it made.  Code is compiled for the large
code model, where every symbol is a 64-bit address: linking is then a few absolute relocations of ELF for x86-64 and
arm64.  On other hosts, and where an object asks for more than that, llvmlite links.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from arch import cache as files
from arch.abi.elf import SHF_ALLOC, SHT_NOBITS, SHT_RELA, SHT_SYMTAB

SECTION_ALIGN = 64  # bytes, of each section
_X86_64, _AARCH64 = 62, 183  # e_machine
_ABS64 = {_X86_64: 1, _AARCH64: 257}  # R_X86_64_64, R_AARCH64_ABS64
_MOVW = {263: 0, 264: 0, 265: 16, 266: 16, 267: 32, 268: 32, 269: 48}  # R_AARCH64_MOVW_UABS_G0 to G3 -> shift


class CannotLink(Exception):
    """An object that needs more of a linker than there is here."""


class Code:
    """Machine code in this process: `address(name)` of its functions.  Lives as long as somebody holds it."""

    def __init__(self, address: Callable[[str], int], keep: Any) -> None:
        self.address = address
        self._keep = keep


def machine_code(kind: str, name: str, text: Callable[[], str], symbols: Mapping[str, int], level: int = 0) -> Code:
    """The code of the LLVM IR that `text()` writes.  `name` is a digest of everything it is written from.

    `symbols` are the addresses of what the IR declares and does not define.
    """
    data = files.load(kind, name)
    if data is not None:
        try:
            return link(data, symbols)
        except CannotLink:
            pass  # then it is compiled, and llvmlite links it
    return _compile(kind, name, text(), symbols, level)


def _compile(kind: str, name: str, text: str, symbols: Mapping[str, int], level: int) -> Code:
    import llvmlite.binding as llvm

    initialize_llvm()
    for symbol, address in symbols.items():
        llvm.add_symbol(symbol, address)
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(opt=level, jit=True, reloc="static", codemodel="large")
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=max(level, 1)))
    if level:
        passes.getModulePassManager().run(module, passes)
    else:
        manager = llvm.create_new_module_pass_manager()
        manager.add_sroa_pass()
        manager.run(module, passes)
    data = machine.emit_object(module)
    try:
        code = link(data, symbols)
    except CannotLink:
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        return Code(engine.get_function_address, engine)
    files.store(kind, name, data)
    return code


@cache
def initialize_llvm() -> None:
    """Once in a process that compiles."""
    import llvmlite
    import llvmlite.binding as llvm

    if tuple(map(int, str(llvmlite.__version__).split(".")[:2])) < (0, 45):
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


# -- linking -----------------------------------------------------------------------------------------------------


def link(data: bytes, symbols: Mapping[str, int]) -> Code:
    """Put a relocatable object into memory that can be executed.  CannotLink."""
    try:
        return _link(data, symbols)
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise CannotLink(f"not an object that can be linked here: {error!r}") from None


def _link(data: bytes, symbols: Mapping[str, int]) -> Code:
    machine = struct.unpack_from("<H", data, 18)[0]
    host = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(os.uname().machine)
    if data[:6] != b"\x7fELF\x02\x01" or machine != host:
        raise CannotLink("object of another machine")
    at, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    # name, type, flags, address, offset, size, link, info, alignment, entry size
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * i) for i in range(count)]
    titles = sections[struct.unpack_from("<H", data, 62)[0]][4]
    places: dict[int, int] = {}
    size = 0
    for index, section in enumerate(sections):
        if section[2] & SHF_ALLOC and _string(data, titles + section[0]) != ".eh_frame":  # nothing is thrown here
            places[index] = size
            size += section[5] + -section[5] % SECTION_ALIGN
    memory = mmap.mmap(-1, max(size, 1))
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for index, place in places.items():
        section = sections[index]
        if section[1] != SHT_NOBITS:
            memory[place : place + section[5]] = data[section[4] : section[4] + section[5]]
    table = next(section for section in sections if section[1] == SHT_SYMTAB)
    names = sections[table[6]][4]
    values: list[int] = []
    functions: dict[str, int] = {}
    for position in range(table[4], table[4] + table[5], 24):
        name_at, info, _, section_index, value, _ = struct.unpack_from("<IBBHQQ", data, position)
        name = _string(data, names + name_at)
        if section_index in places:
            value += base + places[section_index]
            if info >> 4:
                functions[name] = value
        elif section_index == 0 and name:
            value = symbols[name]
        values.append(value)
    for section in sections:
        if section[1] == SHT_RELA and section[7] in places:
            for position in range(section[4], section[4] + section[5], 24):
                offset, info, addend = struct.unpack_from("<QQq", data, position)
                _relocate(memory, places[section[7]] + offset, machine, info & 0xFFFFFFFF, values[info >> 32] + addend)
    _make_executable(base, size)
    return Code(functions.__getitem__, memory)


def _string(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _relocate(memory: mmap.mmap, at: int, machine: int, kind: int, value: int) -> None:
    if kind == _ABS64[machine]:
        struct.pack_into("<Q", memory, at, value)
    elif machine == _AARCH64 and kind in _MOVW:
        insn = struct.unpack_from("<I", memory, at)[0]
        struct.pack_into("<I", memory, at, insn & ~(0xFFFF << 5) | (value >> _MOVW[kind] & 0xFFFF) << 5)
    else:
        raise CannotLink(f"relocation {kind}")


def _make_executable(base: int, size: int) -> None:
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if libc.mprotect(base, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise CannotLink("the host makes no memory executable")
    if os.uname().machine == "aarch64":  # its instruction cache does not see stores
        _clear_cache(base, size)


def _clear_cache(base: int, size: int) -> None:
    libgcc = ctypes.CDLL("libgcc_s.so.1")
    libgcc.__clear_cache.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    libgcc.__clear_cache(base, base + size)
