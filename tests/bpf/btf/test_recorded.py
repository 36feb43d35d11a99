"""The BTF of a real kernel, as recorded: read lazily, shown to the byte, and the places of members that follow from it."""

import pytest

from arch.abi.version import NEWEST, KernelVersion
from arch.architecture import get
from arch.layouts import layout_file
from arch.typetable import kernel_types
from bpf.btf import Btf, Kind
from bpf.btf.codec import BtfType
from bpf.btf.lazy import IndexedBtf
from bpf.btf.recorded import recorded_btf
from docs.layouts import layout, recorded


@pytest.fixture(scope="module")
def btf():
    return recorded_btf("x86_64", NEWEST)


def test_all_of_debians_types_are_there(btf):
    assert len(btf.types) == 100751
    task = btf[btf.find("task_struct", Kind.STRUCT)]
    assert (task.size, task.members[0].name) == (9792, "thread_info")
    assert btf.find("task_struct", Kind.UNION) == 0 == btf.find("no_such_name")
    assert btf[btf.find("vfs_read", Kind.FUNC)].linkage == 0
    assert [btf[p.type].kind for p in btf[btf[btf.find("vfs_read", Kind.FUNC)].type].params][:1] == [Kind.PTR]
    assert sum(1 for _ in btf.functions()) == 44546


def test_what_is_read_lazily_is_what_is_read_at_once(btf):
    """The types of a part of the section, by both readers."""
    end = btf.types_start(3000)
    plain = Btf("little")
    plain.raw_strings = btf.raw_strings
    plain._read_types(btf.type_bytes[:end])
    assert list(btf.types[:3000]) == plain.types


def test_an_index_finds_what_a_list_finds():
    small = Btf()
    for kind, name in (
        (Kind.INT, "int"),
        (Kind.STRUCT, "a"),
        (Kind.UNION, "a"),
        (Kind.STRUCT, "a___old"),
        (Kind.FWD, "b"),
    ):
        small.append(BtfType(kind, name, 4, bits=32 if kind is Kind.INT else 0))
    for order in ("little", "big"):
        data = small.encode(order)
        index, plain = IndexedBtf(lambda data=data: data, order), Btf.parse(data)
        assert list(index.types) == plain.types
        for name in ("int", "a", "a___old", "b", "c"):
            assert index.candidates(name) == plain.candidates(name), name
            assert index.find(name) == plain.find(name)
            for kind in Kind:
                assert index.find(name, kind) == plain.find(name, kind)


@pytest.mark.parametrize(("arch", "version"), recorded())
def test_the_table_of_places_is_what_its_generator_writes(arch, version):
    assert layout_file(arch, version).read_text() == layout(arch, version)


def test_headers_name_nothing_that_6_1_has_not():
    assert " -\n" not in layout_file("x86_64", NEWEST).read_text()


def test_structures_lie_as_they_do_there(btf):
    types = kernel_types(get("x86_64"), NEWEST)
    assert types.sizeof("struct task_struct") == 9792
    for struct, path in (("task_struct", "pid"), ("file", "f_path.dentry"), ("mm_struct", "mmap_lock"), ("rq", "curr")):
        at, first = 0, btf.find(struct, Kind.STRUCT)
        for name in path.split("."):
            member = next(m for m in btf.members_of(first) if m[0] == name)
            at, first = at + member[2], member[1]
        assert types.offsetof(f"struct {struct}", path) == at // 8, path


def test_another_kernel_has_its_own_places():
    assert kernel_types(get("x86_64"), KernelVersion.parse("5.10")).sizeof("struct task_struct") != 9792
    assert recorded_btf("x86_64", KernelVersion.parse("5.9")) is None


def test_a_machine_shows_the_recorded_bytes(btf):
    import simkernel

    with simkernel.boot() as m:
        assert m.session.read_file("/sys/kernel/btf/vmlinux") == btf.data
