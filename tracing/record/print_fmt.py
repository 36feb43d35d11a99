"""Turning an event's `print fmt` into text.

The `print fmt` line of a `format` file is C: a format string and expressions over REC->field.  It is parsed once and
compiled to one Python function of the record, so the same text that user-space tools parse is what prints here.
Mirrors TP_printk and the __print_*() helpers of include/trace/stages/stage3_trace_output.h, kernel/trace/trace_output.c
and the conversions of lib/vsprintf.c.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence

from arch.cstring import c_string
from tracing.record.fields import BASE_TYPES, SIGNED_CODES, UNSIGNED_CODES, Field
from tracing.text.addresses import Addresses

TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:\\.|[^"\\])*")|(?P<char>'(?:\\.|[^'\\])')
    |(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)|(?P<name>[A-Za-z_]\w*)
    |(?P<op>->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(){}\[\],.=]))""",
    re.X,
)
ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'", "0": "\0", "r": "\r"}
BINARY = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
HELPERS = frozenset(
    [
        "__print_flags",
        "__print_flags_u64",
        "__print_symbolic",
        "__print_symbolic_u64",
        "__print_hex",
        "__print_hex_str",
        "__print_array",
        "__get_str",
        "__get_dynamic_array",
        "__get_dynamic_array_len",
        "__get_bitmask",
    ]
)
TYPE_WORDS = frozenset(
    ["unsigned", "signed", "long", "short", "int", "char", "void", "const", "struct", "enum", "union"]
) | {word for name in BASE_TYPES for word in name.split()}


# Names that some print fmts leave unresolved (the kernel forgot TRACE_DEFINE_ENUM there), and the page array.
CONSTANTS: dict[str, int] = {
    "HRTIMER_MODE_ABS": 0, "HRTIMER_MODE_REL": 1, "HRTIMER_MODE_ABS_PINNED": 2, "HRTIMER_MODE_REL_PINNED": 3,
    "HRTIMER_MODE_ABS_SOFT": 4, "HRTIMER_MODE_REL_SOFT": 5, "HRTIMER_MODE_ABS_PINNED_SOFT": 6,
    "HRTIMER_MODE_REL_PINNED_SOFT": 7, "HRTIMER_MODE_ABS_HARD": 8, "HRTIMER_MODE_REL_HARD": 9,
    "HRTIMER_MODE_ABS_PINNED_HARD": 10, "HRTIMER_MODE_REL_PINNED_HARD": 11,
    "TCP_ESTABLISHED": 1, "TCP_SYN_SENT": 2, "TCP_SYN_RECV": 3, "TCP_FIN_WAIT1": 4, "TCP_FIN_WAIT2": 5,
    "TCP_TIME_WAIT": 6, "TCP_CLOSE": 7, "TCP_CLOSE_WAIT": 8, "TCP_LAST_ACK": 9, "TCP_LISTEN": 10, "TCP_CLOSING": 11,
    "TCP_NEW_SYN_RECV": 12, "vmemmap_base": 0xFFFFEA0000000000, "NULL": 0, "true": 1, "false": 0,
}  # fmt: skip


def unescape(text: str) -> str:
    """C escapes in a string literal."""
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), text)


class PrintFormatError(Exception):
    """A print fmt that this compiler does not understand: our bug, or a declaration with a typo."""


