"""What there is to see where the machine stands.  Each function runs in the debuggee's process and changes nothing there,
but for those whose names say so.  What they return travels to the debugger.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from arch.effective import MAX_INSN
from arch.errors import Fault
from arch.memory import ByteOrder, Memory
from arch.records import dataclass, field
from arch.text import disassemble
from arch.unwind import walk_kernel, walk_user
from bpf import uapi
from bpf.isa.callees import CALLEES
from bpf.isa.disasm import insn_line
from bpf.isa.insn import BPF_CALL, BPF_JMP, BPF_LD_IMM64, Insn
from bpf.loader import values
from bpf.maps.base import BpfMap
from simkernel.debug.breaks import AtAddress, Break, MapChange, OnEvent, OnSyscall
from simkernel.debug.lines import program_of, source_of
from simkernel.debug.places import Kind, Rule, Stop
from simkernel.debug.watchers import entries, maps_named
from simkernel.waiting import doing

if TYPE_CHECKING:
    from simkernel.debug.debuggee import Debuggee

FUNCTION_STACK = 512  # of a BPF function
REGISTERS = 11  # R0 to R10
SHOWN_ENTRIES = 32  # of a map


@dataclass(frozen=True)
class Line:
    """One instruction."""

    address: int
    size: int
    text: str
    symbol: str  # `vfs_read+0x4`


@dataclass(frozen=True)
class Caller:
    """A function under way."""

    address: int
    symbol: str


@dataclass(frozen=True)
class BpfLine:
    """One instruction of a BPF program."""

    index: int
    text: str
    source: str  # `file:line text`, where it begins a line


@dataclass(frozen=True)
class BpfView:
    """A BPF program that runs."""

    program: str
    id: int
    insn: int
    depth: int
    registers: tuple[int, ...]
    stack: bytes  # of the innermost function, from R10 - 512 on
    file: str
    line: int
    source: str
    lines: list[BpfLine] = field(repr=False)


@dataclass(frozen=True)
class MapView:
    """A BPF map: (key, value, both as text) of its first entries."""

    id: int
    name: str
    type: str
    entries: list[tuple[str, str]]
    more: bool


@dataclass(frozen=True)
class TaskView:
    """A task."""

    pid: int
    tgid: int
    comm: str
    doing: str
    address: int
    current: bool


# -- the CPU -------------------------------------------------------------------------------------------------------------


def registers(d: Debuggee) -> dict[str, int]:
    """Of the CPU, by our names."""
    cpu = d.k.cpu
    found = {name: cpu.read_reg(name) for name in d.k.arch.registers}
    found[cpu.facts.pc] = d.pc if d.kind is Kind.CPU else found[cpu.facts.pc]
    return found


def write_register(d: Debuggee, name: str, value: int) -> None:
    """Changes a register."""
    d.k.cpu.write_reg(name, value)
    if name == d.k.cpu.facts.pc:
        d.pc = value


def stop_again(d: Debuggee, stop: Stop) -> Stop:
    """The same stop after registers were changed."""
    return replace(stop, pc=d.pc if d.kind is Kind.CPU else d.k.cpu.pc, sp=d.k.cpu.sp)


def _space(d: Debuggee, address: int) -> Memory:
    """The memory that an address means here: the task's below the border, where there is a task's."""
    k = d.k
    kernel_text = 0 <= address - k.mem.map.text_base < k.mem.map.text_size
    if address < k.mem.map.user_end and k.current.mm is not None and not (d.k.cpu.in_kernel and kernel_text):
        return k.current.mm.user
    return k.mem


def memory(d: Debuggee, address: int, size: int) -> bytes:
    """Bytes; Fault."""
    return bytes(_space(d, address).read(address, size))


def write_memory(d: Debuggee, address: int, data: bytes) -> None:
    """Changes memory; of code, what the emulator has translated of it goes."""
    space = _space(d, address)
    space.write(address, data)
    if space is d.k.mem:
        d.k.cpu.code_changed(address, len(data))


def symbol_at(d: Debuggee, address: int) -> str:
    """`vfs_read+0x4`, or the address."""
    found = d.k.symbols.lookup(address)
    if found is None or _is_user(d, address):
        return f"{address:#x}"
    return found[0] + (f"+{found[1]:#x}" if found[1] else "")


def _is_user(d: Debuggee, address: int) -> bool:
    return not d.k.cpu.in_kernel and address < d.k.mem.map.user_end


def _pc(d: Debuggee) -> int:
    return d.pc if d.kind is Kind.CPU else d.k.cpu.pc


def disassembly(d: Debuggee, address: int | None, count: int) -> list[Line]:
    """Instructions from an address on; fewer where memory ends or what is there is none."""
    at = _pc(d) if address is None else address
    code = b""
    for size in range(MAX_INSN * count, 0, -MAX_INSN // 2):
        try:
            code = memory(d, at, size)
            break
        except Fault:
            continue
    out = []
    for insn in disassemble(d.k.arch, code, at)[:count]:
        text = f"{insn.mnemonic} {insn.op_str}".rstrip()
        out.append(Line(insn.address, insn.size, text, symbol_at(d, insn.address)))
    return out


class Frame:
    """Memory with the CPU's registers as a struct pt_regs in front of all addresses: stack walks read it, nothing is stored."""

    def __init__(self, d: Debuggee) -> None:
        self.byteorder: ByteOrder = d.k.mem.byteorder
        self._mem = d.k.mem
        layout, cpu = d.k.cpu.layout, d.k.cpu
        data = bytearray(layout.size)
        for row in layout.rows:
            if row.register is not None:
                value = _pc(d) if row.register == cpu.facts.pc else cpu.read_reg(row.register)
                value &= (1 << 8 * row.size) - 1
                data[row.offset : row.offset + row.size] = value.to_bytes(row.size, self.byteorder)
        self._regs = bytes(data)
        self.address = -len(data)

    def read(self, addr: int, size: int) -> bytes:
        """Bytes; negative addresses are the registers'."""
        if addr < 0:
            return self._regs[addr + len(self._regs) :][:size]
        return bytes(self._mem.read(addr, size))

    def read_uint(self, addr: int, size: int) -> int:
        return int.from_bytes(self.read(addr, size), self.byteorder)

    def write(self, addr: int, data: bytes) -> None:
        raise Fault(addr)

    def write_uint(self, addr: int, size: int, value: int) -> None:
        raise Fault(addr)


