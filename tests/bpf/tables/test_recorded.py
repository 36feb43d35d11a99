"""The tables against answers recorded from Linux 6.1: every helper of every program type, every context access."""

import gzip
import json
from pathlib import Path

import pytest

from bpf.helpers.table import helper_rows
from bpf.isa.insn import decode, encode
from bpf.layout import KernelLayout, Place, default_layout
from bpf.verifier.api import VerifyRequest
from bpf.verifier.modern import verify
from bpf.verifier.protos import choose as protos
from bpf.verifier.rewrite import dump
from tests.bpf.tables.kernel_offsets_6_1 import OFFSETS

HELPER_NAMES = ("unspec", *(row.name for row in helper_rows()))
DATA = Path(__file__).resolve().parents[2] / "data"


def numbers(text):
    """ "1-3 5" -> {1, 2, 3, 5}"""
    found = set()
    for word in text.split():
        first, _, last = word.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


HELPERS = {k: v for k, v in json.loads((DATA / "helpers_6_1.json").read_text()).items() if k != "header"}


@pytest.mark.parametrize("key", HELPERS)
def test_helpers(key):
    prog_type, attach_type, target = key.split("/")
    prog = protos.ProgramFacts(int(prog_type), int(attach_type), attach_func_name=target or None)
    ours = {n: proto for n in range(len(HELPER_NAMES)) if (proto := protos.get_func_proto(n, prog))}
    assert set(ours) == numbers(HELPERS[key].get("has", ""))
    refused = {n for n, proto in ours.items() if not protos.helper_allowed(proto, prog)}
    assert refused == numbers(HELPERS[key].get("not_allowed_in_probe", ""))


class Debian(KernelLayout):
    """Debian's 6.1: as ours, but its task_struct is larger."""

    def place(self, path):
        return Place(*OFFSETS[path]) if path == "task_struct.bpf_ctx" else super().place(path)


DEBIAN = Debian(default_layout().types)


def context_rows():
    return json.loads(gzip.decompress((DATA / "ctx_access_6_1.json.gz").read_bytes()))["rows"]


def mask_calls(raw):
    """Offsets of helpers are not recorded."""
    out = bytearray(raw)
    for at in range(0, len(out), 8):
        if out[at] == 0x85:
            out[at + 4 : at + 8] = bytes(4)
    return bytes(out)


@pytest.mark.parametrize("part", range(8))
def test_context_accesses(part):
    wrong = []
    for prog_type, attach_type, code, ret, xlated in context_rows()[part::8]:
        flags = 16 if prog_type == 31 else 0  # system-call programs are sleepable
        request = VerifyRequest(decode(bytes.fromhex(code)), prog_type, attach_type, flags, layout=DEBIAN)
        verdict = verify(request)
        shown = mask_calls(encode(dump(verdict.insns))).hex() if verdict.ret == 0 else ""
        if (verdict.ret, shown) != (ret, xlated):
            wrong.append((prog_type, attach_type, code, verdict.ret, ret))
    assert wrong == []
