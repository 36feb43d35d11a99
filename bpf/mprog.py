"""Programs of one place, in an order that whoever attaches them says: before or after others.  kernel/bpf/mprog.c, since 6.6.

A place (a device and an attach type) has up to 63 programs, attached by themselves or by links, and a revision that each change counts up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENODEV, ENOENT, ERANGE, ESTALE
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf.device_face import Device
from bpf.face import Link, Prog
from bpf.uapi import BPF_F_AFTER, BPF_F_BEFORE, BPF_F_REPLACE

MPROG_MAX = 63
NOWHERE = -ERANGE


@dataclass(frozen=True, slots=True)
class Entry:
    """struct bpf_tuple: a program, and the link that holds it; None for nobody's."""

    prog: Prog | None
    link: Link | None = None


NOBODY = Entry(None)


@dataclass(slots=True)
class Mprog:
    """struct bpf_mprog_entry."""

    entries: list[Entry] = field(default_factory=list)
    revision: int = 1

    def _exact(self, wanted: Entry) -> int:
        """bpf_mprog_pos_exact().  EBUSY, ENOENT."""
        for at, entry in enumerate(self.entries):
            if entry.prog is wanted.prog:
                if entry.link is not wanted.link:
                    raise KernelError(EBUSY, "another holds it")
                return at
        raise KernelError(ENOENT, "it is not attached")

    def _beside(self, other: Entry) -> int | None:
        """Where it is; None where nobody was named.  ENOENT."""
        if other.prog is None:
            return None
        for at, entry in enumerate(self.entries):
            if entry.prog is other.prog and (other.link is None or other.link is entry.link):
                return at
        raise KernelError(ENOENT, "what is named is not attached")

    def _place(self, at: int, flags: int, other: Entry) -> int:
        """Where BPF_F_BEFORE and BPF_F_AFTER lead, -1: the very first; both, and `at` where that is known, have to agree.  ERANGE."""
        known = at
        if flags & BPF_F_BEFORE:
            beside = self._beside(other)
            known = self._agreed(known, -1 if beside is None else beside - 1)
        if flags & BPF_F_AFTER:
            beside = self._beside(other)
            known = self._agreed(known, len(self.entries) if beside is None else beside + 1)
        return known

    def _agreed(self, known: int, found: int) -> int:
        if known >= -1 and found != known:
            raise KernelError(ERANGE, "there are two places")
        return found

    def _check_revision(self, revision: int) -> None:
        if revision and revision != self.revision:
            raise KernelError(ESTALE, "it has changed since")

    def check(self, new: Prog, revision: int) -> None:
        """What is asked before anybody is looked for.  ESTALE, EEXIST."""
        self._check_revision(revision)
        if any(entry.prog is new for entry in self.entries):
            raise KernelError(EEXIST, "the program is attached there")

    def attach(self, new: Entry, old: Prog | None, flags: int, other: Entry) -> None:
        """bpf_mprog_attach() behind check().  EBUSY, ENOENT, ERANGE, EINVAL."""
        at = NOWHERE
        if flags & BPF_F_REPLACE:
            at = self._exact(Entry(old, new.link))
        elif len(self.entries) == MPROG_MAX:
            raise KernelError(ERANGE, "there are as many as there can be")
        at = self._place(at, flags, other)
        if at < -1:
            if other.prog is not None or flags:
                raise KernelError(EINVAL, "where, nobody says")
            at, flags = len(self.entries), BPF_F_AFTER
        if flags & BPF_F_REPLACE:
            self.entries[at] = new
        else:
            self.entries.insert(at if flags & BPF_F_AFTER else at + 1, new)
        self.revision += 1

    def check_detach(self, flags: int, revision: int) -> None:
        """EINVAL, ESTALE, ENOENT."""
        if flags & BPF_F_REPLACE:
            raise KernelError(EINVAL)
        self._check_revision(revision)
        if not self.entries:
            raise KernelError(ENOENT)

    def detach(self, gone: Entry, flags: int, other: Entry) -> Entry:
        """bpf_mprog_detach() behind check_detach(): who was it.  ENOENT, EBUSY, ERANGE, EINVAL."""
        at = self._exact(gone) if gone.prog is not None else NOWHERE
        at = self._place(at, flags, other)
        if at < -1:
            if other.prog is not None or flags:
                raise KernelError(EINVAL)
            at = len(self.entries)
        at = min(max(at, 0), len(self.entries) - 1)
        if gone.link is None and self.entries[at].link is not None:
            raise KernelError(EBUSY, "a link holds it")
        self.revision += 1
        return self.entries.pop(at)


Told = Callable[[Device, int, tuple[Prog, ...]], None]
Find = Callable[[int, int], Device]


def _nothing_found(ifindex: int, attach_type: int) -> Device:
    """A machine without devices.  ENODEV."""
    raise KernelError(ENODEV, "no devices here")


def _nobody_runs(device: Device, attach_type: int, progs: tuple[Prog, ...]) -> None:
    """Where there are no devices."""


class DevicePrograms:
    """The programs that devices have by bpf(2): tcx, netkit."""

    def __init__(self) -> None:
        self.places: dict[tuple[Hashable, int], Mprog] = {}  # by the token of the device, and attach type
        self.changed: Told = _nobody_runs  # who runs them has to know
        # The device of the current task's namespace that has the programs of an attach type; ENODEV, netkit's also ENXIO and EACCES.
        self.find: Find = _nothing_found

    def at(self, device: Device, attach_type: int) -> Mprog:
        """What a place has."""
        return self.places.get((device.token, attach_type)) or Mprog()

    def tell(self, device: Device, attach_type: int, place: Mprog) -> None:
        """A place has others now; one without programs begins anew."""
        if place.entries:
            self.places[device.token, attach_type] = place
        else:
            self.places.pop((device.token, attach_type), None)
        progs = tuple(entry.prog for entry in place.entries if entry.prog is not None)
        self.changed(device, attach_type, progs)

    def gone(self, device: Device) -> None:
        """tcx_uninstall(), netkit_release_all(): links stay without a device."""
        for token, attach_type in [place for place in self.places if place[0] == device.token]:
            entries = self.places[token, attach_type].entries
            self.tell(device, attach_type, Mprog())
            for entry in entries:
                if entry.link is not None:
                    entry.link.detach()
                elif entry.prog is not None:
                    entry.prog.put()
