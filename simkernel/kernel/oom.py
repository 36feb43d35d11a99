"""Memory has run out.  mm/oom_kill.c.

The process with the worst score gets SIGKILL, and who could not have a page tries again.  A system call that found none has ended with
ENOMEM: there is nothing to try again, and the task itself goes.
"""

from __future__ import annotations

from arch.abi.internal import GFP_HIGHUSER_MOVABLE
from arch.abi.kern_levels import KERN_ERR, KERN_INFO
from arch.abi.limits import PAGE_SHIFT
from arch.abi.mman import PROT_WRITE
from arch.abi.signal import SIGKILL
from arch.abi.time import TICK_NSEC
from arch.memory import OutOfMemory
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.mm import Mm
from simkernel.kernel.task import Task, fatal_pending

CHOSEN_SINCE = "4.9"  # whom oom_kill_process() kills stands in its argument; before, the current task goes here
MM_FILEPAGES, MM_ANONPAGES = 0, 1  # of mm->rss_stat
OOM_SCORE_ADJ_MAX = 1000  # include/uapi/linux/oom.h
# of an anonymous page: since which version, its flags and their names (include/trace/events/mmflags.h)
GFP_MASKS = (
    ("5.19", 0x140DCA, "GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO"),
    ("0", GFP_HIGHUSER_MOVABLE | 0x100, "GFP_HIGHUSER_MOVABLE|__GFP_ZERO"),
)


def gfp_mask(k: KernelFace) -> tuple[int, str]:
    """What could not be had, and how the log says it."""
    return next((mask, names) for since, mask, names in GFP_MASKS if since == "0" or k.version.at_least(since))


