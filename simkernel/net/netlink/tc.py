"""Queueing disciplines and filters over netlink: clsact, and filters that are BPF programs.  net/sched/{sch_api,cls_api,cls_bpf}.c."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from arch.abi.errno import EEXIST, EINVAL, ENODEV, ENOENT, EOPNOTSUPP
from arch.abi.inet import IFNAMSIZ
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
from simkernel.net.core.netns import NetDevice, Qdisc
from simkernel.net.face import NetKernel
from simkernel.net.netlink import policy, qdisc
from simkernel.net.netlink.message import Request, Wire
from simkernel.net.netlink.rtnetlink import Row, register

TCA_BPF_CLASSID, TCA_BPF_FD, TCA_BPF_NAME, TCA_BPF_FLAGS, TCA_BPF_FLAGS_GEN, TCA_BPF_TAG, TCA_BPF_ID = (
    3,
    6,
    7,
    8,
    9,
    10,
    11,
)
TCA_BPF_FLAG_ACT_DIRECT = 1
SKIP_HW, SKIP_SW, NOT_IN_HW = 1, 2, 8  # TCA_CLS_FLAGS_
MAJOR = 0xFFFF0000
AT_INGRESS = ("clsact", "ingress")
NEEDS_CREATE = "Need both RTM_NEWTFILTER and NLM_F_CREATE to create a new filter"
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
    def priority(self) -> int:
        """Of a filter."""
        return self.info >> 16

    @property
    def protocol(self) -> int:
        """ETH_P_, network order."""
        return self.info & 0xFFFF

    def is_not(self, kind: str) -> bool:
        """Another kind is named."""
        return TCA_KIND in self.attributes and self.kind != kind


@dataclass(frozen=True)
class Standing:
    """A struct Qdisc as requests find it."""

    kind: str
    handle: int
    parent: int
    here: Clsact | Qdisc | None  # None: what a device has by itself


Early = Callable[[int, int, bool], None]


def _tc(k: NetKernel, wire: Wire, request: Request, early: Early | None = None) -> Tc:
    """EINVAL, ENODEV.  `early`: what is asked of handle, info and whether there is a kind before the device is looked for."""
    given = policy.parse(k, wire, request.body, TCMSG_SIZE, policy.TCA)
    index, handle, parent, info = struct.unpack_from(wire.order + "iIII", request.body, 4)
    if early is not None:
        early(handle, info, TCA_KIND in given)
    dev = request.net.devices.get(index)
    if dev is None:
        raise KernelError(ENODEV, "no such device")
    return Tc(dev, handle, parent, info, given)


# -- queueing disciplines -------------------------------------------------------------------------------------------------


def _at_ingress(k: NetKernel, dev: NetDevice) -> Standing | None:
    """dev_ingress_queue(dev)->qdisc_sleeping; None: nobody has ever asked for one."""
    found = k.net.clsact.get(dev.addr)
    if found is None:
        return None
    if found.kind == "noop":
        return Standing("noop", 0, qdisc.TC_H_ROOT, None)
    return Standing(found.kind, CLSACT_HANDLE, TC_H_CLSACT, found)


def _at_root(dev: NetDevice) -> Standing:
    """dev->qdisc."""
    if dev.qdisc is not None:
        return Standing(dev.qdisc.kind, dev.qdisc.handle, qdisc.TC_H_ROOT, dev.qdisc)
    return Standing(dev.kind.qdisc if dev.opened else "noop", 0, qdisc.TC_H_ROOT, None)


def _lookup(k: NetKernel, dev: NetDevice, handle: int) -> Standing | None:
    """qdisc_lookup()."""
    known = (_at_root(dev), _at_ingress(k, dev))
    return next((q for q in known if handle and q is not None and q.here is not None and q.handle == handle), None)


def new_qdisc(k: NetKernel, wire: Wire, request: Request) -> None:
    """tc_modify_qdisc(): change the one that is there, or put one there.  EEXIST, EINVAL, ENOENT, EOPNOTSUPP."""
    tc, flags = _tc(k, wire, request), request.flags
    if not tc.parent:
        if not tc.handle:
            raise Refusal(EINVAL, "Handle cannot be zero")
        found = _lookup(k, tc.dev, tc.handle)
    else:
        found, make = _to_change(k, tc, flags)
        if make:
            if not flags & NLM_F_CREATE:
                raise Refusal(ENOENT, "Qdisc not found. To create specify NLM_F_CREATE flag")
            _make_qdisc(k, wire, tc)
            return
    if found is None:
        raise Refusal(ENOENT, "Specified qdisc not found")
    if flags & NLM_F_EXCL:
        raise Refusal(EEXIST, "Exclusivity flag on, cannot modify")
    if tc.is_not(found.kind):
        raise Refusal(EINVAL, "Invalid qdisc name")
    if TCA_OPTIONS in tc.attributes:
        qdisc.change(wire, found.here if not isinstance(found.here, Clsact) else None, tc.attributes[TCA_OPTIONS])


def _to_change(k: NetKernel, tc: Tc, flags: int) -> tuple[Standing | None, bool]:
    """The one to change, or whether one is to be made."""
    if tc.parent == qdisc.TC_H_ROOT:
        found: Standing | None = _at_root(tc.dev)
    elif tc.parent == TC_H_CLSACT:
        k.net.clsact.setdefault(tc.dev.addr, Clsact())
        found = _at_ingress(k, tc.dev)
    elif _lookup(k, tc.dev, tc.parent & MAJOR) is None:
        raise Refusal(ENOENT, "Failed to find specified qdisc")
    else:
        found = None  # none here has classes
    if found is not None and not found.handle:
        found = None
    if found is not None and tc.handle == found.handle:
        return found, False
    if not tc.handle:
        if found is None:
            return None, True
        other = flags & NLM_F_EXCL or tc.is_not(found.kind)
        return found, bool(flags & NLM_F_CREATE and flags & NLM_F_REPLACE and other)
    if found is not None and not flags & NLM_F_REPLACE:
        raise Refusal(EEXIST, "NLM_F_REPLACE needed to override")
    if tc.handle & ~MAJOR:
        raise Refusal(EINVAL, "Invalid minor handle")
    elsewhere = _lookup(k, tc.dev, tc.handle)
    if elsewhere is None:
        return None, True
    raise Refusal(EINVAL, "Cannot move an existing qdisc to a different parent")


def _make_qdisc(k: NetKernel, wire: Wire, tc: Tc) -> None:
    """qdisc_create() and qdisc_graft()."""
    if tc.kind in AT_INGRESS:
        if tc.parent != TC_H_CLSACT:
            raise KernelError(EOPNOTSUPP, "not at the root")
        stood = k.net.clsact[tc.dev.addr]
        stood.clear()
        stood.kind = tc.kind
        return
    if tc.kind not in qdisc.KINDS:
        raise Refusal(ENOENT, "Specified qdisc kind is unknown")
    if tc.parent == TC_H_CLSACT:
        raise Refusal(EINVAL, "Specified parent ID is reserved for ingress and clsact Qdiscs")
    if tc.parent != qdisc.TC_H_ROOT:
        raise KernelError(EOPNOTSUPP, "only at the root")
    qdisc.make(k, wire, tc.dev, tc.handle, tc.attributes.get(TCA_OPTIONS))


def _asked_qdisc(k: NetKernel, tc: Tc) -> Standing:
    """tc_get_qdisc(): ENOENT, EINVAL."""
    if not tc.parent:
        found = _lookup(k, tc.dev, tc.handle)
        if found is None:
            raise Refusal(ENOENT, "Failed to find qdisc with specified handle")
    else:
        if tc.parent == qdisc.TC_H_ROOT:
            found = _at_root(tc.dev)
        elif tc.parent & MAJOR != CLSACT_HANDLE:
            if _lookup(k, tc.dev, tc.parent & MAJOR) is None:
                raise Refusal(ENOENT, "Failed to find qdisc with specified classid")
            found = None
        else:
            found = _at_ingress(k, tc.dev)
        if found is None:
            raise Refusal(ENOENT, "Cannot find specified qdisc on specified device")
        if tc.handle and found.handle != tc.handle:
            raise Refusal(EINVAL, "Invalid handle")
    return found


def del_qdisc(k: NetKernel, wire: Wire, request: Request) -> None:
    """tc_get_qdisc() with RTM_DELQDISC: the filters of a clsact go with it."""
    tc = _tc(k, wire, request)
    found = _asked_qdisc(k, tc)
    if tc.is_not(found.kind):
        raise Refusal(EINVAL, "Invalid qdisc name")
    if not tc.parent:
        raise Refusal(EINVAL, "Classid cannot be zero")
    if not found.handle or found.here is None:
        raise Refusal(ENOENT, "Cannot delete qdisc with handle of zero")
    if isinstance(found.here, Clsact):
        found.here.clear()
        return
    tc.dev.qdisc = None
    found.here.destroy()


def get_qdisc(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """tc_get_qdisc(); of the one that a device has by itself nothing is said."""
    tc = _tc(k, wire, request)
    found = _asked_qdisc(k, tc)
    if tc.is_not(found.kind):
        raise Refusal(EINVAL, "Invalid qdisc name: must match existing qdisc")
    if isinstance(found.here, Clsact):
        return [_shown_clsact(wire, tc.dev.ifindex, found.kind)]
    return [qdisc.fill(wire, tc.dev, found.here)] if found.here is not None else []


def change_class(k: NetKernel, wire: Wire, request: Request) -> None:
    """tc_ctl_tclass(): no discipline here has classes that user space makes.  ENOENT, EOPNOTSUPP."""
    tc = _tc(k, wire, request)
    if tc.dev.qdisc is None:
        raise KernelError(ENOENT)
    raise KernelError(EOPNOTSUPP)


def _shown_clsact(wire: Wire, index: int, kind: str) -> bytes:
    head = struct.pack(wire.order + "BxxxiIII", 0, index, CLSACT_HANDLE, TC_H_CLSACT, 1)
    return head + wire.text(TCA_KIND, kind) + wire.attribute(TCA_OPTIONS, b"") + qdisc.statistics(wire)


def dump_qdiscs(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """tc_dump_qdisc(): the root of every device, and the clsact of those that have one."""
    yield from qdisc.qdiscs(k, wire, request)
    for index, dev in sorted(request.net.devices.items()):
        found = k.net.clsact.get(dev.addr)
        if found is not None and found.kind != "noop":
            yield _shown_clsact(wire, index, found.kind)


def dump_classes(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """tc_dump_tclass(): no discipline here has any, nor is it asked whether there is such a device."""
    return iter(())


# -- filters --------------------------------------------------------------------------------------------------------------


def _block(k: NetKernel, tc: Tc) -> tuple[Clsact, bool]:
    """__tcf_qdisc_find(), __tcf_qdisc_cl_find(), __tcf_block_find(): whose filters, and of which way.  EINVAL, ENOENT."""
    found = k.net.clsact.get(tc.dev.addr)
    if not tc.parent or (tc.dev.qdisc is not None and tc.dev.qdisc.handle == tc.parent & MAJOR):
        raise Refusal(EINVAL, "Qdisc not classful")
    if tc.parent & MAJOR != CLSACT_HANDLE or found is None or found.kind == "noop":
        raise Refusal(EINVAL, "Parent Qdisc doesn't exists")
    if found.kind == "ingress":
        return found, True
    if not tc.parent & ~MAJOR:
        raise KernelError(EINVAL, "clsact has two blocks")
    if tc.parent not in (TC_H_INGRESS, TC_H_EGRESS):
        raise Refusal(ENOENT, "Specified class doesn't exist")
    return found, tc.parent == TC_H_INGRESS


def _shown(wire: Wire, tc: Tc, shown: Filter, itself: bool = True) -> bytes:
    """tcf_fill_node(), cls_bpf_dump(); without the filter itself its struct tcf_proto."""
    info, handle, options = shown.priority << 16 | shown.protocol, 0, b""
    if itself:
        handle, inner = shown.handle, wire.u32(TCA_BPF_CLASSID, shown.classid) if shown.classid else b""
        inner += wire.attribute(TCA_BPF_NAME, shown.name) if shown.name else b""
        inner += wire.u32(TCA_BPF_ID, shown.classifier.id) + wire.attribute(TCA_BPF_TAG, shown.classifier.tag)
        inner += wire.u32(TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT) if shown.direct else b""
        options = wire.attribute(TCA_OPTIONS, inner + wire.u32(TCA_BPF_FLAGS_GEN, shown.gen_flags))
    head = struct.pack(wire.order + "BxxxiIII", 0, tc.dev.ifindex, handle, tc.parent, info)
    return head + wire.text(TCA_KIND, "bpf") + wire.u32(TCA_CHAIN, 0) + options


def _needs_priority(handle: int, info: int, kind: bool) -> None:
    if not info >> 16:
        raise Refusal(ENOENT, "Invalid filter command with priority of zero")


def _flushes_all(handle: int, info: int, kind: bool) -> None:
    if not info >> 16 and (info or handle or kind):
        raise Refusal(ENOENT, "Cannot flush filters with protocol, handle or kind set")


def _checked_kind(tc: Tc) -> None:
    if len(tc.kind) >= IFNAMSIZ:
        raise Refusal(EINVAL, "Specified TC filter name too long")


def new_filter(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """tc_new_tfilter() of kind bpf; the filter as it is, if NLM_F_ECHO asks.  ENOENT, EINVAL, EEXIST."""
    create = request.flags & NLM_F_CREATE
    tc = _tc(k, wire, request, None if create else _needs_priority)
    _checked_kind(tc)
    found, ingress = _block(k, tc)
    same = found.of_priority(ingress, tc.priority) if tc.priority else []
    if same and tc.protocol and same[0].protocol != tc.protocol:
        raise Refusal(EINVAL, "Filter with specified priority/protocol not found")
    if not same:
        if TCA_KIND not in tc.attributes or not tc.protocol:
            raise Refusal(EINVAL, "Filter kind and protocol must be specified")
        if not create:
            raise Refusal(ENOENT, NEEDS_CREATE)
        if tc.kind != "bpf":
            raise Refusal(ENOENT, "TC classifier not found")
    elif tc.is_not("bpf"):
        raise Refusal(EINVAL, "Specified filter kind does not match existing one")
    old = next((f for f in same if f.handle == tc.handle), None) if tc.handle else None
    if old is None and not create:
        raise Refusal(ENOENT, NEEDS_CREATE)
    if old is not None and request.flags & NLM_F_EXCL:
        raise Refusal(EEXIST, "Filter already exists")
    priority = tc.priority or found.next_priority(ingress)
    new = _read_filter(k, wire, tc, priority, same[0].protocol if same else tc.protocol)
    found.add(ingress, new)
    return [_shown(wire, tc, new)] if request.flags & NLM_F_ECHO else []


def _read_filter(k: NetKernel, wire: Wire, tc: Tc, priority: int, protocol: int) -> Filter:
    """cls_bpf_set_parms().  EINVAL, and what the program's type says."""
    if TCA_OPTIONS not in tc.attributes:
        raise KernelError(EINVAL)
    options = wire.attributes(tc.attributes[TCA_OPTIONS])
    flags, fd = _number(wire, options.get(TCA_BPF_FLAGS)) or 0, options.get(TCA_BPF_FD)
    gen = _number(wire, options.get(TCA_BPF_FLAGS_GEN)) or 0
    if fd is None or flags & ~TCA_BPF_FLAG_ACT_DIRECT or gen & ~(SKIP_HW | SKIP_SW) or gen == SKIP_HW | SKIP_SW:
        raise KernelError(EINVAL)
    classifier = k.net.programs.classifier(_number(wire, fd) or 0)
    if gen & SKIP_SW:  # no device takes it over
        classifier.release()
        raise KernelError(EINVAL)
    classid = _number(wire, options.get(TCA_BPF_CLASSID)) or 0
    name = options.get(TCA_BPF_NAME, b"")
    return Filter(priority, tc.handle, protocol, classifier, name, bool(flags), classid, gen | NOT_IN_HW)


