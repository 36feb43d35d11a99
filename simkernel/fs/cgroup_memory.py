"""The memory controller: pages that tasks of a control group have made present, and limits of them.  mm/memcontrol.c.

Charged are pages of address spaces and of tmpfs, where they are taken; the group that took a page keeps it, wherever the task goes.  There
is no swap and the page cache of disks is not charged, so nothing can be reclaimed: a group at its limit loses a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from arch.abi.errno import EAGAIN, EINVAL, ENOMEM
from arch.abi.kern_levels import KERN_ERR
from arch.abi.limits import INT_MAX, PAGE_SIZE
from arch.cstring import kstrto_within
from arch.errors import KernelError
from simkernel.fs.cgroup_css import NO_LIMIT, CgroupFile, Controller, Css, Group, pages, shown_pages, text_of
from simkernel.kernel.face import KernelFace
from simkernel.kernel.oom import kill, obituary, oom_badness
from simkernel.kernel.task import Task, fatal_pending

EVENTS = ("low", "high", "max", "oom", "oom_kill", "oom_group_kill")
ANON, SHMEM = "anon", "shmem"

# memory_stats[] and vm_event_name(): what this machine never has any of is 0 in all of them
STATS = [
    "anon",
    "file",
    "kernel",
    "kernel_stack",
    "pagetables",
    "sec_pagetables",
    "percpu",
    "sock",
    "vmalloc",
    "shmem",
    "zswap",
    "zswapped",
    "file_mapped",
    "file_dirty",
    "file_writeback",
    "swapcached",
    "anon_thp",
    "file_thp",
    "shmem_thp",
    "inactive_anon",
    "active_anon",
    "inactive_file",
    "active_file",
    "unevictable",
    "slab_reclaimable",
    "slab_unreclaimable",
    "slab",
    "workingset_refault_anon",
    "workingset_refault_file",
    "workingset_activate_anon",
    "workingset_activate_file",
    "workingset_restore_anon",
    "workingset_restore_file",
    "workingset_nodereclaim",
    "pgscan",
    "pgsteal",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "pgfault",
    "pgmajfault",
    "pgrefill",
    "pgactivate",
    "pgdeactivate",
    "pglazyfree",
    "pglazyfreed",
    "zswpin",
    "zswpout",
    "thp_fault_alloc",
    "thp_collapse_alloc",
]


class MemoryCss(Css):
    """struct mem_cgroup."""

    parent: MemoryCss | None

    def __init__(self, group: Group, parent: Css | None, book: Charges) -> None:
        super().__init__(group, parent)
        self.book = book
        self.usage = self.peak = 0  # pages, with those below
        self.kinds = {ANON: 0, SHMEM: 0}
        self.faults = 0
        self.max = self.high = self.swap_max = self.swap_high = self.zswap_max = NO_LIMIT
        self.low = self.min = 0
        self.oom_group = False
        self.events = dict.fromkeys(EVENTS, 0)
        self.local = dict.fromkeys(EVENTS, 0)

    def files(self) -> Iterator[CgroupFile]:
        """memory_files[] and swap_files[]."""
        yield CgroupFile("memory.current", lambda: f"{self.usage * PAGE_SIZE}\n")
        yield CgroupFile("memory.events", lambda: _lines(self.events))
        yield CgroupFile("memory.events.local", lambda: _lines(self.local))
        yield CgroupFile("memory.high", lambda: shown_pages(self.high), self._set_high)
        yield CgroupFile("memory.low", lambda: shown_pages(self.low), self._set_low)
        yield CgroupFile("memory.max", lambda: shown_pages(self.max), self._set_max)
        yield CgroupFile("memory.min", lambda: shown_pages(self.min), self._set_min)
        yield CgroupFile("memory.oom.group", lambda: f"{self.oom_group:d}\n", self._set_oom_group)
        if self.group.k.version.at_least("5.19"):
            yield CgroupFile("memory.peak", lambda: f"{self.peak * PAGE_SIZE}\n")
            yield CgroupFile("memory.reclaim", None, self._reclaim)
        yield CgroupFile("memory.stat", self._stat)
        yield CgroupFile("memory.swap.current", lambda: "0\n")
        yield CgroupFile("memory.swap.events", lambda: "high 0\nmax 0\nfail 0\n")
        yield CgroupFile("memory.swap.high", lambda: shown_pages(self.swap_high), self._set_swap_high)
        yield CgroupFile("memory.swap.max", lambda: shown_pages(self.swap_max), self._set_swap_max)

    # -- files --

    def _set_max(self, data: bytes) -> None:
        self.max = pages(text_of(data))
        if self.usage > self.max:  # memory_max_write()
            self.event("oom")
            self.kill()

    def _set_high(self, data: bytes) -> None:
        self.high = pages(text_of(data))

    def _set_low(self, data: bytes) -> None:
        self.low = pages(text_of(data))

    def _set_min(self, data: bytes) -> None:
        self.min = pages(text_of(data))

    def _set_swap_max(self, data: bytes) -> None:
        self.swap_max = pages(text_of(data))

    def _set_swap_high(self, data: bytes) -> None:
        self.swap_high = pages(text_of(data))

    def _set_oom_group(self, data: bytes) -> None:
        value = kstrto_within(text_of(data), 0, -INT_MAX, INT_MAX)
        if value not in (0, 1):
            raise KernelError(EINVAL, "0 or 1")
        self.oom_group = value == 1

    def _reclaim(self, data: bytes) -> None:
        if pages(text_of(data), ""):
            raise KernelError(EAGAIN, "nothing can be reclaimed")

    def _stat(self) -> str:
        anon, shmem = self.kinds[ANON] * PAGE_SIZE, self.kinds[SHMEM] * PAGE_SIZE
        known = {"anon": anon, "file": shmem, "shmem": shmem, "inactive_anon": anon + shmem, "pgfault": self.faults}
        return _lines({name: known.get(name, 0) for name in STATS})

    # -- charging --

    def add(self, kind: str, count: int) -> None:
        """page_counter_charge() of this group and those above."""
        here: MemoryCss | None = self
        while here is not None:
            here.usage += count
            here.kinds[kind] += count
            here.faults += count > 0
            here.peak = max(here.peak, here.usage)
            here = here.parent

    def full(self) -> MemoryCss | None:
        """The first group, from here upwards, that has no room for a page."""
        here: MemoryCss | None = self
        while here is not None:
            if here.usage >= here.max:
                return here
            here = here.parent
        return None

    def event(self, name: str) -> None:
        """memcg_memory_event()."""
        self.local[name] += 1
        self.group.notify("memory.events.local")
        here: MemoryCss | None = self
        while here is not None:
            if here.parent is not None:  # the root has no such file
                here.events[name] += 1
                here.group.notify("memory.events")
            here = here.parent

    def kill(self) -> bool:
        """mem_cgroup_out_of_memory(): the largest process goes, or its whole group; False when there is none."""
        k = self.group.k
        living = [t for t in self.group.tasks_below() if t.mm is not None and not t.exit_state and t is t.group_leader]
        if any(t.signal.fatal for t in living):
            return True
        total = min(self.max, k.mm.total_ram_pages)
        scores = {t: score for t in living if (score := oom_badness(t, total)) is not None}
        if not scores:
            return False
        victim = max(scores, key=lambda t: (scores[t], -t.pid))
        assert victim.mm is not None
        owner = self.book.of(victim)
        together = [css for css in owner.chain_to(self) if css.oom_group]
        k.printk(obituary(victim, victim.mm, "Memory cgroup out of memory"), KERN_ERR)
        owner.event("oom_kill")
        kill(k, victim)
        if together:
            together[-1].event("oom_group_kill")
            for task in together[-1].group.tasks_below():
                if (
                    task is task.group_leader
                    and task is not victim
                    and not task.exit_state
                    and oom_badness(task, total) is not None
                ):
                    self.book.of(task).event("oom_kill")
                    kill(k, task)
        return True

    def chain_to(self, top: MemoryCss) -> list[MemoryCss]:
        """From this group up to `top`."""
        chain: list[MemoryCss] = [self]
        while chain[-1] is not top and chain[-1].parent is not None:
            chain.append(chain[-1].parent)
        return chain

    def offline(self) -> None:
        """Its pages are its parent's now."""
        self.book.reparent(self)


