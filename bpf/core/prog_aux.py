"""The struct bpf_prog_aux of a program, as far as anything shows it: its address in rewritten code."""

from __future__ import annotations

from tracing.face import KernelMem

PROG_AUX_BYTES = 768  # about what 6.1 has; nothing is filled in


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
