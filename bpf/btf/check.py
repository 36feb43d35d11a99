"""What BPF_BTF_LOAD accepts, and what it says about the rest.  kernel/bpf/btf.c: btf_parse().

Three passes, as in the kernel: header and sections (here); each type on its own (check_meta.py, which also prints it);
then the graph (check_resolve.py): every reference leads to a type of the right sort, nothing contains itself, members
fit (check_member.py).  The log is byte for byte what Linux 6.1 writes; older kernels know fewer kinds.
"""

from __future__ import annotations

import struct

from arch.abi.errno import E2BIG, EINVAL, ELOOP, ENOTSUPP
from arch.abi.limits import U32_MAX
from arch.abi.version import NEWEST, KernelVersion
from bpf.btf.check_env import MAX_NAME_OFFSET, MODIFIER, BtfEnv, Raw, Refused, signed
from bpf.btf.check_meta import MetaCheck
from bpf.btf.check_resolve import Resolver
from bpf.btf.codec import BTF_HEADER_SIZE, HEADER, MAGIC, ByteOrder, Kind

MAX_SIZE = 16 << 20


def btf_parse(
    data: bytes,
    byteorder: ByteOrder = "little",
    version: KernelVersion = NEWEST,
    pointer_size: int = 8,
    want_log: bool = True,
) -> tuple[int, str]:
    """(0 or minus errno, log) of loading these bytes."""
    if len(data) > MAX_SIZE:
        return -E2BIG, ""
    env = BtfEnv(data, byteorder, version, pointer_size)
    env.quiet = not want_log
    try:
        Check(env).run()
    except Refused as refusal:
        return -refusal.errno, env.text
    return 0, env.text


class Check:
    """The passes in their order; header and sections are read here."""

    def __init__(self, env: BtfEnv) -> None:
        self.env = env

    def run(self) -> None:
        self.header()
        self.string_section()
        self.type_section()
        self.type_tags()

    def header(self) -> None:
        data, size = self.env.data, len(self.env.data)
        if size < 8:
            raise self.env.fail("hdr_len not found")
        hdr_len = struct.unpack_from(self.env.mark + "I", data, 4)[0]
        if size < hdr_len:
            raise self.env.fail("btf_header not found")
        if hdr_len > BTF_HEADER_SIZE and any(data[BTF_HEADER_SIZE:hdr_len]):
            raise self.env.fail("Unsupported btf_header", E2BIG)
        raw = data[: min(hdr_len, BTF_HEADER_SIZE)].ljust(BTF_HEADER_SIZE, b"\0")
        magic, version, flags, self.hdr_len, *places = struct.unpack(self.env.mark + HEADER, raw)
        self.type_off, self.type_len, self.str_off, self.str_len = places
        self.env.log(f"magic: {magic:#x}\nversion: {version}\nflags: {flags:#x}\nhdr_len: {self.hdr_len}\n")
        self.env.log(f"type_off: {self.type_off}\ntype_len: {self.type_len}\n")
        self.env.log(f"str_off: {self.str_off}\nstr_len: {self.str_len}\nbtf_total_size: {size}\n")
        if magic != MAGIC:
            raise self.env.fail("Invalid magic")
        if version != 1:
            raise self.env.fail("Unsupported version", ENOTSUPP)
        if flags:
            raise self.env.fail("Unsupported flags", ENOTSUPP)
        if size == self.hdr_len:
            raise self.env.fail("No data")
        self.sections(size)

    def sections(self, size: int) -> None:
        """btf_check_sec_info(): the two sections fill the rest exactly."""
        rows = [(self.type_off, self.type_len), (self.str_off, self.str_len)]
        if _compare(rows[0], rows[1]) > 0:
            rows.reverse()
        total, expected = 0, (size - self.hdr_len) & U32_MAX
        for offset, length in rows:
            if expected < offset:
                raise self.env.fail("Invalid section offset")
            if total < offset:
                raise self.env.fail("Unsupported section found")
            if total > offset:
                raise self.env.fail("Section overlap found")
            if expected - total < length:
                raise self.env.fail("Total section length too long")
            total += length
        if expected != total:
            raise self.env.fail("Unsupported section found")

    def string_section(self) -> None:
        start = self.hdr_len + self.str_off
        if start + self.str_len != len(self.env.data):
            raise self.env.fail("String section is not at the end")
        self.env.strings = self.env.data[start : start + self.str_len]
        if not self.str_len or self.str_len - 1 > MAX_NAME_OFFSET or self.env.strings[-1] or self.env.strings[0]:
            raise self.env.fail("Invalid string section")

    def type_section(self) -> None:
        if self.type_off & 3:
            raise self.env.fail("Unaligned type_off")
        if not self.type_len:
            raise self.env.fail("No type found")
        start = self.hdr_len + self.type_off
        section = self.env.data[start : start + self.type_len]
        meta = MetaCheck(self.env)
        position = 0
        while position < len(section):
            position += meta.meta(section, position)
            self.env.log_id += 1
        Resolver(self.env).all_types()

    def type_tags(self) -> None:
        """btf_check_type_tags(): tags come before other modifiers, chains are short."""
        good = 0
        for type_id in range(1, len(self.env.types)):
            t: Raw | None = self.env.types[type_id]
            assert t is not None
            if t.kind not in MODIFIER:
                continue
            limit, current, in_tags = 32, type_id, t.kind is Kind.TYPE_TAG
            while t.kind in MODIFIER:
                if not limit:
                    raise self.env.fail("Max chain length or cycle detected", ELOOP)
                limit -= 1
                if t.kind is Kind.TYPE_TAG:
                    if not in_tags:
                        raise self.env.fail("Type tags don't precede modifiers")
                elif in_tags:
                    in_tags = False
                if current <= good:
                    break
                current = t.size
                t = self.env.type_at(current)
                if t is None:
                    raise Refused(EINVAL)
            good = type_id


def _compare(a: tuple[int, int], b: tuple[int, int]) -> int:
    """btf_sec_info_cmp(): differences as C ints."""
    return signed((a[0] - b[0]) & U32_MAX) or signed((a[1] - b[1]) & U32_MAX)
