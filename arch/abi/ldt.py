"""Segment descriptors that programs make on x86: struct user_desc, and what of it the CPU reads.

arch/x86/include/uapi/asm/ldt.h, arch/x86/include/asm/desc.h.  A descriptor is eight bytes, little endian.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

LDT_ENTRIES, LDT_ENTRY_SIZE = 8192, 8
LDT_PAGES = LDT_ENTRIES * LDT_ENTRY_SIZE >> 12
USER_DESC_SIZE = 16
TLS_ENTRIES = 3  # GDT_ENTRY_TLS_ENTRIES: of each thread, in the global table
NO_TLS = bytes(TLS_ENTRIES * LDT_ENTRY_SIZE)
NO_DESCRIPTOR = bytes(LDT_ENTRY_SIZE)
CONTENTS_CODE = 2  # modify_ldt's MODIFY_LDT_CONTENTS_CODE; 3: conforming
# The fifth and sixth byte of a descriptor.
PRESENT, DPL, SEGMENT, CODE_SEGMENT, READ_WRITE, ACCESSED = 0x80, 0x60, 0x10, 0x08, 0x02, 0x01
DIRECTION_CONFORMING = 0x04
LONG_MODE, BIG, GRANULAR, AVAILABLE = 0x20, 0x40, 0x80, 0x10
LOCAL_TABLE, RPL = 4, 3  # of a selector


class UserDesc(NamedTuple):
    """struct user_desc; the limit is in bytes or pages."""

    entry_number: int
    base_addr: int
    limit: int
    seg_32bit: int
    contents: int
    read_exec_only: int
    limit_in_pages: int
    seg_not_present: int
    useable: int
    lm: int = 0

    @classmethod
    def unpack(cls, raw: bytes) -> UserDesc:
        """From the program's bytes."""
        number, base, limit, bits = struct.unpack("<4I", raw)
        return cls(
            number, base, limit, bits & 1, bits >> 1 & 3, bits >> 3 & 1, bits >> 4 & 1, bits >> 5 & 1, bits >> 6 & 1, bits >> 7 & 1,
        )  # fmt: skip

    def pack(self) -> bytes:
        """For the program."""
        bits = self.seg_32bit | self.contents << 1 | self.read_exec_only << 3 | self.limit_in_pages << 4
        bits |= self.seg_not_present << 5 | self.useable << 6 | self.lm << 7
        return struct.pack("<4I", self.entry_number, self.base_addr, self.limit, bits)

    @property
    def is_empty(self) -> bool:
        """LDT_empty()."""
        return self[1:] == (0, 0, 0, 0, 1, 0, 1, 0, 0)

    @property
    def is_zero(self) -> bool:
        """LDT_zero()."""
        return not any(self[1:9])

    def descriptor(self) -> bytes:
        """fill_ldt(): what the CPU reads."""
        kind = ACCESSED | (0 if self.read_exec_only else READ_WRITE) | self.contents << 2
        access = kind | SEGMENT | DPL | (0 if self.seg_not_present else PRESENT)
        high = self.limit >> 16 & 15 | self.useable << 4 | self.seg_32bit << 6 | self.limit_in_pages << 7
        base = self.base_addr
        return struct.pack("<HHBBBB", self.limit & 0xFFFF, base & 0xFFFF, base >> 16 & 0xFF, access, high, base >> 24)


def user_desc(entry: int, raw: bytes, long_mode: bool) -> UserDesc:
    """fill_user_desc(): what get_thread_area(2) tells of a descriptor."""
    limit, low, middle, access, high, top = struct.unpack("<HHBBBB", raw)
    return UserDesc(
        entry, low | middle << 16 | top << 24, limit | (high & 15) << 16, high >> 6 & 1, access >> 2 & 3,
        0 if access & READ_WRITE else 1, high >> 7, 0 if access & PRESENT else 1, high >> 4 & 1, high >> 5 & 1 if long_mode else 0,
    )  # fmt: skip


def is_data(raw: bytes) -> bool:
    """Whether ds, es, fs and gs can be loaded with it: a segment of user mode that can be read."""
    access = raw[5]
    ours = access & (PRESENT | SEGMENT | DPL) == PRESENT | SEGMENT | DPL
    return ours and bool(not access & CODE_SEGMENT or access & READ_WRITE)
