"""BPF_LINK_CREATE for many functions at once: bpf_kprobe_multi_link_attach(), bpf_uprobe_multi_link_attach() of kernel/trace/bpf_trace.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import E2BIG, EINVAL, EOPNOTSUPP, ESRCH
from arch.abi.limits import INT_MAX, PATH_MAX
from arch.errors import KernelError
from bpf import uapi
from bpf.btf.codec import Kind
from bpf.core.attach_prog import check_new_functions
from bpf.core.program import BpfProg
from bpf.face import FunctionsAttach, KprobeMultiAttach, TracingMultiAttach, UprobeMultiAttach
from bpf.syscall.attr import Call
from bpf.versions.attach_groups import is_session

MAX_MULTI = 1 << 20  # functions
FILES_BY_DESCRIPTOR = "7.2"
NO_LINK_FLAGS = "6.17"  # flags of the link itself are refused
S64_SIGN = 1 << 63


def is_multi(attach_type: int) -> bool:
    """A program for it is attached to many functions by one link."""
    return attach_type in _MAKERS


def multi_request(call: Call, prog: BpfProg) -> tuple[int, FunctionsAttach, int]:
    """(type of the link, what it asks for, its flags) for a program of such a type."""
    return _MAKERS[call.attr.attach_type](call, prog)


def _kernel(call: Call, prog: BpfProg) -> tuple[int, FunctionsAttach, int]:
    """bpf_kprobe_multi_link_attach(): by names or by addresses, not both."""
    attr, user = call.attr, call.user
    if not call.bpf.built_with("FPROBE"):
        raise KernelError(EOPNOTSUPP, "the kernel is built without CONFIG_FPROBE")
    if prog.expected_attach_type != attr.attach_type:
        raise KernelError(EINVAL)
    if prog.writes_registers:
        raise KernelError(EINVAL, "only uprobe programs may write registers")
    flags, count = attr.kprobe_flags, attr.cnt
    if flags & ~uapi.BPF_F_KPROBE_MULTI_RETURN or _flagged(call):
        raise KernelError(EINVAL)
    if bool(attr.addrs) == bool(attr.syms) or not count:
        raise KernelError(EINVAL)
    if count > MAX_MULTI:
        raise KernelError(E2BIG)
    cookies = [user.get(attr.cookies + 8 * i, 8) for i in range(count)] if attr.cookies else [0] * count
    if attr.addrs:
        addresses = [user.get(attr.addrs + 8 * i, 8) for i in range(count)]
    else:
        names = [_name(call, user.get(attr.syms + 8 * i, 8)) for i in range(count)]
        addresses = [_symbol(call, name) for name in names]
        if len(set(names)) < count and call.version.at_least("5.19"):
            raise KernelError(ESRCH, "ftrace_lookup_symbols() finds each name once")
    session = is_session(prog.expected_attach_type)
    is_return = bool(flags & uapi.BPF_F_KPROBE_MULTI_RETURN)
    request = KprobeMultiAttach(addresses, cookies, is_return, session, named=not attr.addrs)
    return uapi.BPF_LINK_TYPE_KPROBE_MULTI, request, flags


def tracing_multi_request(call: Call, prog: BpfProg, attach_type: int) -> TracingMultiAttach:
    """bpf_tracing_multi_attach(): functions of the kernel by their BTF ids, none of them twice.  EINVAL, E2BIG, EFAULT."""
    attr, user, btf = call.attr, call.user, call.host.vmlinux_btf
    count = attr.multi_cnt
    if attr.flags or attr.target_fd or not attr.multi_ids or not count or btf is None:
        raise KernelError(EINVAL)
    if count > MAX_MULTI:
        raise KernelError(E2BIG)
    ids = [user.get(attr.multi_ids + 4 * i, 4) for i in range(count)]
    cookies = [user.get(attr.multi_cookies + 8 * i, 8) if attr.multi_cookies else 0 for i in range(count)]
    if len(set(ids)) < count:
        raise KernelError(EINVAL, "a function twice")
    if any(not 0 < number < len(btf.types) or btf.types[number].kind is not Kind.FUNC for number in ids):
        raise KernelError(EINVAL, "no function")
    check_new_functions(prog, ids)
    return TracingMultiAttach(
        attach_type, [(number, btf.types[number].name, cookie) for number, cookie in zip(ids, cookies, strict=True)]
    )


def _flagged(call: Call) -> bool:
    return bool(call.attr.flags) and call.version.at_least(NO_LINK_FLAGS)


def _name(call: Call, address: int) -> str:
    return call.user.string(address, 511).decode("latin-1")


def _symbol(call: Call, name: str) -> int:
    """Of one name of the list; ESRCH if there is no such function."""
    found = call.host.symbols.address(name)
    if found is None:
        raise KernelError(ESRCH)
    return found


def _user(call: Call, prog: BpfProg) -> tuple[int, FunctionsAttach, int]:
    """bpf_uprobe_multi_link_attach(): places in a file, perhaps of one process only."""
    attr, user = call.attr, call.user
    if prog.expected_attach_type != attr.attach_type:
        raise KernelError(EINVAL)
    known = uapi.BPF_F_UPROBE_MULTI_RETURN
    if call.version.at_least(FILES_BY_DESCRIPTOR):
        known |= uapi.BPF_F_UPROBE_MULTI_PATH_FD
    flags, count, pid = attr.uprobe_flags, attr.uprobe_cnt, attr.uprobe_pid
    by_fd = flags & uapi.BPF_F_UPROBE_MULTI_PATH_FD
    if flags & ~known or _flagged(call) or bool(attr.path) == bool(by_fd) or (attr.path_fd and not by_fd):
        raise KernelError(EINVAL)
    if not attr.offsets or not count or pid > INT_MAX:
        raise KernelError(EINVAL)
    if count > MAX_MULTI:
        raise KernelError(E2BIG)
    path = None if by_fd else user.string(attr.path, PATH_MAX).decode("utf-8", "surrogateescape")
    file = call.host.probed_file(path, attr.signed("path_fd"))
    process = call.host.process_of_pid(pid) if pid else None
    places = [_place(call, i) for i in range(count)]
    is_return, session = bool(flags & uapi.BPF_F_UPROBE_MULTI_RETURN), is_session(prog.expected_attach_type)
    return uapi.BPF_LINK_TYPE_UPROBE_MULTI, UprobeMultiAttach(file, places, process, is_return, session), flags


def _place(call: Call, i: int) -> tuple[int, int, int]:
    """(offset, offset of the counter, cookie) of one of them."""
    attr, user = call.attr, call.user
    offset = user.get(attr.offsets + 8 * i, 8)
    if offset & S64_SIGN:
        raise KernelError(EINVAL)
    counter = user.get(attr.ref_ctr_offsets + 8 * i, 8) if attr.ref_ctr_offsets else 0
    if counter & S64_SIGN:
        raise KernelError(EINVAL)
    return offset, counter, user.get(attr.uprobe_cookies + 8 * i, 8) if attr.uprobe_cookies else 0


_MAKERS: dict[int, Callable[[Call, BpfProg], tuple[int, FunctionsAttach, int]]] = {
    uapi.BPF_TRACE_KPROBE_MULTI: _kernel,
    uapi.BPF_TRACE_KPROBE_SESSION: _kernel,
    uapi.BPF_TRACE_UPROBE_MULTI: _user,
    uapi.BPF_TRACE_UPROBE_SESSION: _user,
}