def _lines(values: dict[str, int]) -> str:
    return "".join(f"{name} {value}\n" for name, value in values.items())


class Account(NamedTuple):
    """Whose a page is, and of which kind."""

    css: MemoryCss
    kind: str


class Charges:
    """kernel/areas.py's Charger: whose each page is."""

    def __init__(self, k: KernelFace, of: Callable[[Task], MemoryCss]) -> None:
        self.k, self.of = k, of
        self.owner: dict[int, Account] = {}

    def charge(self, shared: bool) -> Account | None:
        """mem_cgroup_charge(), before a page is taken.  ENOMEM, when the current task has to go."""
        task = self.k.current
        css = self.of(task)
        if css.parent is None:
            return None
        while (over := css.full()) is not None:
            if fatal_pending(task) or task.exit_state:
                break
            over.event("max")
            over.event("oom")
            if not over.kill():
                raise KernelError(ENOMEM, "memory.max")
            if fatal_pending(task):
                raise KernelError(ENOMEM, "memory.max")
            break
        here: MemoryCss | None = css
        while here is not None:
            if here.usage >= here.high:
                here.event("high")
                break
            here = here.parent
        return Account(css, SHMEM if shared else ANON)

    def took(self, phys: int, whose: object) -> None:
        """commit_charge()."""
        assert isinstance(whose, Account)
        self.owner[phys] = whose
        whose[0].add(whose[1], 1)

    def freed(self, phys: int) -> None:
        """mem_cgroup_uncharge(): the last user of a page went."""
        whose = self.owner.pop(phys, None)
        if whose is not None:
            whose[0].add(whose[1], -1)

    def reparent(self, css: MemoryCss) -> None:
        """memcg_offline_kmem() and its kin: what a group leaves."""
        heir = css.parent
        assert heir is not None
        for phys, (owner, kind) in list(self.owner.items()):
            if owner is css:
                if heir.parent is None:
                    del self.owner[phys]
                else:
                    self.owner[phys] = Account(heir, kind)


def memory(book: Charges) -> Controller:
    """The controller of one machine."""
    return Controller("memory", lambda group, parent: MemoryCss(group, parent, book))
