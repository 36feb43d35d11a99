"""Variables that every CPU has its own of, as programs reach them: bpf_per_cpu_ptr() and bpf_this_cpu_ptr().

A variable's symbol is the address of the first CPU's; those of the others follow at equal distances, as behind
__per_cpu_offset[] on Linux.
"""

from __future__ import annotations

from arch.abi.limits import PAGE_SIZE
from arch.ctype import CType
from simkernel.kernel.face import KernelFace

# name -> (type, the first version with it)
VARIABLES: dict[str, tuple[str, str]] = {
    "bpf_prog_active": ("int", "4.1"),
    "bpf_task_storage_busy": ("int", "5.11"),
    "runqueues": ("struct rq", "4.1"),
}


class PerCpu:
    """The per-CPU section of one machine; it gets its memory when somebody asks for an address."""

    def __init__(self, k: KernelFace) -> None:
        self.k = k
        self.size = 0
        self.offsets: dict[str, tuple[CType, int]] = {}
        for name, (text, since) in VARIABLES.items():
            if k.version.at_least(since):
                ctype = k.types.type(text)
                self.offsets[name] = (ctype, self.size)
                self.size += (ctype.size + 63) // 64 * 64
        self.stride = (self.size + PAGE_SIZE - 1) // PAGE_SIZE * PAGE_SIZE
        self.start = 0

    def add_symbol(self, name: str) -> bool:
        """The symbol of a variable; False for another name."""
        if name not in self.offsets:
            return False
        if not self.start:
            self._allocate()
        ctype, offset = self.offsets[name]
        self.k.symbols.add(name, self.start + offset, ctype.size, "D")
        return True

    def _allocate(self) -> None:
        k = self.k
        self.start = k.mem.alloc(self.stride * k.nr_cpus, PAGE_SIZE)
        for cpu in range(k.nr_cpus):
            k.view(self.start + self.offset(cpu) + self.offsets["runqueues"][1], "struct rq").cpu = cpu

    def offset(self, cpu: int) -> int:
        """Bytes from a variable's address to that CPU's own."""
        return cpu * self.stride
