"""Random programs with dynptrs, objects of their own, casts and kernel pointers in maps.

python tests/oracle/object_programs.py dynptrs 100 --btf VMLINUX_BTF --seed 7 >CASES.json
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from kernel_programs import Text

from bpf.btf import Btf
from bpf.btf.codec import BtfType, Kind, Member, Param
from tests.oracle.generator_arguments import asked

Row = dict[str, Any]
SCHED_CLS, XDP, TRACEPOINT, TRACING, SYSCALL, KPROBE = 3, 6, 5, 26, 31, 2
RAW_TP, TYPEDEF = 23, 8
RING, VALUES = "fixup_map_ringbuf", "fixup_map_array_48b"


def struct(btf: Btf, name: str, size: int, *members: tuple[str, int, int]) -> int:
    """A struct of (name, type, offset in bytes)."""
    return btf.append(BtfType(Kind.STRUCT, name, size, members=[Member(n, t, 8 * at) for n, t, at in members]))


def program_types() -> tuple[Btf, dict[str, int], int]:
    """The BTF of all programs here, the structs they make objects of, and the type of main()."""
    btf = Btf()
    number = btf.append(BtfType(Kind.INT, "int", 4, encoding=1, bits=32))
    long = btf.append(BtfType(Kind.INT, "unsigned long", 8, bits=64))
    words = btf.append(BtfType(Kind.ARRAY, type=long, index_type=number, nelems=4))
    three = btf.append(BtfType(Kind.ARRAY, type=long, index_type=number, nelems=3))
    two = btf.append(BtfType(Kind.ARRAY, type=long, index_type=number, nelems=2))
    one = btf.append(BtfType(Kind.ARRAY, type=number, index_type=number, nelems=1))
    lock = struct(btf, "bpf_spin_lock", 4, ("val", number, 0))
    count = struct(btf, "bpf_refcount", 4, ("__opaque", one, 0))
    rb_node = struct(btf, "bpf_rb_node", 32, ("__opaque", words, 0))
    list_node = struct(btf, "bpf_list_node", 24, ("__opaque", three, 0))
    rb_root = struct(btf, "bpf_rb_root", 16, ("__opaque", two, 0))
    list_head = struct(btf, "bpf_list_head", 16, ("__opaque", two, 0))
    pointer = btf.append(BtfType(Kind.PTR, type=long))
    found = {
        "plain": struct(btf, "plain", 16, ("a", long, 0), ("b", long, 8)),
        "pointers": struct(btf, "pointers", 16, ("a", pointer, 0), ("b", long, 8)),
        "counted": struct(btf, "counted", 16, ("a", long, 0), ("r", count, 8)),
        "locked": struct(btf, "locked", 16, ("a", long, 0), ("l", lock, 8)),
        "node": struct(btf, "node", 40, ("a", long, 0), ("n", rb_node, 8)),
        "listed": struct(btf, "listed", 40, ("a", long, 0), ("n", list_node, 8), ("b", long, 32)),
        "both": struct(btf, "both", 80, ("a", long, 0), ("n", rb_node, 8), ("l", list_node, 40), ("r", count, 64), ("b", long, 72)),
    }  # fmt: skip
    found["int"] = number
    proto = btf.append(BtfType(Kind.FUNC_PROTO, type=number, params=[Param("ctx", pointer)]))
    main = btf.append(BtfType(Kind.FUNC, "main", type=proto, linkage=1))
    less = btf.append(BtfType(Kind.FUNC_PROTO, type=number, params=[Param("a", pointer), Param("b", pointer)]))
    found["less"] = btf.append(BtfType(Kind.FUNC, "less", type=less, linkage=0))
    # the value of a map with a lock, a tree and a list: decl tags say what these hold
    shared = struct(
        btf, "shared", 48, ("lock", lock, 0), ("root", rb_root, 8), ("head", list_head, 24), ("a", long, 40)
    )
    btf.append(BtfType(Kind.DECL_TAG, "contains:node:n", type=shared, component_idx=1))
    btf.append(BtfType(Kind.DECL_TAG, "contains:listed:n", type=shared, component_idx=2))
    found["shared"] = shared
    return btf, found, main


def kptr_map() -> Row:
    """A map whose values hold kernel pointers of all kinds."""
    btf = Btf()
    number = btf.append(BtfType(Kind.INT, "int", 4, encoding=1, bits=32))
    long = btf.append(BtfType(Kind.INT, "unsigned long", 8, bits=64))

    def tagged(target: int, tag: str) -> int:
        return btf.append(BtfType(Kind.PTR, type=btf.append(BtfType(Kind.TYPE_TAG, tag, type=target))))

    task, cgroup, mask = (struct(btf, name, 0) for name in ("task_struct", "cgroup", "bpf_cpumask"))
    plain = struct(btf, "plain", 16, ("a", long, 0), ("b", long, 8))
    value = struct(
        btf, "value", 56, ("n", long, 0), ("u", tagged(task, "kptr_untrusted"), 8), ("t", tagged(task, "kptr"), 16),
        ("c", tagged(cgroup, "kptr"), 24), ("m", tagged(mask, "kptr"), 32), ("p", tagged(plain, "kptr"), 40), ("z", long, 48),
    )  # fmt: skip
    return {"type": 2, "key_size": 4, "value_size": 56, "max_entries": 1, "btf": btf.encode().hex(), "btf_key_type": number,
            "btf_value_type": value}  # fmt: skip


BTF, STRUCTS, MAIN = program_types()
BLOB = BTF.encode().hex()
MAPS: dict[str, Row] = {
    "kptrs": kptr_map(),
    "shared": {"type": 2, "key_size": 4, "value_size": 48, "max_entries": 1, "btf": BLOB, "btf_key_type": STRUCTS["int"],
               "btf_value_type": STRUCTS["shared"]},
}  # fmt: skip


class Writer:
    """What the kinds of programs share."""

    def __init__(self, rng: random.Random, btf: Btf) -> None:
        self.rng, self.btf, self.text = rng, btf, Text()
        self.fresh = 0
        self.new_names = bool(btf.find("bpf_obj_new", Kind.FUNC))

    def label(self) -> str:
        self.fresh += 1
        return f"L{self.fresh}"

    def add(self, *lines: str) -> None:
        self.text.add(*lines)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def kfunc(self, name: str) -> None:
        """By the name it has there."""
        if not self.btf.find(name, Kind.FUNC) and self.btf.find(name + "_impl", Kind.FUNC):
            name += "_impl"
        self.add(f"KFUNC {name}")

    def value(self, reg: int, map_name: str) -> None:
        """The value of a map's first element."""
        self.add(
            "*(u32 *)(r10 -4) = 0",
            "r2 = r10",
            "r2 += -4",
            f"MAP r1 {map_name}",
            "call 1",
            "if r0 == 0 goto out",
            f"r{reg} = r0",
        )

    def end(self, prog_type: int, own_types: bool = True, **more: Any) -> Row:
        self.add("r0 = 0", "exit", "out:", "r0 = 0", "exit")
        if own_types:
            more |= {"btf": BLOB, "func_info": [[0, MAIN]]}
        return self.text.row(prog_type, **more)


