"""bpf(2) on programs of network devices: tcx and netkit.  kernel/bpf/{mprog,tcx}.c, drivers/net/netkit.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOENT, ENOLINK, ENOSPC, EPERM
from arch.errors import KernelError
from bpf import uapi
from bpf.core.link import BpfLink, DetachableLink
from bpf.core.program import BpfProg, prog_of_fd
from bpf.device_face import Device, DeviceAttach
from bpf.face import Prog
from bpf.mprog import NOBODY, Entry, Mprog
from bpf.syscall.attr import Call

MPROG_FLAGS = uapi.BPF_F_REPLACE | uapi.BPF_F_BEFORE | uapi.BPF_F_AFTER | uapi.BPF_F_ID | uapi.BPF_F_LINK
PROGRAM_TYPE = uapi.BPF_PROG_TYPE_SCHED_CLS
# attach type -> (type of its links, how fdinfo calls it)
ATTACH_TYPES = {
    uapi.BPF_TCX_INGRESS: (uapi.BPF_LINK_TYPE_TCX, "ingress"),
    uapi.BPF_TCX_EGRESS: (uapi.BPF_LINK_TYPE_TCX, "egress"),
    uapi.BPF_NETKIT_PRIMARY: (uapi.BPF_LINK_TYPE_NETKIT, "primary"),
    uapi.BPF_NETKIT_PEER: (uapi.BPF_LINK_TYPE_NETKIT, "peer"),
}


class DeviceLink(DetachableLink):
    """struct tcx_link, struct netkit_link."""

    def update(self, new: Prog, old: Prog | None) -> None:
        """tcx_link_update().  ENOLINK, EPERM, EINVAL, EEXIST."""
        if self.detach_fn is None:
            raise KernelError(ENOLINK)
        if old is not None and old is not self.prog:
            raise KernelError(EPERM)
        if new is self.prog:
            return
        if new.type != self.prog.type:
            raise KernelError(EINVAL)
        device, attach_type = self._place()
        programs = self.bpf.devices
        place = programs.at(device, attach_type)
        place.check(new, 0)
        place.attach(Entry(new, self), self.prog, uapi.BPF_F_REPLACE, Entry(self.prog))
        new.get()
        before, self.prog = self.prog, new
        before.put()
        programs.tell(device, attach_type, place)

    def _place(self) -> tuple[Device, int]:
        assert isinstance(self.request, DeviceAttach)
        return self.request.device, self.request.attach_type

    def leave(self) -> None:
        """tcx_link_release()."""
        device, attach_type = self._place()
        place = self.bpf.devices.at(device, attach_type)
        entry = next((entry for entry in place.entries if entry.link is self), None)
        if entry is not None:
            place.entries.remove(entry)
            place.revision += 1
            self.bpf.devices.tell(device, attach_type, place)

    def detach_now(self) -> None:
        super().detach_now()
        self.info = {**self.info, "ifindex": 0}

    def fdinfo(self) -> str:
        """tcx_link_fdinfo(), netkit_link_fdinfo()."""
        word = ATTACH_TYPES[self._place()[1]][1]
        return super().fdinfo().removesuffix("\n") + f" ({word})\n"


def _relative(call: Call, flags: int, named: int, prog_type: int) -> Entry:
    """bpf_mprog_tuple_relative(): beside whom, by descriptor or number of a program or of a link.  EBADF, EINVAL, ENOENT."""
    by_id = bool(flags & uapi.BPF_F_ID)
    link: BpfLink | None = None
    prog: Prog | None
    if flags & uapi.BPF_F_LINK:
        found = call.bpf.links.objects.get(named) if by_id else call.host.fd_get(named)
        if by_id and found is None:
            raise KernelError(ENOENT)
        if not isinstance(found, BpfLink):
            raise KernelError(EINVAL)
        link, prog = found, found.prog
    elif not by_id and not named:
        return NOBODY
    else:
        prog = call.bpf.progs.objects.get(named) if by_id else prog_of_fd(call.bpf, named)
        if prog is None:
            raise KernelError(ENOENT)
    if prog_type and prog.type != prog_type:
        raise KernelError(EINVAL)
    return Entry(prog, link)


def _program(call: Call, name: str) -> BpfProg:
    """bpf_prog_get_type().  EBADF, EINVAL."""
    prog = prog_of_fd(call.bpf, call.attr.signed(name))
    if prog.type != PROGRAM_TYPE:
        raise KernelError(EINVAL)
    return prog


def _place(call: Call) -> tuple[Device, int, Mprog]:
    """The device and what it has there.  ENODEV; ENXIO, EACCES where netkit is asked for."""
    attr = call.attr
    device = call.bpf.devices.find(attr.target_fd, attr.attach_type)
    return device, attr.attach_type, call.bpf.devices.at(device, attr.attach_type)


def attach(call: Call, prog: BpfProg) -> int:
    """tcx_prog_attach(), netkit_prog_attach()."""
    attr, flags = call.attr, call.attr.attach_flags
    device, attach_type, place = _place(call)
    old = _program(call, "replace_bpf_fd") if flags & uapi.BPF_F_REPLACE else None
    place.check(prog, attr.expected_revision)
    other = _relative(call, flags, attr.relative_fd, prog.type)
    place.attach(Entry(prog), old, flags, other)
    prog.get()
    if old is not None:
        old.put()
    call.bpf.devices.tell(device, attach_type, place)
    return 0


def detach(call: Call) -> int:
    """tcx_prog_detach(), netkit_prog_detach()."""
    attr, flags = call.attr, call.attr.attach_flags
    if flags & ~MPROG_FLAGS:
        raise KernelError(EINVAL)
    prog = _program(call, "attach_bpf_fd") if attr.attach_bpf_fd else None
    device, attach_type, place = _place(call)
    place.check_detach(flags, attr.expected_revision)
    other = _relative(call, flags, attr.relative_fd, prog.type if prog is not None else 0)
    gone = place.detach(Entry(prog), flags, other)
    call.bpf.devices.tell(device, attach_type, place)
    if gone.prog is not None:
        gone.prog.put()
    return 0


def query(call: Call) -> int:
    """bpf_mprog_query().  EINVAL, EFAULT, ENOSPC."""
    attr, user = call.attr, call.user
    _, _, place = _place(call)
    if attr.query_flags or attr.attach_flags:
        raise KernelError(EINVAL)
    room, count = attr.prog_cnt, len(place.entries)
    user.put(attr.place("attach_flags"), 4, 0)
    user.put(attr.place("revision"), 8, place.revision)
    user.put(attr.place("prog_cnt"), 4, count)
    if not room or not attr.prog_ids or not count:
        return 0
    for i, entry in enumerate(place.entries[:room]):
        prog_id, link_id = (0 if each is None else each.id for each in (entry.prog, entry.link))
        columns = (
            (attr.prog_ids, prog_id), (attr.prog_attach_flags, 0), (attr.link_ids, link_id), (attr.link_attach_flags, 0),
        )  # fmt: skip
        for column, value in columns:
            if column:
                user.put(column + 4 * i, 4, value)
    if room < count:
        raise KernelError(ENOSPC)
    return 0


def make_link(call: Call, prog: BpfProg) -> DeviceLink:
    """tcx_link_attach(), netkit_link_attach()."""
    attr = call.attr
    device, attach_type, place = _place(call)
    request = DeviceAttach(device, attach_type)
    info = {"ifindex": device.ifindex, "attach_type": attach_type}
    link = DeviceLink(call.bpf, ATTACH_TYPES[attach_type][0], prog, request, lambda: link.leave(), info)
    place.check(prog, attr.link_revision)
    other = _relative(call, attr.flags, attr.link_relative_fd, prog.type)
    place.attach(Entry(prog, link), None, attr.flags, other)
    call.bpf.devices.tell(device, attach_type, place)
    return link
