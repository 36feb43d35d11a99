"""What BPF_BTF_LOAD accepts, and what it says about the rest.  kernel/bpf/btf.c: btf_parse().

Three passes, as in the kernel: header and sections; each type on its own (check_meta, which also prints it); then the
graph (resolve): every reference leads to a type of the right sort, nothing contains itself, members fit.  The log is
byte for byte what Linux 6.1 writes; older kernels know fewer kinds.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from arch.abi.errno import E2BIG, EEXIST, EINVAL, ELOOP, ENOTSUPP
from arch.abi.limits import U32_MAX
from arch.abi.version import NEWEST, KernelVersion
from bpf.btf.codec import BTF_HEADER_SIZE, HEADER, MAGIC, MAX_RESOLVE_DEPTH, ByteOrder, Kind, mark

MAX_SIZE = 16 << 20
MAX_TYPE = 0xFFFFF
MAX_NAME_OFFSET = 0xFFFFFF
KSYM_NAME_LEN = 512
INFO_MASK = 0x9F00FFFF
OLD_INFO_MASK = 0x8F00FFFF  # before 5.13 the kind had four bits
INT_MASK = 0x0FFFFFFF

# The newest kind each kernel knows.
KINDS_SINCE = (("6.0", Kind.ENUM64), ("5.17", Kind.TYPE_TAG), ("5.16", Kind.DECL_TAG), ("5.13", Kind.FLOAT),
               ("5.2", Kind.DATASEC), ("5.0", Kind.FUNC_PROTO), ("4.18", Kind.RESTRICT))  # fmt: skip
_MODIFIER = frozenset({Kind.TYPEDEF, Kind.VOLATILE, Kind.CONST, Kind.RESTRICT, Kind.TYPE_TAG})
_STRUCT = frozenset({Kind.STRUCT, Kind.UNION})
_NEEDS_RESOLVE = _MODIFIER | _STRUCT | {Kind.PTR, Kind.ARRAY, Kind.VAR, Kind.FUNC, Kind.DECL_TAG, Kind.DATASEC}
_HAS_SIZE = frozenset({Kind.INT, Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.DATASEC, Kind.FLOAT, Kind.ENUM64})
_NO_SIZE = frozenset({Kind.VOID, Kind.FWD, Kind.FUNC, Kind.FUNC_PROTO, Kind.DECL_TAG})
_SOURCE_ONLY = frozenset({Kind.VAR, Kind.DECL_TAG, Kind.DATASEC})
_DECL_TAG_TARGET = frozenset({Kind.FUNC, Kind.STRUCT, Kind.UNION, Kind.VAR, Kind.TYPEDEF})
_NAMES = ("UNKNOWN", "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF", "VOLATILE", "CONST", "RESTRICT",
          "FUNC", "FUNC_PROTO", "VAR", "DATASEC", "FLOAT", "DECL_TAG", "TYPE_TAG", "ENUM64")  # fmt: skip
_ENCODINGS = {0: "(none)", 1: "SIGNED", 2: "CHAR", 4: "BOOL"}
_TBD, _PTR, _STRUCT_OR_ARRAY = range(3)
_NOT_VISITED, _VISITED, _RESOLVED = range(3)


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


_VOID = Raw(0, 0, 0, Kind.VOID)


def btf_parse(
    data: bytes,
    byteorder: ByteOrder = "little",
    version: KernelVersion = NEWEST,
    pointer_size: int = 8,
    want_log: bool = True,
) -> tuple[int, str]:
    """(0 or minus errno, log) of loading these bytes."""
    if len(data) > MAX_SIZE:
        return -E2BIG, ""
    check = Check(data, byteorder, version, pointer_size)
    check.quiet = not want_log
    try:
        check.run()
    except Refused as refusal:
        return -refusal.errno, check.text
    return 0, check.text


class Check:
    def __init__(self, data: bytes, byteorder: ByteOrder, version: KernelVersion, pointer_size: int) -> None:
        self.data = data
        self.mark = mark(byteorder)
        self.version = version
        self.pointer_size = pointer_size
        self.quiet = False
        self.max_kind = next((kind for since, kind in KINDS_SINCE if version.at_least(since)), Kind.VOID)
        self.out: list[str] = []
        self.types: list[Raw] = [_VOID]
        self.strings = b""
        self.log_id = 1
        self.checking_meta = True
        self.ids: list[int] = []
        self.sizes: list[int] = []
        self.state: list[int] = []
        self.stack: list[list[int]] = []  # [type id, next member]
        self.mode = _TBD

    @property
    def text(self) -> str:
        return "".join(self.out)

    def run(self) -> None:
        self.header()
        self.string_section()
        self.type_section()
        self.type_tags()

    # Log

    def log(self, text: str) -> None:
        self.out.append(text)

    def name(self, offset: int) -> str:
        """__btf_name_by_offset()."""
        if not offset:
            return "(anon)"
        found = self.raw_name(offset)
        return "(invalid-name-offset)" if found is None else found.decode("latin-1")

    def raw_name(self, offset: int) -> bytes | None:
        if offset >= len(self.strings):
            return None
        return self.strings[offset : self.strings.index(b"\0", offset)]

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
                encoding = _ENCODINGS.get(t.word >> 24 & 0xF, "UNKN")
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
                return f"type={t.size} component_idx={_signed(t.word)}"
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

    # Header and sections

    def header(self) -> None:
        data, size = self.data, len(self.data)
        if size < 8:
            raise self.fail("hdr_len not found")
        hdr_len = struct.unpack_from(self.mark + "I", data, 4)[0]
        if size < hdr_len:
            raise self.fail("btf_header not found")
        if hdr_len > BTF_HEADER_SIZE and any(data[BTF_HEADER_SIZE:hdr_len]):
            raise self.fail("Unsupported btf_header", E2BIG)
        raw = data[: min(hdr_len, BTF_HEADER_SIZE)].ljust(BTF_HEADER_SIZE, b"\0")
        magic, version, flags, self.hdr_len, *places = struct.unpack(self.mark + HEADER, raw)
        self.type_off, self.type_len, self.str_off, self.str_len = places
        self.log(f"magic: {magic:#x}\nversion: {version}\nflags: {flags:#x}\nhdr_len: {self.hdr_len}\n")
        self.log(f"type_off: {self.type_off}\ntype_len: {self.type_len}\n")
        self.log(f"str_off: {self.str_off}\nstr_len: {self.str_len}\nbtf_total_size: {size}\n")
        if magic != MAGIC:
            raise self.fail("Invalid magic")
        if version != 1:
            raise self.fail("Unsupported version", ENOTSUPP)
        if flags:
            raise self.fail("Unsupported flags", ENOTSUPP)
        if size == self.hdr_len:
            raise self.fail("No data")
        self.sections(size)

    def fail(self, message: str, errno: int = EINVAL) -> Refused:
        self.log(message)
        return Refused(errno)

    def sections(self, size: int) -> None:
        """btf_check_sec_info(): the two sections fill the rest exactly."""
        rows = [(self.type_off, self.type_len), (self.str_off, self.str_len)]
        if _compare(rows[0], rows[1]) > 0:
            rows.reverse()
        total, expected = 0, (size - self.hdr_len) & U32_MAX
        for offset, length in rows:
            if expected < offset:
                raise self.fail("Invalid section offset")
            if total < offset:
                raise self.fail("Unsupported section found")
            if total > offset:
                raise self.fail("Section overlap found")
            if expected - total < length:
                raise self.fail("Total section length too long")
            total += length
        if expected != total:
            raise self.fail("Unsupported section found")

    def string_section(self) -> None:
        start = self.hdr_len + self.str_off
        if start + self.str_len != len(self.data):
            raise self.fail("String section is not at the end")
        self.strings = self.data[start : start + self.str_len]
        if not self.str_len or self.str_len - 1 > MAX_NAME_OFFSET or self.strings[-1] or self.strings[0]:
            raise self.fail("Invalid string section")

    def type_section(self) -> None:
        if self.type_off & 3:
            raise self.fail("Unaligned type_off")
        if not self.type_len:
            raise self.fail("No type found")
        start = self.hdr_len + self.type_off
        section = memoryview(self.data)[start : start + self.type_len]
        position = 0
        while position < len(section):
            position += self.meta(section, position)
            self.log_id += 1
        self.all_types()

    # Each type on its own

    def meta(self, section: memoryview, position: int) -> int:
        """btf_check_meta(); the type's length."""
        left = len(section) - position
        if left < 12:
            raise self.fail(f"[{self.log_id}] meta_left:{left} meta_needed:12")
        name_off, info, size = struct.unpack_from(self.mark + "III", section, position)
        if info & ~(INFO_MASK if self.version.at_least("5.13") else OLD_INFO_MASK) & U32_MAX:
            raise self.fail(f"[{self.log_id}] Invalid btf_info:{info:x}")
        number = info >> 24 & 0x1F
        if number > self.max_kind or not number:
            raise self.fail(f"[{self.log_id}] Invalid kind:{number}")
        if name_off > MAX_NAME_OFFSET or name_off >= self.str_len:
            raise self.fail(f"[{self.log_id}] Invalid name_offset:{name_off}")
        t = Raw(name_off, info, size, Kind(number))
        needed = self.trailer(t)
        if left - 12 < needed:
            message = f"meta_left:{left - 12} meta_needed:{needed}"
            raise self.refuse(t, message, details=False)
        self.read_trailer(t, section[position + 12 : position + 12 + needed])
        getattr(self, _META[t.kind])(t)
        self.types.append(t)
        return 12 + needed

    def trailer(self, t: Raw) -> int:
        match t.kind:
            case Kind.INT | Kind.VAR | Kind.DECL_TAG:
                return 4
            case Kind.ARRAY:
                return 12
            case Kind.STRUCT | Kind.UNION | Kind.DATASEC | Kind.ENUM64:
                return 12 * t.vlen
            case Kind.ENUM | Kind.FUNC_PROTO:
                return 8 * t.vlen
            case _:
                return 0

    def read_trailer(self, t: Raw, data: memoryview) -> None:
        match t.kind:
            case Kind.INT | Kind.VAR | Kind.DECL_TAG:
                t.word = struct.unpack(self.mark + "I", data)[0]
            case Kind.ENUM | Kind.FUNC_PROTO:
                t.rows = list(struct.iter_unpack(self.mark + "II", data))
            case _:
                t.rows = list(struct.iter_unpack(self.mark + "III", data)) if len(data) else []

    def no_vlen(self, t: Raw) -> None:
        if t.vlen:
            raise self.refuse(t, "vlen != 0")

    def no_kflag(self, t: Raw) -> None:
        if t.kflag:
            raise self.refuse(t, "Invalid btf_info kind_flag")

    def valid_name(self, offset: int) -> bool:
        """__btf_name_valid(): an identifier, with dots; the kernel counts Latin-1 letters as letters."""
        name = self.raw_name(offset)
        if not name or len(name) > KSYM_NAME_LEN:
            return False
        return _is_word(name[0], True) and all(_is_word(c, False) for c in name[1:])

    def no_name(self, t: Raw) -> None:
        if t.name_off:
            raise self.refuse(t, "Invalid name")

    def must_name(self, t: Raw) -> None:
        if not t.name_off or not self.valid_name(t.name_off):
            raise self.refuse(t, "Invalid name")

    def may_name(self, t: Raw) -> None:
        if t.name_off and not self.valid_name(t.name_off):
            raise self.refuse(t, "Invalid name")

    def meta_int(self, t: Raw) -> None:
        self.no_vlen(t)
        self.no_kflag(t)
        if t.word & ~INT_MASK & U32_MAX:
            raise self.refuse(t, f"Invalid int_data:{t.word:x}", details=False)
        bits = (t.word & 0xFF) + (t.word >> 16 & 0xFF)
        if bits > 128:
            raise self.refuse(t, "nr_bits exceeds 128")
        if (bits + 7) // 8 > t.size:
            raise self.refuse(t, "nr_bits exceeds type_size")
        if t.word >> 24 & 0xF not in _ENCODINGS:
            raise self.refuse(t, "Unsupported encoding", ENOTSUPP)
        self.log_type(t)

    def meta_reference(self, t: Raw) -> None:
        self.no_vlen(t)
        self.no_kflag(t)
        if t.size > MAX_TYPE:
            raise self.refuse(t, "Invalid type_id")
        if t.kind is Kind.TYPEDEF:
            self.must_name(t)
        elif t.kind is Kind.TYPE_TAG:
            if not self.raw_name(t.name_off):
                raise self.refuse(t, "Invalid name")
        else:
            self.no_name(t)
        self.log_type(t)

    def meta_forward(self, t: Raw) -> None:
        self.no_vlen(t)
        if t.size:
            raise self.refuse(t, "type != 0")
        self.must_name(t)
        self.log_type(t)

    def meta_array(self, t: Raw) -> None:
        self.no_name(t)
        self.no_vlen(t)
        self.no_kflag(t)
        if t.size:
            raise self.refuse(t, "size != 0")
        elem, index, _ = t.rows[0]
        if not 0 < elem <= MAX_TYPE:
            raise self.refuse(t, "Invalid elem")
        if not 0 < index <= MAX_TYPE:
            raise self.refuse(t, "Invalid index")
        self.log_type(t)

    def meta_struct(self, t: Raw) -> None:
        self.may_name(t)
        self.log_type(t)
        last = 0
        for m in t.rows:
            name, type_id, raw = m
            if name > MAX_NAME_OFFSET or name >= self.str_len:
                raise self.refuse_member(t, m, f"Invalid member name_offset:{name}")
            if name and not self.valid_name(name):
                raise self.refuse_member(t, m, "Invalid name")
            if not 0 < type_id <= MAX_TYPE:
                raise self.refuse_member(t, m, "Invalid type_id")
            offset = t.member_offset(raw)
            if (t.kind is Kind.UNION and offset) or last > offset:
                raise self.refuse_member(t, m, "Invalid member bits_offset")
            if (offset >> 3) + bool(offset & 7) > t.size:
                raise self.refuse_member(t, m, "Member bits_offset exceeds its struct size")
            self.log_member(t, m)
            last = offset

    def meta_enum(self, t: Raw) -> None:
        if t.kind is Kind.ENUM and t.kflag and self.version.before("6.0"):
            raise self.refuse(t, "Invalid btf_info kind_flag")
        if t.size > 8 or t.size.bit_count() != 1:
            raise self.refuse(t, "Unexpected size")
        self.may_name(t)
        self.log_type(t)
        for row in t.rows:
            name = row[0]
            if name > MAX_NAME_OFFSET or name >= self.str_len:
                raise self.fail(f"\tInvalid name_offset:{name}")
            if not name or not self.valid_name(name):
                raise self.refuse(t, "Invalid name")
            value, bits = (row[1], 32) if t.kind is Kind.ENUM else (row[2] << 32 | row[1], 64)
            if (t.kflag or self.version.before("6.0")) and value >> (bits - 1):
                value -= 1 << bits
            self.log(f"\t{self.name(name)} val={value}\n")

    def meta_func_proto(self, t: Raw) -> None:
        self.no_name(t)
        self.no_kflag(t)
        self.log_type(t)

    def meta_func(self, t: Raw) -> None:
        self.must_name(t)
        if self.version.before("5.6"):
            self.no_vlen(t)
        elif t.vlen > 1:
            raise self.refuse(t, "Invalid func linkage")
        self.no_kflag(t)
        self.log_type(t)

    def meta_var(self, t: Raw) -> None:
        self.no_vlen(t)
        self.no_kflag(t)
        self.must_name(t)
        if not 0 < t.size <= MAX_TYPE:
            raise self.refuse(t, "Invalid type_id")
        if t.word not in (0, 1):
            raise self.refuse(t, "Linkage not supported")
        self.log_type(t)

    def meta_datasec(self, t: Raw) -> None:
        if not t.size:
            raise self.refuse(t, "size == 0")
        self.no_kflag(t)
        self.must_name(t)
        self.log_type(t)
        last = total = 0
        for v in t.rows:
            type_id, offset, size = v
            if not 0 < type_id <= MAX_TYPE:
                raise self.refuse_vsi(t, v, "Invalid type_id")
            if offset < last or offset >= t.size:
                raise self.refuse_vsi(t, v, "Invalid offset")
            if not size or size > t.size:
                raise self.refuse_vsi(t, v, "Invalid size")
            last = (offset + size) & U32_MAX
            if last > t.size:
                raise self.refuse_vsi(t, v, "Invalid offset+size")
            self.log_vsi(t, v)
            total += size
        if t.size < total:
            raise self.refuse(t, "Invalid btf_info size")

    def meta_float(self, t: Raw) -> None:
        self.no_vlen(t)
        self.no_kflag(t)
        if t.size not in (2, 4, 8, 12, 16):
            raise self.refuse(t, "Invalid type_size")
        self.log_type(t)

    def meta_decl_tag(self, t: Raw) -> None:
        if not self.raw_name(t.name_off):
            raise self.refuse(t, "Invalid value")
        self.no_vlen(t)
        self.no_kflag(t)
        if _signed(t.word) < -1:
            raise self.refuse(t, "Invalid component_idx")
        self.log_type(t)

    # The graph

    def type_at(self, type_id: int) -> Raw | None:
        return self.types[type_id] if type_id < len(self.types) else None

    def all_types(self) -> None:
        """btf_check_all_types()."""
        count = len(self.types)
        self.ids, self.sizes, self.state = [0] * count, [0] * count, [_NOT_VISITED] * count
        self.checking_meta = False
        for type_id in range(1, count):
            t = self.types[type_id]
            self.log_id = type_id
            if t.kind in _NEEDS_RESOLVE and self.state[type_id] != _RESOLVED:
                self.resolve(t, type_id)
            if t.kind is Kind.FUNC_PROTO:
                self.func_proto(t)

    def resolve(self, t: Raw, type_id: int) -> None:
        """btf_resolve(): depth first, by an explicit stack that is as deep as the kernel's."""
        saved = self.log_id
        self.mode = _TBD
        errno = self.push(t, type_id)
        errno = 0  # the kernel ignores it: the first push cannot fail
        while not errno and self.stack:
            vertex = self.stack[-1]
            self.log_id = vertex[0]
            try:
                errno = getattr(self, _RESOLVE[self.types[vertex[0]].kind])(vertex)
            except Refused as refusal:
                self.log_id = type_id
                raise refusal
        self.log_id = type_id
        if errno == E2BIG:
            self.log_type(t, f"Exceeded max resolving depth:{MAX_RESOLVE_DEPTH}")
        elif errno == EEXIST:
            self.log_type(t, "Loop detected")
        if errno:
            raise Refused(errno)
        if not self.is_valid(t, type_id):
            raise self.refuse(t, "Invalid resolve state")
        self.log_id = saved

    def push(self, t: Raw, type_id: int) -> int:
        if len(self.stack) == MAX_RESOLVE_DEPTH:
            return E2BIG
        if self.state[type_id] != _NOT_VISITED:
            return EEXIST
        self.state[type_id] = _VISITED
        self.stack.append([type_id, 0])
        if self.mode == _TBD:
            if t.kind is Kind.PTR:
                self.mode = _PTR
            elif t.kind in _STRUCT or t.kind is Kind.ARRAY:
                self.mode = _STRUCT_OR_ARRAY
        return 0

    def pop(self, resolved_id: int, size: int) -> int:
        type_id = self.stack.pop()[0]
        self.ids[type_id], self.sizes[type_id] = resolved_id, size
        self.state[type_id] = _RESOLVED
        return 0

    def is_sink(self, t: Raw) -> bool:
        if self.mode == _TBD:
            return t.kind not in _NEEDS_RESOLVE
        if self.mode == _PTR:
            return t.kind not in _MODIFIER and t.kind is not Kind.PTR
        return t.kind not in _MODIFIER and t.kind is not Kind.ARRAY and t.kind not in _STRUCT

    def must_visit(self, t: Raw, type_id: int) -> bool:
        return not self.is_sink(t) and self.state[type_id] != _RESOLVED

    def id_size(self, type_id: int) -> tuple[int, Raw, int] | None:
        """btf_type_id_size(): (id, type, size) of what a reference comes to, or None where that has no size."""
        t = self.type_at(type_id)
        if t is None or t.kind in _NO_SIZE:
            return None
        size = self.plain_size(t, type_id)
        if size is None:
            if t.kind not in _MODIFIER and t.kind is not Kind.VAR:
                return None
            type_id = self.ids[type_id]
            t = self.type_at(type_id)
            if t is None or t.kind in _NO_SIZE:
                return None
            size = self.plain_size(t, type_id)
            if size is None:
                return None
        return type_id, t, size

    def plain_size(self, t: Raw, type_id: int) -> int | None:
        if t.kind in _HAS_SIZE:
            return t.size
        if t.kind is Kind.ARRAY:
            return self.sizes[type_id]
        return self.pointer_size if t.kind is Kind.PTR else None

    def resolve_df(self, vertex: list[int]) -> int:
        raise self.refuse(self.types[vertex[0]], "Unsupported resolve", details=False)

    def target(self, vertex: list[int]) -> tuple[Raw, Raw, int]:
        t = self.types[vertex[0]]
        following = self.type_at(t.size)
        if following is None or following.kind in _SOURCE_ONLY:
            raise self.refuse(t, "Invalid type_id")
        return t, following, t.size

    def may_be_sizeless(self, t: Raw, following: Raw, type_id: int) -> int:
        """`const void`, a pointer to a forward declaration ... are fine; the rest must have a size."""
        found = self.id_size(type_id)
        if found is not None:
            return found[0]
        if self.state[type_id] == _RESOLVED:
            type_id = self.ids[type_id]
            following = self.types[type_id]
        if following.kind not in (Kind.VOID, Kind.FWD, Kind.FUNC_PROTO):
            raise self.refuse(t, "Invalid type_id")
        return type_id

    def resolve_modifier(self, vertex: list[int]) -> int:
        t, following, type_id = self.target(vertex)
        if self.must_visit(following, type_id):
            return self.push(following, type_id)
        return self.pop(self.may_be_sizeless(t, following, type_id), 0)

    def last_pointer(self, following: Raw, type_id: int) -> tuple[Raw, int] | None:
        """A modifier may have stopped at a pointer that was resolved only as such; go on from there."""
        if following.kind not in _MODIFIER:
            return None
        resolved_id = self.ids[type_id]
        resolved = self.types[resolved_id]
        if resolved.kind is Kind.PTR and self.must_visit(resolved, resolved_id):
            return resolved, resolved_id
        return None

    def resolve_var(self, vertex: list[int]) -> int:
        t, following, type_id = self.target(vertex)
        if self.must_visit(following, type_id):
            return self.push(following, type_id)
        if again := self.last_pointer(following, type_id):
            return self.push(*again)
        found = self.id_size(type_id)
        if found is None:
            raise self.refuse(t, "Invalid type_id")
        return self.pop(found[0], 0)

    def resolve_ptr(self, vertex: list[int]) -> int:
        t, following, type_id = self.target(vertex)
        if self.must_visit(following, type_id):
            return self.push(following, type_id)
        if again := self.last_pointer(following, type_id):
            return self.push(*again)
        return self.pop(self.may_be_sizeless(t, following, type_id), 0)

    def resolve_array(self, vertex: list[int]) -> int:
        t = self.types[vertex[0]]
        elem_id, index_id, count = t.rows[0]
        for type_id, what in ((index_id, "Invalid index"), (elem_id, "Invalid elem")):
            inner = self.type_at(type_id)
            if inner is None or inner.kind in _NO_SIZE or inner.kind in _SOURCE_ONLY:
                raise self.refuse(t, what)
            if self.must_visit(inner, type_id):
                return self.push(inner, type_id)
            if what == "Invalid index":
                found = self.id_size(type_id)
                if found is None or found[1].kind is not Kind.INT or not _is_regular(found[1]):
                    raise self.refuse(t, what)
        element = self.id_size(elem_id)
        if element is None:
            raise self.refuse(t, "Invalid elem")
        found_id, elem, size = element
        if elem.kind is Kind.INT and not _is_regular(elem):
            raise self.refuse(t, "Invalid array of int")
        if count and size > U32_MAX // count:
            raise self.refuse(t, "Array size overflows U32_MAX")
        return self.pop(found_id, size * count)

    def resolve_struct(self, vertex: list[int]) -> int:
        t = self.types[vertex[0]]
        if vertex[1]:
            m = t.rows[vertex[1] - 1]
            self.check_member(t, m, self.types[m[1]])
        for at in range(vertex[1], len(t.rows)):
            m = t.rows[at]
            inner = self.type_at(m[1])
            if inner is None or inner.kind in _NO_SIZE or inner.kind in _SOURCE_ONLY:
                raise self.refuse_member(t, m, "Invalid member")
            if self.must_visit(inner, m[1]):
                vertex[1] = at + 1
                return self.push(inner, m[1])
            self.check_member(t, m, inner)
        return self.pop(0, 0)

    def resolve_func(self, vertex: list[int]) -> int:
        t = self.types[vertex[0]]
        proto = self.type_at(t.size)
        if proto is None or proto.kind is not Kind.FUNC_PROTO:
            raise self.refuse(t, "Invalid type_id")
        for number, (name, type_id) in enumerate(proto.rows, 1):
            if not name and type_id:
                raise self.refuse(t, f"Invalid arg#{number}")
        return self.pop(t.size, 0)

    def resolve_datasec(self, vertex: list[int]) -> int:
        t = self.types[vertex[0]]
        self.mode = _TBD
        for at in range(vertex[1], len(t.rows)):
            v = t.rows[at]
            var = self.type_at(v[0])
            if var is None or var.kind is not Kind.VAR:
                raise self.refuse_vsi(t, v, "Not a VAR kind member")
            if self.must_visit(var, v[0]):
                vertex[1] = at + 1
                return self.push(var, v[0])
            found = self.id_size(var.size)
            if found is None:
                raise self.refuse_vsi(t, v, "Invalid type")
            if v[2] < found[2]:
                raise self.refuse_vsi(t, v, "Invalid size")
        return self.pop(0, 0)

    def resolve_decl_tag(self, vertex: list[int]) -> int:
        t = self.types[vertex[0]]
        following = self.type_at(t.size)
        if following is None or following.kind not in _DECL_TAG_TARGET:
            raise self.refuse(t, "Invalid type_id")
        if self.must_visit(following, t.size):
            return self.push(following, t.size)
        component = _signed(t.word)
        if component != -1:
            if following.kind in (Kind.VAR, Kind.TYPEDEF):
                raise self.refuse(t, "Invalid component_idx")
            target = following if following.kind in _STRUCT else self.types[following.size]
            if component >= target.vlen:
                raise self.refuse(t, "Invalid component_idx")
        return self.pop(t.size, 0)

    def func_proto(self, t: Raw) -> None:
        """btf_func_proto_check()."""
        if t.size:
            self.sized(t, t.size, "Invalid return type")
        rows = t.rows
        if rows and not rows[-1][1]:
            if rows[-1][0]:
                raise self.refuse(t, f"Invalid arg#{len(rows)}")
            rows = rows[:-1]
        for number, (name, type_id) in enumerate(rows, 1):
            self.sized(t, type_id, f"Invalid arg#{number}", name)

    def sized(self, t: Raw, type_id: int, message: str, name: int = 0) -> None:
        inner = self.type_at(type_id)
        if inner is None or inner.kind in _SOURCE_ONLY:
            raise self.refuse(t, message)
        if name and (name > MAX_NAME_OFFSET or name >= self.str_len or not self.valid_name(name)):
            raise self.refuse(t, message)
        if inner.kind in _NEEDS_RESOLVE and self.state[type_id] != _RESOLVED:
            self.resolve(inner, type_id)
        if self.id_size(type_id) is None:
            raise self.refuse(t, message)

    def is_valid(self, t: Raw, type_id: int) -> bool:
        """btf_resolve_valid()."""
        if self.state[type_id] != _RESOLVED:
            return False
        if t.kind in _STRUCT or t.kind is Kind.DATASEC:
            return not self.ids[type_id] and not self.sizes[type_id]
        if t.kind in (Kind.DECL_TAG, Kind.FUNC):
            return bool(self.ids[type_id]) and not self.sizes[type_id]
        if t.kind in _MODIFIER or t.kind in (Kind.PTR, Kind.VAR):
            found = self.type_at(self.ids[type_id])
            return found is not None and found.kind not in _MODIFIER | {Kind.VAR, Kind.DATASEC}
        if t.kind is Kind.ARRAY:
            element = self.id_size(t.rows[0][0])
            if element is None or element[1].kind in _MODIFIER:
                return False
            return (t.rows[0][2] * element[2]) & U32_MAX == self.sizes[type_id]
        return False

    # Members

    def check_member(self, t: Raw, m: tuple[int, ...], inner: Raw) -> None:
        """Does a member fit, given what its type came to?"""
        if inner.kind in _MODIFIER:
            found = self.id_size(m[1])
            if found is None:
                raise self.refuse_member(t, m, "Invalid member")
            m, inner = (m[0], found[0], m[2]), found[1]
            if inner.kind in _MODIFIER:
                raise self.refuse_member(t, m, "Invalid member")
        bits = m[2] >> 24 if t.kflag else 0
        match inner.kind:
            case Kind.INT:
                (self.int_kflag_member if t.kflag else self.int_member)(t, m, inner)
            case Kind.ENUM | Kind.ENUM64 if t.kflag:
                self.enum_kflag_member(t, m)
            case Kind.FWD | Kind.FUNC | Kind.FUNC_PROTO | Kind.VAR | Kind.DATASEC | Kind.DECL_TAG:
                kind = "check_kflag_member" if t.kflag else "check_member"
                raise self.refuse(t, f"Unsupported {kind}", details=False)
            case _:
                if bits:
                    raise self.refuse_member(t, m, "Invalid member bitfield_size")
                self.plain_member(t, m, inner)

    def plain_member(self, t: Raw, m: tuple[int, ...], inner: Raw) -> None:
        offset = m[2]
        if inner.kind is Kind.FLOAT:
            if offset % (8 * min(self.pointer_size, inner.size)):
                raise self.refuse_member(t, m, "Member is not properly aligned")
            if offset // 8 + inner.size > t.size:
                raise self.refuse_member(t, m, "Member exceeds struct_size")
            return
        if offset & 7:
            raise self.refuse_member(t, m, "Member is not byte aligned")
        if inner.kind is Kind.PTR:
            size = self.pointer_size
        elif inner.kind is Kind.ARRAY:
            size = self.sizes[m[1]]
        else:
            size = inner.size
        if (t.size - (offset >> 3)) & U32_MAX < size:
            raise self.refuse_member(t, m, "Member exceeds struct_size")

    def int_member(self, t: Raw, m: tuple[int, ...], inner: Raw) -> None:
        offset, shift = m[2], inner.word >> 16 & 0xFF
        if U32_MAX - offset < shift:
            raise self.refuse_member(t, m, "bits_offset exceeds U32_MAX")
        offset += shift
        self.bits_fit(t, m, offset, inner.word & 0xFF)

    def bits_fit(self, t: Raw, m: tuple[int, ...], offset: int, bits: int) -> None:
        copied = bits + (offset & 7)
        if copied > 128:
            raise self.refuse_member(t, m, "nr_copy_bits exceeds 128")
        if t.size < offset >> 3 or t.size - (offset >> 3) < (copied + 7) // 8:
            raise self.refuse_member(t, m, "Member exceeds struct_size")

    def int_kflag_member(self, t: Raw, m: tuple[int, ...], inner: Raw) -> None:
        if not _is_regular(inner):
            raise self.refuse_member(t, m, "Invalid member base type")
        bits, offset, natural = m[2] >> 24, m[2] & 0xFFFFFF, inner.word & 0xFF
        if not bits:
            if offset & 7:
                raise self.refuse_member(t, m, "Invalid member offset")
            bits = natural
        elif bits > natural:
            raise self.refuse_member(t, m, "Invalid member bitfield_size")
        self.bits_fit(t, m, offset, bits)

    def enum_kflag_member(self, t: Raw, m: tuple[int, ...]) -> None:
        bits, offset = m[2] >> 24, m[2] & 0xFFFFFF
        if not bits:
            if offset & 7:
                raise self.refuse_member(t, m, "Member is not byte aligned")
            bits = 32
        elif bits > 32:
            raise self.refuse_member(t, m, "Invalid member bitfield_size")
        if t.size < (offset + bits + 7) // 8:
            raise self.refuse_member(t, m, "Member exceeds struct_size")

    def type_tags(self) -> None:
        """btf_check_type_tags(): tags come before other modifiers, chains are short."""
        good = 0
        for type_id in range(1, len(self.types)):
            t: Raw | None = self.types[type_id]
            assert t is not None
            if t.kind not in _MODIFIER:
                continue
            limit, current, in_tags = 32, type_id, t.kind is Kind.TYPE_TAG
            while t.kind in _MODIFIER:
                if not limit:
                    raise self.fail("Max chain length or cycle detected", ELOOP)
                limit -= 1
                if t.kind is Kind.TYPE_TAG:
                    if not in_tags:
                        raise self.fail("Type tags don't precede modifiers")
                elif in_tags:
                    in_tags = False
                if current <= good:
                    break
                current = t.size
                t = self.type_at(current)
                if t is None:
                    raise Refused(EINVAL)
            good = type_id


