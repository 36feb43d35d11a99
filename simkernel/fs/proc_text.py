"""The texts of /proc/PID: stat, statm, status, limits, sched, fdinfo.  fs/proc/array.c, fs/proc/base.c."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from arch.abi.errno import ENOENT
from arch.abi.fcntl import O_CLOEXEC
from arch.abi.limits import PAGE_SHIFT, PAGE_SIZE
from arch.abi.resource import RLIMIT_SIGPENDING
from arch.abi.time import USER_TICK_NSEC
from arch.cstring import c_string, kstrto
from arch.errors import Fault, KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_if_any, files_of, fs_if_any
from simkernel.kernel.mm import Mm
from simkernel.kernel.namespaces import time_offsets
from simkernel.kernel.oom import file_pages, table_pages
from simkernel.kernel.pid_namespace import PidNamespace
from simkernel.kernel.task import Task
from simkernel.kernel.usage import RUSAGE_SELF, RUSAGE_THREAD
from simkernel.kernel.user_namespace import munged, user_ns

MS = 1_000_000
PROC_NUMBUF = 13  # bytes that fs/proc/internal.h keeps for a number, with the NUL
PAGE_KB = 4


_STATE_NAMES = {
    "R": "R (running)", "S": "S (sleeping)", "D": "D (disk sleep)", "T": "T (stopped)", "t": "t (tracing stop)",
    "X": "X (dead)", "Z": "Z (zombie)", "I": "I (idle)",
}  # fmt: skip

# fs/proc/base.c:lnames[] -> (name, unit), by RLIMIT_* number; shown in this order
_LIMIT_ROWS = (
    (0, "Max cpu time", "seconds"), (1, "Max file size", "bytes"), (2, "Max data size", "bytes"),
    (3, "Max stack size", "bytes"), (4, "Max core file size", "bytes"), (5, "Max resident set", "bytes"),
    (6, "Max processes", "processes"), (7, "Max open files", "files"), (8, "Max locked memory", "bytes"),
    (9, "Max address space", "bytes"), (10, "Max file locks", "locks"), (11, "Max pending signals", "signals"),
    (12, "Max msgqueue size", "bytes"), (13, "Max nice priority", ""), (14, "Max realtime priority", ""),
    (15, "Max realtime timeout", "us"),
)  # fmt: skip


def state_letter(task: Task) -> str:
    """R, S, D, T, Z ...: a kernel thread that waits is idle in newer kernels; S here."""
    return task.state_letter


def threads_of(task: Task) -> list[Task]:
    """The living threads of the group."""
    return list(task.threads or [task])


def read_mm(mm: Mm, start: int, end: int) -> bytes:
    """Bytes of another task's memory; shorter when a page is missing."""
    if mm is None or end <= start:
        return b""
    try:
        return bytes(mm.read(start, end - start))
    except (Fault, KernelError):
        return b""


def cmdline(task: Task) -> bytes:
    """Arguments, separated by NUL; setproctitle's trick (no final NUL) reads on into the environment."""
    mm = task.mm
    if mm is None:
        return b""
    text = read_mm(mm, mm.arg_start, mm.arg_end)
    if text and text[-1]:
        more = read_mm(mm, mm.env_start, mm.env_end)
        whole = text + more
        return whole[: whole.find(b"\0", 0) + 1 or len(whole)]
    return text


def comm_text(task: Task) -> str:
    """A task's name, whose characters stand for bytes, as files of text have it."""
    return task.comm.encode("latin-1").decode("utf-8", "surrogateescape")


def escape_comm(task: Task) -> str:
    """proc_task_name(): newline and backslash are escaped."""
    return comm_text(task).replace("\\", "\\\\").replace("\n", "\\n")