class Dynptrs(Writer):
    """Dynptrs made, read, written, cut, cloned, sliced and given back."""

    PLACES = (-16, -32, -48, -64)

    def write(self) -> Row:
        rng = self.rng
        self.prog_type = rng.choice((SCHED_CLS, SCHED_CLS, XDP, TRACEPOINT))
        self.made: dict[int, str] = {}
        self.add("r6 = r1")
        self.value(7, VALUES)
        self.add("r8 = *(u64 *)(r7 +0)")
        self.make()
        for _ in range(rng.randint(2, 8)):
            rng.choice((self.make, self.read, self.store, self.data, self.slice, self.slice, self.use, self.use, self.ask, self.ask,
                        self.clone, self.overwrite, self.give_back, self.number, self.branch))()  # fmt: skip
        for place, kind in list(self.made.items()):
            if kind == "ring" and self.chance(0.9):
                self.finish(place)
        return self.end(self.prog_type, own_types=False)

    def place(self, known: bool = True) -> int:
        fitting = list(self.made)
        if known and fitting and self.chance(0.93):
            return self.rng.choice(fitting)
        return self.rng.choice((*self.PLACES, *self.PLACES, -24, -12))

    def point(self, reg: int, place: int) -> None:
        self.add(f"r{reg} = r10", f"r{reg} += {place}")

    def make(self) -> None:
        rng = self.rng
        place = self.place(known=False)
        if self.chance(0.85) and place in self.made:
            return
        kind = rng.choice(("mem", "mem", "ring", "ring", "packet", "packet"))
        if kind == "mem":
            self.add("r1 = r7", f"r2 = {rng.choice((8, 16, 48, 64, 0))}", f"r3 = {rng.choice((0, 0, 0, 1))}")
            self.point(4, place)
            self.add("call 197")
        elif kind == "ring":
            self.add(f"MAP r1 {RING}", f"r2 = {rng.choice(('8', '64', 'r8'))}", "r3 = 0")
            self.point(4, place)
            self.add("call 198")
        else:
            self.add("r1 = r6", "r2 = 0")
            self.point(3, place)
            name = {SCHED_CLS: "bpf_dynptr_from_skb", XDP: "bpf_dynptr_from_xdp"}.get(
                self.prog_type, "bpf_dynptr_from_skb"
            )
            self.kfunc(rng.choice((name, name, name, name, "bpf_dynptr_from_xdp")))
        self.made[place] = "ring" if kind == "ring" else kind

    def number(self) -> None:
        self.add(
            self.rng.choice(("r8 &= 7", "r8 = 4", "r8 = 0", "if r8 > 32 goto out", "r8 = *(u32 *)(r7 +4)"))
            if not self.holds()
            else "r8 &= 15"
        )

    def holds(self) -> bool:
        return "ring" in self.made.values()

    def length(self) -> str:
        return self.rng.choice(("4", "8", "16", "r8", "0", "1"))

    def read(self) -> None:
        rng = self.rng
        if self.chance(0.7):
            self.add("*(u64 *)(r10 -80) = 0", "r1 = r10", "r1 += -80", f"r2 = {rng.choice((4, 8))}")
        else:
            self.add("r1 = r7", f"r2 = {self.length()}")
        self.point(3, self.place())
        self.add(f"r4 = {rng.choice(('0', '4', 'r8'))}", f"r5 = {rng.choice((0, 0, 1))}", "call 201")

    def store(self) -> None:
        rng = self.rng
        self.point(1, self.place())
        self.add(
            f"r2 = {rng.choice(('0', '4', 'r8'))}",
            "r3 = r7",
            f"r4 = {self.length()}",
            f"r5 = {rng.choice((0, 0, 1))}",
            "call 202",
        )

    def data(self) -> None:
        self.point(1, self.place())
        self.add(
            f"r2 = {self.rng.choice(('0', 'r8'))}",
            f"r3 = {self.rng.choice(('4', '8', '16', '0', 'r8'))}",
            "call 203",
            "r9 = r0",
        )
        self.check()

    def slice(self) -> None:
        rng = self.rng
        self.point(1, self.place())
        self.add(f"r2 = {rng.choice(('0', '8', 'r8'))}")
        if self.chance(0.5):
            self.add("r3 = 0")
        elif self.chance(0.8):
            self.add("*(u64 *)(r10 -80) = 0", "*(u64 *)(r10 -88) = 0", "r3 = r10", "r3 += -88")
        else:
            self.add("r3 = r7")
        self.add(f"r4 = {rng.choice(('8', '16', '4', '14', 'r8' if self.chance(0.2) else '8'))}")
        self.kfunc(rng.choice(("bpf_dynptr_slice", "bpf_dynptr_slice_rdwr")))
        self.add("r9 = r0")
        self.check()

    def check(self) -> None:
        if self.chance(0.9):
            skip = self.label()
            self.add(f"if r9 == 0 goto {skip}")
            self.use(False)
            self.add(f"{skip}:")
            if self.chance(0.5):
                self.add("if r9 == 0 goto out") if not self.holds() else self.add("r9 = r7")
        else:
            self.use(False)

    def use(self, guard: bool = True) -> None:
        rng = self.rng
        if guard and self.chance(0.6):
            return
        off = rng.choice((0, 0, 4, 8, 12))
        if "r9" not in "".join(self.text.lines):
            return
        self.add(
            rng.choice(
                (
                    f"r1 = *(u32 *)(r9 +{off})",
                    f"r1 = *(u64 *)(r9 +{off})",
                    f"*(u32 *)(r9 +{off}) = 7",
                    "r1 = *(u8 *)(r9 +0)",
                )
            )
        )

    def ask(self) -> None:
        rng = self.rng
        name = rng.choice(
            (
                "bpf_dynptr_adjust",
                "bpf_dynptr_is_null",
                "bpf_dynptr_is_rdonly",
                "bpf_dynptr_size",
                "bpf_dynptr_memset",
                "bpf_dynptr_copy",
            )
        )
        if not self.btf.find(name, Kind.FUNC):
            name = "bpf_dynptr_size"
        self.point(1, self.place())
        if name == "bpf_dynptr_adjust":
            self.add(f"r2 = {rng.choice(('0', '1', 'r8'))}", f"r3 = {rng.choice(('4', '8', 'r8'))}")
        elif name == "bpf_dynptr_memset":
            self.add("r2 = 0", "r3 = 4", "r4 = 0")
        elif name == "bpf_dynptr_copy":
            self.add("r2 = 0")
            self.point(3, self.place())
            self.add("r4 = 0", "r5 = 4")
        self.kfunc(name)
        if self.chance(0.3):
            self.add("r8 = r0")

    def clone(self) -> None:
        source, place = self.place(), self.place(known=False)
        if self.chance(0.8) and place in self.made:
            return
        self.point(1, source)
        self.point(2, place)
        self.kfunc("bpf_dynptr_clone")
        self.made[place] = "clone"

    def overwrite(self) -> None:
        place = self.place()
        if self.chance(0.35):
            self.add(self.rng.choice((f"*(u64 *)(r10 {place}) = 0", f"*(u8 *)(r10 {place}) = 1", f"*(u64 *)(r10 {place + 8}) = r8",
                                      f"r1 = *(u64 *)(r10 {place})", f"*(u32 *)(r10 {place + 4}) = 0")))  # fmt: skip
            if self.chance(0.6):
                self.made.pop(place, None)

    def finish(self, place: int) -> None:
        self.point(1, place)
        self.add("r2 = 0", f"call {self.rng.choice((199, 200))}")
        self.made.pop(place, None)

    def give_back(self) -> None:
        rings = [place for place, kind in self.made.items() if kind == "ring"]
        if rings and self.chance(0.7):
            self.finish(self.rng.choice(rings))
        elif self.chance(0.15):
            self.finish(self.place())

    def branch(self) -> None:
        skip = self.label()
        self.add(f"if r8 > {self.rng.choice((3, 9))} goto {skip}")
        self.rng.choice((self.ask, self.read, self.overwrite, self.use))()
        self.add(f"{skip}:")


