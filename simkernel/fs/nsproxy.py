"""Making and entering namespaces: unshare, setns, and clone's part.  kernel/nsproxy.c, kernel/fork.c, fs/namespace.c:copy_mnt_ns().

There are namespaces of all kinds; those of networks are net/core/net_namespace.py's.
"""

from __future__ import annotations

from arch.abi.capability import CAP_FULL_SET, CAP_SYS_ADMIN, CAP_SYS_CHROOT
from arch.abi.errno import EINVAL, ENOSPC, EPERM, ESRCH, EUSERS
from arch.abi.mount import MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_RELATIME
from arch.abi.sched import (
    CLONE_FILES,
    CLONE_FS,
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWTIME,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    CLONE_SIGHAND,
    CLONE_SYSVSEM,
    CLONE_THREAD,
    CLONE_VM,
)
from arch.errors import KernelError
from simkernel.fs import pnode
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import FsStruct, files_of, fs_of, publish_task_files
from simkernel.fs.inode import Mount, Path
from simkernel.fs.mounts import top_of
from simkernel.fs.nsfs import NS_FILE_OPERATIONS, namespace_of
from simkernel.fs.pidfd import PIDFD_FOPS, process_of
from simkernel.kernel.calls.kcmp import ptrace_may_access
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.namespaces import (
    KINDS,
    Namespace,
    Proxy,
    TimeNamespace,
    UtsNamespace,
    initial_namespace,
    time_offsets,
)
from simkernel.kernel.pid_namespace import MAX_PID_LEVEL, PidNamespace
from simkernel.kernel.security import may, prepare_creds
from simkernel.kernel.task import Task
from simkernel.kernel.ucount import limit_name
from simkernel.kernel.user_namespace import (
    MAX_USER_LEVEL,
    UserNamespace,
    create_user_ns,
    is_mapped,
    ns_capable,
    state_of,
    user_ns,
    user_ns_address,
)

# what can be made
HERE = CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWPID | CLONE_NEWTIME | CLONE_NEWNET
UNSHARE_FLAGS = CLONE_THREAD | CLONE_FS | CLONE_SIGHAND | CLONE_VM | CLONE_FILES | CLONE_SYSVSEM | HERE | CLONE_NEWUSER


def _state(k: FsKernel, kind: str, task: Task, owner: Namespace | None) -> object:
    """What a new namespace begins with: a copy of what the task has."""
    if kind == "uts":
        old = k.current.namespaces.get("uts")
        uts = old.state if old is not None else None
        if isinstance(uts, UtsNamespace):
            return UtsNamespace(uts.nodename, uts.domainname)
        return UtsNamespace(k.hostname, k.domainname)
    if kind == "mnt":
        top = top_of(fs_of(task).root.mnt)
        copies = _copy_mounts(k, top, owner)
        fs: FsStruct = fs_of(task)
        fs.set_root(Path(copies.get(fs.root.mnt, fs.root.mnt), fs.root.dentry))
        fs.set_pwd(Path(copies.get(fs.pwd.mnt, fs.pwd.mnt), fs.pwd.dentry))
        return copies[top]
    if kind == "pid":
        outer = pid_space(k.current.namespaces)
        if (outer.level if outer is not None else 0) >= MAX_PID_LEVEL:
            raise KernelError(ENOSPC, "too deep")
        k.tasks.nested = True
        return PidNamespace(outer)
    if kind == "time":
        offsets = time_offsets(k.current.namespaces.get("time"))
        return TimeNamespace(offsets.monotonic, offsets.boottime)
    return None


def _copy_mounts(k: FsKernel, top: Mount, owner: Namespace | None) -> dict[Mount, Mount]:
    """copy_mnt_ns(): for another user namespace shared mounts become slaves, and what is forbidden stays forbidden."""
    mounts, mine = k.vfs.mounts, k.current.namespaces.get("mnt")
    copies = mounts.copy_tree(top)
    mounts.owners[copies[top]] = owner
    less = owner is not (mine.owner if mine is not None else None)
    for old, new in copies.items():
        pnode.copied(mounts, {old: new}, slave=less and bool(old.group_id))
        if less:
            lock = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
            new.locked_flags = old.locked_flags | new.mnt_flags & lock | MS_RELATIME
            new.locked = old is not top
    return copies


def pid_space(proxy: Proxy) -> PidNamespace | None:
    """pid_ns_for_children."""
    found = proxy.get("pid")
    if found is None:
        return None
    assert isinstance(found.state, PidNamespace)
    return found.state


