"""A kprobe and a kretprobe on every function that `simkernel list functions` prints, one at a time, on real CPUs.

Each function's text is executed with known arguments; the trace line must show them, the caller and the result.
"""

from __future__ import annotations

import pytest

from tests.arch.conftest import Tiny
from tests.tracing.fakes import FakeHost, cat, echo
from tracing.system import Tracing

ARCHES = ["x86_64", "arm64", "riscv64", "s390x"]
ARGUMENTS = (0x1001, 0x2002, 0x3003, 0x4004)


class CpuHost(FakeHost):
    """The fake host over an emulated CPU instead of flat memory."""

    def __init__(self, tiny):
        self.tiny = tiny
        super().__init__("6.1", tiny.arch.name, cpus=1)
        self.arch, self.mem, self.symbols, self.layout = tiny.arch, tiny.mem, tiny.symbols, tiny.layout
        self.return_trampoline = tiny.text.kretprobe_trampoline
        self.cpu_probes = {}

    def is_kernel_text(self, addr):
        return self.symbols.lookup(addr) is not None

    def boundaries(self, name):
        start = self.symbols.address(name)
        return [start + offset for offset in self.tiny.text.boundaries(name)]

    def probe_blacklist(self):
        return ()

    def arm(self, addr, handler, native=None):
        self.cpu_probes[addr] = self.tiny.cpu.add_probe(addr, handler, self.arch.kprobe_ip_offset)

    def aim(self, addr, handler, native):
        assert addr in self.cpu_probes  # nothing is compiled here

    def disarm(self, addr, handler):
        self.tiny.cpu.remove_probe(self.cpu_probes.pop(addr))

    def set_return_handler(self, handler, native=None):
        def returned(regs):
            self.layout.set(self.mem, regs, self.arch.instruction_pointer, handler(regs))

        self.tiny.cpu.add_probe(self.return_trampoline, returned)


@pytest.fixture(scope="module", params=ARCHES)
def probed(request):
    """(tracing, tiny, functions, names on the blacklist) with the functions of a real machine of this architecture."""
    from simkernel.cli.listing import function_names
    from simkernel.machine import boot

    kernel = boot(arch=request.param).kernel
    tracing = kernel.observer.tracing
    names = [name for name in function_names(kernel) if not tracing.functions.shared(name)]  # those have no one place
    blacklisted = {name for _, _, name in tracing.kprobes.blacklist()}
    tiny = Tiny(request.param)
    own = set(tiny.arch.entry.handlers.values()) | {"start_kernel"}
    bodies = {name: (lambda *args, n=number: 3 * n + 1) for number, name in enumerate(names) if name not in own}
    tiny.build(caller=lambda *args: (yield (tiny.target, *ARGUMENTS)), **bodies)
    yield Tracing(CpuHost(tiny)), tiny, list(bodies), blacklisted
    tiny.cpu.close()


def lines(tracing):
    return [line.split(": ", 1)[1] for line in cat(tracing, "trace").splitlines() if not line.startswith("#")]


def test_every_function(probed):
    tracing, tiny, names, blacklisted = probed
    assert len(names) > 400
    assert not blacklisted & set(names)
    arguments = " ".join(f"a{i}=$arg{i + 1}:x32" for i in range(4))
    shown = " ".join(f"a{i}=0x{value:x}" for i, value in enumerate(ARGUMENTS))
    wrong = []
    for number, name in enumerate(names):
        echo(tracing, "kprobe_events", f"p:enter {name} {arguments}\nr:leave {name} ret=$retval:s32\n")
        echo(tracing, "events/kprobes/enable", "1")
        tiny.target = name
        result = tiny.call("caller")
        got = lines(tracing)
        echo(tracing, "events/kprobes/enable", "0")
        echo(tracing, "trace", "\n")
        expected = tiny.bodies[name]()
        size = tiny.symbols[name].size
        ok = (
            result == expected
            and len(got) == 2
            and got[0] == f"enter: ({name}+0x0/0x{size:x}) {shown}"
            and got[1].startswith("leave: (caller+0x")
            and got[1].endswith(f" <- {name}) ret={expected}")
        )
        if not ok:
            wrong.append((number, name, result, expected, got))
    assert not wrong[:5]
    echo(tracing, "kprobe_events", "\n")
    assert not tracing.host.cpu_probes


def test_every_instruction_of_one_function(probed):
    """A probe at each boundary is hit once, but at ftrace's own; between boundaries it is the CPU's error."""
    from arch.abi.errno import EINVAL
    from tests.tracing.test_filter import written

    tracing, tiny, names, _ = probed
    name = names[0]
    start, size = tiny.symbols[name].address, tiny.symbols[name].size
    boundaries = {addr - start for addr in tracing.host.boundaries(name)}
    tiny.target = name
    facts = tiny.arch.traces
    for offset in range(size):
        errno = written(tracing, "kprobe_events", f"p:at {name}+{offset}\n", append=False)
        refused = EINVAL if offset and offset == facts.ftrace_site else 0
        assert errno == (refused if offset in boundaries else facts.inside_instruction)
        if errno:
            continue
        echo(tracing, "events/kprobes/enable", "1")
        tiny.call("caller")
        got = lines(tracing)
        echo(tracing, "events/kprobes/enable", "0")
        echo(tracing, "trace", "\n")
        assert got in ([f"at: ({name}+0x{offset:x}/0x{size:x})"], [])  # not every path is taken
    echo(tracing, "kprobe_events", "\n")