class Objects(Writer):
    """Objects of the program's own: made, written, shared, kept in maps, given back; casts."""

    def write(self) -> Row:
        rng = self.rng
        self.prog_type = rng.choice((SCHED_CLS, SCHED_CLS, XDP, SYSCALL, TRACEPOINT))
        self.held: dict[int, str] = {}
        self.pending: tuple[str, dict[int, str]] | None = None
        self.add("r6 = r1")
        if self.chance(0.6):
            self.value(7, "kptrs")
            self.held[7] = "value"
        else:
            self.add("r7 = 0")
        self.new()
        for _ in range(rng.randint(2, 8)):
            rng.choice((self.new, self.touch, self.touch, self.touch, self.drop, self.count, self.lock, self.exchange, self.exchange,
                        self.cast, self.spill, self.copy, self.percpu, self.kernel, self.helper, self.section))()  # fmt: skip
        for reg, kind in list(self.held.items()):
            if kind in STRUCTS and self.chance(0.9):
                self.release(reg)
        more = {"prog_flags": 16} if self.prog_type == SYSCALL else {}
        return self.end(self.prog_type, **more)

    def free(self) -> int:
        return self.rng.choice([reg for reg in (8, 9) if reg not in self.held] or [8, 9])

    def some(self, *kinds: str) -> int:
        fitting = (
            [reg for reg, kind in self.held.items() if kind in kinds]
            if kinds
            else [reg for reg, kind in self.held.items() if kind != "value"]
        )
        return self.rng.choice(fitting) if fitting and self.chance(0.95) else self.rng.choice(list(self.held) or [8])

    def new(self) -> None:
        rng, reg = self.rng, self.free()
        if reg in self.held and self.chance(0.9):
            return
        self.flush()
        kind = rng.choice(("plain", "plain", "counted", "counted", "locked", "node", "both", "pointers", "listed"))
        number = STRUCTS[kind] if self.chance(0.96) else rng.choice((1, 3, 999))
        self.add(f"r1 = {number}", "r2 = 0")
        self.kfunc("bpf_obj_new")
        self.add(f"r{reg} = r0")
        if self.chance(0.93):
            self.add(
                f"if r{reg} == 0 goto out"
                if not any(k in STRUCTS for k in self.held.values())
                else f"if r{reg} == 0 goto end{self.drain()}"
            )
        self.held[reg] = kind

    def drain(self) -> str:
        """The label of a way out that gives back what is held now; flush() writes it."""
        self.flush()
        self.pending = (self.label(), dict(self.held))
        return self.pending[0]

    def flush(self) -> None:
        """The way out that drain() promised."""
        if self.pending is None:
            return
        (name, held), skip = self.pending, self.label()
        self.pending = None
        self.add(f"goto {skip}", f"end{name}:")
        for reg, kind in held.items():
            if kind in STRUCTS:
                self.add(f"r1 = r{reg}", "r2 = 0")
                self.kfunc("bpf_obj_drop")
        self.add("goto out", f"{skip}:")

    def touch(self) -> None:
        self.flush()
        rng, reg = self.rng, self.some()
        off = rng.choice((0, 0, 0, 8, 8, 12, 16, 40, -8))
        self.add(rng.choice((f"r1 = *(u64 *)(r{reg} {off:+d})", f"*(u64 *)(r{reg} {off:+d}) = 1", f"*(u64 *)(r{reg} +0) = r{reg}",
                             f"r1 = *(u32 *)(r{reg} {off:+d})", f"*(u8 *)(r{reg} {off:+d}) = 3"))) if off in (0, 8) or self.chance(0.4) else None  # fmt: skip

    def release(self, reg: int) -> None:
        self.flush()
        kind = self.held.get(reg, "plain")
        self.add(f"r1 = r{reg}", "r2 = 0")
        self.kfunc(
            "bpf_task_release" if kind == "task" else "bpf_percpu_obj_drop" if kind == "percpu" else "bpf_obj_drop"
        )
        self.held.pop(reg, None)

    def drop(self) -> None:
        reg = self.some()
        if self.held.get(reg) != "value" or self.chance(0.1):
            self.release(reg)
            if self.chance(0.08):
                self.add(f"r1 = *(u64 *)(r{reg} +0)")

    def count(self) -> None:
        self.flush()
        reg, new = self.some("counted", "both"), self.free()
        if self.held.get(reg) in ("counted", "both") or self.chance(0.2):
            self.add(f"r1 = r{reg}", "r2 = 0")
            self.kfunc("bpf_refcount_acquire")
            self.add(f"r{new} = r0")
            if self.chance(0.5):
                self.add(f"if r{new} == 0 goto out")
            self.held[new] = self.held.get(reg, "counted")

    def lock(self) -> None:
        self.flush()
        reg = self.some("locked")
        if self.held.get(reg) == "locked" or self.chance(0.1):
            off = 8 if self.chance(0.9) else 0
            self.add(f"r1 = r{reg}", f"r1 += {off}", "call 93")
            if self.chance(0.5):
                self.add(f"*(u64 *)(r{reg} +0) = 5")
            if self.chance(0.9):
                self.add(f"r1 = r{reg}", "r1 += 8", "call 94")

    def exchange(self) -> None:
        self.flush()
        if 7 not in self.held:
            return
        rng = self.rng
        off = rng.choice((40, 40, 40, 16, 24, 32, 8, 0))
        reg = self.some("plain") if off == 40 else self.some("task")
        self.add("r1 = r7", f"r1 += {off}", f"r2 = {rng.choice((f'r{reg}', f'r{reg}', '0'))}", "call 194")
        if "r2 = 0" not in self.text.lines[-2]:
            self.held.pop(reg, None)
        new = self.free()
        self.add(f"r{new} = r0")
        if self.chance(0.85):
            self.add(f"if r{new} == 0 goto out")
        self.held[new] = {40: "plain", 16: "task"}.get(off, "task")

    def cast(self) -> None:
        self.flush()
        rng, reg = self.rng, self.free()
        if reg in self.held:
            return
        if self.chance(0.5):
            self.add("r1 = r6")
            self.kfunc("bpf_cast_to_kern_ctx")
        else:
            target = rng.choice(("task_struct", "sk_buff", "file", "list_head", "hlist_node"))
            number = self.btf.find(target, Kind.STRUCT) if self.chance(0.85) else rng.choice((0, 1, 5))
            self.add(f"r1 = r{rng.choice((6, 7, self.some()))}", f"r2 = {number}")
            self.kfunc("bpf_rdonly_cast")
        self.add(f"r{reg} = r0", rng.choice((f"r1 = *(u64 *)(r{reg} +0)", f"r1 = *(u32 *)(r{reg} +8)", f"*(u64 *)(r{reg} +0) = 0" if self.chance(0.2) else "r1 = 0",
                                          f"r1 = *(u64 *)(r{reg} +16)")))  # fmt: skip

    def spill(self) -> None:
        reg = self.some()
        if self.held.get(reg) not in (None, "value"):
            self.flush()
            self.add(f"*(u64 *)(r10 -16) = r{reg}", f"r{reg} = 0", f"r{reg} = *(u64 *)(r10 -16)")

    def copy(self) -> None:
        self.flush()
        if self.chance(0.3):
            reg, new = self.some(), self.free()
            if new not in self.held:
                self.add(f"r{new} = r{reg}", f"r1 = *(u64 *)(r{new} +0)")

    def percpu(self) -> None:
        self.flush()
        reg = self.free()
        if reg in self.held or self.chance(0.5):
            return
        self.add(f"r1 = {STRUCTS[self.rng.choice(('plain', 'plain', 'counted', 'pointers'))]}", "r2 = 0")
        self.kfunc("bpf_percpu_obj_new")
        self.add(f"r{reg} = r0", f"if r{reg} == 0 goto out")
        self.add(*self.rng.choice(((f"r1 = r{reg}", "call 154", "r1 = *(u64 *)(r0 +0)"), (f"r1 = *(u64 *)(r{reg} +0)",),
                                   (f"r1 = r{reg}", "r2 = 0", "call 153", "if r0 == 0 goto pc+1", "*(u64 *)(r0 +8) = 1"), ("r1 = 0",))))  # fmt: skip
        self.held[reg] = "percpu"

    def kernel(self) -> None:
        """A kernel pointer out of a map's value."""
        self.flush()
        if 7 not in self.held or self.free() in self.held:
            return
        rng, reg = self.rng, self.free()
        off = rng.choice((8, 16, 24, 32, 40, 12, 0))
        self.add(f"r{reg} = *(u{rng.choice((64, 64, 64, 64, 32))} *)(r7 +{off})")
        if self.chance(0.85):
            self.add(f"if r{reg} == 0 goto out")
        self.add(
            rng.choice((f"r1 = *(u64 *)(r{reg} +0)", f"r1 = *(u32 *)(r{reg} +8)", "r1 = 0", f"*(u64 *)(r{reg} +0) = 1"))
        )
        if self.chance(0.3):
            self.add(f"*(u64 *)(r7 +8) = r{reg}")
        if self.chance(0.3):
            self.add(f"r1 = r{reg}")
            self.kfunc(rng.choice(("bpf_task_acquire", "bpf_cpumask_weight", "bpf_cgroup_acquire")))

    def helper(self) -> None:
        """A helper with whatever is held."""
        self.flush()
        if self.chance(0.3):
            reg = self.some()
            self.add(*self.rng.choice(((f"r1 = r{reg}", "call 175"), ("r1 = r10", "r1 += -32", "r2 = 8", f"r3 = r{reg}", "call 113"),
                                       ("*(u64 *)(r7 +8) = 0",), ("*(u64 *)(r7 +16) = 0",), ("*(u64 *)(r7 +0) = 9",),
                                       ("r1 = r7", "r2 = 8", f"r3 = r{reg}", "call 113"))))  # fmt: skip

    def section(self) -> None:
        self.flush()
        if self.chance(0.4):
            self.kfunc("bpf_rcu_read_lock")
            self.kernel()
            self.kfunc("bpf_rcu_read_unlock")

    def end(self, prog_type: int, own_types: bool = True, **more: Any) -> Row:
        self.flush()
        return super().end(prog_type, own_types, **more)


