"""BPF_LINK_CREATE of iterators: what one goes over.  kernel/bpf/bpf_iter.c, map_iter.c, task_iter.c, cgroup_iter.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EACCES, EBADF, EINVAL, ENOENT
from arch.errors import KernelError
from bpf import uapi
from bpf.core.program import BpfProg
from bpf.face import IterAttach
from bpf.maps.base import BpfMap
from bpf.syscall.attr import Call

LINK_INFO = 16  # sizeof(union bpf_iter_link_info)
MAY_SLEEP = ("task", "task_file", "task_vma", "ksym", "cgroup", "kmem_cache", "dmabuf")  # BPF_ITER_RESCHED
PLAIN_MAPS = (uapi.BPF_MAP_TYPE_HASH, uapi.BPF_MAP_TYPE_LRU_HASH, uapi.BPF_MAP_TYPE_ARRAY)
PER_CPU_MAPS = (
    uapi.BPF_MAP_TYPE_PERCPU_HASH, uapi.BPF_MAP_TYPE_LRU_PERCPU_HASH, uapi.BPF_MAP_TYPE_PERCPU_ARRAY,
)  # fmt: skip
SOCKET_MAPS = (uapi.BPF_MAP_TYPE_SOCKMAP, uapi.BPF_MAP_TYPE_SOCKHASH)
ORDERS = {
    uapi.BPF_CGROUP_ITER_SELF_ONLY: "self_only",
    uapi.BPF_CGROUP_ITER_DESCENDANTS_PRE: "descendants_pre",
    uapi.BPF_CGROUP_ITER_DESCENDANTS_POST: "descendants_post",
    uapi.BPF_CGROUP_ITER_ANCESTORS_UP: "ancestors_up",
}


def iter_request(call: Call, prog: BpfProg) -> tuple[IterAttach, dict[str, int | str]]:
    """bpf_iter_link_attach(): the request, and what the link tells of itself."""
    attr = call.attr
    if attr.target_fd or attr.flags:
        raise KernelError(EINVAL)
    if bool(attr.iter_info) != bool(attr.iter_info_len):
        raise KernelError(EINVAL)
    if attr.iter_info:
        call.user.check_tail_zero(attr.iter_info, LINK_INFO, attr.iter_info_len)
    raw = call.user.read(attr.iter_info, min(attr.iter_info_len, LINK_INFO)) if attr.iter_info else b""
    raw = raw.ljust(LINK_INFO, b"\0")
    name = str(prog.attach_info.get("attach_func_name", "")).removeprefix("bpf_iter_")
    if not name:
        raise KernelError(ENOENT)
    if prog.sleepable and name not in MAY_SLEEP:
        raise KernelError(EINVAL, "the walk cannot be interrupted")
    info: dict[str, int | str] = {"target_name": name}
    if name in ("bpf_map_elem", "sockmap", "bpf_sk_storage_map"):
        found = _map(call, prog, name, raw)
        return IterAttach(name, raw, map=found), info | {"map_id": found.id}
    if name == "cgroup":
        return _cgroup(call, raw, info)
    if name.startswith("task"):
        return _task(call, name, raw, info)
    return IterAttach(name, raw), info


def _map(call: Call, prog: BpfProg, target: str, raw: bytes) -> BpfMap:
    """bpf_iter_attach_map() and its like.  EBADF; EINVAL: no such kind; EACCES: the program reaches beyond key or value."""
    fd = int.from_bytes(raw[:4], call.user.byteorder, signed=True)
    if not fd:
        raise KernelError(EBADF)
    found = call.bpf.map_of_fd(fd)
    kinds = {
        "bpf_map_elem": (*PLAIN_MAPS, *PER_CPU_MAPS),
        "sockmap": SOCKET_MAPS,
        "bpf_sk_storage_map": (uapi.BPF_MAP_TYPE_SK_STORAGE,),
    }[target]
    if found.map_type not in kinds:
        raise KernelError(EINVAL, "an iterator over other maps")
    stats = prog.verdict.stats
    key, value = stats.get("max_rdonly_access", 0), stats.get("max_rdwr_access", 0)
    value_room = found.user_value_size if target != "sockmap" else 0
    key_room = found.key_size if target != "bpf_sk_storage_map" else 0
    if key > key_room or value > value_room:
        raise KernelError(EACCES, "the program reaches beyond the key or the value")
    return found


def _cgroup(call: Call, raw: bytes, info: dict[str, int | str]) -> tuple[IterAttach, dict[str, int | str]]:
    """bpf_iter_attach_cgroup()."""
    byteorder = call.user.byteorder
    order, fd, number = (int.from_bytes(raw[at:end], byteorder) for at, end in ((0, 4), (4, 8), (8, 16)))
    if order not in ORDERS or (fd and number):
        raise KernelError(EINVAL)
    group = call.host.fd_cgroup(fd) if fd else call.host.cgroup_by_id(number)
    if group is None:
        raise KernelError(ENOENT, "no control group of that id")
    shown: dict[str, int | str] = {
        "cgroup_id": group.id, "cgroup_order": order, "cgroup_path": group.path, "order": ORDERS[order],
    }  # fmt: skip
    return IterAttach("cgroup", raw, cgroup=group, order=order), info | shown


def _task(call: Call, name: str, raw: bytes, info: dict[str, int | str]) -> tuple[IterAttach, dict[str, int | str]]:
    """bpf_iter_attach_task(): all, one thread, or one process by number or descriptor."""
    tid, pid, fd = (int.from_bytes(raw[at : at + 4], call.user.byteorder) for at in (0, 4, 8))
    if (tid != 0) + (pid != 0) + (fd != 0) > 1:
        raise KernelError(EINVAL)
    if fd:
        pid = call.host.pid_of_fd(fd)
        raw = bytes(4) + pid.to_bytes(4, call.user.byteorder) + bytes(8)
    return IterAttach(name, raw), info | {"tid": tid, "pid": pid}
