"""Maps: the rules of each type and version, iteration order, lifetimes, and random operations against plain Python."""

import lzma
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch.abi.errno import E2BIG, EEXIST, EINVAL, ENOENT, ENOSPC, ENOTSUPP, EPERM
from arch.abi.version import NEWEST, KernelVersion, newest
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Btf, recorded
from bpf.btf.codec import Kind
from bpf.maps import htab
from bpf.maps.base import MapAttr
from bpf.maps.info import ARRAY_SIZES, MapInfo
from bpf.maps.jhash import jhash, jhash2
from bpf.testing.host import TestHost
from bpf.verifier.rewrite.map_lookup import map_gen_lookup

RECORDED = Path(recorded.__file__).parent


def u32(value):
    return value.to_bytes(4, "little")


def u64(value):
    return value.to_bytes(8, "little")


def make(kind, key=4, value=8, entries=4, flags=0, version=NEWEST, host=None, **more):
    host = host or TestHost(version)
    new = host.bpf.new_map(MapAttr(getattr(uapi, "BPF_MAP_TYPE_" + kind), key, value, entries, flags, **more))
    new.get_user()
    return new


def errno_of(function, *args):
    with pytest.raises(KernelError) as refused:
        function(*args)
    return refused.value.errno


def walk(a_map):
    keys, key = [], None
    while True:
        try:
            key = a_map.next_key(key)
        except KernelError as error:
            assert error.errno == ENOENT
            return keys
        keys.append(key)


# jhash() of linux/jhash.h with seed 0, and the order of buckets that follows from it
JHASH_U32 = (0x049396B8, 0x72A82A9B, 0xEE626CCA, 0x9917754F, 0x15DE40B1, 0xF5A8A9B6)
JHASH_U64 = (0x58C184BF, 0x5543253F, 0x66B24BB9, 0x5ED29DE3, 0x4C97A430, 0xD8623C4E)
JHASH_BYTES = {1: 0x8BA9414B, 12: 0x5E4AA593, 13: 0xBC9D6816, 16: 0x5E84EAFC, 28: 0x9255ED6E}


def test_jhash():
    assert tuple(jhash(u32(i)) for i in range(6)) == JHASH_U32
    assert tuple(jhash(u64(i)) for i in range(6)) == JHASH_U64
    assert {n: jhash(bytes(range(n))) for n in JHASH_BYTES} == JHASH_BYTES
    assert jhash2(u64(7), 3) == jhash(u64(7), 3)
    assert jhash2(bytes(range(8)), 0, "big") != jhash(bytes(range(8)), 0, "big")


@pytest.mark.parametrize(
    ("size", "entries", "inserted", "order"),
    [
        (4, 8, range(8), [0, 4, 7, 2, 1, 6, 5, 3]),
        (8, 1024, range(8), [4, 5, 0, 1, 6, 3, 2, 7]),
        (8, 2, (1, 2), [2, 1]),
    ],
)
def test_iteration_order_of_4_1(size, entries, inserted, order):
    a_map = make("HASH", size, 8, entries, version=KernelVersion.parse("4.1"))
    for i in inserted:
        a_map.update(i.to_bytes(size, "little"), u64(i), 0)
    assert [int.from_bytes(key, "little") for key in walk(a_map)] == order


def test_an_update_moves_an_element_to_the_head_of_its_bucket():
    a_map = make("HASH", 8, 8, 1, version=KernelVersion.parse("4.1"))
    assert a_map.n_buckets == 1
    a_map = make("HASH", 8, 8, 2, version=KernelVersion.parse("4.1"))
    keys = [u64(i) for i in range(64)]
    same = [key for key in keys if a_map.bucket(key) == 0][:2]
    for key in same:
        a_map.update(key, u64(0), 0)
    assert walk(a_map) == same[::-1]
    a_map.update(same[0], u64(1), 0)
    assert walk(a_map) == same


def test_walking_while_deleting():
    a_map = make("HASH", 8, 8, 64)
    for i in range(20):
        a_map.update(u64(i), u64(i), 0)
    order = walk(a_map)
    a_map.delete(order[3])
    assert a_map.next_key(order[2]) == order[4]
    assert a_map.next_key(order[3]) == order[0]  # unknown: from the start


