"""Fetch arguments of probe events: `a=+8(%di):u32`, parsed and compiled.  kernel/trace/trace_probe.c, trace_probe_tmpl.h.

The parser follows the kernel's order of checks and places each error at the kernel's column.  A parsed argument is a
list of fetch instructions, as there; `compile_fetch` turns it into one Python function of the probe's context.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from arch.abi.errno import E2BIG, EINVAL, ENOENT, ENOSPC, ERANGE
from arch.errors import Fault, KernelError
from tracing.record.fields import c_string

if TYPE_CHECKING:
    from tracing.face import Mem
    from tracing.system import Tracing

MAX_ARGSTR_LEN, MAX_ARG_NAME_LEN, MAX_ARRAY_LEN = 63, 32, 64
MAX_TRACE_ARGS = 128
MAX_PROBE_EVENT_SIZE = 3072
MAX_STRING_SIZE = 4096
FETCH_INSN_MAX = 16
THREAD_SIZE = 16384
RESERVED_NAMES = frozenset({
    "common_type", "common_flags", "common_preempt_count", "common_pid", "common_tgid",
    "__probe_ip", "__probe_ret_ip", "__probe_func",
})  # fmt: skip

# trace_probe.h:ERRORS
MESSAGES: Mapping[str, str] = {
    "FILE_NOT_FOUND": "Failed to find the given file",
    "NO_REGULAR_FILE": "Not a regular file",
    "BAD_REFCNT": "Invalid reference counter offset",
    "REFCNT_OPEN_BRACE": "Reference counter brace is not closed",
    "BAD_REFCNT_SUFFIX": "Reference counter has wrong suffix",
    "BAD_UPROBE_OFFS": "Invalid uprobe offset",
    "MAXACT_NO_KPROBE": "Maxactive is not for kprobe",
    "BAD_MAXACT": "Invalid maxactive number",
    "MAXACT_TOO_BIG": "Maxactive is too big",
    "BAD_PROBE_ADDR": "Invalid probed address or symbol",
    "NON_UNIQ_SYMBOL": "The symbol is not unique",
    "BAD_RETPROBE": "Retprobe address must be an function entry",
    "BAD_ADDR_SUFFIX": "Invalid probed address suffix",
    "NO_GROUP_NAME": "Group name is not specified",
    "GROUP_TOO_LONG": "Group name is too long",
    "BAD_GROUP_NAME": "Group name must follow the same rules as C identifiers",
    "NO_EVENT_NAME": "Event name is not specified",
    "EVENT_TOO_LONG": "Event name is too long",
    "BAD_EVENT_NAME": "Event name must follow the same rules as C identifiers",
    "EVENT_EXIST": "Given group/event name is already used by another event",
    "RETVAL_ON_PROBE": "$retval is not available on probe",
    "BAD_STACK_NUM": "Invalid stack number",
    "BAD_ARG_NUM": "Invalid argument number",
    "BAD_VAR": "Invalid $-variable specified",
    "BAD_REG_NAME": "Invalid register name",
    "BAD_MEM_ADDR": "Invalid memory address",
    "BAD_IMM": "Invalid immediate value",
    "IMMSTR_NO_CLOSE": "String is not closed with '\"'",
    "FILE_ON_KPROBE": "File offset is not available with kprobe",
    "BAD_FILE_OFFS": "Invalid file offset value",
    "SYM_ON_UPROBE": "Symbol is not available with uprobe",
    "TOO_MANY_OPS": "Dereference is too much nested",
    "DEREF_NEED_BRACE": "Dereference needs a brace",
    "BAD_DEREF_OFFS": "Invalid dereference offset",
    "DEREF_OPEN_BRACE": "Dereference brace is not closed",
    "COMM_CANT_DEREF": "$comm can not be dereferenced",
    "BAD_FETCH_ARG": "Invalid fetch argument",
    "ARRAY_NO_CLOSE": "Array is not closed",
    "BAD_ARRAY_SUFFIX": "Array has wrong suffix",
    "BAD_ARRAY_NUM": "Invalid array size",
    "ARRAY_TOO_BIG": "Array number is too big",
    "BAD_TYPE": "Unknown type is specified",
    "BAD_STRING": "String accepts only memory argument",
    "BAD_SYMSTRING": "Symbol String doesn't accept data/userdata",
    "BAD_BITFIELD": "Invalid bitfield",
    "ARG_NAME_TOO_LONG": "Argument name is too long",
    "NO_ARG_NAME": "Argument name is not specified",
    "BAD_ARG_NAME": "Argument name must follow the same rules as C identifiers",
    "USED_ARG_NAME": "This argument name is already used",
    "ARG_TOO_LONG": "Argument expression is too long",
    "NO_ARG_BODY": "No argument expression",
    "BAD_INSN_BNDRY": "Probe point is not an instruction boundary",
    "FAIL_REG_PROBE": "Failed to register probe event",
    "DIFF_PROBE_TYPE": "Probe type is different from existing probe",
    "DIFF_ARG_TYPE": "Argument type or name is different from existing probe",
    "SAME_PROBE": "There is already the exact same probe event",
    "EVENT_TOO_BIG": "Event too big (too many fields?)",
}


class ProbeError(KernelError):
    """A definition is refused; `code` names the message of error_log, at `position` of the current word."""

    def __init__(self, code: str, position: int, errno: int = EINVAL) -> None:
        super().__init__(errno, MESSAGES.get(code, code))
        self.code = code
        self.position = position


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


def fetch_types(word: int) -> dict[str, FetchType]:
    """probe_fetch_types[] of 6.1."""
    string = FetchType("string", 4, True, '\\"%s\\"', "__data_loc char[]", True, "string")
    types = {name: FetchType(name, 4, True, string.fmt, string.fmttype, True, "string")
             for name in ("string", "ustring", "symstr")}  # fmt: skip
    for kind in "usx":
        for bits in (8, 16, 32, 64):
            types[f"{kind}{bits}"] = _integer(f"{kind}{bits}", bits, kind)
    types["symbol"] = FetchType("symbol", word, False, "%pS", f"u{8 * word}", print="symbol")
    return types


def fetch_types_4_1(word: int) -> dict[str, FetchType]:
    """The table of 4.1: unsigned values print as hex, no x8...x64, no ustring, no symbol."""
    types = {"string": FetchType("string", 4, True, '\\"%s\\"', "__data_loc char[]", True, "string")}
    types["string_size"] = FetchType("string_size", 4, False, '\\"%s\\"', "u32", print="0x%x")
    for bits in (8, 16, 32, 64):
        hexadecimal = _integer(f"u{bits}", bits, "x")
        types[f"u{bits}"] = hexadecimal
        types[f"s{bits}"] = _integer(f"s{bits}", bits, "s")
    return types


@dataclass(slots=True)
class Op:
    """One fetch instruction.  `offset` is used by deref and store; `user` reads user memory."""

    op: str  # reg stack stackp retval comm arg imm foffs data sym deref / store kinds
    param: Any = 0
    offset: int = 0
    user: bool = False


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
        return self.type.is_string

    @property
    def size(self) -> int:
        return self.type.size * (self.count or 1)

    @property
    def ctype(self) -> str:
        return f"{self.type.fmttype}[{self.count}]" if self.count else self.type.fmttype


# Numbers, as lib/kstrtox.c reads them.


def kstrto(text: str, base: int, bits: int, signed: bool) -> int:
    """kstrtoul()/kstrtol(): the whole text, one trailing newline allowed.  EINVAL, ERANGE."""
    text = text.removesuffix("\n")
    negative = signed and text.startswith("-")
    digits = text[1:] if text[:1] == "+" or negative else text
    if base == 0:
        base = 10
        if digits[:1] == "0":
            base = 16 if re.match(r"0[xX][0-9a-fA-F]", digits) else 8
    if base == 16 and digits[:2].lower() == "0x":
        digits = digits[2:]
    allowed = "0123456789abcdef"[:base]
    if not digits or any(char not in allowed for char in digits.lower()):
        raise KernelError(EINVAL, f"not a number: {text!r}")
    value = int(digits, base)
    if value >> 64:
        raise KernelError(ERANGE, f"{text} is too big")
    if signed:
        if value > (1 << (bits - 1)) - (0 if negative else 1):
            raise KernelError(ERANGE, f"{text} is too big")
        return -value if negative else value
    if value >> bits:
        raise KernelError(ERANGE, f"{text} is too big")
    return value


def simple_strtoul(text: str) -> tuple[int, str]:
    """Value and rest; base from the prefix."""
    match = re.match(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*", text)
    if match is None:
        return 0, text
    digits = match[0]
    return int(digits, 8 if re.fullmatch(r"0[0-7]+", digits) else 0), text[match.end() :]


def is_good_name(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None


class FetchParser:
    """Parses the arguments of one definition."""

    def __init__(self, tracing: Tracing, kernel: bool, is_return: bool, on_entry: bool = False) -> None:
        self.tracing = tracing
        self.arch = tracing.host.arch
        self.word = tracing.word
        self.kernel = kernel
        self.is_return = is_return
        self.on_entry = on_entry
        self.types = fetch_types(tracing.word)
        self.default = f"x{8 * self.word}"
        self.size = 0  # of the fixed part so far

    def find_type(self, name: str | None) -> FetchType | None:
        if name is None:
            return self.types[self.default]
        if name[:1] == "b":
            slash = name.find("/")
            if slash < 0:
                return None
            try:
                bits = kstrto(name[slash + 1 :], 0, 64, False)
            except KernelError:
                return None
            return self.types.get(f"u{bits}") if bits in (8, 16, 32, 64) else None
        return self.types.get(name)

    def parse(self, index: int, text: str, earlier: list[ProbeArg]) -> ProbeArg:
        """traceprobe_parse_probe_arg()."""
        name, equals, body = text.partition("=")
        if equals:
            if len(name) > MAX_ARG_NAME_LEN:
                raise ProbeError("ARG_NAME_TOO_LONG", 0)
            if not name:
                raise ProbeError("NO_ARG_NAME", 0)
            start = len(name) + 1
        else:
            name, body, start = f"arg{index + 1}", text, 0
        if not is_good_name(name):
            raise ProbeError("BAD_ARG_NAME", 0)
        if name in RESERVED_NAMES or any(arg.name == name for arg in earlier):
            raise ProbeError("USED_ARG_NAME", 0)
        return self.body(name, body, start)

    def body(self, name: str, text: str, start: int) -> ProbeArg:
        """traceprobe_parse_probe_arg_body()."""
        if len(text) > MAX_ARGSTR_LEN:
            raise ProbeError("ARG_TOO_LONG", start)
        if not text:
            raise ProbeError("NO_ARG_BODY", start)
        expression, type_name, count, type_at = self.split_type(text, start)
        immediate_string = expression in ("$comm", "$COMM") or expression.startswith('\\"')
        if immediate_string:
            if count or (type_name is not None and type_name != "string"):
                raise KernelError(EINVAL, "$comm and immediate strings are strings")
            kind = self.types.get("string")
        else:
            kind = self.find_type(type_name)
        if kind is None:
            raise ProbeError("BAD_TYPE", type_at if type_name is not None else start)
        arg = ProbeArg(name, text, kind, count, self.size)
        self.size += arg.size
        if self.size > MAX_PROBE_EVENT_SIZE:
            raise ProbeError("EVENT_TOO_BIG", start, E2BIG)
        arg.ops = self.expression(expression, start, [])
        self.choose_store(arg, type_name, start, type_at)
        return arg

    def split_type(self, text: str, start: int) -> tuple[str, str | None, int, int]:
        """`expr:type[count]` -> expression, type, count, column of the type."""
        colon = text.find(":")
        if colon < 0:
            return text, None, 0, start
        expression, type_name = text[:colon], text[colon + 1 :]
        type_at = start + colon + 1
        bracket = type_name.find("[")
        if bracket < 0:
            return expression, type_name, 0, type_at
        number = type_name[bracket + 1 :]
        number_at = type_at + bracket + 1
        close = number.find("]")
        if close < 0:
            raise ProbeError("ARRAY_NO_CLOSE", number_at + len(number))
        if number[close + 1 :]:
            raise ProbeError("BAD_ARRAY_SUFFIX", number_at + close + 1)
        try:
            count = kstrto(number[:close], 0, 32, False)
        except KernelError:
            count = 0
        if not count:
            raise ProbeError("BAD_ARRAY_NUM", number_at)
        if count > MAX_ARRAY_LEN:
            raise ProbeError("ARRAY_TOO_BIG", number_at)
        return expression, type_name[:bracket], count, type_at

    def push(self, ops: list[Op], op: Op, position: int) -> None:
        """The kernel's array holds 15 instructions and an end mark."""
        if len(ops) >= FETCH_INSN_MAX - 1:
            raise ProbeError("TOO_MANY_OPS", position)
        ops.append(op)

    def expression(self, text: str, at: int, ops: list[Op]) -> list[Op]:
        """parse_probe_arg()."""
        first = text[:1]
        if first == "$":
            self.push(ops, self.variable(text[1:], at), at)
        elif first == "%":
            if text[1:] not in self.arch.kprobe_registers:
                raise ProbeError("BAD_REG_NAME", at)
            self.push(ops, Op("reg", self.arch.kprobe_registers[text[1:]]), at)
        elif first == "@":
            self.memory(text, at, ops)
        elif first in ("+", "-") and first:
            self.dereference(text, at, ops)
        elif first == "\\":
            self.immediate(text, at, ops)
        else:
            raise ProbeError("BAD_FETCH_ARG", at)
        return ops

    def variable(self, name: str, at: int) -> Op:
        """parse_probe_vars()."""
        if name == "retval":
            if not self.is_return:
                raise ProbeError("RETVAL_ON_PROBE", at)
            return Op("retval")
        if name.startswith("stack"):
            return self.stack_variable(name[5:], at)
        if name in ("comm", "COMM"):
            return Op("comm")
        if self.kernel and self.on_entry and not self.is_return and name.startswith("arg"):
            try:
                number = kstrto(name[3:], 10, 64, False)
            except KernelError:
                raise ProbeError("BAD_VAR", at) from None
            if not number or number > THREAD_SIZE // self.word:
                raise ProbeError("BAD_ARG_NUM", at)
            return Op("arg", number - 1)
        raise ProbeError("BAD_VAR", at)

    def stack_variable(self, rest: str, at: int) -> Op:
        if not rest:
            return Op("stackp")
        if not rest[0].isdigit():
            raise ProbeError("BAD_VAR", at)
        try:
            number = kstrto(rest, 10, 64, False)
        except KernelError:
            raise ProbeError("BAD_VAR", at) from None
        if self.kernel and number > THREAD_SIZE // self.word:
            raise ProbeError("BAD_STACK_NUM", at)
        return Op("stack", number)

    def memory(self, text: str, at: int, ops: list[Op]) -> None:
        """@ADDR, @SYM[+-OFF], @+OFF."""
        rest = text[1:]
        if rest[:1].isdigit():
            try:
                address = kstrto(rest, 0, 8 * self.word, False)
            except KernelError as error:
                raise ProbeError("BAD_MEM_ADDR", at, error.errno) from None
            self.push(ops, Op("imm", address), at)
        elif rest[:1] == "+":
            if self.kernel:
                raise ProbeError("FILE_ON_KPROBE", at)
            try:
                offset = kstrto(rest[1:], 0, 8 * self.word, True)
            except KernelError as error:
                raise ProbeError("BAD_FILE_OFFS", at, error.errno) from None
            self.push(ops, Op("foffs", offset), at)
        else:
            if not self.kernel:
                raise ProbeError("SYM_ON_UPROBE", at)
            self.push(ops, Op("sym", rest), at)
            self.push(ops, Op("imm", 0), at)
        self.push(ops, Op("deref"), at)

    def dereference(self, text: str, at: int, ops: list[Op]) -> None:
        """+OFF(FETCH), -OFF(FETCH), +uOFF(FETCH)."""
        user = text[1:2] == "u"
        if user:
            text = text[0] + text[2:]
        plus = text[0] == "+"
        rest = text[1:] if plus else text
        brace = rest.find("(")
        if brace < 0:
            raise ProbeError("DEREF_NEED_BRACE", at)
        try:
            offset = kstrto(rest[:brace], 0, 8 * self.word, True)
        except KernelError as error:
            raise ProbeError("BAD_DEREF_OFFS", at, error.errno) from None
        inner_at = at + brace + 1 + (1 if rest[:1] != "-" else 0)
        inner = rest[brace + 1 :]
        close = inner.rfind(")")
        if close < 0:
            raise ProbeError("DEREF_OPEN_BRACE", inner_at + len(inner))
        self.expression(inner[:close], inner_at, ops)
        if ops[-1].op in ("comm", "data"):
            raise ProbeError("COMM_CANT_DEREF", inner_at)
        self.push(ops, Op("deref", 0, offset, user), inner_at)

    def immediate(self, text: str, at: int, ops: list[Op]) -> None:
        rest = text[1:]
        if rest[:1] == '"':
            body = rest[1:]
            if not body.endswith('"'):
                raise ProbeError("IMMSTR_NO_CLOSE", at + 2 + len(body))
            self.push(ops, Op("data", body[:-1].encode("latin-1")), at)
            return
        try:
            if rest[:1].isdigit():
                value = kstrto(rest, 0, 8 * self.word, False)
            elif rest[:1] == "-":
                value = kstrto(rest, 0, 8 * self.word, True)
            elif rest[:1] == "+":
                value = kstrto(rest[1:], 0, 8 * self.word, True)
            else:
                raise KernelError(EINVAL)
        except KernelError as error:
            raise ProbeError("BAD_IMM", at + 1, error.errno) from None
        self.push(ops, Op("imm", value), at)

    def choose_store(self, arg: ProbeArg, type_name: str | None, start: int, type_at: int) -> None:
        """The store, bit-field and loop part of traceprobe_parse_probe_arg_body()."""
        ops, kind = arg.ops, arg.type
        last = ops[-1]
        at = type_at if type_name is not None else start
        used = len(ops)
        if kind.is_string:
            used += self.choose_string_store(arg, at)
        elif last.op == "deref":
            arg.store, arg.store_offset, arg.store_user = "mem", last.offset, last.user
            ops.pop()
        else:
            arg.store = "raw"
            used += 1
        if used > FETCH_INSN_MAX - 1:
            raise ProbeError("TOO_MANY_OPS", start)
        if type_name is not None and type_name[:1] == "b":
            arg.bits = self.bitfield(type_name, kind, type_at)
            used += 1
        if arg.count:
            if arg.store not in ("mem", "string") or (arg.store == "mem" and arg.store_user):
                raise ProbeError("BAD_STRING", at)
            if used + 1 > FETCH_INSN_MAX - 1:
                raise ProbeError("TOO_MANY_OPS", start)

    def choose_string_store(self, arg: ProbeArg, at: int) -> int:
        """Which memory a string comes from; the answer is the number of extra instructions."""
        ops, kind = arg.ops, arg.type
        last = ops[-1]
        if kind.name == "symstr":
            if last.op not in ("reg", "stack", "retval", "arg", "deref") or (last.op == "deref" and last.user):
                raise ProbeError("BAD_SYMSTRING", at)
            arg.store = "symstr"
            return 1
        if last.op not in ("deref", "imm", "comm", "data"):
            raise ProbeError("BAD_STRING", at)
        arg.store = "string"
        if last.op != "deref" or arg.count:
            arg.store_user = kind.name == "ustring"
            return 1
        arg.store_offset = last.offset
        arg.store_user = last.user or kind.name == "ustring"
        ops.pop()
        return 0

    def bitfield(self, text: str, kind: FetchType, at: int) -> tuple[int, int]:
        """__parse_bitfield_probe_arg()."""
        width, rest = simple_strtoul(text[1:])
        if not width or rest[:1] != "@":
            raise ProbeError("BAD_BITFIELD", at)
        after = rest[1:]
        offset, rest = simple_strtoul(after)
        if rest == after or rest[:1] != "/":
            raise ProbeError("BAD_BITFIELD", at)
        bits = 8 * kind.size
        if bits < width + offset:
            raise ProbeError("BAD_BITFIELD", at)
        return bits - (width + offset), bits - width

    def resolve_symbols(self, args: list[ProbeArg]) -> None:
        """traceprobe_update_arg(): addresses of @SYM; ENOENT."""
        for arg in args:
            for index, op in enumerate(arg.ops):
                if op.op == "sym":
                    name, offset = split_symbol_offset(op.param, 8 * self.word)
                    address = self.tracing.host.symbols.address(name)
                    if address is None:
                        raise KernelError(ENOENT, f"no symbol {name}")
                    arg.ops[index + 1].param = address + offset


