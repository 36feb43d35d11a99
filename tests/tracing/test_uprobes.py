"""uprobes, uretprobes and reference counters over fake address spaces."""

import pytest

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from arch.memory import FlatMemory
from tests.tracing.fakes import cat, echo, machine
from tests.tracing.test_filter import written
from tracing.probes.uprobes import UprobeConsumer

TEXT, DATA = 0x400000, 0x600000


@pytest.fixture(params=["x86_64", "arm64", "s390x"])
def tracing(request):
    tracing = machine(arch=request.param)
    spaces = tracing.host_spaces
    spaces.maps = [("mm1", TEXT, TEXT + 0x4000, 0x1000, True, "/h"), ("mm1", DATA, DATA + 0x1000, 0x5000, False, "/h")]
    order = tracing.byteorder
    for mm in ("mm1", "mm2"):
        spaces.mems[mm] = FlatMemory(base=TEXT, size=0x400000, byteorder=order)
    tracing.host.user = spaces.mems["mm1"]
    return tracing


def hit(tracing, mm="mm1", vaddr=TEXT + 0x234, **fields):
    host = tracing.host
    regs = host.regs(**{host.arch.instruction_pointer: vaddr, **fields})
    return regs, tracing.host_spaces.armed[mm, vaddr](regs)


def test_present_and_future_mappings(tracing):
    hits, spaces = [], tracing.host_spaces
    consumer = UprobeConsumer(hits.append)
    uprobe = tracing.uprobes.register("/h", 0x1234, consumer)
    assert list(spaces.armed) == [("mm1", TEXT + 0x234)]
    spaces.maps.append(("mm2", 0x700000, 0x704000, 0x1000, True, "/h"))
    tracing.uprobes.mmap("mm2", 0x700000, 0x704000, "/h", 0x1000)
    assert ("mm2", 0x700234) in spaces.armed
    spaces.maps.append(("mm3", 0x700000, 0x700100, 0x1000, True, "/h"))  # does not reach the probe
    tracing.uprobes.mmap("mm3", 0x700000, 0x700100, "/h", 0x1000)
    assert len(spaces.armed) == 2
    hit(tracing)
    hit(tracing, "mm2", 0x700234)
    assert len(hits) == 2
    spaces.maps = [row for row in spaces.maps if row[0] != "mm2"]
    tracing.uprobes.munmap("mm2", 0x700000, 0x704000)
    assert list(spaces.armed) == [("mm1", TEXT + 0x234)]
    tracing.uprobes.unregister(uprobe, consumer)
    assert not spaces.armed
    assert not tracing.uprobes.probes


def test_consumers_choose_address_spaces(tracing):
    spaces = tracing.host_spaces
    spaces.maps.append(("mm2", TEXT, TEXT + 0x4000, 0x1000, True, "/h"))
    one, two = [], []
    only_one = UprobeConsumer(one.append, filter=lambda mm: mm == "mm1")
    uprobe = tracing.uprobes.register("/h", 0x1234, only_one)
    assert set(spaces.armed) == {("mm1", TEXT + 0x234)}
    everyone = UprobeConsumer(two.append)
    assert tracing.uprobes.register("/h", 0x1234, everyone) is uprobe
    assert len(spaces.armed) == 2
    hit(tracing, "mm2")
    hit(tracing, "mm1")
    assert (len(one), len(two)) == (1, 2)
    tracing.uprobes.unregister(uprobe, everyone)
    assert set(spaces.armed) == {("mm1", TEXT + 0x234)}


def test_reference_counter(tracing):
    """Raised once per address space while somebody is interested; a fork's copy keeps its value."""
    spaces = tracing.host_spaces
    counter = DATA + 0x10
    memory = spaces.mems["mm1"]
    memory.write_uint(counter, 2, 3)
    consumer = UprobeConsumer(lambda regs: None)
    uprobe = tracing.uprobes.register("/h", 0x1234, consumer, 0x5010)
    assert memory.read_uint(counter, 2) == 4
    with pytest.raises(KernelError) as error:
        tracing.uprobes.register("/h", 0x1234, consumer, 0x5020)
    assert error.value.errno == EINVAL
    spaces.maps += [("mm2", *row[1:]) for row in list(spaces.maps)]
    spaces.mems["mm2"].write_uint(counter, 2, 4)  # the copy
    tracing.uprobes.dup_mm("mm1", "mm2")
    assert spaces.mems["mm2"].read_uint(counter, 2) == 4
    assert len(spaces.armed) == 2
    tracing.uprobes.unregister(uprobe, consumer)
    assert memory.read_uint(counter, 2) == 3
    assert spaces.mems["mm2"].read_uint(counter, 2) == 3


