"""bpf(2) commands that attach programs to control groups.  kernel/bpf/cgroup.c: cgroup_bpf_prog_attach() and its like."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOENT, ENOSPC
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf
from bpf.cgroup import LSM_PLACES, CgroupProg, Hook, Order, lsm_place
from bpf.core.cgroup import CgroupLink, fill_storage
from bpf.core.link import BpfLink
from bpf.core.program import BpfProg, prog_of_fd
from bpf.face import Cgroup, CgroupAttach, Link, Prog
from bpf.syscall.attr import Call
from bpf.versions.attach_groups import GROUPS_ORDERED, GROUPS_PREORDERED, within

CGROUP_FLAGS = uapi.BPF_F_ALLOW_OVERRIDE | uapi.BPF_F_ALLOW_MULTI | uapi.BPF_F_REPLACE
ORDER_FLAGS = uapi.BPF_F_BEFORE | uapi.BPF_F_AFTER | uapi.BPF_F_ID | uapi.BPF_F_LINK


def order_flags(call: Call) -> int:
    """Those that say where among others, as far as this version knows them."""
    flags = ORDER_FLAGS if within(call.version, GROUPS_ORDERED) else 0
    return flags | (uapi.BPF_F_PREORDER if within(call.version, GROUPS_PREORDERED) else 0)


def _order(call: Call, flags: int, named: int) -> Order:
    """What the caller says of the place among others."""

    def other() -> Prog | Link:
        """bpf_get_anchor_prog(), bpf_get_anchor_link().  EBADF, EINVAL, ENOENT."""
        is_link, by_id = flags & uapi.BPF_F_LINK, flags & uapi.BPF_F_ID
        if not by_id and not named:
            raise KernelError(EINVAL, "nobody is named")
        if not is_link and not by_id:
            return prog_of_fd(call.bpf, named)
        objects = call.bpf.links.objects if is_link else call.bpf.progs.objects
        found = objects.get(named) if by_id else call.host.fd_get(named)
        if found is None:
            raise KernelError(ENOENT)
        if not isinstance(found, BpfLink | BpfProg):
            raise KernelError(EINVAL)
        return found

    return Order(flags, named, other)


def cgroup_of_fd(call: Call, name: str = "target_fd") -> Cgroup:
    """cgroup_get_from_fd(): EBADF for what is no directory of a cgroup."""
    return call.host.fd_cgroup(call.attr.signed(name))


CGROUP_LSM_NUM = 10  # hooks of LSM that programs of groups may be at


def place_of(call: Call, prog: BpfProg, attach_type: int) -> int:
    """bpf_cgroup_atype_find(): among the programs of security hooks each hook is a place of its own.  EINVAL."""
    if attach_type != uapi.BPF_LSM_CGROUP:
        return attach_type
    place = lsm_place(prog.attach_btf_id)
    shims = call.bpf.lsm_shims
    if place not in shims and len(shims) >= CGROUP_LSM_NUM:
        raise KernelError(EINVAL, "too many hooks have programs of control groups")
    return place


def take_shim(call: Call, prog: BpfProg, place: int) -> None:
    """bpf_trampoline_link_cgroup_shim(): the first program of a hook makes it ask groups."""
    if place < LSM_PLACES:
        return
    symbol = "bpf_lsm_" + str(prog.attach_info.get("attach_func_name", "")).removeprefix("bpf_lsm_")
    count, detach = call.bpf.lsm_shims.get(place) or (0, None)
    if detach is None:
        detach = call.host.attach_lsm_cgroup(symbol, place)
    call.bpf.lsm_shims[place] = (count + 1, detach)


def put_shim(bpf: Bpf, place: int) -> None:
    """bpf_trampoline_unlink_cgroup_shim()."""
    if place not in bpf.lsm_shims:
        return
    count, detach = bpf.lsm_shims.pop(place)
    if count > 1:
        bpf.lsm_shims[place] = (count - 1, detach)
    else:
        detach()


def make_cgroup_link(call: Call, prog: BpfProg) -> CgroupLink:
    """cgroup_bpf_link_attach(), all but the descriptor."""
    attr, groups = call.attr, call.bpf.cgroups
    if attr.flags & ~order_flags(call):
        raise KernelError(EINVAL)
    ordered = within(call.version, GROUPS_ORDERED)
    order = _order(call, attr.flags, attr.link_relative_fd) if ordered else Order(attr.flags)
    cgroup, asked = cgroup_of_fd(call), attr.attach_type
    attach_type = place_of(call, prog, asked)
    entry = CgroupProg(None)
    request = CgroupAttach(cgroup, asked, uapi.BPF_F_ALLOW_MULTI, link=True)
    info = {"cgroup_id": cgroup.id, "attach_type": asked}

    def detach() -> None:
        groups.detach(cgroup, attach_type, entry)
        put_shim(call.bpf, attach_type)

    link = CgroupLink(call.bpf, uapi.BPF_LINK_TYPE_CGROUP, prog, request, detach, info)
    link.cgroup, link.entry, link.attach_type = cgroup, entry, attach_type
    entry.link = link
    fill_storage(entry, cgroup, attach_type)
    revision = attr.link_revision if ordered else 0
    groups.attach(cgroup, attach_type, attr.flags | uapi.BPF_F_ALLOW_MULTI, entry, None, order, revision)
    take_shim(call, prog, attach_type)
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
    cgroup, attach_type = cgroup_of_fd(call), place_of(call, prog, attr.attach_type)
    replaced = None
    if flags & uapi.BPF_F_ALLOW_MULTI and flags & uapi.BPF_F_REPLACE:
        replaced = prog_of_fd(call.bpf, attr.signed("replace_bpf_fd"))
        if replaced.type != prog.type:
            raise KernelError(EINVAL)
    new = CgroupProg(prog)
    fill_storage(new, cgroup, attach_type)
    order = _order(call, flags, attr.relative_fd)
    old = call.bpf.cgroups.attach(cgroup, attach_type, flags, new, replaced, order, attr.expected_revision)
    prog.get()
    if old is None:
        take_shim(call, prog, attach_type)
    if old is not None and old.direct is not None:
        old.direct.put()
    return 0


def detach(call: Call, prog_type: int) -> int:
    """cgroup_bpf_prog_detach()."""
    attr, groups = call.attr, call.bpf.cgroups
    cgroup = cgroup_of_fd(call)
    prog = _prog_or_none(call, attr.signed("attach_bpf_fd"), prog_type)
    if prog is None and attr.attach_type == uapi.BPF_LSM_CGROUP:  # a place that no hook has yet is of hook 0
        unused = len(call.bpf.lsm_shims) < CGROUP_LSM_NUM
        raise KernelError(ENOENT if unused else EINVAL, "which hook, the program says")
    place = attr.attach_type if prog is None else place_of(call, prog, attr.attach_type)
    groups.check_revision(cgroup, place, attr.expected_revision)
    old = groups.find(cgroup, place, prog)
    if old.direct is None:
        raise KernelError(ENOENT, "links are detached by themselves")
    groups.detach(cgroup, place, old)
    put_shim(call.bpf, place)
    old.direct.put()
    return 0


def query(call: Call) -> int:
    """__cgroup_bpf_query(): ids of the programs of a group, its own or all that run."""
    attr, user, groups = call.attr, call.user, call.bpf.cgroups
    cgroup = cgroup_of_fd(call)
    effective = bool(attr.query_flags & uapi.BPF_F_QUERY_EFFECTIVE)
    if effective and attr.prog_attach_flags:
        raise KernelError(EINVAL, "flags of attachments and BPF_F_QUERY_EFFECTIVE exclude each other")
    of_hooks = attr.attach_type == uapi.BPF_LSM_CGROUP
    places = list(call.bpf.lsm_shims) if of_hooks else [attr.attach_type]
    hook = Hook() if of_hooks else groups.hook(cgroup, attr.attach_type)  # where hooks are many, none's flags are all's
    progs = tuple(
        (prog, groups.hook(cgroup, place).flags)
        for place in places
        for prog in (groups.effective(cgroup, place) if effective else groups.hook(cgroup, place).progs)
    )
    room = attr.prog_cnt
    user.put(attr.place("attach_flags"), 4, 0 if effective else hook.flags)
    if within(call.version, GROUPS_ORDERED):
        told = not effective and not of_hooks
        user.put(attr.place("revision"), 8, groups.revision(cgroup, attr.attach_type) if told else 0)
    user.put(attr.place("prog_cnt"), 4, len(progs))
    if not room or not attr.prog_ids or not progs:
        return 0
    for i, (entry, flags) in enumerate(progs[:room]):
        user.put(attr.prog_ids + 4 * i, 4, entry.prog.id)
        if attr.prog_attach_flags:
            user.put(attr.prog_attach_flags + 4 * i, 4, flags)
    if room < len(progs):
        raise KernelError(ENOSPC)
    return 0