def stat_line(k: FsKernel, task: Task, whole: bool, space: PidNamespace | None = None) -> str:
    """/proc/PID/stat, or of one thread.  fs/proc/array.c:do_task_stat()."""
    mm = task.mm
    nr = partial(k.tasks.number_in, space)
    threads = threads_of(task)
    of = threads if whole else [task]
    utime = sum(t.utime_ns for t in of) + (task.signal.utime_ns if whole else 0)
    stime = sum(t.stime_ns for t in of) + (task.signal.stime_ns if whole else 0)
    used = k.tasks.usage(task, RUSAGE_SELF if whole else RUSAGE_THREAD).counts
    ended = task.signal.of_children
    tty, foreground = 0, -1
    terminal = task.signal.tty
    if terminal is not None:
        tty, foreground = terminal.dev, terminal.pgrp or -1
    prio = task.prio - 100
    signal = task.signal
    limit = task.rlimits.get(5, (-1, -1))[0] & 0xFFFFFFFFFFFFFFFF
    fields: list[int | str] = [
        nr(task.pid), f"({escape_comm(task)})", state_letter(task), nr(task.real_parent.tgid) if task.pid != 1 else 0,
        nr(task.pgid), nr(task.session), tty, foreground, task.flags, used.min_flt, ended.min_flt, used.maj_flt,
        ended.maj_flt,
        utime // USER_TICK_NSEC, stime // USER_TICK_NSEC, signal.cutime_ns // USER_TICK_NSEC,
        signal.cstime_ns // USER_TICK_NSEC, prio, task.nice, len(threads), 0, (task.start_time_ns + time_offsets(k.current.namespaces.get("time")).boottime) // USER_TICK_NSEC,
        mm.total_pages() * PAGE_SIZE if mm else 0, _rss(mm), limit,
        mm.start_code if mm else 0, mm.end_code if mm else 0, mm.start_stack if mm else 0, 0, 0,
        task.sigpending & 0x7FFFFFFF, task.blocked & 0x7FFFFFFF, task.ignored & 0x7FFFFFFF, task.caught & 0x7FFFFFFF,
        0, 0, 0, task.exit_signal if task.tgid == task.pid else -1, task.cpu, task.rt_priority,
        task.policy, 0, 0, 0,
        mm.start_data if mm else 0, mm.end_data if mm else 0, mm.start_brk if mm else 0, mm.arg_start if mm else 0,
        mm.arg_end if mm else 0, mm.env_start if mm else 0, mm.env_end if mm else 0, task.exit_code,
    ]  # fmt: skip
    return " ".join(map(str, fields)) + "\n"


def _rss(mm: Mm | None) -> int:
    return mm.rss_pages if mm is not None else 0


def statm_line(task: Task) -> str:
    """/proc/PID/statm: pages of size, resident, shared, text, lib, data, dirty."""
    mm = task.mm
    if mm is None:
        return "0 0 0 0 0 0 0\n"
    text = (mm.end_code + PAGE_SIZE - 1 >> PAGE_SHIFT) - (mm.start_code >> PAGE_SHIFT)
    data = sum(v.end - v.start for v in mm.vmas if v.prot & 2 and not v.shared) >> PAGE_SHIFT
    return f"{mm.total_pages()} {_rss(mm)} {file_pages(mm)} {text} 0 {data} 0\n"


def _mem_rows(mm: Mm) -> Iterator[tuple[str, int]]:
    """(name, kB) of task_mem()."""
    size = mm.total_pages() * PAGE_KB
    rss, files = _rss(mm) * PAGE_KB, file_pages(mm) * PAGE_KB
    stack = sum(v.end - v.start for v in mm.vmas if v.name == "[stack]") >> 10
    data = (sum(v.end - v.start for v in mm.vmas if v.prot & 2 and not v.shared) >> 10) - stack
    text = ((mm.end_code + PAGE_SIZE - 1 & -PAGE_SIZE) - (mm.start_code & -PAGE_SIZE)) >> 10
    lib = max(0, (sum(v.end - v.start for v in mm.vmas if v.prot & 4) >> 10) - text)
    yield from (
        ("VmPeak", size), ("VmSize", size), ("VmLck", mm.locked_pages() * PAGE_KB), ("VmPin", 0), ("VmHWM", rss), ("VmRSS", rss),
        ("RssAnon", rss - files), ("RssFile", files), ("RssShmem", 0), ("VmData", data), ("VmStk", stack),
        ("VmExe", text), ("VmLib", lib), ("VmPTE", 4 * table_pages(mm)), ("VmSwap", 0), ("HugetlbPages", 0),
    )  # fmt: skip


def cpu_mask(k: FsKernel, task: Task) -> int:
    """cpus_allowed; 0 in the task means all."""
    everything: int = (1 << k.nr_cpus) - 1
    mask = task.affinity or everything
    return mask & everything


