"""NETLINK_ROUTE: which function answers which request.  net/core/rtnetlink.c: rtnetlink_rcv_msg()."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import EOPNOTSUPP, EPERM
from arch.abi.netlink import NLM_F_BULK, NLM_F_DUMP, NLM_F_DUMP_FILTERED, NLM_F_MULTI
from arch.abi.rtnetlink import RTM_BASE, RTM_MAX
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.kernel.face import Steps
from simkernel.kernel.user_namespace import may_in
from simkernel.net.core.extack import Refusal
from simkernel.net.core.registry import run_linkwatch
from simkernel.net.face import NetKernel
from simkernel.net.netlink.message import Request, Wire

T = TypeVar("T")
Dump = Callable[[NetKernel, Wire, Request], Iterable[bytes]]
One = Callable[[NetKernel, Wire, Request], list[bytes]]  # the bodies of its answers
Change = Callable[[NetKernel, Wire, Request], Steps[None] | list[bytes] | None]


@dataclass(frozen=True, slots=True)
class Row:
    """rtnl_register()."""

    answer: int  # the kind of its answers
    dump: Dump | None = None
    one: One | None = None
    change: Change | None = None
    since: str = ""  # the version that has it


TABLE: dict[int, Row] = {}


def register(kind: int, row: Row) -> None:
    """At import: who answers a request."""
    TABLE[kind] = row


def dump_families(table: Mapping[int, Dump]) -> Dump:
    """The family's own, else (AF_UNSPEC is none) rtnl_dump_all()."""

    def dump(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
        family = request.body[0]
        for each in (family,) if family in table else table:
            yield from table[each](k, wire, request)

    return dump


def one_of_family(table: Mapping[int, One]) -> One:
    """The answer of the family that is asked.  EOPNOTSUPP."""
    return lambda k, wire, request: _of(table, request)(k, wire, request)


def change_of_family(table: Mapping[int, Change]) -> Change:
    """The change by the family that is asked.  EOPNOTSUPP."""
    return lambda k, wire, request: _of(table, request)(k, wire, request)


def _of(table: Mapping[int, T], request: Request) -> T:
    if request.body[0] not in table:
        raise KernelError(EOPNOTSUPP)
    return table[request.body[0]]


def rtnetlink_rcv_msg(k: NetKernel, wire: Wire, request: Request) -> Steps[tuple[list[bytes], bool]]:
    """One request: its answers, and whether the last of them ends it (`yield from`).  EOPNOTSUPP, EPERM and those of each."""
    if request.kind > RTM_MAX:
        raise KernelError(EOPNOTSUPP)
    if not request.body:  # rtgenmsg has at least a family
        return [], False
    get = (request.kind - RTM_BASE) & 3 == 2
    if not get and not may_in(k, request.net.namespace.owner, CAP_NET_ADMIN):
        raise KernelError(EPERM)
    if (request.kind - RTM_BASE) & 3 == 1 and request.flags & NLM_F_BULK:
        raise Refusal(EOPNOTSUPP, "Bulk delete is not supported")
    row = TABLE.get(request.kind)
    if row is None or (row.since and k.version.before(row.since)):
        raise KernelError(EOPNOTSUPP)
    if get and request.flags & NLM_F_DUMP:
        if row.dump is None:
            raise KernelError(EOPNOTSUPP)
        rows, failed = [], None
        wire.filtered = wire.rows_filtered = False
        try:
            for body in row.dump(k, wire, request):
                flags = NLM_F_MULTI | (NLM_F_DUMP_FILTERED if wire.filtered or wire.rows_filtered else 0)
                rows.append(wire.message(row.answer, flags, request.seq, request.portid, body))
        except KernelError as error:
            failed = error
        return [*rows, wire.done(request, request.portid, failed, request.extended)], True
    if row.change is not None:
        done = row.change(k, wire, request)
        bodies = done if isinstance(done, list) else []
        if done is not None and not isinstance(done, list):
            yield from done
        run_linkwatch(k)
        return [wire.message(row.answer, 0, request.seq, request.portid, body) for body in bodies], False
    if row.one is None:
        raise KernelError(EOPNOTSUPP)
    return [wire.message(row.answer, 0, request.seq, request.portid, body) for body in row.one(k, wire, request)], False
