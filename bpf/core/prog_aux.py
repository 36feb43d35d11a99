"""The struct bpf_prog_aux of a program, as far as anything shows it: its address in rewritten code; the pages of its struct bpf_prog."""

from __future__ import annotations

from arch.abi.limits import PAGE_SIZE
from bpf.layout import KernelLayout
from tracing.face import KernelMem

PROG_AUX_BYTES = 768  # about what 6.1 has; nothing is filled in
INSN_BYTES = 8


class ProgAux:
    """Called while the program is verified, if it needs the address; it goes with the program."""

    def __init__(self, mem: KernelMem) -> None:
        self.mem = mem
        self.address = 0

    def __call__(self) -> int:
        """The same each time."""
        if not self.address:
            self.address = self.mem.alloc(PROG_AUX_BYTES)
        return self.address

    def free(self) -> None:
        """The program is gone, or was refused."""
        if self.address:
            self.mem.free(self.address)
            self.address = 0


def prog_pages(structs: KernelLayout, given: int, rewritten: int) -> int:
    """bpf_prog_alloc(), and bpf_prog_realloc() where the verifier made it longer: instructions lie behind the struct; none are given back."""
    size = structs.types.sizeof("struct bpf_prog") + INSN_BYTES * max(given, rewritten)
    return -(-size // PAGE_SIZE)
