"""The pictures of docs/concepts.md, drawn from real runs: `python -m docs.pictures`.

Everything that stands in them comes out of a machine: instructions, registers, records, states.  Addresses are shown as symbols, so
that a picture changes only when what it shows does; so is the number by which the text of a kernel function calls its body.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import simkernel
from bpf.loader.usdt import Binary

DOCS = Path(__file__).parent
BIN, OBJ = DOCS.parent / "samples/bin/x86_64", DOCS.parent / "samples/obj/x86_64"
LINE, CHAR, PAD, HEAD, GAP = 18, 7.3, 10, 28, 46
STYLE = """
text{font:12px ui-monospace,monospace;fill:#1b1f24}.t{font:600 13px system-ui,sans-serif}
.n{font:12px system-ui,sans-serif;fill:#57606a}rect{fill:#f6f8fa;stroke:#afb8c1;rx:6}.h{fill:#fff1c2;stroke:none}
path{stroke:#0969da;stroke-width:1.6;fill:none;marker-end:url(#a)}marker path{fill:#0969da;marker-end:none}
@media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.n{fill:#9198a1}
rect{fill:#161b22;stroke:#3d444d}.h{fill:#5a4a00}}
"""


@dataclass
class Panel:
    """A titled box of lines; `marked` are those that matter."""

    title: str
    lines: Sequence[str]
    marked: tuple[int, ...] = ()
    note: str = ""

    @property
    def width(self) -> float:
        return max([len(self.title) * 8.0, len(self.note) * 6.6, *(len(line) * CHAR for line in self.lines)]) + 2 * PAD

    @property
    def height(self) -> float:
        return HEAD + LINE * len(self.lines) + (LINE if self.note else 0) + PAD


def draw(panels: Sequence[Panel], arrows: Sequence[tuple[int, int, int, int]]) -> str:
    """Panels from left to right; an arrow goes from a panel's line to another's."""
    lefts, at = [], PAD * 1.0
    for panel in panels:
        lefts.append(at)
        at += panel.width + GAP
    width, height = at - GAP + PAD, max(panel.height for panel in panels) + 2 * PAD
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}">',
        f"<style>{STYLE.strip()}</style>",
        '<defs><marker id="a" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]

    def y(line: int) -> float:
        return PAD + HEAD + LINE * line + LINE / 2

    for panel, left in zip(panels, lefts):
        out.append(f'<rect x="{left:.0f}" y="{PAD}" width="{panel.width:.0f}" height="{panel.height:.0f}"/>')
        out.append(f'<text class="t" x="{left + PAD:.0f}" y="{PAD + 19}">{escape(panel.title)}</text>')
        for number, line in enumerate(panel.lines):
            if number in panel.marked:
                top = y(number) - LINE / 2
                out.append(
                    f'<rect class="h" x="{left + 2:.0f}" y="{top:.0f}" width="{panel.width - 4:.0f}" height="{LINE}"/>'
                )
            out.append(f'<text xml:space="preserve" x="{left + PAD:.0f}" y="{y(number) + 4:.0f}">{escape(line)}</text>')
        if panel.note:
            out.append(
                f'<text class="n" x="{left + PAD:.0f}" y="{y(len(panel.lines)) + 4:.0f}">{escape(panel.note)}</text>'
            )
    for one, line, other, to in arrows:
        begin, end = lefts[one] + panels[one].width, lefts[other]
        middle = (begin + end) / 2
        out.append(
            f'<path d="M{begin:.0f} {y(line):.0f}C{middle:.0f} {y(line):.0f} {middle:.0f} {y(to):.0f} {end:.0f} {y(to):.0f}"/>'
        )
    return "\n".join([*out, "</svg>\n"])


def kprobe() -> str:
    """What a kprobe does: the instruction, the registers that its handler gets, the record."""
    m = simkernel.boot()
    program = m.install(BIN / "writer")
    with m.debugger([program]) as d:
        d.add("vfs_write")
        d.go()
        callers = [caller.symbol for caller in d.stack()][::-1]
        code = [
            f"{line.symbol:<15}{re.sub('(?<=r10d, )0x[0-9a-f]+', 'number', line.text)}" for line in d.disassembly(5)
        ]
        registers = d.registers()
    m.enable_event("p:mywrite vfs_write count=%dx")
    m.run([program])
    task, _, record = m.trace_pipe().splitlines()[0].strip().partition(": ")
    return draw(
        [
            Panel("how the CPU came there", callers, (len(callers) - 1,), "the task's kernel stack, outermost first"),
            Panel("kernel text", code, (0,), "a probe can sit on each of them"),
            Panel(
                "struct pt_regs",
                ["ip  = vfs_write+0x0", "di  = struct file *", "si  = const char __user *", f"dx  = {registers['rdx']:#x}  (count)", "..."],
                (3,),
                "what the handler is given",
            ),
            Panel("p:mywrite vfs_write count=%dx", ["task, cpu, flags, time:", task.strip(), "", record], (3,), "a line of trace_pipe"),
        ],
        [(0, len(callers) - 1, 1, 0), (1, 0, 2, 0), (2, 3, 3, 3)],
    )  # fmt: skip


def ring() -> str:
    """A perf ring after a run: the control page's two positions, and the records between them."""
    m = simkernel.boot()
    task = m.session.task
    sample_type = 0x1 | 0x2 | 0x4  # ip, tid, time
    attr = struct.pack("<IIQQQQQ", 1, 112, 0, 1_000, sample_type, 0, 1 << 8 | 1 << 9).ljust(112, b"\0")  # mmap, comm
    with task.memory() as memory:
        fd = task.call("perf_event_open", memory.put(attr), -1, 0, -1, 0)
    place = task.call("mmap", 0, 4096 * 9, 3, 1, fd, 0)
    m.run([m.install(BIN / "writer")])
    head, tail, offset, size = struct.unpack("<QQQQ", task.sys.read(place + 1024, 32))
    data, names = task.sys.read(place + 4096, 4096 * 8), {1: "MMAP", 2: "LOST", 3: "COMM", 4: "EXIT", 9: "SAMPLE"}
    rows, at = [], 0
    while at < head and len(rows) < 9:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        extra = ""
        if kind == 9:
            _, pid, _, time = struct.unpack_from("<QIIQ", data, at + 8)
            extra = f"pid {pid}, time {time} ns"
        elif kind == 3:
            extra = data[at + 16 : at + length].split(b"\0")[0].decode()
        elif kind == 1:
            extra = data[at + 40 : at + length].split(b"\0")[0].decode()
        rows.append(f"{at:>6}  {names.get(kind, str(kind)):<7}{length:>4} bytes  {extra}")
        at += length
    control = [f"data_head    {head}", f"data_tail    {tail}", f"data_offset  {offset}", f"data_size    {size}"]
    return draw(
        [
            Panel("struct perf_event_mmap_page", control, (0, 1), "the first page: the kernel moves head, the reader tail"),
            Panel("the data pages", [*rows, "   ..."], (0,), "records from tail to head; offsets are taken modulo data_size"),
        ],
        [(0, 1, 1, 0)],
    )  # fmt: skip


def verifier() -> str:
    """A branch: what each side knows of the register that was compared."""
    insns = bytes.fromhex(
        "6112000000000000"  # r2 = *(u32 *)(r1 + 0)
        "2502020007000000"  # if r2 > 7 goto +2
        "b700000001000000"  # r0 = 1
        "9500000000000000"  # exit
        "b700000000000000"  # r0 = 0
        "9500000000000000"  # exit
    )
    log = log_of(insns)
    steps = [line for line in log.splitlines() if re.match(r"(from )?\d", line)]
    fork = next(number for number, line in enumerate(steps) if line.startswith("from"))
    fall, taken = steps[:fork], steps[fork:]

    def cut(line: str) -> str:
        code, _, state = re.sub(r",var_off=\([^)]*\)", "", line).partition(";")
        return f"{code.rstrip():<34}; {state.strip()}" if state else code.rstrip()

    return draw(
        [
            Panel("the path straight on", [cut(line) for line in fall], (2,), "r2 is at most 7 behind the comparison"),
            Panel("the branch, looked at later", [cut(line) for line in taken], (0,), "there r2 is at least 8"),
        ],
        [(0, 2, 1, 0)],
    )  # fmt: skip


def log_of(insns: bytes) -> str:
    """The log of level 2 for a socket filter."""
    from bpf.isa.insn import decode
    from bpf.verifier.api import VerifyRequest
    from bpf.verifier.modern import verify

    return verify(VerifyRequest(decode(insns), 1, 0, 0, log_level=2)).log


def usdt() -> str:
    """A static probe's note, the instruction that it names, and the argument that a program reads."""
    data = (BIN / "server").read_bytes()
    note = next(note for note in Binary(data, "server").notes() if note.name == "request")
    m = simkernel.boot()
    program = m.install(BIN / "server")
    with m.debugger([program]) as d:
        d.add(f"user *{note.location:#x}")
        d.go()
        code = [line.text for line in d.disassembly(3)]
        registers = d.registers()
        number, route = registers["r14"], d.memory(registers["r15"], 16).split(b"\0")[0]
    words = note.arguments.split()
    return draw(
        [
            Panel(".note.stapsdt", [f"provider   {note.provider}", f"name       {note.name}", *(f"argument {i} {word}" for i, word in enumerate(words))], (2,), "written by the compiler"),
            Panel("the place in the program", code, (0,), "a nop, until somebody attaches"),
            Panel("how an argument is found", [*(f"{word:<12} {spec(word)}" for word in words), "", f"there: {number}, and the address of {route.decode()!r}"], (0, 1), "size and sign, then register, memory or constant"),
        ],
        [(0, 1, 1, 0), (1, 0, 2, 0)],
    )  # fmt: skip


def spec(word: str) -> str:
    """`-4@%edi` in words."""
    size, _, where = word.partition("@")
    kind = "constant" if where.startswith("$") else "memory" if "(" in where else "register"
    return f"{abs(int(size))} bytes, {'signed' if size.startswith('-') else 'unsigned'}, {kind} {where}"


PICTURES = {"kprobe": kprobe, "ring": ring, "verifier": verifier, "usdt": usdt}


def main() -> None:
    """Write all."""
    for name, picture in PICTURES.items():
        (DOCS / f"concept-{name}.svg").write_text(picture())


if __name__ == "__main__":
    main()
