"""Which transport protocols a kernel has: inet_protos, inet6_protos and the tables of sockets.  net/ipv4/protocol.c."""

from __future__ import annotations

from collections.abc import Mapping

from arch.abi.inet import IPPROTO_UDPLITE
from simkernel.net.face import NetKernel

GONE = {IPPROTO_UDPLITE: "7.2"}  # protocol: the first kernel that was asked and has it no more


def is_there(k: NetKernel, protocol: int) -> bool:
    """Whether this kernel knows the protocol at all."""
    return protocol not in GONE or not k.version.at_least(GONE[protocol])


def handler(k: NetKernel, table: Mapping[int, str], protocol: int) -> str | None:
    """The function that `table` has for a protocol of this kernel."""
    return table.get(protocol) if is_there(k, protocol) else None