def new_user_ns(k: FsKernel, task: Task) -> Namespace:
    """create_user_ns(), for a task whose credentials are its own.  ENOSPC, EPERM."""
    outer, cred = user_ns(k.current), k.current.cred
    if not k.vfs.sysctl["kernel.unprivileged_userns_clone"] and not k.capable(CAP_SYS_ADMIN):
        raise KernelError(EPERM, "kernel.unprivileged_userns_clone is 0")
    if outer is not None and state_of(outer).level >= MAX_USER_LEVEL:
        raise KernelError(ENOSPC, "too deep")
    ucounts = k.vfs.namespaces.ucounts
    charged = ucounts.accounts(k.current, outer)
    ucounts.check("user", charged)
    if _chrooted(k):
        raise KernelError(EPERM, "the root is not that of the mount namespace")
    if not is_mapped(outer, cred.euid, cred.egid):
        raise KernelError(EPERM, "nobody there")
    made = k.vfs.namespaces.numbers.new("user", UserNamespace(outer, cred.euid, cred.egid), outer)
    made.parent = outer
    ucounts.charge(made, charged)
    create_user_ns(k, task, made)
    return made


def _chrooted(k: FsKernel) -> bool:
    """current_chrooted()."""
    root: Path = fs_of(k.current).root
    top = top_of(root.mnt)
    return root != Path(*k.vfs.mounts.traverse(top, top.mnt_root))


def _create(k: FsKernel, flags: int, task: Task) -> Proxy:
    """create_new_namespaces(), for a task whose fs_struct is its own: that of users first, it owns the others.  EPERM."""
    proxy = dict(k.current.namespaces)
    if flags & (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWTIME):
        k.syscalls.namespaced()
    if flags & CLONE_NEWUSER:
        proxy["user"] = new_user_ns(k, task)
    elif flags & HERE:
        allowed = ns_capable(k.current, proxy.get("user"), CAP_SYS_ADMIN)
        if not allowed or not k.granted(user_ns_address(k), CAP_SYS_ADMIN):
            raise KernelError(EPERM)
    if flags & CLONE_NEWPID and pid_space(k.current.namespaces) is not task_space(k):
        raise KernelError(EINVAL, "unshared already")
    ucounts, kinds = k.vfs.namespaces.ucounts, [kind for kind, flag in KINDS.items() if flags & flag & HERE]
    charged = ucounts.accounts(task, proxy.get("user"))
    for kind in kinds:
        ucounts.check(kind, charged)
    for kind, flag in KINDS.items():
        if flags & flag & HERE:
            made = k.vfs.namespaces.numbers.new(kind, _state(k, kind, task, proxy.get("user")), proxy.get("user"))
            made.parent = proxy.get(kind) if kind == "pid" else None
            if isinstance(made.state, PidNamespace):
                made.state.holder = made
            ucounts.charge(made, charged)
            if kind == "net":
                k.vfs.namespaces.make_net(made)
            proxy[kind] = made
            if kind == "time":
                proxy["time_for_children"] = proxy.pop("time")
                if "time" in k.current.namespaces:
                    proxy["time"] = k.current.namespaces["time"]
    return proxy


@kernel_function("int copy_namespaces(unsigned long flags, struct task_struct *tsk)", source="kernel/nsproxy.c")
def copy_namespaces(k: FsKernel, flags: int, tsk: int) -> Body:
    """The child's namespaces: the parent's, or new ones.  EPERM, EINVAL."""
    refused = yield from _may_make_users(k, flags)
    return refused or _copy_namespaces(k, flags, tsk)


def _may_make_users(k: FsKernel, flags: int) -> Body:
    """`yield from`: security_create_user_ns()."""
    if not flags & CLONE_NEWUSER or k.version.before("6.1"):
        return 0
    prepare_creds(k)
    return (yield from may(k, "security_create_user_ns", k.current.cred.addr))


def _copy_namespaces(k: FsKernel, flags: int, tsk: int) -> int:
    task = k.tasks.at(tsk)
    proxy = task.namespaces = k.current.namespaces
    if flags & CLONE_THREAD and (flags & (CLONE_NEWUSER | CLONE_NEWPID) or pid_space(proxy) is not task_space(k)):
        raise KernelError(EINVAL)
    if flags & (HERE | CLONE_NEWUSER):
        if (flags & (CLONE_NEWNS | CLONE_NEWUSER) and flags & CLONE_FS) or (
            flags & CLONE_NEWIPC and flags & CLONE_SYSVSEM
        ):
            raise KernelError(EINVAL)
        proxy = task.namespaces = _create(k, flags, task)
    if "time_for_children" in proxy and not flags & (CLONE_THREAD | CLONE_VM):
        task.namespaces = dict(proxy) | {"time": proxy["time_for_children"]}
        time_offsets(proxy["time_for_children"]).frozen = True
    k.vfs.proxies.publish(k, task)
    space = task.pid_ns = pid_space(proxy)
    if space is not None:
        if not space.reaper:
            task.signal.ns_init = True
        asked = k.current.clone_args
        space.add(task.pid, asked.set_tid if asked is not None else ())
    return 0


