"""Values as text by their types: what bpf_snprintf_btf() and pinned maps print.  kernel/bpf/btf.c of Linux 6.1: btf_type_show().

    (struct sk_buff){
     .len = (unsigned int)64,
     .dev = (struct net_device *)0xffff888000123400,
    }

Members that are zero are left out, and aggregates of nothing but such, unless SHOW_ZERO asks for all: an aggregate inside of
another is walked without output first.  What a walk remembers of arrays is one state for all depths, as in the kernel: below
an element of an array members have no names until an array in it has ended.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.errors import Fault
from arch.memory import ByteOrder
from bpf.btf.codec import INT_SIGNED, Btf, BtfType, Kind, Member
from tracing.text.addresses import shown_pointer

SHOW_COMPACT, SHOW_NONAME, SHOW_PTR_RAW, SHOW_ZERO = 1, 2, 4, 8
MAX_NAME_STEPS = 10  # pointers and arrays of a type's name
MAX_INDENT = 32
TYPE_NAME_SIZE = 80
QUALIFIERS = frozenset((Kind.VOLATILE, Kind.CONST, Kind.RESTRICT, Kind.TYPE_TAG))
PREFIXES = {Kind.STRUCT: "struct", Kind.UNION: "union", Kind.ENUM: "enum", Kind.ENUM64: "enum"}
Read = Callable[[int, int], bytes]  # (address, size): Fault


class Show:
    """One value being shown."""

    def __init__(self, btf: Btf, read: Read, byteorder: ByteOrder, flags: int) -> None:
        self.btf, self.read, self.byteorder, self.flags = btf, read, byteorder, flags
        self.out: list[str] = []
        self.depth = self.depth_check = self.depth_to_show = 0
        self.member: Member | None = None
        self.in_array = self.characters = self.terminated = False

    def text(self, type_id: int, address: int) -> str:
        """All of it.  Fault: memory that cannot be read."""
        self._show(type_id, address, 0)
        return "".join(self.out)

    # ---- output ----

    def _put(self, *parts: str) -> None:
        if not self.depth_check:
            self.out += parts

    @property
    def _indent(self) -> str:
        return "" if self.flags & SHOW_COMPACT else " " * min(self.depth, MAX_INDENT)

    @property
    def _newline(self) -> str:
        return "" if self.flags & SHOW_COMPACT else "\n"

    @property
    def _delimiter(self) -> str:
        return "," if self.depth else ""

    def _value(self, type_id: int, text: str, nonzero: bool) -> None:
        if nonzero or self.flags & SHOW_ZERO or not self.depth:
            self._put(self._indent, self._name(type_id), text, self._delimiter, self._newline)
            self.depth_to_show = max(self.depth_to_show, self.depth)

    def _name(self, type_id: int) -> str:
        """ ".member = (type *[])", and what opens an aggregate: btf_show_name()."""
        if self.in_array:
            return ""
        if self.member is not None:
            type_id = self.member.type
        name, stars, brackets, opened = "", "", "", ""
        kinds: set[Kind] = set()
        t = self.btf.types[type_id]
        for _ in range(MAX_NAME_STEPS):
            if t.kind is Kind.TYPEDEF:
                name, following = name or t.name, t.type
            elif t.kind is Kind.ARRAY:
                brackets, opened, following = brackets + "[]", "[", t.type
            elif t.kind is Kind.PTR:
                stars, following = stars + "*", t.type
            else:
                break
            kinds.add(t.kind)
            if not following:
                break
            t = self._unqualified(following)
        else:
            return ""
        if t.kind in (Kind.STRUCT, Kind.UNION) and Kind.ARRAY not in kinds:
            opened = "{"
        if Kind.PTR in kinds:
            opened = ""
        if self.flags & SHOW_NONAME:
            return opened
        prefix = "" if Kind.TYPEDEF in kinds else PREFIXES.get(t.kind, "")
        name = name or t.name
        member = f".{self.member.name} = " if self.member is not None and self.member.name else ""
        space = " " if prefix and name else ""
        pointer = f" {stars}" if stars else ""
        return f"{member}({prefix}{space}{name}{pointer}{brackets}){opened}"[: TYPE_NAME_SIZE - 1]

    def _unqualified(self, type_id: int) -> BtfType:
        t = self.btf.types[type_id]
        while t.kind in QUALIFIERS:
            t = self.btf.types[t.type]
        return t

    # ---- kinds ----

    def _show(self, type_id: int, address: int, bit: int) -> None:
        t = self.btf.types[type_id]
        resolved = self.btf.resolved(type_id)
        if t.kind is Kind.VAR:
            resolved = self.btf.resolved(t.type)
        match resolved.kind:
            case Kind.INT:
                self._int(type_id, resolved, address, bit)
            case Kind.PTR:
                self._pointer(type_id, resolved, address)
            case Kind.ENUM | Kind.ENUM64:
                self._enum(type_id, resolved, address)
            case Kind.ARRAY:
                self._aggregate(lambda: self._array(type_id, resolved, address))
            case Kind.STRUCT | Kind.UNION:
                self._aggregate(lambda: self._struct(type_id, resolved, address))
            case Kind.FLOAT | Kind.FWD | Kind.VOID | Kind.FUNC | Kind.FUNC_PROTO:
                self._put(f"<unsupported kind:{int(resolved.kind)}>")

    def _number(self, address: int, size: int, signed: bool = False) -> int:
        return int.from_bytes(self.read(address, size), self.byteorder, signed=signed)

    def _int(self, type_id: int, t: BtfType, address: int, bit: int) -> None:
        signed = bool(t.encoding & INT_SIGNED)
        if bit or t.bit_offset or t.bits % 8 or t.bits not in (8, 16, 32, 64, 128):
            total = bit + t.bit_offset
            self._bits(type_id, address + total // 8, total % 8, t.bits)
            return
        if t.bits == 128:
            self._hexadecimal(type_id, self._number(address, 16))
            return
        value = self._number(address, t.bits // 8, signed)
        if t.bits == 8 and self.characters:
            if self.terminated:
                return
            if not value:
                self.terminated = True
                return
            letter = value & 0xFF
            if 0x20 <= letter < 0x7F or letter >= 0xA0:  # isprint(): those of Latin-1, too
                self._value(type_id, f"'{chr(letter)}'", True)
                return
        self._value(type_id, str(value), bool(value))

    def _bits(self, type_id: int, address: int, bit: int, count: int) -> None:
        """btf_bitfield_show(): as hexadecimal."""
        size = (count + bit + 7) // 8
        value = self._number(address, size)
        shift = bit if self.byteorder == "little" else 8 * size - bit - count
        self._hexadecimal(type_id, value >> shift & (1 << count) - 1)

    def _hexadecimal(self, type_id: int, value: int) -> None:
        self._value(type_id, f"{value:#x}", bool(value))

    def _pointer(self, type_id: int, t: BtfType, address: int) -> None:
        value = self._number(address, self.btf.pointer_size)
        shown = value if self.flags & SHOW_PTR_RAW else shown_pointer(value)
        self._value(type_id, f"0x{shown:016x}", bool(value))

    def _enum(self, type_id: int, t: BtfType, address: int) -> None:
        size = 8 if t.kind is Kind.ENUM64 else 4
        value = self._number(address, size, signed=True)
        name = next((name for name, number in t.values if (number - value) % (1 << 8 * size) == 0), None)
        shown = value if t.kflag else value % (1 << 8 * size)
        self._value(type_id, name if name is not None else str(shown), name is not None or bool(value))

    def _aggregate(self, show: Callable[[], None]) -> None:
        """btf_struct_show(), btf_array_show(): without output first, to see whether there is anything."""
        member = self.member
        if self.depth and not self.flags & SHOW_ZERO:
            if not self.depth_check:
                self.depth_check, self.depth_to_show = self.depth + 1, 0
            show()
            self.member = member
            if self.depth_check != self.depth + 1:
                return
            self.depth_check = 0
            if self.depth_to_show <= self.depth:
                return
        show()

    def _begin(self, type_id: int) -> None:
        self._put(self._indent, self._name(type_id), self._newline)
        self.depth += 1

    def _end(self, closing: str) -> None:
        self.depth -= 1
        self._put(self._indent, closing, self._delimiter, self._newline)

    def _struct(self, type_id: int, t: BtfType, address: int) -> None:
        self._begin(type_id)
        for member in t.members:
            self.member = member
            at = address + member.bit_offset // 8
            if member.bit_size:
                self._bits(member.type, at, member.bit_offset % 8, member.bit_size)
            else:
                self._show(member.type, at, member.bit_offset % 8)
            self.member = None
        self._end("}")

    def _array(self, type_id: int, t: BtfType, address: int) -> None:
        element = self.btf.resolved(t.type)
        size = self.btf.size_of(t.type)
        self.characters, self.terminated = element.kind is Kind.INT and element.size == 1, False
        self._begin(type_id)
        for number in range(t.nelems):
            self.in_array, self.member = True, None
            self._show(t.type, address + number * size, 0)
            self.in_array, self.member = False, None
            if self.terminated:
                break
        self.characters = self.terminated = False
        self._end("]")


def show(btf: Btf, type_id: int, address: int, read: Read, byteorder: ByteOrder, flags: int) -> str:
    """The text of a value.  Fault."""
    return Show(btf, read, byteorder, flags).text(type_id, address)


__all__ = ["SHOW_COMPACT", "SHOW_NONAME", "SHOW_PTR_RAW", "SHOW_ZERO", "Fault", "show"]
