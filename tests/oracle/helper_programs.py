"""Random programs that call helpers: arguments of the right kind mostly, over all types of programs and maps.

python tests/oracle/helper_programs.py 100 --seed 7 --kernel 5.10 >CASES.json
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from arch.abi.version import KernelVersion
from bpf.helpers.table import PROTOS, ROWS, FuncProto
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from bpf.verifier.domain import types
from bpf.verifier.protos.by_type import GIVEN

Row = dict[str, Any]
# program type: (number, attach type, the *_func_proto() functions that give its helpers, bytes of context it may read)
PLACES: tuple[tuple[int, int, tuple[str, ...], tuple[int, ...]], ...] = (
    (1, 0, ("sk_filter", "base_anyone", "base_bpf"), (0, 4, 16)),
    (2, 0, ("kprobe_prog", "bpf_tracing", "base_anyone"), (0, 8, 96, 112)),
    (2, 0, ("kprobe_prog", "bpf_tracing", "base_bpf"), (0, 8, 96, 112)),
    (3, 0, ("tc_cls_act", "base_anyone", "base_bpf"), (0, 4, 16, 76, 80)),
    (4, 0, ("tc_cls_act", "base_anyone", "base_bpf"), (0, 4, 16, 76, 80)),
    (5, 0, ("tp_prog", "bpf_tracing", "base_bpf"), (8, 16, 24)),
    (6, 0, ("xdp", "base_anyone", "base_bpf"), (0, 4, 12)),
    (7, 0, ("pe_prog", "bpf_tracing", "base_bpf"), (0, 168, 176)),
    (8, 0, ("cg_skb", "base_anyone", "base_bpf"), (0, 4)),
    (9, 2, ("sock_filter", "base_anyone", "base_bpf"), (0, 4, 8)),
    (8, 1, ("cg_skb", "base_anyone", "base_bpf"), (0, 4)),
    (9, 12, ("sock_filter", "base_anyone", "base_bpf"), (0, 4, 24, 44)),
    (9, 13, ("sock_filter", "base_anyone", "base_bpf"), (0, 4, 28, 44)),
    (10, 0, ("lwt_in", "base_anyone", "base_bpf"), (0, 4, 76, 80)),
    (11, 0, ("lwt_out", "base_anyone", "base_bpf"), (0, 4, 76, 80)),
    (12, 0, ("lwt_xmit", "lwt_out", "base_anyone"), (0, 4)),
    (13, 3, ("sock_ops", "base_anyone", "base_bpf"), (0, 4)),
    (14, 5, ("sk_skb", "base_anyone", "base_bpf"), (0, 4)),
    (15, 6, ("cgroup_dev", "base_anyone", "base_bpf"), (0, 4)),
    (16, 7, ("sk_msg", "base_anyone", "base_bpf"), (0, 8)),
    (17, 0, ("raw_tp_prog", "bpf_tracing", "base_bpf"), (0, 8, 16)),
    (18, 10, ("sock_addr", "base_anyone", "base_bpf"), (0, 4)),
    (18, 9, ("sock_addr", "base_anyone", "base_bpf"), (0, 8, 24)),
    (18, 14, ("sock_addr", "base_anyone", "base_bpf"), (0, 4, 36, 40)),
    (18, 20, ("sock_addr", "base_anyone", "base_bpf"), (0, 8, 44)),
    (18, 31, ("sock_addr", "base_anyone", "base_bpf"), (0, 4)),
    (19, 0, ("lwt_seg6local", "base_anyone", "base_bpf"), (0, 4, 76, 80)),
    (20, 0, ("base_anyone",), (0,)),
    (21, 40, ("sk_reuseport", "base_anyone", "base_bpf"), (16, 20)),
    (24, 0, ("raw_tp_prog", "bpf_tracing", "base_bpf"), (0, 8)),
    (25, 21, ("cg_sockopt", "base_anyone", "base_bpf"), (24, 28, 36)),
    (29, 27, ("bpf_tracing", "base_anyone", "base_bpf"), (0, 8)),
    (21, 0, ("sk_reuseport", "base_anyone", "base_bpf"), (16, 20)),
    (22, 17, ("flow_dissector", "base_anyone", "base_bpf"), (76, 80)),
    (23, 18, ("sysctl", "base_anyone", "base_bpf"), (0, 4)),
    (25, 22, ("cg_sockopt", "base_anyone", "base_bpf"), (24, 28)),
    (31, 0, ("syscall_prog", "base_anyone", "base_bpf"), (0, 8)),
    (26, 24, ("tracing_prog", "bpf_tracing", "base_bpf"), (0, 8)),
    (30, 36, ("sk_lookup", "base_anyone", "base_bpf"), (0, 8)),
)
MAPS: dict[str, Row] = {
    "hash": {"type": 1, "key_size": 8, "value_size": 16, "max_entries": 4},
    "hash_grows": {"type": 1, "key_size": 8, "value_size": 16, "max_entries": 4, "flags": 1},
    "array": {"type": 2, "key_size": 4, "value_size": 32, "max_entries": 4},
    "small": {"type": 2, "key_size": 4, "value_size": 4, "max_entries": 4},
    "progs": {"type": 3, "key_size": 4, "value_size": 4, "max_entries": 4},
    "events": {"type": 4, "key_size": 4, "value_size": 4, "max_entries": 4},
    "percpu_hash": {"type": 5, "key_size": 8, "value_size": 8, "max_entries": 4},
    "percpu_hash_grows": {"type": 5, "key_size": 8, "value_size": 8, "max_entries": 4, "flags": 1},
    "percpu_array": {"type": 6, "key_size": 4, "value_size": 24, "max_entries": 4},
    "stacks": {"type": 7, "key_size": 4, "value_size": 64, "max_entries": 4},
    "cgroups": {"type": 8, "key_size": 4, "value_size": 4, "max_entries": 4},
    "lru": {"type": 9, "key_size": 4, "value_size": 8, "max_entries": 4},
    "trie": {"type": 11, "key_size": 8, "value_size": 8, "max_entries": 4, "flags": 1},
    "inner_array": {"type": 12, "key_size": 4, "value_size": 4, "max_entries": 2,
                    "inner": {"type": 2, "key_size": 4, "value_size": 16, "max_entries": 4}},
    "inner_hash": {"type": 13, "key_size": 4, "value_size": 4, "max_entries": 2,
                   "inner": {"type": 1, "key_size": 4, "value_size": 16, "max_entries": 4}},
    "inner_grows": {"type": 13, "key_size": 4, "value_size": 4, "max_entries": 2,
                    "inner": {"type": 1, "key_size": 4, "value_size": 16, "max_entries": 4, "flags": 1}},
    "devices": {"type": 14, "key_size": 4, "value_size": 4, "max_entries": 4},
    "sockets": {"type": 15, "key_size": 4, "value_size": 4, "max_entries": 4},
    "cpus": {"type": 16, "key_size": 4, "value_size": 4, "max_entries": 4},
    "socket_hash": {"type": 18, "key_size": 4, "value_size": 4, "max_entries": 4},
    "reuseport": {"type": 20, "key_size": 4, "value_size": 8, "max_entries": 4},
    "queue": {"type": 22, "key_size": 0, "value_size": 8, "max_entries": 4},
    "stack": {"type": 23, "key_size": 0, "value_size": 8, "max_entries": 4},
    "ring": {"type": 27, "key_size": 0, "value_size": 0, "max_entries": 4096},
}  # fmt: skip
SUITE_MAPS = ("fixup_cgroup_storage", "fixup_percpu_cgroup_storage", "fixup_map_spin_lock", "fixup_sk_storage_map")
SYSCALL, TRACING, LSM, FUNC = 31, 26, 29, 12
ATTACHED = {TRACING: "filp_close", LSM: "bpf_lsm_file_open"}
BASE = types.BPF_BASE_TYPE_MASK
GENERAL = ("hash", "hash_grows", "array", "small", "percpu_hash", "percpu_hash_grows", "percpu_array", "lru", "trie",
           "inner_array", "inner_hash", "inner_grows", "fixup_map_spin_lock")  # fmt: skip
LIKED = {"map_lookup_elem", "map_update_elem", "map_delete_elem", "probe_read", "probe_read_kernel", "probe_read_user_str", "perf_event_output",
         "get_current_comm", "get_stackid", "get_stack", "ringbuf_reserve", "ringbuf_output", "trace_printk", "skb_load_bytes",
         "sk_lookup_tcp", "snprintf", "csum_diff", "skb_store_bytes", "fib_lookup", "strtol"}  # fmt: skip
CONST_SIZES = ("1", "4", "8", "16", "32", "64")


class Program:
    """One program; r6 is its context, r7 to r9 hold what was got."""

    def __init__(self, rng: random.Random, version: KernelVersion) -> None:
        self.rng, self.version = rng, version
        self.lines: list[str] = []
        self.maps: dict[str, list[int]] = {}
        self.kinds: dict[int, str] = {}
        self.labels = 0
        places = [place for place in PLACES if place[0] != SYSCALL or version.at_least("5.14")]
        self.prog_type, self.attach_type, switches, self.ctx_offsets = rng.choice(places)
        self.helpers = [row for switch in switches for row in GIVEN.get(switch, {}).values() if self.known(row)]
        self.fallbacks = [row for row in PROTOS.values() if self.known(row)]

    def known(self, row: FuncProto) -> bool:
        """The version has it, and it is not another test's matter."""
        helper = ROWS[row.func_id]
        return self.version.at_least(helper.since) and helper.name not in ("tail_call", "for_each_map_elem", "loop", "timer_set_callback",
                                                                           "find_vma", "user_ringbuf_drain")  # fmt: skip

    @property
    def position(self) -> int:
        return sum(2 if "map[0]" in line else 0 if line.endswith(":") else 1 for line in self.lines)

    def map(self, reg: int, name: str) -> None:
        self.maps.setdefault(name, []).append(self.position)
        self.lines.append(f"r{reg} = map[0]")

    def write(self) -> Row:
        """The case."""
        rng = self.rng
        self.lines += ["r6 = r1"]
        for slot in (-8, -16, -24, -32, -40, -48, -64):
            if rng.random() < 0.75:
                self.lines.append(f"*(u64 *)(r10 {slot}) = {rng.choice((0, 1, 7))}")
        self.value(7)
        self.number(8)
        for _ in range(rng.randint(1, 4)):
            rng.choice(
                (
                    self.call,
                    self.call,
                    self.call,
                    self.call,
                    self.number_again,
                    self.value_again,
                    self.touch,
                    self.packet,
                    self.members,
                    self.context,
                )
            )()
        self.lines += ["r0 = 0", "exit"] if rng.random() < 0.9 else ["exit"]
        more = {"attach": [ATTACHED[self.prog_type], FUNC]} if self.prog_type in ATTACHED else {}
        more |= {"prog_flags": 16} if self.prog_type == SYSCALL else {}
        return {"prog_type": self.prog_type, "attach_type": self.attach_type, "maps": self.maps,
                "insns": encode(assemble("\n".join(self.lines))).hex(), **more}  # fmt: skip

    def label(self) -> str:
        self.labels += 1
        return f"l{self.labels}"

    def value(self, reg: int) -> None:
        """A value of a map, mostly known to be there."""
        rng = self.rng
        name = rng.choice(GENERAL)
        self.lines += [f"*(u64 *)(r10 -8) = {rng.choice((0, 1))}", "r2 = r10", "r2 += -8"]
        self.map(1, name)
        self.lines += ["call 1"]
        if rng.random() < 0.93:
            self.lines += ["if r0 != 0 goto pc+2", "r0 = 0", "exit"]
        self.lines.append(f"r{reg} = r0")
        self.kinds[reg] = name

    def value_again(self) -> None:
        self.value(self.rng.choice((7, 9)))

    def number(self, reg: int) -> None:
        """A number, known within bounds or not at all."""
        rng = self.rng
        match rng.randrange(5):
            case 0:
                self.lines.append(f"r{reg} = *(u32 *)(r6 +{rng.choice(self.ctx_offsets)})")
            case 1:
                self.lines += [f"r{reg} = *(u{rng.choice((8, 16, 32, 64))} *)(r7 +0)"]
            case 2:
                self.lines += ["call 7", f"r{reg} = r0"]
            case _:
                self.lines.append(f"r{reg} = {rng.choice((0, 1, 4, 8, 15, 16, 31, -1))}")
        match rng.randrange(4):
            case 0:
                self.lines.append(f"r{reg} &= {rng.choice((1, 7, 15, 31, 63))}")
            case 1:
                bound = rng.choice((4, 8, 16, 24))
                self.lines += [f"if r{reg} <= {bound} goto pc+1", f"r{reg} = {bound}"]
            case 2 if rng.random() < 0.5:
                self.lines += [f"if r{reg} s< 16 goto pc+1", f"r{reg} = 4"]
        self.kinds[reg] = "number"

    def number_again(self) -> None:
        self.number(self.rng.choice((8, 9)))

    def packet(self) -> None:
        """Into the packet, where there is one."""
        if self.prog_type in (3, 6, 12, 14, 16):
            first, last = {6: (0, 4), 16: (0, 8)}.get(self.prog_type, (76, 80))
            size = "u64" if self.prog_type == 16 else "u32"
            self.lines += [f"r7 = *({size} *)(r6 +{first})", f"r2 = *({size} *)(r6 +{last})", "r3 = r7",
                           f"r3 += {self.rng.choice((8, 14, 34))}", "if r3 <= r2 goto pc+2", "r0 = 0", "exit"]  # fmt: skip
            self.kinds[7] = "packet"

    def members(self) -> None:
        """The context's members, or what lies between them, at any size; what is read may be used."""
        rng = self.rng
        for _ in range(rng.randint(1, 4)):
            size = rng.choice(("u8", "u16", "u32", "u32", "u32", "u64"))
            off = (
                rng.choice(self.ctx_offsets)
                if rng.random() < 0.2
                else rng.randrange(0, 264, rng.choice((4, 4, 8, 2, 1)))
            )
            match rng.randrange(6):
                case 0:
                    self.lines.append(f"*({size} *)(r6 +{off}) = r8")
                case 1:
                    self.lines.append(f"*({size} *)(r6 +{off}) = {rng.choice((0, 1, 7))}")
                case 2:
                    self.lines += [f"r9 = *({size} *)(r6 +{off})", "if r9 != 0 goto pc+2", "r0 = 0", "exit",
                                   f"r1 = *(u32 *)(r9 +{rng.randrange(0, 80, 4)})"]  # fmt: skip
                    self.kinds[9] = "got"
                case _:
                    self.lines.append(f"r{rng.choice((1, 8))} = *({size} *)(r6 +{off})")

    def context(self) -> None:
        """Elsewhere in the context, by a pointer."""
        rng = self.rng
        self.lines += ["r1 = r6", f"r1 += {rng.choice((0, 8, 16, -8))}" if rng.random() < 0.8 else "r1 += r8"]
        match rng.randrange(3):
            case 0:
                self.lines.append(f"r2 = *(u{rng.choice((8, 32, 64))} *)(r1 {rng.choice(('+0', '+8', '-8'))})")
            case 1:
                self.lines.append("*(u64 *)(r1 +0) = r8")
            case _:
                self.lines += [f"r2 = {rng.choice((4, 8, 0, 'r8'))}", "r3 = r7", "call 6"]

    def touch(self) -> None:
        """Memory through what is there."""
        rng = self.rng
        reg = rng.choice((7, 7, 9)) if 9 in self.kinds else 7
        size, off = rng.choice(("u8", "u32", "u64")), rng.choice((0, 0, 4, 8, 16))
        match rng.randrange(4):
            case 0:
                self.lines.append(f"r1 = *({size} *)(r{reg} +{off})")
            case 1:
                self.lines.append(f"*({size} *)(r{reg} +{off}) = 5")
            case 2:
                self.lines.append(f"r1 = *({size} *)(r10 {rng.choice((-8, -16, -24, -56))})")
            case _:
                self.lines.append(f"*(u64 *)(r10 {rng.choice((-8, -16, -24))}) = r{rng.choice((6, 7, 8))}")

    def call(self) -> None:
        """A helper with arguments."""
        rng = self.rng
        rows = self.helpers if rng.random() < 0.96 and self.helpers else self.fallbacks
        liked = [row for row in rows if ROWS[row.func_id].name in LIKED]
        row = rng.choice(liked if liked and rng.random() < 0.4 else rows)
        name = ROWS[row.func_id].name
        only = ROWS[row.func_id].maps
        size_of: int | None = None
        for index, kind in enumerate(row.arg_types):
            if kind:
                size_of = self.argument(index + 1, kind, name, only, size_of)
        self.lines.append(f"call {row.func_id}")
        self.after(row)

    def argument(self, reg: int, kind: int, name: str, only: frozenset[str] | None, size: int | None) -> int | None:
        """One argument; answers how large the memory is that the next one tells."""
        rng, base = self.rng, kind & BASE
        if rng.random() < 0.04:
            self.lines.append(f"r{reg} = {rng.choice(('r6', 'r7', 'r8', 'r10', '0', '1'))}")
            return None
        if kind & types.PTR_MAYBE_NULL and rng.random() < 0.25:
            self.lines.append(f"r{reg} = 0")
            return 0
        if base == types.ARG_CONST_MAP_PTR:
            self.map(reg, self.fitting(only))
        elif base == types.ARG_PTR_TO_CTX:
            self.lines.append(f"r{reg} = r6")
        elif base in (types.ARG_CONST_SIZE, types.ARG_CONST_SIZE_OR_ZERO, types.ARG_CONST_ALLOC_SIZE_OR_ZERO):
            self.size(reg, size)
        elif base == types.ARG_ANYTHING:
            self.lines.append(f"r{reg} = {rng.choice(('0', '1', '0', '14', 'r8', 'r7', '256', '-1', '512'))}")
        elif base in (
            types.ARG_PTR_TO_MAP_KEY,
            types.ARG_PTR_TO_MAP_VALUE,
            types.ARG_PTR_TO_MEM,
            types.ARG_PTR_TO_CONST_STR,
        ):
            return self.memory(reg)
        else:
            self.lines.append(f"r{reg} = {rng.choice(('r6', 'r7', 'r9' if 9 in self.kinds else 'r7', 'r8'))}")
        return None

    def fitting(self, only: frozenset[str] | None) -> str:
        """A map that the helper may take, mostly."""
        rng = self.rng
        if only is None or rng.random() < 0.1:
            return rng.choice((*GENERAL, *MAPS, *SUITE_MAPS) if rng.random() < 0.2 else GENERAL)
        number = {"HASH": 1, "PERF_EVENT_ARRAY": 4, "STACK_TRACE": 7, "CGROUP_ARRAY": 8, "DEVMAP": 14, "SOCKMAP": 15, "CPUMAP": 16, "SOCKHASH": 18,
                  "REUSEPORT_SOCKARRAY": 20, "QUEUE": 22, "STACK": 23, "RINGBUF": 27}  # fmt: skip
        wanted = {number[word] for word in only if word in number}
        names = [name for name, definition in MAPS.items() if definition["type"] in wanted]
        if "CGROUP_STORAGE" in only:
            names += ["fixup_cgroup_storage", "fixup_percpu_cgroup_storage"]
        if "SK_STORAGE" in only:
            names.append("fixup_sk_storage_map")
        return rng.choice(names or list(MAPS))

    def memory(self, reg: int) -> int:
        """The stack, a map's value, the packet: its bytes."""
        rng = self.rng
        if rng.random() < 0.6:
            place = rng.choice((-4, -8, -16, -24, -32, -48, -64, -72))
            self.lines += [f"r{reg} = r10", f"r{reg} += {place}"]
            if rng.random() < 0.06:
                self.lines.append(f"r{reg} += r8")
            return -place
        self.lines.append(f"r{reg} = r{7 if 9 not in self.kinds or rng.random() < 0.7 else 9}")
        if rng.random() < 0.2:
            self.lines.append(f"r{reg} += {rng.choice((2, 4, 8, -4))}")
        if rng.random() < 0.08:
            self.lines.append(f"r{reg} += r8")
        return 8

    def size(self, reg: int, size: int | None) -> None:
        """How large the memory is, mostly."""
        rng = self.rng
        if size is not None and rng.random() < 0.6:
            self.lines.append(
                f"r{reg} = {rng.choice((size, size, min(size, 4), size // 2, size + 8 if rng.random() < 0.3 else size))}"
            )
        else:
            self.lines.append(f"r{reg} = {rng.choice((*CONST_SIZES, 'r8', '0' if rng.random() < 0.4 else '8'))}")

    def after(self, row: FuncProto) -> None:
        """What the helper gave is kept and perhaps looked at."""
        rng, base = self.rng, row.ret_type & BASE
        if base == types.RET_VOID or rng.random() < 0.3:
            return
        if base == types.RET_INTEGER:
            if rng.random() < 0.3:
                self.lines.append("r8 = r0")
                if rng.random() < 0.5:
                    self.lines += ["if r8 s> 0 goto pc+2", "r0 = 0", "exit"]
            return
        self.lines.append("r9 = r0")
        self.kinds[9] = "got"
        if rng.random() < 0.8:
            self.lines += ["if r9 != 0 goto pc+2", "r0 = 0", "exit"]
        if rng.random() < 0.6:
            self.lines.append(f"r1 = *(u32 *)(r9 +{rng.choice((0, 4, 8))})")
        name = ROWS[row.func_id].name
        release = {"ringbuf_reserve": "132", "sk_lookup_tcp": "86", "sk_lookup_udp": "86", "skc_lookup_tcp": "86"}.get(
            name
        )
        if release and rng.random() < 0.85:
            self.lines += ["r1 = r9", "r2 = 0", f"call {release}"]


def helper_calls(rng: random.Random, version: KernelVersion) -> Row:
    """A program that calls helpers."""
    return Program(rng, version).write()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernel", default="6.1")
    args = parser.parse_args()
    rng, version = random.Random(args.seed), KernelVersion.parse(args.kernel)
    json.dump(
        {"maps": MAPS, "cases": [{"id": number, **helper_calls(rng, version)} for number in range(args.count)]},
        sys.stdout,
    )


if __name__ == "__main__":
    main()