def stack(d: Debuggee) -> list[Caller]:
    """The functions under way, innermost first: of the kernel, or of the program by its frame pointers."""
    k = d.k
    frame = Frame(d)
    layout = k.cpu.layout
    if not k.cpu.in_kernel and k.current.mm is not None:
        chain = list(walk_user(k.arch, frame, frame.address, k.current.mm.user, layout))
    else:
        chain = list(walk_kernel(k.arch, frame, k.symbols, frame.address, layout))
    return [Caller(address, symbol_at(d, address)) for address in chain]


# -- steps ---------------------------------------------------------------------------------------------------------------


def call_of(d: Debuggee, after: int, was_in_kernel: bool) -> bool:
    """After a step from the instruction that ends at `after`: was it a call, or a way into the kernel?"""
    k = d.k
    if d.kind is not Kind.CPU or d.pc == after:
        return False
    if k.cpu.in_kernel and not was_in_kernel:
        return True
    frame = Frame(d)
    arch, layout = k.arch, k.cpu.layout
    if arch.link_register is not None:
        return layout.get(frame, frame.address, arch.link_register) == after
    try:
        return int.from_bytes(memory(d, k.cpu.sp, arch.word), arch.byteorder) == after
    except Fault:
        return False


def rule_of_finish(d: Debuggee) -> Rule | None:
    """How the function under way ends; None where nobody called it."""
    if d.kind is Kind.BPF:
        return Rule(run=d.bpf.frames[-1].run, max_depth=len(d.bpf.frames) - 1)
    callers = stack(d)
    if len(callers) < 2:
        return None
    return Rule(Kind.CPU, pc=callers[1].address, min_sp=d.k.cpu.sp, task=d.k.current.addr)


def rule_of_return(d: Debuggee, after: int, sp: int) -> Rule:
    """Back from a call: at the instruction behind it."""
    return Rule(Kind.CPU, pc=after, min_sp=sp, task=d.k.current.addr)


def rule_of_back_finish(d: Debuggee) -> Rule | None:
    """Where the function under way was called: the last instruction of its caller."""
    if d.kind is Kind.BPF:
        return Rule(run=d.bpf.frames[-1].run, max_depth=len(d.bpf.frames) - 1)
    callers = stack(d)
    if len(callers) < 2:
        return None
    found = d.k.symbols.find(callers[1].address)
    low, high = (0, 0) if found is None else (found.address, found.end)
    return Rule(Kind.CPU, min_sp=d.k.cpu.sp, task=d.k.current.addr, low=low, high=high)


def rule_of_same_function(d: Debuggee) -> Rule:
    """Instructions of the function under way, not of those that it calls."""
    if d.kind is Kind.BPF:
        return Rule(Kind.BPF, run=d.bpf.frames[-1].run, max_depth=len(d.bpf.frames))
    found = d.k.symbols.find(_pc(d)) if d.k.cpu.in_kernel else None
    low, high = (0, 0) if found is None else (found.address, found.end)
    return Rule(Kind.CPU, min_sp=d.k.cpu.sp, task=d.k.current.addr, low=low, high=high)


# -- BPF -----------------------------------------------------------------------------------------------------------------