def test_the_seed_changes_the_order():
    orders = set()
    for seed in range(3):
        a_map = make("HASH", 8, 8, 64, host=TestHost(seed=seed))
        for i in range(20):
            a_map.update(u64(i), u64(i), 0)
        orders.add(tuple(walk(a_map)))
    assert len(orders) == 3
    zero = make("HASH", 4, 8, 8, uapi.BPF_F_ZERO_SEED)
    for i in range(8):
        zero.update(u32(i), u64(i), 0)
    assert [int.from_bytes(key, "little") for key in walk(zero)] == [0, 4, 7, 2, 1, 6, 5, 3]


# kernel/bpf/hashtab.c of 4.1 looks at the room before it looks at the flags
def test_a_full_hash_map():
    for version, answer in ((KernelVersion.parse("4.1"), E2BIG), (KernelVersion.parse("6.1"), ENOENT)):
        a_map = make("HASH", 4, 8, 1, version=version)
        a_map.update(u32(1), u64(1), 0)
        assert errno_of(a_map.update, u32(2), u64(2), uapi.BPF_EXIST) == answer
        assert errno_of(a_map.update, u32(2), u64(2), 0) == E2BIG
        assert errno_of(a_map.update, u32(1), u64(2), uapi.BPF_NOEXIST) == EEXIST
        assert errno_of(a_map.update, u32(1), u64(2), 8) == EINVAL
        a_map.update(u32(1), u64(3), uapi.BPF_EXIST)
        assert a_map.user_lookup(u32(1), 0) == u64(3)


# asked of 5.10 and 6.1, whose bpf_mem_alloc gives the element that was freed last
@pytest.mark.parametrize(("version", "seen"), [("5.10", 1), ("6.1", 3)])
def test_an_old_value_stays_readable_while_a_program_runs(version, seen):
    a_map = make("HASH", 4, 8, 4, uapi.BPF_F_NO_PREALLOC, version=KernelVersion.parse(version))
    a_map.update(u32(1), u64(1), 0)
    old = a_map.lookup(u32(1))
    a_map.bpf.enter()
    a_map.update(u32(1), u64(2), 0)
    a_map.update(u32(2), u64(3), 0)
    assert a_map.mem.read_uint(old, 8) == seen
    assert a_map.lookup(u32(1)) != old
    a_map.bpf.leave()


def test_memory_of_many_deleted_elements_is_given_back():
    a_map = make("HASH", 4, 8, 1000, uapi.BPF_F_NO_PREALLOC)
    for i in range(1000):
        a_map.update(u32(i), u64(i), 0)
    for i in range(1000):
        a_map.delete(u32(i))
    assert 0 < a_map.words[htab.SPARE] <= a_map.words[htab.MOST_SPARE]
    assert a_map.words[htab.COUNT] == 0


def test_array():
    a_map = make("ARRAY", 4, 6, 2)
    assert a_map.user_lookup(u32(1), 0) == bytes(6)
    a_map.update(u32(1), b"abcdef", 0)
    assert a_map.mem.read(a_map.lookup(u32(1)), 8) == b"abcdef\0\0"
    assert a_map.lookup(u32(1)) == a_map.address + 272 + 8
    assert a_map.lookup(u32(2)) == 0
    assert errno_of(a_map.update, u32(2), bytes(6), 0) == E2BIG
    assert errno_of(a_map.update, u32(0), bytes(6), uapi.BPF_NOEXIST) == EEXIST
    assert errno_of(a_map.update, u32(0), bytes(6), 8) == EINVAL
    assert errno_of(a_map.update, u32(0), bytes(6), uapi.BPF_F_LOCK) == EINVAL
    assert errno_of(a_map.delete, u32(0)) == EINVAL
    assert [a_map.next_key(None), a_map.next_key(u32(7)), a_map.next_key(u32(0))] == [u32(0), u32(0), u32(1)]
    assert errno_of(a_map.next_key, u32(1)) == ENOENT


