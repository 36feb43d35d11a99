"""bpf(2) commands on objects in general: ids, information, pins, BTF, statistics.  kernel/bpf/syscall.c, btf.c."""

from __future__ import annotations

from bisect import bisect_right

from arch.abi.errno import E2BIG, EACCES, EBADF, EBADFD, EINVAL, ENOENT, ENOSPC, EOVERFLOW, EPERM
from arch.abi.fcntl import O_CLOEXEC, O_RDWR
from arch.abi.limits import INT_MAX
from arch.abi.version import newest
from arch.errors import KernelError
from bpf import uapi
from bpf.board import BTF_KEPT, KERNEL_BTF_ID, Bpf, BtfObject, IdTable, Object
from bpf.btf import Btf
from bpf.btf.check import btf_parse
from bpf.core.link import BpfLink
from bpf.core.program import BpfProg
from bpf.face import FdObject
from bpf.isa.insn import BPF_CALL, BPF_JMP, BPF_PSEUDO_CALL, Insn, encode, signed32
from bpf.maps.base import BpfMap
from bpf.syscall.attr import Call, check_token, file_mode, new_map_fd, prog_fd
from bpf.syscall.info import Info, begin, end, give, give_text, sized
from bpf.syscall.link_info import link_info
from bpf.verifier.log.log import cut, log_is_valid
from bpf.verifier.rewrite.dump import AX_SHOWN, dump
from bpf.versions.verifier_rules import rules_of

REOPENED_LINK = "bpf-link"  # bpf_link_new_fd(); who makes a link has a "bpf_link"
BTF_MAX_SIZE = 16 << 20


# ---- ids ----


def _next_id(call: Call, table: IdTable[Object]) -> int:
    """bpf_obj_get_next_id()."""
    call.check()
    if call.attr.start_id >= INT_MAX:
        raise KernelError(EINVAL)
    if not call.host.capable("sys_admin"):
        raise KernelError(EPERM)
    following = table.after(call.attr.start_id)
    if following is None:
        raise KernelError(ENOENT)
    call.user.put(call.attr.place("next_id"), 4, following)
    return 0


def prog_get_next_id(call: Call) -> int:
    """BPF_PROG_GET_NEXT_ID."""
    return _next_id(call, call.bpf.progs)


def map_get_next_id(call: Call) -> int:
    """BPF_MAP_GET_NEXT_ID."""
    return _next_id(call, call.bpf.maps)


def btf_get_next_id(call: Call) -> int:
    """BPF_BTF_GET_NEXT_ID."""
    publish_kernel_btf(call)
    return _next_id(call, call.bpf.btfs)


def link_get_next_id(call: Call) -> int:
    """BPF_LINK_GET_NEXT_ID."""
    return _next_id(call, call.bpf.links)


def _by_id(call: Call, table: IdTable[Object]) -> Object:
    if not call.host.capable("sys_admin"):
        raise KernelError(EPERM)
    found = table.objects.get(call.attr.start_id)
    if found is None:
        raise KernelError(ENOENT)
    return found


def prog_get_fd_by_id(call: Call) -> int:
    """BPF_PROG_GET_FD_BY_ID."""
    call.check()
    prog = _by_id(call, call.bpf.progs)
    prog.get()
    return prog_fd(call, prog)


def map_get_fd_by_id(call: Call) -> int:
    """BPF_MAP_GET_FD_BY_ID."""
    call.check()
    flags = call.attr.open_flags
    if flags & ~(uapi.BPF_F_RDONLY | uapi.BPF_F_WRONLY):
        raise KernelError(EINVAL)
    if not call.host.capable("sys_admin"):
        raise KernelError(EPERM)
    mode = file_mode(flags)
    target = _by_id(call, call.bpf.maps)
    target.get_user()
    return new_map_fd(call, target, mode)


def btf_get_fd_by_id(call: Call) -> int:
    """BPF_BTF_GET_FD_BY_ID."""
    call.check()
    publish_kernel_btf(call)
    found = _by_id(call, call.bpf.btfs)
    found.get()
    return call.host.fd_install(found, "btf", O_CLOEXEC)


