"""The kernel as this folder sees it: one that has files and a network, and does not know that it is watched."""

from __future__ import annotations

from simkernel.net.face import NetKernel


class WatchedKernel(NetKernel):
    """What tracing and BPF are hung on."""
