"""Addresses as text: symbols, offsets, and what %p prints.  lib/vsprintf.c, kernel/kallsyms.c."""

from __future__ import annotations

from collections.abc import Mapping

from arch.abi.errno import MAX_ERRNO
from tracing.face import SymbolTable


class Addresses:
    """How one machine's addresses print.

    `options` are the trace options by which things print now; `hashed` says that %p hashes at all (4.15 and later).
    """

    def __init__(self, symbols: SymbolTable, word: int, hashed: bool, options: Mapping[str, bool]) -> None:
        self.symbols = symbols
        self.word = word
        self.hashed = hashed
        self.options = options
        self.mask = (1 << 8 * word) - 1
        self.strings: Mapping[int, str] = {}  # that events point to
        self.loses_string = False  # trace_check_vprintf() does that
        self.trampoline = 0  # of return probes: what a frame shows whose return address they hold

    def first_string(self, text: str) -> str:
        """Without hash-ptr a format is copied into the buffer that its strings are printed through: the first is overwritten."""
        return "" if self.loses_string and not self.options.get("hash-ptr", True) else text

    def symbol_name(self, addr: int) -> str:
        """%ps: the name alone, or the number of an address without a symbol."""
        found = self.symbols.lookup(addr & self.mask)
        return found[0] if found else f"0x{addr & self.mask:x}"

    def symbol_offset(self, addr: int) -> str:
        """%pS: name+offset/size."""
        found = self.symbols.lookup(addr & self.mask)
        return f"{found[0]}+0x{found[1]:x}/0x{found[2]:x}" if found else f"0x{addr & self.mask:x}"

    def traced(self, addr: int, offset: bool) -> str:
        """trace_seq_print_sym(): the name, but for a return probe's trampoline."""
        if addr and addr == self.trampoline:
            return "[unknown/kretprobe'd]"
        return self.symbol_offset(addr) if offset else self.symbol_name(addr)

    def ip(self, addr: int) -> str:
        """seq_print_ip_sym(): the name as the options sym-offset and sym-addr want it."""
        text = self.traced(addr, self.options.get("sym-offset", False))
        return f"{text} <{addr & self.mask:0{2 * self.word}x}>" if self.options.get("sym-addr") else text

    def pointer(self, addr: int) -> str:
        """%p: since 4.15 a hash, before the address itself."""
        addr &= self.mask
        digits = self.word * 2
        if not self.hashed:
            return f"{addr:0{digits}x}" if addr else "(null)".rjust(digits)
        if not self.options.get("hash-ptr", True) or not addr:
            return f"{addr:0{digits}x}"
        return f"{hash_pointer(addr):0{digits}x}"


def hash_pointer(addr: int) -> int:
    """A 32-bit hash that does not depend on the run (the real one is keyed by a boot-time secret)."""
    value = (addr ^ 0x6C078965DEADBEEF) & 0xFFFFFFFFFFFFFFFF
    for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value ^= value >> 33
        value = value * multiplier & 0xFFFFFFFFFFFFFFFF
    return (value ^ value >> 33) & 0xFFFFFFFF


def shown_pointer(value: int) -> int:
    """What %p shows of 64 bits: the hash, but for null and what is no address but an error."""
    return value if not value or value > (1 << 64) - 1 - MAX_ERRNO else hash_pointer(value)