def oom_badness(task: Task, total_pages: int) -> int | None:
    """Pages in use and what oom_score_adj adds; None: it is never killed."""
    adj = task.signal.oom_score_adj
    if task.mm is None or task.signal.unkillable or adj == -OOM_SCORE_ADJ_MAX:
        return None
    return task.mm.rss_pages + table_pages(task.mm) + adj * (total_pages // 1000)


def file_pages(mm: Mm) -> int:
    """Present pages of files that are only read."""
    return sum(
        len(mm.present(vma.start, vma.end)) for vma in mm.vmas if vma.file is not None and not vma.prot & PROT_WRITE
    )


def table_pages(mm: Mm) -> int:
    """mm_pgtables_bytes(), in pages."""
    return 1 + len(mm.pages) // 512


def starve(k: KernelFace, again: bool = False) -> Steps[None]:
    """`yield from`: out_of_memory() for the current task, also when not even its arguments fit into what is left.

    `again`: the current task comes back for its page, so that another process may make room.
    """
    victim = k.current
    if again and k.version.at_least(CHOSEN_SINCE) and not k.tasks.oom_kill_allocating_task:
        dying = [
            task
            for task in k.tasks.by_pid.values()
            if task.signal.oom_victim and task.mm is not None and not task.exit_state
        ]
        victim = k.current if fatal_pending(k.current) else dying[0] if dying else select_bad_process(k)
    if victim is k.current or not victim.signal.oom_victim:
        try:
            oc = oom_control(k, victim)
        except OutOfMemory:
            kill(k, victim)
        else:
            yield k.call("out_of_memory", oc)
    if victim is not k.current:
        yield k.wait(None, killable=True, interruptible=False, timeout_ns=TICK_NSEC)


def select_bad_process(k: KernelFace) -> Task:
    """The worst one; of equals the youngest.  Nobody may be killed: the current task, where Linux panics."""
    total = k.mm.total_ram_pages
    chosen, most = k.current, -1 << 63
    for task in k.tasks.by_pid.values():
        if task is not task.group_leader:
            continue
        alive = next((thread for thread in task.signal.threads if thread.mm is not None), task)
        points = oom_badness(alive, total)
        if points is not None and points >= most:
            chosen, most = alive, points
    return chosen


def kill(k: KernelFace, victim: Task) -> None:
    """__oom_kill_process(): it, and all who have the same memory."""
    mm = victim.mm
    if mm is None:
        return
    _store_counters(k, mm)
    k.trace("mark_victim", victim.addr, victim.cred.uid)
    for task in list(k.tasks.by_pid.values()):
        if task is task.group_leader and (
            task.signal is victim.signal or (task.mm is mm and not task.signal.unkillable)
        ):
            task.signal.oom_victim = True
            k.signals.send(task, SIGKILL)


def _store_counters(k: KernelFace, mm: Mm) -> None:
    """What of mm_struct the event reads."""
    files = file_pages(mm)
    k.mirror.store_mm(mm)
    k.mirror.set_field(mm.addr, "mm_struct", "pgtables_bytes.counter", table_pages(mm) << PAGE_SHIFT)
    if k.mirror.types.has_member("struct mm_struct", "rss_stat.count"):
        at = mm.addr + k.mirror.types.offsetof("struct mm_struct", "rss_stat.count")
        for kind, pages in ((MM_FILEPAGES, files), (MM_ANONPAGES, mm.rss_pages - files)):
            k.mem.write_uint(at + k.arch.model.word * kind, k.arch.model.word, pages)


def oom_control(k: KernelFace, victim: Task) -> int:
    """A struct oom_control about a task; 0 in a version without it.  out_of_memory() gives it back."""
    if not k.version.at_least("4.2"):
        return 0
    oc = int(k.mem.alloc(k.mirror.size_of("struct oom_control")))
    k.mirror.set_field(oc, "oom_control", "gfp_mask", gfp_mask(k)[0])
    if k.version.at_least(CHOSEN_SINCE):
        k.mirror.set_field(oc, "oom_control", "totalpages", k.mm.total_ram_pages)
        k.mirror.set_field(oc, "oom_control", "chosen", victim.addr)
    return oc


def dump_header(k: KernelFace, victim: Task) -> None:
    """Who asked for memory, who has it, and who goes; without the state of zones, which this machine does not have."""
    task = k.current
    gfp, names = gfp_mask(k)
    k.printk(
        f"{task.comm} invoked oom-killer: gfp_mask={gfp:#x}({names}), order=0, oom_score_adj={task.signal.oom_score_adj}"
    )
    k.printk("Tasks state (memory values in pages):", KERN_INFO)
    k.printk("[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name", KERN_INFO)
    for each in k.tasks.by_pid.values():
        if each is each.group_leader and (mm := each.mm) is not None:
            k.printk(
                f"[{each.pid:7d}] {each.cred.uid:5d} {each.tgid:5d} {mm.total_pages():8d} {mm.rss_pages:8d} "
                f"{table_pages(mm) << PAGE_SHIFT:8d} {0:8d}         {each.signal.oom_score_adj:5d} {each.comm}",
                KERN_INFO,
            )
    k.printk(
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,"
        f"task={victim.comm},pid={victim.pid},uid={victim.cred.uid}",
        KERN_INFO,
    )


def obituary(victim: Task, mm: Mm, message: str) -> str:
    """The line of the log that scripts look for, as since 5.4."""
    files = file_pages(mm)
    return (
        f"{message}: Killed process {victim.pid} ({victim.comm}) total-vm:{4 * mm.total_pages()}kB, "
        f"anon-rss:{4 * (mm.rss_pages - files)}kB, file-rss:{4 * files}kB, shmem-rss:0kB, UID:{victim.cred.uid} "
        f"pgtables:{4 * table_pages(mm)}kB oom_score_adj:{victim.signal.oom_score_adj}"
    )


@kernel_function("bool out_of_memory(struct oom_control *oc)", source="mm/oom_kill.c", since="4.2")
def out_of_memory(k: KernelFace, oc: int) -> Body:
    """Kill who was chosen; 1."""
    if k.version.at_least(CHOSEN_SINCE):
        message = k.mem.alloc(16)
        k.mem.write(message, b"Out of memory\0")
        yield k.call("oom_kill_process", oc, message)
        k.mem.free(message)
    else:
        kill(k, k.current)
    if oc:
        k.mem.free(oc)
    return 1


@kernel_function(
    "void oom_kill_process(struct oom_control *oc, const char *message)", source="mm/oom_kill.c", since="4.9"
)
def oom_kill_process(k: KernelFace, oc: int, message: int) -> int:
    """Say so in the log, and send SIGKILL."""
    victim = k.tasks.by_address[k.mirror.get_field(oc, "oom_control", "chosen")]
    if not fatal_pending(victim) and victim.mm is not None:
        text = k.mem.read(message, 14).split(b"\0")[0].decode()
        dump_header(k, victim)
        k.printk(obituary(victim, victim.mm, text), KERN_ERR)
    kill(k, victim)
    return 0
