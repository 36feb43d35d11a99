"""Which specifications of static probes are in use: the maps of bpf/usdt.bpf.h.  libbpf's usdt.c: struct usdt_manager."""

from __future__ import annotations

from collections.abc import Mapping

from arch.abi.errno import E2BIG, ESRCH
from bpf.loader.errors import LoadError
from bpf.loader.maps import Map
from bpf.usdt_names import IP_TO_ID, SPECS


class UsdtManager:
    """The spec ids of one object: shared by call sites of one attachment, handed back when it goes."""

    def __init__(self, maps: Mapping[str, Map]) -> None:
        specs, ips = maps.get(SPECS), maps.get(IP_TO_ID)
        if specs is None or ips is None:
            text = "usdt: failed to find USDT support BPF maps, did you forget to include bpf/usdt.bpf.h?"
            raise LoadError(text, ESRCH)
        self.specs: Map = specs
        self.ips: Map = ips
        self.free_ids: list[int] = []
        self.next_free = 0

    def allocate(self, known: dict[str, int], text: str) -> tuple[int, bool]:
        """(id, whether it is new to this attachment)."""
        if text in known:
            return known[text], False
        if self.free_ids:
            found = self.free_ids.pop()
        elif self.next_free < self.specs.definition.max_entries:
            found = self.next_free
            self.next_free += 1
        else:
            raise LoadError("usdt: out of USDT spec slots", E2BIG)
        known[text] = found
        return found, True
