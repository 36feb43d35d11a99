"""The requests about groups that both families read.  include/uapi/linux/in.h: struct group_req, struct group_filter."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOBUFS
from arch.abi.socket import SOCKADDR_STORAGE
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.net.face import NetKernel


def storages(data: bytes, at: int, count: int) -> list[bytes]:
    """`count` struct sockaddr_storage from `at` on, each to the end of the data.  EINVAL."""
    if at + count * SOCKADDR_STORAGE > len(data):
        raise KernelError(EINVAL)
    return [data[at + i * SOCKADDR_STORAGE :] for i in range(count)]


def family(k: NetKernel, raw: bytes) -> int:
    """Of a struct sockaddr."""
    return int.from_bytes(raw[:2], k.mem.byteorder)


@dataclass(slots=True)
class GroupFilter:
    """struct group_filter; the addresses as struct sockaddr_storage, the first of them the group's."""

    ifindex: int
    mode: int
    addresses: list[bytes]


def group_filter(k: NetKernel, data: bytes, most: int) -> GroupFilter:
    """MCAST_MSFILTER with at most so many sources.  EINVAL, ENOBUFS."""
    word, order = k.arch.word, k.mem.byteorder
    at = word + SOCKADDR_STORAGE
    if len(data) < at + 8:
        raise KernelError(EINVAL)
    mode, count = (int.from_bytes(data[i : i + 4], order) for i in (at, at + 4))
    if count > most:
        raise KernelError(ENOBUFS)
    addresses = storages(data, word, 1) + storages(data, at + 8, count)
    return GroupFilter(int.from_bytes(data[:4], order), mode, addresses)
