"""The virtual file system and the file systems on it.  Mirrors fs/ (and the file-like parts of drivers/char, mm/shmem.c).

What lives here: path walk, descriptors, every system call on files, tmpfs, procfs, sysfs, devices, pipes, epoll, host
binds.  What does not: sockets (simkernel/net), the block layer (simkernel/block), what tracefs shows (tracing/).

Objects are Python (inode.py); their C structures in kernel memory follow (mirror.py).  Start reading with inode.py,
namei.py and vfs.py; then open.py and read_write.py for how a system call reaches a file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from arch.abi.mount import MS_RELATIME
from arch.abi.stat import ANON_INODE_FS_MAGIC, NSFS_MAGIC, PIPEFS_MAGIC, S_IFDIR, S_IFREG, SOCKFS_MAGIC
from simkernel.fs import devices
from simkernel.fs.fops import FileOperations
from simkernel.fs.inode import Dentry, Inode, Mount, Path, SuperBlock
from simkernel.fs.mirror import Mirror
from simkernel.fs.pagecache import PagePool, PlainPages
from simkernel.fs.rootfs import populate_dev, populate_root
from simkernel.fs.tmpfs import TmpfsSuper
from simkernel.fs.uio import UioStructs
from simkernel.fs.vfs import FsType, Vfs

__all__ = ["BODIES", "Vfs", "install"]

# Modules that declare kernel functions and system calls; they must be loaded before the kernel's text is laid out.
BODIES = (
    "attributes", "calls32", "copy", "devices", "eventfd", "eventpoll", "fcntl", "files", "hostio", "lseek", "namei_calls",
    "namespace", "open", "pipe", "pseudo", "read_write", "readdir", "select", "shmem", "stat", "timerfd", "truncate",
    "xattr",
)  # fmt: skip
for _name in BODIES:
    importlib.import_module(f"simkernel.fs.{_name}")


NS_FILE_OPERATIONS = FileOperations("ns_file_operations", llseek="no_llseek")


def _mount_tmpfs(vfs: Vfs, devname: str, flags: int, data: str, fs_name: str = "tmpfs") -> SuperBlock:
    total = getattr(vfs.k, "total_ram_pages", 65536)
    mode = 0o755 if fs_name in ("rootfs", "devtmpfs") else 0o1777
    return TmpfsSuper(vfs.anon_dev(), vfs.now, vfs.pool, data, fs_name, total, mode)


def _mount_devtmpfs(vfs: Vfs, devname: str, flags: int, data: str) -> SuperBlock:
    sb = vfs.singletons.get("devtmpfs")
    if sb is None:
        sb = vfs.singletons["devtmpfs"] = _mount_tmpfs(vfs, devname, flags, "mode=755", "devtmpfs")
    return sb


def _internal_mount(vfs: Vfs, fs_name: str, magic: int) -> Mount:
    """kern_mount(): a file system that has no place in the tree."""
    sb = SuperBlock(fs_name, magic, vfs.anon_dev(), vfs.now)
    sb.pseudo_mountable = False
    root = Inode(sb, S_IFDIR | 0o600)
    sb.s_root = Dentry(f"{fs_name}:", None, root)
    vfs.singletons[fs_name] = sb
    vfs.register(FsType(fs_name, lambda v, d, f, t: v.singletons[fs_name], user_mountable=False))
    return vfs.new_mount(sb, "none")


def _make_internal(vfs: Vfs) -> None:
    from simkernel.fs.hostio import Terminal
    from simkernel.fs.pipe import PIPEFIFO_FOPS

    vfs.fs_values["pipe_mnt"] = _internal_mount(vfs, "pipefs", PIPEFS_MAGIC)
    vfs.fs_values["ns_path"] = _namespaces(vfs, _internal_mount(vfs, "nsfs", NSFS_MAGIC))
    vfs.fs_values["sock_mnt"] = _internal_mount(vfs, "sockfs", SOCKFS_MAGIC)
    anon = vfs.fs_values["anon_mnt"] = _internal_mount(vfs, "anon_inodefs", ANON_INODE_FS_MAGIC)
    inode = Inode(anon.mnt_sb, 0o600)
    inode.i_nlink = 1
    anon.mnt_sb.private = inode
    vfs.fifo_fops = PIPEFIFO_FOPS
    vfs.char_devices = devices.char_devices(vfs.k)
    vfs.terminal = Terminal(vfs.k)


def _namespaces(vfs: Vfs, mnt: Mount) -> Callable[[str, int], Path]:
    """The inodes of nsfs: one per namespace, made when first asked for."""
    made: dict[int, Path] = {}

    def path(text: str, ino: int) -> Path:
        if ino not in made:
            inode = Inode(mnt.mnt_sb, S_IFREG | 0o444, ino)
            inode.i_fop = NS_FILE_OPERATIONS
            dentry = Dentry(text, None, inode)
            dentry.private = lambda d: d.name
            made[ino] = Path(mnt, dentry)
        return made[ino]

    return path


def _pool(k: Any) -> PagePool:
    pool = getattr(k, "pages", None)
    return pool if pool is not None else PlainPages()


def install(k: Any) -> Vfs:
    """Make the file systems of a machine: called once at boot."""
    from simkernel.fs.bpffs import register_bpffs
    from simkernel.fs.procfs import register_procfs
    from simkernel.fs.sysfs import register_sysfs

    vfs = Vfs(k, _pool(k))
    k.vfs = vfs
    vfs.mirror = Mirror(k)
    vfs.uio = UioStructs(vfs)
    vfs.init_user_ns = vfs.mirror.symbol("init_user_ns")
    vfs.register(FsType("sysfs", lambda v, d, f, t: v.singletons["sysfs"]))
    vfs.register(FsType("tmpfs", _mount_tmpfs))
    register_procfs(vfs)
    vfs.register(FsType("devtmpfs", _mount_devtmpfs))
    register_sysfs(vfs)
    register_bpffs(vfs)
    _make_internal(vfs)
    vfs.register(FsType("ramfs", lambda v, d, f, t: _mount_tmpfs(v, d, f, t, "ramfs")))
    root = vfs.new_mount(_mount_tmpfs(vfs, "rootfs", 0, "", "rootfs"), "rootfs")
    vfs.mounts.append(root)
    vfs.root = Path(root, root.mnt_root)
    populate_root(vfs)
    relatime = MS_RELATIME
    vfs.mount_at("/proc", "proc", "proc", relatime)
    vfs.mount_at("/sys", "sysfs", "sysfs", relatime)
    vfs.mount_at("/dev", "devtmpfs", "devtmpfs", relatime)
    populate_dev(vfs, devices.DEVICE_NODES)
    vfs.mount_at("/sys/fs/bpf", "bpf", "bpf", relatime)
    vfs.mount_at("/sys/kernel/debug", "debugfs", "debugfs", relatime)
    vfs.mount_at("/sys/kernel/tracing", "tracefs", "tracefs", relatime)
    if vfs.names.cgroup2:
        vfs.mount_at("/sys/fs/cgroup", "cgroup2", "cgroup2", relatime)
    _give_boot_tasks_files(vfs)
    return vfs


def _give_boot_tasks_files(vfs: Vfs) -> None:
    """Tasks that exist already (init, kernel threads) get a root, and init an empty table."""
    tasks = getattr(vfs.k, "tasks", None) or {}
    for task in tasks.values():
        if getattr(task, "fs", None) is None:
            vfs.setup_init_files(vfs.k, task)
    current = vfs.k.current
    if getattr(current, "fs", None) is None:
        vfs.setup_init_files(vfs.k, current)
