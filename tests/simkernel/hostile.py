"""Nothing a program does reaches the host, whatever the verifier said of it: programs that no verifier would let pass.

    python tests/simkernel/hostile.py [--programs 20000] [--seed 1] [--arch x86_64] [--tier interpreter|compiled]

Each program runs in a probe on vfs_write of a machine that works: it writes into page tables, task structures, kernel
stacks, text, freed memory, the structures of open files, anywhere.  Then the machine goes on, so that what was written
is followed: system calls, faults, switches, a new program.  At worst the machine ends with an error of its own.

Each program gets a process (forked from one booted machine), for the host is what is being tested: a signal is a
violation, so is a changed byte of the canary, memory of the host that the attacks know and aim at.  Around simulated
memory lie 64 GiB that nobody may touch, so that a wild address does not hit something by chance.  Exit status 1 after a
violation; the last line of the output counts what became of the machines.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import random
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import arch.hostmap
import arch.memory
import arch.native
import simkernel
from arch.garbage import hold
from bpf.helpers import HELPERS, Runtime, load_all
from bpf.helpers.native import native_call
from bpf.isa.insn import Insn
from bpf.maps import htab
from bpf.maps.base import MapAttr
from bpf.maps.hash import HashMap
from bpf.run.compiled import JitProgram
from bpf.run.interpreter import BpfFault, BudgetExceeded, Program, new_registers

BIN = Path(__file__).parents[2] / "samples" / "bin"
ARCHS = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
MEMORY = 32 << 20
MOAT = 1 << 36
CANARY = 64  # pages
HANG_S = 8
HELPER_NAMES = {
    1: "bpf_map_lookup_elem",
    2: "bpf_map_update_elem",
    3: "bpf_map_delete_elem",
    4: "bpf_probe_read",
    14: "bpf_get_current_pid_tgid",
    16: "bpf_get_current_comm",
}
# no words for destroyed memory
SLIPS = (KeyError, AssertionError, IndexError, AttributeError, TypeError, ValueError, OverflowError, struct.error)
M64 = (1 << 64) - 1
M = M64


class Canary:
    """Memory of the host that is not simulated, at an address that the attacks know."""

    def __init__(self) -> None:
        self.pages = mmap.mmap(-1, CANARY * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))
        self.pages[:] = bytes(range(256)) * (CANARY * 16)
        self.before = bytes(self.pages)

    def touched(self) -> bool:
        return bytes(self.pages) != self.before


class Attack:
    """One program against the kernel that runs now."""

    def __init__(self, k: Any, regs: int, canary: Canary, rng: random.Random) -> None:
        self.k, self.regs, self.canary, self.rng = k, regs, canary, rng
        self.phys = k.physical
        self.direct = k.mem.map.direct_map
        self.insns: list[Insn] = []

    # ---- where to ----

    def target(self) -> int:
        """An address that it would be bad to write to."""
        k, rng = self.k, self.rng
        task = k.current
        kinds = [
            "tables",
            "tables",
            "tables",
            "vmalloc",
            "task",
            "stack",
            "regs",
            "text",
            "any",
            "edge",
            "object",
            "map",
            "map",
            "zero",
        ]
        kind = rng.choice(kinds)
        if kind == "tables" and task.mm is not None:
            return self.entry(task.mm.space.table)
        if kind == "vmalloc":
            root = k.cpu.words[arch.native.Word.VMALLOC_ROOT]
            return self.direct + root + 8 * rng.randrange(512)
        if kind == "task":
            return int(rng.choice([task.addr, k.tasks.init.addr])) + 8 * rng.randrange(600)
        if kind == "stack":
            return int(self.regs) + 8 * rng.randrange(-40, 300)
        if kind == "regs":
            return int(self.regs) + 8 * rng.randrange(34)
        if kind == "text":
            names = rng.choice(["vfs_write", "ksys_write", "do_exit", "schedule", "handle_mm_fault", "vfs_read"])
            at = k.symbols.address(names) if rng.random() < 0.7 else k.mem.map.text_base + rng.randrange(1 << 16)
            offset = (at or k.mem.map.text_base) - k.mem.map.text_base + rng.randrange(0, 64, 4)
            return rng.choice([self.direct + k.mem.map.text_phys, k.mem.map.text_base]) + offset
        if kind == "edge":
            return self.direct + rng.choice([0, -8, -1, self.phys.size - 8, self.phys.size - 4, self.phys.size, 8])
        if kind == "object":
            places = [*k.vfs.files, k.current.files.addr, k.tasks.init.stack, self.freed()]
            return int(rng.choice(places)) + 8 * rng.randrange(64)
        if kind == "map":
            table = self.table()
            places = [table.words[htab.BUCKETS], table.address, *table.elements()]
            return int(rng.choice(places)) + 8 * rng.randrange(8)
        if kind == "zero":
            return self.direct + k.cpu.words[arch.native.Word.ZERO_PAGE] + 8 * rng.randrange(512)
        return self.direct + rng.randrange(self.phys.size) & ~7

    def entry(self, table: Any) -> int:
        """An entry of a page table that is in use, or any of its page."""
        rng = self.rng
        page = rng.choice(table._tables) << 12
        used = [i for i in range(512) if self.phys.words[(page >> 3) + i]]
        index = rng.choice(used) if used and rng.random() < 0.9 else rng.randrange(512)
        return self.direct + page + 8 * index

    def table(self) -> HashMap:
        """A hash map with some elements, which the programs' helpers work on."""
        bpf = self.k.observer.bpf
        found = next((one for one in bpf.map_at.values() if isinstance(one, HashMap)), None)
        if found is None:
            found = bpf.new_map(MapAttr(1, 8, 16, 8))
            for i in range(6):
                found.update(i.to_bytes(8, self.k.mem.byteorder), bytes(16), 0)
        return found

    def freed(self) -> int:
        at = self.k.mem.alloc(self.rng.choice([64, 192, 1024]))
        self.k.mem.free(at)
        return int(at)

    # ---- what ----

    def value(self) -> int:
        """What to write: entries and pointers that lead out, and anything."""
        rng, size = self.rng, self.phys.size
        flags = rng.choice([1, 7, 15, 15, 15, 0xFFF, 0])
        to_canary = (self.canary.address + 4096 * rng.randrange(CANARY) - self.phys.host_address) & M
        page = rng.choice([
            to_canary, to_canary, size, size + 4096, size - 4096, 1 << 32, 1 << 40, 1 << 47, M & ~4095, size + (1 << 20),
            rng.randrange(1 << 52) << 12, rng.randrange(size), (1 << 63), (M & ~4095) - (1 << 20), self.freed() - self.direct,
        ])  # fmt: skip
        pointers = [
            self.direct + size - 8, self.direct + size, self.direct - 8, self.k.mem.map.text_base + rng.randrange(1 << 16),
            0, M, 0x41414141_41414141, self.canary.address, self.direct + to_canary & M, self.regs, rng.randrange(1 << 64),
        ]  # fmt: skip
        return int((page & ~4095 | flags) if rng.random() < 0.6 else rng.choice(pointers)) & M

    # ---- the program ----

    def load_constant(self, reg: int, value: int) -> None:
        low, high = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF
        signed = [v - (1 << 32) if v >> 31 else v for v in (low, high)]
        self.insns += [Insn(0x18, reg, 0, 0, signed[0]), Insn(0, 0, 0, 0, signed[1])]

    def piece(self) -> None:
        """A few instructions: a store, a run of stores, an atomic, a wild load, an endless loop, a deep call."""
        rng = self.rng
        kind = rng.choice(
            ["store"] * 8 + ["fill", "fill", "atomic", "load", "copy", "loop", "recurse", *["helper"] * 4]
        )
        self.load_constant(6, self.target())
        self.load_constant(7, self.value())
        if kind == "store":
            self.insns.append(
                Insn(rng.choice([0x63, 0x6B, 0x73, 0x7B, 0x7B, 0x7B, 0x7B]), 6, 7, rng.choice([0, 0, 1, 4]))
            )
        elif kind == "fill":
            self.insns.append(Insn(0xB7, 8, 0, 0, rng.choice([2, 16, 512, 4096])))
            self.insns += [Insn(0x7B, 6, 7), Insn(0x07, 6, 0, 0, 8), Insn(0x07, 8, 0, 0, -1), Insn(0x55, 8, 0, -4, 0)]
        elif kind == "atomic":
            self.insns.append(Insn(rng.choice([0xC3, 0xDB]), 6, 7, 0, rng.choice([0, 0x40, 0xA0, 0xE1, 0xF1])))
        elif kind == "load":
            self.load_constant(6, self.value())
            self.insns.append(Insn(rng.choice([0x61, 0x69, 0x71, 0x79, 0x39 | 0x20]), 0, 6, rng.randrange(-8, 8)))
        elif kind == "copy":
            self.insns += [Insn(0x79, 1, 6), Insn(0x0F, 1, 7), Insn(0x7B, 6, 1)]
        elif kind == "helper":
            self.load_constant(1, self.table().address)
            for reg in (2, 3, 4):
                self.load_constant(reg, rng.choice([self.target, self.value, self.small])())
            self.insns.append(Insn(0x85, 0, 0, 0, rng.choice(list(HELPER_NAMES))))
        elif kind == "loop" and rng.random() < 0.2:
            self.insns.append(Insn(0x05, 0, 0, -1))
        elif kind == "recurse" and rng.random() < 0.5:
            self.insns.append(Insn(0x85, 0, 1, 0, -len(self.insns) - 1))

    def table_loop(self, rng: random.Random) -> None:
        """Stores behind the last piece's pointer at places that are cut down to the size of a table, in a loop that may change the pointer."""
        mask, shift, off = (
            rng.choice([7, 255, 1023, 8191, 0xFFFF]),
            rng.choice([0, 3, 4]),
            rng.choice([0, 0, 8, -8, -0x8000, 0x7FF0]),
        )
        self.insns.append(Insn(0xB7, 8, 0, 0, rng.choice([2, 64, 3000])))
        body = [
            Insn(0xBF, 1, 8),
            Insn(0x57, 1, 0, 0, mask),
            Insn(0x67, 1, 0, 0, shift),
            Insn(0x0F, 1, 6),
            Insn(0x7B, 1, 7, off),
        ]
        body += rng.choice([[], [], [Insn(0x7B, 6, 7, 16)], [Insn(0x07, 6, 0, 0, 1 << 20)], [Insn(0x79, 6, 1)]])
        self.insns += [*body, Insn(0x07, 8, 0, 0, -1), Insn(0x55, 8, 0, -len(body) - 2, 0)]

    def small(self) -> int:
        return self.rng.choice([0, 1, 2, 8, 16, 1 << 31, self.k.current.addr, self.table().elements()[0] + htab.KEY_AT])

    def program(self) -> list[Insn]:
        for _ in range(self.rng.choice([1, 1, 2, 3, 8])):
            self.piece()
        own = random.Random(repr([insn.code for insn in self.insns]))  # what older numbers name stays what it was
        if own.random() < 0.2:
            self.table_loop(own)
        return [*self.insns, Insn(0xB7, 0), Insn(0x95)]

    def run(self, tier: str) -> None:
        """What goes wrong with the program itself ends the program, and the machine goes on."""
        mem = self.k.mem
        insns = self.program()
        stack = mem.alloc(8192)
        r = new_registers(self.regs, stack + 8192, 1 << 20)
        try:
            if tier == "compiled":
                JitProgram(
                    insns, mem, warm=0, bind_call=self.bind, native_call=self.native, block=self.k.cpu.block
                ).execute(r)
            else:
                Program(insns, mem, bind_call=self.bind).execute(r)
        except (BpfFault, BudgetExceeded, RecursionError):
            pass
        if self.rng.random() < 0.5:
            self.k.cpu.flush_code()  # so that rewritten text is seen
        if self.rng.random() < 0.5:
            self.k.cpu.tlb_dirty()  # and page tables

    def bind(self, insn: Insn) -> Any:
        """Helpers in Python."""
        load_all()
        return HELPERS[HELPER_NAMES[insn.imm]].bind(Runtime(self.k.observer.bpf, None))

    def native(self, insn: Insn, map_address: int) -> Any:
        """And as native functions."""
        return native_call(self.k.observer.bpf, [HELPER_NAMES[insn.imm]], map_address)


