"""bpf(2): one door, raw attributes, the kernel's order of checks.  kernel/bpf/syscall.c:__sys_bpf().

`bpf(host, cmd, uattr, size)` gives what the system call returns.  The commands are in cmd_map.py, cmd_prog.py,
cmd_object.py and cmd_link.py; where their members are is in attr.py; which version has which is in features_data.py.
"""

from __future__ import annotations

from typing import Any

from arch.abi.errno import E2BIG, EFAULT, EINVAL, EPERM
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from bpf import uapi
from bpf.core.system import Bpf
from bpf.syscall import cmd_link, cmd_map, cmd_object, cmd_prog
from bpf.syscall.attr import LAYOUTS, Attr, Call, Command, User, attr_size
from bpf.versions import features

COMMANDS: dict[int, Command] = {
    uapi.BPF_MAP_CREATE: cmd_map.map_create,
    uapi.BPF_MAP_LOOKUP_ELEM: cmd_map.map_lookup_elem,
    uapi.BPF_MAP_UPDATE_ELEM: cmd_map.map_update_elem,
    uapi.BPF_MAP_DELETE_ELEM: cmd_map.map_delete_elem,
    uapi.BPF_MAP_GET_NEXT_KEY: cmd_map.map_get_next_key,
    uapi.BPF_PROG_LOAD: cmd_prog.prog_load,
    uapi.BPF_OBJ_PIN: cmd_object.obj_pin,
    uapi.BPF_OBJ_GET: cmd_object.obj_get,
    uapi.BPF_PROG_ATTACH: cmd_link.prog_attach,
    uapi.BPF_PROG_DETACH: cmd_link.prog_detach,
    uapi.BPF_PROG_TEST_RUN: cmd_prog.prog_test_run,
    uapi.BPF_PROG_GET_NEXT_ID: cmd_object.prog_get_next_id,
    uapi.BPF_MAP_GET_NEXT_ID: cmd_object.map_get_next_id,
    uapi.BPF_PROG_GET_FD_BY_ID: cmd_object.prog_get_fd_by_id,
    uapi.BPF_MAP_GET_FD_BY_ID: cmd_object.map_get_fd_by_id,
    uapi.BPF_OBJ_GET_INFO_BY_FD: cmd_object.obj_get_info_by_fd,
    uapi.BPF_PROG_QUERY: cmd_link.prog_query,
    uapi.BPF_RAW_TRACEPOINT_OPEN: cmd_link.raw_tracepoint_open,
    uapi.BPF_BTF_LOAD: cmd_object.btf_load,
    uapi.BPF_BTF_GET_FD_BY_ID: cmd_object.btf_get_fd_by_id,
    uapi.BPF_TASK_FD_QUERY: cmd_link.task_fd_query,
    uapi.BPF_MAP_LOOKUP_AND_DELETE_ELEM: cmd_map.map_lookup_and_delete_elem,
    uapi.BPF_MAP_FREEZE: cmd_map.map_freeze,
    uapi.BPF_BTF_GET_NEXT_ID: cmd_object.btf_get_next_id,
    uapi.BPF_MAP_LOOKUP_BATCH: cmd_map.map_batch,
    uapi.BPF_MAP_LOOKUP_AND_DELETE_BATCH: cmd_map.map_batch,
    uapi.BPF_MAP_UPDATE_BATCH: cmd_map.map_batch,
    uapi.BPF_MAP_DELETE_BATCH: cmd_map.map_batch,
    uapi.BPF_LINK_CREATE: cmd_link.link_create,
    uapi.BPF_LINK_UPDATE: cmd_link.link_update,
    uapi.BPF_LINK_GET_FD_BY_ID: cmd_object.link_get_fd_by_id,
    uapi.BPF_LINK_GET_NEXT_ID: cmd_object.link_get_next_id,
    uapi.BPF_ENABLE_STATS: cmd_object.enable_stats,
    uapi.BPF_ITER_CREATE: cmd_link.iter_create,
    uapi.BPF_LINK_DETACH: cmd_link.link_detach,
    uapi.BPF_PROG_BIND_MAP: cmd_prog.prog_bind_map,
}
OBJECT_MAKERS = (uapi.BPF_MAP_CREATE, uapi.BPF_PROG_LOAD)


def bpf(host: Any, cmd: int, uattr: int, size: int) -> int:
    """The system call: a descriptor, 0, or minus an errno."""
    try:
        return _bpf(host, cmd, uattr, size)
    except KernelError as error:
        return -error.errno


def bpf_from_kernel(host: Any, cmd: int, attr: int, size: int) -> int:
    """The same for a program of type SYSCALL, whose attributes are in kernel memory."""
    try:
        return _bpf(host, cmd, attr, size, User(host.mem, host.mem.byteorder))
    except KernelError as error:
        return -error.errno


def _bpf(host: Any, cmd: int, uattr: int, size: int, memory: User | None = None) -> int:
    system: Bpf = host.bpf
    user = memory or User(host.user_mem(), host.mem.byteorder)
    _check_permission(system, cmd)
    known = attr_size(system.version)
    size &= 0xFFFFFFFF
    if system.version < (4, 4):
        _check_size_4_1(user, uattr, known, size)
    else:
        user.check_tail_zero(uattr, known, size)
    raw = user.read(uattr, min(size, known)).ljust(known, b"\0")
    command = COMMANDS.get(cmd) if features.has_command(system.version, cmd) else None
    if command is None:
        raise KernelError(EINVAL)
    return command(Call(system, cmd, Attr(raw, LAYOUTS[cmd], host.mem.byteorder, uattr), user))


def _check_size_4_1(user: User, uattr: int, known: int, size: int) -> None:
    """v41.md 1: not a user address at all, too large, then the tail."""
    if user.mem is None:
        raise KernelError(EFAULT)
    if size > PAGE_SIZE:
        raise KernelError(E2BIG)
    user.check_tail_zero(uattr, known, size)


def _check_permission(system: Bpf, cmd: int) -> None:
    """4.1: CAP_SYS_ADMIN for all.  4.4: unless unprivileged use is allowed.  5.8: only what makes objects."""
    version = system.version
    if version < (4, 4):
        if not system.host.capable("sys_admin"):
            raise KernelError(EPERM)
    elif version < (5, 8):
        if system.unprivileged_bpf_disabled and not system.host.capable("sys_admin"):
            raise KernelError(EPERM)
    elif cmd in OBJECT_MAKERS or version < (5, 19):
        if system.unprivileged_bpf_disabled and not system.capable("bpf"):
            raise KernelError(EPERM)
