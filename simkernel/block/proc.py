"""/proc/diskstats and /proc/partitions.  block/genhd.c, block/blk-mq.c."""

from __future__ import annotations

from arch.abi.internal import REQ_OP_READ, REQ_OP_WRITE
from arch.abi.time import NSEC_PER_MSEC
from simkernel.block.disk import CAPACITY_SECTORS, SECTOR
from simkernel.block.face import BlockKernel
from simkernel.block.layer import DISK_MAJOR, DISK_NAME
from simkernel.fs.nodes import PseudoFile
from simkernel.fs.procfs import proc_file

DRIVER_NAME = "virtblk"  # as /proc/devices calls the driver


def stat_fields(k: BlockKernel) -> list[int]:
    """Reads and writes (I/Os, merges, sectors, ms), in flight, busy ms, queue ms; then discards and flushes."""
    stats = k.block.stats
    fields: list[int] = []
    for kind in (REQ_OP_READ, REQ_OP_WRITE):
        fields += [stats.ios[kind], 0, stats.sectors[kind], stats.ns[kind] // NSEC_PER_MSEC]
    fields += [stats.in_flight, stats.busy_ns // NSEC_PER_MSEC, sum(stats.ns) // NSEC_PER_MSEC]
    if k.version.at_least("4.18"):
        fields += [0, 0, 0, 0]
    if k.version.at_least("5.5"):
        fields += [0, 0]
    return fields


def diskstats(k: BlockKernel) -> str:
    """diskstats_show()."""
    return f"{DISK_MAJOR:4d} {0:7d} {DISK_NAME} " + " ".join(map(str, stat_fields(k))) + "\n"


def partitions(k: BlockKernel) -> str:
    """show_partition(): sizes in KiB."""
    return f"major minor  #blocks  name\n\n{DISK_MAJOR:4d}  {0:7d} {CAPACITY_SECTORS * SECTOR >> 10:10d} {DISK_NAME}\n"


def install(k: BlockKernel) -> None:
    """Put the files into /proc, and the driver into /proc/devices."""
    proc_file(k.vfs, "diskstats", PseudoFile(lambda: diskstats(k)))
    proc_file(k.vfs, "partitions", PseudoFile(lambda: partitions(k)))
    k.vfs.block_majors[DISK_MAJOR] = DRIVER_NAME
