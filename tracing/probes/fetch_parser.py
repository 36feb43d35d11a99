"""Fetch arguments of probe events, parsed: `a=+8(%di):u32`.  kernel/trace/trace_probe.c.

The parser follows the kernel's order of checks and places each error at the kernel's column.  A parsed argument is a
list of fetch instructions, as there; tracing/probes/fetch.py makes a function of them.
"""

from __future__ import annotations

import re

from arch.abi.errno import E2BIG, EINVAL, ENOENT, ENOSPC
from arch.cstring import kstrto
from arch.errors import KernelError
from tracing.board import Board
from tracing.probes import btf_args
from tracing.probes.args import FetchType, Op, ProbeArg, fetch_types, fetch_types_4_1
from tracing.probes.errors import ProbeError
from tracing.text.strings import is_good_name, simple_strtoul

MAX_ARGSTR_LEN, MAX_ARG_NAME_LEN, MAX_ARRAY_LEN = 63, 32, 64
MAX_PROBE_EVENT_SIZE = 3072
FETCH_INSN_MAX = 16
RESERVED_NAMES = frozenset({
    "common_type", "common_flags", "common_preempt_count", "common_pid", "common_tgid",
    "__probe_ip", "__probe_ret_ip", "__probe_func",
})  # fmt: skip


