"""Which control groups have news for their statistics, and who is told at a flush.  kernel/cgroup/rstat.c.

A tree for each CPU of the groups that have been updated since the last flush, with all above them; a flush goes through
that of a group, those below first and the latest first, and calls bpf_rstat_flush(), which exists to be attached to.
"""

from __future__ import annotations

from bpf.face import BpfHost

FLUSH = "bpf_rstat_flush"


class UpdatedGroups:
    """The updated groups of each CPU, by the address of their struct cgroup: those below each, the latest last."""

    def __init__(self) -> None:
        self.trees: dict[int, dict[int, list[int]]] = {}

    def updated(self, host: BpfHost, group: int, cpu: int) -> None:
        """It and those above it, up to the first that is there."""
        tree = self.trees.setdefault(cpu, {})
        if group in tree:
            return
        tree[group] = []
        while above := host.cgroup_parent(group):
            known = above in tree
            tree.setdefault(above, []).append(group)
            if known:
                return
            group = above

    def flush(self, host: BpfHost, group: int) -> None:
        """Of it and all below, on every CPU."""
        for cpu in range(host.nr_cpus):
            tree = self.trees.get(cpu, {})
            if group not in tree:
                continue
            above = host.cgroup_parent(group)
            if above:
                tree[above].remove(group)
            for each in self._take(tree, group):
                host.around(FLUSH, (each, host.cgroup_parent(each), cpu), lambda: 0)

    def _take(self, tree: dict[int, list[int]], group: int) -> list[int]:
        """cgroup_rstat_cpu_pop_updated() until there is none."""
        taken, waiting = [], [group]
        while waiting:
            each = waiting.pop()
            taken.append(each)
            waiting += reversed(tree.pop(each))
        return taken[::-1]