@pytest.mark.parametrize(
    ("kind", "key", "value", "entries", "flags", "version", "answer"),
    [
        ("ARRAY", 4, 8, 0, 0, "4.1", EINVAL),
        ("ARRAY", 8, 8, 1, 0, "4.1", EINVAL),
        ("ARRAY", 4, 0, 1, 0, "4.1", EINVAL),
        ("ARRAY", 4, 1 << 31, 1, 0, "6.1", E2BIG),
        ("ARRAY", 4, 8, 1, uapi.BPF_F_RDONLY_PROG | uapi.BPF_F_WRONLY_PROG, "6.1", EINVAL),
        ("ARRAY", 4, 8, 1, uapi.BPF_F_NO_PREALLOC, "6.1", EINVAL),
        ("PERCPU_ARRAY", 4, 32769, 1, 0, "6.1", E2BIG),
        ("PERCPU_ARRAY", 4, 8, 1, uapi.BPF_F_MMAPABLE, "6.1", EINVAL),
        ("PROG_ARRAY", 4, 8, 1, 0, "6.1", EINVAL),
        ("HASH", 0, 8, 1, 0, "6.1", EINVAL),
        ("HASH", 513, 8, 1, 0, "4.1", E2BIG),
        ("HASH", 513, 8, 1, 0, "6.1", None),
        ("HASH", 8, 1 << 22, 1, 0, "6.1", E2BIG),
        ("HASH", 8, 8, 1 << 31, 0, "6.1", E2BIG),
        ("HASH", 8, 8, 1, uapi.BPF_F_NO_COMMON_LRU, "6.1", EINVAL),
        ("LRU_HASH", 8, 8, 1, uapi.BPF_F_NO_PREALLOC, "6.1", ENOTSUPP),
        ("QUEUE", 4, 8, 1, 0, "6.1", EINVAL),
        ("QUEUE", 0, 8, 1, 0, "6.1", None),
        ("BLOOM_FILTER", 0, 8, 1, 0, "6.1", None),
        ("LPM_TRIE", 8, 8, 1, 0, "6.1", EINVAL),
        ("LPM_TRIE", 8, 8, 1, uapi.BPF_F_NO_PREALLOC, "6.1", None),
        ("RINGBUF", 0, 0, 4096, 0, "6.1", None),
        ("RINGBUF", 0, 0, 4095, 0, "6.1", EINVAL),
        ("RINGBUF", 4, 0, 4096, 0, "6.1", EINVAL),
        ("STACK_TRACE", 4, 128 * 8, 1, 0, "6.1", EINVAL),
        ("STACK_TRACE", 4, 127 * 8, 1, 0, "6.1", None),
        ("TASK_STORAGE", 4, 8, 0, uapi.BPF_F_NO_PREALLOC, "6.1", EINVAL),
        ("STRUCT_OPS", 4, 8, 1, 0, "6.1", EINVAL),
        ("CPUMAP", 4, 4, 8193, 0, "6.1", E2BIG),
        ("SOCKHASH", 513, 4, 1, 0, "6.1", E2BIG),
        ("XSKMAP", 4, 8, 1, 0, "6.1", EINVAL),
        ("UNSPEC", 4, 8, 1, 0, "6.1", EINVAL),
        ("CGROUP_STORAGE", 8, 8, 1, 0, "6.1", EINVAL),
    ],
)
def test_who_may_be_made(kind, key, value, entries, flags, version, answer):
    if answer is None:
        make(kind, key, value, entries, flags, version)
    else:
        assert errno_of(make, kind, key, value, entries, flags, version) == answer


def test_capabilities():
    host = TestHost()
    host.caps = set()
    for kind, key in (("LRU_HASH", 4), ("QUEUE", 0), ("STACK_TRACE", 4), ("XSKMAP", 4), ("BLOOM_FILTER", 0)):
        assert errno_of(lambda kind=kind, key=key: make(kind, key, 8, 4, host=host)) == EPERM
    assert errno_of(lambda: make("HASH", 4, 8, 4, uapi.BPF_F_ZERO_SEED, host=host)) == EPERM


