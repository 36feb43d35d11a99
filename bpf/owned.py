"""Objects of programs (bpf_obj_new()) that there are, and the order of the trees they are kept in."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from bpf.btf import Btf
from bpf.btf.record import Record


class OwnedObjects:
    """All by address; an object whose type has no special members has no record."""

    def __init__(self) -> None:
        self.records: dict[int, Record | None] = {}
        self.object_of_node: dict[int, int] = {}  # of its list and tree nodes
        self.trees: dict[int, list[int]] = {}  # root -> nodes, least first
        self.types: WeakKeyDictionary[Btf, dict[int, Record]] = WeakKeyDictionary()  # special members by type