class FetchParser:
    """Parses the arguments of one definition."""

    of_event = False  # an event probe's: $comm is an address there, as long as its type is no string
    with_registers = True  # %REG is known

    def __init__(
        self,
        board: Board,
        kernel: bool,
        is_return: bool,
        on_entry: bool = False,
        signature: btf_args.Signature | None = None,
    ) -> None:
        self.symbols = board.host.symbols
        self.layouts = board.host.types
        self.arch = board.host.arch
        self.word = board.word
        self.stack_words = self.arch.map.stack_size // self.word
        self.kernel = kernel
        self.is_return = is_return
        self.on_entry = on_entry
        self.features = board.features
        self.types = fetch_types(board.word, self.features.probe_type_symstr, self.features.probe_type_char)
        self.default = f"x{8 * self.word}"
        self.size = 0  # of the fixed part so far
        self.signature = signature  # of the function, as far as BTF knows it
        self.found: btf_args.Found | None = None  # what BTF says of the argument that is parsed
        self.column = 0  # in the definition, of what is parsed

    def find_type(self, name: str | None) -> FetchType | None:
        """find_fetch_type(): by name, `b4@2/32` by its container; None if there is none."""
        if name is None:
            return self.types[self.default]
        if name in ("symbol", "symstr") and not self.kernel and self.features.uprobe_without_symbols:
            return None
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
            name, body, start = self.made_up_name(index, text), text, 0
        if not is_good_name(name):
            raise ProbeError("BAD_ARG_NAME", 0)
        if name in RESERVED_NAMES or any(arg.name == name for arg in earlier):
            raise ProbeError("USED_ARG_NAME", 0)
        return self.body(name, body, start)

    def made_up_name(self, index: int, text: str) -> str:
        """generate_probe_arg_name(): a variable's own, as long as nothing else is asked for."""
        variable = text.split(":", 1)[0]
        return variable if self.features.btf_args and is_good_name(variable) else f"arg{index + 1}"

    def body(self, name: str, text: str, start: int) -> ProbeArg:
        """traceprobe_parse_probe_arg_body()."""
        if len(text) > MAX_ARGSTR_LEN:
            raise ProbeError("ARG_TOO_LONG", start)
        if not text:
            raise ProbeError("NO_ARG_BODY", start)
        expression, type_name, count, type_at = self.split_type(text, start)
        immediate_string = not self.of_event and (expression in ("$comm", "$COMM") or expression.startswith('\\"'))
        if immediate_string:
            if count or (type_name is not None and type_name != "string"):
                if self.features.string_type_message:
                    raise ProbeError("NEED_STRING_TYPE", type_at)
                raise KernelError(EINVAL, "$comm and immediate strings are strings")
            kind = self.types.get("string")
        else:
            kind = self.find_type(type_name)
        if kind is None:
            raise ProbeError("BAD_TYPE", type_at if type_name is not None else start)
        arg = ProbeArg(name, text, kind, count, self.size)
        self.check_size(arg, start)
        self.found, self.column = None, start
        arg.ops = self.expression(expression, start, [])
        inside = self.column - start if self.features.columns_stay_inside else 0
        if self.found is not None:
            self.choose_type(arg, self.found, type_name, start)
            self.check_size(arg, start)
        self.size += arg.size
        self.choose_store(arg, type_name, start + inside, type_at + inside)
        return arg

    def check_size(self, arg: ProbeArg, start: int) -> None:
        """E2BIG for more than an event holds."""
        if self.size + arg.size > MAX_PROBE_EVENT_SIZE:
            raise ProbeError("EVENT_TOO_BIG", start, E2BIG)

    def choose_type(self, arg: ProbeArg, found: btf_args.Found, type_name: str | None, start: int) -> None:
        """The type that BTF knows, where none was asked for; where a string was, whether there can be one."""
        if type_name is None:
            arg.type = self.types[btf_args.type_name(found.type, self.word)]
        elif arg.type.is_string and type_name != "symstr":
            steps = btf_args.string_step(found.type, self.word)
            if steps is None:
                raise ProbeError("BAD_TYPE4STR", start)
            if steps:
                self.push(arg.ops, Op("deref"), start)
        if found.bits is not None and type_name is None:
            arg.bits = self.btf_bitfield(arg.type, found.bits)

    def btf_bitfield(self, kind: FetchType, bits: tuple[int, int]) -> tuple[int, int]:
        """parse_btf_bitfield(): the shifts."""
        first, count = bits
        whole = 8 * kind.size
        return whole - first - count, whole - count

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
            found = self.result(text, at) if text.startswith("$retval") and self.is_return else None
            if found is None:
                self.push(ops, self.variable(text[1:], at), at)
            else:
                self.push_found(ops, found, at)
        elif first == "%":
            if not self.with_registers:
                raise ProbeError("BAD_VAR", at, then="BAD_FETCH_ARG")
            if text[1:] not in self.arch.kprobe_registers:
                raise ProbeError("BAD_REG_NAME", at)
            self.push(ops, Op("reg", name=self.arch.kprobe_registers[text[1:]]), at)
        elif first == "@":
            self.memory(text, at, ops)
        elif first in ("+", "-") and first:
            self.dereference(text, at, ops)
        elif first == "\\":
            self.immediate(text, at, ops)
        elif self.features.btf_args and ((first.isascii() and first.isalpha()) or first == "_"):
            self.push_found(ops, self.named(text, at), at)
        else:
            raise ProbeError("BAD_FETCH_ARG", at)
        return ops

    def push_found(self, ops: list[Op], found: btf_args.Found, at: int) -> None:
        """The steps to a variable."""
        for op in found.ops:
            self.push(ops, op, at)
        self.found = found

    def named(self, text: str, at: int) -> btf_args.Found:
        """parse_btf_arg(): an argument of the function by its name, and members behind it."""
        if not (self.on_entry or self.is_return) or (self.is_return and not self.features.args_at_return):
            raise ProbeError("NOSUP_BTFARG", at)
        name, link, rest = btf_args.split_member(text, at) if self.features.btf_members else (text, "", "")
        if link == ".":
            raise ProbeError("NOSUP_DAT_ARG", at + len(name) + 1)
        if self.signature is None or not self.signature.params:
            raise ProbeError("NOSUP_BTFARG", at)
        for index, (known, ctype) in enumerate(self.signature.params):
            if known == name:
                base = self.argument(index)
                if link:
                    return btf_args.walk(base, ctype, rest, at + len(name) + len(link))
                return btf_args.Found([base], ctype.strip)
        raise ProbeError("NO_BTFARG", at, ENOENT)

    def result(self, text: str, at: int) -> btf_args.Found | None:
        """$retval with its type, and members behind it; None where it is a plain one."""
        if self.signature is None or not self.features.btf_members:
            return None
        name, link, rest = btf_args.split_member(text, at)
        if name != "$retval":
            return None
        if link == ".":
            raise ProbeError("NOSUP_DAT_ARG", at + len(name) + 1)
        if btf_args.returns_nothing(self.signature):
            raise ProbeError("NO_RETVAL", at)
        base = Op("retval")
        if link:
            return btf_args.walk(base, self.signature.result, rest, at + len(name) + len(link))
        return btf_args.Found([base], self.signature.result.strip)

    def argument(self, index: int) -> Op:
        """The function's argument of this number, from 0; at a return what it was at entry."""
        return Op("edata" if self.is_return else "arg", index)

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
        if name.startswith("arg"):
            return self.numbered(name, at)
        raise ProbeError("BAD_VAR", at)

    def numbered(self, name: str, at: int) -> Op:
        """$argN."""
        features = self.features
        at_end = (features.args_at_return if self.is_return else self.on_entry) and self.kernel
        if not at_end and (not features.args_need_entry or (self.kernel and self.is_return)):
            raise ProbeError("BAD_VAR", at)
        if not at_end and self.kernel:
            raise ProbeError("NOFENTRY_ARGS", at)
        try:
            number = kstrto(name[3:], 10, 64, False)
        except KernelError:
            raise ProbeError("BAD_VAR", at) from None
        if not number or number > self.stack_words:
            raise ProbeError("BAD_ARG_NUM", at)
        if not at_end:
            raise ProbeError("NOFENTRY_ARGS", at)
        return self.argument(number - 1)

    def stack_variable(self, rest: str, at: int) -> Op:
        """$stack, $stackN."""
        if not rest:
            return Op("stackp")
        if not rest[0].isdigit():
            raise ProbeError("BAD_VAR", at)
        try:
            number = kstrto(rest, 10, 64, False)
        except KernelError:
            raise ProbeError("BAD_VAR", at) from None
        if self.kernel and number > self.stack_words:
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
            self.push(ops, Op("sym", name=rest), at)
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
        self.found, self.column = None, inner_at
        if ops[-1].op in ("comm", "data"):
            raise ProbeError("COMM_CANT_DEREF", inner_at)
        self.push(ops, Op("deref", 0, offset, user), inner_at)

    def immediate(self, text: str, at: int, ops: list[Op]) -> None:
        """\\NUMBER, \\"string"."""
        rest = text[1:]
        if rest[:1] == '"':
            body = rest[1:]
            if not body.endswith('"'):
                raise ProbeError("IMMSTR_NO_CLOSE", at + 2 + len(body))
            self.push(ops, Op("data", data=body[:-1].encode("latin-1")), at)
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
            if last.op not in ("reg", "stack", "retval", "arg", "edata", "deref") or (last.op == "deref" and last.user):
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
                    name, offset = split_symbol_offset(op.name, 8 * self.word)
                    address = self.symbols.address(name)
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

    def __init__(self, board: Board, kernel: bool, is_return: bool, on_entry: bool = False) -> None:
        super().__init__(board, kernel, is_return, on_entry)
        hexadecimal = board.features.probe_types_x
        self.types = fetch_types_4_1(board.word, hexadecimal)
        self.default = f"{'x' if hexadecimal else 'u'}{8 * self.word}"

    def body(self, name: str, text: str, start: int) -> ProbeArg:
        """The same without arrays, strings and user memory."""
        if len(text) > MAX_ARGSTR_LEN:
            raise KernelError(ENOSPC, f"Argument is too long.: {text}")
        if "[" in text or text[:1] == "\\" or text in ("$comm", "$COMM") or text[1:2] == "u":
            raise KernelError(EINVAL, f"Parse error at argument. {text}")
        return super().body(name, text, start)

    def variable(self, name: str, at: int) -> Op:
        """The same without $comm and $argN."""
        if name in ("comm", "COMM") or name.startswith("arg"):
            raise ProbeError("BAD_VAR", at)
        return super().variable(name, at)

    def memory(self, text: str, at: int, ops: list[Op]) -> None:
        """The same without @SYM-OFF."""
        if not text[1:2].isdigit() and "-" in text:
            raise KernelError(EINVAL, "no negative offset of a symbol in this version")
        super().memory(text, at, ops)