def link_get_fd_by_id(call: Call) -> int:
    """BPF_LINK_GET_FD_BY_ID."""
    call.check()
    found = _by_id(call, call.bpf.links)
    found.get()
    return call.host.fd_install(found, REOPENED_LINK, O_CLOEXEC)


# ---- BTF ----


def btf_load(call: Call) -> int:
    """BPF_BTF_LOAD."""
    call.check()
    check_token(call, "btf_flags", "btf_token_fd")
    if not call.bpf.capable("bpf"):
        raise KernelError(EPERM)
    attr = call.attr
    if attr.btf_size > BTF_MAX_SIZE:
        raise KernelError(E2BIG)
    if not log_is_valid(call.version, attr.btf_log_level, attr.btf_log_size, attr.btf_log_buf):
        raise KernelError(EINVAL)
    data = call.user.read(attr.btf, attr.btf_size)
    btf, errno, log = _check_btf(data, call)
    if call.attr.has("log_true_size", call.version):
        call.user.put(attr.place("log_true_size"), 4, len(log) + 1 if log and attr.btf_log_level else 0)
    if attr.btf_log_buf:
        if len(log) >= attr.btf_log_size:
            rolls, limit = rules_of(call.version).log_rolls, attr.btf_log_size - 1
            log = cut(log, attr.btf_log_level, limit) if rolls else log[:limit]
            errno = ENOSPC if rolls else errno or ENOSPC
        call.log_user.write(attr.btf_log_buf, log.encode("latin-1") + b"\0")
    if errno or btf is None:
        raise KernelError(errno)
    publish_kernel_btf(call)
    call.bpf.mem.charge(BTF_KEPT * len(data))
    new = BtfObject(call.bpf, btf, data)
    new.id = call.bpf.btfs.add(new)
    new.get()
    return call.host.fd_install(new, "btf", O_CLOEXEC)


def token_create(call: Call) -> int:
    """BPF_TOKEN_CREATE.  EINVAL, and why there is none."""
    call.check()
    if call.attr.flags:
        raise KernelError(EINVAL)
    raise call.host.token_refused(call.attr.signed("bpffs_fd"))


def publish_kernel_btf(call: Call) -> None:
    """The kernel's own BTF is an object, too: id 1, "vmlinux"."""
    btf = call.host.vmlinux_btf
    if btf is None or KERNEL_BTF_ID in call.bpf.btfs.objects:
        return
    new = BtfObject(call.bpf, btf, b"", is_kernel=True, name="vmlinux")
    new.id = call.bpf.btfs.add(new)
    new.get()


def _check_btf(data: bytes, call: Call) -> tuple[Btf | None, int, str]:
    """btf_parse(): the parsed BTF or an errno, and the log."""
    want_log = bool(call.attr.btf_log_level)
    ret, log = btf_parse(data, call.user.byteorder, call.version, want_log=want_log)
    return (None if ret else Btf.parse(data)), -ret, log


# ---- pins ----


def obj_pin(call: Call) -> int:
    """BPF_OBJ_PIN: maps, programs and (5.8) links."""
    call.check()
    attr = call.attr
    if attr.file_flags:
        raise KernelError(EINVAL)
    try:
        obj = call.host.fd_get(attr.signed("bpf_fd"))
    except KernelError:
        raise KernelError(EINVAL) from None
    if isinstance(obj, BpfMap):
        obj.get_user()
        drop = obj.put_user
    elif isinstance(obj, BpfProg) or (isinstance(obj, BpfLink) and call.version.at_least("5.8")):
        obj.get()
        drop = obj.put
    else:
        raise KernelError(EINVAL)
    try:
        call.host.bpffs_pin(attr.pathname, obj, obj.anon_name)
    except KernelError:
        drop()
        raise
    return 0


