"""The text that BPF's print helpers make of a format.  kernel/bpf/helpers.c, lib/vsprintf.c.

As in the kernel there are two passes.  `prepare()` checks the format and writes the arguments into a small buffer: numbers as
they are, texts, addresses of networks and %pB as text.  `bstr_printf()` goes over the format again and takes them from there.
What looks odd follows from that: texts that were made by the first pass have no width, letters and digits behind %p are
swallowed, together the texts of one call have 512 bytes, and one that comes when the text is full is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from arch.abi.errno import ENOSPC
from arch.errors import Fault, KernelError
from arch.memory import Memory
from bpf.format import Conversion, after_word, conversions
from bpf.helpers import Runtime, signed
from tracing.text.addresses import shown_pointer

BIN_ARGS = 512  # MAX_BPRINTF_BIN_ARGS
POINTER_DIGITS = 16


class _Arguments:
    """The buffer between the passes: written by the first, read by the second."""

    def __init__(self) -> None:
        self.bytes = bytearray(3 * BIN_ARGS)
        self.at = 0

    def room(self, wanted: int) -> int:
        """What is left.  ENOSPC: too little."""
        left = BIN_ARGS - self.at
        if 0 <= left < wanted:
            raise KernelError(ENOSPC)
        return left

    def put_number(self, value: int, size: int) -> None:
        self.at = (self.at + 3) & ~3
        self.room(size)
        self.bytes[self.at : self.at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        self.at += size

    def put_text(self, text: bytes) -> None:
        """snprintf(): cut where the buffer ends, counted as if it were not."""
        left = max(BIN_ARGS - self.at, 0)
        if left:
            kept = text[: left - 1] + b"\0"
            self.bytes[self.at : self.at + len(kept)] = kept
        self.at += len(text) + 1

    def number(self, size: int) -> int:
        if size > 1:
            self.at = (self.at + 3) & ~3
        self.at += size
        return int.from_bytes(self.bytes[self.at - size : self.at], "little")

    def text(self) -> bytes:
        end = self.bytes.find(0, self.at)
        found = bytes(self.bytes[self.at : end])
        self.at = end + 1
        return found


def _size(kind: bytes) -> int:
    """Bytes that an argument takes."""
    return 8 if kind.startswith((b"p", b"l")) else 4


def prepare(rt: Runtime, fmt: bytes, args: Sequence[int]) -> tuple[Sequence[Conversion], _Arguments]:
    """bpf_bprintf_prepare().  EINVAL, ENOSPC."""
    wanted = conversions(fmt, len(args))
    out = _Arguments()
    for each, value in zip(wanted, args):
        kind = each.kind
        if kind in (b"s", b"pks", b"pus"):
            text = copy_string(rt, kind, value, out.room(1))
            out.bytes[out.at : out.at + len(text) + 1] = text + b"\0"
            out.at += len(text) + 1
        elif kind == b"c":
            out.room(1)
            out.bytes[out.at] = value & 0xFF
            out.at += 1
        elif kind == b"pB":
            out.put_text(symbol(rt, kind, value))
        elif each.is_text:
            out.room(4 if kind.endswith(b"4") else 16)
            out.put_text(_internet(rt, kind, value))
        else:
            out.put_number(value, _size(kind))
    out.at = 0
    return wanted, out


def copy_string(rt: Runtime, kind: bytes, address: int, room: int) -> bytes:
    """bpf_trace_copy_string(): at most `room` bytes with the NUL; nothing where some of it cannot be read."""
    for mem in _places(rt, kind, address):
        found = None if mem is None else _string(mem, address, room)
        if found is not None:
            return found
    return b""


def _places(rt: Runtime, kind: bytes, address: int) -> tuple[Memory | None, ...]:
    """Where a text is looked for: %s takes what is below TASK_SIZE for an address of the user's."""
    arch = rt.host.arch
    if kind == b"pus":
        return (rt.host.user_mem_nofault(),)
    if kind == b"pks":
        return (rt.mem,)
    if arch is None:
        return rt.mem, rt.host.user_mem_nofault()
    return (rt.host.user_mem_nofault() if address < arch.map.user_end else rt.mem,)


