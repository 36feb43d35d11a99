"""Saved user registers (struct pt_regs in kernel memory), and register values as C sees them.  include/linux/err.h."""

from __future__ import annotations

from arch.architecture import Architecture, Layout, SyscallAbi
from arch.errors import KernelError
from arch.memory import Memory


class Registers:
    """`k.regs`."""

    def __init__(self, arch: Architecture, abi: SyscallAbi, layout: Layout, mem: Memory) -> None:
        self.arch, self.abi, self.layout, self.mem = arch, abi, layout, mem
        self._mask, self._rows = (1 << 8 * arch.word) - 1, layout.fields
        orig = arch.trap_fields.get("orig")
        self.orig_field: str = orig or abi.result
        self.syscall_insn_size = len(abi.insn)
        # Where user code leaves its arguments: the first may be kept under another name inside the kernel (orig_x0).
        self.user_arg_fields = tuple(abi.result if field == orig else field for field in abi.args)
        self.user_number_field: str = next(
            (row.field for row in layout.rows if row.register == abi.user_number), abi.number
        )

    def get(self, regs: int, field: str) -> int:
        """One field of a struct pt_regs."""
        row = self._rows[field]
        return self.mem.read_uint(regs + row.offset, row.size)

    def set(self, regs: int, field: str, value: int) -> None:
        """Store one field of a struct pt_regs (negative values as two's complement)."""
        row = self._rows[field]
        self.mem.write_uint(regs + row.offset, row.size, value & self._mask)

    def restart_number(self, regs: int) -> None:
        """Make the interrupted call a restart_syscall."""
        self.set(regs, self.user_number_field, self.abi.numbers["restart_syscall"])
        ip = self.arch.instruction_pointer
        self.set(regs, ip, self.get(regs, ip) - self.syscall_insn_size)

    def clone_arguments(self, *args: int) -> tuple[int, int, int, int, int]:
        """(flags, stack, parent_tid, child_tid, tls) of the architecture's clone()."""
        found = dict(zip(self.abi.clone_order, args))
        return (
            found["flags"], found["stack"], found["parent_tid"], found["child_tid"], found["tls"],
        )  # fmt: skip

    # -- values --------------------------------------------------------------------------------------------------

    def signed_word(self, value: int) -> int:
        """A register value as a signed long."""
        bits = 8 * self.arch.word
        return value - (1 << bits) if value >> (bits - 1) else value

    def is_err(self, value: int) -> bool:
        """IS_ERR() of a pointer result (or a negative int)."""
        return value < 0 or value > (1 << 8 * self.arch.word) - 4096

    def ptr_err(self, value: int) -> int:
        """PTR_ERR(): the negative errno."""
        return value if value < 0 else value - (1 << 8 * self.arch.word)

    def check(self, value: int) -> int:
        """IS_ERR(): raise for an error pointer or a negative result."""
        if self.is_err(value):
            raise KernelError(-self.ptr_err(value))
        return value
