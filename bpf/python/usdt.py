"""Arguments of static probes, as libbpf's usdt.bpf.h reads them: two maps that whoever loads the object fills.

Where a probe's arguments are depends on the place that was hit.  `__bpf_usdt_specs` says it by a number, which comes with the hit as a cookie
(5.15), or stands in `__bpf_usdt_ip_to_spec_id` by the instruction pointer; which of both it is the loader says in a constant of its own.
"""

from __future__ import annotations

import ast
from typing import Protocol

from bpf.python.calls import HELPER_NUMBERS
from bpf.python.debug import DebugInfo
from bpf.python.errors import CompileError
from bpf.python.expression import MapValue, Value
from bpf.python.function import FunctionWriter
from bpf.python.kernel import Target
from bpf.python.types import CHAR, INTS, U64, Array, Struct
from bpf.usdt_names import IP_TO_ID, SPECS

USER_READ_SINCE = "5.5"  # bpf_probe_read_user()
MOST_ARGUMENTS = 12  # arguments of a probe: BPF_USDT_MAX_ARG_CNT
HAS_COOKIE = "LINUX_HAS_BPF_COOKIE"
CONSTANT, REGISTER, MEMORY = range(3)  # enum __bpf_usdt_arg_type


def _structs() -> tuple[Struct, Struct]:
    """struct __bpf_usdt_arg_spec and struct __bpf_usdt_spec."""
    argument, spec = Struct("__bpf_usdt_arg_spec"), Struct("__bpf_usdt_spec")
    for name, kind in (("val_off", "u64"), ("arg_type", "u32"), ("reg_off", "s16"), ("arg_signed", "u8")):
        argument.add(name, INTS[kind])
    argument.add("arg_bitshift", CHAR)
    spec.add("args", Array(argument, MOST_ARGUMENTS))
    spec.add("usdt_cookie", U64)
    spec.add("arg_cnt", INTS["s16"])
    return argument, spec


ARGUMENT, SPEC = _structs()


class Module(Protocol):
    """What is added to."""

    target: Target
    debug: DebugInfo
    maps: dict[str, MapValue]
    definitions: list[str]

    def define_map(self, map: MapValue, line: int) -> None: ...


def declare(module: Module, node: ast.FunctionDef) -> None:
    """The maps, and what the loader says of the kernel: at the first of these programs."""
    if SPECS in module.maps:
        return
    if module.target.version.before(USER_READ_SINCE):
        raise CompileError(f"static probes need Linux {USER_READ_SINCE} or later", node)
    for made in (
        MapValue(SPECS, "ARRAY", INTS["int"], SPEC, 256, 0),
        MapValue(IP_TO_ID, "HASH", INTS["s64"], INTS["u32"], 1024, 0),
    ):
        module.maps[made.name] = made
        module.define_map(made, node.lineno)
    debug = module.debug
    truth = debug.node('!DIBasicType(name: "_Bool", size: 8, encoding: DW_ATE_boolean)')
    constant = debug.node(f"!DIDerivedType(tag: DW_TAG_const_type, baseType: {truth})")
    mark = debug.variable(HAS_COOKIE, constant, node.lineno, defined=False)
    module.definitions.append(
        f'@{HAS_COOKIE} = extern_weak dso_local global i8, section ".kconfig", align 1, !dbg {mark}'
    )