def cpu_list(mask: int) -> str:
    """`0-3,5`: %*pbl."""
    parts = []
    bit = 0
    while mask >> bit:
        if mask >> bit & 1:
            end = bit
            while mask >> end + 1 & 1:
                end += 1
            parts.append(str(bit) if end == bit else f"{bit}-{end}")
            bit = end
        bit += 1
    return ",".join(parts)


def status_text(k: FsKernel, task: Task, space: PidNamespace | None = None) -> str:
    """/proc/PID/status.  fs/proc/array.c:proc_pid_status(); lines came with the versions of features.py."""
    files, fs, mm, has = files_if_any(task), fs_if_any(task), task.mm, k.vfs.names
    x86 = k.arch.srcarch == "x86" and k.arch.word == 8
    out = [f"Name:\t{escape_comm(task)}\n"]
    if fs is not None and has.status_umask:
        out.append(f"Umask:\t{fs.umask:04o}\n")
    nr, users = partial(k.tasks.number_in, space), user_ns(k.current)
    parent = nr(task.real_parent.tgid) if task.pid != 1 else 0
    out.append(f"State:\t{_STATE_NAMES.get(state_letter(task), 'S (sleeping)')}\nTgid:\t{nr(task.tgid)}\nNgid:\t0\n")
    out.append(
        f"Pid:\t{nr(task.pid)}\nPPid:\t{parent}\nTracerPid:\t{nr(task.ptracer.pid) if task.ptracer is not None else 0}\n"
    )
    for name, kind, ids in (
        ("Uid", "uid", (task.cred.uid, task.cred.euid, task.cred.suid, task.cred.fsuid)),
        ("Gid", "gid", (task.cred.gid, task.cred.egid, task.cred.sgid, task.cred.fsgid)),
    ):
        out.append(f"{name}:\t" + "\t".join(str(munged(users, kind, value)) for value in ids) + "\n")
    out.append(f"FDSize:\t{files.max_fds if files is not None else 0}\n")
    out.append(
        "Groups:\t"
        + "".join(f"{munged(users, 'gid', g)} " for g in task.cred.groups)
        + ("" if task.cred.groups else " ")
        + "\n"
    )
    for name, value in (("NStgid", task.tgid), ("NSpid", task.pid), ("NSpgid", task.pgid), ("NSsid", task.session)):
        out.append(f"{name}:\t" + "\t".join(map(str, _numbers(task, value, space))) + "\n")
    out.append(f"Kthread:\t{int(task.is_kernel)}\n" * has.status_kthread)
    if mm is not None:
        skip: tuple[str, ...] = () if has.status_rss_kinds else ("RssAnon", "RssFile", "RssShmem")
        skip += () if has.status_hugetlb else ("HugetlbPages",)
        out += [f"{name}:\t{kb:8d} kB\n" for name, kb in _mem_rows(mm) if name not in skip]
        out.append("CoreDumping:\t0\n" * has.status_core_dumping + "THP_enabled:\t1\n" * has.status_thp)
        out.append("untag_mask:\t0xffffffffffffffff\n" * (x86 and has.status_untag_mask))
    out.append(f"Threads:\t{len(threads_of(task))}\n")
    out.append(f"SigQ:\t{k.users.of(task.cred.uid).sigpending}/{task.rlimits[RLIMIT_SIGPENDING][0]}\n")
    out.append(_masks_text(k, task))
    out.append(
        f"NoNewPrivs:\t{int(task.no_new_privs)}\n" * has.status_no_new_privs + f"Seccomp:\t{task.seccomp_mode}\n"
    )
    out.append(f"Seccomp_filters:\t{task.seccomp_filters}\n" * has.status_seccomp_filters)
    out.append("Speculation_Store_Bypass:\tnot vulnerable\n" * has.status_speculation)
    out.append("SpeculationIndirectBranch:\talways enabled\n" * has.status_indirect_branch)
    mask = cpu_mask(k, task)
    out.append(f"Cpus_allowed:\t{mask:x}\nCpus_allowed_list:\t{cpu_list(mask)}\n")
    out.append("Mems_allowed:\t1\nMems_allowed_list:\t0\n")
    out.append(f"voluntary_ctxt_switches:\t{task.nvcsw}\nnonvoluntary_ctxt_switches:\t{task.nivcsw}\n")
    if x86 and has.status_thread_features:  # of shadow stacks: none
        out.append("x86_Thread_features:\t\nx86_Thread_features_locked:\t\n")
    return "".join(out)


