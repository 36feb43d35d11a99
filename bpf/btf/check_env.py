"""A BTF under check: its types as they were read, what they come to, and the log.

kernel/bpf/btf.c: struct btf_verifier_env and the resolved ids and sizes of struct btf, btf_verifier_log*().
"""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.version import KernelVersion
from arch.records import dataclass, field
from bpf.btf.codec import ByteOrder, Kind, mark

MAX_NAME_OFFSET = 0xFFFFFF
KSYM_NAME_LEN = 512

MODIFIER = frozenset({Kind.TYPEDEF, Kind.VOLATILE, Kind.CONST, Kind.RESTRICT, Kind.TYPE_TAG})
STRUCT = frozenset({Kind.STRUCT, Kind.UNION})
NEEDS_RESOLVE = MODIFIER | STRUCT | {Kind.PTR, Kind.ARRAY, Kind.VAR, Kind.FUNC, Kind.DECL_TAG, Kind.DATASEC}
HAS_SIZE = frozenset({Kind.INT, Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.DATASEC, Kind.FLOAT, Kind.ENUM64})
NO_SIZE = frozenset({Kind.VOID, Kind.FWD, Kind.FUNC, Kind.FUNC_PROTO, Kind.DECL_TAG})
SOURCE_ONLY = frozenset({Kind.VAR, Kind.DECL_TAG, Kind.DATASEC})
_NAMES = ("UNKNOWN", "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF", "VOLATILE", "CONST", "RESTRICT",
          "FUNC", "FUNC_PROTO", "VAR", "DATASEC", "FLOAT", "DECL_TAG", "TYPE_TAG", "ENUM64")  # fmt: skip
ENCODINGS = {0: "(none)", 1: "SIGNED", 2: "CHAR", 4: "BOOL"}


class Refused(Exception):
    """The check ends here with an errno."""

    def __init__(self, errno: int) -> None:
        super().__init__(errno)
        self.errno = errno


@dataclass(slots=True)
class Raw:
    """struct btf_type with what follows it, undigested.  `size` is also the type id."""

    name_off: int
    info: int
    size: int
    kind: Kind
    rows: list[tuple[int, ...]] = field(default_factory=list)
    word: int = 0  # INT data, VAR linkage, DECL_TAG component

    @property
    def vlen(self) -> int:
        return self.info & 0xFFFF

    @property
    def kflag(self) -> bool:
        return bool(self.info >> 31)

    def member_offset(self, offset: int) -> int:
        return offset & 0xFFFFFF if self.kflag else offset


VOID = Raw(0, 0, 0, Kind.VOID)


