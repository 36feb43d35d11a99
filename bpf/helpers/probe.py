"""Reading memory that may not be there.  kernel/trace/bpf_trace.c: bpf_probe_read*(), and copy_from_user()."""

from __future__ import annotations

from arch.abi.errno import EFAULT, EINVAL, ENAMETOOLONG, EPERM, ERANGE
from arch.errors import Fault, KernelError
from bpf.helpers import Runtime, kernel_name, prototype, signed

CANONICAL_BITS = 47
VSYSCALL_ADDR = 0xFFFFFFFFFF600000  # arch/x86/include/uapi/asm/vsyscall.h: is_vsyscall_vaddr()


def kernel_errno(rt: Runtime, src: int) -> int:
    """What copy_from_kernel_nofault() answers where nothing can be read: ERANGE if the address is none of the kernel's.

    On x86, since 5.8: the user's half with a page behind it, the vsyscall page, and what is not canonical.  arch/x86/mm/maccess.c.
    """
    arch = rt.host.arch
    if arch is None or not arch.nofault_range or rt.bpf.version.before("5.8"):
        return EFAULT
    if arch.word == 8 and src & -arch.page_size == VSYSCALL_ADDR:
        return ERANGE
    canonical = arch.word < 8 or src >> CANONICAL_BITS in (0, (1 << 64 - CANONICAL_BITS) - 1)
    return EFAULT if canonical and src >= arch.map.user_end + arch.page_size else ERANGE


def _store(rt: Runtime, dst: int, size: int, data: bytes | None, errno: int = EFAULT) -> int:
    """Before 4.12 a fault left what was there; since then it leaves zeros."""
    if data is None:
        if rt.bpf.version.at_least("4.12"):
            rt.mem.write(dst, bytes(size))
        return -errno
    rt.mem.write(dst, data)
    return 0


def _read_user(rt: Runtime, src: int, size: int) -> bytes | None:
    user = rt.host.user_mem()
    if user is None:
        return None
    try:
        return bytes(user.read(src, size))
    except Fault:
        return None


def _read_kernel(rt: Runtime, src: int, size: int) -> bytes | None:
    try:
        return bytes(rt.mem.read(src, size))
    except Fault:
        return None


def _is_kernels(rt: Runtime, src: int) -> bool:
    """bpf_probe_read() takes what is not below TASK_SIZE for an address of the kernel."""
    return rt.host.arch is not None and src >= rt.host.arch.map.user_end


def _read_any(rt: Runtime, src: int, size: int) -> bytes | None:
    """Where nothing separates user from kernel addresses: whichever is mapped."""
    data = _read_kernel(rt, src, size)
    return data if data is not None else _read_user(rt, src, size)


@prototype(
    "probe_read",
    4,
    "4.1",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    func="bpf_probe_read_compat",
    proto="bpf_probe_read_compat_proto",
    given="bpf_tracing",
)
@kernel_name("bpf_probe_read")
def probe_read(rt: Runtime, dst: int, size: int, src: int) -> int:
    errno = kernel_errno(rt, src) if _is_kernels(rt, src) else EFAULT
    return _store(rt, dst, size & 0xFFFFFFFF, _read_any(rt, src, size & 0xFFFFFFFF), errno)