class _Parser:
    """Recursive descent over the expressions; yields Python source."""

    def __init__(self, text: str, fields: Sequence[Field], word: int) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = TOKEN.match(text, position)
            if match is None:
                raise PrintFormatError(f"cannot read {text[position : position + 40]!r}")
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind]))
            position = match.end()
        self.tokens.append(("end", ""))
        self.at = 0
        self.fields = {field.name: field for field in fields}
        self.word = word
        self.used: list[str] = []

    def peek(self, offset: int = 0) -> str:
        """The text of a token ahead; the last one stays."""
        return self.tokens[min(self.at + offset, len(self.tokens) - 1)][1]

    def take(self, expected: str | None = None) -> str:
        """The next token, which must be `expected` if that is given.  PrintFormatError."""
        _, value = self.tokens[self.at]
        if expected is not None and value != expected:
            raise PrintFormatError(f"expected {expected!r}, found {value!r} in {self.text[:80]!r}")
        self.at += 1
        return value

    def strings(self) -> str:
        """Adjacent string literals as one."""
        text = ""
        while self.tokens[self.at][0] == "string":
            text += unescape(self.take()[1:-1])
        return text

    def expression(self) -> str:
        """Up to the conditional operator; Python source."""
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.take()
        yes = self.expression()
        self.take(":")
        return f"({yes} if {condition} else {self.expression()})"

    def binary(self, level: int) -> str:
        """Operators of this level of BINARY and tighter ones."""
        if level == len(BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in BINARY[level] and self.tokens[self.at][0] == "op":
            op = self.take()
            right = self.binary(level + 1)
            if op in ("&&", "||"):
                left = f"(1 if {left} {'and' if op == '&&' else 'or'} {right} else 0)"
            elif op in ("/", "%"):
                left = f"{'c_div' if op == '/' else 'c_mod'}({left}, {right})"
            else:
                left = f"({left} {op} {right})"
        return left

    def is_type(self) -> bool:
        """Is the parenthesis a cast?"""
        kind, value = self.tokens[self.at + 1]
        return kind == "name" and value in TYPE_WORDS

    def cast(self) -> str:
        """(type)expression."""
        self.take("(")
        words, pointer = [], False
        while self.peek() != ")":
            word = self.take()
            pointer |= word == "*"
            words.append(word)
        self.take(")")
        inner = self.unary()
        name = " ".join(w for w in words if w not in ("const", "*"))
        if pointer:
            return f"as_pointer({inner})"
        if words[0] in ("enum", "struct"):
            return inner
        size, signed = BASE_TYPES.get(name) or BASE_TYPES[name.replace(" int", "")]
        return f"{'as_signed' if signed else 'as_unsigned'}({inner}, {size or self.word})"

    def unary(self) -> str:
        """- ~ + ! * & and casts."""
        kind, value = self.tokens[self.at]
        if value in ("-", "~", "+"):
            self.take()
            return f"({value}{self.unary()})"
        if value == "!":
            self.take()
            return f"(0 if {self.unary()} else 1)"
        if value in ("*", "&") and kind == "op":
            self.take()
            inner = self.unary()
            return f"deref({inner})" if value == "*" else inner
        if value == "(" and self.is_type():
            return self.cast()
        return self.postfix()

    def postfix(self) -> str:
        """Subscripts; members are taken for what they are members of."""
        source = self.primary()
        while True:
            if self.peek() == "[":
                self.take()
                source = f"{source}[{self.expression()}]"
                self.take("]")
            elif self.peek() in (".", "->") and source != "REC":
                self.take()
                self.take()
            else:
                return source

    def primary(self) -> str:
        """A literal, a name, parentheses."""
        kind, value = self.tokens[self.at]
        if kind == "string":
            return repr(self.strings())
        if kind == "number":
            self.take()
            digits = value.rstrip("uUlL")
            return str(int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0))
        if kind == "char":
            self.take()
            return str(ord(unescape(value[1:-1])))
        if value == "(":
            self.take()
            inner = self.expression()
            self.take(")")
            return f"({inner})"
        if kind == "name":
            return self.name()
        raise PrintFormatError(f"unexpected {value!r} in {self.text[:200]!r}")

    def name(self) -> str:
        """REC->field, a helper, sizeof, a known constant."""
        value = self.take()
        if value == "REC" and self.peek() == "->":
            self.take()
            return self.field(self.take())
        if value in HELPERS:
            return self.helper(value)
        if value == "sizeof":
            self.take("(")
            depth, words = 1, []
            while depth:
                word = self.take()
                depth += (word == "(") - (word == ")")
                words.append(word)
            name = " ".join(words[:-1])
            return str(BASE_TYPES[name][0] or self.word) if name in BASE_TYPES else str(self.word)
        if value in CONSTANTS:
            return str(CONSTANTS[value])
        if value == "__builtin_choose_expr":
            self.take("(")
            parts = self.arguments()
            return f"({parts[1]} if {parts[0]} else {parts[2]})"
        if value == "__builtin_expect":  # unlikely() of IS_ERR_VALUE()
            self.take("(")
            return f"({self.arguments()[0]})"
        raise PrintFormatError(f"unknown name {value!r} in {self.text[:120]!r}")

    def field(self, name: str) -> str:
        """The variable that holds a field of the record."""
        if name not in self.fields:
            raise PrintFormatError(f"no field {name!r}")
        if name not in self.used:
            self.used.append(name)
        return f"f_{name}"

    def arguments(self) -> list[str]:
        """The comma-separated rest of a call; `{ a, b }` becomes a tuple."""
        parts: list[str] = []
        while self.peek() != ")":
            if self.peek() == "{":
                self.take()
                inner = [self.expression()]
                while self.peek() == ",":
                    self.take()
                    if self.peek() == "}":
                        break
                    inner.append(self.expression())
                self.take("}")
                parts.append(f"({', '.join(inner)},)")
            else:
                parts.append(self.expression())
            if self.peek() == ",":
                self.take()
        self.take(")")
        return parts

    def helper(self, name: str) -> str:
        """__print_flags() and its relatives."""
        self.take("(")
        if name.startswith("__get"):
            field = self.field(self.take())
            index = ""
            if self.peek() == "[":
                self.take()
                index = f"[{self.take()}]"
                self.take("]")
            self.take(")")
            return f"{name}(rec, {field}{index})"
        parts = self.arguments()
        if name.startswith("__print_flags"):
            return f"print_flags({parts[0]}, {parts[1]}, ({''.join(p + ', ' for p in parts[2:])}))"
        if name.startswith("__print_symbolic"):
            return f"print_symbolic({parts[0]}, ({''.join(p + ', ' for p in parts[1:])}))"
        return f"{name.strip('_')}({', '.join(parts)})"


