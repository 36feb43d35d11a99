"""Each BTF type on its own: is the record whole, and does it say what its kind may say?  It is also printed here.

kernel/bpf/btf.c: btf_check_meta() and the check_meta of each kind.
"""

from __future__ import annotations

import struct

from arch.abi.errno import ENOTSUPP
from arch.abi.limits import U32_MAX
from bpf.btf.check_env import ENCODINGS, MAX_NAME_OFFSET, BtfEnv, Raw, signed
from bpf.btf.codec import Kind

MAX_TYPE = 0xFFFFF
INFO_MASK = 0x9F00FFFF
OLD_INFO_MASK = 0x8F00FFFF  # before 5.13 the kind had four bits
INT_MASK = 0x0FFFFFFF

# The newest kind each kernel knows.
KINDS_SINCE = (("6.0", Kind.ENUM64), ("5.17", Kind.TYPE_TAG), ("5.16", Kind.DECL_TAG), ("5.13", Kind.FLOAT),
               ("5.2", Kind.DATASEC), ("5.0", Kind.FUNC_PROTO), ("4.18", Kind.RESTRICT))  # fmt: skip


class MetaCheck:
    """Reads one record after another and says what is wrong with it."""

    def __init__(self, env: BtfEnv) -> None:
        self.env = env
        self.max_kind = next((kind for since, kind in KINDS_SINCE if env.version.at_least(since)), Kind.VOID)

    def meta(self, section: bytes, position: int) -> int:
        """btf_check_meta(); the type's length."""
        left = len(section) - position
        if left < 12:
            raise self.env.fail(f"[{self.env.log_id}] meta_left:{left} meta_needed:12")
        name_off, info, size = struct.unpack_from(self.env.mark + "III", section, position)
        if info & ~(INFO_MASK if self.env.version.at_least("5.13") else OLD_INFO_MASK) & U32_MAX:
            raise self.env.fail(f"[{self.env.log_id}] Invalid btf_info:{info:x}")
        number = info >> 24 & 0x1F
        if number > self.max_kind or not number:
            raise self.env.fail(f"[{self.env.log_id}] Invalid kind:{number}")
        if name_off > MAX_NAME_OFFSET or name_off >= len(self.env.strings):
            raise self.env.fail(f"[{self.env.log_id}] Invalid name_offset:{name_off}")
        t = Raw(name_off, info, size, Kind(number))
        needed = self.trailer(t)
        if left - 12 < needed:
            message = f"meta_left:{left - 12} meta_needed:{needed}"
            raise self.env.refuse(t, message, details=False)
        self.read_trailer(t, section[position + 12 : position + 12 + needed])
        _META[t.kind](self, t)
        self.env.types.append(t)
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

    def read_trailer(self, t: Raw, data: bytes) -> None:
        match t.kind:
            case Kind.INT | Kind.VAR | Kind.DECL_TAG:
                t.word = struct.unpack(self.env.mark + "I", data)[0]
            case Kind.ENUM | Kind.FUNC_PROTO:
                t.rows = list(struct.iter_unpack(self.env.mark + "II", data))
            case _:
                t.rows = list(struct.iter_unpack(self.env.mark + "III", data)) if len(data) else []

    def no_vlen(self, t: Raw) -> None:
        if t.vlen:
            raise self.env.refuse(t, "vlen != 0")

    def no_kflag(self, t: Raw) -> None:
        if t.kflag:
            raise self.env.refuse(t, "Invalid btf_info kind_flag")

    def no_name(self, t: Raw) -> None:
        if t.name_off:
            raise self.env.refuse(t, "Invalid name")

    def must_name(self, t: Raw) -> None:
        if not t.name_off or not self.env.valid_name(t.name_off):
            raise self.env.refuse(t, "Invalid name")

    def may_name(self, t: Raw) -> None:
        if t.name_off and not self.env.valid_name(t.name_off):
            raise self.env.refuse(t, "Invalid name")

    def meta_int(self, t: Raw) -> None:
        self.no_vlen(t)
        self.no_kflag(t)
        if t.word & ~INT_MASK & U32_MAX:
            raise self.env.refuse(t, f"Invalid int_data:{t.word:x}", details=False)
        bits = (t.word & 0xFF) + (t.word >> 16 & 0xFF)
        if bits > 128:
            raise self.env.refuse(t, "nr_bits exceeds 128")
        if (bits + 7) // 8 > t.size:
            raise self.env.refuse(t, "nr_bits exceeds type_size")
        if t.word >> 24 & 0xF not in ENCODINGS:
            raise self.env.refuse(t, "Unsupported encoding", ENOTSUPP)
        self.env.log_type(t)

    def meta_reference(self, t: Raw) -> None:
        self.no_vlen(t)
        self.no_kflag(t)
        if t.size > MAX_TYPE:
            raise self.env.refuse(t, "Invalid type_id")
        if t.kind is Kind.TYPEDEF:
            self.must_name(t)
        elif t.kind is Kind.TYPE_TAG:
            if not self.env.raw_name(t.name_off):
                raise self.env.refuse(t, "Invalid name")
        else:
            self.no_name(t)
        self.env.log_type(t)

    def meta_forward(self, t: Raw) -> None:
        self.no_vlen(t)
        if t.size:
            raise self.env.refuse(t, "type != 0")
        self.must_name(t)
        self.env.log_type(t)

    def meta_array(self, t: Raw) -> None:
        self.no_name(t)
        self.no_vlen(t)
        self.no_kflag(t)
        if t.size:
            raise self.env.refuse(t, "size != 0")
        elem, index, _ = t.rows[0]
        if not 0 < elem <= MAX_TYPE:
            raise self.env.refuse(t, "Invalid elem")
        if not 0 < index <= MAX_TYPE:
            raise self.env.refuse(t, "Invalid index")
        self.env.log_type(t)

    def meta_struct(self, t: Raw) -> None:
        self.may_name(t)
        self.env.log_type(t)
        last = 0
        for m in t.rows:
            name, type_id, raw = m
            if name > MAX_NAME_OFFSET or name >= len(self.env.strings):
                raise self.env.refuse_member(t, m, f"Invalid member name_offset:{name}")
            if name and not self.env.valid_name(name):
                raise self.env.refuse_member(t, m, "Invalid name")
            if not 0 < type_id <= MAX_TYPE:
                raise self.env.refuse_member(t, m, "Invalid type_id")
            offset = t.member_offset(raw)
            if (t.kind is Kind.UNION and offset) or last > offset:
                raise self.env.refuse_member(t, m, "Invalid member bits_offset")
            if (offset >> 3) + bool(offset & 7) > t.size:
                raise self.env.refuse_member(t, m, "Member bits_offset exceeds its struct size")
            self.env.log_member(t, m)
            last = offset

    def meta_enum(self, t: Raw) -> None:
        if t.kind is Kind.ENUM and t.kflag and self.env.version.before("6.0"):
            raise self.env.refuse(t, "Invalid btf_info kind_flag")
        if t.size > 8 or t.size.bit_count() != 1:
            raise self.env.refuse(t, "Unexpected size")
        self.may_name(t)
        self.env.log_type(t)
        for row in t.rows:
            name = row[0]
            if name > MAX_NAME_OFFSET or name >= len(self.env.strings):
                raise self.env.fail(f"\tInvalid name_offset:{name}")
            if not name or not self.env.valid_name(name):
                raise self.env.refuse(t, "Invalid name")
            value, bits = (row[1], 32) if t.kind is Kind.ENUM else (row[2] << 32 | row[1], 64)
            if (t.kflag or self.env.version.before("6.0")) and value >> (bits - 1):
                value -= 1 << bits
            self.env.log(f"\t{self.env.name(name)} val={value}\n")

    def meta_func_proto(self, t: Raw) -> None:
        self.no_name(t)
        self.no_kflag(t)
        self.env.log_type(t)

    def meta_func(self, t: Raw) -> None:
        self.must_name(t)
        if self.env.version.before("5.6"):
            self.no_vlen(t)
        elif t.vlen > 1:
            raise self.env.refuse(t, "Invalid func linkage")
        self.no_kflag(t)
        self.env.log_type(t)

    def meta_var(self, t: Raw) -> None:
        self.no_vlen(t)
        self.no_kflag(t)
        self.must_name(t)
        if not 0 < t.size <= MAX_TYPE:
            raise self.env.refuse(t, "Invalid type_id")
        if t.word not in (0, 1):
            raise self.env.refuse(t, "Linkage not supported")
        self.env.log_type(t)

    def meta_datasec(self, t: Raw) -> None:
        if not t.size:
            raise self.env.refuse(t, "size == 0")
        self.no_kflag(t)
        self.must_name(t)
        self.env.log_type(t)
        last = total = 0
        for v in t.rows:
            type_id, offset, size = v
            if not 0 < type_id <= MAX_TYPE:
                raise self.env.refuse_vsi(t, v, "Invalid type_id")
            if offset < last or offset >= t.size:
                raise self.env.refuse_vsi(t, v, "Invalid offset")
            if not size or size > t.size:
                raise self.env.refuse_vsi(t, v, "Invalid size")
            last = (offset + size) & U32_MAX
            if last > t.size:
                raise self.env.refuse_vsi(t, v, "Invalid offset+size")
            self.env.log_vsi(t, v)
            total += size
        if t.size < total:
            raise self.env.refuse(t, "Invalid btf_info size")

    def meta_float(self, t: Raw) -> None:
        self.no_vlen(t)
        self.no_kflag(t)
        if t.size not in (2, 4, 8, 12, 16):
            raise self.env.refuse(t, "Invalid type_size")
        self.env.log_type(t)

    def meta_decl_tag(self, t: Raw) -> None:
        if not self.env.raw_name(t.name_off):
            raise self.env.refuse(t, "Invalid value")
        self.no_vlen(t)
        self.no_kflag(t)
        if signed(t.word) < -1:
            raise self.env.refuse(t, "Invalid component_idx")
        self.env.log_type(t)


_META = {
    Kind.INT: MetaCheck.meta_int, Kind.PTR: MetaCheck.meta_reference, Kind.ARRAY: MetaCheck.meta_array, Kind.STRUCT: MetaCheck.meta_struct,
    Kind.UNION: MetaCheck.meta_struct, Kind.ENUM: MetaCheck.meta_enum, Kind.FWD: MetaCheck.meta_forward, Kind.TYPEDEF: MetaCheck.meta_reference,
    Kind.VOLATILE: MetaCheck.meta_reference, Kind.CONST: MetaCheck.meta_reference, Kind.RESTRICT: MetaCheck.meta_reference,
    Kind.FUNC: MetaCheck.meta_func, Kind.FUNC_PROTO: MetaCheck.meta_func_proto, Kind.VAR: MetaCheck.meta_var, Kind.DATASEC: MetaCheck.meta_datasec,
    Kind.FLOAT: MetaCheck.meta_float, Kind.DECL_TAG: MetaCheck.meta_decl_tag, Kind.TYPE_TAG: MetaCheck.meta_reference, Kind.ENUM64: MetaCheck.meta_enum,
}  # fmt: skip
