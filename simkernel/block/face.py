"""The kernel as block/ sees it: a disk, and file systems, one of which is on it."""

from __future__ import annotations

from simkernel.block.layer import BlockLayer
from simkernel.fs.face import FsKernel


class BlockKernel(FsKernel):
    """A kernel with a disk."""

    block: BlockLayer