def split_symbol_offset(text: str, bits: int) -> tuple[str, int]:
    """traceprobe_split_symbol_offset()."""
    match = re.search(r"[+-]", text)
    if match is None:
        return text, 0
    return text[: match.start()], kstrto(text[match.start() :], 0, bits, True)


class FetchParser41(FetchParser):
    """The grammar of 4.1: fewer variables and types, other errors and no columns.  v4.1 trace_probe.c."""

    def __init__(self, tracing: Tracing, kernel: bool, is_return: bool, on_entry: bool = False) -> None:
        super().__init__(tracing, kernel, is_return, on_entry)
        self.types = fetch_types_4_1(tracing.word)
        self.default = f"u{8 * self.word}"

    def body(self, name: str, text: str, start: int) -> ProbeArg:
        if len(text) > MAX_ARGSTR_LEN:
            raise KernelError(ENOSPC, f"Argument is too long.: {text}")
        if "[" in text or text[:1] == "\\" or text in ("$comm", "$COMM") or text[1:2] == "u":
            raise KernelError(EINVAL, f"Parse error at argument. {text}")
        return super().body(name, text, start)

    def variable(self, name: str, at: int) -> Op:
        if name in ("comm", "COMM") or name.startswith("arg"):
            raise ProbeError("BAD_VAR", at)
        return super().variable(name, at)

    def memory(self, text: str, at: int, ops: list[Op]) -> None:
        if not text[1:2].isdigit() and "-" in text:
            raise KernelError(EINVAL, "no negative offset of a symbol in this version")
        super().memory(text, at, ops)


