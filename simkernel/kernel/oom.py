"""Memory has run out.  mm/oom_kill.c.

The victim is the task whose page could not be had; it gets SIGKILL.  Badness scores are compared only in control groups.
"""

from __future__ import annotations

from arch.abi.internal import GFP_HIGHUSER_MOVABLE
from arch.abi.signal import SIGKILL
from arch.memory import OutOfMemory
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.mm import Mm
from simkernel.kernel.task import Task

OOM_SCORE_ADJ_MAX = 1000  # include/uapi/linux/oom.h


def oom_badness(task: Task, total_pages: int) -> int | None:
    """Pages in use and what oom_score_adj adds; None: it is never killed."""
    adj = task.signal.oom_score_adj
    if task.mm is None or task.signal.unkillable or adj == -OOM_SCORE_ADJ_MAX:
        return None
    return task.mm.rss_pages + table_pages(task.mm) + adj * (total_pages // 1000)


def table_pages(mm: Mm) -> int:
    """mm_pgtables_bytes(), in pages."""
    return 1 + len(mm.pages) // 512


def starve(k: KernelFace) -> Steps[None]:
    """`yield from`: out_of_memory() for the current task, also when not even its arguments fit into what is left."""
    try:
        oc = oom_control(k)
    except OutOfMemory:
        k.signals.send(k.current, SIGKILL)
        return
    yield k.call("out_of_memory", oc)


def oom_control(k: KernelFace) -> int:
    """A struct oom_control about the current task; 0 in a version without it.  out_of_memory() gives it back."""
    if not k.version.at_least("4.2"):
        return 0
    oc = int(k.mem.alloc(k.mirror.size_of("struct oom_control")))
    k.mirror.set_field(oc, "oom_control", "gfp_mask", GFP_HIGHUSER_MOVABLE)
    if k.version.at_least("4.9"):
        k.mirror.set_field(oc, "oom_control", "totalpages", k.mm.total_ram_pages)
        k.mirror.set_field(oc, "oom_control", "chosen", k.current.addr)
    return oc


@kernel_function("bool out_of_memory(struct oom_control *oc)", source="mm/oom_kill.c", since="4.2")
def out_of_memory(k: KernelFace, oc: int) -> Body:
    """Choose a victim and kill it; 1."""
    task = k.current
    if k.version.at_least("4.9"):
        message = k.mem.alloc(16)
        k.mem.write(message, b"Out of memory\0")
        yield k.call("oom_kill_process", oc, message)
        k.mem.free(message)
    else:
        k.signals.send(task, SIGKILL)
    if oc:
        k.mem.free(oc)
    return 1


@kernel_function(
    "void oom_kill_process(struct oom_control *oc, const char *message)", source="mm/oom_kill.c", since="4.9"
)
def oom_kill_process(k: KernelFace, oc: int, message: int) -> int:
    """Say so in the log, and send SIGKILL."""
    task = k.current
    assert task.mm is not None
    text = k.mem.read(message, 14).split(b"\0")[0].decode()
    k.printk(f"{text}: Killed process {task.pid} ({task.comm}) total-vm:{4 * task.mm.total_pages()}kB")
    k.signals.send(task, SIGKILL)
    return 0
