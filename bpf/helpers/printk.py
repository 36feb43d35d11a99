"""Formatted text: bpf_trace_printk(), bpf_trace_vprintk(), bpf_snprintf(), bpf_seq_printf().

kernel/trace/bpf_trace.c of 4.1, kernel/bpf/helpers.c:bpf_bprintf_prepare() of 6.1, lib/vsprintf.c.  What may be in a
format changed with versions: 4.1 knows %d %u %x (with l and ll) and %p; 4.3 added %s; since 5.13 there are widths,
%i %X %c %pks %pus %pK %px %ps %pS %pB %pi4 %pI4 %pi6 %pI6.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from arch.abi.errno import E2BIG, EINVAL, ERANGE
from arch.errors import KernelError
from bpf.helpers import Runtime, prototype, signed
from bpf.helpers.bprintf import formatted

MAX_ARGUMENTS = 3
MAX_VARARGS = 12
PRINT_LIMIT = 1023  # characters
_PRINTK_SPACES = b" \t\n\v\f\r"
_PUNCTUATION = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
SEQ_ROOM = 1 << 31  # what does not fit into the buffer of an iterator is refused as a whole


def _invalid() -> KernelError:
    return KernelError(EINVAL)


# ---- 4.1 ----


def check_format_4_1(fmt: bytes, strings: bool = False) -> list[str]:
    """bpf_trace_printk() of 4.1: the kinds of its conversions ("", "l", "ll", "p", "s"); EINVAL.

    `fmt` without its NUL.  The character behind %p is not looked at again: a known weakness, kept.
    """
    kinds: list[str] = []
    i = 0
    while i < len(fmt):
        if not (32 <= fmt[i] < 127 or fmt[i] in _PRINTK_SPACES):
            raise _invalid()
        if fmt[i] != 0x25:
            i += 1
            continue
        if len(kinds) >= MAX_ARGUMENTS:
            raise _invalid()
        i += 1
        kind = ""
        while fmt[i : i + 1] == b"l" and len(kind) < 2:
            kind += "l"
            i += 1
        letter = fmt[i : i + 1]
        if not kind and (letter == b"p" or (strings and letter == b"s")):
            following = fmt[i + 1 : i + 2]
            if following and following not in _PRINTK_SPACES and following not in _PUNCTUATION:
                raise _invalid()
            kinds.append(letter.decode())
            i += 2
            continue
        if letter not in (b"d", b"u", b"x") or not letter:
            raise _invalid()
        kinds.append(kind)
        i += 1
    return kinds


def vsnprintf_4_1(fmt: bytes, args: Sequence[int], pointer_digits: int = 16) -> str:
    """What the kernel's vsnprintf() makes of a checked format; conversions take the arguments in turn."""
    values = iter([*args, 0, 0, 0])

    def conversion(m: re.Match[bytes]) -> bytes:
        if m[0] == b"%%":
            return b"%"
        length, letter = m[1], m[2]
        value = next(values)
        if letter == b"p":
            return b"(null)".rjust(pointer_digits) if value == 0 else b"%0*x" % (pointer_digits, value)
        bits = 64 if length == b"ll" or (length == b"l" and pointer_digits == 16) else 32
        value &= (1 << bits) - 1
        if letter == b"d":
            return b"%d" % signed(value, bits)
        return b"%d" % value if letter == b"u" else b"%x" % value

    text = re.sub(rb"%(?:%|(l{0,2})([duxp]))", conversion, fmt)
    return text[:PRINT_LIMIT].decode("latin-1")


def _trace_printk_4_1(rt: Runtime, fmt: int, size: int, args: Sequence[int]) -> int:
    text = rt.mem.read(fmt, size) if 0 < size < 1 << 20 else b""
    if not text or text[-1]:
        raise _invalid()
    strings = rt.bpf.version.at_least("4.3")
    kinds = check_format_4_1(bytes(text[:-1]), strings)
    if "s" in kinds:
        # since 4.3: one string, copied from wherever the address is
        return _modern_print(rt, bytes(text), list(args))
    printed = vsnprintf_4_1(bytes(text[:-1]), args)
    rt.host.trace_printk(printed)
    return len(printed)


# ---- since 5.13 ----


def _modern_print(rt: Runtime, raw: bytes, args: Sequence[int]) -> int:
    """Format in memory (with its NUL), text to the trace buffer; the length it would have had."""
    end = raw.find(0)
    if end < 0:
        raise _invalid()
    text = formatted(rt, raw[:end], args, PRINT_LIMIT + 1)
    rt.host.trace_printk(text[:PRINT_LIMIT].partition(b"\0")[0].decode("latin-1"))
    return len(text)


