"""Delay, loss, reordering on an interface, as `tc qdisc add dev lo root netem` sets it: over netlink, by the tool task.

m.netem("lo", delay_ms=20, jitter_ms=5, loss=0.05)      # m.netem("lo") takes it off again
simkernel run --netem lo:delay=20ms,jitter=5ms,loss=5% -- PROGRAM
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from arch.abi.errno import ENODEV, ENOENT
from arch.abi.inet import IFNAMSIZ
from arch.abi.ioctl import SIOCGIFINDEX
from arch.abi.limits import U32_MAX
from arch.abi.netlink import NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NLMSG_HDRLEN
from arch.abi.rtnetlink import RTM_DELQDISC, RTM_NEWQDISC, TCA_KIND, TCA_OPTIONS
from arch.abi.socket import AF_INET, AF_NETLINK, SOCK_DGRAM, SOCK_RAW
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.net.netlink import qdisc
from simkernel.net.netlink.message import Wire

if TYPE_CHECKING:
    from simkernel.session import Session

UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
RATES = {"gbit": 1e9 / 8, "mbit": 1e6 / 8, "kbit": 1e3 / 8, "bit": 1 / 8}
MAX_MS, MAX_RATE = 9e12, 1e20  # what 64 bits of nanoseconds, and of bytes in a second, hold
HEAD = NLMSG_HDRLEN


class NetemError(ValueError):
    """What was asked cannot be: a sentence for a person."""


@dataclass(frozen=True)
class Netem:
    """What happens to packets on their way out of an interface.  Shares are 0 to 1."""

    delay_ms: float = 0
    jitter_ms: float = 0
    loss: float = 0
    duplicate: float = 0
    corrupt: float = 0
    reorder: float = 0  # of the packets go out at once; needs a delay
    rate_bit_s: float = 0  # 0: any
    limit: int = 1000  # packets that may wait

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "corrupt", "reorder"):
            if not 0 <= vars(self)[name] <= 1:
                raise NetemError(f"{name} is a share between 0 and 1 (or 0% to 100%)")
        if min(self.delay_ms, self.jitter_ms, self.rate_bit_s) < 0 or not 0 < self.limit <= U32_MAX:
            raise NetemError("delay, jitter, rate and limit are not negative")
        if not (self.delay_ms < MAX_MS and self.jitter_ms < MAX_MS and self.rate_bit_s < MAX_RATE):
            raise NetemError(f"delay and jitter are below {MAX_MS:.0e} ms, the rate below {MAX_RATE:.0e} bit/s")
        if self.reorder and not self.delay_ms:
            raise NetemError("reordering needs a delay: packets that go out at once overtake the others")


def parse(text: str) -> tuple[str, Netem]:
    """`lo:delay=20ms,jitter=5ms,loss=5%,duplicate=1%,corrupt=0.1%,reorder=25%,rate=1mbit,limit=100`; NetemError."""
    device, colon, rest = text.partition(":")
    if not device or not colon:
        raise NetemError(f"{text}: write it as DEVICE:delay=20ms,loss=5%")
    values: dict[str, float] = {}
    for part in rest.split(","):
        name, _, value = part.partition("=")
        try:
            if name in ("delay", "jitter"):
                values[f"{name}_ms"] = _scaled(value, UNITS_S) * 1000
            elif name in ("loss", "duplicate", "corrupt", "reorder"):
                values[name] = float(value[:-1]) / 100 if value.endswith("%") else float(value)
            elif name == "rate":
                values["rate_bit_s"] = _scaled(value, RATES) * 8
            elif name == "limit":
                values["limit"] = int(value)
            else:
                raise NetemError(
                    f"{name}: not known; delay, jitter, loss, duplicate, corrupt, reorder, rate, limit are"
                )
        except NetemError:
            raise
        except ValueError:
            raise NetemError(f"{part}: {value!r} is not a value of {name}") from None
    return device, Netem(**values)  # type: ignore[arg-type]  # limit is an int


def _scaled(text: str, units: dict[str, float]) -> float:
    """A number with its unit."""
    for unit, factor in units.items():
        if text.endswith(unit):
            digits = text.removesuffix(unit)
            if digits.replace(".", "", 1).isdecimal():
                return float(digits) * factor
    raise ValueError(text)


def set_netem(session: Session, device: str, wanted: Netem | None) -> None:
    """Put a netem at the root of an interface, change the one that is there, or take it off.  KernelError."""
    wire = Wire(session.task.byteorder)
    index = _index(session, device)
    head = struct.pack(wire.order + qdisc.TCMSG, 0, index, 0, qdisc.TC_H_ROOT, 0)
    if wanted is None:
        try:
            _ask(session, wire, RTM_DELQDISC, 0, head)
        except KernelError as error:
            if error.errno != ENOENT:
                raise
        return
    share = {name: round(vars(wanted)[name] * U32_MAX) for name in ("loss", "duplicate", "corrupt", "reorder")}
    gap = int(bool(wanted.reorder))
    options = struct.pack(wire.order + qdisc.QOPT, 0, wanted.limit, share["loss"], gap, share["duplicate"], 0)
    for kind, value in (
        (qdisc.TCA_NETEM_LATENCY64, round(wanted.delay_ms * 1e6)),
        (qdisc.TCA_NETEM_JITTER64, round(wanted.jitter_ms * 1e6)),
    ):
        options += wire.attribute(kind, struct.pack(wire.order + "q", value))
    options += wire.attribute(qdisc.TCA_NETEM_REORDER, struct.pack(wire.order + "II", share["reorder"], 0))
    options += wire.attribute(qdisc.TCA_NETEM_CORRUPT, struct.pack(wire.order + "II", share["corrupt"], 0))
    options += wire.attribute(qdisc.TCA_NETEM_RATE64, struct.pack(wire.order + "Q", round(wanted.rate_bit_s / 8)))
    body = head + wire.text(TCA_KIND, "netem") + wire.attribute(TCA_OPTIONS, options)
    _ask(session, wire, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, body)


def _index(session: Session, device: str) -> int:
    """The number of an interface; KernelError(ENODEV)."""
    task = session.task
    fd = task.call("socket", AF_INET, SOCK_DGRAM, 0)
    try:
        with task.memory() as memory:
            request = memory.put(device.encode("utf-8", "surrogateescape")[: IFNAMSIZ - 1].ljust(40, b"\0"))
            task.call("ioctl", fd, SIOCGIFINDEX, request)
            return int.from_bytes(session.syscalls.read(request + IFNAMSIZ, 4), task.byteorder)
    except KernelError as error:
        raise KernelError(error.errno, f"{device}: no such interface" if error.errno == ENODEV else device) from None
    finally:
        task.call("close", fd)


def _ask(session: Session, wire: Wire, kind: int, flags: int, body: bytes) -> None:
    """One request of NETLINK_ROUTE and its acknowledgement; KernelError."""
    task = session.task
    fd = task.call("socket", AF_NETLINK, SOCK_RAW, 0)
    try:
        with task.memory() as memory:
            message = wire.message(kind, NLM_F_REQUEST | NLM_F_ACK | flags, 1, 0, body)
            task.call("sendto", fd, memory.put(message), len(message), 0, 0, 0)
            answer = memory.put(bytes(4096))
            task.call("recvfrom", fd, answer, 4096, 0, 0, 0)
            (error,) = struct.unpack(wire.order + "i", session.syscalls.read(answer + HEAD, 4))
    finally:
        task.call("close", fd)
    if error:
        raise KernelError(-error, "netem")