def task_space(k: FsKernel) -> PidNamespace | None:
    """task_active_pid_ns() of the current task."""
    return k.current.pid_ns


@kernel_function("int ksys_unshare(unsigned long unshare_flags)", source="kernel/fork.c", since="4.17")
def ksys_unshare(k: FsKernel, flags: int) -> Body:
    """No longer share something with others.  EINVAL, EPERM."""
    refused = yield from _may_make_users(k, flags)
    return refused or _unshare(k, flags)


def _unshare(k: FsKernel, flags: int) -> int:
    task = k.current
    if flags & CLONE_NEWUSER:
        flags |= CLONE_THREAD | CLONE_FS
    if flags & CLONE_NEWPID:
        flags |= CLONE_THREAD
    if flags & CLONE_VM:
        flags |= CLONE_SIGHAND
    if flags & CLONE_SIGHAND:
        flags |= CLONE_THREAD
    if flags & CLONE_NEWNS:
        flags |= CLONE_FS
    if flags & ~UNSHARE_FLAGS:
        return -EINVAL
    if flags & (CLONE_THREAD | CLONE_SIGHAND | CLONE_VM) and len(task.signal.threads) > 1:
        return -EINVAL
    if flags & CLONE_VM and task.mm is not None and task.mm.users > 1:
        return -EINVAL
    if flags & HERE and not flags & CLONE_NEWUSER and not ns_capable(task, user_ns(task), CAP_SYS_ADMIN):
        return -EPERM
    fs, files = fs_of(task), files_of(task)
    if flags & CLONE_FS and fs.count > 1:
        fs.count -= 1
        task.fs = FsStruct(k.vfs.mirror, fs.root, fs.pwd, fs.umask)
        publish_task_files(k.vfs.mirror, task)
    if flags & CLONE_FILES and files.count > 1:
        task.files = files.copy()
        files.count -= 1
        publish_task_files(k.vfs.mirror, task)
    if flags & (HERE | CLONE_NEWUSER):
        old, task.namespaces = task.namespaces, _create(k, flags, task)
        k.vfs.proxies.publish(k, task)
        left_behind(k, old)
    k.vfs.namespaces.entered()
    return 0


@syscall("unshare", "unsigned long unshare_flags", source="kernel/fork.c")
def sys_unshare(k: FsKernel, flags: int) -> Body:
    """unshare(2)."""
    if k.version.before("4.17"):
        return _unshare(k, flags)
    return (yield k.call("ksys_unshare", flags))


def _enter(k: FsKernel, proxy: dict[str, Namespace], target: Namespace) -> None:
    """install: one namespace for the current task.  EINVAL, EPERM."""
    task = k.current
    if target.kind == "user":
        _enter_user(k, proxy, target)
        return
    mine = proxy.get("user")
    able = ns_capable(task, target.owner, CAP_SYS_ADMIN) and ns_capable(task, mine, CAP_SYS_ADMIN)
    if not able or (target.kind == "mnt" and not ns_capable(task, mine, CAP_SYS_CHROOT)):
        raise KernelError(EPERM)
    if target.kind == "pid":
        space = target.state
        if task.pid_ns is not None and not (isinstance(space, PidNamespace) and task.pid_ns.contains(space)):
            raise KernelError(EINVAL, "not one below")
    if target.kind == "time" and len(task.signal.threads) > 1:
        raise KernelError(EUSERS)
    if target.kind == "mnt":
        if fs_of(task).count != 1:
            raise KernelError(EINVAL)
        top = target.state if isinstance(target.state, Mount) else k.vfs.mounts.root.mnt
        mnt, dentry = k.vfs.mounts.traverse(top, top.mnt_root)
        fs_of(task).set_root(Path(mnt, dentry))
        fs_of(task).set_pwd(Path(mnt, dentry))
    kinds = ("time", "time_for_children") if target.kind == "time" else (target.kind,)
    for kind in kinds:
        if target.initial:
            proxy.pop(kind, None)
        else:
            proxy[kind] = target


