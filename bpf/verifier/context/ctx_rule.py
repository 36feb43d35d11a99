"""What access to a context is: its rules by field, and the table that holds them by byte offset.

struct bpf_insn_access_aux and the helpers of is_valid_access() in include/linux/filter.h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Protocol

from arch.abi.version import KernelVersion
from arch.records import dataclass
from bpf.btf import Btf
from bpf.verifier.context.ctx_layout import CtxLayout
from bpf.verifier.domain import types as t
from bpf.versions.verifier_rules import Rules


@dataclass(slots=True)
class AccessInfo:
    """What a valid access gives: struct bpf_insn_access_aux."""

    reg_type: int = t.SCALAR_VALUE
    ctx_field_size: int = 0  # a narrower load becomes a load of so many bytes, shifted and masked
    btf: Btf | None = None
    btf_id: int = 0
    log: Callable[[str], None] | None = None
    is_retval: bool = False
    writes_registers: bool = False  # of a probe


class CtxArg(NamedTuple):
    """An argument of an iterator whose type its target declares: bpf_ctx_arg_aux."""

    offset: int
    reg_type: int
    btf_id: int = 0


class Target(Protocol):
    """A program whose function another replaces."""

    @property
    def prog_type(self) -> int: ...


class CtxUser(Protocol):
    """What these rules ask of the program being verified: a part of Env."""

    prog_type: int
    expected_attach_type: int
    caps: set[str]
    version: KernelVersion
    rules: Rules
    vmlinux: Btf | None  # the kernel's types
    word_size: int  # of a kernel pointer, in bytes
    pt_regs_size: int  # of struct pt_regs, in bytes
    user_regs_size: int  # of bpf_user_pt_regs_t, the registers at the start of struct bpf_perf_event_data

    @property
    def attach_prog(self) -> Target | None:
        """The program to be replaced."""

    def btf_ctx_access(self, off: int, size: int, access: int, info: AccessInfo) -> bool:
        """An argument of the function attached to, by its BTF."""


@dataclass(frozen=True, slots=True)
class Access:
    """What one kind of access to a field needs and gives."""

    sizes: frozenset[int]
    field_size: int = 0
    reg_type: int = 0
    attach: frozenset[int] | None = None  # attach types that may; None: all
    needs_bpf: bool = False  # CAP_BPF
    at_start: bool = False  # only at the field's first byte
    within: bool = False  # no byte after the field's end
    since: str | None = None


def exact(size: int, reg_type: int = 0) -> Access:
    """The whole field or nothing."""
    return Access(frozenset({size}), reg_type=reg_type)


def narrow(size: int) -> Access:
    """The field, or a power of two of its bytes."""
    return Access(frozenset(n for n in (1, 2, 4, 8) if n <= size), field_size=size)


ANY_WITHIN = Access(frozenset({1, 2, 4, 8}), within=True)
WIDE_READ = Access(frozenset({1, 2, 4, 8}), field_size=4, within=True)  # bpf_ctx_wide_access_ok()
WIDE_WRITE = Access(frozenset({4, 8}), within=True)

Rights = dict[str, Access]


@dataclass(frozen=True, slots=True)
class Padding:
    """Bytes behind the last field that may be read as a field, until the access is to be converted."""

    offsets: range
    since: str
    until: str


class CtxTable:
    """A program type's context, one entry per byte offset."""

    def __init__(self, layout: CtxLayout, read: Rights, write: Rights | None = None) -> None:
        self.layout = layout
        self.read = self._by_offset(read)
        self.write = self._by_offset(write or {})
        self.padding: Padding | None = None

    def _by_offset(self, rights: Rights) -> dict[int, tuple[int, int, Access]]:
        table = {}
        for name, access in rights.items():
            field = self.layout[name]
            access = replace(access, since=field.since)
            for offset in range(field.offset, field.end):
                table[offset] = (field.offset, field.end, access)
        return table

    def check(self, prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
        """Whether the access is valid; what it gives goes to `info`."""
        row = (self.write if access else self.read).get(off)
        if self.padding and off in self.padding.offsets and prog.version.within(self.padding.since, self.padding.until):
            row = None if access else (self.padding.offsets.start, self.padding.offsets.stop, narrow(4))
        if row is None or off % size:
            return False
        start, end, rule = row
        if size not in rule.sizes or (rule.at_start and off != start) or (rule.within and off + size > end):
            return False
        if rule.attach is not None and prog.expected_attach_type not in rule.attach:
            return False
        if rule.needs_bpf and not ({"bpf", "sys_admin"} & set(prog.caps)):
            return False
        if rule.since is not None and prog.version.before(rule.since):
            return False
        if rule.reg_type:
            info.reg_type = rule.reg_type
        info.ctx_field_size = rule.field_size
        return True
