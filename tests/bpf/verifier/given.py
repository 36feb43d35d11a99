"""The recorded answers of Linux 6.1 as requests to the verifier.

tests/data/verifier_6_1_given.json.gz and fuzz_6_1_given.json.gz hold programs with the answer of the real kernel;
verifier_6_1_maps.json the maps they name.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path

from arch.abi.errno import EBADF, EINVAL
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from bpf import uapi
from bpf.btf.codec import Btf, Kind
from bpf.btf.recorded import recorded_btf
from bpf.isa.insn import decode, encode
from bpf.verifier.api import ALL_CAPS, KptrField, MapInfo, VerifyRequest
from bpf.verifier.protos.attach_rules import fixup_attach_type
from bpf.verifier.rewrite import dump

DATA = Path(__file__).parents[2] / "data"
ADDRESS = re.compile(r"0xffff[0-9a-f]{12}")
ENOENT = -2


@cache
def rows(name):
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


def kernel_types():
    """The BTF of the kernel that was asked."""
    return recorded_btf("x86_64", KernelVersion.parse("6.1"))


@cache
def map_definitions():
    content = json.loads((DATA / "verifier_6_1_maps.json").read_text())
    return content["maps"], Btf.parse(bytes.fromhex(content["btf"]))


def make_map(definition, number, trusted):
    """What the verifier sees of a map of the suite."""
    info = MapInfo(
        definition["type"],
        definition["key_size"],
        definition["value_size"],
        definition["max_entries"],
        definition.get("flags", 0),
        address=0xFFFF888000000000 + number * 0x1000,
        id=number,
        bypass_spec_v1=trusted,
    )
    if "inner" in definition:
        info.inner = make_map(definition["inner"], number + 100, trusted)
    if "btf_value_type" in definition:
        add_special_fields(info, definition["btf_value_type"])
    if info.map_type == uapi.BPF_MAP_TYPE_ARRAY:
        add_values(info, bytes.fromhex(definition.get("value", "")), number)
    return info


def add_special_fields(info, value_type):
    info.btf = map_definitions()[1]
    info.spin_lock_off = info.timer_off = ENOENT
    for member in info.btf[value_type].members:
        target = info.btf.resolved(member.type)
        if target.name == "bpf_spin_lock":
            info.spin_lock_off = member.bit_offset // 8
        elif target.name == "bpf_timer":
            info.timer_off = member.bit_offset // 8
        elif target.kind is Kind.PTR and info.btf[target.type].kind is Kind.TYPE_TAG:
            tag = info.btf[target.type]
            name = info.btf.resolved(tag.type).name
            struct = kernel_types().find(name, Kind.STRUCT)
            info.kptrs += (KptrField(member.bit_offset // 8, struct, tag.name == "kptr_ref", name),)


def add_values(info, value, number):
    value = value.ljust(info.value_size, b"\0")
    base = 0xFFFFC90000000000 + number * 0x1000
    info.value_address = lambda off: base + off
    info.value_read = lambda off, size: int.from_bytes(value[off : off + size], "little")


def request(row, level, *, trusted=True, answer=None):
    """A case as BPF_PROG_LOAD would see it."""
    definitions, _ = map_definitions()
    insns = decode(bytes.fromhex(row["insns"]))
    maps = {}
    for name, places in row.get("maps", {}).items():
        fd = 100 + len(maps)
        if answer is not None and answer.get("map_ret"):
            fd = -1
        else:
            maps[fd] = make_map(definitions[name], len(maps) + 1, trusted)
        for i in places:
            insns[i] = insns[i].replace(imm=fd)
    for name, places in row.get("kfuncs", {}).items():
        for i in places:
            insns[i] = insns[i].replace(imm=kernel_types().find(name, Kind.FUNC))
    attach_btf_id = 0
    if "attach" in row:
        name, kind = row["attach"]
        attach_btf_id = kernel_types().find(name, Kind(kind))

    def resolve_map(fd):
        if fd in maps:
            return maps[fd]
        raise KernelError(EINVAL if 0 <= fd <= 2 else EBADF, "not a map")

    return VerifyRequest(
        insns,
        row["prog_type"],
        fixup_attach_type(row["prog_type"], row.get("attach_type", 0)),
        row.get("prog_flags", 0),
        log_level=level,
        caps=ALL_CAPS if trusted else frozenset(),
        resolve_map=resolve_map,
        prog_btf=Btf.parse(bytes.fromhex(row["btf"])) if row.get("btf") else None,
        func_info=[tuple(pair) for pair in row.get("func_info", ())],
        vmlinux_btf=kernel_types(),
        attach_btf_id=attach_btf_id,
        kernel_symbol=lambda name: 0xFFFFFFFF81000000,
    )


def masked(log):
    """Addresses differ from boot to boot."""
    return ADDRESS.sub("MAP", log)


def last_message(log):
    """The line before the statistics."""
    lines = [line for line in log.split("\n") if line and not line.startswith("processed ")]
    return lines[-1] if lines else ""


def masked_dump(verdict):
    """The rewritten program without what only one kernel can have."""
    out = bytearray(encode(dump(verdict.insns, verdict.used_maps, True, verdict.subprog_starts)))
    for i in range(0, len(out), 8):
        code, source = out[i], out[i + 1] >> 4
        random_high_half = code == 0xB7 and out[i + 1] == 11 and out[i + 8 : i + 10] == b"\x67\x0b"
        if (code == 0x85 and source != 1) or (code == 0x18 and source in (1, 2)) or random_high_half:
            out[i + 4 : i + 8] = bytes(4)
    return out.hex()
