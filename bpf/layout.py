"""Where one kernel keeps the members that BPF reads and writes in its structures.

The structures are those of the kernel's own headers (simkernel/include), laid out for its architecture and version:
what a context access is rewritten to, what a helper reads and what the kernel fills in cannot differ.  A path names
a struct and a member of it, "sk_buff.len" or "sk_msg.sg.size"; offsets and sizes are in bytes.  For x86-64 and 6.1
the answers are those of Debian's kernel; tests/bpf/tables/test_layout.py holds them against its BTF.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

from arch.abi.version import NEWEST, KernelVersion
from arch.architecture import DEFAULT, get
from arch.ctype import CTypeError
from arch.typetable import TypeTable, kernel_types

# Members that are macros in the kernel's headers: include/net/sock.h, include/uapi/linux/in6.h.
_MACROS = {
    "sock.sk_family": "sock.__sk_common.skc_family",
    "sock.sk_bound_dev_if": "sock.__sk_common.skc_bound_dev_if",
    "sock.sk_rx_queue_mapping": "sock.__sk_common.skc_rx_queue_mapping",
    "in6_addr.s6_addr32": "in6_addr.in6_u.u6_addr32",
}


class Place(NamedTuple):
    """Where a member is.  Of a bit-field: the byte that holds it, and its bits in that byte."""

    offset: int
    size: int
    mask: int = 0
    shift: int = 0  # of the mask's lowest bit


class KernelLayout:
    """Members of the structures of one kernel."""

    def __init__(self, types: TypeTable) -> None:
        self.types = types
        self.word = types.model.word  # bytes of a pointer
        self.byteorder = types.model.byteorder
        self._places: dict[str, Place] = {}

    def place(self, path: str) -> Place:
        """Offset and size of a member, bits too.  CTypeError if this kernel has none."""
        found = self._places.get(path)
        if found is None:
            found = self._places[path] = self._find(_MACROS.get(path, path))
        return found

    def _find(self, path: str) -> Place:
        struct, _, member = path.partition(".")
        found = self.types.resolve(f"struct {struct}", member)
        if not found.bit_size:
            return Place(found.offset, found.type.size)
        skip, first = divmod(found.bit_offset, 8)
        count = found.bit_size
        shift = first if self.byteorder == "little" else 8 - first - count
        return Place(found.offset + skip, 1, (1 << count) - 1 << shift, shift)

    def has(self, path: str) -> bool:
        """This kernel has such a member."""
        try:
            self.place(path)
        except CTypeError:
            return False
        return True

    def offset(self, path: str) -> int:
        """Of a member from the start of its struct."""
        return self.place(path).offset

    def size(self, path: str) -> int:
        """Of a member."""
        return self.place(path).size

    def sizeof(self, struct: str) -> int:
        """Of a whole struct."""
        return self.types.sizeof(f"struct {struct}")


_layouts: WeakKeyDictionary[TypeTable, KernelLayout] = WeakKeyDictionary()


def layout_of(types: TypeTable) -> KernelLayout:
    """Of the kernel with these types."""
    found = _layouts.get(types)
    if found is None:
        found = _layouts[types] = KernelLayout(types)
    return found


@cache
def default_layout(version: KernelVersion = NEWEST) -> KernelLayout:
    """Linux on the default architecture: for programs that are verified without a machine around them."""
    return layout_of(kernel_types(get(DEFAULT), version))
