"""bpf(2) on programs of socket maps.  net/core/sock_map.c: sock_map_get_from_fd(), sock_map_prog_detach(), sock_map_bpf_prog_query()."""

from __future__ import annotations

from collections.abc import Sequence

from arch.abi.errno import EINVAL, ENOSPC, EOPNOTSUPP
from arch.errors import KernelError
from bpf import uapi
from bpf.core.program import BpfProg, prog_of_fd
from bpf.face import Prog
from bpf.maps.sock_map import SockMap
from bpf.syscall.attr import Call

PROGRAM_TYPES = (uapi.BPF_PROG_TYPE_SK_SKB, uapi.BPF_PROG_TYPE_SK_MSG)


def _map(call: Call) -> SockMap:
    """EBADF, EINVAL; EOPNOTSUPP for a map of another type."""
    found = call.bpf.map_of_fd(call.attr.signed("target_fd"))
    if not isinstance(found, SockMap):
        raise KernelError(EOPNOTSUPP, "no map of sockets")
    return found


def attach(call: Call, prog: BpfProg) -> int:
    """For the sockets that are put into the map from now on.  EINVAL, EBUSY."""
    if call.attr.attach_flags or call.attr.replace_bpf_fd:
        raise KernelError(EINVAL)
    _map(call).set_prog(call.attr.attach_type, prog, None)
    return 0


def detach(call: Call, prog_type: int) -> int:
    """The program that is attached has to be named.  EINVAL, ENOENT."""
    if call.attr.attach_flags or call.attr.replace_bpf_fd:
        raise KernelError(EINVAL)
    found = call.bpf.map_of_fd(call.attr.signed("target_fd"))
    prog = prog_of_fd(call.bpf, call.attr.signed("attach_bpf_fd"))
    if prog.type != prog_type:
        raise KernelError(EINVAL)
    if not isinstance(found, SockMap):
        raise KernelError(EOPNOTSUPP, "no map of sockets")
    found.set_prog(call.attr.attach_type, None, prog)
    return 0


def query(call: Call) -> int:
    """The number of the one program that there can be."""
    if call.attr.query_flags:
        raise KernelError(EINVAL)
    found = _map(call)
    try:
        found.check_kind(call.attr.attach_type)
    except KernelError:
        tell_programs(call, [])
        raise
    prog = found.progs.get(call.attr.attach_type)
    return tell_programs(call, [prog] if prog is not None else [])


def tell_programs(call: Call, progs: Sequence[Prog]) -> int:
    """Their ids, as many as there is room for, and how many there are.  ENOSPC."""
    attr, user = call.attr, call.user
    user.put(attr.place("attach_flags"), 4, 0)
    user.put(attr.place("prog_cnt"), 4, len(progs))
    if not attr.prog_cnt or not attr.prog_ids or not progs:
        return 0
    for i, prog in enumerate(progs[: attr.prog_cnt]):
        user.put(attr.prog_ids + 4 * i, 4, prog.id)
    if attr.prog_cnt < len(progs):
        raise KernelError(ENOSPC)
    return 0
