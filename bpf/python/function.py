"""One function of a program: its statements.

Numbers are worked with in 64 bits and cut when they go to something narrower; variables live on the stack until LLVM's
passes give them registers.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from bpf.python.calls import CallWriter
from bpf.python.errors import CompileError
from bpf.python.expression import Value
from bpf.python.types import U64, Array, Int, Pointer, Struct, Type, describe


class FunctionWriter(CallWriter):
    """Statements."""

    def body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.ended:
                return  # nothing comes here
            self.here(statement)
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant(str())):
                pass
            case ast.Expr(ast.Call() as call):
                self.call(call, wanted=False)
            case ast.Assign([target], value):
                self.assign(target, value)
            case ast.AnnAssign(ast.Name(name) as target, annotation, value):
                self.annotated(name, self.module.type_of(annotation), value, target)
            case ast.AugAssign(target, op, value):
                self.augmented(target, op, value)
            case ast.Return(value):
                self.give_back(value, node)
            case ast.If(test, body, orelse):
                self.branch_statement(test, body, orelse)
            case ast.While(test, body, []):
                self.loop(test, body)
            case ast.For(ast.Name(name), ast.Call() as call, body, []):
                self.counted(name, call, body, node)
            case ast.Break() | ast.Continue():
                if not self.loops:
                    raise CompileError("outside of a loop", node)
                self.goto(self.loops[-1][isinstance(node, ast.Break)])
            case ast.Pass():
                pass
            case ast.Global(names):
                for name in names:
                    if name not in self.module.globals:
                        raise CompileError(f"there is no global variable {name}", node)
                self.declared_global.update(names)
            case _:
                raise CompileError(f"{type(node).__name__.lower()} has no meaning in a BPF program", node)

    # Assignment

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name) and target.id not in self.declared_global:
            self.local(target.id, self.expression(value), target)
            return
        self.store(self.place(target), self.expression(value), target)

    def local(self, name: str, value: Value, node: ast.expr) -> None:
        """The first assignment of a variable says what it is."""
        known = self.locals.get(name)
        if known is None:
            if name in self.module.globals:
                raise CompileError(f"{name} is a global variable: say `global {name}` to assign to it", node)
            kind = value.type
            if value.place and isinstance(kind, Struct | Array):
                self.locals[name] = value  # another name for the same memory, as in Python
                return
            kind = value.type if isinstance(value.type, Pointer) else self.wide(value.type)
            known = self.locals[name] = self.variable(name, kind)
        self.store(known, value, node)

    def annotated(self, name: str, kind: Type, value: ast.expr | None, node: ast.expr) -> None:
        if name in self.locals:
            raise CompileError(f"{name} has a type already", node)
        made = Value(self.memory(kind), kind, True)
        if value is None:
            self.clear(made)
        else:
            self.store(made, self.expression(value), node)
        self.locals[name] = made

    def augmented(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        place = self.place(target)
        self.store(place, self.arithmetic(op, self.load(place), self.expression(value), target), target)

    def place(self, node: ast.expr) -> Value:
        found = self.designate(node)
        if not found.place:
            raise CompileError("not something that can be assigned to", node)
        if found.space != "memory":
            raise CompileError("a program cannot write into the kernel's structures", node)
        return found

    def wide(self, kind: Type) -> Type:
        """Variables hold 64 bits unless an annotation says otherwise."""
        if isinstance(kind, Int):
            return kind if kind.size == 8 else Int("s64" if kind.signed else "u64", 8, kind.signed)
        return kind

    # Control

    def give_back(self, value: ast.expr | None, node: ast.stmt) -> None:
        if value is None:
            raise CompileError("a program returns a number", node)
        result = self.expression(value)
        if isinstance(self.result, Pointer):
            self.do(f"ret ptr {self.pointer(result, value)}")
        else:
            number = self.number(result, value)
            if self.is_program:
                self.do(f"ret i32 {self.let(f'trunc i64 {number} to i32')}")
            else:
                assert isinstance(self.result, Int)
                self.do(f"ret i64 {self.cut(number, self.result)}")
        self.ended = True

    def branch_statement(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        then, other, after = self.label("then"), self.label("else"), self.label("after")
        self.condition(test, then, other if orelse else after)
        self.start(then)
        self.body(body)
        self.goto(after)
        if orelse:
            self.start(other)
            self.body(orelse)
            self.goto(after)
        self.start(after, only_if_reached=True)

    def loop(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        head, inside, after = self.label("loop"), self.label("body"), self.label("after")
        self.goto(head)
        self.start(head)
        self.condition(test, inside, after)
        self.start(inside)
        self.loops.append((head, after))
        self.body(body)
        self.loops.pop()
        self.goto(head)
        self.start(after, only_if_reached=True)

    def counted(self, name: str, call: ast.Call, body: Sequence[ast.stmt], node: ast.stmt) -> None:
        """`for i in range(...)`: the verifier must see that it ends."""
        if not (isinstance(call.func, ast.Name) and call.func.id == "range" and 1 <= len(call.args) <= 3):
            raise CompileError("a for loop goes over range()", node)
        bounds = [self.expression(argument) for argument in call.args]
        step = 1
        if len(bounds) == 3:
            step = self.module.number(call.args[2]) or 0
            if step <= 0:
                raise CompileError("the step is a positive constant", call.args[2])
        first = self.number(bounds[0], call) if len(bounds) > 1 else "0"
        last = self.number(bounds[min(len(bounds), 2) - 1], call)
        if name in self.locals:
            counter = self.locals[name]
        else:
            counter = self.locals[name] = self.variable(name, U64)
        hidden = self.variable(f"{name}.next", U64)  # the body may change its own variable, as in Python
        self.do(f"store i64 {first}, ptr {hidden.text}")
        head, inside, after = self.label("loop"), self.label("body"), self.label("after")
        onward = self.label("next")
        self.goto(head)
        self.start(head)
        now = self.let(f"load i64, ptr {hidden.text}")
        self.branch(self.let(f"icmp ult i64 {now}, {last}"), inside, after)
        self.start(inside)
        self.store(counter, Value(now, U64), node)
        self.loops.append((onward, after))
        self.body(body)
        self.loops.pop()
        self.goto(onward)
        self.start(onward, only_if_reached=True)
        again = self.let(f"load i64, ptr {hidden.text}")
        self.do(f"store i64 {self.let(f'add i64 {again}, {step}')}, ptr {hidden.text}")
        self.goto(head)
        self.start(after, only_if_reached=True)

    def check_result(self, node: ast.FunctionDef) -> None:
        if not self.ended:
            raise CompileError(f"{node.name} can come to its end without a return", node)
        if isinstance(self.result, Struct | Array):
            raise CompileError(f"{node.name} returns {describe(self.result)}: give it a pointer to fill", node)
