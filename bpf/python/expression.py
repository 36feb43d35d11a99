"""Values: names, constants, arithmetic, comparisons, members and elements."""

from __future__ import annotations

import ast
from typing import Protocol

from arch.ctype import CTypeError
from arch.records import dataclass
from bpf.python.debug import DebugInfo
from bpf.python.errors import CompileError
from bpf.python.kernel import Target
from bpf.python.programs import PACKET
from bpf.python.types import S64, U8, U64, Array, Int, KernelStruct, Pointer, Space, Struct, Type, describe

PROBE_READ_KERNEL = 113


@dataclass(frozen=True)
class Value:
    """A number (i64), a pointer (ptr), or with `place` the address of something in memory, of any type."""

    text: str
    type: Type
    place: bool = False
    space: Space = "memory"
    literal: bool = False  # a number that has no type of its own


@dataclass(frozen=True)
class MapValue:
    """A map's definition, as programs name it."""

    name: str
    kind: str
    key: Type | None
    value: Type | None
    max_entries: int
    flags: int


@dataclass(frozen=True)
class Global:
    """A variable of the whole program."""

    name: str
    type: Type
    constant: bool


class Scope(Protocol):
    """What a function sees of its module."""

    target: Target
    debug: DebugInfo
    globals: dict[str, Global]
    maps: dict[str, MapValue]
    structs: dict[str, Struct]
    constants: dict[str, int]

    def type_of(self, node: ast.expr) -> Type: ...
    def number(self, node: ast.expr) -> int | None: ...
    def word(self, node: ast.expr) -> str | None: ...
    def text(self, data: bytes) -> str: ...