# Running


class FetchContext:
    """Where a probe's arguments come from at a hit."""

    def __init__(self, tracing: Tracing, kernel: bool) -> None:
        host = tracing.host
        self.tracing = tracing
        self.host = host
        self.arch = host.arch
        self.mem: Mem = host.mem
        self.layout = host.arch.pt_regs_for(host.version)
        self.kernel = kernel
        self.base = 0  # uprobes: where the file is mapped, for @+OFF

    def read(self, addr: int, size: int, user: bool) -> bytes:
        """probe_mem_read(): kernel memory, and user memory where asked for or where the address can only be that."""
        addr &= (1 << 8 * self.tracing.word) - 1
        if not user and self.kernel:
            try:
                return self.mem.read(addr, size)
            except Fault:
                pass
        memory = self.host.user_mem()
        if memory is None:
            raise Fault(addr)
        return memory.read(addr, size)

    def word(self, addr: int, user: bool = False) -> int:
        return int.from_bytes(self.read(addr, self.tracing.word, user), self.tracing.byteorder)

    def string(self, addr: int, user: bool) -> bytes | None:
        """A NUL-terminated string with its NUL; None for a fault."""
        data = bytearray()
        while len(data) < MAX_STRING_SIZE:
            room = 64 - (addr + len(data)) % 64
            try:
                chunk = self.read(addr + len(data), room, user)
            except Fault:
                pieces = self._bytewise(addr + len(data), room, user)
                if pieces is None:
                    return None
                chunk = pieces
            end = chunk.find(0)
            if end >= 0:
                return bytes(data + chunk[: end + 1])
            data += chunk
        return bytes(data[: MAX_STRING_SIZE - 1]) + b"\0"

    def _bytewise(self, addr: int, room: int, user: bool) -> bytes | None:
        out = b""
        try:
            for index in range(room):
                out += self.read(addr + index, 1, user)
                if out.endswith(b"\0"):
                    break
        except Fault:
            return None
        return out


