"""Programs that are members of a kernel struct of functions: bpf_tcp_congestion_ops and bpf_dummy_ops.

net/ipv4/bpf_tcp_ca.c and net/bpf/bpf_dummy_struct_ops.c of Linux 6.1.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES
from arch.abi.internal import READ
from bpf.btf.codec import Btf, Kind
from bpf.maps.struct_ops import DUMMY, TCP_CA
from bpf.verifier.context.btf_walk import btf_struct_access, resolve_size
from bpf.verifier.context.ctx_rule import AccessInfo
from bpf.verifier.domain.types import NOT_INIT, PTR_TO_BTF_ID, base_type, has_unsafe_modifiers
from bpf.verifier.env import Env

# struct: members that a program may not be
STRUCTS: Final[dict[str, frozenset[str]]] = {DUMMY: frozenset(), TCP_CA: frozenset({"get_info"})}

# what congestion control may write: (struct, member, any byte of it and not only the first, since; 41c95dd6a604 brought two)
_TCP_WRITABLE: Final[tuple[tuple[str, str, bool, str | None], ...]] = (
    ("sock", "sk_pacing_rate", False, "6.0"),
    ("sock", "sk_pacing_status", False, "6.0"),
    ("inet_connection_sock", "icsk_ca_priv", True, None),
    ("inet_connection_sock", "icsk_ack.pending", False, None),
    ("tcp_sock", "snd_cwnd", False, None),
    ("tcp_sock", "snd_cwnd_cnt", False, None),
    ("tcp_sock", "snd_cwnd_stamp", False, "6.10"),
    ("tcp_sock", "snd_ssthresh", False, None),
    ("tcp_sock", "ecn_flags", False, None),
    ("tcp_sock", "app_limited", False, "6.10"),
)


def adjust_argument(env: Env, info: AccessInfo) -> None:
    """For congestion control a struct sock is always a struct tcp_sock: bpf_tcp_ca_is_valid_access()."""
    if (
        env.struct_ops == TCP_CA
        and base_type(info.reg_type) == PTR_TO_BTF_ID
        and not has_unsafe_modifiers(info.reg_type)
    ):
        if info.btf_id == env.vmlinux.find("sock", Kind.STRUCT):
            info.btf_id = env.vmlinux.find("tcp_sock", Kind.STRUCT)


def struct_access(env: Env, btf: Btf, type_id: int, off: int, size: int, access: int) -> tuple[int, int, int]:
    """btf_struct_access() of the struct's own verifier operations."""
    if env.struct_ops == DUMMY:
        if type_id != btf.find("bpf_dummy_ops_state", Kind.STRUCT):
            env.reject(EACCES, "only access to bpf_dummy_ops_state is supported")
        return btf_struct_access(env, btf, type_id, off, size)
    if access == READ:
        return btf_struct_access(env, btf, type_id, off, size)
    if type_id != btf.find("tcp_sock", Kind.STRUCT):
        env.reject(EACCES, "only read is supported")
    end = _writable_end(env, btf, off)
    if not end:
        env.reject(EACCES, f"no write support to tcp_sock at off {off}")
    if off + size > end:
        env.reject(
            EACCES,
            f"write access at off {off} with size {size} beyond the member of tcp_sock ended at {end}",
        )
    return NOT_INIT, 0, 0


def _writable_end(env: Env, btf: Btf, off: int) -> int:
    """End of the writable member at an offset, in bytes; 0: there is none."""
    for struct, path, anywhere, since in _TCP_WRITABLE:
        place = _member(btf, struct, path) if env.request.version.within(since, None) else None
        if place is not None:
            start, size = place
            if off == start or (anywhere and start <= off < start + size):
                return start + size
    return 0


def _member(btf: Btf, struct: str, path: str) -> tuple[int, int] | None:
    """(offset, size) of a member; a bit-field's are those of the bytes it lies in."""
    type_id, start = btf.find(struct, Kind.STRUCT), 0
    for name in path.split("."):
        if not type_id:
            return None
        for member, target, bit_offset, _ in btf.members_of(type_id):
            if member == name:
                start += bit_offset // 8
                type_id = btf.skip(target)
                break
        else:
            return None
    resolved = resolve_size(btf, type_id)
    return (start, resolved.size) if resolved is not None else None
