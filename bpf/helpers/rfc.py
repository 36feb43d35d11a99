"""Helpers of the January 2015 patch set that were not merged: fetch_*, memcmp, dump_stack, printk."""

from __future__ import annotations

from arch.abi.errno import EFAULT, EINVAL
from arch.errors import Fault, KernelError
from bpf.helpers import Runtime, kernel_name
from bpf.helpers.printk import check_format_4_1, vsnprintf_4_1

MEMCMP_LIMIT = 64  # bytes of the buffer on the kernel's stack


def _fetch(rt: Runtime, address: int, size: int) -> int:
    """A fault gives 0."""
    try:
        return int(rt.mem.read_uint(address, size))
    except Fault:
        pass
    user = rt.host.user_mem()
    try:
        return int(user.read_uint(address, size)) if user is not None else 0
    except Fault:
        return 0


@kernel_name("bpf_fetch_ptr")
def fetch_ptr(rt: Runtime, address: int) -> int:
    arch = rt.host.arch
    return _fetch(rt, address, arch.model.word if arch is not None else 8)


@kernel_name("bpf_fetch_u64")
def fetch_u64(rt: Runtime, address: int) -> int:
    return _fetch(rt, address, 8)


@kernel_name("bpf_fetch_u32")
def fetch_u32(rt: Runtime, address: int) -> int:
    return _fetch(rt, address, 4)


@kernel_name("bpf_fetch_u16")
def fetch_u16(rt: Runtime, address: int) -> int:
    return _fetch(rt, address, 2)


@kernel_name("bpf_fetch_u8")
def fetch_u8(rt: Runtime, address: int) -> int:
    return _fetch(rt, address, 1)


@kernel_name("bpf_memcmp")
def memcmp(rt: Runtime, unsafe: int, safe: int, size: int) -> int:
    if size >= MEMCMP_LIMIT:
        return -1
    try:
        a = bytes(rt.mem.read(unsafe, size))
    except Fault:
        return -EFAULT
    b = bytes(rt.mem.read(safe, size))
    for x, y in zip(a, b):
        if x != y:
            return x - y
    return 0


@kernel_name("bpf_dump_stack")
def dump_stack(rt: Runtime) -> int:
    rt.host.dump_stack()
    return 0


@kernel_name("bpf_printk")
def printk(rt: Runtime, fmt: int, size: int, a: int, b: int, c: int) -> int:
    text = bytes(rt.mem.read(fmt, size)) if 0 < size <= 512 else b""
    if not text or text[-1]:
        raise KernelError(EINVAL)
    check_format_4_1(text[:-1])
    printed = vsnprintf_4_1(text[:-1], (a, b, c))
    rt.host.trace_printk(printed)
    return len(printed)
