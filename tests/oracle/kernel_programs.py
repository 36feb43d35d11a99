"""Random programs that use the kernel's own pointers and functions: trust, read sections, references, iterators, dynptrs.

Each function takes a `random.Random` and the `Btf` of the kernel that will be asked, for places of members, and returns a case.

    python tests/oracle/kernel_programs.py walks 100 --btf VMLINUX_BTF --seed 7 >CASES.json
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bpf.btf import Btf
from bpf.btf.codec import COMPOSITES, Kind
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from tests.oracle.generator_arguments import asked

Row = dict[str, Any]
SCHED_CLS, XDP, KPROBE, TRACEPOINT, TRACING, LSM, SYSCALL = 3, 6, 2, 5, 26, 29, 31
RAW_TP, FENTRY, LSM_MAC, ITER, SLEEPABLE = 23, 24, 27, 28, 1 << 4
FUNC, TYPEDEF = 12, 8


@dataclass
class Text:
    """A program being written."""

    lines: list[str] = field(default_factory=list)
    maps: dict[str, list[int]] = field(default_factory=dict)
    kfuncs: dict[str, list[int]] = field(default_factory=dict)
    position: int = 0

    def add(self, *lines: str) -> None:
        """Instructions; `LABEL:` lines, `MAP reg name` and `KFUNC name` are understood."""
        for line in lines:
            words = line.split()
            if line.endswith(":"):
                self.lines.append(line)
                continue
            if words[0] == "MAP":
                self.maps.setdefault(words[2], []).append(self.position)
                line = f"{words[1]} = map[0]"
                self.position += 1
            elif words[0] == "KFUNC":
                self.kfuncs.setdefault(words[1], []).append(self.position)
                line = "call kernel-function#0"
            self.lines.append(line)
            self.position += 1

    def row(self, prog_type: int, **more: Any) -> Row:
        """The case."""
        row: Row = {"prog_type": prog_type, "insns": encode(assemble("\n".join(self.lines))).hex(), **more}
        if self.maps:
            row["maps"] = self.maps
        if self.kfuncs:
            row["kfuncs"] = self.kfuncs
        return row


@dataclass
class Place:
    """Where a program runs, and the structs its arguments point to."""

    row: Row
    arguments: tuple[tuple[int, str], ...]  # (offset in the context, struct)


def _tp(name: str, *arguments: tuple[int, str]) -> Place:
    return Place({"prog_type": TRACING, "attach_type": RAW_TP, "attach": [f"btf_trace_{name}", TYPEDEF]}, arguments)


def _lsm(name: str, *arguments: tuple[int, str]) -> Place:
    return Place({"prog_type": LSM, "attach_type": LSM_MAC, "attach": [f"bpf_lsm_{name}", FUNC]}, arguments)


def _sleepable(place: Place) -> Place:
    return Place({**place.row, "prog_flags": SLEEPABLE}, place.arguments)


PLACES = (
    _tp("task_newtask", (0, "task_struct")),
    _tp("sched_switch", (8, "task_struct"), (16, "task_struct")),
    _tp("cgroup_mkdir", (0, "cgroup")),
    _tp("consume_skb", (0, "sk_buff")),
    _tp("inet_sock_set_state", (0, "sock")),
    _lsm("file_open", (0, "file")),
    _lsm("task_alloc", (0, "task_struct")),
    _lsm("bprm_check_security", (0, "linux_binprm")),
    _sleepable(_lsm("file_open", (0, "file"))),
    _sleepable(_lsm("task_alloc", (0, "task_struct"))),
    Place({"prog_type": TRACING, "attach_type": FENTRY, "attach": ["filp_close", FUNC]}, ((0, "file"),)),
    Place({"prog_type": TRACING, "attach_type": FENTRY, "attach": ["do_exit", FUNC]}, ()),
    Place({"prog_type": TRACING, "attach_type": ITER, "attach": ["bpf_iter_task", FUNC]}, ((0, "bpf_iter_meta"), (8, "task_struct"))),
    Place({"prog_type": SYSCALL, "prog_flags": SLEEPABLE}, ()),
    Place({"prog_type": TRACEPOINT}, ()),
    Place({"prog_type": KPROBE}, ()),
    Place({"prog_type": SCHED_CLS}, ()),
    Place({"prog_type": XDP}, ()),
)  # fmt: skip
# members that are worth following
LIKED = {
    "task_struct": ("real_parent", "group_leader", "parent", "mm", "cgroups", "cpus_ptr", "last_wakee", "files", "nsproxy", "signal"),
    "css_set": ("dfl_cgrp",),
    "cgroup": ("kn", "root", "bpf"),
    "mm_struct": ("exe_file", "owner", "mmap", "pgd"),
    "file": ("f_inode", "f_op", "private_data", "f_mapping", "f_cred"),
    "sk_buff": ("sk", "dev", "next", "head"),
    "sock": ("sk_socket", "sk_memcg", "sk_filter"),
    "socket": ("sk", "file"),
    "linux_binprm": ("file", "mm", "cred", "vma"),
    "bpf_iter_meta": ("seq",),
    "inode": ("i_sb", "i_mapping"),
}  # fmt: skip
# function: struct of its first argument, struct of its result, (name, words of the second argument)
FUNCTIONS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("bpf_task_acquire", "task_struct", "task_struct", ()),
    ("bpf_task_release", "task_struct", "", ()),
    ("bpf_task_acquire", "task_struct", "task_struct", ()),
    ("bpf_task_release", "task_struct", "", ()),
    ("bpf_cgroup_acquire", "cgroup", "cgroup", ()),
    ("bpf_cgroup_release", "cgroup", "", ()),
    ("bpf_cgroup_ancestor", "cgroup", "cgroup", ("r2 = 1",)),
    ("bpf_get_task_exe_file", "task_struct", "file", ()),
    ("bpf_put_file", "file", "", ()),
    ("bpf_task_get_cgroup1", "task_struct", "cgroup", ("r2 = 1",)),
    ("bpf_cpumask_first", "cpumask", "number", ()),
    ("bpf_cpumask_weight", "cpumask", "number", ()),
    ("bpf_cpumask_release", "bpf_cpumask", "", ()),
    ("bpf_cpumask_acquire", "bpf_cpumask", "bpf_cpumask", ()),
    ("bpf_cpumask_setall", "bpf_cpumask", "", ()),
)
MAKERS = (
    ("bpf_task_from_pid", "task_struct", ("r1 = 1",)),
    ("bpf_cgroup_from_id", "cgroup", ("r1 = 1",)),
    ("bpf_cpumask_create", "bpf_cpumask", ()),
)
BARE = ("bpf_rcu_read_lock", "bpf_rcu_read_unlock", "bpf_preempt_disable", "bpf_preempt_enable")


class Walk:
    """One program that follows pointers."""

    def __init__(self, rng: random.Random, btf: Btf) -> None:
        self.rng, self.btf, self.text = rng, btf, Text()
        self.place = rng.choice(PLACES)
        self.held: dict[int, str] = {}  # register: struct
        self.owned: list[int] = []
        self.rcu = self.preempt = 0

    def write(self) -> Row:
        """The case."""
        rng, text = self.rng, self.text
        text.add("r6 = r1", "r0 = 0", "if r0 != 0 goto out")
        if rng.random() < 0.5:
            self.bare("bpf_rcu_read_lock")
        self.source()
        for _ in range(rng.randint(2, 9)):
            rng.choice([self.source, self.follow, self.follow, self.follow, self.check, self.call, self.call, self.call,
                        self.number, self.section, self.helper, self.copy, self.spill, self.strange, self.iterate])()  # fmt: skip
        self.finish()
        return text.row(**self.place.row)

    def bare(self, name: str) -> None:
        """A function without arguments."""
        self.text.add(f"KFUNC {name}")
        self.rcu += (name == "bpf_rcu_read_lock") - (name == "bpf_rcu_read_unlock")
        self.preempt += (name == "bpf_preempt_disable") - (name == "bpf_preempt_enable")

    def section(self) -> None:
        """Most sections are left as they were entered."""
        if self.rng.random() < 0.15:
            self.bare(self.rng.choice(BARE))
        elif self.rcu:
            self.bare("bpf_rcu_read_unlock")
        else:
            self.bare("bpf_rcu_read_lock")

    def target(self) -> int:
        """A register for something new."""
        free = [reg for reg in (7, 8, 9) if reg not in self.held]
        return self.rng.choice(free or [7, 8, 9])

    def source(self) -> None:
        """A pointer from nowhere: an argument, the current task, a function that makes one."""
        rng, reg = self.rng, self.target()
        choice = rng.random()
        if self.place.arguments and choice < 0.5:
            off, struct = rng.choice(self.place.arguments)
            self.text.add(f"r{reg} = *(u64 *)(r6 +{off})")
        elif choice < 0.75:
            self.text.add("call 158", f"r{reg} = r0")
            struct = "task_struct"
        else:
            name, struct, before = rng.choice(MAKERS)
            self.text.add(*before, f"KFUNC {name}", f"r{reg} = r0")
            if rng.random() < 0.9:
                self.text.add(f"if r{reg} == 0 goto out")
            self.owned.append(reg)
        self.held[reg] = struct

    def any(self, struct: str = "") -> int:
        """A register that holds such a pointer, if there is one."""
        fitting = [reg for reg, held in self.held.items() if held == struct]
        return self.rng.choice(fitting or list(self.held) or [7])

    def follow(self) -> None:
        """A pointer out of a struct."""
        rng, source = self.rng, self.any()
        type_id = self.btf.find(self.held.get(source, ""), Kind.STRUCT)
        if not type_id:
            return
        liked = LIKED.get(self.held[source], ())
        found = [(off, name) for member, off, name in self.pointers(type_id) if member in liked or rng.random() < 0.03]
        if found:
            reg = self.target()
            off, name = rng.choice(found)
            self.text.add(f"r{reg} = *(u64 *)(r{source} +{off})")
            self.held[reg] = name
            if rng.random() < 0.6:
                self.text.add(f"if r{reg} == 0 goto out")

    def pointers(self, type_id: int, base: int = 0) -> list[tuple[str, int, str]]:
        """Members that point to structs, those of unnamed ones included."""
        found = []
        for member in self.btf[type_id].members:
            t, at = self.btf.resolved(member.type), base + member.bit_offset // 8
            if t.kind in COMPOSITES and not member.name:
                found += self.pointers(t.id, at)
            elif t.kind is Kind.PTR:
                target = self.btf[self.btf.skip(t.type)]
                if target.kind in COMPOSITES:
                    found.append((member.name, at, target.name))
        return found

    def check(self) -> None:
        """It is not NULL."""
        if self.held:
            self.text.add(f"if r{self.any()} == 0 goto out")

    def call(self) -> None:
        """A function that takes a pointer."""
        rng = self.rng
        have = set(self.held.values())
        fitting = [row for row in FUNCTIONS if row[1] in have] or list(FUNCTIONS)
        name, takes, gives, before = rng.choice(fitting if rng.random() < 0.9 else FUNCTIONS)
        source = self.any(takes)
        self.text.add(f"r1 = r{source}", *before)
        if rng.random() < 0.05:
            self.text.add("r1 += 8")
        self.text.add(f"KFUNC {name}")
        if gives and gives != "number":
            reg = self.target()
            self.text.add(f"r{reg} = r0")
            self.held[reg] = gives
            self.owned.append(reg)
            if rng.random() < 0.9:
                self.text.add(f"if r{reg} == 0 goto out")
        elif not gives and source in self.owned:
            self.owned.remove(source)
            if rng.random() < 0.8:
                self.held.pop(source, None)

    def number(self) -> None:
        """A number out of a struct."""
        if self.held:
            self.text.add(
                f"r1 = *(u{self.rng.choice((8, 32, 64))} *)(r{self.any()} +{self.rng.choice((0, 8, 16, 64, 120))})"
            )

    def helper(self) -> None:
        """A helper that takes a pointer to a struct."""
        rng = self.rng
        kind = rng.randrange(3)
        if kind == 0:
            self.text.add(f"r1 = r{self.any('task_struct')}", "call 175")
        elif kind == 1:
            self.text.add(f"r1 = r{self.any('file')}", "call 162")
        else:
            self.text.add("r1 = r10", "r1 += -8", "r2 = 8", f"r3 = r{self.any()}", "call 113")

    def copy(self) -> None:
        """Another register with the same."""
        source, reg = self.any(), self.target()
        if source in self.held:
            self.text.add(f"r{reg} = r{source}")
            self.held[reg] = self.held[source]

    def spill(self) -> None:
        """By way of the stack."""
        source = self.any()
        if source in self.held:
            self.text.add(f"*(u64 *)(r10 -16) = r{source}", f"r{source} = *(u64 *)(r10 -16)")

    def strange(self) -> None:
        """What is seldom allowed."""
        rng, reg = self.rng, self.any()
        self.text.add(*rng.choice([
            (f"*(u64 *)(r{reg} +0) = 0",),
            (f"r{reg} += 8",),
            (f"r1 = r{reg}", "r1 += 16", "r2 = *(u64 *)(r1 +0)"),
            (f"*(u64 *)(r6 +0) = r{reg}",),
            (f"if r{reg} > 5 goto out",),
        ]) if rng.random() < 0.3 else ())  # fmt: skip

    def iterate(self) -> None:
        """A loop over numbers, tasks or the members of a struct."""
        rng, text = self.rng, self.text
        kind = rng.choice(("num", "num", "task", "css", "task_vma", "bits", "css_task"))
        name, size = (
            f"loop{text.position}",
            {"num": 8, "task_vma": 8, "task": 24, "css": 24, "bits": 16, "css_task": 8}[kind],
        )
        place = -32 - size
        text.add("r1 = r10", f"r1 += {place}")
        if kind == "num":
            text.add("r2 = 0", f"r3 = {rng.choice((3, 10, 100))}")
        elif kind == "task":
            text.add(f"r2 = {rng.choice((0, 'r' + str(self.any('task_struct'))))}", f"r3 = {rng.choice((0, 1, 2))}")
        elif kind == "task_vma":
            text.add(f"r2 = r{self.any('task_struct')}", "r3 = 0")
        elif kind == "bits":
            text.add("*(u64 *)(r10 -8) = 5", "r2 = r10", "r2 += -8", "r3 = 1")
        else:
            text.add(f"r2 = r{self.any('cgroup_subsys_state')}", "r3 = 3")
        text.add(f"KFUNC bpf_iter_{kind}_new")
        text.add(f"{name}:", "r1 = r10", f"r1 += {place}", f"KFUNC bpf_iter_{kind}_next", f"if r0 == 0 goto {name}_end")
        for _ in range(rng.randint(0, 2)):
            text.add(*rng.choice([("r1 = *(u32 *)(r0 +0)",), ("r3 = *(u64 *)(r0 +8)",), ("*(u32 *)(r0 +0) = 1",), ("r5 = r0",),
                                  (f"*(u64 *)(r10 {place}) = 0",), (f"r4 = *(u64 *)(r10 {place})",)][: rng.choice((2, 4, 6))]))  # fmt: skip
        if rng.random() < 0.4:
            text.add("*(u64 *)(r10 -24) = 0", "r4 = *(u64 *)(r10 -24)", "r4 += 1", "*(u64 *)(r10 -24) = r4")
        text.add(f"goto {name}", f"{name}_end:")
        if rng.random() < 0.92:
            text.add("r1 = r10", f"r1 += {place}", f"KFUNC bpf_iter_{kind}_destroy")

    def finish(self) -> None:
        """Give back what was taken, mostly."""
        rng, text = self.rng, self.text
        releases = {
            "task_struct": "bpf_task_release",
            "cgroup": "bpf_cgroup_release",
            "file": "bpf_put_file",
            "bpf_cpumask": "bpf_cpumask_release",
        }
        for reg in self.owned:
            if self.held.get(reg) in releases and rng.random() < 0.9:
                text.add(f"r1 = r{reg}", f"KFUNC {releases[self.held[reg]]}")
        if self.rcu > 0 and rng.random() < 0.9:
            text.add("KFUNC bpf_rcu_read_unlock")
        if self.preempt > 0:
            text.add("KFUNC bpf_preempt_enable")
        text.add("r0 = 0", "exit", "out:", "r0 = 0", "exit")


def walks(rng: random.Random, btf: Btf) -> Row:
    """Pointers of the kernel followed, given to functions, kept in read sections; loops of iterators."""
    return Walk(rng, btf).write()


KINDS = {"walks": walks}


def main() -> None:
    kind, count, rng, btf = asked(__doc__, list(KINDS))
    json.dump([{"id": number, **KINDS[kind](rng, btf)} for number in range(count)], sys.stdout)


if __name__ == "__main__":
    main()
