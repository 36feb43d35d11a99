"""mseal(2): areas that stay as they are.  mm/mseal.c, since 6.10."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from simkernel.kernel.areas import page_up
from simkernel.kernel.calls.mm import current_mm
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function, syscall


@kernel_function(
    "int do_mseal(unsigned long start, size_t len_in, unsigned long flags)", source="mm/mseal.c", since="6.10"
)
def do_mseal(k: KernelFace, start: int, length: int, flags: int) -> int:
    """EINVAL; ENOMEM for a range with holes."""
    mm, size = current_mm(k), page_up(length) & (1 << 8 * k.arch.word) - 1
    end = start + size
    if flags or start % PAGE_SIZE or (length and not size) or end >> 8 * k.arch.word:
        raise KernelError(EINVAL)
    if sum(min(v.end, end) - max(v.start, start) for v in mm.overlaps(start, end)) < size:
        raise KernelError(ENOMEM)
    if size and (start, end) not in mm.sealed:
        mm.sealed = (*mm.sealed, (start, end))
    return 0


@syscall("mseal", "unsigned long start, size_t len, unsigned long flags", source="mm/mseal.c", since="6.10")
def sys_mseal(k: KernelFace, start: int, length: int, flags: int) -> Body:
    """Nothing may unmap, move, protect or empty these pages any more."""
    return (yield k.call("do_mseal", start, length, flags))