@prototype(
    "probe_read_kernel",
    113,
    "5.5",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def probe_read_kernel(rt: Runtime, dst: int, size: int, src: int) -> int:
    errno, size = (
        kernel_errno(rt, src),
        size & 0xFFFFFFFF,
    )  # an address that is none of the kernel's is refused at any size
    return _store(rt, dst, size, None if errno == ERANGE else _read_kernel(rt, src, size), errno)


@prototype(
    "probe_read_user",
    112,
    "5.5",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def probe_read_user(rt: Runtime, dst: int, size: int, src: int) -> int:
    return _store(rt, dst, size & 0xFFFFFFFF, _read_user(rt, src, size & 0xFFFFFFFF))


def _read_string(rt: Runtime, dst: int, size: int, src: int, user: bool, kernel: bool) -> int:
    """strncpy_from_*_nofault(): length with the NUL; always ended by one.  A fault leaves zeros."""
    size &= 0xFFFFFFFF
    if size == 0:
        return 0
    out = bytearray()
    while len(out) < size:
        # no further than the page, so that a string that ends before an unmapped page is read
        step = min(size - len(out), 4096 - (src + len(out)) % 4096)
        piece = _read_kernel(rt, src + len(out), step) if kernel else None
        if piece is None and user:
            piece = _read_user(rt, src + len(out), step)
        if piece is None:
            rt.mem.write(dst, bytes(size))
            return -(kernel_errno(rt, src) if kernel and (not user or _is_kernels(rt, src)) else EFAULT)
        end = piece.find(0)
        if end >= 0:
            out += piece[: end + 1]
            break
        out += piece
    else:
        out[-1] = 0
    rt.mem.write(dst, bytes(out))
    return len(out)


@prototype(
    "probe_read_str",
    45,
    "4.11",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    func="bpf_probe_read_compat_str",
    proto="bpf_probe_read_compat_str_proto",
    given="bpf_tracing",
)
@kernel_name("bpf_probe_read_str")
def probe_read_str(rt: Runtime, dst: int, size: int, src: int) -> int:
    return _read_string(rt, dst, size, src, True, True)


@prototype(
    "probe_read_kernel_str",
    115,
    "5.5",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def probe_read_kernel_str(rt: Runtime, dst: int, size: int, src: int) -> int:
    return _read_string(rt, dst, size, src, False, True)


@prototype(
    "probe_read_user_str",
    114,
    "5.5",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def probe_read_user_str(rt: Runtime, dst: int, size: int, src: int) -> int:
    return _read_string(rt, dst, size, src, True, False)


@prototype(
    "probe_write_user",
    36,
    "4.8",
    args="ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    flags="gpl_only",
    given="bpf_tracing",
)
def probe_write_user(rt: Runtime, dst: int, src: int, size: int) -> int:
    """Only in a task's context, only to memory that is there already."""
    user = rt.host.user_mem()
    if user is None:
        return -EPERM
    try:
        user.write(dst, rt.mem.read(src, size & 0xFFFFFFFF))
    except Fault:
        return -EFAULT
    return 0


@prototype(
    "copy_from_user",
    148,
    "5.10",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="might_sleep",
    given="bpf_tracing",
)
def copy_from_user(rt: Runtime, dst: int, size: int, src: int) -> int:
    return _store(rt, dst, size & 0xFFFFFFFF, _read_user(rt, src, size & 0xFFFFFFFF))


@prototype(
    "copy_from_user_task",
    191,
    "5.18",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING PTR_TO_BTF_ID:task_struct ANYTHING",
    flags="gpl_only might_sleep",
    given="bpf_tracing",
)
def copy_from_user_task(rt: Runtime, dst: int, size: int, src: int, task: int, flags: int) -> int:
    size &= 0xFFFFFFFF
    if flags:
        return -EINVAL
    if not size:
        return 0
    try:
        rt.mem.write(dst, rt.host.read_task_user(task, src, size))
    except (Fault, KernelError):
        rt.mem.write(dst, bytes(size))
        return -EFAULT
    return 0


@prototype(
    "strncmp",
    182,
    "5.17",
    args="PTR_TO_MEM CONST_SIZE PTR_TO_CONST_STR",
    given="base_anyone",
)
def strncmp(rt: Runtime, first: int, size: int, second: int) -> int:
    """strncmp(): the difference of the first bytes that differ, as -1, 0 or 1."""
    a = bytes(rt.mem.read(first, size & 0xFFFFFFFF)).split(b"\0")[0]
    b = bytearray()
    while len(b) < (size & 0xFFFFFFFF):
        byte = rt.mem.read(second + len(b), 1)
        if byte == b"\0":
            break
        b += byte
    return (a > bytes(b)) - (a < bytes(b))


@prototype(
    "d_path",
    147,
    "5.10",
    args="PTR_TO_BTF_ID:path PTR_TO_MEM CONST_SIZE_OR_ZERO",
    given="tracing_prog",
    allowed="d_path",
)
def d_path(rt: Runtime, path: int, buf: int, size: int) -> int:
    if not size:
        return 0
    text = rt.host.d_path(path) + b"\0"
    if len(text) > size & 0xFFFFFFFF:
        return -ENAMETOOLONG
    rt.mem.write(buf, text)
    return len(text)


def as_int(value: int) -> int:
    """A C int parameter."""
    return signed(value, 32)
