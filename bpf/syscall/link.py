"""bpf(2) commands that attach programs.  kernel/bpf/syscall.c: link_create(), bpf_raw_tp_link_attach() and their like.

What attaching really does is the host's: `host.attach(prog, request)` makes events run the program.
"""

from __future__ import annotations

from collections.abc import Mapping

from arch.abi.errno import EINVAL, ENOENT, ENOSPC, ENOTSUPP, EPERM
from arch.abi.fcntl import O_CLOEXEC
from arch.errors import KernelError
from bpf import uapi
from bpf.board import KERNEL_BTF_ID
from bpf.core.attach_prog import check_new_target
from bpf.core.link import BpfLink, IterLink, XdpLink
from bpf.core.multi_link import MultiLink, TracingMultiLink
from bpf.core.netns import make_netns_link
from bpf.core.perf_link import COUNTERS_TOLD, PerfLink
from bpf.core.program import BpfProg, prog_of_fd
from bpf.face import (
    AttachRequest,
    PerfEventAttach,
    RawTracepointAttach,
    TracingAttach,
    XdpAttach,
)
from bpf.perf_face import PerfEventInfo
from bpf.syscall import cgroup, device, sockmap
from bpf.syscall.attr import Call
from bpf.syscall.cgroup import make_cgroup_link
from bpf.syscall.iter import iter_request
from bpf.syscall.multi_link import is_multi, multi_request, tracing_multi_request
from bpf.syscall.sockmap import tell_programs
from bpf.verifier.protos.attach_rules import ATTACH_TYPE_TO_PROG_TYPE
from bpf.versions import features
from bpf.versions.attach_groups import GROUPS_ORDERED, MANY_FUNCTIONS, ONE_FUNCTION, within
from bpf.versions.program_types import types_where

TP_NAME_MAX = 127
RAW_COOKIES = "6.10"  # 68ca5d4eebb8: links to tracepoints have a cookie
ADDRESSES_TOLD = "6.6"  # f1a414537ecc: BPF_TASK_FD_QUERY tells the address also of a probe by name
ATTACH_FLAGS = uapi.BPF_F_ALLOW_OVERRIDE | uapi.BPF_F_ALLOW_MULTI | uapi.BPF_F_REPLACE

CGROUP_TYPES = types_where(lambda row: "cgroup" in row.traits)
_EXACT_TYPES = frozenset(
    (
        uapi.BPF_PROG_TYPE_CGROUP_SOCK,
        uapi.BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
        uapi.BPF_PROG_TYPE_CGROUP_SOCKOPT,
        uapi.BPF_PROG_TYPE_SK_LOOKUP,
    )
)


def link_of_fd(call: Call, fd: int) -> BpfLink:
    """bpf_link_get_from_fd()."""
    found = call.host.fd_get(fd)
    if not isinstance(found, BpfLink):
        raise KernelError(EINVAL)
    return found


def settle(
    call: Call,
    kind: int,
    prog: BpfProg,
    request: AttachRequest,
    info: Mapping[str, int | str],
    link_class: type[BpfLink] = BpfLink,
) -> int:
    """Attach, make a link of it, give it a descriptor: bpf_link_init() to bpf_link_settle()."""
    detach = call.host.attach(prog, request)
    link = link_class(call.bpf, kind, prog, request, detach, info)
    anon = "bpf_link" if features.has_command(call.version, uapi.BPF_LINK_CREATE) else "bpf-raw-tracepoint"
    return publish(call, link, anon)


def publish(call: Call, link: BpfLink, anon: str) -> int:
    """bpf_link_settle(): number and descriptor."""
    link.prog.get()
    link.id = call.bpf.links.add(link)
    link.get()
    try:
        return call.host.fd_install(link, anon, O_CLOEXEC)
    except KernelError:
        link.put()
        raise


# ---- tracepoints and trampolines ----


def raw_tracepoint_open(call: Call) -> int:
    """BPF_RAW_TRACEPOINT_OPEN; also how fentry programs are attached before links."""
    call.check()
    prog = prog_of_fd(call.bpf, call.attr.signed("prog_fd"))
    return _raw_tp_attach(call, prog, call.attr.name, call.attr.raw_cookie)


