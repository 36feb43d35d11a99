"""Areas whose pages user space brings: which faults are not the kernel's to mend.  include/linux/userfaultfd_k.h.

Who looks after them is simkernel/fs/userfaultfd.py.  A fault of user code waits for it (entry.py); one of the kernel's own copying is
EFAULT, as with UFFD_USER_MODE_ONLY.
"""

from __future__ import annotations

from arch.abi.mman import PROT_EXEC, PROT_READ, PROT_WRITE
from simkernel.kernel.areas import Vma

VM_UFFD_MISSING, VM_UFFD_WP = 0x200, 0x1000
NEEDS = {"read": PROT_READ, "write": PROT_WRITE, "exec": PROT_EXEC}


def reason(vma: Vma, page: int, present: bool, write: bool, protected: set[int]) -> int:
    """Why a fault is user space's: VM_UFFD_MISSING, VM_UFFD_WP, or 0 when it is not."""
    if not present:
        return vma.userfault & VM_UFFD_MISSING
    return vma.userfault & VM_UFFD_WP if write and page in protected else 0