# What the compiled functions call.


def as_signed(value: int, size: int) -> int:
    """A C cast to a signed type of `size` bytes."""
    bits = size * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def as_unsigned(value: int, size: int) -> int:
    """A C cast to an unsigned type of `size` bytes."""
    return value & ((1 << size * 8) - 1)


def c_div(a: int, b: int) -> int:
    """C division truncates; a division by zero in a print fmt gives 0 rather than an oops."""
    if not b:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def c_mod(a: int, b: int) -> int:
    """C's remainder has the sign of the dividend."""
    return a - c_div(a, b) * b if b else 0


def print_flags(flags: int, delim: str, table: Sequence[tuple[int, str]]) -> str:
    """trace_output.c:trace_print_flags_seq()."""
    parts = []
    for mask, name in table:
        if not flags:
            break
        if flags & mask == mask and mask:
            parts.append(name)
            flags &= ~mask
    if flags:
        parts.append(f"0x{flags & 0xFFFFFFFFFFFFFFFF:x}")
    return delim.join(parts)


def print_symbolic(value: int, table: Sequence[tuple[int, str]]) -> str:
    """trace_output.c:trace_print_symbols_seq()."""
    for number, name in table:
        if (value - number) & 0xFFFFFFFFFFFFFFFF == 0:
            return name
    return f"0x{value & 0xFFFFFFFFFFFFFFFF:x}"


def print_hex(data: bytes, length: int) -> str:
    """__print_hex(): bytes with blanks between them."""
    return " ".join(f"{byte:02x}" for byte in data[:length])


