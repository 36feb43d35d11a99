"""Kernel symbols: names, addresses and sizes.  kernel/kallsyms.c, as far as lookups go."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator

from arch.records import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    """One row of /proc/kallsyms.  `kind` is the nm letter: T/t text, D/d data, B/b bss, R/r read-only data.

    A is an offset into per-CPU data: no address that is looked up.
    """

    name: str
    address: int
    size: int  # bytes
    kind: str = "T"

    @property
    def end(self) -> int:
        return self.address + self.size


class Symbols:
    """All symbols, by name and by address.

    Behind them stand those that are there to be listed and found, of what this kernel has not: keep() gives them, and
    text that is made for one of them gets its place.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, Symbol] = {}
        self._addresses: list[int] = []  # sorted
        self._at: dict[int, Symbol] = {}
        # Asked for a name that is not there: may add it.  For what gets its place when somebody looks for it.
        self.add_missing: Callable[[str], object] | None = None
        self._kept: dict[int, Symbol] = {}
        self._kept_addresses: list[int] = []  # sorted
        self._kept_names: dict[str, Symbol] = {}  # the first of each name
        self._offsets: list[Symbol] = []  # of those: offsets into per-CPU data

    def add(self, name: str, address: int, size: int, kind: str = "T") -> Symbol:
        """Register a symbol; a second symbol of the same name is an error of ours."""
        if name in self._by_name:
            raise ValueError(f"symbol {name} defined twice")
        symbol = Symbol(name, address, size, kind)
        self._by_name[name] = symbol
        if kind not in "Aa" and address not in self._at:
            bisect.insort(self._addresses, address)
            self._at[address] = symbol
        return symbol

    def keep(self, symbols: Iterable[Symbol]) -> None:
        """Symbols of nothing; several may have one name, each has an address of its own."""
        for symbol in symbols:
            self._kept_names.setdefault(symbol.name, symbol)
            if symbol.kind in "Aa":
                self._offsets.append(symbol)
            else:
                self._kept[symbol.address] = symbol
        self._kept_addresses = sorted(self._kept)

    def kept(self) -> Iterator[Symbol]:
        """Those of keep() that nothing has been made for since."""
        yield from self._offsets
        yield from (symbol for address, symbol in self._kept.items() if address not in self._at)

    def place(self, name: str) -> Symbol | None:
        """Where text of that name has to be, if it is told."""
        return self._kept_names.get(name)

    def remove(self, name: str) -> None:
        """Forget a symbol (module text, BPF programs)."""
        symbol = self._by_name.pop(name)
        if self._at.get(symbol.address) is symbol:
            del self._at[symbol.address]
            self._addresses.remove(symbol.address)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Symbol:
        return self._by_name[name]

    def __iter__(self) -> Iterator[Symbol]:
        """In order of address."""
        return iter(sorted(self._by_name.values(), key=lambda s: (s.address, s.name)))

    def __len__(self) -> int:
        return len(self._by_name)

    def address(self, name: str) -> int | None:
        """kallsyms_lookup_name(): the address, or None."""
        symbol = self._by_name.get(name)
        if symbol is None and self.add_missing is not None:
            self.add_missing(name)
            symbol = self._by_name.get(name)
        symbol = symbol or self._kept_names.get(name)
        return None if symbol is None else symbol.address

    def find(self, addr: int) -> Symbol | None:
        """The symbol whose bytes contain `addr`."""
        return _covering(addr, self._addresses, self._at) or _covering(addr, self._kept_addresses, self._kept)

    def lookup(self, addr: int) -> tuple[str, int, int] | None:
        """kallsyms_lookup(): (name, offset, size) or None."""
        symbol = self.find(addr)
        return None if symbol is None else (symbol.name, addr - symbol.address, symbol.size)

    def format(self, addr: int) -> str:
        """As %pS prints: `vfs_read+0x12/0x40`, or the bare address."""
        hit = self.lookup(addr)
        return f"0x{addr:x}" if hit is None else f"{hit[0]}+0x{hit[1]:x}/0x{hit[2]:x}"


def _covering(addr: int, starts: list[int], symbols: dict[int, Symbol]) -> Symbol | None:
    """The one whose bytes contain an address."""
    i = bisect.bisect_right(starts, addr) - 1
    if i < 0:
        return None
    symbol = symbols[starts[i]]
    return symbol if addr < symbol.end or addr == symbol.address else None
