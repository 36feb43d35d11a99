"""Which programs control groups have: attached here, inherited from above.  kernel/bpf/cgroup.c.

A hook is a group and an attach type.  Each keeps its own programs and how they were attached (alone, so that groups below
may override, or among several, in an order that whoever attaches may say); `effective()` is what runs for a group, its own
first, then those of the groups above as far as they allow it, and before all those that ask for it, from the top down.
Running them is bpf/core/cgroup.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from arch.abi.errno import E2BIG, EINVAL, ENOENT, EPERM, ESTALE
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf.face import Cgroup, Link, Prog
from bpf.uapi import (
    BPF_F_AFTER,
    BPF_F_ALLOW_MULTI,
    BPF_F_ALLOW_OVERRIDE,
    BPF_F_BEFORE,
    BPF_F_ID,
    BPF_F_LINK,
    BPF_F_PREORDER,
    BPF_F_REPLACE,
)

BPF_CGROUP_MAX_PROGS = 64
LSM_PLACES = 1 << 8  # above the attach types: CGROUP_LSM_START


def lsm_place(btf_id: int) -> int:
    """Where programs of a hook of LSM are kept, as an attach type of its own."""
    return LSM_PLACES + btf_id


SAVED_FLAGS = BPF_F_ALLOW_OVERRIDE | BPF_F_ALLOW_MULTI


@dataclass(eq=False, slots=True)
class CgroupProg:
    """struct bpf_prog_list: a program of a hook, by itself or by its link, and the values that it finds there."""

    direct: Prog | None
    link: Link | None = None
    storage: dict[int, int] = field(default_factory=dict)  # address of the struct bpf_map -> of the value
    preorder: bool = False  # BPF_F_PREORDER: before all that did not ask for it

    @property
    def prog(self) -> Prog:
        """prog_list_prog(): a link may have another one than at first."""
        prog = self.link.prog if self.link is not None else self.direct
        assert prog is not None
        return prog


@dataclass(frozen=True, slots=True)
class Order:
    """Where among the others: BPF_F_BEFORE and its like, the number that names another, and who that is."""

    flags: int = 0
    named: int = 0
    other: Callable[[], Prog | Link] | None = None  # EBADF, ENOENT, EINVAL

    @property
    def is_beside(self) -> bool:
        """Another is named, by whatever."""
        return bool(self.flags & (BPF_F_LINK | BPF_F_ID) or self.named)


ANYWHERE = Order()


@dataclass(slots=True)
class Hook:
    """cgroup->bpf.progs[] and .flags[] of one attach type."""

    progs: list[CgroupProg] = field(default_factory=list)
    flags: int = 0


class CgroupPrograms:
    """The hooks of all groups of a machine."""

    def __init__(self) -> None:
        self._hooks: dict[tuple[Cgroup, int], Hook] = {}
        self._effective: dict[tuple[Cgroup, int], tuple[CgroupProg, ...]] = {}
        self._changes: dict[tuple[Cgroup, int], int] = {}  # of a hook, since the group is there
        self.enabled: set[int] = set()  # attach types of which there is any program: cgroup_bpf_enabled()

    def hook(self, cgroup: Cgroup, attach_type: int) -> Hook:
        """What is attached to the group itself."""
        return self._hooks.get((cgroup, attach_type)) or Hook()

    def effective(self, cgroup: Cgroup, attach_type: int) -> tuple[CgroupProg, ...]:
        """compute_effective_progs()."""
        found = self._effective.get((cgroup, attach_type))
        if found is None:
            first: list[CgroupProg] = []
            rest: list[CgroupProg] = []
            for hook in self._upwards(cgroup, attach_type):
                if not (first or rest) or hook.flags & BPF_F_ALLOW_MULTI:
                    first[:0] = [entry for entry in hook.progs if entry.preorder]
                    rest += [entry for entry in hook.progs if not entry.preorder]
            found = self._effective[cgroup, attach_type] = (*first, *rest)
        return found

    def _upwards(self, cgroup: Cgroup | None, attach_type: int) -> Iterator[Hook]:
        while cgroup is not None:
            yield self.hook(cgroup, attach_type)
            cgroup = cgroup.parent

    def revision(self, cgroup: Cgroup, attach_type: int) -> int:
        """cgroup->bpf.revisions[]: counts changes, from 1 on."""
        return 1 + self._changes.get((cgroup, attach_type), 0)

    def check_revision(self, cgroup: Cgroup, attach_type: int, expected: int) -> None:
        """ESTALE where the hook is no longer what the caller saw; 0: whatever it is."""
        if expected and expected != self.revision(cgroup, attach_type):
            raise KernelError(ESTALE, "it has changed since")

    def _allowed_from_above(self, cgroup: Cgroup, attach_type: int) -> bool:
        """hierarchy_allows_attach()."""
        for hook in self._upwards(cgroup.parent, attach_type):
            if hook.flags & BPF_F_ALLOW_MULTI:
                return True
            if hook.progs:
                return bool(hook.flags & BPF_F_ALLOW_OVERRIDE)
        return True

    def attach(
        self,
        cgroup: Cgroup,
        attach_type: int,
        flags: int,
        new: CgroupProg,
        replaced: Prog | None = None,
        order: Order = ANYWHERE,
        expected: int = 0,
    ) -> CgroupProg | None:
        """__cgroup_bpf_attach(): the one whose place `new` took, or None.  EINVAL, ESTALE, EPERM, E2BIG, ENOENT, EBADF."""
        saved, multi = flags & SAVED_FLAGS, bool(flags & BPF_F_ALLOW_MULTI)
        if saved == SAVED_FLAGS or (flags & BPF_F_REPLACE and not multi):
            raise KernelError(EINVAL, "flags that exclude each other")
        if flags & BPF_F_REPLACE and flags & (BPF_F_BEFORE | BPF_F_AFTER):
            raise KernelError(EINVAL, "who takes another's place has one")
        if (replaced is not None) != bool(flags & BPF_F_REPLACE):
            raise KernelError(EINVAL, "what is to be replaced, and BPF_F_REPLACE, belong together")
        self.check_revision(cgroup, attach_type, expected)
        if not self._allowed_from_above(cgroup, attach_type):
            raise KernelError(EPERM, "a group above does not allow it")
        hook = self.hook(cgroup, attach_type)
        if hook.progs and hook.flags != saved:
            raise KernelError(EPERM, "the programs there were attached with other flags")
        if len(hook.progs) >= BPF_CGROUP_MAX_PROGS:
            raise KernelError(E2BIG, "the group has as many programs as there can be")
        old = self._place(hook, new, replaced) if multi else next(iter(hook.progs), None)
        new.preorder = bool(flags & BPF_F_PREORDER)
        if old is None:
            hook.progs.insert(self._where(hook, new, order), new)
        else:
            hook.progs[hook.progs.index(old)] = new
        hook.flags = saved
        self._hooks[cgroup, attach_type] = hook
        self._changed(cgroup, attach_type)
        return old

    def _where(self, hook: Hook, new: CgroupProg, order: Order) -> int:
        """insert_pl_to_hlist(): before which one.  EINVAL, ENOENT, EBADF."""
        before, after = bool(order.flags & BPF_F_BEFORE), bool(order.flags & BPF_F_AFTER)
        if not order.is_beside:
            if hook.progs and before and after:
                raise KernelError(EINVAL, "there are two places")
            return 0 if before else len(hook.progs)
        if before == after or bool(order.flags & BPF_F_LINK) != (new.link is not None):
            raise KernelError(EINVAL, "links are beside links, programs beside programs, and on one side")
        assert order.other is not None
        other = order.other()
        for at, known in enumerate(hook.progs):
            if other in (known.direct, known.link):
                if known.preorder != new.preorder:
                    raise KernelError(EINVAL, "one runs before all others, the other does not")
                return at if before else at + 1
        raise KernelError(ENOENT, "what is named is not attached")

    def _place(self, hook: Hook, new: CgroupProg, replaced: Prog | None) -> CgroupProg | None:
        """find_attach_entry() where several programs are allowed."""
        if new.direct is not None and new.direct is not replaced:
            if any(known.direct is new.direct for known in hook.progs):
                raise KernelError(EINVAL, "the program is attached there")
        if replaced is None:
            return None
        for known in hook.progs:
            if known.direct is replaced:
                return known
        raise KernelError(ENOENT, "what is to be replaced is not attached")

    def find(self, cgroup: Cgroup, attach_type: int, prog: Prog | None) -> CgroupProg:
        """find_detach_entry() of a program without link.  ENOENT, EINVAL."""
        hook = self.hook(cgroup, attach_type)
        if not hook.flags & BPF_F_ALLOW_MULTI:
            if not hook.progs:
                raise KernelError(ENOENT, "nothing is attached")
            return hook.progs[0]  # whatever program was named
        if prog is None:
            raise KernelError(EINVAL, "no program is named")
        for known in hook.progs:
            if known.direct is prog:
                return known
        raise KernelError(ENOENT, "the program is not attached")

    def detach(self, cgroup: Cgroup, attach_type: int, old: CgroupProg) -> None:
        """__cgroup_bpf_detach()."""
        hook = self._hooks.get((cgroup, attach_type))
        if hook is None or old not in hook.progs:
            return
        hook.progs.remove(old)
        if not hook.progs:
            del self._hooks[cgroup, attach_type]
        self._changed(cgroup, attach_type)

    def updated(self, cgroup: Cgroup, attach_type: int) -> None:
        """cgroup_bpf_replace(): a link there has another program."""
        self._changed(cgroup, attach_type)

    def remove_group(self, cgroup: Cgroup) -> list[CgroupProg]:
        """cgroup_bpf_release(): the group goes; what was attached to it."""
        keys = [key for key in self._hooks if key[0] is cgroup]
        gone = [prog for key in keys for prog in self._hooks.pop(key).progs]
        self._counted()
        for key in [key for key in self._changes if key[0] is cgroup]:
            del self._changes[key]
        return gone

    def _changed(self, cgroup: Cgroup, attach_type: int) -> None:
        self._changes[cgroup, attach_type] = self.revision(cgroup, attach_type)
        self._counted()

    def _counted(self) -> None:
        self._effective.clear()
        self.enabled.clear()
        self.enabled.update(attach_type for (_, attach_type), hook in self._hooks.items() if hook.progs)
