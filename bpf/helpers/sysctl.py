"""What programs on sysctls call.  kernel/bpf/cgroup.c of Linux 6.1: bpf_sysctl_*()."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EINVAL
from arch.abi.limits import PAGE_SIZE
from bpf import uapi
from bpf.helpers import Runtime, prototype
from bpf.packet.skbuff import KernelStruct


class _Context(KernelStruct):
    struct = "bpf_sysctl_kern"


def _copy(rt: Runtime, to: int, room: int, text: bytes) -> int:
    """copy_sysctl_value(): with zeros behind it; what does not fit is cut, and E2BIG."""
    if not room:
        return -E2BIG
    if not text:
        rt.mem.write(to, bytes(room))
        return -EINVAL
    rt.mem.write(to, text[:room].ljust(room, b"\0"))
    if room > len(text):
        return len(text)
    rt.mem.write(to + room - 1, b"\0")
    return -E2BIG


@prototype(
    "sysctl_get_name",
    101,
    "5.2",
    args="PTR_TO_CTX PTR_TO_MEM CONST_SIZE ANYTHING",
    given="sysctl",
)
def bpf_sysctl_get_name(rt: Runtime, ctx: int, buf: int, size: int, flags: int) -> int:
    """ "net/ipv4/ip_forward", or only its last part: as strscpy() copies it."""
    name = rt.bpf.sysctl_names[ctx].replace(".", "/").encode()
    if flags & uapi.BPF_F_SYSCTL_BASE_NAME:
        name = name.rpartition(b"/")[2]
    if len(name) < size:
        rt.mem.write(buf, name + b"\0")
        return len(name)
    rt.mem.write(buf, name[: size - 1] + b"\0")
    return -E2BIG


@prototype(
    "sysctl_get_current_value",
    102,
    "5.2",
    args="PTR_TO_CTX PTR_TO_UNINIT_MEM CONST_SIZE",
    given="sysctl",
)
def bpf_sysctl_get_current_value(rt: Runtime, ctx: int, buf: int, size: int) -> int:
    """The text as it is now."""
    kern = _Context(rt.host, ctx)
    return _copy(rt, buf, size, bytes(rt.mem.read(kern.get("cur_val"), kern.get("cur_len"))))


@prototype(
    "sysctl_get_new_value",
    103,
    "5.2",
    args="PTR_TO_CTX PTR_TO_UNINIT_MEM CONST_SIZE",
    given="sysctl",
)
def bpf_sysctl_get_new_value(rt: Runtime, ctx: int, buf: int, size: int) -> int:
    """What is being written."""
    kern = _Context(rt.host, ctx)
    if not kern.get("write"):
        rt.mem.write(buf, bytes(size))
        return -EINVAL
    length = kern.get("new_len") if kern.get("new_val") else 0
    return _copy(rt, buf, size, bytes(rt.mem.read(kern.get("new_val"), length)) if length else b"")


@prototype(
    "sysctl_set_new_value",
    104,
    "5.2",
    args="PTR_TO_CTX PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    given="sysctl",
)
def bpf_sysctl_set_new_value(rt: Runtime, ctx: int, buf: int, size: int) -> int:
    """Something else is to be written."""
    kern = _Context(rt.host, ctx)
    if not kern.get("write") or not kern.get("new_val") or not kern.get("new_len") or not size:
        return -EINVAL
    if size > PAGE_SIZE - 1:
        return -E2BIG
    rt.mem.write(kern.get("new_val"), bytes(rt.mem.read(buf, size)))
    kern.set("new_len", size)
    kern.set("new_updated", 1)
    return 0