Fetch = Callable[[int], Any]


def compile_base(op: Op, ctx: FetchContext) -> Fetch:
    """The first stage: a value from registers, stack, a constant."""
    mem, layout, arch = ctx.mem, ctx.layout, ctx.arch
    kind, param = op.op, op.param
    if kind in ("reg", "retval"):
        row = layout.fields[param if kind == "reg" else arch.return_value]
        return lambda regs: mem.read_uint(regs + row.offset, row.size)
    sp = layout.fields[arch.stack_pointer]
    if kind == "stackp":
        return lambda regs: mem.read_uint(regs + sp.offset, sp.size)
    if kind == "stack":
        return lambda regs: ctx.word(mem.read_uint(regs + sp.offset, sp.size) + param * arch.word)
    if kind == "arg":
        return lambda regs: arch.argument(mem, regs, param, layout)
    if kind == "imm":
        return lambda regs: param
    if kind == "foffs":
        return lambda regs: ctx.base + param
    if kind == "comm":
        return lambda regs: ctx.host.current_comm().encode("latin-1")[:15] + b"\0"
    return lambda regs: bytes(param) + b"\0"  # data


def compile_fetch(arg: ProbeArg, ctx: FetchContext) -> Callable[[int], tuple[Any, ...]]:
    """The function (pt_regs) -> values of the argument, one or `count`; strings as bytes with NUL, None for a fault."""
    ops = [op for op in arg.ops if op.op != "sym"]
    base = compile_base(ops[0], ctx)
    derefs = [(op.offset, op.user) for op in ops[1:]]
    if arg.type.is_string:
        return _compile_string(arg, base, derefs, ctx)
    size, count, offset, user = arg.type.size, arg.count or 1, arg.store_offset, arg.store_user
    bits, order = arg.bits, ctx.tracing.byteorder
    mask = (1 << 8 * size) - 1

    def window(value: int) -> int:
        value &= mask
        return value if bits is None else (value << bits[0] & mask) >> bits[1]

    if arg.store == "raw":

        def raw(regs: int) -> tuple[Any, ...]:
            try:
                value = base(regs)
                for step, from_user in derefs:
                    value = ctx.word(value + step, from_user)
            except Fault:
                return (0,)
            return (window(value),)

        return raw

    def memory(regs: int) -> tuple[Any, ...]:
        try:
            value = base(regs)
            for step, from_user in derefs:
                value = ctx.word(value + step, from_user)
        except Fault:
            return (0,) * count
        out = []
        for index in range(count):
            try:
                data = ctx.read(value + offset + index * size, size, user)
            except Fault:
                data = bytes(size)
            out.append(window(int.from_bytes(data, order)))
        return tuple(out)

    return memory