def _string(mem: Memory, address: int, room: int) -> bytes | None:
    out = bytearray()
    while len(out) < room - 1:
        at = address + len(out)
        part = min(room - 1 - len(out), 64 - at % 64)  # no further than where a page may end
        try:
            piece = bytes(mem.read(at, part))
        except Fault:
            return None
        end = piece.find(0)
        if end >= 0:
            return bytes(out + piece[:end])
        out += piece
    return bytes(out)


def _internet(rt: Runtime, kind: bytes, address: int) -> bytes:
    """%pI4 and %pi6 and the like; zeros where nothing can be read."""
    size = 4 if kind.endswith(b"4") else 16
    try:
        raw = bytes(rt.mem.read(address, size))
    except Fault:
        raw = bytes(size)
    if size == 4:
        return b".".join(b"%03d" % byte if kind[1:2] == b"i" else b"%d" % byte for byte in raw)
    groups = [raw[i : i + 2].hex().encode() for i in range(0, 16, 2)]
    return (b"" if kind[1:2] == b"i" else b":").join(groups)


def symbol(rt: Runtime, kind: bytes, address: int) -> bytes:
    """%ps, %pS, %pB: kallsyms."""
    found = rt.host.symbols.lookup(address - 1 if kind == b"pB" else address)
    if found is None:
        return b"0x%x" % address
    name, offset, size = found
    if kind == b"ps":
        return str(name).encode()
    return f"{name}+{offset + (1 if kind == b'pB' else 0):#x}/{size:#x}".encode()


# ---- the second pass ----


def pad(text: bytes, flags: bytes, width: int) -> bytes:
    """widen_string()."""
    return text.ljust(width) if b"-" in flags else text.rjust(width)


def number(letter: bytes, flags: bytes, width: int, value: int) -> bytes:
    """number(): a value of which `signed` kinds have a sign."""
    sign = b""
    if letter in b"di":
        sign = b"-" if value < 0 else b"+" if b"+" in flags else b" " if b" " in flags else b""
    digits = b"%x" % value if letter == b"x" else b"%X" % value if letter == b"X" else b"%d" % abs(value)
    if b"0" in flags and b"-" not in flags:
        digits = digits.rjust(width - len(sign), b"0")
    return pad(sign + digits, flags, width)


def _pointer(rt: Runtime, each: Conversion, value: int) -> bytes:
    """pointer(): what the second pass makes of addresses."""
    if each.kind in (b"ps", b"pS"):
        return pad(symbol(rt, each.kind, value), each.flags, each.width)
    if each.kind != b"px":
        value = shown_pointer(value)
    if each.width == -1:
        return number(b"x", each.flags + b"0", POINTER_DIGITS, value)
    return number(b"x", each.flags, each.width, value)


def _converted(rt: Runtime, each: Conversion, args: _Arguments) -> bytes:
    kind = each.kind
    if kind == b"s":
        return pad(args.text(), each.flags, each.width)
    if kind == b"c":
        return pad(bytes([args.number(1)]), each.flags, each.width)
    value = args.number(_size(kind))
    if kind.startswith(b"p"):
        return _pointer(rt, each, value)
    letter = kind[-1:]
    return number(letter, each.flags, each.width, signed(value, 8 * _size(kind)) if letter in b"di" else value)


def bstr_printf(rt: Runtime, fmt: bytes, wanted: Sequence[Conversion], args: _Arguments, room: int) -> bytes:
    """The whole text; the caller cuts it to its `room`, which texts of the first pass ask for."""
    out = bytearray()
    at = 0
    for each in wanted:
        out += fmt[at : each.start].replace(b"%%", b"%")
        at = each.end
        if not each.is_text:
            out += _converted(rt, each, args)
        elif len(out) < room:
            out += args.text()
        if each.kind.startswith(b"p"):
            at = after_word(fmt, at)
    out += fmt[at:].replace(b"%%", b"%")
    return bytes(out)


def formatted(rt: Runtime, fmt: bytes, args: Sequence[int], room: int) -> bytes:
    """Both passes.  EINVAL, ENOSPC."""
    wanted, values = prepare(rt, fmt, args)
    return bstr_printf(rt, fmt, wanted, values, room)
