"""Filling an event record from the tracepoint's arguments.

The right-hand sides of TP_fast_assign are written as they are in C (`skb->dev->name`, `nr_bytes >> 9`,
`blk_fill_rwbs(rq->cmd_flags)`).  Each is compiled once, against the machine's C types, to Python that reads simulated
kernel memory.  Compilation waits for the first event, so an event whose structures a kernel lacks costs nothing.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence

from arch.ctype import ArrayType, CType, IntType, PointerType, StructType
from tracing.face import TraceHost
from tracing.record.fields import COMMON_SIZE, UNSIGNED_CODES, Field
from tracing.record.print_fmt import FORMAT_HELPERS, TOKEN, _Parser, c_div, c_mod
from tracing.record.reader import MACRO_MEMBERS, Reader

Assign = Callable[..., tuple[int, ...]]


class AssignError(Exception):
    """A right-hand side that cannot be compiled: a type or member is missing, or a typo."""


# What the calls in declarations return, where a member of it is asked for.
RETURN_TYPES = {
    "inet_sk": "struct inet_sock *",
    "tcp_sk": "struct tcp_sock *",
    "skb_shinfo": "struct skb_shared_info *",
}
SAME_POINTER = frozenset({"inet_sk", "tcp_sk"})  # casts in the kernel


class _AssignParser(_Parser):
    """The C expressions of a declaration, typed as far as `->` and `.` need it."""

    def __init__(self, text: str, params: dict[str, CType | None], host: TraceHost) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.fields = {}
        self.word = host.arch.model.word
        self.used = []
        self.params = params
        self.types = host.types
        self.getters: dict[str, object] = {}

    def typed(self) -> tuple[str, CType | None]:
        """primary followed by -> . [ ] suffixes."""
        source, ctype = self.typed_primary()
        while self.peek() in ("->", ".", "["):
            if self.take() == "[":
                source, ctype = f"({source})[{self.expression()}]", None
                self.take("]")
                continue
            source, ctype = self.follow(source, ctype, self.take())
        return source, ctype

    def follow(self, source: str, ctype: CType | None, path: str) -> tuple[str, CType | None]:
        """`source->path`, with the rest of a by-value chain (`a.b.c`) taken along."""
        struct = pointed_struct(ctype)
        if struct is None:
            raise AssignError(f"{source} is not a pointer to a struct, in {self.text!r}")
        while self.peek() == ".":
            self.take()
            path += "." + self.take()
        path = MACRO_MEMBERS.get(path, path)
        member = self.types.resolve(f"{struct.kind} {struct.name}", path)
        target = member.type.strip
        if isinstance(target, ArrayType):
            # decays to bytes for char, to the address otherwise
            if isinstance(target.elem.strip, IntType) and target.elem.strip.size == 1:
                return f"rb({source} + {member.offset}, {target.size})", None
            return f"({source} + {member.offset})", None
        if isinstance(target, StructType):
            return f"({source} + {member.offset})", PointerType(target)
        if member.bit_size:
            name = f"g{len(self.getters)}"
            self.getters[name] = self.types.getter(f"{struct.kind} {struct.name}", path)
            return f"{name}(mem, {source})", None
        read = f"ru({source} + {member.offset}, {target.size})"
        if isinstance(target, IntType) and target.signed:
            read = f"as_signed({read}, {target.size})"
        return read, target

    def typed_primary(self) -> tuple[str, CType | None]:
        """A parameter, a call, `current`, a number or parentheses, with its C type where that is known."""
        kind, value = self.tokens[self.at]
        if value == "(" and kind == "op":
            if self.is_type():
                return self.cast(), None
            self.take()
            inner = self.expression()
            self.take(")")
            return f"({inner})", None
        if kind == "name":
            self.take()
            if self.peek() == "(":
                return self.call(value)
            if value == "current":
                return self.current()
            if value in self.params:
                return f"a_{value}", self.params[value]
            if value == "jiffies":
                return "k.jiffies", None
            raise AssignError(f"unknown name {value!r} in {self.text!r}")
        return super().primary(), None

    def current(self) -> tuple[str, CType | None]:
        """`current`, and `current->comm` without going through memory."""
        if self.peek() == "->" and self.peek(1) == "comm":
            self.take()
            self.take()
            return "k.host.current_comm().encode('latin-1')", None
        return "k.host.current_struct()", self.types.type("struct task_struct *")

    def call(self, name: str) -> tuple[str, CType | None]:
        """A method of the Reader; its type where a member of the result may follow."""
        self.take("(")
        arguments = self.arguments()
        ctype = self.types.type(RETURN_TYPES[name]) if name in RETURN_TYPES else None
        if name in SAME_POINTER:
            return arguments[0], ctype
        return f"k.{name}({', '.join(arguments)})", ctype

    def postfix(self) -> str:
        """Here members are typed."""
        return self.typed()[0]

    def unary(self) -> str:
        """Here `*pointer` reads as much as the type says."""
        if self.peek() == "*" and self.tokens[self.at][0] == "op":
            self.take()
            source, ctype = self.typed()
            target = ctype.strip if ctype is not None else None
            size = target.target.strip.size if isinstance(target, PointerType) else 8
            return f"ru({source}, {size})"
        return super().unary()


def tokenize(text: str) -> list[tuple[str, str]]:
    """As the print fmt's tokens.  AssignError."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(text.rstrip()):
        match = TOKEN.match(text, position)
        if match is None:
            raise AssignError(f"cannot read {text[position:]!r}")
        kind = match.lastgroup or ""
        tokens.append((kind, match[kind]))
        position = match.end()
    return [*tokens, ("end", "")]


