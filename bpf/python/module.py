"""A program's file: its structs, maps, globals, constants, functions and programs."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from pathlib import Path

from arch import architecture
from arch.abi.version import NEWEST, KernelVersion
from arch.architecture import DEFAULT
from arch.datamodel import ByteOrder
from bpf.python import emit, usdt
from bpf.python.calls import Inlined
from bpf.python.debug import DebugInfo, quoted
from bpf.python.errors import CompileError
from bpf.python.expression import Global, MapValue, Value
from bpf.python.function import FunctionWriter
from bpf.python.kernel import Target
from bpf.python.programs import CONTEXT_STRUCTS, PROGRAMS, Program
from bpf.python.types import INTS, U64, Array, Int, Pointer, Struct, Type, describe

WORDS = ("simkernel.bpf", "bpf.python.words")  # modules whose names programs import
MAPS = {
    "Hash": "HASH", "Array": "ARRAY", "PercpuHash": "PERCPU_HASH", "PercpuArray": "PERCPU_ARRAY", "LruHash": "LRU_HASH",
    "LruPercpuHash": "LRU_PERCPU_HASH", "LpmTrie": "LPM_TRIE", "StackTrace": "STACK_TRACE", "RingBuf": "RINGBUF",
    "PerfEventArray": "PERF_EVENT_ARRAY", "ProgArray": "PROG_ARRAY",
}  # fmt: skip
_FOLDED: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_, ast.BitXor: operator.xor,
}  # fmt: skip


def compile_file(path: Path, arch: str = DEFAULT, kernel: str | KernelVersion = NEWEST) -> bytes:
    """The object of a file.  CompileError, OSError."""
    return compile_source(path.read_text(), path.name, arch, kernel)


def compile_source(
    source: str, filename: str = "<program>", arch: str = DEFAULT, kernel: str | KernelVersion = NEWEST
) -> bytes:
    """The object of a program's text.  CompileError."""
    try:
        return emit.emit_object(ModuleWriter(source, filename, arch, kernel).text_of_module(), _order(arch))
    except CompileError as error:
        error.filename = filename
        raise


def _order(arch: str) -> ByteOrder:
    return architecture.get(arch).byteorder


def _context(name: str) -> Struct | None:
    rows = CONTEXT_STRUCTS.get(name)
    if rows is None:
        return None
    struct = Struct(name)
    for member, kind in rows:
        struct.add(member, kind)
    return struct