_META = {
    Kind.INT: "meta_int", Kind.PTR: "meta_reference", Kind.ARRAY: "meta_array", Kind.STRUCT: "meta_struct",
    Kind.UNION: "meta_struct", Kind.ENUM: "meta_enum", Kind.FWD: "meta_forward", Kind.TYPEDEF: "meta_reference",
    Kind.VOLATILE: "meta_reference", Kind.CONST: "meta_reference", Kind.RESTRICT: "meta_reference",
    Kind.FUNC: "meta_func", Kind.FUNC_PROTO: "meta_func_proto", Kind.VAR: "meta_var", Kind.DATASEC: "meta_datasec",
    Kind.FLOAT: "meta_float", Kind.DECL_TAG: "meta_decl_tag", Kind.TYPE_TAG: "meta_reference", Kind.ENUM64: "meta_enum",
}  # fmt: skip
_RESOLVE = {
    Kind.INT: "resolve_df", Kind.ENUM: "resolve_df", Kind.ENUM64: "resolve_df", Kind.FWD: "resolve_df",
    Kind.FLOAT: "resolve_df", Kind.FUNC_PROTO: "resolve_df", Kind.VOID: "resolve_df",
    Kind.PTR: "resolve_ptr", Kind.ARRAY: "resolve_array", Kind.STRUCT: "resolve_struct", Kind.UNION: "resolve_struct",
    Kind.TYPEDEF: "resolve_modifier", Kind.VOLATILE: "resolve_modifier", Kind.CONST: "resolve_modifier",
    Kind.RESTRICT: "resolve_modifier", Kind.TYPE_TAG: "resolve_modifier", Kind.FUNC: "resolve_func",
    Kind.VAR: "resolve_var", Kind.DATASEC: "resolve_datasec", Kind.DECL_TAG: "resolve_decl_tag",
}  # fmt: skip


def _signed(word: int) -> int:
    return (word ^ 0x80000000) - 0x80000000


def _is_word(c: int, first: bool) -> bool:
    """isalpha()/isalnum() of lib/ctype.c, and _ and ."""
    letter = 65 <= c <= 90 or 97 <= c <= 122 or (192 <= c <= 255 and c not in (215, 247))
    return letter or c in (46, 95) or (not first and 48 <= c <= 57)


def _is_regular(t: Raw) -> bool:
    """A whole number of bytes that a register or two hold: btf_type_int_is_regular()."""
    return t.word & 0xFF in (8, 16, 32, 64, 128) and not t.word >> 16 & 0xFF


def _compare(a: tuple[int, int], b: tuple[int, int]) -> int:
    """btf_sec_info_cmp(): differences as C ints."""
    return _signed((a[0] - b[0]) & U32_MAX) or _signed((a[1] - b[1]) & U32_MAX)
