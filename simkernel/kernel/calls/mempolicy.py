"""Where memory is to come from, on a machine that has one node.  mm/mempolicy.c, mm/migrate.c.

Policies of tasks and areas are checked, kept and shown; there is no other node that anything could be brought from or to.
Kernels of 32-bit machines and of s390x are built without CONFIG_NUMA: ENOSYS.
"""

from __future__ import annotations

from arch.abi import mempolicy as mp
from arch.abi.capability import CAP_SYS_NICE
from arch.abi.errno import EFAULT, EINVAL, ENODEV, ENOENT, ENOSYS, EOPNOTSUPP, EPERM, ESRCH
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from simkernel.kernel.areas import NO_POLICY, MemPolicy, Vma, page_up
from simkernel.kernel.calls.kcmp import ptrace_may_access
from simkernel.kernel.calls.mm import current_mm
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.mm import Mm
from simkernel.kernel.security import ask
from simkernel.kernel.task import Task

NODES = 1  # bits of the nodes with memory
USERS_OWN = mp.MPOL_F_STATIC_NODES | mp.MPOL_F_RELATIVE_NODES
MODE_FLAGS = USERS_OWN | mp.MPOL_F_NUMA_BALANCING


def _built_in(k: KernelFace) -> None:
    if not k.arch.calls.has_numa:
        raise KernelError(ENOSYS, "no CONFIG_NUMA")


def _get_nodes(k: KernelFace, nmask: int, maxnode: int) -> int:
    """get_nodes(): a mask of one bit less than `maxnode`.  EINVAL, EFAULT."""
    count = (maxnode - 1) & (1 << 64) - 1
    if not count or not nmask:
        return 0
    if count > PAGE_SIZE * 8:
        raise KernelError(EINVAL)
    size = (count + 63) // 64 * 8
    nodes = 0
    for i in range(0, size, 8):
        nodes |= k.usercopy.get_user(nmask + i, 8) << 8 * i
    nodes &= (1 << count) - 1
    if nodes >> mp.MAX_NUMNODES:
        raise KernelError(EINVAL)
    return nodes


def _mode(value: int) -> tuple[int, int]:
    """sanitize_mpol_flags(): (mode, flags).  EINVAL."""
    flags, mode = value & MODE_FLAGS, value & ~MODE_FLAGS & 0xFFFFFFFF
    if mode >= mp.MPOL_MAX or flags & USERS_OWN == USERS_OWN:
        raise KernelError(EINVAL)
    if flags & mp.MPOL_F_NUMA_BALANCING and mode != mp.MPOL_BIND:
        raise KernelError(EINVAL)
    return mode, flags


def _new(mode: int, flags: int, nodes: int) -> MemPolicy:
    """mpol_new() and mpol_set_nodemask().  EINVAL."""
    if mode == mp.MPOL_DEFAULT:
        if nodes:
            raise KernelError(EINVAL)
        return NO_POLICY
    if mode == mp.MPOL_PREFERRED and not nodes:
        if flags & USERS_OWN:
            raise KernelError(EINVAL)
        mode = mp.MPOL_LOCAL
    if mode == mp.MPOL_LOCAL:
        if nodes or flags & USERS_OWN:
            raise KernelError(EINVAL)
        return MemPolicy(mode, flags, 0)
    there = NODES if nodes and flags & mp.MPOL_F_RELATIVE_NODES else nodes & NODES
    if not there:
        raise KernelError(EINVAL)
    return MemPolicy(mode, flags, nodes if flags & USERS_OWN else there)


@syscall("set_mempolicy", "int mode, const unsigned long *nmask, unsigned long maxnode", source="mm/mempolicy.c")
def sys_set_mempolicy(k: KernelFace, mode: int, nmask: int, maxnode: int) -> int:
    """Of the calling thread.  EINVAL, EFAULT."""
    _built_in(k)
    how, flags = _mode(mode)
    k.current.mempolicy = _new(how, flags, _get_nodes(k, nmask, maxnode))
    return 0


@syscall(
    "get_mempolicy", "int *policy, unsigned long *nmask, unsigned long maxnode, unsigned long addr, unsigned long flags",
    source="mm/mempolicy.c",
)  # fmt: skip
def sys_get_mempolicy(k: KernelFace, policy: int, nmask: int, maxnode: int, addr: int, flags: int) -> int:
    """The caller's, an address's, or the node of a page.  EINVAL, EFAULT."""
    _built_in(k)
    if nmask and not maxnode:
        raise KernelError(EINVAL)
    value, nodes = _answer(k, addr, flags)
    if policy:
        k.usercopy.put_user(policy, 4, value)
    if nmask:
        size = ((maxnode - 1) + 63) // 64 * 8
        if size > PAGE_SIZE:
            raise KernelError(EINVAL)
        k.usercopy.copy_to_user(nmask, nodes.to_bytes(max(size, 128), k.mem.byteorder)[:size])
    return 0


def _answer(k: KernelFace, addr: int, flags: int) -> tuple[int, int]:
    """do_get_mempolicy(): (mode or node, nodes)."""
    if flags & ~(mp.MPOL_F_NODE | mp.MPOL_F_ADDR | mp.MPOL_F_MEMS_ALLOWED):
        raise KernelError(EINVAL)
    if flags & mp.MPOL_F_MEMS_ALLOWED:
        if flags & (mp.MPOL_F_NODE | mp.MPOL_F_ADDR):
            raise KernelError(EINVAL)
        return 0, NODES
    found = k.current.mempolicy
    if flags & mp.MPOL_F_ADDR:
        vma = current_mm(k).find(addr)
        if vma is None:
            raise KernelError(EFAULT)
        found = vma.policy
    elif addr:
        raise KernelError(EINVAL)
    if not flags & mp.MPOL_F_NODE:
        return found.mode | found.flags, found.nodes
    if not flags & mp.MPOL_F_ADDR and found.mode != mp.MPOL_INTERLEAVE:
        raise KernelError(EINVAL)
    if flags & mp.MPOL_F_ADDR:
        k.usercopy.copy_from_user(addr, 1)
    return 0, found.nodes


