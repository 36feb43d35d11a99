"""Areas of user memory that show pages of the kernel: the buffers of perf events, arrays and ring buffers of BPF."""

from __future__ import annotations

from simkernel.kernel.areas import Vma
from simkernel.kernel.face import KernelFace


def show_pages(k: KernelFace, vma: Vma, pages: list[int]) -> None:
    """Let an area show kernel pages, given by their kernel addresses."""
    first, mem = vma.pgoff, k.mem

    def fault(vma: Vma, pgoff: int) -> int:
        return mem.translate(pages[pgoff - first])

    vma.fault = fault
