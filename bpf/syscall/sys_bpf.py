"""bpf(2): one door, raw attributes, the kernel's order of checks.  kernel/bpf/syscall.c:__sys_bpf().

`bpf(machine, cmd, uattr, size)` gives what the system call returns.  The commands are in map.py, prog.py, object.py and
link.py; where their members are is in attr.py; which version has which is in bpf/versions/data.py.
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EFAULT, EINVAL, EPERM
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf
from bpf.syscall import link, map, object, prog
from bpf.syscall.attr import LAYOUTS, Attr, Call, Command, User, attr_size
from bpf.syscall.test_functions import Steps, drive
from bpf.versions import features

COMMANDS: dict[int, Command] = {
    uapi.BPF_MAP_CREATE: map.map_create,
    uapi.BPF_MAP_LOOKUP_ELEM: map.map_lookup_elem,
    uapi.BPF_MAP_UPDATE_ELEM: map.map_update_elem,
    uapi.BPF_MAP_DELETE_ELEM: map.map_delete_elem,
    uapi.BPF_MAP_GET_NEXT_KEY: map.map_get_next_key,
    uapi.BPF_PROG_LOAD: prog.prog_load,
    uapi.BPF_OBJ_PIN: object.obj_pin,
    uapi.BPF_OBJ_GET: object.obj_get,
    uapi.BPF_PROG_ATTACH: link.prog_attach,
    uapi.BPF_PROG_DETACH: link.prog_detach,
    uapi.BPF_PROG_TEST_RUN: prog.prog_test_run,
    uapi.BPF_PROG_GET_NEXT_ID: object.prog_get_next_id,
    uapi.BPF_MAP_GET_NEXT_ID: object.map_get_next_id,
    uapi.BPF_PROG_GET_FD_BY_ID: object.prog_get_fd_by_id,
    uapi.BPF_MAP_GET_FD_BY_ID: object.map_get_fd_by_id,
    uapi.BPF_OBJ_GET_INFO_BY_FD: object.obj_get_info_by_fd,
    uapi.BPF_PROG_QUERY: link.prog_query,
    uapi.BPF_RAW_TRACEPOINT_OPEN: link.raw_tracepoint_open,
    uapi.BPF_BTF_LOAD: object.btf_load,
    uapi.BPF_BTF_GET_FD_BY_ID: object.btf_get_fd_by_id,
    uapi.BPF_TASK_FD_QUERY: link.task_fd_query,
    uapi.BPF_MAP_LOOKUP_AND_DELETE_ELEM: map.map_lookup_and_delete_elem,
    uapi.BPF_MAP_FREEZE: map.map_freeze,
    uapi.BPF_BTF_GET_NEXT_ID: object.btf_get_next_id,
    uapi.BPF_MAP_LOOKUP_BATCH: map.map_batch,
    uapi.BPF_MAP_LOOKUP_AND_DELETE_BATCH: map.map_batch,
    uapi.BPF_MAP_UPDATE_BATCH: map.map_batch,
    uapi.BPF_MAP_DELETE_BATCH: map.map_batch,
    uapi.BPF_LINK_CREATE: link.link_create,
    uapi.BPF_LINK_UPDATE: link.link_update,
    uapi.BPF_LINK_GET_FD_BY_ID: object.link_get_fd_by_id,
    uapi.BPF_LINK_GET_NEXT_ID: object.link_get_next_id,
    uapi.BPF_ENABLE_STATS: object.enable_stats,
    uapi.BPF_ITER_CREATE: link.iter_create,
    uapi.BPF_LINK_DETACH: link.link_detach,
    uapi.BPF_PROG_BIND_MAP: prog.prog_bind_map,
    uapi.BPF_TOKEN_CREATE: object.token_create,
}
OBJECT_MAKERS = (uapi.BPF_MAP_CREATE, uapi.BPF_PROG_LOAD)


def bpf(system: Bpf, cmd: int, uattr: int, size: int) -> int:
    """The system call: a descriptor, 0, or minus an errno."""
    try:
        answer = _bpf(system, cmd, uattr, size)
        return answer if isinstance(answer, int) else drive(answer, system.mem)
    except KernelError as error:
        return -error.errno


def bpf_steps(system: Bpf, cmd: int, uattr: int, size: int) -> int | Steps:
    """The same for a kernel that makes the calls which some commands need.  KernelError."""
    return _bpf(system, cmd, uattr, size)


def bpf_from_kernel(system: Bpf, cmd: int, attr: int, size: int) -> int:
    """The same for a program of type SYSCALL, whose attributes are in kernel memory."""
    try:
        answer = _bpf(system, cmd, attr, size, User(system.mem, system.mem.byteorder))
        return answer if isinstance(answer, int) else drive(answer, system.mem)
    except KernelError as error:
        return -error.errno


def _bpf(system: Bpf, cmd: int, uattr: int, size: int, memory: User | None = None) -> int | Steps:
    host = system.host
    user = memory or User(host.user_mem(), host.mem.byteorder)
    _check_permission(system, cmd)
    known = attr_size(system.version)
    size &= 0xFFFFFFFF
    if system.version.before("4.4"):
        _check_size_4_1(user, uattr, known, size)
    else:
        user.check_tail_zero(uattr, known, size)
    raw = user.read(uattr, min(size, known)).ljust(known, b"\0")
    command = COMMANDS.get(cmd) if features.has_command(system.version, cmd) else None
    if command is None:
        raise KernelError(EINVAL)
    return command(Call(system, cmd, Attr(raw, LAYOUTS[cmd], host.mem.byteorder, uattr, size), user))


def _check_size_4_1(user: User, uattr: int, known: int, size: int) -> None:
    """In the order of 4.1: not a user address at all, too large, then the tail."""
    if user.mem is None:
        raise KernelError(EFAULT)
    if size > PAGE_SIZE:
        raise KernelError(E2BIG)
    user.check_tail_zero(uattr, known, size)


def _check_permission(system: Bpf, cmd: int) -> None:
    """4.1: CAP_SYS_ADMIN for all.  4.4: unless unprivileged use is allowed.  5.8: only what makes objects."""
    version = system.version
    if version.before("4.4"):
        if not system.host.capable("sys_admin"):
            raise KernelError(EPERM)
    elif version.before("5.8"):
        if system.unprivileged_bpf_disabled and not system.host.capable("sys_admin"):
            raise KernelError(EPERM)
    elif cmd in OBJECT_MAKERS or version.before("5.19"):
        if system.unprivileged_bpf_disabled and not system.capable("bpf"):
            raise KernelError(EPERM)
