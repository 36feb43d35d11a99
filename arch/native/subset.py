"""Native functions written in Python: a small typed subset of the language, translated by `ast` to LLVM IR.

    @native
    def htab_after(m: Words, element: int) -> int:
        following = load64(element)
        while following == 0 and ...

What a function means is what it means in Python, with these rules:

* Every value is a 64-bit unsigned number; arithmetic wraps, `//`, `%`, `>>` and comparisons are unsigned.
* Arguments are numbers, or `Words`: the host address of an array of 64-bit words that only our own code writes.  `m[I]`
  reads and writes such a word.  `shared[I]` is the block of the machine (arch/native/block.py).
* `load8(a)` to `load64(a)` and `store8(a, v)` to `store64(a, v)` reach simulated memory in the machine's byte order, at
  kernel addresses of the direct map.  Each is checked: outside of simulated memory nothing is touched, the address is
  noted in the block, and all functions on the way return 0 at once.  `copy(to, from, n)` and `zero(to, n)` are as these, and
  `fault(a)` is such an access that always fails.  `decline()` ends all functions as well: Python is to do it.
* `peek8(a)` to `peek64(a)` and `poke8(a, v)` to `poke64(a, v)` do the same in the host, inside of arrays of words whose addresses
  and sizes our own code knows: what is put together there is a record in the machine's byte order. `copy_out(to, a, n)` and
  `copy_in(a, from, n)` copy simulated memory there, and back.
* An argument that is `Bytes` is a bytes object of Python's: `put(to, b, n)` copies its first n bytes into simulated memory, `fill(to, b, n)`
  into an array of words.
* Statements: assignments to names and words, `if`, `while`, `for i in range(n)`, `break`, `continue`, `return`, calls.
* The result is a number; of a function that is said to return `Errno`, Python gets it as a signed one.
* Global names are numbers, or other native functions.  `invoke(address, ...)` calls compiled code by its host address,
  `attempt(address, ...)` is `invoke()` whose caller looks at the status.
* Objects of Python's are numbers, too: `as_uint(object)` is the value of an int, `set_uint(place, value)` puts an int into a
  place that holds a reference (slots.py), `entry(dict, key)` is what a dict has for an int, or 0; `set_entry(dict, key, object)` and
  `set_uint_entry(dict, key, value)` put something there; `call_python(function, value)` calls a function, in a system call's hook only (shortcuts.py).

What is outside of the subset is a `SyntaxError` that names the line.
"""

from __future__ import annotations

import ast
import enum
import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NoReturn, Protocol

from arch.native.block import Native, Reason, Word
from arch.native.ir import C_DECLARATIONS, METADATA, MOSTLY_TAKEN, NEVER_CHANGES, Function

ACCESS = {
    f"{verb}{bits}{order}": bits for verb in ("load", "store") for bits in (8, 16, 32, 64) for order in ("", "le")
}
HOST_ACCESS = {f"{verb}{bits}": bits for verb in ("peek", "poke") for bits in (8, 16, 32, 64)}

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "lshr",
    ast.FloorDiv: "udiv",
    ast.Mod: "urem",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "ult",
    ast.LtE: "ule",
    ast.Gt: "ugt",
    ast.GtE: "uge",
}


class Words(Protocol):
    """The host address of an array of words."""

    def __getitem__(self, index: int) -> int: ...
    def __setitem__(self, index: int, value: int) -> None: ...


Errno = int  # a result that may be a negative errno
Bytes = bytes | int  # a bytes object; inside, its address


class _Block:
    """The machine's block, which only compiled code knows."""

    def __getitem__(self, index: int) -> int:
        return _only_native(index)

    def __setitem__(self, index: int, value: int) -> None:
        _only_native(index)


shared = _Block()


def _only_native(*values: Argument) -> int:
    """What has a meaning in compiled code only."""
    raise TypeError("this runs only as native code")


peek8 = peek16 = peek32 = peek64 = poke8 = poke16 = poke32 = poke64 = fill = _only_native
load8 = load16 = load32 = load64 = load32le = load64le = store8 = store16 = store32 = store64 = _only_native
invoke = attempt = as_uint = set_uint = entry = set_entry = set_uint_entry = copy = copy_in = copy_out = zero = put = (
    fault
) = decline = call_python = _only_native