def test_percpu():
    host = TestHost(nr_cpus=2)
    for kind in ("PERCPU_ARRAY", "PERCPU_HASH", "LRU_PERCPU_HASH"):
        a_map = make(kind, 4, 5, 4, host=host)
        assert a_map.user_value_size == 16
        a_map.user_update(u32(1), b"abcde\0\0\0ABCDE\0\0\0", 0)
        host.cpu = 1
        assert host.mem.read(a_map.lookup(u32(1)), 5) == b"ABCDE"
        a_map.update(u32(1), b"fghij", 0)
        host.cpu = 0
        assert host.mem.read(a_map.lookup(u32(1)), 5) == b"abcde"
        assert a_map.user_lookup(u32(1), 0)[8:13] == b"fghij"
        assert a_map.lookup_percpu(u32(1), 2) == 0
        a_map.update(u32(2), b"vwxyz", 0)
        assert a_map.user_lookup(u32(2), 0) == b"vwxyz" + bytes(11)


def test_a_small_lru_map_that_overflows_loses_all_that_is_not_marked():
    """The kernel frees up to 128 elements at once."""
    a_map = make("LRU_HASH", 4, 8, 3)
    for i in range(3):
        a_map.update(u32(i), u64(i), 0)
    assert a_map.lookup(u32(0))  # marks it
    a_map.update(u32(3), u64(3), 0)
    assert sorted(walk(a_map)) == [u32(0), u32(3)]
    assert errno_of(a_map.update, u32(9), u64(9), uapi.BPF_EXIST) == ENOENT


LRU_STEPS = {3: 60, 10: 200, 100: 600, 150: 900}


@pytest.mark.parametrize(
    "line", (Path(__file__).parent / "lru_6_1.txt").read_text().splitlines(), ids=lambda s: s.split(":")[0]
)
def test_what_stays_in_lru_maps(line):
    """lru_probe.c on the real Linux 6.1, one CPU: which keys are left after random updates and deletions."""
    kind, flags, entries, keys, state = map(int, line.split(":")[0].split())
    a_map = TestHost(memory_size=1 << 22).bpf.new_map(MapAttr(kind, 4, 8, entries, flags))
    found = []

    def number():
        nonlocal state
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        return state >> 8

    for step in range(LRU_STEPS[entries]):
        what, key = number() % 16, u32(number() % keys)
        with suppress(KernelError):
            if what in (13, 14):
                a_map.user_delete(key)
            else:
                a_map.user_update(key, bytes(8), uapi.BPF_EXIST if what == 15 else 0)
        if step % 4 == 3:
            there = set(walk(a_map))
            left = [k for k in range(keys) if u32(k) in there]
            checksum = 0
            for k in left:
                checksum = (checksum * 31 + k) & 0xFFFFFFFF
            found.append(f"{len(left)}/{checksum:x}")
    assert found == line.split(": ")[1].split()


def test_queue_and_stack():
    queue, stack = make("QUEUE", 0, 4, 2), make("STACK", 0, 4, 2)
    for a_map in (queue, stack):
        assert errno_of(a_map.pop) == ENOENT
        a_map.push(u32(1), 0)
        a_map.push(u32(2), 0)
        assert errno_of(a_map.push, u32(3), 0) == E2BIG
        assert errno_of(a_map.push, u32(3), uapi.BPF_NOEXIST) == EINVAL
        a_map.push(u32(3), uapi.BPF_EXIST)
    assert [queue.peek(), queue.pop(), queue.pop()] == [u32(2), u32(2), u32(3)]
    assert [stack.peek(), stack.pop(), stack.pop()] == [u32(3), u32(3), u32(2)]
    assert errno_of(queue.next_key, None) == EINVAL


def test_bloom_filter():
    a_map = make("BLOOM_FILTER", 0, 8, 100)
    for i in range(50):
        a_map.push(u64(i), 0)
    for i in range(50):
        a_map.peek(u64(i))
    missing = sum(1 for i in range(1000, 2000) if not raises(a_map.peek, u64(i)))
    assert missing < 100  # false positives are rare
    assert errno_of(a_map.push, u64(1), 1) == EINVAL


def raises(function, *args):
    try:
        function(*args)
    except KernelError:
        return True
    return False


def prefix(length, *data):
    return u32(length) + bytes(data)


