"""What lies in /proc/PID and /proc/PID/task/TID: one row for each name, in the order of readdir.  fs/proc/base.c: tgid_base_stuff[],
tid_base_stuff[].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from arch.abi.version import KernelVersion
from arch.records import dataclass
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import fs_of
from simkernel.fs.inode import FileOperations, Path
from simkernel.fs.namespace import show_mountinfo, show_mounts, show_mountstats
from simkernel.fs.nodes import Dir, Node, PseudoFile, Text
from simkernel.fs.proc_attr import attr_dir
from simkernel.fs.proc_mounts import MountsFile
from simkernel.fs.proc_ns import SetgroupsFile, map_file, timens_file
from simkernel.fs.proc_pid_nodes import (
    NAMESPACE_LINKS,
    FdDir,
    FdLink,
    MapFiles,
    MemFile,
    TaskFile,
    TaskNet,
    comm_write,
    environ,
    exe_of,
    fdinfo_node,
    magic,
    namespace_link,
    stack_text,
    syscall_text,
    timers_text,
    wchan_text,
)
from simkernel.fs.proc_settings import (
    autogroup_text,
    autogroup_write,
    children_text,
    coredump_filter_text,
    coredump_filter_write,
    io_text,
    loginuid_write,
    oom_adj_text,
    oom_adj_write,
    oom_score_adj_write,
    oom_score_text,
    timerslack_text,
    timerslack_write,
)
from simkernel.fs.proc_task_mmu import PageMap, clear_refs_write, maps_text, numa_maps, smaps_rollup_text, smaps_text
from simkernel.fs.proc_text import (
    cmdline,
    comm_text,
    limits_text,
    sched_text,
    stat_line,
    statm_line,
    status_text,
    threads_of,
)
from simkernel.fs.pseudo import node_fops
from simkernel.fs.vfs import Vfs
from simkernel.kernel.body import Steps
from simkernel.kernel.pid_namespace import PidNamespace
from simkernel.kernel.task import Task

CMDLINE_FOPS = node_fops("proc_pid_cmdline_ops", read="proc_pid_cmdline_read")
ENVIRON_FOPS = node_fops("proc_environ_operations", read="environ_read")
AUXV_FOPS = node_fops("proc_auxv_operations", read="auxv_read")
COMM_FOPS = node_fops("proc_pid_set_comm_operations", read="seq_read", write="comm_write")
OOM_FOPS = node_fops("proc_oom_score_adj_operations", read="oom_score_adj_read", write="oom_score_adj_write")


class Shown(Protocol):
    """The directory: whose it is."""

    k: FsKernel
    task: Task
    whole: bool  # of a process, not of one thread
    space: PidNamespace | None  # as whose numbers it shows pids
    ino: int

    def threads(self) -> Node:
        """/proc/PID/task."""


Store = Callable[[Shown, bytes], int | Steps[int] | None]


@dataclass(frozen=True, slots=True)
class Entry:
    """One name: how its node is made, in which directories it is, and from and until which version."""

    name: str
    make: Callable[[Shown], Node]
    where: str = "both"  # "whole": only of processes; "thread": only of threads
    since: str | None = None
    until: str | None = None
    srcarch: str | None = None  # only where the kernel has this folder under arch/
    is_dir: bool = False
    number: int = 0  # of the inode in its directory; given by entry_names()


def _ksm_stat(d: Shown) -> str:
    """proc_pid_ksm_stat()."""
    mm = d.task.mm
    numbers = {"rmap_items": mm.ksm_rmap_items, "merging_pages": mm.ksm_merging_pages} if mm is not None else {}
    at_least = d.k.version.at_least
    names = ["rmap_items"] + ["zero_pages", "merging_pages", "process_profit"] * at_least("6.6")
    flags = "ksm_merge_any: no\nksm_mergeable: no\n" if at_least("6.16") else ""
    return "".join(f"ksm_{name} {numbers.get(name, 0)}\n" for name in names) + flags


def _text(
    show: Callable[[Shown], Text] | None,
    mode: int = 0o444,
    store: Store | None = None,
    fops: FileOperations | None = None,
) -> Callable[[Shown], Node]:
    def make(d: Shown) -> Node:
        read = None if show is None else lambda: show(d)
        write = None if store is None else lambda data: store(d, data)
        return PseudoFile(read, write, mode, fops=fops)

    return make


def _memory(
    show: Callable[[Shown], Text], mode: int = 0o444, fops: FileOperations | None = None
) -> Callable[[Shown], Node]:
    """Of a file about memory: only for who may look into it."""
    return lambda d: TaskFile(d.k, d.task, lambda: show(d), mode, fops)


def _link(where: Callable[[Task], Path | None]) -> Callable[[Shown], Node]:
    return lambda d: magic(d.k, d.task, lambda: where(d.task))


def _fdinfo_dir(d: Shown) -> Node:
    return FdDir(d.k, d.task, fdinfo_node, 0o555 if d.k.vfs.names.fdinfo_for_all else 0o500, d.ino + 0xC00)


def _ns_dir(d: Shown) -> Node:
    return Dir({name: namespace_link(d.k, d.task, kind) for name, kind in sorted(NAMESPACE_LINKS.items())}, mode=0o511)


def _root(d: Shown) -> Path:
    here: Path = fs_of(d.task).root if d.task.fs is not None else d.k.vfs.mounts.root
    return here


def _mounts(show: Callable[[Vfs, Path], str], mode: int = 0o444) -> Callable[[Shown], Node]:
    return lambda d: MountsFile(lambda: show(d.k.vfs, _root(d)), mode, lambda: _root(d).mnt)


def _cgroup_path(d: Shown) -> str:
    path: str = d.k.vfs.cgroups.of(d.task).path
    return path


def _nothing(d: Shown, data: bytes) -> None:
    """proc_sched_set_task(): begins to count anew, whatever was written; nothing here counts on its own."""


# fmt: off
ENTRIES = (
    Entry("task", lambda d: d.threads(), "whole", is_dir=True),
    Entry("fd", lambda d: FdDir(d.k, d.task, FdLink, 0o500, d.ino + 0x400), is_dir=True),
    Entry("map_files", lambda d: MapFiles(d.k, d.task, d.ino + 0x3000), "whole", is_dir=True),
    Entry("fdinfo", _fdinfo_dir, is_dir=True),
    Entry("ns", _ns_dir, is_dir=True),
    Entry("net", lambda d: TaskNet(d.k, d.task), is_dir=True),
    Entry("environ", _memory(lambda d: environ(d.task), 0o400, ENVIRON_FOPS)),
    Entry("auxv", _memory(lambda d: d.task.mm.auxv if d.task.mm is not None else b"", 0o400, AUXV_FOPS)),
    Entry("status", _text(lambda d: status_text(d.k, d.task, d.space))),
    Entry("personality", _text(lambda d: f"{d.task.personality:08x}\n", 0o400)),
    Entry("limits", _text(lambda d: limits_text(d.task))),
    Entry("sched", _text(lambda d: sched_text(d.task), 0o644, _nothing)),
    Entry("autogroup", _text(lambda d: autogroup_text(d.task), 0o644, lambda d, data: autogroup_write(d.k, d.task, data)),
          "whole"),
    Entry("timens_offsets", lambda d: timens_file(d.k, d.task), "whole", since="5.5"),
    Entry("comm", _text(lambda d: comm_text(d.task) + "\n", 0o644, lambda d, data: comm_write(d.k, d.task, data),
                        COMM_FOPS)),
    Entry("syscall", _text(lambda d: syscall_text(d.k, d.task), 0o400)),
    Entry("cmdline", _text(lambda d: cmdline(d.task), fops=CMDLINE_FOPS)),
    Entry("stat", _text(lambda d: stat_line(d.k, d.task, d.whole, d.space))),
    Entry("statm", _text(lambda d: statm_line(d.task))),
    Entry("maps", _memory(lambda d: maps_text(d.k, d.task))),
    Entry("children", _text(lambda d: children_text(d.k, d.task)), "thread"),
    Entry("numa_maps", _memory(lambda d: numa_maps(d.task))),
    Entry("mem", lambda d: MemFile(d.k, d.task)),
    Entry("cwd", _link(lambda task: fs_of(task).pwd if task.fs is not None else None)),
    Entry("root", _link(lambda task: fs_of(task).root if task.fs is not None else None)),
    Entry("exe", _link(exe_of)),
    Entry("mounts", _mounts(show_mounts)),
    Entry("mountinfo", _mounts(show_mountinfo)),
    Entry("mountstats", _mounts(show_mountstats, 0o400), "whole"),
    Entry("clear_refs", _text(None, 0o200, lambda d, data: clear_refs_write(d.task, data))),
    Entry("smaps", _memory(lambda d: smaps_text(d.k, d.task))),
    Entry("smaps_rollup", _memory(lambda d: smaps_rollup_text(d.k, d.task)), since="4.14"),
    Entry("pagemap", lambda d: PageMap(d.k, d.task)),
    Entry("attr", lambda d: attr_dir(d.k, d.task), is_dir=True),
    Entry("wchan", _text(lambda d: wchan_text(d.k, d.task))),
    Entry("stack", _text(lambda d: stack_text(d.k, d.task), 0o400)),
    Entry("schedstat", _text(lambda d: f"{d.task.sum_exec_ns} 0 {d.task.nvcsw + d.task.nivcsw}\n")),
    Entry("cpuset", _text(lambda d: "/\n"), until="7.0"),
    Entry("cgroup", _text(lambda d: f"0::{_cgroup_path(d)}\n")),
    Entry("cpu_resctrl_groups", _text(lambda d: "res:\nmon:\n"), since="5.6", srcarch="x86"),
    Entry("oom_score", _text(lambda d: oom_score_text(d.k, d.task))),
    Entry("oom_adj", _text(lambda d: oom_adj_text(d.task), 0o644, lambda d, data: oom_adj_write(d.k, d.task, data))),
    Entry("oom_score_adj", _text(lambda d: f"{d.task.signal.oom_score_adj}\n", 0o644,
                                 lambda d, data: oom_score_adj_write(d.k, d.task, data), OOM_FOPS)),
    Entry("loginuid", _text(lambda d: f"{d.task.loginuid}", 0o644, lambda d, data: loginuid_write(d.k, d.task, data))),
    Entry("sessionid", _text(lambda d: f"{d.task.sessionid}")),
    Entry("coredump_filter", _text(lambda d: coredump_filter_text(d.task), 0o644,
                                   lambda d, data: coredump_filter_write(d.k, d.task, data)), "whole"),
    Entry("io", _text(lambda d: io_text(threads_of(d.task) if d.whole else [d.task]), 0o400)),
    Entry("uid_map", lambda d: map_file(d.k, d.task, "uid")),
    Entry("gid_map", lambda d: map_file(d.k, d.task, "gid")),
    Entry("projid_map", lambda d: map_file(d.k, d.task, "projid")),
    Entry("setgroups", lambda d: SetgroupsFile(d.k, d.task), since="3.19"),
    Entry("timers", _text(lambda d: timers_text(d.k, d.task, d.space)), "whole"),
    Entry("timerslack_ns", _text(lambda d: timerslack_text(d.k, d.task), 0o666,
                                 lambda d, data: timerslack_write(d.k, d.task, data)), "whole", since="4.6"),
    Entry("patch_state", _text(lambda d: "-1\n", 0o400), since="4.12"),
    Entry("arch_status", _text(lambda d: ""), since="5.3", srcarch="x86"),  # of AVX-512, which no CPU here has
    Entry("ksm_merging_pages", _text(lambda d: f"{d.task.mm.ksm_merging_pages if d.task.mm is not None else 0}\n", 0o400), since="5.19"),
    Entry("ksm_stat", _text(_ksm_stat, 0o400), since="6.1"),
)
# fmt: on


@lru_cache
def entry_names(srcarch: str, version: KernelVersion, whole: bool) -> Mapping[str, Entry]:
    """The names of one kind of directory, in order."""
    mine = ("both", "whole" if whole else "thread")
    found = [
        row for row in ENTRIES
        if row.where in mine and row.srcarch in (None, srcarch) and version.within(row.since, row.until)
    ]  # fmt: skip
    return {row.name: replace(row, number=number) for number, row in enumerate(found)}
