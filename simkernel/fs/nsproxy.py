"""Making and entering namespaces: unshare, setns, and clone's part.  kernel/nsproxy.c, kernel/fork.c, fs/namespace.c:copy_mnt_ns().

There are namespaces of host names, System V IPC, mounts and cgroups; those of users, pids, networks and time exist once.
"""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_ADMIN, CAP_SYS_CHROOT
from arch.abi.errno import EINVAL, EPERM
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
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import FsStruct, publish_task_files
from simkernel.fs.inode import Mount, Path
from simkernel.fs.nsfs import NS_FILE_OPERATIONS, namespace_of
from simkernel.fs.pidfd import PIDFD_FOPS
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.namespaces import KINDS, Namespace, Proxy, UtsNamespace
from simkernel.kernel.task import Task

HERE = CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWCGROUP  # what can be made
NOT_HERE = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME
UNSHARE_FLAGS = CLONE_THREAD | CLONE_FS | CLONE_SIGHAND | CLONE_VM | CLONE_FILES | CLONE_SYSVSEM | HERE | NOT_HERE


def _top(mnt: Mount) -> Mount:
    """The root of the mount's namespace."""
    while mnt.mnt_parent is not mnt:
        mnt = mnt.mnt_parent
    return mnt


def _state(k: FsKernel, kind: str, task: Task) -> object:
    """What a new namespace begins with: a copy of what the task has."""
    if kind == "uts":
        old = k.current.namespaces.get("uts")
        uts = old.state if old is not None else None
        if isinstance(uts, UtsNamespace):
            return UtsNamespace(uts.nodename, uts.domainname)
        return UtsNamespace(k.hostname, k.domainname)
    if kind == "mnt":
        top = _top(task.fs.root.mnt)
        copies = k.vfs.mounts.copy_tree(top)
        fs: FsStruct = task.fs
        fs.set_root(Path(copies.get(fs.root.mnt, fs.root.mnt), fs.root.dentry))
        fs.set_pwd(Path(copies.get(fs.pwd.mnt, fs.pwd.mnt), fs.pwd.dentry))
        return copies[top]
    return None


def _create(k: FsKernel, flags: int, task: Task) -> Proxy:
    """create_new_namespaces(), for a task whose fs_struct is its own."""
    proxy = dict(k.current.namespaces)
    for kind, (flag, _) in KINDS.items():
        if flags & flag & HERE:
            proxy[kind] = k.vfs.namespaces.numbers.new(kind, _state(k, kind, task))
    return proxy


@kernel_function("int copy_namespaces(unsigned long flags, struct task_struct *tsk)", source="kernel/nsproxy.c")
def copy_namespaces(k: FsKernel, flags: int, tsk: int) -> int:
    """The child's namespaces: the parent's, or new ones.  EPERM, EINVAL."""
    task = k.tasks.at(tsk)
    task.namespaces = k.current.namespaces
    if not flags & (HERE | NOT_HERE):
        return 0
    if (
        flags & NOT_HERE
        or (flags & CLONE_NEWNS and flags & CLONE_FS)
        or (flags & CLONE_NEWIPC and flags & CLONE_SYSVSEM)
    ):
        raise KernelError(EINVAL)
    if not k.capable(CAP_SYS_ADMIN):
        raise KernelError(EPERM)
    task.namespaces = _create(k, flags, task)
    return 0


@kernel_function("int ksys_unshare(unsigned long unshare_flags)", source="kernel/fork.c", since="4.17")
def ksys_unshare(k: FsKernel, flags: int) -> int:
    """No longer share something with others.  EINVAL, EPERM."""
    return _unshare(k, flags)


def _unshare(k: FsKernel, flags: int) -> int:
    task = k.current
    if flags & CLONE_NEWNS:
        flags |= CLONE_FS
    if flags & ~UNSHARE_FLAGS or flags & NOT_HERE:
        return -EINVAL
    if flags & (CLONE_THREAD | CLONE_SIGHAND | CLONE_VM) and len(task.signal.threads) > 1:
        return -EINVAL
    if flags & CLONE_VM and task.mm is not None and task.mm.users > 1:
        return -EINVAL
    if flags & HERE and not k.capable(CAP_SYS_ADMIN):
        return -EPERM
    if flags & CLONE_FS and task.fs.count > 1:
        task.fs.count -= 1
        task.fs = FsStruct(k.vfs.mirror, task.fs.root, task.fs.pwd, task.fs.umask)
        publish_task_files(k.vfs.mirror, task)
    if flags & CLONE_FILES and task.files.count > 1:
        task.files.count -= 1
        task.files = task.files.copy()
        publish_task_files(k.vfs.mirror, task)
    if flags & HERE:
        old, task.namespaces = task.namespaces, _create(k, flags, task)
        left_behind(k, old)
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
        raise KernelError(EINVAL, "it is in that one already")
    if not k.capable(CAP_SYS_ADMIN) or (target.kind == "mnt" and not k.capable(CAP_SYS_CHROOT)):
        raise KernelError(EPERM)
    if target.kind == "mnt":
        if task.fs.count != 1:
            raise KernelError(EINVAL)
        top = target.state if isinstance(target.state, Mount) else k.vfs.mounts.root.mnt
        mnt, dentry = k.vfs.mounts.traverse(top, top.mnt_root)
        task.fs.set_root(Path(mnt, dentry))
        task.fs.set_pwd(Path(mnt, dentry))
    if target.ino == KINDS[target.kind][1]:
        proxy.pop(target.kind, None)
    else:
        proxy[target.kind] = target


@syscall("setns", "int fd, int flags", source="kernel/nsproxy.c")
def sys_setns(k: FsKernel, fd: int, flags: int) -> int:
    """Enter the namespace of a descriptor, or those of a process.  EBADF, EINVAL, EPERM."""
    file, old = k.vfs.fget(fd), k.current.namespaces
    proxy = dict(old)
    if file.f_op is NS_FILE_OPERATIONS:
        target = namespace_of(file.f_inode)
        if flags and KINDS[target.kind][0] != flags:
            return -EINVAL
        _enter(k, proxy, target)
    elif file.f_op is PIDFD_FOPS:
        if not flags or flags & ~(HERE | NOT_HERE):
            return -EINVAL
        other: Task = file.private_data
        for kind, (flag, ino) in KINDS.items():
            if flags & flag:
                _enter(k, proxy, other.namespaces.get(kind) or Namespace(kind, ino))
    else:
        return -EINVAL
    k.current.namespaces = proxy
    left_behind(k, old)
    return 0


def left_behind(k: FsKernel, old: Proxy) -> None:
    """put_mnt_ns(): the mounts of a namespace that nobody is in, and nobody holds open, go."""
    gone = old.get("mnt")
    if gone is None or not isinstance(gone.state, Mount):
        return
    if any(t.namespaces.get("mnt") is gone for t in k.tasks.by_pid.values() if not t.exit_state):
        return
    if any(file.f_inode in k.vfs.namespaces.inodes(gone) for file in k.vfs.files.values()):
        return
    if any(mnt.mnt_root.inode in k.vfs.namespaces.inodes(gone) for mnt in k.vfs.mounts):
        return
    k.vfs.mounts.drop_tree(gone.state)
