"""/proc/PID/uid_map, gid_map, projid_map, setgroups and timens_offsets.  kernel/user_namespace.c, kernel/time/namespace.c."""

from __future__ import annotations

import re

from arch.abi.capability import CAP_SETFCAP, CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN, CAP_SYS_TIME
from arch.abi.errno import EACCES, EINVAL, EPERM, ERANGE
from arch.abi.fcntl import O_ACCMODE, O_RDONLY
from arch.abi.limits import U32_MAX
from arch.abi.time import CLOCK_BOOTTIME, CLOCK_MONOTONIC, NSEC_PER_SEC
from arch.cstring import c_string
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.nodes import OpenNode, PseudoFile
from simkernel.kernel.namespaces import Namespace, TimeNamespace, time_offsets
from simkernel.kernel.task import Task
from simkernel.kernel.user_namespace import Extent, from_kernel, ns_capable, state_of, to_kernel, user_ns

MAX_EXTENTS = 340
CAP_OF = {"uid": CAP_SETUID, "gid": CAP_SETGID, "projid": 0}  # projid: anybody with the other rights
NSEC_LIMIT = 1 << 60


def map_file(k: FsKernel, task: Task, kind: str) -> PseudoFile:
    """uid_map, gid_map and projid_map."""
    return PseudoFile(lambda: _map_text(k, task, kind), lambda data: _map_write(k, task, kind, data), 0o644)


class SetgroupsFile(PseudoFile):
    """setgroups: opened for writing only by who governs the namespace (proc_setgroups_open())."""

    def __init__(self, k: FsKernel, task: Task) -> None:
        super().__init__(lambda: _setgroups(task), lambda data: _set_setgroups(k, task, data), 0o644)
        self.k, self.task = k, task

    def open(self, flags: int) -> OpenNode:
        """EACCES."""
        if flags & O_ACCMODE != O_RDONLY and not ns_capable(self.k.current, user_ns(self.task), CAP_SYS_ADMIN):
            raise KernelError(EACCES, "another's user namespace")
        return super().open(flags)


def _map_text(k: FsKernel, task: Task, kind: str) -> str:
    """uid_m_show(): lower ids as the reader's namespace has them, or the parent's when that is the same one."""
    space = user_ns(task)
    if space is None:
        return f"{0:10d} {0:10d} {U32_MAX:10d}\n"
    reader = user_ns(k.current)
    below = state_of(space).parent if reader is space else reader
    rows = state_of(space).maps[kind] or ()
    return "".join(f"{e.first:10d} {from_kernel(below, kind, e.lower):10d} {e.length:10d}\n" for e in rows)


def _map_write(k: FsKernel, task: Task, kind: str, data: bytes) -> None:
    """map_write(): once.  EPERM, EINVAL."""
    space, me = user_ns(task), k.current
    if space is None:
        raise KernelError(EPERM, "the initial one stands")
    state, mine = state_of(space), user_ns(me)
    if mine is not space and mine is not state.parent:
        raise KernelError(EPERM, "neither its own nor its parent's")
    if state.maps[kind] is not None or not ns_capable(me, space, CAP_SYS_ADMIN):
        raise KernelError(EPERM)
    extents = _parse(data)
    _permitted(me, space, kind, extents)
    mapped = []
    for e in extents:
        lower = to_kernel(state.parent, kind, e.lower)
        if lower == U32_MAX or to_kernel(state.parent, kind, e.lower + e.length - 1) != lower + e.length - 1:
            raise KernelError(EPERM, "not mapped in the parent")
        mapped.append(Extent(e.first, lower, e.length))
    state.maps[kind] = mapped


def _parse(data: bytes) -> list[Extent]:
    rows: list[Extent] = []
    for line in c_string(data).rstrip("\n").split("\n"):
        match = re.fullmatch(r"\s*(\d+)\s+(\d+)\s+(\d+)\s*", line)
        if match is None:
            raise KernelError(EINVAL, "not three numbers")
        first, lower, count = map(int, match.groups())
        if not count or max(first, lower) >= U32_MAX or first + count > U32_MAX or lower + count > U32_MAX:
            raise KernelError(EINVAL, "out of range")
        for old in rows:
            if first < old.first + old.length and old.first < first + count:
                raise KernelError(EINVAL, "overlaps")
            if lower < old.lower + old.length and old.lower < lower + count:
                raise KernelError(EINVAL, "overlaps")
        rows.append(Extent(first, lower, count))
    if len(rows) > MAX_EXTENTS:
        raise KernelError(EINVAL, "too many")
    return rows