def obj_get(call: Call) -> int:
    """BPF_OBJ_GET."""
    call.check()
    attr = call.attr
    if attr.bpf_fd or attr.file_flags & ~(uapi.BPF_F_RDONLY | uapi.BPF_F_WRONLY):
        raise KernelError(EINVAL)
    mode = file_mode(attr.file_flags)
    obj = call.host.bpffs_get(attr.pathname, mode)
    if isinstance(obj, BpfMap):
        obj.get_user()
        return new_map_fd(call, obj, mode)
    if isinstance(obj, BpfProg):
        obj.get()
        return prog_fd(call, obj)
    if isinstance(obj, BpfLink):
        if mode != O_RDWR:
            raise KernelError(EINVAL)
        obj.get()
        return call.host.fd_install(obj, REOPENED_LINK, O_CLOEXEC)
    raise KernelError(EACCES)


# ---- information ----

# struct bpf_prog_info, bpf_map_info, bpf_btf_info, bpf_link_info of 6.1: name: (offset, size)
PROG_INFO_SIZE, PROG_INFO_KNOWN = 232, 228
PROG_INFO = {
    "type": (0, 4),
    "id": (4, 4),
    "tag": (8, 8),
    "jited_prog_len": (16, 4),
    "xlated_prog_len": (20, 4),
    "jited_prog_insns": (24, 8),
    "xlated_prog_insns": (32, 8),
    "load_time": (40, 8),
    "created_by_uid": (48, 4),
    "nr_map_ids": (52, 4),
    "map_ids": (56, 8),
    "name": (64, 16),
    "ifindex": (80, 4),
    "gpl_compatible": (84, 4),
    "nr_jited_ksyms": (104, 4),
    "nr_jited_func_lens": (108, 4),
    "jited_ksyms": (112, 8),
    "jited_func_lens": (120, 8),
    "btf_id": (128, 4),
    "func_info_rec_size": (132, 4),
    "func_info": (136, 8),
    "nr_func_info": (144, 4),
    "nr_line_info": (148, 4),
    "line_info": (152, 8),
    "jited_line_info": (160, 8),
    "nr_jited_line_info": (168, 4),
    "line_info_rec_size": (172, 4),
    "jited_line_info_rec_size": (176, 4),
    "nr_prog_tags": (180, 4),
    "prog_tags": (184, 8),
    "run_time_ns": (192, 8),
    "run_cnt": (200, 8),
    "recursion_misses": (208, 8),
    "verified_insns": (216, 4),
    "attach_btf_obj_id": (220, 4),
    "attach_btf_id": (224, 4),
}
MAP_INFO_SIZE = 88
MAP_INFO = {
    "type": (0, 4),
    "id": (4, 4),
    "key_size": (8, 4),
    "value_size": (12, 4),
    "max_entries": (16, 4),
    "map_flags": (20, 4),
    "name": (24, 16),
    "ifindex": (40, 4),
    "btf_vmlinux_value_type_id": (44, 4),
    "btf_id": (64, 4),
    "btf_key_type_id": (68, 4),
    "btf_value_type_id": (72, 4),
    "map_extra": (80, 8),
}
BTF_INFO_SIZE = 32
BTF_INFO = {
    "btf": (0, 8),
    "btf_size": (8, 4),
    "id": (12, 4),
    "name": (16, 8),
    "name_len": (24, 4),
    "kernel_btf": (28, 4),
}

# What earlier versions' structs were cut at.
PROG_INFO_SIZES = (
    ("5.19", 228),
    ("5.17", 220),
    ("5.12", 216),
    ("5.1", 208),
    ("5.0", 192),
    ("4.18", 128),
    ("4.15", 104),
    ("4.13", 40),
)
MAP_INFO_SIZES = (("5.16", 88), ("5.6", 80), ("4.18", 76), ("4.15", 64), ("4.13", 24))
BTF_INFO_SIZES = (("5.11", 32), ("4.18", 16))