class ExpressionWriter:
    """The lines of one LLVM function, and what its expressions become."""

    def __init__(self, module: Scope, scope: str, result: Type, is_program: bool) -> None:
        self.module = module
        self.scope = scope  # its debug information
        self.result = result
        self.is_program = is_program
        self.locals: dict[str, Value] = {}
        self.context: KernelStruct | None = None  # of a tracepoint's program
        self.registers = False  # ctx is a struct pt_regs
        self.declared_global: set[str] = set()
        self.loops: list[tuple[str, str]] = []  # labels to continue at and to break to
        self.entry: list[str] = []  # stack slots
        self.lines: list[str] = []
        self.ended = False  # what comes now is never reached
        self.reached: set[str] = set()
        self.location = ""
        self._count = 0

    # Writing

    def here(self, node: ast.AST) -> None:
        at = vars(node)
        self.location = self.module.debug.location(at["lineno"], at["col_offset"] + 1, self.scope)

    def name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}.{self._count}"

    def do(self, text: str) -> None:
        if not self.ended:
            self.lines.append(f"  {text}, !dbg {self.location}")

    def let(self, text: str) -> str:
        result = "%" + self.name("v")
        self.do(f"{result} = {text}")
        return result

    def label(self, stem: str) -> str:
        return self.name(stem)

    def goto(self, label: str) -> None:
        if not self.ended:
            self.do(f"br label %{label}")
            self.reached.add(label)
            self.ended = True

    def branch(self, condition: str, yes: str, no: str) -> None:
        if not self.ended:
            self.do(f"br i1 {condition}, label %{yes}, label %{no}")
            self.reached.update((yes, no))
            self.ended = True

    def start(self, label: str, only_if_reached: bool = False) -> None:
        if only_if_reached and label not in self.reached:
            return
        self.lines.append(f"{label}:")
        self.ended = label not in self.reached
        if self.ended:
            self.lines.append(f"  unreachable, !dbg {self.location}")

    def memory(self, kind: Type) -> str:
        """A slot on the stack."""
        slot = "%" + self.name("slot")
        ir = kind.ir if not isinstance(kind, Pointer) else "ptr"
        self.entry.append(f"  {slot} = alloca {ir}, align {max(kind.align, 8) if kind.size >= 8 else kind.align}")
        return slot

    def variable(self, name: str, kind: Type) -> Value:
        return Value(self.memory(kind), kind, True)

    def clear(self, place: Value) -> None:
        self.do(f"call void @llvm.memset.p0.i64(ptr {place.text}, i8 0, i64 {place.type.size}, i1 false)")

    # Memory

    def load(self, place: Value) -> Value:
        """What is there; structs and arrays stay places."""
        if not place.place or isinstance(place.type, Struct | Array | KernelStruct):
            return place
        address = place.text
        if place.space == "kernel":
            slot = self.memory(place.type)
            self.clear(Value(slot, place.type, True))
            read = f"call i64 inttoptr (i64 {PROBE_READ_KERNEL} to ptr)"
            self.do(f"{read}(ptr {slot}, i64 {place.type.size}, ptr {address})")
            address = slot
        if isinstance(place.type, Pointer):
            return Value(self.let(f"load ptr, ptr {address}"), place.type)
        assert isinstance(place.type, Int)
        return Value(self.extend(self.let(f"load {place.type.ir}, ptr {address}"), place.type), place.type)

    def store(self, place: Value, value: Value, node: ast.AST) -> None:
        kind = place.type
        value = self.load(value)
        if isinstance(kind, Int):
            number = self.number(value, node)
            if kind.size < 8:
                number = self.let(f"trunc i64 {number} to {kind.ir}")
            self.do(f"store {kind.ir} {number}, ptr {place.text}")
        elif isinstance(kind, Pointer):
            if isinstance(value.type, Pointer) and isinstance(value.type.target, KernelStruct):
                if value.type.target is not kind.target and kind.target is not None:
                    raise CompileError(f"{describe(value.type)} is no {describe(kind)}", node)
            self.do(f"store ptr {self.pointer(value, node)}, ptr {place.text}")
        elif value.type is kind or value.type == kind:
            copy = "call void @llvm.memcpy.p0.p0.i64"
            self.do(f"{copy}(ptr {place.text}, ptr {value.text}, i64 {kind.size}, i1 false)")
        else:
            raise CompileError(f"{describe(value.type)} is no {describe(kind)}", node)

    def extend(self, text: str, kind: Int) -> str:
        if kind.size == 8:
            return text
        return self.let(f"{'sext' if kind.signed else 'zext'} {kind.ir} {text} to i64")

    def cut(self, number: str, kind: Int) -> str:
        """A number as one of this type."""
        if kind.size == 8:
            return number
        return self.extend(self.let(f"trunc i64 {number} to {kind.ir}"), kind)

    # What a value must be

    def number(self, value: Value, node: ast.AST) -> str:
        value = self.load(value)
        if isinstance(value.type, Pointer):
            return self.let(f"ptrtoint ptr {value.text} to i64")
        if not isinstance(value.type, Int):
            raise CompileError(f"{describe(value.type)} is no number", node)
        return value.text

    def pointer(self, value: Value, node: ast.AST) -> str:
        if value.place and isinstance(value.type, Struct | Array | KernelStruct):
            return value.text
        value = self.load(value)
        if isinstance(value.type, Pointer):
            return value.text
        if value.literal and value.text == "0":
            return "null"
        raise CompileError(f"{describe(value.type)} is no pointer", node)

    # Expressions

    def expression(self, node: ast.expr) -> Value:
        """The value of an expression; structs and arrays as places."""
        match node:
            case ast.Constant(None):
                return Value("null", Pointer(None))
            case ast.Constant(bool() | int() as number):
                return self.literal(int(number), node)
            case ast.Constant(bytes() as data):
                return self.text_value(data)
            case ast.Constant(str() as text):
                return self.text_value(text.encode() + b"\0")
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self.load(self.designate(node))
            case ast.BinOp(left, op, right):
                return self.arithmetic(op, self.expression(left), self.expression(right), node)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() as number)):
                return self.literal(-number, node)
            case ast.UnaryOp(ast.USub() | ast.Invert() | ast.UAdd() as sign, operand):
                value = self.expression(operand)
                plain = self.number(value, operand)
                if isinstance(sign, ast.USub):
                    return Value(self.let(f"sub i64 0, {plain}"), S64)
                return value if isinstance(sign, ast.UAdd) else Value(self.let(f"xor i64 {plain}, -1"), value.type)
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp(ast.Not()):
                return self.truth(node)
            case ast.IfExp(test, body, orelse):
                return self.choice(test, body, orelse, node)
            case ast.Call():
                return self.call(node)
        raise CompileError(f"{type(node).__name__} has no meaning in a BPF program", node)

    def call(self, node: ast.Call, wanted: bool = True) -> Value:
        raise NotImplementedError  # calls.py

    def literal(self, value: int, node: ast.AST) -> Value:
        if not -(1 << 63) <= value < 1 << 64:
            raise CompileError("a number of more than 64 bits", node)
        return Value(str(value), U64 if value >= 1 << 63 else S64, literal=True)

    def text_value(self, data: bytes) -> Value:
        """A constant text: beside the program, or on the stack for kernels that know no constant data."""
        kind = Array(Int("char", 1, True), len(data))
        if self.module.target.has_rodata:
            return Value(self.module.text(data), kind, True)
        padded = data + bytes(-len(data) % 8)
        slot = self.memory(Array(U64, len(padded) // 8))
        for at in range(0, len(padded), 8):
            word = int.from_bytes(padded[at : at + 8], self.module.target.arch.byteorder)
            to = self.let(f"getelementptr i8, ptr {slot}, i64 {at}")
            self.do(f"store volatile i64 {word}, ptr {to}")
        return Value(slot, kind, True)

    def arithmetic(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        if isinstance(left.type, Pointer) and not left.place:
            return self.pointer_arithmetic(op, left, right, node)
        a, b = self.number(left, node), self.number(right, node)
        signed = self.signed(left, right)
        kind = S64 if signed else U64
        names: dict[type[ast.operator], str] = {
            ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
            ast.LShift: "shl", ast.RShift: "ashr" if signed else "lshr", ast.FloorDiv: "udiv", ast.Mod: "urem",
        }  # fmt: skip
        if type(op) not in names:
            raise CompileError("BPF has no such operation; // is division", node)
        if isinstance(op, ast.FloorDiv | ast.Mod) and signed and not (left.literal and right.literal):
            raise CompileError("BPF divides unsigned numbers only: convert with u64()", node)
        both = left.literal and right.literal
        if both:
            folded = self.module.number(node) if isinstance(node, ast.expr) else None
            if folded is not None:
                return self.literal(folded, node)
        return Value(self.let(f"{names[type(op)]} i64 {a}, {b}"), kind)

    def pointer_arithmetic(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        assert isinstance(left.type, Pointer)
        if isinstance(right.type, Pointer) and isinstance(op, ast.Sub):
            return Value(self.let(f"sub i64 {self.number(left, node)}, {self.number(right, node)}"), U64)
        if not isinstance(op, ast.Add | ast.Sub) or isinstance(right.type, Pointer):
            raise CompileError("of pointers only + and - have a meaning", node)
        if not isinstance(left.type.target, Int) or left.type.target.size != 1:
            raise CompileError("only a ptr[u8] is counted in bytes: cast() it", node)
        distance = self.number(right, node)
        if isinstance(op, ast.Sub):
            distance = self.let(f"sub i64 0, {distance}")
        return Value(self.let(f"getelementptr i8, ptr {left.text}, i64 {distance}"), left.type)

    def signed(self, left: Value, right: Value) -> bool:
        """As C: unsigned wins; a literal takes the other one's side."""
        kinds = [v.type.signed for v in (left, right) if isinstance(v.type, Int) and not v.literal]
        return all(kinds)

    # Truth

    def truth(self, node: ast.expr) -> Value:
        yes, no, after = self.label("yes"), self.label("no"), self.label("done")
        slot = self.memory(U64)
        self.condition(node, yes, no)
        for label, value in ((yes, 1), (no, 0)):
            self.start(label)
            self.do(f"store i64 {value}, ptr {slot}")
            self.goto(after)
        self.start(after)
        return Value(self.let(f"load i64, ptr {slot}"), U64)

    def choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr, node: ast.expr) -> Value:
        yes, no, after = self.label("yes"), self.label("no"), self.label("done")
        self.condition(test, yes, no)
        slot = ""
        kinds: list[Value] = []
        for label, part in ((yes, body), (no, orelse)):
            self.start(label)
            value = self.expression(part)
            kinds.append(value)
            slot = slot or self.memory(value.type if isinstance(value.type, Pointer) else U64)
            if isinstance(kinds[0].type, Pointer):
                self.do(f"store ptr {self.pointer(value, part)}, ptr {slot}")
            else:
                self.do(f"store i64 {self.number(value, part)}, ptr {slot}")
            self.goto(after)
        self.start(after)
        if isinstance(kinds[0].type, Pointer):
            return Value(self.let(f"load ptr, ptr {slot}"), kinds[0].type)
        return Value(self.let(f"load i64, ptr {slot}"), S64 if self.signed(*kinds) else U64)

    def condition(self, node: ast.expr, yes: str, no: str) -> None:
        """Go to one label or the other."""
        self.here(node)
        match node:
            case ast.BoolOp(joined, values):
                for part in values[:-1]:
                    more = self.label("and" if isinstance(joined, ast.And) else "or")
                    if isinstance(joined, ast.And):
                        self.condition(part, more, no)
                    else:
                        self.condition(part, yes, more)
                    self.start(more)
                self.condition(values[-1], yes, no)
            case ast.UnaryOp(ast.Not(), operand):
                self.condition(operand, no, yes)
            case ast.Compare(left, ops, comparators):
                first = self.expression(left)
                for index, (op, right) in enumerate(zip(ops, comparators, strict=True)):
                    second = self.expression(right)
                    more = yes if index == len(ops) - 1 else self.label("and")
                    self.branch(self.compare(op, first, second, node), more, no)
                    if more != yes:
                        self.start(more)
                    first = second
            case _:
                value = self.expression(node)
                if isinstance(value.type, Pointer):
                    test = self.let(f"icmp ne ptr {value.text}, null")
                else:
                    test = self.let(f"icmp ne i64 {self.number(value, node)}, 0")
                self.branch(test, yes, no)

    def compare(self, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> str:
        names: dict[type[ast.cmpop], str] = {
            ast.Eq: "eq", ast.NotEq: "ne", ast.Is: "eq", ast.IsNot: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt",
            ast.GtE: "ge",
        }  # fmt: skip
        if type(op) not in names:
            raise CompileError("`in` has no meaning in a BPF program", node)
        word = names[type(op)]
        if isinstance(left.type, Pointer) and isinstance(right.type, Pointer):
            word = word if word in ("eq", "ne") else f"u{word}"
            return self.let(f"icmp {word} ptr {self.pointer(left, node)}, {self.pointer(right, node)}")
        if word not in ("eq", "ne"):
            word = ("s" if self.signed(left, right) else "u") + word
        return self.let(f"icmp {word} i64 {self.number(left, node)}, {self.number(right, node)}")

    # Names, members, elements

    def designate(self, node: ast.expr) -> Value:
        """A place, or a value that has none."""
        match node:
            case ast.Name(name):
                return self.named(name, node)
            case ast.Attribute(base, name):
                word = self.module.word(node)
                if word is not None:
                    return self.constant(word, node)
                return self.member(base, name, node)
            case ast.Subscript(base, index):
                return self.element(self.expression(base), index, node)
        return self.expression(node)

    def named(self, name: str, node: ast.expr) -> Value:
        found = self.locals.get(name)
        if found is not None:
            return found
        known = self.module.globals.get(name)
        if known is not None:
            return Value(f"@{name}", known.type, True)
        if name in self.module.constants:
            return self.literal(self.module.constants[name], node)
        word = self.module.word(node)
        if word is not None:
            return self.constant(word, node)
        what = "a map: call its methods" if name in self.module.maps else "not known here"
        raise CompileError(f"{name} is {what}", node)

    def constant(self, word: str, node: ast.expr) -> Value:
        value = self.module.target.constant(word)
        if value is None:
            raise CompileError(f"{word} is no number that the kernel's headers know", node)
        return self.literal(value, node)

    def member(self, base: ast.expr, name: str, node: ast.expr) -> Value:
        value = self.expression(base)
        kind, space = value.type, value.space
        if isinstance(value.type, Pointer):
            if self.registers and base_is_context(base):
                return self.saved_register(value, name, node)
            if value.type.target is None:
                raise CompileError("a pointer to nothing known: cast() it", node)
            kind, space = value.type.target, value.type.space
        if isinstance(kind, Struct):
            found = kind.members.get(name)
            if found is None:
                raise CompileError(f"{describe(kind)} has no member {name}", node)
            at = self.let(f"getelementptr i8, ptr {value.text}, i64 {found.offset}") if found.offset else value.text
            if kind.name == "xdp_md" and name in PACKET:
                number = self.load(Value(at, found.type, True)).text
                return Value(self.let(f"inttoptr i64 {number} to ptr"), Pointer(U8))
            return Value(at, found.type, True, space)
        if not isinstance(kind, KernelStruct):
            raise CompileError(f"{describe(kind)} has no members", node)
        return self.kernel_member(value.text, kind, name, space, node)

    def kernel_member(self, at: str, struct: KernelStruct, name: str, space: Space, node: ast.AST) -> Value:
        """Its place in the running kernel: a CO-RE relocation, by the member's number in our own struct."""
        try:
            kind = struct.members.get(name) or self.module.target.member(struct, name, space)
        except CTypeError as error:
            raise CompileError(str(error), node) from None
        if kind is None:
            raise CompileError(f"{describe(struct)} of Linux {self.module.target.version} has no member {name}", node)
        fixed = self.module.target.fixed_offset(struct, name)
        if fixed is not None:
            return Value(self.let(f"getelementptr i8, ptr {at}, i64 {fixed}"), kind, True, space)
        struct.members.setdefault(name, kind)
        number = list(struct.members).index(name)
        mark = self.module.debug.type(struct)
        access = "call ptr @llvm.preserve.struct.access.index.p0.p0"
        result = "%" + self.name("v")
        argument = f"ptr elementtype([{64} x i64]) {at}, i32 0, i32 {number}"
        if not self.ended:
            self.lines.append(
                f"  {result} = {access}({argument}), !dbg {self.location}, !llvm.preserve.access.index {mark}"
            )
        return Value(result, kind, True, space)

    def saved_register(self, context: Value, name: str, node: ast.AST) -> Value:
        found = self.module.target.register(name)
        if found is None:
            raise CompileError(f"struct pt_regs of {self.module.target.arch.name} has no {name}", node)
        return self.context_word(context.text, *found)

    def context_word(self, context: str, offset: int, kind: Int) -> Value:
        at = self.let(f"getelementptr i8, ptr {context}, i64 {offset}")
        return Value(self.extend(self.let(f"load {kind.ir}, ptr {at}"), kind), kind)

    def element(self, value: Value, index: ast.expr, node: ast.expr) -> Value:
        kind, space = value.type, value.space
        number = self.number(self.expression(index), index)
        if isinstance(kind, Array):
            known = self.module.number(index)
            if known is not None and not 0 <= known < kind.count:
                raise CompileError(f"there are {kind.count} elements", index)
            elem = kind.elem
        elif isinstance(kind, Pointer) and kind.target is not None:
            elem, space = kind.target, kind.space
        else:
            raise CompileError(f"{describe(kind)} has no elements", node)
        offset = self.let(f"mul i64 {number}, {elem.size}")
        return Value(self.let(f"getelementptr i8, ptr {value.text}, i64 {offset}"), elem, True, space)


def base_is_context(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "ctx"
