"""An argument of a probe event: its type, and the fetch instructions it was parsed to.  kernel/trace/trace_probe.h."""

from __future__ import annotations

from arch.records import dataclass, field

MAX_TRACE_ARGS = 128


@dataclass(frozen=True, slots=True)
class FetchType:
    """struct fetch_type: how a value is stored, printed and described."""

    name: str
    size: int
    signed: bool
    fmt: str  # in the print fmt
    fmttype: str  # the C type in the format file
    is_string: bool = False
    print: str = ""  # python format of one value, or "symbol"/"string"


def _integer(name: str, bits: int, kind: str) -> FetchType:
    long_ = bits == 64
    fmt = {"u": "%Lu" if long_ else "%u", "s": "%Ld" if long_ else "%d", "x": "0x%Lx" if long_ else "0x%x"}[kind]
    return FetchType(
        name, bits // 8, kind == "s", fmt, f"{'s' if kind == 's' else 'u'}{bits}",
        print="0x%x" if kind == "x" else "%d",
    )  # fmt: skip


def fetch_types(word: int, symstr: bool, char: bool) -> dict[str, FetchType]:
    """probe_fetch_types[] since 5.1, with what came later if it is there."""
    string = FetchType("string", 4, True, '\\"%s\\"', "__data_loc char[]", True, "string")
    types = {name: FetchType(name, 4, True, string.fmt, string.fmttype, True, "string")
             for name in ("string", "ustring", *(("symstr",) if symstr else ()))}  # fmt: skip
    for kind in "usx":
        for bits in (8, 16, 32, 64):
            types[f"{kind}{bits}"] = _integer(f"{kind}{bits}", bits, kind)
    types["symbol"] = FetchType("symbol", word, False, "%pS", f"u{8 * word}", print="symbol")
    if char:
        types["char"] = FetchType("char", 1, False, "'%c'", "u8", print="'%c'")
    return types


def fetch_types_4_1(word: int, hexadecimal: bool) -> dict[str, FetchType]:
    """The table before 5.1: no ustring, no symbol.  Before x8 ... x64 came (4.8), u8 ... u64 printed as they do."""
    types = {"string": FetchType("string", 4, True, '\\"%s\\"', "__data_loc char[]", True, "string")}
    types["string_size"] = FetchType("string_size", 4, False, '\\"%s\\"', "u32", print="0x%x")
    for bits in (8, 16, 32, 64):
        types[f"u{bits}"] = _integer(f"u{bits}", bits, "u" if hexadecimal else "x")
        types[f"s{bits}"] = _integer(f"s{bits}", bits, "s")
        if hexadecimal:
            types[f"x{bits}"] = _integer(f"x{bits}", bits, "x")
    return types


@dataclass(slots=True)
class Op:
    """One fetch instruction.  `offset` is used by deref and store; `user` reads user memory."""

    op: str  # reg stack stackp retval comm arg edata imm foffs data sym deref / store kinds
    param: int = 0
    offset: int = 0
    user: bool = False
    name: str = ""  # of a pt_regs field or a symbol
    data: bytes = b""  # an immediate string


@dataclass(slots=True)
class ProbeArg:
    """struct probe_arg."""

    name: str
    text: str  # the expression as written, `comm` in the kernel
    type: FetchType
    count: int = 0  # of an array, 0 for a scalar
    offset: int = 0  # into the record after the fixed head
    ops: list[Op] = field(default_factory=list)
    store: str = "raw"  # raw mem string symstr
    store_offset: int = 0
    store_user: bool = False
    bits: tuple[int, int] | None = None  # (shift left, shift right) of a bit-field

    @property
    def dynamic(self) -> bool:
        """Its value is in the record's tail, a __data_loc in its place."""
        return self.type.is_string

    @property
    def size(self) -> int:
        """Bytes in the fixed part of the record."""
        return self.type.size * (self.count or 1)

    @property
    def ctype(self) -> str:
        """The C type in the format file."""
        return f"{self.type.fmttype}[{self.count}]" if self.count else self.type.fmttype