def _permitted(me: Task, space: Namespace, kind: str, extents: list[Extent]) -> None:
    """verify_root_map(), new_idmap_permitted()."""
    state, cred = state_of(space), me.cred
    if kind == "uid" and any(e.lower == 0 for e in extents):
        own = user_ns(me) is space
        if not (state.parent_could_setfcap if own else ns_capable(me, state.parent, CAP_SETFCAP)):
            raise KernelError(EPERM, "root of the parent")
    if len(extents) == 1 and extents[0].length == 1 and state.uid == cred.euid:
        lower = to_kernel(state.parent, kind, extents[0].lower)
        if kind == "uid" and lower == cred.euid:
            return
        if kind == "gid" and lower == cred.egid and (not state.setgroups or ns_capable(me, state.parent, CAP_SETGID)):
            return
    if kind != "projid" and not ns_capable(me, state.parent, CAP_OF[kind]):
        raise KernelError(EPERM)


def _setgroups(task: Task) -> str:
    space = user_ns(task)
    return "allow\n" if space is None or state_of(space).setgroups else "deny\n"


def _set_setgroups(k: FsKernel, task: Task, data: bytes) -> None:
    """proc_setgroups_write().  EINVAL, EPERM."""
    space = user_ns(task)
    word = data.split(b"\0")[0].strip()
    if len(data) >= 8 or word not in (b"allow", b"deny"):
        raise KernelError(EINVAL)
    if not ns_capable(k.current, space, CAP_SYS_ADMIN):
        raise KernelError(EACCES)
    if space is None:
        if word == b"deny":
            raise KernelError(EPERM)
        return
    state = state_of(space)
    if (not state.setgroups) if word == b"allow" else state.maps["gid"] is not None:
        raise KernelError(EPERM)
    state.setgroups = word == b"allow"


# -- time ------------------------------------------------------------------------------------------------------------------

CLOCKS = {"monotonic": CLOCK_MONOTONIC, "boottime": CLOCK_BOOTTIME}


def timens_file(k: FsKernel, task: Task) -> PseudoFile:
    """Offsets of the time namespace of the task's children."""
    return PseudoFile(lambda: _offsets(task), lambda data: _set_offsets(k, task, data), 0o644)


def _offsets(task: Task) -> str:
    held = time_offsets(task.namespaces.get("time_for_children"))
    rows = (("monotonic", held.monotonic), ("boottime", held.boottime))
    return "".join(f"{name:<10} {ns // NSEC_PER_SEC:10d} {ns % NSEC_PER_SEC:9d}\n" for name, ns in rows)


def _set_offsets(k: FsKernel, task: Task, data: bytes) -> None:
    """timens_offsets_write(): before the first task enters it.  EINVAL, EPERM, EACCES, ERANGE."""
    space = task.namespaces.get("time_for_children")
    state = space.state if space is not None else TimeNamespace(frozen=True)
    assert isinstance(state, TimeNamespace)
    new = {}
    for line in data.decode("latin-1").strip("\n\0").split("\n"):
        match = re.match(r"\s*(\w+)\s+(-?\d+)\s+(\d+)", line)
        clocks = {**{name: name for name in CLOCKS}, **{str(number): name for name, number in CLOCKS.items()}}
        if match is None or match[1] not in clocks or int(match[3]) >= NSEC_PER_SEC:
            raise KernelError(EINVAL)
        ns = int(match[2]) * NSEC_PER_SEC + int(match[3])
        if not 0 <= k.clock.now_ns + ns < NSEC_LIMIT * 4:
            raise KernelError(ERANGE)
        new[clocks[match[1]]] = ns
    if not ns_capable(k.current, space.owner if space is not None else None, CAP_SYS_TIME):
        raise KernelError(EPERM)
    if state.frozen:
        raise KernelError(EACCES)
    state.monotonic, state.boottime = new.get("monotonic", state.monotonic), new.get("boottime", state.boottime)
