"""Making the file systems of a machine: which modules have bodies, what is mounted where at boot.  init/do_mounts.c."""

from __future__ import annotations

from arch.abi.errno import EBADF
from arch.abi.mount import MS_NODEV, MS_NOSUID, MS_RELATIME
from arch.abi.stat import ANON_INODE_FS_MAGIC, NSFS_MAGIC, PIPEFS_MAGIC, SOCKFS_MAGIC
from arch.errors import KernelError
from simkernel.fs import (
    acct,
    aio,
    attributes,
    cachestat,
    calls32,
    copy,
    coredump,
    devices,
    eventfd,
    eventpoll,
    exec_open,
    fcntl,
    fhandle,
    file_attr_calls,
    files,
    fsopen,
    hostio,
    inotify,
    kexec,
    landlock,
    listns,
    lseek,
    lsm_attr,
    modules,
    mount_api,
    namei_calls,
    namespace,
    nsproxy,
    old_calls,
    open,
    pidfd,
    pipe,
    pseudo,
    read_write,
    readdir,
    rename,
    seccomp_notify,
    secretmem,
    select,
    shmem,
    signalfd,
    splice,
    stat,
    statmount,
    sysfs_devices,
    sysfs_ksm,
    timerfd,
    truncate,
    userfaultfd,
    xattr,
)
from simkernel.fs.bpffs import register_bpffs
from simkernel.fs.cgroup import Cgroup
from simkernel.fs.cgroup_nodes import CgroupNode
from simkernel.fs.face import FsKernel
from simkernel.fs.fanotify import calls as fanotify
from simkernel.fs.fdtable import files_of
from simkernel.fs.fsnotify import FS_MODIFY
from simkernel.fs.inode import Inode, Mount, SuperBlock
from simkernel.fs.mount_options import mode_option
from simkernel.fs.nsfs import Namespaces
from simkernel.fs.pipe import PIPEFIFO_FOPS
from simkernel.fs.procfs import register_procfs
from simkernel.fs.rootfs import make_directory, populate_dev, populate_root
from simkernel.fs.sysfs import register_sysfs
from simkernel.fs.tmpfs import TmpfsSuper, simple_xattr_size
from simkernel.fs.tty.devpts import register_devpts
from simkernel.fs.vfs import FsType, Vfs
from simkernel.kernel.areas import CacheFrames
from simkernel.kernel.task import Task

# Modules that declare kernel functions and system calls: loaded with this one, before the kernel's text is laid out.
BODIES = (
    acct, aio, attributes, cachestat, calls32, copy, coredump, devices, eventfd, eventpoll, exec_open, fanotify, fcntl, fhandle, file_attr_calls, statmount, files, fsopen, hostio, inotify, kexec, landlock, listns, lseek, lsm_attr, modules, mount_api, namei_calls, namespace, nsproxy, old_calls, open, pidfd, pipe, pseudo, read_write, readdir, rename, seccomp_notify, secretmem, select, shmem, signalfd, splice, stat, timerfd, truncate, userfaultfd, xattr,
)  # fmt: skip


def _mount_tmpfs(vfs: Vfs, devname: str, flags: int, data: str, fs_name: str = "tmpfs") -> SuperBlock:
    total = vfs.k.mm.total_ram_pages
    if fs_name == "ramfs":
        data = f"mode={mode_option(data, 0o755):o}"
    mode = 0o755 if fs_name in ("rootfs", "devtmpfs") else 0o1777
    head = 0 if fs_name == "ramfs" else simple_xattr_size(vfs.names, vfs.k.arch.word)
    return TmpfsSuper(vfs.anon_dev(), vfs.now, CacheFrames(vfs.k.mm.frames, True), data, fs_name, total, mode, head)


def _mount_devtmpfs(vfs: Vfs, devname: str, flags: int, data: str) -> SuperBlock:
    sb = vfs.singletons.get("devtmpfs")
    if sb is None:
        sb = vfs.singletons["devtmpfs"] = _mount_tmpfs(vfs, devname, flags, "mode=755", "devtmpfs")
    return sb


def _make_internal(vfs: Vfs) -> None:
    vfs.pipe_mnt = vfs.internal_mount("pipefs", PIPEFS_MAGIC)
    vfs.namespaces = Namespaces(vfs.internal_mount("nsfs", NSFS_MAGIC))
    vfs.sock_mnt = vfs.internal_mount("sockfs", SOCKFS_MAGIC)
    vfs.anon_mnt = vfs.internal_mount("anon_inodefs", ANON_INODE_FS_MAGIC)
    inode = Inode(vfs.anon_mnt.mnt_sb, 0o600)
    inode.i_nlink = 1
    vfs.anon_mnt.mnt_sb.anon_inode = inode
    vfs.fifo_fops = PIPEFIFO_FOPS
    vfs.char_devices = devices.char_devices(vfs.names)


