"""NETLINK_GENERIC: families that are found by name, and the one that finds them.  net/netlink/genetlink.c.

The controller (`nlctrl`) is here; what it says of itself is what a real kernel says of its own. The others are files beside this one.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL, ENOENT, EOPNOTSUPP
from arch.abi.netlink import (
    CTRL_ATTR_FAMILY_ID,
    CTRL_ATTR_FAMILY_NAME,
    CTRL_ATTR_HDRSIZE,
    CTRL_ATTR_MAXATTR,
    CTRL_ATTR_MCAST_GROUPS,
    CTRL_ATTR_MCAST_GRP_ID,
    CTRL_ATTR_MCAST_GRP_NAME,
    CTRL_ATTR_OP_FLAGS,
    CTRL_ATTR_OP_ID,
    CTRL_ATTR_OPS,
    CTRL_ATTR_VERSION,
    CTRL_CMD_GETFAMILY,
    CTRL_CMD_GETPOLICY,
    CTRL_CMD_NEWFAMILY,
    GENL_CMD_CAP_DO,
    GENL_CMD_CAP_DUMP,
    GENL_CMD_CAP_HASPOL,
    GENL_HDRLEN,
    GENL_ID_CTRL,
    GENL_NAMSIZ,
    NETLINK_GENERIC,
    NLM_F_DUMP,
    NLM_F_MULTI,
)
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.kernel.face import Steps
from simkernel.net.face import NetKernel
from simkernel.net.netlink.message import Request, Wire, string
from simkernel.net.netlink.sock import PROTOCOLS, Protocol

Answers = tuple[list[bytes], bool]


@dataclass(frozen=True, slots=True)
class Family:
    """struct genl_family: its number, what it takes, and who answers."""

    id: int
    name: str
    version: int
    maxattr: int
    ops: tuple[tuple[int, int], ...]  # (command, GENL_CMD_CAP_*)
    groups: tuple[tuple[int, str], ...]  # (number, name) of those that hear its announcements
    answer: Callable[[NetKernel, Wire, Request], Answers]
    since: str = ""  # the version that has it


def _describe(wire: Wire, request: Request, family: Family, flags: int) -> bytes:
    """ctrl_fill_info()."""
    body = wire.pack("BBH", CTRL_CMD_NEWFAMILY, 2, 0)
    body += wire.text(CTRL_ATTR_FAMILY_NAME, family.name) + wire.u16(CTRL_ATTR_FAMILY_ID, family.id)
    body += wire.u32(CTRL_ATTR_VERSION, family.version) + wire.u32(CTRL_ATTR_HDRSIZE, 0)
    body += wire.u32(CTRL_ATTR_MAXATTR, family.maxattr)
    ops = [wire.u32(CTRL_ATTR_OP_ID, number) + wire.u32(CTRL_ATTR_OP_FLAGS, bits) for number, bits in family.ops]
    body += wire.attribute(CTRL_ATTR_OPS, b"".join(wire.attribute(i, op) for i, op in enumerate(ops, 1)))
    groups = [
        wire.u32(CTRL_ATTR_MCAST_GRP_ID, number) + wire.text(CTRL_ATTR_MCAST_GRP_NAME, name)
        for number, name in family.groups
    ]
    body += wire.attribute(
        CTRL_ATTR_MCAST_GROUPS, b"".join(wire.attribute(i, group) for i, group in enumerate(groups, 1))
    )
    return wire.message(GENL_ID_CTRL, flags, request.seq, request.portid, body)


def _control(k: NetKernel, wire: Wire, request: Request) -> Answers:
    """ctrl_getfamily(), ctrl_dumpfamily().  EINVAL, ENOENT, EOPNOTSUPP."""
    if request.body[0] != CTRL_CMD_GETFAMILY:
        raise KernelError(EOPNOTSUPP)
    known = _families(k)
    if request.flags & NLM_F_DUMP == NLM_F_DUMP:
        rows = [_describe(wire, request, family, NLM_F_MULTI) for family in known.values()]
        return [*rows, wire.done(request, request.portid)], True
    attributes = wire.attributes(request.body[GENL_HDRLEN:])
    number, name = attributes.get(CTRL_ATTR_FAMILY_ID), attributes.get(CTRL_ATTR_FAMILY_NAME)
    if name is not None and len(name.rstrip(b"\0")) >= GENL_NAMSIZ:
        raise KernelError(EINVAL)
    if number is None and name is None:
        raise KernelError(EINVAL)
    found = known.get(wire.number(number, 2)) if number is not None else None
    if name is not None:
        found = next((family for family in known.values() if family.name == string(name)), None)
    if found is None:
        raise KernelError(ENOENT)
    return [_describe(wire, request, found, 0)], False


FAMILIES: dict[int, Family] = {
    GENL_ID_CTRL: Family(
        GENL_ID_CTRL, "nlctrl", 2, 0,
        ((CTRL_CMD_GETFAMILY, GENL_CMD_CAP_DO | GENL_CMD_CAP_DUMP | GENL_CMD_CAP_HASPOL), (CTRL_CMD_GETPOLICY, GENL_CMD_CAP_DUMP | GENL_CMD_CAP_HASPOL)),
        ((GENL_ID_CTRL, "notify"),), _control,
    ),
}  # fmt: skip


def _families(k: NetKernel) -> dict[int, Family]:
    """Those of this version."""
    return {number: each for number, each in FAMILIES.items() if not each.since or k.version.at_least(each.since)}


def genl_rcv_msg(k: NetKernel, wire: Wire, request: Request) -> Steps[Answers]:
    """One request, to the family that its type names (`yield from`).  ENOENT, EINVAL, and what that says."""
    yield from ()
    family = _families(k).get(request.kind)
    if family is None:
        raise KernelError(ENOENT)
    if len(request.body) < GENL_HDRLEN:
        raise KernelError(EINVAL)
    return family.answer(k, wire, request)


PROTOCOLS[NETLINK_GENERIC] = Protocol(32, genl_rcv_msg, anybody=True)
