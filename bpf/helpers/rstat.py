"""Statistics of control groups that programs keep.  kernel/cgroup/rstat.c; the trees are bpf/rstat.py's."""

from __future__ import annotations

from arch.abi.limits import U32_MAX
from bpf.helpers import Runtime
from bpf.helpers.kfunc_rows import KfuncSet, kfunc

RSTAT = KfuncSet("tracing", "kernel/cgroup/rstat.c")


@kfunc("cgroup_rstat_updated", RSTAT, until="6.16")
def cgroup_rstat_updated(rt: Runtime, cgrp: int, cpu: int) -> int:
    """A group's statistics on a CPU have changed."""
    if (cpu & U32_MAX) < rt.bpf.host.nr_cpus:
        rt.bpf.updated_groups.updated(rt.bpf.host, cgrp, cpu & U32_MAX)
    return 0


@kfunc("cgroup_rstat_flush", RSTAT, "sleepable", until="6.16")
def cgroup_rstat_flush(rt: Runtime, cgrp: int) -> int:
    """Add up what has changed below a group."""
    rt.bpf.updated_groups.flush(rt.bpf.host, cgrp)
    return 0
