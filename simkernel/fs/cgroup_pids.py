"""The pids controller: how many tasks a control group may have.  kernel/cgroup/pids.c."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.errno import EAGAIN, EINVAL
from arch.abi.kern_levels import KERN_INFO
from simkernel.fs.cgroup_css import NO_LIMIT, CgroupFile, Controller, Css, Group, number_or_max, shown, text_of
from simkernel.kernel.pid_namespace import PID_MAX


class PidsCss(Css):
    """struct pids_cgroup."""

    def __init__(self, group: Group, parent: Css | None) -> None:
        super().__init__(group, parent)
        self.limit = NO_LIMIT
        self.refused = self.peak = 0

    @property
    def count(self) -> int:
        """Tasks, until somebody has waited for them."""
        return len(self.group.tasks_below())

    def files(self) -> Iterator[CgroupFile]:
        """pids_files[]."""
        yield CgroupFile("pids.current", lambda: f"{self.count}\n")
        yield CgroupFile("pids.events", lambda: f"max {self.refused}\n")
        yield CgroupFile("pids.max", lambda: shown(self.limit), self._set)
        if self.group.k.version.at_least("6.1"):
            yield CgroupFile("pids.peak", lambda: f"{max(self.peak, self.count)}\n")

    def _set(self, data: bytes) -> None:
        self.limit = number_or_max(text_of(data), PID_MAX, EINVAL)

    def may_fork(self) -> int:
        """pids_can_fork(): EAGAIN where this group or one above is full."""
        for css in self.up():
            assert isinstance(css, PidsCss)
            after = css.count + 1
            if after > css.limit:
                if not self.refused:
                    self.group.k.printk(f"cgroup: fork rejected by pids controller in {self.group.path}", KERN_INFO)
                self.refused += 1
                self.group.notify("pids.events")
                return -EAGAIN
            css.peak = max(css.peak, after)
        return 0


PIDS = Controller("pids", PidsCss, threaded=True)
