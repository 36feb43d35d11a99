"""Which helpers each kind of program is given, by version, against what four real kernels answered to a call of each."""

import gzip
import json
from pathlib import Path

import pytest

from arch.abi.version import KernelVersion
from bpf import uapi
from bpf.helpers.table import helper_rows
from bpf.verifier.protos import choose

RECORDED = Path(__file__).resolve().parents[2] / "data/helpers_given.json.gz"
ROWS = json.loads(gzip.decompress(RECORDED.read_bytes()))


def names(bits):
    number = int(bits, 16)
    return {uapi.HELPER_NAMES.get(n, f"helper {n}") for n in range(number.bit_length()) if number >> n & 1}


@pytest.mark.parametrize("version", ROWS)
def test_every_helper_in_every_kind_of_program(version):
    for prog_type, attach_type, target, flags, given, refused in ROWS[version]:
        prog = choose.ProgramFacts(
            prog_type,
            attach_type,
            attach_func_name=target or None,
            version=KernelVersion.parse(version),
            sleepable=bool(flags & uapi.BPF_F_SLEEPABLE),
        )
        ours = {row.name: proto for row in helper_rows() if (proto := choose.get_func_proto(row.number, prog))}
        place = (prog_type, attach_type, target, flags)
        assert set(ours) == names(given), place
        assert {name for name, proto in ours.items() if not choose.helper_allowed(proto, prog)} == names(refused), place