Argument = int | bytes | Words


class NativeFunction:
    """A function of the subset, not yet compiled: one source for any byte order."""

    def __init__(self, function: Callable[..., int], inlined: bool = False) -> None:
        self.function, self.inlined = function, inlined
        kinds = function.__annotations__
        if not all(isinstance(kind, str) for kind in kinds.values()):  # its module does not postpone them
            parsed = [(arg.arg, arg.annotation) for arg in self.tree.args.args] + [("return", self.tree.returns)]
            kinds = {name: ast.unparse(kind) for name, kind in parsed if kind is not None}
        self.name = function.__name__
        self.arguments = list(function.__code__.co_varnames[: function.__code__.co_argcount])
        self.words = {name for name in self.arguments if kinds.get(name) == "Words"}
        self.objects = [kinds.get(name) == "Bytes" for name in self.arguments]
        self.signed = kinds.get("return") == "Errno"
        self.scope = function.__globals__
        self.file, self.first = function.__code__.co_filename, function.__code__.co_firstlineno
        self.__doc__ = function.__doc__

    @cached_property
    def source(self) -> str:
        """Its text."""
        return "".join(inspect.getsourcelines(self.function)[0])

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """Read when it is to be compiled: most starts find it compiled."""
        import textwrap

        tree = ast.parse(textwrap.dedent(self.source))
        found = tree.body[0]
        assert isinstance(found, ast.FunctionDef)
        return found

    def __call__(self, *values: Argument) -> int:
        """For other native functions to call; Python calls what Library.builtin() gives."""
        return _only_native()

    def callees(self) -> list[NativeFunction]:
        """The native functions that it calls."""
        names = self.function.__code__.co_names  # what it takes from its module
        return [found for name in names if isinstance(found := self.scope.get(name), NativeFunction)]

    def numbers(self) -> list[tuple[str, int]]:
        """The global numbers that it uses."""
        names = sorted(set(self.function.__code__.co_names))
        return [(name, int(found)) for name in names if isinstance(found := self.scope.get(name), int)]

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        """SyntaxError at a node."""
        line = self.first + (node.lineno if isinstance(node, ast.expr | ast.stmt) else 1) - 1
        raise SyntaxError(f"{why}: {ast.unparse(node)}", (self.file, line, 0, None))


def native(function: Callable[..., int]) -> NativeFunction:
    """Declare a native function."""
    return NativeFunction(function)


def inlined(function: Callable[..., int]) -> NativeFunction:
    """One that becomes part of each function that calls it: where a call would cost as much as it does."""
    return NativeFunction(function, inlined=True)


def closure(functions: Sequence[NativeFunction]) -> list[NativeFunction]:
    """These and all that they call, each once, callees first."""
    found: dict[NativeFunction, None] = {}

    def visit(function: NativeFunction) -> None:
        if function not in found:
            for callee in function.callees():
                if callee is not function:
                    visit(callee)
            found[function] = None

    for function in functions:
        visit(function)
    return list(found)