def test_lpm_trie():
    a_map = make("LPM_TRIE", 8, 4, 4, uapi.BPF_F_NO_PREALLOC)
    for i, key in enumerate([prefix(16, 192, 168, 0, 0), prefix(24, 192, 168, 0, 0), prefix(24, 192, 168, 1, 0)]):
        a_map.update(key, u32(i), 0)
    a_map.update(prefix(24, 192, 168, 128, 0), u32(3), 0)
    assert errno_of(a_map.update, prefix(8, 10, 0, 0, 0), u32(4), 0) == ENOSPC
    assert errno_of(a_map.update, prefix(33, 10, 0, 0, 0), u32(4), 0) == EINVAL
    assert errno_of(a_map.update, prefix(9, 10, 0, 0, 0), u32(4), uapi.BPF_EXIST) == ENOENT
    assert a_map.user_lookup(prefix(32, 192, 168, 1, 7), 0) == u32(2)
    assert a_map.user_lookup(prefix(32, 192, 168, 9, 7), 0) == u32(0)
    assert errno_of(a_map.user_lookup, prefix(32, 10, 0, 0, 1), 0) == ENOENT
    # the order the comment of trie_get_next_key() gives
    assert walk(a_map) == [
        prefix(24, 192, 168, 0, 0),
        prefix(24, 192, 168, 1, 0),
        prefix(24, 192, 168, 128, 0),
        prefix(16, 192, 168, 0, 0),
    ]
    a_map.delete(prefix(16, 192, 168, 0, 0))
    assert errno_of(a_map.user_lookup, prefix(32, 192, 168, 9, 7), 0) == ENOENT


def test_ring_buffer_wraps_and_wakes():
    a_map = make("RINGBUF", 0, 0, 4096)
    host = a_map.host
    a_map.output(b"x" * 3000, 0)
    assert host.woken == [a_map]
    assert errno_of(a_map.output, b"y" * 2000, 0) == 11  # EAGAIN: the consumer has not read
    host.mem.write_uint(a_map.consumer, 8, 3008)
    a_map.output(bytes(range(250)) * 8, 0)
    assert len(host.woken) == 2
    record = host.mem.read(a_map.data + 3008, 1088) + host.mem.read(a_map.data, 920)
    assert record[:4] == u32(2000)
    assert record[8:2008] == bytes(range(250)) * 8
    assert a_map.query(uapi.BPF_RB_AVAIL_DATA) == 2008
    host.mem.write_uint(a_map.consumer, 8, 3008 + 2008)
    sample = a_map.reserve(8)
    assert a_map.reserve(4096) == 0
    a_map.commit(sample, uapi.BPF_RB_NO_WAKEUP, True)
    assert host.mem.read_uint(sample - 8, 4) == 8 | uapi.BPF_RINGBUF_DISCARD_BIT


def test_user_ring_buffer():
    a_map = make("USER_RINGBUF", 0, 0, 4096)
    mem = a_map.mem
    assert errno_of(a_map.peek_sample) == 61  # ENODATA
    mem.write(a_map.data, u32(8) + u32(0) + b"producer")
    mem.write_uint(a_map.producer, 8, 16)
    assert a_map.peek_sample() == (a_map.data + 8, 8)
    a_map.release_sample(8)
    assert mem.read_uint(a_map.consumer, 8) == 16
    mem.write_uint(a_map.producer, 8, 17)
    assert errno_of(a_map.peek_sample) == EINVAL


def test_stack_traces():
    a_map = make("STACK_TRACE", 4, 16, 4)
    first = a_map.store([10, 20, 30], 0)
    assert a_map.store([10, 20, 99], 0) == first  # only two entries fit
    assert a_map.store([5, 10, 20], 1) == first  # one skipped
    assert a_map.user_lookup(u32(first), 0) == u64(10) + u64(20)
    assert walk(a_map) == [u32(first)]
    assert errno_of(a_map.store, [1], 1) == 14  # EFAULT
    clash = next(n for n in range(1000) if n != 10 and jhash2(u64(n)) & 3 == first)
    assert errno_of(a_map.store, [clash], 0) == EEXIST
    assert a_map.store([clash], uapi.BPF_F_REUSE_STACKID) == first
    a_map.delete(u32(first))
    assert errno_of(a_map.delete, u32(first)) == ENOENT


