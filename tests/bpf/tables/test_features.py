"""The table of versions: every number of the 6.1 header has a row, in the header's order."""

import re

from arch.abi.version import RELEASES, KernelVersion
from bpf import uapi
from bpf.helpers.table import PROTOS, ROWS, helper_rows
from bpf.maps.types import map_types
from bpf.versions import data as data
from bpf.versions.verifier_rules import rule_rows, rules_of


def test_every_command_of_the_header_has_its_row():
    rows, names = data.COMMANDS, uapi.CMD_NAMES
    rows_by_number = dict(enumerate(row.name for row in rows))
    assert {n: name for n, name in names.items() if n in rows_by_number} == rows_by_number
    assert all(n in rows_by_number for n in names if n < len(rows))
    assert all(row.since in RELEASES for row in rows)
    assert [row.since for row in rows] == sorted(
        (row.since for row in rows), key=KernelVersion.parse
    )  # numbers are given in order of time


def test_every_helper_of_the_header_has_its_row():
    rows = helper_rows()
    assert {row.number: row.name for row in rows} == {n: name for n, name in uapi.HELPER_NAMES.items() if n}
    assert [row.since for row in rows] == sorted((row.since for row in rows), key=KernelVersion.parse)
    kinds = set(uapi.MAP_TYPE_NAMES.values())
    assert all(row.maps is None or row.maps <= kinds for row in rows)
    assert {proto.func_id for proto in PROTOS.values()} == set(ROWS)  # each can be called by somebody


def test_every_map_type_of_the_header_has_its_row():
    rows = map_types()
    assert {row.number: row.name for row in rows} == {n: name for n, name in uapi.MAP_TYPE_NAMES.items() if n}
    assert [row.since for row in rows] == sorted(
        (row.since for row in rows), key=KernelVersion.parse
    )  # numbers are given in order of time
    assert all(row.since in RELEASES for row in rows)
    known = set(uapi.HELPER_NAMES.values())
    assert all(row.helpers is None or row.helpers <= known for row in rows)


def test_flags_exist_and_have_sane_versions():
    for group, rows in data.FLAGS.items():
        for row in rows:
            assert row.since in RELEASES, (group, row)


def test_map_and_program_flags_are_complete():
    assert [row.name for row in data.FLAGS["map_flags"]] == [
        uapi_name
        for bit in (*range(13), 16, 17, 18)
        for uapi_name in [next(r.name for r in data.FLAGS["map_flags"] if getattr(uapi, r.name) == 1 << bit)]
    ]
    assert [getattr(uapi, row.name) for row in data.FLAGS["prog_flags"]] == [1 << bit for bit in (*range(8), 16)]


def test_rules_of_the_verifier_are_told():
    rows = rule_rows()
    assert all(row.what and re.fullmatch("[0-9a-f]{12}|-", row.commit) for row in rows)
    assert sum(row.commit == "-" for row in rows) <= 19  # seen by comparing kernels; which change it was is not known
    assert all((row.since or row.until) in RELEASES for row in rows)
    newest = rules_of(KernelVersion.parse("6.1"))
    assert newest.multi_function and not newest.prune_after_goto
