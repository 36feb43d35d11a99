"""The cpu controller: shares of time between groups, and limits of it per period.  kernel/sched/{core,fair}.c.

A task's virtual time runs by its weight times the shares of its groups among the groups that have something to run on its CPU.  A group
that has used its quota is parked: its tasks leave the run queues until its next period begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from arch.abi.errno import EINVAL, ERANGE
from arch.abi.limits import S64_MAX
from arch.abi.time import NSEC_PER_USEC
from arch.cstring import c_string, kstrto_within
from arch.errors import KernelError
from simkernel.fs.cgroup_css import NO_LIMIT, CgroupFile, Controller, Css, Group, text_of
from simkernel.kernel.runqueue import RunQueue
from simkernel.kernel.task import TASK_RUNNING, Task
from simkernel.kernel.weights import WEIGHTS

MIN_PERIOD_US, MAX_PERIOD_US = 1000, 1000_000
MIN_QUOTA_US = 1000
MAX_QUOTA_US = ((1 << 44) - 1) // 1000  # max_cfs_runtime
DEFAULT_WEIGHT, MAX_WEIGHT = 100, 10000
NICE_0 = 1024
IDLE_WEIGHT = 3  # WEIGHT_IDLEPRIO


class CpuCss(Css):
    """struct task_group with its cfs_bandwidth."""

    parent: CpuCss | None

    def __init__(self, group: Group, parent: Css | None) -> None:
        super().__init__(group, parent)
        self.weight, self.idle = DEFAULT_WEIGHT, False
        self.quota_us, self.period_us, self.burst_us = NO_LIMIT, 100_000, 0
        self.runtime_ns = 0  # left of this period
        self.timer_on = self.throttled = False
        self.parked: list[Task] = []
        self.periods = self.times_throttled = self.throttled_ns = self.bursts = self.burst_ns = 0
        self._since = 0

    def files(self) -> Iterator[CgroupFile]:
        """cpu_files[]; cpu.stat is every group's."""
        yield CgroupFile("cpu.idle", lambda: f"{self.idle:d}\n", self._set_idle)
        yield CgroupFile("cpu.max", self._max, self._set_max)
        yield CgroupFile("cpu.max.burst", lambda: f"{self.burst_us}\n", self._set_burst)
        yield CgroupFile("cpu.weight", lambda: f"{0 if self.idle else self.weight}\n", self._set_weight)
        yield CgroupFile("cpu.weight.nice", lambda: f"{self._nice()}\n", self._set_nice)

    def stat(self) -> str:
        """cpu_extra_stat_show()."""
        return (
            f"nr_periods {self.periods}\nnr_throttled {self.times_throttled}\n"
            f"throttled_usec {self.throttled_ns // NSEC_PER_USEC}\n"
            f"nr_bursts {self.bursts}\nburst_usec {self.burst_ns // NSEC_PER_USEC}\n"
        )

    # -- shares --

    def _set_weight(self, data: bytes) -> None:
        weight = kstrto_within(c_string(data))
        if not 1 <= weight <= MAX_WEIGHT:
            raise KernelError(ERANGE, "weight")
        if self.idle:
            raise KernelError(EINVAL, "an idle group has no weight")
        self.weight = weight

    def _set_idle(self, data: bytes) -> None:
        value = kstrto_within(text_of(data), 0, -S64_MAX, S64_MAX)
        if value not in (0, 1):
            raise KernelError(EINVAL, "0 or 1")
        self.idle, self.weight = bool(value), DEFAULT_WEIGHT

    def _shares(self) -> int:
        """Its weight as tasks have theirs."""
        return IDLE_WEIGHT if self.idle else max(2, (self.weight * NICE_0 + DEFAULT_WEIGHT // 2) // DEFAULT_WEIGHT)

    def _nice(self) -> int:
        weight = self._shares()
        nearest = min(range(len(WEIGHTS)), key=lambda nice: abs(WEIGHTS[nice] - weight))
        return nearest - 20

    def _set_nice(self, data: bytes) -> None:
        nice = kstrto_within(c_string(data), 0, -S64_MAX, S64_MAX)
        if not -20 <= nice <= 19:
            raise KernelError(ERANGE, "nice")
        self.weight = max(1, (WEIGHTS[nice + 20] * DEFAULT_WEIGHT + NICE_0 // 2) // NICE_0)

    def share(self, task_weight: int, rq: RunQueue, of: Callable[[Task], CpuCss]) -> int:
        """task_h_load(): what a task's weight is worth beside all that wants to run on this CPU."""
        running = [of(task) for task in [rq.current, *rq.tasks] if task is not rq.idle]
        value, here = float(task_weight), self
        inside = float(task_weight)
        while here.parent is not None:
            below = {css for other in running for css in _chain(other) if css.parent is here}
            direct = [t for t in [rq.current, *rq.tasks] if t is not rq.idle and of(t) is here]
            total = sum(css._shares() for css in below) + sum(_weight(t) for t in direct)
            value = value * here._shares() / max(total, 1, inside if not below and not direct else 1)
            here = here.parent
            inside = 0.0
        return max(1, int(value))

    # -- limits --

    def _max(self) -> str:
        return f"{'max' if self.quota_us == NO_LIMIT else self.quota_us} {self.period_us}\n"

    def _set_max(self, data: bytes) -> None:
        words = c_string(data).split()
        if not words or data[:1].isspace():
            raise KernelError(EINVAL, "a quota and perhaps a period")
        if words[0] == "max":
            quota = NO_LIMIT
        elif words[0].isdigit():
            quota = int(words[0])
        else:
            raise KernelError(EINVAL, "quota")
        told = re.match(r"[0-9]+", words[1]) if len(words) > 1 else None  # sscanf(): what is no number changes nothing
        period = int(told[0]) if told is not None else self.period_us
        if quota != NO_LIMIT and not MIN_QUOTA_US <= quota <= MAX_QUOTA_US:
            raise KernelError(EINVAL, "quota")
        if not MIN_PERIOD_US <= period <= MAX_PERIOD_US:
            raise KernelError(EINVAL, "period")
        if quota != NO_LIMIT and (self.burst_us > quota or quota + self.burst_us > MAX_QUOTA_US):
            raise KernelError(EINVAL, "burst")
        self.quota_us, self.period_us = quota, period
        self.runtime_ns = 0 if quota == NO_LIMIT else quota * NSEC_PER_USEC
        if quota == NO_LIMIT or self.runtime_ns > 0:
            self._unthrottle()

    def _set_burst(self, data: bytes) -> None:
        burst = kstrto_within(text_of(data) if not data[:1].isspace() else "x")
        if self.quota_us != NO_LIMIT and burst > self.quota_us:
            raise KernelError(EINVAL, "more than the quota")
        self.burst_us = burst

    def charge(self, delta_ns: int) -> bool:
        """__account_cfs_rq_runtime(); the group has none left."""
        if self.quota_us == NO_LIMIT:
            return False
        self.runtime_ns -= delta_ns
        if not self.timer_on:
            self._start_period()
        if self.runtime_ns > 0 or self.throttled:
            return False
        self.throttled, self._since = True, self.group.k.clock.now_ns
        self.times_throttled += 1
        return True

    def _start_period(self) -> None:
        clock = self.group.k.clock
        self.timer_on = True
        clock.add(clock.now_ns + self.period_us * NSEC_PER_USEC, self._period)

    def _period(self) -> None:
        """do_sched_cfs_period_timer()."""
        self.timer_on = False
        if self.quota_us == NO_LIMIT:
            self._unthrottle()
            return
        self.periods += 1
        quota = self.quota_us * NSEC_PER_USEC
        before = self.runtime_ns
        self.runtime_ns = min(self.runtime_ns + quota, quota + self.burst_us * NSEC_PER_USEC)
        used = quota - self.runtime_ns if before < 0 else quota - before
        if used > quota:
            self.bursts, self.burst_ns = self.bursts + 1, self.burst_ns + used - quota
        if self.runtime_ns > 0:
            self._unthrottle()
        if self.throttled or before < quota:
            self._start_period()

    def _unthrottle(self) -> None:
        """unthrottle_cfs_rq(): whoever was parked may run."""
        if not self.throttled:
            return
        cpus = self.group.k.cpus
        self.throttled = False
        self.throttled_ns += self.group.k.clock.now_ns - self._since
        parked, self.parked = self.parked, []
        for task in parked:
            if task.state == TASK_RUNNING and not task.exit_state:
                cpus.enqueue(task, cpus.rqs[task.cpu])

    def offline(self) -> None:
        """Nobody waits for a group that is gone."""
        self.quota_us = NO_LIMIT
        self._unthrottle()


def _chain(css: CpuCss) -> list[CpuCss]:
    chain, here = [css], css.parent
    while here is not None:
        chain.append(here)
        here = here.parent
    return chain


def _weight(task: Task) -> int:
    return WEIGHTS[task.static_prio - 100] if 100 <= task.static_prio < 140 else NICE_0


class GroupScheduling:
    """What the run queues ask: kernel/cpus.py's GroupScheduler.  There while some group has the controller."""

    def __init__(self, of: Callable[[Task], CpuCss]) -> None:
        self.of = of

    def weight(self, task: Task, rq: RunQueue) -> int:
        """By the groups' shares."""
        css = self.of(task)
        plain = _weight(task)
        return plain if css.parent is None else css.share(plain, rq, self.of)

    def charge(self, task: Task, rq: RunQueue, delta_ns: int) -> None:
        """Time of a task, to all groups around it; those that have no more are parked."""
        for css in _chain(self.of(task)):
            if css.charge(delta_ns):
                rq.need_resched = True
                rq.slice_end_ns = 0
                self._park_all(css)

    def _park_all(self, css: CpuCss) -> None:
        """throttle_cfs_rq(), on every CPU."""
        cpus = css.group.k.cpus
        for rq in cpus.rqs:
            for task in [t for t in rq.tasks if css in _chain(self.of(t))]:
                rq.tasks.remove(task)
                css.parked.append(task)
            if rq.current is not rq.idle and css in _chain(self.of(rq.current)):
                rq.need_resched = True

    def park(self, task: Task) -> bool:
        """A task that wants to run; its group may not."""
        if task.freezing or task.signal.fatal:
            return False
        for css in _chain(self.of(task)):
            if css.throttled:
                css.parked.append(task)
                return True
        return False

    def slice_end(self, task: Task, now_ns: int) -> int | None:
        """When the first of its groups has used all."""
        left = [css.runtime_ns for css in _chain(self.of(task)) if css.quota_us != NO_LIMIT]
        return now_ns + max(min(left), 1) if left else None


CPU = Controller("cpu", CpuCss, threaded=True)
