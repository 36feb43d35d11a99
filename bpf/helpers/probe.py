"""Reading memory that may not be there.  kernel/trace/bpf_trace.c: bpf_probe_read*(), and copy_from_user()."""

from __future__ import annotations

from arch.abi.errno import EFAULT, EINVAL, ENAMETOOLONG, EPERM, ERANGE
from arch.abi.limits import PAGE_SIZE, U32_MAX
from arch.errors import Fault, KernelError
from arch.memory import Memory
from bpf.helpers import Runtime, kernel_name, prototype, signed

CANONICAL_BITS = 47
VSYSCALL_ADDR = 0xFFFFFFFFFF600000  # arch/x86/include/uapi/asm/vsyscall.h: is_vsyscall_vaddr()
COPIED_AT_ONCE = 8  # bytes that strncpy_from_user() copies at once


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


def _user(rt: Runtime, src: int, size: int) -> Memory | None:
    """What a helper that may not fault sees of the user's memory; None where access_ok() says no, at any size."""
    arch = rt.host.arch
    if arch is not None and not src <= arch.map.user_end - size:
        return None
    return rt.host.user_mem_nofault()


def _bytes(mem: Memory | None, src: int, size: int) -> bytes | None:
    if mem is None:
        return None
    try:
        return bytes(mem.read(src, size))
    except Fault:
        return None


def _read_user(rt: Runtime, src: int, size: int) -> bytes | None:
    return _bytes(_user(rt, src, size), src, size)


def _read_kernel(rt: Runtime, src: int, size: int) -> bytes | None:
    try:
        return bytes(rt.mem.read(src, size))
    except Fault:
        return None


def _is_kernels(rt: Runtime, src: int) -> bool:
    """bpf_probe_read_compat() takes what is not below TASK_SIZE for an address of the kernel."""
    arch = rt.host.arch
    if arch is None:  # nothing separates the two: whichever is mapped
        return _read_kernel(rt, src, 1) is not None
    return src >= arch.map.user_end


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
    if _is_kernels(rt, src):
        return probe_read_kernel(rt, dst, size, src)
    return probe_read_user(rt, dst, size, src)


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
        size & U32_MAX,
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
    return _store(rt, dst, size & U32_MAX, _read_user(rt, src, size & U32_MAX))


def _text(mem: Memory | None, src: int, size: int) -> bytes | None:
    """The text at an address with its NUL, `size` bytes if none is among them; None: it goes on where nothing can be read."""
    out = bytearray()
    while len(out) < size:
        # no further than the page, so that a text that ends before an unmapped page is read
        step = min(size - len(out), PAGE_SIZE - (src + len(out)) % PAGE_SIZE)
        piece = _bytes(mem, src + len(out), step)
        if piece is None:
            return None
        end = piece.find(0)
        if end >= 0:
            return bytes(out + piece[: end + 1])
        out += piece
    return bytes(out)


def _kernel_string(rt: Runtime, dst: int, size: int, src: int) -> int:
    """strncpy_from_kernel_nofault(): length with the NUL, which is always there.  A fault leaves zeros."""
    if size == 0:
        return 0
    found = _text(rt.mem, src, size)
    if found is None:
        rt.mem.write(dst, bytes(size))
        return -kernel_errno(rt, src)
    rt.mem.write(dst, found[:-1] + b"\0")
    return len(found)


def _user_string(rt: Runtime, dst: int, size: int, src: int) -> int:
    """strncpy_from_user_nofault(): the same, but words are copied, with zeros behind the NUL; an empty text has length 0.

    mm/maccess.c, lib/strncpy_from_user.c.
    """
    if size == 0:
        return 0
    mem, arch = _user(rt, src, 0), rt.host.arch
    room = size if arch is None else max(min(size, arch.map.user_end - src), 0)
    found = _text(mem, src, room) if room else None
    if found is None or (found[-1] and room < size):
        rt.mem.write(dst, bytes(size))
        return -EFAULT
    if found[-1]:
        rt.mem.write(dst, found[:-1] + b"\0")
        return size
    word = (len(found) - 1) & -COPIED_AT_ONCE
    behind = word + COPIED_AT_ONCE - len(found)
    if word + COPIED_AT_ONCE <= room and _bytes(mem, src + len(found), behind) is not None and _copies_words(rt):
        rt.mem.write(dst, found + bytes(behind))
    else:
        rt.mem.write(dst, found)
    if len(found) == 1 and rt.bpf.version.at_least("5.5") and rt.bpf.version.before("6.16"):
        return 0
    return len(found)


def _copies_words(rt: Runtime) -> bool:
    """Since 5.5; before, strncpy_from_unsafe() went byte by byte."""
    return rt.bpf.version.at_least("5.5")


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
    size &= U32_MAX
    return _kernel_string(rt, dst, size, src) if _is_kernels(rt, src) else _user_string(rt, dst, size, src)


@prototype(
    "probe_read_kernel_str",
    115,
    "5.5",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def probe_read_kernel_str(rt: Runtime, dst: int, size: int, src: int) -> int:
    return _kernel_string(rt, dst, size & U32_MAX, src)


@prototype(
    "probe_read_user_str",
    114,
    "5.5",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def probe_read_user_str(rt: Runtime, dst: int, size: int, src: int) -> int:
    return _user_string(rt, dst, size & U32_MAX, src)


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
    user = rt.host.user_mem_nofault()
    if user is None:
        return -EPERM
    try:
        user.write(dst, rt.mem.read(src, size & U32_MAX))
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
    size &= U32_MAX
    return _store(rt, dst, size, _bytes(rt.host.user_mem(), src, size))


@prototype(
    "copy_from_user_task",
    191,
    "5.18",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING PTR_TO_BTF_ID:task_struct ANYTHING",
    flags="gpl_only might_sleep",
    given="bpf_tracing",
)
def copy_from_user_task(rt: Runtime, dst: int, size: int, src: int, task: int, flags: int) -> int:
    size &= U32_MAX
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
    a = bytes(rt.mem.read(first, size & U32_MAX)).split(b"\0")[0]
    b = bytearray()
    while len(b) < (size & U32_MAX):
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
    if len(text) > size & U32_MAX:
        return -ENAMETOOLONG
    rt.mem.write(buf, text)
    return len(text)


def as_int(value: int) -> int:
    """A C int parameter."""
    return signed(value, 32)