def obj_get_info_by_fd(call: Call) -> int:
    """BPF_OBJ_GET_INFO_BY_FD."""
    call.check()
    try:
        obj = call.host.fd_get(call.attr.signed("bpf_fd"))
    except KernelError:
        raise KernelError(EBADFD if call.version.at_least("4.18") else EBADF) from None
    if isinstance(obj, BpfProg):
        return _prog_info(call, obj)
    if isinstance(obj, BpfMap):
        return _map_info(call, obj)
    if isinstance(obj, BtfObject):
        return _btf_info(call, obj)
    if isinstance(obj, BpfLink):
        return link_info(call, obj)
    raise KernelError(EINVAL)


def _prog_info(call: Call, prog: BpfProg) -> int:
    """bpf_prog_get_info_by_fd()."""
    known = sized(PROG_INFO_SIZES, call.version)
    info, length = begin(call, known, PROG_INFO_SIZE if known == PROG_INFO_KNOWN else known, PROG_INFO, read=True)
    info.raw.extend(bytes(PROG_INFO_SIZE - len(info.raw)))
    order = call.user.byteorder

    def u32(value: int) -> bytes:
        return value.to_bytes(4, order)

    info["type"], info["id"], info["load_time"] = prog.type, prog.id, prog.load_time_ns
    info["created_by_uid"], info["gpl_compatible"] = prog.uid, int(prog.gpl_compatible)
    info["tag"], info["name"] = prog.tag, prog.name.encode()
    give(call, info, "nr_map_ids", "map_ids", [u32(used.id) for used in prog.used_maps])
    _check_record_sizes(info)
    info["run_time_ns"], info["run_cnt"] = prog.run_time_ns, prog.run_cnt
    info["recursion_misses"], info["verified_insns"] = prog.recursion_misses, prog.verified_insns
    info["btf_id"] = prog.btf_object.id if prog.btf_object is not None else 0
    if not call.bpf.capable("bpf"):
        for name in ("jited_prog_len", "xlated_prog_len", "nr_jited_ksyms", "nr_jited_func_lens"):
            info[name] = 0
        for name in ("nr_func_info", "nr_line_info", "nr_jited_line_info"):
            info[name] = 0
        return end(call, info, length)
    _give_xlated(call, info, prog)
    _give_jited(call, info, prog)
    info["attach_btf_id"] = prog.attach_btf_id
    target = prog.dst_prog.btf_object if prog.dst_prog is not None else None
    kernel = KERNEL_BTF_ID if prog.attach_btf_id and prog.attach_prog is None else 0
    info["attach_btf_obj_id"] = target.id if target is not None else kernel
    give(call, info, "nr_func_info", "func_info", [b"".join(map(u32, row)) for row in prog.func_info])
    give(call, info, "nr_line_info", "line_info", [b"".join(map(u32, row)) for row in prog.line_info])
    give(call, info, "nr_prog_tags", "prog_tags", prog.tags())
    return end(call, info, length)


def _check_record_sizes(info: Info) -> None:
    """set_info_rec_size()."""
    for count, size, expected in (
        ("nr_func_info", "func_info_rec_size", 8),
        ("nr_line_info", "line_info_rec_size", 16),
        ("nr_jited_line_info", "jited_line_info_rec_size", 8),
    ):
        if (info[count] or info[size]) and info[size] != expected:
            raise KernelError(EINVAL)
        info[size] = expected


def _far_call(call: Call, prog: BpfProg, index: int) -> Insn:
    """BPF_CALL_IMM(): a call of a kernel function shows how far it is from __bpf_call_base, from which tools know its name."""
    insn = prog.insns[index]
    if insn.code != BPF_JMP | BPF_CALL or insn.src_reg == BPF_PSEUDO_CALL:
        return insn
    symbols = call.host.symbols
    base, address = symbols.address("__bpf_call_base"), symbols.address(prog.callee(index))
    return insn if base is None or address is None else insn.replace(imm=signed32(address - base))


def _give_xlated(call: Call, info: Info, prog: BpfProg) -> None:
    insns = [_far_call(call, prog, index) for index in range(len(prog.insns))]
    insns = dump(insns, prog.map_infos, True, prog.verdict.subprog_starts, newest(AX_SHOWN, call.version))
    data = encode(insns, call.user.byteorder)
    room, info["xlated_prog_len"] = info["xlated_prog_len"], len(data)
    if room:
        call.user.write(info["xlated_prog_insns"], data[:room])