def print_hex_str(data: bytes, length: int) -> str:
    """__print_hex_str(): bytes without blanks."""
    return bytes(data[:length]).hex()


def print_array(data: Sequence[int] | bytes, count: int, size: int) -> str:
    """trace_output.c:trace_print_array_seq()."""
    if isinstance(data, bytes):
        data = [int.from_bytes(data[i * size : (i + 1) * size], "little") for i in range(count)]
    return "{" + ",".join(f"0x{value & ((1 << 8 * size) - 1):x}" for value in data[:count]) + "}"


def get_dynamic_array(rec: bytes, loc: int) -> bytes:
    """__get_dynamic_array(): the bytes that a __data_loc word points to."""
    offset = loc & 0xFFFF
    return rec[offset : offset + (loc >> 16)]


def get_str(rec: bytes, loc: int) -> str:
    """__get_str(): the same as text."""
    return c_string(rec[loc & 0xFFFF : (loc & 0xFFFF) + (loc >> 16)]) if loc >> 16 else c_string(rec[loc & 0xFFFF :])


def get_dynamic_array_len(rec: bytes, loc: int) -> int:
    """__get_dynamic_array_len(): in bytes."""
    return loc >> 16


def get_bitmask(rec: bytes, loc: int) -> str:
    """__get_bitmask(): a bitmap in hexadecimal, groups of eight digits."""
    value = int.from_bytes(get_dynamic_array(rec, loc), "little")
    digits = f"{value:0{max(1, (loc >> 16) * 2)}x}"
    first = len(digits) % 8
    return ",".join(([digits[:first]] if first else []) + [digits[i : i + 8] for i in range(first, len(digits), 8)])


Value = int | str | bytes | bytearray | tuple[int, ...] | list[int]  # what an expression over a record gives


def deref(value: Value) -> Value:
    """*pointer, where the pointer is data in the record."""
    return value[0] if isinstance(value, (tuple, list, bytes)) else value