def test_maps_of_maps():
    host = TestHost()
    inner = make("ARRAY", 4, 8, 1, host=host)
    host.bpf.publish_map(inner)
    fd = host.fd_install(inner, "bpf-map")
    for kind in ("ARRAY_OF_MAPS", "HASH_OF_MAPS"):
        outer = make(kind, 4, 4, 2, host=host, inner_map_fd=fd)
        outer.user_update(u32(0), u32(fd), 0)
        assert outer.user_lookup(u32(0), 0) == u32(inner.id)
        assert outer.lookup(u32(0)) == inner.address
        other = host.fd_install(make("ARRAY", 4, 16, 1, host=host), "bpf-map")
        assert errno_of(outer.user_update, u32(1), u32(other), 0) == EINVAL
        outer.delete(u32(0))
        assert outer.lookup(u32(0)) == 0


def test_memory_is_given_back():
    host = TestHost(nr_cpus=2)
    before = host.mem.live_objects
    made = []
    for kind, key in (("HASH", 4), ("PERCPU_HASH", 4), ("ARRAY", 4), ("PERCPU_ARRAY", 4), ("LRU_HASH", 4)):
        a_map = make(kind, key, 8, 4, host=host)
        for i in range(4):
            a_map.user_update(u32(i), bytes(a_map.user_value_size), 0)
        made.append(a_map)
    for kind in ("QUEUE", "BLOOM_FILTER"):
        made.append(make(kind, 0, 8, 4, host=host))
    made.append(make("LPM_TRIE", 8, 4, 4, uapi.BPF_F_NO_PREALLOC, host=host))
    made[-1].update(prefix(8, 1, 0, 0, 0), u32(1), 0)
    for a_map in made:
        a_map.put_user()
    assert host.mem.live_objects == before


operations = st.lists(
    st.tuples(st.sampled_from(["update", "delete", "lookup", "next"]), st.integers(0, 9), st.integers(0, 3)),
    max_size=60,
)


@settings(deadline=None, max_examples=150)
@given(operations, st.sampled_from(["4.1", "6.1"]), st.sampled_from([0, uapi.BPF_F_NO_PREALLOC]))
def test_hash_map_against_a_dictionary(steps, version, flags):
    a_map = make("HASH", 4, 8, 5, flags if version == "6.1" else 0, version)
    plain = {}
    for step, (what, number, mode) in enumerate(steps):
        key = u32(number)
        if what == "update":
            full = key not in plain and len(plain) >= 5
            answer = (
                EINVAL
                if mode > 2
                else E2BIG
                if version == "4.1" and full
                else EEXIST
                if mode == 1 and key in plain
                else ENOENT
                if mode == 2 and key not in plain
                else E2BIG
                if full
                else None
            )
            if answer is None:
                a_map.update(key, u64(step), mode)
                plain[key] = u64(step)
            else:
                assert errno_of(a_map.update, key, u64(step), mode) == answer
        elif what == "delete":
            if key in plain:
                a_map.delete(key)
                del plain[key]
            else:
                assert errno_of(a_map.delete, key) == ENOENT
        elif what == "lookup":
            if key in plain:
                assert a_map.user_lookup(key, 0) == plain[key]
            else:
                assert a_map.lookup(key) == 0
        else:
            keys = walk(a_map)
            assert sorted(keys) == sorted(plain)
            buckets = [a_map.bucket(key) for key in keys]
            assert buckets == sorted(buckets)


@pytest.mark.parametrize("kernel", ["5.10", "6.1", "6.12", "7.2"])
def test_where_the_values_of_an_array_begin(kernel):
    """As the recorded types of that kernel say, and as a look-up that is written out computes it."""
    btf = Btf.parse(lzma.decompress((RECORDED / f"x86_64-{kernel}.btf.xz").read_bytes()))
    places = {name: offset for name, _, offset, _ in btf.members_of(btf.find("bpf_array", Kind.STRUCT))}
    size = newest(ARRAY_SIZES, KernelVersion.parse(kernel))
    assert (places["elem_size"], places["index_mask"], places["value"]) == (8 * size - 128, 8 * size - 96, 8 * size)
    lookup = map_gen_lookup(MapInfo(uapi.BPF_MAP_TYPE_ARRAY, 4, 8, 2, array_size=size))
    assert lookup is not None and lookup[0].imm == size
