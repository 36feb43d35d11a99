"""Physical pages, kernel memory, page tables, user memory, symbols."""

from __future__ import annotations

import random

import pytest

from arch import architecture
from arch.abi.errno import ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.errors import Fault
from arch.memory import FlatMemory, KernelMemory, OutOfMemory, PhysicalMemory
from arch.mmu import PTE_EXEC, PTE_READ, PTE_WRITE, AddressSpace, UserMemory
from arch.symbols import Symbol, Symbols

MIB = 1 << 20


def kernel_memory(name: str = "x86_64", size: int = 32 * MIB) -> KernelMemory:
    arch = architecture.get(name)
    return KernelMemory(PhysicalMemory(size), arch.map, arch.byteorder)


# -- physical pages --------------------------------------------------------------------------------------------
def test_lowest_page_first_and_zeroed() -> None:
    phys = PhysicalMemory(16 * PAGE_SIZE)
    pages = [phys.alloc_page() for _ in range(4)]
    assert pages == [0, 1, 2, 3]
    phys.write(2 * PAGE_SIZE, b"dirt")
    phys.put_page(2)
    phys.put_page(1)
    assert phys.alloc_page() == 1
    assert phys.alloc_page() == 2
    assert phys.read(2 * PAGE_SIZE, 4) == bytes(4)


def test_reference_counts() -> None:
    phys = PhysicalMemory(16 * PAGE_SIZE)
    page = phys.alloc_page()
    phys.get_page(page)
    phys.put_page(page)
    assert phys.free_pages == 15
    phys.put_page(page)
    assert phys.free_pages == 16
    with pytest.raises(AssertionError, match="freed twice"):
        phys.put_page(page)


def test_contiguous_pages_fill_holes() -> None:
    phys = PhysicalMemory(16 * PAGE_SIZE)
    first = phys.alloc_pages(8)
    for pfn in (1, 3, 4, 5):
        phys.put_page(first + pfn)
    assert phys.alloc_pages(3) == first + 3
    assert phys.alloc_pages(2) == 8
    assert phys.alloc_page() == 1


def test_out_of_memory_is_enomem() -> None:
    phys = PhysicalMemory(2 * PAGE_SIZE)
    phys.alloc_pages(2)
    with pytest.raises(OutOfMemory) as failure:
        phys.alloc_page()
    assert failure.value.errno == ENOMEM


# -- kernel memory ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", architecture.names())
def test_kernel_numbers_have_the_machines_byte_order(name: str) -> None:
    mem = kernel_memory(name)
    addr = mem.alloc(16)
    mem.write_uint(addr, 4, 0x01020304)
    expected = b"\1\2\3\4" if name == "s390x" else b"\4\3\2\1"
    assert mem.read(addr, 4) == expected
    mem.write_uint(addr, 2, -2)
    assert mem.read_uint(addr, 2) == 0xFFFE


def test_text_and_direct_map_are_the_same_pages() -> None:
    mem = kernel_memory()
    mem.write(mem.map.text_base + 5, b"code")
    assert mem.read(mem.virt(mem.map.text_phys) + 5, 4) == b"code"


def test_kmalloc_zeroes_aligns_and_counts() -> None:
    mem = kernel_memory()
    a = mem.alloc(100)
    assert mem.object_size(a) == 128
    mem.write(a, b"\xff" * 100)
    mem.free(a)
    b = mem.alloc(120)
    assert b == a
    assert mem.read(b, 120) == bytes(120)
    assert mem.alloc(8, align=64) % 64 == 0
    assert mem.alloc(80, align=256) % 256 == 0
    big = mem.alloc(3 * PAGE_SIZE)
    assert big % PAGE_SIZE == 0
    live = mem.live_objects
    mem.free(big)
    mem.free(0)
    assert mem.live_objects == live - 1
    with pytest.raises(AssertionError, match="not a live object"):
        mem.free(big)


def test_kernel_faults() -> None:
    mem = kernel_memory()
    for addr in (0, 0x1000, mem.map.direct_map - 1, mem.map.direct_map + mem.phys.size, mem.map.vmalloc_start):
        with pytest.raises(Fault):
            mem.read(addr, 8)
        with pytest.raises(Fault):
            mem.write_uint(addr, 8, 1)
        assert not mem.valid(addr, 8)


def test_vmalloc_crosses_pages_and_has_a_guard() -> None:
    mem = kernel_memory()
    keep = mem.alloc_pages(1)
    one, two = mem.vmalloc(3 * PAGE_SIZE), mem.vmalloc(PAGE_SIZE)
    assert two == one + 4 * PAGE_SIZE
    data = bytes(range(256)) * 40
    mem.write(one + 100, data)
    assert mem.read(one + 100, len(data)) == data
    assert mem.valid(one, 3 * PAGE_SIZE)
    with pytest.raises(Fault):
        mem.read(one + 3 * PAGE_SIZE - 4, 8)
    mem.vfree(one)
    with pytest.raises(Fault):
        mem.read(one, 1)
    assert mem.vmalloc(PAGE_SIZE) == one
    shared = mem.vmalloc(PAGE_SIZE, [mem.pfn(keep)])
    mem.write(shared, b"both")
    assert mem.read(keep, 4) == b"both"


