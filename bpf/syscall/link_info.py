"""BPF_OBJ_GET_INFO_BY_FD of links: what their fill_link_info() say.  struct bpf_link_info."""

from __future__ import annotations

from collections.abc import Iterable

from arch.abi.errno import EINVAL, ENAMETOOLONG, ENOSPC
from arch.abi.limits import PATH_MAX
from arch.errors import KernelError
from bpf import uapi
from bpf.core.link import COOKIE_SHOWN, BpfLink
from bpf.core.multi_link import MultiLink
from bpf.core.perf_link import COUNTERS_TOLD, PROBE_KINDS, PerfLink
from bpf.face import KprobeMultiAttach, UprobeMultiAttach
from bpf.syscall.attr import Call
from bpf.syscall.info import Info, begin, end, give_text, sized

SIZES = (("6.6", 64), ("5.7", 48))
PERF_TOLD, COOKIES_TOLD = "6.6", "6.9"  # 1b715e1b0ec5, d5c16492c66f: of links to perf events
MISSES_TOLD = "6.7"  # 3acf8ace6823, e2b2cd592a44
MULTI_TOLD = {KprobeMultiAttach: "6.6", UprobeMultiAttach: "6.8"}  # 7ac8d0d26192, e56fdbfb06e2

FIELDS: dict[int, dict[str, tuple[int, int]]] = {
    uapi.BPF_LINK_TYPE_RAW_TRACEPOINT: {"tp_name": (16, 8), "tp_name_len": (24, 4), "cookie": (32, 8)},
    uapi.BPF_LINK_TYPE_TRACING: {
        "attach_type": (16, 4),
        "target_obj_id": (20, 4),
        "target_btf_id": (24, 4),
        "cookie": (32, 8),
    },
    uapi.BPF_LINK_TYPE_CGROUP: {"cgroup_id": (16, 8), "attach_type": (24, 4)},
    uapi.BPF_LINK_TYPE_ITER: {
        "target_name": (16, 8),
        "target_name_len": (24, 4),
        "map_id": (28, 4),
        "cgroup_id": (32, 8),
        "cgroup_order": (40, 4),
        "tid": (32, 4),
        "pid": (36, 4),
    },
    uapi.BPF_LINK_TYPE_PERF_EVENT: {"event_type": (16, 4)},
    uapi.BPF_LINK_TYPE_NETNS: {"netns_ino": (16, 4), "attach_type": (20, 4)},
    uapi.BPF_LINK_TYPE_XDP: {"ifindex": (16, 4)},
    uapi.BPF_LINK_TYPE_TCX: {"ifindex": (16, 4), "attach_type": (20, 4)},
    uapi.BPF_LINK_TYPE_NETKIT: {"ifindex": (16, 4), "attach_type": (20, 4)},
    uapi.BPF_LINK_TYPE_KPROBE_MULTI: {
        "addrs": (16, 8),
        "count": (24, 4),
        "flags": (28, 4),
        "missed": (32, 8),
        "cookies": (40, 8),
    },
    uapi.BPF_LINK_TYPE_UPROBE_MULTI: {
        "path": (16, 8),
        "offsets": (24, 8),
        "ref_ctr_offsets": (32, 8),
        "cookies": (40, 8),
        "path_size": (48, 4),
        "count": (52, 4),
        "flags": (56, 4),
        "pid": (60, 4),
    },
}
# Of a link to a perf event, by kind of event
_NAMED = {"name": (24, 8), "name_len": (32, 4)}
_KPROBE = {**_NAMED, "offset": (36, 4), "addr": (40, 8), "missed": (48, 8), "cookie": (56, 8)}
_UPROBE = {**_NAMED, "offset": (36, 4), "cookie": (40, 8), "ref_ctr_offset": (48, 8)}
PERF_FIELDS = {
    uapi.BPF_PERF_EVENT_UPROBE: _UPROBE,
    uapi.BPF_PERF_EVENT_URETPROBE: _UPROBE,
    uapi.BPF_PERF_EVENT_KPROBE: _KPROBE,
    uapi.BPF_PERF_EVENT_KRETPROBE: _KPROBE,
    uapi.BPF_PERF_EVENT_TRACEPOINT: {**_NAMED, "cookie": (40, 8)},
    uapi.BPF_PERF_EVENT_EVENT: {"config": (24, 8), "attr_type": (32, 4), "cookie": (40, 8)},
}
# What is told of the place of a probe
PLACES = {"offset": PERF_TOLD, "addr": PERF_TOLD, "missed": MISSES_TOLD, "ref_ctr_offset": COUNTERS_TOLD}