def _areas(mm: Mm, start: int, end: int) -> list[Vma]:
    """What lies in a range that has no holes.  EFAULT."""
    found = mm.overlaps(start, end)
    if sum(min(v.end, end) - max(v.start, start) for v in found) < end - start:
        raise KernelError(EFAULT)
    return found


@syscall(
    "mbind", "unsigned long start, unsigned long len, unsigned long mode, const unsigned long *nmask, unsigned long maxnode, unsigned int flags",
    source="mm/mempolicy.c",
)  # fmt: skip
def sys_mbind(k: KernelFace, start: int, length: int, mode: int, nmask: int, maxnode: int, flags: int) -> int:
    """Of a range of addresses.  EINVAL, EFAULT, EPERM."""
    _built_in(k)
    how, mode_flags = _mode(mode)
    nodes = _get_nodes(k, nmask, maxnode)
    if flags & ~(mp.MPOL_MF_STRICT | mp.MPOL_MF_MOVE | mp.MPOL_MF_MOVE_ALL):
        return -EINVAL
    if flags & mp.MPOL_MF_MOVE_ALL and not k.capable(CAP_SYS_NICE):
        return -EPERM
    end = start + page_up(length)
    if start % PAGE_SIZE or end >> 64:
        return -EINVAL
    if end == start:
        return 0
    policy, mm = _new(how, mode_flags, nodes), current_mm(k)
    _areas(mm, start, end)
    mm.split_at(start)
    mm.split_at(end)
    for vma in mm.overlaps(start, end):
        vma.policy = policy
    for vma in mm.overlaps(start, end):
        if mm.find(vma.start) is vma:  # not merged away with the one before
            mm.merge_anonymous(vma)
    return 0


@syscall(
    "set_mempolicy_home_node", "unsigned long start, unsigned long len, unsigned long home_node, unsigned long flags",
    source="mm/mempolicy.c", since="5.17",
)  # fmt: skip
def sys_set_mempolicy_home_node(k: KernelFace, start: int, length: int, home_node: int, flags: int) -> int:
    """Which node first, of areas that are bound.  EINVAL, ENOENT, EOPNOTSUPP."""
    _built_in(k)
    end = start + page_up(length)
    if start % PAGE_SIZE or flags or home_node or end >> 64:
        return -EINVAL
    ret = 0 if end == start else -ENOENT
    for vma in current_mm(k).overlaps(start, end):
        if vma.policy is NO_POLICY:
            continue
        if vma.policy.mode not in (mp.MPOL_BIND, mp.MPOL_PREFERRED_MANY):
            return -EOPNOTSUPP
        ret = 0
    return ret


# -- moving --------------------------------------------------------------------------------------------------------


def _process(k: KernelFace, pid: int) -> Task:
    """Whose memory.  ESRCH, EPERM."""
    task = k.tasks.find(pid) if pid else k.current
    if task is None:
        raise KernelError(ESRCH)
    if task is not k.current and not ptrace_may_access(k, task):
        raise KernelError(EPERM)
    ask(k, "task_movememory", task.addr)
    if task.mm is None:
        raise KernelError(EINVAL)
    return task


@syscall(
    "migrate_pages", "pid_t pid, unsigned long maxnode, const unsigned long *old_nodes, const unsigned long *new_nodes",
    source="mm/mempolicy.c",
)  # fmt: skip
def sys_migrate_pages(k: KernelFace, pid: int, maxnode: int, old_nodes: int, new_nodes: int) -> int:
    """How many pages could not be moved: none.  EINVAL, EFAULT, ESRCH, EPERM."""
    _built_in(k)
    _get_nodes(k, old_nodes, maxnode)
    new = _get_nodes(k, new_nodes, maxnode)
    _process(k, pid)
    if new & ~NODES and not k.capable(CAP_SYS_NICE):
        return -EPERM
    return 0 if new & NODES else -EINVAL


@syscall(
    "move_pages", "pid_t pid, unsigned long nr_pages, const void **pages, const int *nodes, int *status, int flags",
    source="mm/migrate.c",
)  # fmt: skip
def sys_move_pages(k: KernelFace, pid: int, nr_pages: int, pages: int, nodes: int, status: int, flags: int) -> int:
    """Where pages are, which with `nodes` they are to be, too.  EINVAL, ESRCH, EPERM, EFAULT, ENODEV."""
    _built_in(k)
    if flags & ~(mp.MPOL_MF_MOVE | mp.MPOL_MF_MOVE_ALL):
        return -EINVAL
    if flags & mp.MPOL_MF_MOVE_ALL and not k.capable(CAP_SYS_NICE):
        return -EPERM
    mm = _process(k, pid).mm
    assert mm is not None
    for i in range(nr_pages):
        page = k.usercopy.get_user(pages + 8 * i, 8)
        if nodes and k.usercopy.get_user(nodes + 4 * i, 4, signed=True) != 0:
            return -ENODEV
        there = page & -PAGE_SIZE in mm.pages
        k.usercopy.put_user(status + 4 * i, 4, (0 if there else -EFAULT) & 0xFFFFFFFF)
    return 0
