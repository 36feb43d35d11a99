"""Filters that are BPF programs, on both ways of a device.  net/sched/{sch_ingress,cls_api,cls_bpf}.c of Linux 6.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from arch.abi.errno import EEXIST, EINVAL, ENOENT
from arch.errors import KernelError
from arch.records import dataclass, field
from simkernel.net.core.skb import Skb

FIRST_PRIORITY = 0xC000  # tcf_auto_prio(): where nobody says, the highest there is and one less


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


@dataclass(slots=True)
class Clsact:
    """The filters of a device, on both ways."""

    ingress: list[Filter] = field(default_factory=list)
    egress: list[Filter] = field(default_factory=list)

    def way(self, ingress: bool) -> list[Filter]:
        """Those of one way, by priority."""
        return self.ingress if ingress else self.egress

    def add(self, ingress: bool, new: Filter, replace: bool, exclusive: bool) -> Filter:
        """cls_bpf_change(): numbers that are 0 are chosen.  EEXIST, EINVAL."""
        filters = self.way(ingress)
        if not new.priority:
            new.priority = min((f.priority for f in filters), default=FIRST_PRIORITY + 1) - 1
        same = [f for f in filters if f.priority == new.priority]
        if same and same[0].protocol != new.protocol:
            raise KernelError(EINVAL, "filters of one priority have one protocol")
        old = next((f for f in same if f.handle == new.handle), None) if new.handle else None
        if old is not None and (exclusive or not replace):
            raise KernelError(EEXIST, "there is such a filter")
        if not new.handle:
            used = {f.handle for f in same}
            new.handle = next(n for n in range(1, len(used) + 2) if n not in used)
        if old is not None:
            filters[filters.index(old)] = new
            old.classifier.release()
        else:
            filters.append(new)
            filters.sort(key=lambda f: f.priority)
        return new

    def find(self, ingress: bool, priority: int, handle: int) -> Filter:
        """ENOENT."""
        for found in self.way(ingress):
            if found.priority == priority and found.handle == handle:
                return found
        raise KernelError(ENOENT, "no such filter")

    def remove(self, ingress: bool, chosen: Callable[[Filter], bool]) -> None:
        """Those filters go."""
        filters = self.way(ingress)
        for old in [f for f in filters if chosen(f)]:
            filters.remove(old)
            old.classifier.release()