@prototype(
    "trace_printk",
    6,
    "4.1",
    args="PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def trace_printk(rt: Runtime, fmt: int, size: int, a: int, b: int, c: int) -> int:
    if rt.bpf.version.before("5.13"):
        return _trace_printk_4_1(rt, fmt, size & 0xFFFFFFFF, (a, b, c))
    return _modern_print(rt, bytes(rt.mem.read(fmt, size & 0xFFFFFFFF)), (a, b, c))


def _arguments(rt: Runtime, address: int, length: int) -> list[int]:
    """The array of u64 that holds the arguments."""
    length &= 0xFFFFFFFF
    if length % 8 or length > MAX_VARARGS * 8 or (length and not address):
        raise _invalid()
    return [int(rt.mem.read_uint(address + i, 8)) for i in range(0, length, 8)]


@prototype(
    "trace_vprintk",
    177,
    "5.16",
    args="PTR_TO_MEM|MEM_RDONLY CONST_SIZE PTR_TO_MEM|PTR_MAYBE_NULL|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def trace_vprintk(rt: Runtime, fmt: int, size: int, args: int, length: int) -> int:
    values = _arguments(rt, args, length)
    return _modern_print(rt, bytes(rt.mem.read(fmt, size & 0xFFFFFFFF)), values)


def _c_string(rt: Runtime, address: int) -> bytes:
    out = bytearray()
    while (byte := rt.mem.read(address + len(out), 1)) != b"\0":
        out += byte
    return bytes(out)


@prototype(
    "snprintf",
    165,
    "5.13",
    args="PTR_TO_MEM_OR_NULL CONST_SIZE_OR_ZERO PTR_TO_CONST_STR PTR_TO_MEM|PTR_MAYBE_NULL|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def snprintf(rt: Runtime, buf: int, size: int, fmt: int, args: int, length: int) -> int:
    """The length the text needs, with its NUL."""
    values = _arguments(rt, args, length)
    size &= 0xFFFFFFFF
    text = formatted(rt, _c_string(rt, fmt), values, size)
    if size:
        rt.mem.write(buf, text[: size - 1] + b"\0")
    return len(text) + 1


@prototype(
    "seq_printf",
    126,
    "5.8",
    args="PTR_TO_BTF_ID:seq_file PTR_TO_MEM|MEM_RDONLY CONST_SIZE PTR_TO_MEM|PTR_MAYBE_NULL|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
)
def seq_printf(rt: Runtime, seq: int, fmt: int, size: int, args: int, length: int) -> int:
    values = _arguments(rt, args, length)
    raw = bytes(rt.mem.read(fmt, size & 0xFFFFFFFF))
    if b"\0" not in raw:
        raise _invalid()
    rt.host.seq_write(seq, formatted(rt, raw[: raw.index(0)], values, SEQ_ROOM))
    return 0


@prototype(
    "seq_write",
    127,
    "5.8",
    args="PTR_TO_BTF_ID:seq_file PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
)
def seq_write(rt: Runtime, seq: int, data: int, length: int) -> int:
    rt.host.seq_write(seq, bytes(rt.mem.read(data, length & 0xFFFFFFFF)))
    return 0


# ---- numbers from text ----

_BASES = {0, 8, 10, 16}


def _parse(rt: Runtime, buf: int, size: int, flags: int) -> tuple[int, int, bool]:
    """__bpf_strtoull(): (magnitude, characters consumed, negative)."""
    base = flags & 0x1F
    if not size or base not in _BASES or flags & ~0x1F:
        raise _invalid()
    text = bytes(rt.mem.read(buf, size))
    rest = text.lstrip(_PRINTK_SPACES)
    negative = rest.startswith(b"-")
    rest = rest[1:] if negative else rest
    if not rest:
        raise _invalid()
    skipped = len(text) - len(rest)
    rest = rest[:63]
    head = 0
    if base == 0:
        base = 16 if re.match(rb"0[xX][0-9a-fA-F]", rest) else 8 if rest.startswith(b"0") else 10
    if base == 16 and re.match(rb"0[xX]", rest):
        head = 2
    digits = re.match({8: rb"[0-7]*", 10: rb"[0-9]*", 16: rb"[0-9a-fA-F]*"}[base], rest[head:])
    assert digits is not None
    if not digits[0]:
        raise _invalid()
    value = int(digits[0], base)
    if value >> 64:
        raise KernelError(ERANGE)
    return value, skipped + head + len(digits[0]), negative


@prototype(
    "strtol",
    105,
    "5.2",
    args="PTR_TO_MEM|MEM_RDONLY CONST_SIZE ANYTHING PTR_TO_FIXED_SIZE_MEM|MEM_UNINIT|MEM_WRITE|MEM_ALIGNED:8",
    given="base_anyone",
)
def strtol(rt: Runtime, buf: int, size: int, flags: int, result: int) -> int:
    rt.mem.write_uint(result, 8, 0)
    value, consumed, negative = _parse(rt, buf, size, flags)
    if value > (1 << 63) - (0 if negative else 1):
        raise KernelError(ERANGE)
    rt.mem.write_uint(result, 8, -value if negative else value)
    return consumed


@prototype(
    "strtoul",
    106,
    "5.2",
    args="PTR_TO_MEM|MEM_RDONLY CONST_SIZE ANYTHING PTR_TO_FIXED_SIZE_MEM|MEM_UNINIT|MEM_WRITE|MEM_ALIGNED:8",
    given="base_anyone",
)
def strtoul(rt: Runtime, buf: int, size: int, flags: int, result: int) -> int:
    rt.mem.write_uint(result, 8, 0)
    value, consumed, negative = _parse(rt, buf, size, flags)
    if negative:
        raise _invalid()
    rt.mem.write_uint(result, 8, value)
    return consumed


def too_big() -> KernelError:
    """For texts that do not fit."""
    return KernelError(E2BIG)
