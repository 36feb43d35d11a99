"""Tunnels of routes over NETLINK_ROUTE: RTA_ENCAP and RTA_ENCAP_TYPE.  net/core/{lwtunnel,lwt_bpf}.c of Linux 6.1."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL, EOPNOTSUPP, ERANGE
from arch.abi.lwtunnel import (
    LWT_BPF_IN,
    LWT_BPF_MAX_HEADROOM,
    LWT_BPF_OUT,
    LWT_BPF_PROG_FD,
    LWT_BPF_PROG_NAME,
    LWT_BPF_XMIT,
    LWT_BPF_XMIT_HEADROOM,
    LWTUNNEL_ENCAP_BPF,
    LWTUNNEL_ENCAP_NONE,
    LWTUNNEL_ENCAPS,
)
from arch.abi.netlink import NLA_HDRLEN, NLMSG_HDRLEN
from arch.abi.rtnetlink import RTA_ENCAP, RTA_ENCAP_TYPE
from arch.errors import KernelError
from simkernel.net.core.extack import Refusal
from simkernel.net.core.lwtstate import LwtState
from simkernel.net.core.netns import Route
from simkernel.net.face import NetKernel
from simkernel.net.netlink import policy
from simkernel.net.netlink.message import Wire

PROGRAM_KINDS = (LWT_BPF_IN, LWT_BPF_OUT, LWT_BPF_XMIT)


def check_type(wire: Wire, given: dict[int, bytes], attribute: int = RTA_ENCAP_TYPE) -> None:
    """lwtunnel_valid_encap_type().  EINVAL, EOPNOTSUPP."""
    kind = wire.number(given[attribute], 2)
    if kind not in LWTUNNEL_ENCAPS:
        raise Refusal(EINVAL, "Unknown lwt encapsulation type")
    if kind != LWTUNNEL_ENCAP_BPF:
        raise Refusal(EOPNOTSUPP, "lwt encapsulation type not supported")


def asked_for(
    k: NetKernel, wire: Wire, given: dict[int, bytes], body: bytes = b"", header: int = 0
) -> Callable[[], LwtState] | None:
    """What makes the tunnel of a way once it is known to be one; None: it has none.

    A refusal says where in the message the bad attribute is, if `body` with its fixed part of `header` bytes is given.
    """
    raw = given.get(RTA_ENCAP)
    if raw is None:
        return None
    kind = wire.number(given.get(RTA_ENCAP_TYPE), 2)
    at = [at for found, _, at in wire.walk(body[header:]) if found == RTA_ENCAP]
    start = NLMSG_HDRLEN + header + at[-1] + NLA_HDRLEN if at else None

    def build() -> LwtState:
        if kind == LWTUNNEL_ENCAP_NONE:
            raise Refusal(EINVAL, "LWT encap type not specified")
        return _build(k, wire, raw, start)

    return build


def _build(k: NetKernel, wire: Wire, raw: bytes, start: int | None) -> LwtState:
    """bpf_build_state().  EINVAL, ERANGE, EBADF."""
    given = policy.parse_nested(k, wire, raw, policy.LWT_BPF, start)
    if not any(kind in given for kind in PROGRAM_KINDS):
        raise KernelError(EINVAL, "no program")
    made = LwtState({}, {})
    try:
        for kind in PROGRAM_KINDS:
            if kind in given:
                _program(k, wire, given[kind], kind, made)
        made.headroom = wire.number(given.get(LWT_BPF_XMIT_HEADROOM))
        if made.headroom > LWT_BPF_MAX_HEADROOM:
            raise KernelError(ERANGE, "too much headroom")
    except KernelError:
        made.put()
        raise
    return made


def _program(k: NetKernel, wire: Wire, raw: bytes, kind: int, made: LwtState) -> None:
    """bpf_parse_prog(): nobody hears why."""
    try:
        given = policy.parse_nested(k, wire, raw, policy.LWT_BPF_PROG)
    except KernelError as error:
        raise KernelError(error.errno) from error
    if LWT_BPF_PROG_FD not in given or LWT_BPF_PROG_NAME not in given:
        raise KernelError(EINVAL, "a program has a name")
    made.programs[kind] = k.net.programs.lwt_program(wire.number(given[LWT_BPF_PROG_FD]), kind)
    made.names[kind] = given[LWT_BPF_PROG_NAME].split(b"\0")[0]


def tunnel(wire: Wire, state: LwtState | None, encap: int = RTA_ENCAP, kind_of: int = RTA_ENCAP_TYPE) -> bytes:
    """lwtunnel_fill_encap()."""
    if state is None:
        return b""
    body = b"".join(
        wire.attribute(kind, wire.attribute(LWT_BPF_PROG_NAME, state.names[kind] + b"\0"))
        for kind in PROGRAM_KINDS
        if kind in state.names
    )
    return wire.attribute(encap, body) + wire.u16(kind_of, LWTUNNEL_ENCAP_BPF)


def inserting(route: Route, insert: Callable[[], None]) -> None:
    """Of a route that is not taken the programs are let go."""
    try:
        insert()
    except KernelError:
        route.drop_tunnels()
        raise
