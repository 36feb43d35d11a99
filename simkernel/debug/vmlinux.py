"""The kernel's text and symbols as an ELF file, for tools of the host: gdb, objdump, nm.  elf(5)."""

from __future__ import annotations

import struct

from arch.abi.elf import (
    ELFCLASS64,
    ET_EXEC,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHN_ABS,
    SHT_PROGBITS,
    SHT_STRTAB,
    SHT_SYMTAB,
    STB_GLOBAL,
    STT_FUNC,
    STT_OBJECT,
)
from simkernel.kernel.kernel import Kernel


def vmlinux(k: Kernel) -> bytes:
    """An executable of one section of code, as it lies in memory, and all symbols."""
    wide = k.arch.elf_class == ELFCLASS64
    order = "<" if k.arch.byteorder == "little" else ">"
    base, end = k.mem.map.text_base, k.text.image.end
    code = bytes(k.mem.read(base, end - base))
    names, symbols = bytearray(b"\0"), [_symbol(order, wide, 0, 0, 0, 0, 0)]
    for each in k.symbols:
        inside = base <= each.address < end
        kind = STT_FUNC if each.kind in "tT" else STT_OBJECT
        section = 1 if inside else SHN_ABS
        symbols.append(_symbol(order, wide, len(names), each.address, each.size, STB_GLOBAL << 4 | kind, section))
        names += each.name.encode() + b"\0"
    section_names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    header_size, row = (64, 64) if wide else (52, 40)
    parts, offsets, at = [code, b"".join(symbols), bytes(names), section_names], [], header_size
    for part in parts:
        offsets.append(at)
        at += len(part) + -len(part) % 8
    rows = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, base, offsets[0], len(code), 0, 0, 16, 0),
        (7, SHT_SYMTAB, 0, 0, offsets[1], len(parts[1]), 3, 1, 8, len(symbols[0])),
        (15, SHT_STRTAB, 0, 0, offsets[2], len(names), 0, 0, 1, 0),
        (23, SHT_STRTAB, 0, 0, offsets[3], len(section_names), 0, 0, 1, 0),
    ]
    ident = b"\x7fELF" + bytes((k.arch.elf_class, 1 if order == "<" else 2, 1)) + bytes(9)
    words = "QQQ" if wide else "III"
    header = ident + struct.pack(
        f"{order}HHI{words}I6H", ET_EXEC, k.arch.elf_machine, 1, base, 0, at, 0, header_size, 0, 0, row, len(rows), 4
    )
    table = struct.Struct(order + ("IIQQQQIIQQ" if wide else "10I"))
    body = b"".join(part + bytes(-len(part) % 8) for part in parts)
    return header + body + b"".join(table.pack(*each) for each in rows)


def _symbol(order: str, wide: bool, name: int, address: int, size: int, info: int, section: int) -> bytes:
    if wide:
        return struct.pack(f"{order}IBBHQQ", name, info, 0, section, address, size)
    return struct.pack(f"{order}IIIBBH", name, address & 0xFFFFFFFF, size, info, 0, section)