def test_strings() -> None:
    mem = kernel_memory()
    page = mem.vmalloc(2 * PAGE_SIZE)
    mem.write(page + PAGE_SIZE - 3, b"across\0tail")
    assert mem.read_cstring(page + PAGE_SIZE - 3) == b"across"
    assert mem.read_cstring(page + PAGE_SIZE - 3, limit=4) == b"acro"


# -- page tables -----------------------------------------------------------------------------------------------
def test_address_space() -> None:
    phys = PhysicalMemory(4 * MIB)
    free = phys.free_pages
    space = AddressSpace(phys, 0x7FFF_FFFF_F000, "little")
    changes: list[int] = []
    space.on_change = lambda: changes.append(1)
    addresses = (0x1000, 0x400000, 0x7FFF_FFFF_E000)
    for addr in addresses:
        space.map(addr, phys.alloc_page(), PTE_READ)
    assert [addr for addr, _ in space.entries(0, space.limit)] == list(addresses)
    assert [addr for addr, _ in space.entries(0x2000, 0x401000)] == [0x400000]
    assert not changes, "new pages need no flush"
    space.protect(0x1000, PTE_READ | PTE_WRITE)
    assert space.translate(0x1004, "write") & 0xFFF == 4
    with pytest.raises(Fault):
        space.translate(0x400000, "exec")
    entry = space.unmap(0x400000)
    assert entry and space.entry(0x400000) == 0
    assert len(changes) == 2
    for addr in (-4096, space.limit, 1 << 60):
        with pytest.raises(Fault):
            space.map(addr, 1, PTE_READ)
        assert space.entry(addr) == 0
    for _, entry in list(space.entries(0, space.limit)):
        phys.put_page(entry >> 12)
    space.destroy()
    assert phys.free_pages == free - 1  # the page that was unmapped is still ours


def test_user_memory() -> None:
    phys = PhysicalMemory(4 * MIB)
    space = AddressSpace(phys, 1 << 40, "big")
    for i, prot in enumerate((PTE_READ | PTE_WRITE, PTE_READ | PTE_WRITE, PTE_READ | PTE_EXEC)):
        space.map(0x10000 + i * PAGE_SIZE, phys.alloc_page(), prot)
    user = UserMemory(space)
    user.write(0x10FFE, b"page")
    assert user.read(0x10FFE, 4) == b"page"
    user.write_uint(0x10000, 2, 0x0102)
    assert user.read(0x10000, 2) == b"\1\2"
    with pytest.raises(Fault) as fault:
        user.write(0x11FFE, b"page")
    assert (fault.value.address, fault.value.access) == (0x12000, "write")
    assert user.read(0x11FFE, 2) == b"pa", "what lies before the fault is written"
    user.poke(0x12000, b"\xcc")
    assert user.read(0x12000, 1) == b"\xcc"
    user.write(0x10800, b"x" * PAGE_SIZE + b"\0")
    assert user.read_cstring(0x10800, 10_000) == b"x" * PAGE_SIZE
    assert user.read_cstring(0x10800, 10) == b"x" * 10
    with pytest.raises(Fault):
        user.read(0xFFFFFFFF00000000, 1)


def test_user_memory_asks_for_pages() -> None:
    phys = PhysicalMemory(4 * MIB)
    space = AddressSpace(phys, 1 << 40, "little")
    asked: list[tuple[int, str]] = []

    def on_fault(addr: int, access: str) -> bool:
        asked.append((addr, access))
        if addr >= 0x20000:
            return False
        space.map(addr & ~0xFFF, phys.alloc_page(), PTE_READ | (PTE_WRITE if access == "write" else 0))
        return True

    user = UserMemory(space, on_fault)
    assert user.read(0x1F000, 8) == bytes(8)
    user.write(0x1FFF0, b"sixteen bytes.. ")
    assert asked == [(0x1F000, "read"), (0x1FFF0, "write")]
    with pytest.raises(Fault):
        user.read(0x1FFFC, 8)


def test_a_range_is_occupied_where_an_entry_is() -> None:
    """As the list of entries says it, of ranges of every size."""
    phys, rng = PhysicalMemory(16 * MIB), random.Random(5)
    space = AddressSpace(phys, 1 << 40, "little")
    pages = [rng.choice([0, 1 << 30, 5 << 30]) + rng.randrange(3000) * 4096 for _ in range(60)]
    for page in pages:
        space.map(page, phys.alloc_page(), PTE_READ)
    for _ in range(3000):
        start = max(0, rng.choice(pages) + rng.choice([-2, -1, 0, 1, 2, 512, 511]) * 4096)
        end = start + rng.choice([0, 1, 2, 3, 40, 512, 513, 2000, 1 << 20]) * 4096
        assert space.occupied(start, end) == any(True for _ in space.entries(start, end))


