"""What a stray write leaves in page tables and stack pointers stays inside simulated memory.

Each attempt has a process of its own: what is tested would end this one.
"""

import ctypes
import faulthandler
import os
import signal

import pytest

from arch.cpu import KernelCrash, Stop
from arch.errors import CorruptMemory, Fault
from arch.hostmap import GUARD, HostMapping
from arch.memory import PhysicalMemory
from arch.mmu import PTE_EXEC, PTE_PRESENT, PTE_READ, PTE_WRITE, AddressSpace, UserMemory

CODE = 0x400000
RWX = PTE_PRESENT | PTE_READ | PTE_WRITE | PTE_EXEC
SIZE = 32 << 20
WILD = (SIZE, SIZE + 4096, 1 << 32, 1 << 40, 1 << 47, 1 << 63, (1 << 64) - 4096, (1 << 64) - SIZE)


def in_a_child(body):
    """Run it in a fork; what it raised, or the signal that ended it, or None."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(10)
        faulthandler.disable()
        try:
            body()
            said = b""
        except BaseException as error:
            said = repr(error).encode()
        os.write(write, said)
        os._exit(0)
    os.close(write)
    _, status = os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else said or None


def path_of(table, addr):
    """Word indices of the entries that lead to a page, from the root down."""
    words, at = [], table.root
    for shift in (39, 30, 21, 12):
        words.append((at >> 3) + ((addr >> shift) & 511))
        at = table.phys.words[words[-1]] & ~4095
    return words


def faults_of(tiny):
    """The page faults of user code at CODE, up to the first."""
    log = []

    def page_fault(regs, error_code, address, *rest):
        log.append((error_code, address))
        tiny.cpu.stop()
        return 0

    tiny.bodies[tiny.role("page_fault")] = page_fault
    tiny.enter_user()
    assert tiny.cpu.run() is Stop.STOPPED
    return log


@pytest.mark.parametrize("level", range(4))
def test_entries_that_lead_out_are_missing(tiny, level):
    nothing = {name: lambda *a: 0 for name in tiny.arch.entry.handlers.values()}
    tiny.build(**nothing)
    space = tiny.user(b"")
    at = path_of(space.table, CODE)[level]
    for wild in WILD:

        def attempt(wild=wild):
            tiny.phys.words[at] = wild | RWX
            assert [address for _, address in faults_of(tiny)] == [CODE]

        assert in_a_child(attempt) is None, hex(wild)


def test_python_follows_no_entry_that_leads_out(tiny):
    space = tiny.user(b"")
    user = UserMemory(space)
    at = path_of(space.table, CODE)
    for wild in WILD:
        space.table.set(CODE, wild | RWX)
        for access in (
            lambda: user.read(CODE, 8),
            lambda: user.write(CODE, b"12345678"),
            lambda: user.poke(CODE, b"1"),
            lambda: user.read_cstring(CODE, 10),
            lambda: space.translate(CODE, "read"),
        ):
            with pytest.raises(Fault):
                access()
    for wild in WILD:
        tiny.phys.words[at[1]] = wild | PTE_PRESENT
        with pytest.raises(CorruptMemory):
            space.map(CODE + (1 << 30) - (CODE % (1 << 30)) - 4096, 5, RWX)  # another leaf under the same entry


def test_tables_that_the_cpu_reads_otherwise_are_noticed(tiny):
    """The same entry is entered again after a fault on it: without a look at the tables this would go on for ever."""
    space = tiny.user(b"")
    entry = space.entry(CODE)
    space.map(CODE, entry >> 12, entry & 0xFFE)
    for at in path_of(space.table, CODE)[:3]:
        kept, tiny.phys.words[at] = tiny.phys.words[at], 0
        with pytest.raises(CorruptMemory):
            space.map(CODE, entry >> 12, entry & 0xFFE)
        tiny.phys.words[at] = kept


def test_a_kernel_stack_lies_in_the_direct_map(tiny):
    low, high = tiny.mem.map.direct_map, tiny.mem.map.direct_map + tiny.phys.size
    for top in (0, low, low + 8, high + 16, high + (1 << 30), (1 << 64) - 16):
        with pytest.raises(CorruptMemory):
            tiny.cpu.kernel_stack = top
    tiny.cpu.kernel_stack = high


def test_arguments_do_not_go_to_a_stack_elsewhere(tiny):
    """Nine arguments: some lie on the stack, whose pointer a broken program has changed."""
    high = tiny.mem.map.direct_map + tiny.phys.size
    sp = [0]

    def caller(*args):
        tiny.cpu.sp = sp[0] & ((1 << 8 * tiny.arch.word) - 1)
        return (yield ("callee", *range(9)))

    tiny.build(caller=caller, callee=lambda *a: 0)
    for sp[0] in (
        high,
        high + 64,
        high + (1 << 28),
        high + (1 << 36),
        high - 8,
        0 if tiny.mem.map.direct_map else high,
    ):

        def attempt():
            with pytest.raises(KernelCrash):
                tiny.call("caller")

        assert in_a_child(attempt) is None, hex(sp[0])


def test_an_instruction_at_the_end_of_memory(tiny):
    """Its first two bytes are the last that there are."""
    ends = []
    tiny.build(**{
        name: lambda *a: ends.append(tiny.cpu.stop()) or 0
        for role, name in tiny.arch.entry.handlers.items() if role != "fork"
    })  # fmt: skip
    tiny.bodies["schedule_tail"] = lambda *a: 0

    def attempt():
        space = tiny.user(b"")
        last = tiny.phys.nr_pages - 1
        tiny.phys.write((last << 12) + 4092, {"s390x": b"\0\0\xe3\0"}.get(tiny.arch.name, b"\0\0\0\0"))
        space.map(CODE, last, PTE_READ | PTE_EXEC)
        pc = CODE + (4094 if tiny.arch.name == "s390x" else 4092)
        tiny.set_user(tiny.cpu.user_regs, pc, {})
        tiny.enter_user()
        tiny.cpu.run(1000)
        assert ends

    assert in_a_child(attempt) is None


def test_probes_need_room_for_their_frame(tiny):
    """A kernel stack pointer at the very end: struct pt_regs would reach over it."""
    tiny.build(fine=lambda *a: 0)
    hits = []
    tiny.cpu.add_probe(tiny.text.address("fine"), hits.append)
    for below in (0, 16, 64):

        def attempt(below=below):
            tiny.cpu.start(tiny.text.address("fine"), tiny.mem.map.direct_map + tiny.phys.size - below)
            with pytest.raises(KernelCrash):
                tiny.cpu.run()

        assert in_a_child(attempt) is None


def test_guards_lie_at_both_ends():
    for size in (1 << 20, 8 << 20, 256 << 20):
        mapping = HostMapping(size)
        assert mapping.guarded
        assert bytes(mapping.buf[-4:]) == bytes(4)
        for at in (
            mapping.address - 1,
            mapping.address + size,
            mapping.address - GUARD,
            mapping.address + size + GUARD - 1,
        ):
            assert in_a_child(lambda at=at: ctypes.string_at(at, 1)) == "SIGSEGV"
            assert in_a_child(lambda at=at: ctypes.memset(at, 1, 1)) == "SIGSEGV"


def test_guards_are_given_back():
    def areas():
        with open("/proc/self/maps") as maps:
            return sum(1 for _ in maps)

    PhysicalMemory(1 << 20)
    before = areas()
    for _ in range(200):
        PhysicalMemory(1 << 20)
    assert areas() <= before + 8


def test_an_address_space_of_pages_that_do_not_exist():
    phys = PhysicalMemory(1 << 20)
    space = AddressSpace(phys, 1 << 47, "little")
    space.map(CODE, phys.nr_pages, RWX)
    with pytest.raises(Fault):
        UserMemory(space).read(CODE, 1)