def _numbers(task: Task, pid: int, space: PidNamespace | None) -> list[int]:
    """The numbers of a task in each namespace from the reader's inwards."""
    inner = [n.number.get(pid, 0) for n in reversed(task.pid_ns.chain())] if task.pid_ns is not None else []
    return [pid, *inner][space.level if space is not None else 0 :]


def _masks_text(k: FsKernel, task: Task) -> str:
    rows = [
        ("SigPnd", task.sigpending), ("ShdPnd", task.shared_pending), ("SigBlk", task.blocked),
        ("SigIgn", task.ignored), ("SigCgt", task.caught), ("CapInh", task.cred.cap_inheritable),
        ("CapPrm", task.cred.cap_permitted), ("CapEff", task.cred.cap_effective), ("CapBnd", task.cred.cap_bset),
    ]  # fmt: skip
    if k.vfs.names.status_cap_ambient:
        rows.append(("CapAmb", task.cred.cap_ambient))
    return "".join(f"{name}:\t{mask:016x}\n" for name, mask in rows)


def limits_text(task: Task) -> str:
    """/proc/PID/limits."""
    out = [f"{'Limit':<25} {'Soft Limit':<20} {'Hard Limit':<20} {'Units':<10}\n"]
    for number, name, unit in _LIMIT_ROWS:
        soft, hard = task.rlimits.get(number, (-1, -1))
        texts = ["unlimited" if v < 0 or v >= (1 << 64) - 1 else str(v) for v in (soft, hard)]
        out.append(f"{name:<25} {texts[0]:<20} {texts[1]:<20} {unit:<10}\n" if unit else
                   f"{name:<25} {texts[0]:<20} {texts[1]:<20} \n")  # fmt: skip
    return "".join(out)


def sched_text(task: Task) -> str:
    """/proc/PID/sched: the first lines."""
    head = f"{comm_text(task)} ({task.pid}, #threads: {len(threads_of(task))})\n"
    line = "-" * 67 + "\n"
    rows = (
        ("se.exec_start", f"{task.slice_start_ns // MS}.{task.slice_start_ns % MS:06d}"),
        ("se.vruntime", f"{task.vruntime // MS}.{task.vruntime % MS:06d}"),
        ("se.sum_exec_runtime", f"{task.sum_exec_ns // MS}.{task.sum_exec_ns % MS:06d}"),
        ("se.nr_migrations", "0"), ("nr_switches", str(task.nvcsw + task.nivcsw)),
        ("nr_voluntary_switches", str(task.nvcsw)), ("nr_involuntary_switches", str(task.nivcsw)),
        ("policy", str(task.policy)), ("prio", str(task.prio)),
    )  # fmt: skip
    return head + line + "".join(f"{name:<45}:{value:>21}\n" for name, value in rows)


def fdinfo_text(k: FsKernel, task: Task, fd: int) -> str:
    """/proc/PID/fdinfo/FD."""
    files = files_of(task)
    file = files.fds.get(fd)
    if file is None:
        raise KernelError(ENOENT, "closed")
    flags = file.f_flags | (O_CLOEXEC if fd in files.close_on_exec else 0)
    out = f"pos:\t{file.f_pos}\nflags:\t0{k.vfs.abi.flags_to_user(flags):o}\nmnt_id:\t{file.f_path.mnt.mnt_id}\n"
    if k.vfs.names.fdinfo_for_all:
        out += f"ino:\t{file.f_inode.i_ino}\n"
    show = file.f_op.show_fdinfo
    return out + (show(k, file) if show is not None else "")


def proc_number(data: bytes, base: int) -> tuple[int, int]:
    """An int as the files of /proc/PID with PROC_NUMBUF bytes read it, and how many bytes they took.  EINVAL, ERANGE."""
    seen = data[: PROC_NUMBUF - 1]
    return kstrto(c_string(seen).strip(), base, 32, True), len(seen)
