"""The table of versions: every number of the 6.1 header has a row, in the header's order."""

import pytest

from arch.abi.version import RELEASES, KernelVersion
from bpf import uapi
from bpf.versions import data as data


def numbers(prefix, names):
    return {value: prefix + name for value, name in names.items()}


@pytest.mark.parametrize(
    "rows, names",
    [
        (data.PROG_TYPES, numbers("BPF_PROG_TYPE_", uapi.PROG_TYPE_NAMES)),
        (data.MAP_TYPES, numbers("BPF_MAP_TYPE_", uapi.MAP_TYPE_NAMES)),
        (data.HELPERS, numbers("BPF_FUNC_", uapi.HELPER_NAMES)),
        (data.ATTACH_TYPES, uapi.ATTACH_TYPE_NAMES),
        (data.COMMANDS, uapi.CMD_NAMES),
    ],
)
def test_every_member_of_the_enum_has_its_row(rows, names):
    rows_by_number = dict(enumerate(row.name for row in rows))
    assert {n: name for n, name in names.items() if n in rows_by_number} == rows_by_number
    assert all(n in rows_by_number for n in names if n < len(rows))
    assert all(row.since in RELEASES for row in rows)
    assert [row.since for row in rows] == sorted(
        (row.since for row in rows), key=KernelVersion.parse
    )  # numbers are given in order of time


def test_flags_exist_and_have_sane_versions():
    for group, rows in data.FLAGS.items():
        for row in rows:
            assert row.since in RELEASES, (group, row)


def test_map_and_program_flags_are_complete():
    assert [row.name for row in data.FLAGS["map_flags"]] == [
        uapi_name
        for bit in range(13)
        for uapi_name in [next(r.name for r in data.FLAGS["map_flags"] if getattr(uapi, r.name) == 1 << bit)]
    ]
    assert [getattr(uapi, row.name) for row in data.FLAGS["prog_flags"]] == [1 << bit for bit in range(6)]


def test_abilities_are_named_once():
    names = [row.name for row in data.ABILITIES]
    assert len(set(names)) == len(names)
    assert all(row.what for row in data.ABILITIES)