INTRINSICS = """
declare i16 @llvm.bswap.i16(i16)
declare i32 @llvm.bswap.i32(i32)
declare i64 @llvm.bswap.i64(i64)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
DECLARATIONS = INTRINSICS + C_DECLARATIONS + "@simkernel_Fault = external global i8\n" + METADATA


class SubsetWriter:
    """The IR of one native function.  Its first argument is the machine's block."""

    def __init__(self, function: NativeFunction, big_endian: bool, exported: bool) -> None:
        self.function, self.big = function, big_endian
        arguments = ", ".join(["i64 %blk", *(f"i64 %arg.{name}" for name in function.arguments)])
        linkage = "" if exported else "internal "
        self.f = Function(f"{linkage}i64 @{function.name}({arguments}){' alwaysinline' if function.inlined else ''}")
        self.locals: set[str] = set()
        self.loops: list[tuple[str, str]] = []  # (where continue goes, where break goes)
        self.ended = False

    def text(self) -> str:
        """The whole function."""
        f, tree = self.f, self.function.tree
        assigned = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.locals = assigned | set(self.function.arguments)
        for name in sorted(self.locals):
            f.do(f"%v.{name} = alloca i64")
            given = f"%arg.{name}" if name in self.function.arguments else "0"
            f.do(f"store i64 {given}, ptr %v.{name}")
        f.do("%bad = alloca i64")
        self.body(tree.body)
        if not self.ended:
            f.do("ret i64 0")
        f.label("fault")
        f.set_word("%blk", Word.NATIVE_FAULT, f.let("load i64, ptr %bad"))
        f.set_word("%blk", Word.NATIVE_STATUS, str(int(Native.FAULT)))
        f.do("ret i64 0")
        return f.text()

    # -- statements ----------------------------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.ended:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant(str())) | ast.Pass():
                pass
            case ast.Expr(ast.Call() as call):
                self.value(call)
            case ast.Assign([target], value):
                self.assign(target, self.value(value))
            case ast.AugAssign(target, op, value):
                before = self.value(_as_load(target))
                self.assign(target, self.binary(node, op, before, self.value(value)))
            case ast.Return(value):
                self.f.do(f"ret i64 {self.value(value) if value is not None else 0}")
                self.ended = True
            case ast.If(test, yes, no):
                self.if_(test, yes, no)
            case ast.While(test, body, []):
                self.loop(body, test, "")
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), [count]), body, []):
                self.f.do(f"store i64 0, ptr %v.{name}")
                limit = self.value(count)
                self.loop(body, (name, limit), name)
            case ast.Break() if self.loops:
                self.jump(self.loops[-1][1])
            case ast.Continue() if self.loops:
                self.jump(self.loops[-1][0])
            case _:
                self.function.refuse(node, "not in the native subset")

    def jump(self, label: str) -> None:
        self.f.goto(label)
        self.ended = True

    def label(self, name: str) -> None:
        self.f.label(name)
        self.ended = False

    def assign(self, target: ast.expr, value: str) -> None:
        match target:
            case ast.Name(name):
                self.f.do(f"store i64 {value}, ptr %v.{name}")
            case ast.Subscript(base, index):
                self.f.store(self.word_address(target, base, index), value)
            case _:
                self.function.refuse(target, "only names and words can be assigned")

    def if_(self, test: ast.expr, yes: list[ast.stmt], no: list[ast.stmt]) -> None:
        f = self.f
        then, other, after = f.name("then"), f.name("else"), f.name("after")
        self.condition(test, then, other if no else after)
        reached = not no
        self.label(then)
        self.body(yes)
        if not self.ended:
            self.jump(after)
            reached = True
        if no:
            self.label(other)
            self.body(no)
            if not self.ended:
                self.jump(after)
                reached = True
        if reached:
            self.label(after)
        self.ended = not reached

    def loop(self, body: list[ast.stmt], test: ast.expr | tuple[str, str], counter: str) -> None:
        f = self.f
        again, inside, step, out = f.name("again"), f.name("loop"), f.name("step"), f.name("out")
        f.goto(again)
        self.label(again)
        if isinstance(test, tuple):
            at = f.let(f"load i64, ptr %v.{test[0]}")
            f.branch(f.let(f"icmp ult i64 {at}, {test[1]}"), inside, out)
        else:
            self.condition(test, inside, out)
        self.label(inside)
        self.loops.append((step, out))
        self.body(body)
        self.loops.pop()
        if not self.ended:
            f.goto(step)
        self.label(step)
        if counter:
            at = f.let(f"load i64, ptr %v.{counter}")
            f.do(f"store i64 {f.let(f'add i64 {at}, 1')}, ptr %v.{counter}")
        f.goto(again)
        self.label(out)

    # -- expressions ---------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> str:
        f = self.f
        match node:
            case ast.Constant(bool(value)) | ast.Constant(int(value)):
                return str(_signed(int(value)))
            case ast.Name(name) if name in self.locals:
                return f.let(f"load i64, ptr %v.{name}")
            case ast.Name() | ast.Attribute():
                return str(_signed(self.constant(node)))
            case ast.Subscript(base, index):
                return f.load(self.word_address(node, base, index))
            case ast.BinOp(left, op, right):
                return self.binary(node, op, self.value(left), self.value(right))
            case ast.UnaryOp(ast.USub(), operand):
                return f.let(f"sub i64 0, {self.value(operand)}")
            case ast.UnaryOp(ast.Invert(), operand):
                return f.let(f"xor i64 -1, {self.value(operand)}")
            case ast.IfExp() | ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()):
                return self.chosen(node)
            case ast.Call(ast.Name(name), arguments, []):
                return self.call(node, name, arguments)
        self.function.refuse(node, "not in the native subset")

    def chosen(self, node: ast.expr) -> str:
        """The value of an expression that branches."""
        f = self.f
        yes, no, after = f.name("yes"), f.name("no"), f.name("after")
        slot = "%" + f.name("slot")
        f.lines.insert(2, f"  {slot} = alloca i64")
        test, a, b = (node.test, node.body, node.orelse) if isinstance(node, ast.IfExp) else (node, None, None)
        self.condition(test, yes, no)
        for label, result, plain in ((yes, a, "1"), (no, b, "0")):
            f.label(label)
            f.do(f"store i64 {self.value(result) if result is not None else plain}, ptr {slot}")
            f.goto(after)
        f.label(after)
        return f.let(f"load i64, ptr {slot}")

    def constant(self, node: ast.expr) -> int:
        """A global number, or a member of a global enum."""
        found: object = None
        match node:
            case ast.Name(name):
                found = self.function.scope.get(name)
            case ast.Attribute(ast.Name(name), member):
                owner = self.function.scope.get(name)
                found = owner.__members__.get(member) if isinstance(owner, enum.EnumMeta) else None
        if not isinstance(found, int):
            self.function.refuse(node, "neither a local name nor a global number")
        return int(found)

    def binary(self, node: ast.AST, op: ast.operator, left: str, right: str) -> str:
        name = _BINARY.get(type(op))
        if name is None:
            self.function.refuse(node, "no such operation in the native subset")
        return self.f.let(f"{name} i64 {left}, {right}")

    def word_address(self, node: ast.expr, base: ast.expr, index: ast.expr) -> str:
        f = self.f
        if not isinstance(base, ast.Name) or not (base.id in self.function.words or base.id == "shared"):
            self.function.refuse(node, "only Words have elements")
        start = "%blk" if base.id == "shared" else f.let(f"load i64, ptr %v.{base.id}")
        return f.let(f"add i64 {start}, {f.let(f'shl i64 {self.value(index)}, 3')}")

    def condition(self, node: ast.expr, yes: str, no: str) -> None:
        """Branch; `and` and `or` look no further than they must."""
        f = self.f
        match node:
            case ast.BoolOp(op, values):
                for value in values[:-1]:
                    more = f.name("more")
                    self.condition(value, *((more, no) if isinstance(op, ast.And) else (yes, more)))
                    f.label(more)
                self.condition(values[-1], yes, no)
            case ast.UnaryOp(ast.Not(), operand):
                self.condition(operand, no, yes)
            case ast.Compare(left, [op], [right]) if type(op) in _COMPARE:
                a, b = self.value(left), self.value(right)
                f.branch(f.let(f"icmp {_COMPARE[type(op)]} i64 {a}, {b}"), yes, no)
            case ast.Compare():
                self.function.refuse(node, "one comparison at a time")
            case _:
                f.branch(f.let(f"icmp ne i64 {self.value(node)}, 0"), yes, no)

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, node: ast.expr, name: str, arguments: list[ast.expr]) -> str:
        f = self.f
        values = [self.value(argument) for argument in arguments]
        if name in ACCESS:
            return self.access(name, values)
        if name in HOST_ACCESS:
            return self.host_access(name, values)
        if name == "copy":
            return self.copy(*values)
        if name == "copy_in":
            return self.copy_in(*values)
        if name == "copy_out":
            return self.copy_out(*values)
        if name == "zero":
            return self.zero(*values)
        if name == "fault":
            f.do(f"store i64 {values[0]}, ptr %bad")
            f.goto("fault")
            f.label(f.name("never"))
            return "0"
        if name == "decline":
            f.set_word("%blk", Word.NATIVE_STATUS, str(int(Native.DECLINED)))
            f.do("ret i64 0")
            f.label(f.name("never"))
            return "0"
        if name == "put":
            return self.put(*values)
        if name == "fill":
            return self.fill(*values)
        if name == "as_uint":
            return f.let(f"call i64 @as_uint(i64 {values[0]})")
        if name == "set_uint":
            return self.set_uint(*values)
        if name == "entry":
            key = f.let(f"call ptr @PyLong_FromUnsignedLongLong(i64 {values[1]})")
            found = f.let(f"call i64 @PyDict_GetItem(i64 {values[0]}, ptr {key})")
            f.do(f"call void @Py_DecRef(ptr {key})")
            return found
        if name == "set_entry":
            return self.set_entry(*values)
        if name == "set_uint_entry":
            number = f.let(f"call i64 @PyLong_FromUnsignedLongLong(i64 {values[2]})")
            self.set_entry(values[0], values[1], number)
            f.do(f"call void @Py_DecRef(i64 {number})")
            return "0"
        if name == "call_python":
            return self.call_python(*values)
        if name == "attempt":
            return f.call(values[0], "i64", ", ".join(f"i64 {value}" for value in ("%blk", *values[1:])))
        if name == "invoke":
            result = f.call(values[0], "i64", ", ".join(f"i64 {value}" for value in ("%blk", *values[1:])))
        else:
            callee = self.function.scope.get(name)
            if not isinstance(callee, NativeFunction) or len(callee.arguments) != len(values):
                self.function.refuse(node, "no such native function, or not so many arguments")
            result = f.let(f"call i64 @{callee.name}({', '.join(f'i64 {value}' for value in ('%blk', *values))})")
        leave, go_on = f.name("leave"), f.name("called")
        f.branch(f.let(f"icmp eq i64 {f.word('%blk', Word.NATIVE_STATUS)}, 0"), go_on, leave, MOSTLY_TAKEN)
        f.label(leave)
        f.do("ret i64 0")
        f.label(go_on)
        return result

    def within(self, address: str, size: str) -> str:
        """Offset in memory of an access of so many bytes; a fault if it does not lie inside."""
        f = self.f
        off = f.let(f"sub i64 {address}, {f.word('%blk', Word.DIRECT, NEVER_CHANGES)}")
        total = f.word("%blk", Word.PHYS_SIZE, NEVER_CHANGES)
        fits = f.let(f"icmp ule i64 {size}, {total}")
        room = f.let(f"sub i64 {total}, {size}")
        inside = f.let(f"and i1 {fits}, {f.let(f'icmp ule i64 {off}, {room}')}")
        good = f.name("inside")
        f.do(f"store i64 {address}, ptr %bad")
        f.branch(inside, good, "fault", MOSTLY_TAKEN)
        f.label(good)
        return f.let(f"add i64 {off}, {f.word('%blk', Word.HOST, NEVER_CHANGES)}")

    def access(self, name: str, values: list[str]) -> str:
        f, bits = self.f, ACCESS[name]
        kind = f"i{bits}"
        at = self.within(values[0], str(bits // 8))
        swap = self.big and bits > 8 and not name.endswith("le")
        if name.startswith("load"):
            value = f.load(at, kind)
            value = f.let(f"call {kind} @llvm.bswap.{kind}({kind} {value})") if swap else value
            return value if bits == 64 else f.let(f"zext {kind} {value} to i64")
        value = values[1] if bits == 64 else f.let(f"trunc i64 {values[1]} to {kind}")
        f.store(at, f.let(f"call {kind} @llvm.bswap.{kind}({kind} {value})") if swap else value, kind)
        return "0"

    def host_access(self, name: str, values: list[str]) -> str:
        """In the machine's byte order, inside of an array of words."""
        f, bits = self.f, HOST_ACCESS[name]
        kind = f"i{bits}"
        swap = self.big and bits > 8
        if name.startswith("peek"):
            value = f.load(values[0], kind)
            value = f.let(f"call {kind} @llvm.bswap.{kind}({kind} {value})") if swap else value
            return value if bits == 64 else f.let(f"zext {kind} {value} to i64")
        value = values[1] if bits == 64 else f.let(f"trunc i64 {values[1]} to {kind}")
        f.store(values[0], f.let(f"call {kind} @llvm.bswap.{kind}({kind} {value})") if swap else value, kind)
        return "0"

    def copy(self, to: str, source: str, size: str) -> str:
        return self.move(self.within(to, size), self.within(source, size), size)

    def copy_out(self, to: str, source: str, size: str) -> str:
        return self.move(to, self.within(source, size), size)

    def copy_in(self, to: str, source: str, size: str) -> str:
        return self.move(self.within(to, size), source, size)

    def move(self, to: str, source: str, size: str) -> str:
        """At addresses of the host."""
        self.f.move(to, source, size)
        return "0"

    def put(self, to: str, source: str, size: str) -> str:
        """Bytes of a Python object; one that is shorter, or none, is a fault."""
        return self.fill(self.within(to, size), source, size)

    def fill(self, to: str, source: str, size: str) -> str:
        """The same at an address of the host."""
        f = self.f
        at = f.let(f"inttoptr i64 {to} to ptr")
        length = f.let(f"call i64 @PyBytes_Size(i64 {source})")
        enough = f.name("enough")
        f.branch(f.let(f"icmp sge i64 {length}, {size}"), enough, "fault")
        f.label(enough)
        start = f.let(f"call ptr @PyBytes_AsString(i64 {source})")
        f.do(f"call void @llvm.memmove.p0.p0.i64(ptr {at}, ptr {start}, i64 {size}, i1 false)")
        return "0"

    def set_uint(self, place: str, value: str) -> str:
        """Another int instead of the one that is there."""
        f = self.f
        f.do(f"call void @set_uint(i64 {place}, i64 {value})")
        return "0"

    def set_entry(self, where: str, key: str, value: str) -> str:
        f = self.f
        number = f.let(f"call i64 @PyLong_FromUnsignedLongLong(i64 {key})")
        f.do(f"call i32 @PyDict_SetItem(i64 {where}, i64 {number}, i64 {value})")
        f.do(f"call void @Py_DecRef(i64 {number})")
        return "0"

    def call_python(self, function: str, value: str) -> str:
        """function(value); 1 if that raised something, which then ends the emulation."""
        f = self.f
        array, ended = "%" + f.name("array"), "%" + f.name("ended")
        f.lines.insert(2, f"  {array} = alloca ptr\n  {ended} = alloca i64")
        number = f.let(f"call ptr @PyLong_FromUnsignedLongLong(i64 {value})")
        f.do(f"store ptr {number}, ptr {array}")
        f.do(f"store i64 0, ptr {ended}")
        result = f.let(f"call ptr @PyObject_Vectorcall(i64 {function}, ptr {array}, i64 1, ptr null)")
        f.do(f"call void @Py_DecRef(ptr {number})")
        good, raised, after = f.name("good"), f.name("raised"), f.name("after")
        f.branch(f.let(f"icmp eq ptr {result}, null"), raised, good)
        f.label(raised)
        f.set_word("%blk", Word.REASON, str(int(Reason.EXCEPTION)))
        f.do(f"store i64 1, ptr {ended}")
        f.goto(after)
        f.label(good)
        f.do(f"call void @Py_DecRef(ptr {result})")
        f.goto(after)
        f.label(after)
        return f.let(f"load i64, ptr {ended}")

    def zero(self, to: str, size: str) -> str:
        f = self.f
        a = f.let(f"inttoptr i64 {self.within(to, size)} to ptr")
        f.do(f"call void @llvm.memset.p0.i64(ptr {a}, i8 0, i64 {size}, i1 false)")
        return "0"


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _as_load(target: ast.expr) -> ast.expr:
    copy = ast.parse(ast.unparse(target), mode="eval").body
    assert isinstance(copy, ast.expr)
    return ast.copy_location(copy, target)