def _compile_string(
    arg: ProbeArg, base: Fetch, derefs: list[tuple[int, bool]], ctx: FetchContext
) -> Callable[[int], tuple[Any, ...]]:
    word = ctx.tracing.word
    first = arg.ops[0].op

    def finish(value: int) -> bytes | None:
        if arg.store == "symstr":
            return ctx.tracing.print_context.symbol_offset(value).encode() + b"\0"
        return ctx.string(value + arg.store_offset, arg.store_user)

    def fetch(regs: int) -> tuple[Any, ...]:
        value = base(regs)
        if first in ("comm", "data"):
            return (value,)
        try:
            for step, from_user in derefs[: -1 if arg.count else None]:
                value = ctx.word(value + step, from_user)
            if not arg.count:
                return (finish(value),)
            step, from_user = derefs[-1]
            return tuple(finish(ctx.word(value + step + index * word, from_user)) for index in range(arg.count))
        except Fault:
            return (None,) * (arg.count or 1)

    return fetch


def print_values(arg: ProbeArg, values: list[Any], ctx: Any) -> str:
    """print_probe_args() for one argument."""
    texts = []
    for value in values:
        if arg.type.print == "string":
            texts.append("(fault)" if value is None else f'"{c_string(value)}"')
        elif arg.type.print == "symbol":
            texts.append(ctx.symbol_offset(value))
        else:
            if arg.type.signed:
                bits = 8 * arg.type.size
                value = value - (1 << bits) if value >> (bits - 1) else value
            texts.append(arg.type.print % value)
    return "{" + ",".join(texts) + "}" if arg.count else texts[0]
