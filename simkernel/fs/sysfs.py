"""sysfs, debugfs and tracefs (and the mounts of these and of cgroup2): trees that the rest of the machine hangs its files on.

fs/sysfs/, fs/kernfs/, fs/debugfs/, fs/tracefs/, kernel/cgroup/.  `sysfs_file(vfs, "kernel/btf/vmlinux", node)` and
`debugfs_file` put nodes in; `set_tracefs(vfs, root)` gives /sys/kernel/tracing its tree (tracing/files/tracefs.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from arch.abi.errno import EACCES
from arch.abi.fcntl import O_ACCMODE, O_RDONLY, O_WRONLY
from arch.abi.stat import CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, SYSFS_MAGIC, TRACEFS_MAGIC
from arch.abi.version import newest
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import FileOperations, SuperBlock
from simkernel.fs.nodes import Dir, Link, Node, OpenNode, PseudoFile, TracefsRoot
from simkernel.fs.pseudo import (
    DEBUGFS_FOPS,
    KERNFS_FOPS,
    KERNFS_FOPS_5_9,
    PseudoSuper,
)  # fmt: skip
from simkernel.fs.sysfs_kernel import links, settings
from simkernel.fs.sysfs_system import (
    HOTPLUG_TARGET,
    cpu_files,
    node_files,
    take_fail,
    take_online,
    take_target,
)  # fmt: skip
from simkernel.fs.tracefs_fops import tracefs_fops
from simkernel.fs.tree_options import OwnedSuper
from simkernel.fs.vfs import FsType, Vfs
from tracing.files import nodes as tracefs


class AttrFile(PseudoFile):
    """A sysfs attribute: 4096 bytes long for stat, whatever it holds."""

    def __init__(self, read: Callable[[], str | bytes] | None = None, write: Callable[[bytes], int | None] | None = None, mode: int | None = None,
                 size: int = 4096) -> None:  # fmt: skip
        super().__init__(read, write, mode, size)

    def open(self, flags: int) -> OpenNode:
        """kernfs_fop_open(): EACCES for an access that the attribute does not have."""
        access = flags & O_ACCMODE
        if access != O_RDONLY and (not self.mode & 0o222 or self.store is None):
            raise KernelError(EACCES, "cannot be written")
        if access != O_WRONLY and (not self.mode & 0o444 or self.show is None):
            raise KernelError(EACCES, "cannot be read")
        return super().open(flags)


def _walk(root: Dir, path: str) -> tuple[Dir, str]:
    parts = path.strip("/").split("/")
    where = root
    for part in parts[:-1]:
        where = where.subdir(part, 0o755)
    return where, parts[-1]


def sysfs_file(vfs: Vfs, path: str, node: Node) -> None:
    """Put a node into /sys; directories on the way are made."""
    where, name = _walk(vfs.sysfs_root, path)
    where.add(name, node)


def debugfs_file(vfs: Vfs, path: str, node: Node) -> None:
    """Put a node into /sys/kernel/debug."""
    where, name = _walk(vfs.debugfs_root, path)
    where.add(name, node)


def set_tracefs(vfs: Vfs, root: tracefs.Directory) -> None:
    """The tree of tracefs: /sys/kernel/tracing and /sys/kernel/debug/tracing."""
    vfs.tracefs_root.set(root)


def _boot_tree(k: FsKernel) -> Dir:
    root = Dir()
    for name in (
        "block",
        "bus",
        "class",
        "dev",
        "devices",
        "firmware",
        "fs",
        "hypervisor",
        "kernel",
        "module",
        "power",
    ):
        root.add(name, Dir(mode=0o755))

    def text(
        path: str, show: Callable[[], str], store: Callable[[bytes], int | None] | None = None, mode: int | None = None
    ) -> None:
        where, name = _walk(root, path)
        where.add(name, AttrFile(show, store, mode))

    target = f"{newest(HOTPLUG_TARGET, k.version)}\n"
    for path, show in cpu_files(k).items():
        text(f"devices/system/cpu/{path}", show)
    for path, show in node_files(k).items():
        text(f"devices/system/node/{path}", show)
    for cpu in range(k.nr_cpus):
        where = root.subdir("devices").subdir("system")
        if cpu:
            text(f"devices/system/cpu/cpu{cpu}/online", lambda: "1\n", partial(take_online, k))
        text(f"devices/system/cpu/cpu{cpu}/hotplug/target", lambda: target, partial(take_target, k), 0o644)
        text(f"devices/system/cpu/cpu{cpu}/hotplug/fail", lambda: "-1\n", partial(take_fail, k), 0o644)
        where.subdir("cpu").subdir(f"cpu{cpu}").add("node0", Link("../../node/node0"))
        where.subdir("node").subdir("node0").add(f"cpu{cpu}", Link(f"../../cpu/cpu{cpu}"))
    text("devices/system/node/node0/compact", lambda: "", lambda data: None, 0o200)
    for each in settings(k):
        text(each.row.path, each.show, each.store if each.row.parse is not None else None)
    for path, moved_to in links(k):
        where, name = _walk(root, path)
        where.add(name, Link(moved_to))
    kernel = root.subdir("kernel")
    kernel.add("debug", Dir(mode=0o700))
    kernel.add("tracing", Dir(mode=0o700))
    kernel.add("btf", Dir(mode=0o755))
    kernel.add("cgroup", Dir(mode=0o755))
    kernel.add("security", Dir(mode=0o555))
    kernel.add("slab", Dir(mode=0o755))
    root.subdir("fs").add("bpf", Dir(mode=0o755))
    root.subdir("fs").add("cgroup", Dir(mode=0o755))
    root.subdir("bus").add("event_source", Dir({"devices": Dir(mode=0o755)}, mode=0o755))
    root.subdir("devices").add("virtual", Dir(mode=0o755))
    return root


def _by_name(names: list[str]) -> list[str]:
    return sorted(names)


def sysfs_super(vfs: Vfs, root: Dir) -> PseudoSuper:
    """One instance of sysfs."""
    kernfs = KERNFS_FOPS if vfs.names.kernfs_iter else KERNFS_FOPS_5_9
    return PseudoSuper(vfs, "sysfs", SYSFS_MAGIC, root, lambda node, name: kernfs, order=_by_name)


def register_sysfs(k: FsKernel, vfs: Vfs) -> None:
    """sysfs, debugfs, tracefs and cgroup2: one instance each, but of sysfs one for every network namespace."""
    kernfs = KERNFS_FOPS if vfs.names.kernfs_iter else KERNFS_FOPS_5_9
    vfs.sysfs_root = _boot_tree(k)
    sysfs_file(vfs, "kernel/uevent_seqnum", AttrFile(lambda: f"{vfs.uevents.seqnum}\n"))
    vfs.debugfs_root = Dir(mode=0o700)
    vfs.tracefs_root = TracefsRoot()
    # /sys/kernel/debug/tracing is the automount point of tracefs; here it is the same tree
    vfs.debugfs_root.add("tracing", vfs.tracefs_root)
    vfs.debugfs_root.add("kprobes", Dir(mode=0o755))

    def singleton(name: str, make: Callable[[Vfs], SuperBlock]) -> None:
        def mount(v: Vfs, devname: str, flags: int, data: str) -> SuperBlock:
            sb = v.singletons.get(name)
            if sb is None:
                sb = v.singletons[name] = make(v)
            if isinstance(sb, OwnedSuper):
                sb.mount_again(flags, data)
            return sb

        vfs.register(FsType(name, mount))

    def mount_sysfs(v: Vfs, devname: str, flags: int, data: str) -> SuperBlock:
        sb = v.singletons.get("sysfs")
        if sb is None:
            sb = v.singletons["sysfs"] = sysfs_super(v, v.sysfs_root)
        return v.sysfs_of_namespace(sb)

    vfs.register(FsType("sysfs", mount_sysfs))

    def make_cgroup2(v: Vfs) -> SuperBlock:
        sb = PseudoSuper(
            v, "cgroup2", CGROUP2_SUPER_MAGIC, v.cgroups.root, lambda node, name: kernfs, order=_by_name,
        )  # fmt: skip
        v.cgroups.sb = sb
        sb.next_ino = max(sb.next_ino, 2)
        return sb

    singleton("cgroup2", make_cgroup2)

    def debug_fops(node: Node, name: str) -> FileOperations:
        return tracefs_fops(node, name) if name in _TRACE_NAMES else DEBUGFS_FOPS

    singleton("debugfs", lambda v: OwnedSuper(
        v, "debugfs", DEBUGFS_MAGIC, v.debugfs_root, debug_fops, newest_first=True, link_size=True
    ).begin(strict=False, whole=False))  # fmt: skip
    singleton("tracefs", lambda v: OwnedSuper(
        v, "tracefs", TRACEFS_MAGIC, v.tracefs_root, tracefs_fops, newest_first=True
    ).begin(strict=True, whole=True))  # fmt: skip


_TRACE_NAMES = frozenset((
    "trace", "trace_pipe", "trace_marker", "kprobe_events", "uprobe_events", "tracing_on", "set_event", "current_tracer",
))  # fmt: skip
