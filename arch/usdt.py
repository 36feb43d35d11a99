"""Where the arguments of USDT probes are, per architecture: the grammar of their descriptions, as rows.

A static probe's note describes its arguments in the assembler's words: `-4@-20(%rbp) 8@%rax 4@$5`.  An architecture's
`Usdt` has the forms that libbpf tries, in its order, and where each register is in the struct pt_regs that programs
see.  tools/lib/bpf/usdt.c; bpf/loader/usdt_args.py reads the rows.  Offsets in bytes; versions are libbpf's.
"""

from __future__ import annotations

from collections.abc import Mapping

from arch.records import dataclass, field

CONST, REG, REG_DEREF, SIB = 0, 1, 2, 3  # enum __bpf_usdt_arg_type


@dataclass(frozen=True, slots=True)
class Form:
    """One sscanf format; all of its conversions must be stored; `order` names them."""

    type: int
    format: str
    order: tuple[str, ...]
    since: tuple[int, int] = (0, 0)
    until: tuple[int, int] = (999, 0)


@dataclass(frozen=True, slots=True)
class NumberedRegisters:
    """Registers that are called by number: register n lies at first + step * n."""

    format: str  # sscanf format of a whole name, "" where forms convert the number themselves
    count: int
    first: int
    step: int


@dataclass(frozen=True, slots=True)
class Usdt:
    """One architecture's argument grammar."""

    forms: tuple[Form, ...]
    registers: Mapping[str, int] = field(default_factory=dict)  # name -> offset
    numbered: NumberedRegisters | None = None