def _raw_tp_attach(call: Call, prog: BpfProg, user_name: int, cookie: int) -> int:
    """bpf_raw_tp_link_attach()."""
    if prog.type in (uapi.BPF_PROG_TYPE_TRACING, uapi.BPF_PROG_TYPE_EXT, uapi.BPF_PROG_TYPE_LSM):
        if user_name:
            raise KernelError(EINVAL)
        if prog.type != uapi.BPF_PROG_TYPE_TRACING or prog.expected_attach_type != uapi.BPF_TRACE_RAW_TP:
            return _tracing_attach(call, prog, 0, 0, cookie)
        name = str(prog.attach_info.get("attach_func_name", "")).removeprefix("btf_trace_")
    elif prog.type in (uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, uapi.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE):
        name = call.user.string(user_name, TP_NAME_MAX).decode("latin-1")
    else:
        raise KernelError(EINVAL)
    info: dict[str, int | str] = {"tp_name": name, "cookie": cookie}
    return settle(call, uapi.BPF_LINK_TYPE_RAW_TRACEPOINT, prog, RawTracepointAttach(name, cookie), info)


_TRAMPOLINES = (*ONE_FUNCTION, uapi.BPF_MODIFY_RETURN)


def _tracing_attach(call: Call, prog: BpfProg, target_fd: int, btf_id: int, cookie: int) -> int:
    """bpf_tracing_prog_attach()."""
    allowed = {
        uapi.BPF_PROG_TYPE_TRACING: _TRAMPOLINES,
        uapi.BPF_PROG_TYPE_EXT: (0,),
        uapi.BPF_PROG_TYPE_LSM: (uapi.BPF_LSM_MAC,),
    }.get(prog.type, ())
    if prog.expected_attach_type not in allowed or bool(target_fd) != bool(btf_id):
        raise KernelError(EINVAL)
    target, first = prog.dst_prog, prog.attach_prog
    if target_fd:
        if prog.type != uapi.BPF_PROG_TYPE_EXT:
            raise KernelError(EINVAL)
        target = prog_of_fd(call.bpf, target_fd)
    elif first is not None and target is None:
        raise KernelError(EINVAL, "its target is let go of, and no other is named")
    btf_id = btf_id or prog.attach_btf_id
    if target_fd and target is not None and (target, btf_id) != (prog.dst_prog, prog.attach_btf_id):
        check_new_target(prog, target, btf_id)
    symbol = prog.attach_info.get("attach_func_name")
    request = TracingAttach(prog.expected_attach_type, btf_id, symbol, cookie, target)
    info = {
        "attach_type": prog.expected_attach_type,
        "target_obj_id": target.id if target is not None else KERNEL_BTF_ID,
        "target_btf_id": btf_id,
        "cookie": cookie,
    }
    fd = settle(call, uapi.BPF_LINK_TYPE_TRACING, prog, request, info)
    prog.forget_target()  # the link keeps what it is attached to
    return fd


# ---- links ----


def check_attach_type(call: Call, prog: BpfProg, attach_type: int) -> None:
    """bpf_prog_attach_check_attach_type()."""
    if prog.type in _EXACT_TYPES:
        if attach_type != prog.expected_attach_type:
            raise KernelError(EINVAL)
    elif prog.type == uapi.BPF_PROG_TYPE_CGROUP_SKB:
        if not call.host.capable("net_admin"):
            raise KernelError(EPERM)
        if ATTACH_TYPE_TO_PROG_TYPE.get(attach_type) != prog.type:
            raise KernelError(EINVAL)
        if prog.enforce_expected_attach_type and prog.expected_attach_type != attach_type:
            raise KernelError(EINVAL)
    elif prog.type == uapi.BPF_PROG_TYPE_KPROBE:
        expected = prog.expected_attach_type
        if is_multi(expected) and features.has_attach_type(call.version, expected) and attach_type != expected:
            raise KernelError(EINVAL)


