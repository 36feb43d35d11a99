"""struct sk_msg as programs of socket maps edit it.  net/core/filter.c of Linux 6.1: bpf_msg_pull_data() and its neighbours.

A message is a row of pieces, each of its own memory.  A program sees one piece at a time between data and data_end: the
first, or what it has pulled together.  The ring of pieces always begins at 0 here.
"""

from __future__ import annotations

from collections.abc import Sequence

from arch.abi.errno import EINVAL
from bpf.packet.skbuff import KernelStruct, PacketHost

MAX_MSG_FRAGS = 17
Piece = tuple[int, int]  # address, bytes


class SkMsg(KernelStruct):
    """struct sk_msg."""

    struct = "sk_msg"

    def __init__(self, host: PacketHost, addr: int, pages: list[int]) -> None:
        super().__init__(host, addr)
        self._pages = pages  # what editing took; who made the message frees them
        self._each = self.kernel.sizeof("scatterlist")

    def pieces(self) -> list[Piece]:
        """Where its bytes lie."""
        first = self.at("sg.data")
        entries = range(first, first + self.get("sg.end") * self._each, self._each)
        return [(self.read(at, "scatterlist.dma_address"), self.read(at, "scatterlist.length")) for at in entries]

    def lay(self, pieces: Sequence[Piece]) -> None:
        """These are its pieces now; the program sees the first.  sk_msg_compute_data_pointers()."""
        at = self.at("sg.data")
        for address, size in pieces:
            self.write(at, "scatterlist.dma_address", address)
            self.write(at, "scatterlist.length", size)
            at += self._each
        self.set("sg.end", len(pieces))
        self.set("sg.size", sum(size for _, size in pieces))
        self._show(*pieces[0] if pieces else (0, 0))

    def _show(self, address: int, size: int) -> None:
        self.set("data", address)
        self.set("data_end", address + size)

    def bytes_of(self, pieces: Sequence[Piece]) -> bytes:
        """What lies there."""
        return b"".join(bytes(self.mem.read(address, size)) for address, size in pieces)

    def _page(self, data: bytes) -> Piece:
        """Memory of the message's own."""
        address = self.mem.alloc(max(len(data), 1))
        if data:
            self.mem.write(address, data)
        self._pages.append(address)
        return address, len(data)

    @staticmethod
    def _find(pieces: Sequence[Piece], start: int) -> tuple[int, int]:
        """The piece that holds a byte, and where it begins; behind all of them the last one's."""
        offset = size = index = 0
        for index, (_, size) in enumerate(pieces):
            if start < offset + size:
                return index, offset
            offset += size
        return len(pieces), offset - size

    def pull(self, start: int, end: int) -> int:
        """The program sees these bytes: pieces that hold parts of them become one.  EINVAL."""
        pieces = self.pieces()
        first, offset = self._find(pieces, start)
        if end <= start or first == len(pieces) or end > self.get("sg.size"):
            return -EINVAL
        last, held = first, 0
        while held < end - offset:
            held += pieces[last][1]
            last += 1
        if last > first + 1:
            pieces[first:last] = [self._page(self.bytes_of(pieces[first:last]))]
            self.lay(pieces)
        self._show(pieces[first][0] + start - offset, end - start)
        return 0

    def push(self, start: int, size: int) -> int:
        """So many zeroes at a place.  EINVAL."""
        if not size:
            return 0
        pieces = self.pieces()
        index, offset = self._find(pieces, start)
        if start > self.get("sg.size"):
            return -EINVAL
        space = MAX_MSG_FRAGS - len(pieces)
        if not space or (space == 1 and start != offset):
            index = min(index, len(pieces) - 1)
            data = self.bytes_of(pieces[index : index + 1])
            pieces[index] = self._page(data[: start - offset] + bytes(size) + data[start - offset :])
        elif index < len(pieces) and start != offset:
            address, length = pieces[index]
            front = start - offset
            pieces[index : index + 1] = [(address, front), self._page(bytes(size)), (address + front, length - front)]
        else:
            pieces.insert(index, self._page(bytes(size)))
        self.lay(pieces)
        return 0

    def pop(self, start: int, size: int) -> int:
        """So many bytes from a place on go.  EINVAL."""
        if not size:
            return 0
        pieces = self.pieces()
        index, offset = self._find(pieces, start)
        if index == len(pieces) or start + size > self.get("sg.size"):
            return -EINVAL
        left = size
        if start != offset:
            address, length = pieces[index]
            front, back = start - offset, length - (start - offset) - size
            pieces[index] = address, front
            if back > 0 and len(pieces) < MAX_MSG_FRAGS:
                pieces.insert(index + 1, (address + front + size, back))
            elif back > 0:
                pieces[index] = self._page(self.bytes_of([(address, front), (address + front + size, back)]))
            left = max(size - (length - front), 0)
            index += 1
        while left:
            address, length = pieces[index]
            if left < length:
                pieces[index] = address + left, length - left
                break
            left -= length
            del pieces[index]
        self.lay(pieces)
        return 0
