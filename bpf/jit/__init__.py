"""The machine code that the kernel's JIT compilers make of programs, to be shown: lengths, bytes, and where each line begins.

Nothing here runs: bpf/run/ does.  It is arch/x86/net/bpf_jit_comp.c of Linux 6.1, forms.py an instruction's bytes, compile.py a function's;
other CPUs' compilers are not there, and programs on them have no such code (`Architecture.bpf_jit`).
"""

from __future__ import annotations

from collections.abc import Sequence

from bpf.isa.insn import Insn
from bpf.jit.compile import Code, Function, Places, compile_function
from bpf.layout import KernelLayout


def compile_program(
    insns: Sequence[Insn],
    starts: Sequence[int],
    depths: Sequence[int],
    tail_calls: Sequence[bool],
    kernel: KernelLayout,
) -> list[Code]:
    """jit_subprogs(): each function of a program by itself."""
    ends = (*starts[1:], len(insns))
    found = []
    places = Places(*map(kernel.offset, ("bpf_map.max_entries", "bpf_array.ptrs", "bpf_prog.bpf_func")))
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        depth = depths[number] if number < len(depths) else 0
        reachable = tail_calls[number] if number < len(tail_calls) else False
        found.append(compile_function(Function(insns[start:end], depth, reachable, number > 0, places)))
    return found
