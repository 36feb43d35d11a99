"""Accesses to memory as text for LLVM: a load or store of the host where the address lies in the machine's memory, else Python's.

Each is checked: by itself, or before the first turn of a loop (bpf/run/loops.py).
"""

from __future__ import annotations

from arch.native.ir import MOSTLY_TAKEN
from bpf.run.llvm_lines import STATUS, Lines
from bpf.run.loops import Loop
from bpf.run.window import Window


class Accesses(Lines):
    """Lines that read and write."""

    def __init__(self, entries: dict[str, int], window: Window, host: int, big: bool) -> None:
        super().__init__(entries)
        self.window, self.host, self.big = window, host, big
        self.loop: Loop | None = None  # that is being written
        self.fast = False  # its copy in which what was checked before is not checked again

    def address(self, reg: int, off: int) -> str:
        """reg + off"""
        return self.let(f"add i64 {self.get(reg)}, {off}")

    def where(self, address: str, size: int) -> tuple[str, str, str]:
        """Labels: inside the machine's memory, outside, after."""
        fast, slow, after = self.fresh("fast"), self.fresh("slow"), self.fresh("after")
        self.inside(address, size, fast, slow)
        return fast, slow, after

    def inside(self, address: str, size: int, fast: str, slow: str) -> None:
        """To `fast` if so many bytes lie in the machine's memory."""
        off = self.let(f"sub i64 {address}, {signed(self.window.base)}")
        inside = self.let(f"icmp ule i64 {off}, {self.window.size - size}")
        self.do(f"br i1 {inside}, label %{fast}, label %{slow}, {MOSTLY_TAKEN}")

    def was_checked(self, i: int) -> bool:
        """An access of this instruction lies where was looked before the loop."""
        return self.fast and self.loop is not None and i in self.loop.checked

    def pointer(self, address: str) -> str:
        """Host address of an address in the machine's memory.  Not by the offset that is compared: nobody waits for that."""
        return self.let(
            f"getelementptr i8, ptr inttoptr (i64 {self.host - signed(self.window.base)} to ptr), i64 {address}"
        )

    def order(self, value: str, size: int) -> str:
        """Between the machine's byte order and the host's (little)."""
        return (
            self.let(f"call i{size * 8} @llvm.bswap.i{size * 8}(i{size * 8} {value})")
            if self.big and size > 1
            else value
        )

    def status_ok(self) -> None:
        """Leave if Python noted an exception."""
        status = self.let(f"load i64, ptr {self.word(STATUS)}")
        self.leave_unless_ok(self.let(f"trunc i64 {status} to i32"))

    def read(self, i: int, address: str, size: int, probe: bool = False) -> str:
        """The number at an address, 64 bits wide."""
        if self.was_checked(i):
            return self.near(address, size)
        fast, slow, after = self.where(address, size)
        result = self.fresh("%v")
        self.label(fast)
        near = self.near(address, size)
        self.do(f"br label %{after}")
        self.label(slow)
        args = f"ptr %state, i64 {address}, i32 {size}, i64 {i}, i32 {int(probe)}"
        far = self.let(f"call i64 {self.entry('read')}({args})")
        self.status_ok()
        end = self.fresh("end")
        self.do(f"br label %{end}")
        self.label(end)
        self.do(f"br label %{after}")
        self.label(after)
        self.do(f"{result} = phi i64 [ {near}, %{fast} ], [ {far}, %{end} ]")
        return result

    def near(self, address: str, size: int) -> str:
        """The number at an address that was checked."""
        value = self.order(self.let(f"load i{size * 8}, ptr {self.pointer(address)}, align 1"), size)
        return value if size == 8 else self.let(f"zext i{size * 8} {value} to i64")

    def put_near(self, address: str, size: int, value: str) -> None:
        """The low bytes of a value to an address that was checked."""
        short = value if size == 8 else self.let(f"trunc i64 {value} to i{size * 8}")
        self.do(f"store i{size * 8} {self.order(short, size)}, ptr {self.pointer(address)}, align 1")

    def write(self, i: int, address: str, size: int, value: str) -> None:
        """Store the low bytes of a 64-bit value."""
        if self.was_checked(i):
            self.put_near(address, size, value)
            return
        fast, slow, after = self.where(address, size)
        self.label(fast)
        self.put_near(address, size, value)
        self.do(f"br label %{after}")
        self.label(slow)
        self.do(f"call void {self.entry('write')}(ptr %state, i64 {address}, i32 {size}, i64 {value}, i64 {i})")
        self.status_ok()
        self.do(f"br label %{after}")
        self.label(after)


def signed(value: int) -> int:
    """64 bits as a signed number."""
    return value - (1 << 64) if value >> 63 else value