def _give_jited(call: Call, info: Info, prog: BpfProg) -> None:
    """Machine code, its functions, and where in it each line begins."""
    order, codes = call.user.byteorder, prog.machine_code
    text = b"".join(code.text for code in codes)
    room, info["jited_prog_len"] = info["jited_prog_len"], len(text)
    if room and text:
        call.user.write(info["jited_prog_insns"], text[:room])
    starts = (prog.verdict.subprog_starts if prog.jited else ()) or (0,)  # the compiler cuts it into functions
    places = [prog.places.address(start) for start in starts]
    lengths = [len(code.text) for code in codes] or [0 for _ in starts]
    give(call, info, "nr_jited_ksyms", "jited_ksyms", [each.to_bytes(8, order) for each in places])
    give(call, info, "nr_jited_func_lens", "jited_func_lens", [each.to_bytes(4, order) for each in lengths])
    lines = []
    for insn_off, *_ in prog.line_info if codes else ():
        function = bisect_right(starts, insn_off) - 1
        first = insn_off - starts[function]
        lines.append(places[function] + (codes[function].starts[first] if first else 0))
    give(call, info, "nr_jited_line_info", "jited_line_info", [each.to_bytes(8, order) for each in lines])


def _map_info(call: Call, target: BpfMap) -> int:
    """bpf_map_get_info_by_fd()."""
    known = sized(MAP_INFO_SIZES, call.version)
    info, length = begin(call, known, known, MAP_INFO, read=False)
    info.raw.extend(bytes(MAP_INFO_SIZE - len(info.raw)))
    info["type"], info["id"], info["key_size"] = target.map_type, target.id, target.key_size
    info["value_size"], info["max_entries"] = target.value_size, target.max_entries
    info["map_flags"], info["map_extra"] = target.map_flags, target.map_extra
    info["name"] = target.name.encode()
    if target.btf is not None:
        info["btf_id"] = target.btf_object.id if target.btf_object is not None else 0
        info["btf_key_type_id"], info["btf_value_type_id"] = target.btf_key_type_id, target.btf_value_type_id
    info["btf_vmlinux_value_type_id"] = target.btf_vmlinux_value_type_id
    return end(call, info, length)


def _btf_info(call: Call, obj: BtfObject) -> int:
    """btf_get_info_by_fd()."""
    known = sized(BTF_INFO_SIZES, call.version)
    info, length = begin(call, known, known, BTF_INFO, read=True)
    info.raw.extend(bytes(BTF_INFO_SIZE - len(info.raw)))
    room = info["btf_size"]
    info["id"], info["btf_size"] = obj.id, len(obj.data)
    if room:
        call.user.write(info["btf"], obj.data[:room])
    info["kernel_btf"] = int(obj.is_kernel)
    errno = give_text(call, info, "name", "name_len", obj.name, empty_ok=True)
    end(call, info, length)
    if errno:
        raise KernelError(errno)
    return 0


# ---- statistics ----


class StatsSwitch(FdObject):
    """What BPF_ENABLE_STATS gives: run times are counted while it is open."""

    anon_name = "bpf-stats"

    def __init__(self, bpf: Bpf) -> None:
        self.bpf = bpf
        bpf.stats_enabled += 1

    def release(self) -> None:
        """Closed."""
        self.bpf.stats_enabled -= 1


def enable_stats(call: Call) -> int:
    """BPF_ENABLE_STATS."""
    call.check()
    if not call.host.capable("sys_admin"):
        raise KernelError(EPERM)
    if call.attr.type != uapi.BPF_STATS_RUN_TIME:
        raise KernelError(EINVAL)
    if call.bpf.stats_enabled > INT_MAX // 2:
        raise KernelError(EOVERFLOW)
    switch = StatsSwitch(call.bpf)
    try:
        return call.host.fd_install(switch, "bpf-stats", O_CLOEXEC)
    except KernelError:
        switch.release()
        raise
