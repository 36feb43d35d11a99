"""Queueing disciplines and filters over netlink: clsact, and filters that are BPF programs.  net/sched/{sch_api,cls_api,cls_bpf}.c."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from arch.abi.errno import EEXIST, EINVAL, ENODEV, ENOENT, EOPNOTSUPP
from arch.abi.netlink import NLM_F_CREATE, NLM_F_ECHO, NLM_F_EXCL, NLM_F_REPLACE
from arch.abi.rtnetlink import (
    RTM_DELQDISC,
    RTM_DELTCLASS,
    RTM_DELTFILTER,
    RTM_GETQDISC,
    RTM_GETTCLASS,
    RTM_GETTFILTER,
    RTM_NEWQDISC,
    RTM_NEWTCLASS,
    RTM_NEWTFILTER,
    TCA_CHAIN,
    TCA_KIND,
    TCA_OPTIONS,
)
from arch.cstring import c_string
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.net.core.clsact import Clsact, Filter
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import NetDevice
from simkernel.net.face import NetKernel
from simkernel.net.netlink import policy, qdisc
from simkernel.net.netlink.message import Request, Wire
from simkernel.net.netlink.rtnetlink import Row, register

TCA_BPF_FD, TCA_BPF_NAME, TCA_BPF_FLAGS, TCA_BPF_TAG, TCA_BPF_ID = 6, 7, 8, 10, 11
TCA_BPF_FLAG_ACT_DIRECT = 1
TC_H_CLSACT, TC_H_INGRESS, TC_H_EGRESS = 0xFFFFFFF1, 0xFFFFFFF2, 0xFFFFFFF3
CLSACT_HANDLE = 0xFFFF0000
TCMSG_SIZE = 20  # bytes


@dataclass(frozen=True)
class Tc:
    """struct tcmsg and the attributes behind it."""

    dev: NetDevice
    handle: int
    parent: int
    info: int
    attributes: dict[int, bytes]

    @property
    def kind(self) -> str:
        """TCA_KIND."""
        return c_string(self.attributes.get(TCA_KIND, b""))

    @property
    def ingress(self) -> bool:
        """Which way; EINVAL for another parent."""
        if self.parent not in (TC_H_INGRESS, TC_H_EGRESS):
            raise KernelError(EINVAL, "not a way of clsact")
        return self.parent == TC_H_INGRESS


def _tc(k: NetKernel, wire: Wire, request: Request) -> Tc:
    """EINVAL, ENODEV."""
    given = policy.parse(k, wire, request.body, TCMSG_SIZE, policy.TCA)
    index, handle, parent, info = struct.unpack_from(wire.order + "iIII", request.body, 4)
    dev = request.net.devices.get(index)
    if dev is None:
        raise KernelError(ENODEV, "no such device")
    return Tc(dev, handle, parent, info, given)


def _clsact(k: NetKernel, tc: Tc) -> Clsact:
    """EINVAL without the queueing discipline."""
    found = k.net.clsact.get(tc.dev.addr)
    if found is None:
        raise KernelError(EINVAL, "the device has no clsact")
    return found


def new_qdisc(k: NetKernel, wire: Wire, request: Request) -> None:
    """tc_modify_qdisc(): clsact, or what stands at the root.  EEXIST, ENOENT."""
    tc = _tc(k, wire, request)
    if tc.parent != TC_H_CLSACT:
        qdisc.new_qdisc(k, wire, request)
        return
    if tc.kind != "clsact":
        raise KernelError(EOPNOTSUPP, "no such queueing discipline here")
    if tc.dev.addr in k.net.clsact:
        if request.flags & NLM_F_EXCL or not request.flags & NLM_F_REPLACE:
            raise KernelError(EEXIST, "the device has one")
        return
    if not request.flags & NLM_F_CREATE:
        raise KernelError(ENOENT)
    k.net.clsact[tc.dev.addr] = Clsact()


def del_qdisc(k: NetKernel, wire: Wire, request: Request) -> None:
    """tc_get_qdisc() with RTM_DELQDISC: the filters of a clsact go with it."""
    tc = _tc(k, wire, request)
    if tc.parent != TC_H_CLSACT:
        qdisc.del_qdisc(k, wire, request)
        return
    if tc.dev.addr not in k.net.clsact:
        raise KernelError(ENOENT, "no such queueing discipline")
    found = k.net.clsact.pop(tc.dev.addr)
    for ingress in (True, False):
        found.remove(ingress, lambda _: True)


def _filter(wire: Wire, tc: Tc, shown: Filter) -> bytes:
    """tcf_fill_node(), cls_bpf_dump()."""
    options = (
        wire.attribute(TCA_BPF_NAME, shown.name)
        + wire.u32(TCA_BPF_ID, shown.classifier.id)
        + wire.attribute(TCA_BPF_TAG, shown.classifier.tag)
        + (wire.u32(TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT) if shown.direct else b"")
    )
    info = shown.priority << 16 | shown.protocol
    head = struct.pack(wire.order + "BxxxiIII", 0, tc.dev.ifindex, shown.handle, tc.parent, info)
    return head + wire.text(TCA_KIND, "bpf") + wire.u32(TCA_CHAIN, 0) + wire.attribute(TCA_OPTIONS, options)


def new_filter(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """tc_new_tfilter() of kind bpf; the filter as it is, if NLM_F_ECHO asks.  ENOENT, EINVAL, EEXIST, EOPNOTSUPP."""
    tc = _tc(k, wire, request)
    found, ingress = _clsact(k, tc), tc.ingress
    priority, protocol = tc.info >> 16, tc.info & 0xFFFF
    if not request.flags & NLM_F_CREATE and not priority:
        raise KernelError(ENOENT, "a filter without priority")
    if tc.kind != "bpf":
        raise KernelError(EOPNOTSUPP if tc.kind else EINVAL, "no such filter here")
    options = wire.attributes(tc.attributes.get(TCA_OPTIONS, b""))
    flags, fd = _number(wire, options.get(TCA_BPF_FLAGS)), options.get(TCA_BPF_FD)
    if fd is None or (flags or 0) & ~TCA_BPF_FLAG_ACT_DIRECT:
        raise KernelError(EINVAL)
    classifier = k.net.programs.classifier(_number(wire, fd) or 0)
    new = Filter(priority, tc.handle, protocol, classifier, options.get(TCA_BPF_NAME, b"\0"), bool(flags))
    try:
        found.add(ingress, new, bool(request.flags & NLM_F_REPLACE), bool(request.flags & NLM_F_EXCL))
    except KernelError:
        classifier.release()
        raise
    return [_filter(wire, tc, new)] if request.flags & NLM_F_ECHO else []


def _number(wire: Wire, raw: bytes | None) -> int | None:
    return struct.unpack(wire.order + "I", raw)[0] if raw is not None and len(raw) == 4 else None


def del_filter(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """tc_del_tfilter(): one, those of a priority, or all of one way."""
    tc = _tc(k, wire, request)
    found, ingress, priority = _clsact(k, tc), tc.ingress, tc.info >> 16
    if not priority:
        if tc.info & 0xFFFF or tc.handle or tc.kind:
            raise KernelError(ENOENT, "a filter without priority")
        found.remove(ingress, lambda _: True)
    elif not tc.handle:
        if not any(f.priority == priority for f in found.way(ingress)):
            raise KernelError(ENOENT)
        found.remove(ingress, lambda f: f.priority == priority)
    else:
        old = found.find(ingress, priority, tc.handle)
        found.remove(ingress, lambda f: f is old)
    return []


def get_filter(k: NetKernel, wire: Wire, request: Request) -> bytes:
    """tc_get_tfilter().  ENOENT."""
    tc = _tc(k, wire, request)
    found, priority = _clsact(k, tc), tc.info >> 16
    if not priority:
        raise KernelError(ENOENT, "a filter without priority")
    if not found.way(tc.ingress):
        raise KernelError(EINVAL, "no filter has been made there")
    return _filter(wire, tc, found.find(tc.ingress, priority, tc.handle))


def dump_filters(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """tc_dump_tfilter(): those of one way of a device."""
    tc = _tc(k, wire, request)
    clsact = k.net.clsact.get(tc.dev.addr)
    if clsact is not None and tc.parent in (TC_H_INGRESS, TC_H_EGRESS):
        for shown in clsact.way(tc.ingress):
            yield _filter(wire, tc, shown)


def get_qdisc(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """tc_get_qdisc().  ENOENT, EINVAL; of the one that a device has by itself nothing is said."""
    tc = _tc(k, wire, request)
    if tc.parent == TC_H_CLSACT:
        if tc.dev.addr not in k.net.clsact:
            raise Refusal(ENOENT, "Cannot find specified qdisc on specified device")
        own, shown = "clsact", [_shown_clsact(wire, tc.dev.ifindex)]
    else:
        own = tc.dev.qdisc.kind if tc.dev.qdisc is not None else tc.dev.kind.qdisc if tc.dev.opened else "noop"
        shown = [qdisc.fill(wire, tc.dev, tc.dev.qdisc)] if tc.dev.qdisc is not None else []
    if TCA_KIND in tc.attributes and tc.kind != own:
        raise Refusal(EINVAL, "Invalid qdisc name: must match existing qdisc")
    return shown


def change_class(k: NetKernel, wire: Wire, request: Request) -> None:
    """tc_ctl_tclass(): no discipline here has classes that user space makes.  ENOENT, EOPNOTSUPP."""
    tc = _tc(k, wire, request)
    if tc.dev.qdisc is None:
        raise KernelError(ENOENT)
    raise KernelError(EOPNOTSUPP)


def _shown_clsact(wire: Wire, index: int) -> bytes:
    head = struct.pack(wire.order + "BxxxiIII", 0, index, CLSACT_HANDLE, TC_H_CLSACT, 1)
    return head + wire.text(TCA_KIND, "clsact")


def dump_qdiscs(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """tc_dump_qdisc(): the root of every device, and the clsact of those that have one."""
    yield from qdisc.qdiscs(k, wire, request)
    for index, dev in sorted(request.net.devices.items()):
        if dev.addr not in k.net.clsact:
            continue
        yield _shown_clsact(wire, index)


register(RTM_GETQDISC, Row(RTM_NEWQDISC, dump=dump_qdiscs, one=get_qdisc))
register(RTM_NEWTCLASS, Row(RTM_NEWTCLASS, change=change_class))
register(RTM_GETTCLASS, Row(RTM_NEWTCLASS, change=change_class))
register(RTM_DELTCLASS, Row(RTM_NEWTCLASS, change=change_class))
register(RTM_NEWQDISC, Row(RTM_NEWQDISC, change=new_qdisc))
register(RTM_DELQDISC, Row(RTM_NEWQDISC, change=del_qdisc))
register(
    RTM_GETTFILTER, Row(RTM_NEWTFILTER, dump=dump_filters, one=lambda k, wire, request: [get_filter(k, wire, request)])
)
register(RTM_NEWTFILTER, Row(RTM_NEWTFILTER, change=new_filter))
register(RTM_DELTFILTER, Row(RTM_DELTFILTER, change=del_filter))
