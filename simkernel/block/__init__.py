"""The block layer: a simulated disk, bio and request, blk-mq, and a small file system on it.  Mirrors block/ and mm/filemap.c.

`vda` (254:0) is a disk with a seek, a rotation and a transfer time drawn from the machine's seed (disk.py).  A read
that misses the page cache and a write-back become bios, requests and completion interrupts, through the functions and
tracepoints that Linux has there (blk_mq.py).  `simfs` keeps files on the disk (simfs.py) and is mounted at /mnt.
"""

from __future__ import annotations

from simkernel.block import blk_mq, proc, simfs, sysfs
from simkernel.block.disk import Disk
from simkernel.block.face import BlockKernel
from simkernel.block.layer import DISK_IRQ, DISK_NAME, BlockLayer

__all__ = ["BlockLayer", "Disk", "blk_mq", "install", "simfs"]


def install(k: BlockKernel) -> None:
    """Create the disk of a booting kernel and mount its file system at /mnt."""
    k.block = BlockLayer(k, Disk(k.random.getrandbits(64)))
    k.irqs.request(DISK_IRQ, DISK_NAME)
    simfs.install(k)
    proc.install(k)
    sysfs.install(k)
