"""bpf(2) commands that attach programs to control groups.  kernel/bpf/cgroup.c: cgroup_bpf_prog_attach() and its like."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOENT, ENOSPC, EOPNOTSUPP
from arch.errors import KernelError
from bpf import uapi
from bpf.cgroup import CgroupProg
from bpf.core.cgroup import CgroupLink, fill_storage
from bpf.core.program import BpfProg, prog_of_fd
from bpf.face import Cgroup, CgroupAttach
from bpf.syscall.attr import Call

CGROUP_FLAGS = uapi.BPF_F_ALLOW_OVERRIDE | uapi.BPF_F_ALLOW_MULTI | uapi.BPF_F_REPLACE


def cgroup_of_fd(call: Call, name: str = "target_fd") -> Cgroup:
    """cgroup_get_from_fd(): EBADF for what is no directory of a cgroup."""
    return call.host.fd_cgroup(call.attr.signed(name))


def no_lsm(attach_type: int) -> None:
    """Hooks of LSM do not ask the programs of groups here."""
    if attach_type == uapi.BPF_LSM_CGROUP:
        raise KernelError(EOPNOTSUPP, "security hooks do not run programs of control groups here")


def make_cgroup_link(call: Call, prog: BpfProg) -> CgroupLink:
    """cgroup_bpf_link_attach(), all but the descriptor."""
    attr, groups = call.attr, call.bpf.cgroups
    if attr.flags:
        raise KernelError(EINVAL)
    cgroup, attach_type = cgroup_of_fd(call), attr.attach_type
    no_lsm(attach_type)
    entry = CgroupProg(None)
    request = CgroupAttach(cgroup, attach_type, uapi.BPF_F_ALLOW_MULTI, link=True)
    info = {"cgroup_id": cgroup.id, "attach_type": attach_type}

    def detach() -> None:
        groups.detach(cgroup, attach_type, entry)

    link = CgroupLink(call.bpf, uapi.BPF_LINK_TYPE_CGROUP, prog, request, detach, info)
    link.cgroup, link.entry, link.attach_type = cgroup, entry, attach_type
    entry.link = link
    fill_storage(entry, cgroup, attach_type)
    groups.attach(cgroup, attach_type, uapi.BPF_F_ALLOW_MULTI, entry)
    return link


def _prog_or_none(call: Call, fd: int, prog_type: int) -> BpfProg | None:
    """bpf_prog_get_type() where a bad descriptor is no error."""
    try:
        prog = prog_of_fd(call.bpf, fd)
    except KernelError:
        return None
    return prog if prog.type == prog_type else None


def attach(call: Call, prog: BpfProg) -> int:
    """cgroup_bpf_prog_attach()."""
    attr, flags = call.attr, call.attr.attach_flags
    cgroup, attach_type = cgroup_of_fd(call), attr.attach_type
    no_lsm(attach_type)
    replaced = None
    if flags & uapi.BPF_F_ALLOW_MULTI and flags & uapi.BPF_F_REPLACE:
        replaced = prog_of_fd(call.bpf, attr.signed("replace_bpf_fd"))
        if replaced.type != prog.type:
            raise KernelError(EINVAL)
    new = CgroupProg(prog)
    fill_storage(new, cgroup, attach_type)
    old = call.bpf.cgroups.attach(cgroup, attach_type, flags, new, replaced)
    prog.get()
    if old is not None and old.direct is not None:
        old.direct.put()
    return 0


def detach(call: Call, prog_type: int) -> int:
    """cgroup_bpf_prog_detach()."""
    attr, groups = call.attr, call.bpf.cgroups
    cgroup = cgroup_of_fd(call)
    prog = _prog_or_none(call, attr.signed("attach_bpf_fd"), prog_type)
    old = groups.find(cgroup, attr.attach_type, prog)
    if old.direct is None:
        raise KernelError(ENOENT, "links are detached by themselves")
    groups.detach(cgroup, attr.attach_type, old)
    old.direct.put()
    return 0


def query(call: Call) -> int:
    """__cgroup_bpf_query(): ids of the programs of a group, its own or all that run."""
    attr, user, groups = call.attr, call.user, call.bpf.cgroups
    cgroup = cgroup_of_fd(call)
    effective = bool(attr.query_flags & uapi.BPF_F_QUERY_EFFECTIVE)
    if effective and attr.prog_attach_flags:
        raise KernelError(EINVAL, "flags of attachments and BPF_F_QUERY_EFFECTIVE exclude each other")
    hook = groups.hook(cgroup, attr.attach_type)
    progs = groups.effective(cgroup, attr.attach_type) if effective else tuple(hook.progs)
    room = attr.prog_cnt
    user.put(attr.place("attach_flags"), 4, 0 if effective else hook.flags)
    user.put(attr.place("prog_cnt"), 4, len(progs))
    if not room or not attr.prog_ids or not progs:
        return 0
    for i, entry in enumerate(progs[:room]):
        user.put(attr.prog_ids + 4 * i, 4, entry.prog.id)
        if attr.prog_attach_flags:
            user.put(attr.prog_attach_flags + 4 * i, 4, hook.flags)
    if room < len(progs):
        raise KernelError(ENOSPC)
    return 0
