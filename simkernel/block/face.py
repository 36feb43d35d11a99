"""The kernel as block/ sees it."""

from __future__ import annotations

from simkernel.block.layer import BlockLayer
from simkernel.kernel.face import KernelFace


class BlockKernel(KernelFace):
    """A kernel with a disk."""

    block: BlockLayer