class Graphs(Writer):
    """Nodes put into a list and a tree of a map's value, looked at, taken out; objects thrown away, exceptions."""

    def write(self) -> Row:
        rng = self.rng
        self.locked = False
        self.owned: dict[int, str] = {}
        self.add("r6 = r1")
        self.value(7, "shared")
        for _ in range(rng.randint(3, 9)):
            rng.choice((self.new, self.new, self.lock, self.lock, self.put, self.put, self.put, self.take, self.take, self.look,
                        self.touch, self.drop, self.unlock, self.throw, self.again))()  # fmt: skip
        if self.locked and self.chance(0.95):
            self.unlock(True)
        for reg in list(self.owned):
            if self.chance(0.9):
                self.give(reg)
        self.add("r0 = 0", "exit")
        self.add("out:", "r0 = 0", "exit")
        row = self.with_callback(rng.choice((SCHED_CLS, SCHED_CLS, XDP)))
        if rng.random() < 0.1:
            row["prog_type"] = TRACEPOINT
        return row

    def with_callback(self, prog_type: int) -> Row:
        start = self.text.position
        self.add("less:", *self.rng.choice((("r0 = 0", "exit"), ("r1 = *(u64 *)(r1 -8)", "r2 = *(u64 *)(r2 -8)", "r0 = 0",
                                             "if r1 >= r2 goto more", "r0 = 1", "more:", "exit"), ("r0 = r1", "exit"), ("r0 = 2", "exit"))))  # fmt: skip
        row = self.text.row(prog_type, btf=BLOB, func_info=[[0, MAIN], [start, STRUCTS["less"]]])
        places = row.get("maps", {}).pop("less", [])
        code = bytearray.fromhex(row["insns"])
        for at in places:
            code[8 * at + 1] = (code[8 * at + 1] & 0xF) | 4 << 4  # BPF_PSEUDO_FUNC
            code[8 * at + 4 : 8 * at + 8] = (start - at - 1).to_bytes(4, "little", signed=True)
        if not places:  # nobody calls it: it is not there
            del code[8 * start :]
            row["func_info"] = [[0, MAIN]]
        return {**row, "insns": code.hex()}

    def free(self) -> int:
        return self.rng.choice([reg for reg in (8, 9) if reg not in self.owned] or [8, 9])

    def leave(self, reg: int) -> None:
        """What is NULL ends the program, if nothing is held then."""
        held = [one for one in self.owned if one != reg]
        skip = self.label()
        self.add(f"if r{reg} != 0 goto {skip}")
        if self.locked:
            self.add("r1 = r7", "call 94")
        for one in held:
            self.add(f"r1 = r{one}", "r2 = 0")
            if self.owned[one] in ("listed", "both") and self.chance(0.05):
                self.add(f"r1 = r{one}", "r1 += 8")
            self.kfunc("bpf_obj_drop")
        self.add("goto out", f"{skip}:")

    def new(self) -> None:
        rng, reg = self.rng, self.free()
        if (self.locked or reg in self.owned) and self.chance(0.93):
            return
        kind = rng.choice(("node", "node", "listed", "listed", "both"))
        self.add(f"r1 = {STRUCTS[kind]}", "r2 = 0")
        self.kfunc("bpf_obj_new")
        self.add(f"r{reg} = r0")
        if self.chance(0.96):
            self.leave(reg)
        self.owned[reg] = kind

    def lock(self) -> None:
        if self.locked and self.chance(0.97):
            return
        self.add("r1 = r7", "call 93")
        self.locked = True

    def unlock(self, sure: bool = False) -> None:
        if not sure and (not self.locked or self.chance(0.5)):
            return
        self.add("r1 = r7", "call 94")
        self.locked = False

    def root(self, reg: int, tree: bool) -> None:
        off = (8 if tree else 24) if self.chance(0.96) else self.rng.choice((0, 8, 16, 24, 40))
        self.add(f"r{reg} = r7", f"r{reg} += {off}")

    def put(self) -> None:
        rng = self.rng
        if not self.locked and self.chance(0.93):
            self.lock()
        if not self.owned:
            return
        reg = rng.choice(list(self.owned))
        tree = (self.owned[reg] != "listed") == (rng.random() < 0.95)
        self.root(1, tree)
        self.add(f"r2 = r{reg}", f"r2 += {8 if rng.random() < 0.96 else 16}")
        if tree:
            self.add("MAP r3 less", "r4 = 0", "r5 = 0")
            self.kfunc("bpf_rbtree_add")
        else:
            self.add("r3 = 0", "r4 = 0")
            self.kfunc(rng.choice(("bpf_list_push_front", "bpf_list_push_back")))
        if self.chance(0.95):
            self.owned.pop(reg)
        if self.chance(0.3):
            self.add(rng.choice((f"r1 = *(u64 *)(r{reg} +0)", f"*(u64 *)(r{reg} +0) = 4")))

    def take(self) -> None:
        rng, reg = self.rng, self.free()
        if not self.locked and self.chance(0.93):
            self.lock()
        if reg in self.owned and self.chance(0.95):
            return
        tree = rng.random() < 0.5
        if tree:
            self.root(1, True)
            self.kfunc("bpf_rbtree_first")
            skip = self.label()
            if self.chance(0.95):
                self.add(f"if r0 == 0 goto {skip}")
            else:
                self.add(f"goto {skip}")
            self.add("r2 = r0")
            self.root(1, True)
            self.kfunc("bpf_rbtree_remove")
            self.add(f"r{reg} = r0", f"if r{reg} == 0 goto {skip}", f"r{reg} += -8", f"r1 = r{reg}")
            if self.chance(0.9):
                self.add("r1 = r7", "call 94", f"r1 = r{reg}", "r2 = 0")
                self.kfunc("bpf_obj_drop")
                self.add("r1 = r7", "call 93")
            self.add(f"{skip}:", f"r{reg} = 0")
            return
        self.root(1, False)
        self.kfunc(rng.choice(("bpf_list_pop_front", "bpf_list_pop_back")))
        self.add(f"r{reg} = r0")
        self.unlock(rng.random() < 0.7)
        if self.chance(0.96):
            self.leave(reg)
        self.add(f"r{reg} += {rng.choice((-8, -8, -8, -8, 0))}")
        self.owned[reg] = "listed"

    def look(self) -> None:
        self.root(1, self.chance(0.5))
        self.kfunc(
            self.rng.choice(
                (
                    "bpf_rbtree_first",
                    *(("bpf_list_front", "bpf_rbtree_root") if self.new_names else ("bpf_rbtree_first",)),
                )
            )
        )
        skip = self.label()
        self.add(f"if r0 == 0 goto {skip}", f"r1 = *(u64 *)(r0 {self.rng.choice((-8, -8, 0)):+d})", f"{skip}:")

    def touch(self) -> None:
        reg = self.rng.choice(list(self.owned) or [7])
        off = self.rng.choice((0, 0, 0, 8, 32))
        if off == 0 or self.chance(0.2):
            self.add(self.rng.choice((f"r1 = *(u64 *)(r{reg} +{off})", f"*(u64 *)(r{reg} +{off}) = 1")))

    def give(self, reg: int) -> None:
        self.add(f"r1 = r{reg}", "r2 = 0")
        self.kfunc("bpf_obj_drop")
        self.owned.pop(reg, None)

    def drop(self) -> None:
        if self.owned and self.chance(0.4 if not self.locked else 0.05):
            self.give(self.rng.choice(list(self.owned)))

    def again(self) -> None:
        """Another reference to the same."""
        counted = [reg for reg, kind in self.owned.items() if kind == "both"]
        new = self.free()
        if not counted or new in self.owned:
            return
        self.add(f"r1 = r{counted[0]}", "r2 = 0")
        self.kfunc("bpf_refcount_acquire")
        self.add(f"r{new} = r0")
        self.owned[new] = "both"

    def throw(self) -> None:
        if self.chance(0.75):
            return
        skip = self.label()
        self.add("r1 = *(u64 *)(r7 +40)", f"if r1 > 9 goto {skip}")
        if self.locked and self.chance(0.8):
            self.add("r1 = r7", "call 94")
        if self.chance(0.8):
            for reg in self.owned:
                self.add(f"r1 = r{reg}", "r2 = 0")
                self.kfunc("bpf_obj_drop")
        self.add(self.rng.choice(("r1 = 1", "r1 = 0", "r1 = r7")))
        self.kfunc("bpf_throw")
        self.add(f"{skip}:")


KINDS = {"dynptrs": Dynptrs, "objects": Objects, "graphs": Graphs}


def main() -> None:
    kind, count, rng, btf = asked(__doc__, list(KINDS))
    rows = [{"id": number, **KINDS[kind](rng, btf).write()} for number in range(count)]
    json.dump({"maps": MAPS, "cases": rows}, sys.stdout)


if __name__ == "__main__":
    main()
