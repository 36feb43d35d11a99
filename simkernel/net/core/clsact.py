"""Filters that are BPF programs, on both ways of a device.  net/sched/{sch_ingress,cls_api,cls_bpf}.c of Linux 6.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from arch.records import dataclass, field
from simkernel.net.core.skb import Skb

FIRST_PRIORITY, CHOSEN_FROM = (
    0xC000,
    0x8000,
)  # tcf_auto_prio(): where nobody says, one less than the next that was chosen so


class Classifier(Protocol):
    """A program of a filter."""

    id: int
    tag: bytes

    def run(self, skb: Skb, ingress: bool) -> int:
        """What is to be done with a packet: TC_ACT_."""

    def release(self) -> None:
        """The filter goes."""


@dataclass(slots=True)
class Filter:
    """struct cls_bpf_prog."""

    priority: int
    handle: int
    protocol: int  # ETH_P_, network order as in tcm_info
    classifier: Classifier
    name: bytes
    direct: bool  # TCA_BPF_FLAG_ACT_DIRECT: the answer is an action
    classid: int = 0
    gen_flags: int = 0  # TCA_CLS_FLAGS_


@dataclass(slots=True)
class Clsact:
    """What stands where packets come in and go out: "clsact", "ingress", or "noop" once one has gone; its filters."""

    kind: str = "noop"
    ingress: list[Filter] = field(default_factory=list)
    egress: list[Filter] = field(default_factory=list)

    def way(self, ingress: bool) -> list[Filter]:
        """Those of one way, by priority."""
        return self.ingress if ingress else self.egress

    def next_priority(self, ingress: bool) -> int:
        """tcf_auto_prio()."""
        return min((f.priority for f in self.way(ingress) if f.priority >= CHOSEN_FROM), default=FIRST_PRIORITY + 1) - 1

    def of_priority(self, ingress: bool, priority: int) -> list[Filter]:
        """The filters of one struct tcf_proto, the newest first."""
        return [f for f in self.way(ingress) if f.priority == priority]

    def add(self, ingress: bool, new: Filter) -> Filter:
        """cls_bpf_change(): in the place of the one with its number, else before the others of its priority."""
        filters, same = self.way(ingress), self.of_priority(ingress, new.priority)
        old = next((f for f in same if f.handle == new.handle), None) if new.handle else None
        if not new.handle:
            used = {f.handle for f in same}
            new.handle = next(n for n in range(1, len(used) + 2) if n not in used)
        if old is not None:
            filters[filters.index(old)] = new
            old.classifier.release()
        else:
            filters.insert(0, new)
            filters.sort(key=lambda f: f.priority)
        return new

    def clear(self) -> None:
        """The queueing discipline goes, and its filters with it."""
        for ingress in (True, False):
            self.remove(ingress, lambda _: True)
        self.kind = "noop"

    def remove(self, ingress: bool, chosen: Callable[[Filter], bool]) -> None:
        """Those filters go."""
        filters = self.way(ingress)
        for old in [f for f in filters if chosen(f)]:
            filters.remove(old)
            old.classifier.release()