def boot(architecture: str) -> tuple[Any, str, str]:
    """A machine that has done a bit, and its two programs."""
    m = simkernel.boot(arch=architecture, kernel="6.1", memory=MEMORY)
    writer, hello = (m.install(BIN / architecture / name) for name in ("writer", "hello"))
    assert m.run([writer]).status == 0 and m.run([hello]).status == 0
    return m, writer, hello


def one(m: Any, programs: tuple[str, str], canary: Canary, rng: random.Random, tier: str) -> str:
    """In a process of its own: the attack, and what the machine does after it; a word for how it ended."""
    k = m.kernel
    writer, hello = programs
    wait = rng.choice([1, 3, 20])
    hits = 0

    def hit(regs: int) -> None:
        nonlocal hits
        hits += 1
        if hits == wait:
            Attack(k, regs, canary, rng).run(tier)

    k.cpu.add_probe(k.symbols.address("vfs_write"), hit)
    try:
        for argv in ([writer], [hello], [writer]):
            result = m.run(argv, timeout_virtual_ns=2_000_000_000, timeout_host_s=HANG_S / 2)
            if result.status:
                return "program ends otherwise" if not result.timed_out else "machine stands still"
    except simkernel.Oops as oops:
        return ending(oops.__cause__)
    except BaseException as error:
        return ending(error)
    return "goes on"


