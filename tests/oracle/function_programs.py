"""Random programs of several functions: static and global ones with tagged arguments, callbacks, and what may not cross a call.

    python tests/oracle/function_programs.py functions 100 --btf VMLINUX_BTF --seed 7 >CASES.json

Pointers into the caller's stack, contexts, memory and dynptrs are handed down; locks, read sections, references and exceptions
meet calls; loops of all kinds (may_goto, iterators, bpf_loop(), counters) run around and inside of functions.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from kernel_programs import Text

from bpf.btf import Btf
from bpf.btf.codec import BtfType, Kind, Member, Param
from tests.oracle.generator_arguments import asked

Row = dict[str, Any]
SCHED_CLS, XDP, TRACING, SYSCALL, KPROBE = 3, 6, 26, 31, 2
# type of program: (struct of its context, whether it sleeps)
TYPES: dict[int, tuple[str, int]] = {SCHED_CLS: ("__sk_buff", 0), XDP: ("xdp_md", 0), SYSCALL: ("", 1 << 4), KPROBE: ("pt_regs", 0)}  # fmt: skip
VALUES, TIMERS, LOCKED, JUMPS = "fixup_map_array_48b", "timers", "locked", "fixup_prog1"
OPERATIONS = ("+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>=", "s>>=", "/=", "%=")
CONDITIONS = ("==", "!=", ">", "<", ">=", "<=", "s>", "s<", "s>=", "s<=")
NUMBERS = (0, 1, 2, 4, 7, 8, 15, 16, 31, 63, 64, 255, 4096, -1, -8, 0x7FFFFFFF)
# what a parameter of a global function may be: C type, and its decl tag
PARAMETERS: dict[str, tuple[str, str]] = {
    "number": ("int", ""), "memory": ("pair *", ""), "memory, there": ("pair *", "arg:nonnull"), "context": ("ctx *", ""),
    "tagged context": ("void *", "arg:ctx"), "dynptr": ("bpf_dynptr *", ""), "task": ("task_struct *", "arg:trusted"),
    "task, if any": ("task_struct *", "arg:trusted,arg:nullable"), "untrusted": ("task_struct *", "arg:untrusted"),
    "word": ("long *", ""),
}  # fmt: skip


@dataclass
class Function:
    """One of the program's functions."""

    name: str
    is_global: bool
    parameters: list[str]
    start: int = 0


@dataclass
class Frame:
    """What registers 6 to 9 of a function hold, and how much of its stack is in use."""

    holds: dict[int, str] = field(default_factory=dict)
    depth: int = 8