def link_create(call: Call) -> int:
    """BPF_LINK_CREATE."""
    call.check()
    attr = call.attr
    prog = prog_of_fd(call.bpf, attr.signed("prog_fd"))
    attach_type = attr.attach_type
    if not features.has_attach_type(call.version, attach_type):
        raise KernelError(EINVAL)
    check_attach_type(call, prog, attach_type)
    perf_types = (uapi.BPF_PROG_TYPE_PERF_EVENT, uapi.BPF_PROG_TYPE_TRACEPOINT)
    if prog.type in perf_types:
        if attach_type != uapi.BPF_PERF_EVENT:
            raise KernelError(EINVAL)
        return _perf_link(call, prog)
    if prog.type == uapi.BPF_PROG_TYPE_KPROBE:
        if attach_type == uapi.BPF_PERF_EVENT:
            return _perf_link(call, prog)
        if not is_multi(attach_type):
            raise KernelError(EINVAL)
        return _multi_link(call, prog)
    if prog.type == uapi.BPF_PROG_TYPE_EXT:
        return _tracing_attach(call, prog, attr.signed("target_fd"), attr.target_btf_id, attr.tracing_cookie)
    if ATTACH_TYPE_TO_PROG_TYPE.get(attach_type) != prog.type:
        raise KernelError(EINVAL)
    if prog.type in (uapi.BPF_PROG_TYPE_TRACING, uapi.BPF_PROG_TYPE_LSM):
        return _tracing_link(call, prog, attach_type)
    if prog.type in CGROUP_TYPES:
        return publish(call, make_cgroup_link(call, prog), "bpf_link")
    if prog.type in (uapi.BPF_PROG_TYPE_FLOW_DISSECTOR, uapi.BPF_PROG_TYPE_SK_LOOKUP):
        return _netns_link(call, prog)
    if prog.type == uapi.BPF_PROG_TYPE_XDP:
        return _xdp_link(call, prog)
    if prog.type == device.PROGRAM_TYPE:
        return publish(call, device.make_link(call, prog), "bpf_link")
    raise KernelError(EINVAL)


def _tracing_link(call: Call, prog: BpfProg, attach_type: int) -> int:
    attr = call.attr
    if attach_type != prog.expected_attach_type:
        raise KernelError(EINVAL)
    if attach_type == uapi.BPF_TRACE_RAW_TP:
        cookie = attr.tracing_cookie if call.version.at_least(RAW_COOKIES) else 0
        return _raw_tp_attach(call, prog, 0, cookie)
    if attach_type in MANY_FUNCTIONS:
        request = tracing_multi_request(call, prog, attach_type)
        return settle(call, uapi.BPF_LINK_TYPE_TRACING_MULTI, prog, request, {}, TracingMultiLink)
    if attach_type == uapi.BPF_TRACE_ITER:
        return _iter_link(call, prog)
    if attach_type == uapi.BPF_LSM_CGROUP:
        return publish(call, make_cgroup_link(call, prog), "bpf_link")
    return _tracing_attach(call, prog, attr.signed("target_fd"), attr.target_btf_id, attr.tracing_cookie)


def _perf_link(call: Call, prog: BpfProg) -> int:
    """bpf_perf_link_attach()."""
    attr = call.attr
    if attr.flags:
        raise KernelError(EINVAL)
    event = call.host.fd_perf_event(attr.signed("target_fd"))
    request = PerfEventAttach(event, attr.bpf_cookie)
    return settle(call, uapi.BPF_LINK_TYPE_PERF_EVENT, prog, request, {}, PerfLink)


def _multi_link(call: Call, prog: BpfProg) -> int:
    kind, request, flags = multi_request(call, prog)
    attached = call.host.attach_functions(prog, request)
    link = MultiLink(call.bpf, kind, prog, request, attached.detach, {})
    link.flags, link.missed = flags, attached.missed
    return publish(call, link, "bpf_link")


def _iter_link(call: Call, prog: BpfProg) -> int:
    """bpf_iter_link_attach()."""
    request, info = iter_request(call, prog)
    return settle(call, uapi.BPF_LINK_TYPE_ITER, prog, request, info, IterLink)


def _netns_link(call: Call, prog: BpfProg) -> int:
    """netns_bpf_link_create()."""
    attr = call.attr
    if attr.flags:
        raise KernelError(EINVAL)
    namespace = call.host.fd_netns(attr.signed("target_fd"))
    return publish(call, make_netns_link(call.bpf, namespace, attr.attach_type, prog), "bpf_link")


def _xdp_link(call: Call, prog: BpfProg) -> int:
    attr = call.attr
    request = XdpAttach(attr.target_fd, attr.flags)
    return settle(call, uapi.BPF_LINK_TYPE_XDP, prog, request, {"ifindex": attr.target_fd}, XdpLink)


