"""Several objects linked into one, then loaded."""

import pytest

from bpf.isa.insn import BPF_PSEUDO_CALL
from bpf.loader.errors import LoadError
from bpf.loader.link import link_objects
from bpf.loader.object import BpfObject
from bpf.loader.sys import Task
from tests.bpf.loader.compile import bpf_object
from tests.bpf.loader.fake import FakeKernel

ONE = """
struct { __uint(type, 1); __uint(max_entries, 5); __type(key, int); __type(value, u64); } shared SEC(".maps");
int counter = 3;
static __attribute__((noinline)) int twice(int x) { return x * 2; }
__attribute__((noinline)) int exported(int x) { return twice(x) + counter; }
__weak __attribute__((noinline)) int either(int x) { return x + 1; }
SEC("kprobe/vfs_write") int first(void *c) { return exported((long)c) + either(2); }
"""
TWO = """
extern struct { __uint(type, 1); __uint(max_entries, 5); __type(key, int); __type(value, u64); } shared SEC(".maps");
struct { __uint(type, 2); __uint(max_entries, 7); __type(key, int); __type(value, int); } own SEC(".maps");
extern int exported(int x);
extern int counter;
int second_counter = 9; static int hidden = 4;
static __attribute__((noinline)) int twice(int x) { return x * 22; }
__attribute__((noinline)) int either(int x) { return x + 100; }
SEC("kprobe/vfs_read") int second(void *c) {
  int k = counter++; hidden++; map_lookup(&shared, &k); map_lookup(&own, &k);
  return exported(1) + twice((long)c) + second_counter + hidden; }
SEC("kprobe/vfs_write") int third(void *c) { return either(5); }
"""


@pytest.mark.parametrize("order", ["little", "big"])
def test_two_objects_become_one(tmp_path, order):
    objects = [bpf_object(tmp_path, text, order, name) for text, name in ((ONE, "one"), (TWO, "two"))]
    linked = link_objects(objects, ["one.o", "two.o"])
    obj = BpfObject(linked, "both")
    assert set(obj.programs) == {"first", "second", "third"}
    assert (obj.data.counter, obj.data.second_counter, obj.data.hidden) == (3, 9, 4)
    kernel = FakeKernel(order)
    obj.load(Task(kernel))
    assert {m.definition.max_entries for n, m in obj.maps.items() if n in ("shared", "own")} == {5, 7}
    first, second, third = (obj.programs[n].linked for n in ("first", "second", "third"))
    assert set(second.starts) == {"second", "exported", "twice", "twice.1"}
    assert any(i.imm == 100 for i in first.insns if i.code in (0x07, 0x04)), "the strong definition wins"
    for linked_program in (first, second, third):
        calls = [
            at + 1 + i.imm
            for at, i in enumerate(linked_program.insns)
            if i.code == 0x85 and i.src_reg == BPF_PSEUDO_CALL
        ]
        assert set(calls) <= set(linked_program.starts.values())
        assert {at for at, _ in linked_program.func_info} == set(linked_program.starts.values())
    assert obj.btf_fd >= 0


def test_linking_twice_gives_the_same_bytes(tmp_path):
    objects = [bpf_object(tmp_path, text, name=name) for text, name in ((ONE, "one"), (TWO, "two"))]
    assert link_objects(objects) == link_objects(objects)
    again = link_objects([link_objects(objects[:1]), objects[1]])
    assert set(BpfObject(again, "x").programs) == {"first", "second", "third"}


def test_two_strong_definitions_conflict(tmp_path):
    one = bpf_object(tmp_path, "int f(int x) { return x; }", name="a")
    two = bpf_object(tmp_path, "int f(int x) { return x + 1; }", name="b")
    with pytest.raises(LoadError, match="conflicting non-weak symbol"):
        link_objects([one, two])


def test_licenses_must_agree(tmp_path):
    one = bpf_object(tmp_path, "", name="a")
    two = bpf_object(tmp_path, "", name="b").replace(b"GPL\0", b"MIT\0")
    with pytest.raises(LoadError, match="license"):
        link_objects([one, two])
