"""Queueing disciplines over NETLINK_ROUTE, as tc(8) asks: netem at a device's root.  net/sched/sch_api.c."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from arch.abi.errno import EINVAL, EOPNOTSUPP
from arch.abi.rtnetlink import TCA_HW_OFFLOAD, TCA_KIND, TCA_OPTIONS, TCA_STATS, TCA_STATS2
from arch.errors import KernelError
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import NetDevice, Qdisc
from simkernel.net.face import NetKernel
from simkernel.net.netlink.message import Request, Wire
from simkernel.net.sched.netem import Netem, Options

TCA_STATS_BASIC, TCA_STATS_QUEUE = 1, 3
TC_H_ROOT = 0xFFFFFFFF
FIRST_HANDLE = 0x8001 << 16  # qdisc_alloc_handle()
TCMSG, QOPT = "BxxxiIII", "IIIIII"  # struct tcmsg, struct tc_netem_qopt
TCA_NETEM_CORR, TCA_NETEM_REORDER, TCA_NETEM_CORRUPT, TCA_NETEM_RATE = 1, 3, 4, 6
TCA_NETEM_RATE64, TCA_NETEM_LATENCY64, TCA_NETEM_JITTER64 = 8, 10, 11
REFUSED = (2, 5)  # TCA_NETEM_DELAY_DIST, TCA_NETEM_LOSS: tables and models of loss
PSCHED_SHIFT = 6  # a tick of tc is so many bits of nanoseconds


def netem_options(wire: Wire, raw: bytes, old: Options | None) -> Options:
    """netem_change(): struct tc_netem_qopt, then attributes.  EINVAL, EOPNOTSUPP."""
    size = struct.calcsize(wire.order + QOPT)
    if len(raw) < size:
        raise KernelError(EINVAL)
    latency, limit, loss, gap, duplicate, jitter = struct.unpack_from(wire.order + QOPT, raw)
    more = wire.attributes(raw[size:])
    if any(kind in more for kind in REFUSED):
        raise KernelError(EOPNOTSUPP, "tables of delays and models of loss")

    def numbers(kind: int, form: str, default: tuple[int, ...]) -> tuple[int, ...]:
        if kind not in more:
            return default
        if len(more[kind]) < struct.calcsize(wire.order + form):
            raise KernelError(EINVAL)
        return struct.unpack_from(wire.order + form, more[kind])

    delay_corr, loss_corr, dup_corr = numbers(TCA_NETEM_CORR, "III", (0, 0, 0))
    reorder, reorder_corr = numbers(TCA_NETEM_REORDER, "II", (U32_ALL, 0) if gap else (0, 0))
    corrupt, corrupt_corr = numbers(TCA_NETEM_CORRUPT, "II", (0, 0))
    rate, _, _, _ = numbers(TCA_NETEM_RATE, "IiIi", (old.rate if old else 0, 0, 0, 0))
    (rate,) = numbers(TCA_NETEM_RATE64, "Q", (rate,))
    (latency_ns,) = numbers(TCA_NETEM_LATENCY64, "q", (latency << PSCHED_SHIFT,))
    (jitter_ns,) = numbers(TCA_NETEM_JITTER64, "q", (jitter << PSCHED_SHIFT,))
    return Options(
        max(latency_ns, 0), abs(jitter_ns), delay_corr, limit, loss, loss_corr, duplicate, dup_corr, gap or int(bool(reorder)),
        reorder, reorder_corr, corrupt, corrupt_corr, rate,
    )  # fmt: skip


U32_ALL = 0xFFFFFFFF


KINDS = ("netem",)


def change(wire: Wire, sch: Qdisc | None, raw: bytes) -> None:
    """qdisc_change(): other options for the one that is there.  EINVAL, EOPNOTSUPP."""
    if not isinstance(sch, Netem):
        raise Refusal(EINVAL, "Change operation not supported by specified qdisc")
    sch.change(netem_options(wire, raw, sch.options))


def make(k: NetKernel, wire: Wire, dev: NetDevice, handle: int, raw: bytes | None) -> None:
    """qdisc_create() of netem, in the place of what is at the root.  EINVAL, EOPNOTSUPP."""
    if raw is None:
        raise KernelError(EINVAL)
    new = Netem(k, dev, handle or FIRST_HANDLE, netem_options(wire, raw, None))
    old, dev.qdisc = dev.qdisc, new
    if old is not None:
        old.destroy()


def statistics(wire: Wire) -> bytes:
    """What tc_fill_qdisc() tells of every one, of one that counts nothing."""
    basic = wire.attribute(TCA_STATS_BASIC, bytes(16)) + wire.attribute(TCA_STATS_QUEUE, bytes(20))
    return wire.u8(TCA_HW_OFFLOAD, 0) + wire.attribute(TCA_STATS, bytes(40)) + wire.attribute(TCA_STATS2, basic)


def fill(wire: Wire, dev: NetDevice, sch: Qdisc | None) -> bytes:
    """tc_fill_qdisc(): struct tcmsg, kind, options, statistics."""
    own = dev.kind.qdisc if dev.opened else "noop"
    handle, kind = (0, own) if sch is None else (sch.handle, sch.kind)
    body = struct.pack(wire.order + TCMSG, 0, dev.ifindex, handle, TC_H_ROOT, 2) + wire.text(TCA_KIND, kind)
    packets, count, dropped, backlog = dev.stats["tx_packets"], dev.stats["tx_bytes"], 0, (0, 0)
    if isinstance(sch, Netem):
        o = sch.options
        raw = struct.pack(
            wire.order + QOPT,
            o.latency_ns >> PSCHED_SHIFT,
            o.limit,
            o.loss,
            o.gap,
            o.duplicate,
            o.jitter_ns >> PSCHED_SHIFT,
        )
        raw += wire.attribute(TCA_NETEM_LATENCY64, struct.pack(wire.order + "q", o.latency_ns))
        raw += wire.attribute(TCA_NETEM_JITTER64, struct.pack(wire.order + "q", o.jitter_ns))
        raw += wire.attribute(TCA_NETEM_CORR, struct.pack(wire.order + "III", o.delay_corr, o.loss_corr, o.dup_corr))
        raw += wire.attribute(TCA_NETEM_REORDER, struct.pack(wire.order + "II", o.reorder, o.reorder_corr))
        raw += wire.attribute(TCA_NETEM_CORRUPT, struct.pack(wire.order + "II", o.corrupt, o.corrupt_corr))
        raw += wire.attribute(TCA_NETEM_RATE, struct.pack(wire.order + "IiIi", min(o.rate, U32_ALL), 0, 0, 0))
        body += wire.attribute(TCA_OPTIONS, raw)
        packets, count, dropped = sch.sent_packets, sch.sent_bytes, sch.dropped
        backlog = (sum(row[2].len for row in sch.queue), len(sch.queue))
    body += wire.u8(TCA_HW_OFFLOAD, 0)
    stats = struct.pack(wire.order + "QIIIIIIIxxxx", count, packets, dropped, 0, 0, 0, backlog[1], backlog[0])
    body += wire.attribute(TCA_STATS, stats)
    basic = wire.attribute(TCA_STATS_BASIC, struct.pack(wire.order + "QIxxxx", count, packets))
    queue = wire.attribute(TCA_STATS_QUEUE, struct.pack(wire.order + "IIIII", backlog[1], backlog[0], dropped, 0, 0))
    return body + wire.attribute(TCA_STATS2, basic + queue)


def qdiscs(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """tc_dump_qdisc(): the root of every device, but not noop_qdisc of those that were never up."""
    for _, dev in sorted(request.net.devices.items()):
        if dev.opened or dev.qdisc is not None:
            yield fill(wire, dev, dev.qdisc)
