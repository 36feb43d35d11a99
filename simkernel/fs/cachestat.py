"""cachestat(2): how much of a file is in the page cache.  mm/filemap.c, since 6.5."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.limits import PAGE_SHIFT
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.kernel.kfunc import syscall

U64_MAX = (1 << 64) - 1


@syscall(
    "cachestat",
    "unsigned int fd, struct cachestat_range *cstat_range, struct cachestat *cstat, unsigned int flags",
    source="mm/filemap.c",
    since="6.5",
)
def sys_cachestat(k: FsKernel, fd: int, cstat_range: int, cstat: int, flags: int) -> int:
    """Pages in the cache; none are dirty, being written, or were thrown out.  EBADF, EFAULT, EINVAL."""
    file = k.vfs.fget(fd)
    offset, length = (k.usercopy.get_user(cstat_range + at, 8) for at in (0, 8))
    if flags:
        raise KernelError(EINVAL)
    first = offset >> PAGE_SHIFT
    last = (offset + length - 1 & U64_MAX) >> PAGE_SHIFT if length else U64_MAX
    mapping = file.f_mapping
    cached = mapping.count(first, last) if mapping is not None and last >= first else 0
    k.usercopy.copy_to_user(cstat, cached.to_bytes(8, k.mem.byteorder) + bytes(32))
    return 0