def link_info(call: Call, link: BpfLink) -> int:
    """bpf_link_get_info_by_fd(); what a type tells more is in link.info, or asked of the link."""
    fields = {"type": (0, 4), "id": (4, 4), "prog_id": (8, 4), **FIELDS.get(link.type, {})}
    known = sized(SIZES, call.version)
    info, length = begin(call, known, known, fields, read=True)
    info["type"], info["id"], info["prog_id"] = link.type, link.id, link.prog.id
    errno = 0
    for name, value in link.info.items():
        if name == "cookie" and call.version.before(COOKIE_SHOWN):
            continue
        if name in fields and isinstance(value, int):
            info[name] = value
        elif name in ("tp_name", "target_name") and name in fields:
            errno = give_text(call, info, name, f"{name}_len", str(value))
    if isinstance(link, MultiLink):
        errno = _multi(call, info, link)
    elif isinstance(link, PerfLink) and call.version.at_least(PERF_TOLD):
        errno = _perf(call, info, link)
    if errno:
        raise KernelError(errno)
    return end(call, info, length)


def _perf(call: Call, info: Info, link: PerfLink) -> int:
    """bpf_perf_link_fill_link_info()."""
    told, event = link.event_info(), link.attached.event
    kind = uapi.BPF_PERF_EVENT_EVENT if told is None else PROBE_KINDS[told.kind][0]
    info["event_type"], info.fields = kind, PERF_FIELDS[kind]
    if call.version.at_least(COOKIES_TOLD):
        info["cookie"] = link.attached.cookie
    if told is None:
        info["attr_type"], info["config"] = event.type_told, event.attr.config
        return 0
    errno = give_text(call, info, "name", "name_len", told.name or "")
    places = {"offset": told.offset, "addr": told.address, "missed": told.missed, "ref_ctr_offset": told.ref_ctr_offset}
    for name, value in places.items():
        if name in info.fields and call.version.at_least(PLACES[name]):
            info[name] = value
    return errno


def _multi(call: Call, info: Info, link: MultiLink) -> int:
    request = link.request
    assert isinstance(request, KprobeMultiAttach | UprobeMultiAttach)
    if call.version.before(MULTI_TOLD[type(request)]):
        return 0
    info["flags"] = link.flags
    if isinstance(request, UprobeMultiAttach):
        return _user(call, info, request)
    if call.version.at_least(MISSES_TOLD):
        info["missed"] = link.missed()
    return _kernel(call, info, request)


def _kernel(call: Call, info: Info, request: KprobeMultiAttach) -> int:
    """bpf_kprobe_multi_link_fill_link_info()."""
    room = info["count"]
    if bool(info["addrs"]) != bool(room) or (info["cookies"] and not room):
        raise KernelError(EINVAL)
    info["count"] = len(request.addresses)
    if not info["addrs"]:
        return 0
    return _columns(call, info, room, {"cookies": request.cookies, "addrs": request.addresses})


def _user(call: Call, info: Info, request: UprobeMultiAttach) -> int:
    """bpf_uprobe_multi_link_fill_link_info()."""
    room, path_room, columns = info["count"], info["path_size"], ("offsets", "ref_ctr_offsets", "cookies")
    if bool(info["path"]) != bool(path_room) or (not room and any(info[name] for name in columns)):
        raise KernelError(EINVAL)
    info["count"] = len(request.places)
    info["pid"] = 0 if request.process is None else call.host.pid_of_process(request.process)
    path = request.file.path().encode("utf-8", "surrogateescape") + b"\0"
    if len(path) > min(path_room or PATH_MAX, PATH_MAX):
        raise KernelError(ENAMETOOLONG)
    info["path_size"] = len(path)
    if info["path"]:
        call.user.write(info["path"], path)
    return _columns(call, info, room, dict(zip(columns, zip(*request.places, strict=True), strict=True)))


def _columns(call: Call, info: Info, room: int, columns: dict[str, Iterable[int]]) -> int:
    """So many numbers of each that is asked for; ENOSPC where there is not room for all."""
    count, order = min(room, info["count"]), call.host.mem.byteorder
    asked = {name: numbers for name, numbers in columns.items() if info[name]}
    for name, numbers in asked.items():
        call.user.write(info[name], b"".join(number.to_bytes(8, order) for number in list(numbers)[:count]))
    return ENOSPC if asked and count < info["count"] else 0