def _number(wire: Wire, raw: bytes | None) -> int | None:
    return struct.unpack(wire.order + "I", raw)[0] if raw is not None and len(raw) == 4 else None


def _of(found: Clsact, ingress: bool, tc: Tc, without: int) -> list[Filter]:
    """The filters of a priority.  `without`: the errno where there are none at all; ENOENT, EINVAL."""
    if not found.way(ingress):
        raise Refusal(without, "Cannot find specified filter chain")
    same = found.of_priority(ingress, tc.priority)
    if not same or (tc.protocol and same[0].protocol != tc.protocol):
        raise Refusal(EINVAL if same else ENOENT, "Filter with specified priority/protocol not found")
    if tc.is_not("bpf"):
        raise Refusal(EINVAL, "Specified filter kind does not match existing one")
    return same


def _one(same: list[Filter], tc: Tc) -> Filter:
    one = next((f for f in same if f.handle == tc.handle), None)
    if one is None:
        raise Refusal(ENOENT, "Specified filter handle not found")
    return one


def del_filter(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """tc_del_tfilter(): one, those of a priority, or all of one way."""
    tc = _tc(k, wire, request, _flushes_all)
    _checked_kind(tc)
    found, ingress = _block(k, tc)
    if not tc.priority:
        found.remove(ingress, lambda _: True)
        return []
    same = _of(found, ingress, tc, ENOENT)
    gone = [_one(same, tc)] if tc.handle else same
    found.remove(ingress, lambda f: f in gone)
    return []


def get_filter(k: NetKernel, wire: Wire, request: Request) -> bytes:
    """tc_get_tfilter().  ENOENT, EINVAL."""
    tc = _tc(k, wire, request, _needs_priority)
    _checked_kind(tc)
    found, ingress = _block(k, tc)
    return _shown(wire, tc, _one(_of(found, ingress, tc, EINVAL), tc))


def dump_filters(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """tc_dump_tfilter(): those of one way of a device, each priority's struct tcf_proto before its filters."""
    tc = _tc(k, wire, request)
    try:
        found, ingress = _block(k, tc)
    except KernelError:
        return
    before = 0
    for shown in found.way(ingress):
        if shown.priority != before:
            yield _shown(wire, tc, shown, itself=False)
        before = shown.priority
        yield _shown(wire, tc, shown)


register(RTM_GETQDISC, Row(RTM_NEWQDISC, dump=dump_qdiscs, one=get_qdisc))
register(RTM_NEWTCLASS, Row(RTM_NEWTCLASS, change=change_class))
register(RTM_GETTCLASS, Row(RTM_NEWTCLASS, dump=dump_classes, change=change_class))
register(RTM_DELTCLASS, Row(RTM_NEWTCLASS, change=change_class))
register(RTM_NEWQDISC, Row(RTM_NEWQDISC, change=new_qdisc))
register(RTM_DELQDISC, Row(RTM_NEWQDISC, change=del_qdisc))
register(
    RTM_GETTFILTER, Row(RTM_NEWTFILTER, dump=dump_filters, one=lambda k, wire, request: [get_filter(k, wire, request)])
)
register(RTM_NEWTFILTER, Row(RTM_NEWTFILTER, change=new_filter))
register(RTM_DELTFILTER, Row(RTM_DELTFILTER, change=del_filter))
