"""What the debugger shows, as lines of plain text."""

from __future__ import annotations

from collections.abc import Iterator

from simkernel.debug.breaks import BreakError, parse_number
from simkernel.debug.debugger import Debugger
from simkernel.debug.look import BpfView, MapView, TaskView
from simkernel.debug.places import Kind, Stop

DUMP_BYTES = 16  # bytes of a line of memory
FRAME_SLOT = 8  # bytes of a slot of a BPF stack


def place(debugger: Debugger, stop: Stop) -> str:
    """One line: why and where the machine stands, and when."""
    why = (
        ""
        if stop.reason in ("step", "checkpoint")
        else f"{stop.reason}: "
        if stop.kind is not Kind.END
        else stop.reason
    )
    when = f"  [tick {stop.place}, {stop.time_ns} ns, cpu {stop.cpu}, {stop.comm} {stop.pid}]"
    return why + _where(debugger, stop) + when


def _where(debugger: Debugger, stop: Stop) -> str:
    """What comes next."""
    if stop.kind is Kind.END:
        return ""
    if stop.kind is Kind.BPF and stop.bpf is not None:
        view = debugger.bpf()
        text = "" if view is None else next((each.text for each in view.lines if each.index == view.insn), "")
        source = (
            "" if view is None or not view.line else f"  ; {view.file.rpartition('/')[2]}:{view.line} {view.source}"
        )
        return f"bpf {stop.bpf.program}:{stop.bpf.insn}  {text}{source}"
    lines = debugger.disassembly(1, stop.pc)
    if stop.kind is Kind.HIT:
        return f"in {lines[0].symbol if lines else hex(stop.pc)}"
    mode = "" if stop.in_kernel else "user "
    return mode + (f"{lines[0].symbol}  {lines[0].text}" if lines else hex(stop.pc))


def document(debugger: Debugger, stop: Stop) -> dict[str, object]:
    """The same for machines."""
    lines = [] if stop.kind is Kind.END else debugger.disassembly(1, stop.pc)
    running = stop.bpf if stop.kind is Kind.BPF else None
    return {
        "place": str(stop.place),
        "kind": stop.kind.value,
        "reason": stop.reason,
        "breakpoint": stop.number,
        "pc": stop.pc,
        "symbol": lines[0].symbol if lines else "",
        "in_kernel": stop.in_kernel,
        "time_ns": stop.time_ns,
        "cpu": stop.cpu,
        "pid": stop.pid,
        "comm": stop.comm,
        "bpf": None
        if running is None
        else {"program": running.program, "id": running.id, "insn": running.insn, "depth": running.depth},
    }


def registers(values: dict[str, int], word: int) -> Iterator[str]:
    """Four in a line."""
    names = list(values)
    for start in range(0, len(names), 4):
        yield "  ".join(f"{name:>6} {values[name]:0{2 * word}x}" for name in names[start : start + 4])


def address(debugger: Debugger, text: str) -> int:
    """A number, `%register`, or a kernel symbol with or without an offset.  BreakError."""
    name, _, offset = text.partition("+")
    if name.startswith("%"):
        found = debugger.registers().get(name[1:])
    elif name[:1].isdigit():
        found = parse_number(name)
    else:
        found = debugger.symbols.address(name)
    if found is None:
        raise BreakError(f"{name}: no such symbol or register")
    return found + (parse_number(offset) if offset else 0)


def dump(start: int, data: bytes, skip_zeros: bool = False) -> Iterator[str]:
    """Bytes as hex and text."""
    for at in range(0, len(data), DUMP_BYTES):
        row = data[at : at + DUMP_BYTES]
        if skip_zeros and not any(row):
            continue
        yield f"{start + at:#x}: {row.hex(' '):<{3 * DUMP_BYTES}} {printable(row)}"


def printable(data: bytes) -> str:
    """Bytes as text, others as dots."""
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)


def frame(view: BpfView | None) -> Iterator[str]:
    """The stack of a BPF program's function: slots that are not zero, from fp on; what was not written is of others."""
    if view is None:
        return
    for at in reversed(range(0, len(view.stack), FRAME_SLOT)):
        slot = view.stack[at : at + FRAME_SLOT]
        if any(slot):
            yield f"fp-{len(view.stack) - at:<4} {slot.hex(' ')}  {printable(slot)}"


def bpf(view: BpfView | None, around: int, columns: int = 4) -> Iterator[str]:
    """A program that runs: its registers, and so many instructions around the next one with their source lines."""
    if view is None:
        yield "no BPF program runs"
        return
    yield f"{view.program} (id {view.id}), instruction {view.insn}, depth {view.depth}"
    values = view.registers
    for start in range(0, len(values), columns):
        yield "  ".join(f"R{n:<2} {values[n]:016x}" for n in range(start, min(start + columns, len(values))))
    here = next((place for place, line in enumerate(view.lines) if line.index == view.insn), 0)
    for line in view.lines[max(here - around, 0) : here + around + 1]:
        if line.source:
            yield f"       ; {line.source}"
        yield f"{'=>' if line.index == view.insn else '  '} {line.index:>3}: {line.text}"


def maps(views: list[MapView], names: list[str]) -> Iterator[str]:
    """Maps with entries, or those that are named."""
    for view in views:
        if names and view.name not in names:
            continue
        yield f"{view.name} (id {view.id}, {view.type}): " + (f"{len(view.entries)}{'+' if view.more else ''} entries")
        for key, value in view.entries:
            if names or value != "0":
                yield f"  {key}: {value}"


def task(view: TaskView) -> str:
    """One line."""
    return f"{'*' if view.current else ' '} {view.pid} {view.comm} {view.doing} {view.address:#x}"