def _enter_user(k: FsKernel, proxy: dict[str, Namespace], target: Namespace) -> None:
    """userns_install(): all capabilities in it, none elsewhere.  EINVAL, EPERM."""
    task = k.current
    if target is proxy.get("user") or (target.initial and "user" not in proxy):
        raise KernelError(EINVAL, "it is in that one already")
    if len(task.signal.threads) > 1 or fs_of(task).count != 1:
        raise KernelError(EINVAL, "others share with it")
    if target.initial or not ns_capable(task, target, CAP_SYS_ADMIN):
        raise KernelError(EPERM)
    proxy["user"] = target
    cred = task.cred.copy()
    cred.cap_inheritable = cred.cap_ambient = 0
    cred.cap_permitted = cred.cap_effective = cred.cap_bset = CAP_FULL_SET
    task.cred = cred
    k.mirror.publish_cred(task)


@syscall("setns", "int fd, int flags", source="kernel/nsproxy.c")
def sys_setns(k: FsKernel, fd: int, flags: int) -> int:
    """Enter the namespace of a descriptor, or those of a process.  EBADF, EINVAL, EPERM, ESRCH."""
    file, old = k.vfs.fget(fd), k.current.namespaces
    proxy = dict(old)
    if file.f_op is NS_FILE_OPERATIONS:
        target = namespace_of(file.f_inode)
        if flags and KINDS[target.kind] != flags:
            return -EINVAL
        _enter(k, proxy, target)
    elif file.f_op is PIDFD_FOPS:
        if not flags or flags & ~(HERE | CLONE_NEWUSER):
            return -EINVAL
        other = process_of(file)
        if other.exit_state:  # it has left its namespaces: validate_nsset()
            return -ESRCH
        if not ptrace_may_access(k, other):
            return -EPERM
        for kind, flag in KINDS.items():
            if flags & flag:
                _enter(k, proxy, other.namespaces.get(kind) or initial_namespace(k.version, kind))
    else:
        return -EINVAL
    k.current.namespaces = proxy
    k.vfs.proxies.publish(k, k.current)
    left_behind(k, old)
    k.vfs.namespaces.entered()
    return 0


def in_use(k: FsKernel, namespace: Namespace) -> bool:
    """A task is in it, a file of it is open, or it is mounted somewhere."""
    kind = namespace.kind
    if any(t.namespaces.get(kind) is namespace for t in k.tasks.by_pid.values() if not t.exit_state):
        return True
    inodes = k.vfs.namespaces.inodes(namespace)
    return k.vfs.namespaces.opened(namespace) or any(mnt.mnt_root.inode in inodes for mnt in k.vfs.mounts)


def install_ucounts(k: FsKernel) -> None:
    """setup_userns_sysctls(): each user namespace has limits of its own, which whoever is in it reads and sets."""
    ucounts, table = k.vfs.namespaces.ucounts, k.vfs.sysctl
    ucounts.in_use = lambda candidates: _alive(k, candidates)
    for kind in KINDS:
        name = limit_name(kind)
        if name not in table:
            continue
        ucounts.set_limit(None, kind, table[name])
        table.readers[name] = lambda kind=kind: ucounts.limit(user_ns(k.current), kind)  # type: ignore[misc]
        table.on_write(name, lambda value, kind=kind: ucounts.set_limit(user_ns(k.current), kind, value))  # type: ignore[misc]


def _alive(k: FsKernel, candidates: list[Namespace]) -> set[int]:
    """ids of those that a task is in, that a file or a mount holds, or that another of these belongs to."""
    found = {id(n): n for t in k.tasks.by_pid.values() if not t.exit_state for n in t.namespaces.values()}
    roots = {mnt.mnt_root.inode for mnt in k.vfs.mounts}
    for each in candidates:
        if k.vfs.namespaces.opened(each) or not roots.isdisjoint(k.vfs.namespaces.inodes(each)):
            found[id(each)] = each
    held = set(found)
    for each in found.values():
        above = each.owner if each.kind != "user" else each.parent
        while above is not None and id(above) not in held:
            held.add(id(above))
            above = above.parent
    return held


def left_behind(k: FsKernel, old: Proxy) -> None:
    """free_nsproxy(): the mounts of a namespace that nobody is in, and nobody holds open, go; others are told."""
    if not old:
        return
    gone = old.get("mnt")
    if gone is not None and isinstance(gone.state, Mount) and not in_use(k, gone):
        k.vfs.mounts.drop_tree(gone.state)
    k.vfs.namespaces.released()
