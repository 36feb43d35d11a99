"""Calls: conversions, structs made on the stack, methods of maps, the kernel's helpers, functions of the same file."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Protocol

from arch.records import dataclass
from bpf import uapi
from bpf.python.errors import CompileError
from bpf.python.expression import ExpressionWriter, MapValue, Scope, Value
from bpf.python.types import S64, U64, Array, Int, KernelStruct, Pointer, Space, Struct, Type, describe

HELPER_NUMBERS = {name: number for number, name in uapi.HELPER_NAMES.items()}
# Helpers whose result is no errno: numbers without a sign.
UNSIGNED = frozenset(
    [
        "ktime_get_ns",
        "ktime_get_boot_ns",
        "ktime_get_coarse_ns",
        "ktime_get_tai_ns",
        "get_prandom_u32",
        "get_smp_processor_id",
        "get_current_pid_tgid",
        "get_current_uid_gid",
        "get_numa_node_id",
        "get_current_cgroup_id",
        "get_current_ancestor_cgroup_id",
        "jiffies64",
        "get_func_ip",
        "get_attach_cookie",
        "get_func_arg_cnt",
        "ringbuf_query",
        "get_socket_cookie",
        "get_hash_recalc",
        "perf_event_read",
    ]
)
# Helpers whose result is a struct of the kernel, and how it may be read.
POINTERS: dict[str, Space] = {"get_current_task": "kernel", "get_current_task_btf": "btf"}
HELPER_ARGUMENTS = 5
MAX_PRINTED = 3  # numbers that bpf_trace_printk() takes


@dataclass(frozen=True)
class Inlined:
    """A function of the file that programs call."""

    name: str
    params: tuple[tuple[str, Type], ...]
    result: Type


class Module(Scope, Protocol):
    functions: dict[str, Inlined]


class CallWriter(ExpressionWriter):
    """Calls."""

    module: Module

    def call(self, node: ast.Call, wanted: bool = True) -> Value:
        match node.func:
            case ast.Attribute(ast.Name(name), method) if name in self.module.maps:
                return self.method(self.module.maps[name], method, node)
            case ast.Name(name) if name in self.module.structs:
                return self.made(self.module.structs[name], node)
            case ast.Name(name) if name in self.module.functions:
                return self.own_function(self.module.functions[name], node)
        word = self.module.word(node.func)
        if word is None:
            raise CompileError("no function that a BPF program can call", node)
        special = SPECIAL.get(word)
        if special is not None:
            return special(self, node)
        if word in CONVERSIONS:
            (argument,) = self.arguments(node, 1)
            kind = CONVERSIONS[word]
            return Value(self.cut(self.number(argument, node), kind), kind)
        if word in HELPER_NUMBERS:
            return self.helper(word, [self.argument(part) for part in node.args], node)
        raise CompileError(f"there is no helper bpf_{word}()", node)

    def arguments(self, node: ast.Call, count: int) -> list[Value]:
        if node.keywords or len(node.args) != count:
            raise CompileError(f"takes {count} argument{'' if count == 1 else 's'}", node)
        return [self.expression(part) for part in node.args]

    def own_function(self, function: Inlined, node: ast.Call) -> Value:
        given = self.arguments(node, len(function.params))
        texts = []
        for value, (_, kind) in zip(given, function.params, strict=True):
            if isinstance(kind, Pointer):
                texts.append(f"ptr {self.pointer(value, node)}")
            else:
                assert isinstance(kind, Int)
                texts.append(f"i64 {self.cut(self.number(value, node), kind)}")
        ir = "ptr" if isinstance(function.result, Pointer) else "i64"
        return Value(self.let(f"call {ir} @{function.name}({', '.join(texts)})"), function.result)

    def made(self, struct: Struct, node: ast.Call) -> Value:
        """A struct on the stack, zero but for what is said."""
        place = Value(self.memory(Array(U64, -(-struct.size // 8))), struct, True)
        self.clear(Value(place.text, Array(U64, -(-struct.size // 8)), True))
        given = list(zip(struct.members, node.args, strict=False))
        if len(node.args) > len(struct.members):
            raise CompileError(f"{describe(struct)} has {len(struct.members)} members", node)
        for keyword in node.keywords:
            if keyword.arg not in struct.members:
                raise CompileError(f"{describe(struct)} has no member {keyword.arg}", keyword.value)
            given.append((keyword.arg, keyword.value))
        for name, value in given:
            member = struct.members[name]
            at = self.let(f"getelementptr i8, ptr {place.text}, i64 {member.offset}")
            self.store(Value(at, member.type, True), self.expression(value), value)
        return place

    # Helpers

    def argument(self, node: ast.expr) -> str:
        """As a helper takes it: numbers, addresses, maps."""
        if isinstance(node, ast.Name) and node.id in self.module.maps:
            return f"ptr @{node.id}"
        value = self.expression(node)
        if value.place or isinstance(value.type, Pointer):
            return f"ptr {self.pointer(value, node)}"
        return f"i64 {self.number(value, node)}"

    def helper(self, name: str, arguments: list[str], node: ast.AST) -> Value:
        if len(arguments) > HELPER_ARGUMENTS:
            raise CompileError(f"a helper takes {HELPER_ARGUMENTS} arguments at most", node)
        number = f"inttoptr (i64 {HELPER_NUMBERS[name]} to ptr)"
        if name in POINTERS:
            target = self.module.target.struct("task_struct")
            return Value(self.let(f"call ptr {number}()"), Pointer(target, POINTERS[name]))
        result = self.let(f"call i64 {number}({', '.join(arguments)})")
        return Value(result, U64 if name in UNSIGNED else S64)

    # Maps

    def method(self, map: MapValue, name: str, node: ast.Call) -> Value:
        method = METHODS.get(name)
        if method is None or map.kind not in method.kinds:
            raise CompileError(f"a {map.kind} map has no {name}()", node)
        if node.keywords or not method.least <= len(node.args) <= method.most:
            raise CompileError(f"{name}() takes {method.least} to {method.most} arguments", node)
        return method.write(self, map, node)

    def in_memory(self, node: ast.expr, kind: Type) -> str:
        """The address of a value of this type."""
        value = self.expression(node)
        if isinstance(kind, Int):
            slot = Value(self.memory(kind), kind, True)
            self.store(slot, value, node)
            return slot.text
        target = value.type.target if isinstance(value.type, Pointer) else value.type
        if target is not kind and target != kind:
            raise CompileError(f"{describe(value.type)} where {describe(kind)} belongs", node)
        return self.pointer(value, node)

    def flags(self, node: ast.Call, index: int) -> str:
        return self.number(self.expression(node.args[index]), node) if len(node.args) > index else "0"

    def lookup(self, map: MapValue, node: ast.Call) -> Value:
        assert map.key is not None and map.value is not None
        key = self.in_memory(node.args[0], map.key)
        call = f"call ptr inttoptr (i64 {HELPER_NUMBERS['map_lookup_elem']} to ptr)"
        return Value(self.let(f"{call}(ptr @{map.name}, ptr {key})"), Pointer(map.value))

    def update(self, map: MapValue, node: ast.Call) -> Value:
        assert map.key is not None and map.value is not None
        key, value = self.in_memory(node.args[0], map.key), self.in_memory(node.args[1], map.value)
        flags = self.flags(node, 2)
        return self.helper("map_update_elem", [f"ptr @{map.name}", f"ptr {key}", f"ptr {value}", f"i64 {flags}"], node)

    def delete(self, map: MapValue, node: ast.Call) -> Value:
        assert map.key is not None
        key = self.in_memory(node.args[0], map.key)
        return self.helper("map_delete_elem", [f"ptr @{map.name}", f"ptr {key}"], node)

    def reserve(self, map: MapValue, node: ast.Call) -> Value:
        struct = self.module.type_of(node.args[0])
        call = f"call ptr inttoptr (i64 {HELPER_NUMBERS['ringbuf_reserve']} to ptr)"
        return Value(self.let(f"{call}(ptr @{map.name}, i64 {struct.size}, i64 0)"), Pointer(struct))

    def hand_over(self, name: str) -> Callable[[MapValue, ast.Call], Value]:
        def write(map: MapValue, node: ast.Call) -> Value:
            record = self.pointer(self.expression(node.args[0]), node)
            call = f"call void inttoptr (i64 {HELPER_NUMBERS[name]} to ptr)"
            self.do(f"{call}(ptr {record}, i64 {self.flags(node, 1)})")
            return self.literal(0, node)

        return write

    def output(self, map: MapValue, node: ast.Call) -> Value:
        """ringbuf: output(value); perf events: output(ctx, value), to the buffer of this CPU."""
        value = self.expression(node.args[-1])
        size = value.type.target.size if isinstance(value.type, Pointer) and value.type.target else value.type.size
        data = (
            self.pointer(value, node) if not isinstance(value.type, Int) else self.in_memory(node.args[-1], value.type)
        )
        if map.kind == "RINGBUF":
            return self.helper("ringbuf_output", [f"ptr @{map.name}", f"ptr {data}", f"i64 {size}", "i64 0"], node)
        if len(node.args) != 2:
            raise CompileError("output() of perf events takes ctx and a value", node)
        ctx = self.pointer(self.expression(node.args[0]), node)
        arguments = [f"ptr {ctx}", f"ptr @{map.name}", f"i64 {uapi.BPF_F_CURRENT_CPU}", f"ptr {data}", f"i64 {size}"]
        return self.helper("perf_event_output", arguments, node)

    # Words with a meaning of their own

    def printk(self, node: ast.Call) -> Value:
        """bpf_trace_printk(), the format's size filled in."""
        if not node.args or not isinstance(node.args[0], ast.Constant) or not isinstance(node.args[0].value, str):
            raise CompileError("printk() begins with a constant format", node)
        if len(node.args) > 1 + MAX_PRINTED:
            raise CompileError(f"printk() takes {MAX_PRINTED} values at most", node)
        text = self.expression(node.args[0])
        rest = [self.argument(part) for part in node.args[1:]]
        return self.helper("trace_printk", [f"ptr {text.text}", f"i64 {text.type.size}", *rest], node)

    def atomic_add(self, node: ast.Call) -> Value:
        if len(node.args) != 2:
            raise CompileError("atomic_add() takes a place and a number", node)
        place = self.designate(node.args[0])
        if not place.place and isinstance(place.type, Pointer) and place.type.target is not None:
            place = Value(place.text, place.type.target, True, place.type.space)
        elif place.place and isinstance(place.type, Pointer):
            pointed = self.load(place)
            assert isinstance(pointed.type, Pointer)
            place = Value(pointed.text, pointed.type.target or U64, True, pointed.type.space)
        if not (place.place and isinstance(place.type, Int) and place.type.size >= 4 and place.space == "memory"):
            raise CompileError("atomic_add() takes a u32 or u64 of a map or a global variable", node)
        number = self.number(self.expression(node.args[1]), node)
        if place.type.size == 4:
            number = self.let(f"trunc i64 {number} to i32")
        self.let(f"atomicrmw add ptr {place.text}, {place.type.ir} {number} monotonic")
        return self.literal(0, node)

    def cast(self, node: ast.Call) -> Value:
        """cast(ptr["task_struct"], number or pointer); where it leads, the type says."""
        if len(node.args) != 2:
            raise CompileError("cast() takes a pointer's type and a value", node)
        kind = self.module.type_of(node.args[0])
        if not isinstance(kind, Pointer):
            raise CompileError("cast() makes pointers", node)
        value = self.expression(node.args[1])
        if isinstance(value.type, Pointer) or value.place:
            return Value(self.pointer(value, node), kind)
        return Value(self.let(f"inttoptr i64 {self.number(value, node)} to ptr"), kind)

    def addressof(self, node: ast.Call) -> Value:
        """Of a variable: for helpers that fill one."""
        if len(node.args) != 1:
            raise CompileError("addressof() takes a variable or a member", node)
        place = self.designate(node.args[0])
        if not place.place:
            raise CompileError("that has no address", node)
        return Value(place.text, Pointer(place.type, place.space))

    def sizeof(self, node: ast.Call) -> Value:
        if len(node.args) != 1:
            raise CompileError("sizeof() takes a type", node)
        kind = self.module.type_of(node.args[0])
        if isinstance(kind, KernelStruct):
            raise CompileError("how large it is only the running kernel knows", node)
        return self.literal(kind.size, node)


