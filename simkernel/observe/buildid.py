"""Build ids of mapped files.  lib/buildid.c, stack_map_get_build_id_offset() of kernel/bpf/stackmap.c of Linux 6.1."""

from __future__ import annotations

import struct

from arch.abi.elf import ET_DYN, ET_EXEC, PT_NOTE
from arch.abi.limits import PAGE_SIZE
from arch.architecture import Architecture
from simkernel.kernel.areas import Vma

NT_GNU_BUILD_ID = 3
BUILD_ID_SIZE_MAX = 20
NHDR = 12  # sizeof(Elf_Nhdr)


def build_id_of(page: bytes, arch: Architecture) -> bytes | None:
    """build_id_parse(): of an executable or a shared object whose first page this is; None without one."""
    order = "<" if arch.byteorder == "little" else ">"
    wide = arch.word == 8
    ehdr, phdr = (64, 56) if wide else (52, 32)
    if page[:4] != b"\x7fELF" or page[4] != (2 if wide else 1) or len(page) < PAGE_SIZE:
        return None
    (kind,) = struct.unpack_from(order + "H", page, 16)
    (count,) = struct.unpack_from(order + "H", page, 56 if wide else 44)
    if kind not in (ET_EXEC, ET_DYN) or count > (PAGE_SIZE - ehdr) // phdr:
        return None
    for at in range(ehdr, ehdr + count * phdr, phdr):
        (what,) = struct.unpack_from(order + "I", page, at)
        if wide:
            offset, size = struct.unpack_from(order + "8xQ16xQ", page, at)
        else:
            offset, size = struct.unpack_from(order + "4xI8xI", page, at)
        if what == PT_NOTE:
            found = _in_notes(page, offset, size, order)
            if found is not None:
                return found
    return None


def _in_notes(page: bytes, start: int, size: int, order: str) -> bytes | None:
    """parse_build_id_buf(): notes that begin in the first page."""
    at, end = start, min(start + size, PAGE_SIZE)
    while at + NHDR < end:
        name_size, desc_size, kind = struct.unpack_from(order + "III", page, at)
        name, desc = at + NHDR, at + NHDR + (name_size + 3 & ~3)
        named = name_size == 4 and page[name : name + 4] == b"GNU\0"
        if kind == NT_GNU_BUILD_ID and named and 0 < desc_size <= BUILD_ID_SIZE_MAX and desc + desc_size <= PAGE_SIZE:
            return page[desc : desc + desc_size].ljust(BUILD_ID_SIZE_MAX, b"\0")
        at = desc + (desc_size + 3 & ~3)
    return None


def locate(areas: list[Vma], ip: int, arch: Architecture) -> tuple[bytes, int] | None:
    """The build id of the file that is mapped at an address, and the offset there; None where there is none."""
    area = next((vma for vma in areas if vma.start <= ip < vma.end), None)
    if area is None or area.file is None:
        return None
    found = build_id_of(area.file.read_at(0, PAGE_SIZE), arch)
    return (found, area.pgoff * PAGE_SIZE + ip - area.start) if found is not None else None
