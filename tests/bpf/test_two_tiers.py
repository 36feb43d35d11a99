"""Random programs of all types give the same by Python and by machine code: tests/bpf/two_tiers.py."""

from contextlib import suppress

import pytest

from arch.errors import KernelError
from arch.native import Word
from arch.native.handler import Tier
from bpf.core.load import LoadAttr, prog_load
from bpf.isa.asm import assemble
from bpf.maps.base import MapAttr
from bpf.maps.lru_hash import LruHashMap
from bpf.testing.host import TestHost
from bpf.uapi import BPF_F_NO_COMMON_LRU
from tests.bpf.two_tiers import ARCHS, elements, main


@pytest.mark.parametrize("arch", ARCHS)
def test_some_programs(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--programs", "5", "--arch", arch]) == 0
    said = capsys.readouterr().out
    assert said.startswith("5 programs ran, 0 differ") and f"compiled, {arch}" in said


@pytest.mark.slow
def test_a_thousand_programs() -> None:
    assert main(["--programs", "1000", "--seed", "2"]) == 0


UPDATES = """
    r6 = 0
    r7 = 1
again:
    r1 = r6
    r1 &= 3
    *(u32 *)(r10 -4) = r1
    *(u64 *)(r10 -24) = r6
    *(u32 *)(r10 -16) = r6
    r4 = r6
    r4 >>= 2
    r4 &= 7
    r2 = r10
    r2 += -4
    r3 = r10
    r3 += -24
    r1 = map[table]
    call 2
    r7 *= 31
    r7 += r0
    r6 += 1
    if r6 < 64 goto again
    r0 = r7
    exit
"""


@pytest.mark.parametrize("arch", ["x86_64", "s390x", "arm"])
@pytest.mark.parametrize("kind", [1, 5, 9, 10])
def test_updates_of_hash_maps(arch: str, kind: int) -> None:
    """With all flags and two that there are not, of keys that are there and not, on two CPUs: results, order and values."""
    told = []
    for tier in (Tier.PYTHON, Tier.NATIVE):
        host = TestHost("6.1", nr_cpus=2, arch=arch)
        host.bpf.tier = tier
        table = host.bpf.new_map(MapAttr(kind, 4, 12, 3))
        table.get_user()
        host.bpf.publish_map(table)
        fd = host.fd_install(table, "bpf-map")
        _, prog = prog_load(host.bpf, LoadAttr(1, assemble(UPDATES, {"table": fd}), license="GPL"))
        assert prog is not None
        results = []
        for host.cpu in (0, 1, 0):
            host.block.words[Word.CPU] = host.cpu
            results.append(prog.run64(0))
        told.append((results, elements(table)))
        assert (prog.native is not None) == (tier is Tier.NATIVE)
    assert told[0] == told[1]
    assert len(told[0][1]) == 4 or kind > 5  # three elements and the end; the others have made room


@pytest.mark.parametrize("flags", [0, BPF_F_NO_COMMON_LRU])
def test_a_map_that_makes_room_is_updated_without_python(flags: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it has its elements; what stays is what stays when Python asks for the same."""

    def map_of(host: TestHost) -> LruHashMap:
        table = host.bpf.new_map(MapAttr(9, 4, 12, 3, flags))
        assert isinstance(table, LruHashMap)
        return table

    host = TestHost("6.1")
    host.bpf.tier = Tier.NATIVE
    table, twin = map_of(host), map_of(host)
    table.get_user()
    host.bpf.publish_map(table)
    fd = host.fd_install(table, "bpf-map")
    _, prog = prog_load(host.bpf, LoadAttr(1, assemble(UPDATES, {"table": fd}), license="GPL"))
    assert prog is not None
    prog.run64(0)
    with monkeypatch.context() as patched:
        patched.setattr(LruHashMap, "update", None)
        prog.run64(0)
    for turn in (*range(64), *range(64)):
        with suppress(KernelError):
            value = turn.to_bytes(8, "little") + turn.to_bytes(4, "little")
            twin.update((turn & 3).to_bytes(4, "little"), value, turn >> 2 & 7)
    assert sorted(elements(table)[:-1]) == sorted(elements(twin)[:-1])  # each hashes by a number of its own
