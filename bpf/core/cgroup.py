"""Programs of control groups: running them, bpf_prog_run_array_cg(), and their links.  kernel/bpf/cgroup.c of Linux 6.1."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import ENOENT, ENOLINK, EPERM, MAX_ERRNO
from arch.errors import KernelError
from bpf.board import Bpf
from bpf.cgroup import LSM_PLACES, CgroupProg, lsm_place
from bpf.core.link import DetachableLink
from bpf.core.program import BpfProg
from bpf.face import Cgroup, Prog
from bpf.helpers import signed
from bpf.maps.storage import CgroupStorageMap

Run = Callable[[BpfProg], int]


def is_err_value(value: int) -> bool:
    """IS_ERR_VALUE() of an int."""
    return -MAX_ERRNO <= value < 0


def run_cgroup(
    bpf: Bpf, cgroup: Cgroup, attach_type: int, run: Run, retval: int = 0, *, with_flags: bool = False
) -> tuple[int, int]:
    """All effective programs, each by `run`: what the hook answers, and what programs said in the bits above the first.

    The answer is `retval` as bpf_set_retval() and stores into the context leave it, -EPERM if a program answers 0.
    """
    progs = bpf.cgroups.effective(cgroup, attach_type)
    if not progs:
        return retval, 0
    mem, kernel = bpf.mem, bpf.host.structs
    place = kernel.place("bpf_cg_run_ctx.retval")
    task_ctx = (
        bpf.host.current_task_address() + kernel.offset("task_struct.bpf_ctx")
        if kernel.has("task_struct.bpf_ctx")
        else 0
    )
    before, flags = mem.read_uint(task_ctx, kernel.word) if task_ctx else 0, 0
    with bpf.scratch(kernel.sizeof("bpf_cg_run_ctx")) as run_ctx:
        at = run_ctx + place.offset
        mem.write_uint(at, place.size, retval & 0xFFFFFFFF)
        if task_ctx:
            mem.write_uint(task_ctx, kernel.word, run_ctx)
        try:
            for entry in progs:
                prog = entry.prog
                assert isinstance(prog, BpfProg)
                outer = prog.runtime.cgroup_run
                prog.runtime.cgroup_run = at, entry.storage
                try:
                    answer = run(prog)
                finally:
                    prog.runtime.cgroup_run = outer
                if with_flags:
                    flags |= answer >> 1
                    answer &= 1
                if not answer and not is_err_value(signed(mem.read_uint(at, 4), 32)):
                    mem.write_uint(at, 4, -EPERM & 0xFFFFFFFF)
            return signed(mem.read_uint(at, 4), 32), flags
        finally:
            if task_ctx:
                mem.write_uint(task_ctx, kernel.word, before)


def fill_storage(new: CgroupProg, cgroup: Cgroup, attach_type: int) -> None:
    """bpf_cgroup_storages_alloc(): the program's values in this group, shared with those that were there before."""
    prog = new.prog
    assert isinstance(prog, BpfProg)
    for owner in prog.used_maps:
        if isinstance(owner, CgroupStorageMap):
            new.storage[owner.address] = owner.element(cgroup.id, attach_type)


class CgroupLink(DetachableLink):
    """struct bpf_cgroup_link; `cgroup` is None when the group is gone, or the program detached."""

    cgroup: Cgroup | None
    entry: CgroupProg
    attach_type: int

    def update(self, new: Prog, old: Prog | None) -> None:
        """cgroup_bpf_replace().  ENOLINK, ENOENT, EPERM, EINVAL."""
        if self.cgroup is None:
            raise KernelError(ENOLINK, "its group is gone")
        if (
            isinstance(new, BpfProg)
            and self.attach_type >= LSM_PLACES
            and self.attach_type != lsm_place(new.attach_btf_id)
        ):
            raise KernelError(ENOENT, "among the programs of that hook is no such link")
        super().update(new, old)
        self.bpf.cgroups.updated(self.cgroup, self.attach_type)
        fill_storage(self.entry, self.cgroup, self.attach_type)

    def forget_group(self) -> None:
        """bpf_cgroup_link_auto_detach()."""
        self.cgroup, self.detach_fn = None, None
        self.info = {"cgroup_id": 0, "attach_type": self.attach_type}

    def detach_now(self) -> None:
        """bpf_cgroup_link_release()."""
        super().detach_now()
        self.forget_group()


def group_gone(bpf: Bpf, cgroup: Cgroup) -> None:
    """cgroup_bpf_release(): a group's directory is removed."""
    if cgroup.addr:
        bpf.updated_groups.flush(bpf.host, cgroup.addr)  # cgroup_rstat_exit()
    for entry in bpf.cgroups.remove_group(cgroup):
        if isinstance(entry.link, CgroupLink):
            entry.link.forget_group()
        elif entry.direct is not None:
            entry.direct.put()
    for owner in list(bpf.maps.objects.values()):
        if isinstance(owner, CgroupStorageMap):
            owner.group_gone(cgroup.id)
