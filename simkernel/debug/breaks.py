"""Breakpoints: what they wait for, and how a person writes them.

vfs_read                    a kernel function           vfs_read+8   an instruction of it
*0xffffffff81000010         an address of kernel text   user *0x401000   one of programs
bpf NAME                    a BPF program begins        bpf NAME:12  one of its instructions
line FILE:LINE              a line of a BPF program's source
map NAME                    a map changes               map NAME 01000000   the value of one key, its bytes in hex
event sched:sched_switch    a trace event fires
syscall openat              a system call begins        sysret openat   it returns
time 1500000                virtual time, in ns since boot; also with us, ms or s
"""

from __future__ import annotations

import re
from collections.abc import Callable

from arch.abi.time import NSEC_PER_MSEC, NSEC_PER_SEC, NSEC_PER_USEC
from arch.records import dataclass

_UNITS = {"": 1, "ns": 1, "us": NSEC_PER_USEC, "ms": NSEC_PER_MSEC, "s": NSEC_PER_SEC}
MAX_TIME = 1e15  # of any unit: more is no time of a run
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s)?")


class BreakError(ValueError):
    """What was written is no breakpoint."""


@dataclass(frozen=True)
class Break:
    """One of the classes below.  `number` is what the debugger calls it by."""

    number: int


@dataclass(frozen=True)
class AtAddress(Break):
    """An instruction of the CPU.  `function` where it is the first one of a kernel function, which may be inlined."""

    address: int
    user: bool = False
    function: str = ""
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"{'user ' if self.user else ''}*{self.address:#x}"


@dataclass(frozen=True)
class AtBpf(Break):
    """An instruction of a BPF program, as it runs (after the verifier has rewritten it)."""

    program: str
    insn: int = 0

    def __str__(self) -> str:
        return f"bpf {self.program}:{self.insn}"


@dataclass(frozen=True)
class AtLine(Break):
    """The first instruction of a line of a BPF program's source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"line {self.file}:{self.line}"


@dataclass(frozen=True)
class MapChange(Break):
    """The value behind a key is another; any key without one."""

    map: str
    key: bytes | None = None

    def __str__(self) -> str:
        return f"map {self.map}" + (f" {self.key.hex()}" if self.key is not None else "")


@dataclass(frozen=True)
class OnEvent(Break):
    """A trace event fires."""

    system: str
    name: str

    def __str__(self) -> str:
        return f"event {self.system}:{self.name}"


@dataclass(frozen=True)
class OnSyscall(Break):
    """A system call begins, or returns.  Any one for the name `*`."""

    name: str
    leaving: bool = False

    def __str__(self) -> str:
        return f"{'sysret' if self.leaving else 'syscall'} {self.name}"


@dataclass(frozen=True)
class AtTime(Break):
    """The clock reaches a time, in ns since boot."""

    time_ns: int

    def __str__(self) -> str:
        return f"time {self.time_ns}"


def parse_time(text: str) -> int:
    """`1500000`, `1.5ms`: ns.  BreakError."""
    match = _TIME.fullmatch(text.strip())
    if not match or float(match[1]) > MAX_TIME:
        raise BreakError(f"time {text}: write it as 1500000 (ns), 1500us, 1.5ms or 0.0015s")
    return round(float(match[1]) * _UNITS[match[2] or ""])


def parse_number(text: str) -> int:
    """A decimal or hexadecimal number.  BreakError."""
    try:
        return int(text, 0)
    except ValueError:
        raise BreakError(f"{text}: not a number") from None


def parse(text: str, number: int, address_of: Callable[[str], int | None]) -> Break:
    """A breakpoint as a person writes it.  `address_of` knows the kernel's symbols.  BreakError."""
    words = text.split()
    if not words:
        raise BreakError(
            "break WHERE: a function, *ADDRESS, or bpf, line, map, event, syscall, sysret, time and a name"
        )
    kind, rest = words[0], words[1:]
    if kind in _KINDS and rest:
        return _KINDS[kind](rest, number)
    if kind == "user" and rest and rest[0].startswith("*"):
        return AtAddress(number, parse_number(rest[0][1:]), user=True)
    if rest:
        raise BreakError(f"{text}: {kind} is no kind of breakpoint; they are {', '.join((*_KINDS, 'user'))}")
    if kind.startswith("*"):
        return AtAddress(number, parse_number(kind[1:]))
    name, _, offset = kind.partition("+")
    address = address_of(name)
    if address is None:
        raise BreakError(f"no kernel function is named {name}")
    at = address + (parse_number(offset) if offset else 0)
    return AtAddress(number, at, function="" if at != address else name, text=kind)


def _bpf(words: list[str], number: int) -> Break:
    name, _, insn = words[0].partition(":")
    return AtBpf(number, name, parse_number(insn) if insn else 0)


def _line(words: list[str], number: int) -> Break:
    file, _, line = words[0].rpartition(":")
    if not file:
        raise BreakError(f"line {words[0]}: write it as FILE:LINE")
    return AtLine(number, file, parse_number(line))


def _map(words: list[str], number: int) -> Break:
    try:
        return MapChange(number, words[0], bytes.fromhex("".join(words[1:])) if words[1:] else None)
    except ValueError:
        raise BreakError(f"map {' '.join(words)}: write the key's bytes in hex") from None


def _event(words: list[str], number: int) -> Break:
    system, _, name = words[0].partition(":")
    if not name:
        raise BreakError(f"event {words[0]}: write it as SYSTEM:NAME")
    return OnEvent(number, system, name)


_KINDS: dict[str, Callable[[list[str], int], Break]] = {
    "bpf": _bpf,
    "line": _line,
    "map": _map,
    "event": _event,
    "syscall": lambda words, number: OnSyscall(number, words[0]),
    "sysret": lambda words, number: OnSyscall(number, words[0], leaving=True),
    "time": lambda words, number: AtTime(number, parse_time(words[0])),
}