def bpf_view(d: Debuggee) -> BpfView | None:
    """The program that runs, innermost."""
    if not d.bpf.frames:
        return None
    frame = d.bpf.frames[-1]
    prog = program_of(frame)
    file, number, source = source_of(prog, frame.pc) if prog is not None else ("", 0, "")
    lines, last, i = [], "", 0
    while i < len(frame.program.insns):
        insn = frame.program.insns[i]
        high = frame.program.insns[i + 1].imm if insn.code == BPF_LD_IMM64 else 0
        its_file, its_line, its_text = source_of(prog, i) if prog is not None else ("", 0, "")
        head = f"{its_file.rpartition('/')[2]}:{its_line} {its_text}" if its_line else ""
        lines.append(BpfLine(i, _instruction(insn, high), head if head != last else ""))
        last = head
        i += 2 if insn.code == BPF_LD_IMM64 else 1
    top = frame.registers[10]
    try:
        stack_bytes = bytes(frame.program.mem.read(top - FUNCTION_STACK, FUNCTION_STACK))
    except Fault:
        stack_bytes = b""
    return BpfView(
        prog.name if prog is not None else frame.program.name,
        prog.id if prog is not None else 0,
        frame.pc,
        len(d.bpf.frames),
        tuple(frame.registers[:REGISTERS]),
        stack_bytes,
        file,
        number,
        source,
        lines,
    )


def _instruction(insn: Insn, high: int) -> str:
    """As the kernel prints it; a call that a rewrite has put in by the name of what it calls."""
    if insn.code == BPF_JMP | BPF_CALL and insn.src_reg == 0 and insn.imm in CALLEES:
        return f"({insn.code:02x}) call {CALLEES[insn.imm]}"
    return insn_line(insn, high)


def maps(d: Debuggee) -> list[MapView]:
    """All maps."""
    return [_map_view(each) for _, each in sorted(d.k.observer.bpf.maps.objects.items())]


def _map_view(bpf_map: BpfMap) -> MapView:
    found = list(entries(bpf_map, SHOWN_ENTRIES + 1))
    shown = [
        (_decoded(bpf_map, bpf_map.btf_key_type_id, key), _decoded(bpf_map, bpf_map.btf_value_type_id, value))
        for key, value in found[:SHOWN_ENTRIES]
    ]
    kind = uapi.MAP_TYPE_NAMES.get(bpf_map.map_type, str(bpf_map.map_type))
    return MapView(bpf_map.id, bpf_map.name, kind, shown, len(found) > SHOWN_ENTRIES)


def _decoded(bpf_map: BpfMap, type_id: int, data: bytes) -> str:
    """By its type where the map has one, else a number, else bytes."""
    if bpf_map.btf is not None and type_id and len(data) in (bpf_map.key_size, bpf_map.value_size):
        return str(values.decode(bpf_map.btf, type_id, data))
    if len(data) in (1, 2, 4, 8):
        return str(int.from_bytes(data, bpf_map.mem.byteorder))
    return data.hex()


# -- the rest ------------------------------------------------------------------------------------------------------------


def trace(d: Debuggee, lines: int) -> list[str]:
    """The last lines of the trace buffer; nothing is consumed."""
    rows = "".join(d.k.observer.tracing.recorder.array.render()).split("\n")
    return [row for row in rows if row and not row.startswith("#")][-lines:]


def tasks(d: Debuggee) -> list[TaskView]:
    """All tasks, by pid."""
    current = d.k.current
    return [
        TaskView(pid, task.tgid, task.comm, doing(task), task.addr, task is current)
        for pid, task in sorted(d.k.tasks.by_pid.items())
    ]


def current_task(d: Debuggee) -> TaskView:
    """The one that runs; an idle task is in no list."""
    task = d.k.current
    return TaskView(task.pid, task.tgid, task.comm, doing(task), task.addr, True)


def output(d: Debuggee) -> bytes:
    """What the program under the debugger has written."""
    return d.output()


def result(d: Debuggee) -> bytes:
    """What the run gave, packed."""
    return d.result


def problem_of(d: Debuggee, wanted: Break) -> str:
    """Why a breakpoint can never be reached; "" when it can."""
    k = d.k
    if isinstance(wanted, OnEvent) and wanted.system != "syscalls":
        point = k.observer.tracing.tracepoints.get(wanted.name)
        if point is None or point.decl.system != wanted.system:
            return f"no tracepoint is named {wanted.system}:{wanted.name}"
    if isinstance(wanted, OnSyscall) and wanted.name not in ("*", *k.abi.numbers):
        return f"no system call is named {wanted.name}"
    if isinstance(wanted, MapChange) and not maps_named(k, wanted.map):
        return f"no map is named {wanted.map}"
    if isinstance(wanted, AtAddress) and not wanted.user and k.symbols.find(wanted.address) is None:
        return f"{wanted.address:#x} is not in the kernel's text"
    return ""


def digest(d: Debuggee) -> str:
    """A hash of the machine's state: all of its memory that was ever used, registers, clock, tasks and counters."""
    import hashlib

    k = d.k
    state = hashlib.sha256(memoryview(k.physical.buf)[: k.physical.used_bytes])
    facts = (registers(d), k.clock.now_ns, d.tick, k.cpu.work, k.syscalls.counts, k.cpus.nr_switches, k.mm.nr_faults)
    state.update(repr((facts, [(task.pid, task.state, len(task.frames)) for task in k.tasks.by_pid.values()])).encode())
    return state.hexdigest()
