"""What a kernel says of itself at boot, and what it was told.  init/{version,main}.c."""

from __future__ import annotations

from arch.abi.kern_levels import KERN_INFO, KERN_NOTICE
from simkernel.kernel.calls.system import names_of
from simkernel.kernel.face import KernelFace
from simkernel.kernel.namespaces import UtsNamespace

PROC_BANNER = "%s version %s (simkernel@simkernel) (python 3) %s\n"  # linux_proc_banner: of system, release, version
COMMAND_LINE = "console=ttyS0"  # /proc/cmdline


def linux_banner(k: KernelFace) -> str:
    """One line, with its newline."""
    fields = names_of(k, UtsNamespace(k.hostname, k.domainname))
    return PROC_BANNER % (fields[0], fields[2], fields[3])


def say_at_boot(k: KernelFace) -> None:
    """The lines of start_kernel() and its calls that are true of this machine."""
    total = k.physical.size >> 10
    plural = "s" if k.nr_cpus > 1 else ""
    for level, text in (
        (KERN_NOTICE, linux_banner(k).rstrip("\n")),
        (KERN_NOTICE, f"Kernel command line: {COMMAND_LINE}"),
        (KERN_INFO, f"Memory: {k.mm.total_ram_pages << 2}K/{total}K available"),
        (KERN_INFO, f"smp: Brought up 1 node, {k.nr_cpus} CPU{plural}"),
    ):
        k.printk(text, level)