def link_update(call: Call) -> int:
    """BPF_LINK_UPDATE."""
    call.check()
    attr = call.attr
    if attr.flags & ~uapi.BPF_F_REPLACE:
        raise KernelError(EINVAL)
    link = link_of_fd(call, attr.signed("link_fd"))
    new = prog_of_fd(call.bpf, attr.signed("new_prog_fd"))
    old = None
    if attr.flags & uapi.BPF_F_REPLACE:
        old = prog_of_fd(call.bpf, attr.signed("old_prog_fd"))
    elif attr.old_prog_fd:
        raise KernelError(EINVAL)
    link.update(new, old)
    return 0


def link_detach(call: Call) -> int:
    """BPF_LINK_DETACH."""
    call.check()
    link_of_fd(call, call.attr.signed("link_fd")).detach()
    return 0


def iter_create(call: Call) -> int:
    """BPF_ITER_CREATE: a file whose reading runs the program."""
    call.check()
    if call.attr.flags:
        raise KernelError(EINVAL)
    link = link_of_fd(call, call.attr.signed("link_fd"))
    if not isinstance(link, IterLink):
        raise KernelError(EINVAL)
    return call.host.fd_install(call.host.iter_create(link), "bpf_iter", O_CLOEXEC)


# ---- the older way, without links ----


def prog_attach(call: Call) -> int:
    """BPF_PROG_ATTACH: cgroups, sockmaps, flow dissectors."""
    call.check()
    attr = call.attr
    prog_type = _attachable(call, attr.attach_type)
    ordered = prog_type == device.PROGRAM_TYPE  # bpf_mprog_supported()
    of_groups = _of_groups(call, prog_type)
    known = ATTACH_FLAGS | cgroup.order_flags(call) if of_groups else ATTACH_FLAGS
    if attr.attach_flags & ~(device.MPROG_FLAGS if ordered else known):
        raise KernelError(EINVAL)
    if not ordered and not of_groups and (attr.relative_fd or attr.expected_revision):
        raise KernelError(EINVAL)
    prog = prog_of_fd(call.bpf, attr.signed("attach_bpf_fd"))
    if prog.type != prog_type:
        raise KernelError(EINVAL)
    try:
        check_attach_type(call, prog, attr.attach_type)
    except KernelError:
        raise KernelError(EINVAL) from None
    lsm = prog_type == uapi.BPF_PROG_TYPE_LSM and prog.expected_attach_type == uapi.BPF_LSM_CGROUP
    if prog_type in CGROUP_TYPES or lsm:
        return cgroup.attach(call, prog)
    if ordered:
        return device.attach(call, prog)
    if prog_type in sockmap.PROGRAM_TYPES:
        return sockmap.attach(call, prog)
    if prog_type == uapi.BPF_PROG_TYPE_FLOW_DISSECTOR:
        if attr.target_fd or attr.attach_flags or attr.replace_bpf_fd:
            raise KernelError(EINVAL)
        call.bpf.netns.attach(call.host.current_netns(), attr.attach_type, prog)
        return 0
    raise KernelError(EINVAL)


def _attachable(call: Call, attach_type: int) -> int:
    """The program type, if this version has the attach type and attaches it this way."""
    prog_type = (
        ATTACH_TYPE_TO_PROG_TYPE.get(attach_type) if features.has_attach_type(call.version, attach_type) else None
    )
    if prog_type is None:
        raise KernelError(EINVAL)
    return prog_type


def _of_groups(call: Call, prog_type: int) -> bool:
    """Programs that are put in an order where groups have one."""
    return prog_type in CGROUP_TYPES and within(call.version, GROUPS_ORDERED)


def prog_detach(call: Call) -> int:
    """BPF_PROG_DETACH."""
    call.check()
    attr = call.attr
    prog_type = _attachable(call, attr.attach_type)
    if prog_type == device.PROGRAM_TYPE:
        return device.detach(call)
    of_groups = _of_groups(call, prog_type)
    if attr.relative_fd or (attr.attach_flags if of_groups else attr.expected_revision):
        raise KernelError(EINVAL)
    if prog_type == uapi.BPF_PROG_TYPE_FLOW_DISSECTOR:
        return _netns_detach(call, prog_type)
    if prog_type in sockmap.PROGRAM_TYPES:
        return sockmap.detach(call, prog_type)
    if prog_type not in CGROUP_TYPES and prog_type != uapi.BPF_PROG_TYPE_LSM:
        raise KernelError(EINVAL)
    return cgroup.detach(call, prog_type)


