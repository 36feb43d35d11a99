"""Printing by type.  kernel/trace/bpf_trace.c of Linux 6.1: bpf_snprintf_btf(), bpf_seq_printf_btf()."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOENT
from arch.errors import Fault, KernelError
from bpf import uapi
from bpf.btf.codec import Btf
from bpf.btf.show import show
from bpf.helpers import Runtime, prototype
from bpf.helpers.probe import kernel_errno

FLAGS = uapi.BTF_F_COMPACT | uapi.BTF_F_NONAME | uapi.BTF_F_PTR_RAW | uapi.BTF_F_ZERO
BTF_PTR = 16  # sizeof(struct btf_ptr): pointer, type, flags


def _prepare(rt: Runtime, ptr: int, size: int, flags: int) -> tuple[Btf, int, int]:
    """bpf_btf_printf_prepare(): the kernel's BTF, a type of it, and where the value is.  EINVAL, ENOENT."""
    if flags & ~FLAGS or size != BTF_PTR:
        raise KernelError(EINVAL)
    raw = bytes(rt.mem.read(ptr, BTF_PTR))
    address, type_id = (int.from_bytes(raw[a:b], rt.mem.byteorder) for a, b in ((0, 8), (8, 12)))
    btf = rt.host.vmlinux_btf
    if btf is None:
        raise KernelError(EINVAL)
    if not 0 < type_id < len(btf):
        raise KernelError(ENOENT if type_id else EINVAL)
    return btf, type_id, address


def _text(rt: Runtime, ptr: int, size: int, flags: int) -> bytes:
    btf, type_id, address = _prepare(rt, ptr, size, flags)
    try:
        return show(btf, type_id, address, lambda at, n: bytes(rt.mem.read(at, n)), rt.mem.byteorder, flags).encode(
            "latin-1"
        )
    except Fault as fault:
        raise KernelError(kernel_errno(rt, fault.address)) from None


@prototype(
    "snprintf_btf",
    149,
    "5.10",
    args="PTR_TO_MEM CONST_SIZE PTR_TO_MEM|MEM_RDONLY CONST_SIZE ANYTHING",
    given="base_perfmon bpf_tracing",
)
def bpf_snprintf_btf(rt: Runtime, buf: int, size: int, ptr: int, ptr_size: int, flags: int) -> int:
    """As much as fits, and how long it would be."""
    text = _text(rt, ptr, ptr_size & 0xFFFFFFFF, flags)
    size &= 0xFFFFFFFF
    if size:
        rt.mem.write(buf, text[: size - 1] + b"\0")
    return len(text)


@prototype(
    "seq_printf_btf",
    150,
    "5.10",
    args="PTR_TO_BTF_ID:seq_file PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
)
def bpf_seq_printf_btf(rt: Runtime, seq: int, ptr: int, ptr_size: int, flags: int) -> int:
    """Into an iterator's text."""
    rt.host.seq_write(seq, _text(rt, ptr, ptr_size & 0xFFFFFFFF, flags))
    return 0
