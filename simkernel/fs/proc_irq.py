"""/proc/interrupts and /proc/softirqs.  kernel/irq/proc.c, fs/proc/softirqs.c."""

from __future__ import annotations

from simkernel.fs.face import FsKernel
from simkernel.fs.nodes import PseudoFile
from simkernel.fs.procfs import proc_file
from simkernel.kernel.face import KernelFace

# kernel/softirq.c:softirq_to_name[], by number; IRQ_POLL was BLOCK_IOPOLL before 4.5
_SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")


def _heads(k: KernelFace) -> str:
    return "".join(f"CPU{cpu:<8d}" for cpu in range(k.nr_cpus))


def interrupts(k: KernelFace) -> str:
    """show_interrupts(): one line per requested line; the simulated ones hang on no interrupt chip."""
    out = [" " * 11 + _heads(k) + "\n"]
    for irq in sorted(k.irqs.names):
        counts = "".join(f"{count:10d} " for count in k.irqs.counts[irq])
        out.append(f"{irq:3d}: {counts} {'None':>8} {'':3}  {k.irqs.names[irq]}\n")
    return "".join(out) + _others(k)


def _others(k: KernelFace) -> str:
    """arch_show_interrupts(): of all these only the timers of the CPUs interrupt here."""
    out = ""
    for name, text in k.arch.interrupt_rows:
        counts = k.hrtimers.interrupts if name == k.arch.local_timer_row else [0] * k.nr_cpus
        out += f"{name:>3}: " + ("".join(f"{n:10d} " for n in counts) + f"  {text}\n" if text else f"{0:10d}\n")
    return out


def softirqs(k: KernelFace) -> str:
    """show_softirqs(): how often each vector ran."""
    out = [" " * 20 + _heads(k) + "\n"]
    for number, name in enumerate(_SOFTIRQS):
        if name == "IRQ_POLL" and k.version.before("4.5"):
            name = "BLOCK_IOPOLL"
        out.append(f"{name:>12}:" + "".join(f" {count:10d}" for count in k.softirqs.counts[number]) + "\n")
    return "".join(out)


def install(k: FsKernel) -> None:
    """Put the files into /proc: of a kernel that takes interrupts."""
    proc_file(k.vfs, "interrupts", PseudoFile(lambda: interrupts(k)))
    proc_file(k.vfs, "softirqs", PseudoFile(lambda: softirqs(k)))