def ending(error: BaseException | None) -> str:
    """In a word; of an exception that says nothing of memory also where it was."""
    said = f"ends with {type(error).__name__}"
    if not isinstance(error, SLIPS):
        return said
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{said}: {os.path.basename(last.filename)}:{last.name}"


def forked(*args: Any) -> str:
    """one() in a child: how it ended, also when it could not say so."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(HANG_S)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        said = one(*args)
        canary = args[2]
        os.write(write, ("VIOLATION: the canary changed" if canary.touched() else said).encode())
        os._exit(0)
    os.close(write)
    _, status = os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "killed after a while" if number == signal.SIGALRM else f"VIOLATION: {signal.Signals(number).name}"
    return said or "VIOLATION: no word"


def campaign(architecture: str, tier: str, first: int, count: int, seed: int) -> Counter[str]:
    """`count` programs, from number `first` on; a violation names what to give to --only."""
    outcomes: Counter[str] = Counter()
    canary = Canary()
    m, *programs = boot(architecture)
    hold()
    for number in range(first, first + count):
        rng = random.Random(f"{architecture} {tier} {seed} {number}")
        outcome = forked(m, tuple(programs), canary, rng, tier)
        outcomes[outcome] += 1
        if outcome.startswith(("VIOLATION", *(f"ends with {kind.__name__}" for kind in SLIPS))):
            print(f"{outcome}: --arch {architecture} --tier {tier} --seed {seed} --only {number}", flush=True)
    return outcomes


def dig_moats() -> None:
    """Much more room around simulated memory, and around the table that says which pages hold code."""
    arch.hostmap.GUARD = MOAT
    plain = bytearray
    keep = []

    def guarded(what: Any) -> Any:
        if not isinstance(what, int):
            return plain(what)
        keep.append(arch.hostmap.HostMapping(-(-what // 4096) * 4096))
        return keep[-1].buf

    arch.memory.bytearray = guarded  # type: ignore[attr-defined]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arch", choices=(*ARCHS, "all"), default="all")
    parser.add_argument("--tier", choices=("interpreter", "compiled", "both"), default="both")
    parser.add_argument("--only", type=int, help="this program alone, in this process")
    options = parser.parse_args()
    dig_moats()
    archs = ARCHS if options.arch == "all" else (options.arch,)
    tiers = ("interpreter", "compiled") if options.tier == "both" else (options.tier,)
    if options.only is not None:
        m, *programs = boot(archs[0])
        canary = Canary()
        rng = random.Random(f"{archs[0]} {tiers[0]} {options.seed} {options.only}")
        print(one(m, tuple(programs), canary, rng, tiers[0]), canary.touched())
        return 0
    begin = time.monotonic()
    total: Counter[str] = Counter()
    share = -(-options.programs // (len(archs) * len(tiers)))
    for architecture in archs:
        for tier in tiers:
            total += campaign(architecture, tier, 0, share, options.seed)
    violations = sum(count for outcome, count in total.items() if outcome.startswith("VIOLATION"))
    print(
        json.dumps({"programs": sum(total.values()), "violations": violations, "outcomes": dict(total.most_common())})
    )
    print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