class Arguments:
    """Those of one program, which reads them where it begins."""

    def __init__(self, writer: FunctionWriter, target: Target) -> None:
        self.writer, self.target = writer, target
        self.spec = self._spec()

    def _helper(self, name: str, *arguments: str, result: str = "i64") -> str:
        return self.writer.let(f"call {result} inttoptr (i64 {HELPER_NUMBERS[name]} to ptr)({', '.join(arguments)})")

    def _spec(self) -> str:
        """The slot with the pointer to the hit place's specification, which may be null."""
        w = self.writer
        key, place, found = w.memory(INTS["int"]), w.memory(U64), w.memory(U64)
        cookie, by_place, known, search, ready = (
            w.label(stem) for stem in ("cookie", "place", "known", "search", "spec")
        )
        w.do(f"store i64 0, ptr {found}")
        w.branch(w.let(f"icmp ne i8 {w.let(f'load i8, ptr @{HAS_COOKIE}')}, 0"), cookie, by_place)
        w.start(cookie)
        given = self._helper("get_attach_cookie", "ptr %ctx")
        w.do(f"store i32 {w.let(f'trunc i64 {given} to i32')}, ptr {key}")
        w.goto(search)
        w.start(by_place)
        ip = self.target.register(self.target.arch.instruction_pointer)
        assert ip is not None
        w.do(f"store i64 {w.context_word('%ctx', *ip).text}, ptr {place}")
        number = self._helper("map_lookup_elem", f"ptr @{IP_TO_ID}", f"ptr {place}", result="ptr")
        w.branch(w.let(f"icmp ne ptr {number}, null"), known, ready)
        w.start(known)
        w.do(f"store i32 {w.let(f'load i32, ptr {number}')}, ptr {key}")
        w.goto(search)
        w.start(search)
        spec = self._helper("map_lookup_elem", f"ptr @{SPECS}", f"ptr {key}", result="ptr")
        w.do(f"store ptr {spec}, ptr {found}")
        w.goto(ready)
        w.start(ready)
        return found

    def _load(self, struct: Struct, name: str, at: str) -> str:
        """A member as a number of 64 bits."""
        w, member = self.writer, struct.members[name]
        place = w.let(f"getelementptr i8, ptr {at}, i64 {member.offset}")
        return w.load(Value(place, member.type, True)).text

    def value(self, number: int, node: ast.AST) -> Value:
        """bpf_usdt_arg(): the number-th one; 0 where it cannot be had."""
        if number >= MOST_ARGUMENTS:
            raise CompileError(f"a static probe has {MOST_ARGUMENTS} arguments at most", node)
        w = self.writer
        slot = w.memory(U64)
        there, has, constant, saved, memory, shift, done = (
            w.label(stem) for stem in ("there", "has", "constant", "saved", "memory", "shift", "argument")
        )
        w.do(f"store i64 0, ptr {slot}")
        spec = w.let(f"load ptr, ptr {self.spec}")
        w.branch(w.let(f"icmp ne ptr {spec}, null"), there, done)
        w.start(there)
        w.branch(w.let(f"icmp sgt i64 {self._load(SPEC, 'arg_cnt', spec)}, {number}"), has, done)
        w.start(has)
        at = w.let(f"getelementptr i8, ptr {spec}, i64 {number * ARGUMENT.size}")
        offset = self._load(ARGUMENT, "val_off", at)
        kind = w.let(f"and i64 {self._load(ARGUMENT, 'arg_type', at)}, 255")  # newer loaders keep more in the rest
        w.branch(w.let(f"icmp eq i64 {kind}, {CONSTANT}"), constant, saved)
        w.start(constant)
        w.do(f"store i64 {offset}, ptr {slot}")
        w.goto(shift)
        w.start(saved)
        register = w.let(f"getelementptr i8, ptr %ctx, i64 {self._load(ARGUMENT, 'reg_off', at)}")
        self._helper("probe_read_kernel", f"ptr {slot}", "i64 8", f"ptr {register}")
        w.branch(w.let(f"icmp eq i64 {kind}, {MEMORY}"), memory, shift)
        w.start(memory)
        address = w.let(f"add i64 {w.let(f'load i64, ptr {slot}')}, {offset}")
        self._helper("probe_read_user", f"ptr {slot}", "i64 8", f"i64 {address}")
        bits = w.let(f"and i64 {self._load(ARGUMENT, 'arg_bitshift', at)}, 63")
        if self.target.arch.byteorder == "big":
            read = w.let(f"load i64, ptr {slot}")
            w.do(f"store i64 {w.let(f'lshr i64 {read}, {bits}')}, ptr {slot}")
        w.goto(shift)
        w.start(shift)
        bits = w.let(f"and i64 {self._load(ARGUMENT, 'arg_bitshift', at)}, 63")
        read = w.let(f"load i64, ptr {slot}")
        up = w.let(f"shl i64 {read}, {bits}")
        signed = w.let(f"icmp ne i64 {self._load(ARGUMENT, 'arg_signed', at)}, 0")
        both = w.let(f"ashr i64 {up}, {bits}"), w.let(f"lshr i64 {up}, {bits}")
        w.do(f"store i64 {w.let(f'select i1 {signed}, i64 {both[0]}, i64 {both[1]}')}, ptr {slot}")
        w.goto(done)
        w.start(done)
        return Value(w.let(f"load i64, ptr {slot}"), U64)
