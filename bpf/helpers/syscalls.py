"""What programs of type SYSCALL may do: bpf(2) from kernel memory, and names to BTF ids.

kernel/bpf/syscall.c:bpf_sys_bpf(), kernel/bpf/btf.c:bpf_btf_find_by_name_kind().
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOENT
from arch.cstring import c_string
from bpf import uapi
from bpf.btf import Kind
from bpf.helpers import Runtime, prototype, signed

ALLOWED = frozenset(
    (
        uapi.BPF_MAP_CREATE,
        uapi.BPF_MAP_DELETE_ELEM,
        uapi.BPF_MAP_UPDATE_ELEM,
        uapi.BPF_MAP_FREEZE,
        uapi.BPF_MAP_GET_FD_BY_ID,
        uapi.BPF_PROG_LOAD,
        uapi.BPF_BTF_LOAD,
        uapi.BPF_LINK_CREATE,
        uapi.BPF_RAW_TRACEPOINT_OPEN,
    )
)


@prototype(
    "sys_bpf",
    166,
    "5.14",
    args="ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
)
def sys_bpf(rt: Runtime, cmd: int, attr: int, size: int) -> int:
    """The commands a loader program needs; all pointers are into kernel memory."""
    cmd = signed(cmd, 32)
    if cmd not in ALLOWED:
        return -EINVAL
    return rt.host.sys_bpf(cmd, attr, size & 0xFFFFFFFF)


@prototype(
    "btf_find_by_name_kind",
    167,
    "5.14",
    args="PTR_TO_MEM|MEM_RDONLY CONST_SIZE ANYTHING ANYTHING",
    flags="might_sleep",
    given="syscall_prog",
)
def btf_find_by_name_kind(rt: Runtime, name: int, size: int, kind: int, flags: int) -> int:
    """Id in the kernel's BTF."""
    if flags or signed(size, 32) <= 1:
        return -EINVAL
    text = bytes(rt.mem.read(name, signed(size, 32)))
    if text[-1]:
        return -EINVAL
    btf, wanted = rt.host.vmlinux_btf, next((known for known in Kind if known == signed(kind, 32)), None)
    if btf is None or wanted is None:
        return -ENOENT
    return btf.find(c_string(text), wanted) or -ENOENT


@prototype(
    "sock_from_file",
    162,
    "5.11",
    returns="PTR_TO_BTF_ID_OR_NULL:socket",
    args="PTR_TO_BTF_ID:file",
    given="tracing_prog",
)
def sock_from_file(rt: Runtime, file: int) -> int:
    """NULL unless the file is a socket's."""
    return rt.host.sock_from_file(file)