class BtfEnv:
    """One BTF being checked: struct btf_verifier_env with its struct btf."""

    def __init__(self, data: bytes, byteorder: ByteOrder, version: KernelVersion, pointer_size: int) -> None:
        self.data = data
        self.mark = mark(byteorder)
        self.version = version
        self.pointer_size = pointer_size
        self.quiet = False
        self.out: list[str] = []
        self.types: list[Raw] = [VOID]
        self.strings = b""
        self.log_id = 1
        self.checking_meta = True
        self.ids: list[int] = []  # resolved: what each reference comes to
        self.sizes: list[int] = []

    @property
    def text(self) -> str:
        return "".join(self.out)

    # Types and names

    def type_at(self, type_id: int) -> Raw | None:
        return self.types[type_id] if type_id < len(self.types) else None

    def raw_name(self, offset: int) -> bytes | None:
        if offset >= len(self.strings):
            return None
        return self.strings[offset : self.strings.index(b"\0", offset)]

    def name(self, offset: int) -> str:
        """__btf_name_by_offset()."""
        if not offset:
            return "(anon)"
        found = self.raw_name(offset)
        return "(invalid-name-offset)" if found is None else found.decode("latin-1")

    def valid_name(self, offset: int) -> bool:
        """__btf_name_valid(): an identifier, with dots; the kernel counts Latin-1 letters as letters."""
        name = self.raw_name(offset)
        if not name or len(name) > KSYM_NAME_LEN:
            return False
        return is_word(name[0], True) and all(is_word(c, False) for c in name[1:])

    def id_size(self, type_id: int) -> tuple[int, Raw, int] | None:
        """btf_type_id_size(): (id, type, size) of what a reference comes to, or None where that has no size."""
        t = self.type_at(type_id)
        if t is None or t.kind in NO_SIZE:
            return None
        size = self.plain_size(t, type_id)
        if size is None:
            if t.kind not in MODIFIER and t.kind is not Kind.VAR:
                return None
            type_id = self.ids[type_id]
            t = self.type_at(type_id)
            if t is None or t.kind in NO_SIZE:
                return None
            size = self.plain_size(t, type_id)
            if size is None:
                return None
        return type_id, t, size

    def plain_size(self, t: Raw, type_id: int) -> int | None:
        if t.kind in HAS_SIZE:
            return t.size
        if t.kind is Kind.ARRAY:
            return self.sizes[type_id]
        return self.pointer_size if t.kind is Kind.PTR else None

    # Log

    def log(self, text: str) -> None:
        self.out.append(text)

    def fail(self, message: str, errno: int = EINVAL) -> Refused:
        self.log(message)
        return Refused(errno)

    def log_type(self, t: Raw, message: str | None = None, details: bool = True) -> None:
        if self.quiet:
            return
        text = f"[{self.log_id}] {_NAMES[t.kind]} {self.name(t.name_off)}"
        if details:
            text += " " + self.details(t)
        self.log(text + (f" {message}" if message else "") + "\n")

    def refuse(self, t: Raw, message: str, errno: int = EINVAL, details: bool = True) -> Refused:
        self.log_type(t, message, details)
        return Refused(errno)

    def log_member(self, t: Raw, m: tuple[int, ...], message: str | None = None) -> None:
        if self.quiet:
            return
        if not self.checking_meta:
            self.log_type(t)
        name, type_id, offset = m
        if t.kflag:
            where = f"bitfield_size={offset >> 24} bits_offset={offset & 0xFFFFFF}"
        else:
            where = f"bits_offset={offset}"
        self.log(f"\t{self.name(name)} type_id={type_id} {where}" + (f" {message}" if message else "") + "\n")

    def refuse_member(self, t: Raw, m: tuple[int, ...], message: str) -> Refused:
        self.log_member(t, m, message)
        return Refused(EINVAL)

    def log_vsi(self, t: Raw, v: tuple[int, ...], message: str | None = None) -> None:
        if self.quiet:
            return
        if not self.checking_meta:
            self.log_type(t)
        text = f"\t type_id={v[0]} offset={v[1]} size={v[2]}"
        self.log(text + (f" {message}" if message else "") + "\n")

    def refuse_vsi(self, t: Raw, v: tuple[int, ...], message: str) -> Refused:
        self.log_vsi(t, v, message)
        return Refused(EINVAL)

    def details(self, t: Raw) -> str:
        match t.kind:
            case Kind.INT:
                encoding = ENCODINGS.get(t.word >> 24 & 0xF, "UNKN")
                return f"size={t.size} bits_offset={t.word >> 16 & 0xFF} nr_bits={t.word & 0xFF} encoding={encoding}"
            case Kind.ARRAY:
                elem, index, count = t.rows[0]
                return f"type_id={elem} index_type_id={index} nr_elems={count}"
            case Kind.STRUCT | Kind.UNION | Kind.ENUM | Kind.ENUM64 | Kind.DATASEC:
                return f"size={t.size} vlen={t.vlen}"
            case Kind.FWD:
                return "union" if t.kflag else "struct"
            case Kind.FUNC_PROTO:
                return f"return={t.size} args=({self.arguments(t)})"
            case Kind.VAR:
                return f"type_id={t.size} linkage={t.word}"
            case Kind.FLOAT:
                return f"size={t.size}"
            case Kind.DECL_TAG:
                return f"type={t.size} component_idx={signed(t.word)}"
            case _:
                return f"type_id={t.size}"

    def arguments(self, t: Raw) -> str:
        if not t.rows:
            return "void"
        if len(t.rows) == 1 and not t.rows[0][1]:
            return "vararg"
        parts = [f"{type_id} {self.name(name)}" for name, type_id in t.rows]
        if len(t.rows) > 1 and not t.rows[-1][1]:
            parts[-1] = "vararg"
        return ", ".join(parts)


def signed(word: int) -> int:
    return (word ^ 0x80000000) - 0x80000000


def is_word(c: int, first: bool) -> bool:
    """isalpha()/isalnum() of lib/ctype.c, and _ and ."""
    letter = 65 <= c <= 90 or 97 <= c <= 122 or (192 <= c <= 255 and c not in (215, 247))
    return letter or c in (46, 95) or (not first and 48 <= c <= 57)


def is_regular(t: Raw) -> bool:
    """A whole number of bytes that a register or two hold: btf_type_int_is_regular()."""
    return t.word & 0xFF in (8, 16, 32, 64, 128) and not t.word >> 16 & 0xFF