# -- symbols ---------------------------------------------------------------------------------------------------
def test_symbols() -> None:
    symbols = Symbols()
    symbols.add("first", 0x1000, 0x20)
    symbols.add("second", 0x1020, 0x10)
    symbols.add("alias", 0x1020, 0x10)
    symbols.add("data", 0x2000, 8, "D")
    assert symbols.lookup(0x1000) == ("first", 0, 0x20)
    assert symbols.lookup(0x101F) == ("first", 0x1F, 0x20)
    assert symbols.lookup(0x1024) == ("second", 4, 0x10)
    assert symbols.lookup(0x1030) is None
    assert symbols.lookup(0xFFF) is None
    assert symbols.address("alias") == 0x1020
    assert symbols.address("nothing") is None
    assert symbols.format(0x1024) == "second+0x4/0x10"
    assert symbols.format(0x3000) == "0x3000"
    assert [s.name for s in symbols] == ["first", "alias", "second", "data"]
    with pytest.raises(ValueError, match="twice"):
        symbols.add("data", 0, 0)
    symbols.remove("first")
    assert symbols.lookup(0x1000) is None
    assert "first" not in symbols and len(symbols) == 3


def test_symbols_that_are_kept_for_others() -> None:
    """They are found, also several of one name, until something of that name gets the place."""
    symbols = Symbols()
    symbols.add("own", 0x1000, 0x20)
    symbols.keep([Symbol("far", 0x3000, 0x40), Symbol("far", 0x3040, 0x40, "t"), Symbol("offset", 0x10, 8, "A")])
    assert symbols.lookup(0x3044) == ("far", 4, 0x40) and symbols.lookup(0x3080) is None
    assert symbols.address("far") == 0x3000 and symbols.address("offset") == 0x10
    assert symbols.lookup(0x12) is None  # an offset is no address
    assert [s.name for s in symbols] == ["own"]
    assert [(s.name, s.address) for s in symbols.kept()] == [("offset", 0x10), ("far", 0x3000), ("far", 0x3040)]
    place = symbols.place("far")
    assert place is not None and place.size == 0x40
    symbols.add("far", place.address, 0x28)
    assert symbols.lookup(0x3027) == ("far", 0x27, 0x28) and symbols.lookup(0x3041) == ("far", 1, 0x40)
    assert [s.address for s in symbols.kept()] == [0x10, 0x3040]


def test_flat_memory() -> None:
    mem = FlatMemory(base=0x1000, size=0x100, byteorder="big")
    addr = mem.alloc(24, align=16)
    assert addr % 16 == 0
    mem.write_uint(addr, 8, 1)
    assert mem.read(addr, 8) == b"\0" * 7 + b"\1"
    mem.free(addr)
    assert mem.alloc(24) == addr
    assert mem.read_uint(addr, 8) == 0
    for bad in (0xFFF, 0x10FF):
        with pytest.raises(Fault):
            mem.read(bad, 2)
    with pytest.raises(OutOfMemory):
        mem.alloc(0x1000)


def test_the_lowest_pages_are_taken_whatever_was_asked_before() -> None:
    """A search goes on where one before it ended, and finds what a search of everything would."""
    rng, phys = random.Random(5), PhysicalMemory(300 << 12)
    taken: set[int] = set()
    for _ in range(4000):
        count = rng.choice((1, 1, 2, 4, 4, 7))
        if rng.random() < 0.5:
            free = [page for page in range(300) if page not in taken]
            runs = [page for page in free if taken.isdisjoint(range(page, page + count)) and page + count <= 300]
            used = max((page for page in range(300) if phys.refcounts[page] or phys.freed[page]), default=-1) + 1
            below = [page for page in runs if page + count <= used]  # else where nothing was ever handed out
            if not below and used + count > 300:
                continue
            got = phys.alloc_pages(count)
            assert got == (below[0] if below else used)
            taken.update(range(got, got + count))
        elif taken:
            page = rng.choice(sorted(taken))
            for freed in range(page, page + count):
                if freed in taken:
                    taken.remove(freed)
                    phys.put_page(freed)


@pytest.mark.parametrize("name", ["x86_64", "s390x"])
def test_numbers_stored_together_are_those_stored_one_by_one(name: str) -> None:
    places = [(0, 0, 8), (1, 8, 4), (3, 12, 4), (2, 24, 2), (4, 16, 8), (0, 40, 1)]
    for layout in (places, [*places, (5, 4, 8)]):  # the last one covers others, and comes after them
        for values in ((1, 2, 3, 4, 5, 6), (-1, -2, 1 << 70, 1 << 40, -(1 << 63), 0x1122334455667788)):
            mem = kernel_memory(name)
            together, apart = mem.alloc(64), mem.alloc(64)
            mem.storer_of_many(layout)(together, values)
            for which, offset, size in layout:
                mem.write_uint(apart + offset, size, values[which])
            assert mem.read(together, 64) == mem.read(apart, 64)
