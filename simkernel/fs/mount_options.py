"""Options of mounts, checked one by one as they are said: fs/fs_parser.c, and shmem_parse_one() and its kin.

`check(fs_name, key, value)` is what fsconfig(2) asks at once and mount(2) before it makes the file system; a value of None is
an option without one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from arch.abi.errno import EINVAL
from arch.abi.limits import PAGE_SIZE, U32_MAX
from arch.errors import KernelError
from arch.records import dataclass

HUGE = ("never", "always", "within_size", "advise", "deny", "force")
HIDEPID = ("off", "noaccess", "invisible", "ptraceable")
SUFFIX = {"k": 10, "m": 20, "g": 30, "t": 40, "p": 50, "e": 60}
NODE_LISTS = ("0", "0-0")  # of one node
NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")


class BadOption(KernelError):
    """EINVAL, and the line that who reads the context's descriptor finds."""

    def __init__(self, text: str) -> None:
        super().__init__(EINVAL, text)
        self.text = text


def integer(text: str) -> int:
    """What NUMBER matches: hexadecimal, octal or decimal."""
    return int(text, 16 if text[:2] in ("0x", "0X") else 8 if text[0] == "0" else 10)


def memparse(text: str) -> tuple[int, str]:
    """A number with an optional suffix, and what stands behind it.  lib/cmdline.c."""
    match = NUMBER.match(text)
    digits = "" if match is None else match[0]
    if digits[:1] == "0" and digits[:2] not in ("0x", "0X"):
        digits = re.match("[0-7]*", digits)[0]  # type: ignore[index]  # it matches nothing, at worst
    rest = text[len(digits) :]
    shift = SUFFIX.get(rest[:1].lower(), 0)
    return (integer(digits or "0") << shift) & (1 << 64) - 1, rest[1:] if shift else rest


def u32(text: str, base: int = 0) -> int | None:
    """kstrtouint(): None where that is no such number."""
    text = text.removeprefix("+").removesuffix("\n")
    try:
        value = int(text, 8) if base == 8 and text.isdecimal() else integer(text) if NUMBER.fullmatch(text) else None
    except ValueError:
        return None
    return value if value is not None and value <= U32_MAX else None


def mempolicy(text: str) -> bool:
    """mpol_parse_str(): is this a policy of memory, on a machine of one node?"""
    head, colon, nodes = text.partition(":")
    mode, equals, flag = head.partition("=")
    if equals and flag not in ("static", "relative"):
        return False
    if mode in ("default", "local"):
        return not colon
    if mode in ("bind", "prefer (many)"):
        return nodes in NODE_LISTS
    return mode in ("prefer", "interleave") and (not colon or nodes in NODE_LISTS)


@dataclass(slots=True)
class ShmemOptions:
    """struct shmem_options: what was said; None of what was not."""

    blocks: int | None = None
    inodes: int | None = None
    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    huge: str = "never"
    full_inums: bool = True

    def parse(self, key: str, value: str | None, total_pages: int) -> bool:
        """shmem_parse_one(): False for an option that it does not know.  BadOption."""
        if key in ("inode32", "inode64"):
            if value is not None:
                raise BadOption(f"Unexpected value for '{key}'")
            self.full_inums = key == "inode64"
            return True
        if key not in ("size", "nr_blocks", "nr_inodes", "mode", "uid", "gid", "huge", "mpol"):
            return False
        if not value or not self._take(key, value, total_pages):
            raise BadOption(f"Bad value for '{key}'")
        return True

    def _take(self, key: str, value: str, total_pages: int) -> bool:
        if key in ("mode", "uid", "gid"):
            number = u32(value, 8 if key == "mode" else 0)
            if number is None or number == U32_MAX:
                return False
            if key == "mode":
                self.mode = number & 0o7777
            elif key == "uid":
                self.uid = number
            else:
                self.gid = number
            return True
        if key == "huge":
            self.huge = value
            return value in HUGE
        if key == "mpol":
            return mempolicy(value)
        number, rest = memparse(value)
        if key == "size":
            if rest[:1] == "%":
                number, rest = number * total_pages * PAGE_SIZE // 100, rest[1:]
            self.blocks = -(-number // PAGE_SIZE)
        elif key == "nr_blocks":
            self.blocks = number
        else:
            self.inodes = number
        return not rest and number < 1 << 63

    def parse_all(self, data: str, total_pages: int) -> None:
        """Those of mount(2), with commas between them.  BadOption."""
        for key, value in split(data):
            if not self.parse(key, value, total_pages):
                raise BadOption(f"Unknown parameter '{key}'")


def split(data: str) -> list[tuple[str, str | None]]:
    """Names and values."""
    parts = (option.partition("=") for option in data.split(",") if option)
    return [(key, value if equals else None) for key, equals, value in parts]


def mode_option(data: str, default: int) -> int:
    """`mode` alone, as ramfs and bpf have it; what they do not know they pass over.  BadOption."""
    mode = default
    for key, value in split(data):
        if key == "mode":
            number = None if value is None else u32(value, 8)
            if number is None:
                raise BadOption("Bad value for 'mode'")
            mode = number & 0o7777
    return mode


def _check_shmem(key: str, value: str | None) -> None:
    ShmemOptions().parse(key, value, 1)


def _check_mode(key: str, value: str | None) -> None:
    if key == "mode":
        mode_option(key if value is None else f"{key}={value}", 0)


def _check_proc(key: str, value: str | None) -> None:
    if not value or (key == "gid" and u32(value) is None):
        raise BadOption(f"Bad value for '{key}'")
    if key == "hidepid" and value not in HIDEPID and u32(value) not in (0, 1, 2, 4):
        raise BadOption(f"unknown value of hidepid - {value}\n")
    if key == "subset" and any(part != "pid" for part in value.split(",") if part):
        raise BadOption(f"unsupported subset option - {value}\n")


CHECKS: dict[str, Callable[[str, str | None], None]] = {
    "tmpfs": _check_shmem, "ramfs": _check_mode, "proc": _check_proc,
}  # fmt: skip


def check(fs_name: str, key: str, value: str | None) -> None:
    """One option of a file system, known by name already.  BadOption."""
    if fs_name in CHECKS:
        CHECKS[fs_name](key, value)