class ModuleWriter:
    """Reads a file and writes an LLVM module."""

    def __init__(self, source: str, filename: str, arch: str, kernel: str | KernelVersion) -> None:
        self.target = Target(arch, kernel)
        self.debug = DebugInfo(filename, source)
        self.aliases: set[str] = set()  # names of the module of words
        self.words: dict[str, str] = {}  # names imported from it
        self.globals: dict[str, Global] = {}
        self.maps: dict[str, MapValue] = {}
        self.structs: dict[str, Struct] = {}
        self.constants: dict[str, int] = {}
        self.functions: dict[str, Inlined] = {}
        self.definitions: list[str] = []
        self.kept: list[str] = []
        self.code: list[str] = []
        try:
            self.tree = ast.parse(source, filename)
        except SyntaxError as error:
            place = ast.Pass(lineno=error.lineno or 0, col_offset=max((error.offset or 1) - 1, 0))
            raise CompileError(f"not Python: {error.msg}", place, filename) from None

    def text_of_module(self) -> str:
        """The whole module as LLVM's assembly."""
        functions: list[ast.FunctionDef] = []
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef):
                if not node.decorator_list:
                    self.declare(node)
                functions.append(node)
            else:
                self.top(node)
        for node in functions:
            self.function(node)
        if not any(node.decorator_list for node in functions):
            raise CompileError(
                "there is no program: decorate a function with bpf.kprobe(...) or the like",
                functions[0] if functions else None,
            )
        if "LICENSE" not in self.kept:
            self.license("GPL", 1)
        triple, layout = emit.target(self.target.arch.byteorder)
        used = ", ".join(f"ptr @{name}" for name in self.kept)
        head = [
            f'target datalayout = "{layout}"',
            f'target triple = "{triple}"',
            *self.definitions,
            f'@llvm.compiler.used = appending global [{len(self.kept)} x ptr] [{used}], section "llvm.metadata"',
            "declare ptr @llvm.preserve.struct.access.index.p0.p0(ptr, i32, i32)",
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        ]
        return "\n".join([*head, *self.code, self.debug.finish()])

    # Top level

    def top(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant(str())) | ast.Pass():
                pass
            case ast.ImportFrom("__future__"):
                pass
            case ast.ImportFrom(str() as place, names, 0):
                self.imported(place, names, node)
            case ast.ClassDef():
                self.struct(node)
            case ast.AnnAssign(ast.Name(name), annotation, value):
                self.variable(name, annotation, value, node)
            case ast.Assign([ast.Name("LICENSE")], ast.Constant(str() as text)):
                self.license(text, node.lineno)
            case ast.Assign([ast.Name(name)], ast.Call() as call):
                self.map(name, call)
            case ast.Assign([ast.Name(name)], value):
                number = self.number(value)
                if number is None:
                    raise CompileError(
                        "outside of functions there are maps, constants, and variables with a type", node
                    )
                self.constants[name] = number
            case _:
                raise CompileError(f"{type(node).__name__.lower()} has no meaning in a file of BPF programs", node)

    def imported(self, place: str, names: list[ast.alias], node: ast.stmt) -> None:
        for alias in names:
            whole = f"{place}.{alias.name}"
            if whole in WORDS:
                self.aliases.add(alias.asname or alias.name)
            elif place in WORDS:
                self.words[alias.asname or alias.name] = alias.name
            else:
                raise CompileError(f"a BPF program can import from {WORDS[0]} only", node)

    def word(self, node: ast.expr) -> str | None:
        """The word of simkernel.bpf that an expression names."""
        match node:
            case ast.Attribute(ast.Name(module), name) if module in self.aliases:
                return name
            case ast.Name(name):
                return self.words.get(name)
        return None

    def struct(self, node: ast.ClassDef) -> None:
        if [self.word(mark) for mark in node.decorator_list] != ["struct"] or node.bases:
            raise CompileError("a class is a struct: decorate it with bpf.struct, without bases", node)
        made = Struct(node.name)
        for part in node.body:
            match part:
                case ast.AnnAssign(ast.Name(name), annotation, None):
                    made.add(name, self.type_of(annotation))
                case ast.Expr(ast.Constant(str())):
                    pass
                case _:
                    raise CompileError("a struct has members `name: type` only", part)
        if not made.members:
            raise CompileError("a struct without members", node)
        self.structs[node.name] = made

    def type_of(self, node: ast.expr) -> Type:
        """What an annotation means."""
        match node:
            case ast.Constant(str() as name) if name in self.structs:
                return self.structs[name]
            case ast.Name(name) if name in self.structs:
                return self.structs[name]
            case ast.Name("int"):
                return INTS["int"]
            case ast.Subscript(base, index) | ast.Call(base, [index], []) if self.word(base) == "ptr":
                return self.pointer_type(index)
            case ast.Call(func, [elem, count], []) if self.word(func) == "array":
                number = self.number(count)
                if number is None or number <= 0:
                    raise CompileError("an array has a constant number of elements", count)
                return Array(self.type_of(elem), number)
        word = self.word(node)
        if word in INTS:
            return INTS[word]
        raise CompileError("no type of BPF programs", node)

    def pointer_type(self, index: ast.expr) -> Pointer:
        if isinstance(index, ast.Constant) and isinstance(index.value, str) and index.value not in self.structs:
            struct = self.target.struct(index.value)
            if struct is None:
                raise CompileError(f"Linux {self.target.version} has no struct {index.value}", index)
            return Pointer(struct, "kernel")
        return Pointer(self.type_of(index))

    def variable(self, name: str, annotation: ast.expr, value: ast.expr | None, node: ast.stmt) -> None:
        constant = isinstance(annotation, ast.Subscript) and self.word(annotation.value) == "const"
        if isinstance(annotation, ast.Subscript) and constant:
            annotation = annotation.slice
        kind = self.type_of(annotation)
        initial = self.number(value) if value is not None else 0
        if initial is None or (initial and not isinstance(kind, Int)):
            raise CompileError("a global variable begins with a constant number", node)
        self.globals[name] = Global(name, kind, constant)
        text = str(initial) if isinstance(kind, Int) else "zeroinitializer"
        section = ".rodata" if constant else ".data" if initial else ".bss"
        mark = self.debug.variable(name, self.debug.type(kind), node.lineno)
        # external: whoever loads the program may set it before
        self.definitions.append(
            f'@{name} = dso_local global {kind.ir} {text}, section "{section}", align {kind.align}, !dbg {mark}'
        )
        self.kept.append(name)

    def license(self, text: str, line: int) -> None:
        size = len(text) + 1
        mark = self.debug.variable("LICENSE", self.debug.type(Array(INTS["char"], size)), line)
        content = quoted(text.encode() + b"\0")
        self.definitions.append(
            f'@LICENSE = dso_local global [{size} x i8] c"{content}", section "license", align 1, !dbg {mark}'
        )
        self.kept.append("LICENSE")

    def text(self, data: bytes) -> str:
        """A constant text in .rodata."""
        name = f"@.text.{len(self.definitions)}"
        self.definitions.append(
            f'{name} = internal constant [{len(data)} x i8] c"{quoted(data)}", section ".rodata.str", align 1'
        )
        return name

    def map(self, name: str, call: ast.Call) -> None:
        word = self.word(call.func)
        if word not in MAPS:
            raise CompileError(f"one of the maps belongs here: {', '.join(MAPS)}", call)
        kind = MAPS[word]
        options = {keyword.arg: self.number(keyword.value) for keyword in call.keywords}
        if None in options.values() or not set(options) <= {"max_entries", "flags"}:
            raise CompileError("of maps max_entries and flags are said, as constants", call)
        types = [self.type_of(part) for part in call.args]
        if len(types) != (2 if kind not in ("RINGBUF", "PERF_EVENT_ARRAY", "PROG_ARRAY", "STACK_TRACE") else 0):
            raise CompileError(
                f"{word} takes the types of key and value" if kind != "RINGBUF" else "takes no types", call
            )
        if not types and kind != "RINGBUF":
            value = Array(U64, 127) if kind == "STACK_TRACE" else INTS["u32"]
            types = [INTS["u32"], value]
        entries = options.get("max_entries") or 0
        if not entries and kind != "PERF_EVENT_ARRAY":
            raise CompileError("max_entries is missing", call)
        key, value_type = (types[0], types[1]) if types else (None, None)
        made = MapValue(name, kind, key, value_type, entries, options.get("flags") or 0)
        self.maps[name] = made
        self.define_map(made, call.lineno)

    def define_map(self, map: MapValue, line: int) -> None:
        """As libbpf reads it: a struct whose members' types are the numbers and types."""
        debug, own = self.debug, self.debug.reserve()
        number = self.target.constant(f"BPF_MAP_TYPE_{map.kind}")
        assert number is not None
        rows = [("type", debug.number(number))]
        if map.max_entries:
            rows.append(("max_entries", debug.number(map.max_entries)))
        if map.flags:
            rows.append(("map_flags", debug.number(map.flags)))
        for title, kind in (("key", map.key), ("value", map.value)):
            if kind is not None:
                rows.append((title, debug.type(Pointer(kind))))
        members = [debug.member(title, node, 64, 64 * i, own) for i, (title, node) in enumerate(rows)]
        debug.define(own, debug.struct("", members, 64 * len(rows)))
        mark = debug.variable(map.name, own, line)
        self.definitions.append(
            f'@{map.name} = dso_local global [{len(rows)} x i64] zeroinitializer, section ".maps", align 8, !dbg {mark}'
        )
        self.kept.append(map.name)

    def number(self, node: ast.expr) -> int | None:
        """A constant, if it is one."""
        match node:
            case ast.Constant(bool() | int() as number):
                return int(number)
            case ast.Name(name) if name in self.constants:
                return self.constants[name]
            case ast.UnaryOp(ast.USub(), operand):
                value = self.number(operand)
                return None if value is None else -value
            case ast.BinOp(left, op, right) if type(op) in _FOLDED:
                a, b = self.number(left), self.number(right)
                if a is None or b is None:
                    return None
                try:
                    return _FOLDED[type(op)](a, b)
                except (ZeroDivisionError, ValueError) as error:
                    raise CompileError(str(error), node) from None
        word = self.word(node)
        return None if word is None else self.target.constant(word)

    # Functions

    def declare(self, node: ast.FunctionDef) -> None:
        params = []
        for arg in self.parameters(node):
            if arg.annotation is None:
                raise CompileError("a parameter needs a type", arg)
            params.append((arg.arg, self.type_of(arg.annotation)))
        if node.returns is None:
            raise CompileError("a function says what it returns: `-> u64`", node)
        result = self.type_of(node.returns)
        for kind in (*(kind for _, kind in params), result):
            if not isinstance(kind, Int | Pointer):
                raise CompileError(f"functions take and return numbers and pointers, not {describe(kind)}", node)
        if node.name in self.functions:
            raise CompileError(f"there are two functions {node.name}", node)
        self.functions[node.name] = Inlined(node.name, tuple(params), result)

    @staticmethod
    def parameters(node: ast.FunctionDef) -> list[ast.arg]:
        a = node.args
        if a.vararg or a.kwarg or a.kwonlyargs or a.defaults or a.posonlyargs:
            raise CompileError("parameters are plain: no defaults, no * and **", node)
        return a.args

    def function(self, node: ast.FunctionDef) -> None:
        program = self.program(node)
        if program is None:
            function = self.functions[node.name]
            params, result = list(function.params), function.result
        else:
            params, result = [("ctx", Pointer(None))], INTS["int"]
        nodes = [(name, self.debug.void_pointer if program else self.debug.type(kind)) for name, kind in params]
        scope = self.debug.function(node.name, node.lineno, result, nodes, program is None)
        writer = FunctionWriter(self, scope, result, program is not None)
        writer.here(node)
        if program is None:
            for name, kind in params:
                place = writer.locals[name] = writer.variable(name, kind)
                writer.store(place, Value(f"%{name}", kind), node)
        else:
            self.program_parameters(writer, program, node)
        writer.body(node.body)
        writer.check_result(node)
        self.assemble(node, writer, program, params, result, scope)

    def assemble(self, node: ast.FunctionDef, writer: FunctionWriter, program: tuple[Program, str] | None,
                 params: list[tuple[str, Type]], result: Type, scope: str) -> None:  # fmt: skip
        signature = ", ".join(f"{'ptr' if isinstance(kind, Pointer) else 'i64'} %{name}" for name, kind in params)
        if program is None:
            ir = "ptr" if isinstance(result, Pointer) else "i64"
            head = f"define internal {ir} @{node.name}({signature}) alwaysinline nounwind !dbg {scope} {{"
        else:
            section = quoted(program[1])
            head = f'define dso_local i32 @{node.name}({signature}) nounwind section "{section}" !dbg {scope} {{'
            self.kept.append(node.name)
        self.code += [head, "entry:", *writer.entry, *writer.lines, "}"]

    def program(self, node: ast.FunctionDef) -> tuple[Program, str] | None:
        """Its kind and its section, for a function with a decorator."""
        if not node.decorator_list:
            return None
        mark = node.decorator_list[0]
        call = mark if isinstance(mark, ast.Call) else ast.Call(mark, [], [])
        word = self.word(call.func)
        kind = PROGRAMS.get(word or "")
        if kind is None or len(node.decorator_list) > 1:
            raise CompileError(f"a program's decorator is one of {', '.join(PROGRAMS)}", node)
        texts = [part.value for part in call.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if len(texts) != len(call.args) or call.keywords or len(texts) != kind.arguments:
            raise CompileError(f"{word} takes {kind.arguments} text{'' if kind.arguments == 1 else 's'}", mark)
        return kind, kind.section.format(*texts)

    def program_parameters(self, writer: FunctionWriter, program: tuple[Program, str], node: ast.FunctionDef) -> None:
        kind, section = program
        args = self.parameters(node)
        if not args or args[0].arg != "ctx":
            raise CompileError("a program's first parameter is ctx", node)
        writer.locals["ctx"] = Value("%ctx", Pointer(None))
        probe: usdt.Arguments | None = None
        if kind.context in ("pt_regs", "usdt"):
            writer.registers = True
        if kind.context == "usdt":
            usdt.declare(self, node)
            probe = usdt.Arguments(writer, self.target) if args[1:] else None
        elif kind.context == "record":
            _, system, event = section.split("/")
            if system == "syscalls":
                writer.locals["ctx"] = Value("%ctx", Pointer(_context("_".join(event.split("_")[:2]))))
            else:
                writer.locals["ctx"] = Value("%ctx", Pointer(self.target.record(event), "btf"))
        elif kind.context in CONTEXT_STRUCTS:
            writer.locals["ctx"] = Value("%ctx", Pointer(_context(kind.context)))
        for number, arg in enumerate(args[1:]):
            wanted = self.type_of(arg.annotation) if arg.annotation is not None else U64
            value = probe.value(number, arg) if probe is not None else self.parameter(writer, kind, number, arg)
            writer.locals[arg.arg] = writer.variable(arg.arg, wanted)
            if isinstance(wanted, Pointer):
                space = "btf" if kind.context == "typed" and wanted.space == "kernel" else wanted.space
                wanted = Pointer(wanted.target, space)
                writer.locals[arg.arg] = writer.variable(arg.arg, wanted)
                value = Value(writer.let(f"inttoptr i64 {value.text} to ptr"), wanted)
            writer.store(writer.locals[arg.arg], value, arg)

    def parameter(self, writer: FunctionWriter, kind: Program, number: int, arg: ast.arg) -> Value:
        if kind.context in ("typed", "words"):
            return writer.context_word("%ctx", 8 * number, INTS["u64"])
        if kind.context != "pt_regs":
            raise CompileError("programs of this kind have no parameter but ctx", arg)
        if kind.result:
            place = self.target.register(self.target.arch.return_value) if number == 0 else None
        else:
            place = self.target.argument(number)
        if place is None:
            raise CompileError("it does not come in a register", arg)
        return writer.context_word("%ctx", *place)