def install(k: FsKernel) -> Vfs:
    """Make the file systems of a machine: called once at boot."""
    vfs = Vfs(k, CacheFrames(k.mm.frames))
    k.vfs = vfs
    vfs.register(FsType("sysfs", lambda v, d, f, t: v.singletons["sysfs"]))
    vfs.register(FsType("tmpfs", _mount_tmpfs))
    register_procfs(k)
    vfs.register(FsType("devtmpfs", _mount_devtmpfs))
    k.pidfds = pidfd.PidFds()
    k.mm.exit_aio = lambda mm: aio.exit_aio(k, mm)
    vfs.sysctl.on_write(
        "vm.memory_failure_early_kill", lambda value: setattr(k, "memory_failure_early_kill", bool(value))
    )
    vfs.watched_by = eventpoll.watched_by
    vfs.sysctl.readers["fs.aio-nr"] = lambda: vfs.aio_nr
    k.seccomp_listeners = seccomp_notify.SeccompListeners(k)
    register_sysfs(k, vfs)
    register_bpffs(vfs)
    register_devpts(vfs)
    _make_internal(vfs)
    vfs.register(FsType("ramfs", lambda v, d, f, t: _mount_tmpfs(v, d, f, t, "ramfs")))
    vfs.mounts.set_root(vfs.mounts.new(_mount_tmpfs(vfs, "rootfs", 0, "", "rootfs"), "rootfs"))
    populate_root(vfs)
    relatime = MS_RELATIME
    vfs.mount_at("/proc", "proc", "proc", relatime)
    vfs.mount_at("/sys", "sysfs", "sysfs", relatime)
    vfs.mount_at("/dev", "devtmpfs", "devtmpfs", relatime)
    populate_dev(vfs, devices.device_nodes(vfs.names))
    sysfs_devices.install(vfs)
    sysfs_ksm.install(k)
    make_directory(vfs, "/dev/pts")
    vfs.mount_at("/dev/pts", "devpts", "devpts", relatime)
    vfs.mount_at("/sys/fs/bpf", "bpf", "bpf", relatime)
    vfs.mount_at("/sys/kernel/debug", "debugfs", "debugfs", relatime)
    vfs.mount_at("/sys/kernel/tracing", "tracefs", "tracefs", relatime)
    if vfs.names.cgroup2:
        vfs.mount_at("/sys/fs/cgroup", "cgroup2", "cgroup2", relatime)
    make_directory(vfs, "/dev/shm")  # where shm_open() and sem_open() of every libc look, and every init mounts one
    vfs.mount_at("/dev/shm", "tmpfs", "tmpfs", MS_NOSUID | MS_NODEV | relatime)
    k.tasks.cgroup_exit = k.vfs.cgroups.exited
    k.tasks.may_fork.append(k.vfs.cgroups.may_fork)
    k.tasks.freezer_hooks.append(k.vfs.cgroups.freezer_changed)
    k.vfs.cgroups.of_fd = lambda fd: group_of_fd(k, fd)
    k.vfs.mounts.when_touched = lambda top: mounts_touched(k, top)
    k.vfs.cgroups.on_event = lambda group, name, node: tell_watchers(k, group, name, node)
    k.tasks.exit_hooks.append(lambda task: _leave(k, task))
    vfs.mounts.when_gone.append(lambda mnt: vfs.namespaces.released())
    nsproxy.install_ucounts(k)
    _give_boot_tasks_files(vfs)
    return vfs


def mounts_touched(k: FsKernel, top: Mount) -> None:
    """Who polls the mounts of a namespace looks again."""
    queue = k.vfs.key_queues.get(top)
    if queue is not None:
        k.wake_up(queue)


def _leave(k: FsKernel, task: Task) -> None:
    """exit_task_namespaces()."""
    k.vfs.proxies.forget(k, task)
    k.mirror.set_field(task.addr, "task_struct", "nsproxy", 0)
    nsproxy.left_behind(k, task.namespaces)


def group_of_fd(k: FsKernel, fd: int) -> Cgroup:
    """The group whose directory is open.  EBADF."""
    file = files_of(k.current).fds.get(fd) if k.current.files is not None else None
    inode = file.f_inode if file is not None else None
    if not isinstance(inode, pseudo.PseudoInode) or not isinstance(inode.node, Cgroup):
        raise KernelError(EBADF, "no directory of cgroup2")
    return inode.node


def tell_watchers(k: FsKernel, group: Cgroup, name: str, node: CgroupNode) -> None:
    """kernfs_notify(): to inotify and poll."""
    notify = k.vfs.fsnotify
    for inode in list(notify.marks):
        if isinstance(inode, pseudo.PseudoInode) and inode.node in (node, group):
            notify.inode(inode, FS_MODIFY, name if inode.node is group else "")
    k.wake_up(k.vfs.key_queue(node), 0)


def _give_boot_tasks_files(vfs: Vfs) -> None:
    """Tasks that exist already (init, kernel threads) get a root, and init an empty table."""
    tasks = vfs.k.tasks.by_pid
    for task in tasks.values():
        if task.fs is None:
            vfs.setup_init_files(vfs.k, task)
    current = vfs.k.current
    if current.fs is None:
        vfs.setup_init_files(vfs.k, current)