def call(tracing, back, stack, vaddr=TEXT + 0x234):
    host, user = tracing.host, tracing.host.user
    sp = host.arch.stack_pointer
    regs = host.regs(**{host.arch.instruction_pointer: vaddr, sp: stack})
    if host.arch.link_register is None:
        user.write_uint(stack, 8, back)
    else:
        host.layout.set(host.mem, regs, host.arch.link_register, back)
    changed = tracing.host_spaces.armed["mm1", vaddr](regs)
    return regs, changed


def give_back(tracing, stack):
    """Return through the trampoline with the stack as it is after the return instruction."""
    host = tracing.host
    popped = 8 if host.arch.link_register is None else 0
    return tracing.host_spaces.uret_handler(host.regs(**{host.arch.stack_pointer: stack + popped}))


def test_uretprobe_and_recursion(tracing):
    seen = []
    tracing.uprobes.register("/h", 0x1234, UprobeConsumer(ret_handler=lambda func, regs: seen.append(func)))
    call(tracing, 0x401111, DATA + 0x800)
    _, changed = call(tracing, 0x402222, DATA + 0x700)
    assert changed
    assert give_back(tracing, DATA + 0x700) == 0x402222
    assert give_back(tracing, DATA + 0x800) == 0x401111
    assert seen == [TEXT + 0x234] * 2
    with pytest.raises(KernelError):  # no instance left: SIGILL
        give_back(tracing, DATA + 0x800)


def test_tail_call_chains_two_instances(tracing):
    """The second probed function is jumped to: its return address is the trampoline already."""
    spaces = tracing.host_spaces
    seen = []
    tracing.uprobes.register("/h", 0x1234, UprobeConsumer(ret_handler=lambda func, regs: seen.append(func)))
    tracing.uprobes.register("/h", 0x1300, UprobeConsumer(ret_handler=lambda func, regs: seen.append(func)))
    call(tracing, 0x401111, DATA + 0x800)
    call(tracing, spaces.uretprobe_trampoline("mm1"), DATA + 0x800, TEXT + 0x300)
    assert give_back(tracing, DATA + 0x800) == 0x401111
    assert seen == [TEXT + 0x300, TEXT + 0x234]


def test_longjmp_over_frames(tracing):
    """Calls that never return are dropped when an older frame comes back."""
    seen = []
    tracing.uprobes.register("/h", 0x1234, UprobeConsumer(ret_handler=lambda func, regs: seen.append("ret")))
    call(tracing, 0x401111, DATA + 0x900)
    call(tracing, 0x402222, DATA + 0x800)
    call(tracing, 0x403333, DATA + 0x700)
    assert give_back(tracing, DATA + 0x900) == 0x401111
    assert seen == ["ret"]


def test_uprobe_events(tracing):
    host = tracing.host
    register = next(name for name, f in host.arch.kprobe_registers.items() if f == host.arch.function_args[0])
    host.user.write(DATA + 0x100, b"from user\0")
    echo(
        tracing,
        "uprobe_events",
        f"p:u1 /h:0x1234 a=+0(%{register}):string b=$comm c=@+0x1300:x8\nr:u2 /h:0x1234 $retval",
    )
    host.user.write(TEXT + 0x300, b"\x5a")
    assert not tracing.host_spaces.armed
    echo(tracing, "events/uprobes/enable", "1")
    assert list(tracing.host_spaces.armed) == [("mm1", TEXT + 0x234)]
    stack = DATA + 0x800
    regs = host.regs(**{
        host.arch.instruction_pointer: TEXT + 0x234, host.arch.function_args[0]: DATA + 0x100,
        host.arch.stack_pointer: stack,
    })  # fmt: skip
    host.user.write_uint(stack, 8, 0x401234)
    if host.arch.link_register is not None:
        host.layout.set(host.mem, regs, host.arch.link_register, 0x401234)
    tracing.host_spaces.armed["mm1", TEXT + 0x234](regs)
    popped = 8 if host.arch.link_register is None else 0
    leave = host.regs(**{host.arch.stack_pointer: stack + popped, host.arch.return_value: 7})
    assert tracing.host_spaces.uret_handler(leave) == 0x401234
    lines = [line.split("] ", 1)[1][20:] for line in cat(tracing, "trace").splitlines() if not line.startswith("#")]
    assert lines[0].endswith('u1: (0x400234) a="from user" b="sh" c=0x5a')
    assert lines[1].endswith("u2: (0x401234 <- 0x400234) arg1=0x7")
    assert cat(tracing, "uprobe_profile") == f"  /h {'u1':<44} {1:15d}\n  /h {'u2':<44} {1:15d}\n"
    echo(tracing, "events/uprobes/enable", "0")
    assert not tracing.host_spaces.armed
    assert written(tracing, "uprobe_events", "\n", append=False) == 0