def pointed_struct(ctype: CType | None) -> StructType | None:
    """The struct a type points to, None for anything else."""
    stripped = ctype.strip if ctype is not None else None
    target = stripped.target.strip if isinstance(stripped, PointerType) else None
    return target if isinstance(target, StructType) else None


def split_proto(proto: str) -> list[tuple[str, str]]:
    """`struct task_struct *p, int cpu` -> [("struct task_struct *", "p"), ("int", "cpu")]."""
    out = []
    for part in filter(None, (piece.strip() for piece in proto.split(","))):
        match = re.match(r"(.*?)(\w+)$", part)
        if match is None:
            raise AssignError(f"not a parameter: {part!r}")
        out.append((match[1].strip(), match[2]))
    return out


def param_types(proto: str, host: TraceHost) -> dict[str, CType | None]:
    """The parameters by name; only pointers to structures need a type."""
    out: dict[str, CType | None] = {}
    for ctype, name in split_proto(proto):
        plain = re.sub(r"\bconst\b", "", ctype).strip()
        known = re.fullmatch(r"struct \w+ ?\*", plain) or plain in ("ktime_t *",)
        out[name] = host.types.type(plain) if known else None
    return out


def compile_sources(sources: Sequence[str], proto: str, host: TraceHost) -> tuple[list[str], str, dict[str, object]]:
    """The right-hand sides as Python source, the parameter list, and the names that source uses."""
    params = param_types(proto, host)
    expressions: list[str] = []
    namespace: dict[str, object] = {name: FORMAT_HELPERS[name] for name in ("as_signed", "as_unsigned", "as_pointer")}
    for source in sources:
        parser = _AssignParser(source, params, host)
        parser.getters = namespace
        expressions.append(parser.expression())
        if parser.tokens[parser.at][0] != "end":
            raise AssignError(f"left over {parser.peek()!r} in {source!r}")
    mem = host.mem
    namespace.update(k=Reader(host), mem=mem, ru=mem.read_uint, rb=mem.read, c_div=c_div, c_mod=c_mod)
    return expressions, ", ".join(f"a_{name}" for name in params), namespace


def compile_assign(sources: Sequence[str], proto: str, host: TraceHost) -> Assign:
    """One function (arguments of the proto) -> tuple of the values."""
    expressions, names, namespace = compile_sources(sources, proto, host)
    body = f"def assign({names}):\n    return ({''.join(e + ', ' for e in expressions)})"
    exec(compile(body, "<assign>", "exec"), namespace)
    assign: Assign = namespace["assign"]  # type: ignore[assignment]  # made by exec()
    return assign


def compile_record(
    entry: Sequence[tuple[Field, str]], proto: str, host: TraceHost, byteorder: str
) -> Callable[..., bytes]:
    """One function (header, arguments of the proto) -> the whole record: assign and pack in one.

    Fixed fields go where their offsets say, dynamic strings follow them.  What the C compiler makes of TP_fast_assign.
    """
    expressions, names, namespace = compile_sources([source for _, source in entry], proto, host)
    code = ["<" if byteorder == "little" else ">"]
    values: list[str] = []
    tails: list[str] = []
    position = COMMON_SIZE
    for (field, _), expression in zip(entry, expressions):
        code.append(f"{field.offset - position}x" if field.offset > position else "")
        position = field.offset + field.size
        if field.is_data_loc:
            tails.append(expression)
            values.append(f"len(s{len(tails) - 1}) << 16 | l{len(tails) - 1}")
            code.append("I")
            continue
        count = field.array_length
        unit = field.size // count if count else field.size
        if count and unit == 1:
            code.append(f"{field.size}s")
            whole = expression.startswith("rb(") or "char" not in field.type
            values.append(expression if whole else f"fixed({expression}, {field.size})")
            continue
        mask = hex((1 << 8 * unit) - 1)
        code.append(f"{count or ''}{UNSIGNED_CODES[unit]}")
        values.append(f"*[v & {mask} for v in {expression}]" if count else f"{expression} & {mask}")
    layout = struct.Struct("".join(code))
    lines = [f"def record(header, {names}):" if names else "def record(header):"]
    location = str(COMMON_SIZE + layout.size)
    for index, expression in enumerate(tails):
        lines.append(f"    s{index} = string({expression}); l{index} = {location}")
        location = f"l{index} + len(s{index})"
    tail = "".join(f" + s{index}" for index in range(len(tails)))
    lines.append(f"    return header + pack({', '.join(values)}){tail}")
    reader = Reader(host)
    namespace.update(pack=layout.pack, fixed=reader.fixed, string=reader.string)
    exec(compile("\n".join(lines), "<record>", "exec"), namespace)
    record: Callable[..., bytes] = namespace["record"]  # type: ignore[assignment]  # made by exec()
    return record
