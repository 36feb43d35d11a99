"""Structs that BPF_OBJ_GET_INFO_BY_FD fills: as far as both sides know them.  kernel/bpf/syscall.c."""

from __future__ import annotations

from collections.abc import Sequence

from arch.abi.errno import EINVAL, ENOSPC
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from arch.memory import ByteOrder
from bpf.syscall.attr import Call


def sized(table: Sequence[tuple[str, int]], version: KernelVersion) -> int:
    """Bytes of a struct in one version."""
    return next((size for since, size in table if version.at_least(since)), table[-1][1])


class Info:
    """One of the structs, being filled: integers by name."""

    def __init__(self, raw: bytes, size: int, fields: dict[str, tuple[int, int]], byteorder: ByteOrder) -> None:
        self.raw = bytearray(raw.ljust(size, b"\0"))
        self.fields, self.byteorder = fields, byteorder

    def __getitem__(self, name: str) -> int:
        offset, size = self.fields[name]
        return int.from_bytes(self.raw[offset : offset + size], self.byteorder)

    def __setitem__(self, name: str, value: int | bytes) -> None:
        offset, size = self.fields[name]
        data = value if isinstance(value, bytes) else (value & (1 << 8 * size) - 1).to_bytes(size, self.byteorder)
        self.raw[offset : offset + size] = data[:size].ljust(size, b"\0")


def begin(call: Call, known: int, size: int, fields: dict[str, tuple[int, int]], *, read: bool) -> tuple[Info, int]:
    """The user's struct as far as we know it, and how much of it goes back."""
    attr, user = call.attr, call.user
    user.check_tail_zero(attr.info, known, attr.info_len)
    length = min(attr.info_len, size)
    raw = user.read(attr.info, length) if read else b""
    return Info(raw, size, fields, user.byteorder), length


def end(call: Call, info: Info, length: int) -> int:
    call.user.write(call.attr.info, bytes(info.raw[:length]))
    call.user.put(call.attr.place("info_len"), 4, length)
    return 0


def give(call: Call, info: Info, count: str, pointer: str, items: Sequence[bytes]) -> None:
    """An array by its two members: how many there are, and as many as the user has room for."""
    room, info[count] = info[count], len(items)
    if room and items:
        call.user.write(info[pointer], b"".join(items[:room]))


def give_text(call: Call, info: Info, pointer: str, count: str, text: str, *, empty_ok: bool = False) -> int:
    """A string by pointer and length: all of it with its NUL, or what fits and ENOSPC."""
    address, room = info[pointer], info[count]
    if bool(address) != bool(room):
        raise KernelError(EINVAL)
    raw = text.encode()
    info[count] = len(raw) if empty_ok else len(raw) + 1
    if not address:
        return 0
    if room >= len(raw) + 1:
        call.user.write(address, raw + b"\0")
        return 0
    call.user.write(address, raw[: room - 1] + b"\0")
    return ENOSPC