CONVERSIONS = {
    name: Int(name, size, name[0] == "s") for size in (1, 2, 4, 8) for name in (f"u{8 * size}", f"s{8 * size}")
}
SPECIAL: dict[str, Callable[[CallWriter, ast.Call], Value]] = {
    "printk": CallWriter.printk,
    "atomic_add": CallWriter.atomic_add,
    "addressof": CallWriter.addressof,
    "cast": CallWriter.cast,
    "sizeof": CallWriter.sizeof,
}


@dataclass(frozen=True)
class Method:
    kinds: frozenset[str]
    least: int
    most: int
    write: Callable[[CallWriter, MapValue, ast.Call], Value]


KEYED = frozenset({"HASH", "ARRAY", "PERCPU_HASH", "PERCPU_ARRAY", "LRU_HASH", "LRU_PERCPU_HASH", "LPM_TRIE"})
METHODS = {
    "lookup": Method(KEYED, 1, 1, CallWriter.lookup),
    "update": Method(KEYED, 2, 3, CallWriter.update),
    "delete": Method(KEYED, 1, 1, CallWriter.delete),
    "reserve": Method(frozenset({"RINGBUF"}), 1, 1, CallWriter.reserve),
    "submit": Method(frozenset({"RINGBUF"}), 1, 2, lambda w, m, n: w.hand_over("ringbuf_submit")(m, n)),
    "discard": Method(frozenset({"RINGBUF"}), 1, 2, lambda w, m, n: w.hand_over("ringbuf_discard")(m, n)),
    "output": Method(frozenset({"RINGBUF", "PERF_EVENT_ARRAY"}), 1, 2, CallWriter.output),
}