def special(name: str, size: int) -> Row:
    """A map whose values are four bytes, and behind them a struct that the kernel knows."""
    btf = Btf()
    number = btf.append(BtfType(Kind.INT, "int", 4, encoding=1, bits=32))
    word = btf.append(BtfType(Kind.INT, "unsigned long", 8, bits=64))
    kind, unit = (word, 8) if size > 4 else (number, 4)
    words = btf.append(BtfType(Kind.ARRAY, type=kind, index_type=number, nelems=size // unit))
    inner = btf.append(BtfType(Kind.STRUCT, name, size, members=[Member("__opaque", words, 0)]))
    value = btf.append(BtfType(Kind.STRUCT, "value", unit + size, members=[Member("a", number, 0), Member("b", inner, 8 * unit)]))  # fmt: skip
    return {"type": 2, "key_size": 4, "value_size": unit + size, "max_entries": 1, "btf": btf.encode().hex(),
            "btf_key_type": number, "btf_value_type": value}  # fmt: skip


MAPS: dict[str, Row] = {"timers": special("bpf_timer", 16), "locked": special("bpf_spin_lock", 4)}


class Writer:
    """One program."""

    def __init__(self, rng: random.Random, btf: Btf) -> None:
        self.rng, self.btf, self.text = rng, btf, Text()
        self.newer = bool(btf.find("bpf_local_irq_save", Kind.FUNC))
        self.type = rng.choice((SCHED_CLS, SCHED_CLS, SCHED_CLS, XDP, SYSCALL, KPROBE))
        self.functions: list[Function] = []
        self.callbacks: list[str] = []
        self.fresh = 0
        self.frame = Frame()
        self.number_of_function = 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def label(self) -> str:
        self.fresh += 1
        return f"L{self.fresh}"

    def add(self, *lines: str) -> None:
        """As Text.add(), and `FUNC rN name`."""
        for line in lines:
            if line.startswith("FUNC "):
                _, reg, name = line.split()
                self.text.lines.append(f"{reg} = func[{name}]")
                self.text.position += 2
            else:
                self.text.add(line)

    # ---- the whole ----

    def write(self) -> Row:
        rng = self.rng
        for number in range(rng.randint(1, 4)):
            is_global = self.chance(0.5)
            kinds = list(PARAMETERS) if is_global else ["number", "stack", "context", "memory", "word"]
            self.functions.append(Function(f"f{number}", is_global, [rng.choice(kinds) for _ in range(rng.randint(0, 3))]))  # fmt: skip
        self.callbacks = [f"cb{number}" for number in range(rng.randint(0, 2))]
        self.body(Function("main", True, ["context"]), rng.randint(3, 8))
        for number, function in enumerate(self.functions):
            self.number_of_function = number + 1
            if not self.named(f"call {function.name}"):
                continue  # nobody could reach it
            function.start = self.text.position
            self.add(f"{function.name}:")
            self.body(function, rng.randint(1, 5))
        callbacks = []
        self.number_of_function = len(self.functions)
        self.callbacks = [name for name in self.callbacks if self.named(f"func[{name}]")]
        for name in self.callbacks:
            callbacks.append(self.text.position)
            self.add(f"{name}:")
            self.body(Function(name, False, ["number", rng.choice(("stack", "unknown"))]), rng.randint(1, 3), (0, 1))
        return self.finished(callbacks)

    def named(self, words: str) -> bool:
        return any(words in line for line in self.text.lines)

    def finished(self, callbacks: list[int]) -> Row:
        btf = Btf()
        number = btf.append(BtfType(Kind.INT, "int", 4, encoding=1, bits=32))
        long = btf.append(BtfType(Kind.INT, "unsigned long", 8, bits=64))
        fields = [Member("a", long, 0), Member("b", long, 64)]
        found = {"int": number, "pair *": self.pointer(btf, "pair", 16, fields), "void *": btf.append(BtfType(Kind.PTR, type=0))}  # fmt: skip
        found["long *"] = btf.append(BtfType(Kind.PTR, type=long))
        context = TYPES[self.type][0]
        found["ctx *"] = self.pointer(btf, context, 0, []) if context else found["void *"]
        for name in ("bpf_dynptr", "task_struct"):
            found[f"{name} *"] = self.pointer(btf, name, 0, [])
        info = [[0, self.function(btf, found, "main", ["context"], True)]]
        for one in (one for one in self.functions if one.start):
            info.append([one.start, self.function(btf, found, one.name, one.parameters, one.is_global)])
        for name, start in zip(self.callbacks, callbacks):
            info.append([start, self.function(btf, found, name, ["number", "word"], False)])
        flags = TYPES[self.type][1]
        more: Row = {"prog_flags": flags} if flags else {}
        return self.text.row(self.type, btf=btf.encode().hex(), func_info=info, **more)

    @staticmethod
    def pointer(btf: Btf, name: str, size: int, members: list[Member]) -> int:
        return btf.append(BtfType(Kind.PTR, type=btf.append(BtfType(Kind.STRUCT, name, size, members=members))))

    @staticmethod
    def function(btf: Btf, found: dict[str, int], name: str, parameters: list[str], is_global: bool) -> int:
        kinds = [PARAMETERS.get(one, ("long *", "")) for one in parameters]
        params = [Param(f"a{n}", found[kind]) for n, (kind, _) in enumerate(kinds)]
        proto = btf.append(BtfType(Kind.FUNC_PROTO, type=found["int"], params=params))
        made = btf.append(BtfType(Kind.FUNC, name, type=proto, linkage=int(is_global)))
        for n, (_, tags) in enumerate(kinds):
            for tag in filter(None, tags.split(",")):
                if is_global:
                    btf.append(BtfType(Kind.DECL_TAG, tag, type=made, component_idx=n))
        return made

    def body(self, function: Function, length: int, returns: tuple[int, ...] = (0, 0, 1, 2)) -> None:
        self.frame = Frame()
        for number, kind in enumerate(function.parameters[:3]):
            self.add(f"r{6 + number} = r{number + 1}")
            self.frame.holds[6 + number] = kind
        if 9 not in self.frame.holds:
            self.unknown(9)
        for _ in range(length):
            self.statement(0)
        if self.chance(0.3):
            numbers = self.those("number")
            self.add(f"r0 = r{self.rng.choice(numbers)}" if numbers and returns != (0, 1) else "r0 = 0")
        else:
            self.add(f"r0 = {self.rng.choice(returns)}")
        self.add("exit")

    # ---- registers and stack ----

    def those(self, *kinds: str) -> list[int]:
        return [reg for reg, kind in self.frame.holds.items() if kind in kinds]

    def unknown(self, reg: int) -> None:
        self.add("call 7", f"r{reg} = r0")
        self.frame.holds[reg] = "number"

    def slots(self, size: int) -> int:
        """A fresh place on the stack, mostly."""
        self.frame.depth += size
        return -self.frame.depth

    def a_number(self) -> int:
        found = self.those("number")
        if found:
            return self.rng.choice(found)
        self.unknown(9)
        return 9

    # ---- statements ----

    def statement(self, depth: int) -> None:
        simple = [
            self.arithmetic,
            self.arithmetic,
            self.spill,
            self.memory,
            self.memory,
            self.call,
            self.call,
            self.call,
        ]
        deep = [self.branch, self.branch, self.may_goto, self.counted, self.iterate, self.callback, self.section, self.lock,
                self.timer, self.tail_call, self.throw, self.packet, self.dynptr, self.task]  # fmt: skip
        choice = self.rng.choice(simple + (deep if depth < 2 and self.frame.depth < 200 else []))
        if choice in (self.branch, self.may_goto, self.counted, self.iterate, self.section):
            choice(depth)  # type: ignore[call-arg]
        else:
            choice()  # type: ignore[call-arg]

    def nested(self, depth: int) -> None:
        kept = dict(self.frame.holds)
        for _ in range(self.rng.randint(1, 2)):
            self.statement(depth + 1)
        if self.chance(0.9):
            self.frame.holds = {reg: kind for reg, kind in kept.items() if self.frame.holds.get(reg) == kind}

    def arithmetic(self) -> None:
        reg, rng = self.a_number(), self.rng
        other = rng.choice((*(f"r{n}" for n in self.those("number")), *map(str, rng.sample(NUMBERS, 3))))
        narrow = "w" if self.chance(0.3) else "r"
        if narrow == "w":
            other = other.replace("r", "w")
        op = rng.choice(OPERATIONS)
        if op in ("<<=", ">>=", "s>>=") and not other.startswith(narrow):
            other = str(rng.choice((1, 3, 8, 31)))
        if op in ("/=", "%=") and other == "0":
            other = "3"
        self.add(f"{narrow}{reg} {op} {other}")

    def spill(self) -> None:
        reg, place = self.rng.choice(list(self.frame.holds) or [9]), self.slots(8)
        if reg not in self.frame.holds:
            return
        self.add(f"*(u64 *)(r10 {place}) = r{reg}")
        if self.chance(0.7):
            kind = self.frame.holds[reg]
            to = self.rng.choice((reg, reg, 9))
            if kind == "number" and self.chance(0.3):
                loads = ("u32", "u8", "s32", "s8", "u16")
                self.add(f"r{to} = *({self.rng.choice(loads)} *)(r10 {place})")
            else:
                self.add(f"r{to} = *(u64 *)(r10 {place})")
            self.frame.holds[to] = kind

    def memory(self) -> None:
        """Something a pointer that was handed down points to."""
        found, rng = self.those("memory", "memory, there", "stack", "word", "value", "untrusted", "task"), self.rng
        if not found:
            self.value()
            return
        reg = rng.choice(found)
        kind, off = self.frame.holds[reg], rng.choice((0, 0, 8, 4, -8, 16))
        skip = self.label()
        if kind in ("memory", "word") and self.chance(0.85):
            self.add(f"if r{reg} == 0 goto {skip}")
        what = rng.randrange(5)
        if kind in ("untrusted", "task") or what == 0:
            self.add(f"r1 = *(u64 *)(r{reg} +{abs(off)})")
        elif what == 1:
            self.add(f"*(u64 *)(r{reg} {off:+d}) = {rng.choice((0, 7))}")
        elif what == 2:
            self.add(f"*(u{rng.choice((8, 32, 64))} *)(r{reg} {off:+d}) = r{self.a_number()}")
        elif what == 3:
            self.add("r1 = 1", f"lock *(u64 *)(r{reg} {off:+d}) += r1")
        elif self.newer:
            self.add(f"r1 = load_acquire((u64 *)(r{reg} {off:+d}))")
        else:
            self.add(f"r1 = *(s32 *)(r{reg} {off:+d})")
        self.add(f"{skip}:")

    def value(self) -> None:
        place, out, reg = self.slots(8), self.label(), self.rng.choice((8, 9))
        self.add(f"*(u32 *)(r10 {place}) = 0", "r2 = r10", f"r2 += {place}", f"MAP r1 {VALUES}", "call 1",
                 f"if r0 != 0 goto {out}", "r0 = 0", "exit", f"{out}:", f"r{reg} = r0")  # fmt: skip
        self.frame.holds[reg] = "value"

    def branch(self, depth: int) -> None:
        out = self.label()
        other = self.rng.choice((*(f"r{n}" for n in self.those("number")), *map(str, self.rng.sample(NUMBERS, 2))))
        reg = self.a_number()
        wide = "w" if self.chance(0.3) else "r"
        other = other.replace("r", wide)
        self.add(f"if {wide}{reg} {self.rng.choice(CONDITIONS)} {other} goto {out}")
        self.nested(depth)
        self.add(f"{out}:")

    def may_goto(self, depth: int) -> None:
        top, out = self.label(), self.label()
        self.add(f"{top}:", f"may_goto {out}")
        self.nested(depth)
        self.add(f"goto {top}", f"{out}:")

    def counted(self, depth: int) -> None:
        place, top, out = self.slots(8), self.label(), self.label()
        self.add(f"*(u64 *)(r10 {place}) = 0", f"{top}:", f"r1 = *(u64 *)(r10 {place})", f"if r1 > {self.rng.choice((2, 5, 9))} goto {out}",
                 "r1 += 1", f"*(u64 *)(r10 {place}) = r1")  # fmt: skip
        self.nested(depth)
        self.add(f"goto {top}", f"{out}:")

    def iterate(self, depth: int) -> None:
        place, top, out = self.slots(8), self.label(), self.label()
        self.add("r1 = r10", f"r1 += {place}", "r2 = 0", f"r3 = {self.rng.choice((3, 10, 1000))}", "KFUNC bpf_iter_num_new",
                 f"{top}:", "r1 = r10", f"r1 += {place}", "KFUNC bpf_iter_num_next", f"if r0 == 0 goto {out}")  # fmt: skip
        if self.chance(0.3):
            self.add("r9 = *(s32 *)(r0 +0)")
            self.frame.holds[9] = "number"
        self.nested(depth)
        self.add(f"goto {top}", f"{out}:")
        if self.chance(0.95):
            self.add("r1 = r10", f"r1 += {place}", "KFUNC bpf_iter_num_destroy")

    def callback(self) -> None:
        if not self.callbacks or (self.number_of_function == len(self.functions) and self.chance(0.9)):
            return
        name, place, rng = self.rng.choice(self.callbacks), self.slots(16), self.rng
        context = "r3 = r10" if self.chance(0.7) else "r3 = 0"
        self.add(f"*(u64 *)(r10 {place}) = 0", f"*(u64 *)(r10 {place + 8}) = r{self.a_number()}", context)
        if context == "r3 = r10":
            self.add(f"r3 += {place}")
        if self.chance(0.7):
            self.add(f"r1 = {rng.choice(('3', '100', f'r{self.a_number()}'))}", f"FUNC r2 {name}", "r4 = 0", "call 181")
        else:
            self.add(f"MAP r1 {VALUES}", f"FUNC r2 {name}", "r4 = 0", "call 164")
        if self.chance(0.5):
            self.add(f"r9 = *(u64 *)(r10 {place + 8})")
            self.frame.holds[9] = "number"

    def section(self, depth: int) -> None:
        kinds = [("bpf_rcu_read_lock", "bpf_rcu_read_unlock"), ("bpf_preempt_disable", "bpf_preempt_enable")]
        if self.newer:
            kinds.append(("bpf_local_irq_save", "bpf_local_irq_restore"))
        begin, end = self.rng.choice(kinds)
        point = ["r1 = r10", f"r1 += {self.slots(8)}"] if "irq" in begin else []
        self.add(*point, f"KFUNC {begin}")
        self.nested(depth)
        if self.chance(0.93):
            self.add(*point, f"KFUNC {end}")

    def lock(self) -> None:
        place, out = self.slots(8), self.label()
        self.add(f"*(u32 *)(r10 {place}) = 0", "r2 = r10", f"r2 += {place}", f"MAP r1 {LOCKED}", "call 1", f"if r0 == 0 goto {out}",
                 "r8 = r0", "r1 = r8", "r1 += 4", "call 93")  # fmt: skip
        self.frame.holds[8] = "locked"
        if self.chance(0.5):
            self.call()
        self.add("*(u32 *)(r8 +0) = 1", "r1 = r8", "r1 += 4", "call 94")
        self.frame.holds.pop(8, None)
        self.add(f"{out}:")

    def timer(self) -> None:
        place, out = self.slots(8), self.label()
        self.add(f"*(u32 *)(r10 {place}) = 0", "r2 = r10", f"r2 += {place}", f"MAP r1 {TIMERS}", "call 1", f"if r0 == 0 goto {out}", "r8 = r0", "r8 += 8")  # fmt: skip
        self.frame.holds.pop(8, None)
        if self.chance(0.6):
            self.add("r1 = r8", f"MAP r2 {TIMERS}", f"r3 = {self.rng.choice((0, 1, 7))}", "call 169")
        if self.callbacks and self.chance(0.7):
            self.add("r1 = r8", f"FUNC r2 {self.rng.choice(self.callbacks)}", "call 170")
        self.add("r1 = r8", "r2 = 1000", f"r3 = {self.rng.choice((0, 0, 1, 9))}", "call 171", f"{out}:")

    def tail_call(self) -> None:
        contexts = self.those("context", "tagged context")
        if contexts and self.chance(0.5):
            self.add(
                f"r1 = r{self.rng.choice(contexts)}", f"MAP r2 {JUMPS}", f"r3 = {self.rng.choice((0, 1, 3))}", "call 12"
            )

    def throw(self) -> None:
        if self.chance(0.4):
            out = self.label()
            self.add(f"if r{self.a_number()} != 7 goto {out}", f"r1 = {self.rng.choice((0, 1, 64))}", "KFUNC bpf_throw", f"{out}:")  # fmt: skip

    def packet(self) -> None:
        contexts = self.those("context", "tagged context")
        if not contexts or self.type not in (SCHED_CLS, XDP):
            return
        reg, out, size = self.rng.choice(contexts), self.label(), self.rng.choice((8, 14, 34))
        first, last = (76, 80) if self.type == SCHED_CLS else (0, 4)
        self.add(f"r2 = *(u32 *)(r{reg} +{first})", f"r3 = *(u32 *)(r{reg} +{last})", "r4 = r2", f"r4 += {size}", f"if r4 > r3 goto {out}",
                 f"r1 = *(u{self.rng.choice((8, 32))} *)(r2 +{self.rng.choice((0, 4, 10, 30))})", f"{out}:")  # fmt: skip

    def dynptr(self) -> None:
        given, rng = self.those("dynptr"), self.rng
        if given:
            self.add(f"r1 = r{rng.choice(given)}", "KFUNC bpf_dynptr_size")
            return
        values = self.those("value", "memory, there")
        if not values:
            return
        place, out = self.slots(16), self.label()
        self.add(f"r1 = r{rng.choice(values)}", f"r2 = {rng.choice((8, 16))}", "r3 = 0", "r4 = r10", f"r4 += {place}", "call 197",
                 "r1 = r10", f"r1 += {place}", f"r2 = {rng.choice((0, 4))}", "r3 = 4", "call 203", f"if r0 == 0 goto {out}",
                 f"r9 = *(u32 *)(r0 +{rng.choice((0, 0, 4))})", f"{out}:")  # fmt: skip

    def task(self) -> None:
        out, reg = self.label(), self.rng.choice((8, 9))
        if self.chance(0.5):
            self.add("call 158", f"r{reg} = r0")
            self.frame.holds[reg] = "task"
            return
        self.add("r1 = 1", "KFUNC bpf_task_from_pid", f"if r0 == 0 goto {out}", f"r{reg} = r0")
        self.frame.holds[reg] = "task"
        if self.chance(0.4):
            self.call()
        if self.chance(0.93):
            self.add(f"r1 = r{reg}", "KFUNC bpf_task_release")
        self.add(f"{out}:")
        self.frame.holds.pop(reg, None)

    # ---- calls ----

    def call(self) -> None:
        rng = self.rng
        later = self.functions[self.number_of_function :]
        if not later or self.chance(0.01):
            later = [one for one in self.functions if one.start] if self.chance(0.3) else later
        if not later:
            self.arithmetic()
            return
        function = rng.choice(later)
        for number, kind in enumerate(function.parameters):
            self.argument(number + 1, kind)
        self.add(f"call {function.name}")
        if self.chance(0.6):
            self.add("r9 = r0")
            self.frame.holds[9] = "number"
            if self.chance(0.4):
                value = self.those("value")
                if value:
                    self.add("r9 &= 7", f"r1 = r{value[0]}", "r1 += r9", "r1 = *(u8 *)(r1 +0)")

    def argument(self, reg: int, kind: str) -> None:
        rng = self.rng
        fitting = self.those(kind) if self.chance(0.95) else list(self.frame.holds)
        if kind in ("context", "tagged context"):
            fitting = fitting or self.those("context", "tagged context")
        if fitting:
            self.add(f"r{reg} = r{rng.choice(fitting)}")
        elif kind in ("memory", "memory, there", "stack", "word") and self.chance(0.9):
            values = self.those("value", "memory, there")
            if values and self.chance(0.4):
                self.add(f"r{reg} = r{rng.choice(values)}")
                return
            place = self.slots(16)
            self.add(f"*(u64 *)(r10 {place}) = 0", f"*(u64 *)(r10 {place + 8}) = {rng.choice((0, 1))}" if self.chance(0.8) else "r0 = 0",
                     f"r{reg} = r10", f"r{reg} += {place + (8 if kind == 'word' else 0)}")  # fmt: skip
        elif kind in ("task", "task, if any", "untrusted") and self.those("task"):
            self.add(f"r{reg} = r{rng.choice(self.those('task'))}")
        else:
            self.add(f"r{reg} = {rng.choice((0, 0, 5))}")


def functions(rng: random.Random, btf: Btf) -> Row:
    """Several functions, and what is handed from one to the other."""
    return Writer(rng, btf).write()


KINDS = {"functions": functions}


def main() -> None:
    kind, count, rng, btf = asked(__doc__, list(KINDS))
    rows = [{"id": number, **KINDS[kind](rng, btf)} for number in range(count)]
    json.dump({"maps": MAPS, "cases": rows}, sys.stdout)


if __name__ == "__main__":
    main()
