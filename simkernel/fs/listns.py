"""listns(2): the namespaces that somebody is in or holds open, by numbers that are never used again.  kernel/nstree.c, since 6.19."""

from __future__ import annotations

import struct

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import E2BIG, EFAULT, EINVAL, ENOENT, EOPNOTSUPP, EOVERFLOW
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.nsfs import namespace_of
from simkernel.fs.statmount import MOST_LISTED
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.namespaces import INITIAL_IDS, KINDS, Namespace, initial_namespace
from simkernel.kernel.user_namespace import ns_capable

# struct ns_id_req: size, spare, ns_id, ns_type, spare2, user_ns_id
NS_ID_REQ, NS_ID_REQ_SIZE_VER0, LISTNS_CURRENT_USER = "IIQIIQ", 32, 0xFFFF_FFFF_FFFF_FFFF

ALL_KINDS = sum(KINDS.values())


def active(k: FsKernel) -> dict[int, Namespace]:
    """By number, in their order: where a task is, what a file or a mount holds, what these are below, and the initial ones."""
    initial = {kind: initial_namespace(k.version, kind) for kind in KINDS}
    held = [n for task in k.tasks.by_pid.values() if not task.exit_state for n in task.namespaces.values()]
    mounted = {mnt.mnt_root.inode for mnt in k.vfs.mounts}
    for path in k.vfs.namespaces.made.values():
        inode = path.dentry.inode
        if inode.i_count or inode in mounted:
            held.append(namespace_of(inode))
    found = {each.ns_id: each for each in initial.values()}
    while held:
        each = held.pop()
        if each.ns_id not in found:
            found[each.ns_id] = each
            held += [above for above in (each.parent, each.owner) if above is not None]
    return dict(sorted(found.items()))


def _is_current(k: FsKernel, namespace: Namespace) -> bool:
    """is_current_namespace()."""
    mine = k.current.namespaces.get(namespace.kind)
    return namespace.initial if mine is None else namespace is mine


def _sees_all(k: FsKernel) -> bool:
    """may_see_all_namespaces()."""
    return k.current.pid_ns is None and ns_capable(k.current, None, CAP_SYS_ADMIN)


def _owner_id(namespace: Namespace) -> int:
    """The number of the user namespace that it belongs to; 0: of none."""
    if namespace.kind == "user" and namespace.initial:
        return 0
    return INITIAL_IDS["user"] if namespace.owner is None else namespace.owner.ns_id


def _request(k: FsKernel, req: int) -> tuple[int, int, int]:
    """copy_ns_id_req(): after which number, of which kinds, of which user namespace.  EFAULT, E2BIG, EINVAL, EOPNOTSUPP."""
    order = "<" if k.mem.byteorder == "little" else ">"
    size = k.usercopy.get_user(req, 4)
    if size > PAGE_SIZE:
        raise KernelError(E2BIG)
    if size < NS_ID_REQ_SIZE_VER0:
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_struct_from_user(req, size, NS_ID_REQ_SIZE_VER0)
    _, spare, after, kinds, _, user = struct.unpack(order + NS_ID_REQ, raw)
    if spare:
        raise KernelError(EINVAL)
    if kinds & ~ALL_KINDS:
        raise KernelError(EOPNOTSUPP)
    return after, kinds, user


@syscall(
    "listns",
    "const struct ns_id_req *req, u64 *ns_ids, size_t nr_ns_ids, unsigned int flags",
    source="kernel/nstree.c",
    since="6.19",
)
def sys_listns(k: FsKernel, req: int, ns_ids: int, count: int, flags: int) -> int:
    """How many numbers were stored.  EINVAL, EOVERFLOW, EFAULT, E2BIG, EOPNOTSUPP, ENOENT: nothing behind that number."""
    if flags:
        raise KernelError(EINVAL)
    if count > MOST_LISTED:
        raise KernelError(EOVERFLOW)
    if ns_ids + 8 * count > k.vfs.user_end:
        raise KernelError(EFAULT)
    after, kinds, user = _request(k, req)
    known = active(k)
    if user == LISTNS_CURRENT_USER:
        mine = k.current.namespaces.get("user")
        user = INITIAL_IDS["user"] if mine is None else mine.ns_id
    elif user and (user not in known or known[user].kind != "user"):
        raise KernelError(EINVAL)
    chosen = [
        each
        for each in known.values()
        if (not kinds or KINDS[each.kind] & kinds) and (not user or _owner_id(each) == user)
    ]
    if after:
        chosen = [each for each in chosen if each.ns_id > after]
        if not chosen:
            raise KernelError(ENOENT)
    everything = _sees_all(k)
    shown = [each.ns_id for each in chosen if everything or _is_current(k, each)][:count]
    if shown:
        k.usercopy.copy_to_user(ns_ids, b"".join(number.to_bytes(8, k.mem.byteorder) for number in shown))
    return len(shown)
