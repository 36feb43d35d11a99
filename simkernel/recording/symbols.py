"""Names for addresses: of the kernel by its symbols, of user code by the symbol tables of the mapped files."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from io import BytesIO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from arch.symbols import Symbols
from simkernel.recording.rows import Frame, MappedFile

FUNCTION_TYPES = ("STT_FUNC", "STT_GNU_IFUNC")


def kernel_frames(symbols: Symbols) -> Callable[[int], Frame]:
    """A function from a kernel address to its frame."""

    def frame(ip: int) -> Frame:
        found = symbols.lookup(ip)
        return Frame(ip) if found is None else Frame(ip, found[0], found[1])

    return frame


class FileSymbols:
    """The functions of one ELF file, by offset in the file."""

    def __init__(self, data: bytes) -> None:
        self.starts: list[int] = []
        self.functions: list[tuple[int, str]] = []  # (size, name)
        try:
            self._read(ELFFile(BytesIO(data)))
        except (ELFError, ValueError, KeyError, AttributeError, TypeError):
            return  # no ELF file, or a broken one: it has no names to give

    def _read(self, elf: ELFFile) -> None:
        loads = [
            (part["p_vaddr"], part["p_memsz"], part["p_offset"])
            for part in elf.iter_segments()
            if part["p_type"] == "PT_LOAD"
        ]
        found: dict[int, tuple[int, str]] = {}
        for section in elf.iter_sections():
            if not isinstance(section, SymbolTableSection):
                continue
            for symbol in section.iter_symbols():
                address = symbol["st_value"]
                if symbol["st_info"]["type"] not in FUNCTION_TYPES or not address or not symbol.name:
                    continue
                for vaddr, size, offset in loads:
                    if vaddr <= address < vaddr + size:
                        found.setdefault(address - vaddr + offset, (symbol["st_size"], symbol.name))
        for start in sorted(found):
            self.starts.append(start)
            self.functions.append(found[start])

    def at(self, offset: int) -> tuple[str, int]:
        """(function, offset into it); ("", 0) where none is known."""
        index = bisect.bisect_right(self.starts, offset) - 1
        if index < 0:
            return "", 0
        size, name = self.functions[index]
        into = offset - self.starts[index]
        return (name, into) if not size or into < size else ("", 0)


class UserSymbols:
    """Of every process, by what it had mapped at a time; `read` gives the bytes of a file, b"" where there is none.

    `parents` says whose mappings a process began with, and when.
    """

    def __init__(
        self, files: list[MappedFile], parents: dict[int, tuple[int, int]], read: Callable[[str], bytes]
    ) -> None:
        self.files, self.parents = files, parents
        self.read = read
        self._symbols: dict[str, FileSymbols] = {}

    def frame(self, tgid: int, ts: int, ip: int) -> Frame:
        """A place in a process at a time."""
        seen: set[int] = set()
        while tgid not in seen:
            seen.add(tgid)
            for mapped in reversed(self.files):
                if mapped.pid == tgid and mapped.ts <= ts and mapped.start <= ip < mapped.start + mapped.length:
                    name, into = self._of(mapped.path).at(ip - mapped.start + mapped.offset)
                    return Frame(ip, name, into, mapped.path)
            tgid, ts = self.parents.get(tgid, (tgid, ts))
        return Frame(ip)

    def _of(self, path: str) -> FileSymbols:
        found = self._symbols.get(path)
        if found is None:
            found = self._symbols[path] = FileSymbols(self.read(path) if path.startswith("/") else b"")
        return found
