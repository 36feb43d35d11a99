"""What programs of type SYSCALL may do: bpf(2) from kernel memory, and names to BTF ids.

kernel/bpf/syscall.c:bpf_sys_bpf(), kernel/bpf/btf.c:bpf_btf_find_by_name_kind().
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOENT
from bpf import uapi
from bpf.btf import Kind
from bpf.helpers import Runtime, helper, signed

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


@helper("bpf_sys_bpf")
def sys_bpf(rt: Runtime, cmd: int, attr: int, size: int) -> int:
    """The commands a loader program needs; all pointers are into kernel memory."""
    cmd = signed(cmd, 32)
    if cmd not in ALLOWED:
        return -EINVAL
    return rt.host.sys_bpf(cmd, attr, size & 0xFFFFFFFF)


@helper("bpf_btf_find_by_name_kind")
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
    return btf.find(text.split(b"\0")[0].decode("latin-1"), wanted) or -ENOENT


@helper("bpf_sock_from_file")
def sock_from_file(rt: Runtime, file: int) -> int:
    """NULL unless the file is a socket's."""
    return rt.host.sock_from_file(file)