def _netns_detach(call: Call, prog_type: int) -> int:
    """netns_bpf_prog_detach()."""
    attr = call.attr
    if attr.target_fd:
        raise KernelError(EINVAL)
    prog = prog_of_fd(call.bpf, attr.signed("attach_bpf_fd"))
    if prog.type != prog_type:
        raise KernelError(EINVAL)
    call.bpf.netns.detach(call.host.current_netns(), attr.attach_type, prog)
    return 0


def _netns_query(call: Call) -> int:
    """netns_bpf_prog_query()."""
    attr = call.attr
    if attr.query_flags:
        raise KernelError(EINVAL)
    netns = call.host.fd_netns(attr.signed("target_fd"))
    return tell_programs(call, list(call.bpf.netns.progs(netns, attr.attach_type)))


def prog_query(call: Call) -> int:
    """BPF_PROG_QUERY: ids of the programs attached to a cgroup or a network namespace."""
    if not call.host.capable("net_admin"):
        raise KernelError(EPERM)
    call.check()
    attr = call.attr
    if attr.query_flags & ~uapi.BPF_F_QUERY_EFFECTIVE:
        raise KernelError(EINVAL)
    prog_type = _attachable(call, attr.attach_type)
    if prog_type == device.PROGRAM_TYPE:
        return device.query(call)
    if prog_type in (uapi.BPF_PROG_TYPE_FLOW_DISSECTOR, uapi.BPF_PROG_TYPE_SK_LOOKUP):
        return _netns_query(call)
    if prog_type in sockmap.PROGRAM_TYPES and call.version.at_least("5.17"):
        return sockmap.query(call)
    if prog_type not in CGROUP_TYPES and attr.attach_type != uapi.BPF_LSM_CGROUP:
        raise KernelError(EINVAL)
    return cgroup.query(call)


# ---- who is attached where ----


def task_fd_query(call: Call) -> int:
    """BPF_TASK_FD_QUERY: what program is behind another task's descriptor."""
    call.check()
    attr = call.attr
    if not call.host.capable("sys_admin"):
        raise KernelError(EPERM)
    if attr.flags:
        raise KernelError(EINVAL)
    obj = _task_fd(call, attr.pid, attr.fd)
    if isinstance(obj, BpfLink):
        if obj.type != uapi.BPF_LINK_TYPE_RAW_TRACEPOINT:
            raise KernelError(ENOTSUPP)
        return _tell(call, PerfEventInfo(obj.prog.id, uapi.BPF_FD_TYPE_RAW_TRACEPOINT, str(obj.info["tp_name"])))
    answer = call.host.perf_event_query(obj)
    if answer is None:
        raise KernelError(ENOTSUPP)
    return _tell(call, answer)


def _task_fd(call: Call, pid: int, fd: int) -> object:
    """fget_task(): ENOENT without the task, EBADF without the descriptor."""
    if pid in (call.host.current_pid(), call.host.current_tgid()):
        return call.host.fd_get(fd)
    if call.host.task_address(pid) is None:
        raise KernelError(ENOENT)
    return call.host.task_fd(pid, fd)


def _address(call: Call, found: PerfEventInfo) -> int:
    """The one number that is told of the place; in older kernels of functions by address only."""
    if found.ref_ctr_offset and call.version.at_least(COUNTERS_TOLD):
        return found.ref_ctr_offset
    return 0 if found.name and call.version.before(ADDRESSES_TOLD) else found.address


def _tell(call: Call, found: PerfEventInfo) -> int:
    """bpf_task_fd_query_copy(): the name as far as there is room."""
    attr, user = call.attr, call.user
    raw = (found.name or "").encode()
    room, buf = attr.buf_len, attr.buf
    user.put(attr.place("buf_len"), 4, len(raw))
    errno = 0
    if room and buf:
        if not raw:
            user.put(buf, 1, 0)
        elif room >= len(raw) + 1:
            user.write(buf, raw + b"\0")
        else:
            user.write(buf, raw[: room - 1] + b"\0")
            errno = ENOSPC
    user.put(attr.place("prog_id"), 4, found.prog_id)
    user.put(attr.place("fd_type"), 4, found.kind)
    user.put(attr.place("probe_offset"), 8, found.offset)
    user.put(attr.place("probe_addr"), 8, _address(call, found))
    if errno:
        raise KernelError(errno)
    return 0