def text_of(value: Value, ctx: Addresses) -> str:
    """The %s of a char array, of a string already made, of a pointer to a constant, or of one that nobody may follow."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return c_string(bytes(value))
    return ctx.strings.get(value, "(efault)") if isinstance(value, int) and value else "(null)"


# Conversions of the format string.

CONVERSION = re.compile(r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+))?"
                        r"(?P<length>hh|h|ll|l|L|z|t|j)?(?P<type>[diuxXoscpn%])(?P<ext>)")  # fmt: skip
POINTER_EXT = re.compile(r"(?:I4[hnbl]?|I6c?|i4|i6|IS[pcfsn]*|iS[pcfsn]*|[SsFfB]R?|[mM][FR]?|K|x|U[bBlL]?|[dD]\d?)")


def length_bytes(length: str | None, word: int) -> int:
    """Bytes of an integer with this length modifier (hh, h, l, ll, z)."""
    return {None: 4, "": 4, "h": 2, "hh": 1, "l": word, "z": word, "t": word, "ll": 8, "L": 8, "j": 8}[length]


def data_of(value: Value) -> bytes:
    """The bytes that a pointer in a format stands for: an array of the record."""
    return b"" if isinstance(value, (int, str)) else bytes(value)


def ipv4(value: Value) -> str:
    """%pI4."""
    data = value.to_bytes(4, "little") if isinstance(value, int) else data_of(value)
    return ".".join(str(byte) for byte in data[:4])


def ipv6_compressed(data: bytes) -> str:
    """%pI6c: RFC 5952, the last 32 bits dotted for mapped addresses; lib/vsprintf.c:ip6_compressed_string()."""
    words = [int.from_bytes(data[i : i + 2], "big") for i in range(0, 16, 2)]
    mapped = words[:5] == [0] * 5 and words[5] == 0xFFFF
    isatap = words[4] in (0, 0x0200) and words[5] == 0x5EFE
    dotted = mapped or isatap
    count = 6 if dotted else 8
    best, best_length = -1, 1
    start = 0
    while start < count:
        end = start
        while end < count and words[end] == 0:
            end += 1
        if end - start > best_length:
            best, best_length = start, end - start
        start = end + 1
    text, index, colon = "", 0, False
    while index < count:
        if index == best:
            text += "::" if colon or index == 0 else ":"
            text = text.replace(":::", "::")
            index += best_length
            colon = False
            continue
        text += (":" if colon else "") + f"{words[index]:x}"
        colon = True
        index += 1
    if dotted:
        text += (":" if colon else "") + ipv4(data[12:16])
    return text


def sockaddr(data: bytes) -> str:
    """%pISpc of a struct sockaddr_in or sockaddr_in6 (little or big endian family, network order port)."""
    family = data[0] or data[1]
    port = int.from_bytes(data[2:4], "big")
    if family == 2:
        return f"{ipv4(data[4:8])}:{port}"
    if family == 10:
        return f"[{ipv6_compressed(data[8:24])}]:{port}"
    return "(einval)"


def format_pointer(ext: str, value: Value, ctx: Addresses) -> str:
    """%p and its extensions.  lib/vsprintf.c:pointer()."""
    if ext.startswith(("I4", "i4")):
        return ipv4(value)
    if ext.startswith(("I6", "i6")):
        return (
            ipv6_compressed(data_of(value))
            if "c" in ext
            else ":".join(data_of(value)[i : i + 2].hex() for i in range(0, 16, 2))
        )
    if ext.startswith(("IS", "iS")):
        return sockaddr(data_of(value))
    if ext[:1] == "U":
        raw = data_of(value).hex()
        return "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:32]))
    if ext[:1] in ("M", "m"):
        return (":" if ext[0] == "M" else "").join(f"{byte:02x}" for byte in data_of(value)[:6])
    if not isinstance(value, int):
        return "(____ptrval____)"
    if ext[:1] in ("S", "F", "B"):
        return ctx.symbol_offset(value)
    if ext[:1] in ("s", "f"):
        return ctx.symbol_name(value)
    if ext[:1] == "x":
        return f"{value & ((1 << ctx.word * 8) - 1):0{ctx.word * 2}x}"
    return ctx.pointer(value)


def format_integer(spec: str, kind: str, size: int, value: Value) -> str:
    """%d %u %x %o with flags and width."""
    if not isinstance(value, int):
        value = int.from_bytes(value[:size], "little") if isinstance(value, (bytes, bytearray)) else 0
    if kind == "c":
        return (spec[:-1] + "s") % chr(value & 0xFF)
    value = as_signed(value, size) if kind in "di" else as_unsigned(value, size)
    if kind == "o" and "#" in spec:
        return str(spec.replace("#", "") % value)
    return str(spec % value)


FORMAT_HELPERS: dict[str, object] = {
    "as_signed": as_signed, "as_unsigned": as_unsigned, "c_div": c_div, "c_mod": c_mod, "print_flags": print_flags,
    "print_symbolic": print_symbolic, "print_hex": print_hex, "print_hex_str": print_hex_str,
    "print_array": print_array, "__get_str": get_str, "__get_dynamic_array": get_dynamic_array,
    "__get_dynamic_array_len": get_dynamic_array_len, "__get_bitmask": get_bitmask, "deref": deref,
    "text_of": text_of, "format_pointer": format_pointer, "format_integer": format_integer,
    "as_pointer": lambda value: value,
}  # fmt: skip

Printer = Callable[[bytes, Addresses], str]


def split_format(fmt: str, arguments: Sequence[str], word: int) -> list[str]:
    """The pieces of the text as Python expressions: literals and converted arguments."""
    pieces: list[str] = []
    queue = list(arguments)
    position = strings = 0
    while position < len(fmt):
        percent = fmt.find("%", position)
        if percent < 0:
            pieces.append(repr(fmt[position:]))
            break
        if percent > position:
            pieces.append(repr(fmt[position:percent]))
        match = CONVERSION.match(fmt, percent)
        if match is None:
            pieces.append(repr("%"))
            position = percent + 1
            continue
        position = match.end()
        if match["type"] == "%":
            pieces.append(repr("%"))
            continue
        width, precision = match["width"] or "", match["precision"]
        stars = [queue.pop(0) if part == "*" else part for part in (width, precision) if part is not None]
        if match["type"] == "p":
            ext = POINTER_EXT.match(fmt, position)
            position = ext.end() if ext else position
            text = f"format_pointer({ext[0] if ext else ''!r}, {queue.pop(0)}, ctx)"
            pieces.append(f"({'%' + match['flags'].replace('0', '') + width + 's'!r} % {text})" if width else text)
            continue
        value = queue.pop(0)
        dynamic = width == "*" or precision == "*"
        spec = "%" + match["flags"] + ("{}" if width == "*" else width)
        spec += ("." + ("{}" if precision == "*" else precision)) if precision is not None else ""
        named = [star for star, part in zip(stars, (width, precision)) if part == "*"]
        if match["type"] == "s":
            source = f"{spec + 's'!r}" + (f".format({', '.join(named)})" if dynamic else "")
            text = f"text_of({value}, ctx)" if spec == "%" else f"({source} % text_of({value}, ctx))"
            pieces.append(text if strings else f"ctx.first_string({text})")
            strings += 1
            continue
        kind = "d" if match["type"] in "iu" and match["type"] != "i" else match["type"]
        source = f"{spec + ('d' if match['type'] in 'iu' else match['type'])!r}"
        source += f".format({', '.join(named)})" if dynamic else ""
        kind = "u" if match["type"] == "u" else kind
        pieces.append(f"format_integer({source}, {kind!r}, {length_bytes(match['length'], word)}, {value})")
    return pieces


def compile_print_fmt(print_fmt: str, fields: Sequence[Field], byteorder: str, word: int) -> Printer:
    """The function that prints a record; raises PrintFormatError for a text it does not understand."""
    parser = _Parser(print_fmt, fields, word)
    fmt = parser.strings()
    arguments: list[str] = []
    while parser.peek() == ",":
        parser.take()
        arguments.append(parser.expression())
    if parser.tokens[parser.at][0] != "end":
        raise PrintFormatError(f"left over: {parser.peek()!r} in {print_fmt[-60:]!r}")
    pieces = split_format(fmt, arguments, word)
    lines = ["def printer(rec, ctx):"]
    lines += [f"    f_{name} = {reader_source(parser.fields[name], byteorder)}" for name in parser.used]
    lines.append(f"    return ''.join(({', '.join(pieces)},))" if pieces else "    return ''")
    namespace = dict(FORMAT_HELPERS)
    namespace["unpack_from"] = struct.unpack_from
    exec(compile("\n".join(lines), "<print fmt>", "exec"), namespace)
    printer: Printer = namespace["printer"]  # type: ignore[assignment]  # made by exec()
    return printer


def reader_source(field: Field, byteorder: str) -> str:
    """Python source that reads one field of `rec`."""
    order = "<" if byteorder == "little" else ">"
    if field.is_data_loc:
        return f"unpack_from('{order}I', rec, {field.offset})[0]"
    count = field.array_length
    unit = field.size // count if count else field.size
    if count and ("char" in field.type or field.type.startswith(("u8", "__u8", "uint8_t")) or unit not in (1, 2, 4, 8)):
        return f"rec[{field.offset}:{field.offset + field.size}]"
    code = (SIGNED_CODES if field.signed else UNSIGNED_CODES)[unit]
    if count:
        return f"unpack_from('{order}{count}{code}', rec, {field.offset})"
    return f"unpack_from('{order}{code}', rec, {field.offset})[0]"
