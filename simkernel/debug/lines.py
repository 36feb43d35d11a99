"""BPF programs and the lines of their source: what line_info says."""

from __future__ import annotations

from bpf.core.program import BpfProg
from simkernel.debug.bpfsteps import Frame

LINE_SHIFT = 10  # of line_col.  include/uapi/linux/bpf.h: BPF_LINE_INFO_LINE_NUM


def program_of(frame: Frame) -> BpfProg | None:
    """Whose function it is; None for a program that has been freed."""
    for prog in frame.program.steps.bpf.progs.objects.values():
        if isinstance(prog, BpfProg) and prog.program is frame.program:
            return prog
    return None


def row_of(prog: BpfProg, insn: int) -> tuple[int, int, int, int] | None:
    """The row of line_info that an instruction belongs to."""
    found = None
    for row in prog.line_info or ():
        if row[0] > insn:
            break
        found = row
    return found


def source_of(prog: BpfProg, insn: int) -> tuple[str, int, str]:
    """(file, line number, text of the line); ("", 0, "") where the program does not say."""
    row = row_of(prog, insn)
    if row is None or prog.btf is None:
        return "", 0, ""
    return prog.btf.string(row[1]), row[3] >> LINE_SHIFT, prog.btf.string(row[2]).strip()


def first_of_line(prog: BpfProg, insn: int, file: str, line: int) -> bool:
    """Does this line begin at the instruction?  `file` is the end of the file's path."""
    row = row_of(prog, insn)
    if row is None or row[0] != insn or row[3] >> LINE_SHIFT != line or prog.btf is None:
        return False
    path = prog.btf.string(row[1])
    return path == file or path.endswith("/" + file)
